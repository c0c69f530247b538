"""applications.dataSafety: the data safety form of an app, which replaces the previous one without
an edit.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/applications/dataSafety. "Invalid
header row" is what users have reported; the other refusals are in this emulator's own words.
"""

from __future__ import annotations

import csv
import io

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.payload_rules import read_message, text
from google_emulator.services.play import permissions
from google_emulator.services.play.store import APPLICATIONS, PlayStore

HEADER = (
    "Question ID (machine readable),Response ID (machine readable),Response value,Answer "
    "requirement,Human-friendly question label"
)
_OBLIGATORY = "REQUIRED"


class DataSafetyApi(Service):
    """The latest form of each app."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        path = APPLICATIONS + "/{package}/dataSafety"
        self.routes = [
            Route(
                "androidpublisher.applications.dataSafety", "POST", path, self._update
            )
        ]

    def _update(self, request: Request) -> Json:
        app = self._store.app(request.params["package"])
        permissions.require(
            self._store.config, app.package, permissions.MANAGE_APP_CONTENT
        )
        labels = read_message(request.json(), {"safetyLabels": text}, "request").get(
            "safetyLabels", ""
        )
        lines = list(csv.reader(io.StringIO(labels, newline="")))
        if not lines or ",".join(lines[0]) != HEADER:
            raise ApiError(400, "Invalid header row.")
        for number, row in enumerate(lines[1:], 2):
            if len(row) != len(lines[0]) or not row[0]:
                raise ApiError(400, f"Row {number} of the safety labels is invalid.")
            if row[3] == _OBLIGATORY and not row[2]:
                raise ApiError(
                    400, f"Row {number}: the required question {row[0]} has no answer."
                )
        app.data_safety = labels
        return {}
