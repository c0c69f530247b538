"""Every order of two faults at every call of a release of three apps: all or none, nothing twice,
no untrue word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.support.fake_play import (
    Console,
    app_of,
    artifact,
    call_name,
    edit_of,
    release,
)
from tests.support.play_driver import Engine, Killed
from tests.support.play_faults import OTHERS, Fault, FaultyPlay
from tests.support.turns import Choose, by_turns, in_order, in_reverse
from uploader.errors import Interrupted, TemporaryError, UploaderError
from uploader.services.base import Call, Upload
from uploader.services.play.release import flow_of_several
from uploader.services.play.release_job import ReleaseJob

pytestmark = pytest.mark.slow

NAMES = tuple(f"com.example.{name}" for name in "abc")
JOBS = [
    ReleaseJob(
        name,
        (artifact(2, package=name, name=f"{name}.aab"),),
        ("internal",),
        apps_in_run=len(NAMES),
    )
    for name in NAMES
]
FAULTS = [
    one
    for one in OTHERS
    if one.again
    and ("no JSON" not in one.name)
    and not ("signal" in one.name and "after" in one.name)
]
RELEASED = [release(2)]
ORDERS = (by_turns, in_order, in_reverse)


class Apps(Console):
    """The apps, what went wrong at which call of all of them, and the rules: it raises where one is
    broken.
    """

    def __init__(self, apps: Mapping[str, FaultyPlay]) -> None:
        super().__init__(apps)
        self.plays = dict(apps)
        self.plan: dict[int, Fault] = {}
        self.calls: list[str] = []
        self.validated: set[str] = set()  # in this run
        self.commit_sent = False  # in this run

    def copy(self) -> Apps:
        """Those that go on by themselves, at the beginning of a run."""
        other = Apps({name: play.copy() for name, play in self.plays.items()})
        for play in other.plays.values():
            play.begin()
        return other

    @property
    def live(self) -> list[str]:
        """The apps whose release is on Google Play."""
        return [
            name
            for name, play in self.plays.items()
            if play.live.tracks.get("internal") == RELEASED
        ]

    def response(self, step: Call | Upload) -> Any:
        """The answer of an app, or what was planned for the call."""
        name, call = app_of(step), call_name(step)
        play = self.plays[name]
        fault = self.plan.pop(len(self.calls), None)
        if fault:
            play.plan[len(play.calls)] = fault
        self.calls.append(call)
        if call == "commit":
            self.commit_sent = True
            assert all(one in self.validated or one in self.live for one in NAMES), (
                "committed before all are validated"
            )
            assert set(NAMES[: NAMES.index(name)]) <= set(self.live), (
                "committed out of order, or after a failure"
            )
        if call == "DELETE" and self.commit_sent:
            held = play.edits.get(edit_of(step)[0])
            assert held is None or held.content == play.live.content, (
                "an edit that was to be kept is deleted"
            )
        if call == "upload bundles":
            held = play.edits.get(edit_of(step)[0])
            assert held is None or 2 not in held.bundles, "a file is sent twice"
        response = super().response(step)
        if call == "validate":
            self.validated.add(name)
        return response


@dataclass(frozen=True)
class Position:
    """Where the job stands between two runs; `choose` says which app goes on at each call."""

    apps: Apps
    journal: dict[str, str]
    choose: Choose


def run(
    start: Position, plan: Mapping[int, Fault]
) -> tuple[Position, Engine, BaseException | None]:
    """One run from a position, with the rules of its end."""
    apps, journal = start.apps.copy(), dict(start.journal)
    apps.plan = dict(plan)
    engine, failure = Engine(apps, journal, start.choose), None
    before = {name: len(play.commits) for name, play in apps.plays.items()}
    try:
        engine.drive(partial(flow_of_several, JOBS, NAMES))
    except (UploaderError, Killed) as caught:
        failure = caught
    for play in apps.plays.values():
        mine = [
            one for one in play.commits if one.before.tracks.get("internal") != RELEASED
        ]
        assert (
            len([one for one in mine if one.after.tracks.get("internal") == RELEASED])
            <= 1
        ), "committed twice"
    if not isinstance(failure, Killed):
        check_words(apps, engine, failure, before)
        if failure is not None:
            check_edits(apps, engine, failure, plan)
    return Position(apps, journal, start.choose), engine, failure


def check_words(
    apps: Apps, engine: Engine, failure: BaseException | None, before: Mapping[str, int]
) -> None:
    """What the outputs and the error say of each app is what became of it."""
    told = json.loads(engine.outputs["apps"])
    for name, play in apps.plays.items():
        if told[name]["committed"]:
            assert name in apps.live, "what is said to be committed is not"
        elif told[name]["committed"] is False:
            assert not any(
                one.after.tracks.get("internal") == RELEASED
                for one in play.commits[before[name] :]
            )
    committed = [name for name in NAMES if told[name]["committed"]]
    assert (engine.outputs["committed"] == "true") == (len(committed) == len(NAMES))
    if failure is None:
        assert len(committed) == len(NAMES)
        assert (engine.outputs["version-codes"], engine.ids) == (
            "2,2,2",
            ("2", "2", "2"),
        )
    elif isinstance(failure, UploaderError):
        said = re.search(r"(?:^|\. )Committed: ([\w., ]+?)\.(?: |$)", failure.hint)
        assert (said[1].split(", ") if said else []) == committed


def check_edits(
    apps: Apps, engine: Engine, failure: BaseException, plan: Mapping[int, Fault]
) -> None:
    """A refusal before the first commit leaves no edit, and one that is left open is told."""
    told = json.loads(engine.outputs["apps"])
    temporary = isinstance(failure, (TemporaryError, Interrupted))
    for name, play in apps.plays.items():
        ours = play.opened & play.edits.keys()
        if not apps.commit_sent and not temporary:
            excused = any(
                "signal" in fault.name or apps.calls[number] == "DELETE"
                for number, fault in plan.items()
            )
            assert not ours or excused, "a refusal leaves an edit behind"
        for edit in ours:
            assert told[name]["edit-id"] == edit or re.search(
                rf"Edit {edit} (could not be deleted|can't be found)", engine.log
            ), "an edit is kept in silence"


def ends_well(position: Position) -> None:
    """Runs the job again until it is through: three times at most, and then all is live."""
    for _ in range(3):
        position, _, failure = run(position, {})
        if failure is None:
            assert position.apps.live == list(NAMES)
            assert not any(job.memory in position.journal for job in JOBS)
            return
    raise AssertionError("the job does not come to its end")


class Walk:
    """All runs with two faults, while the apps go on in one order. `runs` counts them, `seen` are
    the positions between.
    """

    def __init__(self, choose: Choose) -> None:
        self.runs = 0
        self.seen: set[str] = set()
        self._choose = choose

    def explore(self) -> None:
        """Begin with every ninth fault: each order with others, so that together they begin with
        a third of all faults, at every call.
        """
        apps = Apps({name: FaultyPlay() for name in NAMES})
        start = Position(apps, {}, self._choose)
        calls, _ = self._follow(start, {})
        faults = list(_faults_at(calls))
        for number, fault in faults[ORDERS.index(self._choose) :: 3 * len(ORDERS)]:
            self._explore_after(start, number, fault)

    def _explore_after(self, start: Position, number: int, fault: Fault) -> None:
        """A second fault in the same run, or in the next one."""
        calls, after = self._follow(start, {number: fault})
        for later, second in _faults_at(calls, number + 1):
            self._follow(start, {number: fault, later: second})
        if after:
            next_calls, _ = self._follow(after, {})
            for later, second in _faults_at(next_calls):
                self._follow(after, {later: second})

    def _follow(
        self, position: Position, plan: dict[int, Fault]
    ) -> tuple[list[str], Position | None]:
        """The calls of a run, and where it leaves the job if it does not end well; from there it
        can be ended well.
        """
        self.runs += 1
        try:
            after, _, failure = run(position, plan)
            key = (
                f"{[play.position for play in after.apps.plays.values()]} "
                f"{sorted(after.journal.items())}"
            )
            if failure is not None and key not in self.seen:
                self.seen.add(key)
                ends_well(after)
                return after.apps.calls, after
        except Exception as error:
            faults = {number: fault.name for number, fault in plan.items()}
            raise AssertionError(f"{error!r} after {faults}") from error
        return after.apps.calls, None


def _faults_at(calls: list[str], begin: int = 0) -> Iterator[tuple[int, Fault]]:
    for number in range(begin, len(calls)):
        for fault in FAULTS:
            if fault.fits(calls[number]):
                yield number, fault


@pytest.mark.timeout(600)  # seconds; thousands of runs, and a machine may be busy
@pytest.mark.parametrize("choose", ORDERS)
def test_no_two_faults_lead_to_anything_that_must_not_be(choose: Choose) -> None:
    """The rules stand beside the model, which raises when one is broken; here it is seen that the
    walk was long.
    """
    walk = Walk(choose)
    walk.explore()
    assert walk.runs > 2_500
    assert len(walk.seen) > 150
