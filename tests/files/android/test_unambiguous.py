"""Zips that two readers could take for different files are refused before contents are compared."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from uploader.files.android.archive import MalformedFile, check_unambiguous

_END = 22  # bytes of an end record without a comment


def archive(
    extra: bytes = b"", name: str = "classes.dex", comment: bytes = b""
) -> bytes:
    """Make a zip of two files; the second has this name and these extra fields."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("AndroidManifest.xml", b"manifest")
        member = zipfile.ZipInfo(name)
        member.extra = extra
        made.writestr(member, b"code")
        made.comment = comment
    return buffer.getvalue()


def with_end(change: Callable[[list[int]], None]) -> bytes:
    """Make a zip whose end record has other numbers."""
    made = archive()
    fields = list(struct.unpack("<4H2IH", made[-_END + 4 :]))
    change(fields)
    return made[: -_END + 4] + struct.pack("<4H2IH", *fields)


def fewer_entries(fields: list[int]) -> None:
    fields[2] -= 1
    fields[3] -= 1


def more_entries(fields: list[int]) -> None:
    fields[2] += 1
    fields[3] += 1


def earlier_directory(fields: list[int]) -> None:
    fields[5] -= 4


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(archive(), id="plain"),
        pytest.param(archive(extra=struct.pack("<2HI", 0xD935, 4, 0)), id="aligned"),
        pytest.param(archive(extra=b"\0\0\0"), id="padded with zeros"),
        pytest.param(archive(comment=b"made by a tool"), id="with a comment"),
    ],
)
def test_an_ordinary_archive_is_accepted(content: bytes) -> None:
    check_unambiguous(io.BytesIO(content))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"dex\n035\0" + archive(), id="something before the first entry"),
        pytest.param(archive() + b"more", id="something after the end record"),
        pytest.param(with_end(fewer_entries), id="entries that are not counted"),
        pytest.param(with_end(more_entries), id="more entries than there are"),
        pytest.param(with_end(earlier_directory), id="a directory elsewhere"),
        pytest.param(
            archive(extra=struct.pack("<2HI", 0x7075, 4, 0)), id="a second name"
        ),
        pytest.param(archive(extra=struct.pack("<2HQ", 1, 8, 0)), id="a second size"),
        pytest.param(archive(name="payload/"), id="a folder with content"),
        pytest.param(
            archive()[:-_END] + b"PK\6\7" + archive()[-_END:], id="a second directory"
        ),
    ],
)
def test_an_archive_that_two_readers_read_differently_is_refused(
    content: bytes,
) -> None:
    with pytest.raises(MalformedFile, match="several ways"):
        check_unambiguous(io.BytesIO(content))
