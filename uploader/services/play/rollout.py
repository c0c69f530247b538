"""The target `play-rollout`: take the release in progress one step further, hold it, or halt it.

It is made for schedules: a run looks once and makes one step at most. `decide` chooses the step
inside the edit, from what the track holds there, and does so again in every edit that replaces a
lost one. A share never falls, and a halted release is never resumed, whoever halted it. If this job
or another one has made a step since the first look, that shows in the release itself, and the run
makes no step. The journal keeps the first look of a run that is killed, and why it was to halt the
release, for the run after it.
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
    open_edit,
    perhaps_committed,
    settle,
)
from uploader.services.play.known_errors import explain
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
from uploader.services.play.publish import commit_edit, tell_sent_for_review
from uploader.services.play.release import in_an_edit
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.status import ReviewedRelease
from uploader.services.play.summary_facts import PLANNED, section
from uploader.services.play.tracks import current_releases
from uploader.text import capitalise

# pages of the Play Console, as it calls them
VITALS = "Android vitals"
RELEASES = "Latest releases and bundles"
PUBLISHING = "Publishing overview"
# They end the work that they reach, and say nothing about it.
_SIGNALS = (Interrupted, Stopped)
Kind = Literal["stepped", "completed", "held", "halted", "nothing"]


@dataclass(frozen=True)
class RolloutJob:
    """One look at a rollout.

    `shares` are the shares of users that the rollout goes through, in ascending order. `gate` has
    the limits that the release has to stay within before each step.
    """

    release: ReleaseJob
    shares: tuple[float, ...]
    gate: gate.Gate


@dataclass(frozen=True)
class Decision:
    """The decision of a run, and why.

    `kind` is what happens to the release; it is also `halted` if the release was found halted, and
    `release` is None then. `release` is the release as it is to be, None if it stays as it is.
    `trouble` ends the run as an error does. `made` is the release that is live by a commit of this
    job whose response was lost. `in_doubt` says that the release has gone further since, so it is
    not known whether that commit happened. `brief` is `why` in a few words, for a heading that
    names the release before them. `by_hand` says that a person has to send the step for review.
    `pages` are the pages of the Play Console that one needs next.
    """

    kind: Kind
    why: str
    release: Release | None = None
    trouble: Literal["", "rejected", "halted"] = ""
    made: Release | None = None
    in_doubt: bool = False
    brief: str = ""
    by_hand: bool = False
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class EarlierWork:
    """What this job, or somebody else, has made of the rollout before the present look.

    `step` is the release if it has reached more users since the first look, and `ours` says that
    this may be the step that this job sent and whose response was lost. `halt` is the release if it
    is halted as this job was to halt it, and `halting` says why. `in_doubt` says that the response
    to a commit of this job was lost.
    """

    step: Release | None = None
    ours: bool = False
    halt: Release | None = None
    halting: str = ""
    in_doubt: bool = False


@dataclass(frozen=True)
class FirstLook:
    """The release in progress as the first edit of the job had it, to notice a step since then."""

    version_codes: tuple[str, ...]
    share: float


@dataclass
class LookAhead:
    """What can be learnt about a rollout without an edit.

    `reviews` are the releases of the track with the states of their reviews, or why they are not
    known. `measured` is what `gate.measure` returns.
    """

    reviews: tuple[review.Listed, ...] | str = ()
    measured: Mapping[Metric, gate.Answer] = field(default_factory=dict)


def read_first_look(text: str) -> FirstLook | None:
    """Read the first look of a killed run from its note; None if the note can't be read."""
    try:
        codes, share, *_ = json.loads(text)
        version_codes = tuple(map(str, codes))
        return FirstLook(version_codes, float(share))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def read_halt_reason(text: str) -> str:
    """Read from the note of a killed run why it was about to halt the release; empty if it was
    not.
    """
    with suppress(ValueError, TypeError, RecursionError):
        _, _, why = json.loads(text)
        return str(why)
    return ""


def halt_made(edit: ReleaseEdit, track: str, releases: Releases) -> Release | None:
    """Return the release that the edit before this one was to halt, if it is halted."""
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
    """Return the release of the first look, if it has reached more users since."""
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
    """Check the inputs. Raises InputError with every problem."""
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
    rules = gate.Gate(
        inputs.halt_above,
        halts=inputs.gate == "halt",
        min_users=inputs.gate_min_users,
        days=inputs.gate_period,
        max_age=inputs.gate_max_age,
    )
    job = RolloutJob(release, inputs.rollout_steps, rules)
    scopes = [SCOPE]
    if rules.limits:
        scopes.append(gate.SCOPE)
    return Prepared(
        _steps(job),
        tuple(scopes),
        partial(flow, job),
        apps={package: ()},
        unsettled=partial(perhaps_committed, (release,)),
    )


def _check(inputs: RolloutInputs, files: Artifacts, problems: Problems) -> str:
    """Add what is wrong about the inputs to the problems, and return the package name."""
    if files:
        problems.add("files", "a rollout sends no files.", "no files")
    package = batch.one_app(inputs.package_name, problems)
    batch.require(
        problems,
        package_name=package,
        rollout_steps=inputs.rollout_steps,
    )
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
    """Return the plan of a run, one step per line."""
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
    """Return the release that is being rolled out, the first of several; None if there is none."""
    rollouts = having_status(releases, "inProgress")
    if not rollouts:
        return None
    return rollouts[0]


def require_one(track: str, releases: Releases) -> None:
    """Raise ReleaseRefused if several releases are in progress on a track: it is not known which
    one to take further.
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
    job: RolloutJob,
    live: Releases,
    state: str | None,
    judgement: gate.Judgement,
) -> Decision:
    """Decide what to do about the live releases of a track: a step, nothing, a hold or a halt.

    `state` is the state of the review, "" if Google Play does not list the release, and None if it
    could not be looked up.
    """
    release = in_progress(live)
    if release is None:
        return _decide_without_rollout(live)
    if judgement.ruling == "halt" and job.gate.halts:
        halted = release.with_status("halted")
        return Decision(
            "halted",
            judgement.why,
            halted,
            trouble="halted",
            brief=judgement.brief,
            pages=(VITALS, RELEASES),
        )
    held_by_review = _decide_by_review(release, state)
    if held_by_review:
        return held_by_review
    if judgement.ruling != "pass" and job.gate.halts:
        return _hold_by_gate(release, judgement)
    if release.user_fraction is None:
        brief = "Google Play does not say how many users it is for"
        why = f"{_stays(release)}: {brief}"
        return Decision("held", why, brief=brief, pages=(RELEASES,))
    return _decide_next_step(job, release, release.user_fraction)


def _hold_by_gate(release: Release, judgement: gate.Judgement) -> Decision:
    """Hold a release that the gate does not let pass."""
    why = f"{_stays(release)}: {judgement.why}"
    return Decision("held", why, brief=judgement.brief, pages=(VITALS,))


def _decide_without_rollout(live: Releases) -> Decision:
    """Decide about a track without a release in progress: a halted release is trouble, unless
    everybody has received a later one since.
    """
    latest = -1
    for release in having_status(live, "completed"):
        latest = max(latest, release.highest_version_code)
    for release in having_status(live, "halted"):
        if release.highest_version_code > latest:
            return Decision(
                "halted",
                _version(release),
                trouble="halted",
                pages=(VITALS, RELEASES),
            )
    return Decision("nothing", "nothing is in progress")


def _decide_by_review(release: Release, state: str | None) -> Decision | None:
    """Hold a release that is not published yet; return None for one that is."""
    if state == review.PUBLISHED:
        return None
    if state == review.REJECTED:
        why = f"the review rejected {_version(release)}"
        return Decision(
            "held",
            why,
            trouble="rejected",
            brief="the review rejected it",
        )
    words = "of unknown state"
    if state is not None:
        words = review.words(state)
    brief = f"it is {words}"
    why = f"{_stays(release)}: {brief}"
    return Decision("held", why, brief=brief, pages=(PUBLISHING,))


def _decide_next_step(job: RolloutJob, release: Release, share: float) -> Decision:
    """Decide on the step to the smallest share that is larger than `share`, which the release
    has.
    """
    name = release_words.label(release)
    larger_shares = [step for step in job.shares if is_smaller_share(share, step)]
    if not larger_shares:
        why = f"{_version(release)} has reached the last of `rollout-steps`"
        return Decision("nothing", why)
    next_share = larger_shares[0]
    before = release_words.share(release)
    if next_share < 1:
        step = release.with_user_fraction(next_share)
        why = f"{name} goes from {before} to {next_share * 100:g} %"
        return Decision("stepped", why, step)
    if release.targets_countries:
        what = (
            "is limited to some countries, and completing it would release it in all countries: "
            "that is left to you"
        )
        why = f"{_version(release)} {what}: {CONSOLE}"
        brief = "it is limited to some countries"
        return Decision("held", why, brief=brief, pages=(RELEASES,))
    done = release.without_user_fraction().with_status("completed")
    return Decision("completed", f"{name} goes from {before} to all users", done)


def _stays(release: Release) -> str:
    """Return that a release stays with the users that it has: `1.4.2 (42) stays at 5 %`."""
    name = release_words.label(release)
    share = release_words.share(release)
    if share:
        return f"{name} stays at {share}"
    return f"{name} stays as it is"


def _share_of_all(release: Release) -> float:
    """Return the share of users who get a release; 1 if it names none."""
    if release.user_fraction is None:
        return 1.0
    return release.user_fraction


def _version(release: Release) -> str:
    """Return the name, the version codes and the share of a release: `1.4.2 (42) at 5 %`."""
    name = release_words.label(release)
    share = release_words.share(release)
    if share:
        return f"{name} at {share}"
    return name


def flow(job: RolloutJob, context: Context) -> Outcome:
    """Look once, and make at most one step. Refusals are raised with their cause and remedy."""
    rollout = Rollout(job, context)
    try:
        return in_an_edit(rollout.begin(), rollout.work)
    except ApiError as refused:
        raise rollout.final_error(explain(refused)) from None
    except UploaderError as error:
        raise rollout.final_error(error) from None


class Rollout:
    """The work of one run, in as many edits as it takes."""

    def __init__(self, job: RolloutJob, context: Context) -> None:
        self._rollout = job
        self._context = context
        self._job = job.release
        self._track = job.release.tracks[0]
        self._first: FirstLook | None = None
        # the edit in which the run works
        self._edit: ReleaseEdit | None = None
        # the release as this run wrote it last; None before that, also in a run after a kill
        self._sent: Release | None = None
        # why the release has to be halted; empty once it is
        self._halting = ""
        # what was looked up while the first edit was opened, or why that failed
        self._ahead: LookAhead | UploaderError | None = None

    def begin(self) -> ReleaseEdit:
        """Open the edit and read its track, and at the same time look at what does not need an
        edit.

        This raises only a signal, or what keeps the edit from being opened. Anything else that goes
        wrong is raised by `work`: it asks again, or does not need the answer, and an edit is
        settled if `work` fails.
        """
        edits: list[ReleaseEdit] = []

        def open_and_read() -> None:
            edit = open_edit(self._job, self._context)
            edits.append(edit)
            try:
                current_releases(edit, self._track)
            except _SIGNALS:
                raise
            except UploaderError:
                pass  # `work` reads the track again

        try:
            self._context.together([open_and_read, self._look_ahead])
        except Interrupted as signal:
            for edit in edits:
                self._edit = edit
                settle(edit, signal)
            raise
        return edits[0]

    def _look_ahead(self) -> None:
        """Look at what does not need an edit, and keep a failure for `work`. A signal is raised
        immediately.
        """
        try:
            self._ahead = self._look_outside()
        except _SIGNALS:
            raise
        except UploaderError as error:
            self._ahead = error

    def final_error(self, error: UploaderError) -> UploaderError:
        """Return the error with which the run ends.

        If the release had to be halted, the error begins with the fact that it is not. If a step
        may have been made, and the next run would not know of it, that run would make one more: so
        the error must not be one after which it is safe to run again.
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
        """Look at the rollout, decide, and carry out the decision."""
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
            after = track_merge.merge(
                track,
                live,
                decision.release,
                replace_rollout=False,
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
        """Find out what was made of the rollout before: in this run, or since a killed one began.

        A commit whose response was lost is settled in the edit's state: it is seen live, or not.
        """
        note = edit.changes.get(self._job.track_purpose(self._track), "")
        first = self._first
        if first is None:
            first = read_first_look(note)
        halting = self._halting
        if not halting:
            halting = read_halt_reason(note)
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
        self,
        edit: ReleaseEdit,
        earlier: EarlierWork,
        decision: Decision,
    ) -> Decision:
        """Return the decision, or another one if a step or a halt has been made before."""
        if earlier.halt:
            reason = earlier.halting or _version(earlier.halt)
            why = f"{reason}; the answer to this job's commit was lost, and it is committed"
            return Decision("halted", why, trouble="halted", made=earlier.halt)
        step = earlier.step
        if step is None or decision.kind == "halted":  # a halt is never postponed
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
            "held",
            why,
            in_doubt=in_doubt,
            brief="it was changed in the meantime",
        )

    def _is_ours(self, edit: ReleaseEdit, made: Release) -> bool:
        """Return whether a live step may be the one that this job sent and whose response was lost.

        What was sent is known from this run, or from the record of the run before.
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
        """Look at the review of the rollout and at its measurements, and note the first look.

        Returns the state of the review, None if it could not be looked up, and the gate's
        judgement.
        """
        release = in_progress(live)
        if release is None:
            return "", gate.Judgement("pass")
        codes = release.version_codes
        self._first = FirstLook(codes, release.user_fraction or 0.0)
        outside = self._ahead
        self._ahead = None
        if outside is None:
            outside = self._look_outside()
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
        self,
        outside: LookAhead,
        codes: tuple[str, ...],
        live: Releases,
    ) -> gate.Judgement:
        """Judge the release of these version codes by the gate, and log the measurements."""
        limits = self._rollout.gate
        # The gate compares the new versions of the release with those that everybody has. A version
        # that the release retains is among the latter.
        completed = set(all_version_codes(having_status(live, "completed")))
        staged = set(codes) - completed
        if not staged:
            staged = set(codes)
        now = self._context.now()
        baseline = completed - staged
        judgement = gate.judge(limits, now, outside.measured, staged, baseline)
        for line in gate.section(judgement.judged).lines():
            self._context.info(line)
        if judgement.ruling != "pass" and not limits.halts:
            self._context.warning(f"The gate only reports: {judgement.why}.")
        return judgement

    def _look_outside(self) -> LookAhead:
        """Look at what does not need an edit: the states of the reviews, and the measurements."""
        ahead = LookAhead()

        def read_reviews() -> None:
            try:
                ahead.reviews = review.list_releases(
                    self._context, self._job.package, self._track
                )
            except (ServiceError, TemporaryError) as error:
                ahead.reviews = error.what

        def measure() -> None:
            ahead.measured = gate.measure(
                self._context, self._job.package, self._rollout.gate
            )

        self._context.together([read_reviews, measure])
        return ahead

    def _carry_out(
        self,
        edit: ReleaseEdit,
        decision: Decision,
        changes: Changes,
    ) -> Decision:
        """Write the release to the track and commit.

        Returns the decision with what is left to do by hand.
        """
        if decision.kind == "halted":
            self._halting = decision.why
        self._context.show(f"Changes: {self._job.package}", lines(changes))
        (change,) = changes.tracks
        self._sent = change.after[0]
        track_merge.put(edit, change, self._note())
        left = commit_edit(edit)
        self._halting = ""
        if left:
            return replace(
                decision,
                why=f"{decision.why}; {left}",
                by_hand=True,
            )
        return decision

    def _note(self) -> str:
        """Return the note for the run after a kill: the first look, and why to halt the release."""
        if self._first is None:
            return ""
        note: list[object] = [self._first.version_codes, self._first.share]
        if self._halting:
            note.append(self._halting)
        return json.dumps(note)

    def _tell(
        self,
        edit: ReleaseEdit,
        decision: Decision,
        changes: Changes,
    ) -> None:
        """Log and publish the result of a run that changes nothing."""
        if self._job.dry_run:
            self._context.show(f"Changes: {self._job.package}", lines(changes))
            self._context.publish({"plan": plan_output(changes)})
        else:
            self._context.publish({"committed": _committed_without_step(decision)})
            if decision.made:
                tell_sent_for_review(edit, edit.record.by_hand)
        if decision.trouble:  # the error says it
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
        """Publish what is live, and return the outcome of the run."""
        (change,) = changes.tracks
        live = change.after
        if self._job.dry_run:
            live = change.before
        rollout = decision.made or in_progress(change.before)
        codes: tuple[str, ...] = ()
        if rollout:
            codes = rollout.version_codes
        self._publish(live, codes, state, decision)
        heading = _heading(self._job, decision, rollout)
        summary = decision.why
        if decision.kind == "held":
            # A warning has said all of it.
            summary = heading.text
        headline = f"{self._job.package} on {self._track}: {summary}."
        if self._job.dry_run:
            tables = [section(PLANNED, changes)]
        else:
            tables = [section("Changes", changes, ())]
        measured = gate.section(judgement.judged)
        if measured.rows:
            tables.append(measured)
        trouble = _trouble(self._rollout, decision)
        return Outcome(
            headline,
            sections=tuple(tables),
            trouble=trouble,
            heading=heading,
        )

    def _publish(
        self,
        live: Releases,
        codes: tuple[str, ...],
        state: str | None,
        decision: Decision,
    ) -> None:
        """Publish the outputs about what is live, and about the release of these version codes.

        `state` is that of its review, None if it could not be looked up.
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


# The verb of the heading, in a run and in a dry run.
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
        return Heading(
            f"{decision.why} is halted on {track}", "halted", pages=decision.pages
        )
    if release is None:
        return Heading(f"{capitalise(decision.why)} on {track}")
    if decision.kind == "nothing":
        return Heading(f"{decision.why} on {track}")
    name = release_words.label(release)
    verb, verb_of_dry_run = _VERBS[decision.kind]
    if job.dry_run:
        verb = verb_of_dry_run
    release_by_now = decision.release or decision.made or release
    share = release_words.share(release_by_now)
    if decision.by_hand and decision.kind in ("stepped", "completed"):
        users = share or "all users"
        words = f"{name} goes to {users} of {track} once you have sent it for review"
        return Heading(words, "attention")
    if decision.kind == "stepped":
        return Heading(f"{name} {verb} {share} of {track}")
    if decision.kind == "completed":
        return Heading(f"{name} {verb} all users of {track}")
    place = f"on {track}"
    if share:
        place = f"at {share}"
    reason = decision.brief or decision.why
    return Heading(
        f"{name} {verb} {place}: {reason}",
        decision.kind,
        _why_held(decision, release),
        decision.pages,
    )


def _why_held(decision: Decision, release: Release) -> str:
    """Return why a release is held, in full; empty if the brief reason or the error that ends the
    run says all of it.
    """
    if decision.kind != "held" or decision.trouble or not decision.brief:
        return ""
    why = decision.why.removeprefix(f"{_stays(release)}: ")
    if why == decision.brief:
        return ""
    return capitalise(why)


def _as_sentence(why: str, release: Release | None) -> str:
    """Return the words with a capital, unless they begin with the name of the release, which stays
    as it is: `v1.4.2`.
    """
    if release and why.startswith(release_words.label(release)):
        return why
    return capitalise(why)


def _committed_without_step(decision: Decision) -> str:
    """Return the output `committed` of a run that changes nothing."""
    if decision.made or decision.kind == "nothing":
        return "true"
    if decision.in_doubt:
        return ""
    return "false"


def _trouble(job: RolloutJob, decision: Decision) -> ReleaseTrouble | None:
    """Return the error with which the run ends if its release is rejected or halted, else None."""
    package = job.release.package
    track = job.release.tracks[0]
    rollout = f"The rollout of {package} on {track}"
    if decision.trouble == "rejected":
        what = f"{rollout}: {decision.why}."
        return ReleaseTrouble(
            what,
            hint=review.WHY_REJECTED,
            code="review-rejected",
        )
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
            "schedule until those days are older than `gate-period`, or run with "
            "`gate: report`, which warns and takes the step all the same."
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
