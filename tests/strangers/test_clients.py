"""Clients that nobody here wrote, unchanged, with nothing but the emulator's four lines in their
environment.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.strangers.cases import Job, cases, fault_for
from tests.strangers.tools import Tool, places, tool

pytestmark = pytest.mark.slow

SIZE = (9 << 20) + 12_345  # most clients open a session from 8 MiB on
PATIENCE = {
    False: 100.0,
    True: 20.0,
}  # seconds; some that do not survive go on trying for long
BOTO = """[Credentials]
gs_service_key_file = {GOOGLE_APPLICATION_CREDENTIALS}
[Boto]
ca_certificates_file = {SSL_CERT_FILE}
"""


def upload(job: Job, folder: Path) -> Path:
    """The file of a job: a message for a mail, else a bundle."""
    if job.name == "mail":
        head = (
            b"From: me@example.com\r\nTo: you@example.com\r\nSubject: a release\r\n\r\n"
        )
        (folder / "mail.eml").write_bytes(head + b"x" * 76 * (SIZE // 76))
        return folder / "mail.eml"
    specimens.make_bundle(
        folder / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=SIZE
    )
    return folder / "app.aab"


def environment(tool: Tool, lines: dict[str, str], folder: Path) -> dict[str, str]:
    """A machine with nothing of this process but its programs, and the clients' own words for the
    same key.
    """
    (folder / "boto").write_text(BOTO.format(**lines))
    key = lines["GOOGLE_APPLICATION_CREDENTIALS"]
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        **lines,
        **tool.environment,
        "BOTO_CONFIG": str(folder / "boto"),
        "RCLONE_GCS_SERVICE_ACCOUNT_FILE": key,
        "RCLONE_GCS_BUCKET_POLICY_ONLY": "true",
        "RCLONE_DRIVE_SERVICE_ACCOUNT_FILE": key,
        "GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS": f"@file:{key}",
    }


def arrived(job: Job, state: dict[str, Any], file: Path) -> str:
    """What is wrong with what the emulator holds; empty when the file is there, once, and released
    if it was to be.
    """
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digests := [
        each["sha256"] for each in state["objects"] if each["sha256"] != digest
    ]:
        return f"stored with other bytes: {digests}"
    if not state["objects"]:
        return "nothing was stored"
    if job.name == "mail" and len(state["messages"]) != 1:
        return f"{len(state['messages'])} messages were sent"
    if job.name == "file" and len(state["files"]) != 1:
        return f"{len(state['files'])} files were made"
    if job.name == "release" and [each["versionCodes"] for each in live(state)] != [
        ["7"]
    ]:
        return f"released: {live(state)}"
    return ""


def live(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The releases on the internal track."""
    releases: list[dict[str, Any]] = (
        state["tracks"].get("com.example.app", {}).get("internal", [])
    )
    return releases


@pytest.mark.parametrize(
    ("job", "fault"),
    [pytest.param(*each, id=f"{each[0].id}-{each[1]}") for each in cases()],
)
def test_a_client_does_its_job(job: Job, fault: str, tmp_path: Path) -> None:
    """It ends well and the bytes have arrived, once; or it is known not to survive the fault, and
    then it says so.
    """
    found = tool(job.tool)
    file = upload(job, tmp_path)
    with Emulator(fault_for(job, fault)) as emulator:
        lines = emulator.serve_google_hosts(tmp_path / "client")
        command = [word.format(**places(found, file)) for word in job.program]
        code, log = run(
            command,
            tmp_path,
            environment(found, lines, tmp_path),
            PATIENCE[fault in job.fails],
        )
        state = emulator.state()
    log += f"\n{state['requests']}"
    assert [each["do"] for each in state["faults"]["waiting"]] == [], (
        f"the fault met nothing: {log}"
    )
    wrong = f"it ended with {code}" if code else arrived(job, state, file)
    if fault in job.fails:
        assert wrong, f"it survives what it is said not to ({job.fails[fault]}): {log}"
    else:
        assert not wrong, f"{wrong}: {log}"


def run(
    command: list[str], folder: Path, environment: dict[str, str], patience: float
) -> tuple[int, str]:
    """The exit code of a client and the end of what it said; -1 for one that was still at it when
    patience ended.
    """
    with (folder / "log").open("wb") as log:
        try:
            code = subprocess.run(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=patience,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
    return code, (folder / "log").read_text(errors="replace")[-3000:]
