"""The situations of the wire, one row each: what happens, what this program does; tests claim the rows that they show.

docs/PROTOCOL.md is made from this table, and no row stays there without a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """One situation: `name` for tests, `situation` and `does` for readers."""

    name: str
    situation: str
    does: str


ROWS = (
    Row(
        "start-fails",
        "the start answers 5xx, 408 or 429, or the connection breaks",
        "backs off and starts again: no byte was sent",
    ),
    Row(
        "start-refused",
        "the start answers another 4xx",
        "fails with the server's own message; on 401 the token is renewed once",
    ),
    Row(
        "breaks-mid-body",
        "the connection breaks in the middle of a body",
        "backs off, queries the offset and continues there; never resends blindly",
    ),
    Row(
        "error-mid-body",
        "the server answers an error while the body is still being sent",
        "stops sending and reads that answer; if it was lost, the offset query reveals it",
    ),
    Row(
        "308-without-range",
        "308 without `Range`",
        "answering a chunk: queries the offset; answering the query: the offset is 0",
    ),
    Row(
        "range-lower",
        "308 with a Range lower than what was sent",
        "continues at the server's offset; chunks stay multiples of the granularity",
    ),
    Row(
        "range-backward",
        "the Range goes back below an earlier offset",
        "accepts it once, with a warning; a second time is a protocol error",
    ),
    Row(
        "range-nonsense",
        "a Range beyond what was sent, or one that does not start at 0",
        "a protocol error, never a success; the session is cancelled",
    ),
    Row("range-forms", "`Range: bytes=0-42` and `Range: 0-42`", "treats both the same"),
    Row(
        "query-complete",
        "200 or 201 in answer to the offset query",
        "complete; the resource is checked like any other",
    ),
    Row(
        "session-lost",
        "404 or 410 in the middle of an upload",
        "starts a new session from byte 0, at most three times per file",
    ),
    Row(
        "session-lost-at-the-end",
        "404 or 410 to the offset query, after a last request that may have stored all of the file",
        "starts over where a repeat replaces, or is refused by a Play edit; where it would add a second file or mail, "
        "exit code 4 says that the outcome is not known",
    ),
    Row(
        "unanswered-at-the-end",
        "another refusal of that query, or none that is answered until the retries are used up",
        "where a repeat would add a second file or mail, and no later run could ask, exit code 4 says that the outcome "
        "is not known",
    ),
    Row(
        "token-expired",
        "401 in the middle of an upload",
        "renews the token, once per stretch of progress, and queries the offset",
    ),
    Row(
        "rate-limit",
        "403 with reason rateLimitExceeded or userRateLimitExceeded",
        "backs off and queries the offset; any other 403 fails",
    ),
    Row("timeout-408", "408", "backs off and queries the offset"),
    Row(
        "retry-after",
        "429 or 503 with `Retry-After`, in seconds or as a date",
        "waits that long, five minutes at most and never past the deadline; invalid values are ignored",
    ),
    Row(
        "answer-lost",
        "5xx or a broken connection after all bytes were stored",
        "queries the offset: 200 or 201 means done; the file is never uploaded a second time",
    ),
    Row(
        "interim-answers",
        "`103 Early Hints` or other 1xx before an answer, or while a body is being sent",
        "skips up to a hundred of them; they do not stop the body, extend a time limit or count as the answer",
    ),
    Row("308-location", "308 with a `Location` header", "does not follow it; only the Range counts"),
    Row(
        "foreign-host",
        "a session URI with another scheme, host or port than the endpoint's, not https on googleapis.com",
        "refuses it: the bearer token is not sent there",
    ),
    Row("size-unknown", "the size is unknown (a stream)", "`bytes a-b/*`, the last one `bytes a-b/N`; asks with `*/*`"),
    Row("empty-file", "an empty file", "starts, then finalises with nothing to send"),
    Row(
        "file-changes",
        "the file shrinks, grows or is replaced during the upload",
        "notices and fails; a mixture is never finalised, and the session is cancelled",
    ),
    Row(
        "chunk-size",
        "a chunk size that is not a multiple of the granularity",
        "is rounded to the granularity (256 KiB, or the server's), at least one",
    ),
    Row(
        "final-error",
        "`X-Goog-Upload-Status: final` with an error code",
        "terminal: the first error is reported, and nothing is queried or sent again",
    ),
    Row(
        "no-status-5xx",
        "the status header is missing on a 5xx (a proxy's page)",
        "treats it as a broken connection and queries the offset",
    ),
    Row(
        "no-status-query",
        "the status header is missing on 200 of a query",
        "asks again if the size is present (a proxy dropped the header), at most `max-retries` times; otherwise a "
        "protocol error",
    ),
    Row(
        "active-4xx",
        "a 4xx with `X-Goog-Upload-Status: active` (409 after a wrong offset; 400, 412, 416)",
        "the session is alive: queries the offset and continues; after `max-retries` without progress it ends with the "
        "service's own message",
    ),
    Row(
        "active-no-size",
        "`X-Goog-Upload-Status: active` without a size received",
        "answering a chunk: all of it arrived; the last bytes: queries the offset; the query: a protocol error",
    ),
    Row(
        "start-400-no-status",
        "the start answers 400 without the status header",
        "backs off and starts again; when the retries are used up it fails with the server's own message",
    ),
    Row("size-received", "`X-Goog-Upload-Size-Received`", "is a count, and so the next offset; nothing is added"),
    Row(
        "wrong-digest",
        "a digest in the resource differs from what was sent",
        "fails and names both digests, even if completion was learnt from a query",
    ),
    Row(
        "stops-reading",
        "the server stops reading",
        "closes the connection after the stall limit, backs off and queries the offset",
    ),
    Row(
        "slow-finalise",
        "finalising is slow",
        "waits `finalize-timeout` for the answer to the last byte, then queries the offset; never sends it again",
    ),
    Row(
        "process-dies",
        "the process dies",
        "the next run finds the session in the journal, queries the offset and continues",
    ),
    Row(
        "single-answer-lost",
        "the answer to a simple or multipart request is lost",
        "not repeated if a repeat could have a second effect; `auto` sends such a method as a resumable upload",
    ),
    Row(
        "precondition-answer-lost",
        "412 after a lost answer, where a precondition makes a repeat harmless (`ifGenerationMatch`, "
        "`ifMetagenerationMatch`)",
        "looks at the object: success if it holds exactly the file's bytes, otherwise exit code 4 with a message that "
        "states both",
    ),
    Row(
        "budget",
        "repeated failures, with progress in between",
        "the retry budget is restored when the offset advances; an overall deadline applies as well",
    ),
    Row(
        "empty-answer",
        "`final` or 201 with an empty body",
        "complete only where the service says that bodies may be empty",
    ),
)
NAMES = tuple(row.name for row in ROWS)


def shows(*names: str) -> Callable[[Test], Test]:
    """Marks a test as one that shows these rows."""
    unknown = set(names) - set(NAMES)
    if unknown:
        raise ValueError(f"no row is called {', '.join(sorted(unknown))}")

    def mark(test: Test) -> Test:
        test.rows = names  # type: ignore[attr-defined]  # a note on the function, read when the page is made
        return test

    return mark
