"""What tests of the transport share: a certificate for this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost, with its key, in one file."""
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "-", "-out", "-"]
    path.write_bytes(subprocess.run([*command, *subject], check=True, capture_output=True).stdout)
    return path
