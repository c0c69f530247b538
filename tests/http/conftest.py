"""What tests of the transport share: a certificate for this machine, and the ways on which a server
is reached.
"""

from __future__ import annotations

import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.raw_server import Handler, read_head, serving

# leads to this machine, but is none of its loopback addresses, which no proxy stands before
HERE = "0.0.0.0"
NO_BYTES_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost and `HERE`, with its key, in one file."""
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    subject = [
        "-subj",
        "/CN=localhost",
        "-addext",
        f"subjectAltName=DNS:localhost,IP:{HERE}",
    ]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        "-",
        "-out",
        "-",
    ]
    path.write_bytes(
        subprocess.run([*command, *subject], check=True, capture_output=True).stdout
    )
    return path


@dataclass(frozen=True)
class Way:
    """How a server is reached: in clear or over TLS, directly or through a proxy, which may say
    something unasked.

    The proxy says `early` before it reads the request for a tunnel, and `answer` to it; `asked` is
    what it was asked.
    """

    certificate: Path
    monkeypatch: pytest.MonkeyPatch
    tls: ssl.TLSVersion | None = None
    proxy: str = ""
    early: bytes = b""
    answer: bytes = b"HTTP/1.1 200 Connected\r\n\r\n"
    asked: list[str] = field(default_factory=list)

    @contextmanager
    def serving(self, handler: Handler) -> Iterator[str]:
        """As `raw_server.serving`, at the end of this way."""
        with ExitStack() as stack:
            if not self.tls:
                yield stack.enter_context(serving(handler))
                return
            self.monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(self.certificate))
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self.certificate)
            context.minimum_version = context.maximum_version = self.tls
            url = stack.enter_context(serving(handler, tls=context))
            if self.proxy:
                proxy = stack.enter_context(serving(self._tunnel)).replace(
                    "http://127.0.0.1", f"{self.proxy}://localhost"
                )
                self.monkeypatch.setenv("https_proxy", proxy)
                self.monkeypatch.delenv("no_proxy", raising=False)
                url = url.replace("localhost", HERE)
            yield url
            assert bool(self.asked) == bool(self.proxy)

    def _tunnel(self, connection: socket.socket) -> None:
        """One connection of the proxy, in a thread of its own: the next may come before it ends."""
        threading.Thread(
            target=self._relay, args=(connection.dup(),), daemon=True
        ).start()

    def _relay(self, client: socket.socket) -> None:
        with suppress(OSError), ExitStack() as stack:
            stack.enter_context(client)
            if self.proxy == "https":
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(self.certificate)
                client = stack.enter_context(
                    context.wrap_socket(client, server_side=True)
                )
            client.sendall(self.early)
            target = read_head(client)[0].split()[1].decode()
            self.asked.append(target)
            port = int(target.rpartition(":")[2])
            server = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(self.answer)
            relay(client, server)


def relay(one: socket.socket, other: socket.socket) -> None:
    """Carries bytes both ways, neither waiting for the other, until one side ends."""
    peer = {one: other, other: one}
    waiting = {one: bytearray(), other: bytearray()}
    for sock in peer:
        sock.setblocking(False)
    ended = False
    while not ended or any(waiting.values()):
        reading = [
            sock for sock in peer if len(waiting[peer[sock]]) < 1 << 18 and not ended
        ]
        select.select(reading, [sock for sock in peer if waiting[sock]], [], 1)
        for sock in reading:
            with suppress(*NO_BYTES_NOW):
                part = sock.recv(1 << 16)
                waiting[peer[sock]] += part
                ended |= not part
        for sock, rest in waiting.items():
            with suppress(*NO_BYTES_NOW):
                if rest:
                    del rest[: sock.send(rest)]


WAYS = {
    "tcp": (None, ""),
    "tls1.2": (ssl.TLSVersion.TLSv1_2, ""),
    "tls1.3": (ssl.TLSVersion.TLSv1_3, ""),
    "tls1.2-proxy": (ssl.TLSVersion.TLSv1_2, "http"),
    "tls1.3-proxy": (ssl.TLSVersion.TLSv1_3, "http"),
    "tls1.2-tls-proxy": (ssl.TLSVersion.TLSv1_2, "https"),
    "tls1.3-tls-proxy": (ssl.TLSVersion.TLSv1_3, "https"),
}
# The plainest way and the longest: where a test waits for a real time limit, `make test` takes
# these, and `make slow-tests` the others.
QUICK_WAYS = ("tcp", "tls1.3-tls-proxy")
MOST_WAYS_SLOW = pytest.mark.parametrize(
    "way",
    [
        name if name in QUICK_WAYS else pytest.param(name, marks=pytest.mark.slow)
        for name in WAYS
    ],
    indirect=True,
)


@pytest.fixture(params=WAYS)
def way(
    request: pytest.FixtureRequest, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> Way:
    """Every way on which the program reaches a server."""
    return Way(certificate, monkeypatch, *WAYS[request.param])
