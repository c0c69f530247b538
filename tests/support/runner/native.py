"""The composite action, as GitHub's runner carries it out: on the host, with the inputs that its step names alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.runner.github import ROOT

FOLDER = ROOT / "native"


def metadata() -> dict[str, Any]:
    """native/action.yml; its scalars stay text."""
    loaded = yaml.load((FOLDER / "action.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict
    assert isinstance(loaded, dict)
    return loaded


class Native:
    """The one step of the action: its script in its shell, with what the step's `env` makes of the inputs."""

    def places(self, mounts: Mapping[Path, str]) -> Mapping[Path, str]:
        """The host's own."""
        del mounts
        return {}

    def command(self, environment: Mapping[str, str], mounts: Mapping[Path, str]) -> list[str]:
        """The shell with the script; the job's environment without the variables that only other actions get."""
        del mounts
        (step,) = metadata()["runs"]["steps"]
        assert step["shell"] == "sh"
        seen = {name: value for name, value in environment.items() if not name.startswith("INPUT_")}
        seen["GITHUB_ACTION_PATH"] = str(FOLDER)
        for name, expression in step["env"].items():
            given = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", expression)
            assert given, f"{name}: {expression}"
            seen[name] = environment.get(f"INPUT_{given[1].upper()}", "")
        assignments = [f"{name}={value}" for name, value in seen.items()]
        return ["env", "--ignore-environment", *assignments, "sh", "-e", "-c", step["run"]]
