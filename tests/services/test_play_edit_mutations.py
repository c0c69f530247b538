"""The mistakes that would cost most, each made in a copy of the program: the exhaustive walk has to notice each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WALK = "tests/services/test_play_edit_exhaustive.py"
TEST = "test_no_two_faults_lead_to_anything_that_must_not_be"
ROOM = "uploader/services/play"


@dataclass(frozen=True)
class Mutation:
    """In each file the one place that reads as the first text reads as the second; `shape` is walked, `says` is why."""

    what: str
    changes: tuple[tuple[str, str, str], ...]
    shape: str
    says: str


MUTATIONS = (
    Mutation(
        "an edit is committed twice",
        (
            (
                "edit_machine.py",
                "(_S.GONE, _C.UNKNOWN): {\n        Event.REPLACE: (_S.CLEAN, _C.UNKNOWN)",
                "(_S.GONE, _C.UNKNOWN): {\n        Event.REPLACE: (_S.CHANGED, _C.NONE)",
            ),
        ),
        "promotion",
        "committed again",
    ),
    Mutation(
        "the doubt is forgotten",
        (("edit.py", "if commit_may_have_happened:", "if False:"),),
        "own edit",
        "committed again",
    ),
    Mutation(
        "an edit is deleted after a lost commit",
        (
            (
                "edit_machine.py",
                "(_S.COMMITTING, _C.UNKNOWN): {\n",
                "(_S.COMMITTING, _C.UNKNOWN): {\n        Event.DELETE: (_S.DELETED, _C.NONE),\n",
            ),
            ("edit.py", "state.stage is Stage.COMMITTING:", "state.stage is Stage.COMMITTED:"),
        ),
        "promotion",
        "may have been committed is deleted",
    ),
    Mutation(
        "an edit is kept in silence",
        (("edit.py", "yield edit.api.delete()", "pass"),),
        "promotion",
        "kept in silence",
    ),
    Mutation(
        "the edit of another job is served",
        (("edit.py", "serves = kept.changes.keys() <= job.purposes", "serves = True"),),
        "promotion",
        "something else was committed",
    ),
)


def walk(folder: Path, shape: str) -> subprocess.CompletedProcess[str]:
    """The walk of one shape with the program in that folder."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"{WALK}::{TEST}[{shape}]"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The program, the walk and what it stands on, in another place."""
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("uploader", "tests/support"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=unwanted)
    (tmp_path / WALK).parent.mkdir()
    for name in (WALK, "tests/__init__.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_the_walk_notices_when(mutation: Mutation, copy: Path) -> None:
    """The line is there once, and with it made wrong the walk ends with the rule that it breaks."""
    for name, right, wrong in mutation.changes:
        path = copy / ROOM / name
        text = path.read_text(encoding="utf-8")
        assert text.count(right) == 1
        path.write_text(text.replace(right, wrong), encoding="utf-8")
    ended = walk(copy, mutation.shape)
    assert ended.returncode == 1, ended.stdout
    assert mutation.says in ended.stdout


def test_the_copy_itself_is_sound(copy: Path) -> None:
    """Without a mutation the walk ends well there, so it is the mutation that it notices."""
    ended = walk(copy, "promotion")
    assert ended.returncode == 0, ended.stdout
