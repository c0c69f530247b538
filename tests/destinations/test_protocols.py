"""The same destination by every way of sending that it has, and what `auto` makes of a file's
size.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.destination_runs import visit
from tests.support.destinations import PLACES
from tests.support.job import Job

# What the emulator calls them: its second dialect has a name of its own for a resumable session.
WAYS = [
    ("cloud-storage", "simple", "simple"),
    ("cloud-storage", "multipart", "multipart"),
    ("cloud-storage", "resumable", "resumable"),
    ("sharing-apk", "simple", "simple"),
    ("sharing-apk", "multipart", "multipart"),
    ("sharing-apk", "resumable", "resumable"),
    ("gmail-send", "simple", "simple"),
    ("gmail-send", "multipart", "multipart"),
    ("gmail-send", "resumable", "resumable"),
    ("drive-create", "multipart", "multipart"),
    ("drive-create", "resumable", "resumable"),
    ("chrome-web-store", "multipart", "multipart"),
    ("ota", "multipart", "multipart"),
    ("ota", "resumable", "goog"),
]


@pytest.mark.parametrize(("name", "asked", "spoken"), WAYS)
def test_the_way_that_was_asked_for_is_taken(
    name: str, asked: str, spoken: str, tmp_path: Path
) -> None:
    """Whichever way the bytes go, the same bytes, metadata and outputs come of it."""
    place = PLACES[name]
    seen = visit(place, tmp_path / "workspace", size=100_000, upload_protocol=asked)
    assert seen.ended.code == 0, seen.ended.log
    [stored] = seen.stored
    assert stored["protocol"] == spoken
    assert stored["metadata"] == place.metadata
    assert stored["media_type"] == place.media_type
    assert place.is_mail or seen.arrived == seen.content
    assert seen.ended.outputs["attempts"] == "1"
    assert {"id", "ids"} & set(place.outputs) <= set(seen.ended.outputs)


def test_a_simple_upload_leaves_out_the_name_that_nobody_gave(job: Job) -> None:
    """The bytes alone go out, Drive names the file itself, and the log says so before."""
    (job.workspace / "app.bin").write_bytes(b"x" * 1000)
    ended = job.succeed(
        {
            "target": "drive.files.create",
            "files": "app.bin",
            "upload-protocol": "simple",
        }
    )
    assert "Drive will call the file Untitled" in ended.log
    state = job.emulator.state()
    [stored] = state["objects"]
    assert (stored["protocol"], stored["size"], stored["metadata"]) == (
        "simple",
        1000,
        {},
    )
    [made] = state["files"].values()
    assert (made["id"], made["name"], made["size"]) == (
        ended.outputs["id"],
        "Untitled",
        "1000",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "spoken"),
    [
        ("cloud-storage", 1 << 20, "simple"),
        ("cloud-storage", (1 << 20) + 1, "resumable"),
        ("cloud-storage", 0, "simple"),
        ("drive-replace", 1 << 20, "simple"),
        ("drive-create", 1000, "resumable"),
        ("gmail-send", 1000, "resumable"),
        ("sharing-bundle", 0, "resumable"),
        ("ota", 0, "goog"),
        ("chrome-web-store", 2 << 20, "simple"),
    ],
)
def test_auto_saves_a_round_trip_only_where_a_repeat_does_no_harm(
    name: str, size: int, spoken: str, tmp_path: Path
) -> None:
    """Small files go in one request where they replace, or where there is no other way; all else
    has a session.
    """
    seen = visit(PLACES[name], tmp_path / "workspace", size=size)
    assert seen.ended.code == 0, seen.ended.log
    assert [stored["protocol"] for stored in seen.stored] == [spoken]
    assert seen.place.is_mail or seen.arrived == seen.content
