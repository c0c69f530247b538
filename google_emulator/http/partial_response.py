"""Parts of a resource: the fields that the parameter `fields` selects, and byte ranges of a file.

Reference: developers.google.com/drive/api/guides/performance, "Partial response".
"""

from __future__ import annotations

import os
import re
from typing import BinaryIO, TypeAlias

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Headers, Json, Response

_TOKEN = re.compile(r"[\w*-]+|[(),/]")
MAX_DEPTH = 20
_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))")
Fields: TypeAlias = "dict[str, Fields]"


def read_fields(fields: str) -> Fields:
    """Return the tree of fields that a text such as `a,b/c,d(e,f)` or `*` selects; {} for an empty
    text, which selects all. Raises `ApiError` 400 for any other text.
    """
    text = fields.replace(" ", "")
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise _invalid(fields)
    tree = _list(tokens, fields, MAX_DEPTH) if tokens else {}
    if tokens:
        raise _invalid(fields)
    return tree


def selected(value: Json, tree: Fields) -> Json:
    """Return the selected fields of an object, or of each object in a list; an empty `tree` selects
    all.
    """
    if not tree or "*" in tree:
        return value
    if isinstance(value, list):
        return [selected(item, tree) for item in value]
    if isinstance(value, dict):
        return {
            name: selected(value[name], below)
            for name, below in tree.items()
            if name in value
        }
    return value


def _invalid(fields: str) -> ApiError:
    return ApiError(400, f"Invalid field selection {fields}", "invalidParameter")


def _list(tokens: list[str], fields: str, depth: int) -> Fields:
    tree: Fields = {}
    while True:
        name, below = _field(tokens, fields, depth)
        tree.setdefault(name, {}).update(below)
        if tokens[:1] != [","]:
            return tree
        del tokens[0]


def _field(tokens: list[str], fields: str, depth: int) -> tuple[str, Fields]:
    if not depth or not tokens or tokens[0] in "(),/":
        raise _invalid(fields)
    name, mark = tokens.pop(0), "".join(tokens[:1])
    if mark not in ("/", "("):
        return name, {}
    del tokens[0]
    if mark == "/":
        return name, dict([_field(tokens, fields, depth - 1)])
    below = _list(tokens, fields, depth - 1)
    if tokens[:1] != [")"]:
        raise _invalid(fields)
    del tokens[0]
    return name, below


def media_response(request: Request, file: BinaryIO, headers: Headers) -> Response:
    """Return the whole file, or the one range that the request asks for (RFC 9110, section 14),
    with `headers`.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    condition = request.header("If-Range")
    found = _RANGE.fullmatch(request.header("Range"))
    if found is None or (condition and ("ETag", condition) not in headers):
        return Response(200, file.read(), [*headers, ("Accept-Ranges", "bytes")])
    first, last, suffix = (
        None if part is None else int(part) for part in found.groups()
    )
    start = max(0, size - (suffix or 0)) if first is None else first
    stop = size if last is None else min(size, last + 1)
    if start >= stop:
        return Response(416, b"", [("Content-Range", f"bytes */{size}")])
    file.seek(start)
    span = [
        ("Accept-Ranges", "bytes"),
        ("Content-Range", f"bytes {start}-{stop - 1}/{size}"),
    ]
    return Response(206, file.read(stop - start), [*headers, *span])
