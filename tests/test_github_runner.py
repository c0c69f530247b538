"""The action as GitHub runs it, for every kind of target: through `action.yml`, in the image where there is one."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.runner.github import USER, Container, Runner
from tests.support.runner.machines import MakeRunner, engine, google, leaks, machine

__all__ = ["engine", "google", "machine"]  # fixtures

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
MODULES = ("requests", "urllib3", "google", "yaml", "tqdm", "json", "ssl", "sitecustomize", "usercustomize")
PLANTED = "import pathlib, os\npathlib.Path(os.environ['GITHUB_WORKSPACE'], 'PLANTED').touch()\n"


def bundle(workspace: Path, size: int = 0) -> None:
    specimens.make_bundle(workspace / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=size)


def package(workspace: Path) -> None:
    with zipfile.ZipFile(workspace / "app.zip", "w") as archive:
        archive.writestr("payload.bin", bytes(1000))


def image(workspace: Path) -> None:
    (workspace / "icon.png").write_bytes(PNG)


# Each target: the file it needs, its inputs, and the output that tells that it worked, as the emulator holds it.
TARGETS: dict[str, tuple[Callable[[Path], None], dict[str, str], str, Callable[[dict[str, Any]], str]]] = {
    "play": (
        bundle,
        {"files": "*.aab", "tracks": "internal"},
        "edit-id",
        lambda state: state["edits"]["committed"][0]["id"],
    ),
    "play-internal-sharing": (
        bundle,
        {"files": "*.aab", "package-name": "com.example.app"},
        "download-url",
        lambda state: state["objects"][0]["resource"]["downloadUrl"],
    ),
    "gmail": (
        image,
        {
            "impersonate-user": "release@example.com",
            "files": "icon.png",
            "mail-to": "team@example.com",
            "mail-subject": "Out",
            "mail-body": "Here.",
        },
        "message-id",
        lambda state: state["messages"][0]["id"],
    ),
    "play-games": (
        image,
        {"files": "icon.png", "resource-id": "CgkI", "image-type": "ACHIEVEMENT_ICON"},
        "id",
        lambda state: state["objects"][0]["resource"]["resourceId"],
    ),
    "ota": (
        package,
        {"files": "*.zip", "deployment": "d-1", "package-title": "one"},
        "bytes-uploaded",
        lambda state: str(state["objects"][0]["size"]),
    ),
    "drive.files.create": (image, {"files": "*.png"}, "id", lambda state: state["objects"][0]["resource"]["id"]),
    "storage.objects.insert": (
        image,
        {"files": "*.png", "params": "bucket: releases"},
        "id",
        lambda state: state["objects"][0]["resource"]["id"],
    ),
}


def given(google: Emulator, target: str, **changes: str) -> dict[str, str]:
    """The inputs of a step for this target; `changes` by their names with underscores."""
    common = {"target": target, "credentials": json.dumps(google.key), "api-endpoint": google.url}
    more = {name.replace("_", "-"): value for name, value in changes.items()}
    return {**common, **TARGETS[target][1], **more}


@pytest.mark.parametrize("target", TARGETS)
def test_every_kind_of_target_is_served(machine: MakeRunner, google: Emulator, target: str) -> None:
    """The step passes, its output is what Google's side holds, and the page, the file and the log are all there."""
    make_file, _, output, told = TARGETS[target]
    runner = machine(secrets=[json.dumps(google.key)])
    make_file(runner.workspace)
    step = runner.step(given(google, target))
    assert step.code == 0, step.log
    assert step.outputs[output] == told(google.state())
    assert step.job_outputs() == step.outputs
    assert step.summary.startswith("## ✅ ")
    (result,) = json.loads((runner.workspace / "uploader-results.json").read_text())
    assert result["sha256"] == google.state()["objects"][0]["sha256"]
    assert "##[group]Upload" in step.log
    assert [note.name for note in step.annotations] == (["warning"] if target == "play-games" else [])


def test_files_of_another_user_are_written_and_stay_readable(machine: MakeRunner, google: Emulator) -> None:
    """Outputs, page and results arrive although the files belong to uid 1001 and only their owner may write."""
    runner = machine()
    bundle(runner.workspace)
    step = runner.step(given(google, "play"))
    assert step.outputs["committed"] == "true"
    for path in (*step.files.values(), runner.workspace / "uploader-results.json"):
        assert path.stat().st_mode & 0o777 == 0o644
    if isinstance(runner.engine, Container):
        assert step.files["GITHUB_OUTPUT"].stat().st_uid == USER


def test_a_cancelled_job_keeps_its_upload(machine: MakeRunner) -> None:
    """The runner's SIGINT reaches the program through the container: it ends with 130, and the next run goes on."""
    with Emulator(config={"read_rate": 1_000_000}) as google:
        runner = machine()
        bundle(runner.workspace, size=8_000_000)
        chunks = given(google, "play", chunk_size="512KiB")
        step = runner.step(chunks, cancel=lambda: google.state()["bytes_received"] > 500_000)
        assert step.code == 130, step.log
        assert google.state()["edits"]["open"]
        google.config.read_rate = 0
        again = runner.step(chunks)
    assert (again.code, again.outputs["resumed"]) == (0, "true"), again.log


# Paths


def test_a_path_to_the_key_is_found_inside_the_container(machine: MakeRunner, google: Emulator) -> None:
    """What another action left: an absolute path of the host, which the runner rewrites. No pattern takes the file."""
    runner = machine(more={"GOOGLE_APPLICATION_CREDENTIALS": ""})
    bundle(runner.workspace)
    key = runner.workspace / "gha-creds-0123456789abcdef.json"
    key.write_text(json.dumps(google.key))
    runner.more = {"GOOGLE_APPLICATION_CREDENTIALS": str(key)}
    step = runner.step(given(google, "play", credentials="", files="*.aab\n*.json", dry_run="true"))
    assert step.code == 2, "a credential file must never be taken for an artifact"
    assert "gha-creds" not in json.dumps(json.loads((runner.workspace / "uploader-results.json").read_text()))
    assert runner.step(given(google, "play", credentials="")).code == 0


# Secrets


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("form", ["compact", "pretty", "base64"])
def test_no_channel_shows_a_secret(machine: MakeRunner, google: Emulator, form: str, debug: bool) -> None:
    """Neither key nor token nor session URI is in the log, the page, an output or any file, with debug logging too."""
    key = {
        "compact": json.dumps(google.key),
        "pretty": json.dumps(google.key, indent=2),
        "base64": base64.b64encode(json.dumps(google.key).encode()).decode(),
    }[form]
    runner = machine(debug=debug, more={"RUNNER_DEBUG": "1"} if debug else {})
    bundle(runner.workspace, size=600_000)
    step = runner.step(given(google, "play", credentials=key, chunk_size="256KiB"))
    assert step.code == 0, step.log
    assert leaks(runner, google, step) == []


def test_scalar_outputs_survive_the_masks_of_a_pretty_printed_key(machine: MakeRunner, google: Emulator) -> None:
    """GitHub masks such a secret line by line, `{` and `}` too, and drops job outputs that hold one: only JSON does."""
    key = json.dumps(google.key, indent=2)
    runner = machine(secrets=[key])
    bundle(runner.workspace)
    step = runner.step(given(google, "play", credentials=key))
    assert {"{", "}"} <= step.masks.known
    assert step.outputs.keys() - step.job_outputs().keys() == {"status"}
    assert step.job_outputs().keys() >= {"version-codes", "edit-id", "committed", "results-file"}


# A hostile workspace


def plant(runner: Runner, google: Emulator) -> None:
    """What a pull request could bring into the checkout to be run, read or sent."""
    for name in MODULES:
        (runner.workspace / f"{name}.py").write_text(PLANTED)
    (runner.workspace / "uploader").mkdir()
    for name in ("__init__", "main", "transport"):
        (runner.workspace / "uploader" / f"{name}.py").write_text(PLANTED)
    (runner.workspace / ".env").write_text("UPLOADER_TRACKS=production\nUPLOADER_DRY_RUN=true\n")
    (runner.workspace / ".netrc").write_text("default login a password b\n")
    foreign = {**google.key, "client_email": "evil@example.com"}
    (runner.workspace / "gha-creds-feedfeedfeedfeed.json").write_text(json.dumps(foreign))
    (runner.workspace / "application_default_credentials.json").write_text(json.dumps(foreign))


def test_nothing_that_lies_in_the_workspace_is_run_read_or_sent(machine: MakeRunner, google: Emulator) -> None:
    """Planted modules, a `.env` and credential files change nothing: the release is the one that the step asked for."""
    runner = machine()
    bundle(runner.workspace)
    plant(runner, google)
    step = runner.step(given(google, "play"))
    assert step.code == 0, step.log
    assert not (runner.workspace / "PLANTED").exists()
    assert list(google.state()["edits"]["committed"][0]["tracks"]) == ["internal"]
    assert {token["email"] for token in google.state()["tokens"]} == {google.service_account}
    assert [item["path"].rsplit("/", 1)[1] for item in google.state()["objects"]] == ["bundles"]


PYTHON = (
    {"PYTHONPATH": "/github/workspace"},
    {"PYTHONSTARTUP": "/github/workspace/requests.py", "PYTHONINSPECT": "1"},
    {"PYTHONHOME": "/github/workspace"},
    {"PYTHONUSERBASE": "/github/workspace", "PYTHONPLATLIBDIR": "x", "PYTHONSAFEPATH": ""},
    {"VIRTUAL_ENV": "/github/workspace", "PYTHONBREAKPOINT": "requests.x", "PYTHONWARNINGS": "error"},
)


@pytest.mark.parametrize("engine", [pytest.param("container", id="container")], indirect=True)
@pytest.mark.parametrize("variables", PYTHON, ids=lambda variables: next(iter(variables)))
def test_variables_of_python_change_nothing(
    machine: MakeRunner, google: Emulator, variables: Mapping[str, str]
) -> None:
    """A workflow's own settings for its own Python do not reach the program's: the image runs it isolated."""
    runner = machine(more=variables)
    bundle(runner.workspace)
    plant(runner, google)
    step = runner.step(given(google, "play"))
    assert step.code == 0, step.log
    assert not (runner.workspace / "PLANTED").exists()


# What a workflow may get wrong
