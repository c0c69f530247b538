"""Faults that act before a request is carried out, perhaps only once a number of bytes of its body have come."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from google_emulator.faults.error_response import error_response
from google_emulator.faults.fault_context import FaultContext
from google_emulator.http.errors import ApiError, Interrupted, unauthenticated
from google_emulator.http.response import Response


def _schedule(context: FaultContext, action: Callable[[], None]) -> None:
    """Acts at the fault's `after`: before the body (0), after so many bytes, at its end at the latest (`"end"`)."""
    after, stored = context.option("after"), context.fault.options.get("stored")
    if stored is not None:
        context.request.body.keep = int(stored)
    if after == 0:
        action()
    else:
        context.request.body.call_after(None if after == "end" else int(after), action)


def status(context: FaultContext) -> None:
    """An error instead of the effect."""

    def act() -> None:
        context.fire()
        raise Interrupted(error_response(context.fault))

    _schedule(context, act)


def reset(context: FaultContext) -> None:
    """The connection is reset."""

    def act() -> None:
        context.fire()
        raise Interrupted(reset=True)

    _schedule(context, act)


def stall(context: FaultContext) -> None:
    """The server stops reading for a while."""

    def act() -> None:
        context.fire()
        context.targets.sleep(context.option("seconds"))

    _schedule(context, act)


def short_store(context: FaultContext) -> None:
    """Only the first bytes of the body are kept."""
    body = context.request.body
    body.keep = int(context.option("stored"))

    def act() -> None:
        if body.dropped:
            context.fire(dropped_bytes=body.dropped)

    body.call_after(None, act)


def session_lost(context: FaultContext) -> None:
    """The upload session is forgotten."""

    def act() -> None:
        if context.targets.sessions.pop(context.request.upload_id, None) is not None:
            context.fire()
            raise Interrupted(ApiError(context.option("status"), "Requested entity was not found.").response())

    _schedule(context, act)


def token_expired(context: FaultContext) -> None:
    """The request's access token expires."""

    def act() -> None:
        if context.targets.expire_token(context.request.header("Authorization")):
            context.fire()
            raise Interrupted(unauthenticated().response())

    _schedule(context, act)


def lose_edit(context: FaultContext) -> None:
    """Somebody else invalidates the edit."""
    if context.targets.invalidate_edit(context.request.path, context.option("how")):
        context.fire()


def redirect(context: FaultContext) -> None:
    """The client is sent to another server."""
    location = urlsplit(context.option("location"))
    if not location.path:
        location = location._replace(path=context.request.path)
    context.fire()
    raise Interrupted(Response(context.option("status"), b"", [("Location", urlunsplit(location))]))


def final_error(context: FaultContext) -> None:
    """The session is called final, and is not."""
    context.fire()
    response = ApiError(context.option("status"), "The upload has been rejected.").response()
    response.set_header("X-Goog-Upload-Status", "final")
    raise Interrupted(response)
