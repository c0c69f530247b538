"""Files that are swapped between their check and the end of the run: exactly the checked bytes
arrive, or none.

Each run is a whole one, behind a server that swaps the file when a given request comes by.
"""

from __future__ import annotations

import contextlib
import email
import io
import itertools
import mmap
import os
import re
import socket
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.raw_server import read_head, serving
from tests.support.transfer_harness import data_of
from uploader import cli
from uploader.errors import IntegrityError
from uploader.files.artifacts import find, inspect
from uploader.files.workspace import Workspace

SIZE = 1_200_000  # bytes: five chunks
CHUNK = "256KiB"
NUMBERS = itertools.count(1)

# --- what is swapped ------------------------------------------------------------------------------


def bundle(path: Path, package: str) -> None:
    specimens.make_bundle(path, package, 42, "1.0", SIZE)


def apk(path: Path, package: str) -> None:
    specimens.make_apk(path, package, 42, "1.0", SIZE)


def mapping(path: Path, _: str) -> None:
    path.write_text(
        "".join(
            f"com.example.C{number} -> a.b{number}:\n" for number in range(SIZE // 32)
        )
    )


def symbols(path: Path, _: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arm64-v8a/libapp.so", data_of(SIZE))


def image(path: Path, _: str) -> None:
    specimens.make_image(path, 512, 512, alpha=True)
    # an image that takes several chunks: what is before its end is no part of it
    with path.open("r+b") as file:
        data = file.read()
        end = data.rindex(b"IEND") - 4
        file.seek(0)
        file.write(data[:end] + png_text(SIZE) + data[end:])


def png_text(size: int) -> bytes:
    """A chunk of a PNG that viewers pass over."""
    content = b"tEXt" + data_of(size)
    return size.to_bytes(4, "big") + content + zlib.crc32(content).to_bytes(4, "big")


def plain(path: Path, _: str) -> None:
    path.write_bytes(data_of(SIZE))


@dataclass(frozen=True)
class Kind:
    """A file of one kind: how it is made, where it is in the workspace, and the inputs of the run
    that sends it.
    """

    make: Callable[[Path, str], None]
    place: str
    inputs: dict[str, str]
    beside: str = "bundle"  # what else is in `files`
    method: str = ""  # of the upload that carries it


MAIL = {"target": "gmail", "impersonate-user": "a@example.com"}
PLAY = {"target": "play", "tracks": "internal", "chunk-size": CHUNK}
KINDS = {
    "bundle": Kind(
        bundle, "in/app.aab", {**PLAY, "files": "in/app.aab"}, "", "bundles"
    ),
    "apk": Kind(apk, "in/app.apk", {**PLAY, "files": "in/app.apk"}, "", "apks"),
    "mapping": Kind(
        mapping,
        "in/mapping.txt",
        {**PLAY, "mapping-file": "in/mapping.txt"},
        "bundle",
        "deobfuscation",
    ),
    "symbols": Kind(
        symbols,
        "in/symbols.zip",
        {**PLAY, "debug-symbols": "in/symbols.zip"},
        "bundle",
        "deobfuscation",
    ),
    "expansion": Kind(
        plain,
        "in/main.obb",
        {**PLAY, "expansion-file-main": "in/main.obb"},
        "apk",
        "expansion",
    ),
    "image": Kind(
        image,
        "in/en-US/images/icon.png",
        {**PLAY, "images-directory": "in"},
        "bundle",
        "listings",
    ),
    "attachment": Kind(
        plain,
        "in/report.bin",
        {
            **MAIL,
            "mail-from": "a@example.com",
            "mail-to": "b@example.com",
            "files": "in/report.bin",
        },
        "",
        "gmail",
    ),
    "any file": Kind(
        plain,
        "in/a.bin",
        {"target": "drive.files.create", "files": "in/a.bin", "chunk-size": CHUNK},
        "",
        "drive",
    ),
}

# --- how it is swapped ----------------------------------------------------------------------------


def other(data: bytes) -> bytes:
    """As long, with the same beginning and end, so that every reader would take it."""
    start, stop = len(data) // 2 - 1000, len(data) // 2 + 1000
    return data[:start] + bytes(byte ^ 0x5A for byte in data[start:stop]) + data[stop:]


def times(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_atime_ns, status.st_mtime_ns


def rename(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(other(path.read_bytes()))
    new.replace(path)


def rename_with_old_times(path: Path) -> None:
    before = times(path)
    rename(path)
    os.utime(path, ns=before)


def rewrite(path: Path) -> None:
    data = other(path.read_bytes())
    with path.open("r+b") as file:
        file.write(data)


def rewrite_with_old_times(path: Path) -> None:
    before = times(path)
    rewrite(path)
    os.utime(path, ns=before)


def write_through_mapping(path: Path) -> None:
    data = other(path.read_bytes())
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[:] = data


def write_through_mapping_with_old_times(path: Path) -> None:
    before = times(path)
    write_through_mapping(path)
    os.utime(path, ns=before)


def truncate_and_extend(path: Path) -> None:
    before, size = times(path), path.stat().st_size
    os.truncate(path, size // 2)
    os.truncate(path, size)
    os.utime(path, ns=before)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def extend(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def swap_link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(other(path.read_bytes()))
    os.utime(target, ns=times(path))
    path.unlink()
    path.symlink_to(target.name)


def swap_folder(path: Path) -> None:
    folder = path.parent
    away = folder.with_name("away")
    folder.rename(away)
    folder.mkdir()
    path.write_bytes(other((away / path.name).read_bytes()))
    os.utime(path, ns=times(away / path.name))


def through_another_link(path: Path) -> None:
    link = path.with_name("link")
    link.hardlink_to(path)
    rewrite_with_old_times(link)
    link.unlink()


def another_inode_by_link(path: Path) -> None:
    fresh = path.with_name("fresh")
    fresh.write_bytes(other(path.read_bytes()))
    os.utime(fresh, ns=times(path))
    path.unlink()
    path.hardlink_to(fresh)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def remove(path: Path) -> None:
    path.unlink()


WAYS: tuple[Callable[[Path], None], ...] = (
    rename,
    rename_with_old_times,
    rewrite,
    rewrite_with_old_times,
    write_through_mapping,
    write_through_mapping_with_old_times,
    truncate_and_extend,
    truncate,
    extend,
    swap_link,
    swap_folder,
    through_another_link,
    another_inode_by_link,
    pipe,
    remove,
)

# --- when it is swapped ---------------------------------------------------------------------------


@dataclass
class Gate:
    """Stands before the emulator; calls `swap` once, before the `number`th request that matches is
    passed on.

    With `broken`, that request and every later one ends without an answer, until the swap is over.
    """

    emulator: Emulator
    pattern: str = "nothing"
    number: int = 1
    swap: Callable[[], None] = lambda: None
    broken: bool = False
    seen: int = 0
    failures: list[Exception] = field(default_factory=list)

    def serve(self, connection: socket.socket) -> None:
        head, body = read_head(connection)
        length = int(
            (
                re.search(
                    rb"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE
                )
                or [b"", b"0"]
            )[1]
        )
        while len(body) < length:
            part = connection.recv(1 << 20)
            if not part:
                return  # the run broke the request off
            body += part
        if re.match(self.pattern, head.decode("latin-1"), re.IGNORECASE):
            self.seen += 1
            if self.seen == self.number:
                try:
                    self.swap()
                except OSError as error:
                    self.failures.append(error)
            if self.broken and self.seen >= self.number:
                return
        with socket.create_connection(("127.0.0.1", self.emulator.port)) as real:
            real.sendall(
                head.replace(b"Connection: keep-alive", b"Connection: close")
                + b"\r\n\r\n"
                + body
            )
            while part := real.recv(1 << 20):
                connection.sendall(part)


MOMENTS = {
    "before the first byte": (r"POST /(resumable/)?upload/.*{method}", 1),
    "in the middle": (r"PUT /(resumable/)?upload/.*{method}", 3),
    "before the last block": (r"PUT /(resumable/)?upload/.*{method}", 4),
}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """One for all runs, each with an app of its own."""
    with Emulator() as emulator:
        yield emulator


@dataclass(frozen=True)
class Prepared:
    """A workspace in which one file can be swapped."""

    job: Job
    kind: Kind
    path: Path
    data: bytes
    inputs: dict[str, str]

    def run(self, gate: Gate, **more: str) -> tuple[int, str]:
        """One whole run behind the gate: its exit code and its log."""
        with serving(gate.serve) as url:
            before, self.job.emulator.url = self.job.emulator.url, url
            try:
                environ = self.job.environment(
                    {**self.inputs, "api-endpoint": url, **more}
                )
                log = io.StringIO()
                with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                    code = cli.run(environ, [])
            finally:
                self.job.emulator.url = before
        assert not gate.failures
        return code, log.getvalue()


def prepared(tmp_path: Path, emulator: Emulator, kind: Kind) -> Prepared:
    workspace, package = tmp_path / "workspace", f"com.example.swapped{next(NUMBERS)}"
    path = workspace / kind.place
    path.parent.mkdir(parents=True)
    kind.make(path, package)
    inputs = dict(kind.inputs)
    if kind.beside:
        name = {"bundle": "app.aab", "apk": "app.apk"}[kind.beside]
        {"bundle": specimens.make_bundle, "apk": specimens.make_apk}[kind.beside](
            workspace / name, package, 42, "1.0"
        )
        inputs["files"] = name
    return Prepared(Job(workspace, emulator), kind, path, path.read_bytes(), inputs)


def arrived(emulator: Emulator, kind: Kind, since: int) -> list[bytes]:
    """What was finished on the server, of this kind, since so many uploads."""
    found = emulator.state()["objects"][since:]
    return [
        Path(one["file"]).read_bytes() for one in found if kind.method in one["path"]
    ]


CASES = [
    (kind, moment, way)
    for kind in KINDS
    for moment in MOMENTS
    for way in WAYS
    if kind != "attachment"
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "moment", "way"),
    CASES,
    ids=[f"{kind}, {moment}: {way.__name__}" for kind, moment, way in CASES],
)
def test_the_checked_bytes_arrive_or_none(
    tmp_path: Path,
    emulator: Emulator,
    kind: str,
    moment: str,
    way: Callable[[Path], None],
) -> None:
    """Whatever is done to the file, and whenever: exit 5, or what was checked is there to the last
    byte.
    """
    run = prepared(tmp_path, emulator, KINDS[kind])
    pattern, number = MOMENTS[moment]
    gate = Gate(
        emulator, pattern.format(method=run.kind.method), number, lambda: way(run.path)
    )
    since = len(emulator.state()["objects"])
    code, log = run.run(gate)
    assert gate.seen >= number, log
    stored = arrived(emulator, run.kind, since)
    assert code == 5 or (code == 0 and stored == [run.data]), log
    assert all(one == run.data for one in stored)
    assert "Traceback" not in log


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bundle", "apk", "mapping", "image"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_after_its_upload_a_file_may_change(
    tmp_path: Path, emulator: Emulator, kind: str, way: Callable[[Path], None]
) -> None:
    """What is committed was sent before."""
    run = prepared(tmp_path, emulator, KINDS[kind])
    since = len(emulator.state()["objects"])
    gate = Gate(emulator, "POST .*:commit", 1, lambda: way(run.path))
    code, log = run.run(gate)
    assert gate.seen == 1, log
    assert code == 0, log
    assert arrived(emulator, run.kind, since) == [run.data]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_an_attachment_is_read_once(
    tmp_path: Path, emulator: Emulator, way: Callable[[Path], None]
) -> None:
    """A mail is composed when it is checked, and sent from memory."""
    run = prepared(tmp_path, emulator, KINDS["attachment"])
    since = len(emulator.state()["objects"])
    gate = Gate(emulator, "POST /(resumable/)?upload/.*", 1, lambda: way(run.path))
    code, log = run.run(gate)
    assert (code, gate.seen) == (0, 1), log
    (mail,) = arrived(emulator, run.kind, since)
    parts = email.message_from_bytes(mail).walk()
    assert [part.get_payload(decode=True) for part in parts if part.get_filename()] == [
        run.data
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bundle", "mapping", "any file"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_file_that_is_swapped_between_two_runs_is_never_mixed(
    tmp_path: Path, emulator: Emulator, kind: str, way: Callable[[Path], None]
) -> None:
    """The second run sends what it has checked itself: never half of one and half of another."""
    run = prepared(tmp_path, emulator, KINDS[kind])
    since = len(emulator.state()["objects"])
    gate = Gate(
        emulator, rf"PUT /(resumable/)?upload/.*{run.kind.method}", 3, broken=True
    )
    code, log = run.run(gate, **{"max-retries": "0"})
    assert code == 75, log
    way(run.path)
    now = run.path.read_bytes() if run.path.is_file() else b""
    code, log = run.run(Gate(emulator))
    stored = arrived(emulator, run.kind, since)
    assert all(one == now for one in stored), log
    assert code in (0, 2, 5), log
    assert (code == 0) == (len(stored) == 1)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_file_that_is_swapped_between_listing_and_check_is_refused(
    tmp_path: Path, way: Callable[[Path], None]
) -> None:
    """A file that is not the one that was found is not even checked."""
    path = tmp_path / "app.apk"
    specimens.make_apk(path, "com.example.app", 42, "1.0", SIZE)
    (found,) = find(["app.apk"], Workspace(tmp_path))
    way(path)
    with pytest.raises(IntegrityError):
        inspect(found)


def test_what_a_mapping_changed_without_a_trace_is_not_read(tmp_path: Path) -> None:
    """Writes through a memory mapping that was made before the check leave the file's times alone,
    so that only its digest shows them.
    """
    path = tmp_path / "app.apk"
    specimens.make_apk(path, "com.example.app", 42, "1.0", SIZE)
    data = path.read_bytes()
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[:] = data
        (found,) = find(["app.apk"], Workspace(tmp_path))
        known = inspect(found)
        view[:] = other(data)
        with (
            pytest.raises(IntegrityError, match="no longer what was checked"),
            known.open() as opened,
        ):
            opened.read()
        view[:] = data
        with known.open() as opened:
            assert opened.read() == data
