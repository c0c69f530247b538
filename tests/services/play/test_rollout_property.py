"""Any rollout between any people: shares never fall, a halt is never undone, nothing else on the
app changes.

Hypothesis plays the people, the crash rates, the reviews, the faults of the network and the kills;
the rules are checked at every commit that the program made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_play import Commit, release
from tests.support.play_driver import Killed
from tests.support.play_faults import OTHERS, Fault
from tests.support.rollout_console import CRASHES, Console, RolloutEngine, rollout_job
from uploader.errors import Interrupted, TemporaryError, UploaderError

pytestmark = pytest.mark.slow

SHARES = (0.01, 0.05, 0.2, 0.5)
TRACK = "production"
Releases = list[dict[str, Any]]


def staged(releases: Releases) -> dict[str, Any] | None:
    """The release that is rolled out, or was until it was halted."""
    return next(
        (one for one in releases if one["status"] in ("inProgress", "halted")), None
    )


def raised(play: Console, share: float) -> None:
    """Somebody gives the release to another share of the users."""
    rollout = staged(play.track())
    if rollout:
        changed = {**rollout, "status": "inProgress", "userFraction": share}
        play.change(
            TRACK, *(changed if one is rollout else one for one in play.track())
        )


def stopped(play: Console, share: float) -> None:
    """Somebody halts it."""
    rollout = staged(play.track())
    if rollout:
        changed = {
            **rollout,
            "status": "halted",
            "userFraction": rollout.get("userFraction", share),
        }
        play.change(
            TRACK, *(changed if one is rollout else one for one in play.track())
        )


def released(play: Console, share: float) -> None:
    """Somebody begins to roll out the next version."""
    code = (
        max(
            (int(code) for one in play.track() for code in one["versionCodes"]),
            default=40,
        )
        + 1
    )
    kept = [one for one in play.track() if one["status"] in ("completed", "draft")]
    name = {
        "name": f"{code}",
        "releaseNotes": [{"language": "de-DE", "text": f"{code}"}],
        "inAppUpdatePriority": code % 6,
    }
    play.change(
        TRACK, release(code, status="inProgress", userFraction=share, **name), *kept
    )


def completed(play: Console, share: float) -> None:
    """Somebody gives it to everybody."""
    del share
    rollout = staged(play.track())
    if rollout:
        done = {key: value for key, value in rollout.items() if key != "userFraction"}
        drafts = [one for one in play.track() if one["status"] == "draft"]
        play.change(TRACK, {**done, "status": "completed"}, *drafts)


def drafted(play: Console, share: float) -> None:
    """Somebody prepares a release, and another one elsewhere."""
    rest = [one for one in play.track() if one["status"] != "draft"]
    play.change(
        TRACK, *rest, release(900 + round(share * 100), status="draft", name="next")
    )
    play.change("beta", release(800 + round(share * 100)))


def measured(play: Console, share: float) -> None:
    """Crash rates and users as the share has it: good, doubtful, bad, or too few."""
    rate = {0.01: 0.001, 0.05: 0.0115, 0.2: 0.2, 0.5: 0.0}[share]
    play.rates = {code: rate for one in play.track() for code in one["versionCodes"]}
    play.users = 50 if share == 0.5 else 5000


def reviewed(play: Console, share: float) -> None:
    """Reviews go on."""
    state = {
        0.01: "PUBLISHED",
        0.05: "IN_REVIEW",
        0.2: "NOT_APPROVED",
        0.5: "PUBLISHED",
    }[share]
    play.reviews = {code: state for one in play.track() for code in one["versionCodes"]}


PEOPLE: list[Callable[[Console, float], None]] = [
    raised,
    stopped,
    released,
    completed,
    drafted,
    measured,
    reviewed,
]
DEEDS = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(SHARES))
FAULTS = st.none() | st.tuples(st.integers(0, 12), st.sampled_from(OTHERS))
RUNS = st.tuples(FAULTS, st.booleans(), st.booleans())
COURSES = st.lists(st.tuples(st.lists(DEEDS, max_size=2), RUNS), min_size=1, max_size=6)


@given(COURSES)
def test_no_course_of_events_makes_a_rollout_do_what_it_must_not(
    course: list[tuple[list[Any], tuple[tuple[int, Fault] | None, bool, bool]]],
) -> None:
    """Every commit of every run is one step up, a completion, or a halt, of the release in progress
    and of it alone.
    """
    play = Console(
        production=[release(42, status="inProgress", userFraction=0.01), release(41)]
    )
    journal: dict[str, str] = {}
    for deeds, (fault, gated, dry_run) in course:
        for deed, share in deeds:
            deed(play, share)
        run(play, journal, fault, gated=gated, dry_run=dry_run)


def run(
    play: Console,
    journal: dict[str, str],
    fault: tuple[int, Fault] | None,
    *,
    gated: bool,
    dry_run: bool,
) -> None:
    """One run with at most one fault, and a plain re-run after one that was killed or spent its
    retries.
    """
    play.begin()
    play.plan = dict([fault] if fault else [])
    commits, job = (
        len(play.commits),
        rollout_job(CRASHES if gated else "", dry_run=dry_run),
    )
    try:
        RolloutEngine(play, journal).look(job)
    except (Killed, TemporaryError, Interrupted):
        play.begin()
        with suppress(UploaderError):
            RolloutEngine(play, journal).look(job)
    except UploaderError:
        pass
    play.plan = {}
    made = play.commits[commits:]
    assert not (dry_run and made)
    assert len(made) <= 1, "two steps"
    for commit in made:
        check(commit, gated=gated)


def check(commit: Commit, *, gated: bool) -> None:
    """What a commit of the program may change."""
    before, after = commit.before, commit.after
    assert {**before.tracks, TRACK: None} == {**after.tracks, TRACK: None}
    was = next(one for one in before.tracks[TRACK] if one["status"] == "inProgress")
    now = next(
        one for one in after.tracks[TRACK] if one["versionCodes"] == was["versionCodes"]
    )
    shown = {
        key: value
        for key, value in was.items()
        if key not in ("status", "userFraction")
    }
    assert shown == {
        key: value
        for key, value in now.items()
        if key not in ("status", "userFraction")
    }
    if now["status"] == "halted":
        assert gated
        assert now["userFraction"] == was["userFraction"]
    elif now["status"] == "inProgress":
        assert now["userFraction"] == min(
            share for share in SHARES if share > was["userFraction"]
        )
    else:
        assert (now["status"], was["userFraction"]) == ("completed", SHARES[-1])
    gone = ("completed",) if now["status"] == "completed" else ()
    assert [one for one in after.tracks[TRACK] if one is not now and one != now] == [
        one for one in before.tracks[TRACK] if one != was and one["status"] not in gone
    ]
