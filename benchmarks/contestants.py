"""Who is measured: this program and its peers, each as a child process that sends one file to the sink."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from benchmarks.ground import ROOT, Ground

OURS = "this program"
CURL = "curl -T"
RCLONE = "rclone"
PEERS = Path(__file__).with_name("peers")
# With its own dependencies and nothing else, as users have it: `requests` loads what it finds, chardet for 30 ms.
PYTHON = ROOT / "build" / "runtime" / "bin" / "python"
_RCLONE = ("rclone", "--retries", "1")
_NODE = "@googleapis/androidpublisher (node)"

Command = tuple[list[str], dict[str, str]]  # what to run, and what to add to its environment


@dataclass(frozen=True)
class Contestant:
    """A name, and what makes the command that sends a file over a scheme."""

    name: str
    command: Callable[[Ground, str, Path], Command]


def ours(ground: Ground, scheme: str, files: str, **inputs: str) -> Command:
    """The command of this program for a Cloud Storage upload; more inputs by their names, with underscores."""
    given = {
        "target": "storage.objects.insert",
        "params": '{"bucket": "b"}',
        "credentials": str(ground.key),
        "api_endpoint": ground.url(scheme),
        "files": files,
        "state_dir": str(ground.folder / "state"),
        **inputs,
    }
    command = [str(PYTHON), str(ROOT / "entrypoint.py")]
    return command, {f"UPLOADER_{name.upper()}": value for name, value in given.items()}


def _ours(ground: Ground, scheme: str, file: Path) -> Command:
    return ours(ground, scheme, file.name)


def _curl(ground: Ground, scheme: str, file: Path) -> Command:
    # Without `Expect` it does not wait for leave to send, which costs it a round trip or a second.
    quiet = ["curl", "--silent", "--show-error", "--fail", "--header", "Expect:"]
    return [*quiet, "--upload-file", str(file), ground.url(scheme) + "/put"], {}


def _python(script: str, ground: Ground, scheme: str, file: Path, *, options: tuple[str, ...] = ()) -> Command:
    arguments = [ground.url(scheme), str(file), str(ground.key), *options]
    return [sys.executable, str(PEERS / script), *arguments], {}


def _node(ground: Ground, scheme: str, file: Path) -> Command:
    return ["node", str(_modules(ground) / "publisher.mjs"), ground.url(scheme), str(file), str(ground.key)], {}


def _rclone(ground: Ground, scheme: str, file: Path, *, options: tuple[str, ...] = ()) -> Command:
    return [*_RCLONE, "copyto", *options, str(file), f"{_remote(ground, scheme)}/o"], {}


def rclone_folder(ground: Ground, folder: Path, connections: int) -> Command:
    """How rclone sends every file of a folder to Cloud Storage over TLS, so many of them at a time."""
    many = ("--transfers", str(connections), "--checkers", str(connections))
    return [*_RCLONE, "copy", *many, str(folder), f"{_remote(ground, 'https')}/{folder.name}"], {}


def _remote(ground: Ground, scheme: str) -> str:
    return f":gcs,endpoint='{ground.url(scheme)}/storage/v1/',anonymous=true,no_check_bucket=true:b"


def _modules(ground: Ground) -> Path:
    return ground.folder / "node"


def contestants(ground: Ground) -> tuple[Contestant, ...]:
    """Everybody: this program, curl, and every peer that is installed here or can be; the ground notes the others."""
    found = [Contestant(OURS, _ours), Contestant(CURL, _curl)]
    for module, name, script, options in _LIBRARIES:
        if _installed(module):
            found.append(Contestant(name, partial(_python, script, options=options)))
        else:
            ground.left_out[name] = "not installed"
    if _node_installed(ground):
        found.append(Contestant(_NODE, _node))
    else:
        ground.left_out[_NODE] = "no node or npm, or no package index"
    if rclone_installed(ground):
        found += [Contestant(RCLONE, _rclone), Contestant(f"{RCLONE}, no checksum", _rclone_unchecked)]
    return tuple(found)


def rclone_installed(ground: Ground) -> bool:
    """Whether there is an rclone; the ground notes if not."""
    if not shutil.which("rclone"):
        ground.left_out[RCLONE] = "not installed"
        return False
    return True


_rclone_unchecked = partial(_rclone, options=("--ignore-checksum",))
_LIBRARIES = (
    ("requests", "requests, a file as body", "plain_requests.py", ()),
    ("google.cloud.storage", "google-cloud-storage", "cloud_storage.py", ("default",)),
    ("google.cloud.storage", "google-cloud-storage, 8 MiB chunks", "cloud_storage.py", ("8388608",)),
    ("googleapiclient", "google-api-python-client, resumable", "api_client.py", ("resumable",)),
    ("googleapiclient", "google-api-python-client, one request", "api_client.py", ("whole",)),
    ("codemagic", "codemagic-cli-tools", "codemagic_tools.py", ()),
)


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of it is missing
        return False


@lru_cache(maxsize=1)
def _node_installed(ground: Ground) -> bool:
    """Installs the node client from the package index, where there is a node."""
    if not (shutil.which("node") and shutil.which("npm")):
        return False
    folder = _modules(ground)
    folder.mkdir()
    shutil.copy(PEERS / "publisher.mjs", folder)
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "@googleapis/androidpublisher"]
    return subprocess.run(install, cwd=folder, check=False, capture_output=True).returncode == 0
