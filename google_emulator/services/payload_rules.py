"""JSON as Google's parser of protocol buffers reads it: what it accepts for a message, and its
words for what it refuses.

Numbers may be written as texts, and field names as `versionCodes` or `version_codes`. 2.0 is a
whole number, a single value stands for a list of one, and null for an absent field. Reference:
protobuf.dev/programming-guides/json.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from google_emulator.http.response import ApiError, Json, invalid_argument

_BOOLEANS: Mapping[bool | str, bool] = {
    True: True,
    False: False,
    "true": True,
    "false": False,
}


@dataclass(frozen=True)
class ScalarRule:
    """A field of a scalar type. `read` returns the value; None if the JSON is no such value."""

    type_name: str
    read: Callable[[Json], Json]


@dataclass(frozen=True)
class EnumRule:
    """A field with one of these values. `type_name` is the enum's name in the protocol buffers."""

    type_name: str
    values: tuple[str, ...]


# The rule of a repeated field is a list with the rule of its items; that of a message is a mapping
# from the names of its fields to their rules.
Rule: TypeAlias = "ScalarRule | EnumRule | list[Rule] | Mapping[str, Rule]"


def _whole(bits: int) -> Callable[[Json], int | None]:
    def read(value: Json) -> int | None:
        if isinstance(value, str):
            number = int(value) if re.fullmatch(r"-?[0-9]{1,20}", value) else None
        elif isinstance(value, float):
            number = int(value) if value.is_integer() else None
        else:
            number = value if type(value) is int else None
        return (
            number
            if number is not None and -(1 << bits - 1) <= number < 1 << bits - 1
            else None
        )

    return read


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _duration(value: Json) -> str | None:
    return (
        value
        if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d{1,9})?s", value)
        else None
    )


text = ScalarRule(
    "TYPE_STRING", lambda value: value if isinstance(value, str) else None
)
int32 = ScalarRule("TYPE_INT32", _whole(32))
int64 = ScalarRule("TYPE_INT64", _whole(64))
double = ScalarRule("TYPE_DOUBLE", _number)
boolean = ScalarRule(
    "TYPE_BOOL",
    lambda value: _BOOLEANS.get(value) if isinstance(value, (bool, str)) else None,
)
# such as `-14400s`
duration = ScalarRule("type.googleapis.com/google.protobuf.Duration", _duration)


def read_message(
    value: Json, rule: Mapping[str, Rule], path: str = ""
) -> dict[str, Json]:
    """Return the fields that are given. `path` is the name of the message in Google's refusals.
    Raises `ApiError` 400.
    """
    if isinstance(value, list):
        raise _unknown(path, "Proto field is not repeating, cannot start list.")
    if not isinstance(value, dict):
        raise _invalid(path, "message", value)
    found: dict[str, Json] = {}
    for name, item in value.items():
        field = _camel_case(name)
        if field not in rule:
            raise _unknown(f"{path}.{name}".lstrip("."), "Cannot find field.")
        if item is not None:
            found[field] = _read(
                item, rule[field], f"{path}.{_snake_case(field)}".lstrip(".")
            )
    return found


def _read(value: Json, rule: Rule, path: str) -> Json:
    if isinstance(rule, Mapping):
        return read_message(value, rule, path)
    if isinstance(rule, list):
        if not isinstance(value, list):
            return [_read(value, rule[0], path)]
        return [
            _read(item, rule[0], f"{path}[{index}]")
            for index, item in enumerate(value)
            if item is not None
        ]
    if isinstance(value, list):
        raise _unknown(path, "Proto field is not repeating, cannot start list.")
    if isinstance(rule, EnumRule):
        if value not in rule.values:
            raise _invalid(path, f"type.googleapis.com/{rule.type_name}", value)
        return value
    read = rule.read(value)
    if read is None:
        raise _invalid(path, rule.type_name, value)
    return read


def _snake_case(name: str) -> str:
    """Return the field's name in the protocol buffers, which Google's refusals use."""
    return re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name)


def _camel_case(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _unknown(path: str, why: str) -> ApiError:
    parent, _, name = path.rpartition(".")
    where = f" at '{parent}'" if parent else ""
    return invalid_argument(
        f'Invalid JSON payload received. Unknown name "{name}"{where}: {why}', parent
    )


def _invalid(path: str, expected: str, value: Json) -> ApiError:
    shown = (
        f'"{value}"'
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    return invalid_argument(f"Invalid value at '{path}' ({expected}), {shown}", path)
