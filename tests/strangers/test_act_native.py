"""The action without Docker under nektos/act, started by the command in docs/RECIPES.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from google_emulator import specimens
from tests.strangers.tools import tool

ORIGIN = "https://github.com/octo/app.git"
ROOT = Path(__file__).resolve().parents[2]
ACTION = "OWNER/google-release-uploader/native@v1"
GIVEN = {"target": "play", "files": "app.aab", "tracks": "internal", "api-endpoint": "emulator"}
OUTPUTS = ("version-code", "rehearsal", "committed", "failure")
PARTS = ("native", "uploader", "google_emulator", "scripts", "entrypoint.py", "requirements.lock")


def command() -> str:
    """The line for act in docs/RECIPES.md."""
    page = (ROOT / "docs" / "RECIPES.md").read_text(encoding="utf-8")
    found = re.search(r"^act push .*$", page, re.MULTILINE)
    assert found
    return found[0]


def use(step: str, **more: str) -> list[dict[str, object]]:
    """A step with the action that may fail, and one that prints its outputs and how it ended."""
    said = " ".join(f"{name}=${{{{ steps.{step}.outputs.{name} }}}}" for name in OUTPUTS)
    ended = f"outcome=${{{{ steps.{step}.outcome }}}}"
    return [
        {"id": step, "uses": ACTION, "with": {**GIVEN, **more}, "continue-on-error": True},
        {"run": f'echo "{step}: {said} {ended}"'},
    ]


def repository(folder: Path) -> Path:
    """An app with a workflow that uses the action three times, and a clone of this project beside it."""
    beside, app = folder / "google-release-uploader", folder / "app"
    beside.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, beside / part)
    (app / ".github" / "workflows").mkdir(parents=True)
    steps = [{"uses": "actions/checkout@v7"}, *use("first"), *use("second"), *use("wrong", status="done")]
    workflow = {"on": "push", "jobs": {"release": {"runs-on": "ubuntu-latest", "steps": steps}}}
    (app / ".github" / "workflows" / "release.yml").write_text(yaml.safe_dump(workflow, sort_keys=False))
    specimens.make_bundle(app / "app.aab", "com.example.app", 7, "1.4.2")
    for words in (
        ["init", "--quiet"],
        ["remote", "add", "origin", ORIGIN],
        ["add", "--all"],
    ):
        subprocess.run(["git", *words], cwd=app, check=True)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *author, "commit", "--quiet", "--message=a release"], cwd=app, check=True)
    return app


@pytest.mark.timeout(240)
def test_two_uses_and_a_mistake(tmp_path: Path) -> None:
    """Each use sets its outputs, the second installs nothing, and a wrong input fails its step with an annotation."""
    programs = f"{tool('wheels').folder}/bin"
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        ["sh", "-c", f"{command()} --no-cache-server"],
        cwd=repository(tmp_path), env={"PATH": f"{programs}:{os.environ['PATH']}", **home, **pip},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    log = done.stdout + done.stderr
    assert done.returncode == 0, log
    for step in ("first", "second"):
        assert f"{step}: version-code=7 rehearsal=true committed=false failure= outcome=success" in log
    assert "wrong: version-code= rehearsal=true committed= failure=invalid-input outcome=failure" in log
    assert "::error title=Invalid input::status: 'done' is not a valid choice." in log
    assert log.count("Installing requirements.lock") == 1
    assert "Traceback" not in log
