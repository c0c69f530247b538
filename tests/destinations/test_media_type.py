"""The media type of an upload: what `metadata` or `media-type` states goes over the wire and is
stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.support.destinations import noise
from tests.support.job import Job

STORAGE = {"target": "storage.objects.insert", "params": "{bucket: b, name: report}"}
DRIVE = {"target": "drive.files.create", "params": "fields: '*'"}
HTML = "text/html; charset=utf-8"
PDF = b"%PDF-1.7"
YOUTUBE = {"target": "youtube.videos.insert", "params": "part: snippet"}
SHEET = "application/vnd.google-apps.spreadsheet"


@pytest.mark.parametrize(
    ("where", "protocol"),
    [
        *(("metadata", protocol) for protocol in ("auto", "multipart", "resumable")),
        *(
            ("media-type", protocol)
            for protocol in ("auto", "multipart", "resumable", "simple")
        ),
    ],
)
def test_the_type_that_was_stated_is_that_of_the_upload(
    job: Job, where: str, protocol: str
) -> None:
    """Whatever the bytes look like and however they travel, Cloud Storage is told one type, and
    stores it.
    """
    (job.workspace / "report.bin").write_bytes(noise(5000, PDF))
    metadata = json.dumps({"contentType": HTML, "cacheControl": "no-store"})
    given = {"metadata": metadata} if where == "metadata" else {"media-type": HTML}
    ended = job.succeed(
        {**STORAGE, "files": "report.bin", "upload-protocol": protocol, **given}
    )
    state = job.emulator.state()
    [stored] = state["objects"]
    assert stored["media_type"] == HTML
    assert state["files"]["b/b/o/report"]["contentType"] == HTML
    assert ended.results[0]["resource"]["contentType"] == HTML


@pytest.mark.parametrize(
    ("given", "sent", "kept"),
    [
        (
            {"metadata": '{"mimeType": "text/markdown"}'},
            "text/markdown",
            "text/markdown",
        ),
        ({"media-type": "text/markdown"}, "text/markdown", "text/markdown"),
        (
            {"metadata": '{"mimeType": "text/csv"}', "media-type": "text/csv"},
            "text/csv",
            "text/csv",
        ),
        ({"metadata": '{"mimeType": null}'}, "text/csv", "text/csv"),
        ({"metadata": json.dumps({"mimeType": SHEET})}, "text/csv", SHEET),
        (
            {
                "metadata": json.dumps({"mimeType": SHEET}),
                "media-type": "text/tab-separated-values",
            },
            "text/tab-separated-values",
            SHEET,
        ),
    ],
)
def test_drive_converts_a_file_of_its_own_type(
    job: Job, given: Mapping[str, str], sent: str, kept: str
) -> None:
    """A type in the metadata is the upload's, unless it names a document of Google's, which the
    file only becomes.
    """
    (job.workspace / "table.csv").write_text("a,b\n")
    job.succeed({**DRIVE, "files": "table.csv", **given})
    state = job.emulator.state()
    assert [stored["media_type"] for stored in state["objects"]] == [sent]
    assert [file["mimeType"] for file in state["files"].values()] == [kept]


def test_a_method_without_a_field_takes_media_type(job: Job) -> None:
    """Several files of one run have it, and the plan tells it."""
    for name in ("a.bin", "b.bin"):
        (job.workspace / name).write_bytes(noise(5000))
    ended = job.succeed(
        {
            **YOUTUBE,
            "files": "*.bin",
            "media-type": "video/x-ivf",
            "metadata": '{"contentType": "a/b"}',
        }
    )
    assert [stored["media_type"] for stored in job.emulator.state()["objects"]] == [
        "video/x-ivf"
    ] * 2
    assert "video/x-ivf) to youtube.videos.insert" in ended.log


@pytest.mark.parametrize(
    ("given", "wrong", "why"),
    [
        ({"media-type": "html"}, "media-type", "type/subtype"),
        ({"media-type": "text/*"}, "media-type", "type/subtype"),
        (
            {"media-type": "text/html\r\nX-Upload-Content-Length: 1"},
            "media-type",
            "control character",
        ),
        ({"media-type": "text/html; charset=a b"}, "media-type", "type/subtype"),
        (
            {"metadata": '{"contentType": "text/html\\r\\nX-A: b"}'},
            "metadata",
            "contentType",
        ),
        ({"metadata": '{"contentType": 7}'}, "metadata", "contentType"),
        ({"metadata": '{"contentType": ""}'}, "metadata", "contentType"),
        (
            {"media-type": HTML, "metadata": '{"contentType": "text/html"}'},
            "media-type",
            "is text/html",
        ),
        (
            {
                "target": "youtube.videos.insert",
                "params": "part: snippet",
                "media-type": HTML,
            },
            "media-type",
            "video/*",
        ),
        (
            {"upload-protocol": "simple", "metadata": '{"contentType": "text/html"}'},
            "upload-protocol",
            "metadata",
        ),
    ],
)
def test_a_wrong_type_is_told_before_anything_is_sent(
    job: Job, given: Mapping[str, str], wrong: str, why: str
) -> None:
    """No media type, two that differ, one that the method does not take: exit code 2, and no
    request.
    """
    (job.workspace / "report.bin").write_bytes(noise(5000))
    ended = job.fail(2, {**STORAGE, "files": "report.bin", **given})
    [error] = [line for line in ended.log.splitlines() if line.startswith("::error")]
    assert wrong in error
    assert why in error
    assert job.emulator.state()["requests"] == {}
