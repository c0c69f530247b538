"""Sends files to any upload method of Google's APIs, as the catalogue describes it.

The few rules that the catalogue does not have are in docs/TARGETS.md: how several files get their names, which
scope is asked for, and that a request which replaces something may be repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from urllib.parse import quote

from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services import (
    batch_upload,
    map_inputs,
    media_types,
    method_catalogue,
    method_parameters,
    stated_digest,
    uri_template,
)
from uploader.services.base import Context, Endpoint, Flow, Outcome, Prepared, Upload
from uploader.services.method_catalogue import Method

_STORAGE = "storage.objects.insert"
_MAIL = "gmail."  # these methods make mails, and take a whole one in the metadata as well, or name a draft there
# A precondition on the state before the request fails when the request is repeated after it was obeyed. Where it names
# that state, a repeat does no harm, and the object shows afterwards which of the two failed it.
_STATES = ("ifGenerationMatch", "ifMetagenerationMatch")
_OTHER_STATES = ("ifGenerationNotMatch", "ifMetagenerationNotMatch")
_NAMELESS = "A simple upload can't carry the file's name, so Drive will call the file Untitled."


@dataclass(frozen=True)
class _MethodRequest:
    """What the inputs ask of the method, the same for every file but its name."""

    method: Method
    values: method_parameters.Values
    metadata: Mapping[str, Any]
    name_field: str
    media_type: str


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Checks target, parameters, metadata and files against the catalogue. Raises InputError with every problem."""
    method = method_catalogue.find(inputs.target)
    if method is None:
        raise InputError(_unknown(inputs.target))
    problems = Problems()
    request = _request(method, inputs, problems)
    alone = bool(request.metadata) and not files and method.id.startswith(_MAIL)
    if not alone:
        _check_files(request, files, problems)
    problems.raise_if_any()
    if alone:
        return _metadata_alone(request, inputs)
    uploads = tuple(_upload(_named(request, file), file) for file in files)
    _check_collisions(method, uploads, problems)
    made = batch_upload.prepared(inputs, uploads, problems)
    return made if request.name_field == method.name_field else replace(made, warnings=(_NAMELESS,))


def _unknown(target: str) -> Problem:
    near = " or ".join(method_catalogue.similar(target))
    hint = f" Did you mean {near}?" if near else ""
    return Problem("target", f"{target!r} is not an upload method.{hint}", "a method of docs/METHODS.md.")


def _request(method: Method, inputs: Inputs, problems: Problems) -> _MethodRequest:
    params = problems.collect(lambda: map_inputs.read_params(inputs.params))
    metadata = problems.collect(lambda: map_inputs.read_metadata(inputs.metadata)) or {}
    if metadata and not method.takes_metadata:
        problems.add("metadata", f"{method.target} takes none.")
    values = {} if params is None else method_parameters.check(method, params, problems)
    # Drive does without a name; whatever else takes one requires it.
    nameless = inputs.upload_protocol == "simple" and method.id.startswith("drive.")
    name_field = "" if nameless else method.name_field
    media_type = method_parameters.media_type(method, metadata, inputs.media_type, problems)
    return _MethodRequest(method, values, metadata, name_field, media_type)


def _check_files(request: _MethodRequest, files: tuple[Artifact, ...], problems: Problems) -> None:
    if not files:
        problems.add("files", f"no file was given to upload to {request.method.target}.")
    if len(files) > 1 and request.name_field in request.metadata:
        what = f"gives all {len(files)} files the same `{request.name_field}`; leave it out, and each keeps its own."
        problems.add("metadata", what)


def _metadata_alone(request: _MethodRequest, inputs: Inputs) -> Prepared:
    from uploader.services import metadata_request  # most runs send files

    endpoint = _endpoint(request)
    line = f"Send the metadata alone to {endpoint.id}"

    def flow(_: Context) -> Flow:
        yield from metadata_request.send_once(endpoint, request.metadata, endpoint.id)
        return Outcome(f"Metadata sent to {endpoint.id}.")

    return Prepared((line,), endpoint.scopes, (lambda _: batch_upload.rehearse(line)) if inputs.dry_run else flow)


def _upload(request: _MethodRequest, file: Artifact) -> Upload:
    endpoint = _endpoint(request)
    media_type = request.media_type or media_types.choose(file, endpoint.media_types)
    return Upload(endpoint, file, media_type, request.metadata or None)


def _named(request: _MethodRequest, file: Artifact) -> _MethodRequest:
    """The request with the file's own name in it, where the method makes something that has one."""
    if request.method.id == _STORAGE:
        return _object_named(request, file)
    if not request.name_field:
        return request
    metadata = {request.name_field: file.name.rpartition("/")[2], **request.metadata}
    return replace(request, metadata=metadata)


def _object_named(request: _MethodRequest, file: Artifact) -> _MethodRequest:
    """A Cloud Storage object has the name given, or the file's path in the workspace, below a name that ends in `/`."""
    given = "".join(request.values.get("name", ())) or str(request.metadata.get("name", ""))
    if given and not given.endswith("/"):
        return request
    inside = not file.name.startswith("/") and ".." not in file.name.split("/")
    name = given + (file.name if inside else file.name.rpartition("/")[2])
    metadata = {key: value for key, value in request.metadata.items() if key != "name"}
    return replace(request, values={**request.values, "name": (name,)}, metadata=metadata)


def _endpoint(request: _MethodRequest) -> Endpoint:
    method, values = request.method, request.values
    filled = {name: values[name][0] for name in uri_template.names(method.upload_path)}
    response_digest, queried = stated_digest.asked_for(method.path, values)
    return Endpoint(
        id=method.target,
        root=method.root,
        path=sys.intern(uri_template.expand(method.path, filled)),  # one text for all files of a run
        upload_path=sys.intern(uri_template.expand(method.upload_path, filled)),
        media_types=method.accept,
        scopes=_scopes(request),
        http_method=method.http_method,
        query=tuple((name, value) for name, items in queried.items() if name not in filled for value in items),
        max_size=method.max_size,
        multipart=method.multipart,
        resumable=method.resumable,
        idempotent=(replaces := _replaces(request)),
        at_most_once=not replaces,
        lookup=_lookup(request),
        empty_response=method.empty_response,
        id_fields=method.id_fields,
        id_promised=method.id_promised and "fields" not in values,  # which may leave it out of the answer
        response_digest=response_digest,
    )


def _scopes(request: _MethodRequest) -> tuple[str, ...]:
    """The wider scope when the request names something that others may have made: a file, a folder."""
    existing = "fileId" in request.values or "addParents" in request.values or request.metadata.get("parents")
    return _alone(request.method.scope_existing if existing else request.method.scope)


@cache
def _alone(scope: str) -> tuple[str, ...]:
    return (scope,)  # one tuple for all files of a run


def _replaces(request: _MethodRequest) -> bool:
    """Whether sending the same request twice leaves one thing: an update, or an object of a fixed name."""
    if any(name in request.values for name in _OTHER_STATES) and not _names_state(request):
        return False
    return request.method.http_method in {"PUT", "PATCH"} or request.method.id == _STORAGE


def _names_state(request: _MethodRequest) -> bool:
    return any(name in request.values for name in _STATES)


def _lookup(request: _MethodRequest) -> str:
    """Where the object of a request with such a precondition is found; empty for every other request."""
    if not _names_state(request):
        return ""
    values = request.values
    name = "".join(values.get("name", ())) or str(request.metadata.get("name", ""))
    payer = "".join(f"?userProject={quote(value, safe='')}" for value in values.get("userProject", ()))
    path = uri_template.expand(request.method.path, {"bucket": values["bucket"][0]})
    return f"{path}/{quote(name, safe='')}{payer}"


def _check_collisions(method: Method, uploads: tuple[Upload, ...], problems: Problems) -> None:
    """Files of one run that would replace one another."""
    if not (uploads[0].endpoint.idempotent or method.id == _STORAGE):
        return  # each request makes a new thing
    seen: dict[Endpoint, str] = {}
    for upload in uploads:
        first = seen.setdefault(upload.endpoint, upload.artifact.name)
        if first != upload.artifact.name:
            what = f"{upload.artifact.name} would replace {first}: both go to the same place."
            problems.add("files", what, "one file, or a name of its own for each")
