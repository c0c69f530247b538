"""What every contestant is given: the sink in a process of its own, certificates, a key, and files to send."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import google_crc32c

from benchmarks.sink import CONTROL, LOGIN

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True, eq=False)
class Ground:
    """The place of one run. `stated` are the digests of the files, in hex by their names, by the file's size in bytes.

    `left_out` says of each peer that could not be had or failed why.
    """

    folder: Path
    ports: dict[str, int]
    stated: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """Where contestants run, with the files to send."""
        return self.folder / "workspace"

    @property
    def authority(self) -> Path:
        """The certificate that clients must trust."""
        return self.folder / "authority.pem"

    @property
    def key(self) -> Path:
        """A service-account key whose tokens come from the sink."""
        return self.folder / "key.json"

    def url(self, scheme: str) -> str:
        """The sink's root."""
        return f"{scheme}://{'127.0.0.1' if scheme == 'http' else 'localhost'}:{self.ports[scheme]}"

    def set_up(self, **settings: Any) -> None:
        """Makes the sink forget what it saw, and behave as told (see `sink.Sink`)."""
        self._ask(json.dumps({"stated": self.stated, **settings}).encode())

    def seen(self) -> dict[str, Any]:
        """What the sink saw since then."""
        return self._ask(None)

    def file(self, size: int) -> Path:
        """A file of random bytes, made once; the sink knows its digests from then on."""
        path = self.workspace / f"{size}.bin"
        if not path.exists():
            crc32c = 0
            sums = {name: hashlib.new(name, usedforsecurity=False) for name in ("md5", "sha1", "sha256")}
            with path.open("wb") as file:
                for start in range(0, size, _BLOCK):
                    block = os.urandom(min(_BLOCK, size - start))
                    file.write(block)
                    crc32c = google_crc32c.extend(crc32c, block)
                    for each in sums.values():
                        each.update(block)
            known = {name: each.hexdigest() for name, each in sums.items()}
            self.stated[str(size)] = {**known, "crc32c": f"{crc32c:08x}"}
        return path

    def files(self, count: int, size: int) -> Path:
        """A folder of so many copies of one such file, so that the sink knows their digests."""
        folder = self.workspace / f"{count}x{size}"
        content = self.file(size).read_bytes()
        if not folder.exists():
            folder.mkdir()
            for number in range(count):
                (folder / f"{number}.bin").write_bytes(content)
        return folder

    def sparse(self, size: int) -> Path:
        """A file of zeros that takes no space; its digest is known to nobody."""
        path = self.workspace / f"{size}.sparse"
        with path.open("wb") as file:
            file.truncate(size)
        return path

    def environment(self) -> dict[str, str]:
        """What a contestant finds in its environment: nothing of this process but where programs are."""
        trust = str(self.authority)
        names = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "HTTPLIB2_CA_CERTS", "NODE_EXTRA_CA_CERTS")
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), **dict.fromkeys(names, trust)}

    def _ask(self, data: bytes | None) -> dict[str, Any]:
        with urllib.request.urlopen(self.url("http") + CONTROL, data) as answer:  # noqa: S310  # our own sink, on loopback
            told: dict[str, Any] = json.load(answer)
            return told


@contextlib.contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """A ground with its sink running, until the end of the block."""
    (folder / "workspace").mkdir(parents=True)
    _certificates(folder)
    port_file = folder / "ports.json"
    command = [sys.executable, "-m", "benchmarks.sink", str(port_file), str(folder / "server.pem")]
    child = subprocess.Popen(command, cwd=ROOT)
    try:
        while not port_file.exists():
            if child.poll() is not None:
                raise RuntimeError("the sink did not start")
            time.sleep(0.01)
        here = Ground(folder, json.loads(port_file.read_text()))
        _write_key(here)
        yield here
    finally:
        child.terminate()
        child.wait()


def _certificates(folder: Path) -> None:
    """An authority made on the spot, and a certificate for localhost that it signed."""
    new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    authority = ["-x509", "-days", "2", "-subj", "/CN=bench", "-keyout", "authority.key", "-out", "authority.pem"]
    request = ["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"]
    sign = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for command in (
        [*new, *authority],
        [*new, *request],
        ["openssl", "x509", "-req", "-in", "server.csr", *sign, "-out", "server.crt"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    parts = ((folder / name).read_text() for name in ("server.crt", "server.key"))
    (folder / "server.pem").write_text("".join(parts))


def _write_key(here: Ground) -> None:
    made = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], check=True, capture_output=True
    )
    key = {
        "type": "service_account",
        "project_id": "bench",
        "private_key_id": "1",
        "private_key": made.stdout.decode(),
        "client_email": "bench@bench.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": here.url("http") + LOGIN,
    }
    here.key.write_text(json.dumps(key))
