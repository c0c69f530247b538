"""Every way in which the emulator can misbehave on request: name, meaning, options and what it does.

A fault acts before the request is carried out (and may wait inside its body for a number of bytes), or on the response.
One that finds nothing to break in a request does not fire and waits for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from google_emulator.faults import offset_faults, request_faults, response_faults
from google_emulator.faults.error_response import ERROR_OPTIONS
from google_emulator.faults.fault_context import FaultContext
from google_emulator.http.response import Json, Response


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind of fault; `options` are its names with their defaults.

    `before` acts before the request is carried out, `after` on its response; both may raise `Interrupted`.
    """

    name: str
    meaning: str
    options: Mapping[str, Json]
    before: Callable[[FaultContext], None] | None = None
    after: Callable[[FaultContext, Response], Response] | None = None


_KINDS = (
    FaultKind(
        "status",
        "answers with an error without carrying the request out, once `after` bytes of the body have come (0: at once; "
        '`"end"`: all of them), while the rest is perhaps still being sent; `stored`: bytes of this body that are kept '
        "(whole granules of what came, unless given); `body`: another body than Google's error JSON",
        {"after": 0, "stored": None, **ERROR_OPTIONS},
        before=request_faults.status,
    ),
    FaultKind(
        "status-after-effect",
        "carries the request out, then answers with an error as if it had not",
        ERROR_OPTIONS,
        after=response_faults.status_after_effect,
    ),
    FaultKind(
        "reset",
        "resets the connection (RST) once `after` bytes of the body have come; `stored` as above",
        {"after": 0, "stored": None},
        before=request_faults.reset,
    ),
    FaultKind(
        "answer-lost",
        "carries the request out, then closes the connection (`reset`: resets it) instead of answering",
        {"reset": False},
        after=response_faults.answer_lost,
    ),
    FaultKind(
        "short-store",
        "takes the whole body but stores only its first `stored` bytes, and says so",
        {"stored": 262_144},
        before=request_faults.short_store,
    ),
    FaultKind(
        "stall",
        "stops reading for `seconds` once `after` bytes have come",
        {"after": 0, "seconds": 1.0},
        before=request_faults.stall,
    ),
    FaultKind(
        "session-lost",
        "forgets the upload session and answers 404 (or 410)",
        {"after": 0, "status": 404},
        before=request_faults.session_lost,
    ),
    FaultKind(
        "token-expired", "expires the access token and answers 401", {"after": 0}, before=request_faults.token_expired
    ),
    FaultKind(
        "lose-edit",
        "someone else invalidates the edit named in the path: `how` is deleted, expired or changed (another commit)",
        {"how": "deleted"},
        before=request_faults.lose_edit,
    ),
    FaultKind(
        "slow-answer",
        "carries the request out, waits `seconds`, answers",
        {"seconds": 1.0},
        after=response_faults.slow_answer,
    ),
    FaultKind(
        "slow-drip",
        "sends the answer byte by byte, `seconds` after each",
        {"seconds": 0.01},
        after=response_faults.slow_drip,
    ),
    FaultKind(
        "cut-answer",
        "sends the first `after` bytes of an answer's body, waits `pause` seconds and closes the connection",
        {"after": 0, "pause": 0.0},
        after=response_faults.cut_answer,
    ),
    FaultKind(
        "damage-body",
        "changes the byte at offset `at` of an answer's body",
        {"at": 0},
        after=response_faults.damage_body,
    ),
    FaultKind("no-range", "leaves the Range header out of a 308", {}, after=offset_faults.no_range),
    FaultKind(
        "range-plain",
        "writes the Range header of a 308 as `0-42`, without `bytes=`",
        {},
        after=offset_faults.range_plain,
    ),
    FaultKind(
        "range-backward",
        "really loses what was stored from offset `to` on, and says so in a 308 (dialect B: in the size received)",
        {"to": 0},
        after=offset_faults.range_backward,
    ),
    FaultKind(
        "range-beyond",
        "claims in a 308 (dialect B: in the size received) `by` bytes more than were ever sent",
        {"by": 262_144},
        after=offset_faults.range_beyond,
    ),
    FaultKind(
        "range-from",
        "lets the Range of a 308 begin at `start` instead of 0",
        {"start": 1},
        after=offset_faults.range_from,
    ),
    FaultKind(
        "redirect-308",
        "adds a `location` (empty: the same session on another path) to a 308",
        {"location": ""},
        after=response_faults.redirect_308,
    ),
    FaultKind(
        "redirect",
        "answers with a redirect to `location` (its path is kept when it has none) without carrying the request out",
        {"status": 307, "location": "https://upload.example.net"},
        before=request_faults.redirect,
    ),
    FaultKind(
        "foreign-session",
        "puts the session URI of a start on another scheme, host and port",
        {"origin": "https://upload.example.net"},
        after=response_faults.foreign_session,
    ),
    FaultKind(
        "wrong-digest",
        "changes every digest in a successful answer (md5Hash, crc32c, sha1, sha256, Drive's checksums)",
        {},
        after=response_faults.wrong_digest,
    ),
    FaultKind(
        "wrong-size", "changes the size in a successful answer (size, fileSize)", {}, after=response_faults.wrong_size
    ),
    FaultKind("empty-body", "leaves the body of a successful answer empty", {}, after=response_faults.empty_body),
    FaultKind(
        "html",
        "replaces the body of an answer by a proxy's page, with `status`",
        {"status": 200},
        after=response_faults.html,
    ),
    FaultKind("invalid-json", "breaks a JSON answer off in the middle", {}, after=response_faults.invalid_json),
    FaultKind(
        "replace-body",
        "replaces the body of an answer by this text",
        {"body": "[]"},
        after=response_faults.replace_body,
    ),
    FaultKind(
        "huge-answer", "appends `bytes` of filler to an answer", {"bytes": 1 << 30}, after=response_faults.huge_answer
    ),
    FaultKind(
        "huge-header",
        "adds a header of `bytes` to an answer",
        {"bytes": 1 << 20},
        after=response_faults.huge_header,
    ),
    FaultKind(
        "drop-header",
        "leaves a header out of the answer",
        {"name": "X-Goog-Upload-Status"},
        after=response_faults.drop_header,
    ),
    FaultKind(
        "set-header",
        "sets a header of the answer",
        {"name": "X-Goog-Upload-Status", "value": "final"},
        after=response_faults.set_header,
    ),
    FaultKind(
        "final-error",
        "dialect B: answers `status` with X-Goog-Upload-Status: final, though the session goes on and the next request "
        "is answered 200",
        {"status": 400},
        before=request_faults.final_error,
    ),
)

KINDS: Mapping[str, FaultKind] = {kind.name: kind for kind in _KINDS}
