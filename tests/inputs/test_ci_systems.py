"""Which CI system this is, when the variables of several are set, and whose variables are then
read.
"""

from __future__ import annotations

import shutil
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
STEP = "0b0a2a5c-7bfa-4b5e-9e44-0d3a3f1f4a51"
RUN = "0123456789abcdef"


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
        "GITHUB_SERVER_URL": "https://evil.example",
    }


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the program works in, beside the runner's own."""
    folder = tmp_path / "app" / "app"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def output_file(folder: Path, path: str) -> dict[str, str]:
    """The variable that names this file for a step's outputs, and the file."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return {"GITHUB_OUTPUT": str(file)}


def platform(**variables: str) -> Platform:
    return inputs.read({"UPLOADER_TARGET": "gmail", **variables}, ())[0].platform


def reads_nothing_of_github(found: Platform) -> bool:
    files = (found.output_file, found.summary_file, found.temp)
    texts = (
        found.tag,
        found.oidc_request_url,
        found.oidc_request_token,
        found.server_url,
    )
    return files == (None, None, None) and set(texts) == {""}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_another_systems_mark_counts_before_githubs(
    foreign: dict[str, str], github: dict[str, str]
) -> None:
    """The runner is not told the secrets, and none of GitHub's variables is believed."""
    found = platform(**foreign, **github)
    assert (found.kind, found.takes_masks) == ("console", False)
    assert reads_nothing_of_github(found)
    assert found.run.id == ""
    assert f"{next(iter(foreign))} of " in found.doubt
    assert "GITHUB_ACTIONS of GitHub Actions" in found.doubt


@pytest.mark.parametrize("mark", ["true", "false", ""])
def test_a_gitlab_job_stays_one(
    mark: str, github: dict[str, str], tmp_path: Path
) -> None:
    """A dotenv report can blank GITLAB_CI, but it can't take the variable away."""
    found = platform(
        **github,
        GITLAB_CI=mark,
        CI_PROJECT_DIR=str(tmp_path),
        CI_COMMIT_TAG="v1",
        CI_PIPELINE_ID="7",
    )
    assert (found.kind, found.takes_masks, found.workspace) == (
        "gitlab",
        False,
        tmp_path,
    )
    assert found.dotenv_file == tmp_path / "uploader.env"
    assert (found.tag, found.run.id) == ("v1", "GitLab pipeline 7, job ")
    assert reads_nothing_of_github(Platform(**{**vars(found), "tag": ""}))


ON_MACHINES = {
    "GitHub's": f"_temp/_runner_file_commands/set_output_{STEP}",
    "act's without a container": f".cache/act/{RUN}/act/workflow/outputcmd.txt",
}
IN_CONTAINERS = {
    "GitHub's": f"/github/file_commands/set_output_{STEP}",
    "act's, Gitea's and Forgejo's": "/var/run/act/workflow/outputcmd.txt",
}


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("path", ON_MACHINES.values(), ids=ON_MACHINES)
def test_a_step_of_github_with_anothers_variable_keeps_its_outputs(
    path: str, github: dict[str, str], tmp_path: Path
) -> None:
    """`env: TF_BUILD: true` is for a compiler: the outputs arrive, while no secret is named to the
    runner.
    """
    own = output_file(tmp_path, path)
    output = Path(own["GITHUB_OUTPUT"])
    summary = output.with_name("step_summary_0b0a2a5c")
    real = {**github, **own, "GITHUB_STEP_SUMMARY": str(summary), "TF_BUILD": "true"}
    found = platform(**real)
    assert (found.kind, found.takes_masks, found.output_file) == (
        "github",
        False,
        output,
    )
    assert found.summary_file == summary
    assert (
        platform(
            **{**real, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        ).summary_file
        is None
    )
    assert "it is not asked to mask secrets" in found.doubt
    other = platform(**{**github, **own, "GITLAB_CI": "true"})
    assert (other.kind, other.output_file) == ("gitlab", None)


@pytest.mark.usefixtures("checkout")
def test_only_the_file_of_the_runner_is_one(
    github: dict[str, str], tmp_path: Path
) -> None:
    """Under another system no other file can be named, by a link or by any other name."""
    folder = tmp_path / "_temp" / "_runner_file_commands"
    folder.mkdir(parents=True)
    (folder / "other").touch()
    (folder / "set_output_1").touch()
    (folder / f"set_output_{STEP}").symlink_to(tmp_path / "output")
    absent = f"set_output_{STEP.replace('0', '1')}"
    for name in (
        "other",
        "set_output_1",
        f"set_output_{STEP}",
        absent,
        "../output",
        "x/../../output",
    ):
        assert (
            platform(
                **{**github, "GITHUB_OUTPUT": str(folder / name), "TF_BUILD": "1"}
            ).kind
            == "console"
        )


RUNNERS = [{}, {"ACT": "true"}, {"GITEA_ACTIONS": "true"}, {"FORGEJO_ACTIONS": "true"}]


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("more", RUNNERS, ids=str)
@pytest.mark.parametrize("path", ON_MACHINES.values(), ids=ON_MACHINES)
def test_runners_that_follow_github_are_told_the_secrets(
    path: str, more: dict[str, str], github: dict[str, str], tmp_path: Path
) -> None:
    """GitHub's, act, Gitea's and Forgejo's on a machine: each makes a file for the outputs, and
    obeys its commands.
    """
    found = platform(**{**github, **more, **output_file(tmp_path, path)})
    assert (found.kind, found.takes_masks, found.doubt) == ("github", True, "")
    assert (found.tag, found.server_url) == ("v6.6.6", "https://evil.example")


@pytest.mark.parametrize("path", IN_CONTAINERS.values(), ids=IN_CONTAINERS)
def test_a_runner_is_told_the_secrets_in_its_own_container(
    path: str, github: dict[str, str]
) -> None:
    """There the folder has one name, which no checkout has."""
    top = next(folder for folder in reversed(Path(path).parents) if not folder.exists())
    try:
        given = output_file(Path("/"), path)
    except PermissionError:
        pytest.skip("needs the right to make a folder where the runner does")
    try:
        assert platform(**{**github, **given}).takes_masks
        assert not platform(
            **{**github, **given, "GITHUB_ACTIONS": "false"}
        ).takes_masks
    finally:
        shutil.rmtree(top)


UNKNOWN = {"BUDDY": "true", "CI": "true"}  # a system of which nothing is known here


@pytest.mark.parametrize(
    "path", ["some.txt", *ON_MACHINES.values()], ids=["any file", *ON_MACHINES]
)
@pytest.mark.parametrize("place", ["where it works", "elsewhere in the repository"])
def test_an_unknown_system_is_told_no_secret(
    path: str, place: str, github: dict[str, str], checkout: Path
) -> None:
    """A dotenv report of an earlier job can name any file of the checkout, and its log shows what
    it is told.
    """
    folder = checkout
    if place != "where it works":
        folder = checkout.parent
        (folder / ".git").mkdir()
    found = platform(**{**UNKNOWN, **github, **output_file(folder, path)})
    assert (found.takes_masks, found.server_url) == (False, "")


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("without", ["GITHUB_ACTIONS", "GITHUB_OUTPUT"])
def test_a_part_of_github_is_told_no_secret(
    without: str, github: dict[str, str], tmp_path: Path
) -> None:
    """Outputs are written where a file is named for them; that the log is watched by a runner is
    not certain then.
    """
    github |= output_file(tmp_path, ON_MACHINES["GitHub's"])
    assert platform(**github).takes_masks
    del github[without]
    found = platform(**github)
    assert (found.kind, found.takes_masks) == ("github", False)
    assert not platform(
        GITHUB_ACTIONS="true", GITHUB_OUTPUT="/nowhere/output"
    ).takes_masks


def test_gitlabs_variables_mean_nothing_to_github(github: dict[str, str]) -> None:
    """A workflow may use them for anything."""
    del github["GITHUB_REF_TYPE"]
    gitlab = {
        "CI_COMMIT_TAG": "v9",
        "CI_NODE_INDEX": "1",
        "CI_NODE_TOTAL": "5",
        "CI_DEBUG_TRACE": "true",
    }
    found = platform(
        **github, **gitlab, CI_PROJECT_DIR="/elsewhere", CI_PIPELINE_ID="3"
    )
    assert (found.kind, found.tag, found.node, found.debug) == ("github", "", "", False)
    assert found.workspace == Path("/")


def test_woodpecker_gives_the_tag_under_gitlabs_name() -> None:
    """As its documents say; no other system does."""
    assert platform(CI_SYSTEM_NAME="woodpecker", CI_COMMIT_TAG="v2").tag == "v2"
    assert platform(JENKINS_URL="https://ci.example/", CI_COMMIT_TAG="v2").tag == ""


@given(
    st.dictionaries(
        st.sampled_from([name for marks in FOREIGN.values() for name in marks]),
        st.text(max_size=4),
        min_size=1,
    ),
    st.dictionaries(
        st.sampled_from(
            [
                "GITHUB_ACTIONS",
                "GITEA_ACTIONS",
                "ACT",
                "RUNNER_OS",
                "GITHUB_RUN_ID",
                "GITHUB_WORKSPACE",
            ]
        ),
        st.sampled_from(["true", "1", "/"]),
    ),
    st.sampled_from(
        [
            __file__,
            "/dev/stdout",
            "/etc/hosts",
            "",
            ".",
            "relative",
            f"/_temp/_runner_file_commands/set_output_{STEP}",
        ]
    ),
)
def test_no_combination_makes_another_systems_job_one_of_github(
    marks: dict[str, str], github: dict[str, str], output: str
) -> None:
    """Whatever else is set: no secret is named, and no file is written that another system's job
    was made to name.
    """
    found = platform(
        **marks,
        **github,
        GITHUB_OUTPUT=output,
        GITHUB_STEP_SUMMARY=output,
        RUNNER_TEMP=output,
    )
    assert (found.kind, found.takes_masks) == ("console", False)
    assert reads_nothing_of_github(found)
