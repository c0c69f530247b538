"""Secrets in every channel of every failure, and words that deceive; the watch itself is tested
first.

Every run that goes through `tests.support.job` or `tests.support.tcp_proxy`, anywhere in the suite,
is looked through in the same way.
"""

from __future__ import annotations

import base64
import json
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, get_args

import pytest

from google_emulator import Emulator, specimens
from tests.support import secret_watch
from tests.support.job import Job
from tests.support.malformed import ESCAPES
from tests.support.platforms import workflow_commands
from tests.support.raw_server import response, serving
from tests.support.tcp_proxy import Middle, Place
from tests.support.transfer_harness import KIB, data_of
from uploader import cli, plan
from uploader.errors import InputError
from uploader.files.workspace import Workspace
from uploader.inputs import TARGETS, Inputs, Platform
from uploader.inputs.records import Record
from uploader.transfer.engine import Engine

SIZE = 600 * KIB  # bytes
PLAY = {
    "target": "play",
    "files": "app.aab",
    "tracks": "internal",
    "chunk-size": "256KiB",
    "max-retries": "1",
}
DRIVE = {
    "target": "drive.files.create",
    "files": "a.bin",
    "chunk-size": "256KiB",
    "max-retries": "1",
}
DEBUG = {"RUNNER_DEBUG": "1"}


@pytest.fixture(params=["github", "gitlab", "console"])
def job(tmp_path: Path, emulator: Emulator, request: pytest.FixtureRequest) -> Job:
    """A job with a bundle and a file, on each platform."""
    filled(tmp_path / "workspace")
    return Job(tmp_path / "workspace", emulator, request.param)


@pytest.fixture
def place(tmp_path: Path, emulator: Emulator) -> Iterator[Place]:
    """The same with a server in the middle, which can say anything."""
    filled(tmp_path / "workspace")
    middle = Middle(emulator)
    with serving(middle.serve) as middle.url:
        emulator.url = middle.url
        yield Place(tmp_path, middle, "")


def filled(workspace: Path) -> None:
    workspace.mkdir()
    specimens.make_bundle(
        workspace / "app.aab", "com.example.app", 42, "1.0", size_bytes=SIZE
    )
    (workspace / "a.bin").write_bytes(data_of(SIZE))


# --- the watch ------------------------------------------------------------------------------------


def test_the_watch_sees_each_secret_in_each_channel(emulator: Emulator) -> None:
    """A line of the key, a token, a session, an assertion: each is found wherever it stands, and
    masks are no leak.
    """
    token = emulator.token("drive")
    line = emulator.key["private_key"].splitlines()[3]
    for secret in (
        token,
        line,
        emulator.oidc_request_token,
        "upload_id=" + "a" * 20,
        emulator.id_token(),
    ):
        assert secret_watch.leaks(
            emulator, {"the log": b"a " + secret.encode() + b" b"}
        )
        assert not secret_watch.leaks(
            emulator, {"the log": f"::add-mask::{secret}\n".encode()}
        )
    assert not secret_watch.leaks(
        emulator, {"the log": b"upload_id=*** Bearer *** ::add-mask::"}
    )
    assert "access token 0 in the state" in secret_watch.leaks(
        emulator, {"a": b"", "the state": token.encode()}
    )


def test_no_service_is_given_a_secret(tmp_path: Path) -> None:
    """Each target's service gets a record or single values, never the whole of the inputs, and no
    part of a login.
    """
    platform = Platform(
        workspace=tmp_path, id_token="SECRET", oidc_request_token="SECRET"
    )
    whole = Inputs(
        {"state_key": "SECRET", "credentials": '{"private_key": "SECRET"}'},
        texts=("SECRET",),
        platform=platform,
    )
    given: dict[str, list[object]] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        if (event, frame.f_code.co_name) == (
            "call",
            "prepare",
        ) and "services" in frame.f_code.co_filename:
            given[target] = [
                one for one in frame.f_locals.values() if not callable(one)
            ]

    for target in ("drive.files.create", *TARGETS):
        sys.setprofile(watch)
        with suppress(InputError):
            plan.prepare(whole.with_values(target=target), (), Workspace.of(whole))
        sys.setprofile(None)
    assert given.keys() == {"drive.files.create", *TARGETS}
    for values in given.values():
        assert isinstance(values[0], get_args(Record))
        assert b"SECRET" not in pickle.dumps(values)
    assert b"SECRET" in pickle.dumps(whole)


# --- every ending ---------------------------------------------------------------------------------

ENDINGS: dict[str, tuple[int, dict[str, str], list[dict[str, Any]]]] = {
    "done": (0, PLAY, []),
    "a wrong input": (2, {**PLAY, "status": "odd", "tracks": "none"}, []),
    "refused credentials": (
        3,
        PLAY,
        [{"on": "oauth.token", "do": "status", "status": 401}],
    ),
    "no permission": (3, PLAY, [{"on": "api", "do": "token-expired", "times": 9}]),
    "a refusal": (
        4,
        PLAY,
        [{"on": "play.tracks.update", "do": "status", "status": 400, "message": "No."}],
    ),
    "a foreign session": (
        4,
        DRIVE,
        [{"on": "resumable.start", "do": "foreign-session"}],
    ),
    "a broken protocol": (4, DRIVE, [{"on": "resumable.put", "do": "range-beyond"}]),
    "a redirect": (4, DRIVE, [{"on": "resumable.put", "do": "redirect"}]),
    "other bytes": (5, PLAY, [{"on": "resumable.final", "do": "wrong-digest"}]),
    "no service": (
        75,
        DRIVE,
        [{"on": "resumable", "do": "status", "status": 503, "times": 9}],
    ),
    "no token": (75, DRIVE, [{"on": "oauth.token", "do": "reset", "times": 9}]),
    "a lost session": (0, DRIVE, [{"on": "resumable.put", "do": "session-lost"}]),
    "a reset": (0, DRIVE, [{"on": "resumable.put", "do": "reset", "after": 100_000}]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDINGS)
def test_no_ending_tells_a_secret(job: Job, name: str) -> None:
    """In debug mode, on every platform: log, outputs, summary, results, dotenv, state and arguments
    are clean.
    """
    code, inputs, faults = ENDINGS[name]
    for fault in faults:
        job.emulator.add_fault(**fault)
    ended = job.run(inputs, **DEBUG)
    assert ended.code == code, ended.log
    assert len(secret_watch.secrets(job.emulator)) > 12


def test_scalar_outputs_survive_the_masks_of_a_pretty_printed_key(
    tmp_path: Path, emulator: Emulator
) -> None:
    """GitHub masks such a secret line by line, `{` and `}` too, and drops job outputs that hold
    one: only JSON does.
    """
    filled(tmp_path / "workspace")
    key = json.dumps(emulator.key, indent=2)
    ended = Job(tmp_path / "workspace", emulator).run({**PLAY, "credentials": key})
    assert ended.code == 0, ended.log
    masked = [
        name
        for name, value in ended.outputs.items()
        if any(line.strip() in value for line in key.splitlines())
    ]
    assert masked == ["status"]
    assert ended.outputs.keys() >= {
        "version-codes",
        "edit-id",
        "committed",
        "results-file",
    }


def test_what_a_server_repeats_is_hidden(place: Place) -> None:
    """A server that puts the request's own token, address and body into its refusal finds them
    masked everywhere.
    """
    for pattern in (
        r"POST /token",
        r"POST \S+/edits ",
        r"POST /upload",
        r"PUT \S+upload_id",
        r"PUT \S+/tracks/",
    ):
        middle = place.middle
        middle.pattern = pattern

        def repeat(connection: socket.socket, middle: Middle = middle) -> None:
            words = middle.head.decode("latin-1")
            error = {
                "message": f"I heard: {words}",
                "status": words,
                "errors": [{"reason": words, "message": words}],
            }
            connection.sendall(
                response(400, json.dumps({"error": error, "heard": words}).encode())
            )

        middle.response = repeat
        code, log = place.run(PLAY)
        assert code in (3, 4), log
        assert place.middle.met


def test_what_a_resource_repeats_is_hidden(place: Place) -> None:
    """A resource that holds the session's address and the token comes out masked, in outputs and
    results, too.
    """
    place.middle.pattern = r"PUT (?s:.*)Content-Range: bytes 524288-"

    def repeat(connection: socket.socket) -> None:
        words = place.middle.head.decode("latin-1")
        connection.sendall(
            response(200, json.dumps({"id": words, words: [words]}).encode())
        )

    place.middle.response = repeat
    code, log = place.run(DRIVE)
    assert code == 0, log
    assert "***" in (place.folder / "workspace" / "uploader-results.json").read_text()


def test_a_fault_of_our_own_shows_no_secret(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A traceback is shown in debug mode alone, and passes through the redactor like everything
    else.
    """
    key = place.middle.emulator.key["private_key"]

    def broken(*_: object) -> None:
        raise RuntimeError(f"with {key} in it")

    monkeypatch.setattr(Engine, "run", broken)
    environ = Job(place.folder / "workspace", place.middle.emulator).environment(DRIVE)
    for more in ({}, DEBUG):
        assert cli.run({**environ, **more}, []) == 1
        said = capsys.readouterr()
        assert ("Traceback" in said.out) == bool(more)
        assert "The program itself failed (RuntimeError)" in said.out
        assert not secret_watch.leaks(
            place.middle.emulator, {"the log": (said.out + said.err).encode()}
        )


# --- a key in the wrong place ---------------------------------------------------------------------


def _bare(key: str) -> str:
    """The key without its first and last line."""
    return "".join(key.splitlines(keepends=True)[1:-1]).strip()


# How a key may look when it is pasted into an input that wants none, from the key file as JSON.
PASTED: dict[str, Callable[[dict[str, str]], str]] = {
    "whole": json.dumps,
    "cut off": lambda file: json.dumps(file)[:-200],
    "without quotes": lambda file: json.dumps(file).replace('"', ""),
    "base64": lambda file: base64.b64encode(json.dumps(file).encode()).decode(),
    "base64 in lines": lambda file: base64.encodebytes(
        json.dumps(file).encode()
    ).decode(),
    "the PEM": lambda file: file["private_key"],
    "the PEM with its escapes": lambda file: file["private_key"].replace("\n", "\\n"),
    "the PEM without its end": lambda file: file["private_key"][:900],
    "the lines alone": lambda file: _bare(file["private_key"]),
    "the lines joined": lambda file: _bare(file["private_key"]).replace("\n", ""),
    "the lines joined by blanks": lambda file: _bare(file["private_key"]).replace(
        "\n", " "
    ),
}
ANYWHERE = (
    "files",
    "tracks",
    "release-name",
    "package-name",
    "whats-new-directory",
    "params",
    "mail-body",
    "credentials",
)


@pytest.mark.slow
@pytest.mark.parametrize("how", PASTED)
def test_a_key_in_the_wrong_place_is_not_told(job: Job, how: str) -> None:
    """Whatever input it is pasted into, in whatever shape: no part of it is in the log, the
    outputs, the summary.
    """
    text = PASTED[how]({name: str(value) for name, value in job.emulator.key.items()})
    pieces = set(_bare(job.emulator.key["private_key"]).split())
    if "base64" in how:
        pieces |= {text[at : at + 24] for at in range(0, len(text) - 24, 64)}
    for name in ANYWHERE:
        ended = job.run({**PLAY, name: text, "dry-run": "true"}, **DEBUG)
        assert "Traceback" not in ended.log
        said = secret_watch.MASKS.sub(
            b"", (ended.log + ended.summary + str(ended.outputs)).encode()
        ).decode()
        shown = [piece for piece in pieces if piece in said]
        assert not shown, (
            f"{how} in {name}: exit {ended.code}, {len(shown)} pieces, as {shown[0]!r}"
        )


# --- words that deceive ---------------------------------------------------------------------------

# no file system and no environment takes a zero byte
VISIBLE = ESCAPES.replace("\x00", "")


def clean(log: str, kind: str = "github") -> None:
    """Nothing in the log moves a terminal, turns text around, or is a command that we did not
    give.
    """
    # whose sections are marked by a return and an escape of our own, and whose errors are red
    if kind == "gitlab":
        log = re.sub(r"\x1b\[[0-9;]*m", "", log)
        log = re.sub(
            r"^section_(start|end):\d+:uploader_\d+(\[collapsed=true\])?\r\x1b\[0K",
            "",
            log,
            flags=re.MULTILINE,
        )
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", log
    )
    assert kind != "github" or not [
        one for one in workflow_commands(log) if one.data.startswith("no ")
    ]


MAIL = {
    "target": "gmail",
    "impersonate-user": "me@example.com",
    "mail-to": "you@example.com",
    "mail-from": "me@example.com",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "field",
    ["mail-subject", "mail-body", "mail-to", "mail-from", "mail-cc", "mail-html"],
)
@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_mail_fields_move_no_terminal(
    tmp_path: Path, emulator: Emulator, field: str, kind: str
) -> None:
    """Escapes in any field of a mail reach neither the log nor another header of the mail."""
    workspace = tmp_path / "workspace"
    filled(workspace)
    ended = Job(workspace, emulator, kind).run(
        {**MAIL, "mail-body": "x", field: f"A {VISIBLE}\nBcc: spy@example.com"}
    )
    clean(ended.log + ended.summary, kind)
    assert ended.code in (0, 2), ended.log
    assert "spy@example.com" not in json.dumps(
        [message.get("to") for message in emulator.state()["messages"]]
    )


def test_a_file_name_moves_no_terminal(job: Job) -> None:
    """A file whose name turns text around is uploaded under it, and shown with its marks made
    visible.
    """
    name = f"{VISIBLE.replace('/', '')}.bin"
    (job.workspace / name).write_bytes(b"content")
    ended = job.run({**DRIVE, "files": "*.bin"})
    assert ended.code == 0, ended.log
    assert name in [file["name"] for file in job.emulator.state()["files"].values()]
    assert "<U+202E>" in ended.log
    clean(ended.log + ended.summary, job.kind)


LIBRARIES = """
import logging, sys, warnings
from uploader import cli
sys.argv = ["uploader", "--version"]
try:
    cli.main([], [])
except SystemExit:
    pass
warnings.warn("a secret in a warning", FutureWarning)
warnings.warn("a secret in a warning", ResourceWarning)
logger = logging.getLogger("urllib3.connectionpool")
logger.warning("Failed to parse headers (url=%s)", "a secret in a URL")
logging.getLogger("google.auth").error("a secret in an error")
"""


def test_no_warning_of_a_library_reaches_the_log() -> None:
    """Whatever a library logs or warns of, and whatever Python was told to show of it."""
    command = [sys.executable, "-W", "always", "-c", LIBRARIES]
    ended = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(cli.__file__).parents[1],
    )
    assert "secret" not in ended.stdout + ended.stderr
    assert ended.stderr == ""
