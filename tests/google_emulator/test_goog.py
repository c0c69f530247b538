"""Uploads in the dialect of the X-Goog-Upload headers."""

from __future__ import annotations

import json
import os

import pytest

from tests.google_emulator.conftest import Begin
from tests.support.emulator_client import GRANULE, STORAGE, Reply, Talk

DATA = os.urandom(2 * GRANULE + 10)
PACKAGE = json.dumps({"deployment": "d1", "package_title": "Title"}).encode()
OTA = "/upload/package"


def status(reply: Reply) -> tuple[int, str, str]:
    return reply.status, reply.header("X-Goog-Upload-Status"), reply.header("X-Goog-Upload-Size-Received")


def ota_begin(talk: Talk, size: int) -> Reply:
    headers = {
        "Content-Type": "application/json; charset=UTF-8",
        "X-Goog-Upload-Protocol": "resumable",
        "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Type": "application/zip",
        "X-Goog-Upload-Header-Content-Length": str(size),
    }
    return talk.ask("POST", OTA, PACKAGE, headers)


def test_a_package_in_one_request(talk: Talk) -> None:
    """start, then `upload, finalize`: 200, final, and no body, as the OTA page shows."""
    data = b"PK\3\4" + DATA
    start = ota_begin(talk, len(data))
    assert status(start)[:2] == (200, "active")
    assert start.header("X-Goog-Upload-Chunk-Granularity") == "262144"
    done = talk.goog(start.header("X-Goog-Upload-URL"), "upload, finalize", data, Offset="0")
    assert (status(done), done.body) == ((200, "final", ""), b"")
    [package] = talk.emulator.state()["packages"]
    assert (package["deployment"], package["package_title"], package["size"]) == ("d1", "Title", len(data))


def test_a_package_as_multipart(talk: Talk) -> None:
    """Metadata and media in one multipart/related body."""
    parts = [
        b"Content-Type: application/json; charset=UTF-8\r\n\r\n" + PACKAGE,
        b"Content-Type: application/zip\r\n\r\nPK",
    ]
    body = b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--"
    headers = {"X-Goog-Upload-Protocol": "multipart", "Content-Type": "multipart/related; boundary=b"}
    reply = talk.ask("POST", OTA, body, headers)
    assert (reply.status, reply.header("X-Goog-Upload-Status")) == (200, "final")
    assert len(talk.emulator.state()["packages"]) == 1


def test_a_refused_start_is_final(talk: Talk) -> None:
    """A start that lacks a field has no session: status final, an error body."""
    reply = talk.goog(OTA, "start", Protocol="resumable", Header_Content_Type="application/zip")
    assert status(reply)[:2] == (400, "final")
    assert "deployment" in reply.message


def test_a_package_is_spoken_to_in_this_dialect_alone(talk: Talk) -> None:
    """The OTA endpoint does not know uploadType."""
    reply = talk.ask("POST", f"{OTA}?uploadType=media", b"PK", {"Content-Type": "application/zip"})
    assert reply.status == 400


def test_chunks_queries_and_the_end(talk: Talk) -> None:
    """`upload` for each chunk, `query` in between tells the count, `upload, finalize` for the last."""
    url = talk.goog_begin(size=len(DATA))
    assert status(talk.goog(url, "query")) == (200, "active", "0")
    assert status(talk.goog(url, "upload", DATA[:GRANULE], Offset="0")) == (200, "active", str(GRANULE))
    assert status(talk.goog(url, "query")) == (200, "active", str(GRANULE))
    done = talk.goog(url, "upload, finalize", DATA[GRANULE:], Offset=str(GRANULE))
    assert (done.status, done.header("X-Goog-Upload-Status"), done.json["size"]) == (200, "final", str(len(DATA)))
    assert talk.goog(url, "query").json == done.json


def test_an_empty_file_is_finalised(talk: Talk) -> None:
    """`finalize` alone ends an upload; of nothing, if nothing was sent."""
    assert talk.goog(talk.goog_begin(size=0), "finalize").json["size"] == "0"


def test_finalize_may_come_by_itself(talk: Talk) -> None:
    """The last chunk may be whole granules, and the end come after it."""
    url = talk.goog_begin()
    talk.goog(url, "upload", DATA[:GRANULE], Offset="0")
    assert talk.goog(url, "finalize").json["size"] == str(GRANULE)


def test_a_cancelled_session_is_over(talk: Talk) -> None:
    """cancel: status cancelled, now and whenever it is asked; bytes are refused."""
    url = talk.goog_begin(size=3)
    assert status(talk.goog(url, "cancel"))[:2] == (200, "cancelled")
    assert status(talk.goog(url, "query"))[:2] == (200, "cancelled")
    assert status(talk.goog(url, "upload, finalize", b"abc", Offset="0"))[:2] == (400, "cancelled")
    assert talk.emulator.state()["objects"] == []


@pytest.mark.parametrize(
    ("command", "data", "offset"),
    [
        ("upload", DATA[:GRANULE], "5"),
        ("upload", DATA[:GRANULE], str(GRANULE)),
        ("upload", DATA[:GRANULE], ""),
        ("upload", DATA[:1000], "0"),
        ("upload", b"", "0"),
        ("upload, finalize", DATA[:1000], "0"),
        ("upload, finalize", DATA + b"x", "0"),
        ("finalize", b"abc", "0"),
        ("finalise", b"", "0"),
    ],
)
def test_what_contradicts_the_session_is_refused(talk: Talk, command: str, data: bytes, offset: str) -> None:
    """Offset, granularity, announced size and commands are checked; the session stays active and untouched."""
    url = talk.goog_begin(size=len(DATA))
    reply = talk.goog(url, command, data, Offset=offset)
    assert (reply.status, reply.header("X-Goog-Upload-Status")) == (400, "active")
    assert talk.emulator.state()["objects"] == []


def test_the_granularity_is_configurable(begin: Begin) -> None:
    """A server may announce its own granularity, and means it."""
    talk = begin(granularity=1000)
    url = talk.goog_begin()
    assert talk.goog(url, "upload", b"x" * 1000, Offset="0").status == 200
    assert talk.goog(url, "upload", b"x" * 1500, Offset="1000").status == 400


def test_the_upload_url_may_lack_its_scheme(begin: Begin) -> None:
    """The documents show X-Goog-Upload-URL without a scheme."""
    talk = begin(upload_url_scheme=False)
    assert talk.goog_begin().startswith("127.0.0.1:")


def test_every_command_is_a_post(talk: Talk) -> None:
    """Another HTTP method is refused."""
    reply = talk.ask("PUT", talk.goog_begin(), b"abc", {"X-Goog-Upload-Command": "upload, finalize"})
    assert reply.status == 405


def test_a_session_keeps_to_its_dialect(talk: Talk) -> None:
    """A session of one dialect is not continued in the other."""
    assert talk.put(talk.goog_begin(size=3), b"abc").status == 400
    assert talk.goog(talk.begin(size=3), "query").status == 400


def test_any_upload_path_speaks_it(talk: Talk) -> None:
    """The dialect is chosen by its headers, on every upload path."""
    url = talk.goog_begin("/upload/v1/anything/at/all")
    done = talk.goog(url, "upload, finalize", b"abc", Offset="0")
    assert done.json["size"] == "3"
    assert STORAGE not in url
