"""Every way in which the emulator can misbehave on request: name, meaning, options and what it does.

A fault acts before the request is carried out (and may wait inside its body for a number of bytes), or on the answer.
One that finds nothing to break in a request does not fire and waits for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from google_emulator import spoil
from google_emulator.answers import Answer, Cut, Headers, Json, Refusal

if TYPE_CHECKING:
    from google_emulator.exchange import Exchange
    from google_emulator.faults import Fault

Before: TypeAlias = "Callable[[Fault, Exchange], None]"
After: TypeAlias = "Callable[[Fault, Exchange, Answer], Answer]"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault; `options` are its names with their defaults."""

    name: str
    meaning: str
    options: Mapping[str, Json]
    before: Before | None = None
    after: After | None = None


def _at(fault: Fault, x: Exchange, act: Callable[[], None]) -> None:
    """Acts at the fault's `after`: before the body (0), after so many bytes, at its end at the latest (`"end"`)."""
    after = fault.options["after"]
    if fault.options.get("stored") is not None:
        x.body.keep = int(fault.options["stored"])
    if after == 0:
        act()
    else:
        x.body.arm(None if after == "end" else int(after), act)


def _error(fault: Fault) -> Answer:
    """The answer of a `status` fault: Google's error body, or the text that was asked for."""
    options = fault.options
    answer = Refusal(options["status"], options["message"], options["reason"]).answer()
    if options["body"] is not None:
        answer = Answer(options["status"], str(options["body"]).encode(), [("Content-Type", options["content_type"])])
    headers: Headers = [(name, str(value)) for name, value in options["headers"].items()]
    if options["retry_after"] is not None:
        headers.append(("Retry-After", str(options["retry_after"])))
    answer.headers += headers
    return answer


def _status(fault: Fault, x: Exchange) -> None:
    def act() -> None:
        x.world.faults.fire(fault, x)
        raise Cut(_error(fault))

    _at(fault, x, act)


def _status_after_effect(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    del answer
    x.world.faults.fire(fault, x)
    return _error(fault)


def _reset(fault: Fault, x: Exchange) -> None:
    def act() -> None:
        x.world.faults.fire(fault, x)
        raise Cut(reset=True)

    _at(fault, x, act)


def _stall(fault: Fault, x: Exchange) -> None:
    def act() -> None:
        x.world.faults.fire(fault, x)
        x.world.sleep(fault.options["seconds"])

    _at(fault, x, act)


def _short_store(fault: Fault, x: Exchange) -> None:
    x.body.keep = int(fault.options["stored"])

    def act() -> None:
        if x.body.dropped:
            x.world.faults.fire(fault, x, dropped_bytes=x.body.dropped)

    x.body.arm(None, act)


def _session_lost(fault: Fault, x: Exchange) -> None:
    def act() -> None:
        if x.world.sessions.pop(x.query.get("upload_id", ""), None) is not None:
            x.world.faults.fire(fault, x)
            raise Cut(Refusal(fault.options["status"], "Requested entity was not found.").answer())

    _at(fault, x, act)


def _token_expired(fault: Fault, x: Exchange) -> None:
    def act() -> None:
        if x.world.authority.expire(x.header("Authorization")):
            x.world.faults.fire(fault, x)
            raise Cut(x.world.authority.unauthenticated().answer())

    _at(fault, x, act)


def _lose_edit(fault: Fault, x: Exchange) -> None:
    if x.world.play.lose(x.path, fault.options["how"]):
        x.world.faults.fire(fault, x)


def _answer_lost(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    x.world.faults.fire(fault, x, status_lost=answer.status)
    raise Cut(reset=fault.options["reset"])


_ERROR: dict[str, Json] = {
    "status": 503,
    "message": "The service is currently unavailable.",
    "reason": "",
    "retry_after": None,
    "headers": {},
    "body": None,
    "content_type": "text/html; charset=UTF-8",
}

_TABLE = (
    Kind(
        "status",
        "answers with an error without carrying the request out, once `after` bytes of the body have come (0: at once; "
        '`"end"`: all of them), while the rest is perhaps still being sent; `stored`: bytes of this body that are kept '
        "(whole granules of what came, unless given); `body`: another body than Google's error JSON",
        {"after": 0, "stored": None, **_ERROR},
        before=_status,
    ),
    Kind(
        "status-after-effect",
        "carries the request out, then answers with an error as if it had not",
        _ERROR,
        after=_status_after_effect,
    ),
    Kind(
        "reset",
        "resets the connection (RST) once `after` bytes of the body have come; `stored` as above",
        {"after": 0, "stored": None},
        before=_reset,
    ),
    Kind(
        "answer-lost",
        "carries the request out, then closes the connection (`reset`: resets it) instead of answering",
        {"reset": False},
        after=_answer_lost,
    ),
    Kind(
        "short-store",
        "takes the whole body but stores only its first `stored` bytes, and says so",
        {"stored": 262_144},
        before=_short_store,
    ),
    Kind(
        "stall", "stops reading for `seconds` once `after` bytes have come", {"after": 0, "seconds": 1.0}, before=_stall
    ),
    Kind(
        "session-lost",
        "forgets the upload session and answers 404 (or 410)",
        {"after": 0, "status": 404},
        before=_session_lost,
    ),
    Kind("token-expired", "expires the access token and answers 401", {"after": 0}, before=_token_expired),
    Kind(
        "lose-edit",
        "somebody else spoils the edit named in the path: `how` is deleted, expired or changed (another commit)",
        {"how": "deleted"},
        before=_lose_edit,
    ),
    Kind("slow-answer", "carries the request out, waits `seconds`, answers", {"seconds": 1.0}, after=spoil.slow_answer),
    Kind(
        "slow-drip",
        "sends the answer byte by byte, `seconds` after each",
        {"seconds": 0.01},
        after=spoil.slow_drip,
    ),
    Kind("no-range", "leaves the Range header out of a 308", {}, after=spoil.no_range),
    Kind(
        "range-plain",
        "writes the Range header of a 308 as `0-42`, without `bytes=`",
        {},
        after=spoil.range_plain,
    ),
    Kind(
        "range-backward",
        "really loses what was stored from offset `to` on, and says so in a 308 (dialect B: in the size received)",
        {"to": 0},
        after=spoil.range_backward,
    ),
    Kind(
        "range-beyond",
        "claims in a 308 (dialect B: in the size received) `by` bytes more than were ever sent",
        {"by": 262_144},
        after=spoil.range_beyond,
    ),
    Kind("range-from", "lets the Range of a 308 begin at `start` instead of 0", {"start": 1}, after=spoil.range_from),
    Kind(
        "redirect-308",
        "adds a `location` (empty: the same session on another path) to a 308",
        {"location": ""},
        after=spoil.redirect_308,
    ),
    Kind(
        "redirect",
        "answers with a redirect to `location` (its path is kept when it has none) without carrying the request out",
        {"status": 307, "location": "https://upload.example.net"},
        before=spoil.redirect,
    ),
    Kind(
        "foreign-session",
        "puts the session URI of a start on another scheme, host and port",
        {"origin": "https://upload.example.net"},
        after=spoil.foreign_session,
    ),
    Kind(
        "wrong-digest",
        "spoils every digest in a successful answer (md5Hash, crc32c, sha1, sha256, Drive's checksums)",
        {},
        after=spoil.wrong_digest,
    ),
    Kind("wrong-size", "spoils the size in a successful answer (size, fileSize)", {}, after=spoil.wrong_size),
    Kind("empty-body", "leaves the body of a successful answer empty", {}, after=spoil.empty_body),
    Kind("html", "replaces the body of an answer by a proxy's page, with `status`", {"status": 200}, after=spoil.html),
    Kind("invalid-json", "breaks a JSON answer off in the middle", {}, after=spoil.invalid_json),
    Kind("replace-body", "replaces the body of an answer by this text", {"body": "[]"}, after=spoil.replace_body),
    Kind("huge-answer", "appends `bytes` of filler to an answer", {"bytes": 1 << 30}, after=spoil.huge_answer),
    Kind(
        "huge-header",
        "adds a header of `bytes` to an answer",
        {"bytes": 1 << 20},
        after=spoil.huge_header,
    ),
    Kind(
        "drop-header",
        "leaves a header out of the answer",
        {"name": "X-Goog-Upload-Status"},
        after=spoil.drop_header,
    ),
    Kind(
        "set-header",
        "sets a header of the answer",
        {"name": "X-Goog-Upload-Status", "value": "final"},
        after=spoil.set_header,
    ),
    Kind(
        "final-error",
        "dialect B: answers `status` with X-Goog-Upload-Status: final, though the session goes on and the next request "
        "is answered 200",
        {"status": 400},
        before=spoil.final_error,
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _TABLE}
