"""Holds requests against Google's discovery documents: which of them would Google refuse, and for
what.

The documents are the static files inside the package google-api-python-client. Whether a request
makes sense in the state that things are in is for the emulator to say; this knows the form alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

from google_emulator.traffic import LoggedRequest

DOCUMENTS = ("androidpublisher.v3", "playdeveloperreporting.v1beta1", "gmail.v1")
UPLOAD_TYPES = ("media", "multipart", "resumable")


Schema: TypeAlias = Mapping[str, Any]

_INTEGERS = {
    "int32": (-(2**31), 2**31),
    "uint32": (0, 2**32),
    "int64": (-(2**63), 2**63),
    "uint64": (0, 2**64),
}


def _is_integer(value: object, limits: tuple[int, int]) -> bool:
    """A whole number, as a number or as text: Google's JSON reads either, whatever the schema's
    type.
    """
    if isinstance(value, str):
        return (
            re.fullmatch(r"-?\d+", value) is not None
            and limits[0] <= int(value) < limits[1]
        )
    return type(value) is int and limits[0] <= value < limits[1]


# Texts that have a form of their own, of those that are ever sent.
_TEXTS = {
    "google-datetime": r"\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)",
    "google-duration": r"-?\d+(\.\d{1,9})?s",
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
    return (
        isinstance(value, str)
        and re.fullmatch(_TEXTS.get(form, ".*"), value, re.DOTALL) is not None
    )


@dataclass(frozen=True)
class Method:
    """A method of a document at one of its paths; `upload` is whether media is sent there."""

    description: dict[str, Any]
    pattern: re.Pattern[str]
    upload: bool
    parameters: dict[str, Schema]

    @property
    def verb(self) -> str:
        return str(self.description["httpMethod"])


class Discovery:
    """The methods of one document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas = SchemaChecker(document["schemas"])
        paths = [one["path"].partition("/") for one in _descriptions(document)]
        self._roots = {root for root, slash, _ in paths if slash}
        self._methods = [
            each
            for one in _descriptions(document)
            for each in _at_its_paths(one, document)
        ]
        # Of several that match, the one with more fixed text is meant.
        self._methods.sort(
            key=lambda one: len(re.sub(r"\(.*?\)", "", one.pattern.pattern)),
            reverse=True,
        )

    def serves(self, path: str) -> bool:
        """Whether paths of this kind belong to the document's API."""
        bare = re.sub(r"^(/resumable)?(/upload)?/", "", path)
        return bare.partition("/")[0] in self._roots

    def refusals(self, request: LoggedRequest) -> list[str]:
        """What Google would refuse of a request; empty when it is as the document says."""
        query = parse_qsl(request.query, keep_blank_values=True)
        if "upload_id" in dict(query):
            return []  # the URI of a session is used as it was given
        matching = [
            (one, found)
            for one in self._methods
            if (found := one.pattern.fullmatch(request.path))
        ]
        for method, found in matching:
            if method.verb == request.method:
                named = {
                    name: unquote(value) for name, value in found.groupdict().items()
                }
                return [
                    *self._parameters(method, named, query),
                    *self._body(method, request),
                ]
        verbs = ", ".join(sorted({method.verb for method, _ in matching}))
        return [f"only {verbs} is served there" if verbs else "no method has this path"]

    def _parameters(
        self, method: Method, path: dict[str, str], query: list[tuple[str, str]]
    ) -> Iterator[str]:
        for name, value in path.items():
            yield from _parameter(name, value, method.parameters[name])
        seen: set[str] = set()
        for name, value in query:
            schema = method.parameters.get(name, {"location": "none"})
            if schema["location"] != "query":
                yield f"unknown query parameter {name}"
                continue
            if name in seen and not schema.get("repeated"):
                yield f"query parameter {name} is there twice"
            seen.add(name)
            yield from _parameter(name, value, schema)
        for name, schema in method.parameters.items():
            if (
                schema["location"] == "query"
                and schema.get("required")
                and name not in seen
            ):
                yield f"query parameter {name} is missing"
        if method.upload and dict(query).get("uploadType") not in UPLOAD_TYPES:
            yield f"uploadType is none of {', '.join(UPLOAD_TYPES)}"

    def _body(self, method: Method, request: LoggedRequest) -> Iterator[str]:
        if not request.body:
            return
        # The upload guides have metadata alone, also where the description lists no fields of it.
        if (
            not {"request", "mediaUpload"} & set(method.description)
            and not method.upload
        ):
            yield "a body, where the method takes none"
            return
        if not request.content_type.lower().startswith("application/json"):
            yield f"a body that is not said to be JSON but {request.content_type or 'nothing'}"
        try:
            value = json.loads(request.body)
        except ValueError:
            yield "a body that is no JSON"
            return
        if "request" in method.description:
            yield from self.schemas.problems(value, method.description["request"])


def _descriptions(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for child in resource.get("resources", {}).values():
        yield from _descriptions(child)


def _at_its_paths(method: dict[str, Any], document: dict[str, Any]) -> Iterator[Method]:
    parameters = {**document["parameters"], **method.get("parameters", {})}
    yield Method(
        method,
        _pattern("/" + document["servicePath"] + method["path"], parameters),
        False,
        parameters,
    )
    for protocol in method.get("mediaUpload", {}).get("protocols", {}).values():
        yield Method(method, _pattern(protocol["path"], parameters), True, parameters)


def _pattern(template: str, parameters: dict[str, Schema]) -> re.Pattern[str]:
    """The expression of a path: `{name}` is one segment, up to a verb's colon; `{+name}` what the
    parameter allows.
    """

    def group(found: re.Match[str]) -> str:
        plus, name = found[1], found[2]
        inside = parameters[name]["pattern"].strip("^$") if plus else "[^/]+?"
        return f"(?P<{name}>{inside})"

    parts = re.split(r"(\{\+?\w+\})", template)
    return re.compile(
        "".join(
            re.sub(r"\{(\+?)(\w+)\}", group, part)
            if part[:1] == "{"
            else re.escape(part)
            for part in parts
        )
    )


def _parameter(name: str, text: str, schema: Schema) -> Iterator[str]:
    """Parameters are text: a boolean is `true` or `false`, a number its digits."""
    if schema["type"] == "boolean":
        if text not in ("true", "false"):
            yield f"{name} is neither true nor false: {text!r}"
        return
    yield from scalar_problems(text, schema, name)


@cache
def discovery(name: str) -> Discovery:
    """The document of this name (`androidpublisher.v3`), read once."""
    import googleapiclient.discovery_cache

    folder = Path(googleapiclient.discovery_cache.__file__).parent / "documents"
    return Discovery(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))


def refused_by_google(requests: Iterable[LoggedRequest]) -> list[str]:
    """What Google's documents refuse of requests to Play and Gmail, with method and path; others
    are passed over.
    """
    found = []
    for request in requests:
        for document in map(discovery, DOCUMENTS):
            if document.serves(request.path):
                found += [
                    f"{request.method} {request.path}: {why}"
                    for why in document.refusals(request)
                ]
    return found
