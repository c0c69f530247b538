"""Looks through everything that a run leaves behind for secrets, which nobody may see.

`tests.support.job` and `tests.support.tcp_proxy` call it at the end of each run, so a leak fails
the test in which it happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from google_emulator import Emulator

# bytes; what is longer is an artifact that a test made, not something that a run wrote
LARGEST = 4 << 20
# GitHub's own way to be told, and the one exception
MASKS = re.compile(rb"^::add-mask::.*\n?", re.MULTILINE)
# Credentials of any origin, by shape: a session that the emulator has forgotten, an assertion that
# was only sent.
SHAPES = {
    "a session's upload id": re.compile(rb"upload_id(?:=|%3D)[\w-]{16,}"),
    "a signed token": re.compile(rb"eyJ[\w-]{8,}\.[\w-]{8,}\."),
    "an access token": re.compile(rb"ya29\.[\w-]{8,}"),
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY"),
}


def secrets(emulator: Emulator) -> dict[str, bytes]:
    """Everything secret that the emulator knows of, with a name that may be shown."""
    lines = emulator.key["private_key"].splitlines()[1:-1]
    found = {
        f"line {number} of the private key": line
        for number, line in enumerate(lines)
        if len(line) > 20
    }
    found |= {
        f"access token {number}": token
        for number, token in enumerate(tuple(emulator.authority.tokens))
    }
    found |= {
        f"session {number}": session
        for number, session in enumerate(tuple(emulator.uploads.sessions))
    }
    found["the runner's request token"] = emulator.authority.request_token
    return {name: value.encode() for name, value in found.items() if value}


def leaks(
    emulator: Emulator, channels: Mapping[str, bytes], *, masks: bool = True
) -> list[str]:
    """Which secret is in which channel, without repeating it; `masks`: a runner obeys GitHub's
    commands.
    """
    known = secrets(emulator)
    found = []
    for channel, content in channels.items():
        seen = MASKS.sub(b"", content) if masks else content
        found += [
            f"{name} in {channel}" for name, value in known.items() if value in seen
        ]
        found += [
            f"{name} in {channel}"
            for name, shape in SHAPES.items()
            if shape.search(seen)
        ]
    return found


def files(*places: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below the places that a run can have written, with its content."""
    for path in (
        found
        for place in places
        for found in ([place] if place.is_file() else place.rglob("*"))
    ):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
            yield str(path), path.read_bytes()
