"""What the users of the most used Play tools complain about, one test a complaint: none of it is possible here.

The references are threads in those tools' own trackers. What is about the transfer itself (stalls, resets, slow
answers) or about the login stands in the tests of those rooms; here is what concerns an edit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from google_emulator.specimens import make_bundle
from tests.support.factory import make_inputs
from tests.support.fake_play import AUTOMATIC, BY_HAND, Play, artifact, plain, refused, release, sha256
from tests.support.play_driver import Engine, release_job
from uploader.errors import ApiError, InputError, OutcomeUnknown, ServiceError, TemporaryError
from uploader.files.artifacts import from_path
from uploader.services import play as target
from uploader.services.base import Upload
from uploader.services.play.release_job import ReleaseOptions, SupplementaryFile

MAPPING = (SupplementaryFile("mapping", plain("mapping.txt", b"m"), 2),)


def inputs_of_a_release(workspace: Path, **given: str) -> None:
    """Prepares a release of a valid bundle. Raises what `prepare` raises."""
    make_bundle(workspace / "app.aab", "com.example.app", 7, "7.0")
    files = (from_path(workspace / "app.aab", "app.aab"),)
    target.prepare(make_inputs(workspace, target="play", **given), files)


def test_a_deprecated_input_meant_internal_went_to_production_by_the_default_track(tmp_path: Path) -> None:
    """r0adkll/upload-google-play#266: `tracks` has no default, so a missing or misspelt one publishes nothing."""
    with pytest.raises(InputError) as caught:
        inputs_of_a_release(tmp_path)
    assert [problem.name for problem in caught.value.problems] == ["tracks"]


def test_hung_for_hours_reset_503_one_minute_read_limit() -> None:
    """r0adkll#86, #202, #177, #188; fastlane#29534: each upload resumes for a week, an outage keeps the edit."""
    play, journal = Play(), dict[str, str]()
    play.fail("upload bundles", TemporaryError("The retries are spent: 503."))
    engine = Engine(play, journal)
    with pytest.raises(TemporaryError):
        engine.run(release_job(artifact(2), supplementary=MAPPING))
    again = Engine(play, journal)
    again.run(release_job(artifact(2), supplementary=MAPPING))
    uploads = [step for step in again.steps if isinstance(step, Upload)]
    assert [step.endpoint.resumable for step in uploads] == [True, True]
    assert {step.endpoint.session_lifetime.days for step in uploads} == {7}
    assert play.count("insert") == 1


@pytest.mark.parametrize(("review", "message"), [("by hand", BY_HAND), ("automatic", AUTOMATIC)])
def test_changes_not_sent_for_review_must_be_true_then_must_not_be_set(review: str, message: str) -> None:
    """r0adkll#82, #84, #175, #228: `auto` does in the same edit what Google demands; nothing is uploaded twice."""
    play = Play()
    play.review = review
    if review == "automatic":
        play.fail("commit", refused(400, BY_HAND))  # asked for the parameter, then refused it
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert message.split(".", maxsplit=1)[0] in engine.log
    assert play.uploads == ["app-2.aab"]
    assert play.count("insert") == 1


def test_commit_failed_and_the_upload_was_thrown_away() -> None:
    """matedroid#376, fastlane#21642: a refused commit keeps the edit and outputs its id, a re-run goes on."""
    play, journal = Play(), dict[str, str]()
    play.fail("commit", refused(400, "Precondition check failed."))
    engine = Engine(play, journal)
    with pytest.raises(ApiError):
        engine.run(release_job(artifact(2)))
    assert engine.outputs["edit-id"] in play.edits
    Engine(play, journal).run(release_job(artifact(2)))
    assert play.uploads == ["app-2.aab"]
    assert play.live.tracks["internal"] == [release(2)]


def test_commit_failed_and_the_next_job_is_given_the_edit_by_its_id() -> None:
    """The same without a journal: `existing-edit-id` takes the output of the failed run."""
    play = Play()
    play.fail("commit", refused(400, "Precondition check failed."))
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(release_job(artifact(2)))
    Engine(play).run(release_job(artifact(2), existing_edit=engine.outputs["edit-id"]))
    assert play.uploads == ["app-2.aab"]
    assert play.live.tracks["internal"] == [release(2)]


def test_the_code_was_then_already_used_and_another_file_is_refused_clearly() -> None:
    """The same version code with the same sha256 is reused; with another it is said that the bytes differ."""
    play = Play()
    Engine(play).run(release_job(artifact(2)))
    Engine(play).run(release_job(artifact(2), tracks=("beta",)))
    assert play.uploads == ["app-2.aab"]
    with pytest.raises(ServiceError) as caught:
        Engine(play).run(release_job(artifact(2, b"another build")))
    assert sha256(artifact(2)) in caught.value.what
    assert sha256(artifact(2, b"another build")) in caught.value.what


@pytest.mark.parametrize("published", [True, False])
def test_502_at_commit_one_had_published_the_other_not(published: bool) -> None:
    """r0adkll#57, gradle-play-publisher#1157: an ambiguous commit is looked up before anything is repeated."""
    play = Play()
    play.fail("commit", OutcomeUnknown("It is not known whether it took effect: 502."), after=published)
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert play.calls[play.calls.index("commit") + 1] == "GET"
    assert play.count("commit") == (1 if published else 2)
    assert play.live.tracks["internal"] == [release(2)]
    assert engine.outputs["committed"] == "true"


def test_this_edit_has_been_deleted_when_two_pushes_race() -> None:
    """gradle-play-publisher#629, #998; r0adkll#96: a fresh edit and a replay; in the end advice on `concurrency:`."""
    play = Play()
    play.fail("commit", refused(400, "This Edit has been deleted."), effect=play.close_edits)
    Engine(play).run(release_job(artifact(2)))
    assert play.live.tracks["internal"] == [release(2)]
    for _ in range(3):
        play.fail("commit", refused(400, "This Edit has been deleted."), effect=play.close_edits)
    with pytest.raises(ApiError) as caught:
        Engine(play).run(release_job(artifact(3)))
    assert "`concurrency:`" in caught.value.hint


def test_a_draft_halted_a_live_staged_rollout() -> None:
    """fastlane#29447, r0adkll#179: a draft is put beside the rollout, which goes on untouched."""
    rollout = release(5, status="inProgress", userFraction=0.2)
    play = Play(production=[rollout, release(4)])
    engine = Engine(play)
    outcome = engine.run(release_job(artifact(6), tracks=("production",), options=ReleaseOptions("draft")))
    assert play.live.tracks["production"] == [release(6, status="draft"), rollout, release(4)]
    shown = ("  + 6.0 (6): draft", "  = 5: 20 % of users, in progress", "  = 4: all users, completed")
    assert [line for (line,) in outcome.sections[0].rows][1:4] == list(shown)
    assert "\n".join(shown) in engine.log


def test_version_code_and_other_ids_not_available_to_later_steps() -> None:
    """r0adkll#227, #269: outputs, for one artifact and for several."""
    engine = Engine(Play())
    engine.run(release_job(artifact(10, kind="bundle"), artifact(100010, b"tv")))
    assert engine.outputs["version-code"] == "100010"
    assert engine.outputs["version-codes"] == engine.outputs["ids"] == "10,100010"
    assert engine.outputs["edit-id"] == "1"


@pytest.mark.parametrize("message", ["Unknown error.", "Precondition check failed."])
def test_unknown_error_and_precondition_check_failed(message: str) -> None:
    """r0adkll#186, #218, #239: the server's own words, the likely cause, the cure."""
    play = Play()
    play.fail("commit", refused(400, message))
    with pytest.raises(ApiError) as caught:
        Engine(play).run(release_job(artifact(2)))
    assert message in caught.value.what
    assert "Play Console" in caught.value.hint
    assert caught.value.cause


def test_notes_directory_missing_is_found_before_the_upload(tmp_path: Path) -> None:
    """r0adkll#246: an offline check, exit 2, nothing sent."""
    with pytest.raises(InputError, match="whats-new-directory"):
        inputs_of_a_release(tmp_path, tracks="beta", whats_new_directory="distribution/whatsnew")


def test_a_symbol_zip_that_is_wrong_is_found_before_the_upload(tmp_path: Path) -> None:
    """r0adkll#204, fastlane#21064: what is no symbol zip is told offline."""
    (tmp_path / "symbols.zip").write_bytes(b"no zip")
    with pytest.raises(InputError, match="debug-symbols"):
        inputs_of_a_release(tmp_path, tracks="beta", debug_symbols="symbols.zip")


def test_a_symbol_folder_with_an_extra_lib_level_is_put_right(tmp_path: Path) -> None:
    """The same: the folder that a build leaves is packed as Play wants it."""
    (tmp_path / "out/lib/arm64-v8a").mkdir(parents=True)
    (tmp_path / "out/lib/arm64-v8a/libapp.so").write_bytes(b"\x7fELF")
    inputs_of_a_release(tmp_path, tracks="beta", debug_symbols="out")


def test_key_file_left_in_the_workspace(tmp_path: Path) -> None:
    """r0adkll#116: preparing and running a release writes nothing into the workspace."""
    inputs_of_a_release(tmp_path, tracks="beta")
    Engine(Play()).run(release_job(artifact(2)))
    assert [path.name for path in tmp_path.iterdir()] == ["app.aab"]
