"""Faults that act before a request is carried out, perhaps only once a number of bytes of its body have come."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from google_emulator.faults.error_response import error_response
from google_emulator.faults.injection import Injection
from google_emulator.http.errors import ApiError, Interrupted, unauthenticated
from google_emulator.http.response import Response


def _schedule(injection: Injection, action: Callable[[], None]) -> None:
    """Acts at the fault's `after`: before the body (0), after so many bytes, at its end at the latest (`"end"`)."""
    after, stored = injection.option("after"), injection.fault.options.get("stored")
    if stored is not None:
        injection.request.body.keep = int(stored)
    if after == 0:
        action()
    else:
        injection.request.body.call_after(None if after == "end" else int(after), action)


def status(injection: Injection) -> None:
    """An error instead of the effect."""

    def act() -> None:
        injection.fire()
        raise Interrupted(error_response(injection.fault))

    _schedule(injection, act)


def reset(injection: Injection) -> None:
    """The connection is reset."""

    def act() -> None:
        injection.fire()
        raise Interrupted(reset=True)

    _schedule(injection, act)


def stall(injection: Injection) -> None:
    """The server stops reading for a while."""

    def act() -> None:
        injection.fire()
        injection.targets.sleep(injection.option("seconds"))

    _schedule(injection, act)


def short_store(injection: Injection) -> None:
    """Only the first bytes of the body are kept."""
    body = injection.request.body
    body.keep = int(injection.option("stored"))

    def act() -> None:
        if body.dropped:
            injection.fire(dropped_bytes=body.dropped)

    body.call_after(None, act)


def session_lost(injection: Injection) -> None:
    """The upload session is forgotten."""

    def act() -> None:
        if injection.targets.sessions.pop(injection.request.upload_id, None) is not None:
            injection.fire()
            raise Interrupted(ApiError(injection.option("status"), "Requested entity was not found.").response())

    _schedule(injection, act)


def token_expired(injection: Injection) -> None:
    """The request's access token expires."""

    def act() -> None:
        if injection.targets.expire_token(injection.request.header("Authorization")):
            injection.fire()
            raise Interrupted(unauthenticated().response())

    _schedule(injection, act)


def lose_edit(injection: Injection) -> None:
    """Somebody else invalidates the edit."""
    if injection.targets.invalidate_edit(injection.request.path, injection.option("how")):
        injection.fire()


def redirect(injection: Injection) -> None:
    """The client is sent to another server."""
    location = urlsplit(injection.option("location"))
    if not location.path:
        location = location._replace(path=injection.request.path)
    injection.fire()
    raise Interrupted(Response(injection.option("status"), b"", [("Location", urlunsplit(location))]))


def final_error(injection: Injection) -> None:
    """The session is called final, and is not."""
    injection.fire()
    response = ApiError(injection.option("status"), "The upload has been rejected.").response()
    response.set_header("X-Goog-Upload-Status", "final")
    raise Interrupted(response)
