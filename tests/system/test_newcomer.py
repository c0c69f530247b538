"""What somebody sees who tries the program for the first time: each mistake once, by its name, with
a way out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from google_emulator import specimens
from tests.support.fork_server import ENTRYPOINT, can_fork, fork_server
from tests.support.token_server import service_account
from uploader import inputs
from uploader.errors import InputError
from uploader.plan import make_plan


def mistakes(workspace: Path, *argv: str, **variables: str) -> list[str]:
    """The names of all mistakes of a run under GitHub."""
    environ = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "UPLOADER_API_ENDPOINT": "emulator",
    }
    with pytest.raises(InputError) as caught:
        make_plan(*inputs.read({**environ, **variables}, argv))
    return [problem.name for problem in caught.value.problems]


def shell(
    folder: Path,
    *argv: str,
    python: tuple[str, ...] = (),
    streams: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """One run as a person starts it; `python` are options of the interpreter, `streams` is what
    their shell does with its standard streams.
    """
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    if not python and not streams and can_fork(environment):
        return fork_server().run(environment, folder, argv)
    return subprocess.run(
        [
            "bash",
            "-c",
            f'"$@" {streams}',
            "bash",
            sys.executable,
            *python,
            str(ENTRYPOINT),
            *argv,
        ],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_misspelt_variable_is_not_another_tool_s(tmp_path: Path) -> None:
    """`UPLOADER_` is this program's, whatever another tool calls its inputs."""
    environ = {
        "GITLAB_CI": "true",
        "UPLOADER_TARGET": "play",
        "UPLOADER_TRACK": "internal",
    }
    with pytest.raises(InputError) as caught:
        make_plan(*inputs.read({**environ, "CI_PROJECT_DIR": str(tmp_path)}, []))
    assert "Did you mean `UPLOADER_TRACKS`?" in str(caught.value)
    assert "another tool" not in str(caught.value)


# One mistake is one mistake


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"UPLOADER_TRACKS": "internal", "UPLOADER_FILES": "*.aab"}, ["files"]),
        (
            {
                "UPLOADER_TRACKS": "internal",
                "UPLOADER_FILES": "*.aab",
                "UPLOADER_STATUS": "draft",
            },
            ["files"],
        ),
        (
            {
                "UPLOADER_TRACKS": "internal",
                "UPLOADER_FILES": "*.apk",
                "UPLOADER_MAPPING_FILE": "m.txt",
            },
            ["files"],
        ),
        (
            {"UPLOADER_TRACKS": "internal", "UPLOADER_FILE": "app.aab"},
            ["UPLOADER_FILE"],
        ),
        (
            {"UPLOADER_TRACK": "internal", "UPLOADER_FILES": "*.aab"},
            ["UPLOADER_TRACK", "files"],
        ),
        (
            {"UPLOADER_TRACK": "internal", "INPUT_RELEASEFILES": "*.aab"},
            ["UPLOADER_TRACK", "releaseFiles"],
        ),
    ],
)
def test_what_follows_from_a_mistake_is_no_mistake(
    tmp_path: Path, variables: dict[str, str], names: list[str]
) -> None:
    """Files that were not found, and inputs under another tool's name, count as given: nothing else
    is said to be missing.
    """
    (tmp_path / "m.txt").write_text("# pg_map_id: 1\ncom.example.A -> a:\n")
    assert sorted(mistakes(tmp_path, UPLOADER_TARGET="play", **variables)) == sorted(
        names
    )


def test_options_are_inputs(tmp_path: Path) -> None:
    """A first upload is one line; a list takes the words of a shell's glob, and a mistake names the
    option.
    """
    for name, code in (("a.aab", 9), ("b.aab", 10)):
        specimens.make_bundle(tmp_path / name, "com.example.app", code, "1.0")
    words = [
        "--target",
        "play",
        "--files",
        "a.aab",
        "b.aab",
        "--tracks=internal",
        "--api-endpoint",
        "emulator",
    ]
    ended = shell(tmp_path, *words)
    assert ended.returncode == 0, ended.stderr
    assert "version-code=10\n" in ended.stdout
    assert "version-codes=9,10\n" in ended.stdout
    wrong = shell(tmp_path, *words, "--status", "done")
    assert wrong.returncode == 2
    assert "ERROR: --status: 'done'" in wrong.stderr


def test_the_program_alone_shows_how_it_is_used(tmp_path: Path) -> None:
    """An example, and where to read on; exit code 2, since nothing was done. In a CI job it is a
    missing input.
    """
    ended = shell(tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "uploader --target play --files" in ended.stderr
    assert "`uploader --help`" in ended.stderr
    assert "ERROR: target: is required" in ended.stderr
    assert "UPLOADER_TARGET: is required" in shell(tmp_path, GITLAB_CI="true").stdout


KEY, PROVIDER = "UPLOADER_CREDENTIALS", "UPLOADER_WORKLOAD_IDENTITY_PROVIDER"
KEYLESS = {
    PROVIDER: "projects/12/locations/global/workloadIdentityPools/ci/providers/p",
    "UPLOADER_SERVICE_ACCOUNT": "ci@example.iam.gserviceaccount.com",
}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {KEY: "keys/play-key.json"},
            "UPLOADER_CREDENTIALS: there is no file `keys/play-key.json` in /",
        ),
        (
            {"GOOGLE_APPLICATION_CREDENTIALS": "/no/key"},
            "GOOGLE_APPLICATION_CREDENTIALS: there is no file `/no/key`.",
        ),
        ({}, "There are no credentials."),
        (KEYLESS, "this is neither a GitHub nor a GitLab job"),
        (
            {**KEYLESS, PROVIDER: "ci"},
            "UPLOADER_WORKLOAD_IDENTITY_PROVIDER: The value is not the resource name",
        ),
        (
            {"--api-endpoint": "emulater"},
            "--api-endpoint: 'emulater' has no scheme. Did you mean `emulator`?",
        ),
        (
            {"--api-endpoint": "localhost:8080"},
            "--api-endpoint: 'localhost:8080' has no scheme.",
        ),
        (
            {"--api-endpoint": "http://127.0.0.1:9", KEY: "key.json"},
            "was refused. Nothing listens at that address",
        ),
        (
            {"--files": None, "app.aab": ""},
            "arguments: did you mean `--files app.aab`?",
        ),
        ({"--dry-run": "yes"}, "Accepted: `true`, `false`"),
        (
            {"--files": "dist"},
            "--files: `dist` is a folder. Name its files: `dist/*.aab`.",
        ),
        (
            {"--files": None, "--target": "play-listing-pull", "--package-name": "a.b"},
            "images-directory: is required",
        ),
        ({"--status": "published"}, "Did you mean `completed`?"),
        ({"--target": "google-play"}, "Did you mean `play`?"),
        ({"--user-fraction": "0"}, "To keep it back, use `--status=draft`"),
        (
            {"--user-fraction": "0,1"},
            "--user-fraction: '0,1' is not a fraction: its decimal sign must be a point.",
        ),
        (
            {"--no-commit": ""},
            "--no-commit: is not an option. Did you mean `--commit=false`?",
        ),
        (
            {"--release-notes": "New"},
            "--release-notes: is another tool's option. Use `--whats-new`.",
        ),
        (
            {"--tracks": '["beta"]'},
            "--tracks: '[\"beta\"]' is written as YAML or JSON, or in quotes. Accepted",
        ),
        (
            {"--files": "app.aab dist/app.aab"},
            "Several paths need commas or line breaks between them.",
        ),
        (
            {"--whats-new": "<en-US>New</en-US>"},
            "--whats-new: it has the language tags of the Play Console.",
        ),
    ],
)
def test_one_mistake_is_told_in_one_line(
    tmp_path: Path, given: dict[str, str | None], words: str
) -> None:
    """A release with one mistake in an option or a variable: what is wrong, by its name, and
    nothing else.
    """
    (tmp_path / "dist").mkdir()
    for name in ("app.aab", "dist/app.aab"):
        specimens.make_bundle(tmp_path / name, "com.example.app", 7, "1.0")
    (tmp_path / "key.json").write_text(
        json.dumps(service_account("http://127.0.0.1:9/token"))
    )
    usual = {
        "--target": "play",
        "--files": "app.aab",
        "--tracks": "internal",
        "--max-retries": "0",
    }
    every = {
        name: value for name, value in {**usual, **given}.items() if value is not None
    }
    variables = {name: value for name, value in every.items() if name.isupper()}
    argv = [
        word
        for pair in every.items()
        if pair[0] not in variables
        for word in pair
        if word
    ]
    ended = shell(tmp_path, *argv, python=(), **variables)
    (told,) = (
        line for line in ended.stderr.splitlines() if line.startswith(("ERROR: ", "- "))
    )
    assert words in told
    assert ("Acting as" in ended.stdout) == (given.get(KEY) == "key.json")


# What does not count


def test_inputs_that_the_target_does_not_read_are_one_warning() -> None:
    """What was given for another target is named; what GitHub passes as defaults is not."""
    defaults = {
        f"INPUT_{spec.name.upper()}": spec.written_default for spec in inputs.SPECS
    }
    given = {
        "INPUT_TARGET": "drive.files.create",
        "INPUT_TRACKS": "beta",
        "INPUT_MAIL-TO": "a@example.com",
    }
    found, problems = inputs.read({"GITHUB_ACTIONS": "true", **defaults, **given}, ())
    assert problems == ()
    assert found.warnings == (
        "Not read by `target: drive.files.create`, and ignored: `tracks`, `mail-to`.",
    )


# What else can be wrong


def test_a_bad_line_of_the_env_file_is_a_mistake_with_its_number(
    tmp_path: Path,
) -> None:
    """The line is counted, not shown: it may hold a secret."""
    path = tmp_path / "release.env"
    path.write_text(
        "UPLOADER_TARGET=play\n\nhunter2 hunter2\nUPLOADER_TRACKS=beta\n'\n"
    )
    found, (problem,) = inputs.read({}, ["--env-file", str(path)])
    assert found.values == {"target": "play", "tracks": ("beta",)}
    assert problem.name == "--env-file"
    assert problem.what.endswith(" has lines that are not NAME=value: line 3, line 5.")


def test_a_missing_module_is_named_with_the_remedy(tmp_path: Path) -> None:
    """A checkout without its dependencies says what to install, and no traceback."""
    (tmp_path / "a.txt").write_text("a")
    ended = shell(
        tmp_path,
        python=("-S",),
        UPLOADER_TARGET="drive.files.create",
        UPLOADER_FILES="a.txt",
    )
    assert ended.returncode == 1, ended.stderr
    assert re.search(r"Python module \w+ is missing", ended.stderr)
    assert "`pip install .`" in ended.stderr
    assert "Traceback" not in ended.stderr


# The key among the files


@pytest.mark.parametrize("files", ["key.json", "*.json", "link.json"])
def test_the_key_of_the_run_is_never_sent(tmp_path: Path, files: str) -> None:
    """A pattern that is too wide, the key's own name or a link to it is a mistake, whatever the key
    is called.
    """
    (tmp_path / "key.json").write_text(json.dumps(service_account()))
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("key.json")
    done = shell(
        tmp_path,
        UPLOADER_TARGET="drive.files.create",
        UPLOADER_FILES=files,
        UPLOADER_CREDENTIALS="key.json",
    )
    assert done.returncode == 2
    assert "contains this run's credentials" in done.stderr


# Debug logging


@pytest.mark.parametrize(("asked", "told"), [("", False), ("1", True)])
def test_every_request_is_told_to_who_asks(
    tmp_path: Path, asked: str, told: bool
) -> None:
    """Method, host, sizes, offsets, status and time; the path of an API call, never that of a
    session.
    """
    specimens.make_bundle(
        tmp_path / "app.aab", "com.example.app", 7, "1.0", size_bytes=600_000
    )
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
        assert any(
            re.search(
                r"POST 127\.0\.0\.1:\d+/androidpublisher/.*/edits, .* -> 200", line
            )
            for line in lines
        )
        assert any(
            re.search(r"(PUT|POST) 127\.0\.0\.1:\d+, 600000 bytes.* -> 201", line)
            for line in lines
        )
        assert not any("upload_id" in line for line in lines)


# Nobody listens


LISTENERS = (
    ">&-",
    "2>&-",
    ">&- 2>&-",
    ">/dev/full",
    "| true; exit ${PIPESTATUS[0]}",
)


@pytest.mark.parametrize(
    ("target", "code", "listener"),
    [
        *(("nothing", 2, listener) for listener in LISTENERS),
        ("storage.objects.insert", 0, LISTENERS[0]),
        *(
            pytest.param("storage.objects.insert", 0, listener, marks=pytest.mark.slow)
            for listener in LISTENERS[1:]
        ),
    ],
)
def test_the_exit_code_is_the_same_when_nobody_listens(
    tmp_path: Path, target: str, code: int, listener: str
) -> None:
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
    """`files: -` without a standard input ends with 5; an empty object would replace what is
    there.
    """
    done = shell(
        tmp_path,
        streams="<&-",
        UPLOADER_TARGET="storage.objects.insert",
        UPLOADER_PARAMS='{"bucket": "b", "name": "x"}',
        UPLOADER_FILES="-",
        UPLOADER_API_ENDPOINT="emulator",
    )
    assert done.returncode == 5, done.stdout + done.stderr
