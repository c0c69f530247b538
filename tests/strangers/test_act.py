"""The action under nektos/act, which runs workflows as GitHub does, through podman's Docker API."""

from __future__ import annotations

import os
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

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "tests" / "container"
GIVEN = {"target": "play", "files": "app.aab", "tracks": "internal", "api-endpoint": "emulator"}
OUTPUTS = ("version-code", "rehearsal", "committed", "failure")


def telling(step: str) -> dict[str, str]:
    """A step that prints the outputs of an earlier one, and how that ended."""
    said = " ".join(f"{name}=${{{{ steps.{step}.outputs.{name} }}}}" for name in OUTPUTS)
    return {"run": f'echo "{step}: {said} outcome=${{{{ steps.{step}.outcome }}}}"'}


def workflow() -> dict[str, object]:
    """A rehearsal whose outputs the next step reads, and a run with an input that is wrong."""
    wrong = {"id": "wrong", "uses": "./action", "with": {**GIVEN, "status": "done"}, "continue-on-error": True}
    steps = [{"id": "rehearsal", "uses": "./action", "with": GIVEN}, telling("rehearsal"), wrong, telling("wrong")]
    return {"on": "push", "jobs": {"release": {"runs-on": "ubuntu-latest", "steps": steps}}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with an app and this action in it, which names the built image instead of the Dockerfile."""
    image = os.environ.get("UPLOADER_TEST_IMAGE") or pytest.skip(HOW)
    folder = tmp_path / "workspace"
    (folder / "action").mkdir(parents=True)
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert action.count("  image: Dockerfile\n") == 1
    (folder / "action" / "action.yml").write_text(action.replace("image: Dockerfile", f"image: docker://{image}"))
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / ".github" / "workflows" / "release.yml").write_text(yaml.safe_dump(workflow(), sort_keys=False))
    specimens.make_bundle(folder / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=1_000_000)
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *author, "commit", "--quiet", "--message=a release"], cwd=folder, check=True)
    return folder


@contextmanager
def docker(folder: Path) -> Iterator[str]:
    """The Docker API of podman, at a socket of its own."""
    address = folder / "docker.sock"
    command = ["sh", str(CONTAINER / "podman"), "system", "service", "--time=0", f"unix://{address}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
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
    program, machine = f"{tool('wheels').folder}/bin/act", said("sh", str(CONTAINER / "base"))
    options = ["--bind", "--pull=false", "--action-offline-mode", "--network=host", "--no-cache-server"]
    home = {"HOME": str(workspace.parent), "XDG_CACHE_HOME": str(workspace.parent / "cache")}
    return subprocess.run(
        [program, "push", *options, "--container-daemon-socket=-", f"-Pubuntu-latest={machine}"],
        cwd=workspace, env={"PATH": os.environ["PATH"], "DOCKER_HOST": socket, **home},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


@pytest.mark.timeout(240)
def test_a_rehearsal_and_a_mistake(workspace: Path, tmp_path: Path) -> None:
    """The next step reads the outputs; a wrong input fails its step with an annotation, and the job can go on."""
    with docker(tmp_path) as socket:
        done = act(workspace, socket)
    log = done.stdout + done.stderr
    assert done.returncode == 0, log
    assert "rehearsal: version-code=7 rehearsal=true committed=false failure= outcome=success" in log
    assert "wrong: version-code= rehearsal=true committed= failure=invalid-input outcome=failure" in log
    assert "::error title=Invalid input::status: 'done' is not a valid choice." in log
    assert "Traceback" not in log
