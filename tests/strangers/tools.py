"""Where the tools are and what each needs in its environment; a test is skipped only where one can't be had."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
GEMS = "require 'google/apis/androidpublisher_v3'; puts Gem.loaded_specs['google-api-client'].version"


class Tool(NamedTuple):
    """A tool that is there: its folder (empty for one that the system has), its version, variables that it needs."""

    folder: str
    version: str
    environment: Mapping[str, str] = {}


def said(*command: str) -> str:
    """The last line that a command prints; skips the test, with its reason, where it can't be run."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"{Path(command[0]).name} can't be had here: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout.strip().rpartition("\n")[2]


def fetched(name: str) -> str:
    """The folder of a tool that is fetched by its lock."""
    return said("sh", str(HERE / "tool"), name)


def _node() -> Tool:
    version = said("node", "--version")
    folder = fetched("node")
    return Tool(folder, f"Node {version.lstrip('v')}", {"NODE_PACKAGES": folder})


def _python() -> Tool:
    # httplib2 speaks to no proxy without PySocks, which is not among the project's packages.
    return Tool("", "locked", {"PYTHONPATH": fetched("wheels")})


def _codemagic() -> Tool:
    said("java", "-version")  # it asks bundletool about each bundle
    return _python()


def _ruby() -> Tool:
    return Tool("", said("ruby", "-e", GEMS))


def _go() -> Tool:
    version = said("go", "version").split()[2].removeprefix("go")
    if not Path("/usr/share/gocode/src/google.golang.org/api/drive/v3").exists():
        pytest.skip("golang-google-api-dev is not installed")
    return Tool(fetched("go"), f"Go {version}")


def _gsutil() -> Tool:
    folder = fetched("gsutil")
    return Tool(folder, said(f"{folder}/bin/gsutil", "version").rpartition(" ")[2])


def _rclone() -> Tool:
    said("rclone", "version")
    done = subprocess.run(["rclone", "version"], capture_output=True, text=True, check=True)
    return Tool("", done.stdout.split()[1].lstrip("v"))


def _wheels() -> Tool:
    return Tool(fetched("wheels"), "locked")


_TOOLS: Mapping[str, Callable[[], Tool]] = {
    "node": _node,
    "python": _python,
    "codemagic": _codemagic,
    "ruby": _ruby,
    "go": _go,
    "gsutil": _gsutil,
    "rclone": _rclone,
    "wheels": _wheels,
}


@functools.cache
def tool(name: str) -> Tool:
    """A tool by its name, fetched once; skips the test, with the reason, where it can't be had."""
    return _TOOLS[name]()


def places(tool: Tool, file: Path) -> dict[str, str]:
    """What a command may name."""
    return {
        "tool": tool.folder,
        "file": str(file),
        "programs": str(HERE / "programs"),
        "python": sys.executable,
        "bin": str(Path(sys.executable).parent),
    }
