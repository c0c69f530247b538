"""An input that came out empty: nothing is sent and nothing changes, where taking it for "left out"
would do harm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from google_emulator import Emulator, specimens
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Job
from uploader import inputs

ROOT = Path(__file__).resolve().parents[2]
RELEASE = {
    "target": "play",
    "package-name": PACKAGE,
    "tracks": "production",
    "files": "app.aab",
}
NO_FILES = {"target": "play", "package-name": PACKAGE, "tracks": "production"}
ROLLOUT = {
    "target": "play-rollout",
    "package-name": PACKAGE,
    "tracks": "production",
    "rollout-steps": "20%, 100%",
}
MAIL = {
    "target": "gmail",
    "impersonate-user": "release@example.com",
    "mail-to": "a@example.com",
    "mail-subject": "News",
    "mail-body": "It is out.",
}
HALTED = release(42, status="halted", userFraction=0.05, name="4.2")
LIVE = release(41, name="4.1")

# For each of these inputs, the others that it is given with. If its empty text were taken for "left
# out", the run would do or publish more.
EMPTIED: Mapping[str, tuple[Mapping[str, str], str]] = {
    "files": ({**NO_FILES, "status": "completed"}, "files"),
    "files-of-a-mail": (MAIL, "files"),
    "files-of-any-method": (
        {"target": "drive.files.create", "metadata": '{"name": "a"}'},
        "files",
    ),
    "dry-run": (RELEASE, "dry-run"),
    "user-fraction": (RELEASE, "user-fraction"),
    "status": (RELEASE, "status"),
    "tracks": ({**NO_FILES, "images-directory": "listing"}, "tracks"),
    "expected-certificate": (RELEASE, "expected-certificate"),
    "halt-above": (ROLLOUT, "halt-above"),
    "gate": ({**ROLLOUT, "halt-above": "crash-rate 1.09%"}, "gate"),
    "existing-edit-id": (RELEASE, "existing-edit-id"),
    "commit": (RELEASE, "commit"),
    "version-codes-to-retain": (RELEASE, "version-codes-to-retain"),
    "promote-from": ({**NO_FILES, "status": "completed"}, "promote-from"),
    "promote-version-codes": (
        {**NO_FILES, "promote-from": "internal"},
        "promote-version-codes",
    ),
    "package-name-of-a-rollout": (ROLLOUT, "package-name"),
    "countries": ({**RELEASE, "user-fraction": "5%"}, "countries"),
    "changes-not-sent-for-review": (RELEASE, "changes-not-sent-for-review"),
    "gmail-action": (MAIL, "gmail-action"),
    "api-endpoint": (RELEASE, "api-endpoint"),
    "verify": (RELEASE, "verify"),
    "apks": ({"target": "play-verify", "files": "app.aab"}, "apks"),
    "require-unprotected": (
        {"target": "play-verify", "files": "app.aab"},
        "require-unprotected",
    ),
}
TEXTS = {
    "nothing": "",
    "blanks": " \n\t\n",
    "a-comma": ",",
    "quotes": '""',
    "single-quotes": "''",
    "brackets": "[]",
}


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with an app that has a halted release, one that everybody has, and one that
    waits to be promoted.
    """
    tracks = {"production": [HALTED, LIVE], "internal": [release(43, name="4.3")]}
    with Emulator(config={"apps": {PACKAGE: {"tracks": tracks}}}) as emulator:
        yield emulator


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds version 44 and a title."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 44, "4.4")
    (job.workspace / "listing" / "en-US").mkdir(parents=True)
    (job.workspace / "listing" / "en-US" / "title.txt").write_text("An app")
    return job


def test_every_input_that_refuses_an_empty_text_is_here() -> None:
    refusing = {spec.name for spec in inputs.SPECS if spec.refuse_empty}
    assert {name for _, name in EMPTIED.values()} == refusing


def refused(job: Job, given: Mapping[str, str], name: str, **more: str) -> str:
    """The log of a run that ends with 2, names the input and sends nothing at all."""
    ended = job.fail(2, given, **more)
    assert name in ended.log
    assert "is empty" in ended.log
    state = job.emulator.state()
    assert not state["requests"], state["requests"]
    assert "Traceback" not in ended.log
    return ended.log


# --- on each platform -----------------------------------------------------------------------------


@pytest.mark.parametrize("case", EMPTIED)
def test_an_emptied_input_ends_the_run_before_anything_is_sent(
    job: Job, case: str
) -> None:
    """The message names the input, the expression as the likely cause, and what to write
    instead.
    """
    given, name = EMPTIED[case]
    log = refused(job, {**given, name: ""}, name)
    rule = next(spec.refuse_empty for spec in inputs.SPECS if spec.name == name)
    assert rule is not None
    assert (
        f"::{name}: is empty, so {rule.effect}. The expression in the workflow (`${{{{ … }}}}`)"
    ) in log
    advised = given["target"] not in rule.required_by
    assert (f"`${{{{ … || '{rule.word}' }}}}`" in log) == advised


@pytest.mark.parametrize(
    "word", ["null", "undefined", "None", "~", "{}", "[object Object]"]
)
def test_a_word_for_no_value_is_a_mistake_as_an_empty_input_is(
    job: Job, word: str
) -> None:
    log = refused_word(job, {**RELEASE, "user-fraction": word})
    assert "::user-fraction: is" in log
    assert "so the release would not be limited to a share of users" in log


@pytest.mark.parametrize(
    "tracks", ["internal,null", "none\ninternal", "undefined, production"]
)
def test_a_word_for_no_value_is_not_a_track_in_a_list(job: Job, tracks: str) -> None:
    log = refused_word(job, {**RELEASE, "tracks": tracks})
    assert "is what an expression without a value writes" in log


def refused_word(job: Job, given: Mapping[str, str]) -> str:
    """The log of a run that ends with 2 and sends nothing."""
    ended = job.fail(2, given)
    assert not job.emulator.state()["requests"]
    return ended.log


NEARLY = {
    "shell-lower-case": {"uploader_dry_run": ""},
    "shell-hyphen": {"UPLOADER_DRY-RUN": ""},
    "shell-no-underscore": {"UPLOADER_DRYRUN": ""},
    "github-other-tool": {"INPUT_USERFRACTION": ""},
}


@pytest.mark.parametrize("variables", NEARLY)
def test_a_misspelt_variable_is_a_mistake_even_if_it_is_empty(
    job: Job, variables: str
) -> None:
    """The right name would be refused, so a misspelt one must not let the run go on."""
    ended = job.fail(2, RELEASE, **NEARLY[variables])
    assert not job.emulator.state()["requests"]
    assert ended.outputs["failure"] == "invalid-input"


@pytest.mark.parametrize(
    "line", ["DRY_RUN=", "dry-run=", "UPLOADER_DRYRUN=", "FILES=", "user-fraction="]
)
def test_a_misspelt_line_of_the_env_file_is_a_mistake_even_if_it_is_empty(
    job: Job, line: str
) -> None:
    (job.workspace / "ci.env").write_text(f"{line}\n")
    ended = job.fail(2, RELEASE, UPLOADER_ENV_FILE=str(job.workspace / "ci.env"))
    assert "ci.env line 1" in ended.log
    assert not job.emulator.state()["requests"]


def test_a_variable_counts_before_the_default_of_the_action(job: Job) -> None:
    """GitHub passes the default where `with` leaves the input out; the job's environment says
    otherwise.
    """
    ended = job.succeed(
        {**RELEASE, "dry-run": "false", "commit": "true"},
        UPLOADER_DRY_RUN="true",
    )
    assert ended.outputs["plan"]
    assert (
        "`dry-run` has its default, `false`, which counts as not given: UPLOADER_DRY_RUN is used."
        in ended.log
    )


@pytest.mark.parametrize("target", ["play-status", "play-rollout", "play-listing-pull"])
def test_empty_files_are_no_mistake_for_a_target_that_takes_none(
    job: Job, target: str
) -> None:
    inputs_of = {
        "play-status": {},
        "play-rollout": {
            "tracks": "internal",
            "rollout-steps": "100%",
            "halt-above": "none",
        },
        "play-listing-pull": {"images-directory": "pulled"},
    }
    job.succeed(
        {"target": target, "package-name": PACKAGE, "files": "", **inputs_of[target]}
    )


@pytest.mark.parametrize("name", ["dry-run", "tracks"])
def test_an_empty_input_is_no_mistake_where_the_target_only_reads(
    job: Job, name: str
) -> None:
    job.succeed({"target": "play-status", "package-name": PACKAGE, name: ""})


@pytest.mark.parametrize("kind", ["gitlab", "console"])
@pytest.mark.parametrize("name", ["files", "user-fraction", "tracks", "halt-above"])
def test_an_emptied_variable_is_told_in_the_platforms_own_words(
    job: Job, kind: str, name: str
) -> None:
    """In GitLab it is a variable of the job, in a shell one of the shell; the input is called by
    its variable.
    """
    given, _ = EMPTIED[name]
    log = refused(
        replace(job, kind=kind),
        {**given, name: ""},
        f"UPLOADER_{name.upper().replace('-', '_')}",
    )
    assert ("in this job" if kind == "gitlab" else "(`$NAME`)") in log
    assert "${{" not in log


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "name", ["files", "tracks", "existing-edit-id", "promote-from"]
)
def test_what_is_empty_in_effect_is_empty(name: str, text: str) -> None:
    """Blanks, separators, and the quotes or brackets that a tool wrote around nothing."""
    variable = f"INPUT_{name.upper()}"
    _, problems = inputs.read(
        {"GITHUB_ACTIONS": "true", "INPUT_TARGET": "play", variable: TEXTS[text]}, ()
    )
    assert [(problem.name, problem.what.partition(",")[0]) for problem in problems] == [
        (name, "is empty")
    ]


def test_a_list_with_an_empty_item_is_a_list(job: Job) -> None:
    """A separator at the end of a list is no mistake."""
    job.succeed({**RELEASE, "files": "app.aab,\n", "tracks": "internal,"})
    assert [
        one["versionCodes"]
        for one in job.emulator.state()["tracks"][PACKAGE]["internal"]
    ] == [["44"]]


def test_a_run_of_another_target_may_have_it_empty(job: Job) -> None:
    """A mail has no rollout: what it does not read does no harm."""
    job.succeed({**MAIL, "halt-above": "", "user-fraction": "", "tracks": ""})
    assert len(job.emulator.state()["messages"]) == 1


def test_an_unknown_target_is_told_together_with_what_is_empty(job: Job) -> None:
    """All mistakes of a run are reported together."""
    log = refused(
        job, {**RELEASE, "target": "plai", "user-fraction": ""}, "user-fraction"
    )
    assert "target" in log


def test_what_is_wrong_with_a_key_is_told_beside_an_empty_endpoint(job: Job) -> None:
    """Except that its `token_uri` is on this machine: it was right for the endpoint that was
    meant.
    """
    cut = {
        **job.emulator.key,
        "private_key": str(job.emulator.key["private_key"])[:400],
    }
    log = refused(
        job,
        {**RELEASE, "api-endpoint": "", "credentials": json.dumps(cut)},
        "api-endpoint",
    )
    assert "credentials: `private_key` is not one whole PEM key" in log
    assert "`token_uri`" not in log
    elsewhere = {**job.emulator.key, "token_uri": "https://token.example/token"}
    log = refused(
        job,
        {**RELEASE, "api-endpoint": "", "credentials": json.dumps(elsewhere)},
        "api-endpoint",
    )
    assert "credentials: the URL in `token_uri` must be Google's" in log


# --- what stands for "left out" -------------------------------------------------------------------


def defaults() -> dict[str, str]:
    """What GitHub's runner passes for inputs that a workflow leaves out: the default of action.yml,
    or nothing.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return {
        name: str(given.get("default", "")) for name, given in action["inputs"].items()
    }


def test_inputs_that_are_left_out_on_github_are_not_given(job: Job) -> None:
    """With every default of action.yml the release is the one that was asked for, without a
    warning.
    """
    ours = {
        name: text
        for name, text in defaults().items()
        if name not in ("api-endpoint", "credentials")
    }
    ended = job.succeed({**ours, **RELEASE, "tracks": "internal"})
    assert "::warning" not in ended.log
    (live,) = job.emulator.state()["tracks"][PACKAGE]["internal"]
    assert (live["status"], live["versionCodes"]) == ("completed", ["44"])


def test_a_default_of_the_action_gives_way_to_the_variable_of_the_job(job: Job) -> None:
    """INPUT_FILES=none comes from action.yml; what the job's environment says is used, without a
    warning.
    """
    ours = {
        name: text
        for name, text in defaults().items()
        if name not in ("api-endpoint", "credentials")
    }
    given = {**ours, "target": "play", "package-name": PACKAGE}
    ended = job.succeed(
        given,
        UPLOADER_FILES="app.aab",
        UPLOADER_TRACKS="internal",
        UPLOADER_USER_FRACTION="10%",
    )
    assert "::warning" not in ended.log
    (live,) = [
        one
        for one in job.emulator.state()["tracks"][PACKAGE]["internal"]
        if one["versionCodes"] == ["44"]
    ]
    assert live["userFraction"] == 0.1


@pytest.mark.parametrize("fraction", ["all", "100%"])
def test_what_the_message_says_is_accepted(job: Job, fraction: str) -> None:
    """A release for all users is written as `all` or as `100%`."""
    job.succeed({**RELEASE, "tracks": "internal", "user-fraction": fraction})
    assert (
        job.emulator.state()["tracks"][PACKAGE]["internal"][0]["status"] == "completed"
    )


@pytest.mark.parametrize("given", [{}, {"status": "inProgress"}, {"status": "halted"}])
def test_a_hundred_percent_without_files_changes_nothing(
    job: Job, given: dict[str, str]
) -> None:
    """That a release which is there goes to all users is said by `status: completed` alone."""
    ended = job.fail(2, {**NO_FILES, **given, "user-fraction": "100%"})
    assert "`status: completed`" in ended.log
    assert not job.emulator.state()["requests"]


# --- the order of the sources ---------------------------------------------------------------------


def test_an_empty_input_goes_before_a_variable_and_both_are_named(job: Job) -> None:
    """The program can't know which of the two was meant."""
    log = refused(
        job,
        {**RELEASE, "user-fraction": ""},
        "user-fraction",
        UPLOADER_USER_FRACTION="5%",
    )
    assert (
        "is empty in INPUT_USER-FRACTION, which takes precedence over UPLOADER_USER_FRACTION"
        in log
    )


def test_an_empty_variable_behind_a_value_is_not_looked_at(job: Job) -> None:
    """What goes before it says what is meant."""
    ended = job.succeed(
        {**RELEASE, "tracks": "internal"}, UPLOADER_TRACKS="", UPLOADER_FILES=" "
    )
    assert "::warning" not in ended.log


def test_an_empty_line_of_the_env_file_is_a_mistake(job: Job) -> None:
    """`UPLOADER_TRACKS=` is there and empty; quotes hold nothing either."""
    for line in ("UPLOADER_TRACKS=", "UPLOADER_TRACKS=''", 'UPLOADER_TRACKS=" "'):
        (job.workspace / "release.env").write_text(
            f"UPLOADER_RELEASE_NAME=4.4\n{line}\n"
        )
        given = {name: text for name, text in RELEASE.items() if name != "tracks"}
        refused(
            job, given, "tracks", UPLOADER_ENV_FILE=str(job.workspace / "release.env")
        )


@pytest.mark.parametrize(
    "argv", [["--files", ""], ["--files="], ["--files"], ["--files", " ", ""]], ids=str
)
def test_an_empty_option_is_a_mistake(argv: list[str]) -> None:
    """`--files "$APP"` and `--files $APP` with a variable that is not set."""
    _, problems = inputs.read(
        {"UPLOADER_TARGET": "play", "UPLOADER_TRACKS": "internal"}, argv
    )
    assert [(problem.name, problem.what.partition(",")[0]) for problem in problems] == [
        ("files", "is empty")
    ]


def test_a_word_for_left_out_that_a_person_wrote_is_told_where_another_source_counts() -> (
    None
):
    """`--tracks none` counts as not given, so the variable is used, and a warning says so."""
    found, problems = inputs.read(
        {"UPLOADER_TARGET": "play", "UPLOADER_TRACKS": "internal"}, ["--tracks", "none"]
    )
    assert (found.values["tracks"], problems) == (("internal",), ())
    assert found.warnings == (
        "--tracks says `none`, which counts as not given: UPLOADER_TRACKS is used.",
    )
