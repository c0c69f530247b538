"""The component as GitLab runs it: typed inputs, a dotenv report that later jobs read, a retry that goes on."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from google_emulator import Emulator, specimens
from scripts import make_reference
from tests.support.runner import gitlab
from tests.support.runner.gitlab import Project

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = [{"when": "on_success"}]  # instead of the component's own rule, which is for tags
EXECUTORS: dict[str, Callable[[], Sequence[str]]] = {"shell": gitlab.shell, "containers": gitlab.containers}


@pytest.fixture(params=EXECUTORS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """A repository with a bundle, for each executor that this machine has."""
    gitlab.tool()
    executor = EXECUTORS[request.param]()
    folder = tmp_path / "app"
    (folder / "wear").mkdir(parents=True)
    specimens.make_bundle(folder / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=1_000_000)
    specimens.make_bundle(folder / "wear" / "app.aab", "com.example.app", 8, "1.4.2")
    return Project(folder, executor)


def included(**changes: Any) -> dict[str, object]:
    """The component with these inputs, by their names with underscores."""
    given = {"image": os.environ.get("UPLOADER_TEST_IMAGE", "none"), "target": "play", "files": "*.aab"}
    given |= {
        name.replace("_", "-"): value for name, value in {"tracks": "internal", "rules": ALWAYS, **changes}.items()
    }
    return {"local": "templates/upload.yml", "inputs": given}


def encoded(google: Emulator) -> str:
    """A key as a masked variable can hold it."""
    return base64.b64encode(json.dumps(google.key).encode()).decode()


def words(log: str) -> str:
    """The log without the colours and the columns in front."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", log)


def later(line: str, stage: str = ".post", **more: Any) -> dict[str, Any]:
    """A job that prints a line of variables, in a shell of its own."""
    image = os.environ.get("UPLOADER_TEST_IMAGE", "none")
    return {"stage": stage, "image": {"name": image, "entrypoint": [""]}, "script": [f'echo "{line}"'], **more}


def test_a_later_job_reads_the_outputs(project: Project) -> None:
    """The dotenv report brings ids and counters into the next job's environment, and no secret into any log."""
    with Emulator() as google:
        configuration: dict[str, object] = {"include": [included(api_endpoint=google.url)]}
        configuration["tell"] = later("code=$UPLOADER_VERSION_CODE edit=$UPLOADER_EDIT_ID done=$UPLOADER_COMMITTED")
        pipeline = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert pipeline.code == 0, pipeline.log
        (edit,) = google.state()["edits"]["committed"]
        assert f"code=7 edit={edit['id']} done=true" in words(pipeline.log)
        assert not [token for token in google.authority.tokens if token in pipeline.log]
    assert "com.example.app 1.4.2 (7) is released on internal." in words(pipeline.log)
    assert "::" not in words(pipeline.log).replace("https::", "")


def test_a_temporary_failure_keeps_the_upload_for_the_next_attempt(project: Project) -> None:
    """The job ends with 75, which `retry` names, and the cache brings the sealed session to the job that follows.

    gitlab-ci-local does not retry by exit code, so the next attempt is a pipeline of its own.
    """
    cut = {"on": "play.bundles.upload+resumable.put", "do": "status", "status": 503, "after": 600_000}
    with Emulator([cut]) as google:
        configuration: dict[str, object] = {"include": [included(api_endpoint=google.url, max_retries=0)]}
        configuration["tell"] = later("resumed=$UPLOADER_RESUMED bytes=$UPLOADER_BYTES_UPLOADED")
        first = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert first.code != 0
        assert "FAIL 75" in words(first.log)
        again = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert again.code == 0, again.log
        (stored,) = google.state()["objects"]
    assert stored["size"] == 1_000_000
    assert f"resumed=true bytes={1_000_000 - 2 * 262_144}" in words(again.log)  # whole granules are what a server keeps
    component = (ROOT / "templates/upload.yml").read_text(encoding="utf-8")
    assert "\n  retry:\n    max: 2\n    exit_codes: [75]\n" in component


def test_two_jobs_share_an_edit(project: Project) -> None:
    """The second job finds the first one's outputs in its environment: one is its input, none is a mistake."""
    with Emulator() as google:
        first = included(job_name="open", stage="build", commit=False, api_endpoint=google.url)
        second = included(
            job_name="commit", files="wear/*.aab", tracks="alpha", existing_edit_id="$UPLOADER_EDIT_ID",
            api_endpoint=google.url,
        )  # fmt: skip
        pipeline = project.start({"include": [first, second]}, UPLOADER_CREDENTIALS=encoded(google))
        state = google.state()
    assert pipeline.code == 0, pipeline.log
    (edit,) = state["edits"]["committed"]
    assert {name for name, track in edit["tracks"].items() if track} == {"internal", "alpha"}
    assert not state["edits"]["open"]


def test_a_keyless_job_takes_gitlabs_token(project: Project) -> None:
    """The token of `id_tokens` is exchanged; the runner of these tests has none of its own, so it is given."""
    with Emulator() as google:
        login = {"workload_identity_provider": google.provider, "service_account": google.service_account}
        configuration: dict[str, object] = {"include": [included(api_endpoint=google.url, **login)]}
        pipeline = project.start(configuration, UPLOADER_ID_TOKEN=google.id_token())
        assert google.state()["requests"]["sts.token"] == 1
    assert pipeline.code == 0, pipeline.log
    assert "eyJ" not in pipeline.log


@pytest.mark.parametrize(
    "wrong", [{"dry_run": "maybe"}, {"status": "done"}, {"max_retries": "many"}, {"target": 4}], ids=str
)
def test_a_wrong_input_is_refused_before_any_job_starts(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """The inputs are typed, so GitLab refuses the pipeline itself."""
    gitlab.tool()
    pipeline = Project(tmp_path, gitlab.shell()).start({"include": [included(**wrong)]})
    assert pipeline.code != 0
    assert next(iter(wrong)).replace("_", "-") in words(pipeline.log)
    assert "starting" not in pipeline.log


HOSTILE = {  # what an earlier job's dotenv report may set: it outranks the job's own variables
    **{f"{prefix}_API_ENDPOINT": "https://evil.example" for prefix in ("UPLOADER", "INPUT")},
    "UPLOADER_WORKLOAD_IDENTITY_PROVIDER": "projects/6/locations/global/workloadIdentityPools/evil/providers/evil",
    "UPLOADER_SERVICE_ACCOUNT": "evil@evil.iam.gserviceaccount.com",
    "UPLOADER_IMPERSONATE_USER": "evil@example.com",
    "UPLOADER_ENV_FILE": "evil.env",
}


@pytest.mark.parametrize("given", [{}, {"api-endpoint": "https://good.example:8443"}, {"service-account": "$MY_USER"}])
def test_a_dotenv_report_does_not_say_where_secrets_go(tmp_path: Path, given: dict[str, str]) -> None:
    """The component's inputs of that kind are options or nothing; the script runs in a plain shell, as in the job."""
    _, job = yaml.safe_load_all((ROOT / "templates/upload.yml").read_text(encoding="utf-8"))
    (job,) = (value for value in job.values())
    (line,) = job["script"]
    for name in make_reference.OPTIONS:
        line = line.replace(f"$[[ inputs.{name} ]]", given.get(name, ""))
    (tmp_path / "uploader").write_text('#!/bin/sh\nfor word; do echo "$word"; done\nenv\n')
    (tmp_path / "uploader").chmod(0o755)
    environment = {**HOSTILE, "MY_USER": "me@example.com", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-euc", line], env=environment, capture_output=True, text=True, check=True)
    assert "evil" not in done.stdout
    words = [
        word for name, value in given.items() for word in (f"--{name}", value.replace("$MY_USER", "me@example.com"))
    ]
    assert done.stdout.splitlines()[: len(words)] == words
    assert (
        not {f"UPLOADER_{name.replace('-', '_').upper()}" for name in make_reference.OPTIONS} & job["variables"].keys()
    )
    assert job["artifacts"]["access"] == "developer"


@pytest.mark.parametrize(
    "value", ["`id`", "$(id)", "${HOME}", '"; id; "', "a b", "a\nb", "a'", "a;b", "a|b", "a\\b", "a&b"]
)
def test_what_stands_in_the_script_is_one_word(value: str) -> None:
    """GitLab refuses an input that could be more than a word or a variable to the shell."""
    head, _ = yaml.safe_load_all((ROOT / "templates/upload.yml").read_text(encoding="utf-8"))
    for name in make_reference.OPTIONS:
        assert not re.fullmatch(head["spec"]["inputs"][name]["regex"].strip("^$"), value)
