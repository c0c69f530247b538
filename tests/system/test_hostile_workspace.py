"""A workspace that wants to publish the secrets of the run: links and hard links, through every
input that names files.

Whoever may open a pull request chooses what a link points at. Each attack goes through the
entrypoint: exit 2, nothing is sent, and the secret is nowhere (the job's own watch looks for it in
all that a run leaves).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job

PLAY = {"target": "play", "files": "app.aab", "tracks": "internal"}
MAIL = {
    "target": "gmail",
    "impersonate-user": "me@example.com",
    "mail-to": "ann@example.com",
    "mail-subject": "s",
}
DRIVE = {"target": "drive.files.create"}


def soft(path: Path, target: Path) -> None:
    """A link as git keeps it: relative to its own folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def hard(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.hardlink_to(target)


# Where the link stands, and the inputs that lead a run to it.
PLACES = {
    "listing text": (
        "store/en-US/full_description.txt",
        {**PLAY, "images-directory": "store"},
    ),
    "image": ("store/en-US/images/icon.png", {**PLAY, "images-directory": "store"}),
    "release notes": ("notes/whatsnew-en-US", {**PLAY, "whats-new-directory": "notes"}),
    "symbols": ("symbols/x86_64/liba.so", {**PLAY, "debug-symbols": "symbols"}),
    "symbols zip": ("symbols.zip", {**PLAY, "debug-symbols": "symbols.zip"}),
    "mapping": ("mapping.txt", {**PLAY, "mapping-file": "mapping.txt"}),
    "expansion": ("main.obb", {**PLAY, "expansion-file-main": "main.obb"}),
    "mail body": ("mail/body.txt", {**MAIL, "mail-body-file": "mail/body.txt"}),
    "mail body, as it was": (
        "mail/body.txt",
        {**MAIL, "mail-body": "file:mail/body.txt"},
    ),
    "mail html": ("mail/body.html", {**MAIL, "mail-html-file": "mail/body.html"}),
    "message": (
        "mail/a.eml",
        {
            "target": "gmail",
            "impersonate-user": "me@example.com",
            "message-file": "mail/a.eml",
        },
    ),
    "attachment": ("build/report.pdf", {**MAIL, "files": "build/*"}),
    "artifact": ("build/a.bin", {**DRIVE, "files": "build/a.bin"}),
}
SECRETS = (
    "key.json",
    ".git/config",
    ".env.production",
    ".ssh/id_ed25519",
    "gha-creds-0123.json",
)
ALLOWED = {"allow-symlinks": "true", "allow-outside-workspace": "true"}


@pytest.fixture
def job(tmp_path: Path, emulator: Emulator) -> Job:
    """A checkout with a bundle and every kind of secret; the run's own key is a file of it."""
    workspace = tmp_path / "workspace"
    for name in SECRETS:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("[core]\n\ttoken = do-not-publish\n")
    (workspace / "key.json").write_text(json.dumps(emulator.key))
    specimens.make_bundle(workspace / "app.aab", "com.example.app", 7, "1.0")
    return Job(workspace, emulator)


def refused(job: Job, inputs: dict[str, str], named: str) -> str:
    """The log of a run that ends with exit 2 because of the named file, and sends no request."""
    ended = job.run({"credentials": "key.json", **inputs})
    state = job.emulator.state()
    assert ended.code == 2, ended.log
    assert named in ended.log
    assert "do-not-publish" not in ended.log
    assert not [
        *state["objects"],
        *state["messages"],
        *filter(None, state["edits"].values()),
    ]
    assert not state["requests"], "a request was sent"
    return ended.log


@pytest.mark.slow
@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("place", PLACES)
def test_a_link_to_a_secret_is_never_followed(
    job: Job, place: str, secret: str
) -> None:
    """Whatever is allowed: no input publishes the key, the repository's configuration or an
    environment file.
    """
    path, inputs = PLACES[place]
    soft(job.workspace / path, job.workspace / secret)
    refused(job, {**inputs, **ALLOWED}, "uploaded")


@pytest.mark.parametrize("place", PLACES)
def test_a_hard_link_to_the_key_is_never_read(job: Job, place: str) -> None:
    """It is recognised by its inode, whatever its name is."""
    path, inputs = PLACES[place]
    hard(job.workspace / path, job.workspace / "key.json")
    assert "contains this run's credentials" in refused(
        job, {**inputs, **ALLOWED}, path
    )


@pytest.mark.parametrize(
    "name", [".git/config", ".ssh/id_ed25519", ".env.production", "gha-creds-0123.json"]
)
def test_a_secret_under_its_own_name_is_no_artifact(job: Job, name: str) -> None:
    """Not even when the workflow names it itself."""
    refused(job, {**DRIVE, "files": name, **ALLOWED}, name)


BOUND = [
    place
    for place in PLACES
    if place not in {"mapping", "expansion", "attachment", "artifact", "symbols zip"}
]


@pytest.mark.parametrize("place", [place for place in BOUND if "/" in PLACES[place][0]])
def test_a_link_out_of_the_input_s_folder_needs_allow_symlinks(
    job: Job, place: str
) -> None:
    """A secret of another kind beside the folder stays where it is, and the sentence names the
    input that allows it.
    """
    path, inputs = PLACES[place]
    (job.workspace / "secrets.properties").write_text("password=do-not-publish\n")
    soft(job.workspace / path, job.workspace / "secrets.properties")
    assert "which only `allow-symlinks: true` permits" in refused(job, inputs, path)


@pytest.mark.parametrize("place", ["listing text", "release notes", "symbols"])
def test_a_folder_that_is_a_link_itself_is_bound_as_well(job: Job, place: str) -> None:
    """A link in the place of the named folder would make everything lie below it."""
    path, inputs = PLACES[place]
    name = path.split("/")[0]
    (job.workspace / name).symlink_to("." if place != "symbols" else "/")
    refused(job, inputs, name)


def test_a_link_below_the_folder_is_followed(job: Job) -> None:
    """One text for several languages, and a folder for two: links as people make them need no
    input, and cause no warning.
    """
    store = job.workspace / "store"
    (store / "en-US/images").mkdir(parents=True)
    (store / "en-US/title.txt").write_text("App")
    specimens.make_image(store / "en-US/images/icon.png", 512, 512, alpha=True)
    (store / "en-GB").symlink_to("en-US")
    soft(store / "de-DE/title.txt", store / "en-US/title.txt")
    ended = job.succeed({**PLAY, "images-directory": "store"})
    assert "::warning" not in ended.log
    listings = job.emulator.play.app("com.example.app").live.listings
    assert {language: texts["title"] for language, texts in listings.items()} == (
        dict.fromkeys(("de-DE", "en-GB", "en-US"), "App")
    )


def test_allow_symlinks_lets_a_text_come_from_elsewhere_in_the_workspace(
    job: Job,
) -> None:
    """It allows links within the workspace, and none out of it."""
    (job.workspace / "CHANGES.md").write_text("New things.")
    soft(job.workspace / "notes/whatsnew-en-US", job.workspace / "CHANGES.md")
    given = {**PLAY, "whats-new-directory": "notes", "allow-symlinks": "true"}
    assert job.run(given).code == 0
    (job.workspace.parent / "outside.txt").write_text("New things.")
    soft(job.workspace / "notes/whatsnew-de-DE", job.workspace.parent / "outside.txt")
    assert "which only `allow-outside-workspace: true` permits" in job.run(given).log


# What lies in the checkout to be run, read or sent

MODULES = (
    "requests",
    "urllib3",
    "google",
    "yaml",
    "tqdm",
    "json",
    "ssl",
    "sitecustomize",
    "uploader/__init__",
)
PLANTED = "import pathlib\npathlib.Path(__file__).with_name('PLANTED').touch()\n"


def test_nothing_that_lies_in_the_workspace_is_run_read_or_sent(job: Job) -> None:
    """Planted modules, a `.env` and credential files change nothing: the release is the one that
    was asked for.
    """
    (job.workspace / "uploader").mkdir()
    for name in MODULES:
        (job.workspace / f"{name}.py").write_text(PLANTED)
    foreign = json.dumps({**job.emulator.key, "client_email": "evil@example.com"})
    for name in (
        "gha-creds-feedfeedfeedfeed.json",
        "application_default_credentials.json",
    ):
        (job.workspace / name).write_text(foreign)
    (job.workspace / ".env").write_text(
        "UPLOADER_TRACKS=production\nUPLOADER_DRY_RUN=true\n"
    )
    (job.workspace / ".netrc").write_text("default login a password b\n")
    ended = job.run(PLAY)
    state = job.emulator.state()
    assert ended.code == 0, ended.log
    assert not list(job.workspace.rglob("PLANTED"))
    assert list(state["edits"]["committed"][0]["tracks"]) == ["internal"]
    assert {token["email"] for token in state["tokens"]} == {
        job.emulator.service_account
    }
    assert [item["path"].rsplit("/", 1)[1] for item in state["objects"]] == ["bundles"]


# Encoded words that hide another recipient

HIDDEN = "=?utf-8?q?Hi=0D=0ABcc=3A_spy=40example.com?="


@pytest.mark.parametrize(
    ("inputs", "named"),
    [
        ({"mail-subject": HIDDEN}, "mail-subject"),
        (
            {"mail-subject": "=?utf-8?b?SGkNCkJjYzogc3B5QGV4YW1wbGUuY29t?="},
            "mail-subject",
        ),
        (
            {"mail-subject": "=?utf-7?q?Hi+AA0ACg-Bcc:_spy=40example.com?="},
            "mail-subject",
        ),
        ({"mail-to": f'"{HIDDEN}" <ann@example.com>'}, "mail-to"),
        ({"mail-from": f"{HIDDEN} <ann@example.com>"}, "mail-from"),
        ({"files": HIDDEN}, "files"),
    ],
)
def test_no_encoded_word_becomes_a_header(
    job: Job, inputs: dict[str, str], named: str
) -> None:
    """A subject, a name, a file's name: a line break behind an encoded word is refused, and no mail
    goes out.
    """
    (job.workspace / HIDDEN).write_text("x")
    refused(job, {**MAIL, "mail-body": "b", **inputs}, named)
