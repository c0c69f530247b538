"""The data safety form: checked before anything is sent, and sent as it is in a request of its
own.
"""

from __future__ import annotations

import pytest

from google_emulator.services.play.data_safety import HEADER
from tests.destinations.conftest import Begin
from tests.support.job import Job

METHOD = "androidpublisher.applications.dataSafety"
APP = "com.example.app"
GIVEN = {"target": "play-data-safety", "package-name": APP, "files": "form.csv"}
ANSWER = (
    "PSL_DATA_COLLECTION_COLLECTS_PERSONAL_DATA,,false,REQUIRED,Does your app collect "
    "any data?"
)
BLANK = (
    'PSL_SUPPORTED_ACCOUNT_CREATION_METHODS,PSL_ACM_OAUTH,,MULTIPLE_CHOICE,"Which methods?\nSelect '
    'all, "" or none"'
)
FORM = f"{HEADER}\n{ANSWER}\n{BLANK}\n"


@pytest.mark.parametrize("text", [FORM, "\ufeff" + FORM, FORM.replace("\n", "\r\n")])
def test_the_form_is_sent_as_it_is(job: Job, text: str) -> None:
    """Google has its text, but for a byte order mark; the log says that a review comes before users
    see it.
    """
    (job.workspace / "form.csv").write_bytes(text.encode())
    ended = job.succeed(GIVEN)
    assert job.emulator.state()["dataSafety"] == {APP: text.removeprefix("\ufeff")}
    assert "1 answer" in ended.log
    assert "once Google has reviewed it" in ended.log


def test_a_rehearsal_claims_nothing_of_google(job: Job) -> None:
    """The emulator has the form, and nobody reviews it."""
    (job.workspace / "form.csv").write_text(FORM)
    ended = job.run({**GIVEN, "api-endpoint": "emulator"})
    assert ended.code == 0, ended.log
    assert "Google Play has accepted" not in ended.log
    assert "once Google has reviewed it" not in ended.log


def test_a_dry_run_sends_nothing(job: Job) -> None:
    """The checks alone: no request but the login's."""
    (job.workspace / "form.csv").write_text(FORM)
    ended = job.succeed({**GIVEN, "dry-run": "true"})
    assert "Would send form.csv" in ended.log
    assert [
        name
        for name in job.emulator.state()["requests"]
        if name.startswith("androidpublisher")
    ] == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"Question,Answer\nA,B\n", "does not begin with the header row"),
        (b"", "does not begin with the header row"),
        (f"{HEADER}\n".encode(), "holds no answer"),
        (
            f"{FORM},x,true,OPTIONAL,Which?\n".encode(),
            "line 5 of form.csv has no question id",
        ),
        (
            f"{FORM}PSL_X,true\n".encode(),
            "line 5 of form.csv has 2 fields instead of 5",
        ),
        (
            f"{FORM}PSL_X,,\xe9,OPTIONAL,Which?\n".encode("latin-1"),
            "line 5 of form.csv is not UTF-8",
        ),
        (f'{FORM}PSL_X,,true,OPTIONAL,"Which?\n'.encode(), "is not a CSV file"),
        (
            FORM.encode() + b"PSL_X,,true,OPTIONAL,Which?\n" * 40_000,
            "more than any data safety form",
        ),
    ],
)
def test_what_is_no_form_is_refused_before_anything_is_sent(
    job: Job, data: bytes, words: str
) -> None:
    """Exit code 2, the line and what is wrong with it, and not one request."""
    (job.workspace / "form.csv").write_bytes(data)
    ended = job.fail(2, GIVEN)
    assert words in ended.log
    assert job.emulator.state()["requests"] == {}


@pytest.mark.parametrize("missing", ["package-name", "files"])
def test_the_app_and_the_file_are_required(job: Job, missing: str) -> None:
    """A form does not say whose it is."""
    (job.workspace / "form.csv").write_text(FORM)
    ended = job.fail(
        2, {name: value for name, value in GIVEN.items() if name != missing}
    )
    assert f"{missing}: " in ended.log


def test_google_names_the_row_that_it_refuses(job: Job) -> None:
    """Exit code 4 in the service's own words."""
    (job.workspace / "form.csv").write_text(FORM + "PSL_X,,,REQUIRED,Which?\n")
    ended = job.fail(4, GIVEN)
    assert "Row 4: the required question PSL_X has no answer." in ended.log


@pytest.mark.slow
def test_a_lost_response_and_a_503_are_tried_again(begin: Begin) -> None:
    """The form replaces the one before, so it may be sent again."""
    job = begin(
        {"on": METHOD, "do": "answer-lost"},
        {"on": METHOD, "do": "status", "status": 503, "nth": 2},
    )
    (job.workspace / "form.csv").write_text(FORM)
    job.succeed(GIVEN)
    assert job.emulator.state()["requests"][METHOD] == 3
