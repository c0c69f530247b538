"""The paths of the Android Publisher API that several of its parts share."""

from __future__ import annotations

APPLICATIONS = "/androidpublisher/v3/applications"
EDITS = APPLICATIONS + "/{package}/edits"
EDIT = EDITS + "/{edit}"
