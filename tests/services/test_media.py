"""What a file is called, by its first bytes and its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.factory import make_file, stream
from uploader.files.artifacts import Artifact
from uploader.services import media_types


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.jpg", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("a.png", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a", b"GIF89a", "image/gif"),
        ("a", b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
        ("a.png", b"<svg/>", "application/octet-stream"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("a.heic", b"\0\0\0\x18ftypheic", "image/heic"),
        ("a.MP4", b"\0\0\0\x18ftypisom", "video/mp4"),
        ("a.bin", b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", "video/webm"),
        ("a.tar.gz", b"\x1f\x8b\x08", "application/gzip"),
        ("a.jar", b"PK\x03\x04", "application/java-archive"),
        ("a.aab", b"PK\x03\x04", "application/octet-stream"),
        ("a.txt", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("a.json", b"{}", "application/json"),
        ("dir.png/a", b"x", "application/octet-stream"),
        ("a", b"", "application/octet-stream"),
    ],
)
def test_bytes_go_before_the_name(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    """A signature is believed before the name, except for containers that many formats are built on."""
    assert media_types.kinds(make_file(tmp_path, name, content))[0] == kind


def test_stream_is_what_its_name_says() -> None:
    """A stream can be read only once, so its name is all there is, and nothing of it is read."""
    assert media_types.head(stream("a.png")) == b""
    assert media_types.kinds(stream("a.png"))[0] == "image/png"
    assert media_types.kinds(stream())[0] == "application/octet-stream"


@pytest.mark.parametrize(
    ("accepted", "kind", "response"),
    [
        (("*/*",), "a/b", True),
        (("image/*",), "image/png", True),
        (("image/*",), "video/mp4", False),
        (("image/jpeg", "image/png"), "image/png", True),
        (("image/jpeg",), "image/png", False),
        (("application/octet-stream",), "application/octet-stream", True),
        ((), "a/b", False),
    ],
)
def test_patterns_cover_families(accepted: tuple[str, ...], kind: str, response: bool) -> None:
    """`*/*` covers everything, `image/*` a family, a full type itself."""
    assert media_types.accepts(accepted, kind) is response


def test_composed_content_is_looked_at_like_a_file(tmp_path: Path) -> None:
    """Content that travels in memory has a head like a file of the same bytes."""
    file = make_file(tmp_path, "a", b"0123456789")
    memory = Artifact("a", "a", 10, data=b"0123456789")
    for count in (0, 3, 10, 99):
        assert media_types.head(memory, count) == media_types.head(file, count) == b"0123456789"[:count]
