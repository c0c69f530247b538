"""The most delicate lines, each made wrong in a copy: a suite that does not notice would not be worth its green."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = "tests/protocol/test_content_range.py", "tests/protocol/test_goog_upload.py"
SESSION = ("tests/protocol/test_session.py",)
RETRIES = ("tests/situations/test_retries.py",)


@dataclass(frozen=True)
class Mutation:
    """In `file` the one place that reads `right` becomes `wrong`; `tests` are those that have to fail."""

    what: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "the offset is one too high", "protocol/content_range.py", "Stored(last + 1)", "Stored(last + 2)", PROTOCOL
    ),
    Mutation("the offset is the last byte", "protocol/content_range.py", "Stored(last + 1)", "Stored(last)", PROTOCOL),
    Mutation(
        "one is added to the size received",
        "protocol/goog_upload.py",
        "Stored(size)",
        "Stored(size + 1)",
        PROTOCOL,
    ),
    Mutation(
        "a chunk is sent again blindly after a 5xx",
        "protocol/session.py",
        "    OffsetUnknown: _UNKNOWN,",
        "    OffsetUnknown: _KNOWN,",
        SESSION,
    ),
    Mutation(
        "the rest of an answer that was cut is read as the next one",
        "http/client.py",
        "reusable=whole",
        "reusable=True",
        ("tests/http/test_client.py", "-k", "unread"),
    ),
    Mutation(
        "progress does not refill the budget",
        "retrier.py",
        "        self._spent = 0\n        self._renewed = False\n\n    def may_renew",
        "        self._renewed = False\n\n    def may_renew",
        (*RETRIES, "-k", "budget"),
    ),
    Mutation(
        "an offset beyond what was sent is believed",
        "protocol/session.py",
        "if not 0 <= event.offset <= sent:",
        "if not 0 <= event.offset:",
        SESSION,
    ),
    Mutation(
        "a wrong digest is not noticed",
        "transfer/upload.py",
        "if actual != claim.value:",
        "if not actual:",
        ("tests/situations/test_ends.py", "-k", "digest"),
    ),
    Mutation(
        "whatever stands there after a lost answer is called the file",
        "transfer/precondition.py",
        "    if difference:",
        "    if not difference:",
        ("tests/situations/test_preconditions.py", "-k", "somebody"),
    ),
    Mutation(
        "an interim answer stops the body",
        "http/connection.py",
        "                if not _only_interim(self._early):",
        "                if self._early:",
        ("tests/http/test_interim_answers.py", "-k", "stop_the_body"),
    ),
    Mutation(
        "the token travels to any host",
        "transfer/api_client.py",
        "if not trusted(uri, endpoint):",
        "if not uri:",
        ("tests/situations/test_start.py", "-k", "foreign"),
    ),
    Mutation(
        "a mail is sent twice",
        "protocol/single_request.py",
        "if repeatable or not answer.sent_whole:",
        "if repeatable or answer.sent_whole:",
        ("tests/protocol/test_single.py",),
    ),
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The program and its tests in another place."""
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("uploader", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=unwanted)
    for name in ("pyproject.toml", "entrypoint.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_the_suite_notices_when(mutation: Mutation, copy: Path) -> None:
    """The line is there once, and with it made wrong a test fails."""
    path = copy / "uploader" / mutation.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutation.right) == 1
    path.write_text(text.replace(mutation.right, mutation.wrong), encoding="utf-8")
    ended = run(copy, *mutation.tests)
    assert ended.returncode == 1, ended.stdout
    assert "1 failed" in ended.stdout


def test_the_copy_itself_is_sound(copy: Path) -> None:
    """Without a mutation the same tests pass there, so it is the mutation that they notice."""
    files = sorted({name for mutation in MUTATIONS for name in mutation.tests if name.endswith(".py")})
    ended = run(copy, *files)
    assert ended.returncode == 0, ended.stdout
