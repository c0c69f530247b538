"""Paths and what they mean: templates with parameters, plain calls, and the names by which an operation is known.

Every operation has Google's own method id (`androidpublisher.edits.tracks.update`) and, for Play, a short name
(`play.tracks.update`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias
from urllib.parse import unquote

from google_emulator.http.request import Request
from google_emulator.http.response import Response

Handler: TypeAlias = Callable[[Request], Response]
PLAY_SCOPE = "https://www.googleapis.com/auth/androidpublisher"


@dataclass(frozen=True, slots=True)
class Route:
    """A plain JSON call. `scopes` are those of which the token must have one; empty: any token; None: no token."""

    id: str
    method: str
    template: str
    handler: Handler
    scopes: tuple[str, ...] | None = (PLAY_SCOPE,)


def match_path(template: str, path: str) -> dict[str, str] | None:
    """The decoded parameters of a path, None when it is not of this form.

    `{name}` is one path segment (up to a verb's colon), `{name+}` the rest of the path.
    """
    match = _pattern(template).fullmatch(path)
    return None if match is None else {name: unquote(value) for name, value in match.groupdict().items()}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    escaped = re.escape(template).replace(r"\{", "{").replace(r"\}", "}").replace(r"\+}", "+}")
    escaped = re.sub(r"{(\w+)\+}", r"(?P<\1>.+)", escaped)
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+?)", escaped))


def operation_names(method_id: str) -> frozenset[str]:
    """The method id and, for Play, the short name."""
    head, _, rest = method_id.partition(".")
    if head != "androidpublisher":
        return frozenset({method_id})
    short = rest.removeprefix("edits.") if rest.count(".") > 1 else rest
    return frozenset({method_id, f"play.{short}"})
