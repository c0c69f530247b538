"""No file is more work than its bytes: what each parser does is counted on the worst files that can be made for it.

Counted are the calls that are made, and for a method of a text or of bytes (`decode`, `find`, `splitlines`) the length
of what it works on. That is the same on every machine.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from google_emulator.specimens import Build, manifest_axml, manifests, signature_writer
from tests.support import hostile
from uploader.errors import InputError
from uploader.files.android import listing, manifest, mapping, native, signatures
from uploader.files.android.archive import MAX_MEMBER, MAX_MEMBERS, MAX_WANTED, Archive, MalformedFile
from uploader.files.android.mapping import MAX_DEX, mapping_file
from uploader.files.android.notes import inline_notes
from uploader.files.workspace import Workspace
from uploader.http.messages import Headers, Response
from uploader.protocol import google_error
from uploader.services import message_file

MIB = 1 << 20


def work(parse: Callable[[], object]) -> int:
    """How much is done: each call, and each byte or character that a method of bytes or text goes over."""
    done = 0

    def count(_: FrameType, event: str, argument: Any) -> None:
        nonlocal done
        done += event in {"call", "c_call"}
        if event == "c_call" and argument.__name__ not in {"startswith", "endswith"}:
            target = argument.__self__
            done += len(target) if isinstance(target, (bytes, bytearray, str)) else 0

    sys.setprofile(count)
    try:
        with suppress(MalformedFile, InputError, ValueError):
            parse()
    finally:
        sys.setprofile(None)
    return done


def test_the_measure_sees_repeated_work() -> None:
    """Decoding the same bytes ten times counts ten times."""
    data = b"a" * 1000
    assert work(lambda: [data.decode() for _ in range(10)]) >= 10 * work(data.decode) - 50


def zip_of(entry: str, data: bytes) -> bytes:
    """A zip with one compressed entry."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, data)
    return held.getvalue()


def zip_with(directory: bytes) -> bytes:
    """A zip that is nothing but a directory and its end."""
    return directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(directory), 0, 0)


def line(name: bytes = b"", extra: bytes = b"", size: int = 0) -> bytes:
    """One line of a zip's directory."""
    numbers = (20, 20, 0, 0, 0, 0, 0, 0, size, len(name), len(extra), 0, 0, 0, 0, 0)
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", *numbers) + name + extra


def each(parse: Callable[[bytes], Iterator[object]]) -> Callable[[bytes], object]:
    return lambda data: list(parse(data))


def archive(data: bytes) -> object:
    return Archive(io.BytesIO(data), lambda _: True)


def refusal(body: bytes) -> object:
    return google_error.read(Response(400, Headers(()), body))


def message(data: bytes) -> object:
    text = message_file.normalised(data)
    return message_file.faults(text, to_send=True) or message_file.recipients(text)


MULTIPART = b"To: a@b.c\nContent-Type: multipart/mixed; boundary=b\n\n"
NESTED = b"Content-Type: multipart/mixed; boundary=%08d\n\n--%08d\n"


def binary_manifest(data: bytes) -> object:
    return manifest.read_manifest(io.BytesIO(zip_of("AndroidManifest.xml", data)), "a.apk")


def crowded_features(count: int) -> bytes:
    """A manifest with so many permissions and features."""
    names = tuple(f"a.{index}" for index in range(count))
    build = Build(permissions=names, features=dict.fromkeys(names, True))
    return manifest_axml("com.example.app", 7, "1.0", build)


def signature(block: bytes) -> object:
    entries = {"META-INF/A.SF": b"", "META-INF/A.RSA": block}
    whole = stored(entries)
    return signatures.signers(Archive(io.BytesIO(whole), lambda _: True), apk=False)


def scheme(value: bytes) -> object:
    whole = signature_writer.with_signing_block(stored({}), (signature_writer.V2, value))
    return signatures.signers(Archive(io.BytesIO(whole), lambda _: True), apk=True)


def configured(config: bytes) -> object:
    return libraries(stored({manifest.BUNDLE_CONFIG: config, "base/lib/x86/a.so": b""}), apk=False)


def libraries(whole: bytes, *, apk: bool = True) -> object:
    return manifest.native_code(Archive(io.BytesIO(whole), lambda _: True), apk=apk)


def stored(entries: dict[str, bytes]) -> bytes:
    """A zip of entries that are not compressed."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as writer:
        for name, content in entries.items():
            writer.writestr(name, content)
    return held.getvalue()


def zip_of_libraries(count: int) -> bytes:
    """A zip whose directory has so many libraries, each of which unpacks to a megabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(SEGMENTS + bytes(MIB)) + packer.flush()
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(packed), MIB, 0, 0) + packed
    names = [b"lib/arm64-v8a/%d.so" % index for index in range(count)]
    head = struct.pack("<4s6H3I", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(packed), MIB)
    offsets = (len(local) * index for index in range(count))
    directory = b"".join(
        head + struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, offset) + name
        for name, offset in zip(names, offsets, strict=True)
    )
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(local) * count, 0)
    return local * count + directory + end


# A library whose program headers fill the four kilobytes that are looked at.
SEGMENTS = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<2HI3QI6H", 3, 183, 1, 0, 64, 0, 0, 64, 56, 72, 0, 0, 0)
SEGMENTS += struct.pack("<2I6Q", 1, 5, 0, 0, 0, 64, 64, 4096) * 72

CROWDED = (manifest_axml("com.example.app", 7, "1.0"), hostile.crowded_axml(65_535))


def map_id(data: bytes) -> object:
    return mapping.ids_of_dex(io.BytesIO(data))


def inline(data: bytes) -> object:
    return inline_notes(data.decode())


WORST: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "axml, an honest one": (each(manifest.binary_elements), CROWDED[0]),
    "axml, one huge name": (each(manifest.binary_elements), hostile.crowded_axml(4000)),
    "axml, 65,535 attributes": (each(manifest.binary_elements), CROWDED[1]),
    "axml, names within names": (each(manifest.binary_elements), hostile.crowded_axml(4000, overlapping=True)),
    "axml, empty chunks": (each(manifest.binary_elements), hostile.fragmented_axml(50_000)),
    "proto, many attributes": (each(manifest.proto_elements), hostile.crowded_proto(5000, 100)),
    "proto, one field again and again": (
        each(manifest.proto_elements),
        hostile.crowded_proto(0, 0) + b"\x08\x01" * 50_000,
    ),
    "manifest, many features": (binary_manifest, crowded_features(2000)),
    "signature, many certificates": (signature, signature_writer.pkcs7(*[signature_writer.certificate()] * 150)),
    "signature, a chain for each signer": (scheme, signature_writer.scheme_value(*[[b"0\0"] * 50] * 200)),
    "signature, empty signers": (scheme, b"\xff\xff\0\0" + bytes(0xFFFF)),
    "library, segments": (manifest.segment_alignment, SEGMENTS),
    "bundle's configuration, one field again and again": (configured, b"\x12\0" * 30_000),
    "zip, many libraries": (libraries, zip_of_libraries(9_000)),
    "zip, the end again and again": (archive, b"PK\5\6" * 20_000),
    "zip, empty lines": (archive, zip_with(line() * 5000)),
    "zip, crowded extra fields": (archive, zip_with(line(extra=b"\2\0\0\0" * 16_000, size=0xFFFFFFFF) * 4)),
    "dex, markers that never end": (map_id, stored({"classes.dex": (b"~~R8{" + b"a" * 1020) * 200})),
    "dex, beginnings of markers": (map_id, stored({"classes.dex": b"~~R8{" * 40_000})),
    "dex, many markers": (map_id, stored({"classes.dex": b'~~R8{"pg-map-id":"a"}\0' * 10_000})),
    "mapping, heads of ids": (mapping.ids_of_mapping, b"# pg_map_id: " * 20_000),
    "mapping, spaces": (mapping.ids_of_mapping, (b"# pg_map_hash: SHA-256 " + b" " * 500) * 400),
    "notes, many languages": (inline, b"en-US: a\n" * 2_000),
    "notes, lists in lists": (inline, b"en-US: " + b"[" * 20_000),
    "notes, one after the other": (inline, b"en-US: &a [a]\n" + b"fil: *a\n" * 2_000),
    "error, many reasons": (refusal, json.dumps({"error": {"errors": [{"reason": "a"}] * 20_000}}).encode()),
    "error, deep": (refusal, b"[" * 100_000),
    "error, one long word": (refusal, json.dumps({"error": {"message": "a" * 200_000}}).encode()),
    "mail, parameters": (message, b"To: a@b.c\nContent-Type: multipart/mixed" + b"; a=b" * 50_000 + b"\n\n"),
    "mail, nested comments": (message, b"To: " + b"(" * 50_000 + b" a@b.c\n\n"),
    "mail, headers": (message, b"To: a@b.c\n" + b"X: y\n" * 5_000 + b"\n"),
    "mail, parts": (message, MULTIPART + b"--b\n\n" * 20_000),
    "mail, parts without an end": (message, MULTIPART + b"--b\nX: y\n" * 20_000),
    "mail, messages within messages": (message, b"To: a@b.c\n" + b"Content-Type: message/rfc822\n\n" * 5_000),
    "mail, parts within parts": (
        message,
        b"To: a@b.c\n" + b"".join(NESTED % (number, number) for number in range(2_000)),
    ),
    "mail, lines like delimiters": (message, MULTIPART + b"--b \n\n" + b"--c\n" * 20_000),
    "mail, encoded words": (message, b"To: a@b.c\nSubject:" + b" =?utf-8?q?a?=\n" * 5_000 + b"\n"),
}


@pytest.mark.threat(
    "committer",
    "a small file keeps a parser busy without end",
    rule="each parser's work is bounded by the number of bytes it reads",
)
@pytest.mark.parametrize("name", WORST)
def test_the_work_is_bounded_by_the_bytes(name: str) -> None:
    """However it is made: no more than a few steps for each byte that was read."""
    parse, data = WORST[name]
    assert work(lambda: parse(data)) < 60 * len(data) + 10_000


def lines(count: int) -> bytes:
    """A zip whose directory has so many members, none of which is there."""
    return zip_with(b"".join(line(b"base/assets/%06d" % index) for index in range(count)))


def dex(content: bytes) -> bytes:
    """An APK with as much code as is looked at, all of it the same bytes again and again."""
    return stored({"classes.dex": content * (MAX_DEX // len(content))})


def proto(field: bytes) -> bytes:
    """A manifest of a bundle, as large as one may be, that is one field again and again."""
    return manifests.field(1, manifests.field(3, b"manifest") + field * ((MAX_MEMBER - 100) // len(field)))


LARGEST: dict[str, tuple[Callable[[bytes], object], Callable[[], bytes]]] = {
    "axml, attributes": (each(manifest.binary_elements), lambda: CROWDED[1]),
    "axml, empty chunks": (each(manifest.binary_elements), lambda: hostile.fragmented_axml(MAX_MEMBER // 8)),
    "proto, numbers": (each(manifest.proto_elements), lambda: proto(b"\x08\x01")),
    "proto, empty children": (each(manifest.proto_elements), lambda: proto(b"\x2a\x00")),
    "proto, small attributes": (each(manifest.proto_elements), lambda: proto(b"\x22\x02\x28\x03")),
    "zip, members": (archive, lambda: lines(MAX_MEMBERS)),
    "zip, more members": (archive, lambda: lines(2 * MAX_MEMBERS)),
    "zip, extra fields": (archive, lambda: zip_with(line(extra=b"\2\0\0\0" * 16_000, size=0xFFFFFFFF) * 500)),
    "zip, small extra fields": (archive, lambda: zip_with(line(extra=b"\2\0\0\0" * 1000) * 1000)),
    "zip, libraries": (libraries, lambda: zip_of_libraries(MAX_WANTED)),
    "signature, certificates": (
        signature,
        lambda: signature_writer.pkcs7(*[signature_writer.certificate()] * 180),
    ),
    "signature, signers": (scheme, lambda: signature_writer.scheme_value(*[[b"0\0"]] * 400)),
    "dex, markers that never end": (map_id, lambda: dex(b"~~R8{" + b"a" * 1020)),
    "dex, beginnings of markers": (map_id, lambda: dex(b"~~R8{")),
    "dex, markers": (map_id, lambda: dex(b'~~R8{"pg-map-id":"a"}\0')),
    "dex, zeros": (map_id, lambda: zip_of("classes.dex", bytes(MAX_DEX))),
    "mapping, spaces": (mapping.ids_of_mapping, lambda: (b"# pg_map_hash: SHA-256 " + b" " * 500) * 125),
    "notes, languages": (inline, lambda: b"en-US: a\n" * 14_000),
    "notes, lists in lists": (inline, lambda: b"en-US: " + b"[" * 130_000),
    "notes, spaces": (inline, lambda: b"en-US:" + b" " * 130_000 + b"x"),
    "notes, backslashes": (inline, lambda: b'en-US: "' + b"\\" * 130_000),
}


@pytest.mark.threat("committer", "a small file keeps a parser busy without end")
@pytest.mark.parametrize("name", LARGEST)
def test_the_worst_input_at_its_largest_takes_less_than_a_second(name: str) -> None:
    """Of the processor's time, whatever else the machine does."""
    parse, make = LARGEST[name]
    data = make()
    began = time.process_time()
    with suppress(MalformedFile, InputError):
        parse(data)
    assert time.process_time() - began < 1


@pytest.mark.threat("committer", "a small file keeps a parser busy without end")
def test_members_that_overlap_are_refused(tmp_path: Path) -> None:
    """As in a bomb whose members are all the same bytes: they take more room than the file has."""
    bomb = bytearray(zip_of_libraries(2))
    second = bomb.rindex(b"PK\1\2")
    struct.pack_into("<I", bomb, second + 20, len(bomb))
    with pytest.raises(MalformedFile, match="take more room than it has"):
        archive(bytes(bomb))
    (tmp_path / "s.zip").write_bytes(bomb)
    with pytest.raises(InputError, match="not a complete zip"):
        native.debug_symbols("s.zip", Workspace(tmp_path), tmp_path / "t")


def test_a_small_apk_is_little_work() -> None:
    """17 KiB of an APK that unpack to 1.3 MB: what is done is bounded by what was unpacked, which is bounded itself."""
    data = zip_of("AndroidManifest.xml", CROWDED[1])
    assert len(data) < 400 * 1024
    assert work(lambda: manifest.read_manifest(io.BytesIO(data), "a.apk")) < 10 * len(CROWDED[1])


@pytest.mark.parametrize("make", [hostile.fill_bytes_jpeg, hostile.empty_segments_jpeg])
def test_an_image_is_looked_at_and_not_searched(tmp_path: Path, make: Callable[[int], bytes]) -> None:
    """15 MiB without a frame header are given up after as many segments as no real image has."""
    (tmp_path / "store/en-US/images").mkdir(parents=True)
    (tmp_path / "store/en-US/images/icon.jpg").write_bytes(make(15 * MIB))
    assert work(lambda: listing.store_listing("store", Workspace(tmp_path))) < MIB


@pytest.mark.parametrize("content", [b"\n" * MIB, b"# x\n" * (MIB // 4), b"a -> " * (MIB // 5), b"a" * 4 * MIB])
def test_a_mapping_is_known_by_its_head(tmp_path: Path, content: bytes) -> None:
    """Whatever stands in it, its first mebibyte is gone over a few times at most."""
    (tmp_path / "mapping.txt").write_bytes(content)
    assert work(lambda: mapping_file("mapping.txt", Workspace(tmp_path))) < 8 * MIB


def test_a_directory_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """A sparse zip of 5 GiB, all of it directory as it says: neither symbols nor an artifact is held in memory."""
    path, length = tmp_path / "symbols.zip", 5 << 30
    with path.open("wb") as file:
        file.truncate(length)
        file.seek(length)
        file.write(hostile.directory_bomb(length))
    tracemalloc.start()
    with pytest.raises(InputError, match="not a complete zip"):
        native.debug_symbols(path.name, Workspace(tmp_path), tmp_path / "t")
    with path.open("rb") as file, pytest.raises(InputError, match="plausible"):
        manifest.read_manifest(file, "a.apk")
    assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    tracemalloc.stop()


def test_more_libraries_than_any_app_has_are_refused() -> None:
    """Each costs a look at its beginning, and a name that is held."""
    whole = zip_of_libraries(MAX_WANTED + 1)
    with pytest.raises(MalformedFile, match="more native libraries than are plausible"):
        libraries(whole)


def test_a_symbols_zip_may_not_unpack_to_a_thousand_times_its_size(tmp_path: Path) -> None:
    """Zeros shrink to a thousandth; what compilers write does not."""
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("lib/x86/liba.so", bytes(65 * MIB))
    with pytest.raises(InputError, match="more than 100 times its size"):
        native.debug_symbols("s.zip", Workspace(tmp_path), tmp_path / "t")


def test_a_symbols_folder_that_is_a_tree_without_end(tmp_path: Path) -> None:
    """Links are not followed out of it, and more files than any app has are given up early."""
    folder = tmp_path / "lib/x86"
    folder.mkdir(parents=True)
    (folder / "liba.so").write_text("x")
    (folder / "root").symlink_to("/")
    (folder / "self").symlink_to(".")
    listed: list[str] = []
    counting = True

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if counting and event == "os.scandir":
            listed.append(os.fspath(str(arguments[0])))

    sys.addaudithook(note)
    artifact, _ = native.debug_symbols("lib", Workspace(tmp_path), tmp_path / "t")
    counting = False
    assert zipfile.ZipFile(artifact.path).namelist() == ["x86/liba.so"]
    assert sorted(listed) == [str(tmp_path / "lib"), str(folder)]
