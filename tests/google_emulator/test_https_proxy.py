"""Google's own hosts on loopback: a client that is told nothing but a proxy and a certificate
reaches the emulator.
"""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from google_emulator import Emulator
from google_emulator.google_hosts import HOSTS, LINES

FILES = {"ca.pem", "ca.p12", "key.json", "java.options", "env"}


class Stranger:
    """A client of Google's, with the environment that it was given."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self.environment = emulator.serve_google_hosts(folder)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.proxies = {"https": self.environment["HTTPS_PROXY"]}
        self.session.verify = self.environment["SSL_CERT_FILE"]
        self.port = int(self.environment["HTTPS_PROXY"].rpartition(":")[2])

    def raw(self, *lines: str) -> bytes:
        """All that the proxy answers to a request that is none of TLS."""
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=10
        ) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
            return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.fixture
def stranger(emulator: Emulator, tmp_path: Path) -> Iterator[Stranger]:
    made = Stranger(emulator, tmp_path / "client")
    yield made
    made.session.close()


def test_a_session_stays_on_the_host_that_the_client_knows(
    stranger: Stranger, emulator: Emulator
) -> None:
    """The session URI leads to Google's own host, and what is sent there is stored."""
    stranger.session.headers["Authorization"] = (
        f"Bearer {emulator.token('devstorage.read_write')}"
    )
    url = "https://storage.googleapis.com/upload/storage/v1/b/bucket/o?uploadType=resumable&name=a"
    session = stranger.session.post(url, timeout=10).headers["Location"]
    assert session.startswith("https://storage.googleapis.com/upload/")
    assert stranger.session.put(session, b"abc", timeout=10).json()["size"] == "3"
    assert emulator.state()["objects"][0]["size"] == 3


@pytest.mark.parametrize("host", [host.replace("*", "any-name") for host in HOSTS])
def test_every_host_of_googles_is_answered_for(stranger: Stranger, host: str) -> None:
    """The certificate has its name, and an unknown path is answered as the emulator answers it."""
    assert (
        stranger.session.get(f"https://{host}/nothing", timeout=10).status_code == 404
    )


def test_a_key_leads_to_googles_token_endpoint(stranger: Stranger) -> None:
    """The key file is one as Google makes it, for its owner alone, and no file holds the
    authority's own key.
    """
    folder = Path(stranger.environment["GOOGLE_APPLICATION_CREDENTIALS"]).parent
    assert (
        json.loads((folder / "key.json").read_text())["token_uri"]
        == "https://oauth2.googleapis.com/token"
    )
    assert {file.name for file in folder.iterdir()} == FILES
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert b"PRIVATE" not in b"".join(
        (folder / name).read_bytes() for name in FILES - {"key.json"}
    )


@pytest.mark.parametrize(
    "asked",
    [
        "CONNECT example.com:443 HTTP/1.1",
        "CONNECT www.googleapis.com:80 HTTP/1.1",
        "CONNECT www.googleapis.com.example.com:443 HTTP/1.1",
        "CONNECT notgoogleapis.com:443 HTTP/1.1",
        "GET http://www.googleapis.com/ HTTP/1.1",
        "GET /__emulator/state HTTP/1.1",
        "\xff\xfe\r\nX: y",
    ],
)
def test_nothing_else_is_reached_through_it(stranger: Stranger, asked: str) -> None:
    """Another host, another port, a request without CONNECT, and what is no HTTP: refused in one
    sentence.
    """
    answer = stranger.raw(asked)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"Only CONNECT to port 443 of Google's API hosts is answered here" in answer


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "google_emulator", *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_command_prints_what_a_shell_needs(tmp_path: Path) -> None:
    """Four lines behind the first; the file `env` has the same variables, one a line, for whoever
    reads files.
    """
    with start("--tls", str(tmp_path / "client")) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(1 + len(LINES))]
        process.send_signal(signal.SIGTERM)
    assert told[0].startswith("listening on http://127.0.0.1:")
    words = [word for line in told[1:] for word in line.removeprefix("export ").split()]
    assert words == (tmp_path / "client" / "env").read_text().split()
    assert all(Path(word.rpartition("=")[2]).exists() for word in words if "=/" in word)
    assert len(told) == 5
    assert process.returncode == 0
