"""Where the tools are and what each needs in its environment; a test is skipped only where one
can't be had.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
GEMS = "require 'google/apis/androidpublisher_v3'"


@dataclass(frozen=True)
class Tool:
    """A tool that is there: its folder (empty for one that the system has), and variables that it
    needs.
    """

    folder: str
    environment: Mapping[str, str]


def said(*command: str) -> str:
    """The last line that a command prints; skips the test, with its reason, where it can't be
    run.
    """
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        pytest.skip(
            f"{Path(command[0]).name} can't be had here: "
            f"{(done.stderr or done.stdout).strip()[-300:]}"
        )
    return done.stdout.strip().rpartition("\n")[2]


def fetched(name: str) -> str:
    """The folder of a tool that is fetched by its lock."""
    return said("sh", str(HERE / "tool"), name)


def _node() -> Tool:
    said("node", "--version")
    folder = fetched("node")
    return Tool(folder, {"NODE_PACKAGES": folder})


def _python() -> Tool:
    # httplib2 speaks to no proxy without PySocks, which is not among the project's packages.
    return Tool("", {"PYTHONPATH": fetched("wheels")})


def _codemagic() -> Tool:
    said("java", "-version")  # it asks bundletool about each bundle
    return _python()


def _ruby() -> Tool:
    said("ruby", "-e", GEMS)
    return Tool("", {})


def _go() -> Tool:
    said("go", "version")
    said("dpkg-query", "--show", "golang-google-api-dev")
    return Tool(fetched("go"), {})


def _gsutil() -> Tool:
    return Tool(fetched("gsutil"), {})


def _rclone() -> Tool:
    said("rclone", "version")
    return Tool("", {})


def _wheels() -> Tool:
    return Tool(fetched("wheels"), {})


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
