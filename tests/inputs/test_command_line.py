"""Options: every input that is no secret, the words that show a text, and what is no option at
all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.factory import values
from uploader import inputs
from uploader.inputs import command_line

OPTIONS = [spec for spec in inputs.SPECS if spec.option_allowed]


def read(*argv: str, **environ: str) -> tuple[inputs.Inputs, list[str]]:
    """What the words give, and each mistake in words."""
    found, problems = inputs.read({"UPLOADER_TARGET": "play", **environ}, argv)
    return found, [
        f"{problem.name}: {problem.what} {problem.accepted}" for problem in problems
    ]


@pytest.mark.parametrize(
    ("word", "show"), [("--help", "help"), ("-h", "help"), ("--version", "version")]
)
def test_a_text_is_shown_whatever_else_is_wrong(word: str, show: str) -> None:
    """Somebody who asks for help has not filled in the inputs yet."""
    found, problems = inputs.read({"INPUT_TRACK": "x"}, ["--nonsense", word])
    assert (found.show, problems) == (show, ())


@pytest.mark.parametrize(
    "argv", [["sh", "-c", "echo secret"], ["/bin/bash"], ["-c", "echo secret"]]
)
def test_a_shell_as_argument_names_gitlabs_entrypoint(argv: list[str]) -> None:
    """The one way to get there by accident is GitLab's runner starting the image with a shell."""
    (problem,) = read(*argv)[1]
    assert 'entrypoint: [""]' in problem
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["app.aab"], "arguments: did you mean `--files app.aab`?"),
        (
            ["app.aab", "wear.aab"],
            "arguments: did you mean `--files app.aab wear.aab`?",
        ),
        (
            ["--tracks", "internal", "app.aab"],
            "arguments: did you mean `--files app.aab`?",
        ),
        (["--dry-run", "app.aab"], "arguments: did you mean `--files app.aab`?"),
        (
            ["--status", "draft", "build/*.apk"],
            "arguments: did you mean `--files build/*.apk`?",
        ),
        (["gmail"], "arguments: did you mean `--target gmail`?"),
        (
            ["--dry-run", "yes"],
            "--dry-run: is followed by a word that it does not accept. `true`, `false`, or",
        ),
    ],
)
def test_a_word_that_belongs_elsewhere_is_told_with_its_place(
    argv: list[str], words: str
) -> None:
    """What is meant is said; GitLab is not mentioned, and nobody has to count words."""
    (problem,) = read(*argv)[1]
    assert problem.startswith(words)
    assert "entrypoint" not in problem


@pytest.mark.parametrize(
    "argv", [["--dry-run", "hunter2"], ["hunter2"], ["--status", "draft", "hunter2"]]
)
def test_a_word_that_may_be_a_secret_is_not_repeated(argv: list[str]) -> None:
    """It may be a part of a key; what stands behind it is read all the same."""
    found, (problem,) = read(*argv, "--tracks", "beta")
    assert "hunter2" not in problem
    assert values(found).tracks == ("beta",)


@pytest.mark.parametrize(
    "argv",
    [
        ["--env-file"],
        ["--env-file="],
        ["--frobnicate"],
        ["--token=abc"],
        ["-x"],
        ["-x", "abc"],
        ["--testers"],
        ["--testers="],
        ["--release-name", "--dry-run"],
        ["--completion", "bash"],
    ],
    ids=" ".join,
)
def test_an_unknown_or_unfinished_option_is_a_problem(argv: list[str]) -> None:
    """Options are exact; the value of an unknown one is not repeated."""
    (problem,) = read(*argv)[1]
    assert "abc" not in problem
    assert "--env-file PATH" in problem


@pytest.mark.parametrize(
    "spec", [spec for spec in OPTIONS if spec.default], ids=lambda spec: spec.name
)
def test_every_input_can_be_given_as_an_option(spec: inputs.InputSpec[Any]) -> None:
    """Its default, written as an option, is what it is when nothing is given."""
    for argv in ([f"--{spec.name}={spec.default}"], [f"--{spec.name}", spec.default]):
        found, problems = read(*argv)
        assert (problems, found.warnings) == ([], ())
        assert getattr(values(found), spec.attribute) == spec.default_value


def test_lists_take_several_words_and_add_up() -> None:
    """What the shell made of a glob, a comma, an option twice, and the stream that is called like
    an option.
    """
    found, _ = read("--files", "a.aab", "b.aab", "--files=c,d", "--tracks", "beta")
    assert values(found).files == (
        "a.aab",
        "b.aab",
        "c",
        "d",
    )
    found, _ = read("--files", "-", "--tracks", "beta")
    assert values(found).files == ("-",)
    found, _ = read("--apks", "served/*.apk", "base.apk")
    assert values(found).apks == ("served/*.apk", "base.apk")


@pytest.mark.parametrize(
    ("argv", "value"), [([], True), (["--commit"], True), (["False"], False)]
)
def test_a_switch_needs_no_value(argv: list[str], value: bool) -> None:
    """And takes one where it is given."""
    found, problems = read("--dry-run", *argv)
    assert problems == []
    assert (values(found).dry_run, values(found).commit) == (value, True)


def test_options_come_first_and_what_loses_is_told(tmp_path: Path) -> None:
    """What was typed for this run counts before the variables, and these before the env file."""
    file = tmp_path / "a.env"
    file.write_text("UPLOADER_TRACKS=alpha\nUPLOADER_RELEASE_NAME=1.0\n")
    given = ["--env-file", str(file), "--tracks", "beta"]
    found, problems = read(*given, UPLOADER_TRACKS="internal", UPLOADER_STATUS="draft")
    assert problems == []
    assert found.values == {
        "target": "play",
        "tracks": ("beta",),
        "status": "draft",
        "release_name": "1.0",
    }
    assert found.warnings == (
        "UPLOADER_TRACKS is ignored: --tracks takes precedence.",
        "UPLOADER_TRACKS in a.env is ignored: --tracks takes precedence.",
    )
    # the same is no contradiction
    assert read(*given, UPLOADER_TRACKS="beta")[0].warnings[1:] == ()
    assert read(*given[:2], UPLOADER_TRACKS="internal")[0].warnings == (
        "UPLOADER_TRACKS in a.env is ignored: UPLOADER_TRACKS takes precedence.",
    )


@pytest.mark.parametrize(
    "argv", [["--credentials", "hunter2"], ["--state-key=hunter2hunter2hunter2"]]
)
def test_a_secret_is_no_option(argv: list[str]) -> None:
    """The list of processes shows it to everybody: it is refused, and not repeated."""
    (problem,) = read(*argv)[1]
    assert "list of processes" in problem
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ["--package_name", "com.example.app"],
            "--package_name: is not an option. Did you mean `--package-name`?",
        ),
        (["--aab", "a.aab"], "--aab: is another tool's option. Use `files`."),
        (
            ["--envfile", "a.env"],
            "arguments: '--envfile' is not an option. Did you mean `--env-file`?",
        ),
        (["--trakcs", "beta"], "--trakcs: is not an option. Did you mean `--tracks`?"),
        (["--status", "draft", "--status", "draft"], "--status: was given twice."),
        (
            ["--env-file", os.devnull, f"--env-file={os.devnull}"],
            "--env-file: was given twice.",
        ),
    ],
)
def test_what_was_meant_is_said(argv: list[str], words: str) -> None:
    """Options of other tools, misspelt ones, and one that contradicts itself."""
    (problem,) = read(*argv)[1]
    assert problem.startswith(words)


def test_in_messages_an_input_is_called_as_it_was_given() -> None:
    """Whoever writes options reads options; a secret keeps its variable."""
    names = read("--tracks", "beta", UPLOADER_STATUS="draft")[0].names
    assert (names["tracks"], names["status"], names["files"]) == (
        "--tracks",
        "UPLOADER_STATUS",
        "--files",
    )
    assert names["credentials"] == "UPLOADER_CREDENTIALS"
    # also where no option was right
    assert read("--tarcks", "beta")[0].names["tracks"] == "--tracks"


def test_help_names_every_input_and_every_default() -> None:
    """The help text is the table, each input as it is written here; no line is wider than 120
    columns.
    """
    lines = command_line.text("help").splitlines()
    entries = " ".join(line.strip() for line in lines)
    for spec in inputs.SPECS:
        name = spec.option if spec.option_allowed else spec.variables[-1]
        assert [line for line in lines if line.split()[:1] == [name]], name
        assert not spec.default or f"Default: {spec.default}." in entries
    for words in (
        "--promote-from",
        "--target play-rollout",
        "--api-endpoint emulator",
        "docs/METHODS.md",
    ):
        assert [line for line in lines[:16] if words in line], words
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("given", "identifier"),
    [
        ("123", "123"),
        ("deployments/123", "123"),
        ("deployments/deployment_x", "deployment_x"),  # Google's own example
    ],
)
def test_a_deployment_may_have_the_name_that_google_s_api_gives_it(
    given: str, identifier: str
) -> None:
    found, problems = read("--target", "ota", "--deployment", given)
    assert (problems, values(found).deployment) == ([], identifier)
