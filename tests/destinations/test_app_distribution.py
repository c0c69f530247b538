"""Firebase App Distribution: a build becomes a release, gets its notes, and goes to its testers."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.factory import make_inputs, prepare
from tests.support.job import Job
from tests.support.transfer_harness import Bench, FakeTime
from uploader.errors import ApiError
from uploader.files.artifacts import from_path

APP = "1:123:android:abc"
RELEASES = f"projects/123/apps/{APP}/releases/"
ID = "firebaseappdistribution.projects.apps.releases"
GET, PATCH, DISTRIBUTE = f"{ID}.operations.get", f"{ID}.patch", f"{ID}.distribute"
TARGET = {"target": "firebase-app-distribution", "firebase-app": APP, "files": "*.apk"}
WHOLE = {
    **TARGET,
    "whats-new": "Login works again.",
    "testers": "ann@example.com, bob@example.com",
    "tester-groups": "qa",
}


@pytest.fixture
def job(job: Job) -> Job:
    specimens.make_apk(job.workspace / "app.apk", "com.example.app", 7, "1.4")
    return job


def releases(job: Job) -> list[dict[str, Any]]:
    found: dict[str, Any] = job.emulator.state()["releases"]
    return list(found.values())


def uploads(job: Job) -> int:
    return len(job.emulator.state()["objects"])


def sent(job: Job) -> list[str]:
    """The API requests so far, by verb."""
    return [
        f"{one.method} {one.path.rpartition('/')[2]}" for one in job.emulator.requests
    ]


def test_a_build_becomes_a_release_and_is_distributed(job: Job) -> None:
    """Notes, testers and groups are there, and the outputs lead to the release."""
    ended = job.succeed(WHOLE)
    [release] = releases(job)
    assert release["notes"] == "Login works again."
    assert release["testers"] == ["ann@example.com", "bob@example.com"]
    assert (release["groups"], release["invitations"]) == (["qa"], 1)
    outputs = ended.outputs
    assert outputs["id"] == release["name"]
    assert outputs["id"].startswith(RELEASES)
    assert outputs["release-result"] == "created"
    assert outputs["testing-url"].startswith(
        "https://appdistribution.firebase.google.com/"
    )
    assert outputs["console-url"].startswith("https://console.firebase.google.com/")
    assert outputs["download-url"].startswith(
        "https://firebaseappdistribution.googleapis.com/"
    )
    assert ended.last_line.startswith(
        "app.apk is release 1.4 (7) in Firebase App Distribution"
    )
    [stored] = job.emulator.state()["objects"]
    assert (stored["protocol"], stored["media_type"]) == (
        "raw",
        "application/octet-stream",
    )
    assert outputs["console-url"] in ended.summary


def test_the_same_build_is_no_second_release_and_is_distributed_all_the_same(
    job: Job,
) -> None:
    """`release-result` says so; a build of the same version updates its release."""
    job.succeed(WHOLE)
    ended = job.succeed({**WHOLE, "tester-groups": "beta"})
    assert ended.outputs["release-result"] == "unmodified"
    [release] = releases(job)
    assert (release["groups"], release["invitations"]) == (["qa", "beta"], 2)
    specimens.make_apk(
        job.workspace / "app.apk", "com.example.app", 7, "1.4", size_bytes=60_000
    )
    assert job.succeed(WHOLE).outputs["release-result"] == "updated"


def test_a_build_for_nobody_is_only_sent(job: Job) -> None:
    """Without notes and recipients nothing is asked for after the upload."""
    ended = job.succeed(TARGET)
    assert "distributed to nobody" in ended.last_line
    assert [one.split()[0] for one in sent(job)] == ["POST", "GET"]


def test_a_bundle_needs_the_link_to_google_play(job: Job) -> None:
    """The operation's error is the refusal, in the service's words; with the link it is taken."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 7, "1.4")
    job.emulator.config.firebase_bundles = False
    ended = job.fail(4, {**WHOLE, "files": "app.aab"})
    assert ended.outputs["failure"] == "processing-failed"
    assert "The app is not linked to Google Play" in ended.log
    assert releases(job) == []
    job.emulator.config.firebase_bundles = True
    assert (
        job.succeed({**WHOLE, "files": "app.aab"}).outputs["release-result"]
        == "created"
    )


def test_a_dry_run_sends_nothing(job: Job) -> None:
    """It says what would be done, each step."""
    ended = job.succeed({**WHOLE, "dry-run": "true"})
    assert sent(job) == []
    for told in (
        "Would upload app.apk",
        "Would set the release notes",
        "Would distribute the",
    ):
        assert told in ended.log
    assert "1 group (qa)" in ended.outputs["plan"]


@pytest.mark.parametrize("alias", ["nobody", "App.Tester"])
def test_a_group_that_does_not_exist_is_named_and_the_release_stays(
    job: Job, alias: str
) -> None:
    """The service names none; the others that were given are not blamed, and get nothing."""
    ended = job.fail(4, {**WHOLE, "tester-groups": f"qa, {alias}"})
    assert ended.outputs["failure"] == "tester-group-missing"
    assert f"The project has no group {alias}, so" in ended.log
    assert "The release stays (https://console.firebase.google.com/" in ended.log
    [release] = releases(job)
    assert (release["testers"], release["notes"]) == ([], "Login works again.")
    assert ended.outputs["id"] == release["name"]
    assert ended.outputs["release-result"] == "created"
    assert ended.results[0]["error"] == ""
    ended = job.succeed(WHOLE)
    assert releases(job)[0]["groups"] == ["qa"]
    assert uploads(job) == 1


def test_a_group_that_the_service_names_is_not_looked_up(job: Job) -> None:
    """Only the one that it names is missing, whatever else was given."""
    job.emulator.add_fault(
        DISTRIBUTE, "status", status=400, message="Group beta does not exist."
    )
    ended = job.fail(4, {**WHOLE, "tester-groups": "qa, beta"})
    assert "The project has no group beta, so" in ended.log
    assert not any("groups" in one.path for one in job.emulator.requests)


def test_a_refusal_that_is_passed_on_is_not_its_own_cause(job: Job) -> None:
    """The chain of an error's causes has an end."""
    job.emulator.add_fault(
        DISTRIBUTE, "status", status=400, message="No ann@example.com."
    )
    given = {name.replace("-", "_"): value for name, value in WHOLE.items()}
    inputs = make_inputs(job.workspace, **given)
    build = from_path(job.workspace / "app.apk", "app.apk")
    with pytest.raises(ApiError, match="No ann") as raised:
        Bench(job.emulator).engine.run(prepare(inputs, build).flow)
    causes: list[BaseException] = [raised.value]
    while causes[-1].__cause__ is not None:
        assert causes[-1].__cause__ not in causes
        causes.append(causes[-1].__cause__)
    assert len(causes) > 1


def test_a_tester_that_is_refused_is_named(job: Job) -> None:
    """In the service's words, or by all that were given where it names none."""
    ended = job.fail(4, {**WHOLE, "testers": "ann@example"})
    assert "ann@example can be no tester." in ended.log
    assert "The release stays (" in ended.log
    job.emulator.add_fault(
        DISTRIBUTE, "status", status=400, message="Bad.", reason="badRequest"
    )
    ended = job.fail(4, WHOLE)
    assert (
        "It was for 2 testers (ann@example.com, bob@example.com) and 1 group (qa)."
        in ended.log
    )


@pytest.mark.parametrize("on", ["upload", GET, PATCH, DISTRIBUTE])
@pytest.mark.parametrize("do", ["answer-lost", "status-after-effect", "token-expired"])
def test_a_lost_answer_does_no_harm(job: Job, on: str, do: str) -> None:
    """Each request is sent again, and there is one release with its notes and its testers."""
    job.emulator.add_fault(on, do)
    code, log = job.run_here(WHOLE, FakeTime())
    assert code == 0, log
    [release] = releases(job)
    assert (release["notes"], release["groups"]) == ("Login works again.", ["qa"])
    assert len(job.emulator.state()["faults"]["fired"]) == 1


@pytest.mark.parametrize(
    "name",
    [
        "projects/1/apps/1:9:android:other/releases/r",
        f"{RELEASES}r/../../x",
        "releases/r",
        7,
    ],
)
def test_a_release_of_another_app_is_not_distributed(job: Job, name: Any) -> None:
    """The answer names something else than what was sent: nothing is done to it."""
    answer = {"name": "o/1", "done": True, "response": {"release": {"name": name}}}
    job.emulator.add_fault(GET, "replace-body", body=json.dumps(answer))
    ended = job.fail(4, WHOLE)
    assert "without the id of what it made" in ended.log
    assert "id" not in ended.outputs
    assert not [
        one for one in sent(job) if one.startswith("PATCH") or "distribute" in one
    ]


def test_only_addresses_of_pages_are_passed_on(job: Job) -> None:
    """What is no https address is neither an output nor a link."""
    release = {
        "name": f"{RELEASES}r",
        "testingUri": "https://a.example/",
        "displayVersion": "1.4",
    }
    release["firebaseConsoleUri"] = "javascript:alert(1)"
    answer = {"name": "o/1", "done": True, "response": {"release": release}}
    job.emulator.add_fault(GET, "replace-body", body=json.dumps(answer))
    ended = job.succeed(TARGET)
    assert ended.outputs["testing-url"] == "https://a.example/"
    assert "console-url" not in ended.outputs
    assert "javascript" not in ended.summary


def test_a_success_without_a_body_is_no_distribution(job: Job) -> None:
    """The service answers with an empty object; what says nothing at all may be anybody's."""
    job.emulator.add_fault(DISTRIBUTE, "status", status=200, body="")
    code, log = job.run_here(WHOLE, FakeTime())
    assert code == 0, log
    assert "trying again" in log
    assert releases(job)[0]["groups"] == ["qa"]


@pytest.mark.parametrize("on", ["upload", GET, PATCH, DISTRIBUTE])
@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        pytest.param(403, "PERMISSION_DENIED", 3, marks=pytest.mark.slow),
        (404, "NOT_FOUND", 4),
        pytest.param(400, "FAILED_PRECONDITION", 4, marks=pytest.mark.slow),
    ],
)
def test_a_refusal_at_each_step_is_told(
    job: Job, on: str, status: int, reason: str, code: int
) -> None:
    """With what is there by then; the next run does what was left."""
    body = json.dumps(
        {"error": {"code": status, "message": "No, not this.", "status": reason}}
    )
    job.emulator.add_fault(
        on, "status", status=status, body=body, content_type="application/json"
    )
    ended = job.fail(code, WHOLE)
    assert "No, not this" in ended.log
    assert ("The release stays" in ended.log) == (on in (PATCH, DISTRIBUTE))
    job.succeed(WHOLE)
    assert len(releases(job)) == 1
    assert releases(job)[0]["groups"] == ["qa"]
    # An operation that the service does not know any more is not asked about for ever.
    assert uploads(job) == (2 if (on, status) == (GET, 404) else 1)


@pytest.mark.parametrize("on", [GET, PATCH, DISTRIBUTE])
def test_a_killed_run_is_finished_by_the_next_one(job: Job, on: str) -> None:
    """Nothing is uploaded again."""
    job.emulator.add_fault(on, "slow-answer", seconds=20)
    running = job.start(WHOLE).when(lambda state: bool(state["faults"]["fired"]))
    assert running.send(signal.SIGKILL).end().code == -signal.SIGKILL
    ended = job.succeed(WHOLE)
    assert ended.outputs["release-result"] == "created"
    assert uploads(job) == 1
    [release] = releases(job)
    assert release["notes"] == "Login works again."
    assert release["testers"] == ["ann@example.com", "bob@example.com"]


def test_what_another_run_uploaded_is_sent_again(job: Job) -> None:
    """An answer in a restored folder may be of any age; the service makes nothing new of it."""
    shared = {**WHOLE, "tester-groups": "nobody"}
    job.run(shared, GITHUB_RUN_ID="1")
    ended = job.run(WHOLE, GITHUB_RUN_ID="2")
    assert (ended.code, ended.outputs["release-result"]) == (0, "unmodified")
    assert (uploads(job), len(releases(job))) == (2, 1)


def test_a_service_that_stays_down_is_a_temporary_failure(job: Job) -> None:
    """75, and the release of the first run is not made a second time."""
    for _ in range(6):
        job.emulator.add_fault(DISTRIBUTE, "status", status=503)
    code, log = job.run_here(WHOLE, FakeTime())
    assert code == 75, log
    assert "The release stays" in log
    job.succeed(WHOLE)
    assert (uploads(job), releases(job)[0]["invitations"]) == (1, 1)


def test_a_release_that_is_gone_since_is_made_again(job: Job) -> None:
    """What an earlier run uploaded and somebody deleted: the next run but one sends the file."""
    job.fail(4, {**WHOLE, "tester-groups": "nobody"})
    job.emulator._backend.app_distribution.releases.clear()
    ended = job.fail(4, WHOLE)
    assert "An earlier run uploaded the release, but it no longer exists." in ended.log
    assert job.succeed(WHOLE).outputs["release-result"] == "created"


BAD = {
    "no app": ({"firebase-app": ""}, "firebase-app: is required"),
    "a package name": (
        {"firebase-app": "com.example.app"},
        "firebase-app: 'com.example.app'",
    ),
    "an app for iOS": ({"firebase-app": "1:123:ios:abc"}, "for ios"),
    "no address": ({"testers": "ann"}, "testers: 'ann'"),
    "an address among the groups": (
        {"tester-groups": "a@example.com"},
        "tester-groups: ",
    ),
    "the name of a group": (
        {"tester-groups": "App Testers"},
        "tester-groups: 'App Testers'",
    ),
    "two texts": (
        {"whats-new": "de-DE: a\nfr-FR: b"},
        "whats-new: has notes in 2 languages",
    ),
    "both kinds of notes": ({"whats-new-directory": "notes"}, "whats-new: "),
    "notes of Play": ({"whats-new": "last-release"}, "whats-new: `last-release`"),
    "an unknown parameter": ({"params": "projects: 1"}, "params: 'projects' is not"),
    "another app": (
        {"params": "app: projects/123/apps/1:123:android:x"},
        "params: 'app' is not",
    ),
    "no app's name": ({"params": "app: apps/1"}, "params: 'app' is not"),
    "no project": ({"params": "project: [1]"}, "params: 'project' is not"),
    "another place": ({"params": "project: .."}, "params: 'project' contains"),
    "no build": ({"files": "app.txt"}, "files: app.txt"),
    "no files": ({"files": "none"}, "files: "),
    "a resumable upload": ({"upload-protocol": "resumable"}, "upload-protocol: "),
    "a multipart upload": ({"upload-protocol": "multipart"}, "upload-protocol: "),
    "no duration": ({"wait-deadline": "soon"}, "wait-deadline: "),
    "a thousand": (
        {"testers": ",".join(f"t{number}@example.com" for number in range(999))},
        "1000 testers and groups",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_before_anything_is_sent(job: Job, case: str) -> None:
    """2, with the input's name."""
    inputs, told = BAD[case]
    (job.workspace / "app.txt").write_text("no build")
    ended = job.fail(2, {**WHOLE, **inputs})
    assert told in ended.log
    assert sent(job) == []


@pytest.mark.parametrize(
    ("params", "project"),
    [
        ("", "123"),
        ("project: my-project", "my-project"),
        (f"app: projects/9/apps/{APP}", "9"),
    ],
)
def test_the_project_is_in_the_app_or_in_the_parameters(
    job: Job, params: str, project: str
) -> None:
    """The emulator does not know the app in a project of another number."""
    ended = job.run({**TARGET, "params": params})
    assert ended.code == (4 if project == "9" else 0)
    assert job.emulator.requests[0].path == (
        f"/upload/v1/projects/{project}/apps/{APP}/releases:upload"
    )


def test_notes_come_from_a_directory(job: Job) -> None:
    """The one text that is there, or that in en-US, of any length."""
    folder = job.workspace / "notes"
    folder.mkdir()
    (folder / "whatsnew-de-DE").write_text("Lang. " * 200)
    inputs = {**TARGET, "whats-new-directory": "notes"}
    job.succeed(inputs)
    assert releases(job)[0]["notes"] == ("Lang. " * 200).strip()
    (folder / "whatsnew-en-US").write_text("Short.")
    job.succeed(inputs)
    assert releases(job)[0]["notes"] == "Short."


def test_a_file_with_any_name_is_sent_under_it(job: Job, emulator: Emulator) -> None:
    """Whatever is not plain is escaped in the header."""
    (job.workspace / "app.apk").rename(job.workspace / "größe 1%.apk")
    job.succeed(TARGET)
    assert uploads(job) == 1
    assert emulator.state()["objects"][0]["size"] > 0


def test_a_rehearsal_has_the_groups_that_are_asked_for(job: Job) -> None:
    """Nothing is sent to anybody, and no group of theirs is missing."""
    ended = job.succeed(
        {**WHOLE, "tester-groups": "friends", "api-endpoint": "emulator"}
    )
    assert ended.outputs["rehearsal"] == "true"
    assert sent(job) == []


def test_inputs_of_the_firebase_action_are_answered_with_their_names_here(
    job: Job,
) -> None:
    ended = job.fail(2, {**TARGET, "appId": APP, "groups": "qa", "releaseNotes": "x"})
    for name in ("firebase-app", "tester-groups", "whats-new"):
        assert f"Use `{name}`" in ended.log
