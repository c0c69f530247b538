"""What a run tells people while it goes and at its end: log, summary, outputs and results say what
was seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from google_emulator import specimens
from tests.support.job import ENTRYPOINT, Ended, Job
from tests.support.platforms import tables
from uploader import cli

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
PLAY = {"target": "play", "files": "out/*.aab", "tracks": "internal"}
CHUNKS = {**PLAY, "chunk-size": "1MiB"}
PUT = "resumable.put"


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle of 5 MiB, com.example.app 42."""
    (job.workspace / "out").mkdir()
    bundle(job.workspace, 42)
    return job


def bundle(workspace: Path, version_code: int) -> None:
    path = workspace / "out" / "app.aab"
    path.unlink(missing_ok=True)
    specimens.make_bundle(
        path, "com.example.app", version_code, "1.0", size_bytes=5 * MIB
    )


def said(ended: Ended) -> list[str]:
    """The lines of the log that are no commands."""
    return [line for line in ended.log.splitlines() if not line.startswith("::")]


def bars(ended: Ended) -> list[str]:
    """The tasks of the summary's chart, without their times."""
    return [
        line.strip().rsplit(" :", 1)[0]
        for line in ended.summary.splitlines()
        if re.search(r" :.*\d+, \d+$", line)
    ]


# A rehearsal


def test_a_rehearsal_never_looks_like_a_release(job: Job) -> None:
    """Its outputs, its last line and its summary say that nothing was published; its endpoint is
    named.
    """
    ended = job.succeed({**PLAY, "api-endpoint": "emulator"})
    assert (ended.outputs["committed"], ended.outputs["rehearsal"]) == ("false", "true")
    assert (
        "::warning::This is a rehearsal against the embedded emulator: nothing is published."
        in ended.log
    )
    assert re.search(
        r"^API requests go to http://127\.0\.0\.1:\d+ instead of Google's own servers\.$",
        ended.log,
        re.MULTILINE,
    )
    headline = "In the emulator: com.example.app 1.0 (42) is released on internal."
    assert ended.last_line == f"Rehearsal, nothing was published. {headline}"
    assert ended.summary.startswith(
        "# NOTHING WAS PUBLISHED\n\n**Rehearsal against the embedded emulator.** In the emulator: "
    )
    assert "https://play.google.com" not in ended.summary
    assert re.findall("^### (.*)$", ended.summary, re.MULTILINE) == [
        "Changes, in the emulator"
    ]
    assert not job.emulator.state()["requests"]


# Sent and stored


def test_a_lost_session_has_nothing_stored(job: Job) -> None:
    """What was stored in it is gone, and log, chart and results say so."""
    job.emulator.add_fault(PUT, "session-lost", nth=4)
    ended = job.run(CHUNKS)
    lines = [
        line.removeprefix("out/app.aab: ")
        for line in said(ended)
        if line.startswith("out/app.aab: ")
    ]
    assert (
        lines[0]
        == "The server answered 404: the session is gone; nothing is stored, starting over at 0."
    )
    assert re.fullmatch(
        r"5\.0 MiB stored in \d+\.\d s \([89]\.\d MiB sent\), .*/s", lines[-1]
    )
    assert "The server holds" not in ended.log
    assert "starting over, the server answered 404, the session is gone" in bars(ended)
    assert ended.outputs["bytes-uploaded"] == str(ended.results[0]["bytes"])
    assert ended.results[0]["bytes_resent"] >= 3 * MIB


def test_a_session_lost_at_the_end_may_have_stored_all(job: Job) -> None:
    """The last answer is lost, and then the session: it is not said that nothing is stored, for all
    of it may be.
    """
    job.emulator.add_fault("resumable.final", "answer-lost")
    job.emulator.add_fault("resumable.query", "session-lost")
    (job.workspace / "notes.txt").write_bytes(b"text")
    storage = {
        "target": "storage.objects.insert",
        "params": "bucket: b",
        "upload-protocol": "resumable",
    }
    ended = job.run({**storage, "files": "notes.txt"})
    assert ended.code == 0
    assert (
        "notes.txt: The server answered 404: the session is gone; starting over at 0."
        in said(ended)
    )


def test_the_speed_of_a_resumed_upload_counts_what_this_run_sent(job: Job) -> None:
    """Three mebibytes of five are sent by the second run: that number stands in the log, before the
    speed.
    """
    job.emulator.add_fault(PUT, "status", status=503, nth=3)
    first = job.fail(75, {**CHUNKS, "max-retries": "0"})
    assert re.search(
        r"^out/app\.aab: stopped, 2\.0 of 5\.0 MiB stored \(\d\.\d MiB sent\)$",
        first.log,
        re.MULTILINE,
    )
    assert bars(first)[-1] == "stopped, 2.0 of 5.0 MiB received"
    assert tables(first.summary)[0][1][-1] == "⏸️ stopped, 2.0 of 5.0 MiB received"
    assert first.results[0]["error"]
    second = job.run(CHUNKS)
    assert (
        "out/app.aab: The server holds 2.0 of 5.0 MiB; continuing from there."
        in said(second)
    )
    assert re.search(
        r"^out/app\.aab: 5\.0 MiB stored in \d+\.\d s \(3\.0 MiB sent\), ",
        second.log,
        re.MULTILINE,
    )
    assert bars(second)[0] == "resumed at 2.0 MiB, sent by an earlier run"
    (speed,) = re.findall(r"3\.0 MiB sent\), ([\d.]+) MiB/s$", second.log, re.MULTILINE)
    assert float(speed) == pytest.approx(3.0 / second.results[0]["seconds"], rel=0.2)
    assert tables(second.summary)[0][1] == [
        "`out/app.aab`",
        "`1.0 (42)`",
        "5.0&#160;MiB",
        "sent, resumed at 2.0 MiB",
    ]


# Colours


def on_a_terminal(job: Job, inputs: dict[str, str], **environment: str) -> str:
    """What a terminal is sent by a run in a shell."""
    far, near = os.openpty()
    console = replace(job, kind="console")
    program = subprocess.Popen(
        [sys.executable, str(ENTRYPOINT)],
        env={**console.environment(inputs), **environment},
        cwd=job.workspace,
        stdin=subprocess.DEVNULL,
        stdout=near,
        stderr=near,
    )
    os.close(near)
    shown = b""
    # how a terminal says that nobody writes to it any more
    with contextlib.suppress(OSError):
        while data := os.read(far, 65536):
            shown += data
    os.close(far)
    assert program.wait() == 0, shown
    return shown.decode("utf-8")


COLOURED = re.compile(r"\x1b\[[\d;]*m")
WARNED = {**PLAY, "api-endpoint": "emulator"}  # which every rehearsal is


def test_a_terminal_gets_headings_and_colour(job: Job) -> None:
    """The titles of what happens are bold, the word of a warning is yellow, and the last line is
    the result, without a list of outputs above it.
    """
    shown = on_a_terminal(job, WARNED, TERM="xterm-256color")
    assert "\x1b[1mPlan: play\x1b[0m\r\n" in shown
    changes, upload = (
        "\x1b[1mChanges: com.example.app\x1b[0m\r\n",
        "\x1b[1mUpload\x1b[0m\r\n",
    )
    assert [shown.count(upload), shown.partition(changes)[2].count(upload)] == [1, 1]
    assert "Outputs" not in shown
    assert re.fullmatch(
        r"\x1b\[32;1mRehearsal, nothing was published.* internal\.\x1b\[0m",
        shown.splitlines()[-1],
    )
    assert "\x1b[33mWARNING:\x1b[0m This is a rehearsal" in shown


@pytest.mark.parametrize(
    "asked", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}], ids=min
)
def test_no_colour_where_none_is_wanted(job: Job, asked: dict[str, str]) -> None:
    """`NO_COLOR`, and a terminal that knows no colours, get the same words without them, GitLab's
    log too.
    """
    shown = on_a_terminal(job, WARNED, **asked)
    assert "Plan: play\r\n" in shown
    assert "WARNING: This is a rehearsal" in shown
    assert not COLOURED.search(shown)
    assert not COLOURED.search(replace(job, kind="gitlab").run(WARNED, **asked).log)


# What is there of an earlier run


OLD = '[{"path": "old.aab", "id": "1"}]'


def test_a_mistake_in_a_shell_leaves_no_results_of_the_run_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads them after exit 2 must not take them for this run's; a link is left alone."""
    monkeypatch.chdir(tmp_path)
    results, given = (
        tmp_path / "uploader-results.json",
        {"UPLOADER_TARGET": "play", "UPLOADER_FILES": "none.aab"},
    )
    results.write_text(OLD)
    assert cli.run(given, []) == 2
    assert not results.exists()
    (tmp_path / "precious").write_text("precious")
    results.symlink_to("precious")
    assert cli.run(given, []) == 2
    assert (results.is_symlink(), (tmp_path / "precious").read_text()) == (
        True,
        "precious",
    )
    results.unlink()
    (tmp_path / "x.env").write_text("UPLOADER_COMMITTED=true\n")
    assert cli.run({**given, "UPLOADER_DOTENV": "x.env"}, []) == 2
    assert "UPLOADER_COMMITTED" not in (tmp_path / "x.env").read_text()


def test_results_that_can_not_be_written_are_not_pointed_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no file of this run: the output is empty."""
    output, given = (
        tmp_path / "output",
        {"GITHUB_ACTIONS": "true", "INPUT_TARGET": "play"},
    )
    output.touch()
    (tmp_path / "uploader-results.json").mkdir()
    assert (
        cli.run(
            {**given, "GITHUB_WORKSPACE": str(tmp_path), "GITHUB_OUTPUT": str(output)},
            [],
        )
        == 2
    )
    assert re.search(
        r"^results-file<<(\w+)\n\n\1$|^results-file=$", output.read_text(), re.MULTILINE
    )
    assert "uploader-results.json could not be written" in capsys.readouterr().out


UNWRITTEN = {
    "github": {"GITHUB_OUTPUT": "a-folder"},
    "gitlab": {},
    "console": {"UPLOADER_DOTENV": "uploader.env"},
}


@pytest.mark.parametrize("kind", UNWRITTEN)
def test_a_step_whose_outputs_can_not_be_written_fails(job: Job, kind: str) -> None:
    """Later steps would find none and decide wrongly; what was done is told all the same."""
    job = replace(job, kind=kind)
    for name in ("a-folder", "uploader.env"):  # which is no file that could be written
        (job.workspace / name).mkdir()
    given = {
        "target": "storage.objects.insert",
        "params": "bucket: b",
        "files": "out/*.aab",
    }
    ended = job.fail(1, given, **UNWRITTEN[kind])
    assert len(job.stored()) == 1
    assert (
        "The outputs could not be written. Everything else is done: 1 file sent to "
        "storage.objects.insert." in ended.log
    )
    assert re.search(
        r"could not be written: (Is a directory|what is there is not a regular file)\.",
        ended.log,
    )
    assert re.search(r"^id=b/out/app\.aab", ended.log, re.MULTILINE)


def test_a_mail_whose_outputs_could_not_be_written_is_not_sent_by_the_next_attempt(
    job: Job,
) -> None:
    """It is still in the state folder that was chosen, and asked about."""
    (job.workspace / "a-folder").mkdir()
    mail = {
        "target": "gmail",
        "impersonate-user": "me@example.com",
        "mail-to": "a@example.com",
        "mail-body": "b",
    }
    given = {**mail, "mail-subject": "s", "state-dir": "state"}
    run = {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "release"}
    job.fail(1, given, **run, GITHUB_RUN_ATTEMPT="1", GITHUB_OUTPUT="a-folder")
    job.succeed(given, **run, GITHUB_RUN_ATTEMPT="2")
    assert len(job.emulator.state()["messages"]) == 1


def test_a_failure_whose_outputs_can_not_be_written_stays_what_it_is(job: Job) -> None:
    """The refusal counts, and the outputs cost a warning."""
    (job.workspace / "a-folder").mkdir()
    job.emulator.add_fault(
        "resumable.start", "status", status=400, message="Not today."
    )
    ended = job.fail(
        4,
        {"target": "drive.files.create", "files": "out/*.aab"},
        GITHUB_OUTPUT="a-folder",
    )
    assert "Not today." in ended.log
    assert (
        "::warning::The outputs (GITHUB_OUTPUT) could not be written: Is a directory."
        in ended.log
    )


def test_a_proxy_is_told_without_its_password(job: Job) -> None:
    """Whoever set it, perhaps an earlier job, the log shows in one line that there is one."""
    key = {**job.emulator.key, "token_uri": "https://oauth2.googleapis.com/token"}
    elsewhere = {
        **PLAY,
        "api-endpoint": "https://api.example",
        "max-retries": "0",
        "credentials": json.dumps(key),
    }
    ended = job.run(elsewhere, HTTPS_PROXY="http://me:pass-of-the-proxy@127.0.0.1:1")
    assert (
        said(ended).count(
            "Requests go through the proxy 127.0.0.1:1 (from HTTPS_PROXY)."
        )
        == 1
    )
    assert "pass-of-the-proxy" not in ended.log + ended.summary
    assert (
        "Requests go through" not in job.run(PLAY, HTTPS_PROXY="http://127.0.0.1:1").log
    )
