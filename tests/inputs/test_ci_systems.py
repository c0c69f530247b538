"""Which CI system this is, when the variables of several are set, and whose variables are then read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader import inputs
from uploader.inputs import Platform

FOREIGN = {
    "Azure Pipelines": {"TF_BUILD": "True"},
    "Jenkins": {"JENKINS_URL": "https://ci.example/"},
    "CircleCI": {"CIRCLECI": "true"},
    "Bitbucket Pipelines": {"BITBUCKET_BUILD_NUMBER": "7"},
    "TeamCity": {"TEAMCITY_VERSION": "2025.07"},
    "Buildkite": {"BUILDKITE": "true"},
    "Travis CI": {"TRAVIS": "true"},
    "Drone": {"DRONE": "true"},
    "Woodpecker": {"CI_SYSTEM_NAME": "woodpecker"},
    "AWS CodeBuild": {"CODEBUILD_BUILD_ID": "a:b"},
    "a blanked mark": {"TF_BUILD": ""},
}


@pytest.fixture
def github(tmp_path: Path) -> dict[str, str]:
    """What a job may be made to set in GitHub's name, with files that are there."""
    for name in ("output", "summary"):
        (tmp_path / name).touch()
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": "/",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_RUN_ID": "9",
        "GITHUB_REF_TYPE": "tag",
        "GITHUB_REF_NAME": "v6.6.6",
        "RUNNER_TEMP": str(tmp_path),
        "RUNNER_OS": "Linux",
        "ACTIONS_ID_TOKEN_REQUEST_URL": "https://evil.example/",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "evil",
    }


def platform(**variables: str) -> Platform:
    return inputs.read({"UPLOADER_TARGET": "gmail", **variables}, ())[0].platform


def reads_nothing_of_github(found: Platform) -> bool:
    files = (found.output_file, found.summary_file, found.temp)
    return files == (None, None, None) and found.tag == found.oidc_request_url == found.oidc_request_token == ""


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_another_systems_mark_counts_before_githubs(foreign: dict[str, str], github: dict[str, str]) -> None:
    """The runner is not told the secrets, and none of GitHub's variables is believed."""
    found = platform(**foreign, **github)
    assert (found.kind, found.takes_masks) == ("console", False)
    assert reads_nothing_of_github(found)
    assert found.run.id == ""
    assert f"{next(iter(foreign))} of " in found.doubt
    assert "GITHUB_ACTIONS of GitHub Actions" in found.doubt


@pytest.mark.parametrize("mark", ["true", "false", ""])
def test_a_gitlab_job_stays_one(mark: str, github: dict[str, str], tmp_path: Path) -> None:
    """A dotenv report can blank GITLAB_CI, but it can't take the variable away."""
    found = platform(**github, GITLAB_CI=mark, CI_PROJECT_DIR=str(tmp_path), CI_COMMIT_TAG="v1", CI_PIPELINE_ID="7")
    assert (found.kind, found.takes_masks, found.workspace) == ("gitlab", False, tmp_path)
    assert found.dotenv_file == tmp_path / "uploader.env"
    assert (found.tag, found.run.id) == ("v1", "GitLab pipeline 7, job ")
    assert reads_nothing_of_github(Platform(**{**vars(found), "tag": ""}))


@pytest.mark.parametrize("folder", ["_temp/_runner_file_commands", "github/file_commands"])
def test_a_step_of_github_with_anothers_variable_keeps_its_outputs(
    folder: str, github: dict[str, str], tmp_path: Path
) -> None:
    """`env: TF_BUILD: true` is for a compiler: the outputs arrive, while no secret is named to the runner."""
    output = tmp_path / folder / "set_output_0b0a2a5c-7bfa-4b5e-9e44-0d3a3f1f4a51"
    output.parent.mkdir(parents=True)
    output.touch()
    summary = output.with_name("step_summary_0b0a2a5c")
    real = {**github, "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "TF_BUILD": "true"}
    found = platform(**real)
    assert (found.kind, found.takes_masks, found.output_file) == ("github", False, output)
    assert found.summary_file == summary
    assert platform(**{**real, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}).summary_file is None
    assert "it is not asked to mask secrets" in found.doubt
    other = platform(**{**github, "GITHUB_OUTPUT": str(output), "GITLAB_CI": "true"})
    assert (other.kind, other.output_file) == ("gitlab", None)


def test_only_the_file_of_the_runner_is_one(github: dict[str, str], tmp_path: Path) -> None:
    """Under another system no other file can be named, by a link or by any other name."""
    folder = tmp_path / "_runner_file_commands"
    folder.mkdir()
    (folder / "other").touch()
    (folder / "set_output_link").symlink_to(tmp_path / "output")
    for name in ("other", "set_output_link", "set_output_absent", "../output", "x/../../output"):
        assert platform(**{**github, "GITHUB_OUTPUT": str(folder / name), "TF_BUILD": "1"}).kind == "console"


@pytest.mark.parametrize("more", [{}, {"ACT": "true"}, {"GITEA_ACTIONS": "true"}, {"FORGEJO_ACTIONS": "true"}], ids=str)
def test_runners_that_follow_github_are_told_the_secrets(more: dict[str, str], github: dict[str, str]) -> None:
    """GitHub's, act, Gitea's and Forgejo's: each makes a file for the outputs, and obeys the same commands."""
    found = platform(**github, **more)
    assert (found.kind, found.takes_masks, found.doubt) == ("github", True, "")
    assert found.tag == "v6.6.6"


@pytest.mark.parametrize("without", ["GITHUB_ACTIONS", "GITHUB_OUTPUT"])
def test_a_part_of_github_is_told_no_secret(without: str, github: dict[str, str]) -> None:
    """Outputs are written where a file is named for them; that the log is watched by a runner is not certain then."""
    del github[without]
    found = platform(**github)
    assert (found.kind, found.takes_masks) == ("github", False)
    assert not platform(GITHUB_ACTIONS="true", GITHUB_OUTPUT="/nowhere/output").takes_masks


def test_gitlabs_variables_mean_nothing_to_github(github: dict[str, str]) -> None:
    """A workflow may use them for anything."""
    del github["GITHUB_REF_TYPE"]
    gitlab = {"CI_COMMIT_TAG": "v9", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "5", "CI_DEBUG_TRACE": "true"}
    found = platform(**github, **gitlab, CI_PROJECT_DIR="/elsewhere", CI_PIPELINE_ID="3")
    assert (found.kind, found.tag, found.node, found.debug) == ("github", "", "", False)
    assert found.workspace == Path("/")


def test_woodpecker_gives_the_tag_under_gitlabs_name() -> None:
    """As its documents say; no other system does."""
    assert platform(CI_SYSTEM_NAME="woodpecker", CI_COMMIT_TAG="v2").tag == "v2"
    assert platform(JENKINS_URL="https://ci.example/", CI_COMMIT_TAG="v2").tag == ""


@given(
    st.dictionaries(
        st.sampled_from([name for marks in FOREIGN.values() for name in marks]), st.text(max_size=4), min_size=1
    ),
    st.dictionaries(
        st.sampled_from(["GITHUB_ACTIONS", "GITEA_ACTIONS", "ACT", "RUNNER_OS", "GITHUB_RUN_ID", "GITHUB_WORKSPACE"]),
        st.sampled_from(["true", "1", "/"]),
    ),
    st.sampled_from(
        [__file__, "/dev/stdout", "/etc/hosts", "", ".", "relative", "/_runner_file_commands/set_output_1"]
    ),
)
def test_no_combination_makes_another_systems_job_one_of_github(
    marks: dict[str, str], github: dict[str, str], output: str
) -> None:
    """Whatever else is set: no secret is named, and no file is written that another system's job was made to name."""
    found = platform(**marks, **github, GITHUB_OUTPUT=output, GITHUB_STEP_SUMMARY=output, RUNNER_TEMP=output)
    assert (found.kind, found.takes_masks) == ("console", False)
    assert reads_nothing_of_github(found)
