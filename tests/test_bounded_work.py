"""No file keeps a parser busy: each takes the worst files that can be made for it in less than
three seconds.
"""

from __future__ import annotations

import io
import json
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from google_emulator.specimens import manifest_axml, manifests, signature_writer
from tests.support import hostile
from uploader.auth import credentials as source
from uploader.auth.destinations import principal
from uploader.errors import InputError, Problems
from uploader.files.android import listing, manifest, map_ids, native, signatures
from uploader.files.android.archive import (
    MAX_MEMBER,
    MAX_MEMBERS,
    MAX_WANTED,
    Archive,
    MalformedFile,
)
from uploader.files.android.map_ids import MAX_DEX
from uploader.files.android.notes import inline_notes
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace
from uploader.hosts import trusted
from uploader.http.headers import Headers
from uploader.http.messages import Response
from uploader.inputs.records import LoginInputs
from uploader.outputs.reporter import neutral
from uploader.protocol import content_range, goog_upload, google_error
from uploader.protocol.media import Media
from uploader.protocol.session import QueryOffset, Start
from uploader.redaction import session_words
from uploader.services import mail_message
from uploader.text import sentence
from uploader.upload.resumable import absolute

MIB = 1 << 20


def zip_of(entry: str, data: bytes) -> bytes:
    """A zip with one compressed entry."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, data)
    return held.getvalue()


def zip_with(directory: bytes) -> bytes:
    """A zip that is nothing but a directory and its end."""
    return directory + struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(directory), 0, 0
    )


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
    return mail_message.check_message(data, to_send=True)


MULTIPART = b"To: a@b.c\nContent-Type: multipart/mixed; boundary=b\n\n"


def signature(block: bytes) -> object:
    entries = {"META-INF/A.SF": b"", "META-INF/A.RSA": block}
    whole = stored(entries)
    return signatures.signers(Archive(io.BytesIO(whole), lambda _: True), apk=False)


def scheme(value: bytes) -> object:
    whole = signature_writer.with_signing_block(
        stored({}), (signature_writer.V2, value)
    )
    return signatures.signers(Archive(io.BytesIO(whole), lambda _: True), apk=True)


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
    local = struct.pack(
        "<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(packed), MIB, 22, 0
    )
    head = struct.pack("<4s6H3I", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(packed), MIB)
    names = [b"lib/arm64-v8a/%05d.so" % index for index in range(count)]
    length = len(local) + 22 + len(packed)
    members = b"".join(local + name + packed for name in names)
    directory = b"".join(
        head + struct.pack("<5H2I", 22, 0, 0, 0, 0, 0, length * index) + name
        for index, name in enumerate(names)
    )
    end = struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(members), 0
    )
    return members + directory + end


# A library whose program headers fill the four kilobytes that are looked at.
SEGMENTS = (
    b"\x7fELF\2\1\1"
    + bytes(9)
    + struct.pack("<2HI3QI6H", 3, 183, 1, 0, 64, 0, 0, 64, 56, 72, 0, 0, 0)
)
SEGMENTS += struct.pack("<2I6Q", 1, 5, 0, 0, 0, 64, 64, 4096) * 72

CROWDED = (manifest_axml("com.example.app", 7, "1.0"), hostile.crowded_axml(65_535))


def map_id(data: bytes) -> object:
    return map_ids.ids_of_artifact(Artifact("a.apk", "a.apk", len(data), data=data))


def inline(data: bytes) -> object:
    return inline_notes(data.decode(), Problems())


def lines(count: int) -> bytes:
    """A zip whose directory has so many members, none of which is there."""
    return zip_with(
        b"".join(line(b"base/assets/%06d" % index) for index in range(count))
    )


def dex(content: bytes) -> bytes:
    """An APK with as much code as is looked at, all of it the same bytes again and again."""
    return stored({"classes.dex": content * (MAX_DEX // len(content))})


def proto(field: bytes) -> bytes:
    """A manifest of a bundle, as large as one may be, that is one field again and again."""
    return manifests.field(
        1, manifests.field(3, b"manifest") + field * ((MAX_MEMBER - 100) // len(field))
    )


LARGEST: dict[str, tuple[Callable[[bytes], object], Callable[[], bytes]]] = {
    "axml, attributes": (each(manifest.binary_elements), lambda: CROWDED[1]),
    "axml, slow names": (
        each(manifest.binary_elements),
        lambda: hostile.slow_axml(60_000),
    ),
    "axml, empty chunks": (
        each(manifest.binary_elements),
        lambda: hostile.fragmented_axml(MAX_MEMBER // 8),
    ),
    "proto, numbers": (each(manifest.proto_elements), lambda: proto(b"\x08\x01")),
    "proto, empty children": (
        each(manifest.proto_elements),
        lambda: proto(b"\x2a\x00"),
    ),
    "proto, small attributes": (
        each(manifest.proto_elements),
        lambda: proto(b"\x22\x02\x28\x03"),
    ),
    "zip, members": (archive, lambda: lines(MAX_MEMBERS)),
    "zip, more members": (archive, lambda: lines(2 * MAX_MEMBERS)),
    "zip, extra fields": (
        archive,
        lambda: zip_with(line(extra=b"\2\0\0\0" * 16_000, size=0xFFFFFFFF) * 500),
    ),
    "zip, small extra fields": (
        archive,
        lambda: zip_with(line(extra=b"\2\0\0\0" * 1000) * 1000),
    ),
    "zip, libraries": (libraries, lambda: zip_of_libraries(MAX_WANTED)),
    "signature, certificates": (
        signature,
        lambda: signature_writer.pkcs7(*[signature_writer.certificate()] * 180),
    ),
    "signature, signers": (
        scheme,
        lambda: signature_writer.scheme_value(*[[b"0\0"]] * 400),
    ),
    "dex, markers that never end": (map_id, lambda: dex(b"~~R8{" + b"a" * 1020)),
    "dex, beginnings of markers": (map_id, lambda: dex(b"~~R8{")),
    "dex, markers": (map_id, lambda: dex(b'~~R8{"pg-map-id":"a"}\0')),
    "dex, zeros": (map_id, lambda: zip_of("classes.dex", bytes(MAX_DEX))),
    "mapping, spaces": (
        map_ids.ids_of_mapping,
        lambda: (b"# pg_map_hash: SHA-256 " + b" " * 500) * 125,
    ),
    "notes, languages": (inline, lambda: b"en-US: a\n" * 14_000),
    "notes, lists in lists": (inline, lambda: b"en-US: " + b"[" * 130_000),
    "notes, spaces": (inline, lambda: b"en-US:" + b" " * 130_000 + b"x"),
    "notes, backslashes": (inline, lambda: b'en-US: "' + b"\\" * 130_000),
    "error, many reasons": (
        refusal,
        lambda: json.dumps({"error": {"errors": [{"reason": "a"}] * 20_000}}).encode(),
    ),
    "error, deep": (refusal, lambda: b"[" * 100_000),
    "mail, parameters": (
        message,
        lambda: (
            b"To: a@b.c\nContent-Type: multipart/mixed" + b"; a=b" * 50_000 + b"\n\n"
        ),
    ),
    "mail, nested comments": (message, lambda: b"To: " + b"(" * 50_000 + b" a@b.c\n\n"),
    "mail, parts": (message, lambda: MULTIPART + b"--b\n\n" * 20_000),
    "mail, messages in messages": (
        message,
        lambda: b"To: a@b.c\n" + b"Content-Type: message/rfc822\n\n" * 5_000,
    ),
    "mail, encoded words": (
        message,
        lambda: b"To: a@b.c\nSubject:" + b" =?utf-8?q?a?=\n" * 5_000 + b"\n",
    ),
}


KEY = {
    "type": "service_account",
    "client_email": "a@b.c",
    "token_uri": "https://oauth2.googleapis.com/token",
}
URI = "https://www.googleapis.com/upload/x?upload_id="


def credential(data: bytes) -> object:
    return source.parse(
        LoginInputs(credentials=json.dumps({**KEY, "private_key": data.decode()}))
    )


def impersonation(data: bytes) -> object:
    return principal(data.decode())


def offset(data: bytes) -> object:
    response = Response(308, Headers([("Range", data.decode())]))
    return content_range.event(QueryOffset(), response, MEDIA)


def session(data: bytes) -> object:
    headers = Headers(
        [("X-Goog-Upload-Status", "active"), ("X-Goog-Upload-URL", data.decode())]
    )
    event = goog_upload.event(Start(), Response(200, headers), MEDIA)
    return (
        trusted(absolute(data.decode(), URI), URI),
        session_words(data.decode(), URI),
        event,
    )


def sent_to(data: bytes) -> object:
    return mail_message.addresses(data.decode())


def logged(data: bytes) -> object:
    return sentence(neutral(data.decode()))


MEDIA = Media("POST", "https://www.googleapis.com/upload/x", (), "text/plain", 1)
HEAD = 64 * 1024  # bytes of a response's head, of which one line has most
LARGEST |= {
    "key, backslashes": (
        credential,
        lambda: b"-----BEGIN PRIVATE KEY-----" + b"\\" * 130_000,
    ),
    "key, labels": (credential, lambda: b"-----BEGIN " + b"A " * 65_000),
    "key, ends": (
        credential,
        lambda: b"-----BEGIN PRIVATE KEY-----" + b"-----END PRIVATE KEY" * 6_500,
    ),
    "impersonation, accounts": (impersonation, lambda: b"/serviceAccounts/a" * 7_000),
    "offset, blanks": (offset, lambda: b"bytes" + b" " * HEAD + b"x"),
    "offset, digits": (offset, lambda: b"bytes=1" + b" " * HEAD + b"x"),
    "session, labels": (session, lambda: b"https://" + b"a." * (HEAD // 2) + b"com/"),
    "session, dots": (
        session,
        lambda: URI.replace("x?", "%2e%2e/" * (HEAD // 7)).encode(),
    ),
    "session, a scheme": (session, lambda: b"a" * HEAD),
    "addresses, hyphens": (sent_to, lambda: b"a@" + b"a-" * 60_000),
    "addresses, labels": (sent_to, lambda: b"a@" + b"a." * 60_000 + b"!"),
    "log, hashes": (logged, lambda: b"##" * 60_000),
    "log, words behind hashes": (logged, lambda: b"##a" * 40_000),
    "log, stops": (logged, lambda: b".)" * 60_000 + b"x"),
    "log, colons": (logged, lambda: b"::" * 60_000),
}


# Of each parser that has such inputs, one that it is quickest to go through is left to `make test`.
SLOWEST = {
    "addresses, labels",
    "axml, slow names",
    "dex, beginnings of markers",
    "dex, markers that never end",
    "dex, zeros",
    "notes, languages",
    "zip, libraries",
    "zip, members",
    "zip, small extra fields",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in SLOWEST else name
        for name in LARGEST
    ],
)
def test_the_worst_input_at_its_largest_takes_less_than_three_seconds(
    name: str,
) -> None:
    """Of the processor's time, whatever else the machine does."""
    parse, make = LARGEST[name]
    data = make()
    began = time.thread_time()
    with suppress(MalformedFile, InputError, ValueError):
        parse(data)
    assert time.thread_time() - began < 3  # the slowest takes 0.7 to 1.1 s


@pytest.mark.parametrize("make", [hostile.fill_bytes_jpeg, hostile.empty_segments_jpeg])
def test_an_image_is_looked_at_and_not_searched(
    tmp_path: Path, make: Callable[[int], bytes]
) -> None:
    """15 MiB without a frame header are given up after as many segments as no real image has."""
    (tmp_path / "store/en-US/images").mkdir(parents=True)
    (tmp_path / "store/en-US/images/icon.jpg").write_bytes(make(15 * MIB))
    began = time.thread_time()
    problems = Problems()
    listing.store_listing("store", Workspace(tmp_path), problems)
    assert problems
    assert time.thread_time() - began < 3  # the slowest takes 0.7 to 1.1 s


def test_members_that_overlap_are_refused(tmp_path: Path) -> None:
    """As in a bomb whose members are all the same bytes: they take more room than the file has."""
    bomb = bytearray(zip_of_libraries(2))
    second = bomb.rindex(b"PK\1\2")
    struct.pack_into("<I", bomb, second + 20, len(bomb))
    with pytest.raises(MalformedFile, match="take more room than it has"):
        archive(bytes(bomb))
    (tmp_path / "s.zip").write_bytes(bomb)
    with pytest.raises(InputError, match="not a complete zip"):
        native.debug_symbols("s.zip", Workspace(tmp_path), tmp_path / "t", Problems())


def test_a_directory_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """A sparse zip of 5 GiB, all of it directory as it says: neither symbols nor an artifact is
    held in memory.
    """
    path, length = tmp_path / "symbols.zip", 5 << 30
    with path.open("wb") as file:
        file.truncate(length)
        file.seek(length)
        file.write(hostile.directory_bomb(length))
    tracemalloc.start()
    with pytest.raises(InputError, match="not a complete zip"):
        native.debug_symbols(path.name, Workspace(tmp_path), tmp_path / "t", Problems())
    with path.open("rb") as file, pytest.raises(InputError, match="plausible"):
        manifest.read_manifest(file, "a.apk")
    assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    tracemalloc.stop()


def test_more_libraries_than_any_app_has_are_refused() -> None:
    """Each costs a look at its beginning, and a name that is held."""
    whole = zip_of_libraries(MAX_WANTED + 1)
    with pytest.raises(
        MalformedFile, match="more files of one kind than are plausible"
    ):
        libraries(whole)


def test_a_symbols_zip_may_not_unpack_to_a_thousand_times_its_size(
    tmp_path: Path,
) -> None:
    """Zeros shrink to a thousandth; what compilers write does not."""
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("lib/x86/liba.so", bytes(65 * MIB))
    with pytest.raises(InputError, match="more than 100 times its size"):
        native.debug_symbols("s.zip", Workspace(tmp_path), tmp_path / "t", Problems())
