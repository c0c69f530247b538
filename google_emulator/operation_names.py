"""The names by which a fault selects requests: method ids, Play's short names, protocol steps, and a few wide ones."""

from __future__ import annotations

from collections.abc import Iterable

from google_emulator.http.routes import operation_names

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
    "goog.raw": "X-Goog-Upload-Protocol: raw",
    "goog.multipart": "X-Goog-Upload-Protocol: multipart",
    "goog.start": "the command start",
    "goog.upload": "the command upload, with or without finalize",
    "goog.finalize": "the command finalize, with or without upload",
    "goog.query": "the command query",
    "goog.cancel": "the command cancel",
}


def method_names(ids: Iterable[str]) -> list[str]:
    """Every name of the methods with these ids, in order."""
    return sorted({name for method_id in ids for name in operation_names(method_id)})


def all_operations(ids: Iterable[str]) -> frozenset[str]:
    """Every name that a fault's `on` may have where methods with these ids are served."""
    return frozenset({*WIDE, *STEPS, *method_names(ids)})
