"""Partial responses: the part of an answer that the parameter `fields` asks for, in Google's notation.

Reference: developers.google.com/drive/api/guides/performance, "Partial response".
"""

from __future__ import annotations

import re
from typing import TypeAlias

from google_emulator.http.errors import ApiError
from google_emulator.http.response import Json

_TOKEN = re.compile(r"[\w*-]+|[(),/]")
DEEPEST = 20
Fields: TypeAlias = "dict[str, Fields]"


def selected(value: Json, fields: str) -> Json:
    """What `a,b/c,d(e,f)` or `*` leaves of a value. Raises `ApiError` 400 for what is no such notation."""
    text = fields.replace(" ", "")
    tokens = _TOKEN.findall(text)
    if not tokens or "".join(tokens) != text:
        raise _invalid(fields)
    tree = _list(tokens, fields, DEEPEST)
    if tokens:
        raise _invalid(fields)
    return _pruned(value, tree)


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


def _pruned(value: Json, tree: Fields) -> Json:
    if not tree or "*" in tree:
        return value
    if isinstance(value, list):
        return [_pruned(one, tree) for one in value]
    if isinstance(value, dict):
        return {name: _pruned(value[name], below) for name, below in tree.items() if name in value}
    return value
