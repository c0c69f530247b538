"""The names by which a fault selects requests: method ids, Play's short names, protocol steps, and a few wide ones."""

from __future__ import annotations

from google_emulator import uploads_a, uploads_b
from google_emulator.router import names_of
from google_emulator.routes import ROUTES, UPLOADS

WIDE = {
    "any": "every request",
    "api": "every plain API call",
    "upload": "every request to an upload endpoint",
    "resumable": "every request of a resumable upload in the dialect of uploadType",
    "goog": "every request in the dialect of the X-Goog-Upload headers",
}
STEPS = {
    "simple": "uploadType=media",
    "multipart": "uploadType=multipart",
    "resumable.start": "the start of a session",
    "resumable.put": "bytes sent to a session, whole or in chunks",
    "resumable.final": "a request that carries the last byte, or finalises an empty file",
    "resumable.query": "the question for the offset",
    "resumable.cancel": "DELETE of a session",
    "goog.multipart": "X-Goog-Upload-Protocol: multipart",
    "goog.start": "the command start",
    "goog.upload": "the command upload, with or without finalize",
    "goog.finalize": "the command finalize, with or without upload",
    "goog.query": "the command query",
    "goog.cancel": "the command cancel",
}
_IDS = [*(route.id for route in ROUTES), *(method.id for method in UPLOADS)]
METHODS = sorted({name for method_id in _IDS for name in names_of(method_id)})
OPERATIONS = frozenset({*WIDE, *STEPS, *METHODS})

if set(STEPS) != {*uploads_a.STEPS, *uploads_b.STEPS}:  # pragma: no cover - a slip in this file, not in use
    raise AssertionError("the table of steps differs from the dialects")
