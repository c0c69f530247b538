"""Sends files to any upload method of Google's APIs, as the catalogue describes it.

The rules that the catalogue can't tell are few and stand in docs/TARGETS.md: how several files get their names, which
scope is asked for, and that a request which replaces something may be repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact
from uploader.inputs import Inputs
from uploader.services import batch_upload, catalogue, media_types, parameters, paths
from uploader.services.base import Endpoint, Prepared, Upload
from uploader.services.catalogue import Method

_STORAGE = "storage.objects.insert"
# A precondition on the state before the request fails when the request is repeated after it was obeyed.
_PRECONDITIONS = ("ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "ifMetagenerationNotMatch")


class _Request(NamedTuple):
    """What the inputs ask of the method, the same for every file but its name."""

    method: Method
    values: parameters.Values
    metadata: Mapping[str, Any]
    scopes: tuple[str, ...]


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Checks target, parameters, metadata and files against the catalogue. Raises InputError with every problem."""
    method = catalogue.find(inputs.target)
    if method is None:
        raise InputError(_unknown(inputs.target))
    request, problems = _request(method, inputs)
    problems += _file_problems(request, files)
    if problems:
        raise InputError(*problems)
    uploads = tuple(_upload(_named(request, file), file) for file in files)
    problems = (
        *_collisions(method, uploads),
        *(one for upload in uploads for one in batch_upload.check(upload, inputs)),
    )
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return batch_upload.prepared(inputs, uploads)


def _unknown(target: str) -> Problem:
    near = " or ".join(catalogue.similar(target))
    hint = f" Did you mean {near}?" if near else ""
    return Problem("target", f"{target!r} is no upload method.{hint}", "a method of docs/TARGETS.md.")


def _request(method: Method, inputs: Inputs) -> tuple[_Request, tuple[Problem, ...]]:
    problems: list[Problem] = []
    params: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    try:
        params = parameters.read_params(inputs.params)
    except InputError as error:
        problems += error.problems
    try:
        metadata = parameters.read_metadata(inputs.metadata)
    except InputError as error:
        problems += error.problems
    if metadata and not method.takes_metadata:
        problems.append(Problem("metadata", f"{method.target} takes none."))
    values, wrong = parameters.check(method, params)
    if not any(problem.name == "params" for problem in problems):
        problems += wrong
    return _Request(method, values, metadata, (_scope(method, values, metadata),)), tuple(problems)


def _file_problems(request: _Request, files: tuple[Artifact, ...]) -> tuple[Problem, ...]:
    if not files:
        return (Problem("files", f"names no file to upload to {request.method.target}."),)
    field = request.method.name_field
    if len(files) > 1 and field in request.metadata:
        return (Problem("metadata", f"gives {len(files)} files one `{field}`; without it each has its own."),)
    return ()


def _upload(request: _Request, file: Artifact) -> Upload:
    endpoint = _endpoint(request)
    return Upload(endpoint, file, media_types.choose(file, endpoint.media_types), request.metadata or None)


def _named(request: _Request, file: Artifact) -> _Request:
    """The request with the file's own name in it, where the method makes something that has one."""
    if request.method.id == _STORAGE:
        return _object_named(request, file)
    if not request.method.name_field:
        return request
    metadata = {request.method.name_field: PurePosixPath(file.name).name, **request.metadata}
    return request._replace(metadata=metadata)


def _object_named(request: _Request, file: Artifact) -> _Request:
    """A Cloud Storage object has the name given, or the file's path in the workspace, below a name that ends in `/`."""
    given = "".join(request.values.get("name", ())) or str(request.metadata.get("name", ""))
    if given and not given.endswith("/"):
        return request
    path = PurePosixPath(file.name)
    inside = not path.is_absolute() and ".." not in path.parts
    name = given + (file.name if inside else path.name)
    metadata = {key: value for key, value in request.metadata.items() if key != "name"}
    return request._replace(values={**request.values, "name": (name,)}, metadata=metadata)


def _endpoint(request: _Request) -> Endpoint:
    method, values = request.method, request.values
    filled = {name: values[name][0] for name in paths.names(method.upload_path)}
    return Endpoint(
        id=method.target,
        root=method.root,
        path=sys.intern(paths.expand(method.path, filled)),  # one text for all files of a run
        upload_path=sys.intern(paths.expand(method.upload_path, filled)),
        media_types=method.accept,
        scopes=request.scopes,
        http_method=method.http_method,
        query=tuple((name, value) for name, items in values.items() if name not in filled for value in items),
        max_size=method.max_size,
        multipart=method.multipart,
        resumable=method.resumable,
        repeatable=_replaces(request),
        empty_answer=method.empty_answer,
        id_fields=method.id_fields,
    )


def _scope(method: Method, values: parameters.Values, metadata: Mapping[str, Any]) -> str:
    """The wider scope when the request names something that others may have made: a file, a folder."""
    existing = "fileId" in values or "addParents" in values or metadata.get("parents")
    return method.scope_existing if existing else method.scope


def _replaces(request: _Request) -> bool:
    """Whether sending the same request twice leaves one thing: an update, or an object of a fixed name."""
    if any(name in request.values for name in _PRECONDITIONS):
        return False
    return request.method.http_method in {"PUT", "PATCH"} or request.method.id == _STORAGE


def _collisions(method: Method, uploads: tuple[Upload, ...]) -> tuple[Problem, ...]:
    """Files of one run that would replace one another."""
    if not (uploads[0].endpoint.repeatable or method.id == _STORAGE):
        return ()  # each request makes a new thing
    seen: dict[Endpoint, str] = {}
    problems = []
    for upload in uploads:
        first = seen.setdefault(upload.endpoint, upload.artifact.name)
        if first != upload.artifact.name:
            what = f"{upload.artifact.name} would replace {first}: both go to the same place."
            problems.append(Problem("files", what, "one file, or a name of its own for each"))
    return tuple(problems)
