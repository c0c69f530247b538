"""The output `failure`: a stable code for how the run ended, in every run, under every CI system."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from google_emulator import Emulator, specimens
from scripts.make_troubleshooting import failures
from tests.support.job import Job
from tests.support.platforms import dotenv_report

PLAY = {"target": "play", "files": "*.aab", "tracks": "internal", "max-retries": "0"}
PACKAGE = "com.example.app"


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 42, "1.0", size_bytes=100_000)
    return job


def nothing(emulator: Emulator) -> None:
    """All is well."""


def unknown_app(emulator: Emulator) -> None:
    """No app was created by hand."""
    emulator.config.any_app = False


def forbidden(emulator: Emulator) -> None:
    """The account may not release the app."""
    emulator.config.denied = [PACKAGE]


def no_closed_track(emulator: Emulator) -> None:
    """Only the standard tracks exist."""
    emulator.config.any_track = False


def outage(emulator: Emulator) -> None:
    """The upload's start is answered with 503."""
    emulator.add_fault("resumable.start", "status", status=503)


def unknown_words(emulator: Emulator) -> None:
    """A refusal in words that the program has no entry for."""
    emulator.add_fault("play.edits.commit", "status", status=400)


CASES: dict[str, tuple[Callable[[Emulator], None], dict[str, str], int, str]] = {
    "it ended well": (nothing, {}, 0, ""),
    "a wrong input": (nothing, {"status": "done"}, 2, "invalid-input"),
    "two wrong inputs": (nothing, {"status": "done", "files": "gone.aab"}, 2, "invalid-input"),
    "a known mistake": (nothing, {"countries": "DE"}, 2, "countries-not-allowed"),
    "a known mistake beside another": (nothing, {"countries": "DE", "mapping-file": "no"}, 2, "invalid-input"),
    "an unknown track": (no_closed_track, {"tracks": "friends"}, 4, "track-not-found"),
    "an unknown version": (nothing, {"version-codes-to-retain": "9"}, 4, "retained-version-unknown"),
    "an unknown app": (unknown_app, {}, 4, "package-not-found"),
    "a missing right": (forbidden, {}, 3, "permission-denied"),
    "an outage": (outage, {}, 75, "temporary-failure"),
    "new words": (unknown_words, {}, 4, "refused"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_output_tells_how_the_run_ended(job: Job, name: str) -> None:
    """One word for later steps, beside the exit code."""
    prepare, inputs, code, failure = CASES[name]
    prepare(job.emulator)
    ended = job.run({**PLAY, **inputs})
    assert (ended.code, ended.outputs["failure"]) == (code, failure), ended.log
    assert failure in [*failures().get(code, []), ""]


def test_a_refused_login_has_the_code_of_its_cause(job: Job) -> None:
    """As every row of the table of login errors has."""
    key = {**job.emulator.key, "client_email": "gone@example.iam.gserviceaccount.com"}
    ended = job.run({**PLAY, "credentials": json.dumps(key)})
    assert (ended.code, ended.outputs["failure"]) == (3, "account-not-found"), ended.log


def report(job: Job) -> dict[str, str]:
    """The dotenv report that the run left."""
    return dotenv_report((job.workspace / "uploader.env").read_bytes())


def test_gitlab_gets_it_too_and_the_next_job_is_not_confused(job: Job) -> None:
    """`UPLOADER_FAILURE` is an output, also when it comes back as a variable of a later job."""
    gitlab = replace(job, kind="gitlab")
    gitlab.run({**PLAY, "status": "done"})
    assert report(job)["UPLOADER_FAILURE"] == "invalid-input"
    again = gitlab.run(PLAY, UPLOADER_FAILURE="invalid-input")
    assert report(job)["UPLOADER_FAILURE"] == ""
    assert "UPLOADER_FAILURE is not" not in again.log
