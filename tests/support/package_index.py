"""A package index on loopback that tells when each file was uploaded, and packages to put on it.

A source package made here leaves a mark when it is built: whoever sees the mark has run foreign code.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BACKEND = """\
import pathlib
pathlib.Path({mark!r}).touch()
"""
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@dataclass(frozen=True)
class Upload:
    """A file of the index, and for how many days it has been there."""

    content: bytes
    days: float


def metadata(name: str, version: str) -> str:
    """The least that a package says of itself."""
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def wheel(name: str, version: str) -> bytes:
    """A wheel that holds nothing."""
    info = f"{name}-{version}.dist-info"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{info}/METADATA", metadata(name, version))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return made.getvalue()


def source(name: str, version: str, mark: Path) -> bytes:
    """A source package whose build leaves `mark`, and fails."""
    made = io.BytesIO()
    files = {
        "PKG-INFO": metadata(name, version),
        "pyproject.toml": PYPROJECT,
        "backend.py": BACKEND.format(mark=str(mark)),
    }
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


@contextlib.contextmanager
def package_index(uploads: Mapping[str, Upload]) -> Iterator[str]:
    """Serves the files, each named as a wheel or source package is named; gives the index's address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            place, name = self.path.strip("/").split("/")
            content = _page(uploads, name) if place == "simple" else uploads[name].content
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple"
        finally:
            server.shutdown()
            thread.join()


def _page(uploads: Mapping[str, Upload], name: str) -> bytes:
    """The index's page of one package: https://packaging.python.org/en/latest/specifications/simple-repository-api/."""
    now = datetime.now(timezone.utc)
    files = [
        {
            "filename": file,
            "url": f"/files/{file}",
            "hashes": {"sha256": hashlib.sha256(upload.content).hexdigest()},
            "upload-time": (now - timedelta(days=upload.days)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for file, upload in uploads.items()
        if file.startswith(f"{name}-")
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": name, "versions": [], "files": files}).encode()
