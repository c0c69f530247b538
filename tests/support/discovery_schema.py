"""Whether JSON fits a schema of a discovery document: what Google would refuse of it, field by field."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

_INTEGERS = {"int32": (-(2**31), 2**31), "uint32": (0, 2**32), "int64": (-(2**63), 2**63), "uint64": (0, 2**64)}


def _is_integer(value: object, limits: tuple[int, int]) -> bool:
    """A whole number, as a number or as text: Google's JSON reads either, whatever the schema's type."""
    if isinstance(value, str):
        return re.fullmatch(r"-?\d+", value) is not None and limits[0] <= int(value) < limits[1]
    return type(value) is int and limits[0] <= value < limits[1]


def _is_datetime(text: str) -> bool:
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{1,9})?Z$", "+00:00", text)).tzinfo is not None
    except ValueError:
        return False


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        return False
    return True


def _is_field_mask(text: str) -> bool:
    return re.fullmatch(r"[\w.]+(,[\w.]+)*|", text) is not None


def _is_duration(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d{1,9})?s", text) is not None


_TEXTS: Mapping[str, Callable[[str], bool]] = {
    "google-datetime": _is_datetime,
    "google-duration": _is_duration,
    "google-fieldmask": _is_field_mask,
    "byte": _is_base64,
}


class SchemaChecker:
    """The schemas of one document."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def problems(self, value: object, schema: Schema, where: str = "") -> Iterator[str]:
        """Everything that does not fit, with the path to it. A null is as good as absent."""
        if value is None:
            return
        if "$ref" in schema:
            schema = self._schemas[schema["$ref"]]
        match schema.get("type", "any"):
            case "object":
                yield from self._object(value, schema, where)
            case "array":
                yield from self._array(value, schema, where)
            case "any":
                return
            case _:
                yield from scalar_problems(value, schema, where)

    def _object(self, value: object, schema: Schema, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where or 'the body'} is no object: {value!r}"
            return
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, one in value.items():
            inner = f"{where}.{name}".lstrip(".")
            if name in known:
                yield from self.problems(one, known[name], inner)
            elif others is not None:
                yield from self.problems(one, others, inner)
            else:
                yield f"unknown field {inner}"

    def _array(self, value: object, schema: Schema, where: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{where} is no list: {value!r}"
            return
        for index, one in enumerate(value):
            yield from self.problems(one, schema["items"], f"{where}[{index}]")


def scalar_problems(value: object, schema: Schema, where: str) -> Iterator[str]:
    """What does not fit of a value that has nothing inside; enums and formats included."""
    if "enum" in schema:
        if value not in schema["enum"]:
            yield f"{where} is none of {', '.join(schema['enum'])}: {value!r}"
    elif not _fits(value, schema):
        yield f"{where} is no {schema.get('format', schema['type'])}: {value!r}"
    elif "pattern" in schema and not re.fullmatch(schema["pattern"], str(value)):
        yield f"{where} does not fit {schema['pattern']}: {value!r}"


def _fits(value: object, schema: Schema) -> bool:
    kind, form = schema["type"], schema.get("format", "")
    if form in _INTEGERS:
        return _is_integer(value, _INTEGERS[form])
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str) and (form not in _TEXTS or _TEXTS[form](value))
