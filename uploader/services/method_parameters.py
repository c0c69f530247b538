"""Reads the inputs `params` and `metadata`, and checks them against what the method declares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from uploader.errors import InputError, Problem
from uploader.input_problems import Problems
from uploader.inputs.parse import nearest
from uploader.services import uri_template
from uploader.services.method_catalogue import Method, Parameter

# Parameters that every method takes. The others of that kind carry secrets or change the form of the answer.
STANDARD = {name: Parameter(name, "string") for name in ("fields", "quotaUser")}
_INTEGERS = {"int32": 31, "int64": 63, "integer": 63}
_KINDS = {"string": "text", "boolean": "boolean", **dict.fromkeys(_INTEGERS, "whole number")}

Values = dict[str, tuple[str, ...]]


def read_params(text: str) -> dict[str, Any]:
    """The map in `params`, JSON or YAML, whose scalars stay as they are written. Raises InputError."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = _yaml(text)
    return _map("params", value, "a YAML or JSON map")


def read_metadata(text: str) -> dict[str, Any]:
    """The JSON object in `metadata`. Raises InputError."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise InputError(Problem("metadata", "is not JSON.", "a JSON object")) from None
    return _map("metadata", value, "a JSON object")


def check(method: Method, given: Mapping[str, Any], problems: Problems) -> Values:
    """The values as text, each parameter's in a tuple; everything that is wrong with them is added to `problems`."""
    known = {**STANDARD, **method.parameters}
    values: Values = {}
    for name, value in given.items():
        objection = _objection(known.get(name), value)
        if objection:
            # Backticks are for inputs, which may be called alike and have other names in a shell.
            meant = "" if name in known else nearest(name, tuple(known)).replace("`", "'")
            problems.add("params", f"{name!r} {objection}{meant}", _accepted(known, name))
        else:
            values[name] = tuple(map(_text, _items(value)))
    for name, parameter in method.parameters.items():
        if parameter.required and given.get(name, []) == []:
            problems.add("params", f"{name!r} is missing.", f"'{name}: …', {_accepted(known, name)}")
    for name in uri_template.names(method.upload_path):
        objection = uri_template.objection(method.upload_path, name, values[name][0]) if values.get(name) else ""
        if objection:
            problems.add("params", f"{name!r} {objection}")
    return values


def _yaml(text: str) -> object:
    import yaml  # 20 ms that a run without params, or with JSON, does without

    try:
        # BaseLoader makes strings of all scalars: a version `1.10` or a name `no` arrives as it was written.
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict
    except (yaml.YAMLError, RecursionError, ValueError):
        raise InputError(Problem("params", "is neither JSON nor YAML.", "a YAML or JSON map")) from None


def _map(name: str, value: object, accepted: str) -> dict[str, Any]:
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    raise InputError(Problem(name, "is not a map.", accepted))


def _objection(parameter: Parameter | None, value: object) -> str:
    """Why the value may not stand for the parameter, as the rest of a sentence; empty when it may."""
    if parameter is None:
        return "is not a parameter of this method."
    if isinstance(value, list) and not parameter.repeated:
        return "takes one value, not a list."
    items = _items(value)
    if not all(isinstance(item, (str, int)) for item in items):
        return "is not text, a whole number or a boolean."
    return next(filter(None, (_wrong(parameter, _text(item)) for item in items)), "")


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong(parameter: Parameter, text: str) -> str:
    if parameter.kind == "boolean" and text not in {"true", "false"}:
        return "is not a boolean."
    if parameter.kind in _INTEGERS and not _is_integer(text, _INTEGERS[parameter.kind]):
        return "is not a whole number in range."
    if parameter.choices and text not in parameter.choices:
        return "is not a valid choice."
    if parameter.pattern and not re.fullmatch(parameter.pattern, text):
        return "does not have the required form."
    return ""


def _is_integer(text: str, bits: int) -> bool:
    return re.fullmatch(r"-?[0-9]{1,20}", text) is not None and -(1 << bits) <= int(text) < (1 << bits)


def _accepted(known: Mapping[str, Parameter], name: str) -> str:
    if name not in known:
        return ", ".join(known)
    parameter = known[name]
    if parameter.choices:
        return ", ".join(parameter.choices)
    if parameter.pattern:
        return f"what matches {parameter.pattern}"
    return f"a list of {_KINDS[parameter.kind]}s" if parameter.repeated else f"a {_KINDS[parameter.kind]}"
