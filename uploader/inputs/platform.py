"""Where the program runs: what the CI system says of itself in the environment, believed only where it can be used."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["github", "gitlab", "console"]
DOTENV, ID_TOKEN = "UPLOADER_DOTENV", "UPLOADER_ID_TOKEN"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # proc(5): another one after each boot; containers share it
_SHELL_RERUN = 12 * 3600.0  # seconds; a re-run comes sooner, a nightly job later


@dataclass(frozen=True)
class JobRun:
    """Which run of which job this is. A re-run and a retry have its `id` and a higher `attempt`; an unknown one has "".

    In a shell nothing tells a re-run from another run but the time: `rerun_within` is in seconds.
    """

    id: str
    attempt: int = 0
    rerun_within: float = math.inf


@dataclass(frozen=True)
class Platform:
    """The CI system, or a shell. An absent text is empty, an absent path None; paths are as this process sees them.

    `node` is GitLab's part of a parallel job, such as `2/5`; `state_home` the user's folder for state; `color` is
    false where somebody asked for a log without colours.
    """

    kind: Kind = "console"
    run: JobRun = JobRun("")
    workspace: Path = Path()
    temp: Path | None = None
    state_home: Path | None = None
    output_file: Path | None = None
    summary_file: Path | None = None
    dotenv_file: Path | None = None
    debug: bool = False
    color: bool = True
    tag: str = ""
    node: str = ""
    oidc_request_url: str = ""
    oidc_request_token: str = ""
    id_token: str = ""
    google_application_credentials: str = ""

    def __repr__(self) -> str:
        return f"Platform(kind={self.kind!r})"  # the rest holds tokens


def detect(environ: Mapping[str, str], variables: Mapping[str, str]) -> Platform:
    """Reads the platform; `variables` are this program's own, with those of the env file."""

    def get(name: str) -> str:
        return environ.get(name, "").strip()

    kind: Kind = "console"
    if get("GITHUB_ACTIONS") == "true":
        kind = "github"
    elif get("GITLAB_CI") == "true":
        kind = "gitlab"
    elif get("GITHUB_OUTPUT"):  # a runner that follows GitHub's, such as Forgejo's
        kind = "github"
    workspace = _workspace({"github": get("GITHUB_WORKSPACE"), "gitlab": get("CI_PROJECT_DIR")}.get(kind, ""))
    report = variables.get(DOTENV, "") or ("uploader.env" if kind == "gitlab" else "")  # elsewhere on demand
    # The XDG base directory specification: `$XDG_STATE_HOME` if absolute, else `~/.local/state`.
    states = (Path(get("XDG_STATE_HOME")), Path(get("HOME"), ".local", "state"))
    return Platform(
        kind=kind,
        run=_run(kind, get),
        workspace=workspace,
        temp=_path(get("RUNNER_TEMP")),
        state_home=next((state for state in states if state.is_absolute()), None),
        output_file=_path(get("GITHUB_OUTPUT")),
        summary_file=_path(get("GITHUB_STEP_SUMMARY")),
        dotenv_file=workspace / report if report else None,
        debug=get("RUNNER_DEBUG") == "1" or get("CI_DEBUG_TRACE") == "true",
        color=not get("NO_COLOR") and get("TERM") != "dumb",  # no-color.org; terminfo(5) names the other
        tag=get("GITHUB_REF_NAME") if get("GITHUB_REF_TYPE") == "tag" else get("CI_COMMIT_TAG"),
        node=f"{get('CI_NODE_INDEX')}/{get('CI_NODE_TOTAL')}" if kind == "gitlab" else "",
        oidc_request_url=get("ACTIONS_ID_TOKEN_REQUEST_URL"),
        oidc_request_token=get("ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
        id_token=variables.get(ID_TOKEN, ""),
        google_application_credentials=get("GOOGLE_APPLICATION_CREDENTIALS"),
    )


def _run(kind: Kind, get: Callable[[str], str]) -> JobRun:
    """The run as the CI system names it; in a shell whatever runs on this machine until it is booted again."""
    if kind == "github" and get("GITHUB_RUN_ID"):
        return JobRun(f"GitHub run {get('GITHUB_RUN_ID')}, job {get('GITHUB_JOB')}", _number(get("GITHUB_RUN_ATTEMPT")))
    if kind == "gitlab" and get("CI_PIPELINE_ID"):
        return JobRun(f"GitLab pipeline {get('CI_PIPELINE_ID')}, job {get('CI_JOB_NAME')}", _number(get("CI_JOB_ID")))
    if kind == "console" and get("CI") not in ("", "false"):  # a CI system whose names for its runs are not known here
        return JobRun("")
    try:
        boot = _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        boot = os.uname().nodename
    return JobRun(f"a shell on this machine ({boot})", rerun_within=_SHELL_RERUN)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _workspace(given: str) -> Path:
    """The folder that the CI system names, unless it names the host's and this process sees another file system."""
    try:
        return Path(given) if given and Path(given).is_dir() else Path.cwd()
    except OSError:  # a path that can't even be asked for
        return Path()
