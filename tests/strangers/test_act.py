"""Both actions under nektos/act, which runs workflows as GitHub does: in podman's containers, and
without any.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from google_emulator import specimens
from tests.container.conftest import HOW
from tests.strangers.tools import said, tool

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "tests" / "container"
GIVEN = {
    "target": "play",
    "files": "app.aab",
    "tracks": "internal",
    "api-endpoint": "emulator",
}
# Expressions that come out empty: a step that does not exist, and an input that a push does not
# have.
EMPTIED = {
    "files": "${{ steps.bulid.outputs.bundle }}",
    "user-fraction": "${{ inputs.fraction }}",
}
OUTPUTS = ("version-code", "rehearsal", "committed", "failure")
NATIVE = "OWNER/google-release-uploader/native@v1"
# given as an input, and printed by the step after
SECRET = "a key of the house that nobody may see"
PRINTED: dict[str, object] = {
    "run": f"echo {base64.b64encode(SECRET.encode()).decode()} | base64 -d | sed 's/^/shown: /'; "
    "echo"
}
PARTS = (
    "native",
    "uploader",
    "google_emulator",
    "scripts",
    "entrypoint.py",
    "requirements.lock",
)


def use(action: str, step: str, **more: str) -> list[dict[str, object]]:
    """A step with the action that may fail, and one that prints its outputs and how it ended."""
    said = " ".join(
        f"{name}=${{{{ steps.{step}.outputs.{name} }}}}" for name in OUTPUTS
    )
    ended = f"outcome=${{{{ steps.{step}.outcome }}}}"
    return [
        {
            "id": step,
            "uses": action,
            "with": {**GIVEN, **more},
            "continue-on-error": True,
        },
        {"run": f'echo "{step}: {said} {ended}"'},
    ]


def repository(folder: Path, *steps: dict[str, object]) -> Path:
    """A repository with an app and a workflow of these steps, committed."""
    (folder / ".github" / "workflows").mkdir(parents=True)
    workflow = {
        "on": "push",
        "jobs": {"release": {"runs-on": "ubuntu-latest", "steps": list(steps)}},
    }
    (folder / ".github" / "workflows" / "release.yml").write_text(
        yaml.safe_dump(workflow, sort_keys=False)
    )
    specimens.make_bundle(
        folder / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=1_000_000
    )
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (
        ["init", "--quiet"],
        ["remote", "add", "origin", "https://github.com/octo/app.git"],
        ["add", "--all"],
        [*author, "commit", "--quiet", "--message=a release"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def tell(log: str, *rehearsals: str) -> None:
    """The next steps have read the outputs, and what they print of a secret is masked; the job went
    on after mistakes.

    A wrong input failed its step with an annotation. What came out empty is a wrong input; what was
    left out is not, as every rehearsal leaves most inputs out.
    """
    for step in rehearsals:
        assert (
            f"{step}: version-code=7 rehearsal=true committed=false failure= outcome=success"
            in log
        )
    assert (
        "wrong: version-code= rehearsal=true committed= failure=invalid-input outcome=failure"
        in log
    )
    assert "::error title=Invalid input::status: 'done' is not a valid choice." in log
    assert (
        "emptied: version-code= rehearsal=true committed= failure=invalid-input outcome=failure"
        in log
    )
    assert (
        "files: is empty, so nothing would be uploaded. The expression in the workflow"
        in log
    )
    assert (
        "user-fraction: is empty, so the release would not be limited to a share of users."
        in log
    )
    assert "Traceback" not in log
    assert "shown: ***" in log
    assert f"shown: {SECRET}" not in log


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with an app and this action in it, which names the built image instead of the
    Dockerfile.
    """
    image = os.environ.get("UPLOADER_TEST_IMAGE") or pytest.skip(HOW)
    folder = tmp_path / "workspace"
    (folder / "action").mkdir(parents=True)
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert action.count("  image: Dockerfile\n") == 1
    (folder / "action" / "action.yml").write_text(
        action.replace("image: Dockerfile", f"image: docker://{image}")
    )
    rehearsal = use("./action", "rehearsal", **{"state-key": SECRET})
    steps = [*rehearsal, PRINTED, *use("./action", "wrong", status="done")]
    return repository(folder, *steps, *use("./action", "emptied", **EMPTIED))


@contextmanager
def docker(folder: Path) -> Iterator[str]:
    """The Docker API of podman, at a socket of its own."""
    address = folder / "docker.sock"
    command = [
        "sh",
        str(CONTAINER / "podman"),
        "system",
        "service",
        "--time=0",
        f"unix://{address}",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as service:
        try:
            limit = time.monotonic() + 20
            while not address.exists():
                assert time.monotonic() < limit, "podman serves no Docker API"
                time.sleep(0.05)
            yield f"unix://{address}"
        finally:
            service.terminate()


def act(workspace: Path, socket: str) -> subprocess.CompletedProcess[str]:
    """Runs the workflow of a push, with the base of the image as GitHub's machine."""
    program, machine = (
        f"{tool('wheels').folder}/bin/act",
        said("sh", str(CONTAINER / "base")),
    )
    options = [
        "--bind",
        "--pull=false",
        "--action-offline-mode",
        "--network=host",
        "--no-cache-server",
    ]
    home = {
        "HOME": str(workspace.parent),
        "XDG_CACHE_HOME": str(workspace.parent / "cache"),
    }
    return subprocess.run(
        [
            program,
            "push",
            *options,
            "--container-daemon-socket=-",
            f"-Pubuntu-latest={machine}",
        ],
        cwd=workspace,
        env={"PATH": os.environ["PATH"], "DOCKER_HOST": socket, **home},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.timeout(240)
def test_a_rehearsal_and_a_mistake(workspace: Path, tmp_path: Path) -> None:
    """The next step reads the outputs; a wrong input fails its step with an annotation, and the job
    can go on.
    """
    with docker(tmp_path) as socket:
        done = act(workspace, socket)
    assert done.returncode == 0, done.stdout + done.stderr
    tell(done.stdout + done.stderr, "rehearsal")


# Without Docker, started by the command in docs/RECIPES.md


def command() -> str:
    """The line for act in docs/RECIPES.md."""
    page = (ROOT / "docs" / "RECIPES.md").read_text(encoding="utf-8")
    found = re.search(r"^act push .*$", page, re.MULTILINE)
    assert found
    return found[0]


@pytest.mark.timeout(240)
def test_two_uses_and_a_mistake(tmp_path: Path) -> None:
    """Each use sets its outputs, the second installs nothing, and a wrong input fails its step with
    an annotation.
    """
    # a clone of this project, where the command looks for it
    beside = tmp_path / "google-release-uploader"
    beside.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, beside / part)
    first = use(NATIVE, "first", **{"state-key": SECRET})
    steps = [
        *first,
        PRINTED,
        *use(NATIVE, "second"),
        *use(NATIVE, "wrong", status="done"),
    ]
    steps += use(NATIVE, "emptied", **EMPTIED)
    app = repository(tmp_path / "app", {"uses": "actions/checkout@v7"}, *steps)
    programs = f"{tool('wheels').folder}/bin"
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        ["sh", "-c", f"{command()} --no-cache-server"],
        cwd=app,
        env={"PATH": f"{programs}:{os.environ['PATH']}", **home, **pip},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    log = done.stdout + done.stderr
    assert done.returncode == 0, log
    tell(log, "first", "second")
    assert log.count("Installing requirements.lock") == 1
