"""Internal app sharing: apk or bundle by what the file is, and the links that come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.factory import make_file, make_inputs, problems, run, uploads
from tests.support.real_artifacts import real_apk
from tests.support.recording_context import RecordingContext
from uploader.errors import InputError
from uploader.files.android.manifest import Kind, Manifest
from uploader.files.artifacts import Artifact, from_path
from uploader.services import internal_sharing
from uploader.services.base import Batch, Prepared


def build(
    workspace: Path, name: str, kind: Kind, package: str = "com.example.app", size: int | None = None
) -> Artifact:
    file = make_file(workspace, name, b"PK\x03\x04", size=size)
    return replace(file, manifest=Manifest(package, 7, kind=kind))


def prepared(workspace: Path, *files: Artifact, **given: str) -> Prepared:
    return internal_sharing.prepare(make_inputs(workspace, target="play-internal-sharing", **given), files)


def refused(workspace: Path, *files: Artifact, **given: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        prepared(workspace, *files, **given)
    return problems(caught.value)


def test_each_file_goes_where_its_kind_belongs(tmp_path: Path) -> None:
    """Bundles and APKs go to their own methods under the package that the artifact names, with their own limits."""
    made = prepared(tmp_path, build(tmp_path, "a.bin", "bundle"), build(tmp_path, "b.bin", "apk"))
    first, second = uploads(made)
    root = "/upload/androidpublisher/v3/applications/internalappsharing/com.example.app/artifacts/"
    assert (first.endpoint.upload_path, second.endpoint.upload_path) == (f"{root}bundle", f"{root}apk")
    assert (first.endpoint.max_size, second.endpoint.max_size) == (10 << 30, 1 << 30)
    assert first.media_type == "application/octet-stream"
    assert second.media_type == "application/vnd.android.package-archive"
    assert made.scopes == ("https://www.googleapis.com/auth/androidpublisher",)


def test_links_fingerprint_and_digest_are_outputs(tmp_path: Path) -> None:
    """The outputs are the links in the order of the files, and the first one's fingerprint and digest."""
    made = prepared(tmp_path, build(tmp_path, "a.apk", "apk"), build(tmp_path, "b.apk", "apk"))
    resource = {"downloadUrl": "https://play.google.com/x", "certificateFingerprint": "AB:CD", "sha256": "00ff"}
    context = RecordingContext()
    _, steps = run(made, resource, context=context)
    (batch,) = (step for step in steps if isinstance(step, Batch))
    assert [upload.endpoint.identify(resource) for upload in batch.uploads] == ["https://play.google.com/x"] * 2
    assert context.outputs == {
        "download-url": "https://play.google.com/x",
        "download-urls": "https://play.google.com/x,https://play.google.com/x",
        "certificate-fingerprint": "AB:CD",
        "sha256": "00ff",
    }


def test_real_apk_goes_where_apks_belong(tmp_path: Path) -> None:
    """A real APK, whatever its name, is recognised by what is in it, and its package is read from it."""
    file = from_path(real_apk(), "artifact")
    (upload,) = uploads(prepared(tmp_path, file))
    path = "/androidpublisher/v3/applications/internalappsharing/io.appium.uiautomator2.server/artifacts/apk"
    assert upload.endpoint.path == path
    assert upload.artifact.manifest is not None


def test_files_go_side_by_side(tmp_path: Path) -> None:
    """Several artifacts are independent of one another and travel as one batch."""
    _, steps = run(prepared(tmp_path, build(tmp_path, "a.apk", "apk"), build(tmp_path, "b.apk", "apk")))
    assert [len(step.uploads) for step in steps if isinstance(step, Batch)] == [2]


def test_package_name_has_to_be_the_artifacts(tmp_path: Path) -> None:
    """A package name that is not the artifact's is refused."""
    found = refused(tmp_path, build(tmp_path, "a.apk", "apk"), package_name="com.example.other")
    assert found == {"package-name": "is com.example.other, but a.apk belongs to com.example.app."}


def test_what_is_neither_is_refused_with_all_other_problems(tmp_path: Path) -> None:
    """A file that is neither APK nor bundle, one that is too large, or no file at all is refused."""
    large = build(tmp_path, "large.apk", "apk", size=(1 << 30) + 1)
    with pytest.raises(InputError) as caught:
        prepared(tmp_path, make_file(tmp_path, "a.txt", b"text"), large)
    assert [problem.name for problem in caught.value.problems] == ["files", "files"]
    assert "large.apk" in caught.value.problems[1].what
    assert refused(tmp_path) == {"files": "no APK or bundle was given."}


def test_dry_run_sends_nothing(tmp_path: Path) -> None:
    """A dry run says what would be sent."""
    context = RecordingContext()
    _, steps = run(prepared(tmp_path, build(tmp_path, "a.apk", "apk"), dry_run="true"), context=context)
    assert (steps, len(context.texts)) == ([], 1)
