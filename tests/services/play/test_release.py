"""A Play release from the first call to the last, against a strict model of Play's rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fake_play import (
    BY_HAND,
    Play,
    artifact,
    plain,
    refused,
    release,
    sha256,
)
from tests.support.play_driver import Engine, release_job
from uploader.errors import (
    ApiError,
    IntegrityError,
    Interrupted,
    OutcomeUnknown,
    ProtocolError,
    TemporaryError,
    UploaderError,
)
from uploader.services.base import Call, Upload
from uploader.services.play.release_job import (
    ReleaseJob,
    ReleaseOptions,
    SupplementaryFile,
)


def test_a_release_reads_as_insert_upload_tracks_commit() -> None:
    """One artifact, one track: six kinds of calls in this order, and the release is live."""
    play = Play(internal=[release(1)])
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert play.calls == [
        "insert",
        "GET tracks",
        "GET bundles",
        "GET apks",
        "upload bundles",
        "PUT tracks",
        "commit",
    ]
    assert play.live.tracks["internal"] == [release(2)]


def test_calls_and_uploads_go_where_the_documents_say() -> None:
    """Paths, methods, media types and limits are those of androidpublisher v3."""
    engine = Engine(Play())
    engine.run(
        release_job(artifact(2), artifact(3, b"x", kind="apk"), tracks=("wear:beta",))
    )
    edit = "/androidpublisher/v3/applications/com.example.app/edits/1"
    calls = [
        (step.method, step.path) for step in engine.steps if isinstance(step, Call)
    ]
    assert calls[0] == (
        "POST",
        "/androidpublisher/v3/applications/com.example.app/edits",
    )
    assert ("PUT", f"{edit}/tracks/wear%3Abeta") in calls
    assert calls[-1] == ("POST", f"{edit}:commit")
    bundle, apk = [step for step in engine.steps if isinstance(step, Upload)]
    assert bundle.endpoint.upload_path == f"/upload{edit}/bundles"
    assert (bundle.media_type, bundle.endpoint.max_size) == (
        "application/octet-stream",
        50 * 2**30,
    )
    assert apk.endpoint.upload_path == f"/upload{edit}/apks"
    assert (apk.media_type, apk.endpoint.max_size) == (
        "application/vnd.android.package-archive",
        10 * 2**30,
    )
    assert (bundle.endpoint.resumable, bundle.endpoint.session_lifetime.days) == (
        True,
        7,
    )
    assert bundle.endpoint.scopes == (
        "https://www.googleapis.com/auth/androidpublisher",
    )


def test_the_outcome_shows_what_came_to_the_tracks_and_the_state_of_the_review() -> (
    None
):
    """The summary gets what the log has as a diff, and a link that works with the package name
    alone.
    """
    job = release_job(
        artifact(2), tracks=("production",), options=ReleaseOptions("inProgress", 0.1)
    )
    outcome = Engine(Play(production=[release(1, name="1 (1.0)")])).run(job)
    (changes,) = outcome.sections
    assert (changes.title, changes.header) == ("Changes", ())
    assert [line for (line,) in changes.rows] == [
        "Track production",
        "  + 2.0 (2): 10 % of users, in progress",
        "  = 1.0 (1): all other users, completed",
        "Review",
        "  sent for review; with managed publishing, you publish it in the Play Console after that",
    ]
    assert outcome.links == (
        ("Store page", "https://play.google.com/store/apps/details?id=com.example.app"),
    )
    assert outcome.headline == (
        "com.example.app 2.0 (2) goes to 10 % of production after the review."
    )


def test_the_outcome_of_a_draft_says_how_it_is_published() -> None:
    """With the same inputs but the files, or by hand."""
    job = release_job(artifact(2), options=ReleaseOptions("draft"))
    outcome = Engine(Play()).run(job)
    assert "`status: completed`, without `files`" in outcome.todo


@pytest.mark.parametrize("track", ["internal", "wear:qa", "tv:internal"])
def test_nothing_is_said_of_a_review_where_there_is_none(track: str) -> None:
    """What comes to internal testers alone goes to them at once."""
    engine = Engine(Play())
    outcome = engine.run(release_job(artifact(2), tracks=(track,)))
    told = (
        *engine.texts,
        *engine.shown[0].lines,
        outcome.headline,
        *(line for (line,) in outcome.sections[0].rows),
    )
    assert "review" not in "\n".join(told).lower()


@pytest.mark.parametrize(
    ("job", "title"),
    [
        ({"dry_run": True}, "Planned changes"),
        ({"commit": False}, "Changes in the edit"),
        ({}, "Changes"),
    ],
)
def test_what_is_not_live_is_not_told_as_if_it_were(
    job: dict[str, bool], title: str
) -> None:
    """A rehearsal shows what would be, an edit that is left open what is in it."""
    engine = Engine(Play(internal=[release(1)]))
    outcome = engine.run(release_job(artifact(2), **job))
    assert outcome.sections[0].title == title
    told = engine.texts
    assert "Track internal in edit 1: 2.0 (2), all users, completed." in told
    committed = "Committed edit 1."
    assert (committed in told) == (title == "Changes")


@pytest.mark.parametrize(
    ("job", "headline"),
    [
        ({"retained": ("6",)}, "6 goes to production after the review."),
        (
            {"retained": ("6",), "options": ReleaseOptions("inProgress", 0.1)},
            "6 goes to 10 % of production after the review.",
        ),
        (
            {"retained": ("6",), "options": ReleaseOptions("draft")},
            "6 is a draft on production.",
        ),
        (
            {"options": ReleaseOptions("inProgress", 0.5)},
            "5 is now at 50 % on production.",
        ),
        ({"options": ReleaseOptions("halted")}, "5 is halted on production."),
        (
            {"options": ReleaseOptions("completed")},
            "5 is rolled out to all users on production.",
        ),
        (
            {"options": ReleaseOptions(name="Spring")},
            "Spring (5) is updated on production.",
        ),
        (
            {"promote_from": "beta"},
            "6 goes from beta to production after the review.",
        ),
        (
            {"promote_from": "beta", "options": ReleaseOptions("inProgress", 0.1)},
            "6 goes from beta to 10 % of production after the review.",
        ),
        (
            {"options": ReleaseOptions("halted"), "tracks": ("production", "alpha")},
            "5 is halted on production, alpha.",
        ),
        (
            {
                "options": ReleaseOptions(name="Spring"),
                "promote_from": "beta",
                "tracks": ("production", "internal"),
            },
            (
                "Spring (6) goes from beta to production after the review and is promoted "
                "from beta to internal."
            ),
        ),
    ],
)
def test_the_headline_says_what_happened(job: dict[str, Any], headline: str) -> None:
    """Halted, widened, completed, promoted: whoever reads one line knows it."""
    rollout = release(5, status="inProgress", userFraction=0.2)
    play = Play(production=[rollout, release(4)], alpha=[rollout], beta=[release(6)])
    outcome = Engine(play).run(
        release_job(**{"tracks": ("production",), "replace_rollout": True, **job})
    )
    assert outcome.headline == f"com.example.app {headline}"


def test_a_job_that_only_commits_tells_what_the_edit_holds() -> None:
    """Log and summary name the tracks that other jobs filled."""
    play = Play(beta=[release(1)])
    engine = Engine(play)
    engine.run(release_job(artifact(2), commit=False, tracks=("production",)))
    last = Engine(play)
    outcome = last.run(release_job(tracks=(), existing_edit=engine.outputs["edit-id"]))
    assert outcome.headline == "Edit 1 of com.example.app is committed."
    assert {
        ("  + track production: 2 (all users, completed), new",),
        ("  = track beta: 1 (all users, completed)",),
    } <= set(outcome.sections[0].rows)
    assert (
        "The commit of edit 1 publishes: production 2 (all users, completed), new (not from this "
        "run)"
    ) in last.log


def test_what_another_job_adds_meanwhile_is_named_before_the_commit() -> None:
    """The plan has what the edit held when it was made; the line before the commit has what it
    holds then.
    """
    play = Play(production=[release(1)])
    play.open_edit()

    def other_job() -> None:
        play.edits["1"].tracks["beta"] = [
            release(1, status="inProgress", userFraction=0.1)
        ]

    play.fail(
        "upload bundles",
        refused(409, "The object is being updated concurrently."),
        effect=other_job,
    )
    engine = Engine(play)
    outcome = engine.run(release_job(artifact(2), existing_edit="1"))
    (shown,) = engine.shown
    assert "beta" not in "".join(shown.lines)
    told = [text for text in engine.texts if "beta" in text]
    everything = (
        "internal 2.0 (2), all users, completed, production 1 (all users, completed) (not from "
        "this run), beta 1 (10 % of users, in progress), new (not from this run)"
    )
    assert told == [f"The commit of edit 1 publishes: {everything}."]
    assert ("  + track beta: 1 (10 % of users, in progress), new",) in outcome.sections[
        0
    ].rows


@pytest.mark.parametrize("how", ["This Edit has been deleted.", "Edit not found."])
def test_uploads_into_an_edit_that_others_closed_for_good_are_told_lost(
    how: str,
) -> None:
    """After the last fresh edit nothing of the run is left, and no output claims a version code."""
    play = Play()
    for _ in range(3):
        play.fail("PUT tracks", refused(404, how), effect=lambda: play.close_edits(how))
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(release_job(artifact(2)))
    assert engine.why_discarded.startswith(
        "Uploaded, then lost with the edit, which is gone: "
    )
    assert "version-code" not in engine.outputs


@pytest.mark.parametrize(
    "unknown",
    [
        refused(403, "The caller does not have permission"),
        TemporaryError("Down."),
        ProtocolError("No JSON."),
    ],
)
def test_where_play_does_not_tell_what_is_live_the_plan_does_not_claim_it(
    unknown: UploaderError,
) -> None:
    """Another job's track is shown with a question mark, and the commit names it all the same."""
    play = Play(production=[release(1)])
    play.open_edit()
    play.fail("GET live releases", unknown)
    engine = Engine(play)
    engine.run(release_job(artifact(2), existing_edit="1"))
    assert "  ? track production: 1 (all users, completed)" in engine.log
    assert "production 1 (all users, completed) (not from this run)" in engine.log


def test_a_release_that_the_shared_edit_has_already_is_not_called_live() -> None:
    """An earlier run left it in the edit, and Google reviews it after this commit."""
    play = Play(production=[release(1)])
    staged = {"options": ReleaseOptions("inProgress", 0.05), "tracks": ("production",)}
    first = Engine(play)
    first.run(release_job(artifact(2), commit=False, **staged))
    again = Engine(play)
    edit = first.outputs["edit-id"]
    outcome = again.run(release_job(artifact(2), existing_edit=edit, **staged))
    assert (
        outcome.headline
        == "com.example.app 2.0 (2) is committed for 5 % on production."
    )


def test_an_existing_edit_is_never_deleted() -> None:
    """A failure in somebody else's edit leaves it open, and the log says so."""
    play = Play()
    play.response(
        Call("POST", "", "/androidpublisher/v3/applications/com.example.app/edits")
    )
    play.fail("PUT tracks", refused(400, "Precondition check failed."))
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(release_job(artifact(2), existing_edit="1"))
    assert "1" in play.edits
    assert "stays open" in engine.log


def test_a_dry_run_uploads_validates_and_deletes() -> None:
    """A rehearsal works in an edit of its own, which is thrown away; nothing is live afterwards."""
    play = Play()
    engine = Engine(play)
    outcome = engine.run(release_job(artifact(2), dry_run=True, existing_edit="7"))
    assert play.calls[-2:] == ["validate", "DELETE"]
    assert play.live.tracks == {}
    assert play.edits == {}
    assert engine.outputs["committed"] == "false"
    assert (
        outcome.headline == "com.example.app 2.0 (2) passed Google Play's validation."
    )


@pytest.mark.parametrize("setting", ["auto", "true"])
def test_a_dry_run_of_an_app_that_is_reviewed_by_hand_passes(setting: str) -> None:
    """The parameter that Google asks for belongs to a commit; a rehearsal is not refused for it."""
    play = Play()
    play.fail("validate", refused(400, BY_HAND))
    outcome = Engine(play).run(
        release_job(artifact(2), dry_run=True, not_sent_for_review=setting)
    )
    assert "passed" in outcome.headline


def test_a_dry_run_is_refused_where_the_commit_would_be() -> None:
    """With `changes-not-sent-for-review: false` no commit can have what the validation asks for."""
    play = Play()
    play.fail("validate", refused(400, BY_HAND))
    with pytest.raises(ApiError) as caught:
        Engine(play).run(
            release_job(artifact(2), dry_run=True, not_sent_for_review="false")
        )
    assert (caught.value.exit_code, caught.value.code, play.edits) == (
        4,
        "review-by-hand",
        {},
    )
    assert "`auto`" in caught.value.hint


def test_the_answered_version_code_must_be_the_manifest_s() -> None:
    """An artifact that arrives as another version is an integrity error, and the edit is
    deleted.
    """
    play = Play()
    strange = artifact(2)
    response = play.response

    def lie(step: Any) -> Any:
        return {"versionCode": 3} if isinstance(step, Upload) else response(step)

    play.response = lie  # type: ignore[method-assign]  # the model can't lie by itself
    with pytest.raises(IntegrityError, match=r"version code 2.*reported 3"):
        Engine(play).run(release_job(strange))
    assert play.edits == {}


def test_mapping_symbols_and_expansion_files_follow_their_artifact() -> None:
    """Each artifact gets what is its own and nothing of another's."""
    play = Play()
    supplementary = (
        SupplementaryFile("mapping", plain("m.txt", b"m"), 2),
        SupplementaryFile("symbols", plain("s.zip", b"s"), 2),
        SupplementaryFile("mapping", plain("n.txt", b"n"), 3),
        SupplementaryFile("main", plain("o.obb", b"o"), 3),
        SupplementaryFile("patch", 1, 3),
    )
    Engine(play).run(
        release_job(
            artifact(2),
            artifact(3, kind="apk", content=b"a"),
            supplementary=supplementary,
        )
    )
    assert play.uploads == [
        "app-2.aab",
        "app-3.apk",
        "m.txt",
        "s.zip",
        "n.txt",
        "o.obb",
    ]
    assert {key for key in play.live.supplementary if key[0] == 2} == {
        (2, "proguard"),
        (2, "nativeCode"),
    }
    assert play.live.supplementary[3, "proguard"] == sha256(plain("n.txt", b"n"))
    assert play.live.supplementary[3, "patch"] == 1


def test_a_repeated_release_finds_nothing_to_do() -> None:
    """When Google Play has all of it, nothing is sent and nothing committed, and the run is
    good.
    """
    play = Play()
    Engine(play).run(release_job(artifact(2)))
    again = Engine(play)
    outcome = again.run(release_job(artifact(2)))
    assert play.uploads == ["app-2.aab"]
    assert play.count("commit") == 1
    assert play.edits == {}
    assert (again.outputs["committed"], again.outputs["version-codes"]) == ("true", "2")
    assert again.results[0].reused
    assert "already" in outcome.headline
    assert again.outputs["edit-id"] == ""
    assert "`edit-id` stays empty" in again.log


@pytest.mark.parametrize("lost", [False, True], ids=["answered", "answer-lost"])
def test_a_mapping_that_was_committed_with_its_version_is_not_sent_again(
    lost: bool,
) -> None:
    """Google Play does not list it: a folder that is kept does. Another mapping is sent, and so is
    the first anew.
    """
    play, journal = Play(), dict[str, str]()
    if lost:
        play.fail("commit", OutcomeUnknown("The answer is lost."), after=True)

    def job(mapping: bytes = b"m", *, lasting: bool = True) -> ReleaseJob:
        files = (
            SupplementaryFile("mapping", plain("m.txt", mapping), 2),
            SupplementaryFile("patch", 1, 2),
        )
        return release_job(
            artifact(2, kind="apk"), supplementary=files, lasting_state=lasting
        )

    Engine(play, journal).run(job())
    again = Engine(play, journal)
    outcome = again.run(job())
    assert (play.uploads, play.count("commit"), play.count("PATCH apks")) == (
        ["app-2.apk", "m.txt"],
        1,
        1,
    )
    assert outcome.headline.endswith("is on Google Play already.")
    assert (
        "  = m.txt: mapping for version code 2, on Google Play already"
        in again.shown[0].lines
    )
    assert [result.reused for result in again.results] == [True, True]
    Engine(play, journal).run(job(b"other"))
    assert play.live.supplementary[2, "proguard"] == sha256(plain("m.txt", b"other"))
    Engine(play, journal).run(job())
    Engine(play).run(job(lasting=False))
    assert (play.uploads.count("m.txt"), play.count("commit")) == (4, 4)


def test_a_mapping_is_not_taken_as_sent_with_another_build_of_its_version() -> None:
    """The record is about a version that is live, not about one that is to come."""
    play, journal = Play(), dict[str, str]()
    job = release_job(
        artifact(2),
        lasting_state=True,
        supplementary=(SupplementaryFile("mapping", plain("m.txt", b"m"), 2),),
    )
    Engine(play, journal).run(job)
    other = Play()
    Engine(other, journal).run(job)
    assert other.uploads == ["app-2.aab", "m.txt"]


def test_on_version_conflict_fail_takes_the_jobs_own_upload() -> None:
    """The upload's answer was lost, or the run died before it wrote it down: its own file is no
    conflict.
    """
    play, journal = Play(), dict[str, str]()
    play.fail("upload bundles", OutcomeUnknown("The answer is lost."), after=True)
    play.fail("upload bundles", Interrupted(15), after=True)
    job = release_job(artifact(2), artifact(3), reuse=False)
    with pytest.raises(Interrupted):
        Engine(play, journal).run(job)
    Engine(play, journal).run(job)
    assert play.uploads == ["app-2.aab", "app-3.aab"]
    assert play.live.tracks["internal"] == [release(2, 3)]


def test_an_upload_refused_as_used_is_looked_up_before_it_is_an_error() -> None:
    """Another job may have brought the same file into the edit a moment ago."""
    play = Play()
    ours = artifact(2)

    def other_job() -> None:
        play.edits["1"].bundles[2] = sha256(ours)

    play.fail(
        "upload bundles",
        refused(403, "Version code 2 has already been used."),
        effect=other_job,
    )
    engine = Engine(play)
    engine.run(release_job(ours))
    assert engine.results[0].reused
    assert play.live.tracks["internal"] == [release(2)]


def test_a_used_version_that_play_does_not_list_is_refused() -> None:
    """A code that was burnt earlier can't be reused: the refusal says what to do."""
    play = Play()
    play.fail(
        "upload bundles",
        refused(
            403, "Version code 2 has already been used.", "apkUpgradeVersionConflict"
        ),
    )
    with pytest.raises(ApiError) as caught:
        Engine(play).run(release_job(artifact(2)))
    assert "Raise the version code" in caught.value.hint
