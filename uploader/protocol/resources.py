"""Reads the resource that a service returns for an upload, without trust in its shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def identifier(resource: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """Return the first identifier under one of the dotted paths `fields`, as text; empty when there
    is none.
    """
    for path in fields:
        value = value_at(resource, path)
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            continue
        text = str(value)
        if text:
            return text
    return ""


def value_at(value: Any, path: str) -> Any:
    """Return the value at a dotted path in a JSON value, None if there is none. A number is an
    index into a list.
    """
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal():
            index = int(name)
            if index >= len(value):
                return None
            value = value[index]
        else:
            return None
    return value
