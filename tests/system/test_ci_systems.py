"""Whole runs in jobs whose variables name several CI systems: no secret in the log, nothing written
for another one.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import ENTRYPOINT, STEP, Job
from tests.support.platforms import dotenv_report, workflow_commands

RELEASE = {"target": "play", "files": "app.aab", "tracks": "internal"}
SYSTEMS = {
    "GitLab": {"GITLAB_CI": "true", "CI": "true"},
    "Azure Pipelines": {
        "TF_BUILD": "True",
        "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI": "https://dev.azure.com/a/",
    },
    "Jenkins": {
        "JENKINS_URL": "https://ci.example/",
        "JENKINS_HOME": "/var/jenkins",
        "BUILD_ID": "7",
    },
    "CircleCI": {"CIRCLECI": "true", "CI": "true"},
}


@dataclass(frozen=True)
class Mixed:
    """A job of one system, and the variables that name another one as well."""

    job: Job
    variables: dict[str, str]
    folder: Path

    def untouched(self) -> bool:
        """Whether nothing was written where GitHub's variables point."""
        files = [(self.folder / name).read_text() for name in ("output", "summary")]
        return files == ["before\n", "before\n"] and not [
            *(self.folder / "temporary").iterdir()
        ]


@pytest.fixture
def foreign(tmp_path: Path) -> dict[str, str]:
    """Everything that GitHub's runner would set, as somebody may make a job of another system set
    it.
    """
    for name in ("output", "summary"):
        (tmp_path / name).write_text("before\n")
    (tmp_path / "temporary").mkdir()
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_RUN_ID": "9",
        "GITHUB_JOB": "release",
        "GITHUB_REF_TYPE": "tag",
        "GITHUB_REF_NAME": "v6.6.6",
        "RUNNER_TEMP": str(tmp_path / "temporary"),
        "RUNNER_OS": "Linux",
        "RUNNER_DEBUG": "1",
        "ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:9/evil",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "evil",
    }


@pytest.fixture
def job(tmp_path: Path, emulator: Emulator) -> Job:
    """A job with a bundle in GitLab."""
    return with_bundle(tmp_path, emulator, "gitlab")


@pytest.fixture(params=SYSTEMS.values(), ids=list(SYSTEMS))
def mixed(
    tmp_path: Path,
    emulator: Emulator,
    foreign: dict[str, str],
    request: pytest.FixtureRequest,
) -> Mixed:
    """A job with a bundle in each of the systems."""
    kind = "gitlab" if "GITLAB_CI" in request.param else "console"
    return Mixed(
        with_bundle(tmp_path, emulator, kind), {**foreign, **request.param}, tmp_path
    )


def with_bundle(folder: Path, emulator: Emulator, kind: str) -> Job:
    workspace = folder / "workspace"
    workspace.mkdir()
    specimens.make_bundle(
        workspace / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=1_000_000
    )
    return Job(workspace, emulator, kind)


def test_a_release_under_another_system_tells_github_nothing(mixed: Mixed) -> None:
    """The log holds no command and no key; none of GitHub's files and folders is touched, and its
    tag does not name the release.
    """
    google = mixed.job.emulator
    ended = mixed.job.succeed(RELEASE, **mixed.variables)
    assert not workflow_commands(ended.log)
    assert json.dumps(google.key["private_key"])[1:-1] not in ended.log
    assert mixed.untouched()
    (edit,) = google.state()["edits"]["committed"]
    assert "6.6.6" not in json.dumps(edit["tracks"])
    report = mixed.job.workspace / "uploader.env"
    assert report.exists() == (mixed.job.kind == "gitlab")
    if mixed.job.kind == "gitlab":
        assert dotenv_report(report.read_bytes())["UPLOADER_VERSION_CODE"] == "7"


def test_one_warning_names_both_systems_and_what_it_means(mixed: Mixed) -> None:
    """It names the variables, so that whoever has set one of them finds the place. A mistake in the
    inputs does not suppress it.
    """
    ended = mixed.job.fail(2, {**RELEASE, "status": "done"}, **mixed.variables)
    assert ended.log.count("The variables of several CI systems are set: ") == 1
    assert "GITHUB_ACTIONS of GitHub Actions" in ended.log
    meant = (
        "treated as a GitLab job"
        if mixed.job.kind == "gitlab"
        else "no outputs are written for GitHub"
    )
    assert meant in ended.log
    assert not workflow_commands(ended.log)
    assert mixed.untouched()


def test_no_token_is_requested_from_github_in_another_system(mixed: Mixed) -> None:
    """A keyless login in another system's job takes that system's token, or none."""
    google = mixed.job.emulator
    login = {
        "workload-identity-provider": google.provider,
        "service-account": google.service_account,
    }
    url = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": google.oidc_url,
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": google.oidc_request_token,
    }
    ended = mixed.job.fail(
        3, {**RELEASE, "credentials": "", **login}, **{**mixed.variables, **url}
    )
    assert "There is no OIDC token" in ended.log
    assert "oidc.token" not in google.state()["requests"]


@pytest.mark.parametrize(
    "named", ["output", "workspace/_temp/_runner_file_commands/set_output_" + STEP]
)
def test_a_system_that_is_not_known_is_told_no_secret(
    tmp_path: Path, emulator: Emulator, foreign: dict[str, str], named: str
) -> None:
    """Its log would show what GitHub's runner masks, and an earlier job can name any file for the
    outputs.
    """
    job = with_bundle(tmp_path, emulator, "console")
    output = tmp_path / named
    output.parent.mkdir(parents=True, exist_ok=True)
    output.touch()
    made = {
        **foreign,
        "GITHUB_OUTPUT": str(output),
        "GITHUB_WORKSPACE": str(job.workspace),
    }
    ended = job.succeed(RELEASE, BUDDY="true", CI="true", **made)
    assert "add-mask" not in ended.log


@pytest.mark.parametrize(
    "inherited",
    [
        pytest.param(0o000, id="umask 0"),
        pytest.param(0o022, id="umask 022", marks=pytest.mark.slow),
        pytest.param(0o077, id="umask 077", marks=pytest.mark.slow),
    ],
)
def test_what_a_run_leaves_has_its_own_modes(job: Job, inherited: int) -> None:
    """GitLab's runner sets the umask to 0. What later jobs read is 0644, the state is for its owner
    alone.
    """
    job.emulator.add_fault(
        "play.bundles.upload+resumable.put", "status", status=503, after=600_000
    )
    report = job.workspace / "uploader.env"
    given = {**RELEASE, "max-retries": "0", "state-dir": "kept/state"}
    environ = {**job.environment(given), "UPLOADER_DOTENV": "uploader.env"}
    done = subprocess.run(
        [sys.executable, str(ENTRYPOINT)],
        env=environ,
        cwd=job.workspace,
        umask=inherited,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 75, done.stdout
    modes = {
        str(path.relative_to(job.workspace)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in (
            *job.workspace.glob("kept/**"),
            *job.workspace.glob("kept/**/*"),
            *job.workspace.glob("*.json"),
        )
    }
    assert (
        oct(stat.S_IMODE(report.stat().st_mode))
        == modes.pop("uploader-results.json")
        == "0o644"
    )
    assert modes.pop("kept") == ("0o700" if inherited == 0o077 else "0o755")
    assert modes.pop("kept/state") == "0o700"
    assert modes
    assert set(modes.values()) == {"0o600"}


def test_the_keys_of_connections_are_written_nowhere(tmp_path: Path) -> None:
    """SSLKEYLOGFILE, by which others could read the traffic, has no effect in the program."""
    code = (
        "import os, signal, sys, uploader.cli as cli\ndef run(environ, *more):\n    "
        "from urllib3.util.ssl_ import create_urllib3_context\n    import ssl\n    "
        "print([create_urllib3_context().keylog_filename, "
        "ssl.create_default_context().keylog_filename])\n    return 0\ncli.run = run\ncli.main([], "
        "[])\n"
    )
    environ = {**os.environ, "SSLKEYLOGFILE": str(tmp_path / "keys")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[None, None]\n"
    assert not (tmp_path / "keys").exists()
