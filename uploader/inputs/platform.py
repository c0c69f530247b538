"""Find out which CI system, or shell, the program runs in.

The variables of one CI system are not used in a job of another.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from uploader.inputs import provenance
from uploader.inputs.provenance import Provenance

Kind = Literal["github", "gitlab", "console"]
DOTENV = "UPLOADER_DOTENV"
ID_TOKEN = "UPLOADER_ID_TOKEN"  # noqa: S105  # the name of a variable
# The variables that google-auth itself reads and that decide where a login goes; they are checked
# before it is used.
GOOGLE_AUTH = (
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "CLOUDSDK_CONFIG",
    "CLOUDSDK_CONTEXT_AWARE_CERTIFICATE_CONFIG_FILE_PATH",
    "GCE_METADATA_HOST",
    "GCE_METADATA_IP",
    "GCE_METADATA_MTLS_MODE",
    "GCE_METADATA_ROOT",
    "GOOGLE_API_CERTIFICATE_CONFIG",
    "NO_GCE_CHECK",
)
# Looks up a variable: its trimmed text, empty if there is none.
_Get: TypeAlias = Callable[[str], str]
# proc(5): changes with each boot; all containers of a machine have the same
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SHELL_RERUN = 12 * 3600.0  # seconds; a re-run comes sooner, a nightly job later

# The variables by which each CI system makes itself known. One that is set counts whatever its
# value is: a dotenv report of an earlier job can change any of them, but it can take none away.
_GITLAB = "GitLab"
_WOODPECKER = "Woodpecker"
_MARKS: Mapping[str, tuple[str, ...]] = {
    _GITLAB: ("GITLAB_CI",),
    "Azure Pipelines": ("TF_BUILD", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI"),
    "Jenkins": ("JENKINS_URL", "JENKINS_HOME", "HUDSON_URL"),
    "CircleCI": ("CIRCLECI",),
    "Bitbucket Pipelines": ("BITBUCKET_BUILD_NUMBER",),
    "TeamCity": ("TEAMCITY_VERSION",),
    "Buildkite": ("BUILDKITE",),
    "Travis CI": ("TRAVIS",),
    "Drone": ("DRONE", "HARNESS_BUILD_ID"),
    _WOODPECKER: ("CI_SYSTEM_NAME",),
    "AppVeyor": ("APPVEYOR",),
    "AWS CodeBuild": ("CODEBUILD_BUILD_ID",),
    "Bitrise": ("BITRISE_IO",),
    "Bamboo": ("bamboo_planKey",),
    "Cirrus CI": ("CIRRUS_CI",),
    "Cloud Build": ("BUILDER_OUTPUT",),
    "Codefresh": ("CF_BUILD_ID",),
    "Codemagic": ("CM_BUILD_ID",),
    "GoCD": ("GO_PIPELINE_NAME",),
    "Semaphore": ("SEMAPHORE",),
    "Xcode Cloud": ("CI_XCODE_PROJECT", "CI_XCODEBUILD_ACTION"),
}
_GITHUB = "GitHub Actions"
# Forgejo's and Gitea's runners and act set both as well
_GITHUB_MARKS = ("GITHUB_ACTIONS", "GITHUB_OUTPUT")
# Where runners make the file for a step's outputs. In their own containers: GitHub's
# (ContainerActionHandler.cs of actions/runner) and act's, which Gitea's and Forgejo's runners are
# built on (step.go).
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IN_CONTAINERS = re.compile(
    rf"/github/file_commands/set_output_{_UUID}|/var/run/act/workflow/outputcmd\.txt"
)
# On a machine: GitHub's (FileCommandManager.cs), and act's without containers (run_context.go).
_ON_MACHINES = re.compile(
    rf"/.+/_temp/_runner_file_commands/set_output_{_UUID}"
    r"|/.+/[0-9a-f]{16}/act/workflow/outputcmd\.txt"
)
# What container engines and our image set (systemd's container interface), and what every pod has.
_CONTAINER_MARKS = ("container", "KUBERNETES_SERVICE_HOST")


@dataclass(frozen=True)
class JobRun:
    """Which run of which job this is. A re-run and a retry have the same `id` and a higher
    `attempt`; `id` is "" if the run is unknown.

    In a shell only the time distinguishes a re-run from another run: it comes within
    `rerun_within` seconds.
    """

    id: str
    attempt: int = 0
    rerun_within: float = math.inf


@dataclass(frozen=True)
class Platform:
    """The CI system, or a shell. An absent text is empty, an absent path None; paths are as this
    process sees them.

    `node` is GitLab's number of this part of a parallel job, such as `2/5`; `state_home` the user's
    folder for state, and `keeps_home` says that it is there for the next run as well. `color` is
    false if somebody asked for a log without colours. `takes_masks` says whether the runner keeps
    `::add-mask::` lines out of the log: anywhere else such a line shows the secret. `doubt` says
    that the variables of several systems are set; it is empty if they are not. `google_auth` holds
    the variables of `GOOGLE_AUTH` that are set. `server_url` is empty unless a runner has surely
    set it, and so is what `provenance` says of GitHub.
    """

    kind: Kind = "console"
    takes_masks: bool = False
    doubt: str = ""
    run: JobRun = JobRun("")
    workspace: Path = Path()
    temp: Path | None = None
    state_home: Path | None = None
    keeps_home: bool = False
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
    google_auth: Mapping[str, str] = field(default_factory=dict)
    server_url: str = ""
    provenance: Provenance = Provenance()

    def __repr__(self) -> str:
        return f"Platform(kind={self.kind!r})"  # the rest holds tokens


def detect(environ: Mapping[str, str], variables: Mapping[str, str]) -> Platform:
    """Return the platform; `variables` are this program's own, with those of the env file."""

    def get(name: str) -> str:
        return environ.get(name, "").strip()

    others = _marks_of_others(environ)
    kind = _kind(get, others)
    of_github = _variables_of_github(get, kind, others)
    of_gitlab = _variables_of_gitlab(get, kind, others)
    workspace = _workspace(get, kind)
    output_file = _path(of_github("GITHUB_OUTPUT"))
    in_actions = get("GITHUB_ACTIONS") == "true"
    by_runner = in_actions and _made_by_runner(output_file)
    node = ""
    if kind == "gitlab":
        index = get("CI_NODE_INDEX")
        total = get("CI_NODE_TOTAL")
        node = f"{index}/{total}"
    server_url = ""
    if by_runner:
        server_url = of_github("GITHUB_SERVER_URL")
    return Platform(
        kind=kind,
        takes_masks=by_runner and not others,
        doubt=_doubt(environ, kind, others),
        run=_run(kind, get, has_marks=bool(others)),
        workspace=workspace,
        temp=_path(of_github("RUNNER_TEMP")),
        state_home=_state_home(get),
        keeps_home=_keeps_home(get, kind, others),
        output_file=output_file,
        summary_file=_summary_file(of_github, output_file, others),
        dotenv_file=_dotenv_file(variables, kind, workspace),
        debug=get("RUNNER_DEBUG") == "1" or of_gitlab("CI_DEBUG_TRACE") == "true",
        # no-color.org; terminfo(5) names the other
        color=not get("NO_COLOR") and get("TERM") != "dumb",
        tag=_tag(of_github, of_gitlab),
        node=node,
        oidc_request_url=of_github("ACTIONS_ID_TOKEN_REQUEST_URL"),
        oidc_request_token=of_github("ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
        id_token=variables.get(ID_TOKEN, ""),
        google_application_credentials=get("GOOGLE_APPLICATION_CREDENTIALS"),
        google_auth={name: environ[name] for name in GOOGLE_AUTH if environ.get(name)},
        server_url=server_url,
        provenance=_provenance(kind, get, by_runner=by_runner),
    )


def _provenance(kind: Kind, get: _Get, *, by_runner: bool) -> Provenance:
    """Return what the CI system says of the commit and of who started the run."""
    if kind == "gitlab":
        return provenance.of_gitlab(get)
    if kind == "github" and by_runner:
        return provenance.of_github(get)
    return Provenance()


def _marks_of_others(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the CI systems other than GitHub that make themselves known here, each with one of the
    variables by which it does.
    """
    marks: dict[str, str] = {}
    for system, names in _MARKS.items():
        for name in names:
            if name in environ:
                marks[system] = name
    return marks


def _variables_of_github(get: _Get, kind: Kind, others: Mapping[str, str]) -> _Get:
    """Return how to look up a variable of GitHub's runner, which counts only in such a job.

    In a plain shell a person has set those names, and they count as well.
    """
    if kind == "github" or not others:
        return get
    return _nothing


def _variables_of_gitlab(get: _Get, kind: Kind, others: Mapping[str, str]) -> _Get:
    """Return how to look up a variable of GitLab's, which counts only in such a job.

    Woodpecker gives the tag under GitLab's name, so it counts there, too, and in a plain shell.
    """
    if kind == "gitlab":
        return get
    if kind != "console":
        return _nothing
    if others.keys() <= {_WOODPECKER}:
        return get
    return _nothing


def _state_home(get: _Get) -> Path | None:
    """Return the user's folder for state: `$XDG_STATE_HOME` if absolute, else `~/.local/state`.

    Source: the XDG base directory specification.
    """
    by_variable = Path(get("XDG_STATE_HOME"))
    if by_variable.is_absolute():
        return by_variable
    below_home = Path(get("HOME"), ".local", "state")
    if below_home.is_absolute():
        return below_home
    return None


def _keeps_home(get: _Get, kind: Kind, others: Mapping[str, str]) -> bool:
    """Return whether the user's folders are there for the next run as well: on a person's own
    machine.
    """
    if kind != "console" or others:
        return False
    return _on_own_machine(get)


def _summary_file(
    of_github: _Get, output_file: Path | None, others: Mapping[str, str]
) -> Path | None:
    """Return the file for the job summary, None if there is none. GitHub's runner makes it in the
    folder of the file for outputs.

    If marks of another system are set, a file that is elsewhere is not used.
    """
    summary_file = _path(of_github("GITHUB_STEP_SUMMARY"))
    if summary_file is None or output_file is None:
        return summary_file
    is_elsewhere = summary_file.parent != output_file.parent
    if others and is_elsewhere:
        return None
    return summary_file


def _dotenv_file(
    variables: Mapping[str, str], kind: Kind, workspace: Path
) -> Path | None:
    """Return the file for the outputs as variables: under GitLab always, elsewhere on demand."""
    report = variables.get(DOTENV, "")
    if not report and kind == "gitlab":
        report = "uploader.env"
    if not report:
        return None
    return workspace / report


def _kind(get: _Get, others: Mapping[str, str]) -> Kind:
    """Return the system whose log and files this run uses; `others` are the marks of systems other
    than GitHub.

    Another system's mark counts before GitHub's, since an earlier job of that system can set
    GitHub's variables. A step that GitHub's runner surely started still gets its outputs: some
    workflows set TF_BUILD or JENKINS_URL for their tools.
    """
    if _GITLAB in others:
        return "gitlab"
    in_actions = get("GITHUB_ACTIONS") == "true"
    if others:
        output_file = _path(get("GITHUB_OUTPUT"))
        if in_actions and _made_by_runner(output_file):
            return "github"
        return "console"
    # GITHUB_OUTPUT alone is set by runners that follow GitHub's.
    if in_actions or get("GITHUB_OUTPUT"):
        return "github"
    return "console"


def _made_by_runner(output: Path | None) -> bool:
    """Return whether GitHub's runner, or one that follows it, has surely made this file for the
    outputs of this step.

    The file has to be in a folder of the runner's own container, or to have a name that only the
    runner gives and be outside every checkout: variables can be set by an earlier job of another
    system, and a checkout can hold any file.
    """
    if output is None or not _is_file(output):
        return False
    if _IN_CONTAINERS.fullmatch(str(output)):
        return True
    if _ON_MACHINES.fullmatch(str(output)):
        return not _in_checkout(output)
    return False


def _is_file(path: Path) -> bool:
    """Return whether a regular file is there; the runner makes the file for outputs before each
    step.
    """
    try:
        return path.is_file() and not path.is_symlink()
    except (OSError, ValueError):
        # The path is too long, for instance, or contains a NUL byte.
        return False


def _in_checkout(path: Path) -> bool:
    """Return whether the file is below the working folder of this process, or in a repository."""
    try:
        folders = path.resolve().parents
        working_folder = Path.cwd().resolve()
        if working_folder in folders:
            return True
        for folder in folders:
            repository = folder / ".git"
            if repository.exists():
                return True
    except OSError:
        # A folder that can't be examined is not the runner's.
        return True
    return False


def _doubt(environ: Mapping[str, str], kind: Kind, others: Mapping[str, str]) -> str:
    """Return a sentence if the variables of several systems are set: which ones, and what that
    means for this run.
    """
    marks = dict(others)
    for mark in _GITHUB_MARKS:
        if mark in environ:
            marks[_GITHUB] = mark
            break
    if len(marks) == 1:
        return ""
    # Only the variables of these two systems are used.
    has_used = _GITHUB in marks or _GITLAB in marks
    if not has_used:
        return ""
    variables = [f"{mark} of {system}" for system, mark in marks.items()]
    systems = ", ".join(variables)
    consequence = {
        "github": "GitHub's runner started this step, but it is not asked to mask secrets in what "
        "other steps print.",
        "gitlab": "This is treated as a GitLab job, and other systems' variables are not used.",
        "console": "None of GitHub's variables is used, and no outputs are written for GitHub.",
    }
    return (
        f"The variables of several CI systems are set: {systems}. {consequence[kind]}"
    )


def _tag(of_github: _Get, of_gitlab: _Get) -> str:
    """Return the tag that this job runs for; empty if it runs for a branch."""
    if of_github("GITHUB_REF_TYPE") == "tag":
        return of_github("GITHUB_REF_NAME")
    return of_gitlab("CI_COMMIT_TAG")


def _nothing(name: str) -> str:  # noqa: ARG001  # in the place of a look into the environment
    return ""


def _run(kind: Kind, get: _Get, *, has_marks: bool) -> JobRun:
    """Return the run as the CI system names it.

    In a shell, everything that runs on this machine until its next boot is one run. `has_marks`
    says that the marks of a CI system are there; the run is unknown if the system is not GitHub or
    GitLab.
    """
    run_id = get("GITHUB_RUN_ID")
    if kind == "github" and run_id:
        job = get("GITHUB_JOB")
        return JobRun(
            f"GitHub run {run_id}, job {job}",
            attempt=_number(get("GITHUB_RUN_ATTEMPT")),
        )
    pipeline_id = get("CI_PIPELINE_ID")
    if kind == "gitlab" and pipeline_id:
        job = get("CI_JOB_NAME")
        return JobRun(
            f"GitLab pipeline {pipeline_id}, job {job}",
            attempt=_number(get("CI_JOB_ID")),
        )
    in_unknown_job = kind == "console" and _set_by_ci(get)
    if has_marks or in_unknown_job:
        return JobRun("")
    try:
        boot = _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        boot = os.uname().nodename
    return JobRun(f"a shell on this machine ({boot})", rerun_within=_SHELL_RERUN)


def _set_by_ci(get: _Get) -> bool:
    """Return whether `CI` is set, as almost every CI system does."""
    return get("CI") not in ("", "false")


def _on_own_machine(get: _Get) -> bool:
    """Return whether a shell seems to be on a person's machine, neither in a CI job nor in a
    container.
    """
    if _set_by_ci(get):
        return False
    return not any(get(mark) for mark in _CONTAINER_MARKS)


def _number(text: str) -> int:
    """Return the number that a variable holds, 0 for any other text."""
    if text.isdecimal() and len(text) < 20:
        return int(text)
    return 0


def _path(text: str) -> Path | None:
    if not text:
        return None
    return Path(text)


def _workspace(get: _Get, kind: Kind) -> Path:
    """Return the folder that the CI system names, or the current folder if this process can't see
    that one: its path may be that on the host.
    """
    folder = ""
    if kind == "github":
        folder = get("GITHUB_WORKSPACE")
    elif kind == "gitlab":
        folder = get("CI_PROJECT_DIR")
    try:
        if folder and Path(folder).is_dir():
            return Path(folder)
        return Path.cwd()
    except OSError:
        # The path is too long, for instance, or the current folder was deleted.
        return Path()
