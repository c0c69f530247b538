"""Sends files to any upload method of Google's APIs, by the catalogue and the few rules in
docs/TARGETS.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote

from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, Artifacts
from uploader.inputs.records import CommonInputs
from uploader.services import batch, catalogue, media_types
from uploader.services.base import Endpoint, Prepared, Upload
from uploader.services.catalogue import Method, Values
from uploader.text import nested_deeply

_STORAGE = "storage.objects.insert"
# Metadata alone is enough for these: Gmail's take a whole mail in it, or name a draft; Play's an
# image's resource.
_ALONE = ("gmail.", "androidpublisher.edits.images.")
# A precondition on the state before the request fails when the request is repeated after it was
# obeyed. Where it names that state, a repeat does no harm, and the object shows afterwards which of
# the two failed it.
_STATES = {"ifGenerationMatch", "ifMetagenerationMatch"}
_OTHER_STATES = {"ifGenerationNotMatch", "ifMetagenerationNotMatch"}
_NAMELESS = "A simple upload can't carry the file's name, so Drive will call the file Untitled."
# By path: the digest that a service states of what it stored, in which field, and the fields of a
# response unless others are asked for (none: these are all). Cloud Storage states crc32c of every
# object; Drive states sha256 where it is asked for, once it holds the bytes as they were sent
# (developers.google.com/drive/api/reference/rest/v3/files).
_DIGESTS = {
    "/storage/v1/": ("crc32c", "crc32c", ""),
    "/drive/v2/": ("sha256", "sha256Checksum", ""),
    "/drive/v3/": ("sha256", "sha256Checksum", "kind,id,name,mimeType"),
}


def prepare(
    inputs: CommonInputs, files: Artifacts, media_type: str, params: str, metadata: str
) -> Prepared:
    """Checks target, parameters, metadata and files against the catalogue. Raises InputError with
    every problem.
    """
    method = catalogue.find(inputs.target)
    if method is None:
        near = " or ".join(get_close_matches(inputs.target, catalogue.targets()))
        what = (
            f"{inputs.target!r} is not an upload method.{f' Did you mean {near}?' if near else ''}"
        )
        raise InputError(Problem("target", what, "a method of docs/METHODS.md."))
    problems = Problems()
    given = problems.collect(lambda: read_params(params))
    resource = batch.read_metadata(metadata, problems)
    values = {} if given is None else catalogue.check_params(method, given, problems)
    # Drive does without a name; whatever else takes one requires it.
    name_field = (
        ""
        if inputs.upload_protocol == "simple" and method.id.startswith("drive.")
        else method.name_field
    )
    media_type = catalogue.check_media_type(method, resource, media_type, problems)
    alone = bool(resource) and not files and method.id.startswith(_ALONE)
    if not (files or alone):
        problems.add("files", f"no file was given to upload to {inputs.target}.")
    if len(files) > 1 and name_field in resource:
        what = (
            f"gives all {len(files)} files the same `{name_field}`; leave it out, and each keeps "
            "its own."
        )
        problems.add("metadata", what)
    problems.raise_if_any()
    if alone:
        return batch.metadata_alone(inputs, _endpoint(method, values, resource), resource)
    uploads = []
    for file in files:
        kind = media_type or media_types.choose(file, method.template.media_types)
        its_values, its_metadata = _named(method, values, resource, name_field, file)
        uploads.append(
            Upload(_endpoint(method, its_values, its_metadata), file, kind, its_metadata or None)
        )
    # else each request makes a new thing
    if uploads[0].endpoint.idempotent or method.id == _STORAGE:
        seen: dict[Endpoint, str] = {}
        for upload in uploads:
            name = upload.artifact.name
            if (first := seen.setdefault(upload.endpoint, name)) != name:
                what = f"{name} would replace {first}: both go to the same place."
                problems.add("files", what, "one file, or a name of its own for each")
    made = batch.prepared(inputs, tuple(uploads), problems)
    return made if name_field == method.name_field else replace(made, warnings=(_NAMELESS,))


def read_params(text: str) -> dict[str, Any]:
    """The map in the input `params`, JSON or YAML, whose scalars stay as they are written. Raises
    InputError.
    """
    accepted = "a YAML or JSON map, without aliases"
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        import yaml  # most runs have no params

        try:
            if nested_deeply(text) or any(
                isinstance(token, yaml.AliasToken) for token in yaml.scan(text)
            ):
                # Deep brackets are scanned for hours, and a few lines with aliases can stand for
                # gigabytes.
                raise yaml.YAMLError  # noqa: TRY301  # as every other text that is not read
            # BaseLoader makes strings of all scalars: a version `1.10` or a name `no` arrives as it
            # was written.
            value = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it builds nothing but str, list and dict
        except (yaml.YAMLError, RecursionError, ValueError):
            raise InputError(Problem("params", "is neither JSON nor YAML.", accepted)) from None
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    raise InputError(Problem("params", "is not a map.", accepted))


def _named(
    method: Method, values: Values, metadata: Mapping[str, Any], name_field: str, file: Artifact
) -> tuple[Values, Mapping[str, Any]]:
    """Values and metadata with the file's own name in them, where the method makes something that
    has one.
    """
    own = file.name.rpartition("/")[2]
    if method.id != _STORAGE:
        return values, {name_field: own, **metadata} if name_field else metadata
    # An object has the name given, or the file's path in the workspace, below a name that ends in
    # `/`.
    given = _object_name(values, metadata)
    if given and not given.endswith("/"):
        return values, metadata
    inside = not file.name.startswith("/") and ".." not in file.name.split("/")
    name = given + (file.name if inside else own)
    return {**values, "name": (name,)}, {
        key: value for key, value in metadata.items() if key != "name"
    }


def _object_name(values: Values, metadata: Mapping[str, Any]) -> str:
    return "".join(values.get("name", ())) or str(metadata.get("name", ""))


def _endpoint(method: Method, values: Values, metadata: Mapping[str, Any]) -> Endpoint:
    path, http_method = method.template.path, method.template.http_method
    filled = {name: values[name][0] for name in catalogue.placeholders(method.template.upload_path)}
    # The digest that the method states, asked for beside every field that the values ask for.
    digest, field, usual = next(
        (one for prefix, one in _DIGESTS.items() if path.startswith(prefix)), ("", "", "")
    )
    asked, wanted = values, "".join(values.get("fields", ())) or usual
    if wanted and field and not {field, "*"} & set(re.split(r"[\s,]+", wanted)):
        asked = {**values, "fields": (f"{wanted},{field}",)}
    # The wider scope when the request names something that others may have made: a file, a folder.
    existing = "fileId" in values or "addParents" in values or metadata.get("parents")
    # Whether sending the same request twice leaves one thing: an update, or an object of a fixed
    # name.
    replaces, lookup = http_method in {"PUT", "PATCH"} or method.id == _STORAGE, ""
    if names_state := not _STATES.isdisjoint(values):
        payer = "".join(
            f"?userProject={quote(value, safe='')}" for value in values.get("userProject", ())
        )
        bucket = catalogue.expand(path, {"bucket": values["bucket"][0]})
        lookup = f"{bucket}/{quote(_object_name(values, metadata), safe='')}{payer}"
    idempotent = replaces and (names_state or _OTHER_STATES.isdisjoint(values))
    return method.endpoint(
        filled,
        scopes=(method.scope_existing,) if existing else method.template.scopes,
        query=tuple(
            (name, value) for name, items in asked.items() if name not in filled for value in items
        ),
        idempotent=idempotent,
        at_most_once=not idempotent,
        lookup=lookup,
        id_promised=method.template.id_promised and "fields" not in values,
        partial="fields" in values,  # which may leave everything else out of the response
        response_digest=digest,
    )
