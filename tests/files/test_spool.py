"""Files that only the run needs: they share a file without a name, whose room is used again."""

from __future__ import annotations

import io
import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from uploader.errors import ProtocolError, UploaderError
from uploader.files.spool import BLOCK, Spool, open_spool
from uploader.files.workspace import Workspace


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    """A spool of ten blocks, in an empty folder."""
    with open_spool(
        Workspace(tmp_path, temp=tmp_path), "what is fetched", 10 * BLOCK
    ) as spool:
        yield spool


def test_what_was_written_is_read(spool: Spool) -> None:
    """Block by block, from any place, by several readers at a time."""
    data = os.urandom(3 * BLOCK + 17)
    file = spool.new_file("base.apk")
    for start in range(0, len(data), 100_001):
        file.write(data[start : start + 100_001])
    first = file.reader()
    second = file.reader()
    assert first.read() == data
    second.seek(2 * BLOCK - 5)
    assert second.read(10) == data[2 * BLOCK - 5 : 2 * BLOCK + 5]
    second.seek(-17, io.SEEK_END)
    assert second.read() == data[-17:]
    assert first.read() == b""


def test_a_zip_is_read_from_it(spool: Spool) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("lib/arm64-v8a/libapp.so", bytes(BLOCK))
    file = spool.new_file("base.apk")
    file.write(content.getvalue())
    with zipfile.ZipFile(file.reader()) as archive:
        assert archive.testzip() is None


def test_files_grow_at_the_same_time(spool: Spool) -> None:
    files = [spool.new_file(str(number)) for number in range(3)]
    contents = [bytes([number]) * (2 * BLOCK + number) for number in range(3)]

    def write(number: int) -> None:
        for start in range(0, len(contents[number]), 9999):
            files[number].write(contents[number][start : start + 9999])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [file.reader().read() for file in files] == contents


def test_it_has_no_name_on_the_disk(spool: Spool, tmp_path: Path) -> None:
    spool.new_file("base.apk").write(b"x")
    assert list(tmp_path.iterdir()) == []


def test_room_is_used_again(spool: Spool) -> None:
    """So the limit is one of what is there at the same time."""
    for _ in range(5):
        file = spool.new_file("base.apk")
        file.write(bytes(8 * BLOCK))
        file.clear()
        assert file.reader().read() == b""
    assert spool.size == 8 * BLOCK


def test_a_download_that_fails_gives_its_room_back(spool: Spool) -> None:
    file = spool.new_file("base.apk")
    with pytest.raises(ProtocolError), file.writing():
        file.write(bytes(11 * BLOCK))
    spool.new_file("base.apk").write(bytes(10 * BLOCK))


def test_there_is_a_limit(spool: Spool) -> None:
    with pytest.raises(
        ProtocolError, match=r"What is fetched is larger than the limit of 2\.5 MiB"
    ):
        spool.new_file("base.apk").write(bytes(10 * BLOCK + 1))


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """A descriptor that can't be written stands for the disk."""
    path = tmp_path / "full"
    path.touch()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        file = Spool(descriptor, "what is fetched", BLOCK, "Free it.").new_file(
            "base.apk of 42"
        )
        with pytest.raises(
            UploaderError, match=r"Base\.apk of 42 could not be kept"
        ) as raised:
            file.write(b"x")
    finally:
        os.close(descriptor)
    assert raised.value.code == "file-not-written"
    assert raised.value.hint == "Free it."


def test_a_full_disk_of_the_runner_is_not_cured_by_tmpdir(tmp_path: Path) -> None:
    """The CI system's folder counts before that variable."""
    with open_spool(
        Workspace(tmp_path, temp=tmp_path), "what is fetched", BLOCK
    ) as spool:
        assert "`RUNNER_TEMP`" in spool.hint
        assert "TMPDIR" not in spool.hint


@pytest.mark.parametrize(
    "temp", [None, Path("/missing")], ids=["no folder", "missing folder"]
)
def test_elsewhere_tmpdir_names_another_folder(
    tmp_path: Path, temp: Path | None
) -> None:
    with open_spool(Workspace(tmp_path, temp=temp), "what is fetched", BLOCK) as spool:
        assert "`TMPDIR`" in spool.hint


def test_a_spool_that_can_not_be_made_names_the_runners_folder(tmp_path: Path) -> None:
    """Nobody can make a file in this folder."""
    workspace = Workspace(tmp_path, temp=Path("/proc"))
    with (
        pytest.raises(UploaderError, match="`RUNNER_TEMP`") as raised,
        open_spool(workspace, "what is fetched", BLOCK),
    ):
        pass
    assert raised.value.code == "file-not-written"


def test_a_folder_that_is_not_there_is_not_used(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, temp=tmp_path / "missing")
    with open_spool(workspace, "what is fetched", BLOCK) as spool:
        spool.new_file("base.apk").write(b"x")
