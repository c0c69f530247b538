"""The fate of an edit: kept, deleted, found again, replaced when somebody closed it, and committed
exactly once.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.support.fake_play import (
    BY_HAND,
    PACKAGE,
    Console,
    Play,
    State,
    artifact,
    plain,
    refused,
    release,
    sha256,
)
from tests.support.play_driver import Engine, Killed, release_job
from tests.support.turns import Choose, by_turns, in_order, in_reverse
from uploader.errors import (
    ApiError,
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    ProtocolError,
    ReleaseRefused,
    ServiceError,
    TemporaryError,
    UploaderError,
)
from uploader.files.android.listing import StoreFiles
from uploader.services.base import Call, Upload
from uploader.services.play.release import flow_of_several
from uploader.services.play.release_job import (
    ReleaseJob,
    ReleaseOptions,
    SupplementaryFile,
)

LOST = OutcomeUnknown("The answer is lost.")
DELETED = "This Edit has been deleted."
COMMITTED = "This edit has already been committed."
MAPPING = (SupplementaryFile("mapping", plain("mapping.txt", b"m"), 2),)
CONCURRENT = (
    "There was an attempt to update an object that is being updated concurrently."
)


def commits(engine: Engine) -> list[dict[str, str]]:
    """The parameters of every commit that was sent."""
    calls = (
        step
        for step in engine.steps
        if isinstance(step, Call) and step.path.endswith(":commit")
    )
    return [dict(call.query) for call in calls]


# --- kept or deleted ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [TemporaryError("The retries are spent."), Interrupted(2), Interrupted(15)]
)
def test_a_run_that_may_go_on_later_keeps_its_edit(error: UploaderError) -> None:
    """75, 130 and 143 keep the edit; the next run goes on in it and sends nothing twice."""
    play, journal = Play(), dict[str, str]()
    play.fail("upload bundles", error, skip=1)
    engine = Engine(play, journal)
    with pytest.raises(type(error)):
        engine.run(release_job(artifact(2), artifact(3)))
    assert "is kept" in engine.log
    again = Engine(play, journal)
    again.run(release_job(artifact(2), artifact(3)))
    assert play.uploads == ["app-2.aab", "app-3.aab"]
    assert play.count("insert") == 1
    assert "Continuing in edit 1" in again.log
    assert play.live.tracks["internal"] == [release(2, 3)]
    assert journal == {}


@pytest.mark.parametrize(
    ("kept", "lasting", "promise"),
    [
        (True, True, "Edit 1 is kept: the next run continues in it."),
        (
            True,
            False,
            (
                "Edit 1 is kept: a run that finds the state of this one continues in it, any other "
                "opens a fresh edit. Keep `state-dir`, or set `existing-edit-id: 1` to continue in "
                "it."
            ),
        ),
        (False, False, "Edit 1 is kept: set `existing-edit-id: 1` to continue in it."),
    ],
    ids=["a chosen folder", "a folder that CI discards", "no folder"],
)
def test_the_next_run_is_promised_only_an_edit_that_it_finds(
    kept: bool, lasting: bool, promise: str
) -> None:
    """Where nothing surely outlives the run, the log names the input by which the next one
    continues in the edit.
    """

    class Nowhere(dict[str, str]):
        """A journal without a place."""

        def __setitem__(self, name: str, value: str) -> None:
            """Keeps nothing."""

    play = Play()
    play.fail("upload bundles", TemporaryError("The retries are spent."))
    driver = Engine(play, {} if kept else Nowhere())
    with pytest.raises(TemporaryError):
        driver.run(release_job(artifact(2), lasting_state=lasting))
    assert driver.log.endswith(promise)


@pytest.mark.parametrize("shared", [False, True])
def test_a_signal_during_the_commit_tells_of_the_doubt(shared: bool) -> None:
    """The log promises no edit to continue in; a shared one is in no journal, so no next run looks
    it up.
    """
    play = Play()
    play.open_edit()
    play.fail("commit", Interrupted(15), after=True)
    engine = Engine(
        play, {f"edit:{PACKAGE}": "the record of another edit"} if shared else {}
    )
    with pytest.raises(Interrupted):
        engine.run(
            release_job(
                artifact(2), existing_edit="1" if shared else "", lasting_state=True
            )
        )
    how = "check in the Play Console" if shared else "the next run checks"
    assert engine.log.endswith(
        f"The commit of edit {engine.outputs['edit-id']} may have happened: {how}."
    )


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_a_lost_commit_that_can_not_be_looked_up_tells_of_the_doubt(
    shared: bool,
) -> None:
    play = Play()
    play.open_edit()
    denied = refused(403, "The caller does not have permission")
    play.fail(
        "commit", OutcomeUnknown("No answer."), effect=lambda: play.fail("GET", denied)
    )
    engine = Engine(play)
    with pytest.raises(UploaderError):
        engine.run(release_job(artifact(2), existing_edit="1" if shared else ""))
    assert "may have happened" in engine.log
    assert engine.outputs["committed"] == ""


@pytest.mark.parametrize(
    "name", ["GET bundles", "upload bundles", "GET tracks", "PUT tracks"]
)
@pytest.mark.parametrize(
    "error",
    [
        refused(400, "Invalid request"),
        CredentialsError("The token is not valid."),
        ServiceError("Foreign host."),
    ],
)
def test_every_other_failure_deletes_the_own_edit(
    name: str, error: UploaderError
) -> None:
    """Nothing is left behind, the log says so, and the outputs do not name a deleted edit."""
    play = Play()
    # the list of tracks that is refused, then the one that counts
    for _ in range(2 if name == "GET tracks" else 1):
        play.fail(name, error)
    engine = Engine(play)
    with pytest.raises(type(error)):
        engine.run(release_job(artifact(2)))
    assert play.edits == {}
    assert "Edit 1 is deleted." in engine.log
    assert engine.outputs["edit-id"] == ""
    assert engine.journal == {}


@pytest.mark.parametrize("error", [TemporaryError("Play is down."), Interrupted(15)])
def test_an_error_while_deleting_never_hides_the_first_error(
    error: UploaderError,
) -> None:
    """The log warns about the edit that stays; the run ends with what really happened."""
    play = Play()
    play.fail("PUT tracks", refused(400, "Invalid request"))
    play.fail("DELETE", error)
    engine = Engine(play)
    with pytest.raises(ApiError, match="Invalid request"):
        engine.run(release_job(artifact(2)))
    if isinstance(error, TemporaryError):
        assert (
            "could not be deleted (Play is down.); it expires by itself" in engine.log
        )


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_signal_while_an_edit_is_deleted_ends_the_run(dry_run: bool) -> None:
    """Whether it was a rehearsal, or nothing had to be changed: the run ends as one that was told
    to stop.
    """
    play, journal = Play(internal=[release(2)]), dict[str, str]()
    play.live.bundles[2] = sha256(artifact(2))
    play.fail("DELETE", Interrupted(15))
    engine = Engine(play, journal)
    with pytest.raises(Interrupted):
        engine.run(release_job(artifact(2), dry_run=dry_run))
    assert "is kept" not in engine.log
    assert engine.outputs["edit-id"] == ""
    Engine(play, journal).run(release_job(artifact(2), dry_run=dry_run))
    assert (play.edits, journal) == ({}, {})


def test_after_a_signal_nothing_is_called_that_waits() -> None:
    """Two seconds are all that a runner gives: no call, no upload, no pause follows an
    interruption.
    """
    play = Play()
    play.fail("upload bundles", Interrupted(15))
    engine = Engine(play)
    with pytest.raises(Interrupted):
        engine.run(release_job(artifact(2)))
    last = max(
        place for place, step in enumerate(engine.steps) if isinstance(step, Upload)
    )
    assert engine.steps[last + 1 :] == []
    assert engine.waits == 0


def test_a_commit_without_permission_keeps_the_edit_too() -> None:
    """Everything is uploaded; only a right is missing, which somebody can give."""
    play = Play()
    play.fail("commit", refused(403, "The caller does not have permission"))
    with pytest.raises(CredentialsError) as caught:
        Engine(play).run(release_job(artifact(2)))
    assert "1" in play.edits
    assert "Users and permissions" in caught.value.hint
    assert "“Release apps to testing tracks” for internal" in caught.value.hint
    assert "`existing-edit-id: 1`" in caught.value.hint


@pytest.mark.parametrize(
    ("job", "needed"),
    [
        (
            {"tracks": ("production", "beta")},
            "for production and “Release apps to testing tracks” for beta",
        ),
        (
            {"listing": StoreFiles({"en-US": {"title": "New"}})},
            "“Release apps to testing tracks” for internal and “Manage store presence”",
        ),
    ],
    ids=["tracks", "store listing"],
)
def test_a_commit_without_permission_names_what_the_job_needs(
    job: dict[str, Any], needed: str
) -> None:
    """By the names that the Play Console has for them."""
    play = Play()
    play.fail("commit", refused(403, "The caller does not have permission"))
    with pytest.raises(CredentialsError) as caught:
        Engine(play).run(release_job(artifact(2), **job))
    assert needed in caught.value.hint


def test_an_edit_that_may_not_be_opened_is_perhaps_of_an_app_that_is_not_ticked() -> (
    None
):
    """No track is concerned yet."""
    play = Play()
    play.fail("insert", refused(403, "The caller does not have permission"))
    with pytest.raises(CredentialsError) as caught:
        Engine(play).run(release_job(artifact(2)))
    assert "whether this app is in the account's App permissions" in caught.value.hint
    assert "this track" not in caught.value.hint


@pytest.mark.parametrize(
    "more",
    [{"tracks": ("production",)}, {"listing": StoreFiles({"en-US": {"title": "Old"}})}],
)
def test_an_edit_kept_for_another_release_is_never_committed(
    more: dict[str, Any],
) -> None:
    """The kept edit holds a track or texts that are no longer asked for: the run deletes it and
    begins afresh.
    """
    play, journal = Play(), dict[str, str]()
    play.fail("commit", TemporaryError("Play is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(release_job(artifact(2), **more))
    Engine(play, journal).run(release_job(artifact(2)))
    assert (play.live.tracks, play.live.listings) == ({"internal": [release(2)]}, {})


def test_a_kept_edit_takes_another_status_as_if_nothing_had_been_done_in_it() -> None:
    """A draft app refuses a completed release: with `status: draft` the same upload goes on, and
    the live one stays.
    """
    play, journal = Play(internal=[release(1)]), dict[str, str]()
    play.fail(
        "commit",
        refused(400, "Only releases with status draft may be created on draft app."),
    )
    with pytest.raises(ApiError):
        Engine(play, journal).run(release_job(artifact(2)))
    Engine(play, journal).run(release_job(artifact(2), options=ReleaseOptions("draft")))
    assert play.uploads == ["app-2.aab"]
    assert play.live.tracks["internal"] == [release(2, status="draft"), release(1)]


PICTURES = {("en-US", "phoneScreenshots"): (plain("1.png", b"\x89PNG 1"),)}
LISTING = StoreFiles({"en-US": {"title": "New"}}, PICTURES)


def stopped(play: Play, job: ReleaseJob) -> dict[str, str]:
    """The journal of a run that did everything but the commit."""
    journal = dict[str, str]()
    play.fail("commit", TemporaryError("Play is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(job)
    return journal


@pytest.mark.parametrize(
    "wished",
    [
        release_job(tracks=(), listing=LISTING),
        release_job(
            tracks=(),
            listing=StoreFiles({"de-DE": {"title": "Neu"}}, PICTURES),
            prune_images="everywhere",
        ),
        release_job(tracks=(), listing=StoreFiles({"en-US": {"title": "Old"}})),
        release_job(
            tracks=(),
            listing=StoreFiles(
                LISTING.texts, {("en-US", "icon"): (plain("i.png", b"\x89PNG"),)}
            ),
        ),
    ],
    ids=["no pruning", "other texts", "the texts that are live", "other images"],
)
def test_what_a_stopped_run_did_to_the_listing_is_published_by_no_other_wish(
    wished: ReleaseJob,
) -> None:
    """Four live screenshots that it removed stay, and so does the title that it replaced."""

    def shop() -> Play:
        play = Play()
        play.live.listings["en-US"] = {"language": "en-US", "title": "Old"}
        play.live.images["en-US", "phoneScreenshots"] = [
            {"id": str(one), "sha256": f"old {one}"} for one in range(4)
        ]
        return play

    play, fresh = shop(), shop()
    journal = stopped(
        play, release_job(tracks=(), listing=LISTING, prune_images="true")
    )
    Engine(play, journal).run(wished)
    Engine(fresh).run(wished)
    assert play.live.content == fresh.live.content


def test_the_same_listing_goes_on_in_the_kept_edit() -> None:
    """Texts and images are known by their content, so nothing is sent again."""
    play, job = Play(), release_job(tracks=(), listing=LISTING, prune_images="true")
    Engine(play, stopped(play, job)).run(job)
    assert (play.count("insert"), play.uploads, play.count("PUT listings")) == (
        1,
        ["1.png"],
        1,
    )


def test_testers_that_a_stopped_run_let_in_are_not_shown_as_those_that_are_there() -> (
    None
):
    """Another list begins in a fresh edit, so that the plan compares it with what is live."""
    play = Play()
    play.live.testers["alpha"] = ["live@example.com"]
    asked: dict[str, Any] = {"tracks": ("alpha",), "tester_tracks": ("alpha",)}
    journal = stopped(
        play, release_job(artifact(2), testers=("a@example.com",), **asked)
    )
    engine = Engine(play, journal)
    engine.run(release_job(artifact(2), testers=("b@example.com",), **asked))
    assert play.live.testers["alpha"] == ["b@example.com"]
    assert "+ b@example.com, - live@example.com" in engine.log


@pytest.mark.parametrize(
    "wrote", [True, False], ids=["present record", "record of an older version"]
)
def test_a_kept_release_loses_what_is_not_wished_any_more(wrote: bool) -> None:
    """Google Play adds fields by itself, so that a look at the track does not show which countries
    and notes came from a stopped run.
    """
    play, staged = Play(production=[release(1)]), ReleaseOptions("inProgress", 0.1)
    limited = replace(
        staged, countries=("DE",), notes=(("en-US", "Only for Germany."),), priority=5
    )
    journal = stopped(
        play, release_job(artifact(2), tracks=("production",), options=limited)
    )
    if not wrote:
        record = json.loads(journal[f"edit:{PACKAGE}"])
        del record["wrote"]
        journal[f"edit:{PACKAGE}"] = json.dumps(record)
    Engine(play, journal).run(
        release_job(artifact(2), tracks=("production",), options=staged)
    )
    assert play.live.tracks["production"] == [
        release(2, status="inProgress", userFraction=0.1),
        release(1),
    ]
    assert play.uploads == ["app-2.aab"]


def test_a_record_without_a_digest_of_the_listing_leads_to_a_fresh_edit() -> None:
    """An older version of the program recorded only that a listing was sent."""
    play, job = Play(), release_job(artifact(2), listing=LISTING)
    journal = stopped(play, job)
    record = json.loads(journal[f"edit:{PACKAGE}"])
    record["changes"] = {
        "artifact:2": record["changes"]["artifact:2"],
        "listing": "",
        "track:internal": "",
    }
    journal[f"edit:{PACKAGE}"] = json.dumps(record)
    engine = Engine(play, journal)
    engine.run(job)
    assert "contains changes that this run does not make" in engine.log
    assert (play.count("insert"), play.live.listings["en-US"]["title"]) == (2, "New")


@pytest.mark.parametrize("answered", [True, False])
def test_a_bundle_that_was_built_again_begins_in_a_fresh_edit(answered: bool) -> None:
    """Its version code is used in our own open edit alone, whether or not the upload there was
    answered.
    """
    play, journal = Play(internal=[release(1)]), dict[str, str]()
    play.fail("PUT tracks" if answered else "upload bundles", Killed(), after=True)
    with pytest.raises(Killed):
        Engine(play, journal).run(release_job(artifact(2)))
    engine = Engine(play, journal)
    engine.run(release_job(artifact(2, b"built again")))
    assert play.live.bundles[2] == sha256(artifact(2, b"built again"))
    assert (play.live.tracks["internal"], play.count("insert"), play.edits) == (
        [release(2)],
        2,
        {},
    )
    assert (
        "app-2.aab was built again: edit 1 of an earlier run has other bytes as version code 2."
        in engine.log
    )
    assert "Edit 1 is deleted." in engine.log


def test_a_bundle_that_was_built_again_after_its_release_is_refused() -> None:
    """The version code is used by more than an open edit of our own: it was committed, whether or
    not the journal knows of that commit.
    """
    play, job = Play(), release_job(artifact(2))
    journal = cut_off(play, job)
    for kept in (journal, {}):
        with pytest.raises(ReleaseRefused) as caught:
            Engine(play, kept).run(release_job(artifact(2, b"built again")))
        assert caught.value.code == "version-code-conflict"
        assert play.live.bundles[2] == sha256(artifact(2))


def test_an_earlier_build_that_arrives_after_the_list_of_bundles_is_replaced() -> None:
    """The list was fetched before the upload of the killed run had ended, so that this run's upload
    is refused; it goes into a fresh edit.
    """
    play, journal = Play(), dict[str, str]()
    play.fail("upload bundles", Killed())
    with pytest.raises(Killed):
        Engine(play, journal).run(release_job(artifact(2)))

    def arrive() -> None:
        play.edits["1"].bundles[2] = sha256(artifact(2))

    play.fail(
        "upload bundles",
        refused(403, "Version code 2 has already been used."),
        effect=arrive,
    )
    Engine(play, journal).run(release_job(artifact(2, b"built again")))
    assert play.live.bundles[2] == sha256(artifact(2, b"built again"))
    assert play.count("insert") == 2


def test_a_rehearsal_never_goes_on_in_the_edit_of_a_release() -> None:
    """A dry run deletes its edit at the end: it must not be the one that a release left for its
    next run.
    """
    play, journal = Play(), dict[str, str]()
    play.fail("commit", TemporaryError("Play is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(release_job(artifact(2)))
    Engine(play, journal).run(release_job(artifact(2), dry_run=True))
    assert json.loads(journal[f"edit:{PACKAGE}"])["edit"] == "1"


# --- closed by somebody else ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["upload bundles", "GET tracks", "PUT tracks", "commit"]
)
@pytest.mark.parametrize("why", [DELETED, "This edit has expired.", "Edit not found."])
def test_an_edit_closed_from_outside_is_replaced_by_a_fresh_one(
    name: str, why: str
) -> None:
    """Two pushes race, or the console was used: the work is done again in a fresh edit."""
    play = Play()
    play.fail(name, refused(404, why), effect=play.close_edits)
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert play.live.tracks["internal"] == [release(2)]
    assert play.count("insert") == 2
    assert engine.outputs["edit-id"] == "2"
    assert re.search(r"[^.]\. Starting over in a fresh edit\.", engine.log)


@pytest.mark.parametrize("name", ["GET", "GET bundles", "commit"])
@pytest.mark.parametrize("why", ["Edit not found: 1.", DELETED])
def test_an_edit_of_others_that_is_gone_is_not_replaced(name: str, why: str) -> None:
    """What other jobs put into it can't be made again here, and running again finds the same: the
    input is to blame.
    """
    play = Play()
    play.open_edit()
    play.fail(name, refused(404, why), effect=play.close_edits)
    with pytest.raises(ApiError, match=why) as caught:
        Engine(play).run(release_job(artifact(2), existing_edit="1"))
    assert play.count("insert") == 1
    assert (
        caught.value.hint
        == "Correct `existing-edit-id`, or leave it out for a fresh edit."
    )


def shared_edit(play: Play) -> None:
    """Another job has opened edit 1 and put its part into it."""
    Engine(play).run(release_job(artifact(5), tracks=("beta",), commit=False))


@pytest.mark.parametrize("name", ["GET", "GET tracks", "commit"])
@pytest.mark.parametrize(
    ("asked", "own_part"),
    [
        ({"artifacts": (artifact(2),)}, ", with 2.0 (2) on internal"),
        ({"tracks": ()}, ""),
    ],
    ids=["a-release", "commit-alone"],
)
def test_a_shared_edit_that_another_job_has_committed_is_done(
    name: str, asked: dict[str, Any], own_part: str
) -> None:
    """What the run put into it, or an earlier attempt, is on its track: that is told, and no edit
    is opened.
    """
    play = Play()
    shared_edit(play)
    job = release_job(existing_edit="1", **asked)
    if name != "commit":
        Engine(play).run(replace(job, commit=False))
    play.fail(name, refused(400, COMMITTED), effect=lambda: play.take("1"))
    engine = Engine(play)
    outcome = engine.run(job)
    assert (
        outcome.headline
        == f"Edit 1 of {PACKAGE} is committed already, by another job or an earlier run{own_part}."
    )
    assert engine.outputs["committed"] == "true"
    assert engine.outputs.get("version-codes", "") == ("2" if own_part else "")
    assert (play.count("insert"), engine.why_discarded) == (1, "")


@pytest.mark.parametrize(
    "asked",
    [
        {"artifacts": (artifact(2),)},
        {"tracks": ("beta",), "options": ReleaseOptions("halted")},
        {"tracks": (), "listing": StoreFiles({"en-US": {"title": "App"}})},
    ],
    ids=["a-release", "a-change", "a-listing"],
)
def test_a_shared_edit_that_was_committed_without_this_job_is_refused_in_clear_words(
    asked: dict[str, Any],
) -> None:
    """Its part came too late, or no list of releases tells whether it was in time."""
    play = Play()
    shared_edit(play)
    play.take("1")
    engine = Engine(play)
    with pytest.raises(
        ServiceError,
        match="Edit 1 is committed, but what this run asks for was not found",
    ) as caught:
        engine.run(release_job(existing_edit="1", **asked))
    assert (caught.value.code, caught.value.exit_code) == ("edit-committed", 4)
    assert "Let the job that commits run last" in caught.value.hint
    assert "committed" not in engine.outputs


# --- whose release is live ------------------------------------------------------------------------


def test_a_commit_that_was_not_answered_is_told_as_this_run_s() -> None:
    """Neither the log nor the plan of the next edit nor the last line say that there was nothing to
    do.
    """
    play = Play()
    play.forgetful = True
    play.fail("commit", LOST, after=True)
    engine = Engine(play)
    outcome = engine.run(release_job(artifact(2)))
    assert outcome.headline == f"{PACKAGE} 2.0 (2) is released on internal."
    assert (
        "What this job was to publish is committed, by its own commit, whose answer was lost, or "
        "by someone else's." in engine.log
    )
    assert "Nothing had to be changed" not in engine.log
    assert not any("nothing" in line for line in engine.shown[-1].lines)


@pytest.mark.parametrize(
    ("name", "besides"),
    [
        ("PUT tracks", ""),
        (
            "commit",
            ", or the commit of this run has, although the answer was that its edit is gone",
        ),
    ],
)
def test_the_loser_of_two_equal_releases_says_whose_it_is(
    name: str, besides: str
) -> None:
    """Another job of the same commit was faster, and closed our edit: the release is live, and the
    run ends well.
    """
    play = Play()

    def other_job() -> None:
        Engine(play).run(release_job(artifact(2)))

    play.fail(name, refused(404, DELETED), effect=other_job)
    engine = Engine(play)
    outcome = engine.run(release_job(artifact(2)))
    published = (
        "another job, or someone in the Play Console, has published it in the meantime"
    )
    assert (
        outcome.headline
        == f"{PACKAGE} 2.0 (2) is on Google Play: {published}{besides}."
    )
    assert (engine.outputs["committed"], len(play.commits)) == ("true", 1)
    assert "Nothing had to be changed" not in engine.log


def test_an_edit_that_others_close_before_anything_is_changed_is_no_race() -> None:
    """What is live was so before the run began."""
    play = Play()
    Engine(play).run(release_job(artifact(2)))
    play.fail("GET bundles", refused(404, DELETED), effect=play.close_edits)
    outcome = Engine(play).run(release_job(artifact(2)))
    assert outcome.headline == f"{PACKAGE} 2.0 (2) is on Google Play already."


def test_what_is_only_in_the_edit_is_not_said_to_be_on_google_play() -> None:
    """An earlier run of the job sent it, or another job that shares the edit."""
    play, journal = Play(), dict[str, str]()
    play.fail("PUT tracks", TemporaryError("The retries are spent."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(release_job(artifact(2)))
    resumed = Engine(play, journal)
    resumed.run(release_job(artifact(2), commit=False))
    shared = Engine(play)
    shared.run(release_job(artifact(2), existing_edit="1"))
    for engine in (resumed, shared):
        assert (
            "app-2.aab: version code 2 is in edit 1 already with the same bytes; not sent again."
            in engine.texts
        )
        assert "on Google Play" not in engine.log


@pytest.mark.parametrize(
    ("why", "told"),
    [
        (DELETED, "Edit 1 is gone."),
        ("Edit not found.", "Edit 1 is gone."),
        (
            "Not found.",
            (
                "Edit 1 can't be found any more (The service refused it (404): Not found.); "
                "if it is there, it"
            ),
        ),
        (COMMITTED, "Edit 1 is not deleted: it is committed, by another job."),
    ],
)
def test_an_edit_that_is_gone_is_not_said_to_be_left(why: str, told: str) -> None:
    """Its deletion was answered late, or others closed it: there is nothing left that could
    expire.
    """
    play = Play()
    play.fail("DELETE", refused(404, why), effect=play.close_edits)
    engine = Engine(play)
    engine.run(release_job(artifact(2), dry_run=True))
    assert engine.texts[-1].startswith(told)
    assert "could not be deleted" not in engine.log


# --- review ---------------------------------------------------------------------------------------


def test_changes_not_sent_for_review_auto_commits_again_in_the_same_edit() -> None:
    """Google demands the parameter: the same edit is committed with it, nothing is uploaded
    twice.
    """
    play = Play()
    play.review = "by hand"
    engine = Engine(play)
    outcome = engine.run(release_job(artifact(2)))
    assert [query.get("changesNotSentForReview") for query in commits(engine)] == [
        None,
        "true",
    ]
    assert play.uploads == ["app-2.aab"]
    assert play.count("insert") == 1
    assert "must still be sent for review" in outcome.sections[0].rows[-1][0]
    (warning,) = engine.warnings
    assert warning.startswith(
        f"{PACKAGE}: committed; send it for review in the Play Console, under Publishing overview"
    )
    assert outcome.headline == (
        f"{PACKAGE} 2.0 (2) on internal (all users, completed) is committed; send it for review in "
        "the Play Console."
    )
    assert "Committing edit 1 again with the opposite review setting." in engine.log
    assert "Google Play says: The service" not in engine.log


def test_auto_turns_back_where_google_does() -> None:
    """It asked for the parameter, and then refused it: the same edit is committed without it."""
    play = Play()
    play.review = "automatic"
    play.fail("commit", refused(400, BY_HAND))
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert [query.get("changesNotSentForReview") for query in commits(engine)] == [
        None,
        "true",
        None,
    ]
    assert play.uploads == ["app-2.aab"]


@pytest.mark.parametrize(
    ("setting", "review"), [("true", "automatic"), ("false", "by hand")]
)
def test_a_fixed_setting_is_obeyed_and_the_refusal_explained(
    setting: str, review: str
) -> None:
    """`true` and `false` mean what they say; the cure names `auto`."""
    play = Play()
    play.review = review
    with pytest.raises(ApiError) as caught:
        Engine(play).run(release_job(artifact(2), not_sent_for_review=setting))
    assert "`auto`" in caught.value.hint
    assert play.count("commit") == 1
    assert play.edits


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("setting", ["auto", "true", "false"])
def test_what_the_validation_announces_of_one_app_is_final_before_the_first_commit(
    setting: str, number: int
) -> None:
    """With `false` no commit can have what Google asks for: none is sent, and no edit is left. Else
    all are sent.
    """
    names = [f"com.example.{name}" for name in "abc"]
    plays = {name: Play() for name in names}
    plays[names[number]].fail("validate", refused(400, BY_HAND))
    jobs = [
        release_job(
            artifact(2, package=name),
            package=name,
            apps_in_run=3,
            not_sent_for_review=setting,
        )
        for name in names
    ]
    engine = Engine(Console(plays))
    with (
        pytest.raises(ApiError)
        if setting == "false"
        else contextlib.nullcontext() as caught
    ):
        engine.drive(partial(flow_of_several, jobs, names))
    assert sum(play.count("commit") for play in plays.values()) == (
        0 if setting == "false" else 3
    )
    assert not any(play.edits for play in plays.values())
    if caught:
        assert (caught.value.exit_code, caught.value.code) == (4, "review-by-hand")
        assert (
            f"Not committed by this run, and no edit is kept: {', '.join(names)}."
            in caught.value.hint
        )


def test_a_review_in_flight_is_not_pulled_unasked() -> None:
    """`changes-in-review: error` is the default; Google's own default would cancel the review."""
    play = Play()
    play.in_review = True
    with pytest.raises(ApiError) as caught:
        Engine(play).run(release_job(artifact(2)))
    assert "changes-in-review: cancel" in caught.value.hint
    engine = Engine(play)
    engine.run(release_job(artifact(2), cancel_review=True))
    assert (
        commits(engine)[0]["changesInReviewBehavior"] == "CANCEL_IN_REVIEW_AND_SUBMIT"
    )


@pytest.mark.parametrize("forgetful", [True, False])
@pytest.mark.parametrize("killed", [True, False])
def test_who_has_to_send_a_lost_commit_for_review_is_remembered(
    killed: bool, forgetful: bool
) -> None:
    """Its answer is lost with the process or without it, and the next look finds that it
    happened.
    """
    play, journal, job = (
        Play(),
        dict[str, str](),
        release_job(artifact(2), tracks=("beta",)),
    )
    play.review, play.forgetful = "by hand", forgetful
    play.fail("commit", Killed() if killed else LOST, after=True, skip=1)
    if killed:
        with pytest.raises(Killed):
            Engine(play, journal).run(job)
    engine = Engine(play, journal)
    outcome = engine.run(job)
    assert (
        engine.outputs["committed"],
        engine.outputs["sent-for-review"],
        len(play.commits),
    ) == (
        "true",
        "false",
        1,
    )
    assert any(
        "send it for review in the Play Console, under Publishing overview" in one
        for one in engine.warnings
    )
    assert outcome.headline.endswith(
        "is committed; send it for review in the Play Console."
    )
    assert "must still be sent for review" in outcome.sections[0].rows[-1][0]


def test_a_lost_commit_that_sends_for_review_says_so() -> None:
    """With a record of an older version, which says nothing of the review, the output is empty."""
    play, job = Play(), release_job(artifact(2))
    journal = cut_off(play, job)
    record = json.loads(journal[f"edit:{PACKAGE}"])
    for by_hand, sent in ((False, "true"), (None, "")):
        engine = Engine(
            play, {f"edit:{PACKAGE}": json.dumps({**record, "by_hand": by_hand})}
        )
        engine.run(job)
        assert (engine.outputs["committed"], engine.outputs["sent-for-review"]) == (
            "true",
            sent,
        )


# --- conflicts and lost answers -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["insert", "upload bundles", "GET tracks", "PUT tracks", "commit"]
)
def test_a_concurrent_update_is_backed_off(name: str) -> None:
    """409 is waited for and the step repeated."""
    play = Play()
    play.fail(name, refused(409, CONCURRENT, "concurrentUpdate"))
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert engine.waits == 1
    assert play.live.tracks["internal"] == [release(2)]


def test_a_conflict_that_does_not_end_is_a_temporary_failure() -> None:
    """After the waits are spent the edit is kept for the next run."""
    play = Play()
    for _ in range(3):
        play.fail("PUT tracks", refused(409, CONCURRENT))
    engine = Engine(play)
    engine.max_retries = 2
    with pytest.raises(TemporaryError):
        engine.run(release_job(artifact(2)))
    assert engine.waits == 2
    assert f"edit:{PACKAGE}" in engine.journal


@pytest.mark.parametrize("happened", [True, False])
def test_when_the_edit_is_silent_the_track_tells_whether_the_commit_happened(
    happened: bool,
) -> None:
    """An edit that is simply gone proves nothing: a fresh look at artifacts and track does."""
    play = Play()

    def vanish() -> None:
        if happened:
            play.live = play.edits["1"]
        play.close_edits("Edit not found.")

    play.fail("commit", LOST, effect=vanish)
    engine = Engine(play)
    engine.run(release_job(artifact(2), supplementary=MAPPING))
    assert play.live.tracks["internal"] == [release(2)]
    assert play.live.supplementary.keys() == {(2, "proguard")}
    assert play.count("commit") == (1 if happened else 2)
    assert play.uploads == ["app-2.aab", "mapping.txt"] * (1 if happened else 2)
    assert engine.outputs["committed"] == "true"


CLOSED_TEST = release_job(
    artifact(2),
    tracks=("alpha",),
    testers=("ours@example.com",),
    tester_tracks=("alpha",),
    listing=StoreFiles({"en-US": {"title": "Ours"}}),
    supplementary=MAPPING,
)
"""A release to a closed track, with its testers, the store listing and a mapping."""


def other_testers(live: State) -> None:
    """What a person does to the testers in the Play Console."""
    live.testers["alpha"] = ["theirs@example.com"]


def other_listing(live: State) -> None:
    """What a person does to the store listing in the Play Console."""
    live.listings["en-US"] = {"language": "en-US", "title": "Theirs"}


def commit_without_answer(
    play: Play, error: BaseException, change: Callable[[State], None]
) -> None:
    """The next commit takes effect; its answer is lost, a person changes what is live, and the edit
    is not known any more.
    """

    def commit() -> None:
        (play.live,) = play.edits.values()
        change(play.live)
        play.close_edits("Edit not found.")

    play.fail("commit", error, effect=commit)


@pytest.mark.parametrize("change", [other_testers, other_listing])
@pytest.mark.parametrize("killed", [True, False])
def test_what_people_change_beside_the_tracks_does_not_disprove_a_lost_commit(
    change: Callable[[State], None], *, killed: bool
) -> None:
    """The tracks are as they were written, so that it happened: no upload is said to be lost. The
    job asks for the rest again, and sends the mapping with it, of which nothing shows that it is
    there.
    """
    play, journal = Play(), dict[str, str]()
    commit_without_answer(play, Killed() if killed else LOST, change)
    if killed:
        with pytest.raises(Killed):
            Engine(play, journal).run(CLOSED_TEST)
    engine = Engine(play, journal)
    engine.run(CLOSED_TEST)
    assert (engine.outputs["committed"], engine.why_discarded) == ("true", "")
    assert (play.count("PUT tracks"), len(play.commits), journal) == (1, 1, {})
    assert play.uploads == ["app-2.aab", "mapping.txt", "mapping.txt"]
    assert play.live.testers["alpha"] == ["ours@example.com"]
    assert play.live.listings["en-US"]["title"] == "Ours"


@pytest.mark.parametrize("choose", [in_order, in_reverse, by_turns])
def test_the_mapping_is_sent_with_a_second_commit_in_any_order(choose: Choose) -> None:
    """The listing is written at the same time."""
    play = Play()
    commit_without_answer(play, LOST, other_listing)
    Engine(play, {}, choose).run(CLOSED_TEST)
    assert play.uploads.count("mapping.txt") == 2


@pytest.mark.parametrize("killed", [True, False])
def test_a_track_that_was_not_written_does_not_disprove_a_lost_commit(
    *, killed: bool
) -> None:
    """It held the release before the job began, and somebody has taken it away since."""
    play, journal = Play(beta=[release(2)]), dict[str, str]()
    play.live.bundles[2] = sha256(artifact(2))
    job = release_job(artifact(2), tracks=("alpha", "beta"), supplementary=MAPPING)

    def take_away(live: State) -> None:
        live.tracks["beta"] = [release(1)]

    commit_without_answer(play, Killed() if killed else LOST, take_away)
    if killed:
        with pytest.raises(Killed):
            Engine(play, journal).run(job)
    engine = Engine(play, journal)
    engine.run(job)
    assert (engine.outputs["committed"], engine.why_discarded) == ("true", "")
    assert (play.count("PUT tracks"), len(play.commits)) == (2, 1)
    assert play.uploads == ["mapping.txt", "mapping.txt"]
    assert play.live.tracks["beta"] == [release(2)]


@pytest.mark.parametrize("change", [other_testers, other_listing])
def test_a_shared_edit_with_its_tracks_alone_live_may_have_been_committed_or_not(
    change: Callable[[State], None],
) -> None:
    """If a person released the same by hand, other jobs have lost their part of it: the run goes no
    further, and says neither.
    """
    play = Play()
    play.open_edit()
    commit_without_answer(play, LOST, change)
    engine = Engine(play)
    with pytest.raises(
        ReleaseRefused, match="Edit 1 is gone, and it is not known whether"
    ):
        engine.run(replace(CLOSED_TEST, existing_edit="1"))
    assert (engine.outputs["committed"], engine.why_discarded) == ("", "")
    assert (play.commits, play.edits) == ([], {})


def test_without_a_track_testers_and_listing_show_whether_a_commit_happened() -> None:
    """Nothing else of the job can be seen, and what was uploaded may be lost."""
    play, icon = Play(), plain("icon.png", b"\x89PNG")
    listing = StoreFiles({"en-US": {"title": "Ours"}}, {("en-US", "icon"): (icon,)})
    commit_without_answer(play, LOST, other_listing)
    engine = Engine(play)
    engine.run(release_job(tracks=(), listing=listing))
    assert engine.outputs["committed"] == "true"
    assert engine.why_discarded == (
        "Uploaded, then lost with the edit, whose commit did not happen."
    )
    assert play.live.listings["en-US"]["title"] == "Ours"


def test_a_release_by_hand_in_place_of_a_lost_commit_gets_all_the_rest() -> None:
    """The commit did not happen, and a person has released the same artifact: the run takes that
    for its commit, and commits everything else that the job asks for.
    """
    play = Play()

    def release_by_hand() -> None:
        play.live.bundles[2] = sha256(artifact(2))
        play.live.tracks["alpha"] = [release(2)]
        play.close_edits("Edit not found.")

    play.fail("commit", LOST, effect=release_by_hand)
    engine = Engine(play)
    engine.run(CLOSED_TEST)
    assert (engine.outputs["committed"], len(play.commits)) == ("true", 1)
    assert play.live.supplementary.keys() == {(2, "proguard")}
    assert play.live.testers["alpha"] == ["ours@example.com"]
    assert play.live.listings["en-US"]["title"] == "Ours"


def test_an_answer_to_a_commit_that_is_no_answer_is_looked_up_too() -> None:
    """A proxy's page after the commit says nothing about the commit."""
    play = Play()
    play.fail("commit", ProtocolError("The answer is not JSON."), after=True)
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert engine.outputs["committed"] == "true"
    assert (
        "The answer is not JSON. Checking whether edit 1 is committed."
        in engine.warnings
    )


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("asked", "failure", "committed"),
    [
        ({"retained": ("2",)}, "", "true"),
        ({"promote_from": "beta"}, "what this run put into it is not live", "false"),
        ({"retained": ("2",)}, "it is not known whether it was committed", ""),
        ({"tracks": ()}, "it is not known whether it was committed", ""),
    ],
)
def test_a_lost_commit_of_a_shared_edit_that_is_gone_is_looked_up(
    at_once: bool, asked: dict[str, Any], failure: str, committed: str
) -> None:
    """Other jobs' part of it can't be made again: the release is seen to be live, or the run says
    what it knows.

    So it is where the edit was still open when it was looked up, and is gone when it is committed
    again.
    """
    play = Play(beta=[release(1)])
    Engine(play).run(release_job(artifact(2), commit=False, tracks=()))
    if not at_once:
        play.fail("commit", LOST)

    def vanish() -> None:
        play.live = play.live if failure else play.edits["1"]
        play.close_edits("Edit not found.")

    play.fail("commit", LOST if at_once else refused(404, DELETED), effect=vanish)
    engine = Engine(play)
    with (
        pytest.raises(ServiceError, match=failure)
        if failure
        else contextlib.nullcontext()
    ):
        engine.run(release_job(existing_edit="1", **asked))
    assert (engine.outputs["committed"], engine.outputs["edit-id"], play.edits) == (
        committed,
        "",
        {},
    )


# --- committed, or perhaps ------------------------------------------------------------------------


def test_a_dry_run_says_that_it_closes_the_edit_of_an_unfinished_release() -> None:
    play, journal = Play(), dict[str, str]()
    play.fail("PUT tracks", Killed())
    with pytest.raises(Killed):
        Engine(play, journal).run(release_job(artifact(2)))
    engine = Engine(play, journal)
    engine.run(release_job(artifact(2), dry_run=True))
    assert any(
        "Edit 1 of an unfinished release of com.example.app is closed" in line
        for line in engine.warnings
    )
    assert (
        Engine(play, journal)
        .run(release_job(artifact(2)))
        .headline.endswith("is released on internal.")
    )


def cut_off(play: Play, job: ReleaseJob) -> dict[str, str]:
    """The journal of a run that was killed when its commit had taken effect."""
    journal = dict[str, str]()
    play.fail("commit", Killed(), after=True)
    with pytest.raises(Killed):
        Engine(play, journal).run(job)
    return journal


@pytest.mark.parametrize(
    "error",
    [
        CredentialsError("The token is not valid."),
        TemporaryError("Play is down."),
        refused(400, "Nonsense."),
    ],
    ids=["login", "down", "refused"],
)
@pytest.mark.parametrize("call", ["GET", "insert"])
def test_a_run_that_can_t_look_leaves_it_open_whether_an_earlier_one_committed(
    call: str, error: UploaderError
) -> None:
    """The journal says so before anything is asked: `committed` is empty, and the error names what
    may have happened.

    Where the edit itself says only that it is gone, a fresh one would show it.
    """
    play, job = Play(), release_job(artifact(2))
    journal = cut_off(play, job)
    if call == "insert":
        play.closed["1"] = "Edit not found."
    play.fail(call, error)
    engine = Engine(play, journal)
    with pytest.raises(type(error)) as caught:
        engine.run(job)
    assert engine.outputs["committed"] == ""
    assert (
        f"Perhaps committed, by an earlier run: {PACKAGE}. The next run checks."
        in caught.value.hint
    )
    again = Engine(play, journal)
    again.run(job)
    assert (again.outputs["committed"], play.count("commit")) == ("true", 1)


def test_a_run_that_has_compared_nothing_does_not_say_that_nothing_is_committed() -> (
    None
):
    """Another machine may have released it: the tracks and the artifacts tell, and here they can't
    be read.
    """
    play, job = Play(), release_job(artifact(2))
    Engine(play).run(job)
    play.fail("GET bundles", TemporaryError("Play is down."))
    engine = Engine(play)
    with pytest.raises(TemporaryError):
        engine.run(job)
    assert engine.outputs.get("committed", "") == ""


def test_what_was_seen_to_be_missing_is_not_committed() -> None:
    """A version that Google Play does not have, and an upload that is refused."""
    play = Play()
    play.fail("upload bundles", refused(400, "Invalid request"))
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(release_job(artifact(2)))
    assert engine.outputs["committed"] == "false"


def test_a_commit_that_may_still_arrive_is_not_called_one_that_did_not_happen() -> None:
    """Its answer was lost and the edit still open; then the second one is refused."""
    play = Play()
    play.fail("commit", LOST)
    play.fail("commit", refused(400, "Invalid request"))
    engine = Engine(play)
    with pytest.raises(ApiError):
        engine.run(release_job(artifact(2), lasting_state=True))
    assert engine.outputs["committed"] == ""
    assert f"{PACKAGE} is perhaps committed: the next run checks." in engine.warnings


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("forgetful", [True, False])
def test_404_to_a_second_commit_is_no_refusal(
    status: int, killed: bool, forgetful: bool
) -> None:
    """The first one arrived after the look at the edit, and what Google says then is not in words
    about an edit.
    """
    play, journal, job = Play(), dict[str, str](), release_job(artifact(2))
    play.forgetful = forgetful
    play.fail("commit", Killed() if killed else LOST)
    if killed:
        with pytest.raises(Killed):
            Engine(play, journal).run(job)
    play.fail("commit", refused(status, "Not found."), after=True)
    engine = Engine(play, journal)
    engine.run(job)
    assert (engine.outputs["committed"], len(play.commits)) == ("true", 1)
    assert play.edits == {}


def test_404_to_the_commit_of_an_edit_that_is_open_is_a_refusal_in_the_end() -> None:
    """It is asked, committed once more, and kept with everything in it."""
    play = Play()
    for _ in range(2):
        play.fail("commit", refused(404, "Not found."))
    engine = Engine(play)
    with pytest.raises(ApiError, match="Not found"):
        engine.run(release_job(artifact(2)))
    assert (play.count("commit"), list(play.edits)) == (2, ["1"])
    assert "Edit 1 is kept with everything in it" in engine.log


HALTED = release(2, status="halted", userFraction=0.1)


@pytest.mark.parametrize("files", [True, False])
@pytest.mark.parametrize(
    ("now", "words"),
    [
        (
            release(2, status="inProgress", userFraction=0.5),
            "on production has progressed since: 50 % of users",
        ),
        (release(2), "on production"),
        (HALTED, "is halted at 10 % on production"),
    ],
    ids=["widened", "completed", "halted"],
)
def test_a_lost_commit_is_found_in_what_has_become_of_its_release(
    files: bool, now: dict[str, Any], words: str
) -> None:
    """A person widened, completed or halted it before the next run, which says what it is now and
    changes nothing.
    """
    play, options = Play(production=[release(1)]), ReleaseOptions("", 0.1)
    job = release_job(artifact(2), tracks=("production",), options=options)
    if not files:
        play.live.bundles[2] = "digest of 2"
        play.live.tracks["production"] = [
            release(2, status="inProgress", userFraction=0.05),
            release(1),
        ]
        job = release_job(tracks=("production",), options=options)
    journal = cut_off(play, job)
    play.live.tracks["production"] = [
        now,
        *([] if now["status"] == "completed" else [release(1)]),
    ]
    engine = Engine(play, journal)
    outcome = engine.run(job)
    assert (engine.outputs["committed"], len(play.commits)) == ("true", 1)
    assert words in outcome.headline


def test_a_release_that_a_person_changed_before_the_lost_commit_is_not_taken_for_its_effect() -> (
    None
):
    """It is halted at the share that it had: the run refuses to go on with it, as it would have
    without the loss.
    """
    play = Play(
        production=[release(2, status="inProgress", userFraction=0.1), release(1)]
    )
    job, journal = (
        release_job(tracks=("production",), options=ReleaseOptions("", 0.5)),
        dict[str, str](),
    )
    play.fail("commit", Killed())
    with pytest.raises(Killed):
        Engine(play, journal).run(job)
    play.live.tracks["production"] = [HALTED, release(1)]
    play.close_edits("Edit not found.")
    with pytest.raises(ReleaseRefused, match="was changed since this job began"):
        Engine(play, journal).run(job)
    assert play.commits == []


STAYS = (
    "The promotion from beta was begun with 2 and continues with that, whatever is on "
    "beta by now."
)
PROMOTION = release_job(
    promote_from="beta", tracks=("production",), options=ReleaseOptions("", 0.1)
)
PROMOTED = release(2, status="inProgress", userFraction=0.1)


def moved(play: Play, *source: dict[str, Any]) -> None:
    """Somebody releases the next version on the track that the promotion takes from, which closes
    every edit.
    """
    play.live.bundles[3] = "digest of 3"
    play.live.tracks["beta"] = list(source or (release(3),))
    play.close_edits("Edit not found.")


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("killed", [True, False])
def test_a_promotion_is_repeated_for_the_version_that_it_was_begun_with(
    killed: bool, happened: bool
) -> None:
    """Its commit is in doubt, and the other track has the next version by now, which nobody
    promotes unasked.
    """
    play, journal = Play(beta=[release(2)], production=[release(1)]), dict[str, str]()

    def commit() -> None:
        play.live = play.edits["1"] if happened else play.live
        moved(play)

    play.fail("commit", Killed() if killed else LOST, effect=commit)
    if killed:
        with pytest.raises(Killed):
            Engine(play, journal).run(PROMOTION)
    engine = Engine(play, journal)
    engine.run(PROMOTION)
    assert play.live.tracks["production"] == [PROMOTED, release(1)]
    assert (engine.outputs["committed"], len(play.commits), STAYS in engine.log) == (
        "true",
        0 if happened else 1,
        True,
    )


@pytest.mark.parametrize("status", ["halted", "draft"])
def test_a_promotion_is_not_taken_for_a_release_that_retains_its_version(
    status: str,
) -> None:
    """The completed release of beta is promoted, whatever is listed before it."""
    share = {"userFraction": 0.1} if status == "halted" else {}
    play = Play(
        beta=[release(2, 3, status=status, **share), release(2)],
        production=[release(1)],
    )
    engine = Engine(play)
    engine.run(PROMOTION)
    assert play.live.tracks["production"] == [PROMOTED, release(1)]
    assert engine.outputs["committed"] == "true"


def test_a_promotion_that_loses_its_edit_goes_on_with_its_version() -> None:
    """Somebody released the next version between the plan and the commit of one run."""
    play = Play(beta=[release(2)], production=[release(1)])
    play.fail("commit", refused(404, "Edit not found."), effect=lambda: moved(play))
    engine = Engine(play)
    engine.run(PROMOTION)
    assert (play.live.tracks["production"], STAYS in engine.log) == (
        [PROMOTED, release(1)],
        True,
    )


@pytest.mark.parametrize(
    "wish",
    [{"promote_version_codes": ("3",)}, {"promote_from": "alpha"}],
    ids=["other codes", "other track"],
)
def test_a_promotion_of_something_else_begins_anew(wish: dict[str, Any]) -> None:
    """What was begun before is not what is asked for now."""
    play = Play(beta=[release(2)], alpha=[release(4)], production=[release(1)])
    journal = dict[str, str]()
    play.fail("commit", Killed(), effect=lambda: moved(play))
    with pytest.raises(Killed):
        Engine(play, journal).run(PROMOTION)
    engine = Engine(play, journal)
    engine.run(replace(PROMOTION, **wish))
    assert play.live.tracks["production"][0]["versionCodes"] == (
        ["4"] if "promote_from" in wish else ["3"]
    )
    assert "was begun with" not in engine.log


def test_a_promotion_without_any_commit_begins_anew_once_its_edit_is_gone() -> None:
    """Nothing of it came to users, so that it takes what is there when it is made."""
    play = Play(beta=[release(2)], production=[release(1)])
    journal = dict[str, str]()
    play.fail("PUT tracks", TemporaryError("Play is down."))
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(PROMOTION)
    moved(play)
    Engine(play, journal).run(PROMOTION)
    assert play.live.tracks["production"][0]["versionCodes"] == ["3"]


def test_a_version_that_was_halted_since_the_promotion_began_is_not_promoted() -> None:
    """Who halted it on the other track has seen something; without a written status it stays
    there.
    """
    play, journal = Play(beta=[release(2)], production=[release(1)]), dict[str, str]()
    play.fail(
        "commit",
        Killed(),
        effect=lambda: moved(play, release(2, status="halted"), release(1)),
    )
    with pytest.raises(Killed):
        Engine(play, journal).run(PROMOTION)
    engine = Engine(play, journal)
    with pytest.raises(
        ReleaseRefused, match="is halted, and is not released to users here"
    ):
        engine.run(PROMOTION)
    assert (play.commits, engine.outputs["committed"]) == ([], "")


def test_another_wish_is_not_done_by_what_the_lost_commit_brought() -> None:
    """The release is live at 10 %; the next run asks for 50 %, and commits that."""
    play = Play(production=[release(1)])
    job = release_job(
        artifact(2), tracks=("production",), options=ReleaseOptions("", 0.1)
    )
    journal = cut_off(play, job)
    Engine(play, journal).run(replace(job, options=ReleaseOptions("", 0.5)))
    assert play.live.tracks["production"] == [
        release(2, status="inProgress", userFraction=0.5),
        release(1),
    ]


def test_a_commit_that_took_its_time_is_seen_when_it_is_sent_again() -> None:
    """A gateway gave up on it, the edit was still open a second later, and then it was committed
    after all.
    """
    play = Play()
    Engine(play).run(release_job(artifact(2), commit=False, tracks=()))
    play.fail("commit", LOST)
    play.fail("commit", refused(400, COMMITTED), effect=lambda: play.take("1"))
    engine = Engine(play)
    engine.run(release_job(retained=("2",), existing_edit="1"))
    assert (engine.outputs["committed"], play.live.tracks["internal"]) == (
        "true",
        [release(2)],
    )


def test_a_shared_edit_gets_a_track_only_once_the_mapping_is_accepted() -> None:
    """It stays open after the refusal, and another job may commit it."""
    play = Play()
    play.open_edit()
    play.fail("upload deobfuscationFiles", refused(400, "Invalid mapping."))
    mapping = SupplementaryFile("mapping", plain("mapping.txt", b"m"), 2)
    with pytest.raises(ApiError):
        Engine(play).run(
            release_job(
                artifact(2), existing_edit="1", commit=False, supplementary=(mapping,)
            )
        )
    assert play.count("PUT tracks") == 0
