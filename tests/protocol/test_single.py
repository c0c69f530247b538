"""Simple and multipart requests byte for byte."""

from __future__ import annotations

import pytest

from uploader.http.messages import Body, Request, Span
from uploader.protocol.media import Media
from uploader.protocol.single_request import multipart, simple

URL = "https://www.googleapis.com/upload/x"
MEDIA = Media("POST", URL, (("fields", "id"),), "message/rfc822", 11, b'{"threadId":"7"}')


def wire_bytes(body: Body, file: bytes) -> bytes:
    """What goes over the wire for a body around a file."""
    assert body.span == Span(0, len(file))
    return body.prefix + file + body.suffix


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_simple_is_the_file_alone(method: str) -> None:
    """uploadType=media, the media type, and nothing around the bytes."""
    media = Media(method, URL, (), "image/png", 11)
    assert simple(media, 11) == Request(
        method, f"{URL}?uploadType=media", (("Content-Type", "image/png"),), Body(span=Span(0, 11))
    )


def test_multipart_is_exactly_these_bytes() -> None:
    """Two parts, metadata first, each with its own Content-Type, lines that end in CRLF, the closing boundary."""
    request = multipart(MEDIA, 11, "b0undary")
    assert (request.method, request.url) == ("POST", f"{URL}?fields=id&uploadType=multipart")
    assert request.headers == (("Content-Type", "multipart/related; boundary=b0undary"),)
    assert wire_bytes(request.body, b"Hello\r\n--b.") == (
        b"--b0undary\r\n"
        b"Content-Type: application/json; charset=UTF-8\r\n"
        b"\r\n"
        b'{"threadId":"7"}\r\n'
        b"--b0undary\r\n"
        b"Content-Type: message/rfc822\r\n"
        b"\r\n"
        b"Hello\r\n--b.\r\n"
        b"--b0undary--\r\n"
    )
    assert request.body.size == len(wire_bytes(request.body, b"Hello\r\n--b."))


def test_multipart_without_metadata_has_an_empty_object() -> None:
    """The first part is there even when there is nothing to say."""
    body = multipart(Media("POST", URL, (), "image/png", 1), 1, "b").body
    assert b"charset=UTF-8\r\n\r\n{}\r\n--b\r\nContent-Type: image/png" in body.prefix


def test_multipart_of_the_other_dialect_says_so_in_a_header() -> None:
    """X-Goog-Upload-Protocol: multipart, and no uploadType in the query."""
    request = multipart(MEDIA, 11, "b", goog_upload=True)
    assert request.url == f"{URL}?fields=id"
    assert dict(request.headers)["X-Goog-Upload-Protocol"] == "multipart"
    assert request.body == multipart(MEDIA, 11, "b").body
