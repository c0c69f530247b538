"""Send files to any upload method of Google's APIs, by the catalogue and the rules in
docs/TARGETS.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any
from urllib.parse import quote

from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, Artifacts
from uploader.inputs.records import CommonInputs, MethodInputs
from uploader.services import any_method_advice, batch, catalogue, media_types
from uploader.services.base import (
    Context,
    Endpoint,
    Flow,
    Outcome,
    Prepared,
    Upload,
)
from uploader.services.catalogue import Method, Values
from uploader.text import nested_deeply

_STORAGE = "storage.objects.insert"
# Methods that can be called with metadata and no file. The metadata has a whole mail or the id of a
# draft for Gmail, and the resource of an image for Play.
_ALONE = ("gmail.", "androidpublisher.edits.images.")
# Preconditions that name the state of the object before the request. They fail if the request is
# repeated after a success, so a repeat does no harm. The object then shows whether the first
# request or somebody else's change made it fail.
_STATES = {"ifGenerationMatch", "ifMetagenerationMatch"}
_OTHER_STATES = {"ifGenerationNotMatch", "ifMetagenerationNotMatch"}
_NAMELESS = (
    "A simple upload can't carry the file's name, so Drive will call the file Untitled."
)
# By the beginning of the path: the digest that a service states of what it stored, the field that
# has it, and the fields of a response unless others are asked for (empty: all fields). Cloud
# Storage states crc32c of every object; Drive states sha256 if it is asked to, for bytes that it
# stores as they were sent (developers.google.com/drive/api/reference/rest/v3/files).
_DIGESTS = {
    "/storage/v1/": ("crc32c", "crc32c", ""),
    "/drive/v2/": ("sha256", "sha256Checksum", ""),
    "/drive/v3/": ("sha256", "sha256Checksum", "kind,id,name,mimeType"),
}


def prepare(inputs: CommonInputs, files: Artifacts, given: MethodInputs) -> Prepared:
    """Check target, parameters, metadata and files against the catalogue. Raises InputError with
    every problem.
    """
    method = catalogue.find(inputs.target)
    if method is None:
        raise InputError(_no_such_method(inputs.target))
    problems = Problems()
    parameters: Mapping[str, Any] = {}
    values: Values = {}
    as_given = problems.collect(partial(read_params, given.params))
    metadata = batch.read_metadata(given.metadata, problems)
    if as_given is not None:
        parameters = any_method_advice.as_meant(
            method.id,
            as_given,
            metadata,
            problems,
        )
        values = catalogue.check_params(method, parameters, problems)
    name_field = _name_field(method, inputs.upload_protocol)
    media_type = catalogue.check_media_type(
        method,
        metadata,
        given.media_type,
        problems,
    )
    metadata_suffices = bool(metadata) and method.id.startswith(_ALONE)
    if not files and not metadata_suffices:
        problems.add("files", f"no file was given to upload to {inputs.target}.")
    if len(files) > 1 and name_field in metadata:
        problems.add(
            "metadata",
            f"gives all {len(files)} files the same `{name_field}`; leave it out, and each keeps "
            "its own.",
        )
    problems.raise_if_any()
    if not files:
        endpoint = _endpoint(method, values, metadata)
        return batch.metadata_alone(inputs, endpoint, metadata)
    uploads = [
        _upload(method, values, metadata, name_field, file, media_type)
        for file in files
    ]
    # Any other method makes a new resource of each file.
    if _replaces(method):
        _check_places(uploads, problems)
    prepared = batch.prepare_uploads(
        inputs,
        tuple(uploads),
        problems,
        wait_deadline=given.wait_deadline,
    )
    flow = partial(
        _send_files,
        method.id,
        parameters,
        prepared.flow,
    )
    warnings = prepared.warnings
    if name_field != method.name_field:
        warnings = (_NAMELESS,)
    return replace(
        prepared,
        flow=flow,
        warnings=warnings,
    )


def _send_files(
    method: str,
    parameters: Mapping[str, Any],
    send: Flow,
    context: Context,
) -> Outcome:
    """Send the files, and explain the refusals of Drive and Cloud Storage."""
    with any_method_advice.explain_refusals(method, parameters):
        return send(context)


def _no_such_method(target: str) -> Problem:
    """Return the problem of an unknown target, with the methods that have a similar name."""
    what = f"{target!r} is not an upload method."
    similar = get_close_matches(target, catalogue.targets())
    if similar:
        meant = " or ".join(similar)
        what += f" Did you mean {meant}?"
    return Problem("target", what, "a method of docs/METHODS.md.")


def _name_field(method: Method, protocol: str) -> str:
    """Return the metadata field for a file's own name; empty if the name is not sent.

    A simple upload carries no metadata, and Drive does not require a name. The other methods that
    take one require it.
    """
    if protocol == "simple" and method.id.startswith("drive."):
        return ""
    return method.name_field


def _upload(
    method: Method,
    values: Values,
    metadata: Mapping[str, Any],
    name_field: str,
    file: Artifact,
    media_type: str,
) -> Upload:
    """Return the upload of one file. Without a `media_type` it gets one by its content and name."""
    if not media_type:
        media_type = media_types.choose(file, method.template.media_types)
    values, metadata = _with_file_name(
        method,
        values,
        metadata,
        name_field,
        file,
    )
    return Upload(
        _endpoint(method, values, metadata),
        file,
        media_type,
        metadata=metadata or None,
    )


def _replaces(method: Method) -> bool:
    """Return whether a file replaces what is there: an update, or an object of the same name."""
    if method.id == _STORAGE:
        return True
    return method.template.http_method in {"PUT", "PATCH"}


def _check_places(uploads: Sequence[Upload], problems: Problems) -> None:
    """Add a problem for each upload that would replace another one of this run."""
    names: dict[Endpoint, str] = {}
    for upload in uploads:
        name = upload.artifact.name
        first = names.setdefault(upload.endpoint, name)
        if first != name:
            what = f"{name} would replace {first}: both go to the same place."
            problems.add("files", what, "one file, or a name of its own for each")


def read_params(text: str) -> dict[str, Any]:
    """Return the map in the input `params`, which is JSON or YAML. The scalars of YAML stay text as
    it is written. Raises InputError.
    """
    accepted = "a YAML or JSON map, without aliases"
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        import yaml  # most runs have no params

        try:
            value = _read_yaml(text)
        except (yaml.YAMLError, RecursionError, ValueError):
            raise InputError(
                Problem("params", "is neither JSON nor YAML.", accepted)
            ) from None
    if isinstance(value, dict):
        other_keys = [key for key in value if not isinstance(key, str)]
        if not other_keys:
            return value
    what = "is not a map."
    pairs = any_method_advice.pairs(text)
    if pairs:
        what = "is not a map: there must be a colon and a space between a name and its value."
        accepted = f"`{pairs}`"
    raise InputError(Problem("params", what, accepted))


def _read_yaml(text: str) -> Any:
    """Return the value of a YAML text, with all scalars as text. Raises YAMLError, also for deeply
    nested brackets and for aliases.
    """
    import yaml  # most runs have no params

    # Deeply nested brackets take hours to scan, and a few lines with aliases can stand for
    # gigabytes.
    if nested_deeply(text):
        raise yaml.YAMLError
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise yaml.YAMLError
    # BaseLoader makes text of all scalars: a version `1.10` or a name `no` stays as it is written.
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # builds str, list and dict alone


def _with_file_name(
    method: Method,
    values: Values,
    metadata: Mapping[str, Any],
    name_field: str,
    file: Artifact,
) -> tuple[Values, Mapping[str, Any]]:
    """Return the parameters and the metadata, with the file's own name if the method takes a name
    and none was given.
    """
    if method.id == _STORAGE:
        return _with_object_name(values, metadata, file)
    if not name_field:
        return values, metadata
    _, _, own_name = file.name.rpartition("/")
    return values, {name_field: own_name, **metadata}


def _with_object_name(
    values: Values, metadata: Mapping[str, Any], file: Artifact
) -> tuple[Values, Mapping[str, Any]]:
    """Return the parameters and the metadata of an object of Cloud Storage, with its name in the
    parameters.

    It is the name that was given. If that is empty or ends in `/`, the file's path in the workspace
    is added to it.
    """
    prefix = _object_name(values, metadata)
    if prefix and not prefix.endswith("/"):
        return values, metadata
    path = file.name
    segments = path.split("/")
    is_outside = path.startswith("/") or ".." in segments
    if is_outside:
        path = segments[-1]
    other_metadata = dict(metadata)
    other_metadata.pop("name", None)
    name = prefix + path
    return {**values, "name": (name,)}, other_metadata


def _object_name(values: Values, metadata: Mapping[str, Any]) -> str:
    """Return the name of an object of Cloud Storage as it was given; empty if none was given."""
    name = "".join(values.get("name", ()))
    if not name:
        name = str(metadata.get("name", ""))
    return name


def _endpoint(method: Method, values: Values, metadata: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint of a method for one request."""
    template = method.template
    placeholders = catalogue.placeholders(template.upload_path)
    path_values = {name: values[name][0] for name in placeholders}
    digest, query_values = _with_digest_field(template.path, values)
    query_values = _with_state_fields(template, query_values)
    query: list[tuple[str, str]] = []
    for name, texts in query_values.items():
        if name not in path_values:
            query += [(name, text) for text in texts]
    scopes = template.scopes
    # A file or folder that the request names may have been made by others, which needs the wider
    # scope.
    names_file = "fileId" in values
    names_folder = "addParents" in values or bool(metadata.get("parents"))
    if names_file or names_folder:
        scopes = (method.scope_existing,)
    lookup = ""
    if not _STATES.isdisjoint(values):
        lookup = _lookup(template.path, values, metadata)
    idempotent = template.idempotent or _is_repeatable(method, values)
    # The response to a request that chooses fields may have none of the others.
    chooses_fields = "fields" in values
    return method.endpoint(
        path_values,
        scopes=scopes,
        query=tuple(query),
        idempotent=idempotent,
        at_most_once=not idempotent,
        lookup=lookup,
        id_promised=template.id_promised and not chooses_fields,
        partial=chooses_fields,
        response_digest=digest,
    )


def _is_repeatable(method: Method, values: Values) -> bool:
    """Return whether the same request may be sent twice without a second effect."""
    if not _replaces(method):
        return False
    if not _STATES.isdisjoint(values):
        return True
    return _OTHER_STATES.isdisjoint(values)


def _with_digest_field(path: str, values: Values) -> tuple[str, Values]:
    """Return the digest that the method at `path` states, empty if it states none, and the
    parameters. If these choose the fields of the response, the digest is added to them.
    """
    for prefix, (digest, field, usual_fields) in _DIGESTS.items():
        if not path.startswith(prefix):
            continue
        fields = "".join(values.get("fields", ()))
        if not fields:
            fields = usual_fields
        if not fields:
            return digest, values
        chosen = re.split(r"[\s,]+", fields)
        if field in chosen or "*" in chosen:
            return digest, values
        more_fields = f"{fields},{field}"
        return digest, {**values, "fields": (more_fields,)}
    return "", values


def _with_state_fields(template: Endpoint, values: Values) -> Values:
    """Return the parameters. If these choose the fields of the response, the fields that say what
    became of the upload are added to them.
    """
    rule = template.completion
    if rule is None:
        return values
    fields = "".join(values.get("fields", ()))
    if not fields:
        return values
    chosen: set[str] = set()
    for field in re.split(r"[\s,]+", fields):
        # `items/id` and `items(id,name)` choose parts of the member `items`.
        member, *_ = re.split(r"[/(]", field)
        chosen.add(member)
    if "*" in chosen:
        return values
    missing = [member for member in rule.members if member not in chosen]
    if not missing:
        return values
    more_fields = ",".join([fields, *missing])
    return {**values, "fields": (more_fields,)}


def _lookup(path: str, values: Values, metadata: Mapping[str, Any]) -> str:
    """Return the path that shows an object of Cloud Storage, with its query."""
    bucket = values["bucket"][0]
    objects = catalogue.expand(path, {"bucket": bucket})
    name = _object_name(values, metadata)
    escaped_name = quote(name, safe="")
    lookup = f"{objects}/{escaped_name}"
    for project in values.get("userProject", ()):
        escaped_project = quote(project, safe="")
        lookup += f"?userProject={escaped_project}"
    return lookup
