"""How a release comes to a track: what it displaces, what stays, and what is taken along."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fake_play import PACKAGE, Play, artifact, refused, release, sha256
from tests.support.play_driver import Engine, release_job
from uploader.errors import (
    ProtocolError,
    ReleaseRefused,
    ServiceError,
    TemporaryError,
    UploaderError,
)
from uploader.files.android.listing import StoreFiles
from uploader.services.play import client, track_merge
from uploader.services.play.model import Release, Releases
from uploader.services.play.release_job import ReleaseOptions

ROLLOUT = release(5, status="inProgress", userFraction=0.2)
STAGED = release(6, status="inProgress", userFraction=0.1)
DRAFT = release(6, status="draft")
HALTED = release(5, status="halted", userFraction=0.2)


def values(*releases: dict[str, Any]) -> Releases:
    """Releases as the program has them."""
    return tuple(map(Release, releases))


@pytest.mark.parametrize(
    ("live", "new", "after"),
    [
        ([], release(6), [release(6)]),
        ([release(4)], release(6), [release(6)]),
        ([release(4)], STAGED, [STAGED, release(4)]),
        ([release(4)], DRAFT, [DRAFT, release(4)]),
        ([release(4), ROLLOUT], DRAFT, [DRAFT, release(4), ROLLOUT]),
        ([ROLLOUT], release(5, status="draft"), [release(5, status="draft"), ROLLOUT]),
        ([release(4), release(5, status="draft")], DRAFT, [DRAFT, release(4)]),
        (
            [release(4), release(5, status="draft")],
            release(6),
            [release(6), release(5, status="draft")],
        ),
        ([release(4), DRAFT], release(6), [release(6)]),
        (
            [release(4), release(5, status="draft")],
            STAGED,
            [STAGED, release(4), release(5, status="draft")],
        ),
        ([release(4), HALTED], STAGED, [STAGED, release(4)]),
        ([release(4), HALTED], release(6), [release(6)]),
        ([release(4), ROLLOUT], release(5), [release(5)]),
        ([release(4), ROLLOUT], HALTED, [HALTED, release(4)]),
        ([release(4), ROLLOUT], release(6, 5), [release(6, 5)]),
        ([{"status": "draft"}], release(6), [release(6), {"status": "draft"}]),
    ],
)
def test_a_release_displaces_its_own_kind_and_what_it_covers(
    live: list[dict[str, Any]], new: dict[str, Any], after: list[dict[str, Any]]
) -> None:
    """One completed, one staged, one draft: everything else on the track stays as it is."""
    merged = track_merge.merge(
        "production", values(*live), Release(new), replace_rollout=False
    )
    assert merged == values(*after)


@pytest.mark.parametrize(
    "new", [release(6), STAGED, release(6, status="halted", userFraction=0.1)]
)
def test_a_rollout_is_displaced_only_when_told_so(new: dict[str, Any]) -> None:
    """The refusal names the track, both releases, and the input that allows it."""
    live = values(release(4), ROLLOUT)
    with pytest.raises(
        ServiceError,
        match="The release 5 is in progress on track production; 6 would end",
    ) as caught:
        track_merge.merge("production", live, Release(new), replace_rollout=False)
    assert caught.value.exit_code == 4
    assert "replace-rollout: true" in caught.value.hint
    merged = track_merge.merge("production", live, Release(new), replace_rollout=True)
    assert Release(ROLLOUT) not in merged


@pytest.mark.parametrize(
    "reported",
    [
        {**release(6), "name": "6.0"},
        {"versionCodes": [6], "status": "completed"},
        {**release(6), "inAppUpdatePriority": 0},
    ],
)
def test_what_play_adds_by_itself_is_no_difference(reported: dict[str, Any]) -> None:
    """A name that was not given, numbers instead of texts, a default: the track holds the release
    all the same.
    """
    assert track_merge.holds(
        values(reported), values({**release(6), "inAppUpdatePriority": 0})
    )


@pytest.mark.parametrize(
    "reported",
    [
        release(7),
        release(6, status="draft"),
        release(6, 5),
        {**release(6), "releaseNotes": []},
    ],
)
def test_what_was_asked_and_is_not_there_is_a_difference(
    reported: dict[str, Any],
) -> None:
    """Other versions, another status, missing notes."""
    wanted = track_merge.new(ReleaseOptions(notes=(("en-US", "New."),)), ("6",))
    assert not track_merge.holds(values(reported), [wanted])
    assert not track_merge.holds([wanted, Release(release(4))], [wanted])


# --- in the flow ----------------------------------------------------------------------------------


def test_internal_to_beta_to_production_without_a_file() -> None:
    """`promote-from` takes the versions, name, notes and priority of the release; nothing is
    uploaded.
    """
    notes = [{"language": "en-US", "text": "New."}]
    play = Play(
        internal=[release(7, name="Spring", releaseNotes=notes, inAppUpdatePriority=2)]
    )
    Engine(play).run(release_job(promote_from="internal", tracks=("beta",)))
    engine = Engine(play)
    engine.run(
        release_job(
            promote_from="beta",
            tracks=("production",),
            options=ReleaseOptions("inProgress", 0.1),
        )
    )
    (promoted,) = play.live.tracks["production"]
    assert promoted == release(
        7,
        status="inProgress",
        userFraction=0.1,
        name="Spring",
        releaseNotes=notes,
        inAppUpdatePriority=2,
    )
    assert play.uploads == []
    assert engine.outputs["version-codes"] == "7"


def test_what_is_given_goes_before_what_a_promotion_takes_along() -> None:
    """A name or a priority of its own, but the notes of the source."""
    notes = [{"language": "en-US", "text": "New."}]
    play = Play(
        internal=[release(7, name="Spring", releaseNotes=notes, inAppUpdatePriority=2)]
    )
    wish = ReleaseOptions(name="Summer", priority=5)
    Engine(play).run(
        release_job(
            promote_from="internal", tracks=("beta",), options=wish, default_name="v1"
        )
    )
    (promoted,) = play.live.tracks["beta"]
    assert (
        promoted["name"],
        promoted["inAppUpdatePriority"],
        promoted["releaseNotes"],
    ) == (
        "Summer",
        5,
        notes,
    )


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ([release(4), STAGED], "6"),
        ([release(4), HALTED], "4"),
        ([release(4), DRAFT], "4"),
    ],
)
def test_a_promotion_takes_the_newest_that_is_served(
    source: list[dict[str, Any]], code: str
) -> None:
    """Never what was halted, nor a draft beside it."""
    play = Play(beta=source)
    Engine(play).run(release_job(promote_from="beta", tracks=("production",)))
    assert play.live.tracks["production"][0]["versionCodes"] == [code]


def test_a_promotion_takes_a_draft_where_there_is_nothing_else_and_a_status_is_written() -> (
    None
):
    play = Play(beta=[DRAFT])
    wish = ReleaseOptions(status="completed")
    Engine(play).run(
        release_job(promote_from="beta", tracks=("production",), options=wish)
    )
    assert play.live.tracks["production"][0]["versionCodes"] == ["6"]


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ([], "Nothing has been released on it"),
        ([HALTED], "It holds 5 (20 % of users, halted)"),
        ([HALTED, DRAFT], "It holds"),
    ],
)
def test_nothing_to_promote_is_said(source: list[dict[str, Any]], cause: str) -> None:
    """An empty track, a halted release, or a draft beside one is exit code 4 with the track's name
    and the cause.
    """
    with pytest.raises(
        ServiceError, match="Track beta has no release to promote"
    ) as caught:
        Engine(Play(beta=source)).run(
            release_job(promote_from="beta", tracks=("production",))
        )
    assert (caught.value.code, caught.value.cause.startswith(cause)) == (
        "no-release-on-track",
        True,
    )


def test_a_misspelt_source_of_a_promotion_is_not_to_be_created() -> None:
    """A new track has no release to promote."""
    with pytest.raises(ServiceError, match="The app has no track interal") as caught:
        Engine(Play()).run(release_job(promote_from="interal", tracks=("beta",)))
    assert caught.value.hint == "Write `internal`."
    with pytest.raises(ServiceError, match="The app has no track prodution") as caught:
        Engine(Play()).run(release_job(artifact(2), tracks=("prodution",)))
    assert "`create-tracks: true`" in caught.value.hint


def test_a_version_that_is_no_longer_on_the_source_is_promoted_by_its_code() -> None:
    """Its bundle is on Google Play; name and notes of the release that displaced it are not its."""
    notes = [{"language": "en-US", "text": "Seven."}]
    play = Play(
        internal=[release(7, name="Seven", releaseNotes=notes)], production=[release(5)]
    )
    play.live.bundles[6] = "digest of 6"
    wish = release_job(
        promote_from="internal", promote_version_codes=("6",), tracks=("beta",)
    )
    outcome = Engine(play).run(wish)
    assert play.live.tracks["beta"] == [release(6)]
    assert "6 is not on internal any more." in outcome.headline
    Engine(play).run(wish)
    assert (play.uploads, len(play.commits)) == ([], 1)


def test_a_version_that_google_play_does_not_have_is_not_promoted() -> None:
    play = Play(internal=[release(7)])
    with pytest.raises(ReleaseRefused, match="has no version 6 to promote") as caught:
        Engine(play).run(
            release_job(
                promote_from="internal", promote_version_codes=("6",), tracks=("beta",)
            )
        )
    assert "no such bundle or APK" in caught.value.cause
    assert play.edits == {}


@pytest.mark.parametrize("status", ["halted", "draft"])
def test_what_another_track_keeps_from_its_users_is_not_promoted_by_its_code(
    status: str,
) -> None:
    """A release that was stopped on alpha for a reason is not given to beta by its number."""
    play = Play(internal=[release(7)], alpha=[release(6, status=status)])
    wish = release_job(
        promote_from="internal", promote_version_codes=("6",), tracks=("beta",)
    )
    with pytest.raises(ReleaseRefused) as caught:
        Engine(play).run(wish)
    assert caught.value.code == "release-kept-back"
    Engine(play).run(replace(wish, options=ReleaseOptions("completed")))
    assert play.live.tracks["beta"] == [release(6)]


def test_a_rollout_is_widened_halted_resumed_and_completed_without_files() -> None:
    """The release in progress keeps its name and versions through all of it; what it updates stays
    until the end.
    """
    live = release(5, status="inProgress", userFraction=0.2, name="Spring")
    play = Play(production=[live, release(4)])
    for wish, after in [
        (
            ReleaseOptions("inProgress", 0.5),
            [{**live, "userFraction": 0.5}, release(4)],
        ),
        (
            ReleaseOptions("halted"),
            [{**live, "status": "halted", "userFraction": 0.5}, release(4)],
        ),
        (ReleaseOptions("inProgress"), [{**live, "userFraction": 0.5}, release(4)]),
        (ReleaseOptions("completed"), [release(5, name="Spring")]),
    ]:
        Engine(play).run(release_job(tracks=("production",), options=wish))
        assert play.live.tracks["production"] == after
    assert play.uploads == []


def test_a_release_that_everybody_has_can_be_halted_and_resumed_for_some() -> None:
    """Google halts a completed release too; it has no fraction, so resuming it needs one."""
    play = Play(production=[release(5)])
    Engine(play).run(
        release_job(tracks=("production",), options=ReleaseOptions("halted"))
    )
    assert play.live.tracks["production"] == [release(5, status="halted")]
    with pytest.raises(ServiceError, match="no user fraction is known") as caught:
        Engine(play).run(
            release_job(tracks=("production",), options=ReleaseOptions("inProgress"))
        )
    assert "`user-fraction`" in caught.value.hint
    Engine(play).run(
        release_job(tracks=("production",), options=ReleaseOptions("inProgress", 0.1))
    )
    assert play.live.tracks["production"] == [
        release(5, status="inProgress", userFraction=0.1)
    ]


@pytest.mark.parametrize(
    "options",
    [
        ReleaseOptions(fraction=0.5),
        ReleaseOptions(notes=(("en-US", "News."),)),
        ReleaseOptions(name="Spring"),
        ReleaseOptions(priority=5),
    ],
)
def test_a_halted_release_stays_halted_unless_a_status_is_written(
    options: ReleaseOptions,
) -> None:
    """Neither a fraction, notes, a name or a priority alone go on with it."""
    play = Play(production=[HALTED, release(4)])
    with pytest.raises(ServiceError, match="is halted, and stays halted") as caught:
        Engine(play).run(release_job(tracks=("production",), options=options))
    assert (caught.value.code, "`status: inProgress`" in caught.value.hint) == (
        "release-halted",
        True,
    )
    assert play.live.tracks["production"] == [HALTED, release(4)]
    for status in ("inProgress", "completed"):
        fraction = options.fraction if status == "inProgress" else None
        Engine(play).run(
            release_job(
                tracks=("production",),
                options=replace(options, status=status, fraction=fraction),
            )
        )
        assert play.live.tracks["production"][0]["status"] == status


@pytest.mark.parametrize(
    ("live", "reached"),
    [
        ([ROLLOUT, release(4)], "20 % of users"),
        ([HALTED, release(4)], "20 % of users"),
        ([release(5)], "all users"),
    ],
)
def test_a_fraction_never_goes_down(live: list[dict[str, Any]], reached: str) -> None:
    """Users have the release: only a halt takes it from anybody; the same or a larger fraction is
    accepted.
    """
    play = Play(production=live)
    with pytest.raises(ServiceError, match=reached) as caught:
        Engine(play).run(
            release_job(
                tracks=("production",), options=ReleaseOptions("inProgress", 0.1)
            )
        )
    assert caught.value.code == "user-fraction-lower"
    assert (
        "Set 0.2 or more" in caught.value.hint
        if live[0] == HALTED
        else "`status: halted`" in caught.value.hint
    )
    assert play.commits == []
    if "userFraction" in live[0]:
        for fraction in (0.2, 0.3):
            options = ReleaseOptions("inProgress", fraction)
            Engine(play).run(release_job(tracks=("production",), options=options))
            assert play.live.tracks["production"][0]["userFraction"] == fraction


@pytest.mark.parametrize("kept", [0.0499999999, 0.0500000001], ids=["less", "more"])
def test_a_fraction_that_google_play_keeps_with_fewer_digits_is_the_same(
    kept: float,
) -> None:
    """A second run of the same release finds it as it was asked for: nothing is written, nothing
    has gone on, and nothing is refused.
    """
    live = release(6, status="inProgress", userFraction=kept)
    play = Play(production=[live, release(4)])
    engine = Engine(play)
    options = ReleaseOptions("inProgress", 0.05)
    engine.run(release_job(tracks=("production",), options=options))
    assert play.live.tracks["production"] == [live, release(4)]
    assert (play.count("PUT tracks"), play.commits) == (0, [])
    assert engine.outputs["committed"] == "true"
    assert engine.warnings == []


def test_a_change_means_the_rollout_even_when_a_newer_draft_is_there() -> None:
    """The fraction of a draft can't be meant."""
    play = Play(production=[DRAFT, ROLLOUT, release(4)])
    Engine(play).run(
        release_job(tracks=("production",), options=ReleaseOptions("inProgress", 0.5))
    )
    assert play.live.tracks["production"] == [
        {**ROLLOUT, "userFraction": 0.5},
        DRAFT,
        release(4),
    ]


def test_a_change_on_an_empty_track_is_refused() -> None:
    """There is nothing to halt."""
    with pytest.raises(ServiceError, match="Track production has no release to change"):
        Engine(Play()).run(
            release_job(tracks=("production",), options=ReleaseOptions("halted"))
        )


@pytest.mark.parametrize("track", ["wear:beta", "friends"])
@pytest.mark.parametrize("message", ["Track not found: wear:beta.", "Track is empty."])
def test_a_track_that_is_answered_with_404_is_empty(message: str, track: str) -> None:
    """Play says so of tracks that were never used; whether it exists at all is told when it is
    written to.
    """
    play = Play()
    # after the list, which does not have it
    play.fail("GET tracks", refused(404, message, "trackEmpty"), skip=1)
    Engine(play).run(release_job(artifact(2), tracks=(track,)))
    assert play.live.tracks[track] == [release(2)]


@pytest.mark.parametrize(
    "error",
    [refused(404, "Not found."), refused(403, "No."), TemporaryError("Play is down.")],
)
def test_each_track_is_asked_alone_where_the_list_is_not_to_be_had(
    error: UploaderError,
) -> None:
    """The list is only an additional check, so that its failure ends no release."""
    play = Play(internal=[release(1)])
    play.fail("GET tracks", error)
    Engine(play).run(release_job(artifact(2)))
    assert play.live.tracks["internal"] == [release(2)]


# --- a job that comes again -----------------------------------------------------------------------

ASKED = {
    "all users": ReleaseOptions(),
    "10 %": ReleaseOptions("inProgress", 0.1),
    "a fraction of 10 %": ReleaseOptions(fraction=0.1),
    "50 %": ReleaseOptions("inProgress", 0.5),
    "completed": ReleaseOptions("completed"),
    "draft": ReleaseOptions("draft"),
    "halted": ReleaseOptions("halted"),
    "halted at 10 %": ReleaseOptions("halted", 0.1),
}
NOW = {
    "absent": [release(4)],
    "a draft": [release(5, status="draft"), release(4)],
    "at 10 %": [release(5, status="inProgress", userFraction=0.1), release(4)],
    "at 50 %": [release(5, status="inProgress", userFraction=0.5), release(4)],
    "completed": [release(5)],
    "halted at 10 %": [release(5, status="halted", userFraction=0.1), release(4)],
    "halted after all had it": [release(5, status="halted")],
}
WRITTEN, STAYS = "written", "stays"
# What a job that brings version 5 makes of the track, by what it asks for, in the order of NOW.
BRINGS = {
    "all users": (WRITTEN, WRITTEN, WRITTEN, WRITTEN, STAYS, STAYS, STAYS),
    "completed": (WRITTEN, WRITTEN, WRITTEN, WRITTEN, STAYS, STAYS, STAYS),
    "10 %": (WRITTEN, WRITTEN, STAYS, STAYS, STAYS, STAYS, STAYS),
    "a fraction of 10 %": (WRITTEN, WRITTEN, STAYS, STAYS, STAYS, STAYS, STAYS),
    "50 %": (WRITTEN, WRITTEN, WRITTEN, STAYS, STAYS, STAYS, STAYS),
    "draft": (WRITTEN, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS),
    "halted at 10 %": (WRITTEN, WRITTEN, WRITTEN, WRITTEN, WRITTEN, STAYS, STAYS),
}
LOWER, HELD, WAITS, NO_FRACTION = (
    "user-fraction-lower",
    "release-halted",
    "release-is-draft",
    "user-fraction-missing",
)
# The same of a job without files, which changes what is there; version 4 is none of its business.
CHANGES = {
    "completed": (STAYS, WRITTEN, WRITTEN, WRITTEN, STAYS, WRITTEN, WRITTEN),
    "10 %": (LOWER, WRITTEN, STAYS, LOWER, LOWER, WRITTEN, WRITTEN),
    "a fraction of 10 %": (LOWER, WAITS, STAYS, LOWER, LOWER, HELD, HELD),
    "50 %": (LOWER, WRITTEN, WRITTEN, STAYS, LOWER, WRITTEN, WRITTEN),
    "halted": (WRITTEN, WRITTEN, WRITTEN, WRITTEN, WRITTEN, STAYS, STAYS),
}
CASES = [
    pytest.param(how, asked, now, expected, id=f"{how}, {asked}, {now}")
    for how, table in (
        ("files", BRINGS),
        ("promotion", BRINGS),
        ("without files", CHANGES),
    )
    for asked, row in table.items()
    for now, expected in zip(NOW, row, strict=True)
]


@pytest.mark.parametrize(("how", "asked", "now", "expected"), CASES)
def test_what_is_on_the_track_and_what_is_asked_decide_what_is_written(
    how: str, asked: str, now: str, expected: str
) -> None:
    """A release that has gone on is left alone by whoever brings it again; only a run without files
    changes it.
    """
    play = Play(production=NOW[now], internal=[release(5)])
    play.live.bundles[5] = sha256(artifact(5))
    brought: dict[str, Any] = {"promote_from": "internal"} if how == "promotion" else {}
    files, before = [artifact(5)] if how == "files" else [], list(NOW[now])
    job = release_job(*files, tracks=("production",), options=ASKED[asked], **brought)
    engine = Engine(play)
    if expected in (WRITTEN, STAYS):
        engine.run(job)
        assert engine.outputs["committed"] == "true"
    else:
        with pytest.raises(ServiceError) as caught:
            engine.run(job)
        assert caught.value.code == expected
    assert (play.live.tracks["production"] != before) == (expected == WRITTEN)
    assert play.count("commit") == (1 if expected == WRITTEN else 0)


@pytest.mark.parametrize("how", ["files", "promotion"])
def test_a_release_that_was_halted_stays_so_and_the_run_says_how_it_goes_on(
    how: str,
) -> None:
    """The last line, the plan, the summary and a warning have it; the run ends well."""
    play = Play(production=[HALTED, release(4)], internal=[release(5)])
    play.live.bundles[5] = sha256(artifact(5))
    files = [artifact(5)] if how == "files" else []
    engine = Engine(play)
    options = ReleaseOptions(
        "inProgress", 0.5, name="Spring", notes=(("en-US", "News."),)
    )
    promoted = "" if files else "internal"
    job = release_job(
        *files, tracks=("production",), options=options, promote_from=promoted
    )
    outcome = engine.run(job)
    left_out = "`files` out (`files: none`)" if files else "`promote-from` out"
    told = (
        f"5 is halted at 20 % on production, and stays halted: to resume it, leave {left_out} and "
        "set `status: inProgress` or `status: completed`"
    )
    assert outcome.headline.endswith(f" is on Google Play already. {told}.")
    assert engine.warnings == [f"{told}."]
    assert f"      {told}" in engine.shown[0].lines
    assert (f"      {told}",) in outcome.sections[0].rows
    assert (engine.outputs["committed"], engine.outputs["user-fraction"]) == (
        "true",
        "0.2",
    )
    assert play.live.tracks["production"] == [HALTED, release(4)]


def test_what_was_halted_after_everybody_had_it_goes_on_with_a_fraction() -> None:
    """It has none of its own, so the run says that one is needed."""
    play = Play(production=[release(5, status="halted"), release(4)])
    play.live.bundles[5] = sha256(artifact(5))
    outcome = Engine(play).run(release_job(artifact(5), tracks=("production",)))
    assert (
        "set `status: inProgress` with `user-fraction` or `status: completed`."
        in outcome.headline
    )


def test_a_release_that_reached_more_users_since_is_done() -> None:
    """The other tracks of the job get what they are due, and the last line says what the release is
    now.
    """
    play = Play(
        production=[release(5, status="inProgress", userFraction=0.5), release(4)]
    )
    play.live.bundles[5] = sha256(artifact(5))
    engine = Engine(play)
    job = release_job(
        artifact(5), tracks=("production", "beta"), options=ReleaseOptions(fraction=0.1)
    )
    outcome = engine.run(job)
    assert outcome.headline == (
        f"{PACKAGE} 5.0 (5) goes to 10 % of beta after the review. 5 on production has "
        "progressed since: 50 % of users, in progress."
    )
    assert play.live.tracks["production"][0]["userFraction"] == 0.5
    assert play.count("PUT tracks") == 1


def test_what_a_release_that_has_gone_on_does_not_get_is_said() -> None:
    """It is wider than asked for, so it stays; its notes are others than those of this run."""
    german = {"language": "de-DE", "text": "Alt"}
    play = Play(
        production=[
            release(5, status="inProgress", userFraction=0.5, releaseNotes=[german])
        ]
    )
    play.live.bundles[5] = sha256(artifact(5))
    options = ReleaseOptions(fraction=0.1, priority=3, notes=())
    job = release_job(
        artifact(5),
        tracks=("production",),
        options=options,
        notes={None: (("de-DE", "Neu"),)},
    )
    outcome = Engine(play).run(job)
    assert outcome.headline.endswith(
        "5 on production has progressed since: 50 % of users, in progress. There, these stay as "
        "they are, too, unlike what this run asks for: release notes, in-app update priority."
    )
    assert play.live.tracks["production"][0]["releaseNotes"] == [german]


@pytest.mark.parametrize("status", ["inProgress", "halted"])
def test_a_newer_release_beside_ours_is_not_touched_when_ours_comes_again(
    status: str,
) -> None:
    """Ours is with all users, as the job asks; what has been staged since is another job's."""
    newer = release(6, status=status, userFraction=0.1)
    play = Play(production=[newer, release(5)])
    play.live.bundles[5] = sha256(artifact(5))
    outcome = Engine(play).run(release_job(artifact(5), tracks=("production",)))
    assert outcome.headline == f"{PACKAGE} 5.0 (5) is on Google Play already."
    assert play.live.tracks["production"] == [newer, release(5)]


def test_a_newer_release_that_keeps_our_version_is_not_replaced_by_ours() -> None:
    """Everybody would lose the newer version."""
    play = Play(production=[release(6, 5)])
    play.live.bundles[5] = sha256(artifact(5))
    outcome = Engine(play).run(release_job(artifact(5), tracks=("production",)))
    assert outcome.headline.endswith(
        "6+5 on production has progressed since: all users, completed."
    )
    assert play.live.tracks["production"] == [release(6, 5)]


@pytest.mark.parametrize("retained", [(), ("5",)])
def test_a_new_version_takes_the_place_of_a_halted_one_but_never_resumes_it(
    retained: tuple[str, ...],
) -> None:
    """To keep a halted version beside the new one would hand it out again."""
    play = Play(production=[HALTED, release(4)])
    job = release_job(
        artifact(6),
        tracks=("production",),
        options=ReleaseOptions("inProgress", 0.1),
        retained=retained,
    )
    if retained:
        with pytest.raises(
            ReleaseRefused, match="is halted, and stays halted"
        ) as caught:
            Engine(play).run(job)
        assert (caught.value.code, play.uploads) == ("release-halted", [])
        assert "without `files`" in caught.value.hint
    else:
        Engine(play).run(job)
        assert play.live.tracks["production"] == [STAGED, release(4)]


def test_an_edit_that_was_left_half_done_does_not_take_back_a_halt() -> None:
    """What counts is what was live before the edit was touched; an earlier run had resumed the
    release in it.
    """
    play, journal = Play(production=[HALTED, release(4)]), dict[str, str]()
    play.live.bundles[5] = sha256(artifact(5))
    play.fail("commit", TemporaryError("Play is down."))
    resuming = release_job(
        tracks=("production",), options=ReleaseOptions("inProgress"), lasting_state=True
    )
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(resuming)
    Engine(play, journal).run(release_job(artifact(5), tracks=("production",)))
    assert play.live.tracks["production"] == [HALTED, release(4)]


def test_a_halt_in_a_shared_edit_is_not_taken_back_either() -> None:
    """One job of the pipeline halts the release, another brings it again."""
    play = Play(
        production=[release(5, status="inProgress", userFraction=0.2), release(4)]
    )
    play.live.bundles[5] = sha256(artifact(5))
    halting = release_job(
        tracks=("production",), options=ReleaseOptions("halted"), commit=False
    )
    Engine(play).run(halting)
    Engine(play).run(
        release_job(artifact(5), tracks=("production",), existing_edit="1")
    )
    assert play.live.tracks["production"] == [HALTED, release(4)]


@pytest.mark.parametrize("live", [True, False])
def test_in_a_shared_edit_only_what_is_live_has_gone_on(live: bool) -> None:
    """What another job put into the edit is no reason to drop what this one asks for."""
    wider = release(5, status="inProgress", userFraction=0.5)
    play = Play(production=[wider, release(4)] if live else [release(4)])
    play.live.bundles[5] = sha256(artifact(5))
    before = release_job(
        retained=() if live else ("5",), tracks=("production",), commit=False
    )
    Engine(play).run(replace(before, options=ReleaseOptions("inProgress", 0.5)))
    again = release_job(
        artifact(5),
        tracks=("production",),
        existing_edit="1",
        options=ReleaseOptions("inProgress", 0.1),
    )
    if live:
        assert "has progressed since" in Engine(play).run(again).headline
    else:
        with pytest.raises(ReleaseRefused) as caught:
            Engine(play).run(again)
        assert caught.value.code == "user-fraction-lower"


def test_what_only_a_shared_edit_has_becomes_a_draft() -> None:
    """Google Play refuses its commit while the app's setup is not finished."""
    play = Play()
    Engine(play).run(release_job(artifact(5), tracks=("beta",), commit=False))
    as_draft = release_job(
        artifact(5),
        tracks=("beta",),
        existing_edit="1",
        options=ReleaseOptions("draft"),
    )
    Engine(play).run(as_draft)
    assert play.live.tracks["beta"] == [release(5, status="draft")]


def test_what_is_a_draft_in_a_shared_edit_is_not_looked_up() -> None:
    """It stays one, whatever is live. The plan and the write each ask once whether its version is
    live, which is another question.
    """
    play = Play()
    draft = release_job(
        artifact(5), tracks=("beta",), commit=False, options=ReleaseOptions("draft")
    )
    Engine(play).run(draft)
    Engine(play).run(replace(draft, existing_edit="1"))
    assert play.edits["1"].tracks["beta"] == [release(5, status="draft")]
    assert play.count("GET live releases") == 2


@pytest.mark.parametrize("live", [5, 4], ids=["this version", "the one before"])
def test_a_draft_in_a_shared_edit_takes_no_release_from_its_users(live: int) -> None:
    play = Play(beta=[release(live)])
    play.live.bundles[5] = sha256(artifact(5))
    Engine(play).run(release_job(retained=("5",), tracks=("beta",), commit=False))
    as_draft = release_job(
        retained=("5",),
        tracks=("beta",),
        existing_edit="1",
        options=ReleaseOptions("draft"),
        commit=False,
    )
    Engine(play).run(as_draft)
    # Google Play refuses a version in two releases, so nothing of this is committed.
    assert play.edits["1"].tracks["beta"] == [release(5, status="draft"), release(5)]


# --- foreseen before the upload -------------------------------------------------------------------


@pytest.mark.parametrize(
    "job",
    [
        {"tracks": ("beta", "production")},
        {"tracks": ("beta", "prodution")},
        {"tracks": ("Production",)},
        {"tracks": ("wear:prodution",)},
        {
            "tracks": ("production",),
            "promote_from": "betta",
            "listing": StoreFiles({"en-US": {"title": "App"}}),
        },
        {
            "tracks": ("alpha",),
            "options": ReleaseOptions("inProgress"),
            "listing": StoreFiles({"en-US": {"title": "App"}}),
        },
    ],
)
def test_what_ends_the_run_ends_it_before_the_upload(job: dict[str, Any]) -> None:
    """A rollout in the way, a misspelt track, no fraction: told while it has cost nothing yet."""
    play = Play(production=[ROLLOUT], alpha=[release(3)])
    play.closed_tracks = {"testers"}
    changes = "promote_from" in job or "options" in job
    with pytest.raises(ServiceError):
        Engine(play).run(release_job(*(() if changes else (artifact(6),)), **job))
    assert {call for call in play.calls if not call.startswith("GET")} == {
        "insert",
        "DELETE",
    }
    assert play.edits == {}


def test_a_misspelt_track_is_found_even_where_any_track_is_answered() -> None:
    """A track that is empty, is not listed, and has almost the name of a listed one is misspelt;
    one with releases is not.
    """
    with pytest.raises(ServiceError, match="has no track prodution"):
        Engine(Play()).run(release_job(artifact(2), tracks=("prodution",)))
    Engine(Play(prodution=[release(1)])).run(
        release_job(artifact(2), tracks=("prodution",))
    )


@pytest.mark.parametrize(
    ("track", "meant"),
    [
        ("prodution", "production"),
        ("Production", "production"),
        ("wear:Production", "wear:production"),
        ("Testers 2", "testers 2"),
        ("prod", "production"),
        ("wear:prod", "wear:production"),
        ("int", "internal"),
        ("wear/production", "wear:production"),
        ("wear-production", "wear:production"),
        ("Wear OS: beta", "wear:beta"),
        ("watch/internal", "wear:qa"),
        ("android-tv:production", "tv:production"),
        ("TV/prod", "tv:production"),
        ("android automotive/production", "automotive:production"),
        ("Closed testing - Alpha", "alpha"),
        ("Open testing \u2013 beta", "beta"),
        ("Closed testing - Testers 1", "testers 1"),
    ],
)
def test_the_track_that_was_probably_meant_is_named(track: str, meant: str) -> None:
    """Of the standard tracks, their form factors, and those that Play lists."""
    play = Play()
    play.closed_tracks = {"testers 1", "testers 2"}
    play.fail("GET tracks", refused(404, f"Track not found: {track}."), skip=1)
    with pytest.raises(ServiceError, match=f"has no track {track}") as caught:
        Engine(play).run(release_job(artifact(2), tracks=(track,)))
    assert f"`{meant}`" in caught.value.hint


@pytest.mark.parametrize(
    ("track", "form"),
    [
        ("wear", "wear"),
        ("Wear OS", "wear"),
        ("watches", "wear"),
        ("android-tv", "tv"),
        ("tv", "tv"),
        ("android_automotive", "automotive"),
        ("cars", "automotive"),
    ],
)
def test_a_form_factor_is_not_one_of_its_tracks(track: str, form: str) -> None:
    """Its tracks are named, and the prefixes of the others."""
    with pytest.raises(ReleaseRefused, match=f"has no track {track}") as caught:
        Engine(Play()).run(release_job(artifact(2), tracks=(track,)))
    names = ", ".join(
        f"`{form}:{name}`" for name in ("production", "beta", "alpha", "qa")
    )
    assert f"Write {names}" in caught.value.hint
    assert (
        "`wear:production`, `tv:production`, `automotive:production`"
        in caught.value.cause
    )


@pytest.mark.parametrize(
    "track", ["wear:qa", "tv-testers", "watch", "Closed testing - friends"]
)
def test_a_track_that_play_has_is_never_another(track: str) -> None:
    """Whatever it is called."""
    Engine(Play(**{track: [release(1)]})).run(release_job(artifact(2), tracks=(track,)))


def test_the_internal_track_of_a_form_factor_is_no_misspelling() -> None:
    """It may be used for the first time."""
    Engine(Play()).run(release_job(artifact(2), tracks=("wear:qa",)))


def test_a_name_like_the_console_s_is_told_where_play_has_no_such_track() -> None:
    """A closed track may have it."""
    play = Play()
    play.fail("GET tracks", refused(404, "Track not found: open-testing."), skip=1)
    with pytest.raises(ReleaseRefused, match="has no track open-testing") as caught:
        Engine(play).run(release_job(artifact(2), tracks=("open-testing",)))
    assert "open testing is `beta`" in caught.value.cause


@pytest.mark.parametrize("track", ["friends", "testers 3", "beta2"])
def test_a_track_that_play_answers_with_404_is_refused(track: str) -> None:
    """Nothing is uploaded for a track that is not there, the edit is deleted; the tracks that are
    there are told.
    """
    play = Play()
    play.fail("GET tracks", refused(404, f"Track not found: {track}."), skip=1)
    with pytest.raises(ReleaseRefused, match=f"has no track {track}") as caught:
        Engine(play).run(release_job(artifact(2), tracks=(track,)))
    assert "production, beta, alpha, internal" in caught.value.cause
    assert (play.uploads, play.edits) == ([], {})


def test_countries_need_a_release_in_progress() -> None:
    """A change says nothing of the status, so the track does."""
    play = Play(production=[release(4)])
    options = ReleaseOptions(countries=("DE",))
    with pytest.raises(ReleaseRefused, match="is not a staged rollout"):
        Engine(play).run(release_job(tracks=("production",), options=options))
    Engine(rolling := Play(production=[ROLLOUT])).run(
        release_job(tracks=("production",), options=options)
    )
    assert rolling.live.tracks["production"][0]["countryTargeting"]["countries"] == [
        "DE"
    ]


def test_a_rollout_of_some_countries_is_not_completed_in_whatever_order_its_versions_are() -> (
    None
):
    """`status: completed` with the versions retained the other way round is the same release."""
    countries = {"countries": ["DE"], "includeRestOfWorld": False}
    live = release(
        5, 6, status="inProgress", userFraction=0.2, countryTargeting=countries
    )
    job = release_job(
        retained=("6", "5"), tracks=("production",), options=ReleaseOptions("completed")
    )
    with pytest.raises(ReleaseRefused, match="is limited to countries: DE"):
        Engine(Play(production=[live])).run(job)


def test_a_retained_version_that_play_does_not_have_is_refused_before_the_upload() -> (
    None
):
    """One that only the lists of bundles and APKs have is known."""
    play = Play(internal=[release(1)])
    play.live.apks[3] = "digest of 3"
    with pytest.raises(ReleaseRefused, match="has no version 9 of this app"):
        Engine(play).run(release_job(artifact(5), retained=("1", "3", "9")))
    assert (play.uploads, play.edits) == ([], {})
    Engine(play).run(release_job(artifact(5), retained=("1", "3")))
    assert play.live.tracks["internal"] == [release(5, 1, 3)]


def test_in_a_shared_edit_the_track_is_read_again_after_the_upload() -> None:
    """Another job may have put its release there meanwhile, which must not be lost."""
    play = Play()
    play.open_edit()
    draft = release(7, status="draft")

    def other_job() -> None:
        play.edits["1"].bundles[7] = "digest of 7"
        play.edits["1"].tracks["internal"] = [draft]

    play.fail(
        "upload bundles",
        refused(409, "The object is being updated concurrently."),
        effect=other_job,
    )
    Engine(play).run(release_job(artifact(2), existing_edit="1"))
    assert play.live.tracks["internal"] == [release(2), draft]


@pytest.mark.parametrize(
    ("live", "warned"),
    [
        ([release(40, 44)], True),
        ([release(44, status="halted")], True),
        ([release(44, status="draft")], False),
        ([], False),
    ],
)
def test_a_version_that_goes_backwards_is_warned_about(
    live: list[dict[str, Any]], warned: bool
) -> None:
    """Google takes it, and who has the higher version gets no update."""
    engine = Engine(Play(internal=live))
    engine.run(release_job(artifact(42)))
    assert [("44" in text and "42 is lower" in text) for text in engine.warnings] == [
        True
    ] * warned


# --- what goes along ------------------------------------------------------------------------------


def test_a_track_has_its_own_notes_or_the_common_ones() -> None:
    """Testers read other news than everybody."""
    play = Play()
    notes = {None: (("en-US", "Everybody."),), "beta": (("en-US", "Testers."),)}
    Engine(play).run(release_job(artifact(2), tracks=("internal", "beta"), notes=notes))
    texts = {
        track: live[0]["releaseNotes"][0]["text"]
        for track, live in play.live.tracks.items()
    }
    assert texts == {"internal": "Everybody.", "beta": "Testers."}


def test_notes_are_copied_from_the_last_release_when_asked() -> None:
    """`whats-new-directory: last-release`: the new release says what the one before said."""
    notes = [{"language": "en-US", "text": "Bugs fixed."}]
    play = Play(internal=[release(1, releaseNotes=notes)])
    Engine(play).run(release_job(artifact(2), copy_notes=True))
    assert play.live.tracks["internal"] == [release(2, releaseNotes=notes)]


@pytest.mark.parametrize("live", [[], [release(1)]])
def test_notes_that_are_not_there_can_t_be_copied(live: list[dict[str, Any]]) -> None:
    """`last-release` on an empty track, or after a release without notes, is a warning."""
    engine = Engine(Play(internal=live))
    engine.run(release_job(artifact(2), copy_notes=True))
    assert engine.warnings == [
        "Track internal: there are no release notes to copy from the last release."
    ]


def test_a_new_release_is_named_after_the_tag() -> None:
    """A release without a name of its own gets the tag's; a change leaves the name alone."""
    play = Play(production=[ROLLOUT])
    Engine(play).run(release_job(artifact(6), default_name="v6"))
    Engine(play).run(
        release_job(
            tracks=("production",),
            options=ReleaseOptions("completed"),
            default_name="v6",
        )
    )
    assert play.live.tracks["internal"][0]["name"] == "v6"
    assert "name" not in play.live.tracks["production"][0]


@pytest.mark.parametrize(
    "release",
    [
        "5",
        {"versionCodes": ["7" * 5000]},
        {"versionCodes": ["seven"]},
        {"versionCodes": ["-7"]},
        {"versionCodes": [True, None]},
        {"versionCodes": "7"},
        {"versionCodes": ["7"], "userFraction": "0.1"},
        {"versionCodes": ["7"], "userFraction": float("nan")},
        {"versionCodes": ["7"], "userFraction": 1e9},
        {"versionCodes": ["7"], "status": ["completed"]},
        {"versionCodes": ["7"], "name": {"a": 1}},
    ],
    ids=lambda release: str(release)[:60],
)
def test_an_odd_release_is_an_error_of_the_protocol(release: object) -> None:
    """Nothing is decided by a version code, a fraction or a name that Google's documents do not
    know.
    """
    for response in ({"releases": [release]}, {"releases": release}, [release], None):
        with pytest.raises(ProtocolError):
            client.releases(response)


def test_numbers_and_nulls_are_taken_as_they_come() -> None:
    """A version code may come as a number, and a field that is null is one that is absent."""
    odd = {
        "versionCodes": [7, "8"],
        "userFraction": None,
        "name": None,
        "status": "completed",
    }
    assert client.releases({"releases": [odd]})[0].version_codes == ("7", "8")
