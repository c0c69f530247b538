"""A stranger's credential configuration, or an earlier job's variables: no request leaves, and the
field is named.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.auth import hostile_logins
from tests.auth.hostile_logins import Hostile
from tests.support.job import ENTRYPOINT, Ended, Job, Running
from tests.support.token_server import signed

RELEASE = {
    "target": "play",
    "files": "*.aab",
    "tracks": "internal",
    "api-endpoint": "google",
    "max-retries": "0",
}
HOSTILE = tuple(hostile_logins.every())
# Runs the program and writes down whom it asks for an address and whom it would connect to, which
# it may not do. Python raises these events wherever the call comes from (docs.python.org, "Audit
# events table").
WATCHED = """
import os, runpy, sys

_, program, notes = sys.argv
del sys.argv[1:]
descriptor = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def watch(event, arguments):
    if event.startswith("socket.get") and event != "socket.gethostname":
        asked = arguments[0]
    elif event in ("socket.connect", "socket.sendto"):
        asked = arguments[1]
    else:
        return
    os.write(descriptor, f"{event} {asked}\\n".encode())
    raise OSError("nobody may be asked here")

sys.addaudithook(watch)
runpy.run_path(program, run_name="__main__")
"""


class Recorder:
    """A server on loopback that answers nothing and remembers the first bytes of whoever calls."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.heard: list[bytes] = []
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                said = connection.recv(4096)
                if said == b"end":
                    return
                self.heard.append(said)

    def close(self) -> None:
        """Stops listening."""
        with socket.create_connection(self._socket.getsockname()) as connection:
            connection.sendall(b"end")
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    """One for all runs: nobody may call it."""
    made = Recorder()
    yield made
    made.close()


@pytest.fixture(scope="module")
def google() -> Iterator[Emulator]:
    """An emulator that nobody asks either."""
    with Emulator() as emulator:
        yield emulator


def prepared(job: Job, hostile: Hostile) -> None:
    """The workspace of the attempt."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 7, "1.4.2")
    for name, text in hostile.files.items():
        path = job.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # what a right configuration names
    (job.workspace / "token.jwt").write_text(signed({"sub": "job"}))
    for name, target in hostile_logins.LINKS.items():
        (job.workspace / name).symlink_to(target)


def placed(text: str, recorder: Recorder) -> str:
    return text.replace(hostile_logins.RECORDER, recorder.place)


def watched(job: Job, inputs: dict[str, str], **more: str) -> tuple[Ended, list[str]]:
    """How a run ended that can reach nobody, and whom it tried to reach."""
    notes = job.workspace.parent / "asked"
    notes.touch()
    environment = {**job.environment(inputs), **more}
    job.empty_files()
    command = [sys.executable, "-c", WATCHED, str(ENTRYPOINT), str(notes)]
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        command,
        env=environment,
        cwd=job.workspace,
        stdout=pipe,
        stderr=subprocess.STDOUT,
    )
    ended = Running(job, child).end()
    return ended, notes.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_a_hostile_login_asks_nobody(
    tmp_path: Path, google: Emulator, recorder: Recorder, hostile: Hostile
) -> None:
    """A whole run: no address is asked for, nobody is connected to, by the proxy or without, and
    the field is named.
    """
    recorder.heard.clear()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    job = Job(workspace, google, hostile.kind)
    hostile = replace(
        hostile,
        files={name: placed(text, recorder) for name, text in hostile.files.items()},
    )
    prepared(job, hostile)
    given = {name: placed(text, recorder) for name, text in hostile.given().items()}
    environ = {name: placed(text, recorder) for name, text in hostile.environ.items()}
    proxy = f"http://{recorder.place}"
    ended, asked = watched(
        job, {**RELEASE, **given}, HTTPS_PROXY=proxy, HTTP_PROXY=proxy, **environ
    )
    assert ended.code in (2, 3), ended.log
    complaints = [
        line for line in ended.log.splitlines() if not line.startswith("::add-mask::")
    ]
    assert hostile.names in "\n".join(complaints)
    assert asked == []
    assert recorder.heard == []


@pytest.mark.slow
def test_a_right_login_asks_the_token_service(tmp_path: Path, google: Emulator) -> None:
    """The same run with nothing hostile in it is heard, so the others are refused for their field
    alone.
    """
    recorder = Recorder()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    job = Job(workspace, google)
    right = Hostile("nothing", "", hostile_logins.external())
    prepared(job, right)
    job.fail(75, {**RELEASE, **right.given()}, HTTPS_PROXY=f"http://{recorder.place}")
    recorder.close()
    (heard,) = recorder.heard
    request = heard.split(b"\r\n")[0]
    # Newer versions of Python say HTTP/1.1.
    assert request.removesuffix(b" HTTP/1.0").removesuffix(b" HTTP/1.1") == (
        b"CONNECT sts.googleapis.com:443"
    )


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ({"file": "token.jwt"}, "socket.getaddrinfo sts.googleapis.com"),
        ({"url": hostile_logins.AZURE}, "socket.getaddrinfo 169.254.169.254"),
    ],
    ids=["by https", "in clear"],
)
def test_the_watch_sees_a_right_login(
    tmp_path: Path, google: Emulator, source: dict[str, str], asked: str
) -> None:
    """Without a proxy both are asked for by name, and neither is reached."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    job = Job(workspace, google)
    right = Hostile("nothing", "", hostile_logins.external(credential_source=source))
    prepared(job, right)
    ended, seen = watched(job, {**RELEASE, **right.given()})
    assert (ended.code, set(seen)) == (75, {asked}), ended.log


def test_there_are_a_hundred_of_them() -> None:
    """Each has a name of its own."""
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE) >= 100
