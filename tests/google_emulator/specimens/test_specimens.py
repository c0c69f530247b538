"""Specimens: the command and the functions make files that independent readers take, of the size
that was asked for.
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from google_emulator.services.play.artifact_files import ArtifactIdentity, read_identity
from google_emulator.services.play.store import ArtifactKind
from google_emulator.specimens.__main__ import main

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "development" / "EMULATOR.md"


def documented_commands() -> list[str]:
    """The commands of the page that make specimens, one a line."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [
        line for line in lines if line.startswith("python -m google_emulator.specimens")
    ]


def test_the_documented_commands_work(tmp_path: Path) -> None:
    """Each command of the page runs as it stands there, and says what it wrote."""
    commands = documented_commands()
    assert {shlex.split(command)[3] for command in commands} == {
        "bundle",
        "apk",
        "image",
    }
    for command in commands:
        words = [sys.executable, *shlex.split(command)[1:]]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        name = words[-1]
        assert done.stdout == f"{name}: {(tmp_path / name).stat().st_size} bytes\n"
    assert read_identity(tmp_path / "app.aab", "bundle") == ArtifactIdentity(
        "com.example.app", 42, "1.4.2"
    )
    assert read_identity(tmp_path / "app.apk", "apk") == ArtifactIdentity(
        "com.example.app", 42, "1.0"
    )
    large = (tmp_path / "large.aab").stat()
    assert large.st_size == 2 << 30
    assert large.st_blocks * 512 < 1 << 20
    assert png(tmp_path / "featureGraphic.png")[:3] == (1024, 500, 2)


@pytest.mark.parametrize("kind", ["bundle", "apk"])
def test_the_options_of_an_app_file(kind: ArtifactKind, tmp_path: Path) -> None:
    """Package, version code, size and signature are as they were asked for, and the zip is
    whole.
    """
    path = tmp_path / "file"
    named = [
        "--package",
        "com.example.shop",
        "--version-code",
        str(3 << 32 | 7),
        "--size",
        "3MiB",
    ]
    assert main([kind, *named, "--out", str(path)]) == 0
    assert path.stat().st_size == 3 << 20
    assert read_identity(path, kind) == ArtifactIdentity(
        "com.example.shop", 3 << 32 | 7, "1.0"
    )
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert "META-INF/CERT.RSA" in archive.namelist()
    assert main([kind, "--unsigned", "--out", str(path)]) == 0
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if name.startswith("META-INF/")]


def png(path: Path) -> tuple[int, int, int, bytes]:
    """Width, height, kind of color and the first pixel of an image, all checksums and the number of
    pixels verified.
    """
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        content = data[at + 4 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(content),)
        chunks[content[:4]] = content[4:]
        at += size + 12
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, kind = struct.unpack_from(">2I2B", chunks[b"IHDR"])
    channels = {2: 3, 6: 4}[kind]
    pixels = zlib.decompress(chunks[b"IDAT"])
    assert (depth, len(pixels)) == (8, height * (1 + width * channels))
    return width, height, kind, pixels[1 : 1 + channels]
