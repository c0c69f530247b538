"""Which request is which operation: routes for plain calls, methods for uploads, and the names that faults go by.

Every operation has Google's own method id (`androidpublisher.edits.tracks.update`) and, for Play, a short name
(`play.tracks.update`). An upload request also has the name of its step in the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias
from urllib.parse import unquote

from google_emulator.answers import Answer, Json
from google_emulator.blobs import Blob
from google_emulator.exchange import Exchange

PLAY = "https://www.googleapis.com/auth/androidpublisher"


def _pattern(template: str) -> re.Pattern[str]:
    """`{name}` is one path segment (up to a verb's colon), `{name+}` the rest of the path."""
    escaped = re.escape(template).replace(r"\{", "{").replace(r"\}", "}").replace(r"\+}", "+}")
    escaped = re.sub(r"{(\w+)\+}", r"(?P<\1>.+)", escaped)
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+?)", escaped))


@dataclass(frozen=True)
class Route:
    """A plain JSON call. `scopes` are those of which the token must have one; empty: any token; None: no token."""

    id: str
    method: str
    template: str
    handler: Callable[[Exchange], Answer]
    scopes: tuple[str, ...] | None = (PLAY,)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The path template, compiled."""
        return _pattern(self.template)


@dataclass(frozen=True, slots=True)
class Media:
    """What an upload has brought: its bytes, their declared type, and the metadata sent with them."""

    blob: Blob
    content_type: str
    metadata: dict[str, Json]


Check: TypeAlias = Callable[[Exchange], None]
Finish: TypeAlias = Callable[[Exchange, Media], "dict[str, Json]"]


def nothing_to_check(x: Exchange) -> None:
    """For methods without conditions of their own before the bytes arrive."""
    del x


@dataclass(frozen=True)
class UploadMethod:
    """A method that takes media. `check` runs before bytes are taken, `finish` turns them into the resource.

    `accept` are media types (with `*`), `limit` is in bytes, `algorithms` the digests its resource shows. `created` is
    the status of success; `empty` says that success has no body. `legacy` is false where only the X-Goog-Upload headers
    are understood.
    """

    id: str
    template: str
    finish: Finish
    check: Check = nothing_to_check
    methods: tuple[str, ...] = ("POST",)
    accept: tuple[str, ...] = ("*/*",)
    limit: int | None = None
    scopes: tuple[str, ...] = (PLAY,)
    algorithms: tuple[str, ...] = ()
    created: int = 201
    empty: bool = False
    legacy: bool = True

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The path template, compiled."""
        return _pattern(self.template)


def names_of(method_id: str) -> frozenset[str]:
    """The method id and, for Play, the short name."""
    head, _, rest = method_id.partition(".")
    if head != "androidpublisher":
        return frozenset({method_id})
    short = rest.removeprefix("edits.") if rest.count(".") > 1 else rest
    return frozenset({method_id, f"play.{short}"})


def params_of(match: re.Match[str]) -> dict[str, str]:
    """The path parameters, percent-decoded once the path was taken apart."""
    return {name: unquote(value) for name, value in match.groupdict().items()}


def find_route(routes: Iterable[Route], method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The call that this method and path mean."""
    for route in routes:
        if route.method == method and (match := route.pattern.fullmatch(path)):
            return route, params_of(match)
    return None


def find_upload(
    methods: Iterable[UploadMethod], http_method: str, path: str, *, any_method: bool
) -> tuple[UploadMethod, dict[str, str]] | None:
    """The upload method of a path; requests to an open session come with HTTP methods of their own."""
    for upload in methods:
        if match := upload.pattern.fullmatch(path):
            return (upload, params_of(match)) if any_method or http_method in upload.methods else None
    return None
