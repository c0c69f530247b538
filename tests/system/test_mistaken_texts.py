"""Paths and other tools' output in the place of a text, through the real entrypoint: refused, and
nothing changes.
"""

from __future__ import annotations

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
NOTES = "distribution/whatsnew/whatsnew-en-US"
POINTER = (
    "version https://git-lfs.github.com/spec/v1\noid sha256:"
    + "0" * 64
    + "\nsize 12345\n"
)


@pytest.fixture
def job(tmp_path: Path, emulator: Emulator) -> Job:
    """A checkout with a bundle, notes and a changelog."""
    workspace = tmp_path / "workspace"
    (workspace / NOTES).parent.mkdir(parents=True)
    (workspace / NOTES).write_text("Faster.")
    (workspace / "CHANGELOG.md").write_text("Faster.")
    specimens.make_bundle(workspace / "app.aab", "com.example.app", 7, "1.0")
    return Job(workspace, emulator)


def refused(job: Job, inputs: dict[str, str], *words: str) -> None:
    """A run that ends with exit 2 and these words, and sends nothing."""
    log = job.fail(2, inputs).log
    for each in words:
        assert each in log
    assert not job.emulator.state()["requests"], "a request was sent"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            NOTES,
            "would be published as the text. Accepted: `whats-new-directory: "
            "distribution/whatsnew`",
            id="path",
        ),
        pytest.param(
            "CHANGELOG.md", "the text is the path of a file in the workspace", id="file"
        ),
        pytest.param(
            "distribution",
            "the text is the path of a folder in the workspace",
            id="folder",
        ),
        pytest.param(
            "file:CHANGELOG.md", "`file:PATH`, which is not read here", id="file scheme"
        ),
        pytest.param("@CHANGELOG.md", "`@PATH`, which is not read here", id="at sign"),
        pytest.param(
            '[{"language":"en-US","text":"Fix"}]',
            "is JSON that is not a map",
            id="JSON",
        ),
        pytest.param("- en-US: Fix", "leave the dash out", id="list"),
        pytest.param(
            "English: Fix",
            "`English`, which is not a language code",
            id="name of a language",
        ),
        pytest.param("en-US=Fix", "write `en-US: …`", id="equals sign"),
    ],
)
def test_notes_that_only_lead_to_a_text_are_not_published(
    job: Job, text: str, words: str
) -> None:
    """The message says what is wrong and what to write."""
    refused(job, {**PLAY, "whats-new": text}, "whats-new: ", words)


def test_notes_in_quotes_are_published_as_they_are(job: Job) -> None:
    """What the message advises works."""
    job.succeed({**PLAY, "whats-new": 'en-US: "English: Fix"'})
    (release,) = job.emulator.state()["tracks"]["com.example.app"]["internal"]
    assert release["releaseNotes"] == [{"language": "en-US", "text": "English: Fix"}]


@pytest.mark.parametrize(
    ("path", "inputs"),
    [
        pytest.param(
            "notes/whatsnew-de-DE", {**PLAY, "whats-new-directory": "notes"}, id="notes"
        ),
        pytest.param(
            "store/de-DE/title.txt",
            {**PLAY, "images-directory": "store"},
            id="listing text",
        ),
    ],
)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(POINTER, "is a Git LFS pointer", id="Git LFS pointer"),
        pytest.param(
            "../target.txt", "holds the path of a file", id="link that became a file"
        ),
        pytest.param(NOTES, "holds the path of a file", id="path in the workspace"),
    ],
)
def test_a_file_that_only_leads_to_a_text_is_not_published(
    job: Job, path: str, inputs: dict[str, str], content: str, words: str
) -> None:
    """A pointer of Git LFS, and a symbolic link that git checked out as a file."""
    file = job.workspace / path
    file.parent.mkdir(parents=True)
    (file.parent.parent / "target.txt").write_text("Faster.")
    file.write_text(content)
    refused(job, inputs, path, words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(
            '{"language": "en-US", "text": "Fix"}',
            "is JSON, and would be published",
            id="JSON",
        ),
        pytest.param(
            "file:CHANGELOG.md",
            "is `file:PATH`, which is not read here",
            id="file scheme",
        ),
    ],
)
def test_a_file_of_notes_with_another_tool_s_output_is_not_published(
    job: Job, content: str, words: str
) -> None:
    """The file is named."""
    (job.workspace / NOTES).write_text(content)
    refused(
        job,
        {**PLAY, "whats-new-directory": "distribution/whatsnew"},
        f"{NOTES} {words}",
    )


@pytest.mark.parametrize("value", ["CHANGELOG.md", "file:VERSION"])
def test_the_path_of_a_file_is_no_name_of_a_release(job: Job, value: str) -> None:
    """Everybody would read it in the Play Console."""
    refused(job, {**PLAY, "release-name": value}, "release-name: is the path of a file")


@pytest.mark.parametrize("name", ["mail-body", "mail-html"])
@pytest.mark.parametrize("value", ["CHANGELOG.md", "@CHANGELOG.md"])
def test_the_path_of_a_file_is_no_mail(job: Job, name: str, value: str) -> None:
    """The message names the input that reads files."""
    refused(
        job, {**MAIL, name: value}, f"{name}: is the path of a file", f"`{name}-file`"
    )
