"""The target `check`: what is missing for a release, as a table; nothing is changed, and nothing is
claimed that no answer shows.
"""

from __future__ import annotations

import json
import re
import signal
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Ended, Job
from tests.support.platforms import workflow_commands

pytestmark = pytest.mark.slow

APP = "com.example.app"
API = "Google Play Android Developer API"
VIEW_APP = "View app information (read-only)"
TO_TESTING = "Release apps to testing tracks"
TO_PRODUCTION = "Release to production, exclude devices, and use Play App Signing"
EDIT = "Begin a release (open an edit)"
VALIDATION = "Validation of an edit without changes"
VITALS = "Crash and ANR rates"
CHECK = {
    "target": "check",
    "package-name": APP,
    "tracks": "internal, production, friends",
    "halt-above": "crash-rate 1.09%",
}
RELEASE = {"target": "play", "files": "*.aab", "tracks": "internal"}
LIVE = {APP: {"tracks": {"friends": [{"versionCodes": ["40"], "status": "completed"}]}}}
VIEWER = "CAN_VIEW_NON_FINANCIAL_DATA"


@pytest.fixture
def job(job: Job) -> Job:
    """An app with a live release and a closed track, and a bundle in the workspace."""
    specimens.make_bundle(job.workspace / "app.aab", APP, 42, "4.2", size_bytes=100_000)
    job.emulator.console.add_release(
        APP, "production", {"versionCodes": ["41"], "name": "4.1"}
    )
    job.emulator.console.add_release(
        APP, "friends", {"versionCodes": ["40"], "name": "4.0"}
    )
    return job


def results(ended: Ended) -> dict[str, str]:
    """The result of each row of the table in the log."""
    words = "Ok|Missing|Look at this|Could not be checked"
    rows = re.findall(rf"^(\S.*?)  +({words})  +\S.*$", ended.log, re.MULTILINE)
    assert len(rows) > 5, ended.log
    return dict(rows)


def edits(job: Job) -> tuple[int, int, int]:
    """How many edits are open, committed, deleted."""
    found = job.emulator.state()["edits"]
    return len(found["open"]), len(found["committed"]), len(found["deleted"])


def warnings(ended: Ended) -> list[str]:
    """The texts of the annotations that warn."""
    return [one.data for one in workflow_commands(ended.log) if one.name == "warning"]


def live(job: Job) -> Any:
    """Everything on Google Play that a run could change, edits aside."""
    state = job.emulator.state()
    return state["apps"], state["tracks"], state["dataSafety"], state["objects"]


# --- everything is there --------------------------------------------------------------------------


def test_a_check_of_a_finished_setup_ends_well_and_changes_nothing(job: Job) -> None:
    before = live(job)
    ended = job.succeed(CHECK)
    found = results(ended)
    there = (
        "Login",
        API,
        f"App {APP}",
        VIEW_APP,
        EDIT,
        VALIDATION,
        "Track friends",
        VITALS,
    )
    assert [found[row] for row in there] == ["Ok"] * len(there)
    assert (live(job), edits(job)) == (before, (0, 0, 1))
    assert ended.outputs["failure"] == ""
    assert warnings(ended) == []


def test_a_permission_that_only_a_commit_shows_is_never_ok(job: Job) -> None:
    found = results(job.succeed(CHECK))
    unknown = {row for row, result in found.items() if result == "Could not be checked"}
    assert unknown == {
        TO_TESTING,
        TO_PRODUCTION,
        "Manage store presence",
        "Manage testing tracks and edit tester lists",
    }


def test_the_table_is_in_the_job_summary(job: Job) -> None:
    ended = job.succeed(CHECK)
    assert "### Setup" in ended.summary
    assert "| What a release needs | Result | Detail |" in ended.summary
    assert "users-and-permissions" in ended.summary


def test_only_an_edit_is_opened_validated_and_deleted(job: Job) -> None:
    job.succeed(CHECK)
    asked = {name for name in job.emulator.state()["requests"] if "." in name}
    assert {name for name in asked if name.startswith("androidpublisher.")} == {
        "androidpublisher.applications.tracks.releases.list",
        "androidpublisher.edits.insert",
        "androidpublisher.edits.validate",
        "androidpublisher.edits.tracks.list",
        "androidpublisher.edits.delete",
    }


def test_a_standard_track_needs_no_row_and_no_rates_without_a_limit(job: Job) -> None:
    found = results(
        job.succeed({"target": "check", "package-name": APP, "tracks": "internal"})
    )
    assert not [row for row in found if row.startswith("Track ")]
    assert TO_PRODUCTION not in found
    assert VITALS not in found


@pytest.mark.parametrize(
    ("track", "advice"),
    [
        ("prod", "probably a misspelling of production"),
        ("friend", "misspelling of friends"),
    ],
)
def test_a_misspelt_track_is_recognised_as_in_a_release(
    job: Job, track: str, advice: str
) -> None:
    """The advice is to correct the name, not to create a track."""
    ended = job.fail(3, {"target": "check", "package-name": APP, "tracks": track})
    assert advice in ended.log
    assert "let the release do so" not in ended.log
    assert "Setup incomplete" in ended.log


# --- what is missing ------------------------------------------------------------------------------


MISSING: dict[str, tuple[dict[str, Any], str, str]] = {
    "the API": (
        {"disabled_apis": ["androidpublisher.googleapis.com"]},
        API,
        "console.developers.google.com/apis/api/androidpublisher.googleapis.com",
    ),
    "the app": (
        {"any_app": False, "apps": {}},
        f"App {APP}",
        "create the app in the Play Console",
    ),
    "every permission": ({"permissions": {APP: []}}, VIEW_APP, "Invite the account"),
    "a permission to release": ({"permissions": {APP: [VIEWER]}}, EDIT, TO_PRODUCTION),
    "the track": ({"apps": {}}, "Track friends", "create-tracks: true"),
    "the Reporting API": (
        {"disabled_apis": ["playdeveloperreporting.googleapis.com"]},
        VITALS,
        "apis/library/playdeveloperreporting.googleapis.com",
    ),
    "a permission to see the rates": (
        {"vitals": {APP: {"down": "forbidden"}}},
        VITALS,
        VIEW_APP,
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_named_with_what_to_do(job: Job, case: str) -> None:
    config, row, advice = MISSING[case]
    with Emulator(config={"apps": LIVE, **config}) as emulator:
        broken = Job(job.workspace, emulator)
        ended = broken.fail(3, CHECK)
        assert [
            name for name, result in results(ended).items() if result == "Missing"
        ] == [row]
        assert advice in ended.log
        assert f"Missing: {row}." in ended.log
        assert ended.outputs["failure"] == "setup-incomplete"
        assert edits(broken)[:2] == (0, 0)


def test_what_depends_on_a_missing_thing_is_not_called_missing_or_ok(job: Job) -> None:
    job.emulator.config.permissions = {APP: []}
    found = results(job.fail(3, CHECK))
    assert found["Login"] == "Ok"
    assert found[EDIT] == found[VALIDATION] == found[VITALS] == "Could not be checked"


@pytest.mark.parametrize("dry_run", ["false", "true"])
def test_a_refused_login_is_a_row_of_the_table(job: Job, dry_run: str) -> None:
    job.emulator.add_fault("oauth.token", "status", status=401, times=9)
    ended = job.fail(3, {**CHECK, "dry-run": dry_run})
    found = results(ended)
    assert found.pop("Login") == "Missing"
    assert set(found.values()) == {"Could not be checked"}
    assert "### Setup" in ended.summary


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "Caller does not have required permission to use project example-1.",
            "roles/serviceusage.serviceUsageConsumer",
        ),
        (
            "Consumer 'project_number:123' has been suspended.",
            "Restore it in the Google Cloud",
        ),
        (
            "Request had insufficient authentication scopes.",
            "Use the key of a service account",
        ),
    ],
    ids=["quota project", "suspended project", "scopes"],
)
def test_a_login_whose_project_or_scopes_are_refused_needs_no_invitation(
    job: Job, message: str, advice: str
) -> None:
    """No permission in the Play Console would change it."""
    listed = "androidpublisher.applications.tracks.releases.list"
    job.emulator.add_fault(listed, "status", status=403, message=message, times=9)
    ended = job.fail(3, CHECK)
    assert [name for name, result in results(ended).items() if result == "Missing"] == [
        API
    ]
    assert advice in ended.log
    assert "Invite the account" not in ended.log


def test_a_refusal_that_is_not_about_the_setup_is_googles(job: Job) -> None:
    job.emulator.add_fault(
        "androidpublisher.applications.tracks.releases.list",
        "status",
        status=400,
        message="Not today.",
    )
    assert "Not today." in job.fail(4, CHECK).log


def test_a_validation_that_is_refused_is_worth_a_look_and_no_failure(job: Job) -> None:
    job.emulator.config.review = "manual"
    ended = job.succeed(CHECK)
    assert results(ended)[VALIDATION] == "Look at this"
    assert "Changes cannot be sent for review automatically" in warnings(ended)[-1]
    assert edits(job) == (0, 0, 1)


def test_a_reporting_api_that_is_down_leaves_its_row_open(job: Job) -> None:
    job.emulator.vitals.script({APP: {"down": "unavailable"}})
    ended = job.succeed({**CHECK, "max-retries": "0"})
    assert results(ended)[VITALS] == "Could not be checked"


# --- the edit -------------------------------------------------------------------------------------


def test_a_dry_run_opens_no_edit(job: Job) -> None:
    ended = job.succeed({**CHECK, "dry-run": "true"})
    assert edits(job) == (0, 0, 0)
    found = results(ended)
    assert (
        found[EDIT]
        == found[VALIDATION]
        == found["Track friends"]
        == "Could not be checked"
    )


def test_the_edit_of_an_unfinished_release_is_left_alone(job: Job) -> None:
    job.emulator.add_fault("play.edits.commit", "status", status=503, times=9)
    job.emulator.add_fault("play.edits.get", "status", status=503, times=9)
    first = job.run({**RELEASE, "max-retries": "0"})
    assert (first.code, edits(job)[0]) == (75, 1), first.log
    ended = job.succeed(CHECK)
    assert results(ended)[EDIT] == "Could not be checked"
    assert edits(job) == (1, 0, 0)


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_name",
    [
        "androidpublisher.applications.tracks.releases.list",
        "play.edits.insert",
        "play.edits.validate",
        "play.tracks.list",
        "play.edits.delete",
    ],
)
@pytest.mark.parametrize("fault", ["answer-lost", "status"])
def test_a_request_that_fails_once_is_repeated(
    job: Job, request_name: str, fault: str
) -> None:
    job.emulator.add_fault(request_name, fault)
    before = live(job)
    ended = job.succeed(CHECK)
    assert "Missing" not in results(ended).values()
    assert (live(job), edits(job)[1]) == (before, 0)


def test_a_service_that_stays_down_is_75_and_no_row_is_ok(job: Job) -> None:
    job.emulator.add_fault(
        "androidpublisher.applications.tracks.releases.list",
        "status",
        status=503,
        times=9,
    )
    ended = job.fail(75, {**CHECK, "max-retries": "0"})
    assert " Ok " not in ended.log


def test_a_signal_deletes_the_edit_and_a_second_run_is_complete(job: Job) -> None:
    job.emulator.add_fault("play.edits.validate", "stall", seconds=30)
    running = job.start(CHECK).when(lambda state: state["faults"]["fired"])
    ended = running.send(signal.SIGTERM).end()
    assert (ended.code, edits(job)) == (143, (0, 0, 1)), ended.log
    job.succeed(CHECK)


def test_a_kill_changes_nothing_and_a_second_run_is_complete(job: Job) -> None:
    before = live(job)
    job.emulator.add_fault("play.edits.validate", "stall", seconds=30)
    running = job.start(CHECK).when(lambda state: state["faults"]["fired"])
    running.send(signal.SIGKILL).end()
    assert (live(job), edits(job)[:2]) == (before, (1, 0))
    job.succeed(CHECK)
    assert live(job) == before


# --- the inputs -----------------------------------------------------------------------------------


def test_the_app_is_read_from_the_files(job: Job) -> None:
    ended = job.succeed({"target": "check", "files": "*.aab"})
    assert results(ended)[f"App {APP}"] == "Ok"
    assert job.stored() == []


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, "is required for this target"),
        (
            {"files": "*.aab", "package-name": "com.example.other"},
            "belongs to com.example.app",
        ),
        ({"files": "*.apk"}, "files: "),
        ({"package-name": APP, "halt-above": ""}, "halt-above: "),
        ({"package-name": APP, "status": "completed", "dry-run": ""}, "dry-run: "),
    ],
)
def test_a_wrong_input_is_refused_before_anything_is_sent(
    job: Job, inputs: dict[str, str], words: str
) -> None:
    ended = job.fail(2, {"target": "check", **inputs})
    assert words in ended.log
    assert job.emulator.state()["requests"] == {}


def test_several_apps_are_checked_in_one_table(job: Job) -> None:
    job.emulator.config.permissions = {"com.example.other": []}
    ended = job.fail(
        3, {"target": "check", "package-name": f"{APP}, com.example.other"}
    )
    assert re.search(rf"^{APP} +Login +Ok", ended.log, re.MULTILINE)
    row = rf"^com.example.other +{re.escape(VIEW_APP)} +Missing"
    assert re.search(row, ended.log, re.MULTILINE)
    assert "com.example.other can't be released yet." in ended.log


def test_a_rehearsal_claims_nothing_of_the_login(job: Job) -> None:
    ended = job.run(
        {"target": "check", "package-name": APP, "api-endpoint": "emulator"}
    )
    assert ended.code == 0, ended.log
    assert results(ended)["Login"] == "Could not be checked"
    assert ended.last_line.startswith(
        "Rehearsal, nothing was published. In the emulator: "
    )
    assert "### Setup, in the emulator" in ended.summary


def test_the_last_line_counts_the_rows_by_their_results(job: Job) -> None:
    ended = job.succeed(CHECK)
    assert (
        ended.last_line == f"{APP}: 8 ok, nothing missing; 4 rows could not be checked."
    )
    assert json.loads((job.workspace / "uploader-results.json").read_text()) == []
