"""Find the upload methods of Google's APIs, and check inputs against them.

The data are made by scripts/make_catalogue.py. The inputs are `params`, `metadata` and
`media-type`. Parameters are filled into URL paths as RFC 6570 says; a value that would lead to
another path is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from uploader.errors import Problems, ProtocolError
from uploader.inputs import parsers
from uploader.inputs.parsers import InvalidValue
from uploader.services import completion
from uploader.services.base import Endpoint
from uploader.services.completion import Completion
from uploader.services.media_types import accepts

# for each kind of whole number, how many bits it has besides its sign
_INTEGERS = {
    "int32": 31,
    "int64": 63,
    "integer": 63,
}
_KINDS = {
    "string": "text",
    "boolean": "boolean",
    **dict.fromkeys(_INTEGERS, "whole number"),
}
# media types that Drive converts an upload to, not those of the uploaded file
_DRIVES_OWN = "application/vnd.google-apps."
_EXPRESSION = re.compile(r"\{(\+?)([A-Za-z0-9_]+)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="  # RFC 6570, section 1.5: what `{+name}` lets pass
# a percent sign that begins no escape
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

Values = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Parameter:
    """One path or query parameter.

    `kind` is the discovery document's format or type: string, integer, int32, int64 or boolean.
    """

    name: str
    kind: str
    required: bool = False
    repeated: bool = False
    pattern: str = ""
    choices: Sequence[str] = ()

    @property
    def accepted(self) -> str:
        """What may be given for it, in words."""
        if self.choices:
            return ", ".join(self.choices)
        if self.pattern:
            return f"what matches {self.pattern}"
        kind = _KINDS[self.kind]
        if self.repeated:
            return f"a list of {kind}s"
        return f"a {kind}"


# Of the parameters that every method has, those that may be given. The others carry secrets, or
# change the form of the response.
STANDARD = {
    "fields": Parameter("fields", "string"),
    "quotaUser": Parameter("quotaUser", "string"),
}


@dataclass(frozen=True)
class Method:
    """One upload method.

    The paths in `template` are RFC 6570 templates, and its scope is the narrowest that suffices.
    `scope_existing` is the scope of a request that names something that is there already.
    `name_field` and `type_field` are the metadata fields for a file's name and media type, empty if
    there are none.
    """

    id: str
    template: Endpoint
    scope_existing: str
    name_field: str
    type_field: str
    parameters: Mapping[str, Parameter]

    def endpoint(self, values: Mapping[str, str], **more: Any) -> Endpoint:
        """Return the method with the parameters of its paths filled in; `more` are the fields that
        the request decides.
        """
        return replace(
            self.template,
            path=expand(self.template.path, values),
            upload_path=expand(self.template.upload_path, values),
            completion=self._completion(values),
            **more,
        )

    def _completion(self, values: Mapping[str, str]) -> Completion | None:
        """Return the rule for the method's answers, with the values of the request filled into the
        path of its lookup.
        """
        rule = self.template.completion
        if rule is None:
            return None
        lookup = rule.lookup
        if lookup is None:
            return rule
        from_request = dict(values)
        for name, _ in lookup.values:
            from_request.pop(name, None)
        path = expand(lookup.path, from_request, partly=True)
        return replace(rule, lookup=replace(lookup, path=path))


def targets() -> tuple[str, ...]:
    """Return every name that `find` knows, sorted; a method's qualified name
    (`drive:v3.files.create`) works too.
    """
    return tuple(_methods())


def find(target: str) -> Method | None:
    """Return the method that a user calls `target`; None if there is no such method."""
    facts = _facts(target)
    if facts is None:
        return None
    template = Endpoint(
        id=target,
        root=facts["root"],
        path=facts["path"],
        upload_path=facts["upload_path"],
        media_types=tuple(facts["accept"]),
        scopes=(facts["scope"],),
        http_method=facts["http_method"],
        max_size=facts["max_size"],
        dialect=facts["dialect"],
        multipart=facts["multipart"],
        resumable=facts["resumable"],
        idempotent=facts["idempotent"],
        empty_response=facts["empty_response"],
        id_fields=tuple(facts["id_fields"]),
        id_promised=facts["id_promised"],
        completion=completion.from_facts(facts["completion"]),
    )
    parameters = {
        name: Parameter(name, **parameter)
        for name, parameter in facts["parameters"].items()
    }
    return Method(
        id=facts["id"],
        template=template,
        scope_existing=facts["scope_existing"],
        name_field=facts["name_field"],
        type_field=facts["type_field"],
        parameters=parameters,
    )


def _facts(target: str) -> dict[str, Any] | None:
    """Return the catalogue's entry of the method that a user calls `target`; None if there is no
    such method.
    """
    methods = _methods()
    if target in methods:
        return methods[target]
    for facts in methods.values():
        if facts["qualified"] == target:
            return facts
    return None


def _methods() -> dict[str, dict[str, Any]]:
    """Read the entries of the catalogue, by the short names of the methods."""
    path = Path(__file__).with_name("catalogue.json")
    text = path.read_text(encoding="utf-8")
    catalogue = json.loads(text)
    methods: dict[str, dict[str, Any]] = catalogue["methods"]
    return methods


def check_params(
    method: Method, params: Mapping[str, Any], problems: Problems
) -> Values:
    """Return the parameters' values as text, each in a tuple. Add a problem for everything that is
    wrong with them.
    """
    parameters = {**STANDARD, **method.parameters}
    values: Values = {}
    for name, value in params.items():
        if name not in parameters:
            suggestion = parsers.nearest(name, tuple(parameters))
            # Backticks mark inputs, whose names a message in a shell replaces by others.
            suggestion = suggestion.replace("`", "'")
            problems.add(
                "params",
                f"{name!r} is not a parameter of this method.{suggestion}",
                ", ".join(parameters),
            )
            continue
        parameter = parameters[name]
        is_list = isinstance(value, list)
        items = [value]
        if is_list:
            items = value
        texts = tuple(map(_text, items))
        fault = ""
        if is_list and not parameter.repeated:
            fault = "takes one value, not a list."
        if not fault:
            fault = _fault_of_type(items)
        if not fault:
            fault = _fault(parameter, texts)
        if fault:
            problems.add(
                "params",
                f"{name!r} {fault}",
                parameter.accepted,
            )
        else:
            values[name] = texts
    for name, parameter in method.parameters.items():
        if not parameter.required:
            continue
        value = params.get(name, [])
        if value == []:
            problems.add(
                "params",
                f"{name!r} is missing.",
                f"'{name}: …', {parameter.accepted}",
            )
    _check_places(method.template.upload_path, values, problems)
    return values


def _fault_of_type(items: Sequence[object]) -> str:
    """Return why one of the values has a type that no parameter has, as the rest of a sentence;
    empty if none has.
    """
    for item in items:
        if not isinstance(item, (str, int)):
            return "is not text, a whole number or a boolean."
    return ""


def _check_places(path: str, values: Values, problems: Problems) -> None:
    """Add a problem for each value that is not allowed at its place in the path."""
    for name in placeholders(path):
        texts = values.get(name)
        if not texts:
            continue
        fault = objection(path, name, texts[0])
        if fault:
            problems.add("params", f"{name!r} {fault}")


def _text(item: object) -> str:
    """Return a value of a parameter as it stands in a URL."""
    if item is True:
        return "true"
    if item is False:
        return "false"
    return str(item)


def _fault(parameter: Parameter, texts: Sequence[str]) -> str:
    """Return why one of the texts is not allowed for the parameter, as the rest of a sentence;
    empty if all are allowed.
    """
    is_boolean = parameter.kind == "boolean"
    bits = _INTEGERS.get(parameter.kind)
    choices = parameter.choices
    pattern = parameter.pattern
    for text in texts:
        if is_boolean and text not in {"true", "false"}:
            return "is not a boolean."
        if bits and not _fits(text, bits):
            return "is not a whole number in range."
        if choices and text not in choices:
            return "is not a valid choice."
        if pattern and not re.fullmatch(pattern, text):
            return "does not have the required form."
    return ""


def _fits(text: str, bits: int) -> bool:
    """Return whether the text is a whole number of so many bits and a sign."""
    if not re.fullmatch(r"-?[0-9]{1,20}", text):
        return False
    number = int(text)
    limit = 1 << bits
    return -limit <= number < limit


def check_media_type(
    method: Method,
    metadata: Mapping[str, Any],
    media_type: str,
    problems: Problems,
) -> str:
    """Return the files' media type that `metadata` or `media-type` states; empty if neither does.

    Add a problem if they differ, which Google refuses, or if the method does not accept the type.
    """
    field = method.type_field
    stated = _stated_type(field, metadata, problems)
    if stated and media_type and stated != media_type:
        problems.add(
            "media-type",
            f"is {media_type}, but `{field}` in `metadata` is {stated}.",
            "the same type, or one of the two",
        )
    name = "media-type"
    if stated:
        name = "metadata"
        media_type = stated
    accepted = method.template.media_types
    if media_type and not accepts(accepted, media_type):
        problems.add(
            name,
            f"{media_type} is not a type that {method.template.id} accepts.",
            ", ".join(accepted),
        )
    return media_type


def _stated_type(field: str, metadata: Mapping[str, Any], problems: Problems) -> str:
    """Return the files' media type in a field of `metadata`; empty if it states none."""
    if not field:
        return ""
    value = metadata.get(field)
    if value is None:
        return ""
    text = str(value)
    if text.startswith(_DRIVES_OWN):
        return ""
    try:
        return parsers.media_type(text)
    except InvalidValue as invalid:
        problems.add(
            "metadata",
            f"`{field}` {invalid.reason}",
            invalid.accepted,
        )
        return ""


def placeholders(template: str) -> tuple[str, ...]:
    """Return the names of a template's parameters, in their order."""
    expressions = _EXPRESSION.findall(template)
    return tuple(name for _, name in expressions)


def expand(template: str, values: Mapping[str, str], *, partly: bool = False) -> str:
    """Return the path with its parameters filled in and escaped; `partly` leaves those without a
    value as they are.

    In `{name}` everything but unreserved characters is escaped. In `{+name}` slashes separate
    segments, and escapes are kept. Values from inputs have to be checked with `objection` before.
    Raises ProtocolError for a value, such as an id from a service, that would lead to another path.
    """
    if any(map(parsers.leads_elsewhere, values.values())):
        raise ProtocolError(
            "The service named an id with a . or .. segment, which would lead to another path."
        )

    def escape(expression: re.Match[str]) -> str:
        reserved, name = expression.groups()
        if partly and name not in values:
            return expression[0]
        value = values[name]
        if reserved:
            escaped = quote(value, safe=_RESERVED + "%")
            return _LONE_PERCENT.sub("%25", escaped)
        return quote(value, safe="")

    return _EXPRESSION.sub(escape, template)


def objection(template: str, name: str, value: str) -> str:
    """Return why `value` is not allowed for `name` in the template, as the rest of a sentence;
    empty if it is.
    """
    reserved = f"{{+{name}}}" in template
    if not value:
        return "is empty, which would leave out a part of the path."
    text = value
    if reserved:
        text = unquote(value)
    if re.search(r"[\x00-\x1f\x7f]", text):
        return "contains a control character."
    if reserved and re.search(r"[?#]", value):
        return (
            "contains ? or #, which would end the path; write %3F or %23 if they belong to the "
            "name."
        )
    if parsers.leads_elsewhere(value):
        return "contains a . or .. segment, which would lead to another path."
    segments = text.split("/")
    if reserved and "" in segments:
        return (
            "has an empty segment (a slash at the beginning or end, or two in a row)."
        )
    return ""
