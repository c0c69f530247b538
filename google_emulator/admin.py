"""The emulator's own paths: its state, and more faults, scripts and people's actions while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from google_emulator.faults.injector import FaultInjector
from google_emulator.google_services import Backend
from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.router import not_found
from google_emulator.services.timestamps import timestamp

ADMIN_PATH = "/__emulator/"
Control: TypeAlias = Callable[[dict[str, Json]], dict[str, Json]]


class Admin:
    """`GET /__emulator/state` and what can be POSTed beside it; all need no token and are hit by no fault."""

    def __init__(self, describe: Callable[[], dict[str, Json]], faults: FaultInjector, backend: Backend) -> None:
        self._describe = describe
        self._faults = faults
        self._backend = backend
        self._controls: Mapping[str, Control] = {
            "faults": self._add_faults,
            "clock": self._advance,
            "console": self._act,
            "lifecycle": self._script_lifecycle,
            "vitals": self._script_vitals,
        }

    def respond(self, request: Request) -> Response:
        """The response to a request for one of these paths. Raises `ApiError`."""
        request.read_payload()
        name = request.path.removeprefix(ADMIN_PATH)
        if (request.method, name) == ("GET", "state"):
            return json_response(self._describe())
        if request.method != "POST" or name not in self._controls:
            return not_found(request)
        try:
            return json_response(self._controls[name](request.json()))
        except (ValueError, TypeError, AttributeError) as error:
            raise ApiError(400, str(error)) from None

    def _add_faults(self, wanted: dict[str, Json]) -> dict[str, Json]:
        self._faults.add(wanted.get("faults", []))
        return {"waiting": self._faults.queue.waiting()}

    def _advance(self, wanted: dict[str, Json]) -> dict[str, Json]:
        return {"time": timestamp(self._backend.clock.advance(float(wanted.get("advance", 0))))}

    def _act(self, wanted: dict[str, Json]) -> dict[str, Json]:
        self._backend.console.carry_out(wanted.get("operations", []))
        return {}

    def _script_lifecycle(self, wanted: dict[str, Json]) -> dict[str, Json]:
        self._backend.lifecycle.script(wanted)
        return {}

    def _script_vitals(self, wanted: dict[str, Json]) -> dict[str, Json]:
        self._backend.vitals.script(wanted)
        return {}
