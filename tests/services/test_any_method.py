"""Any method of the catalogue: what is refused before the first request, and what is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.factory import (
    PNG,
    make_file,
    make_inputs,
    only_upload,
    prepare,
    problems,
    stream,
    uploads,
)
from uploader.errors import InputError
from uploader.files.artifacts import Artifact
from uploader.services import media_types
from uploader.services.base import Prepared

AUTH = "https://www.googleapis.com/auth/"


def prepared(
    workspace: Path,
    *files: Artifact,
    params: Any = "",
    metadata: Any = "",
    **given: str,
) -> Prepared:
    texts = [
        value if isinstance(value, str) else json.dumps(value)
        for value in (params, metadata)
    ]
    inputs = make_inputs(workspace, params=texts[0], metadata=texts[1], **given)
    return prepare(inputs, *(files or (make_file(workspace, "file.bin"),)))


def refused(workspace: Path, *files: Artifact, **given: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        prepared(workspace, *files, **given)
    return problems(caught.value)


def test_params_fill_path_and_query(tmp_path: Path) -> None:
    """`params` fill the path's parameters escaped, the others go to the query, a list as repeated
    pairs.
    """
    params = {"part": ["snippet", "status"], "notifySubscribers": False}
    video = make_file(tmp_path, "a.mp4", b"\0\0\0\x18ftypmp42")
    endpoint = only_upload(
        prepared(tmp_path, video, target="youtube.videos.insert", params=params)
    ).endpoint
    assert endpoint.query == (
        ("part", "snippet"),
        ("part", "status"),
        ("notifySubscribers", "false"),
    )
    update = only_upload(
        prepared(tmp_path, target="drive.files.update", params={"fileId": "a/b"})
    ).endpoint
    assert update.upload_path == "/upload/drive/v3/files/a%2Fb"
    assert update.path == "/drive/v3/files/a%2Fb"


def test_yaml_scalars_stay_as_they_are_written(tmp_path: Path) -> None:
    """In YAML a version `1.10`, a name `no` and a number with a leading zero arrive as they were
    written.
    """
    for text in ("1.10", "no", "007", "2024-01-01", "~"):
        upload = only_upload(
            prepared(
                tmp_path,
                target="storage.objects.insert",
                params=f"bucket: b\nname: {text}\n",
            )
        )
        assert dict(upload.endpoint.query)["name"] == text


@pytest.mark.parametrize(
    ("target", "params", "what"),
    [
        ("drive.files.update", "", "'fileId' is missing."),
        (
            "drive.files.create",
            "folder: x",
            "'folder' is not a parameter of this method.",
        ),
        (
            "drive.files.create",
            "access_token: x",
            "'access_token' is not a parameter of this method.",
        ),
        (
            "drive.files.create",
            "supportsAllDrives: 1",
            "'supportsAllDrives' is not a boolean.",
        ),
        ("drive.files.create", '{"supportsAllDrives": {"a": 1}}', "is not text"),
        ("drive.files.create", '{"includeLabels": null}', "is not text"),
        ("drive.files.create", "includeLabels: [a, b]", "takes one value, not a list."),
        ("youtube.captions.insert", "part: []", "'part' is missing."),
        (
            "analytics.management.uploads.uploadData",
            "{accountId: x1}",
            "does not have the required form.",
        ),
        (
            "firebaseappdistribution.media.upload",
            "app: apps/1",
            "'app' does not have the required form.",
        ),
        (
            "firebaseappdistribution.media.upload",
            "app: projects/../apps/1",
            "'app' contains a . or .. segment",
        ),
        (
            "cloudsearch.media.upload",
            "resourceName: a?b",
            "'resourceName' contains ? or #",
        ),
        ("storage.objects.insert", "bucket: ..", "'bucket' contains a . or .. segment"),
        (
            "storage.objects.insert",
            "bucket: b\nifGenerationMatch: 99999999999999999999",
            "is not a whole number",
        ),
        (
            "storage.objects.insert",
            "bucket: b\nprojection: all",
            "is not a valid choice.",
        ),
        ("storage.objects.insert", "just text", "is not a map."),
        # a bomb is made of aliases
        (
            "storage.objects.insert",
            "bucket: &a b\nname: *a",
            "is neither JSON nor YAML.",
        ),
        ("storage.objects.insert", "a: [", "is neither JSON nor YAML."),
        ("storage.objects.insert", "!!python/object/apply:os.system [x]", "is n"),
        ("storage.objects.insert", "[" * 100_000, "is neither JSON nor YAML."),
    ],
)
def test_wrong_params_are_told(
    tmp_path: Path, target: str, params: str, what: str
) -> None:
    """A missing, unknown or mistyped parameter, or one that leaves the path, is told before
    anything is sent.
    """
    with pytest.raises(InputError) as caught:
        prepared(tmp_path, target=target, params=params)
    assert any(
        what in problem.what
        for problem in caught.value.problems
        if problem.name == "params"
    ), caught.value


@pytest.mark.parametrize(
    ("target", "given", "name", "words"),
    [
        pytest.param(
            "drive.files.create",
            {"params": "parents: X"},
            "params",
            """it goes into `metadata`. Accepted: `metadata: {"parents": ["X"]}`""",
            id="folder among the parameters",
        ),
        pytest.param(
            "drive.files.create",
            {
                "metadata": {
                    "parents": [
                        "https://drive.google.com/drive/folders/1AbC?usp=sharing"
                    ]
                }
            },
            "metadata",
            "the folder's id is its last part: `1AbC`",
            id="address of a folder",
        ),
        pytest.param(
            "drive.files.update",
            {"params": {"fileId": "https://drive.google.com/file/d/1AbC/view"}},
            "params",
            "Accepted: `fileId: 1AbC`",
            id="address of a file",
        ),
        pytest.param(
            "storage.objects.insert",
            {"params": "bucket: gs://my-bucket/some/path"},
            "params",
            "Accepted: `bucket: my-bucket` and `name: some/path/`",
            id="gs address",
        ),
        pytest.param(
            "storage.objects.insert",
            {"params": "bucket: gs://my-bucket"},
            "params",
            "Accepted: `bucket: my-bucket`",
            id="gs address of a bucket",
        ),
        pytest.param(
            "storage.objects.insert",
            {
                "params": "bucket: https://console.cloud.google.com/storage/browser/my-bucket"
            },
            "params",
            "Accepted: `bucket: my-bucket`",
            id="address of the console",
        ),
        pytest.param(
            "storage.objects.insert",
            {"params": "bucket: my-bucket/path"},
            "params",
            "Accepted: `bucket: my-bucket` and `name: path/`",
            id="bucket with a path",
        ),
        pytest.param(
            "storage.objects.insert",
            {"params": "bucket=my-bucket"},
            "params",
            "Accepted: `bucket: my-bucket`",
            id="equals sign",
        ),
        pytest.param(
            "storage.objects.insert",
            {"params": "bucket:my-bucket"},
            "params",
            "Accepted: `bucket: my-bucket`",
            id="no blank",
        ),
    ],
)
def test_what_was_meant_is_written_out(
    tmp_path: Path, target: str, given: dict[str, Any], name: str, words: str
) -> None:
    """One mistake, with what to write."""
    with pytest.raises(InputError) as caught:
        prepared(tmp_path, target=target, **given)
    [problem] = caught.value.problems
    assert problem.name == name
    assert words in str(problem)


def test_all_mistakes_come_together(tmp_path: Path) -> None:
    """Mistakes in params, metadata and files are told in one error."""
    inputs = make_inputs(
        tmp_path, target="storage.objects.insert", params="x: 1", metadata="{"
    )
    with pytest.raises(InputError) as caught:
        prepare(inputs)
    names = [problem.name for problem in caught.value.problems]
    assert names == ["metadata", "params", "params", "files"]


def test_metadata_has_to_be_a_json_object(tmp_path: Path) -> None:
    """`metadata` that is no JSON object is refused; what it may say is the service's affair."""
    for metadata in (
        "name: x",
        '{"name": NaN}',
        '{"name": 1e999}',
        '{"name": "\\ud800"}',
        '{"name": ' + "[" * 60_000,
    ):
        assert refused(tmp_path, target="drive.files.create", metadata=metadata) == {
            "metadata": "is not JSON."
        }
    assert refused(tmp_path, target="drive.files.create", metadata="[]") == {
        "metadata": "is not a map."
    }
    params = {"groupId": "g@example.com"}
    mail = make_file(tmp_path, "a.eml")
    made = prepared(
        tmp_path,
        mail,
        target="groupsmigration.archive.insert",
        params=params,
        metadata={"a": 1},
    )
    assert only_upload(made).metadata == {"a": 1}


def test_drive_file_is_called_as_its_file_unless_told(tmp_path: Path) -> None:
    """A new Drive file gets the base name of the file; an update does not rename; a name that is
    given stays.
    """
    file = make_file(tmp_path, "out/app.zip")
    assert only_upload(
        prepared(tmp_path, file, target="drive.files.create")
    ).metadata == {"name": "app.zip"}
    update = only_upload(
        prepared(tmp_path, file, target="drive.files.update", params="fileId: f")
    )
    assert update.metadata is None
    named = only_upload(
        prepared(
            tmp_path, file, target="drive.files.create", metadata={"name": "x", "a": 1}
        )
    )
    assert named.metadata == {"name": "x", "a": 1}


@pytest.mark.parametrize(
    ("name", "objects"),
    [
        ({}, ["a/x.zip", "b/y.zip"]),
        ({"name": "v1/"}, ["v1/a/x.zip", "v1/b/y.zip"]),
    ],
)
@pytest.mark.parametrize("where", ["params", "metadata"])
def test_storage_objects_are_named_by_their_paths(
    tmp_path: Path, where: str, name: dict[str, str], objects: list[str]
) -> None:
    """Without a name, or below one that ends in a slash, an object has the file's path in the
    workspace.
    """
    files = make_file(tmp_path, "a/x.zip"), make_file(tmp_path, "b/y.zip")
    given: dict[str, Any] = {"params": {"bucket": "b"}, "metadata": {}}
    given[where] = {**given[where], **name}
    sent = uploads(prepared(tmp_path, *files, target="storage.objects.insert", **given))
    assert [dict(upload.endpoint.query)["name"] for upload in sent] == objects
    assert all(upload.metadata is None for upload in sent)
    assert all(upload.endpoint.idempotent for upload in sent)


@pytest.mark.parametrize(
    "given",
    [
        {"target": "storage.objects.insert", "params": {"bucket": "b", "name": "one"}},
        {
            "target": "storage.objects.insert",
            "params": {"bucket": "b"},
            "metadata": {"name": "one"},
        },
        {
            "target": "storage.objects.insert",
            "params": {"bucket": "b", "name": "one", "ifGenerationMatch": 0},
        },
        {"target": "drive.files.update", "params": {"fileId": "f"}},
    ],
)
def test_files_that_would_replace_one_another_are_refused(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """Several files for one object or one resource are refused, since the last would replace the
    others.
    """
    files = make_file(tmp_path, "x.zip"), make_file(tmp_path, "y.zip")
    assert (
        refused(tmp_path, *files, **given)["files"]
        == "y.zip would replace x.zip: both go to the same place."
    )


@pytest.mark.parametrize(
    ("target", "params", "idempotent"),
    [
        ("drive.files.create", {}, False),
        ("drive.files.update", {"fileId": "f"}, True),
        ("drive:v2.files.update", {"fileId": "f"}, True),
        ("storage.objects.insert", {"bucket": "b"}, True),
        ("storage.objects.insert", {"bucket": "b", "ifGenerationMatch": "0"}, True),
        ("storage.objects.insert", {"bucket": "b", "ifMetagenerationMatch": "1"}, True),
        ("storage.objects.insert", {"bucket": "b", "ifGenerationNotMatch": "0"}, False),
        (
            "storage.objects.insert",
            {"bucket": "b", "ifMetagenerationNotMatch": "1"},
            False,
        ),
        ("bigquery.jobs.insert", {"projectId": "p"}, False),
        ("chromewebstore.items.update", {"itemId": "i"}, True),
    ],
)
def test_only_replacing_requests_are_idempotent(
    tmp_path: Path, target: str, params: dict[str, str], idempotent: bool
) -> None:
    """Updates, and inserts of a named object, leave one effect when they are sent twice."""
    inputs = make_inputs(
        tmp_path, target="drive.files.create", params=json.dumps(params)
    )
    inputs = inputs.with_values(target=target)
    upload = only_upload(prepare(inputs, make_file(tmp_path, "file.bin")))
    assert upload.endpoint.idempotent is idempotent


@pytest.mark.parametrize(
    ("params", "metadata", "lookup"),
    [
        ({"bucket": "b", "ifGenerationMatch": "0"}, "", "/storage/v1/b/b/o/file.bin"),
        (
            {"bucket": "b", "name": "a/é ?.bin", "ifMetagenerationMatch": "1"},
            "",
            "/storage/v1/b/b/o/a%2F%C3%A9%20%3F.bin",
        ),
        (
            {"bucket": "b", "name": "a/", "ifGenerationMatch": "7"},
            "",
            "/storage/v1/b/b/o/a%2Ffile.bin",
        ),
        (
            {"bucket": "b", "ifGenerationMatch": "0"},
            {"name": "m"},
            "/storage/v1/b/b/o/m",
        ),
        (
            {"bucket": "b", "ifGenerationMatch": "0", "userProject": "p&q"},
            "",
            "/storage/v1/b/b/o/file.bin?userProject=p%26q",
        ),
        ({"bucket": "b"}, "", ""),
        ({"bucket": "b", "ifGenerationNotMatch": "0"}, "", ""),
    ],
)
def test_an_object_with_a_precondition_can_be_looked_up(
    tmp_path: Path, params: dict[str, str], metadata: Any, lookup: str
) -> None:
    """Where the object of the request is found afterwards, with who pays for the look."""
    made = only_upload(
        prepared(
            tmp_path, target="storage.objects.insert", params=params, metadata=metadata
        )
    )
    assert made.endpoint.lookup == lookup


@pytest.mark.parametrize(
    ("target", "params", "metadata", "scope"),
    [
        ("drive.files.create", {}, {}, "drive.file"),
        ("drive.files.create", {}, {"parents": ["p"]}, "drive"),
        ("drive.files.update", {"fileId": "f"}, {}, "drive"),
        ("storage.objects.insert", {"bucket": "b"}, {}, "devstorage.read_write"),
        ("youtube.thumbnails.set", {"videoId": "v"}, None, "youtube.upload"),
        ("bigquery.jobs.insert", {"projectId": "p"}, {}, "bigquery"),
    ],
)
def test_scope_is_the_narrowest_that_does_the_work(
    tmp_path: Path,
    target: str,
    params: dict[str, str],
    metadata: dict[str, Any] | None,
    scope: str,
) -> None:
    """One scope is asked for; Drive's whole only where a request names something that others may
    have made.
    """
    file = make_file(tmp_path, "a.png", PNG)
    made = prepared(
        tmp_path, file, target=target, params=params, metadata=metadata or ""
    )
    assert made.scopes == (AUTH + scope,)


@pytest.mark.parametrize(
    ("target", "params", "resource", "found"),
    [
        (
            "drive.files.create",
            {},
            {"kind": "drive#file", "id": "f1", "name": "n"},
            "f1",
        ),
        (
            "firebaseappdistribution.media.upload",
            {"app": "projects/p/apps/a"},
            {
                "name": "operations/1",
                "done": True,
                "response": {"release": {"name": "r/1"}},
            },
            "r/1",
        ),
        (
            "artifactregistry.projects.locations.repositories.genericArtifacts.upload",
            {"parent": "projects/p/locations/l/repositories/r"},
            {
                "operation": {
                    "name": "o/2",
                    "done": True,
                    "response": {"name": "artifacts/2"},
                }
            },
            "artifacts/2",
        ),
        (
            "artifactregistry.projects.locations.repositories.aptArtifacts.upload",
            {"parent": "projects/p/locations/l/repositories/r"},
            {
                "operation": {
                    "done": True,
                    "response": {"aptArtifacts": [{"name": "a/3"}]},
                }
            },
            "a/3",
        ),
        (
            "artifactregistry.projects.locations.repositories.genericArtifacts.upload",
            {"parent": "projects/p/locations/l/repositories/r"},
            {"operation": {"name": "operations/2"}},
            "",
        ),
        (
            "androidpublisher.edits.apks.upload",
            {"packageName": "p", "editId": "e"},
            {"versionCode": 7},
            "7",
        ),
        (
            "androidpublisher.appstoreappsreview.uploadapk",
            {"appStorePackageName": "s", "packageName": "p"},
            {"apkId": "k"},
            "k",
        ),
        ("drive.files.create", {}, {"id": {"not": "a text"}, "name": True}, ""),
        ("drive.files.create", {}, {}, ""),
    ],
)
def test_id_is_what_the_method_returns(
    tmp_path: Path,
    target: str,
    params: dict[str, str],
    resource: dict[str, Any],
    found: str,
) -> None:
    """The id is the answer's id, name, version code or whatever identifies it; nothing is made
    up.
    """
    made = prepared(tmp_path, target=target, params=params)
    assert only_upload(made).endpoint.identify(resource) == found


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.jpg", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("a.png", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a", b"GIF89a", "image/gif"),
        ("a", b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
        ("a.png", b"<svg/>", "application/octet-stream"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("a.heic", b"\0\0\0\x18ftypheic", "image/heic"),
        ("a.MP4", b"\0\0\0\x18ftypisom", "video/mp4"),
        ("a.bin", b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", "video/webm"),
        ("a.tar.gz", b"\x1f\x8b\x08", "application/gzip"),
        ("a.jar", b"PK\x03\x04", "application/java-archive"),
        ("a.aab", b"PK\x03\x04", "application/octet-stream"),
        ("a.txt", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("a.json", b"{}", "application/json"),
        ("dir.png/a", b"x", "application/octet-stream"),
        ("a", b"", "application/octet-stream"),
    ],
)
def test_bytes_go_before_the_name(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    """A signature is believed before the name, except for containers that many formats are built
    on.
    """
    assert media_types.kinds(make_file(tmp_path, name, content))[0] == kind


def test_stream_is_what_its_name_says() -> None:
    """A stream can be read only once, so its name is all there is, and nothing of it is read."""
    assert media_types.head(stream("a.png")) == b""
    assert media_types.kinds(stream("a.png"))[0] == "image/png"
    assert media_types.kinds(stream())[0] == "application/octet-stream"
