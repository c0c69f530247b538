"""Paths and what they mean: templates with parameters, plain calls, and the names of operations.

Every operation has Google's own method id (`androidpublisher.edits.tracks.update`) and, for Play, a
short name (`play.tracks.update`). A fault selects requests by these names, by protocol steps, and
by a few wide names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias
from urllib.parse import unquote

from google_emulator.http.request import Request
from google_emulator.http.response import Json

Handler: TypeAlias = Callable[[Request], Json]  # a `Response`, or the JSON of one
PLAY_SCOPE = "https://www.googleapis.com/auth/androidpublisher"
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


@dataclass(frozen=True)
class Route:
    """A plain JSON call. The token must have one of `scopes`; if they are empty, any token will do;
    None means that no token is needed.

    `fields` are answered if the request does not ask for any; empty means all.
    """

    id: str
    method: str
    template: str
    handler: Handler
    scopes: tuple[str, ...] | None = (PLAY_SCOPE,)
    fields: str = ""


def match_path(template: str, path: str) -> dict[str, str] | None:
    """Return the decoded parameters of a path; None if it does not match the template.

    `{name}` is one path segment (up to a verb's colon), `{name+}` the rest of the path.
    """
    match = _pattern(template).fullmatch(path)
    return (
        None
        if match is None
        else {name: unquote(value) for name, value in match.groupdict().items()}
    )


@cache
def _pattern(template: str) -> re.Pattern[str]:
    escaped = (
        re.escape(template)
        .replace(r"\{", "{")
        .replace(r"\}", "}")
        .replace(r"\+}", "+}")
    )
    escaped = re.sub(r"{(\w+)\+}", r"(?P<\1>.+)", escaped)
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+?)", escaped))


def operation_names(method_id: str) -> frozenset[str]:
    """Return the method id and, for Play, the short name."""
    head, _, rest = method_id.partition(".")
    if head != "androidpublisher":
        return frozenset({method_id})
    short = rest.removeprefix("edits.") if rest.count(".") > 1 else rest
    return frozenset({method_id, f"play.{short}"})


def method_names(ids: Iterable[str]) -> list[str]:
    """Return every name of the methods with these ids, sorted."""
    return sorted({name for method_id in ids for name in operation_names(method_id)})


def all_operations(ids: Iterable[str]) -> frozenset[str]:
    """Return every name that the `on` of a fault can have if methods with these ids are served."""
    return frozenset({*WIDE, *STEPS, *method_names(ids)})
