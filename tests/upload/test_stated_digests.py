"""What a service states of the bytes it stored: what is asked for, what is compared, and what that
costs.

Whole runs against servers that answer as Cloud Storage and Drive do; tokens come from the emulator.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import google_crc32c
import pytest

from google_emulator import Emulator
from tests.support.job import Ended, Job
from tests.support.scripted_transport import finished, says, scripted, started
from tests.support.transfer_harness import data_of

pytestmark = pytest.mark.slow

SMALL = 300_000  # bytes; one request
LARGE = 6 * 1024 * 1024 + 7  # bytes; a session, and a second thread for the digests
STORAGE = {
    "target": "storage.objects.insert",
    "params": "bucket: b",
    "files": "app.bin",
}
DRIVE = {"target": "drive.files.create", "files": "app.bin"}
UNASKED = {"kind", "id", "name", "mimeType"}


def base64_of(algorithm: str, data: bytes) -> str:
    if algorithm == "crc32c":
        return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
    return base64.b64encode(
        hashlib.new(algorithm, data, usedforsecurity=False).digest()
    ).decode()


def run(
    folder: Path, emulator: Emulator, data: bytes, inputs: Mapping[str, str]
) -> Ended:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "app.bin").write_bytes(data)
    return Job(workspace, emulator).run(inputs)


def stored(
    folder: Path,
    emulator: Emulator,
    data: bytes,
    resource: Mapping[str, str],
    *headers: str,
) -> Ended:
    """A run whose upload is answered with this resource and these headers."""
    body = json.dumps(
        {"id": "b/app.bin/1", "name": "app.bin", "size": str(len(data)), **resource}
    ).encode()
    responses = [says(200, body, *headers)]
    if len(data) > 1024 * 1024:
        responses.insert(0, started("content-range"))
    with scripted(*responses) as server:
        return run(folder, emulator, data, {**STORAGE, "api-endpoint": server.url})


@pytest.mark.parametrize("size", [0, SMALL, LARGE])
def test_what_cloud_storage_states_is_found_right(
    size: int, tmp_path: Path, emulator: Emulator
) -> None:
    """The object's md5 and crc32c are those of the file, in one request as well as in a session."""
    ended = run(tmp_path, emulator, data_of(size), STORAGE)
    assert ended.code == 0, ended.log
    resource = ended.results[0]["resource"]
    assert resource["crc32c"] == base64_of("crc32c", data_of(size))
    assert resource["md5Hash"] == base64_of("md5", data_of(size))
    assert ended.results[0]["sha256"] == hashlib.sha256(data_of(size)).hexdigest()


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("also", [{}, {"md5Hash": "md5"}], ids=["alone", "beside md5"])
def test_a_wrong_crc32c_ends_the_run(
    also: dict[str, str], size: int, tmp_path: Path, emulator: Emulator
) -> None:
    """Exit code 5 with both digests, whatever else fits."""
    data = data_of(size)
    right = {field: base64_of(algorithm, data) for field, algorithm in also.items()}
    ended = stored(tmp_path, emulator, data, {**right, "crc32c": "AAAAAA=="})
    assert ended.code == 5, ended.log
    assert (
        "arrived damaged: the service reports crc32c 00000000, but what was sent has"
        in ended.log
    )
    assert base64.b64decode(base64_of("crc32c", data)).hex() in ended.log


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (["x-goog-hash: crc32c={crc32c}"], 0),
        (["x-goog-hash: crc32c={crc32c}", "x-goog-hash: md5={md5}"], 0),
        (["x-goog-hash: crc32c={crc32c},md5={md5}"], 0),
        (["x-goog-hash: md5={md5}"], 0),
        (["x-goog-hash: md5={md5}", "x-goog-hash: crc32c=AAAAAA=="], 5),
        (["x-goog-hash: md5=AAAAAAAAAAAAAAAAAAAAAA=="], 5),
        (["x-goog-hash: crc32c=nonsense"], 5),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_the_header_alone_is_enough(
    headers: list[str], code: int, tmp_path: Path, emulator: Emulator
) -> None:
    """`x-goog-hash` comes as one header or as several, with either digest or both."""
    data = data_of(SMALL)
    filled = [
        one.format(crc32c=base64_of("crc32c", data), md5=base64_of("md5", data))
        for one in headers
    ]
    ended = stored(tmp_path, emulator, data, {}, *filled)
    assert ended.code == code, ended.log


@pytest.mark.parametrize("target", ["drive.files.create", "drive.files.update"])
def test_drive_is_asked_for_sha256(
    target: str, tmp_path: Path, emulator: Emulator
) -> None:
    """Beside what it answers unasked; what it then states is compared."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "app.bin").write_bytes(data_of(SMALL))
    created = Job(workspace, emulator).run(DRIVE)
    params = (
        json.dumps({"fileId": created.outputs["id"]})
        if target == "drive.files.update"
        else ""
    )
    ended = Job(workspace, emulator).run({**DRIVE, "target": target, "params": params})
    assert ended.code == 0, ended.log
    resource = ended.results[0]["resource"]
    assert resource.keys() == {*UNASKED, "sha256Checksum"}
    assert resource["sha256Checksum"] == ended.results[0]["sha256"]
    emulator.add_fault(target, "wrong-digest")
    ended = Job(workspace, emulator).run({**DRIVE, "target": target, "params": params})
    assert ended.code == 5, ended.log
    assert "the service reports sha256Checksum" in ended.log


@pytest.mark.parametrize(
    ("inputs", "given", "sent"),
    [
        (DRIVE, "id,webViewLink", "id,webViewLink,sha256Checksum"),
        (DRIVE, "id, owners(emailAddress)", "id, owners(emailAddress),sha256Checksum"),
        (DRIVE, "sha256Checksum,id", "sha256Checksum,id"),
        (DRIVE, "*", "*"),
        ({**DRIVE, "target": "drive.files.insert"}, "id", "id,sha256Checksum"),
        ({**DRIVE, "target": "drive.files.insert"}, "", None),
        (STORAGE, "name", "name,crc32c"),
        (STORAGE, "", None),
    ],
    ids=lambda value: str(value.get("target") if isinstance(value, dict) else value),
)
def test_fields_that_were_asked_for_stay(
    inputs: dict[str, str],
    given: str,
    sent: str | None,
    tmp_path: Path,
    emulator: Emulator,
) -> None:
    """The digest's field is added to what the user wants to have, where an answer would lack it."""
    params = {"bucket": "b"} if inputs is STORAGE else {}
    with scripted(started("content-range"), finished("content-range")) as server:
        more = {
            "params": json.dumps({**params, **({"fields": given} if given else {})}),
            "upload-protocol": "resumable",
        }
        ended = run(
            tmp_path,
            emulator,
            data_of(SMALL),
            {**inputs, **more, "api-endpoint": server.url},
        )
    assert ended.code == 0, ended.log
    assert parse_qs(urlsplit(server.requests[0].target).query).get("fields") == (
        sent and [sent]
    )


@pytest.mark.parametrize(
    "again", [False, True], ids=["at once", "after the session was lost"]
)
def test_the_digests_of_a_resumed_upload_are_those_of_the_whole_file(
    again: bool, tmp_path: Path, emulator: Emulator
) -> None:
    """What an earlier run sent is digested by this one, too, whose answer states the crc32c of
    all.
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "app.bin").write_bytes(data_of(LARGE))
    inputs = {**STORAGE, "chunk-size": "1MiB"}
    emulator.add_fault("resumable.put", "status", status=503, nth=3, times=1)
    first = Job(workspace, emulator).run({**inputs, "max-retries": "0"})
    assert first.code == 75, first.log
    if again:
        emulator.add_fault("resumable.query", "status", status=404)
    second = Job(workspace, emulator).run(inputs)
    assert second.code == 0, second.log
    assert second.outputs["resumed"] == ("false" if again else "true")
    assert second.results[0]["resource"]["crc32c"] == base64_of(
        "crc32c", data_of(LARGE)
    )


@pytest.mark.parametrize(
    ("stated", "code", "said"),
    [
        ({"crc32c": "crc32c", "md5Hash": "md5"}, 0, ""),
        ({"crc32c": ""}, 5, "arrived damaged: the service reports crc32c 00000000"),
        (
            {"md5Hash": "md5"},
            0,
            "none of the digests that the service states was computed for the stream.",
        ),
    ],
    ids=["both", "wrong", "md5 alone"],
)
def test_of_a_stream_what_was_not_computed_is_not_compared(
    stated: dict[str, str], code: int, said: str, tmp_path: Path, emulator: Emulator
) -> None:
    """A stream can't be read again, and the log says what that leaves open."""
    data = data_of(50_000)
    resource = {
        field: base64_of(name, data) if name else "AAAAAA=="
        for field, name in stated.items()
    }
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    body = json.dumps({"id": "1", **resource}).encode()
    with scripted(started("content-range"), finished("content-range", body)) as server:
        inputs = {
            **STORAGE,
            "params": '{"bucket": "b", "name": "app.bin"}',
            "files": "-",
            "api-endpoint": server.url,
        }
        ended = Job(tmp_path, emulator, stdin=read).run(inputs)
    os.close(read)
    assert ended.code == code, ended.log
    assert said in ended.log
