"""A far side that can't be trusted: malformed answers to every kind of request, and proxies,
through whole runs.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.http.conftest import HERE, relay
from tests.http.conftest import certificate as certificate  # noqa: PLC0414  # the fixture
from tests.support.job import Job
from tests.support.malformed import ENDLESS, ESCAPES, MANNERS, Answer, responses
from tests.support.platforms import workflow_commands
from tests.support.raw_server import read_head, serving
from tests.support.raw_server import response as written
from tests.support.tcp_proxy import Middle, Place
from tests.support.transfer_harness import KIB, data_of

SIZE = 300 * KIB  # bytes: two chunks
PLAY = {
    "target": "play",
    "files": "app.aab",
    "tracks": "internal",
    "chunk-size": "256KiB",
}
OTA = {
    "target": "ota",
    "files": "ota.zip",
    "deployment": "d",
    "package-title": "t",
    "chunk-size": "256KiB",
}
DRIVE = {"target": "drive.files.create", "files": "a.bin", "chunk-size": "256KiB"}
QUICK = {"max-retries": "0", "stall-timeout": "1s", "finalize-timeout": "1s"}

# Each kind of request: the run in which it occurs, and how it is recognised.
KINDS: dict[str, tuple[dict[str, str], str]] = {
    "token": (PLAY, r"POST /token\b"),
    "edit insert": (PLAY, r"POST \S+/edits "),
    "bundles list": (PLAY, r"GET \S+/bundles "),
    "session start": (PLAY, r"POST /upload/\S+uploadType=resumable "),
    "chunk": (PLAY, r"PUT (?s:.*)Content-Range: bytes 0-"),
    "last chunk": (PLAY, r"PUT (?s:.*)Content-Range: bytes 262144-"),
    "offset query": (PLAY, r"PUT (?s:.*)Content-Range: bytes \*/"),
    "tracks list": (PLAY, r"GET \S+/tracks "),
    "track update": (PLAY, r"PUT \S+/tracks/internal "),
    "commit": (PLAY, r"POST \S+:commit"),
    "start in dialect B": (OTA, r"POST (?s:.*)X-Goog-Upload-Command: start"),
    "upload in dialect B": (OTA, r"POST (?s:.*)X-Goog-Upload-Command: upload\r"),
    "finalize in dialect B": (
        OTA,
        r"POST (?s:.*)X-Goog-Upload-Command: upload, finalize",
    ),
    "query in dialect B": (OTA, r"POST (?s:.*)X-Goog-Upload-Command: query"),
    "file without a release": (DRIVE, r"PUT (?s:.*)Content-Range: bytes 262144-"),
}
CASES = [name for name, _ in responses("")]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Everything that a run needs, with a server in the middle."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    specimens.make_bundle(
        workspace / "app.aab", "com.example.app", 42, "1.0", size_bytes=SIZE
    )
    (workspace / "a.bin").write_bytes(data_of(SIZE))
    (workspace / "ota.zip").write_bytes((workspace / "app.aab").read_bytes())
    heard: list[bytes] = []
    with contextlib.ExitStack() as stack:
        elsewhere = stack.enter_context(
            serving(lambda connection: heard.append(read_head(connection)[0]))
        )
        middle = Middle(stack.enter_context(Emulator()))
        middle.url = middle.emulator.url = stack.enter_context(serving(middle.serve))
        yield Place(tmp_path, middle, elsewhere.removeprefix("http://"), heard)


# One test for a sixth of the answers, so that a key is made six times and not three hundred times.
# The message of a failed assertion has the answer's name.
@pytest.mark.slow
@pytest.mark.parametrize("share", range(6))
def test_malformed_answers(place: Place, share: int) -> None:
    """Whatever is answered to whichever request: a code of the contract, one error line, no
    traceback, no hang.
    """
    kinds = list(KINDS.items())
    met = 0
    for number, (name, malformed) in enumerate(responses(place.elsewhere)):
        if number % 6 != share:
            continue
        kind, (inputs, pattern) = kinds[number // 6 * 7 % len(kinds)]
        met += check_answer(place, f"{name}, to {kind}", malformed, inputs, pattern)
    assert met > len(CASES) // 6 * 0.9


def check_answer(
    place: Place,
    name: str,
    malformed: Answer,
    inputs: dict[str, str],
    pattern: str,
    codes: tuple[int, ...] = (0, 3, 4, 5, 75),
) -> bool:
    """Give one malformed answer in one run, and check everything that must be true of the run.

    Return whether the request came at which the answer is given.
    """
    emulator, middle = place.middle.emulator, place.middle
    emulator.faults.clear()
    emulator.play.reset()
    if "query" in pattern or r"\*/" in pattern:
        emulator.add_fault("resumable.put", "no-range")
        emulator.add_fault("goog.upload", "drop-header", name="X-Goog-Upload-Status")
    middle.pattern, middle.response, middle.met = pattern, malformed, 0
    began = time.monotonic()
    code, log = place.run({**inputs, **QUICK})
    taken = time.monotonic() - began
    errors = [command for command in workflow_commands(log) if command.name == "error"]
    assert code in codes, f"{name}: exit {code}\n{log}"
    assert (len(errors) == 0) == (code == 0), f"{name}\n{log}"
    assert len(errors) <= 1, f"{name}\n{log}"
    assert "Traceback" not in log, name
    assert "program itself" not in log, name
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", log
    ), f"{name}\n{log!r}"
    assert not place.heard, f"{name}: something went elsewhere"
    assert taken < 8, f"{name}: {taken:.1f} s"
    return middle.met > 0


def test_the_words_of_a_server_move_no_terminal(place: Place) -> None:
    """Escapes, bidirectional marks and workflow commands in a refusal are shown as what they
    are.
    """
    refusal = json.dumps(
        {"error": {"message": f"No: {ESCAPES}", "status": "DENIED"}}
    ).encode()
    place.middle.pattern = KINDS["track update"][1]
    place.middle.response = lambda connection: connection.sendall(written(400, refusal))
    code, log = place.run(PLAY)
    assert code == 4
    assert r"\x1b[2J" in log
    assert "<U+202E>" in log
    assert "\x1b" not in log
    assert [command.name for command in workflow_commands(log)].count("error") == 1


# --- proxies --------------------------------------------------------------------------------------


class Proxy:
    """A CONNECT proxy: it writes down what it is asked for, and sees nothing of what goes
    through.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuses = False

    def serve(self, connection: socket.socket) -> None:
        head, _ = read_head(connection)
        self.asked.append(head.split(b"\r\n")[0].decode())
        method, target, _ = self.asked[-1].split()
        if method != "CONNECT" or self.refuses:
            connection.sendall(
                written(
                    407,
                    b"<html>who are you?</html>",
                    'Proxy-Authenticate: Basic realm="x"',
                )
            )
            return
        host, _, port = target.rpartition(":")
        with socket.create_connection((host, int(port))) as there:
            connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            relay(connection, there)


@dataclass
class Behind:
    """A job whose emulator speaks TLS behind a proxy."""

    job: Job
    proxy: Proxy
    environment: dict[str, str]


@pytest.fixture
def behind(tmp_path: Path, certificate: Path) -> Iterator[Behind]:
    """TLS in front of the emulator, under an authority that only REQUESTS_CA_BUNDLE names, and a
    proxy to it.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.bin").write_bytes(data_of(SIZE))
    proxy = Proxy()
    with contextlib.ExitStack() as stack:
        emulator = stack.enter_context(Emulator())

        def unwrap(connection: socket.socket) -> None:
            with socket.create_connection(("127.0.0.1", emulator.port)) as there:
                relay(connection, there)

        emulator.url = stack.enter_context(threaded(unwrap, context)).replace(
            "localhost", HERE
        )
        address = stack.enter_context(threaded(proxy.serve))
        yield Behind(
            Job(workspace, emulator),
            proxy,
            {"HTTPS_PROXY": address, "REQUESTS_CA_BUNDLE": str(certificate)},
        )


@contextlib.contextmanager
def threaded(handler: Answer, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """As `serving`, with every connection in a thread of its own: a proxy has several open at
    once.
    """

    def begin(connection: socket.socket) -> None:
        mine = connection.dup()

        def handle() -> None:
            with (
                contextlib.suppress(OSError),
                tls.wrap_socket(mine, server_side=True) if tls else mine as peer,
            ):
                handler(peer)

        threading.Thread(target=handle, daemon=True).start()

    with serving(begin) as url:
        yield url.replace("http://127.0.0.1", "https://localhost") if tls else url


def test_everything_goes_through_the_proxy(behind: Behind) -> None:
    """Token and upload travel through CONNECT under the authority of REQUESTS_CA_BUNDLE; the proxy
    sees a host only.
    """
    ended = behind.job.run(DRIVE, **behind.environment)
    assert ended.code == 0, ended.log
    host = behind.job.emulator.url.removeprefix("https://")
    assert {asked.rpartition(" ")[0] for asked in behind.proxy.asked} == {
        f"CONNECT {host}"
    }
    assert len(behind.proxy.asked) >= 2
    assert Path(
        behind.job.emulator.state()["objects"][0]["file"]
    ).read_bytes() == data_of(SIZE)


def test_a_proxy_may_speak_tls_itself(behind: Behind, certificate: Path) -> None:
    """TLS inside the proxy's own TLS carries everything, too, and both are judged by the same
    authorities.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with threaded(behind.proxy.serve, context) as address:
        ended = behind.job.run(DRIVE, **{**behind.environment, "HTTPS_PROXY": address})
        assert ended.code == 0, ended.log
        assert len(behind.proxy.asked) >= 2
        ended = behind.job.run(DRIVE, HTTPS_PROXY=address)
        assert ended.code == 4, ended.log
        assert "The certificate of the proxy is not trusted" in ended.log


# Where an answer comes from: the token endpoint, the API, a session.
PLACES = {"token": "token", "API": "session start", "session": "last chunk"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLACES)
def test_an_answer_without_end_ends_the_run(place: Place, kind: str) -> None:
    """However it is framed: a temporary failure or a broken protocol, in one line, and never a
    fault of the program.
    """
    inputs, pattern = KINDS[PLACES[kind]]
    for name in ENDLESS:
        check_answer(
            place,
            name,
            MANNERS[f"{name} without an end"],
            inputs,
            pattern,
            codes=(4, 75),
        )


def test_an_authority_that_is_not_trusted_is_named(behind: Behind) -> None:
    """Without REQUESTS_CA_BUNDLE nothing is sent to whoever answers, and the error line says what
    to set.
    """
    environment = {**behind.environment, "REQUESTS_CA_BUNDLE": ""}
    ended = behind.job.run({**DRIVE, "max-retries": "0"}, **environment)
    assert ended.code == 4, ended.log
    assert f"The certificate of {HERE} is not trusted" in ended.log
    assert "REQUESTS_CA_BUNDLE" in ended.log
    assert not behind.job.emulator.state()["requests"]


def test_a_socks_proxy_is_refused_at_once(behind: Behind) -> None:
    """Nothing is tried: the error names the variable and what it may hold, without the password."""
    address = "socks5://builder:hunter2secret@127.0.0.1:1"
    ended = behind.job.run(DRIVE, **{**behind.environment, "HTTPS_PROXY": address})
    assert (ended.code, ended.outputs["failure"]) == (2, "invalid-input"), ended.log
    assert "the proxy 127.0.0.1:1 (from HTTPS_PROXY) is a SOCKS proxy" in ended.log
    assert "trying again" not in ended.log
    assert "hunter2secret" not in ended.log


def test_a_proxy_with_a_password_does_not_tell_it(behind: Behind) -> None:
    """User and password in HTTPS_PROXY reach the proxy and no log, also where it refuses."""
    address = behind.environment["HTTPS_PROXY"].replace(
        "://", "://builder:hunter2secret@"
    )
    behind.proxy.refuses = True
    ended = behind.job.run(
        {**DRIVE, "max-retries": "0"}, **{**behind.environment, "HTTPS_PROXY": address}
    )
    assert (ended.code, "HTTPS_PROXY" in ended.log) == (75, True)
    assert "hunter2secret" not in ended.log + str(ended.results) + ended.summary


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", [PLAY, {**DRIVE, "files": "*.aab"}], ids=["play", "drive"]
)
def test_a_proxy_that_takes_no_large_request_leads_to_chunks(
    job: Job, target: dict[str, str]
) -> None:
    """413 that is not Google's own: the hint names `chunk-size`; Google's own 413 is told in its
    words alone.
    """
    specimens.make_bundle(
        job.workspace / "app.aab", "com.example.app", 42, "1.0", size_bytes=2 << 20
    )
    job.emulator.add_fault(
        "resumable.put", "status", status=413, body="<html>Too large</html>"
    )
    ended = job.run({**target, "upload-protocol": "resumable", "chunk-size": "auto"})
    assert (ended.code, "Set `chunk-size`" in ended.log) == (4, True), ended.log
    job.emulator.add_fault(
        "resumable.start", "status", status=413, reason="uploadTooLarge", message="No."
    )
    ended = job.run({**target, "upload-protocol": "resumable", "chunk-size": "auto"})
    assert (ended.code, "chunk-size" in ended.log) == (4, False), ended.log
