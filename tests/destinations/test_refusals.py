"""What can't succeed ends with exit code 2 before a single request: no token is fetched, no
connection is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.destinations import MIB, apk, bundle, noise, package
from tests.support.job import Job

Given = Mapping[str, str]
Make = Callable[[Path], object]
PNG = b"\x89PNG\r\n\x1a\n"

SHARING: Given = {"target": "play-internal-sharing"}
GMAIL: Given = {
    "target": "gmail",
    "impersonate-user": "me@example.com",
    "mail-to": "a@example.com",
    "mail-body": "b",
}
GAMES: Given = {
    "target": "play-games",
    "resource-id": "a",
    "image-type": "ACHIEVEMENT_ICON",
    "files": "a.png",
}
OTA: Given = {
    "target": "ota",
    "deployment": "d",
    "package-title": "t",
    "files": "ota.zip",
}
DRIVE: Given = {"target": "drive.files.create", "files": "a.bin"}
STORAGE: Given = {
    "target": "storage.objects.insert",
    "files": "a.bin",
    "params": "bucket: b",
}
IMAGE: Given = {
    "target": "androidpublisher.edits.images.upload",
    "files": "a.png",
    "params": "{packageName: com.example.app, editId: 1, language: en-GB, imageType: icon}",
}
CHROME: Given = {
    "target": "chromewebstore.media.upload",
    "files": "a.zip",
    "params": "name: publishers/p/items/i",
}


def holding(name: str, content: bytes, size: int = 0) -> Make:
    """A file that begins with `content`; up to `size` it is a hole."""

    def make(workspace: Path) -> None:
        with (workspace / name).open("wb") as file:
            file.write(content)
            file.truncate(max(size, len(content)))

    return make


def pipe(name: str) -> Make:
    """A named pipe into which nobody writes: whoever opened it would wait for ever."""

    def make(workspace: Path) -> None:
        os.mkfifo(workspace / name)

    return make


def two(workspace: Path) -> None:
    for folder in ("a", "b"):
        (workspace / folder).mkdir()
        (workspace / folder / "x.bin").write_bytes(b"x")


def torn(workspace: Path) -> None:
    whole = package(workspace, MIB).read_bytes()
    (workspace / "ota.zip").write_bytes(whole[:-1])


BIN = holding("a.bin", noise(100))

# What is given, what lies in the workspace, the input that is told to be wrong, and words that tell
# why.
REFUSALS: dict[str, tuple[Given, Make, str, str]] = {
    # internal app sharing
    "sharing no artifact": ({**SHARING, "files": "a.bin"}, BIN, "files", "a.bin"),
    "sharing no files": (SHARING, BIN, "files", "no APK or bundle was given"),
    "sharing other package": (
        {**SHARING, "files": "*.apk", "package-name": "com.example.other"},
        apk,
        "package-name",
        "app-7.apk belongs to com.example.app",
    ),
    "sharing stream": ({**SHARING, "files": "-"}, BIN, "files", "is a stream"),
    # Gmail
    "mail header in subject": (
        {**GMAIL, "mail-subject": "a\nBcc: x@example.com"},
        BIN,
        "mail-subject",
        "",
    ),
    "mail no recipient": ({**GMAIL, "mail-to": ""}, BIN, "mail-to", "no recipient"),
    "mail empty": (
        {**GMAIL, "mail-body": ""},
        BIN,
        "mail-body",
        "the mail would be empty",
    ),
    "mail no sender": (
        {**GMAIL, "gmail-action": "insert"},
        BIN,
        "mail-from",
        "needs a sender",
    ),
    "mail unknown action": (
        {**GMAIL, "gmail-action": "reply"},
        BIN,
        "gmail-action",
        "draft-update",
    ),
    "mail over 35 MiB once encoded": (
        {**GMAIL, "files": "a.bin"},
        holding("a.bin", b"", 27 * MIB),
        "files",
        "at most 36,700,160",
    ),
    "mail stream": ({**GMAIL, "files": "-"}, BIN, "files", "is a stream"),
    "mail update without draft": (
        {**GMAIL, "gmail-action": "draft-update"},
        BIN,
        "draft-id",
        "required",
    ),
    "mail draft elsewhere": (
        {**GMAIL, "gmail-action": "draft-update", "draft-id": ".."},
        BIN,
        "draft-id",
        "segment",
    ),
    # Play Games
    "games resource elsewhere": (
        {**GAMES, "resource-id": ".."},
        holding("a.png", PNG),
        "resource-id",
        "segment",
    ),
    "games unknown type": (
        {**GAMES, "image-type": "ICON"},
        holding("a.png", PNG),
        "image-type",
        "LEADERBOARD_ICON",
    ),
    "games no image": (GAMES, holding("a.png", b"no image"), "files", "image/*"),
    "games too large": (
        GAMES,
        holding("a.png", PNG, 15 * MIB + 1),
        "files",
        "at most 15,728,640",
    ),
    "games stream": (GAMES, pipe("a.png"), "files", "is a stream"),
    # OTA
    "ota torn zip": (OTA, torn, "files", "its end is missing"),
    "ota deployment elsewhere": (
        {**OTA, "deployment": "../x"},
        torn,
        "deployment",
        "segment",
    ),
    "ota bundle": (
        {**OTA, "files": "app-7.aab"},
        bundle,
        "files",
        "not an OTA package",
    ),
    "ota apk": ({**OTA, "files": "app-7.apk"}, apk, "files", "`target: play`"),
    "ota title for an id": (
        {**OTA, "deployment": "my deployment"},
        torn,
        "deployment",
        "no id",
    ),
    "ota page for an id": (
        {**OTA, "deployment": "https://partner.android.com/ota"},
        torn,
        "deployment",
        "the address of a page",
    ),
    "ota no title": ({**OTA, "package-title": ""}, torn, "package-title", "required"),
    "ota simple": (
        {**OTA, "upload-protocol": "simple"},
        torn,
        "upload-protocol",
        "not support simple uploads",
    ),
    "ota stream": (
        {**OTA, "files": "-", "upload-protocol": "multipart"},
        BIN,
        "upload-protocol",
        "stream",
    ),
    # any method
    "method unknown": (
        {**DRIVE, "target": "drive.files.creat"},
        BIN,
        "target",
        "drive.files.create",
    ),
    "method media type": (
        IMAGE,
        holding("a.png", b"%PDF-1.7"),
        "files",
        "application/pdf",
    ),
    "method too large": (
        CHROME,
        holding("a.zip", b"PK\3\4", 2048 * MIB + 1),
        "files",
        "at most 2,147,483,648",
    ),
    "method not resumable": (
        {**CHROME, "upload-protocol": "resumable"},
        holding("a.zip", b"PK\3\4"),
        "upload-protocol",
        "not support resumable uploads",
    ),
    "method stream needs a session": (
        {**CHROME, "files": "-"},
        BIN,
        "files",
        "must know the size",
    ),
    "method simple with metadata": (
        {**DRIVE, "upload-protocol": "simple", "metadata": '{"name": "x"}'},
        BIN,
        "upload-protocol",
        "`name`",
    ),
    "method stream in one request": (
        {**STORAGE, "files": "-", "upload-protocol": "simple"},
        BIN,
        "upload-protocol",
        "stream",
    ),
    "method one name for two": (
        {**DRIVE, "files": "*/*", "metadata": '{"name": "x"}'},
        two,
        "metadata",
        "the same `name`",
    ),
    "method no files": ({**DRIVE, "files": "none"}, BIN, "files", "no file was given"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_sends_nothing(job: Job, name: str) -> None:
    """Exit code 2, the input's name and the reason in one error line, and a server that never heard
    of it.
    """
    given, make, wrong, why = REFUSALS[name]
    make(job.workspace)
    ended = job.fail(2, given)
    [error] = [line for line in ended.log.splitlines() if line.startswith("::error")]
    assert wrong in error
    assert why in error
    assert "Nothing was sent" in error
    state = job.emulator.state()
    assert state["requests"] == {}
    assert state["connections"] == 0


def test_all_mistakes_of_a_mail_are_told_together(job: Job) -> None:
    """One run is enough to learn of every mistake, in whichever room of the program it is found."""
    given = {
        **GMAIL,
        "mail-to": "nobody",
        "mail-body": "file:none",
        "files": "gone.pdf",
        "chunk-size": "much",
    }
    ended = job.fail(2, given)
    for name in ("mail-to", "mail-body", "files", "chunk-size"):
        assert f"{name}: " in ended.log
    assert job.emulator.state()["requests"] == {}
