"""What a run says about the emulator, and about a review that people have to ask for; it never
claims too much.
"""

from __future__ import annotations

import base64
import contextlib
import io
import re
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest

from google_emulator import specimens
from tests.support.job import Ended, Job
from uploader import cli

PLAY = {"target": "play", "files": "*.aab", "tracks": "production"}
CHANGE = {"target": "play", "package-name": "com.example.app", "tracks": "production"}
ROLLOUT = {
    **CHANGE,
    "target": "play-rollout",
    "rollout-steps": "20%, 100%",
    "halt-above": "crash-rate 1.09%",
}
KEY = b'{"type": "service_account", "client_email": "a@p.iam.gserviceaccount.com"}'
TWICE = base64.b64encode(base64.b64encode(KEY)).decode()
TO_SEND = "committed; send it for review in the Play Console"
DEEDS = ("Committed edit", "sent for review", "passed Google Play's validation")


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 42, "1.0")
    return job


def rehearsed(job: Job, inputs: Mapping[str, str]) -> Ended:
    """A run against the embedded emulator."""
    ended = job.run({**inputs, "api-endpoint": "emulator"})
    assert not job.emulator.state()["requests"]
    return ended


# A rehearsal


class Curious(io.StringIO):
    """A log that asks the emulator for its state as soon as it is told where that is."""

    status = 0

    def write(self, text: str) -> int:
        """Takes what is logged."""
        found = re.search(r"API requests go to (http://127\.0\.0\.1:\d+)", text)
        if found and not self.status:
            try:
                with urllib.request.urlopen(f"{found[1]}/__emulator/state") as answer:
                    self.status = answer.status
            except urllib.error.HTTPError as refused:
                self.status = refused.code
                refused.close()
        return super().write(text)


def test_the_emulator_inside_a_run_tells_nobody_else_its_state(job: Job) -> None:
    """Other programs of the machine find the port, and lack the token."""
    log = Curious()
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        code = cli.run(job.environment({**PLAY, "api-endpoint": "emulator"}), [])
    assert (code, log.status) == (0, 403), log.getvalue()


@pytest.mark.parametrize(
    ("login", "words"),
    [
        pytest.param({"credentials": TWICE}, "base64 of base64", id="encoded twice"),
        pytest.param(
            {"credentials": "key.json"}, "there is no file `key.json`", id="no file"
        ),
        pytest.param(
            {"credentials": "", "service-account": "a@p.iam.gserviceaccount.com"},
            "given without `workload-identity-provider`",
            id="half of a keyless login",
        ),
    ],
)
def test_a_rehearsal_finds_a_login_in_the_wrong_form(
    job: Job, login: Mapping[str, str], words: str
) -> None:
    ended = rehearsed(job, {**PLAY, **login})
    assert (ended.code, ended.outputs["failure"]) == (2, "invalid-input")
    assert words in ended.log


def test_a_rehearsal_says_what_it_did_with_the_login(job: Job) -> None:
    """The login is not tried, and without one there is nothing to say."""
    assert "The given login is not tried: only its form" in rehearsed(job, PLAY).log
    ended = rehearsed(job, {**PLAY, "credentials": ""})
    assert ended.code == 0
    assert "given login" not in ended.log


def test_a_rehearsal_does_not_say_how_long_it_took(job: Job) -> None:
    """Most of its time goes into the start of the emulator, and no answer is Google's."""
    ended = rehearsed(job, PLAY)
    assert ended.code == 0
    assert "Took" not in ended.log
    failed = rehearsed(job, {**PLAY, "tracks": "prodution"})
    assert failed.code == 4
    assert "Took" not in failed.log


def test_a_rehearsal_warns_of_a_track_that_only_the_emulator_may_have(job: Job) -> None:
    """It has a track of every name."""
    log = rehearsed(job, {**PLAY, "tracks": "open-testing, internal"}).log
    assert "::warning::`open-testing` is not one of Google's own tracks" in log
    created = rehearsed(job, {**PLAY, "tracks": "team", "create-tracks": "true"}).log
    assert "one of Google's own tracks" not in created
    assert "created in the Play Console (open testing is `beta`)." in log
    assert "`internal` is not one of" not in log


@pytest.mark.parametrize("track", ["wear", "tv/production", "Closed testing - Alpha"])
def test_a_rehearsal_finds_another_name_for_a_track(job: Job, track: str) -> None:
    """As Google Play would."""
    ended = rehearsed(job, {**PLAY, "tracks": track})
    assert (ended.code, ended.outputs["failure"]) == (4, "track-not-found"), ended.log


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"dry-run": "true"}, {"changes-not-sent-for-review": "true"}], ids=repr
)
def test_a_rehearsal_claims_nothing_of_google(job: Job, more: dict[str, str]) -> None:
    """The log says once that the edit is committed in the emulator. Nothing is said to be reviewed,
    or validated by Google.
    """
    ended = rehearsed(job, {**PLAY, **more})
    assert ended.code == 0, ended.log
    everything = ended.log + ended.summary + ended.outputs.get("plan", "")
    said = [
        line for line in everything.splitlines() if any(deed in line for deed in DEEDS)
    ]
    if "dry-run" in more:
        assert said == []
        outcome = "In the emulator: com.example.app 1.0 (42) passed the validation."
        assert ended.last_line == f"Rehearsal, nothing was published. {outcome}"
    else:
        assert [re.sub("[0-9]+", "1", line) for line in said] == [
            "Committed edit 1 in the emulator."
        ]
    assert (ended.outputs["committed"], ended.outputs.get("sent-for-review", "")) == (
        "false",
        "",
    )
    assert TO_SEND not in everything


def test_a_rehearsed_review_is_the_emulator_s(job: Job) -> None:
    """Nobody takes it for Google's."""
    ended = rehearsed(job, {**PLAY, "wait-for": "published"})
    assert ended.code == 0, ended.log
    lines = ended.log.splitlines()
    assert "Review in the emulator: production: published." in lines
    assert [line for line in lines if line.startswith("Review:")] == []


def test_a_rehearsed_release_is_an_update(job: Job) -> None:
    """The app is live on every standard track, with a lower version code."""
    ended = rehearsed(job, PLAY)
    live = "The emulator begins with com.example.app live: 41 (all users, completed) on"
    assert f"{live} production, beta, alpha, internal." in ended.log.splitlines()
    assert (
        "\nTrack production\n+ 1.0 (42): all users, completed\n- 41: all users, completed\n"
        in ended.summary
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "headline"),
    [
        ({"promote-from": "beta"}, "2 is promoted from beta to production."),
        (
            {"promote-from": "qa-team", "user-fraction": "0.05"},
            "2 is promoted from qa-team, at 5 %, to production.",
        ),
        (
            {"promote-from": "beta", "promote-version-codes": "41"},
            "41 is promoted from beta to production.",
        ),
        (
            {"promote-from": "beta", "version-codes-to-retain": "1"},
            "2+1 is promoted from beta to production.",
        ),
        (
            {
                "promote-from": "beta",
                "version-codes-to-retain": "16, 15",
                "user-fraction": "0.1",
            },
            "17+16+15 is promoted from beta, at 10 %, to production.",
        ),
        (
            {
                "promote-from": "beta",
                "promote-version-codes": "41",
                "version-codes-to-retain": "last-release",
            },
            "41+40 is promoted from beta to production.",
        ),
        ({"user-fraction": "0.2"}, "2 is now at 20 % on production."),
        ({"user-fraction": "0.05"}, "2 is now at 5 % on production."),
        ({"status": "halted"}, "2 is halted on production."),
        ({"status": "completed"}, "2 is rolled out to all users on production."),
        ({"version-codes-to-retain": "7"}, "7 is released on production."),
    ],
    ids=repr,
)
def test_what_is_there_already_can_be_rehearsed(
    job: Job, inputs: dict[str, str], headline: str
) -> None:
    """Whoever promotes, widens, halts or completes a release finds one in progress."""
    ended = rehearsed(job, {**CHANGE, **inputs})
    last = ended.last_line
    assert (ended.code, last) == (
        0,
        f"Rehearsal, nothing was published. In the emulator: com.example.app {headline}",
    ), ended.log


@pytest.mark.parametrize(
    "more",
    [{}, {"changes-not-sent-for-review": "true"}, {"version-codes-to-retain": "7"}],
)
def test_a_rehearsed_rollout_makes_its_step(job: Job, more: dict[str, str]) -> None:
    """The gate finds healthy days of the release in progress, and nothing is said to be
    reviewed.
    """
    ended = rehearsed(job, {**ROLLOUT, **more})
    assert "sent for review" not in ended.log + ended.summary
    assert (ended.code, ended.outputs["decision"], ended.outputs["user-fraction"]) == (
        0,
        "stepped",
        "0.2",
    ), ended.log
    assert (
        "2 (10 % of users, in progress) on production, with measurements of healthy days."
        in ended.log
    )


def test_the_first_version_of_an_app_is_a_first_release(job: Job) -> None:
    """Nothing has a lower version code than 1, so nothing is live."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 1, "1.0")
    ended = rehearsed(job, PLAY)
    assert ended.code == 0, ended.log
    nothing = "nothing on the tracks of com.example.app: no version code is below 1"
    assert f"The emulator begins with {nothing}." in ended.log.splitlines()


def test_a_rehearsed_first_release_can_t_be_staged(job: Job) -> None:
    """As Google Play stages only updates."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 1, "1.0")
    ended = rehearsed(job, {**PLAY, "user-fraction": "5%"})
    assert "::warning::The first release on production goes to all users" in ended.log


def test_a_rehearsal_finds_a_misspelt_track(job: Job) -> None:
    """The emulator does not create it for the run."""
    ended = rehearsed(job, {**CHANGE, "tracks": "prodution", "status": "completed"})
    assert (ended.code, ended.outputs["failure"]) == (4, "track-not-found")
    assert "a track of every name" not in ended.log


# Committed, but not sent for review


@pytest.mark.parametrize("asked", ["auto", "true"])
def test_what_waits_for_a_person_is_never_called_released(job: Job, asked: str) -> None:
    """The last line, the summary and the annotation tell what is left to do, and the output
    does.
    """
    job.emulator.config.review = "manual"
    ended = job.succeed({**PLAY, "changes-not-sent-for-review": asked})
    assert (ended.outputs["committed"], ended.outputs["sent-for-review"]) == (
        "true",
        "false",
    )
    last = (
        f"com.example.app 1.0 (42) on production (all users, completed) is {TO_SEND}."
    )
    assert ended.last_line == last
    assert (
        f"## ⚠️ {last.removeprefix('com.example.app ').rstrip('.')}\n" in ended.summary
    )
    assert (
        f"::warning::com.example.app: {TO_SEND}, under Publishing overview: "
        "https://play.google.com/"
    ) in ended.log
    assert "is released" not in ended.log + ended.summary


def test_what_went_into_the_review_is_told_by_the_output(job: Job) -> None:
    """A second run commits nothing, so it does not know."""
    assert job.run(PLAY).outputs["sent-for-review"] == "true"
    again = job.run(PLAY)
    assert (again.outputs["committed"], again.outputs.get("sent-for-review", "")) == (
        "true",
        "",
    )


def test_a_draft_waits_for_a_person(job: Job) -> None:
    """Nobody reviews it before it is rolled out."""
    ended = job.run({**PLAY, "status": "draft"})
    assert (ended.outputs["sent-for-review"], "as a draft" in ended.summary) == (
        "false",
        True,
    )


def test_a_step_that_waits_for_a_person_is_told_by_the_output(job: Job) -> None:
    """A rollout that is reviewed by hand is no further before somebody sends it."""
    job.emulator.config.review = "manual"
    release = {"versionCodes": ["42"], "status": "inProgress", "userFraction": 0.1}
    job.emulator.console.add_release("com.example.app", "production", release)
    ended = job.run(
        {name: value for name, value in ROLLOUT.items() if name != "halt-above"}
    )
    assert (ended.outputs["decision"], ended.outputs["sent-for-review"]) == (
        "stepped",
        "false",
    ), ended.log
    assert ended.last_line.endswith(f"42 goes from 10 % to 20 %; {TO_SEND}.")
    heading = "## ⚠️ 42 goes to 20 % of production once you have sent it for review\n"
    assert ended.summary.startswith(heading)


def test_a_rehearsal_keeps_nothing_for_a_later_run(job: Job) -> None:
    """Its emulator is gone with it, so a later run could not go on with anything."""
    rehearsed(job, {**PLAY, "state-dir": "state"})
    assert not (job.workspace / "state").exists()


def test_a_rollout_that_is_held_for_too_few_users_can_be_rehearsed(job: Job) -> None:
    """As docs/RECIPES.md says; an ordinary limit is always passed."""
    assert rehearsed(job, ROLLOUT).outputs["decision"] == "stepped"
    ended = rehearsed(job, {**ROLLOUT, "gate-min-users": "2000000"})
    assert (ended.code, ended.outputs["decision"]) == (0, "held")
    assert "too few users (1,000,000 of 2,000,000)" in ended.last_line


def test_a_rehearsed_halt_ends_as_a_rehearsal(job: Job) -> None:
    """Nobody may take it for a halt of the real rollout."""
    ended = rehearsed(job, {**ROLLOUT, "halt-above": "crash-rate 0.001%"})
    assert ended.code == 6, ended.log
    assert (
        "Rehearsal, nothing was published. In the emulator: The rollout of com.example.app on "
        "production is halted" in ended.log
    )
