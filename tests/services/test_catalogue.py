"""The catalogue against its source, and against the requests that Google's own client makes for the
same methods.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from googleapiclient.discovery import build_from_document
from googleapiclient.http import HttpMock, MediaInMemoryUpload

from scripts import make_catalogue
from tests.support.factory import make_file, make_inputs, only_upload, prepare
from uploader.files.android.limits import MAX_BYTES
from uploader.services import catalogue
from uploader.services.catalogue import Method, Parameter

# What an accepted type looks like as a file.
CONTENTS = {
    "*/*": ("file.bin", b"content"),
    "application/octet-stream": ("file.bin", b"content"),
    "application/pdf": ("file.pdf", b"%PDF-1.7"),
    "image/*": ("file.png", b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": ("file.jpg", b"\xff\xd8\xff\xe0"),
    "message/*": ("file.eml", b"To: a@example.com\r\n\r\n"),
    "message/rfc822": ("file.eml", b"To: a@example.com\r\n\r\n"),
    "text/xml": ("file.xml", b"<a/>"),
    "video/*": ("file.mp4", b"\0\0\0\x18ftypmp42"),
}
SAMPLES = {"^.*$": "a/b c", r"\d+": "12", r"UA-\d+-\d+": "UA-1-2"}


@cache
def documents() -> dict[str, dict[str, Any]]:
    return {
        f"{document['name']}:{document['version']}": document
        for document in make_catalogue.documents()
    }


@cache
def client(api: str) -> Any:
    document = documents()[api]
    needed = {
        key: document.get(key, {})
        for key in document
        if key not in {"resources", "methods"}
    }
    return build_from_document(
        {**needed, "resources": uploading(document), "methods": {}}, http=HttpMock()
    )


def uploading(resource: dict[str, Any]) -> dict[str, Any]:
    """Only the resources that lead to upload methods, so that a client for a large API is made
    quickly.
    """
    kept = {}
    for name, child in resource.get("resources", {}).items():
        methods = {
            key: one
            for key, one in child.get("methods", {}).items()
            if "mediaUpload" in one
        }
        below = uploading(child)
        if methods or below:
            kept[name] = {"methods": methods, "resources": below}
    return kept


def sample(parameter: Parameter) -> str:
    if parameter.choices:
        return parameter.choices[0]
    if parameter.kind in {"int32", "int64", "integer"}:
        return "7"
    if parameter.kind == "boolean":
        return "true"
    pattern = parameter.pattern
    return (
        SAMPLES.get(pattern)
        or pattern.strip("^$").replace("[^/]+", "a b+c")
        or "a b/ü&?c"
    )


def api_of(method: Method) -> str:
    """The API and its version, such as `drive:v3`."""
    data = json.loads(make_catalogue.CATALOGUE.read_text(encoding="utf-8"))
    return str(data["methods"][method.template.id]["api"])


def theirs(
    method: Method,
    params: dict[str, str],
    metadata: dict[str, Any] | None,
    media: tuple[str, bytes],
) -> Any:
    """The request that google-api-python-client would send."""
    resource = client(api_of(method))
    *path, name = method.id.split(".")[1:]
    for part in path:
        resource = getattr(resource, part)()
    given: dict[str, Any] = {
        key: value == "true" if method.parameters[key].kind == "boolean" else value
        for key, value in params.items()
    }
    if metadata is not None:
        given["body"] = metadata
    call = getattr(resource, name + "_" if name == "import" else name)
    accepted = method.template.media_types
    plain = {"*/*", "application/octet-stream"} & set(accepted)
    kind = "application/octet-stream" if plain else accepted[0].replace("*", "png")
    body = MediaInMemoryUpload(
        media[1], mimetype=kind, resumable=method.template.resumable
    )
    return call(media_body=body, **given)


@pytest.mark.parametrize("target", catalogue.targets())
def test_request_equals_that_of_googles_client(target: str, tmp_path: Path) -> None:
    """Path, query, HTTP method, metadata and scope of each of the 77 methods are those of Google's
    own client.
    """
    method = catalogue.find(target)
    assert method is not None
    params = {name: sample(parameter) for name, parameter in method.parameters.items()}
    metadata = (
        {method.name_field or "description": "ü"}
        if "request" in documents_method(method)
        else None
    )
    name, content = CONTENTS[method.template.media_types[0]]
    inputs = make_inputs(
        tmp_path,
        target="drive.files.create",
        params=json.dumps(params),
        metadata=json.dumps(metadata or {}),
    )
    prepared = prepare(
        inputs.with_values(target=target), make_file(tmp_path, name, content)
    )
    upload = only_upload(prepared)
    request = theirs(method, params, metadata, (name, content))
    uri = urlsplit(request.uri)
    query = [
        pair for pair in parse_qsl(uri.query) if pair[0] not in {"alt", "uploadType"}
    ]
    # whose answers hold no digest unasked
    if method.template.path.startswith("/drive/v3/"):
        query.append(("fields", "kind,id,name,mimeType,sha256Checksum"))
    assert upload.endpoint.root == f"{uri.scheme}://{uri.netloc}"
    assert upload.endpoint.upload_path == uri.path
    assert sorted(upload.endpoint.query) == sorted(query)
    assert upload.endpoint.http_method == request.method
    assert upload.metadata == metadata
    if method.template.resumable and metadata is not None:
        assert json.loads(request.body) == metadata
    listed = documents_method(method).get(
        "scopes", ["https://www.googleapis.com/auth/checks"]
    )
    assert prepared.scopes[0] in listed


def documents_method(method: Method) -> dict[str, Any]:
    (found,) = (
        one
        for one in make_catalogue.upload_methods(documents()[api_of(method)])
        if one["id"] == method.id
    )
    return found


def test_catalogue_is_what_the_script_makes() -> None:
    """The data that is checked in is what the script makes from the installed documents."""
    assert make_catalogue.CATALOGUE.read_text(
        encoding="utf-8"
    ) == make_catalogue.as_json(make_catalogue.catalogue())


def test_page_is_what_the_script_makes() -> None:
    """docs/METHODS.md is not stale: it lists the methods of the catalogue."""
    data = json.loads(make_catalogue.CATALOGUE.read_text(encoding="utf-8"))
    assert make_catalogue.PAGE.read_text(encoding="utf-8") == make_catalogue.page(data)


def test_all_methods_are_there() -> None:
    """Google's documents have 77 upload methods, and each can be found by its name and by its
    qualified name.
    """
    assert len(catalogue.targets()) == 77
    for target in catalogue.targets():
        method = catalogue.find(target)
        assert method is not None
        api = api_of(method)
        qualified = catalogue.find(api + method.id[api.index(":") :])
        assert qualified is not None
        assert (
            replace(qualified, template=replace(qualified.template, id=target))
            == method
        )


def test_plain_id_is_the_newest_stable_version() -> None:
    """The plain id is the newest stable version's method; an older one is named with its
    version.
    """
    newest, older = (
        catalogue.find("drive.files.update"),
        catalogue.find("drive:v2.files.update"),
    )
    assert newest is not None
    assert older is not None
    assert (newest.template.path, newest.template.http_method) == (
        "/drive/v3/files/{fileId}",
        "PATCH",
    )
    assert (older.template.path, older.template.http_method) == (
        "/drive/v2/files/{fileId}",
        "PUT",
    )
    stable = catalogue.find(
        "artifactregistry.projects.locations.repositories.aptArtifacts.upload"
    )
    assert stable is not None
    assert api_of(stable) == "artifactregistry:v1"


LIMITED = {
    "bundle": "edits.bundles.upload",
    "apk": "edits.apks.upload",
    "mapping": "edits.deobfuscationfiles.upload",
    "symbols": "edits.deobfuscationfiles.upload",
    "expansion": "edits.expansionfiles.upload",
    "image": "edits.images.upload",
    "shared bundle": "internalappsharingartifacts.uploadbundle",
    "shared apk": "internalappsharingartifacts.uploadapk",
}


@pytest.mark.parametrize("kind", MAX_BYTES)
def test_play_s_limits_are_those_that_google_documents(kind: str) -> None:
    """Both say the same number of bytes."""
    method = catalogue.find(f"androidpublisher.{LIMITED[kind]}")
    assert method is not None
    assert MAX_BYTES[kind] == method.template.max_size
