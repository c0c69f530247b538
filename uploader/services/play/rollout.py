"""The target `play-rollout`: takes the release in progress one step further, holds it, or halts it;
made for schedules.

A run looks once and makes one step at most. What the step is, is decided (`decide`) inside the
edit, from what the track holds there, and again in every edit that replaces one. A share never
falls, and what was halted, by whomever, is never resumed. That a step was made since the first
look, by this job or by another, shows in the release itself: then this run makes none. The journal
has the first look of a run that was killed, and why it halted, so the run after it knows as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from uploader.errors import (
    ApiError,
    Interrupted,
    OutcomeUnknown,
    Problems,
    ReleaseRefused,
    ReleaseTrouble,
    ServiceError,
    Stopped,
    TemporaryError,
    UploaderError,
)
from uploader.files.artifacts import Artifacts
from uploader.inputs.parsers import Metric
from uploader.inputs.records import RolloutInputs
from uploader.services import batch
from uploader.services.base import Context, Heading, Outcome, Prepared
from uploader.services.play import (
    SCOPE,
    gate,
    release_words,
    review,
    status,
    track_merge,
)
from uploader.services.play.client import CONSOLE
from uploader.services.play.edit_lifecycle import (
    CommitKnowledge,
    Event,
    ReleaseEdit,
    discard,
    opened,
    perhaps_committed,
    settle,
)
from uploader.services.play.known_errors import explained
from uploader.services.play.model import (
    Release,
    Releases,
    all_version_codes,
    having_status,
    is_same_share,
    is_smaller_share,
    version_code_outputs,
)
from uploader.services.play.plan import Changes, lines, plan_output
from uploader.services.play.publish import committed, told_review
from uploader.services.play.release import in_an_edit
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.status import ReviewedRelease
from uploader.services.play.summary_facts import PLANNED, section
from uploader.services.play.tracks import current_releases
from uploader.text import capitalised

_SIGNALS = (
    Interrupted,
    Stopped,
)  # which end the work that they reach, and tell nothing else
Kind = Literal["stepped", "completed", "held", "halted", "nothing"]


@dataclass(frozen=True)
class RolloutJob:
    """One look at a rollout: the shares that it goes through, ascending, and the gate before each
    step.
    """

    release: ReleaseJob
    shares: tuple[float, ...]
    gate: gate.Gate


@dataclass(frozen=True)
class Decision:
    """What a run decides after looking. `release` is what the release becomes, None where it stays
    as it is.

    `trouble` ends the run as an error does. `made` is the release that is live by a commit of this
    job whose response was lost. `in_doubt` says that it went further since, so that nobody knows
    whether that commit happened. `brief` is `why` in a few words, where the release is named before
    them. `by_hand` says that a person has to send the step for review.
    """

    kind: Kind
    why: str
    release: Release | None = None
    trouble: Literal["", "rejected", "halted"] = ""
    made: Release | None = None
    in_doubt: bool = False
    brief: str = ""
    by_hand: bool = False


@dataclass(frozen=True)
class EarlierWork:
    """What a job has made of the rollout before its present look.

    `step` is the release where it has reached more users since the first look, and `ours` says that
    it can be the step that this job sent, whose answer was lost. `halt` is the release where it is
    halted as this job was to halt it, and `halting` why. `in_doubt` says that the answer to a
    commit of this job was lost.
    """

    step: Release | None = None
    ours: bool = False
    halt: Release | None = None
    halting: str = ""
    in_doubt: bool = False


@dataclass(frozen=True)
class FirstLook:
    """The release in progress as the first edit of a job had it: a step since then shows in it."""

    version_codes: tuple[str, ...]
    share: float


@dataclass
class LookAhead:
    """What is known of a rollout without an edit.

    `reviews` are the releases of the track with the states of their reviews, or why these are not
    known. `measured` is what `gate.measure` returns.
    """

    reviews: tuple[review.Listed, ...] | str = ()
    measured: Mapping[Metric, gate.Answer] = field(default_factory=dict)


def recalled_look(text: str) -> FirstLook | None:
    """The first look of a killed run that `text` holds; what can't be read is none."""
    try:
        codes, share, *_ = json.loads(text)
        return FirstLook(tuple(map(str, codes)), float(share))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def recalled_halt(text: str) -> str:
    """Why the killed run, whose first look `text` holds, was about to halt the release; empty where
    it was not.
    """
    with suppress(ValueError, TypeError, RecursionError):
        _, _, why = json.loads(text)
        return str(why)
    return ""


def halt_made(edit: ReleaseEdit, track: str, releases: Releases) -> Release | None:
    """The release that the edit before this one was to halt, if it is halted."""
    before = edit.record.before.get(track, ())
    wrote = edit.record.wrote.get(track, ())
    for halted in having_status(wrote, "halted"):
        if halted in before:
            continue
        for release in having_status(releases, "halted"):
            if release.has_same_versions(halted):
                return release
    return None


def step_since(first: FirstLook, releases: Releases) -> Release | None:
    """The release of the first look, if it has reached more users since."""
    for release in releases:
        if not release.has_versions(first.version_codes):
            continue
        if release.status == "completed":
            return release
        reached = release.user_fraction or 0.0
        if release.status == "inProgress" and is_smaller_share(first.share, reached):
            return release
    return None


def prepare(inputs: RolloutInputs, files: Artifacts) -> Prepared:
    """Checks the inputs. Raises InputError with every problem."""
    problems = Problems()
    package = _check(inputs, files, problems)
    problems.raise_if_any()
    release = ReleaseJob(
        package=package,
        tracks=inputs.tracks,
        dry_run=inputs.common.dry_run,
        rehearsal=inputs.common.rehearsal,
        rollout=True,
        not_sent_for_review=inputs.changes_not_sent_for_review,
        cancel_review=inputs.changes_in_review == "cancel",
        lasting_state=inputs.lasting_state,
    )
    held_to = gate.Gate(
        inputs.halt_above,
        inputs.gate == "halt",
        inputs.gate_min_users,
        inputs.gate_period,
        inputs.gate_max_age,
    )
    job = RolloutJob(release, inputs.rollout_steps, held_to)
    scopes = [SCOPE]
    if held_to.limits:
        scopes.append(gate.SCOPE)
    unsettled = partial(perhaps_committed, (release,))
    return Prepared(
        _steps(job),
        tuple(scopes),
        partial(flow, job),
        apps={package: ()},
        unsettled=unsettled,
    )


def _check(inputs: RolloutInputs, files: Artifacts, problems: Problems) -> str:
    """Add what is wrong about the inputs to the problems, and return the package name."""
    if files:
        problems.add("files", "a rollout sends no files.", "no files")
    package = batch.one_app(inputs.package_name, problems)
    batch.require(problems, package_name=package, rollout_steps=inputs.rollout_steps)
    if inputs.existing_edit_id:
        problems.add(
            "existing-edit-id",
            "a rollout is decided by what is live, in an edit of its own.",
            "no edit",
        )
    if not inputs.commit:
        problems.add(
            "commit",
            "what is not committed has no effect.",
            "`dry-run: true` to see what would be done",
        )
    decided = (
        ("status", inputs.status),
        ("user-fraction", inputs.user_fraction),
        ("wait-for", inputs.wait_for),
    )
    for name, unwanted in decided:
        if unwanted:
            problems.add(
                name,
                "`rollout-steps` and what is on the track decide this for a rollout.",
                "nothing",
            )
    if len(inputs.tracks) != 1:
        given = len(inputs.tracks) or "none"
        problems.add(
            "tracks",
            f"exactly one is needed for this target, {given} given.",
            "one, such as `production`",
        )
    return package


def _steps(job: RolloutJob) -> tuple[str, ...]:
    """Return what a run does, a step a line."""
    release = job.release
    steps = [
        f"open an edit for {release.package}",
        f"look at the release in progress on track {release.tracks[0]}",
    ]
    if job.gate.limits:
        above = " or ".join(map(str, job.gate.limits))
        what = f"warn if it is above {above}, and go on"
        if job.gate.halts:
            what = f"halt it if it is above {above}"
        steps.append(f"ask Google how it is doing, and {what}")
    shares = ", ".join(f"{share * 100:g} %" for share in job.shares)
    if release.dry_run:
        steps.append(f"decide the next of {shares}, and change nothing")
    else:
        steps.append(f"take it to the next of {shares}")
    return tuple(steps)


def in_progress(releases: Iterable[Release]) -> Release | None:
    """The release that is being rolled out."""
    rollouts = having_status(releases, "inProgress")
    if not rollouts:
        return None
    return rollouts[0]


def require_one(track: str, releases: Releases) -> None:
    """Raises ReleaseRefused where several are being rolled out: nobody has said which one is
    meant.
    """
    rollouts = having_status(releases, "inProgress")
    if len(rollouts) > 1:
        versions = ", ".join(map(_version, rollouts))
        raise ReleaseRefused(
            f"{len(rollouts)} releases are in progress on track {track}: {versions}.",
            cause="`play-rollout` takes one release further, and can't tell which of them is "
            "meant.",
            hint=f"Halt or complete the others in the Play Console, then run again: {CONSOLE}",
            code="rollout-in-progress",
        )


def decide(
    job: RolloutJob, live: Releases, state: str | None, judgement: gate.Judgement
) -> Decision:
    """What is to be done about what is live, by the state of the review (None where it could not be
    looked up): a step, nothing, to hold still, or to halt.
    """
    release = in_progress(live)
    if release is None:
        return _decide_without_rollout(live)
    if judgement.ruling == "halt" and job.gate.halts:
        halted = release.with_status("halted")
        return Decision(
            "halted", judgement.why, halted, trouble="halted", brief=judgement.brief
        )
    unreviewed = _decide_by_review(release, state)
    if unreviewed:
        return unreviewed
    if judgement.ruling != "pass" and job.gate.halts:
        name = release_words.named(release)
        share = release_words.share(release)
        stays = f"{name} stays at {share}" if share else f"{name} stays as it is"
        return Decision("held", f"{stays}: {judgement.why}", brief=judgement.brief)
    if release.user_fraction is None:
        why = f"Google Play does not say how many users {_version(release)} is for"
        return Decision(
            "held", why, brief="Google Play does not say how many users it is for"
        )
    return _decide_next_step(job, release, release.user_fraction)


def _decide_without_rollout(live: Releases) -> Decision:
    """Return what is to be said of a track without a release in progress: trouble for one that is
    halted, unless everybody has got a later one since.
    """
    latest = -1
    for release in having_status(live, "completed"):
        latest = max(latest, release.highest_version_code)
    for release in having_status(live, "halted"):
        if release.highest_version_code > latest:
            return Decision("halted", _version(release), trouble="halted")
    return Decision("nothing", "nothing is in progress")


def _decide_by_review(release: Release, state: str | None) -> Decision | None:
    """Return why a release is held that the review has not let through; None where it has."""
    name = _version(release)
    if state == review.PUBLISHED:
        return None
    if state == review.REJECTED:
        why = f"the review rejected {name}"
        return Decision("held", why, trouble="rejected", brief="the review rejected it")
    words = "of unknown state"
    if state is not None:
        words = review.words(state)
    return Decision("held", f"{name} is {words}", brief=f"it is {words}")


def _decide_next_step(job: RolloutJob, release: Release, share: float) -> Decision:
    """Return the step to the smallest share that is larger than the one that the release has."""
    name = release_words.named(release)
    larger = [step for step in job.shares if is_smaller_share(share, step)]
    if not larger:
        why = f"{_version(release)} has reached the last of `rollout-steps`"
        return Decision("nothing", why)
    following = larger[0]
    before = release_words.share(release)
    if following < 1:
        step = release.with_user_fraction(following)
        why = f"{name} goes from {before} to {following * 100:g} %"
        return Decision("stepped", why, step)
    if release.targets_countries:
        what = (
            "is limited to some countries, and completing it would release it in all countries: "
            "that is left to you"
        )
        brief = "it is limited to some countries"
        return Decision("held", f"{_version(release)} {what}: {CONSOLE}", brief=brief)
    done = release.without_user_fraction().with_status("completed")
    return Decision("completed", f"{name} goes from {before} to all users", done)


def _share_of_all(release: Release) -> float:
    """Return the share of users who get a release: all where it names none."""
    if release.user_fraction is None:
        return 1.0
    return release.user_fraction


def _version(release: Release) -> str:
    """A release by its name, its version codes and its share: `1.4.2 (42) at 5 %`."""
    share = release_words.share(release)
    if share:
        return f"{release_words.named(release)} at {share}"
    return release_words.named(release)


def flow(job: RolloutJob, context: Context) -> Outcome:
    """One look, and at most one step; every refusal leaves with its cause and its remedy."""
    rollout = Rollout(job, context)
    try:
        return in_an_edit(rollout.begin(), rollout.work)
    except ApiError as refused:
        raise rollout.failed(explained(refused)) from None
    except UploaderError as error:
        raise rollout.failed(error) from None


class Rollout:
    """The work of one run, in as many edits as it takes."""

    def __init__(self, job: RolloutJob, context: Context) -> None:
        self._rollout = job
        self._context = context
        self._job = job.release
        self._track = job.release.tracks[0]
        self._first: FirstLook | None = None
        self._edit: ReleaseEdit | None = None  # in which it is decided
        # the release as this run wrote it last; None in a run after a kill
        self._sent: Release | None = None
        self._halting = ""  # why it has to be halted, until it is
        # what was looked up while the first edit was opened, or why that failed
        self._ahead: LookAhead | UploaderError | None = None

    def begin(self) -> ReleaseEdit:
        """Open the edit and read its track, and look at the same time at what does not need an
        edit.

        Only a signal, or what keeps the edit from being opened, is raised here. What else goes
        wrong is raised by `work`, which asks again or may need no answer, and where it is decided
        what becomes of the edit.
        """
        edits: list[ReleaseEdit] = []

        def open_edit() -> None:
            edit = opened(self._job, self._context)
            edits.append(edit)
            try:
                current_releases(edit, self._track)
            except _SIGNALS:
                raise
            except UploaderError:
                pass  # `work` reads the track again

        try:
            self._context.together([open_edit, self._look_ahead])
        except Interrupted as signal:
            for edit in edits:
                self._edit = edit
                settle(edit, signal)
            raise
        return edits[0]

    def _look_ahead(self) -> None:
        """Look at what does not need an edit, and keep a failure for `work`.

        A signal is no answer, and is raised at once.
        """
        try:
            self._ahead = self._look_outside()
        except _SIGNALS:
            raise
        except UploaderError as error:
            self._ahead = error

    def failed(self, error: UploaderError) -> UploaderError:
        """Return the error with which the run ends.

        It says first that a halt has not happened where there should be one. Where a step may have
        been made, and the next run would not know of it, that run would make one more: so this one
        is no failure after which it does no harm to run again.
        """
        in_doubt = self._edit is not None and self._edit.state.in_doubt
        if self._halting:
            how = "is NOT"
            if in_doubt:
                how = "may not be"
            where = f"The rollout of {self._job.package} on {self._track}"
            what = f"{where} {how} halted, though it must be: {self._halting}. {error.what}"
            advice = f"Until a run succeeds, halt it in the Play Console: {CONSOLE}"
            return error.with_what(what).with_advice(also=advice)
        if not in_doubt or self._job.lasting_state:
            return error
        look = (
            "Look in the Play Console before you run again: a run that does not find the state of "
            f"this one would take one more step. {CONSOLE}"
        )
        if isinstance(error, TemporaryError):
            return OutcomeUnknown(error.what, cause=error.cause, hint=look)
        if isinstance(error, Interrupted):
            return error.with_advice(hint=look)
        return error

    def work(self, edit: ReleaseEdit) -> Outcome:
        """Look, decide, and make the decision true."""
        self._edit = edit
        track = self._track
        now = current_releases(edit, track)
        live = edit.base(track, now)
        require_one(track, live)
        earlier = self._look_for_earlier_work(edit, live)
        state, judgement = self._look(live)
        decision = decide(self._rollout, live, state, judgement)
        self._halting = ""
        decision = self._after_earlier_work(edit, earlier, decision)
        after = live
        if decision.release is not None:
            after = track_merge.merged(
                track, live, decision.release, replace_rollout=False
            )
        change = track_merge.TrackChange(track, live, after, now=now)
        changes = Changes(self._job, (change,))
        if decision.release is None or self._job.dry_run:
            self._tell(edit, decision, changes)
            discard(edit)
        else:
            decision = self._carry_out(edit, decision, changes)
        return self._outcome(state, judgement, decision, changes)

    def _look_for_earlier_work(self, edit: ReleaseEdit, live: Releases) -> EarlierWork:
        """Find out what this job has made before: in this run, or in one that was killed."""
        note = edit.changes.get(f"track:{self._track}", "")
        first = self._first or recalled_look(note)
        halting = self._halting or recalled_halt(note)
        step = None
        if first:
            step = step_since(first, live)
        in_doubt = edit.state.commit is CommitKnowledge.UNKNOWN
        if not in_doubt:
            return EarlierWork(step, halting=halting)
        ours = step is not None and self._is_ours(edit, step)
        halt = halt_made(edit, self._track, live)
        if ours or halt:
            edit.apply(Event.SEEN_LIVE)
        else:
            edit.apply(Event.NOT_SEEN)
        return EarlierWork(step, ours, halt, halting, in_doubt=True)

    def _after_earlier_work(
        self, edit: ReleaseEdit, earlier: EarlierWork, decision: Decision
    ) -> Decision:
        """Return the decision, or what was made of it before."""
        if earlier.halt:
            reason = earlier.halting or _version(earlier.halt)
            why = f"{reason}; the answer to this job's commit was lost, and it is committed"
            return Decision("halted", why, trouble="halted", made=earlier.halt)
        step = earlier.step
        if step is None or decision.kind == "halted":  # a halt is never put off
            return decision
        if earlier.ours:
            kind: Kind = "stepped"
            if step.status == "completed":
                kind = "completed"
            why = f"the step that was under way is live: {release_words.in_words(step)}"
            return Decision(kind, why, made=step)
        who = "another run, or someone in the Play Console, changed it"
        in_doubt = earlier.in_doubt and not edit.previous.overtaken
        why = f"{who}: {release_words.in_words(step)}"
        return Decision(
            "held", why, in_doubt=in_doubt, brief="it was changed in the meantime"
        )

    def _is_ours(self, edit: ReleaseEdit, made: Release) -> bool:
        """Whether a step that is live can be the one that this job sent, and whose answer was lost.

        What was sent is known from this run, or from the record of the one before.
        """
        if edit.previous.overtaken:
            return False
        sent = self._sent
        if sent is None:
            wrote = edit.record.wrote.get(self._track)
            if not wrote:
                return False
            sent = wrote[0]
        same_share = is_same_share(_share_of_all(made), _share_of_all(sent))
        return made.status == sent.status and same_share

    def _look(self, live: Releases) -> tuple[str | None, gate.Judgement]:
        """Return how far the review of the rollout is, None where that could not be looked up, and
        the gate's judgement.
        """
        release = in_progress(live)
        if release is None:
            return "", gate.Judgement("pass")
        codes = release.version_codes
        self._first = FirstLook(codes, release.user_fraction or 0.0)
        outside = self._ahead or self._look_outside()
        self._ahead = None
        if isinstance(outside, UploaderError):
            raise outside
        state: str | None = None
        if isinstance(outside.reviews, str):
            why = outside.reviews
            self._context.warning(
                f"The state of the review could not be looked up: {why}"
            )
        else:
            state = review.state_of(outside.reviews, codes)
        return state, self._judge(outside, codes, live)

    def _judge(
        self, outside: LookAhead, codes: tuple[str, ...], live: Releases
    ) -> gate.Judgement:
        """Return the gate's judgement over the release of these version codes, and tell of it."""
        limits = self._rollout.gate
        # The gate compares what is new in the release with what everybody has. A version that it
        # retains is measured among all of them.
        everybody = set(all_version_codes(having_status(live, "completed")))
        staged = set(codes) - everybody or set(codes)
        now = self._context.now()
        judgement = gate.judge(
            limits, now, outside.measured, staged, everybody - staged
        )
        for line in gate.section(judgement.judged).lines():
            self._context.info(line)
        if judgement.ruling != "pass" and not limits.halts:
            self._context.warning(f"The gate only reports: {judgement.why}.")
        return judgement

    def _look_outside(self) -> LookAhead:
        """Find out what does not need an edit: how far the reviews are, and what was measured."""
        found = LookAhead()

        def read_reviews() -> None:
            try:
                found.reviews = review.listed(
                    self._context, self._job.package, self._track
                )
            except (ServiceError, TemporaryError) as error:
                found.reviews = error.what

        def measure() -> None:
            found.measured = gate.measure(
                self._context, self._job.package, self._rollout.gate
            )

        self._context.together([read_reviews, measure])
        return found

    def _carry_out(
        self, edit: ReleaseEdit, decision: Decision, changes: Changes
    ) -> Decision:
        """Write the release to the track and commit.

        Returns the decision, which says as well what is left to be done by hand.
        """
        if decision.kind == "halted":
            self._halting = decision.why
        self._context.show(f"Changes: {self._job.package}", lines(changes))
        (change,) = changes.tracks
        self._sent = change.after[0]
        track_merge.put(edit, change, self._note())
        left = committed(edit)
        self._halting = ""
        if left:
            return replace(decision, why=f"{decision.why}; {left}", by_hand=True)
        return decision

    def _note(self) -> str:
        """Return the first look, and why the release has to be halted, for the run after a kill."""
        if self._first is None:
            return ""
        note: list[object] = [self._first.version_codes, self._first.share]
        if self._halting:
            note.append(self._halting)
        return json.dumps(note)

    def _tell(self, edit: ReleaseEdit, decision: Decision, changes: Changes) -> None:
        """What a run that changes nothing says."""
        if self._job.dry_run:
            self._context.show(f"Changes: {self._job.package}", lines(changes))
            self._context.publish({"plan": plan_output(changes)})
        else:
            self._context.publish({"committed": _committed_without_step(decision)})
            if decision.made:
                told_review(edit, edit.record.by_hand)
        if decision.trouble:  # the error tells it
            return
        (change,) = changes.tracks
        sentence = f"{_as_sentence(decision.why, in_progress(change.before))}."
        if decision.kind == "held":
            self._context.warning(sentence)
        else:
            self._context.info(sentence)

    def _outcome(
        self,
        state: str | None,
        judgement: gate.Judgement,
        decision: Decision,
        changes: Changes,
    ) -> Outcome:
        """What is live, also in a dry run."""
        (change,) = changes.tracks
        live = change.after
        if self._job.dry_run:
            live = change.before
        rollout = decision.made or in_progress(change.before)
        codes: tuple[str, ...] = ()
        if rollout:
            codes = rollout.version_codes
        self._publish(live, codes, state, decision)
        headline = f"{self._job.package} on {self._track}: {decision.why}."
        if self._job.dry_run:
            tables = [section(PLANNED, changes)]
        else:
            tables = [section("Changes", changes, ())]
        measured = gate.section(judgement.judged)
        if measured.rows:
            tables.append(measured)
        heading = _heading(self._job, decision, rollout)
        trouble = _trouble(self._rollout, decision)
        return Outcome(
            headline, sections=tuple(tables), trouble=trouble, heading=heading
        )

    def _publish(
        self,
        live: Releases,
        codes: tuple[str, ...],
        state: str | None,
        decision: Decision,
    ) -> None:
        """Publish the outputs about what is live, and about the release of these version codes.

        `state` is that of its review; where it could not be looked up, nothing is said of it.
        """
        lifecycle = state or ""
        states = []
        ours = []
        for release in live:
            if codes and release.has_versions(codes):
                ours.append(release)
                states.append(ReviewedRelease(release, lifecycle))
            else:
                states.append(ReviewedRelease(release))
        outputs = {
            **status.outputs({self._track: tuple(states)}),
            "decision": decision.kind,
        }
        if ours:
            outputs |= version_code_outputs(codes)
            outputs |= {
                "user-fraction": release_words.user_fraction(ours[0]),
                "lifecycle": lifecycle,
            }
        self._context.publish(outputs)


# What a run does with a release, and what a dry run would do.
_VERBS: Mapping[Kind, tuple[str, str]] = {
    "stepped": ("is at", "would go to"),
    "completed": ("is released to", "would go to"),
    "held": ("stays", "would stay"),
    "halted": ("halted", "would be halted"),
}


def _heading(job: ReleaseJob, decision: Decision, release: Release | None) -> Heading:
    """Return what became of the release in one line; `release` is the one that the run found."""
    track = job.tracks[0]
    if release is None and decision.kind == "halted":
        return Heading(f"{decision.why} is halted on {track}", "halted")
    if release is None:
        return Heading(f"{capitalised(decision.why)} on {track}")
    if decision.kind == "nothing":
        return Heading(f"{decision.why} on {track}")
    verb, would = _VERBS[decision.kind]
    if job.dry_run:
        verb = would
    subject = f"{release_words.named(release)} {verb}"
    share = release_words.share(decision.release or decision.made or release)
    if decision.by_hand and decision.kind in ("stepped", "completed"):
        users = share or "all users"
        name = release_words.named(release)
        words = f"{name} goes to {users} of {track} once you have sent it for review"
        return Heading(words, "attention")
    if decision.kind == "stepped":
        return Heading(f"{subject} {share} of {track}")
    if decision.kind == "completed":
        return Heading(f"{subject} all users of {track}")
    place = f"on {track}"
    if share:
        place = f"at {share}"
    return Heading(
        f"{subject} {place}: {decision.brief or decision.why}", mark=decision.kind
    )


def _as_sentence(why: str, release: Release | None) -> str:
    """Return the words with a capital, unless they begin with the name of the release, which is
    told as it is: `v1.4.2`.
    """
    if release and why.startswith(release_words.named(release)):
        return why
    return capitalised(why)


def _committed_without_step(decision: Decision) -> str:
    """Return the output `committed` of a run that changes nothing."""
    if decision.made or decision.kind == "nothing":
        return "true"
    if decision.in_doubt:
        return ""
    return "false"


def _trouble(job: RolloutJob, decision: Decision) -> ReleaseTrouble | None:
    """Return what the run ends with because of the release itself; None where it is well."""
    rollout = f"The rollout of {job.release.package} on {job.release.tracks[0]}"
    if decision.trouble == "rejected":
        what = f"{rollout}: {decision.why}."
        return ReleaseTrouble(what, hint=review.WHY_REJECTED, code="review-rejected")
    if decision.trouble == "halted":
        return _halt(rollout, decision, job)
    return None


def _halt(rollout: str, decision: Decision, job: RolloutJob) -> ReleaseTrouble:
    """Return the error for a release that the gate halts, or that was halted before."""
    verb = "is"
    cause = "An earlier run halted it, or someone did."
    by_gate = bool(decision.release or decision.made)
    if by_gate:
        cause = ""
        if job.release.dry_run:
            verb = "would be"
    again = ""
    if job.gate.limits and job.gate.halts:
        again = (
            "The next run would halt it again while days above the limit count: pause the "
            "schedule until they are out of `gate-period`, or run with `gate: report`, which "
            "warns and takes the step all the same."
        )
    trouble = ReleaseTrouble(
        f"{rollout} {verb} halted: {decision.why}.",
        cause=cause,
        hint="Release a corrected version with a higher version code. To go on with this one, "
        "resume it in the Play Console, or with `target: play` and `status: inProgress`, without "
        "`files`: `play-rollout` never resumes it.",
        code="rollout-halted",
    )
    return trouble.with_advice(also=again)
