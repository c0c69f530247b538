"""The same destination by every way of sending that it has, and what `auto` makes of a file's size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
def test_the_way_that_was_asked_for_is_taken(name: str, asked: str, spoken: str, tmp_path: Path) -> None:
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
    ended = job.run({"target": "drive.files.create", "files": "app.bin", "upload-protocol": "simple"})
    assert ended.code == 0, ended.log
    assert "Drive will call the file Untitled" in ended.log
    state = job.emulator.state()
    [stored] = state["objects"]
    assert (stored["protocol"], stored["size"], stored["metadata"]) == ("simple", 1000, {})
    [made] = state["files"].values()
    assert (made["id"], made["name"], made["size"]) == (ended.outputs["id"], "Untitled", "1000")


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
    """Small files go in one request where they replace, or where there is no other way; all else has a session."""
    seen = visit(PLACES[name], tmp_path / "workspace", size=size)
    assert seen.ended.code == 0, seen.ended.log
    assert [stored["protocol"] for stored in seen.stored] == [spoken]
    assert seen.place.is_mail or seen.arrived == seen.content


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("drive-replace", {"do": "status", "after": "end", "retry_after": 0}),
        ("cloud-storage", {"do": "status-after-effect", "status": 503, "retry_after": 0}),
        ("cloud-storage", {"do": "answer-lost"}),
    ],
)
def test_a_small_file_that_replaces_is_sent_again(name: str, fault: dict[str, Any], tmp_path: Path) -> None:
    """Without a session to ask, a request that replaces is repeated: one object is left, with the file's bytes."""
    seen = visit(PLACES[name], tmp_path / "workspace", [{"on": "simple", **fault}], size=1000)
    assert seen.ended.code == 0, seen.ended.log
    assert len(seen.state["files"]) == 1
    assert seen.stored[-1]["size"] == 1000
    assert seen.arrived.endswith(seen.content)
    assert seen.ended.outputs["attempts"] == "2"


NEW_OBJECT = {"target": "storage.objects.insert", "files": "out/app.bin", "params": "bucket: b\nifGenerationMatch: 0"}


def test_a_new_object_whose_answer_was_lost_is_found(job: Job) -> None:
    """`ifGenerationMatch: 0`: tried again, refused, looked up; the run says what it saw, and the object is output."""
    (job.workspace / "out").mkdir()
    (job.workspace / "out/app.bin").write_bytes(b"x" * 1000)
    job.emulator.faults.add([{"on": "simple", "do": "answer-lost"}])
    ended = job.run(NEW_OBJECT)
    assert ended.code == 0, ended.log
    [stored] = job.emulator.state()["objects"]
    assert (stored["size"], stored["resource"]["id"]) == (1000, ended.outputs["id"])
    assert (ended.outputs["attempts"], ended.results[0]["resource"]["name"]) == ("2", "out/app.bin")
    assert "holds exactly the bytes of this file" in ended.log


def test_a_new_object_that_somebody_else_made_is_not_ours(job: Job) -> None:
    """The first try was lost, another object of the same size stands there: exit code 4, and no id is output."""
    file = job.workspace / "out/app.bin"
    file.parent.mkdir()
    file.write_bytes(b"y" * 1000)
    assert job.run(NEW_OBJECT).code == 0
    job.emulator.faults.add([{"on": "simple", "do": "reset", "after": "end"}])
    file.write_bytes(b"x" * 1000)
    ended = job.run(NEW_OBJECT)
    assert (ended.code, ended.outputs["failure"], ended.outputs.get("id")) == (4, "outcome-unknown", None), ended.log
    assert "It is not known whether out/app.bin was stored" in ended.log
    assert "412" in ended.log
    assert len(job.emulator.state()["objects"]) == 1
