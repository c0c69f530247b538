"""Play Games images: checked to be images, warned about, and explained when Google no longer takes them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.factory import PNG, make_file, make_inputs, only_upload, problems, run
from tests.support.recording_context import RecordingContext
from uploader.errors import ApiError, InputError
from uploader.files.artifacts import Artifact
from uploader.services import play_games
from uploader.services.base import Prepared, Upload

GIVEN = {"target": "play-games", "resource_id": "CgkI", "image_type": "ACHIEVEMENT_ICON"}


def prepared(workspace: Path, *files: Artifact, **given: str) -> Prepared:
    return play_games.prepare(make_inputs(workspace, **given), files)


def refused(workspace: Path, *files: Artifact, **given: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        prepared(workspace, *files, **given)
    return problems(caught.value)


def test_image_goes_to_the_documented_place(tmp_path: Path) -> None:
    """One image goes to the resource's image URI, with its real type, a session of a day, and a warning."""
    made = prepared(tmp_path, make_file(tmp_path, "icon.jpg", PNG), **GIVEN)
    upload = only_upload(made)
    path = "/upload/games/v1configuration/images/CgkI/imageType/ACHIEVEMENT_ICON"
    assert (upload.endpoint.root, upload.endpoint.upload_path) == ("https://www.googleapis.com", path)
    assert upload.media_type == "image/png"
    assert upload.endpoint.session_lifetime == timedelta(days=1)
    assert upload.endpoint.idempotent
    assert upload.metadata is None
    assert made.scopes == ("https://www.googleapis.com/auth/androidpublisher",)
    assert "deprecated" in made.warnings[0]


def test_answer_becomes_outputs_and_a_link(tmp_path: Path) -> None:
    """The resource is known by its id, and the image's URL is a link of the summary."""
    made = prepared(tmp_path, make_file(tmp_path, "icon.png", PNG), **GIVEN)
    resource = {"kind": "k", "url": "https://example.com/i", "resourceId": "CgkI", "imageType": "x"}
    outcome, steps = run(made, resource)
    assert [step.endpoint.identify(resource) for step in steps if isinstance(step, Upload)] == ["CgkI"]
    assert outcome.links == (("Image", "https://example.com/i"),)


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    """A file that only claims to be an image, one that is too large, or more than one are refused."""
    assert refused(tmp_path, make_file(tmp_path, "a.png", b"text"), **GIVEN) == {
        "files": "a.png is application/octet-stream."
    }
    large = make_file(tmp_path, "b.png", PNG, size=(15 << 20) + 1)
    assert "at most 15,728,640" in refused(tmp_path, large, **GIVEN)["files"]
    two = make_file(tmp_path, "c.png", PNG), make_file(tmp_path, "d.png", PNG)
    assert refused(tmp_path, *two, **GIVEN)["files"] == "2 files were given; Play Games takes exactly one."


def test_what_it_is_for_is_required(tmp_path: Path) -> None:
    """Resource and image type are required."""
    assert sorted(refused(tmp_path, target="play-games")) == ["files", "image-type", "resource-id"]


@pytest.mark.parametrize("status", [404, 410, 501])
def test_removed_method_is_explained(tmp_path: Path, status: int) -> None:
    """When the service answers as if the method were gone, the error says that it may be, in its own words besides."""
    made = prepared(tmp_path, make_file(tmp_path, "icon.png", PNG), **GIVEN)
    refusal = ApiError("Not Found.", status=status, reason="notFound", message="Not Found")
    with pytest.raises(ApiError, match=r"Not Found\..*removed the method.*Play Console") as caught:
        run(made, response=lambda step: refusal if isinstance(step, Upload) else None)
    assert (caught.value.status, caught.value.message) == (status, "Not Found")


def test_other_refusals_are_left_alone(tmp_path: Path) -> None:
    """A refusal that says what it means gets no explanation."""
    made = prepared(tmp_path, make_file(tmp_path, "icon.png", PNG), **GIVEN)
    refusal = ApiError("Image too small.", status=400)
    with pytest.raises(ApiError) as caught:
        run(made, response=lambda step: refusal if isinstance(step, Upload) else None)
    assert caught.value is refusal


def test_dry_run_sends_nothing(tmp_path: Path) -> None:
    """A dry run says what would be sent."""
    context = RecordingContext()
    _, steps = run(prepared(tmp_path, make_file(tmp_path, "icon.png", PNG), **GIVEN, dry_run="true"), context=context)
    assert (steps, len(context.texts)) == ([], 1)
