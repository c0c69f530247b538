"""GitHub's runner, as far as a container action can tell: mounts, environment, rewritten paths, files of another user.

Two engines carry the step out: the built image, started as the runner starts it, or a child process that sees the
host's own paths. What a step leaves is read by `tests/support/runner/log.py`, as strictly as the runner reads it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from tests.support.runner.log import Step, read_step

ROOT = Path(__file__).resolve().parents[3]
PODMAN = ROOT / "tests" / "container" / "podman"
USER = 1001  # owns everything on a hosted runner; the action's container runs as root
FILES = {
    "GITHUB_OUTPUT": "set_output",
    "GITHUB_STEP_SUMMARY": "step_summary",
    "GITHUB_ENV": "set_env",
    "GITHUB_PATH": "add_path",
    "GITHUB_STATE": "save_state",
}


class Engine(Protocol):
    """Starts the action's program. `mounts` are host folders with their place in a container, innermost first."""

    def places(self, mounts: Mapping[Path, str]) -> Mapping[Path, str]:
        """Where the step sees each folder, for those that it does not see where the host does."""

    def command(self, environment: Mapping[str, str], mounts: Mapping[Path, str]) -> list[str]:
        """The command line of the whole step, with the folder that it works in."""


class Process:
    """The entrypoint of this checkout as a child process: no mounts, so no path changes."""

    def places(self, mounts: Mapping[Path, str]) -> Mapping[Path, str]:
        """The host's own."""
        del mounts
        return {}

    def command(self, environment: Mapping[str, str], mounts: Mapping[Path, str]) -> list[str]:
        """The Python of the tests; its environment is exactly the step's."""
        del mounts
        assignments = [f"{name}={value}" for name, value in environment.items()]
        return ["env", "--ignore-environment", *assignments, sys.executable, str(ROOT / "entrypoint.py")]


@dataclass(frozen=True)
class Container:
    """The image that `action.yml` names, built. On the host's network, where the tests' emulator listens."""

    image: str

    def places(self, mounts: Mapping[Path, str]) -> Mapping[Path, str]:
        """The mount points."""
        return mounts

    def command(self, environment: Mapping[str, str], mounts: Mapping[Path, str]) -> list[str]:
        """What the runner tells Docker: no user, no entrypoint unless the action has one, its arguments."""
        runs = action()["runs"]
        command = [str(PODMAN), "run", "--workdir=/github/workspace", "--rm", "--network=host"]
        command += [f"--env={name}={value}" for name, value in environment.items()]
        command += [f"--volume={host}:{inside}" for host, inside in mounts.items()]
        command += [f"--entrypoint={runs['entrypoint']}"] if "entrypoint" in runs else []
        return [*command, self.image, *runs.get("args", [])]


@dataclass
class Runner:
    """A job on one machine. `secrets` are masked from the start; `more` is what the job's `env` has."""

    folder: Path
    engine: Engine
    secrets: Sequence[str] = ()
    debug: bool = False
    tag: str = "v1.4.2"
    more: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in self._mounts():
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Path:
        """The checkout, as the host sees it."""
        return self.folder / "work" / "app" / "app"

    @property
    def temp(self) -> Path:
        """RUNNER_TEMP, as the host sees it; it lives as long as the job."""
        return self.folder / "work" / "_temp"

    def step(self, given: Mapping[str, str], cancel: Callable[[], bool] = lambda: False) -> Step:
        """`uses:` with these values under `with:`; unknown inputs go through, as they do there with a warning.

        Once `cancel` is true the step is ended as a cancelled job ends its own, by SIGINT at first.
        """
        files = {name: self._new_file(kind) for name, kind in FILES.items()}
        environment = {**self._environment(files), **self.more, **_inputs(given)}
        seen = {name: self._rewritten(value) for name, value in environment.items()}
        command = self.engine.command(seen, self._mounts())
        self._give_away()
        with subprocess.Popen(
            command, cwd=self.workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as child:
            self._watch(child, cancel)
            printed, _ = child.communicate(timeout=60)
        return read_step(child.returncode, printed, files, self.secrets, debug=self.debug)

    @staticmethod
    def _watch(child: subprocess.Popen[bytes], cancel: Callable[[], bool]) -> None:
        """Until the step has ended, or is to end."""
        while child.poll() is None:
            if cancel():
                child.send_signal(signal.SIGINT)
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.02)

    def _mounts(self) -> dict[Path, str]:
        return {
            self.temp / "_github_home": "/github/home",
            self.temp / "_github_workflow": "/github/workflow",
            self.temp / "_runner_file_commands": "/github/file_commands",
            self.temp: "/github/runner_temp",
            self.workspace: "/github/workspace",
        }

    def _environment(self, files: Mapping[str, Path]) -> dict[str, str]:
        debug = {"RUNNER_DEBUG": "1"} if self.debug else {}
        return debug | {
            "HOME": str(self.temp / "_github_home"),
            "PATH": os.environ["PATH"],
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(self.temp / "_github_workflow" / "event.json"),
            "GITHUB_REF": f"refs/tags/{self.tag}",
            "GITHUB_REF_NAME": self.tag,
            "GITHUB_REF_TYPE": "tag",
            "GITHUB_REPOSITORY": "octo-org/app",
            "GITHUB_RUN_ID": "42",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(self.temp),
            **{name: str(path) for name, path in files.items()},
        }

    def _new_file(self, kind: str) -> Path:
        path = self.temp / "_runner_file_commands" / f"{kind}_{os.urandom(8).hex()}"
        path.touch(mode=0o644)
        return path

    def _rewritten(self, value: str) -> str:
        """A value that is a mounted path or lies below one; a path inside a longer text stays the host's."""
        for host, inside in self.engine.places(self._mounts()).items():
            if value == str(host) or value.startswith(f"{host}/"):
                return inside + value.removeprefix(str(host))
        return value

    def _give_away(self) -> None:
        """Everything belongs to the runner's user, as far as this test may say so."""
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)


def action() -> dict[str, Any]:
    """action.yml; its scalars stay text, as they reach the step."""
    loaded = yaml.load((ROOT / "action.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict
    assert isinstance(loaded, dict)
    return loaded


def _inputs(given: Mapping[str, str]) -> dict[str, str]:
    """`INPUT_…` for what is given, and for each default whose input is not; blanks become underscores, hyphens stay."""
    defaults = {name: declared["default"] for name, declared in action()["inputs"].items() if "default" in declared}
    values = {**defaults, **{name.lower(): value for name, value in given.items()}}
    return {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in values.items()}
