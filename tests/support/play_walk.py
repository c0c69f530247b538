"""Walks every course that one job can take: any fault at any call, then a second one anywhere in
what follows from it.

A job is run, killed or refused, and run again until it ends, on the model of Play. A position is
what Play and the journal hold between two runs: one that was seen before is not walked again, since
its future is the same. First faults that lead to the very same run (most refusals do) share what
follows: one of them is combined with second faults in it. Once its release is live, a person may
take it further or halt it between two runs; then it is run once more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.fake_play import Commit, Play, State, artifact
from tests.support.play_driver import Engine, Killed, release_job
from tests.support.play_faults import FIRST, NOT_PERMITTED, SECOND, Fault, FaultyPlay
from tests.support.turns import Choose, in_order
from uploader.errors import Interrupted, TemporaryError, UploaderError
from uploader.services.play.model import Release
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.release_words import in_words

MOST_REFUSALS = 2  # of one job, after each of which somebody starts it again
# What a person makes of a release in the Play Console, or another job of it.
HALTED: Mapping[str, Any] = {"status": "halted"}
WIDENED: Mapping[str, Any] = {"status": "inProgress", "userFraction": 0.5}
COMPLETED: Mapping[str, Any] = {"status": "completed"}


@dataclass(frozen=True)
class Shape:
    """A kind of job, the Play that it meets, and what people make of its release afterwards.

    `others` are jobs of other wishes that somebody may run after it has failed, before it is run
    again; `people` do something in the Play Console then, and return whether there was anything to
    do. So do the functions in `beside`, which change what the job asks for apart from its tracks.
    """

    job: ReleaseJob
    play: Callable[[], FaultyPlay] = FaultyPlay
    acts: tuple[Mapping[str, Any], ...] = ()
    others: tuple[ReleaseJob, ...] = ()
    people: tuple[Callable[[FaultyPlay], bool], ...] = ()
    beside: tuple[Callable[[FaultyPlay], bool], ...] = ()


NEXT_JOB = release_job(artifact(9), tracks=("alpha",))


def undisturbed(job: ReleaseJob, live: State, edits: Mapping[str, State]) -> Play:
    """Play after a run in which nothing goes wrong."""
    play = Play()
    play.live, play.edits = (
        live.copy(),
        {edit: state.copy() for edit, state in edits.items()},
    )
    Engine(play).run(job)
    return play


@dataclass(frozen=True)
class Position:
    """Where a job stands between two of its runs: what Play and the journal hold, and what may
    still go wrong.

    `refusals` counts the runs that ended for good and were started again by hand; `trail` tells
    people the way here. `acted` says that a person has changed the release.
    """

    play: FaultyPlay
    journal: dict[str, str]
    left: int
    refusals: int = 0
    trail: tuple[str, ...] = ()
    acted: bool = False

    @property
    def key(self) -> str:
        """All that the future depends on."""
        return (
            f"{self.play.position} {sorted(self.journal.items())} {self.refusals} {self.left} "
            f"{self.acted}"
        )


@dataclass
class Walk:
    """All courses of one shape. `runs` counts the runs that were followed, `positions` the
    different ones between. `choose` says in which order things are done that are done together.
    """

    shape: Shape
    choose: Choose = in_order
    runs: int = 0
    positions: set[str] = field(default_factory=set)
    _todo: list[Position] = field(default_factory=list)
    _clean: dict[str, Play] = field(default_factory=dict)

    def explore(self, faults: int = 2) -> None:
        """From every position each run without a fault, and with every fault at every call while
        there are any left.
        """
        self._reach(Position(self.shape.play(), {}, faults))
        while self._todo:
            self._run_on(self._todo.pop())

    def _reach(self, position: Position) -> None:
        """Has a position explored, unless that was done."""
        if position.key not in self.positions:
            self.positions.add(position.key)
            self._todo.append(position)

    def _run_on(self, start: Position) -> None:
        calls, _ = self._follow(start, {})
        distinct: dict[str, tuple[dict[int, Fault], list[str]]] = {}
        for number, fault in _planned(
            calls, 0, FIRST if start.left > 1 else SECOND if start.left else ()
        ):
            found, signature = self._follow(start, {number: fault})
            distinct.setdefault(signature, ({number: fault}, found))
        for plan, found in distinct.values() if start.left > 1 else ():
            for number, fault in _planned(found, max(plan) + 1, SECOND):
                self._follow(start, {**plan, number: fault})

    def _follow(self, start: Position, plan: dict[int, Fault]) -> tuple[list[str], str]:
        """One run from a position: what it called, and a text by which two runs are the same or
        not.
        """
        play, journal = start.play.copy(), dict(start.journal)
        play.plan = dict(plan)
        trail = (
            *start.trail,
            " and ".join(f"{number}: {fault.name}" for number, fault in plan.items())
            or "no fault",
        )
        try:
            failure = self._run(self.shape, play, journal)
            if not plan and not self.shape.job.existing_edit:
                assert failure is None, f"a run without faults ends with {failure!r}"
            if failure is not None:
                self._interrupted_by_other_jobs(play, journal)
                self._interrupted_by_people(play, journal)
                self._changed_beside_its_tracks(play, journal)
                self._on_another_machine(play)
        except Exception as error:
            raise AssertionError(f"{error!r} after {trail}: {play.calls}") from error
        refusals = start.refusals + (
            not isinstance(failure, (Killed, TemporaryError, Interrupted))
        )
        after = Position(
            play, journal, start.left - len(plan), refusals, trail, start.acted
        )
        if failure is not None and refusals <= MOST_REFUSALS:
            self._reach(after)
        if not start.acted:
            self._let_people_act(after)
        return play.calls, f"{play.calls} {type(failure)} {after.key}"

    def _let_people_act(self, after: Position) -> None:
        """A person takes the release further, or halts it, as soon as it is live; then the job is
        run again.
        """
        for act in self.shape.acts:
            play = after.play.copy()
            if act_on_release(play, self.shape.job, act):
                trail = (*after.trail, f"a person: {act}")
                self._reach(
                    Position(
                        play,
                        dict(after.journal),
                        min(after.left, 1),
                        after.refusals,
                        trail,
                        acted=True,
                    )
                )

    def _interrupted_by_other_jobs(
        self, play: FaultyPlay, journal: dict[str, str]
    ) -> None:
        """Another job finds the journal; then this one is run again."""
        for number, job in enumerate((NEXT_JOB, *self.shape.others)):
            key = f"{number} {play.position} {journal}"
            if key not in self.positions:
                self.positions.add(key)
                others, kept = play.copy(), dict(journal)
                failure = self._run(Shape(job), others, kept)
                assert failure is None or self._is_refused(Shape(job), others.live), (
                    f"another job ends with {failure!r}"
                )
                if job is not NEXT_JOB:
                    others.commits = []  # it may have to be done again
                self._run(self.shape, others, kept, knows=False)

    def _on_another_machine(self, play: FaultyPlay) -> None:
        """The job is run again without its journal, and once with a login that fails before
        anything is compared.
        """
        key = f"another machine {play.position}"
        if key not in self.positions and not self.shape.job.existing_edit:
            self.positions.add(key)
            for plan in ({}, {1: NOT_PERMITTED}):
                machine = play.copy()
                machine.plan = dict(plan)
                failure = self._run(self.shape, machine, {}, knows=False)
                assert bool(failure) == bool(plan)

    def _interrupted_by_people(self, play: FaultyPlay, journal: dict[str, str]) -> None:
        """Somebody changes what is live, and the job is run again: what it committed before is its
        part, and done.
        """
        for number, act in enumerate(self.shape.people):
            changed, kept = play.copy(), dict(journal)
            changed.begin()
            if act(changed):
                self.runs += 1
                engine, found = Engine(changed, kept), len(changed.commits)
                engine.run(self.shape.job)
                assert engine.outputs["committed"] == "true"
                assert len(changed.commits) <= 1, (
                    f"committed again after person {number}"
                )
                assert found == len(changed.commits) or self.shape.job.promote_from, (
                    "what has gone on was committed"
                )
                self._check_promoted(changed, journal)

    def _changed_beside_its_tracks(
        self, play: FaultyPlay, journal: dict[str, str]
    ) -> None:
        """The release is live, and somebody changes something else that the job asks for: the job
        is run again, and does not take a commit that wrote the track for one that did not happen.
        """
        record = json.loads(journal.get(self.shape.job.memory, "{}"))
        for act in self.shape.beside:
            changed, kept = play.copy(), dict(journal)
            changed.begin()
            if act(changed):
                self.runs += 1
                engine = Engine(changed, kept)
                engine.run(self.shape.job)
                assert engine.outputs["committed"] == "true"
                assert not (engine.why_discarded and record.get("wrote")), (
                    "what is live is told as lost"
                )
                assert "PUT tracks" not in changed.calls
                clean = self._undisturbed(self.shape, changed.live)
                assert clean.live.content == changed.live.content

    def _run(
        self,
        shape: Shape,
        play: FaultyPlay,
        journal: dict[str, str],
        *,
        knows: bool = True,
    ) -> BaseException | None:
        """Run the job once, and return what it raised. `knows` is false if another job's record has
        replaced that of the runs before.
        """
        self.runs += 1
        play.begin()
        commits, engine = len(play.commits), Engine(play, journal, self.choose)
        failure: BaseException | None = None
        headline = ""
        try:
            headline = engine.run(shape.job).headline
        except (UploaderError, Killed) as caught:
            failure = caught
        if not knows:
            play.commits = [
                one for one in play.commits if one.after.content != one.before.content
            ]
        self._check_commits(shape, play, commits)
        self._check_told(engine, play.commits[commits:])
        # What else was committed is not seen to be; and testers are written again whatever the edit
        # holds.
        if play.commits[commits:] and shape.job.tracks and not shape.job.testers:
            self._check_claimed(f"{engine.log}\n{headline}")
        self._check_edits(play, engine, failure)
        if not isinstance(failure, Killed):
            self._check_committed(shape, play, engine)
        if failure is None:
            self._check_success(shape, play, engine, journal)
            if knows and shape is self.shape:
                self._check_review(play, engine)
        return failure

    def _check_commits(self, shape: Shape, play: FaultyPlay, before: int) -> None:
        """Nothing is committed twice, or what the job does not ask for, or only a part of it."""
        for commit in play.commits[before:]:
            assert shape.job.commit
            assert not shape.job.dry_run, "a rehearsal was committed"
            clean = self._undisturbed(shape, commit.before)
            assert clean.commits, "what is live was committed again"
            assert commit.after.content == clean.live.content, (
                "something else was committed than what the job asks for"
            )
            self._check_gone_on(shape, commit)
        # A commit of files that go with a live version may be repeated: nothing shows that they are
        # there.
        mine = [
            one
            for one in play.commits
            if one.after.content != one.before.content
            and self._undisturbed(self.shape, one.before).live.content
            == one.after.content
        ]
        assert len(mine) <= 1, "committed twice"

    def _check_gone_on(self, shape: Shape, commit: Commit) -> None:
        """A release that people took further, or halted, stays on its track as it is."""
        asked = shape.job.options.fraction or 1.0
        for track in shape.job.tracks:
            for one in commit.before.tracks.get(track, []):
                reached = (
                    1.0
                    if one["status"] == "completed"
                    else one.get("userFraction", 0.0)
                )
                if _is_of(shape.job, one) and (
                    one["status"] == "halted" or reached > asked
                ):
                    assert one in commit.after.tracks[track], (
                        "a release that has gone on was taken back"
                    )

    def _check_told(self, engine: Engine, commits: list[Commit]) -> None:
        """What comes to a track was shown before it came, by this run or by those of other jobs in
        the edit.
        """
        told = "\n".join(line for shown in engine.shown for line in shown.lines)
        for commit in commits:
            for track, live in commit.after.tracks.items():
                if commit.before.tracks.get(track) != live:
                    assert f"Track {track}\n" in told or f" track {track}: " in told
                    releases = [Release(one) for one in live]
                    for release in releases:
                        codes = "+".join(release.version_codes)
                        words = in_words(release, releases)
                        assert re.search(
                            rf"\b{re.escape(codes)}(\)?[:,] | \(){re.escape(words)}",
                            told,
                        )

    def _check_claimed(self, told: str) -> None:
        """A run whose commit had its effect does not speak as if it had changed nothing, or others
        had.
        """
        for words in (
            "Nothing had to be changed",
            "nothing is committed\n",
            "on Google Play already.",
            "published it",
        ):
            assert words not in told, "what the run committed is told as if it had not"

    def _check_promoted(self, play: FaultyPlay, journal: dict[str, str]) -> None:
        """A promotion whose commit is in doubt stays with the versions that it was begun with."""
        job, record = (
            self.shape.job,
            json.loads(journal.get(self.shape.job.memory, "{}")),
        )
        if job.promote_from and (
            record.get("stage") == "committing" or record.get("commit") == "unknown"
        ):
            begun = self.shape.play().live.tracks[job.promote_from][0]["versionCodes"]
            assert play.live.tracks[job.tracks[0]][0]["versionCodes"] == begun, (
                "another version was promoted"
            )

    def _check_edits(
        self, play: FaultyPlay, engine: Engine, failure: BaseException | None
    ) -> None:
        """An edit of our own that is left open is told, and there is a reason for it."""
        told = engine.outputs.get("edit-id", "")
        play.named |= {told, *re.findall(r"[Ee]dit (\w+)", engine.log)}
        again = isinstance(failure, (Killed, TemporaryError, Interrupted))
        for edit in play.opened & play.edits.keys():
            assert edit in play.named, "an edit is kept in silence"
            if isinstance(failure, Killed) or re.search(
                rf"Edit {edit} (could not be deleted|can't be found)", engine.log
            ):
                continue
            assert told == edit, "an edit is kept in silence"
            # Otherwise it was committed in vain, or could not even be looked up, or is meant to be
            # left open.
            assert (
                again
                or failure is None
                or play.calls[-1] == "GET"
                or "commit" in play.calls
            ), "an edit is left behind"
        if again and told and not isinstance(failure, Killed):
            assert told not in play.deleted, (
                "a run that can be continued deleted its edit"
            )

    def _check_committed(self, shape: Shape, play: FaultyPlay, engine: Engine) -> None:
        """`committed` is never false while what is asked for is live, or may still come to be."""
        job = shape.job
        if (
            engine.outputs.get("committed") == "false"
            and job.commit
            and not job.dry_run
            and not job.existing_edit
        ):
            assert not play.under_way, (
                "what may still arrive is said not to be committed"
            )
            assert self._is_refused(shape, play.live) or (
                self._undisturbed(shape, play.live).live.content != play.live.content
            ), "what is live is said not to be committed"

    def _check_success(
        self, shape: Shape, play: FaultyPlay, engine: Engine, journal: dict[str, str]
    ) -> None:
        """Success is said only if everything is where it should be."""
        job = shape.job
        assert not (play.announced and job.not_sent_for_review == "false"), (
            "what no commit can answer was not final"
        )
        assert engine.outputs["committed"] == (
            "true" if job.commit and not job.dry_run else "false"
        )
        if job.existing_edit or not (job.commit or job.dry_run):
            edit = engine.outputs["edit-id"]
            self._check_shared_success(shape, play, edit)
        elif job.commit:
            assert (
                self._undisturbed(shape, play.live).live.content == play.live.content
            ), "what is said to be live is not"
        if not job.existing_edit:
            assert job.memory not in journal, (
                "a job that is done is still in the journal"
            )

    def _check_review(self, play: FaultyPlay, engine: Engine) -> None:
        """Who has to send for review what this run or an earlier one committed is told, however
        that became known.
        """
        for commit in play.commits[-1:]:
            if commit.query.get("changesNotSentForReview") and self.shape.job.commits:
                assert engine.outputs["sent-for-review"] == "false", (
                    "nobody is told to send it for review"
                )
                assert "send it for review in the Play Console" in engine.log

    def _check_shared_success(self, shape: Shape, play: FaultyPlay, edit: str) -> None:
        start = shape.play()
        clean = self._undisturbed(shape, start.live)
        if shape.job.commit:
            committed = (*play.taken, *(one.after for one in play.commits))
            assert clean.live.content in (
                play.live.content,
                *(one.content for one in committed),
            )
        else:
            clean = self._undisturbed(shape, play.live)
            assert [state.content for state in clean.edits.values()] == [
                play.edits[edit].content
            ]

    def _is_refused(self, shape: Shape, live: State) -> bool:
        """Whether the job can't be done where this is live, even if nothing goes wrong."""
        try:
            self._undisturbed(shape, live)
        except UploaderError:
            return True
        return False

    def _undisturbed(self, shape: Shape, live: State) -> Play:
        key = f"{shape.job} {live.content}"
        if key not in self._clean:
            edits = shape.play().edits if shape.job.existing_edit else {}
            self._clean[key] = undisturbed(shape.job, live, edits)
        return self._clean[key]


def act_on_release(play: FaultyPlay, job: ReleaseJob, act: Mapping[str, Any]) -> bool:
    """Changes the job's release where it is live, as a person does in the Play Console; says
    whether it was there.
    """
    live, acted = play.live.copy(), False
    for track in job.tracks:
        for number, one in enumerate(live.tracks.get(track, [])):
            if _is_of(job, one) and not act.items() <= one.items():
                fraction = (
                    {"userFraction": one["userFraction"]}
                    if "userFraction" in one
                    else {}
                )
                kept = fraction if act["status"] == "halted" else {}
                live.tracks[track][number] = {
                    "versionCodes": one["versionCodes"],
                    **kept,
                    **act,
                }
                acted = True
    if acted:
        play.live = live
        play.close_edits(
            "A change was made to the application outside of this Edit, please create a new edit."
        )
    return acted


def _is_of(job: ReleaseJob, release: Mapping[str, Any]) -> bool:
    """Whether a release has the version codes of the job; a promotion of the walk takes version
    2.
    """
    return set(job.codes or ("2",)) == set(release["versionCodes"])


def _planned(
    calls: list[str], start: int, faults: tuple[Fault, ...]
) -> Iterator[tuple[int, Fault]]:
    for number in range(start, len(calls)):
        for fault in faults:
            if fault.fits(calls[number]):
                yield number, fault
