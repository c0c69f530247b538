"""How a run fails: the output `failure`, what the log says and names, and what is told before the
first byte.
"""

from __future__ import annotations

import base64
import html
import json
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.platforms import dotenv_report

PLAY = {"target": "play", "files": "*.aab", "tracks": "internal", "max-retries": "0"}
PACKAGE = "com.example.app"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "TROUBLESHOOTING.md"


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(
        job.workspace / "app.aab", PACKAGE, 42, "1.0", size_bytes=100_000
    )
    return job


def nothing(emulator: Emulator) -> None:
    """All is well."""


def unknown_app(emulator: Emulator) -> None:
    """No app was created by hand."""
    emulator.config.any_app = False


def forbidden(emulator: Emulator) -> None:
    """The account may not release the app."""
    emulator.config.denied = [PACKAGE]


def no_closed_track(emulator: Emulator) -> None:
    """Only the standard tracks exist."""
    emulator.config.any_track = False


def outage(emulator: Emulator) -> None:
    """The upload's start is answered with 503."""
    emulator.add_fault("resumable.start", "status", status=503)


def unknown_words(emulator: Emulator) -> None:
    """A refusal in words that the program has no entry for."""
    emulator.add_fault("play.edits.commit", "status", status=400)


CASES: dict[str, tuple[Callable[[Emulator], None], dict[str, str], int, str]] = {
    "it ended well": (nothing, {}, 0, ""),
    "a wrong input": (nothing, {"status": "done"}, 2, "invalid-input"),
    "two wrong inputs": (
        nothing,
        {"status": "done", "files": "gone.aab"},
        2,
        "invalid-input",
    ),
    "a known mistake": (nothing, {"countries": "DE"}, 2, "countries-not-allowed"),
    "a known mistake beside another": (
        nothing,
        {"countries": "DE", "mapping-file": "no"},
        2,
        "invalid-input",
    ),
    "an unknown track": (no_closed_track, {"tracks": "friends"}, 4, "track-not-found"),
    "an unknown version": (
        nothing,
        {"version-codes-to-retain": "9"},
        4,
        "retained-version-unknown",
    ),
    "an unknown app": (unknown_app, {}, 4, "package-not-found"),
    "a missing right": (forbidden, {}, 3, "permission-denied"),
    "an outage": (outage, {}, 75, "temporary-failure"),
    "new words": (unknown_words, {}, 4, "refused"),
}


def explained(code: str, log: str) -> bool:
    """Whether docs/TROUBLESHOOTING.md has a heading for the code and below it words that are in the
    log.
    """
    (entries,) = re.findall(
        rf"^### {code}\n\n(.*?)\n\n[#<]",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    words = re.findall(r"^(?:\*(.+?)\*)?.", entries, re.MULTILINE)
    patterns = [
        ".*".join(map(re.escape, re.split("…|42|com.example.app", known)))
        for known in words
    ]
    return any(re.search(pattern, log) for pattern in patterns)


@pytest.mark.parametrize("name", CASES)
def test_the_output_tells_how_the_run_ended(job: Job, name: str) -> None:
    """One word for later steps, beside the exit code."""
    prepare, inputs, code, failure = CASES[name]
    prepare(job.emulator)
    ended = job.run({**PLAY, **inputs})
    assert (ended.code, ended.outputs["failure"]) == (code, failure), ended.log
    assert not failure or explained(failure, ended.log), ended.log


def test_a_refused_login_has_the_code_of_its_cause(job: Job) -> None:
    """As every row of the table of login errors has."""
    key = {**job.emulator.key, "client_email": "gone@example.iam.gserviceaccount.com"}
    ended = job.run({**PLAY, "credentials": json.dumps(key)})
    assert (ended.code, ended.outputs["failure"]) == (3, "account-not-found"), ended.log


def report(job: Job) -> dict[str, str]:
    """The dotenv report that the run left."""
    return dotenv_report((job.workspace / "uploader.env").read_bytes())


def test_a_later_gitlab_job_may_have_the_failure_in_its_variables(job: Job) -> None:
    """`UPLOADER_FAILURE` is an output, also when it comes back as a variable of a later job."""
    gitlab = replace(job, kind="gitlab")
    gitlab.run({**PLAY, "status": "done"})
    assert report(job)["UPLOADER_FAILURE"] == "invalid-input"
    again = gitlab.run(PLAY, UPLOADER_FAILURE="invalid-input")
    assert report(job)["UPLOADER_FAILURE"] == ""
    assert "UPLOADER_FAILURE is not" not in again.log


# --- the last words of the service ----------------------------------------------------------------

WORDS = "The disk of the third rack is on fire."


@pytest.mark.parametrize(
    "on", ["resumable.start", "resumable.put", "play.edits.insert", "oauth.token"]
)
def test_the_last_words_of_the_service_are_told_when_the_retries_are_spent(
    job: Job, on: str
) -> None:
    """An upload, a call, a login: whoever reads the log learns what the 503 said."""
    job.emulator.add_fault(on, "status", status=503, message=WORDS)
    ended = job.run(PLAY)
    assert (ended.code, ended.outputs["failure"]) == (75, "temporary-failure"), (
        ended.log
    )
    assert WORDS.rstrip(".") in ended.log
    assert WORDS.rstrip(".") in ended.summary


# --- the way to the service -----------------------------------------------------------------------


def closed_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_dead_proxy_is_told_by_its_host_and_the_variable(
    job: Job, variable: str
) -> None:
    """Its password is not."""
    port = closed_port()
    key = {**job.emulator.key, "token_uri": "https://oauth2.googleapis.com/token"}
    given = {**PLAY, "credentials": json.dumps(key)}
    ended = job.fail(
        75, given, **{variable: f"http://robot:geheimnis@127.0.0.1:{port}"}
    )
    assert (
        f"the connection to the proxy 127.0.0.1:{port} (from {variable}) was refused"
        in ended.log
    )
    assert "Correct the variable" in ended.log
    assert ended.outputs["failure"] == "proxy-unreachable"
    assert "geheimnis" not in ended.log


def test_an_unresolvable_proxy_and_an_unresolvable_host_are_told_apart(
    job: Job,
) -> None:
    """Both are DNS, and only one of them is the machine's own setting."""
    key = {**job.emulator.key, "token_uri": "https://oauth2.googleapis.com/token"}
    ended = job.run(
        {**PLAY, "credentials": json.dumps(key)}, HTTPS_PROXY="proxy.invalid:3128"
    )
    assert (
        "the address of the proxy proxy.invalid:3128 (from HTTPS_PROXY) could not be found (DNS)"
        in ended.log
    )
    assert ended.outputs["failure"] == "proxy-unreachable"
    key = {**job.emulator.key, "token_uri": "https://play.invalid/token"}
    ended = job.run(
        {**PLAY, "credentials": json.dumps(key), "api-endpoint": "https://play.invalid"}
    )
    assert (ended.code, ended.outputs["failure"]) == (75, "host-not-found"), ended.log
    assert "the address of play.invalid could not be found (DNS)" in ended.log
    ended = job.run(
        {**PLAY, "api-endpoint": job.emulator.url.replace("http:", "https:")}
    )
    assert (ended.code, ended.outputs["failure"]) == (75, "no-tls"), ended.log


# --- names as they are given here -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "problem", "other"),
    [
        ("github", "- user-fraction: ", "`tracks: production`"),
        ("gitlab", "- UPLOADER_USER_FRACTION: ", "`UPLOADER_TRACKS: production`"),
        ("console", "- UPLOADER_USER_FRACTION: ", "`UPLOADER_TRACKS=production`"),
    ],
)
def test_inputs_are_called_as_they_are_given_here(
    job: Job, kind: str, problem: str, other: str
) -> None:
    """In the mistake, and wherever a message names another input."""
    ended = replace(job, kind=kind).run(
        {**PLAY, "user-fraction": "1", "countries": "DE"}
    )
    assert ended.code == 2
    assert problem in ended.log.replace("%0A", "\n")
    assert other in ended.log


# --- what was meant -------------------------------------------------------------------------------

MEANT: dict[str, tuple[dict[str, str], str]] = {
    "a target": ({"target": "gmial"}, "Did you mean `gmail`?"),
    "a method": (
        {"target": "storage.object.insert"},
        "Did you mean storage.objects.insert",
    ),
    "a parameter": (
        {"target": "storage.objects.insert", "params": "buket: b"},
        "Did you mean 'bucket'?",
    ),
    "another case": ({"files": "APP.aab"}, "Did you mean `app.aab`?"),
    "a pattern in another case": ({"files": "*.AAB"}, "Did you mean `app.aab`?"),
    "a folder in another case": (
        {"files": "build/Out/x.aab"},
        "Did you mean `Build/out/x.aab`?",
    ),
    "backslashes": (
        {"files": "Build\\out\\x.aab"},
        "Write `/` between folders: `Build/out/x.aab`.",
    ),
    "backslashes to nowhere": (
        {"files": "no\\x.aab"},
        "Write `/` between folders: `no/x.aab`.",
    ),
    "a mapping in another case": (
        {"mapping-file": "Mapping.txt"},
        "Did you mean `mapping.txt`?",
    ),
    "a folder of notes in another case": (
        {"whats-new-directory": "whatsNew"},
        "Did you mean `whatsnew`?",
    ),
    "a number of per cent": ({"user-fraction": "10"}, "For 10 % of users write `0.1`."),
    "everybody": (
        {"user-fraction": "1"},
        "For all users write `100%`, or leave it out.",
    ),
}


@pytest.mark.parametrize("name", MEANT)
def test_what_was_meant_is_named(job: Job, name: str) -> None:
    """The message names it, and no request is sent."""
    for path in ("Build/out/x.aab", "mapping.txt", "whatsnew/whatsnew-en-US"):
        (job.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (job.workspace / path).write_text("a.b.C -> x.y:\n")
    inputs, words = MEANT[name]
    ended = job.fail(2, {**PLAY, **inputs})
    assert words in ended.log.replace("%25", "%")
    assert not job.emulator.state()["requests"]


REFERENCES = ["$PLAY_KEY", "${PLAY_KEY}", "$(cat key.json)", "${{ secrets.PLAY_KEY }}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["credentials", "tracks", "release-name", "package-name"]
)
@pytest.mark.parametrize("reference", REFERENCES)
def test_a_variable_that_nobody_expanded_is_recognised(
    job: Job, name: str, reference: str
) -> None:
    """GitLab passes a protected or missing variable on as its name."""
    ended = replace(job, kind="gitlab").run({**PLAY, name: reference})
    assert ended.code == 2
    assert (
        f"UPLOADER_{name.upper().replace('-', '_')}: '{reference}' is the name of a variable"
        in ended.log
    )
    assert "protected" in ended.log


def test_a_state_key_that_looks_like_one_is_not_shown(job: Job) -> None:
    """It may be a real secret."""
    ended = job.fail(2, {**PLAY, "state-key": "$ecret_of_the_house"})
    assert "state-key: The value is the name of a variable" in ended.log
    assert "ecret_of" not in ended.log.replace("::add-mask::$ecret_of_the_house", "")


def key_as(form: str, job: Job) -> str:
    """The key of the emulator's account, in one of the forms in which people have it."""
    text = json.dumps(job.emulator.key)
    return {
        "JSON": text,
        "base64": base64.b64encode(text.encode()).decode(),
        "PEM": str(job.emulator.key["private_key"]),
        "PEM behind the parameters of its curve": OF_A_CURVE,
        "refresh token": "1//0g" + "Ab3_" * 24,
    }[form]


# What `openssl ecparam -genkey` writes.
OF_A_CURVE = """-----BEGIN EC PARAMETERS-----
BggqhkjOPQMBBw==
-----END EC PARAMETERS-----
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAoAoGCCqGSM49
AwEHoUQDQgAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==
-----END EC PRIVATE KEY-----
"""


@pytest.mark.parametrize(
    "form",
    [
        "JSON",
        "base64",
        "PEM",
        "PEM behind the parameters of its curve",
        "refresh token",
    ],
)
@pytest.mark.parametrize(
    "name", ["release-name", "mail-body", "params", "whats-new", "whats-new-directory"]
)
def test_a_key_in_the_wrong_input_is_masked_and_refused(
    job: Job, form: str, name: str
) -> None:
    """A key in `release-name`, for instance, would be published."""
    given = key_as(form, job)
    ended = job.fail(2, {**PLAY, name: given})
    assert re.search(
        f"{name}: (A value of [0-9]+ characters|The value) contains a key or another credential",
        ended.log,
    )
    shown = "\n".join(
        line for line in ended.log.splitlines() if not line.startswith("::add-mask::")
    )
    assert given not in shown
    assert str(job.emulator.key["private_key"])[40:80] not in shown
    assert not job.emulator.state()["requests"]


# --- before the first byte


@pytest.mark.parametrize(
    ("track", "what"),
    [("prod", "misspelling of production"), ("open testing", "name of beta")],
)
def test_a_track_that_is_nearly_another_is_refused_before_the_upload(
    job: Job, track: str, what: str
) -> None:
    """Whether a closed track of that name exists, only Play knows; the one that was meant is
    named.
    """
    ended = job.run({**PLAY, "tracks": track})
    state = job.emulator.state()
    assert ended.code == 4, ended.log
    assert (state["objects"], state["edits"]["open"], state["edits"]["committed"]) == (
        [],
        [],
        [],
    )
    assert len(state["edits"]["deleted"]) == 1
    assert [(result["attempts"], result["error"]) for result in ended.results] == [
        (0, "Not reached.")
    ]
    assert "version-code" not in ended.outputs
    assert "title=Release not made" in ended.log
    assert (
        f"{what}. Write `{what.rpartition(' ')[2]}`, or create the closed track {track}"
        in ended.log
    )
    assert f"The app has no track {track}" in html.unescape(ended.summary)


def test_a_rollout_for_countries_is_not_completed_as_it_is(job: Job) -> None:
    """Play would refuse the countries that it has; the release is not given to all countries
    unasked.
    """
    rollout = {
        **PLAY,
        "tracks": "production",
        "user-fraction": "0.1",
        "countries": "DE",
    }
    assert job.run(rollout).code == 0
    ended = job.run(
        {
            **PLAY,
            "files": "none",
            "package-name": PACKAGE,
            "tracks": "production",
            "status": "completed",
        }
    )
    assert (ended.code, ended.outputs["failure"]) == (4, "countries-not-allowed"), (
        ended.log
    )
    assert (
        "The rollout of 42 on track production is limited to countries: DE."
        in ended.log
    )
    assert job.emulator.state()["requests"]["play.tracks.update"] == 1
