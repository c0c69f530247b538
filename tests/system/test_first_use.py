"""What newcomers read when a service refuses what they have asked for, through the real entrypoint:
the cause and what to do, and nothing that is not so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job

PACKAGE = "com.example.app"
PLAY = {"target": "play", "files": "app.aab", "tracks": "production"}
MAIL = {
    "target": "gmail",
    "mail-to": "team@example.com",
    "mail-subject": "x",
    "mail-body": "y",
    "impersonate-user": "release@example.com",
}
OTA = {
    "target": "ota",
    "files": "ota.zip",
    "deployment": "123",
    "package-title": "1.4.2",
}
PAGE = "<html><head><title>Blocked</title></head></html>"
WRONG_TARGET = (
    "Your app currently targets API level 33 and must target at least API level 34."
)
NO_LANGUAGE = (
    "Tried to set recent changes text for APK version 7 for language sv-SE. Language is not "
    "associated with the app."
)


@pytest.fixture
def job(tmp_path: Path, emulator: Emulator) -> Job:
    """A checkout with a bundle, an APK and a zip."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    specimens.make_bundle(workspace / "app.aab", PACKAGE, 7, "1.0")
    specimens.make_apk(workspace / "app.apk", PACKAGE, 7, "1.0")
    (workspace / "ota.zip").write_bytes(b"PK\5\6" + bytes(18))
    return Job(workspace, emulator)


def error(status: int, message: str, reason: str = "") -> dict[str, Any]:
    """A fault that refuses a request in Google's form."""
    body = {
        "error": {"code": status, "message": message, "errors": [{"reason": reason}]}
    }
    return {
        "status": status,
        "body": json.dumps(body),
        "content_type": "application/json",
    }


@pytest.mark.parametrize(
    ("inputs", "on", "refusal", "code", "words"),
    [
        pytest.param(
            PLAY,
            "play.edits.commit",
            {"status": 400, "body": ""},
            4,
            "(400) without any explanation. It may not have been Google that answered",
            id="nothing",
        ),
        pytest.param(
            PLAY,
            "play.edits.insert",
            {"status": 403, "body": PAGE},
            4,
            "(403) with an HTML page. An HTML page is not Google's answer: a proxy or firewall",
            id="page of a proxy",
        ),
        pytest.param(
            PLAY,
            "play.tracks.update",
            error(400, NO_LANGUAGE, "apkRecentChangesAddedForMissingLanguage"),
            4,
            "Add the language to the listing",
            id="language of the notes",
        ),
        pytest.param(
            OTA,
            "goog.start",
            error(403, "The caller does not have permission", "forbidden"),
            3,
            "Enable the Android Over the Air API in the project, and have the account added to the "
            "deployment",
            id="OTA",
        ),
        pytest.param(
            {
                "target": "drive.files.create",
                "files": "ota.zip",
                "metadata": '{"parents": ["1AbC"]}',
            },
            "drive.files.create",
            error(404, "File not found: 1AbC.", "notFound"),
            4,
            "There is no file or folder 1AbC, or the account of this run can't see it. Share it "
            "with the account (the log says `Acting as …`) as editor. If it is in a shared drive, "
            "add `supportsAllDrives: true`",
            id="folder of Drive",
        ),
    ],
)
def test_a_refusal_says_its_cause_and_what_to_do(
    job: Job,
    inputs: dict[str, str],
    on: str,
    refusal: dict[str, Any],
    code: int,
    words: str,
) -> None:
    """In one line, and without the advice for refusals that the program does not know."""
    job.emulator.add_fault(on, "status", **refusal)
    ended = job.fail(code, inputs)
    [told] = [line for line in ended.log.splitlines() if line.startswith("::error")]
    assert words in told
    assert "Do what Google's message asks for" not in told


def test_a_release_by_hand_is_no_advice_against_a_proxy(job: Job) -> None:
    """That advice is for a refusal of Google's that explains nothing."""
    job.emulator.add_fault("play.edits.insert", "status", status=403, body=PAGE)
    assert "release by hand" not in job.fail(4, PLAY).log
    job.emulator.add_fault("play.edits.commit", "status", status=400, body="")
    ended = job.fail(4, PLAY)
    [told] = [line for line in ended.log.splitlines() if line.startswith("::error")]
    assert told.count("Make the same release by hand in the Play Console") == 1


def test_a_build_that_is_wrong_is_not_run_again(job: Job) -> None:
    """The edit is kept, as after every refused commit, but a new run would be refused again."""
    job.emulator.add_fault(
        "play.edits.commit", "status", **error(403, WRONG_TARGET, "forbidden")
    )
    ended = job.fail(4, PLAY)
    assert "Raise `targetSdkVersion` and build again." in ended.log
    assert "run again" not in ended.log


def test_debug_logging_shows_what_was_refused(job: Job) -> None:
    """Google's words alone are not enough for `Request contains an invalid argument.`"""
    refusal = error(400, "Request contains an invalid argument.", "badRequest")
    job.emulator.add_fault("play.tracks.update", "status", **refusal)
    ended = job.fail(4, PLAY, RUNNER_DEBUG="1")
    assert 'sent {"track": "production", "releases": [{"' in ended.log
    job.emulator.add_fault("play.tracks.update", "status", **refusal)
    assert "with RUNNER_DEBUG=1 the log has the request" in job.fail(4, PLAY).log


def test_a_status_asks_for_no_more_than_to_read(job: Job) -> None:
    """The account needs no permission to release for a status."""
    job.emulator.config.denied = [PACKAGE]
    ended = job.fail(3, {"target": "play-status", "package-name": PACKAGE})
    assert "“View app information (read-only)”" in ended.log
    assert "release this app" not in ended.log


def test_a_missing_delegation_names_what_to_enter(job: Job) -> None:
    """Client ID and scope, as the Admin console asks for them."""
    job.emulator.config.delegation = False
    ended = job.fail(3, MAIL)
    assert (
        "In the Admin console (Security, API controls, Domain-wide delegation) add client ID "
        f"{job.emulator.key['client_id']} with https://www.googleapis.com/auth/gmail.send."
    ) in ended.log


def test_a_mail_warns_of_files_that_gmail_blocks(job: Job) -> None:
    """It is tried all the same, and Gmail refuses the mail."""
    log = job.fail(4, {**MAIL, "files": "app.apk, ota.zip"}).log
    assert "::warning::Gmail blocks app.apk:" in log


@pytest.mark.parametrize("address", ["max@gmail.com", "Max@Outlook.com"])
def test_people_are_no_groups_of_testers(job: Job, address: str) -> None:
    """The message says where people are added; a group may be at any other domain."""
    ended = job.fail(
        2, {**PLAY, "tracks": "alpha", "testers": f"qa@example.com, {address}"}
    )
    assert f"testers: {address.lower()} is a person's address" in ended.log
    assert "individual people in the Play Console" in ended.log
    assert not job.emulator.state()["requests"]
