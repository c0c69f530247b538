"""Play Games, internal app sharing and over-the-air packages: where a file goes, and what becomes
of the answer.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from datetime import timedelta
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
    run,
    uploads,
)
from tests.support.recording_context import RecordingContext
from uploader.errors import ApiError, InputError, ServiceError
from uploader.files.android.manifest import Kind, Manifest
from uploader.files.artifacts import Artifact, from_path
from uploader.services.base import Call, Prepared, Upload

GAMES = {
    "target": "play-games",
    "resource_id": "CgkI",
    "image_type": "ACHIEVEMENT_ICON",
}
SHARING = {"target": "play-internal-sharing"}
OTA = {"target": "ota", "deployment": "d1", "package_title": "System 1.2"}


def prepared(workspace: Path, *files: Artifact, **given: str) -> Prepared:
    return prepare(make_inputs(workspace, **given), *files)


def no_zip(workspace: Path, file: Artifact) -> bool:
    with pytest.raises(InputError) as caught:
        prepared(workspace, file, **OTA)
    return "not a zip file" in problems(caught.value)["files"]


# --- Play Games -----------------------------------------------------------------------------------


def test_an_image_goes_to_the_documented_place(tmp_path: Path) -> None:
    """One image goes to the resource's image URI, with its real type, a session of a day, and a
    warning.
    """
    made = prepared(tmp_path, make_file(tmp_path, "icon.jpg", PNG), **GAMES)
    upload = only_upload(made)
    path = "/upload/games/v1configuration/images/CgkI/imageType/ACHIEVEMENT_ICON"
    assert (upload.endpoint.root, upload.endpoint.upload_path) == (
        "https://www.googleapis.com",
        path,
    )
    assert upload.media_type == "image/png"
    assert upload.endpoint.session_lifetime == timedelta(days=1)
    assert upload.endpoint.idempotent
    assert upload.metadata is None
    assert made.scopes == ("https://www.googleapis.com/auth/androidpublisher",)
    assert "deprecated" in made.warnings[0]


@pytest.mark.parametrize("status", [404, 410, 501])
def test_a_removed_image_method_is_explained(tmp_path: Path, status: int) -> None:
    """When the service answers as if the method were gone, the error says that it may be, in its
    own words besides.
    """
    made = prepared(tmp_path, make_file(tmp_path, "icon.png", PNG), **GAMES)
    refusal = ApiError(
        "Not Found.", status=status, reason="notFound", message="Not Found"
    )
    with pytest.raises(
        ApiError, match=r"Not Found\..*removed the method.*Play Console"
    ) as caught:
        run(made, response=lambda step: refusal if isinstance(step, Upload) else None)
    assert (caught.value.status, caught.value.message) == (status, "Not Found")


# --- internal app sharing -------------------------------------------------------------------------


def build(
    workspace: Path,
    name: str,
    kind: Kind,
    package: str = "com.example.app",
    size: int | None = None,
) -> Artifact:
    file = make_file(workspace, name, b"PK\x03\x04", size=size)
    return replace(file, manifest=Manifest(package, 7, kind=kind))


def test_each_file_goes_where_its_kind_belongs(tmp_path: Path) -> None:
    """Bundles and APKs go to their own methods under the package that the artifact names, with
    their own limits.
    """
    made = prepared(
        tmp_path,
        build(tmp_path, "a.bin", "bundle"),
        build(tmp_path, "b.bin", "apk"),
        **SHARING,
    )
    first, second = uploads(made)
    root = "/upload/androidpublisher/v3/applications/internalappsharing/com.example.app/artifacts/"
    assert (first.endpoint.upload_path, second.endpoint.upload_path) == (
        f"{root}bundle",
        f"{root}apk",
    )
    assert (first.endpoint.max_size, second.endpoint.max_size) == (10 << 30, 1 << 30)
    assert first.media_type == "application/octet-stream"
    assert second.media_type == "application/vnd.android.package-archive"
    assert made.scopes == ("https://www.googleapis.com/auth/androidpublisher",)


def test_links_fingerprint_and_digest_are_outputs(tmp_path: Path) -> None:
    """The outputs are the links in the order of the files, and the first one's fingerprint and
    digest.
    """
    made = prepared(
        tmp_path,
        build(tmp_path, "a.apk", "apk"),
        build(tmp_path, "b.apk", "apk"),
        **SHARING,
    )
    resource = {
        "downloadUrl": "https://play.google.com/x",
        "certificateFingerprint": "AB:CD",
        "sha256": "00ff",
    }
    context = RecordingContext()
    _, steps = run(made, resource, context=context)
    sent = [step for step in steps if isinstance(step, Upload)]
    assert [upload.endpoint.identify(resource) for upload in sent] == [
        "https://play.google.com/x"
    ] * 2
    assert context.outputs == {
        "download-url": "https://play.google.com/x",
        "download-urls": "https://play.google.com/x,https://play.google.com/x",
        "certificate-fingerprint": "AB:CD",
        "sha256": "00ff",
    }


# --- over the air ---------------------------------------------------------------------------------


def archive(comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("payload.bin", b"x" * 5000)
        made.comment = comment
    return buffer.getvalue()


@pytest.mark.parametrize("comment", [b"", b"signed", b"PK\x05\x06" * 9, b"c" * 0xFFFF])
def test_package_goes_as_documented(tmp_path: Path, comment: bytes) -> None:
    """A whole zip, whatever its comment, goes by the second dialect with deployment and title as
    metadata.
    """
    made = prepared(tmp_path, make_file(tmp_path, "ota.zip", archive(comment)), **OTA)
    upload = only_upload(made)
    assert (
        upload.endpoint.root + upload.endpoint.upload_path
        == "https://androidovertheair.googleapis.com/upload/package"
    )
    assert upload.endpoint.dialect == "goog-upload"
    assert upload.endpoint.empty_response
    assert upload.endpoint.session_lifetime == timedelta(days=3)
    assert upload.media_type == "application/zip"
    assert upload.metadata == {"deployment": "d1", "package_title": "System 1.2"}
    assert made.scopes == (
        "https://www.googleapis.com/auth/android_partner_over_the_air",
    )


def test_end_of_a_large_package_is_found_without_reading_it(tmp_path: Path) -> None:
    """A sparse package of several gigabytes is checked by its first and last bytes."""
    file = make_file(tmp_path, "ota.zip", b"PK\x03\x04", size=5 << 30)
    assert no_zip(tmp_path, file)
    with file.path.open("ab") as end:
        end.write(archive()[-22:])
    assert prepared(tmp_path, from_path(file.path, file.name), **OTA).lines


@pytest.mark.parametrize(
    "content",
    [b"", b"text", archive()[:-1], archive() + b"x", archive()[4:], b"PK\x03\x04"],
)
def test_what_is_no_whole_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty file, another format, a truncated or lengthened zip is refused."""
    assert no_zip(tmp_path, make_file(tmp_path, "ota.zip", content))


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (
            {
                "packages": [
                    {"name": "a.zip", "title": "System 1.2"},
                    {"name": "b.zip", "title": "System"},
                ]
            },
            "a.zip",
        ),
        ({}, ""),
        ({"packages": {"name": "a.zip"}}, ""),
        (
            {
                "packages": [
                    "a.zip",
                    None,
                    {"title": "System 1.2"},
                    {"name": 7, "title": "System 1.2"},
                ]
            },
            "",
        ),
        ({"packages": [{"name": name, "title": "System 1.2"} for name in "ab"]}, ""),
    ],
)
def test_the_id_is_the_name_of_the_one_new_package(
    tmp_path: Path, response: dict[str, Any], found: str
) -> None:
    """Of a list that can't be read, or that has none or several of the title, no id is made."""
    made = prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **OTA)
    calls = iter([{}, response])
    context = RecordingContext()
    outcome, _ = run(
        made, {}, lambda step: next(calls) if isinstance(step, Call) else None, context
    )
    assert [one.id for one in context.identifications] == [found] * bool(found)
    assert (len(context.warnings), len(context.texts)) == ((0, 0) if found else (1, 1))
    assert (f"the package {found}." in outcome.headline) == bool(found)


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"uploadState": "FAILURE", "uploadError": "Bad signature."}, "Bad signature."),
        ({"uploadState": "FAILURE"}, "it gives no reason"),
        ({"uploadState": "FAILURE", "uploadError": None}, "it gives no reason"),
        ({"uploadState": "FAILURE", "uploadError": ["x"] * 9000}, "['x', 'x'"),
        ({"uploadState": "SUCCESS", "uploadError": "left over"}, ""),
        ({"uploadState": "IN_PROGRESS"}, ""),
        ({"uploadState": {"a": 1}}, ""),
        ("FAILURE", ""),
        (None, ""),
    ],
)
def test_only_a_stated_failure_is_one(
    tmp_path: Path, details: object, reason: str
) -> None:
    """What the service does not call failed is a success, and whatever it says instead of a reason
    stays short.
    """
    made = prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **OTA)
    package = {"name": "a.zip", "title": "System 1.2", "details": details}
    calls = iter([{}, {"packages": [package]}])

    def response(step: object) -> object:
        return next(calls) if isinstance(step, Call) else None

    if not reason:
        assert run(made, {}, response=response)[0].headline.startswith(
            "ota.zip was uploaded to deployment d1 as the package a.zip."
        )
        return
    with pytest.raises(ServiceError) as caught:
        run(made, {}, response=response)
    assert reason in caught.value.what
    assert len(caught.value.what) < 2200
