"""The image as it was built: what is in it, how it may be entered, and that the user's checkout is
never imported.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.container.conftest import Image
from uploader import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
VERSION = f"uploader {__version__}\n"


def test_the_action_runs_the_program(image: Image) -> None:
    """`docker run IMAGE` is the program, with nothing before it."""
    assert image.run("--version").stdout == VERSION


@pytest.mark.parametrize(
    "command", ["uploader --version", "python /app/entrypoint.py --version"]
)
def test_a_shell_in_the_image_finds_the_program(image: Image, command: str) -> None:
    """A GitLab job with `entrypoint: [""]` has both ways in."""
    assert image.run("-c", command, entrypoint="sh").stdout == VERSION


def test_a_shell_given_to_the_entrypoint_fails_instead_of_passing_idly(
    image: Image,
) -> None:
    """A GitLab job that forgot `entrypoint: [""]` is told so: its script would never have run."""
    done = image.run("sh", "-c", "echo the script")
    assert done.returncode == 2
    assert 'entrypoint: [""]' in done.stdout + done.stderr
    assert "the script\n" not in done.stdout


@pytest.mark.parametrize(
    "env",
    [
        {},
        {
            "PYTHONPATH": "/github/workspace",
            "PYTHONSTARTUP": "/github/workspace/yaml.py",
            "PYTHONINSPECT": "1",
        },
        {
            "PYTHONHOME": "/github/workspace",
            "PYTHONPLATLIBDIR": "x",
            "PYTHONSAFEPATH": "",
        },
        {
            "PYTHONUSERBASE": "/github/workspace",
            "VIRTUAL_ENV": "/github/workspace",
            "PYTHONBREAKPOINT": "requests.x",
        },
    ],
)
def test_nothing_is_imported_from_the_workspace(
    image: Image, env: dict[str, str]
) -> None:
    """Modules planted in the checkout are not run, even if the workflow puts the checkout on
    Python's own path.
    """
    for name in (
        "requests",
        "uploader",
        "yaml",
        "tqdm",
        "sitecustomize",
        "usercustomize",
        "google",
        "json",
        "ssl",
    ):
        (image.workspace / f"{name}.py").write_text(
            "open('/github/workspace/PLANTED', 'w').close()\n"
        )
    (image.workspace / "app.apk").write_bytes(b"no zip")
    inputs = {
        "INPUT_TARGET": "play",
        "INPUT_FILES": "*.apk",
        "INPUT_TRACKS": "internal",
        "INPUT_CREDENTIALS": "{}",
    }
    done = image.run(env=env | inputs)
    assert done.returncode == 2, done.stderr
    assert not (image.workspace / "PLANTED").exists()


@pytest.mark.parametrize(
    "script",
    [
        "uploader",
        "python /app/entrypoint.py",
        "python3 -m uploader",
        "/app/venv/bin/uploader",
    ],
)
def test_a_script_that_starts_the_program_imports_nothing_from_the_checkout(
    image: Image, script: str
) -> None:
    """A GitLab job whose variables put the checkout on Python's path runs no code of the checkout
    with the key.
    """
    for name in ("sitecustomize", "usercustomize", "requests", "json"):
        (image.workspace / f"{name}.py").write_text(
            "open('/github/workspace/PLANTED', 'w').close()\n"
        )
    done = image.run(
        "-c",
        script,
        entrypoint="sh",
        env={"PYTHONPATH": "/github/workspace", "UPLOADER_TARGET": "nothing"},
    )
    assert done.returncode == 2, done.stderr
    assert "'nothing' is not" in done.stdout + done.stderr
    assert not (image.workspace / "PLANTED").exists()


def test_the_image_holds_the_locked_dependencies_and_nothing_else(image: Image) -> None:
    """Every distribution in the image is one of the lock's, in its version; there is no
    installer.
    """
    listed = (
        "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in "
        "m.distributions()}))"
    )
    found = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in json.loads(image.python(listed)).items()
    }
    assert found.pop("google-release-uploader") == __version__
    locked = set(
        re.findall(
            r"^([\w-]+)==([\w.]+)",
            (ROOT / "requirements.lock").read_text(),
            flags=re.MULTILINE,
        )
    )
    assert set(found.items()) <= locked
    named = "requests google-auth google-crc32c cryptography tqdm python-dotenv pyyaml"
    assert set(named.split()) <= found.keys()
    assert (
        image.python("import google_crc32c; print(google_crc32c.implementation)")
        == "c\n"
    )
    for python in ("python", "/usr/local/bin/python3"):
        assert "No module named pip" in image.run("-m", "pip", entrypoint=python).stderr


def test_every_module_comes_with_its_bytecode(image: Image) -> None:
    """Nothing is compiled when a container starts, neither of the program's nor of the standard
    library's.
    """
    code = (
        "import sys, os, uploader.cli, uploader.http.client, google.oauth2.service_account, tqdm, "
        "yaml\nfiles = [getattr(m, '__cached__', None) for n, m in sys.modules.items() if n != "
        "'__main__']\nprint(len(files), *[f for f in files if f and not os.path.exists(f)])"
    )
    count, *missing = image.python(code).split()
    assert int(count) > 200
    assert not missing


def test_the_image_runs_on_a_read_only_root(image: Image) -> None:
    """The program writes to the places that it is given, never into its own image."""
    assert image.run("--version", options=["--read-only"]).stdout == VERSION
