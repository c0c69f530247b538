"""Checks the inputs `params`, `metadata` and `media-type` against what an upload method declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from uploader.input_problems import Problems
from uploader.inputs import parse
from uploader.inputs.invalid_value import InvalidValue
from uploader.services import media_types, uri_template
from uploader.services.method_catalogue import Method, Parameter

# Parameters that every method takes. The others of that kind carry secrets or change the form of the answer.
STANDARD = {name: Parameter(name, "string") for name in ("fields", "quotaUser")}
_INTEGERS = {"int32": 31, "int64": 63, "integer": 63}
_KINDS = {"string": "text", "boolean": "boolean", **dict.fromkeys(_INTEGERS, "whole number")}
_DRIVES_OWN = "application/vnd.google-apps."  # what Drive turns an upload into, not what is uploaded

Values = dict[str, tuple[str, ...]]


def check(method: Method, given: Mapping[str, Any], problems: Problems) -> Values:
    """The values as text, each parameter's in a tuple; everything that is wrong with them is added to `problems`."""
    known = {**STANDARD, **method.parameters}
    values: Values = {}
    for name, value in given.items():
        objection = _objection(known.get(name), value)
        if objection:
            # Backticks are for inputs, which may be called alike and have other names in a shell.
            meant = "" if name in known else parse.nearest(name, tuple(known)).replace("`", "'")
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


def media_type(method: Method, metadata: Mapping[str, Any], given: str, problems: Problems) -> str:
    """The files' media type as `metadata` or the input `media-type` states it; empty where neither does.

    What is wrong with it is added to `problems`: Google refuses an upload of another type than its metadata states.
    """
    stated = _stated_type(method.type_field, metadata, problems)
    if stated and given and stated != given:
        what = f"is {given}, but `{method.type_field}` in `metadata` is {stated}."
        problems.add("media-type", what, "the same type, or one of the two")
    kind = stated or given
    if kind and not media_types.accepts(method.accept, kind):
        problems.add(
            "metadata" if stated else "media-type",
            f"{kind} is not a type that {method.target} accepts.",
            ", ".join(method.accept),
        )
    return kind


def _stated_type(field: str, metadata: Mapping[str, Any], problems: Problems) -> str:
    stated = metadata.get(field) if field else None
    if stated is None or str(stated).startswith(_DRIVES_OWN):
        return ""
    try:
        return parse.media_type(str(stated))
    except InvalidValue as invalid:
        problems.add("metadata", f"`{field}` {invalid.reason}", invalid.accepted)
        return ""


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
