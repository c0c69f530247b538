"""Google's known messages: each is recognised, has one sentence of cause and one of cure, and is
documented.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import make_troubleshooting
from tests.support.fake_play import AUTOMATIC, BY_HAND, Play, artifact, refused
from tests.support.play_driver import Engine, release_job
from uploader.errors import ApiError, CredentialsError, UploaderError
from uploader.services.batch import with_default_advice
from uploader.services.play import known_errors
from uploader.services.play.known_errors import (
    KNOWN_ERRORS,
    KnownError,
    explain,
    find,
)

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "TROUBLESHOOTING.md"


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=lambda known: known.words)
def test_each_known_message_is_recognised_as_itself(known: KnownError) -> None:
    """No earlier entry of the table takes a later one's words for its own."""
    assert find(refused(400, known.words)) is known


@pytest.mark.parametrize(
    ("message", "known"),
    [
        (BY_HAND, known_errors.REVIEW_BY_HAND),
        (AUTOMATIC, known_errors.REVIEW_AUTOMATIC),
        (
            "APK specifies a version code that has already been used.",
            known_errors.VERSION_TAKEN,
        ),
        ("This edit has expired, please create a new Edit.", known_errors.EDIT_GONE),
        (
            "This edit has already been successfully committed, please create a new Edit.",
            known_errors.EDIT_GONE,
        ),
        (
            "A change was made to the application outside of this Edit, please create a new edit.",
            known_errors.EDIT_GONE,
        ),
        ("Edit not found: 123.", known_errors.EDIT_GONE),
        ("Something entirely new.", known_errors.OTHER),
        (
            "The edit could not be committed: release notes not found.",
            known_errors.OTHER,
        ),
    ],
)
def test_other_spellings_are_recognised_too(message: str, known: KnownError) -> None:
    """Google words one thing in several ways."""
    assert find(refused(400, message)) is known


@pytest.mark.parametrize(
    ("message", "reason", "code"),
    [
        pytest.param(
            "The release created has notes in language en-US with length 546, which is too long "
            "(max: 500).",
            "forbidden",
            "release-notes-too-long",
            id="notes, as of today",
        ),
        pytest.param(
            "The release notes of language en-US exceed the limit: the text exceeds the maximum "
            "of 500 bytes.",
            "badRequest",
            "release-notes-too-long",
            id="notes, in bytes",
        ),
        pytest.param(
            "Release notes text is too large: at most 500 bytes.",
            "badRequest",
            "release-notes-too-long",
            id="notes that are too large",
        ),
        pytest.param(
            "APK of size 214539916 is too large.",
            "badRequest",
            "artifact-too-large",
            id="APK of so many bytes",
        ),
        pytest.param(
            "APK size too big.", "forbidden", "artifact-too-large", id="APK size"
        ),
        pytest.param(
            "The Android App Bundle contains an auto-generated multi-apk that exceeds the maximum "
            "allowed size of 150 MB.",
            "forbidden",
            "artifact-too-large",
            id="APKs of a bundle",
        ),
        pytest.param(
            "Caller does not have required permission to use project example-1. Grant the caller "
            "the roles/serviceusage.serviceUsageConsumer role, or a custom role with the "
            "serviceusage.services.use permission, and then retry.",
            "USER_PROJECT_DENIED",
            "quota-project-denied",
            id="quota project that the account may not use",
        ),
        pytest.param(
            "Permission denied on resource project example-1.",
            "CONSUMER_INVALID",
            "project-unusable",
            id="project that does not exist",
        ),
    ],
)
def test_messages_that_people_report_have_their_own_cause(
    message: str, reason: str, code: str
) -> None:
    """No neighbour of the table takes them, such as one about permissions in the Play Console."""
    assert find(refused(403, message, reason)).code == code


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=lambda known: known.words)
def test_a_reason_is_enough_when_the_words_are_new(known: KnownError) -> None:
    """Codes change less often than sentences."""
    for reason in known.reasons:
        assert find(refused(403, "New words for an old thing.", reason)) is known


@pytest.mark.parametrize(
    ("message", "code", "permission"),
    [
        ("The caller does not have permission", "permission-denied", True),
        (
            "The current user has insufficient permissions to perform the requested operation.",
            "permission-denied",
            True,
        ),
        (
            "This release is not compliant with the Google Play 64-bit requirement.",
            "not-64-bit",
            False,
        ),
        ("You must complete account verification.", "account-not-verified", False),
        ("This app has no data safety declaration.", "data-safety-missing", False),
        (
            "This release does not allow any existing users to upgrade.",
            "version-code-too-low",
            False,
        ),
        ("All policy declarations must be completed.", "declaration-missing", False),
        ("Something entirely new.", "refused", False),
    ],
)
@pytest.mark.parametrize("reason", ["forbidden", "PERMISSION_DENIED"])
def test_a_403_is_a_matter_of_permission_by_its_words_alone(
    message: str, code: str, permission: bool, reason: str
) -> None:
    """Google sends `forbidden` for many refusals that no right of the account would change: those
    are exit code 4.
    """
    error = explain(refused(403, message, reason))
    assert (error.code, error.exit_code) == (code, 3 if permission else 4)
    assert message in error.what
    # Without an entry in the table no cause is given beyond Google's words; a hint always is.
    assert (error.cause != "", error.hint != "") == (code != "refused", True)


@pytest.mark.parametrize("call", ["PUT tracks", "commit"])
def test_bundles_that_google_is_still_taking_in_are_waited_for(call: str) -> None:
    """The refusal passes by itself, and costs neither the run nor a second upload."""
    play = Play()
    play.fail(
        call,
        refused(
            400,
            "Some of the Android App Bundle uploads are not completed yet.",
            "badRequest",
        ),
    )
    engine = Engine(play)
    engine.run(release_job(artifact(2)))
    assert (engine.waits, play.uploads, engine.outputs["committed"]) == (
        1,
        ["app-2.aab"],
        "true",
    )


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=lambda known: known.words)
def test_google_s_own_words_are_kept(known: KnownError) -> None:
    """The error says what the service said, and what it means; rights are the credentials' matter
    (exit code 3).
    """
    error = explain(refused(400, known.words, "someReason"))
    assert known.words in error.what
    assert (error.cause, error.hint) == (known.cause, known.hint)
    assert isinstance(error, CredentialsError if known.permission else ApiError)


def test_the_documents_have_the_same_table() -> None:
    """docs/TROUBLESHOOTING.md is up to date."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == make_troubleshooting.renewed(text), (
        "run python -m scripts.make_troubleshooting"
    )


# --- every other service --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reason", "raised"),
    [
        (403, "insufficientPermissions", CredentialsError),
        (403, "forbidden", CredentialsError),
        (403, "PERMISSION_DENIED", CredentialsError),
        (403, "accessNotConfigured", CredentialsError),
        (403, "storageQuotaExceeded", ApiError),
        (400, "forbidden", ApiError),
        (403, "", ApiError),
    ],
)
def test_a_missing_right_is_about_the_credentials(
    status: int, reason: str, raised: type[UploaderError]
) -> None:
    """The service's own words stay, with what to do about rights; a full drive or a bad request is
    exit code 4.
    """
    refusal = ApiError(
        "The service refused it: No.", status=status, reason=reason, message="No."
    )
    with (
        pytest.raises(raised, match=r"refused it: No\.") as caught,
        with_default_advice(),
    ):
        raise refusal
    assert ("grant the account the permission" in str(caught.value)) is (
        raised is CredentialsError
    )


def test_only_what_a_log_shows_is_listed_as_a_message() -> None:
    """No pattern of the program's own, no half of a quotation, no name of a thing."""
    blocks = re.findall(
        r"```text\n(.*?)```",
        make_troubleshooting.DOCUMENT.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines
    assert not [
        line
        for line in lines
        if "\\d" in line or line == "a private key" or "…`, its `…`" in line
    ]
