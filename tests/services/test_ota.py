"""Over-the-air packages: whole zips only, by the other dialect, with the documented metadata."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.factory import make_file, make_inputs, only_upload, problems, run, stream
from tests.support.recording_context import RecordingContext
from uploader.errors import InputError, ServiceError
from uploader.files.artifacts import Artifact, from_path
from uploader.services import ota
from uploader.services.base import Call, Prepared

GIVEN = {"target": "ota", "deployment": "d1", "package_title": "System 1.2"}


def archive(comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("payload.bin", b"x" * 5000)
        made.comment = comment
    return buffer.getvalue()


def prepared(workspace: Path, *files: Artifact, **given: str) -> Prepared:
    return ota.prepare(make_inputs(workspace, **given), files)


def refused(workspace: Path, *files: Artifact, **given: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        prepared(workspace, *files, **given)
    return problems(caught.value)


@pytest.mark.parametrize("comment", [b"", b"signed", b"PK\x05\x06" * 9, b"c" * 0xFFFF])
def test_package_goes_as_documented(tmp_path: Path, comment: bytes) -> None:
    """A whole zip, whatever its comment, goes by the second dialect with deployment and title as metadata."""
    made = prepared(tmp_path, make_file(tmp_path, "ota.zip", archive(comment)), **GIVEN)
    upload = only_upload(made)
    assert (
        upload.endpoint.root + upload.endpoint.upload_path == "https://androidovertheair.googleapis.com/upload/package"
    )
    assert upload.endpoint.dialect == "goog-upload"
    assert upload.endpoint.empty_response
    assert upload.endpoint.session_lifetime == timedelta(days=3)
    assert upload.media_type == "application/zip"
    assert upload.metadata == {"deployment": "d1", "package_title": "System 1.2"}
    assert made.scopes == ("https://www.googleapis.com/auth/android_partner_over_the_air",)


def test_end_of_a_large_package_is_found_without_reading_it(tmp_path: Path) -> None:
    """A sparse package of several gigabytes is checked by its first and last bytes."""
    file = make_file(tmp_path, "ota.zip", b"PK\x03\x04", size=5 << 30)
    assert "not a zip file" in refused(tmp_path, file, **GIVEN)["files"]
    with file.path.open("ab") as end:
        end.write(archive()[-22:])
    assert prepared(tmp_path, make_file_again(file), **GIVEN).lines


def make_file_again(file: Artifact) -> Artifact:
    return from_path(file.path, file.name)


@pytest.mark.parametrize("content", [b"", b"text", archive()[:-1], archive() + b"x", archive()[4:], b"PK\x03\x04"])
def test_what_is_no_whole_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty file, another format, a truncated or lengthened zip is refused."""
    assert "not a zip file" in refused(tmp_path, make_file(tmp_path, "ota.zip", content), **GIVEN)["files"]


def test_deployment_title_and_one_file_are_required(tmp_path: Path) -> None:
    """All that is missing is told together; a stream is taken on trust, since nobody can look into it."""
    assert sorted(refused(tmp_path, target="ota")) == ["deployment", "files", "package-title"]
    assert only_upload(prepared(tmp_path, stream(), **GIVEN)).artifact.size is None


def test_simple_upload_does_not_exist(tmp_path: Path) -> None:
    """The dialect has multipart and resumable uploads, no simple one."""
    file = make_file(tmp_path, "ota.zip", archive())
    assert "not support simple uploads" in refused(tmp_path, file, **GIVEN, upload_protocol="simple")["upload-protocol"]


def test_empty_answer_is_a_success_without_an_id(tmp_path: Path) -> None:
    """The service may answer without a body; then there is no id, and none is made up."""
    context = RecordingContext()
    run(prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **GIVEN), {}, context=context)
    assert context.outputs == {}


@pytest.mark.parametrize(
    ("response", "found"),
    [
        ({"packages": [{"name": "a.zip", "title": "System 1.2"}, {"name": "b.zip", "title": "System"}]}, "a.zip"),
        ({}, ""),
        ({"packages": {"name": "a.zip"}}, ""),
        ({"packages": ["a.zip", None, {"title": "System 1.2"}, {"name": 7, "title": "System 1.2"}]}, ""),
        ({"packages": [{"name": name, "title": "System 1.2"} for name in "ab"]}, ""),
    ],
)
def test_the_id_is_the_name_of_the_one_new_package(tmp_path: Path, response: dict[str, Any], found: str) -> None:
    """Of a list that can't be read, or that has none or several of the title, no id is made."""
    made = prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **GIVEN)
    calls = iter([{}, response])
    context = RecordingContext()
    outcome, _ = run(made, {}, lambda step: next(calls) if isinstance(step, Call) else None, context)
    assert [one.id for one in context.identifications] == [found] * bool(found)
    assert (len(context.warnings), len(context.texts)) == ((0, 0) if found else (1, 1))
    assert (f"the package {found} " in outcome.headline) == bool(found)


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
def test_only_a_stated_failure_is_one(tmp_path: Path, details: object, reason: str) -> None:
    """What the service does not call failed is a success, and whatever it says instead of a reason stays short."""
    made = prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **GIVEN)
    package = {"name": "a.zip", "title": "System 1.2", "details": details}
    calls = iter([{}, {"packages": [package]}])

    def response(step: object) -> object:
        return next(calls) if isinstance(step, Call) else None

    if not reason:
        assert run(made, {}, response=response)[0].headline.startswith("ota.zip is the package a.zip")
        return
    with pytest.raises(ServiceError) as caught:
        run(made, {}, response=response)
    assert reason in caught.value.what
    assert len(caught.value.what) < 2200


def test_the_details_are_asked_for(tmp_path: Path) -> None:
    """Only the detailed view of the list says what became of an upload."""
    _, steps = run(prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **GIVEN), {})
    assert {step.query for step in steps if isinstance(step, Call)} == {(("view", "DETAILED"),)}


def test_dry_run_sends_nothing(tmp_path: Path) -> None:
    """A dry run says what would be sent."""
    context = RecordingContext()
    _, steps = run(
        prepared(tmp_path, make_file(tmp_path, "ota.zip", archive()), **GIVEN, dry_run="true"), context=context
    )
    assert (steps, len(context.texts)) == ([], 1)
