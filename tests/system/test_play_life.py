"""What follows a commit, through the real entrypoint against the emulator: the review, the status,
the rollout.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from google_emulator import specimens
from tests.support.job import Ended, Job
from tests.support.platforms import workflow_commands

pytestmark = pytest.mark.slow

APP = "com.example.app"
DAY = 86_400.0
RELEASE = {
    "target": "play",
    "files": "*.aab",
    "tracks": "production",
    "user-fraction": "0.01",
    "release-name": "4.2",
}
STATUS = {"target": "play-status", "package-name": APP}
ROLLOUT = {
    "target": "play-rollout",
    "package-name": APP,
    "tracks": "production",
    "rollout-steps": "1%, 5%, 20%, 50%, 100%",
}
GATED = {**ROLLOUT, "halt-above": "crash-rate 1.09%, anr-rate 0.47%"}
GOOD, BAD = 0.004, 0.03


@pytest.fixture
def job(job: Job) -> Job:
    """An app whose version 41 everybody has, and a bundle of version 42 in the workspace."""
    specimens.make_bundle(job.workspace / "app.aab", APP, 42, "4.2", size_bytes=100_000)
    job.emulator.console.add_release(
        APP, "production", {"versionCodes": ["41"], "name": "4.1"}
    )
    return job


def measure(job: Job, rate: float, users: int = 5000) -> None:
    """What the Reporting API has of both versions, for every day."""
    versions = {
        "41": {"users": 100_000, "userPerceivedCrashRate": 0.004},
        "42": {"users": users, "userPerceivedCrashRate": rate},
    }
    job.emulator.vitals.script({APP: {"versions": versions}})


def rolling(job: Job, fraction: float = 0.01, **more: Any) -> None:
    """Version 42 in progress, published."""
    release = {
        "versionCodes": ["42"],
        "status": "inProgress",
        "userFraction": fraction,
        "name": "4.2",
        **more,
    }
    job.emulator.console.add_release(APP, "production", release)


def track(job: Job) -> str:
    """The releases on production in short."""
    found = job.emulator.state()["apps"][APP]["tracks"]["production"]
    return ", ".join(
        " ".join(
            [*one["versionCodes"], one["status"], str(one.get("userFraction", ""))]
        ).strip()
        for one in found
    )


def edits(job: Job) -> tuple[int, int, int]:
    """How many edits are open, committed, deleted."""
    found = job.emulator.state()["edits"]
    return len(found["open"]), len(found["committed"]), len(found["deleted"])


def annotated(ended: Ended, kind: str) -> list[str]:
    """The annotations of one kind."""
    return [
        command.data for command in workflow_commands(ended.log) if command.name == kind
    ]


# --- status ---------------------------------------------------------------------------------------


def test_a_status_needs_the_package_name_alone(job: Job) -> None:
    """All tracks with their releases are in log, summary and outputs; the log says that the edit
    for it closes any other.
    """
    rolling(job, 0.05)
    job.emulator.console.add_release(
        APP, "closed", {"versionCodes": ["43"], "name": "next", "status": "draft"}
    )
    ended = job.succeed(STATUS)
    status = json.loads(ended.outputs["status"])
    assert status["production"]["releases"] == [
        {
            "versionCodes": ["42"],
            "name": "4.2",
            "status": "inProgress",
            "userFraction": 0.05,
            "lifecycle": "PUBLISHED",
        },
        {
            "versionCodes": ["41"],
            "name": "4.1",
            "status": "completed",
            "lifecycle": "PUBLISHED",
        },
    ]
    assert status["closed"]["releases"][0]["lifecycle"] == "DRAFT"
    assert (ended.outputs["version-code"], ended.outputs["version-codes"]) == (
        "43",
        "43,42,41",
    )
    assert (ended.outputs["next-version-code"], ended.outputs["lifecycle"]) == (
        "44",
        "DRAFT",
    )
    assert edits(job) == (0, 0, 1)
    assert "closes any other edit" in ended.log
    assert annotated(ended, "warning") == []
    assert re.search(
        r"^Track +Release +Users and status +Review$", ended.log, re.MULTILINE
    )
    assert re.search(
        r"^production +4\.2 \(42\) +5 % of users, in progress +published$",
        ended.log,
        re.MULTILINE,
    )
    assert "The credentials are accepted" in ended.log
    assert "in progress" in ended.summary or "inProgress" in ended.summary
    assert "### Tracks" in ended.summary


@pytest.mark.parametrize(
    "more", [{"dry-run": "true"}, {"wait-for": "published", "wait-deadline": "0s"}]
)
def test_a_status_opens_no_edit_where_it_need_not(
    job: Job, more: dict[str, str]
) -> None:
    """A dry run and a wait look at the list of releases alone, and say what it says."""
    rolling(job)
    ended = job.succeed({**STATUS, **more})
    assert (edits(job), ended.outputs["version-code"], ended.outputs["lifecycle"]) == (
        (0, 0, 0),
        "42",
        "PUBLISHED",
    )
    assert "next-version-code" not in ended.outputs
    assert annotated(ended, "warning") == []


def test_a_status_fails_if_the_tracks_can_not_be_listed(job: Job) -> None:
    """What can't be read is not reported as absent."""
    job.emulator.add_fault(
        "play.tracks.list", "status", status=403, message="No tracks for you."
    )
    ended = job.run({**STATUS, "tracks": "production"})
    assert (ended.code, edits(job)[0]) == (4, 0), ended.log
    assert "No tracks for you." in ended.log
    assert "has no track" not in ended.log


def test_a_status_after_a_failure_leaves_the_kept_edit_alone(job: Job) -> None:
    """Opening an edit of its own would close the one in which the release is to be continued."""
    job.emulator.add_fault("play.edits.commit", "status", status=503, times=9)
    job.emulator.add_fault("play.edits.get", "status", status=503, times=9)
    first = job.run({**RELEASE, "max-retries": "0"})
    assert (first.code, edits(job)[0]) == (75, 1), first.log
    ended = job.run(STATUS)
    assert (ended.code, edits(job)[0]) == (0, 1), ended.log
    assert "unfinished release" in annotated(ended, "warning")[-1]


# --- the review -----------------------------------------------------------------------------------


def test_a_release_waits_for_its_review(job: Job) -> None:
    """After the commit the list is asked at growing intervals, each told in the log, until the
    review is through.
    """
    job.emulator.lifecycle.script(
        {APP: [{"state": "IN_REVIEW", "looks": 1}, "PUBLISHED"]}
    )
    ended = job.succeed({**RELEASE, "wait-for": "published", "wait-deadline": "2s"})
    assert (ended.outputs["lifecycle"], ended.outputs["committed"]) == (
        "PUBLISHED",
        "true",
    )
    assert "Wait until the release is published" in ended.log
    assert (
        "The review has not finished (production: in review); looking again in 2 s."
        in ended.log
    )
    assert "Review: production: published." in ended.log


def test_a_deadline_is_75_and_the_next_run_commits_nothing(job: Job) -> None:
    """The outputs stay, the summary has the release, and running again only looks again."""
    job.emulator.lifecycle.script({APP: ["IN_REVIEW"]})
    waiting = {**RELEASE, "wait-for": "approved", "wait-deadline": "0s"}
    first = job.run(waiting)
    assert (first.code, first.outputs["committed"], first.outputs["version-code"]) == (
        75,
        "true",
        "42",
    ), first.log
    assert (
        "\nTrack production\n+ 4.2 (42): 1 % of users, in progress\n" in first.summary
    )
    assert json.loads(first.outputs["status"])["production"]["releases"] == [
        {
            "versionCodes": ["42"],
            "name": "4.2",
            "status": "inProgress",
            "userFraction": 0.01,
        },
        {"versionCodes": ["41"], "name": "4.1", "status": "completed"},
    ]
    job.emulator.console.review(APP, "production", ["PUBLISHED"], code=42)
    second = job.run(waiting)
    assert (second.code, second.outputs["lifecycle"]) == (0, "PUBLISHED"), second.log
    assert edits(job)[1] == 1


@pytest.mark.parametrize("inputs", [RELEASE, STATUS])
def test_a_rejection_is_6_with_where_to_look(job: Job, inputs: dict[str, str]) -> None:
    """One annotation that leads to the place where Google says why."""
    rolling(job)
    job.emulator.lifecycle.script({APP: ["NOT_APPROVED"]})
    job.emulator.console.review(APP, "production", ["NOT_APPROVED"], code=42)
    (job.workspace / "app.aab").unlink()
    specimens.make_bundle(job.workspace / "app.aab", APP, 43, "4.3", size_bytes=100_000)
    more = {"replace-rollout": "true"} if inputs is RELEASE else {}
    ended = job.run({**inputs, **more, "wait-for": "approved", "wait-deadline": "0s"})
    assert (ended.code, ended.outputs["lifecycle"]) == (6, "NOT_APPROVED"), ended.log
    (error,) = annotated(ended, "error")
    assert "Policy status in the Play Console" in error


# --- the rollout ----------------------------------------------------------------------------------


def test_a_gated_step_has_its_numbers_in_the_summary(job: Job) -> None:
    """One step, the measurements as chart and table, and the decision as an output."""
    rolling(job)
    measure(job, GOOD)
    ended = job.run(GATED)
    assert (ended.code, ended.outputs["decision"], track(job)) == (
        0,
        "stepped",
        "42 inProgress 0.05, 41 completed",
    ), ended.log
    assert (ended.outputs["user-fraction"], ended.outputs["committed"]) == (
        "0.05",
        "true",
    )
    assert "### Measurements\n\n```mermaid\n" in ended.summary
    assert re.search(
        r"^    bar \[-1, 0\.4, 0\.4, -1\]\n    bar \[-1, -1, -1, -1\]\n    line \[1\.09, ",
        ended.summary,
        re.MULTILINE,
    )
    assert "🟧 limit 0.47 %\n\n| Day | Version |" in ended.summary
    assert re.search(
        r"^Day +Version +Users \(share\) +Crash rate +limit 1\.09 % +ANR rate +"
        r"limit 0\.47 %$",
        ended.log,
        re.MULTILINE,
    )


def test_a_bad_release_is_halted_and_stays_halted(job: Job) -> None:
    """Exit 6 with the numbers in one annotation and the table in the summary; the next run resumes
    nothing.
    """
    rolling(job, 0.05)
    measure(job, BAD)
    ended = job.run(GATED)
    assert (ended.code, ended.outputs["decision"], track(job)) == (
        6,
        "halted",
        "42 halted 0.05, 41 completed",
    ), ended.log
    (error,) = annotated(ended, "error")
    for number in ("3 %", "1.09 %", "5,000", "42"):
        assert number in error
    assert "### Measurements" in ended.summary
    heading = "## 🛑 4.2 (42) halted at 5 %: crash rate 3 %, limit 1.09 %\n"
    assert ended.summary.startswith(heading)
    measure(job, GOOD)
    again = job.run(GATED)
    assert (again.code, again.outputs["decision"], edits(job)[1]) == (6, "halted", 1), (
        again.log
    )


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"status": "inProgress"},
        {"status": "inProgress", "user-fraction": "0.5"},
        {"status": "completed"},
    ],
    ids=["as-before", "inProgress", "more-users", "completed"],
)
def test_a_release_that_the_gate_halted_stays_halted_when_its_job_is_run_again(
    job: Job, wish: dict[str, str]
) -> None:
    """Somebody presses "Re-run": it ends well, nobody gets the release, and the last line says how
    it would go on.
    """
    job.succeed(RELEASE)
    measure(job, BAD)
    job.fail(6, GATED)
    assert track(job) == "42 halted 0.01, 41 completed"
    again = {**RELEASE, **wish}
    if wish.get("status") == "completed":
        del again["user-fraction"]
    rehearsed, ended = job.succeed({**again, "dry-run": "true"}), job.succeed(again)
    assert (track(job), edits(job)[1]) == ("42 halted 0.01, 41 completed", 2)
    told = (
        "4.2 (42) is halted at 1 % on production, and stays halted: to resume it, leave `files` "
        "out (`files: none`) and set `status: inProgress` or `status: completed`"
    )
    for one in (rehearsed, ended):
        assert one.last_line.endswith(f"{told}.")
        assert (one.log.count(f"      {told}"), told in one.summary) == (1, True)
        assert annotated(one, "warning")[-1] == f"{told}."
    assert (ended.outputs["committed"], ended.outputs["user-fraction"]) == (
        "true",
        "0.01",
    )
    without_files = {
        "target": "play",
        "package-name": APP,
        "tracks": "production",
        "status": "inProgress",
    }
    resumed = job.succeed(without_files)
    assert track(job) == "42 inProgress 0.01, 41 completed"
    assert resumed.last_line.endswith("42 was halted on production.")


@pytest.mark.parametrize(
    ("steps", "now"),
    [("20%", "20 % of users, in progress"), ("100%", "all users, completed")],
    ids=["wider", "completed"],
)
def test_a_release_that_the_daily_rollout_took_further_is_done(
    job: Job, steps: str, now: str
) -> None:
    """The job that began it is run again: nothing is sent or written, and it says what the release
    is now.
    """
    job.succeed(RELEASE)
    job.succeed({**ROLLOUT, "rollout-steps": steps})
    before = track(job)
    ended = job.succeed(RELEASE)
    assert (track(job), edits(job)[1], ended.outputs["bytes-uploaded"]) == (
        before,
        2,
        "0",
    )
    assert ended.last_line.endswith(
        f"4.2 (42) on production has progressed since: {now}."
    )
    assert ended.outputs["committed"] == "true"


HOLDS: dict[str, tuple[dict[str, Any], str]] = {
    "stale": ({"freshness_days": 6}, "crash rate is stale: the newest data end before"),
    "no freshness": ({"freshness_days": None}, "does not say how fresh its data are"),
    "thin": (
        {"versions": {"42": {"users": 60, "userPerceivedCrashRate": 0.0}}},
        "at most 60 users a day had this release, and 100 are needed",
    ),
    "missing": (
        {"missing": ["userPerceivedCrashRate"]},
        "too few users have this release to measure its user-perceived crash rate",
    ),
    "down": ({"down": "unavailable"}, "The service is currently unavailable"),
    "disabled": ({"down": "disabled"}, "Reporting API is not enabled"),
    "forbidden": ({"down": "forbidden"}, "the Reporting API refuses the account"),
    "by chance": (
        {"versions": {"42": {"users": 400, "userPerceivedCrashRate": 0.0142}}},
        "above the limit of 1.09 %, but perhaps by chance",
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_is_not_known_holds_the_rollout(job: Job, name: str) -> None:
    """The run ends with exit code 0, without a step, and with a warning that says why."""
    vitals, why = HOLDS[name]
    rolling(job)
    measure(job, GOOD)
    job.emulator.vitals.script({APP: vitals})
    ended = job.run({**GATED, "max-retries": "0"})
    assert (ended.code, ended.outputs["decision"], edits(job)) == (
        0,
        "held",
        (0, 0, 1),
    ), ended.log
    (warning,) = annotated(ended, "warning")
    assert warning.startswith("4.2 (42) stays at 1 %: ")
    assert why in warning


def test_a_dry_run_decides_and_leaves_everything(job: Job) -> None:
    """The decision is an output; Google Play is as before."""
    rolling(job)
    ended = job.run({**ROLLOUT, "dry-run": "true"})
    assert (ended.code, ended.outputs["decision"], edits(job)) == (
        0,
        "stepped",
        (0, 0, 1),
    ), ended.log
    assert "play.tracks.update" not in job.emulator.state()["requests"]
    assert "NOTHING WAS PUBLISHED" in ended.summary
    assert ended.summary.startswith(
        "## 📝 Dry run: 4.2 (42) would go to 5 % of production\n"
    )
    plan = json.loads(ended.outputs["plan"])
    assert (plan["target"], plan["tracks"][0]["after"][0]["user_fraction"]) == (
        "play-rollout",
        0.05,
    )


def test_all_mistakes_are_told_before_anything_is_sent(job: Job) -> None:
    """A rollout needs an app, one track, steps that ascend and limits that can be read."""
    wrong = {
        "target": "play-rollout",
        "rollout-steps": "5%, 1%",
        "halt-above": "crashes 1%",
        "tracks": "beta, alpha",
    }
    ended = job.fail(
        2, {**wrong, "files": "*.aab", "existing-edit-id": "7", "commit": "false"}
    )
    for name in (
        "rollout-steps",
        "halt-above",
        "tracks",
        "package-name",
        "files",
        "existing-edit-id",
        "commit",
    ):
        assert f"- {name}:" in ended.log
    assert job.emulator.state()["requests"] == {}


def test_the_reporting_scope_is_asked_for_only_by_a_gate(job: Job) -> None:
    """Who rolls out without limits, looks or releases needs no access to the measurements."""
    rolling(job)
    measure(job, GOOD)
    for inputs, asked in ((ROLLOUT, False), (STATUS, False), (GATED, True)):
        assert job.run(inputs).code == 0
        tokens = job.emulator.state()["tokens"]
        assert (
            any("playdeveloperreporting" in str(one["scopes"]) for one in tokens)
            == asked
        )


# One fault after another, at every call of every run: what is answered, lost on the way, or undone
# by somebody else.
LIST, CRASHES, ANRS = (
    "androidpublisher.applications.tracks.releases.list",
    "playdeveloperreporting.vitals.crashrate",
    "playdeveloperreporting.vitals.anrrate",
)
FIRST_DAY = {
    "play.edits.insert": "answer-lost",
    "play.tracks.get": "reset",
    "play.bundles.list": "status",
    "play.bundles.upload": "status",
    "play.tracks.update": "answer-lost",
    "play.edits.commit": "status-after-effect",
    LIST: "status",
}
NONSENSE = {"no-freshness": '{"freshnessInfo": {}}', "no-row": '{"rows": [7]}'}
DAYS: list[tuple[dict[str, str], str, str]] = [
    (
        {"play.edits.insert": "reset", "play.edits.commit": "answer-lost"},
        "stepped",
        "42 inProgress 0.05, 41 completed",
    ),
    (
        {"play.tracks.get": "lose-edit", LIST: "answer-lost"},
        "stepped",
        "42 inProgress 0.2, 41 completed",
    ),
    (
        {f"{CRASHES}.get": "status", f"{CRASHES}.query": "reset"},
        "stepped",
        "42 inProgress 0.5, 41 completed",
    ),
    (
        {f"{ANRS}.get": "no-freshness", f"{CRASHES}.get": "html"},
        "held",
        "42 inProgress 0.5, 41 completed",
    ),
    (
        {f"{ANRS}.query": "no-row", f"{CRASHES}.query": "invalid-json"},
        "held",
        "42 inProgress 0.5, 41 completed",
    ),
    (
        {"play.tracks.update": "lose-edit", "play.edits.commit": "status"},
        "completed",
        "42 completed",
    ),
    (
        {"play.tracks.get": "status", "play.edits.delete": "answer-lost"},
        "nothing",
        "42 completed",
    ),
]


def test_the_whole_life_of_a_release(job: Job) -> None:
    """From the tag to everybody, a look a day, something wrong at every call: each day is one step
    at most.
    """
    job.emulator.lifecycle.script(
        {APP: [{"state": "IN_REVIEW", "seconds": DAY / 2}, "PUBLISHED"]}
    )
    add_faults(job, FIRST_DAY)
    first = job.run({**RELEASE, "wait-for": "published", "wait-deadline": "0s"})
    assert (first.code, first.outputs["committed"], track(job)) == (
        75,
        "true",
        "42 inProgress 0.01, 41 completed",
    ), first.log
    measure(job, GOOD, users=40)
    assert job.run(GATED).outputs["decision"] == "held"
    for faults, decision, after in DAYS:
        job.emulator.clock.advance(DAY)
        measure(job, GOOD)
        add_faults(job, faults)
        ended = job.run(GATED)
        assert (ended.code, ended.outputs["decision"], track(job)) == (
            0,
            decision,
            after,
        ), ended.log
        assert job.emulator.state()["faults"]["waiting"] == []
    assert edits(job)[1] == 5
    last = job.run({**STATUS, "wait-for": "published", "wait-deadline": "0s"})
    assert (last.code, last.outputs["lifecycle"]) == (0, "PUBLISHED"), last.log


def add_faults(job: Job, faults: dict[str, str]) -> None:
    """One of each kind at the next request of each operation."""
    for operation, kind in faults.items():
        if kind in NONSENSE:
            job.emulator.add_fault(operation, "replace-body", body=NONSENSE[kind])
        else:
            job.emulator.add_fault(operation, kind)
