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
        "backs off, asks the offset, goes on there; never resends blindly",
    ),
    Row(
        "error-mid-body",
        "the server answers an error while the body is still being sent",
        "stops sending and reads that answer; if it was lost, the offset tells",
    ),
    Row("308-without-range", "308 without `Range`", "to a chunk: asks the offset; to the question: the offset is 0"),
    Row(
        "range-lower",
        "308 with a Range lower than what was sent",
        "goes on at the server's offset; chunks stay multiples of the granularity",
    ),
    Row(
        "range-backward",
        "the Range goes back below an earlier offset",
        "accepts it once, with a warning; again is a protocol error",
    ),
    Row(
        "range-nonsense",
        "a Range beyond what was sent, or one that does not start at 0",
        "a protocol error, never a success; the session is cancelled",
    ),
    Row("range-forms", "`Range: bytes=0-42` and `Range: 0-42`", "reads both alike"),
    Row(
        "query-complete",
        "200 or 201 in answer to the question for the offset",
        "complete; the resource is checked like any other",
    ),
    Row("session-lost", "404 or 410 in mid-upload", "begins a new session from byte 0, at most three times for a file"),
    Row(
        "token-expired", "401 in mid-upload", "renews the token, once for each stretch of progress, and asks the offset"
    ),
    Row(
        "rate-limit",
        "403 with reason rateLimitExceeded or userRateLimitExceeded",
        "backs off and asks the offset; any other 403 fails",
    ),
    Row("timeout-408", "408", "backs off and asks the offset"),
    Row(
        "retry-after",
        "429 or 503 with `Retry-After`, in seconds or as a date",
        "waits so long, five minutes at most and never past the deadline; nonsense is ignored",
    ),
    Row(
        "answer-lost",
        "5xx or a broken connection after all bytes were stored",
        "asks the offset: 200 or 201 is done; the file is never uploaded a second time",
    ),
    Row(
        "interim-answers",
        "`103 Early Hints` or other 1xx before an answer, or while a body is being sent",
        "reads over them, up to a hundred; they stop no body, extend no time limit and are no answer",
    ),
    Row("308-location", "308 with a `Location` header", "follows no redirect; the Range alone counts"),
    Row(
        "foreign-host",
        "a session URI with another scheme, host or port than the endpoint's, not https on googleapis.com",
        "refuses: the bearer token does not travel there",
    ),
    Row("size-unknown", "the size is unknown (a stream)", "`bytes a-b/*`, the last one `bytes a-b/N`; asks with `*/*`"),
    Row("empty-file", "an empty file", "starts, then finalises with nothing to send"),
    Row(
        "file-changes",
        "the file shrinks, grows or is replaced during the upload",
        "notices and fails; the mixture is never finalised, the session is cancelled",
    ),
    Row(
        "chunk-size",
        "a chunk size that is no multiple of the granularity",
        "is rounded to the granularity (256 KiB, or the server's), at least one",
    ),
    Row(
        "final-error",
        "`X-Goog-Upload-Status: final` with an error code",
        "terminal; the first error is reported, nothing is asked or sent again",
    ),
    Row(
        "no-status-5xx",
        "the status header is missing on a 5xx (a proxy's page)",
        "treats it as a broken connection and asks the offset",
    ),
    Row(
        "no-status-query",
        "the status header is missing on 200 of a query",
        "asks again where the size stands there (a proxy dropped the header), at most `max-retries` times; otherwise a "
        "protocol error",
    ),
    Row(
        "active-4xx",
        "a 4xx with `X-Goog-Upload-Status: active` (409 after a wrong offset; 400, 412, 416)",
        "the session lives: asks the offset and goes on; after `max-retries` without progress it ends with the "
        "service's own words",
    ),
    Row(
        "active-no-size",
        "`X-Goog-Upload-Status: active` without a size received",
        "to a chunk: all of it arrived; to the last bytes: asks the offset; to the question: a protocol error",
    ),
    Row(
        "start-400-no-status",
        "the start answers 400 without the status header",
        "backs off and starts again; when the waits are spent it fails with the server's own message",
    ),
    Row("size-received", "`X-Goog-Upload-Size-Received`", "is a count, hence the next offset; nothing is added"),
    Row(
        "wrong-digest",
        "a digest in the resource differs from what was sent",
        "fails with both digests, also when completion was learnt by asking",
    ),
    Row("stops-reading", "the server stops reading", "breaks the connection after the stall limit, backs off, asks"),
    Row(
        "slow-finalise",
        "finalising is slow",
        "waits `finalize-timeout` for the answer to the last byte, then asks; never sends again",
    ),
    Row("process-dies", "the process dies", "the next run finds the session in the journal, asks the offset, goes on"),
    Row(
        "single-answer-lost",
        "the answer to a simple or multipart request is lost",
        "not repeated when the method has an effect; `auto` sends such a method resumable",
    ),
    Row(
        "precondition-answer-lost",
        "412 after a lost answer, where a precondition makes a repeat harmless (`ifGenerationMatch`, "
        "`ifMetagenerationMatch`)",
        "looks at the object: success where it holds exactly the file's bytes, otherwise exit code 4 with words that "
        "say both",
    ),
    Row(
        "budget",
        "trouble again and again, with progress in between",
        "the retry budget is full again when the offset advances; an overall deadline applies as well",
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
