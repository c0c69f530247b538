"""Every upload method of Google's APIs, from data that scripts/make_catalogue.py made, and the
checks against it.

Checked are the inputs `params`, `metadata` and `media-type`. Parameters are filled into URL paths
as RFC 6570 says; any value that would lead out of the place it stands in is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from uploader.errors import Problems, ProtocolError
from uploader.inputs import parsers
from uploader.inputs.parsers import InvalidValue
from uploader.services.base import Endpoint
from uploader.services.media_types import accepts

_INTEGERS = {"int32": 31, "int64": 63, "integer": 63}
_KINDS = {"string": "text", "boolean": "boolean", **dict.fromkeys(_INTEGERS, "whole number")}
# what Drive turns an upload into, not what is uploaded
_DRIVES_OWN = "application/vnd.google-apps."
_EXPRESSION = re.compile(r"\{(\+?)([A-Za-z0-9_]+)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="  # RFC 6570, section 1.5: what `{+name}` lets pass
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")  # one that begins no escape

Values = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Parameter:
    """One path or query parameter. `kind` is the document's format or type: string, integer, int32,
    int64, boolean.
    """

    name: str
    kind: str
    required: bool = False
    repeated: bool = False
    pattern: str = ""
    choices: Sequence[str] = ()

    @property
    def accepted(self) -> str:
        """What may be given for it, for people."""
        if self.choices or self.pattern:
            return ", ".join(self.choices) or f"what matches {self.pattern}"
        return f"a list of {_KINDS[self.kind]}s" if self.repeated else f"a {_KINDS[self.kind]}"


# Parameters that every method takes. The others of that kind carry secrets or change the form of
# the response.
STANDARD = {name: Parameter(name, "string") for name in ("fields", "quotaUser")}


@dataclass(frozen=True)
class Method:
    """One upload method. The paths in `template` are RFC 6570 templates, its scope the narrowest
    that does the work.

    `scope_existing` is the one for a request that names something that is there already.
    `name_field` and `type_field` are the metadata fields for a file's name and media type, empty
    where there is none.
    """

    id: str
    template: Endpoint
    scope_existing: str
    name_field: str
    type_field: str
    parameters: Mapping[str, Parameter]

    def endpoint(self, values: Mapping[str, str], **more: Any) -> Endpoint:
        """The method with the parameters of its paths filled in; `more` are the fields that the
        request decides.
        """
        path, upload_path = (
            expand(self.template.path, values),
            expand(self.template.upload_path, values),
        )
        return replace(self.template, path=path, upload_path=upload_path, **more)


def targets() -> tuple[str, ...]:
    """Every name that `find` knows, sorted; a method's qualified name (`drive:v3.files.create`)
    works too.
    """
    return tuple(_methods())


def find(target: str) -> Method | None:
    """The method that a user calls `target`; None when there is none of that name."""
    methods = _methods()
    facts = methods.get(target) or next(
        (one for one in methods.values() if one["qualified"] == target), None
    )
    if facts is None:
        return None
    lists = {
        "media_types": facts["accept"],
        "scopes": [facts["scope"]],
        "id_fields": facts["id_fields"],
    }
    known = {**facts, "id": target, **{name: tuple(found) for name, found in lists.items()}}
    template = Endpoint(
        **{field.name: known[field.name] for field in fields(Endpoint) if field.name in known}
    )
    parameters = {name: Parameter(name, **one) for name, one in facts["parameters"].items()}
    rest = {name: facts[name] for name in ("id", "scope_existing", "name_field", "type_field")}
    return Method(template=template, parameters=parameters, **rest)


def _methods() -> dict[str, dict[str, Any]]:
    data = json.loads(Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8"))
    methods: dict[str, dict[str, Any]] = data["methods"]
    return methods


def check_params(method: Method, given: Mapping[str, Any], problems: Problems) -> Values:
    """The values as text, each parameter's in a tuple; everything that is wrong with them is added
    to `problems`.
    """
    known = {**STANDARD, **method.parameters}
    values: Values = {}
    for name, value in given.items():
        items = value if isinstance(value, list) else [value]
        texts = tuple(str(item).lower() if isinstance(item, bool) else str(item) for item in items)
        if name not in known:
            # Backticks are for inputs, which may be called alike and have other names in a shell.
            meant = parsers.nearest(name, tuple(known)).replace("`", "'")
            problems.add(
                "params", f"{name!r} is not a parameter of this method.{meant}", ", ".join(known)
            )
        elif wrong := _objection(known[name], value, texts):
            problems.add("params", f"{name!r} {wrong}", known[name].accepted)
        else:
            values[name] = texts
    for name, parameter in method.parameters.items():
        if parameter.required and given.get(name, []) == []:
            problems.add("params", f"{name!r} is missing.", f"'{name}: …', {parameter.accepted}")
    for name in placeholders(method.template.upload_path):
        if values.get(name) and (
            wrong := objection(method.template.upload_path, name, values[name][0])
        ):
            problems.add("params", f"{name!r} {wrong}")
    return values


def _objection(parameter: Parameter, value: object, texts: Sequence[str]) -> str:
    """Why the value may not stand for the parameter, as the rest of a sentence; empty when it
    may.
    """
    if isinstance(value, list) and not parameter.repeated:
        return "takes one value, not a list."
    if not all(
        isinstance(item, (str, int)) for item in (value if isinstance(value, list) else [value])
    ):
        return "is not text, a whole number or a boolean."
    for text in texts:
        if parameter.kind == "boolean" and text not in {"true", "false"}:
            return "is not a boolean."
        if bits := _INTEGERS.get(parameter.kind):
            number = int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else 1 << bits
            if not -(1 << bits) <= number < 1 << bits:
                return "is not a whole number in range."
        if parameter.choices and text not in parameter.choices:
            return "is not a valid choice."
        if parameter.pattern and not re.fullmatch(parameter.pattern, text):
            return "does not have the required form."
    return ""


def check_media_type(
    method: Method, metadata: Mapping[str, Any], given: str, problems: Problems
) -> str:
    """The files' media type as `metadata` or `media-type` states it, or ""; Google refuses two
    different ones.
    """
    field, stated = method.type_field, ""
    value = metadata.get(field) if field else None
    if value is not None and not str(value).startswith(_DRIVES_OWN):
        try:
            stated = parsers.media_type(str(value))
        except InvalidValue as invalid:
            problems.add("metadata", f"`{field}` {invalid.reason}", invalid.accepted)
    if stated and given and stated != given:
        what = f"is {given}, but `{field}` in `metadata` is {stated}."
        problems.add("media-type", what, "the same type, or one of the two")
    kind = stated or given
    if kind and not accepts(method.template.media_types, kind):
        what = f"{kind} is not a type that {method.template.id} accepts."
        problems.add(
            "metadata" if stated else "media-type", what, ", ".join(method.template.media_types)
        )
    return kind


def placeholders(template: str) -> tuple[str, ...]:
    """The names of a template's parameters, in their order."""
    return tuple(name for _, name in _EXPRESSION.findall(template))


def expand(template: str, values: Mapping[str, str]) -> str:
    """The path with its parameters filled in and escaped.

    In `{name}` everything but unreserved characters is escaped; in `{+name}` slashes separate
    segments and escapes that are there already are kept. Check each value that was given with
    `objection` first. Raises ProtocolError for one that a service named and that leads out of its
    place.
    """
    if any(map(parsers.leads_elsewhere, values.values())):
        raise ProtocolError(
            "The service named an id with a . or .. segment, which would lead to another path."
        )

    def escaped(found: re.Match[str]) -> str:
        value = values[found[2]]
        return (
            _LONE_PERCENT.sub("%25", quote(value, safe=_RESERVED + "%"))
            if found[1]
            else quote(value, safe="")
        )

    return _EXPRESSION.sub(escaped, template)


def objection(template: str, name: str, value: str) -> str:
    """Why `value` may not stand for `name` in the template, as the rest of a sentence; empty when
    it may.
    """
    reserved = f"{{+{name}}}" in template
    if not value:
        return "is empty, which would leave out a part of the path."
    if re.search(r"[\x00-\x1f\x7f]", unquote(value) if reserved else value):
        return "contains a control character."
    if reserved and re.search(r"[?#]", value):
        return (
            "contains ? or #, which would end the path; write %3F or %23 if they belong to the "
            "name."
        )
    if parsers.leads_elsewhere(value):
        return "contains a . or .. segment, which would lead to another path."
    if reserved and "" in unquote(value).split("/"):
        return "has an empty segment (a slash at the beginning or end, or two in a row)."
    return ""
