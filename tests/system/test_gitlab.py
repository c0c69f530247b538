"""The component as GitLab runs it: typed inputs, a dotenv report that later jobs read, a retry that
goes on.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
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

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# instead of the component's own rule, which is for tags
ALWAYS = [{"when": "on_success"}]
EXECUTORS: dict[str, Callable[[], Sequence[str]]] = {
    "shell": gitlab.shell,
    "containers": gitlab.containers,
}


@pytest.fixture(params=EXECUTORS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """A repository with a bundle, for each executor that this machine has."""
    gitlab.tool()
    executor = EXECUTORS[request.param]()
    folder = tmp_path / "app"
    (folder / "wear").mkdir(parents=True)
    specimens.make_bundle(
        folder / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=1_000_000
    )
    specimens.make_bundle(folder / "wear" / "app.aab", "com.example.app", 8, "1.4.2")
    return Project(folder, executor)


def included(**changes: Any) -> dict[str, object]:
    """The component with these inputs, by their names with underscores."""
    given = {
        "image": os.environ.get("UPLOADER_TEST_IMAGE", "none"),
        "target": "play",
        "files": "*.aab",
    }
    given |= {
        name.replace("_", "-"): value
        for name, value in {"tracks": "internal", "rules": ALWAYS, **changes}.items()
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
    return {
        "stage": stage,
        "image": {"name": image, "entrypoint": [""]},
        "script": [f'echo "{line}"'],
        **more,
    }


def test_a_later_job_reads_the_outputs(project: Project) -> None:
    """The dotenv report brings ids and counters into the next job's environment, and no secret into
    any log.
    """
    with Emulator() as google:
        configuration: dict[str, object] = {
            "include": [included(api_endpoint=google.url)]
        }
        configuration["tell"] = later(
            "code=$UPLOADER_VERSION_CODE edit=$UPLOADER_EDIT_ID done=$UPLOADER_COMMITTED"
        )
        pipeline = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert pipeline.code == 0, pipeline.log
        (edit,) = google.state()["edits"]["committed"]
        assert f"code=7 edit={edit['id']} done=true" in words(pipeline.log)
        assert not [token for token in google.authority.tokens if token in pipeline.log]
    assert "com.example.app 1.4.2 (7) is released on internal." in words(pipeline.log)
    assert "::" not in words(pipeline.log).replace("https::", "")


def test_a_temporary_failure_keeps_the_upload_for_the_next_attempt(
    project: Project,
) -> None:
    """The job ends with 75, which `retry` names, and the cache brings the sealed session to the job
    that follows.

    gitlab-ci-local does not retry by exit code, so the next attempt is a pipeline of its own.
    """
    cut = {
        "on": "play.bundles.upload+resumable.put",
        "do": "status",
        "status": 503,
        "after": 600_000,
    }
    with Emulator([cut]) as google:
        configuration: dict[str, object] = {
            "include": [included(api_endpoint=google.url, max_retries=0)]
        }
        configuration["tell"] = later(
            "resumed=$UPLOADER_RESUMED bytes=$UPLOADER_BYTES_UPLOADED"
        )
        first = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert first.code != 0
        assert "FAIL 75" in words(first.log)
        again = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert again.code == 0, again.log
        (stored,) = google.state()["objects"]
    assert stored["size"] == 1_000_000
    # whole granules are what a server keeps
    assert f"resumed=true bytes={1_000_000 - 2 * 262_144}" in words(again.log)
    component = (ROOT / "templates/upload.yml").read_text(encoding="utf-8")
    assert "\n  retry:\n    max: 2\n    exit_codes: [75]\n" in component


def test_two_jobs_share_an_edit(project: Project) -> None:
    """The second job finds the first one's outputs in its environment: it takes one as an input,
    and the others are no mistakes.
    """
    with Emulator() as google:
        first = included(
            job_name="open", stage="build", commit=False, api_endpoint=google.url
        )
        second = included(
            job_name="commit",
            files="wear/*.aab",
            tracks="alpha",
            existing_edit_id="$UPLOADER_EDIT_ID",
            api_endpoint=google.url,
        )
        pipeline = project.start(
            {"include": [first, second]}, UPLOADER_CREDENTIALS=encoded(google)
        )
        state = google.state()
    assert pipeline.code == 0, pipeline.log
    (edit,) = state["edits"]["committed"]
    assert {name for name, track in edit["tracks"].items() if track} == {
        "internal",
        "alpha",
    }
    assert not state["edits"]["open"]


def test_a_keyless_job_takes_gitlabs_token(project: Project) -> None:
    """The token of `id_tokens` is exchanged; the runner of these tests has none of its own, so it
    is given.
    """
    with Emulator() as google:
        login = {
            "workload_identity_provider": google.provider,
            "service_account": google.service_account,
        }
        configuration: dict[str, object] = {
            "include": [included(api_endpoint=google.url, **login)]
        }
        pipeline = project.start(configuration, UPLOADER_ID_TOKEN=google.id_token())
        assert google.state()["requests"]["sts.token"] == 1
    assert pipeline.code == 0, pipeline.log
    assert "eyJ" not in pipeline.log


@pytest.mark.parametrize(
    "wrong",
    [{"dry_run": "maybe"}, {"status": "done"}, {"max_retries": "many"}, {"target": 4}],
    ids=str,
)
def test_a_wrong_input_is_refused_before_any_job_starts(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    """The inputs are typed, so GitLab refuses the pipeline itself."""
    gitlab.tool()
    pipeline = Project(tmp_path, gitlab.shell()).start({"include": [included(**wrong)]})
    assert pipeline.code != 0
    assert next(iter(wrong)).replace("_", "-") in words(pipeline.log)
    assert "starting" not in pipeline.log


LIBRARIES = (  # what the loader, Python, OpenSSL, requests and google-auth obey
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "BASH_ENV",
    "ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSLKEYLOGFILE",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",
    "GCE_METADATA_HOST",
    "GCE_METADATA_IP",
    "GCE_METADATA_ROOT",
    "GITHUB_ACTIONS",
    "GITHUB_OUTPUT",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_WORKSPACE",
    "RUNNER_TEMP",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "UPLOADER_DOTENV",
    "UPLOADER_STATE_KEY",
    "INPUT_CREDENTIALS",
    "INPUT_STATE_KEY",
    "INPUT_FILES",
    "GITHUB_ENV",
    "GITHUB_STATE",
    "GITHUB_PATH",
    "GITHUB_SERVER_URL",
    "GITHUB_REF",
    "GITHUB_SHA",
    "RUNNER_DEBUG",
    "ACT",
    "GITEA_ACTIONS",
    "FORGEJO_ACTIONS",
    "TF_BUILD",
    "TEAMCITY_VERSION",
    "JENKINS_URL",
    "CI_SYSTEM_NAME",
    "LD_SHOW_AUXV",
    "LD_BIND_NOT",
    "MALLOC_TRACE",
    "LOCPATH",
    "NETRC",
    "PYTHONMALLOC",
    "Https_Proxy",
    "name",
    "PYTHON_GIL",
    "GOOGLE_CLOUD_UNIVERSE_DOMAIN",
    "AWS_CA_BUNDLE",
    "CDPATH",
    "uploader_state_key",
)
# values with which a shell still starts; most would end the program or send it elsewhere
HARMLESS = {
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "LD_PRELOAD": "/nowhere/evil.so",
    "OPENSSL_CONF": "/nowhere/openssl.cnf",
    "SSLKEYLOGFILE": "keys.txt",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "REQUESTS_CA_BUNDLE": "/nowhere/ca.pem",
    "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/key.json",
    "CLOUDSDK_CONFIG": "/nowhere",
    "INPUT_CREDENTIALS": "/nowhere/key.json",
    "UPLOADER_DOTENV": "elsewhere.env",
    "GITHUB_ACTIONS": "true",
    "GITHUB_OUTPUT": "planted.txt",
    "GITHUB_STEP_SUMMARY": "planted.txt",
    "RUNNER_TEMP": ".",
    "ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:9/",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "evil",
}


def test_a_release_after_a_job_with_a_hostile_report(project: Project) -> None:
    """The pipeline ends well: the key is not shown, no file that the report names is written, and
    the release writes a report of its own.
    """
    (project.folder / "planted.txt").write_text("before\n")
    lines = [f"echo '{name}={value}' >>evil.env" for name, value in HARMLESS.items()]
    with Emulator() as google:
        first = later(
            "a build", stage="build", artifacts={"reports": {"dotenv": "evil.env"}}
        )
        first["script"] = lines
        configuration: dict[str, object] = {
            "include": [included(api_endpoint=google.url)],
            "hostile": first,
        }
        configuration["tell"] = later(
            "code=$UPLOADER_VERSION_CODE token=$ACTIONS_ID_TOKEN_REQUEST_TOKEN"
        )
        pipeline = project.start(configuration, UPLOADER_CREDENTIALS=encoded(google))
        assert pipeline.code == 0, pipeline.log
        assert json.dumps(google.key["private_key"])[1:-1] not in pipeline.log
        assert google.state()["edits"]["committed"]
    # the report does reach later jobs
    assert "code=7 token=evil" in words(pipeline.log)
    assert "The proxy in this job's variables is not used." in words(pipeline.log)
    assert "add-mask" not in pipeline.log
    assert "several CI systems" not in pipeline.log
    assert (project.folder / "planted.txt").read_text() == "before\n"
    assert not [
        *project.folder.rglob("keys.txt"),
        *project.folder.rglob("elsewhere.env"),
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("files", "UPLOADER_FILES"),
        ("user_fraction", "UPLOADER_USER_FRACTION"),
        ("existing_edit_id", "UPLOADER_EXISTING_EDIT_ID"),
        ("api_endpoint", "--api-endpoint"),
    ],
)
def test_a_variable_without_a_value_is_no_input_that_was_left_out(
    project: Project, name: str, told: str
) -> None:
    """The component passes on what it is given; a plain job has the variable itself. Both end with
    2.
    """
    given = {
        "tracks": "production",
        "status": "completed",
        "package_name": "com.example.app",
    }
    with Emulator() as google:
        component = included(**{**given, "api_endpoint": google.url, name: "$MY_VALUE"})
        pipeline = project.start(
            {"include": [component]}, UPLOADER_CREDENTIALS=encoded(google), MY_VALUE=""
        )
        assert not google.state()["requests"]
    assert "FAIL 2" in words(pipeline.log), pipeline.log
    assert f"{told}: is empty" in words(pipeline.log)


def test_an_empty_variable_of_a_plain_job_is_a_mistake(project: Project) -> None:
    """A variable that is not set at all is no mistake."""
    image = {"name": os.environ.get("UPLOADER_TEST_IMAGE", "none"), "entrypoint": [""]}
    variables = {
        "UPLOADER_TARGET": "play",
        "UPLOADER_FILES": "app.aab",
        "UPLOADER_TRACKS": "internal",
    }
    with Emulator() as google:
        variables["UPLOADER_API_ENDPOINT"] = google.url
        emptied = {
            "image": image,
            "script": ["uploader"],
            "variables": {**variables, "UPLOADER_USER_FRACTION": ""},
        }
        first = project.start(
            {"release": emptied}, UPLOADER_CREDENTIALS=encoded(google)
        )
        assert not google.state()["requests"]
        left_out = {**emptied, "variables": variables}
        second = project.start(
            {"release": left_out}, UPLOADER_CREDENTIALS=encoded(google)
        )
    assert "FAIL 2" in words(first.log), first.log
    assert (
        "UPLOADER_USER_FRACTION: is empty, so the release would not be limited to a share of users."
        in words(first.log)
    )
    assert second.code == 0, second.log


HOSTILE = {  # what an earlier job's dotenv report may set: it outranks the job's own variables
    **{
        f"{prefix}_API_ENDPOINT": "https://evil.example"
        for prefix in ("UPLOADER", "INPUT")
    },
    "UPLOADER_WORKLOAD_IDENTITY_PROVIDER": (
        "projects/6/locations/global/workloadIdentityPools/evil/providers/evil"
    ),
    "UPLOADER_SERVICE_ACCOUNT": "evil@evil.iam.gserviceaccount.com",
    "UPLOADER_IMPERSONATE_USER": "evil@example.com",
    "UPLOADER_ENV_FILE": "evil.env",
}


def script(**given: str) -> tuple[dict[str, Any], str]:
    """The component's job, and the lines of its script with these inputs, by their names with
    underscores.
    """
    head, jobs = yaml.safe_load_all(
        (ROOT / "templates/upload.yml").read_text(encoding="utf-8")
    )
    (job,) = jobs.values()
    (lines,) = job["script"]
    values = {
        name: declared.get("default", "")
        for name, declared in head["spec"]["inputs"].items()
    }
    values.update({name.replace("_", "-"): value for name, value in given.items()})
    return job, re.sub(
        r"\$\[\[ inputs\.([a-z-]+) \]\]", lambda name: str(values[name[1]]), lines
    )


def carried_out(
    folder: Path, lines: str, **variables: str
) -> tuple[list[str], dict[str, str], str]:
    """The script in a plain shell, as in the job: the arguments and variables of the program, and
    the log.
    """
    (folder / "uploader").write_text(
        '#!/bin/sh\n{ for word; do echo "$word"; done; echo; env; } >"$0.told"\n'
    )
    (folder / "uploader").chmod(0o755)
    environment = {**variables, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-euc", lines],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    arguments, _, told = (folder / "uploader.told").read_text().rpartition("\n\n")
    if not arguments:
        told = told.lstrip("\n")
    pairs = (line.partition("=") for line in told.splitlines())
    return (
        arguments.split(),
        {name: value for name, _, value in pairs},
        done.stdout + done.stderr,
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"api-endpoint": "https://good.example:8443"},
        {"service-account": "$MY_USER"},
    ],
)
def test_a_dotenv_report_does_not_say_where_secrets_go(
    tmp_path: Path, given: dict[str, str]
) -> None:
    """The component's inputs of that kind are options or nothing; the script runs in a plain shell,
    as in the job.
    """
    job, lines = script(
        **{name.replace("-", "_"): value for name, value in given.items()}
    )
    arguments, told, _ = carried_out(
        tmp_path, lines, **HOSTILE, MY_USER="me@example.com"
    )
    assert "evil" not in str(told)
    # The endpoint is always an option, so that nothing else counts.
    endpoint = ["--api-endpoint", given.get("api-endpoint", "google")]
    login = (
        ["--service-account", "me@example.com"] if "service-account" in given else []
    )
    assert arguments == [*endpoint, *login]
    assert (
        not {
            f"UPLOADER_{name.replace('-', '_').upper()}"
            for name in make_reference.OPTIONS
        }
        & job["variables"].keys()
    )
    assert job["artifacts"]["access"] == "developer"


@pytest.mark.parametrize("name", LIBRARIES)
def test_no_setting_of_an_earlier_job_reaches_the_program(
    tmp_path: Path, name: str
) -> None:
    """Neither what loads code, nor what leads the traffic elsewhere, nor another login, nor another
    CI system.
    """
    _, lines = script()
    _, told, _ = carried_out(tmp_path, lines, **{name: "/evil"}, UPLOADER_TARGET="play")
    assert "/evil" not in str(told)
    assert told["UPLOADER_TARGET"] == "play"


def test_the_proxy_and_the_certificates_are_inputs(tmp_path: Path) -> None:
    """Their variables count only where an input says so; a job that had a proxy is told what to
    give.
    """
    variables = {
        "https_proxy": "http://evil:1",
        "CURL_CA_BUNDLE": "/evil.pem",
        "COMPANY_CA": "/builds/ca.pem",
    }
    _, lines = script()
    _, told, log = carried_out(tmp_path, lines, **variables)
    assert "evil" not in str(told)
    assert log == (
        "The proxy in this job's variables is not used. Where one is needed, give the input "
        "proxy.\n"
    )
    _, lines = script(proxy="http://proxy.example:3128", ca_file="$COMPANY_CA")
    _, told, log = carried_out(tmp_path, lines, **variables)
    assert (told["HTTPS_PROXY"], told["REQUESTS_CA_BUNDLE"]) == (
        "http://proxy.example:3128",
        "/builds/ca.pem",
    )
    assert "evil" not in str(told)
    assert log == ""
    _, lines = script(proxy="$https_proxy")
    assert (
        carried_out(tmp_path, lines, **variables)[1]["HTTPS_PROXY"] == "http://evil:1"
    )


def test_what_gitlab_says_of_the_job_reaches_the_program(tmp_path: Path) -> None:
    """Its own variables and the program's, also after a message that names a variable, and in
    several lines.
    """
    kept = {
        "CI_COMMIT_TAG": "v1",
        "CI_JOB_ID": "7",
        "CI_NODE_INDEX": "1",
        "CI_NODE_TOTAL": "2",
        "CI_PIPELINE_ID": "9",
        "CI_PROJECT_DIR": "/builds/app",
        "GITLAB_CI": "true",
        "HOME": "/root",
        "AWS_REGION": "eu-central-1",
        "UPLOADER_CREDENTIALS": '{"type": "service_account", "private_key": "a\'b\\"c"}',
        "UPLOADER_ID_TOKEN": "eyJ",
        "UPLOADER_FILES": "* HOME=/evil PPID UPLOADER_TARGET",
        "UPLOADER_TARGET": "play",
    }
    _, lines = script()
    message = "fix: * unset PPID IFS\nUPLOADER_TARGET=x HOME='y' SHELLOPTS=\n-x --"
    _, told, _ = carried_out(tmp_path, lines, **kept, CI_COMMIT_MESSAGE=message)
    assert {name: told.get(name) for name in kept} == kept
    assert "CI_COMMIT_MESSAGE" not in told


def test_the_key_that_seals_the_state_is_named_by_an_input(tmp_path: Path) -> None:
    """Whoever could choose it could read and forge what the cache brings. The job does not pass
    `UPLOADER_CREDENTIALS` on either, if its login is keyless.
    """
    keyless = {"workload_identity_provider": "projects/1/x"}
    variables = {
        "UPLOADER_STATE_KEY": "chosen by an earlier job",
        "UPLOADER_CREDENTIALS": "another's",
        "MY_KEY": "mine",
    }
    _, lines = script(**keyless)
    _, told, log = carried_out(tmp_path, lines, **variables)
    assert not {"UPLOADER_STATE_KEY", "UPLOADER_CREDENTIALS"} & told.keys()
    assert (
        log == "UPLOADER_STATE_KEY is not used. To resume with it, give state-key: "
        "$UPLOADER_STATE_KEY.\n"
    )
    _, lines = script(**keyless, state_key="$MY_KEY")
    _, told, log = carried_out(tmp_path, lines, **variables)
    assert (told["UPLOADER_STATE_KEY"], log) == ("mine", "")


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "bash --posix", "busybox sh"])
def test_every_shell_understands_the_script(tmp_path: Path, shell: str) -> None:
    """GitLab's runner starts bash where there is one, else sh; -u and pipefail are its own."""
    program, *options = shell.split()
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")
    _, lines = script(proxy="http://proxy.example:3128")
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "TF_BUILD": "True",
        "proxy": "evil",
        "UPLOADER_FILES": "a",
    }
    (tmp_path / "uploader").write_text(
        '#!/bin/sh\nprintf "%s " "$HTTPS_PROXY" "$UPLOADER_FILES" "${TF_BUILD:-none}"\n'
    )
    (tmp_path / "uploader").chmod(0o755)
    told = subprocess.check_output(
        [program, *options, "-euc", lines], env=environment, text=True
    )
    assert told == "http://proxy.example:3128 a none "


def test_the_program_is_started_by_its_path(tmp_path: Path) -> None:
    """A program of its name that comes first in PATH is not started. Without the image, as in a
    shell executor, it is found by PATH.
    """
    installed, planted = tmp_path / "installed", tmp_path / "planted"
    for folder in (installed, planted):
        folder.mkdir()
        (folder / "uploader").write_text(f"#!/bin/sh\necho {folder.name}\n")
        (folder / "uploader").chmod(0o755)
    _, lines = script()
    assert lines.count(make_reference.PROGRAM) == 1
    lines = lines.replace(make_reference.PROGRAM, str(installed / "uploader"))
    environment = {"PATH": f"{planted}:{os.environ['PATH']}"}
    assert (
        subprocess.check_output(["sh", "-euc", lines], env=environment, text=True)
        == "installed\n"
    )
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"ln -s ../venv/bin/uploader {make_reference.PROGRAM}" in dockerfile


@pytest.mark.parametrize(
    "value",
    [
        "`id`",
        "$(id)",
        "${HOME}",
        '"; id; "',
        "a b",
        "a\nb",
        "a'",
        "a;b",
        "a|b",
        "a\\b",
        "a&b",
    ],
)
def test_what_stands_in_the_script_is_one_word(value: str) -> None:
    """GitLab refuses an input that could be more than a word or a variable to the shell."""
    head, _ = yaml.safe_load_all(
        (ROOT / "templates/upload.yml").read_text(encoding="utf-8")
    )
    for name in (*make_reference.OPTIONS, "proxy", "ca-file", "state-key"):
        assert not re.fullmatch(
            head["spec"]["inputs"][name]["regex"].strip("^$"), value
        )
