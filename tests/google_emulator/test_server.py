"""The HTTP server under the emulator, its state, and its command line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from google_emulator import Emulator
from tests.support.emulator_client import (
    APP,
    STORAGE,
    EmulatorClient,
    raw_request,
    read_reply,
)


def test_a_connection_is_kept_open(client: EmulatorClient) -> None:
    """Requests follow one another on one connection, after errors as well."""
    client.edit()
    client.request("GET", "/nowhere")
    client.request(
        "POST",
        f"{STORAGE}?uploadType=media&name=x",
        b"abc",
        {"Content-Type": "text/plain"},
    )
    client.request("POST", f"{STORAGE}?uploadType=nothing", b"abc")
    client.edit()
    assert client.emulator.state()["connections"] == 1


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"POST /token HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
        (b"POST /token HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (
            b"POST /token HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
            400,
        ),
    ],
)
def test_malformed_http_is_refused(
    client: EmulatorClient, request_bytes: bytes, status: int
) -> None:
    """Nonsense gets an answer, and never a traceback."""
    with socket.create_connection(
        ("127.0.0.1", client.emulator.port), timeout=10
    ) as connection:
        connection.sendall(request_bytes)
        assert read_reply(connection).status == status


def test_the_state_counts_what_happened(client: EmulatorClient) -> None:
    """Requests by every name of their operation, bytes of bodies, and what is stored."""
    client.put(client.start_session(size=3), b"abc")
    state = json.loads(
        urllib.request.urlopen(f"{client.emulator.url}/__emulator/state").read()
    )
    counted = {
        name: state["requests"][name]
        for name in ("any", "upload", "resumable.start", "storage.objects.insert")
    }
    assert counted == {
        "any": 2,
        "upload": 2,
        "resumable.start": 1,
        "storage.objects.insert": 2,
    }
    assert state["bytes_received"] == 3
    assert state["sessions"][0]["state"] == "done"
    assert state["faults"] == {"fired": [], "waiting": []}


def test_bytes_are_kept_where_they_are_wanted(tmp_path: Path) -> None:
    """`root` keeps the uploaded files; without it they are gone at the end."""
    kept, gone = Emulator(root=tmp_path), Emulator()
    files = []
    for emulator in (kept, gone):
        with emulator:
            client = EmulatorClient(emulator)
            client.put(client.start_session(size=3), b"abc")
            client.close()
            files.append(Path(emulator.state()["objects"][0]["file"]))
    assert files[0].read_bytes() == b"abc"
    assert not files[1].exists()


def test_the_emulator_ends_at_once() -> None:
    """stop() does not wait for stalled requests, and leaves no thread behind that listens."""
    emulator = Emulator([{"on": "any", "do": "stall", "seconds": 60}]).start()
    connection = raw_request(emulator, "GET", f"{APP}/edits/1", "")
    while not emulator.state()["faults"]["fired"]:
        pass
    before = time.monotonic()
    emulator.stop()
    assert time.monotonic() - before < 10
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", emulator.port))
    assert "emulator" not in {thread.name for thread in threading.enumerate()}


def test_the_command_line(tmp_path: Path) -> None:
    """Port, key and login files are written whole, the key for its owner alone; SIGTERM ends it
    promptly with 0.
    """
    port_file, key_file, oidc_file = (
        tmp_path / "port",
        tmp_path / "key.json",
        tmp_path / "oidc.json",
    )
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps(
            {
                "faults": [{"on": "play.edits.get", "do": "status"}],
                "config": {"review": "manual"},
            }
        )
    )
    files = [
        "--port-file",
        str(port_file),
        "--key-file",
        str(key_file),
        "--oidc-file",
        str(oidc_file),
    ]
    command = [
        sys.executable,
        "-m",
        "google_emulator",
        *files,
        "--faults",
        str(plan),
        "--root",
        str(tmp_path / "r"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = port_file.read_text().strip()
        assert line == f"listening on http://127.0.0.1:{port}\n"
        key = json.loads(key_file.read_text())
        assert key["token_uri"] == f"http://127.0.0.1:{port}/token"
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
        assert json.loads(oidc_file.read_text())[
            "ACTIONS_ID_TOKEN_REQUEST_URL"
        ].startswith(f"http://127.0.0.1:{port}/")
        state = json.loads(
            urllib.request.urlopen(f"http://127.0.0.1:{port}/__emulator/state").read()
        )
        assert len(state["faults"]["waiting"]) == 1
        before = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert time.monotonic() - before < 10


@pytest.mark.parametrize(
    "faults", ['[{"do": "explode"}]', "{", '{"fault": []}', "/no/such/file"]
)
def test_wrong_faults_end_the_command(faults: str) -> None:
    """A plan that can't be understood ends with 2 and one line."""
    command = [sys.executable, "-m", "google_emulator", "--faults", faults]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 2
    assert done.stderr.startswith("emulator: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:80"}, 200),
        ({"Host": "[::1]"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "attacker.example"}, 403),
        ({"Host": "127.0.0.1.attacker.example"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_web_page_reads_no_state(
    client: EmulatorClient, headers: dict[str, str], status: int
) -> None:
    """The emulator's own addresses refuse what a browser sends for a page, whose name may lead to
    this machine.
    """
    assert client.request("GET", "/__emulator/state", headers=headers).status == status
    assert (
        client.request("POST", "/__emulator/clock", b'{"advance": 1}', headers).status
        == status
    )


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 403),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"Authorization": "Bearer right"}, 200),
    ],
    ids=["none", "wrong", "right"],
)
def test_an_emulator_with_a_token_of_its_own_asks_for_it(
    given: dict[str, str], status: int
) -> None:
    """Of every one of its own addresses, and of no other."""
    with (
        Emulator(admin_token="right") as emulator,
        contextlib.closing(EmulatorClient(emulator)) as client,
    ):
        headers = {"Host": "127.0.0.1", **given}
        assert (
            client.request("GET", "/__emulator/state", headers=headers).status == status
        )
        assert (
            client.request(
                "POST", "/__emulator/clock", b'{"advance": 1}', headers
            ).status
            == status
        )
