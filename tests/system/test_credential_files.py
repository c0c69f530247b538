"""Keys and keystores that an input brings along, through the real entrypoint: refused by what is in
them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from google_emulator import Emulator, specimens
from tests.support.job import Job

PLAY = {"target": "play", "files": "app.aab", "tracks": "internal"}
MAIL = {
    "target": "gmail",
    "impersonate-user": "me@example.com",
    "mail-to": "ann@example.com",
    "mail-subject": "s",
}
STORAGE = {"target": "storage.objects.insert", "params": "bucket: b"}
PEM = (
    ec.generate_private_key(ec.SECP256R1())
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)
KEY = json.dumps(
    {
        "type": "service_account",
        "project_id": "other",
        "private_key": PEM,
        "client_email": "a@b.c",
    }
)
ALLOWED = {"allow-credential-files": "true"}


@pytest.fixture
def job(tmp_path: Path, emulator: Emulator) -> Job:
    """A checkout with a bundle, and a folder with a key of some other account under a harmless
    name.
    """
    workspace = tmp_path / "workspace"
    (workspace / "build").mkdir(parents=True)
    specimens.make_bundle(workspace / "app.aab", "com.example.app", 7, "1.0")
    (workspace / "build/app.zip").write_text(KEY)
    return Job(workspace, emulator)


def refused(job: Job, inputs: dict[str, str], *words: str) -> None:
    """A run that ends with exit 2 and these words, and of which nothing reached a service."""
    log = job.fail(2, inputs).log
    for each in words:
        assert each in log
    assert PEM[30:60] not in log
    state = job.emulator.state()
    assert not [
        *state["objects"],
        *state["messages"],
        *filter(None, state["edits"].values()),
    ]
    assert not state["requests"], "a request was sent"


@pytest.mark.parametrize(
    "more", [{}, ALLOWED], ids=["by default", "where credentials are allowed"]
)
@pytest.mark.parametrize("pattern", ["build/*", "**", "build/app.[yz]ip"])
def test_a_key_is_never_uploaded_because_a_pattern_matched(
    job: Job, pattern: str, more: dict[str, str]
) -> None:
    """The message names the file, the pattern and what the file is."""
    said = (
        f"build/app.zip, which `{pattern}` matches, is a service-account key and is "
        "never uploaded"
    )
    refused(job, {**STORAGE, "files": pattern, **more}, said)


INSTEAD = {
    "another ending": (
        ["build/app.aab", "build/app.apk"],
        "build/*",
        "build/*.aab, build/*.apk.",
    ),
    "another ending, deep": (["build/out/app.aab"], "build/**", "build/**/*.aab."),
    "another ending, from the root": (["build/app.aab"], "**", "**/*.aab."),
    "the same ending": (
        ["build/a.zip", "build/b.zip"],
        "build/*",
        "build/a.zip, build/b.zip.",
    ),
    "many of the same ending": (
        [f"build/{name}.zip" for name in "bcde"],
        "build/*",
        "the files themselves, such as build/b.zip.",
    ),
    "a pattern with an ending": (["build/b.zip"], "build/*.zip", "build/b.zip."),
}


@pytest.mark.parametrize(
    ("others", "pattern", "accepted"), INSTEAD.values(), ids=INSTEAD
)
def test_the_message_says_what_to_write_instead(
    job: Job, others: list[str], pattern: str, accepted: str
) -> None:
    """A pattern that takes the rest of the files and leaves the key out."""
    (job.workspace / "app.aab").unlink()
    for name in others:
        (job.workspace / name).parent.mkdir(exist_ok=True)
        (job.workspace / name).write_text("x")
    refused(
        job, {**STORAGE, "files": pattern}, "exclude it there. Accepted: " + accepted
    )


def test_a_key_alone_has_nothing_instead(job: Job) -> None:
    """Neither where it is named, nor where the pattern matches nothing else."""
    for name in ("build/*", "build/app.zip"):
        assert "Accepted:" not in job.fail(2, {**STORAGE, "files": name}).log


def test_a_key_that_is_named_itself_needs_to_be_allowed(job: Job) -> None:
    """The message names the input that allows it; with that input the file is sent."""
    inputs = {**STORAGE, "files": "build/app.zip"}
    refused(
        job,
        inputs,
        "build/app.zip is a service-account key",
        "`allow-credential-files: true`",
    )
    job.succeed({**inputs, **ALLOWED})
    assert job.stored() == [KEY.encode()]


def test_a_file_that_is_only_called_a_key_is_taken(job: Job) -> None:
    """Its name says nothing."""
    (job.workspace / "build/app.zip").unlink()
    (job.workspace / "build/app-key.json").write_text('{"shortcut": "F1"}')
    (job.workspace / "build/release.jks").write_text("no keystore")
    job.succeed({**STORAGE, "files": "build/*"})
    assert len(job.stored()) == 2


@pytest.mark.parametrize(
    "name", [".env", ".git/config", "gha-creds-0123.json", "own.json"]
)
def test_what_is_never_opened_stays_so_where_credentials_are_allowed(
    job: Job, name: str
) -> None:
    """The environment, the repository, and what this run logs in with."""
    path = job.workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(job.emulator.key) if name == "own.json" else "A=b\n")
    inputs = {**STORAGE, "files": name, **ALLOWED}
    if name == "own.json":
        inputs["credentials"] = "own.json"
    refused(job, inputs, "never uploaded")


PKCS12 = pkcs12.serialize_key_and_certificates(
    b"a", ec.generate_private_key(ec.SECP256R1()), None, None, NoEncryption()
)


@pytest.mark.parametrize(
    ("path", "inputs"),
    [
        pytest.param(
            "mapping.txt", {**PLAY, "mapping-file": "mapping.txt"}, id="mapping"
        ),
        pytest.param(
            "symbols.zip", {**PLAY, "debug-symbols": "symbols.zip"}, id="symbols"
        ),
        pytest.param(
            "symbols/x86_64/liba.so",
            {**PLAY, "debug-symbols": "symbols"},
            id="folder of symbols",
        ),
        pytest.param(
            "main.obb", {**PLAY, "expansion-file-main": "main.obb"}, id="expansion"
        ),
        pytest.param(
            "store/en-US/full_description.txt",
            {**PLAY, "images-directory": "store"},
            id="listing text",
        ),
        pytest.param(
            "store/en-US/images/icon.png",
            {**PLAY, "images-directory": "store"},
            id="image",
        ),
        pytest.param(
            "notes/whatsnew-en-US",
            {**PLAY, "whats-new-directory": "notes"},
            id="release notes",
        ),
        pytest.param(
            "body.txt", {**MAIL, "mail-body-file": "body.txt"}, id="mail body"
        ),
        pytest.param(
            "body.html", {**MAIL, "mail-html-file": "body.html"}, id="mail html"
        ),
        pytest.param(
            "a.eml",
            {
                "target": "gmail",
                "impersonate-user": "me@example.com",
                "message-file": "a.eml",
            },
            id="message",
        ),
        pytest.param(
            "build/report.pdf", {**MAIL, "files": "build/report.pdf"}, id="attachment"
        ),
        pytest.param(
            "form.csv",
            {"target": "play-data-safety", "package-name": "a.b", "files": "form.csv"},
            id="form",
        ),
    ],
)
@pytest.mark.parametrize("content", [KEY.encode(), PKCS12], ids=["key", "keystore"])
def test_no_input_publishes_a_key(
    job: Job, path: str, inputs: dict[str, str], content: bytes
) -> None:
    """Wherever a file is named, or a folder of files."""
    (job.workspace / path).parent.mkdir(parents=True, exist_ok=True)
    (job.workspace / path).write_bytes(content)
    refused(
        job,
        inputs,
        path,
        "is a service-account key"
        if content == KEY.encode()
        else "is a PKCS #12 keystore",
    )


@pytest.mark.parametrize(
    "path", ["store/en-US/full_description.txt", "notes/whatsnew-en-US"]
)
def test_a_folder_never_brings_a_key_along(job: Job, path: str) -> None:
    """Not even where credentials are allowed: nobody named the file."""
    (job.workspace / path).parent.mkdir(parents=True)
    (job.workspace / path).write_text(KEY)
    folders = {"images-directory": "store", "whats-new-directory": "notes"}
    inputs = {
        name: folder for name, folder in folders.items() if path.startswith(folder)
    }
    refused(
        job,
        {**PLAY, **inputs, **ALLOWED},
        path,
        "is a service-account key and is never uploaded",
    )


def test_a_git_lfs_pointer_is_no_artifact(job: Job) -> None:
    """It has the name of the file, and none of its bytes."""
    pointer = (
        "version https://git-lfs.github.com/spec/v1\noid sha256:"
        + "0" * 64
        + "\nsize 12345\n"
    )
    (job.workspace / "app.aab").write_text(pointer)
    refused(job, PLAY, "app.aab is a Git LFS pointer", "`lfs: true`")
