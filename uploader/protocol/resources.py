"""What a service returns for an upload, read without trust in its shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def identifier(resource: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """The first identifier under one of the dotted paths `fields`, as text; empty when there is
    none.
    """
    for path in fields:
        value: Any = resource
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value != "" and isinstance(value, (str, int)) and not isinstance(value, bool):
            return str(value)
    return ""
