"""A staged rollout, look by look: one step at most, never down, never on after a halt, nothing else
touched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.support.fake_play import PACKAGE, refused, release
from tests.support.play_driver import Killed
from tests.support.rollout_console import (
    CRASHES,
    TIRED,
    Console,
    RolloutEngine,
    rollout_job,
)
from uploader.errors import (
    ApiError,
    InputError,
    Interrupted,
    OutcomeUnknown,
    ReleaseRefused,
    ReleaseTrouble,
    TemporaryError,
    UploaderError,
)
from uploader.inputs.parsers import Limit
from uploader.inputs.records import CommonInputs, RolloutInputs
from uploader.services.base import Call
from uploader.services.play.client import CONSOLE
from uploader.services.play.model import Release
from uploader.services.play.rollout import FirstLook, flow, prepare, step_since

OLD = release(41, name="4.1")
COUNTRIES = {"countries": ["DE"], "includeRestOfWorld": False}


def rolling(fraction: float = 0.01, **more: Any) -> Console:
    """41 for everybody, 42 for a share of them."""
    return Console(
        production=[
            release(42, status="inProgress", userFraction=fraction, **more),
            OLD,
        ]
    )


def look(
    play: Console, journal: dict[str, str] | None = None, **job: Any
) -> RolloutEngine:
    """One run, which ends well."""
    engine = RolloutEngine(play, journal)
    engine.look(rollout_job(**job))
    return engine


def trouble(play: Console, **job: Any) -> tuple[RolloutEngine, ReleaseTrouble]:
    """One run that ends with exit 6."""
    engine = RolloutEngine(play)
    with pytest.raises(ReleaseTrouble) as caught:
        engine.look(rollout_job(**job))
    return engine, caught.value


def test_each_look_is_one_step_up_to_everybody() -> None:
    """1 %, 5 %, 20 %, 50 %, everybody; after that there is nothing to do."""
    play, seen = rolling(), []
    for _ in range(6):
        engine = look(play)
        seen.append((engine.outputs["decision"], play.rollout))
    assert seen == [
        ("stepped", "42 0.05, 41"),
        ("stepped", "42 0.2, 41"),
        ("stepped", "42 0.5, 41"),
        ("completed", "42"),
        ("nothing", "42"),
        ("nothing", "42"),
    ]


def test_a_share_that_is_null_is_no_step_since_the_first_look() -> None:
    """Google Play leaves out what is not there, and a null says the same."""
    rollout = Release(release(42, status="inProgress", userFraction=None))
    assert step_since(FirstLook(("42",), 0.1), (rollout,)) is None


def test_a_step_is_seen_in_whatever_order_google_play_lists_the_versions() -> None:
    """The order of version codes has no meaning."""
    rollout = Release(release(41, 42, status="inProgress", userFraction=0.2))
    assert step_since(FirstLook(("42", "41"), 0.1), (rollout,)) == rollout


def test_a_halt_whose_answer_was_lost_is_seen_in_whatever_order_the_versions_are() -> (
    None
):
    """Google Play lists 41 before 42 once the release is halted."""
    play, journal = keeping(0.05), dict[str, str]()
    play.rates, play.forgetful = {"42": 0.03}, True
    play.fail("commit", Killed(), after=True)
    with pytest.raises(Killed):
        look(play, journal, above=CRASHES)
    turned = release(41, 42, status="halted", userFraction=0.05)
    play.live.tracks["production"] = [turned, OLD]
    engine = RolloutEngine(play, journal)
    with pytest.raises(ReleaseTrouble, match="it is committed"):
        engine.look(rollout_job(above=CRASHES))
    assert (engine.outputs["committed"], engine.outputs["version-code"]) == (
        "true",
        "42",
    )


def test_a_rollout_for_chosen_countries_is_not_completed() -> None:
    """A completed release has no countries of its own: to give it to all of them is for people to
    decide.
    """
    play = rolling(0.5, countryTargeting=COUNTRIES)
    engine = look(play)
    assert (engine.outputs["decision"], play.rollout, play.commits) == (
        "held",
        "42 0.5, 41",
        [],
    )
    assert "limited to some countries" in engine.warnings[0]


@pytest.mark.parametrize(
    ("found", "decision", "after"),
    [
        (release(42, status="inProgress", userFraction=0.03), "stepped", "42 0.05"),
        (
            release(42, status="inProgress", userFraction=0.0499999999),
            "stepped",
            "42 0.2",
        ),
        (release(42, status="inProgress", userFraction=0.7), "completed", "42"),
        (release(42, status="inProgress"), "held", "42"),
        (release(42, status="draft"), "nothing", "42 draft"),
        (release(42), "nothing", "42"),
    ],
)
def test_what_people_did_in_the_console_counts(
    found: dict[str, Any], decision: str, after: str
) -> None:
    """The next step is the smallest above what is there, whoever brought it there.

    Where nothing had to be changed, all that was asked for is committed.
    """
    play = Console(production=[found])
    outputs = look(play).outputs
    assert (outputs["decision"], play.rollout) == (decision, after)
    assert outputs["committed"] == ("false" if decision == "held" else "true")


def test_the_last_step_may_leave_users_out() -> None:
    """Steps that end at 50 % end there."""
    play = rolling(0.5)
    assert look(play, steps="10%, 50%").outputs["decision"] == "nothing"
    assert play.rollout == "42 0.5, 41"


@pytest.mark.parametrize("fraction", [{"userFraction": 0.2}, {}])
def test_a_halted_rollout_is_trouble_and_stays_halted(
    fraction: dict[str, float],
) -> None:
    """Whoever halted it, and even where everybody had it before: exit 6, and nothing is sent."""
    play = Console(production=[release(42, status="halted", **fraction), OLD])
    engine, error = trouble(play)
    assert (error.exit_code, engine.outputs["decision"], play.commits) == (
        6,
        "halted",
        [],
    )
    assert "resume it in the Play Console" in str(error)
    assert "gate: report" not in str(error)  # there is no gate that would halt it again


def test_the_error_of_a_halt_says_how_to_go_on_although_the_days_still_count() -> None:
    """Whoever resumes the release would find it halted by the next scheduled run."""
    play = rolling(0.05)
    play.rates = {"42": 0.05, "41": 0.001}
    _, error = trouble(play, above=CRASHES)
    assert "The next run would halt it again" in str(error)
    assert "`gate: report`, which warns and takes the step all the same" in str(error)
    play.change("production", release(42, status="inProgress", userFraction=0.05), OLD)
    _, again = trouble(play, above=CRASHES)
    assert again.code == "rollout-halted"
    play.change("production", release(42, status="inProgress", userFraction=0.05), OLD)
    reported = look(play, above=CRASHES, halts=False)
    assert (reported.outputs["decision"], play.rollout) == ("stepped", "42 0.2, 41")


def test_a_gate_that_may_not_see_the_rates_is_said_not_to_work() -> None:
    """The rollout is held, and would be for ever: the answer names the permission."""
    play = rolling(0.05, name="v43")
    play.down = refused(403, "The caller does not have permission")
    engine = RolloutEngine(play)
    outcome = engine.look(rollout_job(above=f"{CRASHES}, anr-rate 0.47%"))
    assert (engine.outputs["decision"], play.rollout) == ("held", "42 0.05, 41")
    (warning,) = [text for text in engine.texts if "is not working" in text]
    assert "v43 (42) stays at 5 %: the gate is not working" in warning
    assert "“View app quality information (read-only)”" in warning
    assert "`target: check` with `halt-above`" in warning
    assert outcome.heading is not None
    assert outcome.heading.text == (
        "v43 (42) stays at 5 %: the gate is not working: the account lacks a permission"
    )
    assert outcome.headline == f"{PACKAGE} on production: {outcome.heading.text}."
    assert outcome.heading.why.startswith("The gate is not working: the Reporting API")


@pytest.mark.parametrize(
    ("state", "why", "page"),
    [
        (
            "PUBLISHED",
            "Too few users have this release to measure its user-perceived crash rate",
            "Android vitals",
        ),
        ("IN_REVIEW", "", "Publishing overview"),
    ],
)
def test_why_a_release_stays_is_said_once(state: str, why: str, page: str) -> None:
    """In full as a warning; the heading and the last line have it in a few words, and the summary
    has below the heading what it leaves out, and where to look.
    """
    play = rolling(0.05)
    play.rates, play.reviews = {}, {"42": state}
    engine = RolloutEngine(play)
    outcome = engine.look(rollout_job(above=CRASHES))
    heading = outcome.heading
    assert heading is not None
    assert outcome.headline == f"{PACKAGE} on production: {heading.text}."
    assert (heading.why, heading.pages) == (why, (page,))
    (warning,) = engine.warnings
    assert warning.startswith("42 stays at 5 %: ")


def test_a_halt_that_a_later_release_made_past_is_over() -> None:
    """Who has 43 is not waiting for 42."""
    play = Console(
        production=[release(43), release(42, status="halted", userFraction=0.2)]
    )
    assert look(play).outputs["decision"] == "nothing"


@pytest.mark.parametrize(
    "state",
    ["IN_REVIEW", "APPROVED_NOT_PUBLISHED", "NOT_SENT_FOR_REVIEW", "SOMETHING_NEW"],
)
def test_what_is_not_published_is_held(state: str) -> None:
    """A share of users that nobody has yet is not raised."""
    play = rolling()
    play.reviews["42"] = state
    engine = look(play)
    assert (engine.outputs["decision"], engine.outputs["lifecycle"], play.rollout) == (
        "held",
        state,
        "42 0.01, 41",
    )


def test_a_review_that_cannot_be_looked_up_is_told_as_unknown() -> None:
    """The rollout is held, and no output gives a state that Google does not have."""
    play = rolling()
    play.unlisted = TIRED
    engine = look(play)
    assert (engine.outputs["decision"], play.rollout) == ("held", "42 0.01, 41")
    assert engine.outputs["lifecycle"] == ""
    assert "lifecycle" not in engine.outputs["status"]
    assert "could not be looked up" in engine.warnings[0]


def test_a_rejected_rollout_is_trouble() -> None:
    """The review said no: exit 6, with the place where Google says why."""
    play = rolling()
    play.reviews["42"] = "NOT_APPROVED"
    engine, error = trouble(play)
    assert (engine.outputs["decision"], play.commits) == ("held", [])
    assert "Policy status in the Play Console" in str(error)


@pytest.mark.parametrize(
    "production",
    [
        pytest.param(
            [release(42, status="inProgress", userFraction=0.01), OLD], id="in-progress"
        ),
        pytest.param([OLD], id="nothing-in-progress"),
    ],
)
def test_a_signal_during_the_look_ends_the_run_and_keeps_the_edit(
    production: list[dict[str, Any]],
) -> None:
    """Also where nobody would have asked for the review: it is no answer of Google's."""
    play = Console(production=production)
    play.unlisted = Interrupted(15)
    engine = RolloutEngine(play)
    with pytest.raises(Interrupted):
        engine.look(rollout_job(lasting_state=True))
    assert (play.commits, "decision" in engine.outputs) == ([], False)
    assert any("is kept: the next run continues in it" in line for line in engine.texts)
    assert len(play.edits) == 1


# --- the gate -------------------------------------------------------------------------------------


def test_a_halt_comes_before_the_review_and_a_missing_list() -> None:
    """Users who crash do not wait for a review of something else, nor for a list that can't be
    had.
    """
    play = rolling(0.05)
    play.rates, play.reviews = {"42": 0.03}, {"42": "IN_REVIEW"}
    trouble(play, above=CRASHES)
    assert play.rollout == "42 halted 0.05, 41"


def test_a_gate_that_only_reports_lets_everything_through() -> None:
    """`gate: report` tells what it would have said, and the rollout goes on."""
    play = rolling()
    play.rates = {"42": 0.03}
    engine = look(play, above=CRASHES, halts=False)
    assert (engine.outputs["decision"], play.rollout) == ("stepped", "42 0.05, 41")
    assert "The gate only reports: version 42 has" in engine.warnings[0]


def test_a_release_is_compared_with_the_one_that_everybody_has() -> None:
    """42 has more than 1.5 times the crash rate of 41. That of version 7, which is in no release,
    does not count.
    """
    play = rolling()
    play.rates, play.users = {"42": 0.01, "41": 0.004, "7": 0.9}, 100_000
    trouble(play, above="crash-rate 1.5x")
    assert play.rollout == "42 halted 0.01, 41"


def keeping(fraction: float = 0.01) -> Console:
    """41 for everybody, and a share of them is offered 42, whose release retains 41."""
    return Console(
        production=[release(42, 41, status="inProgress", userFraction=fraction), OLD]
    )


def test_a_release_that_retains_the_completed_version_goes_to_everybody_step_by_step() -> (
    None
):
    """41 stays with all others until the last step."""
    play, seen = keeping(), []
    for _ in range(4):
        look(play, steps="5%, 50%, 100%")
        seen.append(play.rollout)
    assert seen == ["42+41 0.05, 41", "42+41 0.5, 41", "42+41", "42+41"]


@pytest.mark.parametrize("above", [CRASHES, "crash-rate 1.5x"])
def test_a_retained_version_is_compared_with_and_not_judged(above: str) -> None:
    """Everybody has 41: its crashes say nothing of 42, whether it has more of them or fewer."""
    play = keeping()
    play.rates, play.users = {"42": 0.004, "41": 0.02}, 100_000
    look(play, above=above)
    assert play.rollout == "42+41 0.05, 41"
    play.rates = {"42": 0.02, "41": 0.004}
    trouble(play, above=above)
    assert play.rollout == "42+41 halted 0.05, 41"
    trouble(play, above=above)
    assert play.rollout == "42+41 halted 0.05, 41"


def test_a_query_is_what_the_documents_say() -> None:
    """Whole days of Los Angeles up to the freshest, by version, rate and users; pages until there
    is no more.
    """
    engine = RolloutEngine(play := rolling())
    play.rates = {"42": 0.0}
    engine.drive(partial(flow, rollout_job(above="anr-rate 0.47%")))
    freshness, query = [
        step
        for step in engine.steps
        if isinstance(step, Call) and "v1beta1" in step.path
    ]
    assert (freshness.method, freshness.path) == (
        "GET",
        "/v1beta1/apps/com.example.app/anrRateMetricSet",
    )
    assert (query.method, query.path) == (
        "POST",
        "/v1beta1/apps/com.example.app/anrRateMetricSet:query",
    )
    day = {"year": 2026, "month": 6, "timeZone": {"id": "America/Los_Angeles"}}
    assert query.json == {
        "timelineSpec": {
            "aggregationPeriod": "DAILY",
            "startTime": {**day, "day": 22},
            "endTime": {**day, "day": 24},
        },
        "dimensions": ["versionCode"],
        "metrics": ["userPerceivedAnrRate", "distinctUsers"],
        "pageSize": 1000,
    }


# --- races, losses, rehearsals --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "decision"),
    [("PUT tracks", "held"), ("GET tracks", "stepped"), ("commit", "held")],
)
def test_two_looks_at_once_make_one_step(call: str, decision: str) -> None:
    """Another run's step closes our edit: what this run saw before tells that there is nothing left
    to do.

    A commit that finds its edit closed has not happened, so the step is not this run's. If the edit
    is gone before the tracks were read, the run begins anew, and takes the step itself.
    """
    play = rolling()
    play.fail(
        call,
        refused(404, "Edit not found."),
        effect=lambda: None if call == "GET tracks" else other_run(play),
    )
    engine = look(play)
    assert (engine.outputs["decision"], play.rollout, len(play.commits)) == (
        decision,
        "42 0.05, 41",
        1,
    )


@pytest.mark.parametrize(
    ("after", "share", "decision"),
    [(True, 0.0, "stepped"), (False, 0.05, "held"), (False, 0.2, "held")],
    ids=["ours", "the-same-by-others", "another-by-others"],
)
def test_a_step_whose_answer_was_lost_is_claimed_only_where_it_is_the_one_that_was_sent(
    after: bool, share: float, decision: str
) -> None:
    """The commit was not answered, and its edit is gone. Where others have changed the app outside
    of it, it was not committed, and the step that is live is theirs.
    """
    play = rolling()
    play.forgetful = True
    raised = release(42, status="inProgress", userFraction=share)
    effect = None if after else lambda: play.change("production", raised, OLD)
    play.fail(
        "commit", OutcomeUnknown("The answer is lost."), after=after, effect=effect
    )
    engine = look(play)
    assert (engine.outputs["decision"], len(play.commits)) == (
        decision,
        1 if after else 0,
    )


@pytest.mark.parametrize(
    "after", [True, False], ids=["the-step-happened", "it-did-not"]
)
@pytest.mark.parametrize(
    "now",
    [release(42, status="inProgress", userFraction=0.5), release(42)],
    ids=["widened", "completed"],
)
def test_what_a_person_made_of_a_killed_step_is_not_told_as_the_step(
    after: bool, now: dict[str, Any]
) -> None:
    """No step is claimed. `committed` is empty where nobody can tell any more whether the commit
    happened, and false where the person's change has closed its edit.
    """
    play, journal = rolling(), dict[str, str]()
    play.forgetful = True
    play.fail("commit", Killed(), after=after)
    with pytest.raises(Killed):
        look(play, journal=journal)
    play.change("production", now, *([] if now["status"] == "completed" else [OLD]))
    engine = look(play, journal=journal)
    assert engine.outputs["decision"] in ("held", "nothing")
    committed = "" if after else "false"
    assert (engine.outputs["committed"], "sent-for-review" in engine.outputs) == (
        committed,
        False,
    )


def test_a_halt_is_not_put_off_by_a_step_of_somebody_else() -> None:
    """Who raises the share while the gate halts has not seen the numbers."""
    play = rolling(0.05)
    play.rates = {"42": 0.03}
    raised = release(42, status="inProgress", userFraction=0.2)
    play.fail(
        "PUT tracks",
        refused(404, "Edit not found."),
        effect=lambda: play.change("production", raised, OLD),
    )
    engine, _ = trouble(play, above=CRASHES)
    assert (engine.outputs["decision"], play.rollout) == ("halted", "42 halted 0.2, 41")


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (
            "PUT tracks",
            refused(400, "Country targeting is only allowed for in progress releases."),
            "is NOT halted",
        ),
        ("PUT tracks", TIRED, "is NOT halted"),
        ("commit", refused(400, "Precondition check failed."), "is NOT halted"),
        ("commit", TIRED, "may not be halted"),
    ],
)
def test_a_halt_that_fails_is_told_with_its_numbers(
    call: str, error: UploaderError, told: str
) -> None:
    """What matters most comes first: users still get the release, and somebody has to halt it."""
    play = rolling(0.05)
    play.rates = {"42": 0.03}
    play.fail(call, error)
    with pytest.raises(type(error)) as caught:
        look(play, above=CRASHES)
    assert caught.value.what.startswith(
        f"The rollout of com.example.app on production {told}, though it must be: "
    )
    assert "3 %" in caught.value.what
    assert error.what in str(caught.value)
    assert "halt it in the Play Console" in caught.value.hint


@pytest.mark.parametrize("killed", [True, False])
def test_a_halt_whose_answer_was_lost_is_told_with_its_numbers(killed: bool) -> None:
    """It is done, by this job, and the reason is the gate's, in the same run or in the one after a
    kill.
    """
    play, journal = rolling(0.05), dict[str, str]()
    play.rates, play.forgetful = {"42": 0.03}, True
    if killed:
        play.fail("commit", Killed(), after=True)
        with pytest.raises(Killed):
            look(play, journal, above=CRASHES)
    else:
        play.fail("commit", OutcomeUnknown("Lost."), after=True)
    engine = RolloutEngine(play, journal)
    with pytest.raises(ReleaseTrouble) as caught:
        engine.look(rollout_job(above=CRASHES))
    assert (engine.outputs["decision"], engine.outputs["committed"]) == (
        "halted",
        "true",
    )
    assert (play.rollout, len(play.commits), engine.outputs["version-code"]) == (
        "42 halted 0.05, 41",
        1,
        "42",
    )
    assert "3 %" in caught.value.what
    assert (
        "the answer to this job's commit was lost, and it is committed"
        in caught.value.what
    )
    assert caught.value.cause == ""


def test_who_has_to_send_a_lost_step_for_review_is_remembered() -> None:
    """The edit is merely gone, and the step live: what it asked for about the review is known."""
    play = rolling()
    play.review, play.forgetful = "by hand", True
    play.fail("commit", OutcomeUnknown("Lost."), after=True, skip=1)
    engine = look(play)
    assert (engine.outputs["decision"], engine.outputs["committed"]) == (
        "stepped",
        "true",
    )
    assert engine.outputs["sent-for-review"] == "false"
    assert any(
        "send it for review in the Play Console" in one for one in engine.warnings
    )


def test_a_halt_that_was_lost_is_made_again() -> None:
    """The edit is gone, and the release still in progress."""
    play = rolling(0.05)
    play.rates = {"42": 0.03}
    play.fail(
        "commit",
        OutcomeUnknown("Lost."),
        effect=lambda: play.close_edits("Edit not found."),
    )
    engine, _ = trouble(play, above=CRASHES)
    assert (engine.outputs["committed"], play.rollout) == ("true", "42 halted 0.05, 41")


def test_a_step_that_fails_says_nothing_of_a_halt() -> None:
    """Nor does it send people to an input that a rollout does not have."""
    play = rolling(0.05)
    play.fail("commit", refused(400, "Precondition check failed."))
    with pytest.raises(ApiError) as caught:
        look(play)
    assert "halted" not in str(caught.value)
    assert "existing-edit-id" not in str(caught.value)
    assert "and run again. Edit 1 is kept with everything in it." in caught.value.hint


def other_run(play: Console) -> None:
    """Another run from beginning to end."""
    look(play)


def test_two_rollouts_on_one_track_are_left_to_people() -> None:
    """Neither is changed, and the advice is one that this target can follow."""
    play = Console(
        production=[
            release(number, status="inProgress", userFraction=0.1)
            for number in (43, 42)
        ]
    )
    before = play.rollout
    with pytest.raises(
        ReleaseRefused,
        match=r"2 releases are in progress on track production: 43 .*, 42 ",
    ) as caught:
        look(play)
    assert (
        play.rollout,
        "replace-rollout" in caught.value.hint,
        CONSOLE in caught.value.hint,
    ) == (
        before,
        False,
        True,
    )


def test_the_plan_says_each_step_of_a_run() -> None:
    inputs = RolloutInputs(
        common=CommonInputs(target="play-rollout"),
        package_name=("a.b",),
        tracks=("production",),
        rollout_steps=(0.055, 1.0),
        halt_above=(Limit("crash-rate", 0.0109),),
    )
    dry = replace(inputs, common=replace(inputs.common, dry_run=True))
    look = (
        "open an edit for a.b",
        "look at the release in progress on track production",
    )
    assert prepare(inputs, ()).lines == (
        *look,
        "ask Google how it is doing, and halt it if it is above crash-rate 1.09 %",
        "take it to the next of 5.5 %, 100 %",
    )
    without_gate = replace(dry, halt_above=())
    assert prepare(without_gate, ()).lines == (
        *look,
        "decide the next of 5.5 %, 100 %, and change nothing",
    )


def test_what_only_a_release_takes_is_a_mistake() -> None:
    """`rollout-steps` decide: a status, a share or a wait beside them would be read by nobody."""
    given = RolloutInputs(
        common=CommonInputs(target="play-rollout"),
        package_name=("a.b",),
        tracks=("production",),
        rollout_steps=(0.5, 1.0),
    )
    with pytest.raises(InputError) as caught:
        prepare(
            replace(given, status="halted", user_fraction=0.1, wait_for="published"), ()
        )
    assert [problem.name for problem in caught.value.problems] == [
        "status",
        "user-fraction",
        "wait-for",
    ]
    prepare(given, ())


@pytest.mark.parametrize(
    ("lasting", "by_signal", "expected"),
    [
        pytest.param(True, False, TemporaryError, id="kept state"),
        pytest.param(False, False, OutcomeUnknown, id="no kept state"),
        pytest.param(True, True, Interrupted, id="kept state, signal"),
        pytest.param(False, True, Interrupted, id="no kept state, signal"),
    ],
)
def test_a_step_in_doubt_is_no_reason_to_run_again_where_nothing_remembers_it(
    lasting: bool, by_signal: bool, expected: type[UploaderError]
) -> None:
    """The answer to the commit and every look at it are lost: a run that knows nothing of this one
    would take one more step, so 75 is only for a state folder that is kept, and so is "run again"
    after a signal.
    """
    play = rolling()
    lost = Interrupted(15, unanswered=True) if by_signal else OutcomeUnknown("Lost.")
    play.fail("commit", lost, after=True)
    play.fail("GET", TIRED)
    with pytest.raises(UploaderError) as caught:
        RolloutEngine(play).look(rollout_job(lasting_state=lasting))
    assert type(caught.value) is expected
    assert (
        "Look in the Play Console before you run again" in caught.value.hint
    ) is not lasting
