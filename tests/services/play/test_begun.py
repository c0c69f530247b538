"""A job without files and the people who act while it runs: it changes what it was begun with, and
nothing else. What others changed is never claimed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fake_play import Play, artifact, plain, refused, release, sha256
from tests.support.play_driver import Engine, Killed, release_job
from uploader.errors import ApiError, OutcomeUnknown, ReleaseRefused, TemporaryError
from uploader.services.play.release_job import (
    ReleaseJob,
    ReleaseOptions,
    SupplementaryFile,
)

OUTSIDE = "A change was made to the application outside of this Edit, please create a new edit."
LIVE = release(42, status="inProgress", userFraction=0.05)
HALTED = release(42, status="halted", userFraction=0.05)
NEWER = release(50, status="inProgress", userFraction=0.3)
OLD = release(41)
MAPPING = (SupplementaryFile("mapping", plain("mapping.txt", b"m"), 42),)


def rolling(*more: dict[str, Any]) -> Play:
    """A staged rollout of 42 beside 41."""
    return Play(production=[LIVE, *more, OLD])


def change(play: Play, *releases: dict[str, Any], words: str = OUTSIDE) -> None:
    """Somebody changes production in the Play Console, which closes every edit, in these words."""
    play.live = play.live.copy()
    play.live.tracks["production"] = list(releases)
    for one in releases:
        for code in one["versionCodes"]:
            play.live.bundles.setdefault(int(code), f"digest of {code}")
    play.close_edits(words)


def job(status: Any = "", fraction: float | None = None, **more: Any) -> ReleaseJob:
    """A job on production without files, with a state folder that is kept."""
    options = ReleaseOptions(status, fraction)
    return release_job(
        tracks=("production",), options=options, **{"lasting_state": True, **more}
    )


JOBS = {
    "completes": job("completed"),
    "widens": job("inProgress", 0.5),
    "halts": job("halted"),
    "changes the notes": job(notes={None: (("en-US", "New"),)}),
}


@pytest.mark.parametrize(
    ("name", "now"),
    [
        *[pytest.param(name, NEWER, id=f"{name}, replaced") for name in JOBS],
        # Who halts it does what the third job wants.
        *[
            pytest.param(name, HALTED, id=f"{name}, halted")
            for name in JOBS
            if name != "halts"
        ],
    ],
)
def test_a_change_by_a_person_at_the_commit_is_not_undone(
    name: str, now: dict[str, Any]
) -> None:
    """Google Play refuses the commit; the run does not apply its wish to what is there then."""
    play = rolling()
    play.fail("commit", refused(400, OUTSIDE), effect=lambda: change(play, now, OLD))
    engine = Engine(play)
    with pytest.raises(ReleaseRefused) as caught:
        engine.run(JOBS[name])
    assert caught.value.code == "release-changed"
    assert play.commits == []
    assert play.live.tracks["production"] == [now, OLD]
    assert engine.outputs.get("committed", "") == ""


@pytest.mark.parametrize("name", JOBS)
def test_a_change_by_a_person_is_not_undone_by_the_next_run(name: str) -> None:
    """The first run ended with 75, which says that running again does no harm."""
    play, journal = rolling(), dict[str, str]()
    play.fail("commit", TemporaryError("The service is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(JOBS[name])
    change(play, NEWER, OLD)
    with pytest.raises(
        ReleaseRefused, match=r"changed since this job began; it was 42 .* 50"
    ):
        Engine(play, journal).run(JOBS[name])
    assert play.commits == []
    assert play.live.tracks["production"] == [NEWER, OLD]


def test_a_second_halt_by_a_person_is_not_taken_for_the_first() -> None:
    """The job resumed the release, its answer was lost, and somebody halted it again."""
    play, journal = Play(production=[HALTED, OLD]), dict[str, str]()
    play.fail("commit", Killed(), after=True)
    with pytest.raises(Killed):
        Engine(play, journal).run(job("inProgress"))
    play.live.tracks["production"] = [HALTED, OLD]
    with pytest.raises(
        ReleaseRefused, match="An earlier run of this job has changed 42"
    ):
        Engine(play, journal).run(job("inProgress"))
    assert len(play.commits) == 1
    assert play.live.tracks["production"] == [HALTED, OLD]


def test_a_resume_whose_answer_was_lost_is_told_as_one() -> None:
    """The edit is gone, and the release is in progress: the last line says that it was halted."""
    play = Play(production=[HALTED, OLD])
    play.forgetful = True
    play.fail("commit", OutcomeUnknown("The answer is lost."), after=True)
    engine = Engine(play)
    outcome = engine.run(job("inProgress"))
    assert len(play.commits) == 1
    assert engine.outputs["committed"] == "true"
    assert outcome.headline.endswith("42 was halted on production.")


def test_a_release_of_others_is_not_taken_for_the_one_that_was_to_change() -> None:
    """42 was to be resumed; 50 is in progress, as the job would have it of 42."""
    play = Play(production=[HALTED, OLD])
    play.fail("commit", refused(400, OUTSIDE), effect=lambda: change(play, NEWER, OLD))
    engine = Engine(play)
    with pytest.raises(ReleaseRefused, match="changed since this job began"):
        engine.run(job("inProgress"))
    assert engine.outputs.get("user-fraction", "") == ""


def test_after_the_refusal_the_job_begins_with_what_is_there() -> None:
    """Somebody has looked, and runs it again."""
    play, journal = rolling(), dict[str, str]()
    play.fail("commit", refused(400, OUTSIDE), effect=lambda: change(play, NEWER, OLD))
    with pytest.raises(ReleaseRefused):
        Engine(play, journal).run(job("completed"))
    Engine(play, journal).run(job("completed"))
    assert play.live.tracks["production"] == [release(50)]


def test_a_rollout_that_was_begun_meanwhile_is_not_displaced() -> None:
    """`replace-rollout` was given for the one that was there."""
    play = rolling()
    play.fail("commit", refused(400, OUTSIDE), effect=lambda: change(play, NEWER, OLD))
    with pytest.raises(ReleaseRefused, match="in progress on track production"):
        Engine(play).run(
            release_job(artifact(43), tracks=("production",), replace_rollout=True)
        )
    assert play.live.tracks["production"] == [NEWER, OLD]


def test_a_rollout_that_was_begun_between_two_runs_is_not_displaced() -> None:
    """As within one run: the second goes on with what the first has begun."""
    play, journal = rolling(), dict[str, str]()
    wanted = release_job(artifact(43), tracks=("production",), replace_rollout=True)
    play.fail("commit", TemporaryError("The service is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(wanted)
    change(play, NEWER, OLD)
    with pytest.raises(ReleaseRefused, match="in progress on track production"):
        Engine(play, journal).run(wanted)
    assert play.live.tracks["production"] == [NEWER, OLD]


@pytest.mark.parametrize("seen", [0.2, None], ids=["widened", "completed"])
def test_a_commit_that_a_change_by_others_precludes_is_not_claimed(
    seen: float | None,
) -> None:
    """The version was live before with fewer users, a person took it further, and the mapping is
    still to be sent.
    """
    play, journal = rolling(), dict[str, str]()
    play.live.bundles[42] = sha256(artifact(42))
    wanted = release_job(
        artifact(42),
        tracks=("production",),
        options=ReleaseOptions("", 0.1),
        supplementary=MAPPING,
    )
    play.fail("commit", TemporaryError("The service is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(wanted)
    now = (
        release(42)
        if seen is None
        else release(42, status="inProgress", userFraction=seen)
    )
    change(play, now, *([] if seen is None else [OLD]))
    engine = Engine(play, journal)
    engine.run(wanted)
    assert "whose answer was lost" not in engine.log
    assert play.uploads.count("mapping.txt") == 2
    assert play.live.supplementary
    assert play.live.tracks["production"][0] == now


def test_who_sends_changes_for_review_is_not_claimed_of_a_commit_that_nobody_saw() -> (
    None
):
    """The edit is gone, and what it was to publish is live: by this job or by another machine."""
    play = Play()
    play.forgetful = True
    play.fail("commit", OutcomeUnknown("The answer is lost."), after=True)
    engine = Engine(play)
    engine.run(release_job(artifact(42)))
    assert (engine.outputs["committed"], engine.outputs["sent-for-review"]) == (
        "true",
        "",
    )
    assert "by its own commit, whose answer was lost, or by" in engine.log


def test_an_edit_without_changes_is_not_continued() -> None:
    """It is a copy of what was live then, and the release was halted since."""
    play, journal = rolling(), dict[str, str]()
    play.live.bundles[42] = sha256(artifact(42))
    play.fail("GET bundles", TemporaryError("The service is down."))
    wanted = release_job(
        artifact(42), tracks=("production",), options=ReleaseOptions("", 0.05)
    )
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(wanted)
    play.live.tracks["production"] = [HALTED, OLD]
    outcome = Engine(play, journal).run(wanted)
    assert "is halted at 5 % on production, and stays halted" in outcome.headline


def test_an_edit_that_another_wish_has_changed_is_not_said_to_change_nothing() -> None:
    """What is live is as this run asks; the edit holds another release, which has to be replaced
    there and committed.
    """
    play, journal = Play(production=[OLD]), dict[str, str]()

    def wanted(fraction: float) -> ReleaseJob:
        options = ReleaseOptions("", fraction)
        return release_job(artifact(42), tracks=("production",), options=options)

    Engine(play).run(wanted(0.1))
    play.fail("commit", TemporaryError("The service is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(wanted(0.2))
    engine = Engine(play, journal)
    engine.run(wanted(0.1))
    assert len(play.commits) == 2
    assert "nothing is committed" not in engine.log
    assert play.live.tracks["production"][0]["userFraction"] == 0.1


def test_a_release_that_is_live_is_not_told_as_uncommitted_for_its_mapping() -> None:
    """Another machine has released it; this one was to send the mapping again, and is refused."""
    play = rolling()
    play.live.bundles[42] = sha256(artifact(42))
    play.fail("validate", refused(400, "Invalid request"))
    wanted = release_job(
        artifact(42),
        tracks=("production",),
        options=ReleaseOptions("", 0.05),
        supplementary=MAPPING,
        apps_in_run=2,
    )
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(wanted)
    assert (engine.outputs.get("committed", ""), play.edits) == ("", {})


BY_PEOPLE = {
    "countryTargeting": {"countries": ["DE", "AT"]},
    "releaseNotes": [
        {"language": "en-US", "text": "By hand."},
        {"language": "fr-FR", "text": "À la main."},
    ],
    "name": "Easter",
    "inAppUpdatePriority": 3,
}
"""What a person has given a release in the Play Console."""


def widened(play: Play, **more: Any) -> dict[str, Any]:
    """What a run makes of 42, which is in progress, with the same file and a larger share."""
    play.live.bundles[42] = sha256(artifact(42))
    options = ReleaseOptions(fraction=0.3, **more.pop("options", {}))
    wanted = release_job(artifact(42), tracks=("production",), options=options, **more)
    Engine(play).run(wanted)
    wide: dict[str, Any] = play.live.tracks["production"][0]
    return wide


def test_a_wider_share_keeps_what_people_gave_the_release() -> None:
    """The run has files, and gives none of it: countries, notes, name and priority stay."""
    play = Play(production=[{**LIVE, **BY_PEOPLE}, OLD])
    assert widened(play, default_name="v42") == {
        **LIVE,
        **BY_PEOPLE,
        "userFraction": 0.3,
    }


def test_what_a_run_gives_takes_the_place_of_what_people_gave() -> None:
    """Notes in the other language stay."""
    play = Play(production=[{**LIVE, **BY_PEOPLE}, OLD])
    options = {"name": "1.42", "priority": 5, "countries": ("CH",)}
    wide = widened(play, options=options, notes={None: (("en-US", "New."),)})
    assert wide["name"] == "1.42"
    assert wide["inAppUpdatePriority"] == 5
    assert wide["countryTargeting"] == {
        "countries": ["CH"],
        "includeRestOfWorld": False,
    }
    assert {note["language"]: note["text"] for note in wide["releaseNotes"]} == {
        "en-US": "New.",
        "fr-FR": "À la main.",
    }


def test_a_promotion_keeps_the_countries_of_its_version_on_the_track() -> None:
    """Name, notes and priority are those of the other track; notes in another language stay."""
    english = {"language": "en-US", "text": "New."}
    tested = release(42, name="1.42", releaseNotes=[english], inAppUpdatePriority=2)
    play = Play(production=[{**LIVE, **BY_PEOPLE}, OLD], beta=[tested])
    wanted = job(fraction=0.3, promote_from="beta")
    Engine(play).run(wanted)
    wide = play.live.tracks["production"][0]
    assert (wide["userFraction"], wide["name"]) == (0.3, "1.42")
    assert wide["releaseNotes"] == [
        english,
        {"language": "fr-FR", "text": "À la main."},
    ]
    assert wide["inAppUpdatePriority"] == 2
    assert wide["countryTargeting"] == BY_PEOPLE["countryTargeting"]


def test_a_rollout_for_some_countries_is_not_completed_by_its_file() -> None:
    """Completing it would release it in all countries; the refusal names those that it has."""
    play = Play(production=[{**LIVE, **BY_PEOPLE}, OLD])
    play.live.bundles[42] = sha256(artifact(42))
    with pytest.raises(ReleaseRefused, match="limited to countries: DE, AT"):
        Engine(play).run(release_job(artifact(42), tracks=("production",)))
    assert play.commits == []


@pytest.mark.parametrize("files", [(), (artifact(43),)], ids=["change", "release"])
def test_the_share_of_a_refused_commit_is_no_output(files: tuple[Any, ...]) -> None:
    """Nobody is served that share."""
    play = rolling()
    play.fail("commit", refused(400, "Invalid request"))
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(
            release_job(
                *files,
                tracks=("production",),
                options=ReleaseOptions(fraction=0.6),
                replace_rollout=True,
            )
        )
    assert engine.outputs.get("user-fraction", "") == ""


@pytest.mark.parametrize(
    ("lasting", "expected"), [(True, TemporaryError), (False, OutcomeUnknown)]
)
def test_a_resumption_in_doubt_is_no_reason_to_run_again_where_nothing_remembers_it(
    lasting: bool, expected: type[Exception]
) -> None:
    """Somebody may halt the release again before the next run, which would resume it once more."""
    play = Play(production=[HALTED, OLD])
    play.fail("commit", OutcomeUnknown("Lost."), after=True)
    play.fail("GET", TemporaryError("The service is down."))
    with pytest.raises(expected) as caught:
        Engine(play).run(job("inProgress", lasting_state=lasting))
    assert type(caught.value) is expected


def test_a_release_that_is_halted_already_is_told_so() -> None:
    """Nobody gets it from Google Play."""
    play = Play(production=[HALTED, OLD])
    outcome = Engine(play).run(job("halted"))
    assert outcome.headline.endswith("is halted already on production.")


def test_a_mapping_that_may_be_missing_is_told_and_sent_by_the_next_run() -> None:
    """The commit did not happen, its edit is gone, and a person released the same bundle by hand:
    nothing distinguishes that from a commit that happened.
    """
    play, journal = rolling(), dict[str, str]()

    def release_by_hand() -> None:
        now = release(42, status="inProgress", userFraction=0.1)
        change(play, now, OLD, words="Edit not found.")

    wanted = release_job(
        artifact(42),
        tracks=("production",),
        options=ReleaseOptions("inProgress", 0.1),
        supplementary=MAPPING,
        lasting_state=True,
    )
    play.live.bundles[42] = sha256(artifact(42))
    play.fail("commit", OutcomeUnknown("The answer is lost."), effect=release_by_hand)
    engine = Engine(play, journal)
    engine.run(wanted)
    assert engine.outputs["committed"] == "true"
    assert "nothing shows whether the mapping went with it" in engine.warnings[-1]
    assert play.commits == []
    Engine(play, journal).run(wanted)
    assert len(play.commits) == 1
