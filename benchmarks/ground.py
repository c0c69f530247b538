"""What every client gets (the sink, a certificate, a key and files), and one measured run of a
client.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c

ROOT = Path(__file__).resolve().parent.parent
BLOCK = 1 << 20  # bytes
_CERTIFICATES = """
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -x509 -days 2 -subj /CN=bench \\
    -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \\
    -keyout server.key -out server.csr
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \\
    -extfile names -out server.crt
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out account.pem
"""


@dataclass(frozen=True)
class Run:
    """One child process: its exit code, its seconds, its processor seconds, its peak of resident
    memory in bytes, and its log.

    `first_request` is how many seconds after the start the first request arrived; `seen` is what
    the sink counted.
    """

    code: int
    seconds: float
    cpu: float
    memory: int
    first_request: float
    seen: Mapping[str, Any]
    log: str


class Ground:
    """The surroundings of all runs. `folder` holds everything, its subfolder `workspace` the files;
    `url` is the sink's root URL.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.workspace = folder / "workspace"
        self._context = ssl.create_default_context(cafile=str(folder / "ca.pem"))

    def file(self, size: int, *, sparse: bool = False) -> Path:
        """Return a file of random bytes, or a sparse one of zeros."""
        path = self.workspace / f"{size}{'.sparse' if sparse else ''}"
        if not path.exists():
            with path.open("wb") as file:
                for start in range(0, 0 if sparse else size, BLOCK):
                    file.write(os.urandom(min(BLOCK, size - start)))
                file.truncate(size)
        return path

    def files(self, count: int, size: int) -> Path:
        """Make a folder of so many files, each of `size` random bytes."""
        folder = self.workspace / f"{count}x{size}"
        folder.mkdir(exist_ok=True)
        for number in range(count):
            (folder / f"{number}.bin").write_bytes(os.urandom(size))
        return folder

    def digests(self, path: Path) -> dict[str, str]:
        """Return the digests that Cloud Storage and Play state for a file, by their fields."""
        sums = {
            name: hashlib.new(name, usedforsecurity=False)
            for name in ("md5", "sha1", "sha256")
        }
        crc32c = 0
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                crc32c = google_crc32c.extend(crc32c, block)
                for digest in sums.values():
                    digest.update(block)
        stated = {"md5Hash": sums["md5"].digest(), "crc32c": crc32c.to_bytes(4, "big")}
        stated_by_play = {name: sums[name].hexdigest() for name in ("sha1", "sha256")}
        return {
            name: base64.b64encode(digest).decode() for name, digest in stated.items()
        } | stated_by_play

    def run(
        self, command: Sequence[str], variables: Mapping[str, str], **settings: Any
    ) -> Run:
        """Run a command with these settings of the sink, and measure it with the figures of the
        operating system.
        """
        self._ask(json.dumps(settings).encode())
        trust = (
            "REQUESTS_CA_BUNDLE",
            "SSL_CERT_FILE",
            "CURL_CA_BUNDLE",
            "HTTPLIB2_CA_CERTS",
            "NODE_EXTRA_CA_CERTS",
        )
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            **variables,
        }
        environment |= dict.fromkeys(trust, str(self.folder / "ca.pem"))
        log = self.folder / "child.log"
        with log.open("wb") as out:
            began = time.monotonic()
            bounded = ("timeout", "100", *command)
            child = subprocess.Popen(
                bounded, env=environment, cwd=self.workspace, stdout=out, stderr=out
            )
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        seen = self._ask(None)
        first = seen["first_request"] - began
        cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        return Run(
            child.returncode,
            seconds,
            cpu,
            memory,
            first,
            seen,
            log.read_text(errors="replace"),
        )

    def _ask(self, data: bytes | None) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/__sink", data)  # noqa: S310  # our own sink, on loopback
        with urllib.request.urlopen(request, context=self._context) as response:  # noqa: S310  # the same
            seen: dict[str, Any] = json.load(response)
            return seen


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """Yield the surroundings with a running sink, which is stopped at the end of the block."""
    (folder / "workspace").mkdir(parents=True)
    (folder / "names").write_text(
        "subjectAltName=DNS:localhost,IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n"
    )
    for line in _CERTIFICATES.replace("\\\n", " ").strip().splitlines():
        subprocess.run(line.split(), cwd=folder, check=True, capture_output=True)
    (folder / "server.pem").write_text(
        (folder / "server.crt").read_text() + (folder / "server.key").read_text()
    )
    port = folder / "port"
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "benchmarks.sink",
            str(port),
            str(folder / "server.pem"),
        ],
        cwd=ROOT,
    )
    try:
        while not port.exists():
            if child.poll() is not None:
                raise RuntimeError("the sink did not start")
            time.sleep(0.01)
        url = f"https://localhost:{port.read_text()}"
        key = {
            "type": "service_account",
            "project_id": "b",
            "client_email": "b@b.iam.gserviceaccount.com",
        }
        key |= {
            "private_key_id": "1",
            "private_key": (folder / "account.pem").read_text(),
            "client_id": "1",
        }
        (folder / "key.json").write_text(
            json.dumps({**key, "token_uri": f"{url}/token"})
        )
        yield Ground(folder, url)
    finally:
        child.terminate()
        child.wait()
