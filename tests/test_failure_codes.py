"""The output `failure`: a stable code for how the run ended, in every run, under every CI system."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from scripts.make_troubleshooting import failures
from tests.support.job import Job
from tests.support.platforms import dotenv_report
from uploader.errors import InputError, Problem, ServiceError

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


def test_a_rollout_in_the_way_has_a_code(job: Job) -> None:
    """A later step may wait for its end."""
    assert job.run({**PLAY, "tracks": "production", "user-fraction": "0.1"}).code == 0
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 43, "1.0")
    ended = job.run({**PLAY, "tracks": "production"})
    assert (ended.code, ended.outputs["failure"]) == (4, "rollout-in-progress")


@pytest.mark.parametrize(("number", "failure"), [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")])
def test_a_signal_has_a_code(job: Job, number: signal.Signals, failure: str) -> None:
    """The one that was sent, under the name that people have for it."""
    job.emulator.add_fault("resumable.put", "stall", after=1000, seconds=30)
    running = job.start(PLAY).when(lambda state: bool(state["requests"]) and bool(state["faults"]["fired"]))
    assert running.send(number).end().outputs["failure"] == failure


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


def test_every_code_is_kebab_case() -> None:
    """A code is compared in workflows, so it has one spelling."""
    codes = [code for codes in failures().values() for code in codes]
    assert len(codes) > 70
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in codes)


def test_a_failure_without_a_code_has_that_of_its_kind() -> None:
    """Whoever raises an error need not think of one."""
    assert ServiceError("No.").code == "service-error"
    assert ServiceError("No.", code="too-late").code == "too-late"
    one, other = Problem("files", "no.", code="a"), Problem("files", "never.", code="b")
    assert [InputError(one).code, InputError(one, other).code] == ["a", "invalid-input"]


def test_the_codes_of_the_kinds_stand_before_the_others() -> None:
    """The list in the documents says which of them are general."""
    assert failures()[2][0] == "invalid-input"
    assert (Path(__file__).parents[1] / "docs/TROUBLESHOOTING.md").read_text("utf-8").count(
        "`rollout-in-progress`"
    ) == 1
