"""Faults on request: every way to misbehave, when each is due, and the receipts of those that
fired.

A fault acts before the request is carried out (perhaps after a number of bytes of its body), or on
the response. One that finds nothing to break in a request does not fire, and stays in the queue. A
fault applies to requests that have all the names in its `on`; `nth` counts these from the moment
when the fault was queued. If several are due, only the oldest fires.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from google_emulator.backend import Backend
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Interrupted,
    Json,
    Response,
    unauthenticated,
)
from google_emulator.http.routes import all_operations
from google_emulator.protocol.uploads import Session

RECEIVED = "X-Goog-Upload-Size-Received"
DIGESTS = frozenset(
    {
        "md5Hash",
        "sha1",
        "sha256",
        "sha1Checksum",
        "sha256Checksum",
        "md5Checksum",
        "crc32c",
    }
)
SIZES = frozenset({"size", "fileSize", "sizeEstimate", "sizeBytes"})
PAGE = (
    b"<!DOCTYPE html><html><head><title>Proxy</title></head>"
    b"<body><h1>A word from the proxy</h1></body></html>"
)
_COMMON = {"on", "do", "nth", "times"}
ERROR_OPTIONS: dict[str, Json] = {
    "status": 503,
    "message": "The service is currently unavailable.",
    "reason": "",
    "retry_after": None,
    "headers": {},
    "body": None,
    "content_type": "text/html; charset=UTF-8",
    "cut": None,
    "cut_head": None,
}


Act: TypeAlias = Callable[["FaultContext"], None]


@dataclass(frozen=True)
class FaultKind:
    """One kind of fault. `options` are the names of its options with their defaults.

    `when` says whether `act` is called before the request is carried out or after it; `act` may
    raise `Interrupted`.
    """

    name: str
    meaning: str
    options: Mapping[str, Json]
    when: Literal["before", "after"]
    act: Act


KINDS: dict[str, FaultKind] = {}


def _before(name: str, meaning: str, /, **options: Json) -> Callable[[Act], Act]:
    """Register a kind of fault that acts before the request is carried out."""
    return lambda act: (
        KINDS.setdefault(name, FaultKind(name, meaning, options, "before", act)).act
    )


def _at(name: str, meaning: str, /, **options: Json) -> Callable[[Act], Act]:
    """Register a kind of fault with an option `after`, which says when it acts.

    0 means before the body, a number after so many bytes of the body or at its end at the latest,
    and `"end"` at its end.
    """

    def register(act: Act) -> Act:
        def schedule(context: FaultContext) -> None:
            after, stored, body = (
                context.options["after"],
                context.options.get("stored"),
                context.request.body,
            )
            if stored is not None:
                body.keep = int(stored)
            if after == 0:
                act(context)
            else:
                body.call_after(
                    None if after == "end" else int(after), lambda: act(context)
                )

        return _before(name, meaning, **options)(schedule)

    return register


def _after(name: str, meaning: str, /, **options: Json) -> Callable[[Act], Act]:
    """Register a kind of fault that acts on the response."""
    return lambda act: (
        KINDS.setdefault(name, FaultKind(name, meaning, options, "after", act)).act
    )


def _falsified(value: Json, keys: frozenset[str], *, named: bool = False) -> Json:
    """Return a copy in which every value under one of these keys is a different one. `named` says
    that the value itself is under such a key.
    """
    if isinstance(value, dict):
        return {
            name: _falsified(member, keys, named=name in keys)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_falsified(item, keys) for item in value]
    if not named:
        return value
    if isinstance(value, int):
        return value + 1
    if value.isdigit() and len(value) < 20:
        return str(int(value) + 1)
    return ("b" if value[:1] == "a" else "a") + value[1:]


@dataclass
class FaultContext:
    """A fault that is due for a request, and a method for each kind of fault. The fault has fired
    once `fire` was called.

    `fire` writes the receipt, with more details as keywords; `sleep` waits so many seconds, or
    until the emulator stops. `response` is the true response; faults that act on it change or
    replace it.
    """

    request: Request
    options: Mapping[str, Json]
    backend: Backend
    sleep: Callable[[float], None]
    fire: Callable[..., None]
    response: Response

    @property
    def session(self) -> Session | None:
        """The upload session that the request names, if there is one."""
        return self.backend.uploads.sessions.get(self.request.upload_id)

    @property
    def succeeded(self) -> bool:
        """Whether the response is a success that has a body."""
        return self.response.status in (200, 201) and bool(self.response.body)

    def error(self) -> Response:
        """Return Google's error response, or one with the `body` of the fault. The fault has
        `ERROR_OPTIONS`.
        """
        options = self.options
        response = ApiError(
            options["status"], options["message"], options["reason"]
        ).response()
        if options["body"] is not None:
            headers = [("Content-Type", options["content_type"])]
            response = Response(
                options["status"], str(options["body"]).encode(), headers
            )
        response.headers += [
            (name, str(value)) for name, value in options["headers"].items()
        ]
        if options["retry_after"] is not None:
            response.headers.append(("Retry-After", str(options["retry_after"])))
        response.cut, response.cut_head = options["cut"], options["cut_head"]
        return response

    @_at(
        "status",
        "answers with an error without carrying the request out, once `after` bytes of the body "
        'have come (0: at once; `"end"`: all of them), while the rest is perhaps still being sent; '
        "`stored`: bytes of this body that are kept (whole granules of what came, unless given); "
        "`body`: another body than Google's error JSON; `cut` and `cut_head`: how many bytes of "
        "it, or of the head, are sent before the connection ends",
        **{"after": 0, "stored": None, **ERROR_OPTIONS},
    )
    def _status(self) -> None:
        self.fire()
        raise Interrupted(self.error())

    @_after(
        "status-after-effect",
        "carries the request out, then answers with an error as if it had not",
        **ERROR_OPTIONS,
    )
    def _status_after_effect(self) -> None:
        self.fire()
        self.response = self.error()

    @_at(
        "reset",
        "resets the connection (RST) once `after` bytes of the body have come; `stored` as above",
        after=0,
        stored=None,
    )
    def _reset(self) -> None:
        self.fire()
        raise Interrupted(reset=True)

    @_after(
        "answer-lost",
        "carries the request out, then closes the connection (`reset`: resets it) instead of "
        "answering",
        reset=False,
    )
    def _answer_lost(self) -> None:
        self.fire(status_lost=self.response.status)
        raise Interrupted(reset=self.options["reset"])

    @_before(
        "short-store",
        "takes the whole body but stores only its first `stored` bytes, and says so",
        stored=262_144,
    )
    def _short_store(self) -> None:
        body = self.request.body
        body.keep = int(self.options["stored"])

        def act() -> None:
            if body.dropped:
                self.fire(dropped_bytes=body.dropped)

        body.call_after(None, act)

    @_at(
        "stall",
        "stops reading for `seconds` once `after` bytes have come",
        after=0,
        seconds=1.0,
    )
    def _stall(self) -> None:
        self.fire()
        self.sleep(self.options["seconds"])

    @_at(
        "session-lost",
        "forgets the upload session and answers 404 (or 410)",
        after=0,
        status=404,
    )
    def _session_lost(self) -> None:
        if self.backend.uploads.sessions.pop(self.request.upload_id, None) is not None:
            self.fire()
            raise Interrupted(
                ApiError(
                    self.options["status"], "Requested entity was not found."
                ).response()
            )

    @_at("token-expired", "expires the access token and answers 401", after=0)
    def _token_expired(self) -> None:
        if self.backend.authority.expire(self.request.header("Authorization")):
            self.fire()
            raise Interrupted(unauthenticated().response())

    @_before(
        "lose-edit",
        "someone else invalidates the edit named in the path: `how` is deleted, expired or changed "
        "(another commit)",
        how="deleted",
    )
    def _lose_edit(self) -> None:
        if self.backend.play.invalidate_edit(self.request.path, self.options["how"]):
            self.fire()

    @_after(
        "slow-answer", "carries the request out, waits `seconds`, answers", seconds=1.0
    )
    def _slow_answer(self) -> None:
        self.fire()
        self.sleep(self.options["seconds"])

    @_after(
        "slow-drip", "sends the answer byte by byte, `seconds` after each", seconds=0.01
    )
    def _slow_drip(self) -> None:
        self.fire()
        self.response.drip = self.options["seconds"]

    @_after(
        "cut-answer",
        "sends the first `after` bytes of an answer's body, waits `pause` seconds and closes the "
        "connection",
        after=0,
        pause=0.0,
    )
    def _cut_answer(self) -> None:
        if len(self.response.body) > self.options["after"]:
            self.fire()
            self.response.cut, self.response.pause = (
                int(self.options["after"]),
                float(self.options["pause"]),
            )

    @_after(
        "cut-head",
        "sends the first `after` bytes of an answer's head (its empty line never) and closes the "
        "connection",
        after=30,
    )
    def _cut_head(self) -> None:
        self.fire()
        self.response.cut_head = int(self.options["after"])

    @_after("damage-body", "changes the byte at offset `at` of an answer's body", at=0)
    def _damage_body(self) -> None:
        at, body = int(self.options["at"]), self.response.body
        if len(body) > at:
            self.fire()
            self.response.body = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]

    def _tell_range(self, value: str) -> None:
        """Replace the Range of a 308, or remove it if `value` is empty. Any other response stays as
        it is.
        """
        if self.response.status != 308:
            return
        self.fire(range_told=value, range_true=self.response.header("Range"))
        self.response.remove_header("Range")
        if value:
            self.response.set_header("Range", value)

    @_after("no-range", "leaves the Range header out of a 308")
    def _no_range(self) -> None:
        if self.response.header("Range"):
            self._tell_range("")

    @_after(
        "range-plain", "writes the Range header of a 308 as `0-42`, without `bytes=`"
    )
    def _range_plain(self) -> None:
        if plain := self.response.header("Range").removeprefix("bytes="):
            self._tell_range(plain)

    @_after(
        "range-backward",
        "really loses what was stored from offset `to` on, and says so in a 308 (dialect B: in the "
        "size received)",
        to=0,
    )
    def _range_backward(self) -> None:
        session, to, received = (
            self.session,
            int(self.options["to"]),
            self.response.header(RECEIVED),
        )
        if session is None or session.finished or to >= session.blob.size:
            return
        if self.response.status != 308 and not received:
            return
        session.lose(to)
        if received:
            self.fire(size_told=to)
            self.response.set_header(RECEIVED, str(to))
        else:
            self._tell_range(f"bytes=0-{to - 1}" if to else "")

    @_after(
        "range-beyond",
        "claims in a 308 (dialect B: in the size received) `by` bytes more than were ever sent",
        by=262_144,
    )
    def _range_beyond(self) -> None:
        session = self.session
        if session is None:
            return
        claimed = session.blob.size + int(self.options["by"])
        if self.response.header(RECEIVED):
            self.fire(size_told=claimed, size_true=session.blob.size)
            self.response.set_header(RECEIVED, str(claimed))
        else:
            self._tell_range(f"bytes=0-{claimed - 1}")

    @_after(
        "range-from", "lets the Range of a 308 begin at `start` instead of 0", start=1
    )
    def _range_from(self) -> None:
        if end := self.response.header("Range").rpartition("-")[2]:
            self._tell_range(f"bytes={self.options['start']}-{end}")

    @_after(
        "redirect-308",
        "adds a `location` (empty: the same session on another path) to a 308",
        location="",
    )
    def _redirect_308(self) -> None:
        if self.response.status == 308:
            request = self.request
            path = f"/elsewhere{request.path}?upload_id={request.upload_id}"
            same_session = f"{request.server_url}{path}"
            location = self.options["location"] or same_session
            self.fire(location_told=location)
            self.response.set_header("Location", location)

    @_before(
        "redirect",
        "answers with a redirect to `location` (if it has no path, the request's is used) without "
        "carrying the request out",
        status=307,
        location="https://upload.example.net",
    )
    def _redirect(self) -> None:
        location = urlsplit(self.options["location"])
        if not location.path:
            location = location._replace(path=self.request.path)
        self.fire()
        raise Interrupted(
            Response(self.options["status"], b"", [("Location", urlunsplit(location))])
        )

    @_after(
        "foreign-session",
        "puts the session URI of a start on another scheme, host and port",
        origin="https://upload.example.net",
    )
    def _foreign_session(self) -> None:
        response = self.response
        name = "Location" if response.header("Location") else "X-Goog-Upload-URL"
        if response.header(name):
            self.fire()
            path = response.header(name).removeprefix(self.request.server_url)
            response.set_header(name, self.options["origin"] + path)

    def _falsify(self, keys: frozenset[str]) -> None:
        if not self.succeeded:
            return
        true = json.loads(self.response.body)
        false = _falsified(true, keys)
        if false != true:
            self.fire()
            self.response.body = json.dumps(false).encode()

    @_after(
        "wrong-digest",
        "changes every digest in a successful answer (md5Hash, crc32c, sha1, sha256, Drive's "
        "checksums)",
    )
    def _wrong_digest(self) -> None:
        self._falsify(DIGESTS)

    @_after("wrong-size", "changes the size in a successful answer (size, fileSize)")
    def _wrong_size(self) -> None:
        self._falsify(SIZES)

    @_after("empty-body", "leaves the body of a successful answer empty")
    def _empty_body(self) -> None:
        if self.succeeded:
            self.fire()
            self.response.body = b""

    @_after(
        "html",
        "replaces an answer with a proxy's page, with `status`",
        status=200,
    )
    def _html(self) -> None:
        self.fire()
        self.response = Response(
            self.options["status"], PAGE, [("Content-Type", "text/html; charset=UTF-8")]
        )

    @_after("invalid-json", "breaks a JSON answer off in the middle")
    def _invalid_json(self) -> None:
        if len(self.response.body) >= 2:
            self.fire()
            self.response.body = self.response.body[: len(self.response.body) // 2]

    @_after(
        "replace-body",
        "replaces the body of an answer with this text; `refusals`: that of an error as well",
        body="[]",
        refusals=True,
    )
    def _replace_body(self) -> None:
        if self.options["refusals"] or self.response.status < 400:
            self.fire()
            self.response.body = str(self.options["body"]).encode()

    @_after(
        "drop-header", "leaves a header out of the answer", name="X-Goog-Upload-Status"
    )
    def _drop_header(self) -> None:
        if self.response.header(self.options["name"]):
            self.fire()
            self.response.remove_header(self.options["name"])

    @_after(
        "set-header",
        "sets a header of the answer",
        name="X-Goog-Upload-Status",
        value="final",
    )
    def _set_header(self) -> None:
        self.fire()
        self.response.set_header(self.options["name"], str(self.options["value"]))

    @_before(
        "final-error",
        "dialect B: answers `status` with X-Goog-Upload-Status: final, though the session goes on "
        "and the next request is answered 200",
        status=400,
    )
    def _final_error(self) -> None:
        self.fire()
        response = ApiError(
            self.options["status"], "The upload has been rejected."
        ).response()
        response.set_header("X-Goog-Upload-Status", "final")
        raise Interrupted(response)


@dataclass
class Fault:
    """One fault in the queue. `left` is how often it will still fire, `seen` how many requests
    matched so far.
    """

    on: str
    do: str
    options: Mapping[str, Json]
    nth: int
    left: int
    seen: int = 0

    def spec(self) -> dict[str, Json]:
        """Return the fault as it was queued."""
        return {"on": self.on, "do": self.do, **self.options}


class FaultInjector:
    """The queue of faults, what lets them act, and the receipts of those that fired. It can be used
    from several threads.

    `sleep` waits so many seconds, or until the emulator stops.
    """

    def __init__(self, backend: Backend, sleep: Callable[[float], None]) -> None:
        self.receipts: list[dict[str, Json]] = []
        self._queue: list[Fault] = []
        self._lock = threading.Lock()
        self._backend = backend
        self._sleep = sleep
        self._operations = all_operations(backend.method_ids)

    def add(self, specs: Sequence[Mapping[str, Json]]) -> None:
        """Queue faults, all or none. Raises `ValueError` for an unknown name or option."""
        faults = [_parse_fault(spec, self._operations) for spec in specs]
        with self._lock:
            self._queue.extend(faults)

    def clear(self) -> None:
        """Remove every fault and every receipt."""
        with self._lock:
            self._queue.clear()
            self.receipts.clear()

    def waiting(self) -> list[dict[str, Json]]:
        """Return the faults that will still fire."""
        with self._lock:
            return [fault.spec() for fault in self._queue if fault.left > 0]

    def respond(
        self, request: Request, handle: Callable[[Request], Response]
    ) -> Response:
        """Return the response of `handle`, or what a fault makes of it. Raises `Interrupted` if a
        fault ends the request.
        """
        taken = self._take(request.operations)
        if taken is None:
            return handle(request)
        fault, number = taken
        fired = False

        def fire(**detail: Json) -> None:
            nonlocal fired
            fired = True
            receipt = {
                **fault.spec(),
                "request": number,
                "method": request.method,
                "path": request.path,
            }
            with self._lock:
                self.receipts.append(
                    {**receipt, "after_bytes": request.body.received, **detail}
                )

        kind = KINDS[fault.do]
        context = FaultContext(
            request, fault.options, self._backend, self._sleep, fire, Response()
        )
        try:
            if kind.when == "before":
                kind.act(context)
                return handle(request)
            context.response = handle(request)
            kind.act(context)
            return context.response
        finally:
            if not fired:  # it found nothing to break
                with self._lock:
                    fault.left += 1

    def _take(self, operations: frozenset[str]) -> tuple[Fault, int] | None:
        """Return the fault that is due for a request with these names, and how many requests it has
        matched, this one included. Return None if no fault is due.
        """
        due: Fault | None = None
        with self._lock:
            for fault in self._queue:
                if fault.left <= 0 or not operations.issuperset(fault.on.split("+")):
                    continue
                fault.seen += 1
                if due is None and fault.seen >= fault.nth:
                    due = fault
            if due is None:
                return None
            due.left -= 1
            return due, due.seen


def _parse_fault(spec: Mapping[str, Json], operations: AbstractSet[str]) -> Fault:
    """Return a fault for the queue. Raises `ValueError` for an unknown name or option."""
    kind = KINDS.get(str(spec.get("do", "")))
    if kind is None:
        raise ValueError(
            f"unknown fault {spec.get('do')!r}; there are: {', '.join(sorted(KINDS))}"
        )
    options = {name: value for name, value in spec.items() if name not in _COMMON}
    unknown = sorted(set(options) - set(kind.options))
    if unknown:
        raise ValueError(
            f"fault {kind.name} has no option {', '.join(unknown)}; it has: "
            f"{', '.join(kind.options)}"
        )
    on = str(spec.get("on", "any"))
    for name in on.split("+"):
        if name not in operations:
            raise ValueError(f"no operation is called {name!r}; `any` is every request")
    return Fault(
        on,
        kind.name,
        {**kind.options, **options},
        int(spec.get("nth", 1)),
        int(spec.get("times", 1)),
    )


def read_plan(text: str) -> tuple[list[Json], dict[str, Json]]:
    """Return the faults and the configuration of a JSON text, or of the file of that name: a list,
    or `{"faults": [], "config": {}}`.

    Raises `ValueError` for JSON that is neither, `OSError` if the file can't be read.
    """
    if not text.lstrip().startswith(("[", "{")):
        text = Path(text).read_text(encoding="utf-8")
    plan = json.loads(text)
    if isinstance(plan, list):
        return plan, {}
    unknown = sorted(set(plan) - {"faults", "config"})
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)}; accepted: faults, config")
    return plan.get("faults", []), plan.get("config", {})
