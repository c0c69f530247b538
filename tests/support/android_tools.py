"""Google's and Java's own tools as witnesses: keys and signatures are made, and files read, by what
users build with.

A test that needs a tool which is not installed is skipped, with its name. Debian has them all:
`aapt`, `apksigner`, `zipalign`, and a JDK.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PASSWORD = "not-a-secret"  # of key stores that live as long as a test


def run(tool: str, *arguments: object, check: bool = True) -> str:
    """What the tool writes; skips the test where it is not installed."""
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"needs {tool} as an independent witness: it is not installed")
    command = [found, *map(str, arguments)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=100
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def make_key(
    folder: Path, name: str = "CN=Release, O=Example", algorithm: str = "RSA"
) -> Path:
    """A key store with one key under the alias `key`, as `keytool` makes it."""
    store = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:8]}-{algorithm}.p12"
    size = {"RSA": 2048, "EC": 256, "DSA": 2048}[algorithm]
    secret = (
        "-storepass",
        PASSWORD,
        "-keypass",
        PASSWORD,
        "-storetype",
        "PKCS12",
        "-keystore",
        store,
    )
    words = (
        "-alias",
        "key",
        "-keyalg",
        algorithm,
        "-keysize",
        size,
        "-validity",
        10_000,
        "-dname",
        name,
    )
    run("keytool", "-genkeypair", *words, *secret)
    return store


def certificate_of(store: Path) -> str:
    """SHA-256 of the certificate in a key store, as keytool tells it, in lower-case hex."""
    listed = run("keytool", "-list", "-v", "-keystore", store, "-storepass", PASSWORD)
    found = re.search(r"SHA256: ([0-9A-F:]+)", listed)
    assert found is not None, listed
    return found[1].replace(":", "").lower()


def jarsign(path: Path, store: Path) -> None:
    """Signs a bundle as Gradle and bundletool's users do: with a JAR signature."""
    run("jarsigner", "-keystore", store, "-storepass", PASSWORD, path, "key")


def apksign(path: Path, store: Path, *schemes: int) -> None:
    """Signs an APK with these signature schemes alone (1, 2, 3)."""
    wanted = [
        f"--v{scheme}-signing-enabled={str(scheme in schemes).lower()}"
        for scheme in (1, 2, 3, 4)
    ]
    password = (
        "--ks-pass",
        f"pass:{PASSWORD}",
        "--min-sdk-version",
        24 if schemes != (1,) else 23,
    )
    run("apksigner", "sign", "--ks", store, *password, *wanted, path)


def apk_certificates(path: Path, api_level: int = 24) -> list[str]:
    """SHA-256 of each signer's certificate in lower-case hex, as apksigner tells them for an API
    level and later.
    """
    words = run(
        "apksigner", "verify", "--min-sdk-version", api_level, "--print-certs", path
    )
    return re.findall(
        r"^Signer #\d+ certificate SHA-256 digest: ([0-9a-f]{64})$", words, re.MULTILINE
    )


def badging(path: Path) -> str:
    """What aapt2 reads from an APK's manifest."""
    return run("aapt2", "dump", "badging", path)
