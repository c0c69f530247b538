"""What somebody sees who tries the program for the first time: each mistake once, by its name, with a way out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from google_emulator import specimens
from google_emulator.__main__ import main as emulator
from tests.support.job import ENTRYPOINT
from tests.support.token_server import service_account
from uploader import inputs
from uploader.errors import InputError
from uploader.plan import make_plan


def mistakes(workspace: Path, *argv: str, **variables: str) -> list[str]:
    """The names of all mistakes of a run under GitHub."""
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(workspace), "UPLOADER_API_ENDPOINT": "emulator"}
    with pytest.raises(InputError) as caught:
        make_plan(*inputs.read({**environ, **variables}, argv))
    return [problem.name for problem in caught.value.problems]


def shell(
    folder: Path, *argv: str, python: tuple[str, ...] = (), streams: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """One run as a person starts it; `streams` is what their shell does with its standard streams."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {streams}', "bash", sys.executable, *python, str(ENTRYPOINT), *argv],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


# One mistake is one mistake


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"UPLOADER_TRACKS": "internal", "UPLOADER_FILES": "*.aab"}, ["files"]),
        ({"UPLOADER_TRACKS": "internal", "UPLOADER_FILES": "*.aab", "UPLOADER_STATUS": "draft"}, ["files"]),
        ({"UPLOADER_TRACKS": "internal", "UPLOADER_FILES": "*.apk", "UPLOADER_MAPPING_FILE": "m.txt"}, ["files"]),
        ({"UPLOADER_TRACKS": "internal", "UPLOADER_FILE": "app.aab"}, ["UPLOADER_FILE"]),
        ({"UPLOADER_TRACK": "internal", "UPLOADER_FILES": "*.aab"}, ["UPLOADER_TRACK", "files"]),
        ({"UPLOADER_TRACK": "internal", "INPUT_RELEASEFILES": "*.aab"}, ["UPLOADER_TRACK", "releaseFiles"]),
    ],
)
def test_what_follows_from_a_mistake_is_no_mistake(tmp_path: Path, variables: dict[str, str], names: list[str]) -> None:
    """Files that were not found, and inputs under another name, were given: nothing else misses them."""
    (tmp_path / "m.txt").write_text("# pg_map_id: 1\ncom.example.A -> a:\n")
    assert sorted(mistakes(tmp_path, UPLOADER_TARGET="play", **variables)) == sorted(names)


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("gmail", {"UPLOADER_MAIL_TO": "a@example.com"}),
        ("play-internal-sharing", {}),
        ("play-games", {"UPLOADER_RESOURCE_ID": "x", "UPLOADER_IMAGE_TYPE": "ACHIEVEMENT_ICON"}),
        ("ota", {"UPLOADER_DEPLOYMENT": "d", "UPLOADER_PACKAGE_TITLE": "t"}),
        ("storage.objects.insert", {"UPLOADER_PARAMS": "bucket: b"}),
        ("drive.files.create", {"UPLOADER_UPLOAD_PROTOCOL": "multipart"}),
    ],
)
def test_files_that_are_not_found_are_one_mistake_for_every_target(
    tmp_path: Path, target: str, more: dict[str, str]
) -> None:
    """Whatever the target demands of its files, a pattern that matches nothing is all that is told of them."""
    assert mistakes(tmp_path, UPLOADER_TARGET=target, UPLOADER_FILES="*.x", **more) == ["files"]


def test_options_are_inputs(tmp_path: Path) -> None:
    """A first upload is one line; a list takes the words of a shell's glob, and a mistake names the option."""
    for name, code in (("a.aab", 7), ("b.aab", 8)):
        specimens.make_bundle(tmp_path / name, "com.example.app", code, "1.0")
    words = ["--target", "play", "--files", "a.aab", "b.aab", "--tracks=internal", "--api-endpoint", "emulator"]
    ended = shell(tmp_path, *words)
    assert ended.returncode == 0, ended.stderr
    assert "version-codes=7,8" in ended.stdout
    wrong = shell(tmp_path, *words, "--status", "done")
    assert wrong.returncode == 2
    assert "ERROR: --status: 'done'" in wrong.stderr


def test_the_program_alone_shows_how_it_is_used(tmp_path: Path) -> None:
    """An example, and where to read on; exit code 2, since nothing was done. In a CI job it is a missing input."""
    ended = shell(tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "uploader --target play --files" in ended.stderr
    assert "`uploader --help`" in ended.stderr
    assert "ERROR: target: is required" in ended.stderr
    assert "UPLOADER_TARGET: is required" in shell(tmp_path, GITLAB_CI="true").stdout


def test_in_a_shell_an_input_is_called_as_it_is_given_there(tmp_path: Path) -> None:
    """The mistake names the variable, and a run that never began prints nothing else and leaves no file."""
    ended = shell(tmp_path, UPLOADER_TARGET="play", UPLOADER_FILES="*.aab", UPLOADER_SHARD="x")
    assert (ended.returncode, ended.stdout, list(tmp_path.iterdir())) == (2, "", [])
    headline, *mistakes = ended.stderr.splitlines()
    assert headline.startswith("ERROR: ")
    assert [line.split(":")[0] for line in mistakes] == [
        "- UPLOADER_SHARD",
        "- UPLOADER_FILES",
        "- UPLOADER_TRACKS",
    ]


# What does not count


def test_inputs_that_the_target_does_not_read_are_one_warning() -> None:
    """What was given for another target is named; what GitHub passes as defaults is not."""
    defaults = {f"INPUT_{field.name.upper()}": field.default for field in inputs.fields()}
    given = {"INPUT_TARGET": "drive.files.create", "INPUT_TRACKS": "beta", "INPUT_MAIL-TO": "a@example.com"}
    found, problems = inputs.read({"GITHUB_ACTIONS": "true", **defaults, **given}, ())
    assert problems == ()
    assert found.warnings == ("Not read by `target: drive.files.create`, and ignored: `tracks`, `mail-to`.",)


@pytest.mark.parametrize("target", inputs.TARGETS)
def test_what_a_target_reads_is_no_warning(target: str) -> None:
    """Each target has inputs of its own, and none of them is called ignored."""
    own = {
        "play": {"UPLOADER_PACKAGE_NAME": "com.example.app", "UPLOADER_COMMIT": "false"},
        "play-status": {"UPLOADER_PACKAGE_NAME": "com.example.app", "UPLOADER_WAIT_FOR": "approved"},
        "play-rollout": {"UPLOADER_TRACKS": "production", "UPLOADER_ROLLOUT_STEPS": "1%, 100%"},
        "play-listing-pull": {"UPLOADER_PACKAGE_NAME": "com.example.app", "UPLOADER_IMAGES_DIRECTORY": "metadata"},
        "play-internal-sharing": {"UPLOADER_PACKAGE_NAME": "com.example.app"},
        "gmail": {"UPLOADER_DRAFT_ID": "r1", "UPLOADER_USER_ID": "a@example.com"},
        "play-games": {"UPLOADER_RESOURCE_ID": "x", "UPLOADER_IMAGE_TYPE": "ACHIEVEMENT_ICON"},
        "ota": {"UPLOADER_DEPLOYMENT": "d", "UPLOADER_PACKAGE_TITLE": "t"},
    }[target]
    assert inputs.read({"UPLOADER_TARGET": target, "UPLOADER_FILES": "x", **own}, ())[0].warnings == ()


def test_what_an_earlier_gitlab_job_reported_was_not_given_to_this_one() -> None:
    """The dotenv report of a mail holds UPLOADER_DRAFT_ID, which is an input as well."""
    reported = {"GITLAB_CI": "true", "UPLOADER_TARGET": "play", "UPLOADER_DRAFT_ID": "r1"}
    assert inputs.read(reported, ())[0].warnings == ()


# What else can be wrong


def test_a_bad_line_of_the_env_file_is_a_mistake_with_its_number(tmp_path: Path) -> None:
    """The line is counted, not shown: it may hold a secret."""
    path = tmp_path / "release.env"
    path.write_text("UPLOADER_TARGET=play\n\nhunter2 hunter2\nUPLOADER_TRACKS=beta\n'\n")
    found, (problem,) = inputs.read({}, ["--env-file", str(path)])
    assert (found.target, found.tracks, problem.name) == ("play", ("beta",), "--env-file")
    assert problem.what.endswith(" has lines that are not NAME=value: line 3, line 5.")


def test_an_env_file_that_cannot_be_read_is_one_mistake() -> None:
    """Whatever is missing may stand in it."""
    _, problems = inputs.read({}, ["--env-file", "/nowhere/release.env"])
    assert [problem.name for problem in problems] == ["--env-file"]


def test_a_missing_module_is_named_with_the_remedy(tmp_path: Path) -> None:
    """A checkout without its dependencies says what to install, and no traceback."""
    (tmp_path / "a.txt").write_text("a")
    ended = shell(tmp_path, python=("-S",), UPLOADER_TARGET="drive.files.create", UPLOADER_FILES="a.txt")
    assert ended.returncode == 1, ended.stderr
    assert re.search(r"Python module \w+ is missing", ended.stderr)
    assert "`pip install .`" in ended.stderr
    assert "Traceback" not in ended.stderr


def without(module: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A run on a Python that lacks a module."""
    hidden = f"import runpy, sys; sys.modules[{module!r}] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", hidden, str(ENTRYPOINT)],
        env={"HOME": str(folder), **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_module_that_this_system_does_not_have_is_no_missing_package(tmp_path: Path) -> None:
    """Where Python itself lacks a module, as on Windows, no advice to install something is given."""
    (tmp_path / "a.txt").write_text("a")
    ended = without("fcntl", tmp_path, UPLOADER_TARGET="drive.files.create", UPLOADER_FILES="a.txt")
    assert ended.returncode == 1, ended.stderr
    assert "This Python has no module fcntl." in ended.stderr
    assert "pip install" not in ended.stderr


def test_an_env_file_without_its_reader_is_a_mistake(tmp_path: Path) -> None:
    """Only a run with an env file needs python-dotenv, and is told so."""
    ended = without("dotenv", tmp_path, UPLOADER_ENV_FILE="release.env")
    assert ended.returncode == 2, ended.stderr
    assert "the Python module dotenv, which reads it, is missing: run `pip install .`" in ended.stderr


def test_a_port_that_does_not_exist_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The emulator's own mistakes have no traceback either."""
    assert emulator(["--port", "99999"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# The key among the files


@pytest.mark.parametrize("files", ["key.json", "*.json", "link.json"])
def test_the_key_of_the_run_is_never_sent(tmp_path: Path, files: str) -> None:
    """A pattern that is too wide, the key's own name or a link to it is a mistake, whatever the key is called."""
    (tmp_path / "key.json").write_text(json.dumps(service_account()))
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("key.json")
    done = shell(tmp_path, UPLOADER_TARGET="drive.files.create", UPLOADER_FILES=files, UPLOADER_CREDENTIALS="key.json")
    assert done.returncode == 2
    assert "contains this run's credentials" in done.stderr


# Debug logging


@pytest.mark.parametrize(("asked", "told"), [("", False), ("1", True)])
def test_every_request_is_told_to_who_asks(tmp_path: Path, asked: str, told: bool) -> None:
    """Method, host, sizes, offsets, status and time; the path of an API call, never that of a session."""
    specimens.make_bundle(tmp_path / "app.aab", "com.example.app", 7, "1.0", size_bytes=600_000)
    done = shell(
        tmp_path,
        RUNNER_DEBUG=asked,
        UPLOADER_TARGET="play",
        UPLOADER_TRACKS="internal",
        UPLOADER_FILES="app.aab",
        UPLOADER_API_ENDPOINT="emulator",
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("debug: ")]
    assert bool(lines) is told
    if told:
        assert any(re.search(r"POST 127\.0\.0\.1:\d+/androidpublisher/.*/edits, .* -> 200", line) for line in lines)
        assert any(re.search(r"(PUT|POST) 127\.0\.0\.1:\d+, 600000 bytes.* -> 201", line) for line in lines)
        assert not any("upload_id" in line for line in lines)


# Nobody listens


@pytest.mark.parametrize("listener", [">&-", "2>&-", ">&- 2>&-", ">/dev/full", "| true; exit ${PIPESTATUS[0]}"])
@pytest.mark.parametrize(("target", "code"), [("storage.objects.insert", 0), ("nothing", 2)])
def test_the_exit_code_is_the_same_when_nobody_listens(tmp_path: Path, listener: str, target: str, code: int) -> None:
    """Outputs closed from the start, a full disk behind them, or a reader who left early."""
    (tmp_path / "app.bin").write_bytes(b"content")
    run = shell(
        tmp_path,
        streams=listener,
        UPLOADER_TARGET=target,
        UPLOADER_FILES="app.bin",
        UPLOADER_PARAMS='{"bucket": "b"}',
        UPLOADER_API_ENDPOINT="emulator",
    )
    assert run.returncode == code, run.stdout + run.stderr


def test_a_closed_input_is_no_empty_stream(tmp_path: Path) -> None:
    """`files: -` without a standard input ends with 5; an empty object would replace what is there."""
    done = shell(
        tmp_path,
        streams="<&-",
        UPLOADER_TARGET="storage.objects.insert",
        UPLOADER_PARAMS='{"bucket": "b", "name": "x"}',
        UPLOADER_FILES="-",
        UPLOADER_API_ENDPOINT="emulator",
    )
    assert done.returncode == 5, done.stdout + done.stderr


# What is left behind


@pytest.mark.parametrize(("fraction", "code"), [("", 0), ("7", 2)])
def test_nothing_stays_in_the_temporary_folder(tmp_path: Path, fraction: str, code: int) -> None:
    """Packed symbols and the emulator's folder are gone when the process has ended, well or not."""
    temp = tmp_path / "temp"
    for folder in (temp, tmp_path / "symbols" / "arm64-v8a"):
        folder.mkdir(parents=True)
    (tmp_path / "symbols" / "arm64-v8a" / "liba.so").write_bytes(b"\x7fELF")
    specimens.make_bundle(tmp_path / "app.aab", "com.example.app", 7, "1.0")
    done = shell(
        tmp_path,
        TMPDIR=str(temp),
        UPLOADER_TARGET="play",
        UPLOADER_TRACKS="internal",
        UPLOADER_FILES="app.aab",
        UPLOADER_DEBUG_SYMBOLS="symbols",
        UPLOADER_USER_FRACTION=fraction,
        UPLOADER_API_ENDPOINT="emulator",
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert list(temp.iterdir()) == []
