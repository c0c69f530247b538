"""The emulator's own paths: its state, and more faults while it runs."""

from __future__ import annotations

from collections.abc import Callable

from google_emulator.faults.injector import FaultInjector
from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.router import not_found

ADMIN_PATH = "/__emulator/"


class Admin:
    """`GET /__emulator/state` and `POST /__emulator/faults`, which need no token and are hit by no fault."""

    def __init__(self, describe: Callable[[], dict[str, Json]], faults: FaultInjector) -> None:
        self._describe = describe
        self._faults = faults

    def respond(self, request: Request) -> Response:
        """The response to a request for one of these paths. Raises `ApiError`."""
        request.read_payload()
        if (request.method, request.path) == ("GET", ADMIN_PATH + "state"):
            return json_response(self._describe())
        if (request.method, request.path) == ("POST", ADMIN_PATH + "faults"):
            return self._add_faults(request.json())
        return not_found(request)

    def _add_faults(self, wanted: dict[str, Json]) -> Response:
        try:
            self._faults.add(wanted.get("faults", []))
        except (ValueError, TypeError, AttributeError) as error:
            raise ApiError(400, str(error)) from None
        return json_response({"waiting": self._faults.queue.waiting()})
