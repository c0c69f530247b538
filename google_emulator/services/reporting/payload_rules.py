"""Whether a body fits a message; unknown fields, wrong types and unknown enum values are refused, in Google's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from google_emulator.http.errors import ApiError, invalid_argument
from google_emulator.http.response import Json

INT32 = 1 << 31


@dataclass(frozen=True, slots=True)
class EnumRule:
    """A field with one of these values; `type_name` is the protocol buffers' name of the enum."""

    type_name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListRule:
    """A repeated field."""

    item: Rule


@dataclass(frozen=True, slots=True)
class MessageRule:
    """A message with these fields."""

    fields: Mapping[str, Rule]


Rule: TypeAlias = "EnumRule | ListRule | MessageRule | Callable[[Json], str]"


def text(value: Json) -> str:
    """The rule of a string field: the type that it should have, empty when it has it."""
    return "" if isinstance(value, str) else "TYPE_STRING"


def int32(value: Json) -> str:
    """The rule of an int32 field, which may also be written as text."""
    number = re.fullmatch(r"-?\d+", value) is not None if isinstance(value, str) else type(value) is int
    return "" if number and -INT32 <= int(value) < INT32 else "TYPE_INT32"


def duration(value: Json) -> str:
    """The rule of a google-duration field: `-14400s`."""
    fits = isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d{1,9})?s", value)
    return "" if fits else "type.googleapis.com/google.protobuf.Duration"


def check_payload(value: Json, rule: Rule, path: str = "") -> None:
    """Checks a value and everything in it; null is as good as absent. Raises `ApiError` 400 INVALID_ARGUMENT."""
    if value is None:
        return
    if isinstance(rule, MessageRule):
        _check_message(value, rule, path)
    elif isinstance(rule, ListRule):
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            check_payload(item, rule.item, f"{path}[{index}]" if isinstance(value, list) else path)
    elif isinstance(value, list):
        raise _unknown(path, "Proto field is not repeating, cannot start list.")
    elif isinstance(rule, EnumRule):
        if value not in rule.values:
            raise _invalid(path, f"type.googleapis.com/{rule.type_name}", value)
    elif expected := rule(value):
        raise _invalid(path, expected, value)


def _check_message(value: Json, rule: MessageRule, path: str) -> None:
    if isinstance(value, list):
        raise _unknown(path, "Proto field is not repeating, cannot start list.")
    if not isinstance(value, dict):
        raise _invalid(path, "message", value)
    for name, one in value.items():
        inner = f"{path}.{snake_case(name)}".lstrip(".")
        if name not in rule.fields:
            raise _unknown(f"{path}.{name}".lstrip("."), "Cannot find field.")
        check_payload(one, rule.fields[name], inner)


def snake_case(name: str) -> str:
    """The field's name in the protocol buffers, which Google's messages use."""
    return re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name)


def _unknown(path: str, why: str) -> ApiError:
    parent, _, name = path.rpartition(".")
    where = f" at '{parent}'" if parent else ""
    return invalid_argument(f'Invalid JSON payload received. Unknown name "{name}"{where}: {why}', parent)


def _invalid(path: str, expected: str, value: Json) -> ApiError:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return invalid_argument(f"Invalid value at '{path}' ({expected}), {shown}", path)
