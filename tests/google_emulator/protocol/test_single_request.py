"""Simple and multipart uploads: one request, strictly formed."""

from __future__ import annotations

import pytest

from tests.support.emulator_client import GRANULE, STORAGE, EmulatorClient, read_reply

UNKNOWN = "application/octet-stream"
BOUNDARY = "next_part"
RELATED = {"Content-Type": f"multipart/related; boundary={BOUNDARY}"}
METADATA = b'Content-Type: application/json; charset=UTF-8\r\n\r\n{"name": "x"}'
MEDIA = b"Content-Type: text/plain\r\n\r\n"


def body(*parts: bytes, end: bytes = b"--") -> bytes:
    """A multipart body of these parts."""
    return (
        b"".join(b"--next_part\r\n" + part + b"\r\n" for part in parts)
        + b"--next_part"
        + end
    )


def send(
    client: EmulatorClient, data: bytes, headers: dict[str, str] | None = None
) -> int:
    return client.request(
        "POST", f"{STORAGE}?uploadType=multipart", data, headers or RELATED
    ).status


def test_a_body_without_a_length_is_refused(client: EmulatorClient) -> None:
    """A POST with neither Content-Length nor chunked coding is a 411."""
    client.connection.putrequest("POST", f"{STORAGE}?uploadType=media&name=x")
    client.connection.putheader("Authorization", f"Bearer {client.token}")
    client.connection.endheaders()
    assert read_reply(client.connection.sock).status == 411


@pytest.mark.parametrize(
    "media",
    [
        b"abc",
        b"",
        b"--next_part",
        b"\r\n--next",
        b"\0\r\n" * 200_000,
        bytes(GRANULE * 3),
    ],
)
def test_multipart_keeps_metadata_and_bytes_apart(
    client: EmulatorClient, media: bytes
) -> None:
    """Metadata first, then media, whatever bytes it is made of, across any boundary of reading."""
    assert send(client, body(METADATA, MEDIA + media)) == 200
    [one] = client.emulator.state()["objects"]
    assert (one["size"], one["metadata"], one["media_type"]) == (
        len(media),
        {"name": "x"},
        "text/plain",
    )
    with open(one["file"], "rb") as file:
        assert file.read() == media


def test_multipart_may_end_its_lines_with_lf(client: EmulatorClient) -> None:
    """Google's own Python client writes LF throughout, and Google takes it."""
    assert send(client, body(METADATA, MEDIA + b"abc").replace(b"\r\n", b"\n")) == 200
    assert client.emulator.state()["objects"][0]["size"] == 3


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(body(MEDIA + b"abc", METADATA), id="media first"),
        pytest.param(body(METADATA), id="one part"),
        pytest.param(body(METADATA, MEDIA + b"abc", MEDIA + b"def"), id="three parts"),
        pytest.param(body(METADATA, MEDIA + b"abc", end=b""), id="no closing boundary"),
        pytest.param(
            body(METADATA, MEDIA + b"abc") + b"more", id="something behind the end"
        ),
        pytest.param(body(METADATA, MEDIA + b"abc")[2:], id="no first boundary"),
        pytest.param(
            body(METADATA.replace(b"}", b""), MEDIA + b"abc"), id="broken metadata"
        ),
        pytest.param(
            body(METADATA, b"Content-Transfer-Encoding: base64\r\n" + MEDIA + b"YWJj"),
            id="encoded media",
        ),
        pytest.param(b"", id="nothing"),
    ],
)
def test_a_malformed_multipart_body_is_refused(
    client: EmulatorClient, data: bytes
) -> None:
    """Exactly two parts, in order, whole: anything else is a 400 and stores nothing."""
    assert send(client, data) == 400
    assert client.emulator.state()["objects"] == []


def test_multipart_parts_may_lack_their_types(client: EmulatorClient) -> None:
    """Google's Go client leaves the media's type to the metadata, or to the service."""
    typed = b'Content-Type: application/json\r\n\r\n{"name": "x", "contentType": "text/html"}'
    for parts, kind in (
        ((typed, b"\r\nabc"), "text/html"),
        ((b'\r\n{"name": "y"}', b"\r\nabc"), UNKNOWN),
    ):
        reply = client.request(
            "POST", f"{STORAGE}?uploadType=multipart", body(*parts), RELATED
        )
        assert (reply.status, reply.json["contentType"], reply.json["size"]) == (
            200,
            kind,
            "3",
        )


@pytest.mark.parametrize("written", ["'next_part'", '"next_part"', "next_part"])
def test_the_boundary_may_be_quoted(client: EmulatorClient, written: str) -> None:
    """The quotes, single ones as gsutil writes them, are no part of it, and an empty line may come
    first.
    """
    assert (
        send(
            client,
            b"\r\n" + body(METADATA, MEDIA + b"abc"),
            {"Content-Type": f"multipart/related; boundary={written}"},
        )
        == 200
    )


@pytest.mark.parametrize(
    "query", ["", "?uploadType=fast", "?name=x", "?uploadType=media"]
)
def test_an_upload_says_its_type(client: EmulatorClient, query: str) -> None:
    """The parameter uploadType is media, multipart or resumable; an object has a name."""
    assert (
        client.request(
            "POST", STORAGE + query, b"abc", {"Content-Type": "text/plain"}
        ).status
        == 400
    )
