"""Mistakes that people reported to the trackers of other tools, each in a whole run: the answer
says what is wrong and what to do, and nothing that is not so.

`where` is the tracker in which the mistake was found. The runs are in this process, which saves the
start of an interpreter for each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.transfer_harness import FakeTime

PACKAGE = "com.example.app"
PLAY = {"target": "play", "files": "app.aab", "tracks": "production"}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    """A checkout with a bundle and a zip. It is shared, since no mistake here changes anything."""
    workspace = tmp_path_factory.mktemp("mistakes") / "workspace"
    workspace.mkdir()
    specimens.make_bundle(workspace / "app.aab", PACKAGE, 7, "1.0")
    (workspace / "ota.zip").write_bytes(b"PK\5\6" + bytes(18))
    with Emulator() as emulator:
        yield Job(workspace, emulator)


def answer(job: Job, code: int, inputs: Mapping[str, str], **more: str) -> str:
    """The one error of a run that has to end with this exit code."""
    ended, log = job.run_here(inputs, FakeTime(), **more)
    assert ended == code, log
    [error] = [line for line in log.splitlines() if line.startswith("::error")]
    assert job.emulator.key["private_key"][40:80] not in error
    return error.replace("%25", "%")


# The key


def in_base64(text: bytes) -> str:
    """What `base64 -w0` prints."""
    return base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("where", "given", "words"),
    [
        pytest.param(
            "google-github-actions/auth",
            lambda key: f"'{key}'",
            "credentials: JSON with something around it, such as quotes or a name",
            id="quotes around the key",
        ),
        pytest.param(
            "gitlab forum",
            lambda key: f"PLAY_KEY={key}",
            "credentials: JSON with something around it",
            id="a line of an env file",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            lambda key: f"```json\n{key}\n```",
            "credentials: JSON with something around it",
            id="a block of Markdown",
        ),
        pytest.param(
            "google-github-actions/auth",
            json.dumps,
            "credentials: JSON inside a JSON string",
            id="toJSON of a secret",
        ),
        pytest.param(
            "google-github-actions/auth",
            lambda key: key.replace('"', '\\"'),
            'credentials: JSON whose quotes have backslashes before them (`\\"`)',
            id="escaped for a shell",
        ),
        pytest.param(
            "gitlab forum",
            lambda key: key.replace('"', ""),
            "credentials: JSON without its quotes, which a shell removed",
            id="echo without quotes",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            "{",
            "credentials: only the first line of a JSON file; keep the file in one line",
            id="first line of an output",
        ),
        pytest.param(
            "fastlane",
            lambda key: key[:-20],
            "credentials: JSON that is cut off.",
            id="end of the file left out",
        ),
        pytest.param(
            "google-github-actions/auth",
            lambda key: key[:-1] + ",}",
            "credentials: JSON that is damaged at line 1, column ",
            id="edited by hand",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            lambda key: in_base64(in_base64(key.encode()).encode()),
            "credentials: base64 of base64; encode the file once.",
            id="encoded twice",
        ),
        pytest.param(
            "google-github-actions/setup-gcloud",
            lambda key: in_base64(key.encode("utf-16")),
            "credentials: base64 of text in UTF-16",
            id="PowerShell",
        ),
        pytest.param(
            "microsoft/google-play-vsts-extension",
            lambda key: (
                f"-----BEGIN CERTIFICATE-----\n{in_base64(key.encode())}\n-----END CERTIFICATE-----"
            ),
            "as `certutil -encode` writes it; remove the first and the last line.",
            id="certutil",
        ),
        pytest.param(
            "codemagic",
            lambda key: f"data:application/json;base64,{in_base64(key.encode())}",
            "credentials: a data URL; give only what is behind its comma.",
            id="data URL",
        ),
        pytest.param(
            "fastlane",
            in_base64(b"\x30\x82\x09\x51\x02\x01\x03" + bytes(900)),
            "credentials: base64 of a P12 file",
            id="P12",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            "{{ secrets.PLAY_KEY }}",
            "credentials: an expression that the CI system did not evaluate",
            id="dollar sign left out",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            "secrets.PLAY_KEY",
            "in GitHub's workflows it is `${{ secrets.NAME }}`",
            id="braces left out",
        ),
        pytest.param(
            "gitlab forum",
            "***",
            "credentials: asterisks, as a log shows them in place of a secret",
            id="copied from a log",
        ),
        pytest.param(
            "googleapis",
            "AIza" + "Sy" + "0" * 33,
            "credentials: an API key, which can't change anything",
            id="API key",
        ),
        pytest.param(
            "googleapis",
            "ya29." + "0" * 40,
            "credentials: an access token, which expires within hours",
            id="access token",
        ),
        pytest.param(
            "codemagic",
            "play@example.iam.gserviceaccount.com",
            "credentials: an e-mail address; give the account's JSON key",
            id="e-mail address",
        ),
        pytest.param(
            "gitlab forum",
            "/builds/group/app.tmp/PLAY_KEY",
            "credentials: there is no file `/builds/group/app.tmp/PLAY_KEY`.",
            id="file variable of another job",
        ),
    ],
)
def test_a_key_in_the_wrong_form_is_named(
    job: Job, where: str, given: str | Callable[[str], str], words: str
) -> None:
    """By its form alone: no part of it is repeated."""
    key = json.dumps(job.emulator.key)
    credentials = given if isinstance(given, str) else given(key)
    assert words in answer(job, 2, {**PLAY, "credentials": credentials}), where


def test_a_key_file_that_powershell_wrote_is_named(job: Job) -> None:
    """Its `>` writes UTF-16."""
    text = json.dumps(job.emulator.key)
    (job.workspace / "play.json").write_bytes(text.encode("utf-16"))
    error = answer(job, 2, {**PLAY, "credentials": "play.json"})
    assert "the file is in UTF-16, as PowerShell writes it; keep it in UTF-8." in error


def test_a_key_of_several_lines_whose_line_breaks_were_lost_is_repaired(job: Job) -> None:
    """Shells and variables turn them into blanks or into a backslash and an n."""
    for instead in ("\\n", " "):
        damaged = {**job.emulator.key, "private_key": job.emulator.key["private_key"]}
        damaged["private_key"] = damaged["private_key"].replace("\n", instead)
        inputs = {**PLAY, "credentials": json.dumps(damaged), "dry-run": "true"}
        code, log = job.run_here(inputs, FakeTime())
        assert code == 0, log
