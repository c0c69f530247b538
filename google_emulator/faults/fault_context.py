"""One fault at work on one request, and what of the emulator faults may reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from google_emulator.faults.fault_queue import Fault, FaultQueue
from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.protocol.sessions import Session


@dataclass(frozen=True, slots=True)
class FaultTargets:
    """What faults act on.

    `sessions` are the upload sessions by id; `sleep` waits so many seconds, at most until the emulator stops;
    `expire_token` takes an Authorization header, `invalidate_edit` a path and how, and both tell whether there was one.
    """

    sessions: dict[str, Session]
    sleep: Callable[[float], object]
    expire_token: Callable[[str], bool]
    invalidate_edit: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class FaultContext:
    """A fault that is due for a request; it counts as fired once `fire` was called."""

    fault: Fault
    request: Request
    targets: FaultTargets
    queue: FaultQueue

    def option(self, name: str) -> Json:
        """An option of the fault, or its default."""
        return self.fault.options[name]

    def fire(self, **detail: Json) -> None:
        """Writes the receipt of the fault, with what is to be known of it besides."""
        self.queue.record(self.fault, self.request, detail)

    @property
    def session(self) -> Session | None:
        """The upload session that the request names, if there is one."""
        return self.targets.sessions.get(self.request.upload_id)
