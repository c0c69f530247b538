"""Inputs: what each text means, where it may come from, and what is said when it is wrong."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.factory import values
from uploader import inputs
from uploader.errors import Problem
from uploader.inputs import Inputs, JobRun
from uploader.inputs.other_tools import answers
from uploader.inputs.parsers import (
    MAX_LINE,
    MAX_TEXT,
    InvalidValue,
    Limit,
    version_path,
)
from uploader.redaction import Redactor, credentials_in

KEY = (
    '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\nTUlJRXZR\\n-----END '
    'PRIVATE KEY-----"}'
)


def read(*argv: str, **variables: str) -> tuple[Inputs, tuple[Problem, ...]]:
    return inputs.read({"UPLOADER_TARGET": "play", **variables}, argv)


def attribute(name: str) -> str:
    return name.replace("-", "_")


# What would lead to another path where an input stands in the path of a URL, also through a server
# that undoes escapes, once or more, before it resolves dots.
ELSEWHERE = (
    ".",
    "..",
    "%2e%2e",
    "%252E%252e",
    ".%2E",
    "a/../b",
    "..%2Fx",
    "x%2f..",
    "..\\x",
    "a/.",
)


def problem_of(name: str, text: str) -> Problem:
    _, problems = inputs.read(
        {"UPLOADER_TARGET": "play", f"INPUT_{name.upper()}": text}, ()
    )
    (problem,) = problems
    return problem


def value_of(name: str, text: str) -> object:
    found, problems = inputs.read(
        {"UPLOADER_TARGET": "play"} | {f"UPLOADER_{attribute(name).upper()}": text}, ()
    )
    assert problems == ()
    return getattr(values(found), attribute(name))


# Where a value comes from


def test_a_run_without_inputs_has_every_default_and_misses_only_the_target() -> None:
    """Of all inputs only `target` is required; the others have their defaults."""
    found, problems = inputs.read({"GITLAB_CI": "true"}, ())
    assert [problem.name for problem in problems] == ["target"]
    defaults = values(found)
    assert (
        defaults.upload_protocol,
        defaults.chunk_size,
        defaults.concurrency,
        defaults.max_retries,
    ) == (
        "auto",
        None,
        None,
        5,
    )
    assert (
        defaults.retry_deadline,
        defaults.stall_timeout,
        defaults.finalize_timeout,
    ) == (
        1800.0,
        60.0,
        600.0,
    )
    assert (
        defaults.commit,
        defaults.job_summary,
        defaults.dry_run,
        defaults.user_id,
    ) == (
        True,
        True,
        False,
        "me",
    )
    assert (defaults.tracks, defaults.shard, defaults.state_dir, defaults.status) == (
        (),
        None,
        None,
        "",
    )


def test_the_first_variable_in_the_documented_order_wins(tmp_path: Path) -> None:
    """GitHub's hyphenated name goes before the plain one, that before `UPLOADER_…`, and the env
    file comes last.
    """
    env_file = tmp_path / "release.env"
    env_file.write_text("UPLOADER_PACKAGE_NAME=from.file\n")
    variables = {
        "INPUT_PACKAGE-NAME": "from.hyphen",
        "INPUT_PACKAGE_NAME": "from.underscore",
        "UPLOADER_PACKAGE_NAME": "from.shell",
    }
    seen: list[str] = []
    while True:
        found, _ = read("--env-file", str(env_file), **variables)
        seen += values(found).package_name
        if not variables:
            break
        del variables[next(iter(variables))]
    assert seen == ["from.hyphen", "from.underscore", "from.shell", "from.file"]


def test_an_empty_or_blank_value_counts_as_not_given() -> None:
    """GitHub passes inputs that were left out as empty strings; they fall through to the next
    source.
    """
    found, problems = read(
        INPUT_TESTERS="", UPLOADER_TESTERS="qa@example.com", INPUT_CONCURRENCY=" \n"
    )
    assert problems == ()
    assert (values(found).testers, values(found).concurrency) == (
        ("qa@example.com",),
        None,
    )


def test_a_variable_that_an_option_overrides_is_told_once() -> None:
    """A name without a hyphen has two spellings that are the same."""
    found, _ = inputs.read(
        {"INPUT_TARGET": "play", "INPUT_TRACKS": "beta"}, ["--tracks", "internal"]
    )
    assert found.warnings == ("INPUT_TRACKS is ignored: --tracks takes precedence.",)


@pytest.mark.parametrize(
    "value", ["r-1", "...", "v1..2", "a.b", "50%", "CgkI%41", "release/1.0", "1:2"]
)
def test_an_id_with_dots_or_escapes_may_be_plain(value: str) -> None:
    """Only what leads elsewhere is refused: names of tracks are anybody's choice."""
    assert value_of("tracks", value) == (value,)
    assert value_of("draft-id", value) == value


def test_the_env_file_may_be_named_by_a_variable_and_nothing_in_it_is_expanded(
    tmp_path: Path,
) -> None:
    """Secrets hold dollar signs; `UPLOADER_ENV_FILE` works like the option."""
    env_file = tmp_path / "x.env"
    env_file.write_text(
        "UPLOADER_STATE_KEY='a-secret-${HOME}-of-ours'\nUPLOADER_ID_TOKEN=token\nHOME=elsewhere\n"
    )
    found, problems = read(UPLOADER_ENV_FILE=str(env_file), HOME="/home/me")
    assert (values(found).state_key, found.platform.id_token, problems) == (
        "a-secret-${HOME}-of-ours",
        "token",
        (),
    )
    assert values(found).state_dir == Path("/home/me/.local/state/uploader")


def test_an_env_file_is_never_searched_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `.env` in the checkout is the user's own and is not read."""
    (tmp_path / ".env").write_text("UPLOADER_TRACKS=production\n")
    monkeypatch.chdir(tmp_path)
    assert values(read()[0]).tracks == ()


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"A=1\n" * 300_000])
def test_an_env_file_that_cannot_be_read_is_a_problem(
    tmp_path: Path, content: bytes | None
) -> None:
    """Missing, not UTF-8, or absurdly large: said with the file's name."""
    env_file = tmp_path / "x.env"
    if content is not None:
        env_file.write_bytes(content)
    (problem,) = read("--env-file", str(env_file))[1]
    assert problem.name == "--env-file"
    assert f"'{env_file}' can't be read" in problem.what


# What each text means


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        # a YAML block ends with a newline
        ("package-name", "  com.example.app\n", ("com.example.app",)),
        ("dry-run", "true", True),
        ("dry-run", "TRUE", True),
        ("commit", "False", False),
        ("chunk-size", "8MiB", 8_388_608),
        ("chunk-size", "512KiB", 524_288),
        ("chunk-size", "1GiB", 1_073_741_824),
        ("chunk-size", "300000", 300_000),
        ("chunk-size", "auto", None),
        ("retry-deadline", "90s", 90.0),
        ("retry-deadline", "5m", 300.0),
        ("retry-deadline", "2h", 7200.0),
        ("retry-deadline", "0s", 0.0),
        ("max-retries", "0", 0),
        ("files", "a.aab, b.apk,", ("a.aab", "b.apk")),
        ("files", "a.aab\n b.apk,c.apk \n\na.aab\n", ("a.aab", "b.apk", "c.apk")),
        (
            "tracks",
            "internal, wear:beta\nQA team",
            ("internal", "wear:beta", "QA team"),
        ),
        ("user-fraction", "0.05", 0.05),
        ("user-fraction", ".5", 0.5),
        ("user-fraction", "5%", 0.05),
        ("user-fraction", "1.1 %", 0.011),
        ("user-fraction", "100%", 1.0),
        ("rollout-steps", "0.01, 5%, .5, 1", (0.01, 0.05, 0.5, 1.0)),
        ("rollout-steps", "1%, 5 %\n20%,50%, 100%", (0.01, 0.05, 0.2, 0.5, 1.0)),
        (
            "halt-above",
            "crash-rate 1.09%, anr-rate 0.47 %\ncrash-rate 1.5x",
            (
                Limit("crash-rate", 0.0109),
                Limit("anr-rate", 0.0047),
                Limit("crash-rate", 1.5, relative=True),
            ),
        ),
        ("in-app-update-priority", "5", 5),
        ("version-codes-to-retain", "12,007", ("12", "7")),
        ("countries", "de, FR, rest-of-world", ("DE", "FR", "rest-of-world")),
        ("shard", "2/5", (2, 5)),
        ("media-type", "text/html; charset=utf-8", "text/html; charset=utf-8"),
        (
            "media-type",
            'application/vnd.a+json;v="1, 2"',
            'application/vnd.a+json;v="1, 2"',
        ),
        ("expansion-file-main", "references:41", "references:41"),
        ("expansion-file-patch", "build/patch.obb", "build/patch.obb"),
        ("api-endpoint", "https://play.example.com/", "https://play.example.com"),
        ("api-endpoint", "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("api-endpoint", "http://127.8.9.10", "http://127.8.9.10"),
        ("api-endpoint", "http://localhost:1", "http://localhost:1"),
        ("api-endpoint", "http://[::1]:9/", "http://[::1]:9"),
        ("api-endpoint", "emulator", "emulator"),
        ("target", "storage.objects.insert", "storage.objects.insert"),
        (
            "target",
            "dfareporting:v3.4.creativeAssets.insert",
            "dfareporting:v3.4.creativeAssets.insert",
        ),
        ("status", "inProgress", "inProgress"),
        ("mail-body", "Dear all,\n\n\tit is out.", "Dear all,\n\n\tit is out."),
        (
            "workload-identity-provider",
            "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/providers/github",
            "projects/1/locations/global/workloadIdentityPools/ci/providers/github",
        ),
    ],
)
def test_a_documented_form_is_understood(name: str, text: str, value: object) -> None:
    """Every documented form has one meaning."""
    assert value_of(name, text) == value


REFUSED: dict[str, tuple[str, ...]] = {
    "dry-run": ("yes", "tRUE", "1"),
    "chunk-size": ("8MB", "0", "-1", "1e6"),
    "retry-deadline": ("90", "1h30m", "200h"),
    "stall-timeout": ("0s",),
    "concurrency": ("0", "65", "automatic"),
    "max-retries": ("-1", "٣"),
    "user-fraction": ("0", "0.0", "1", "1.0", "5", "0%", "101%", "nan", "1e-1"),
    "in-app-update-priority": ("6",),
    "version-codes-to-retain": ("12,x", "2100000001"),
    "countries": ("DEU",),
    "shard": ("0/5", "6/5", "2"),
    "media-type": (
        "text/",
        "*/*",
        "text/html, text/plain",
        "text/h\u00e9",
        'text/html; a="\\""',
    ),
    "expansion-file-main": ("references:latest", "references:", "references:0"),
    "package-name": ("app", "com.1example", "com.example/../x"),
    "service-account": ("not-an-address",),
    "status": ("inprogress",),
    "upload-protocol": ("resumeable",),
    "tracks": ("internalsharing", "rollout", *ELSEWHERE),
    "target": ("plai", "../x"),
    "release-name": ("two\nlines", "x" * 5000, "\udcff"),
    "draft-id": ("r 1", *ELSEWHERE),
    **dict.fromkeys(
        ("whats-new-directory", "images-directory", "message-file", "state-dir"),
        (f"a/{'x' * 256}",),
    ),
    **dict.fromkeys(
        ("existing-edit-id", "user-id", "resource-id", "promote-from"), ELSEWHERE
    ),
    "deployment": (
        "my deployment",
        "https://partner.android.com/ota/deployments/123",
        "partner.android.com/123",
        "deployments/123/packages/456",
        "<DEPLOYMENT>",
        *ELSEWHERE,
    ),
    "rollout-steps": (
        "5%, 1%",
        "5%, 5.0%",
        "0%",
        "101%",
        "1",
        "1, 5, 20",
        "0.5, 2",
        "1%; 5%",
        "one%",
        "-1%",
        "1e1%",
        "1%, , x",
        "٣%",
    ),
    "halt-above": (
        "crash-rate: 1.09 %",
        "crash-rate 1,09%",
        "anr-rate 0",
        "crash-rate",
        "crash-rate 1.09",
        "1.09%",
        "crashes 1%",
        "crash-rate 0%",
        "crash-rate 100%",
        "anr-rate 0.9x",
        "crash-rate 1%,",
        ",crash-rate 1%",
        "crash-rate 1%, ,anr-rate 1%",
        "crash-rate 1%,\n,anr-rate 1%",
    ),
    "workload-identity-provider": ("my-provider",),
    "files": ("a\0b",),
    "mail-body": ("x" * 200_000,),
    "api-endpoint": (
        "http://play.example.com",
        "http://127.0.0.1.example.com",
        "https://user@play.example.com",
        "https://play.example.com/v3",
        "https://play.example.com?x=1",
        "https://play.example.com#x",
        "https://play.example.com:70000",
        "https:\\\\play.example.com",
        "ftp://play.example.com",
        "https://",
        "localhost:8080",
        "emulater",
    ),
}


@pytest.mark.parametrize(
    ("name", "text"),
    [(name, text) for name, texts in REFUSED.items() for text in texts],
)
def test_anything_else_is_refused_under_the_inputs_own_name(
    name: str, text: str
) -> None:
    """A wrong value is named by its input, and the default stays in place."""
    found, (problem,) = inputs.read(
        {"UPLOADER_TARGET": "play"} | {f"UPLOADER_{attribute(name).upper()}": text}, ()
    )
    assert problem.name == name
    assert getattr(values(found), attribute(name)) == getattr(
        values(Inputs()), attribute(name)
    )


def test_a_long_value_is_not_repeated_in_a_suggestion() -> None:
    """It may be a secret in the wrong input."""
    problem = problem_of("api-endpoint", "a1b2." * 60)
    assert problem.what == "A value of 300 characters has no scheme."


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("status", "in-progress", "Did you mean `inProgress`?"),
        ("target", "drive", "Did you mean `drive.files.create`?"),
        (
            "api-endpoint",
            "localhost:8080",
            "has no scheme. Did you mean `http://localhost:8080`?",
        ),
        (
            "api-endpoint",
            "play.example.com",
            "has no scheme. Did you mean `https://play.example.com`?",
        ),
        ("user-fraction", "0%", "To keep it back, use `status: draft`, or `halted`"),
        ("user-fraction", "5", "For 5 % of users write `0.05`."),
        ("user-fraction", "1", "For all users write `100%`"),
        ("tracks", "internalsharing", "`target: play-internal-sharing`"),
        ("tracks", "beta,rollout", "`user-fraction`"),
    ],
)
def test_what_was_meant_is_said(name: str, text: str, words: str) -> None:
    """A word of another tool, a slip, and a number whose meaning has another place."""
    assert words in problem_of(name, text).what


def test_all_mistakes_of_a_run_come_together() -> None:
    """Nobody fixes one input a run."""
    _, problems = inputs.read(
        {"INPUT_STATUS": "x", "INPUT_SHARD": "y", "INPUT_CONCURRENCY": "z"}, ["--what"]
    )
    assert {problem.name for problem in problems} == {
        "arguments",
        "target",
        "status",
        "shard",
        "concurrency",
    }


# Secrets


def test_inputs_have_no_repr_that_could_be_logged() -> None:
    """Printing the inputs, or an exception that holds them, gives nothing away."""
    found, _ = read(
        **{
            "INPUT_CREDENTIALS": KEY,
            "INPUT_STATE-KEY": "hunter2-hunter2-x",
            "UPLOADER_ID_TOKEN": "eyJh",
        }
    )
    assert "PRIVATE" not in repr(found)
    assert "eyJh" not in repr(found.platform)
    assert set(found.secrets) == {"hunter2-hunter2-x", "eyJh"}


NAMES = [variable for spec in inputs.SPECS for variable in spec.variables]
VARIABLES = st.dictionaries(
    st.one_of(
        st.sampled_from(NAMES),
        st.sampled_from(
            [
                "GITHUB_ACTIONS",
                "GITLAB_CI",
                "GITHUB_WORKSPACE",
                "CI_PROJECT_DIR",
                "CI_NODE_INDEX",
                "HOME",
            ]
        ),
        st.sampled_from(
            [
                "UPLOADER_ENV_FILE",
                "UPLOADER_DOTENV",
                "XDG_STATE_HOME",
                "CI_NODE_TOTAL",
                "RUNNER_TEMP",
            ]
        ),
        st.text(max_size=30).map("INPUT_".__add__),
        st.text(max_size=30).map("UPLOADER_".__add__),
        st.text(max_size=10),
    ),
    st.one_of(
        st.text(),
        st.sampled_from(
            ["true", "2/5", "a,b", "http://[", "https://a:99999999", "\udcff", "\0"]
        ),
    ),
)


@pytest.mark.slow
@given(VARIABLES, st.lists(st.text(max_size=20), max_size=4))
@example({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/" + "x" * 5000}, [])
@example({"UPLOADER_ENV_FILE": "\0"}, [])
def test_no_environment_whatsoever_raises(
    variables: dict[str, str], argv: list[str]
) -> None:
    """Reading always ends in inputs and problems."""
    found, problems = inputs.read(variables, argv)
    assert isinstance(found, Inputs)
    assert all(isinstance(problem, Problem) for problem in problems)


SECRET = "c0rrect-horse-battery-staple"


@given(
    VARIABLES,
    st.sampled_from(["CREDENTIALS", "STATE-KEY", "STATE_KEY"]).map("INPUT_".__add__),
    st.tuples(st.text(max_size=20), st.text(max_size=20)),
    st.sampled_from(NAMES),
)
def test_no_environment_whatsoever_leaks_a_secret(
    variables: dict[str, str], holder: str, around: tuple[str, str], second: str
) -> None:
    """Neither a problem nor a warning repeats a secret, wherever else the same text was pasted."""
    secret = SECRET.join(around)
    found, problems = inputs.read({**variables, second: secret, holder: secret}, ())
    told = [*map(str, problems), *found.warnings, repr(found), repr(found.platform)]
    assert not any(SECRET in text for text in told)


# Names that are not ours


@pytest.mark.parametrize(
    ("variable", "theirs", "ours"),
    [
        (
            "INPUT_SERVICEACCOUNTJSONPLAINTEXT",
            "serviceAccountJsonPlainText",
            "credentials",
        ),
        ("INPUT_JSON_KEY_DATA", "json_key_data", "credentials"),
        ("UPLOADER_RELEASEFILES", "UPLOADER_RELEASEFILES", "files"),
    ],
)
def test_an_input_of_another_tool_is_answered_with_our_name(
    variable: str, theirs: str, ours: str
) -> None:
    """Who comes from another tool is told where to go, and the value, which may be a key, is not
    repeated.
    """
    _, (problem,) = read(**{variable: "some value"})
    assert problem.name == theirs
    assert f"`{ours}`" in problem.what
    assert "some value" not in str(problem)


def test_every_answer_names_an_input_that_exists() -> None:
    """The table of answers can't point to a name that was never ours."""
    ours = {spec.name for spec in inputs.SPECS}
    for answer in answers().values():
        named = answer.advice.split("`")[1::2]
        assert (
            answer.advice.startswith("Not needed: ") or named[0].split(":")[0] in ours
        )


def test_every_input_of_ours_is_accepted_under_each_of_its_names() -> None:
    """No row of the table of answers stands in the way of a name that is ours."""
    for spec in inputs.SPECS:
        for variable in spec.variables:
            _, problems = inputs.read({variable: "1"}, ())
            assert {problem.name for problem in problems} <= {spec.name, "target"}


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("INPUT_DRY-RUM", "dry-run"),
        ("UPLOADER_PACKAGE_NAMES", "UPLOADER_PACKAGE_NAME"),
        ("UPLOADER_USER-FRACTION", "UPLOADER_USER_FRACTION"),
        ("UPLOADER_PACKAGENAME", "UPLOADER_PACKAGE_NAME"),
        ("uploader_status", "UPLOADER_STATUS"),
        ("Uploader_Dry_Run", "UPLOADER_DRY_RUN"),
    ],
)
def test_a_misspelt_input_is_a_mistake(variable: str, meant: str) -> None:
    """A dry run that is spelt wrongly must not publish."""
    _, (problem,) = read(**{variable: "true"})
    assert problem.name == variable
    assert f"Did you mean `{meant}`?" in problem.what


def test_an_unknown_name_is_mentioned_where_it_is_surely_meant_for_this_program() -> (
    None
):
    """Under GitHub every input of the step is ours; in a shell only `UPLOADER_…` is."""
    strange = {"INPUT_FROBNICATE": "1", "UPLOADER_FROBNICATE": "1", "OTHER": "1"}
    assert len(read(**strange, GITHUB_ACTIONS="true")[0].warnings) == 2
    (warning,) = read(**strange)[0].warnings
    assert warning.startswith("UPLOADER_FROBNICATE ")


def test_variables_of_fastlane_may_stand_in_the_same_job() -> None:
    """A job that runs both tools is legitimate: a hint, no error."""
    found, problems = read(
        SUPPLY_TRACK="beta", SUPPLY_JSON_KEY_DATA=KEY, ANDROID_PUBLISHER_CREDENTIALS=KEY
    )
    assert problems == ()
    told = [hint.split()[0] for hint in found.warnings]
    assert told == [
        "SUPPLY_TRACK",
        "SUPPLY_JSON_KEY_DATA",
        "ANDROID_PUBLISHER_CREDENTIALS",
    ]


def test_variables_of_another_tool_alone_are_a_mistake() -> None:
    """Where nothing else says what to do, they were meant for this program."""
    found, problems = inputs.read(
        {"SUPPLY_TRACK": "beta", "ANDROID_PUBLISHER_CREDENTIALS": KEY}, ()
    )
    assert found.show == ""
    assert [problem.name for problem in problems] == [
        "SUPPLY_TRACK",
        "ANDROID_PUBLISHER_CREDENTIALS",
        "target",
    ]
    assert "Use `tracks`." in problems[0].what


def test_a_line_of_the_env_file_that_is_nearly_an_input_is_a_mistake(
    tmp_path: Path,
) -> None:
    """With its file and number, and the right spelling; what belongs to others, and the value, is
    left alone.
    """
    lines = """UPLOADER_TARGET=play
uploader_status=draft
HOME=/
user-fraction=hunter2

export TRACKS=beta
UPLOADER_USER-FRACTION=0.1
UPLOADER_TRAKCS=beta
UPLOADER_RELEASEFILES=a
UPLOADER_FROB=1
PATH=x"""
    (tmp_path / "up.env").write_text(lines)
    found, problems = inputs.read({}, ["--env-file", str(tmp_path / "up.env")])
    assert [f"{problem.name}: {problem.what}" for problem in problems] == [
        "up.env line 2: did you mean `UPLOADER_STATUS`?",
        "up.env line 4: did you mean `UPLOADER_USER_FRACTION`?",
        "up.env line 6: did you mean `UPLOADER_TRACKS`?",
        "up.env line 7: did you mean `UPLOADER_USER_FRACTION`?",
        "up.env line 8: did you mean `UPLOADER_TRACKS`?",
        "up.env line 9: is another tool's input. Use `files`.",
    ]
    assert [warning.split()[0] for warning in found.warnings] == ["UPLOADER_FROB"]


# Where the program runs


def test_github_is_recognised_with_its_files(tmp_path: Path) -> None:
    """Everything that the voice and the journal need comes from the runner's own variables."""
    found, _ = read(
        GITHUB_ACTIONS="true",
        GITHUB_WORKSPACE=str(tmp_path),
        GITHUB_OUTPUT="/github/file_commands/out",
        GITHUB_STEP_SUMMARY="/github/file_commands/sum",
        GITHUB_REF_TYPE="tag",
        GITHUB_REF_NAME="v1.2.3",
        RUNNER_TEMP="/github/runner_temp",
        RUNNER_DEBUG="1",
        ACTIONS_ID_TOKEN_REQUEST_URL="https://x.example",
        ACTIONS_ID_TOKEN_REQUEST_TOKEN="bearer",
        GOOGLE_APPLICATION_CREDENTIALS="/github/workspace/gha-creds-1.json",
    )
    platform = found.platform
    assert (platform.kind, platform.workspace, platform.debug, platform.tag) == (
        "github",
        tmp_path,
        True,
        "v1.2.3",
    )
    files = Path("/github/file_commands")
    assert (platform.output_file, platform.summary_file) == (
        files / "out",
        files / "sum",
    )
    assert (platform.oidc_request_url, platform.oidc_request_token) == (
        "https://x.example",
        "bearer",
    )
    assert (
        platform.google_application_credentials == "/github/workspace/gha-creds-1.json"
    )
    assert platform.dotenv_file is None
    assert values(found).state_dir == Path("/github/runner_temp/uploader")


def test_gitlab_is_recognised_with_its_report_and_its_part_of_a_parallel_job(
    tmp_path: Path,
) -> None:
    """`parallel: 5` needs no input: the job's number is the shard."""
    found, problems = read(
        GITLAB_CI="true",
        CI_PROJECT_DIR=str(tmp_path),
        CI_COMMIT_TAG="v2",
        CI_NODE_INDEX="2",
        CI_NODE_TOTAL="5",
        UPLOADER_ID_TOKEN="jwt",
    )
    assert (found.platform.kind, found.platform.tag, values(found).shard, problems) == (
        "gitlab",
        "v2",
        (2, 5),
        (),
    )
    assert found.platform.dotenv_file == tmp_path / "uploader.env"
    assert found.platform.id_token == "jwt"
    # as in every job that is not parallel
    assert values(read(GITLAB_CI="true", CI_NODE_TOTAL="1")[0]).shard is None
    found, _ = read(
        GITLAB_CI="true", CI_NODE_INDEX="2", CI_NODE_TOTAL="5", UPLOADER_SHARD="1/3"
    )
    assert values(found).shard == (1, 3)


def test_the_workspace_of_the_host_is_not_believed_inside_a_container() -> None:
    """A path that this process can't see is somebody else's; the working directory is right."""
    found, _ = read(GITHUB_ACTIONS="true", GITHUB_WORKSPACE="/home/runner/nowhere")
    assert found.platform.workspace == Path.cwd()


def test_a_shell_writes_a_report_only_where_it_was_asked_to() -> None:
    """`UPLOADER_DOTENV` names the file anywhere, relative to the workspace."""
    assert read()[0].platform.dotenv_file is None
    assert (
        read(UPLOADER_DOTENV="out/x.env")[0].platform.dotenv_file
        == Path.cwd() / "out/x.env"
    )


@pytest.mark.parametrize(
    ("variables", "state_dir"),
    [
        ({"UPLOADER_STATE_DIR": "keep", "RUNNER_TEMP": "/t"}, Path.cwd() / "keep"),
        ({"UPLOADER_STATE_DIR": "/keep"}, Path("/keep")),
        ({"RUNNER_TEMP": "/t", "XDG_STATE_HOME": "/s"}, Path("/t/uploader")),
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, Path("/s/uploader")),
        ({"XDG_STATE_HOME": "s", "HOME": "/h"}, Path("/h/.local/state/uploader")),
        ({}, None),
    ],
)
def test_the_state_folder_is_the_given_one_or_the_runners_or_the_users(
    variables: dict[str, str], state_dir: Path | None
) -> None:
    """In this order; without any of them nothing can be kept."""
    assert values(read(**variables)[0]).state_dir == state_dir


GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "9", "GITHUB_JOB": "release"}
GITLAB = {
    "GITLAB_CI": "true",
    "CI": "true",
    "CI_PIPELINE_ID": "7",
    "CI_JOB_NAME": "up 1/2",
}


@pytest.mark.parametrize(
    ("variables", "run"),
    [
        (
            {**GITHUB, "GITHUB_RUN_ATTEMPT": "2", "CI": "true"},
            JobRun("GitHub run 9, job release", 2),
        ),
        ({**GITHUB, "GITHUB_RUN_ATTEMPT": "x"}, JobRun("GitHub run 9, job release", 0)),
        (
            {**GITLAB, "CI_JOB_ID": "1234"},
            JobRun("GitLab pipeline 7, job up 1/2", 1234),
        ),
        ({"CI": "true"}, JobRun("")),
    ],
)
def test_a_run_is_what_its_ci_system_calls_it(
    variables: dict[str, str], run: JobRun
) -> None:
    """A re-run or a retried job is the same run with another attempt; an unknown CI system names no
    run.
    """
    assert read(**variables)[0].platform.run == run


def test_a_run_in_a_shell_is_the_machines_boot_for_some_hours() -> None:
    """Two commands on one machine may be a command and its repetition, unless half a day lies
    between them.
    """
    first, second = read()[0].platform.run, read(CI="false")[0].platform.run
    assert first == second
    assert first.id.startswith("a shell on this machine (")
    assert first.rerun_within == 12 * 3600


def test_a_short_state_key_is_refused_and_not_shown() -> None:
    """What guards a session has 16 characters at least; the message tells the least and nothing of
    what was given.
    """
    _, (problem,) = read(**{"INPUT_STATE-KEY": "fifteen-letters"})
    assert (problem.name, "at least 16 characters" in problem.accepted) == (
        "state-key",
        True,
    )
    assert "fifteen" not in str(problem)
    found, problems = read(**{"INPUT_STATE-KEY": "sixteen-letters-"})
    assert (values(found).state_key, problems) == ("sixteen-letters-", ())
    assert Redactor(found.secrets).one_line("a sixteen-letters- b") == "a *** b"


# How long it takes

WORST = (
    "\\",
    " ",
    "\t",
    "{",
    "`",
    "'",
    "1",
    ",",
    "a:",
    ".a",
    "$(",
    "{{",
    "=1",
    "1=",
    ", 1",
    "@a",
    "eyJ",
    "upload_id=",
)
BEGINNINGS = (
    "-----BEGIN PRIVATE KEY-----\\",
    '"access_token": "\\',
    "MII ",
    "//iam.googleapis.com/projects/1",
)


@pytest.mark.parametrize("spec", inputs.SPECS, ids=lambda spec: spec.name)
def test_no_input_takes_long_whatever_it_holds(spec: inputs.InputSpec[Any]) -> None:
    """The worst text of each kind at the largest size of a variable, and of a line: each within a
    second.
    """
    for unit, size in product(WORST, (MAX_TEXT, MAX_LINE)):
        text = "a" + (unit * size)[: size - 2] + "!"
        started = time.process_time()
        with suppress(InvalidValue):
            spec.parser(text)
        assert time.process_time() - started < 1, unit


@pytest.mark.slow
@pytest.mark.parametrize("text", [*(f"a{unit}" for unit in WORST), *BEGINNINGS])
def test_no_run_takes_long_to_read_what_it_is_given(tmp_path: Path, text: str) -> None:
    """In a variable that is masked, shown or unknown, in a name, an option and the env file."""
    text = (text + text[-1 if text in BEGINNINGS else 1 :] * MAX_TEXT)[
        : MAX_TEXT - 1
    ] + "!"
    (tmp_path / "x.env").write_text(
        f"UPLOADER_STATE_KEY={text}\nUPLOADER_TRACKS='{text}\n"
    )
    variables = {
        "UPLOADER_CREDENTIALS": text,
        "INPUT_TARGET": text,
        f"UPLOADER_{text[:MAX_LINE]}": text,
    }
    started = time.process_time()
    found, _ = inputs.read(
        variables, ["--env-file", str(tmp_path / "x.env"), f"--tracks={text}", text]
    )
    redactor = Redactor(
        credential for given in found.texts for credential in credentials_in(given)
    )
    redactor.clean(text, MAX_TEXT)
    # A slow machine takes a second; what grows with the square of the text takes minutes.
    assert time.process_time() - started < 4


def test_another_name_of_the_package_s_placeholder_is_told_what_it_is_here() -> None:
    """Gradle and other tools call it otherwise."""
    with pytest.raises(InvalidValue) as caught:
        version_path("out/{packageName}.txt")
    assert "Did you mean `{package}`?" in caught.value.reason
