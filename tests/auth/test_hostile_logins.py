"""A stranger's credential configuration, or an earlier job's variables: no request leaves, and the field is named."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.auth import hostile_logins
from tests.auth.hostile_logins import Hostile
from tests.support.job import Job

HOSTILE = tuple(hostile_logins.every())


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
    (job.workspace / "token.jwt").write_text("a-token-of-the-job")  # what a right configuration names
    for name, target in hostile_logins.LINKS.items():
        (job.workspace / name).symlink_to(target)


def placed(text: str, recorder: Recorder) -> str:
    return text.replace(hostile_logins.RECORDER, recorder.place)


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_a_hostile_login_asks_nobody(tmp_path: Path, google: Emulator, recorder: Recorder, hostile: Hostile) -> None:
    """A whole run, whose https requests would go through the recorder: it hears nothing, and the field is named."""
    recorder.heard.clear()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    job = Job(workspace, google)
    hostile = replace(hostile, files={name: placed(text, recorder) for name, text in hostile.files.items()})
    prepared(job, hostile)
    given = {name: placed(text, recorder) for name, text in hostile.given().items()}
    environ = {name: placed(text, recorder) for name, text in hostile.environ.items()}
    release = {"target": "play", "files": "*.aab", "tracks": "internal", "api-endpoint": "google", "max-retries": "0"}
    proxy = f"http://{recorder.place}"
    ended = job.run({**release, **given}, HTTPS_PROXY=proxy, HTTP_PROXY=proxy, **environ)
    assert ended.code in (2, 3), ended.log
    complaints = [line for line in ended.log.splitlines() if not line.startswith("::add-mask::")]
    assert hostile.names in "\n".join(complaints)
    assert recorder.heard == []


def test_a_right_login_asks_the_token_service(tmp_path: Path, google: Emulator) -> None:
    """The same run with nothing hostile in it is heard, so the others are refused for their field alone."""
    recorder = Recorder()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    job = Job(workspace, google)
    right = Hostile("nothing", "", hostile_logins.external())
    prepared(job, right)
    release = {"target": "play", "files": "*.aab", "tracks": "internal", "api-endpoint": "google", "max-retries": "0"}
    job.fail(75, {**release, **right.given()}, HTTPS_PROXY=f"http://{recorder.place}")
    recorder.close()
    assert [said.split(b"\r\n")[0] for said in recorder.heard] == [b"CONNECT sts.googleapis.com:443 HTTP/1.0"]


def test_there_are_a_hundred_of_them() -> None:
    """Each has a name of its own."""
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE) >= 100
