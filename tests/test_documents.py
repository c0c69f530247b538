"""What the README and the pages show is run as it stands there, against the emulator where it names
Google.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.runner import gitlab
from tests.support.runner.gitlab import Project
from uploader import error_table
from uploader.retry import ADVICE
from uploader.services.play.known_errors import KNOWN_ERRORS

ROOT = Path(__file__).resolve().parent.parent
KEYLESS = ("workload-identity-provider", "service-account")
EXAMPLES = [path.relative_to(ROOT) for path in (ROOT / "examples").glob("*/*.yml")]
BUNDLE = Path("app/build/outputs/bundle/release/app-release.aab")


def blocks(page: str, language: str) -> Iterator[str]:
    """The fenced blocks of a page in one language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    yield from re.findall(
        rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )


def loaded(page: str, key: str) -> dict[str, Any]:
    """The one YAML block of a page that has this key on its first level."""
    (found,) = [
        document
        for block in blocks(page, "yaml")
        if isinstance(document := yaml.safe_load(block), dict) and key in document
    ]
    assert isinstance(found, dict)
    return found


def build(workspace: Path) -> None:
    """What `./gradlew bundleRelease` leaves behind."""
    (workspace / BUNDLE).parent.mkdir(parents=True)
    specimens.make_bundle(workspace / BUNDLE, "com.example.app", 7, "1.4.2")


def write_notes(folder: Path) -> None:
    """The release notes of one language, in the layout of upload-google-play."""
    folder.mkdir(parents=True)
    (folder / "whatsnew-en-US").write_text("Login works again.")


@pytest.mark.parametrize("login", ["a rehearsal", "keyless"])
def test_the_smallest_workflow_runs(job: Job, login: str) -> None:
    """Without an account, as the sentence below it says; and keyless, with the provider and account
    of the emulator.
    """
    google, workflow = job.emulator, loaded("README.md", "jobs")
    steps = workflow["jobs"]["release"]["steps"]
    (step,) = [
        step for step in steps if "google-release-uploader@" in step.get("uses", "")
    ]
    assert workflow["permissions"]["id-token"] == "write"
    given = {name: value for name, value in step["with"].items() if name not in KEYLESS}
    more = {}
    if login == "keyless":
        given |= dict(
            zip(KEYLESS, (google.provider, google.service_account), strict=True)
        )
        token = {"URL": google.oidc_url, "TOKEN": google.oidc_request_token}
        more = {
            f"ACTIONS_ID_TOKEN_REQUEST_{name}": value for name, value in token.items()
        }
    build(job.workspace)
    endpoint = google.url if login == "keyless" else "emulator"
    done = job.succeed({"credentials": "", **given, "api-endpoint": endpoint}, **more)
    assert (done.outputs["version-code"], done.outputs["rehearsal"]) == (
        "7",
        str(login == "a rehearsal").lower(),
    )


def test_the_staged_rollout_of_the_readme_runs(job: Job) -> None:
    (steps,) = [
        document
        for block in blocks("README.md", "yaml")
        if isinstance(document := yaml.safe_load(block), list)
    ]
    given = {
        name: value for name, value in steps[0]["with"].items() if name not in KEYLESS
    }
    build(job.workspace)
    write_notes(job.workspace / given["whats-new-directory"])
    job.emulator.console.add_release(
        "com.example.app", "production", {"versionCodes": ["6"]}
    )
    done = job.succeed(given)
    assert (done.outputs["user-fraction"], done.outputs["lifecycle"]) == (
        "0.05",
        "PUBLISHED",
    )


@pytest.mark.slow
def test_the_lines_for_a_shell_run(tmp_path: Path) -> None:
    """All of them but the installation, which the test of the wheel carries out."""
    (block,) = [
        block
        for block in blocks("README.md", "sh")
        if "google_emulator.specimens" in block
    ]
    environment, install, *lines = block.splitlines()
    assert environment.startswith("python3 -m venv ")
    assert install == "pip install ."
    folder = str(Path(sys.executable).parent)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ended = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "version-code=42" in ended.stdout


REHEARSALS = "".join(
    block
    for block in blocks("docs/RECIPES.md", "sh")
    if block.startswith("uploader --api-endpoint")
)
ENDS = (
    "promoted from internal to beta",
    "is now at 50 % on",
    "is halted on",
    "2 goes from 10 % to 20 %",
)


@pytest.mark.parametrize(
    ("line", "said"),
    list(zip(REHEARSALS.replace("\\\n", "").splitlines(), ENDS, strict=True)),
)
def test_the_lines_that_rehearse_do_as_they_say(
    tmp_path: Path, line: str, said: str
) -> None:
    """A promotion, a wider share, a halt and a step of `play-rollout`, each in an emulator of its
    own.
    """
    folder = str(Path(sys.executable).parent)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    words = ["bash", "-c", line]
    ended = subprocess.run(
        words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert said in ended.stdout.splitlines()[-1]


@pytest.mark.slow
def test_the_lines_that_rehearse_a_sequence_run(tmp_path: Path) -> None:
    """The second run finds in the emulator what the first one released."""
    (block,) = [
        block
        for block in blocks("docs/RECIPES.md", "sh")
        if "google_emulator --port" in block
    ]
    build(tmp_path)
    (tmp_path / BUNDLE).rename(tmp_path / "app.aab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    folder = str(Path(sys.executable).parent)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ended = subprocess.run(
        ["bash", "-e", "-c", block.replace("8440", port)],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "1.4.2 (7) goes from internal to production" in ended.stdout


# The examples, and what the pages say of them


def example(name: str) -> dict[str, Any]:
    """One of the workflows in examples/github."""
    workflow = yaml.safe_load(
        (ROOT / "examples/github" / name).read_text(encoding="utf-8")
    )
    assert isinstance(workflow, dict)
    return workflow


def test_the_way_from_the_tag_to_production_runs(job: Job) -> None:
    """Both jobs of the complete example, keyless: what is on internal is promoted."""
    google = job.emulator
    google.console.add_release("com.example.app", "production", {"versionCodes": ["6"]})
    build(job.workspace)
    token = {"URL": google.oidc_url, "TOKEN": google.oidc_request_token}
    more = {f"ACTIONS_ID_TOKEN_REQUEST_{name}": value for name, value in token.items()}
    codes = "${{ needs.internal.outputs.version-codes }}"
    outputs: dict[str, str] = {}
    for body in example("tag-to-production.yml")["jobs"].values():
        assert body["environment"] == "play"
        given = {**body["steps"][-1]["with"]}
        given |= dict(
            zip(KEYLESS, (google.provider, google.service_account), strict=True)
        )
        if given.get("promote-version-codes") == codes:
            given["promote-version-codes"] = outputs["version-codes"]
        if "whats-new-directory" in given:
            write_notes(job.workspace / given["whats-new-directory"])
        outputs = job.succeed({"credentials": "", **given}, **more).outputs
    assert (outputs["version-codes"], outputs["user-fraction"]) == ("7", "0.1")


def test_the_example_signs_as_the_setup_says() -> None:
    (step,) = [
        step
        for block in blocks("docs/SETUP.md", "yaml")
        if isinstance(steps := yaml.safe_load(block), list)
        for step in steps
        if step["name"] == "Build and sign"
    ]
    steps = example("tag-to-production.yml")["jobs"]["internal"]["steps"]
    (signs,) = [step for step in steps if step.get("name") == "Build and sign"]
    assert signs["env"] == step["env"]
    assert signs["run"].replace("--no-daemon ", "") == step["run"]


def test_a_condition_of_the_setup_names_every_environment_of_the_examples() -> None:
    used = {
        job["environment"]
        for path in (ROOT / "examples/github").glob("*.yml")
        for job in example(path.name)["jobs"].values()
        if "environment" in job
    }
    page = (ROOT / "docs/SETUP.md").read_text(encoding="utf-8")
    conditions = re.findall(r"--attribute-condition=(.*assertion\.environment.*)", page)
    named = [
        set(re.findall(r"environment == '([\w-]+)'", condition))
        for condition in conditions
    ]
    assert named == [{"play"}, used]


def test_the_setup_creates_the_app_before_it_is_chosen() -> None:
    page = (ROOT / "docs/SETUP.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d)\. (.*)$", page, re.MULTILINE)
    assert [number for number, _ in headings] == [str(number) for number in range(1, 9)]
    names = [name for _, name in headings]
    assert names.index("Create the app") < names.index(
        "Invite the account in the Play Console"
    )


@pytest.mark.parametrize("page", ["README.md", *sorted(map(str, EXAMPLES))])
def test_a_bundle_is_shown_without_a_mapping(page: str) -> None:
    """R8 puts it into the bundle, and a build without R8 has none."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not re.search(r"^ *mapping-file:", text, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "key"),
    [
        ("README.md", "release"),
        ("docs/GITLAB.md", "include"),
        ("docs/GITLAB.md", "mirror"),
    ],
)
def test_what_is_shown_for_gitlab_runs(tmp_path: Path, page: str, key: str) -> None:
    """The job, and the component that a full URL includes, in a pipeline for a tag and in none for
    a branch.
    """
    gitlab.tool()
    documents = [yaml.safe_load(block) for block in blocks(page, "yaml")]
    key, mirrored = ("include", True) if key == "mirror" else (key, False)
    shown = [document for document in documents if key in document][mirrored]
    if key == "include":
        shown["include"][0] = {
            "local": "templates/upload.yml",
            "inputs": shown["include"][0]["inputs"],
        }
        inputs, values = shown["include"][0]["inputs"], {}
    else:
        inputs, values = {}, shown["release"]["variables"]
    with Emulator() as google:
        for place, name in (
            (inputs, str),
            (values, lambda name: f"UPLOADER_{name.upper().replace('-', '_')}"),
        ):
            if place:
                place[name(KEYLESS[0])], place[name(KEYLESS[1])] = (
                    google.provider,
                    google.service_account,
                )
                place[name("api-endpoint")] = google.url
        folder = tmp_path / "app"
        folder.mkdir()
        build(folder)
        project = Project(folder, gitlab.shell())
        branch = project.start(shown, UPLOADER_ID_TOKEN=google.id_token())
        assert not google.state()["edits"]["committed"], branch.log
        tag = project.start(
            shown, UPLOADER_ID_TOKEN=google.id_token(), CI_COMMIT_TAG="v1.4.2"
        )
        assert tag.code == 0, tag.log
        assert len(google.state()["edits"]["committed"]) == 1


REFUSED = re.findall(
    r"^`([\w-]+)` \| `(.+?)` \| (.+?) \| .+$",
    (ROOT / "docs/SETUP.md").read_text(encoding="utf-8").partition("<!--refused-->")[2],
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    REFUSED,
    ids=[f"{name}={value}" for name, value, _ in REFUSED],
)
def test_what_the_setup_calls_refused_is_refused_in_these_words(
    job: Job, name: str, value: str, words: str
) -> None:
    build(job.workspace)
    (job.workspace / "notes.txt").write_text("Login works again.")
    given = {
        "target": "play",
        "files": str(BUNDLE),
        "tracks": "alpha",
        "credentials": "",
    }
    if name in (*KEYLESS, "credentials"):
        given |= dict(
            zip(
                KEYLESS,
                (job.emulator.provider, job.emulator.service_account),
                strict=True,
            )
        )
    else:
        given["api-endpoint"] = "emulator"
    if name == "halt-above":
        given = {
            "target": "play-rollout",
            "package-name": "com.example.app",
            "tracks": "beta",
        }
    if name == "credentials":
        given = {name: one for name, one in given.items() if name not in KEYLESS}
    ended = job.run({**given, name: value})
    assert ended.code == (4 if name == "tracks" else 2), ended.log
    assert words.replace("%", "%25") in ended.log or words in ended.log
    assert not job.emulator.state()["edits"]["committed"]


def test_the_check_of_the_setup_runs(job: Job) -> None:
    (document,) = [
        yaml.safe_load(block)
        for block in blocks("docs/SETUP.md", "yaml")
        if "target: check" in block
    ]
    given = {
        name: value
        for name, value in document[0]["with"].items()
        if name not in KEYLESS
    }
    job.succeed(given)


WORKFLOWS = {
    target: yaml.safe_load(block)
    for block in blocks("docs/SETUP.md", "yaml")
    for target in re.findall(r"^          target: (\S+)$", block, re.MULTILINE)
}


def other_files(workspace: Path) -> None:
    """What the workflows of the other targets send."""
    (workspace / "CHANGES.txt").write_text("Login works again.")
    for folder in ("games", "out"):
        (workspace / folder).mkdir()
    specimens.make_image(workspace / "games/first-win.png", 512, 512)
    with zipfile.ZipFile(workspace / "out/ota.zip", "w") as package:
        package.writestr("payload.bin", b"payload")


@pytest.mark.parametrize("target", ["gmail", "play-games", "ota"])
def test_a_workflow_of_the_setup_runs(job: Job, target: str) -> None:
    google, workflow = job.emulator, WORKFLOWS[target]
    assert workflow["permissions"]["id-token"] == "write"
    ((*_, step),) = [one["steps"] for one in workflow["jobs"].values()]
    text = "${{ github.ref_name }}"
    given = {
        name: value.replace(text, "v1.4.2") for name, value in step["with"].items()
    }
    given |= dict(zip(KEYLESS, (google.provider, google.service_account), strict=True))
    token = {"URL": google.oidc_url, "TOKEN": google.oidc_request_token}
    more = {f"ACTIONS_ID_TOKEN_REQUEST_{name}": value for name, value in token.items()}
    other_files(job.workspace)
    ended = job.succeed({"credentials": "", **given}, **more)
    assert ended.outputs["failure"] == ""
    assert sum(google.state()["effects"].values()) + len(google.state()["objects"]) > 0


def test_every_failure_code_has_a_heading_to_link_to() -> None:
    """The summary links to it; an anchor that is there twice would lead to the wrong place."""
    sources = [
        path.read_text(encoding="utf-8") for path in (ROOT / "uploader").rglob("*.py")
    ]
    codes = {
        code
        for source in sources
        for code in re.findall(r'\bcode(?:: str)? ?= ?"([a-z-]+)"', source)
    }
    codes |= {*ADVICE, *(entry.code for entry in error_table.of_source("login"))}
    codes |= {known.code for known in KNOWN_ERRORS}
    text = (ROOT / "docs" / "TROUBLESHOOTING.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert len(codes) > 90
    assert codes <= {*headings}
    assert not re.search(r"^### (….*|[a-z-]+\n\n[#<].*)", text, re.MULTILINE), (
        "a code without a name, or without words"
    )
    assert len(headings) == len({*headings})
