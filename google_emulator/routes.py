"""The table of everything that is served: Google's APIs one after the other, most specific paths first."""

from __future__ import annotations

from google_emulator import anything, devices, gmail, keyless, oauth
from google_emulator.play import artifacts, edits, extras, listings, tracks
from google_emulator.router import Route, UploadMethod

ROUTES: tuple[Route, ...] = (
    *oauth.ROUTES,
    *edits.ROUTES,
    *artifacts.ROUTES,
    *tracks.ROUTES,
    *extras.ROUTES,
    *listings.ROUTES,
    *gmail.ROUTES,
    *keyless.ROUTES,
    *anything.ROUTES,
)
UPLOADS: tuple[UploadMethod, ...] = (
    *artifacts.UPLOADS,
    *extras.UPLOADS,
    *listings.UPLOADS,
    *gmail.UPLOADS,
    *devices.UPLOADS,
    *anything.UPLOADS,
)
