"""Errors do not change: who knows more about one makes another of it."""

from __future__ import annotations

import pytest

from tests.support.recording_context import RecordingContext
from uploader.errors import (
    ApiError,
    CredentialsError,
    InputError,
    Interrupted,
    OutcomeUnknown,
    Problem,
    TemporaryError,
    UploaderError,
)
from uploader.services.play.several_apps import SeveralApps

ERRORS = [
    UploaderError("It failed.", cause="Because.", hint="Do this.", code="a-code"),
    InputError(
        Problem("tracks", "is wrong."),
        Problem("files", "are wrong.", "files", code="c"),
    ),
    ApiError(
        "No.",
        status=404,
        reason="notFound",
        message="No.",
        body={"error": {}},
        hint="Look.",
    ),
    OutcomeUnknown("Nobody knows.", cause="It was lost.", session_kept=True),
    TemporaryError("Gave up.", code="host-not-found"),
    Interrupted(2, unanswered=True, in_doubt=True, hint="Look first."),
    Interrupted(15),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_refuses_assignment(error: UploaderError) -> None:
    before = str(error)
    names = [
        *vars(error),
        "session_kept",
        "unanswered",
        "details",
        "exit_code",
        "args",
        "new",
    ]
    for name in names:
        with pytest.raises(AttributeError, match=name):
            setattr(error, name, "changed")
    assert str(error) == before


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_other_advice_keeps_everything_else(error: UploaderError) -> None:
    other = error.with_advice(cause="Another cause.", hint="Do that.")
    assert type(other) is type(error)
    assert vars(other) == {**vars(error), "cause": "Another cause.", "hint": "Do that."}
    assert (other.args, other.exit_code, other.code) == (
        error.args,
        error.exit_code,
        error.code,
    )
    assert (other.session_kept, other.unanswered) == (
        error.session_kept,
        error.unanswered,
    )


def test_other_advice_keeps_the_errors_that_led_to_it() -> None:
    error = CredentialsError("Refused.")
    error.__cause__ = TimeoutError()  # as `raise … from` does
    error.__context__ = KeyError()
    other = error.with_advice(hint="Do that.")
    assert other.__cause__ is error.__cause__
    assert other.__context__ is error.__context__
    assert other.__suppress_context__


@pytest.mark.parametrize(
    ("hint", "also", "both"),
    [
        ("Run again.", "Look first.", "Run again. Look first."),
        ("", "Look first.", "Look first."),
        ("Run again.", "", "Run again."),
    ],
)
def test_more_advice_stands_behind_the_hint(hint: str, also: str, both: str) -> None:
    assert UploaderError("It failed.", hint=hint).with_advice(also=also).hint == both


def test_another_sentence_keeps_the_advice() -> None:
    error = ApiError("No.", status=400, cause="Because.", hint="Do this.").with_what(
        "app: No."
    )
    assert str(error) == "app: No. Because. Do this."
    assert (error.args, error.status) == (("app: No.",), 400)


def test_an_app_that_was_stopped_has_no_failure_of_its_own_after_more_advice() -> None:
    """The failure that ends the run is that of the app which stopped the others."""
    run = SeveralApps(["com.example.app"], (), RecordingContext(), commits=True)
    (app,) = run.apps
    app.stop(TemporaryError("com.example.other: Google Play is down."))

    def work() -> None:
        try:
            app.check()
        except UploaderError as error:
            raise error.with_advice(also="It is perhaps committed.") from error

    run.do_together({app: work})
    assert app.failure is None
