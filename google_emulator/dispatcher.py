"""From a request to its response: which operation it is, whether a fault is due, who asks, and what is done.

The order is that of a real front end: faults stand for the network and the load balancer, so they come before the token
is looked at; then authentication, then the service's own rules.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate

from google_emulator.admin import ADMIN_PATH, Admin
from google_emulator.faults.injector import FaultInjector
from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Response
from google_emulator.http.routes import Handler
from google_emulator.request_log import RequestLog
from google_emulator.router import Router
from google_emulator.traffic import Traffic


class Dispatcher:
    """Answers requests, whatever they are. `clock` is what the Date of an answer says, in seconds since the epoch."""

    def __init__(
        self,
        router: Router,
        faults: FaultInjector,
        admin: Admin,
        traffic: Traffic,
        log: RequestLog,
        clock: Callable[[], float],
    ) -> None:
        self._router = router
        self._faults = faults
        self._admin = admin
        self._traffic = traffic
        self._log = log
        self._clock = clock

    def respond(self, request: Request) -> Response:
        """The response to one request.

        Raises `Interrupted` when a fault ends it otherwise, `Disconnected` when the client goes away.
        """
        if request.path.startswith(ADMIN_PATH):
            return _respond(self._admin.respond, request)
        handler = self._router.resolve(request)
        try:
            response = self._faults.respond(request, lambda request: self._dated(_respond(handler, request)))
            return _without_308(request, response)
        finally:
            self._traffic.finished(request.operations, request.body.received)
            self._log.add(request)

    def _dated(self, response: Response) -> Response:
        response.headers.append(("Date", formatdate(self._clock(), usegmt=True)))
        return response


def _respond(handler: Handler, request: Request) -> Response:
    try:
        return handler(request)
    except ApiError as error:
        return error.response()


def _without_308(request: Request, response: Response) -> Response:
    """A 308 in another dress, for clients whose HTTP library would follow it (Google's Go client asks so)."""
    if response.status == 308 and request.header("X-GUploader-No-308").lower() == "yes":
        response.status = 200
        response.set_header("X-Http-Status-Code-Override", "308")
    return response
