"""What Play knows of all apps, the edits that are open on them, and why an edit can no longer be used."""

from __future__ import annotations

import copy
import re
import secrets
from collections.abc import Callable
from datetime import date, datetime, timezone

from google_emulator.config import Config
from google_emulator.http.errors import ApiError, failed_precondition
from google_emulator.http.request import Request
from google_emulator.services.play.model import App, AppContent, Edit, configured_app

_EDIT_PATH = re.compile(r"/edits/([^/:]+)")
_CLOSED = {
    "deleted": ("This Edit has been deleted.", "editDeleted"),
    "committed": (
        "This edit has already been successfully committed, please create a new Edit.",
        "editAlreadyCommitted",
    ),
}


class PlayStore:
    """All apps and edits. `clock` tells seconds since the epoch."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.apps: dict[str, App] = {}
        self.edits: dict[str, Edit] = {}
        self._config = config
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forgets every edit and brings the apps back to what the configuration says."""
        self.edits.clear()
        self.apps.clear()
        for package, live in self._config.apps.items():
            self.apps[package] = configured_app(package, live)

    def today(self) -> date:
        """The day in UTC."""
        return datetime.fromtimestamp(self._clock(), timezone.utc).date()

    def app(self, package: str) -> App:
        """The app, created by hand long ago. Raises `ApiError` 404 for an unknown one, 403 for a forbidden one."""
        if package in self._config.denied:
            raise ApiError(403, "The caller does not have permission", "forbidden")
        if package not in self.apps:
            if not self._config.any_app:
                raise ApiError(404, f"Package not found: {package}.", "applicationNotFound", domain="androidpublisher")
            self.apps[package] = App(package, AppContent(), set())
        return self.apps[package]

    def insert_edit(self, package: str) -> Edit:
        """A new edit: a copy of what is live."""
        app = self.app(package)
        if self._config.one_edit_per_app:
            for other in self.edits.values():
                if other.package == package and other.state == "open":
                    other.state = "deleted"
        edit = Edit(
            id=f"{secrets.randbelow(10**20):020}",
            package=package,
            content=copy.deepcopy(app.live),
            revision=app.revision,
            expires=self._clock() + self._config.edit_lifetime,
        )
        self.edits[edit.id] = edit
        return edit

    def open_edit(self, request: Request) -> Edit:
        """The edit of the request's path. Raises `ApiError`, in Google's words, when it can't be worked in."""
        app = self.app(request.params["package"])
        edit = self.edits.get(request.params["edit"])
        if edit is None or edit.package != app.package:
            raise ApiError(404, f"Edit not found: {request.params['edit']}.", "editNotFound", domain="androidpublisher")
        if edit.state != "open":
            raise failed_precondition(*_CLOSED[edit.state])
        if edit.expires <= self._clock():
            raise failed_precondition("This edit has expired, please create a new Edit.", "editExpired")
        if edit.revision != app.revision:
            raise failed_precondition(
                "A change was made to the application outside of this Edit, please create a new edit."
            )
        return edit

    def invalidate_edit(self, path: str, how: str) -> bool:
        """Invalidates the open edit named in a path as someone else would; tells whether there was one.

        `how` is `deleted`, `expired`, or anything else for another change of the app.
        """
        match = _EDIT_PATH.search(path)
        edit = self.edits.get(match[1]) if match else None
        if edit is None or edit.state != "open":
            return False
        if how == "deleted":
            edit.state = "deleted"
        elif how == "expired":
            edit.expires = 0.0
        else:
            self.app(edit.package).revision += 1
        return True
