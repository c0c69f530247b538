"""Draws the summaries and logs of runs in a real browser, with GitHub's stylesheet and Mermaid."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google_emulator import Emulator
from tests.pictures.kinds import KINDS, Scene, Seen
from tests.support.job import Job

HERE = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def browser() -> str:
    """Return the path of a browser; empty where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), "")


@contextmanager
def scene(platform: str) -> Iterator[Scene]:
    """An emulator, and an empty workspace of a job on GitHub or GitLab."""
    with tempfile.TemporaryDirectory() as folder, Emulator() as emulator:
        workspace = Path(folder, "workspace")
        pool = Path(folder, "pool")
        workspace.mkdir()
        pool.mkdir()
        yield Scene(Job(workspace, emulator, platform), pool)


def pages(kind: str, seen: Seen, folder: Path) -> list[dict[str, Any]]:
    """Return what is to be drawn of a summary: folded in light and dark, and unfolded."""
    images = {url: str(file) for url, file in seen.images.items()}
    page = {"kind": "summary", "text": seen.ended.summary, "images": images}
    return [
        {
            **page,
            "out": str(folder / f"{kind}-light.png"),
            "dark": False,
            "open": False,
        },
        {**page, "out": str(folder / f"{kind}-dark.png"), "dark": True, "open": False},
        {
            **page,
            "out": str(folder / f"{kind}-unfolded.png"),
            "dark": False,
            "open": True,
        },
    ]


def draw(packages: str, drawn: Sequence[dict[str, Any]]) -> str:
    """Draw pages with the packages in this folder; returns what the program says of them."""
    done = subprocess.run(
        ["node", str(HERE / "draw.mjs"), packages, browser()],
        input=json.dumps(drawn),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def draw_kind(kind: str, packages: str, folder: Path) -> str:
    """Make the run of a kind under GitHub and draw its summary, and under GitLab its log."""
    folder.mkdir(parents=True, exist_ok=True)
    with scene("github") as github:
        seen = KINDS[kind](github)
        (folder / f"{kind}.md").write_text(seen.ended.summary, encoding="utf-8")
        said = draw(packages, pages(kind, seen, folder))
    with scene("gitlab") as gitlab:
        log = KINDS[kind](gitlab).ended.log
        out = str(folder / f"{kind}-gitlab.png")
        (folder / f"{kind}.log").write_text(log, encoding="utf-8")
        return said + draw(packages, [{"kind": "log", "text": log, "out": out}])
