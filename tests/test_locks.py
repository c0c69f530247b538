"""Which locks a renewal may bring: hashed requirements of the index alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = tuple(path.name for path in sorted(ROOT.glob("*.lock")))
HASH = "--hash=sha256:" + "0" * 64


@pytest.fixture
def renewed(tmp_path: Path) -> Path:
    """What a good renewal hands over: every lock, and nothing else."""
    for name in LOCKS:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def check(folder: Path) -> tuple[int, str]:
    """The exit code and words of the step that checks renewed locks."""
    command = [
        sys.executable,
        "-I",
        str(ROOT / "scripts" / "check_locks.py"),
        str(folder),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def test_good_locks_are_taken(renewed: Path) -> None:
    """The locks of this checkout are themselves what a renewal may bring."""
    assert check(renewed) == (0, "")


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.com/simple",
        "-r other.txt",
        "-e .",
        "./parcel",
        "https://example.com/parcel-1.0.whl",
        f"parcel @ https://example.com/parcel-1.0.whl {HASH}",
        "parcel==1.0",
        f"parcel>=1.0 {HASH}",
        f"parcel==1.0 {HASH} --index-url https://example.com",
        f"parcel==1.0 ; python_version > '${{HOME}}' {HASH}",
        "parcel==1.0 --hash=md5:" + "0" * 32,
        f"parcel==1.0 {HASH} \\",
        "# a comment that goes on \\",
        "# a comment\r--index-url https://example.com",
        "# a comment\u2028--index-url https://example.com",
        f"p\u0430rcel==1.0 {HASH}",
        "\x00",
    ],
)
def test_a_line_that_is_no_hashed_requirement_is_refused(
    renewed: Path, line: str
) -> None:
    """Options, addresses, paths and whatever pip might read as more than one line stay out."""
    lock = renewed / "requirements.lock"
    lock.write_text(f"{lock.read_text()}{line}\n", encoding="utf-8", newline="")
    code, words = check(renewed)
    assert code == 1
    assert words.startswith(
        "'requirements.lock' has a line that is not a hashed requirement: "
    )
