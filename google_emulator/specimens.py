"""Makes Android App Bundles and APKs to try things with: valid zips and manifests, any size, the same bytes each time.

The encoders are this module's own, written from the formats' descriptions (aapt2's Resources.proto, the platform's
ResourceTypes.h, PKWARE's APPNOTE), so that they can witness for the readers. The signature files have the right names
and digests but hold no real signature.
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ANDROID = "http://schemas.android.com/apk/res/android"
VERSION_CODE, VERSION_NAME, VERSION_CODE_MAJOR = 0x0101021B, 0x0101021C, 0x01010576
_BLOCK = 1024 * 1024
_FULL = 0xFFFFFFFF


def make_bundle(
    path: Path,
    package: str,
    version_code: int,
    version_name: str,
    size_bytes: int = 0,
    *,
    sparse: bool = False,
    signed: bool = True,
) -> None:
    """Writes an .aab of exactly `size_bytes` bytes (or as small as it can be); `sparse` leaves its payload a hole."""
    files = [
        ("BundleConfig.pb", _field(1, _field(2, b"1.15.6"))),  # bundletool { version }
        ("base/manifest/AndroidManifest.xml", manifest_proto(package, version_code, version_name)),
    ]
    _write(path, files, "base/assets/payload.bin", size_bytes, sparse=sparse, signed=signed)


def make_apk(
    path: Path,
    package: str,
    version_code: int,
    version_name: str,
    size_bytes: int = 0,
    *,
    sparse: bool = False,
    signed: bool = True,
) -> None:
    """Writes an .apk of exactly `size_bytes` bytes (or as small as it can be); `sparse` leaves its payload a hole."""
    files = [("AndroidManifest.xml", manifest_axml(package, version_code, version_name))]
    _write(path, files, "assets/payload.bin", size_bytes, sparse=sparse, signed=signed)


def manifest_proto(package: str, version_code: int, version_name: str) -> bytes:
    """A manifest as aapt2 writes it into a bundle."""
    low, high = version_code & _FULL, version_code >> 32
    attributes = [
        _attribute("versionCode", str(low), VERSION_CODE, _field(7, _number(6, low))),
        _attribute("versionName", version_name, VERSION_NAME, None),
        _field(2, b"package") + _field(3, package.encode()),
    ]
    if high:
        attributes.insert(1, _attribute("versionCodeMajor", str(high), VERSION_CODE_MAJOR, _field(7, _number(6, high))))
    namespace = _field(1, _field(1, b"android") + _field(2, ANDROID.encode()))
    application = _field(5, _field(1, _field(3, b"application")))
    return _field(
        1, namespace + _field(3, b"manifest") + b"".join(_field(4, each) for each in attributes) + application
    )


def manifest_axml(package: str, version_code: int, version_name: str, *, utf16: bool = False) -> bytes:
    """A manifest as aapt writes it into an APK, its strings in UTF-8, or in UTF-16 as older tools do."""
    low, high = version_code & _FULL, version_code >> 32
    ids = [VERSION_CODE, VERSION_NAME, *([VERSION_CODE_MAJOR] if high else [])]
    names = ["versionCode", "versionName", "versionCodeMajor"][: len(ids)]
    strings = [*names, "android", ANDROID, "manifest", "package", package, version_name]
    at = {text: index for index, text in reversed(list(enumerate(strings)))}
    none = _FULL
    attributes = [
        (at[ANDROID], 0, none, 0x10, low),
        (at[ANDROID], 1, at[version_name], 0x03, at[version_name]),
        *([(at[ANDROID], 2, none, 0x10, high)] if high else []),
        (none, at["package"], at[package], 0x03, at[package]),
    ]
    element = struct.pack("<2I6H", none, at["manifest"], 20, 20, len(attributes), 0, 0, 0)
    for namespace, name, raw, kind, data in attributes:
        element += struct.pack("<3IHBBI", namespace, name, raw, 8, 0, kind, data)
    scope = struct.pack("<2I", at["android"], at[ANDROID])
    return _chunk(
        0x0003,
        b"",
        _string_pool(strings, utf16)
        + _chunk(0x0180, b"", struct.pack(f"<{len(ids)}I", *ids))
        + _event(0x0100, scope)
        + _event(0x0102, element)
        + _event(0x0103, struct.pack("<2I", none, at["manifest"]))
        + _event(0x0101, scope),
    )


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _attribute(name: str, value: str, resource_id: int, item: bytes | None) -> bytes:
    compiled = b"" if item is None else _field(6, item)
    text = _field(2, name.encode()) + _field(3, value.encode())
    return _field(1, ANDROID.encode()) + text + _number(5, resource_id) + compiled


def _chunk(kind: int, header: bytes, body: bytes) -> bytes:
    return struct.pack("<2HI", kind, 8 + len(header), 8 + len(header) + len(body)) + header + body


def _event(kind: int, body: bytes) -> bytes:
    return _chunk(kind, struct.pack("<2I", 1, _FULL), body)  # line 1, no comment


def _string_pool(strings: Sequence[str], utf16: bool) -> bytes:
    encoded = [_utf16(text) if utf16 else _utf8(text) for text in strings]
    offsets = [sum(map(len, encoded[:index])) for index in range(len(encoded))]
    body = b"".join(encoded)
    body += bytes(-len(body) % 4)
    start = 28 + 4 * len(strings)
    header = struct.pack("<5I", len(strings), 0, 0 if utf16 else 1 << 8, start, 0)
    return _chunk(0x0001, header, struct.pack(f"<{len(offsets)}I", *offsets) + body)


def _utf16(text: str) -> bytes:
    data = text.encode("utf-16-le")
    units = len(data) // 2
    length = struct.pack("<H", units) if units < 0x8000 else struct.pack("<2H", units >> 16 | 0x8000, units & 0xFFFF)
    return length + data + b"\0\0"


def _utf8(text: str) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    # Characters beyond the BMP are written as their two surrogates, three bytes each, as the platform does.
    halves = "".join(chr(unit) for (unit,) in struct.iter_unpack(">H", units))
    data = halves.encode("utf-8", "surrogatepass")
    return b"".join(_length8(count) for count in (len(halves), len(data))) + data + b"\0"


def _length8(length: int) -> bytes:
    return bytes([length]) if length < 0x80 else bytes([length >> 8 | 0x80, length & 0xFF])


@dataclass(frozen=True, slots=True)
class _Stored:
    """One stored (uncompressed) entry; `data` is None for a payload that is generated, or left a hole.

    `wide` writes its sizes in 64 bits (zip64); the payload is the last entry and the only one that can need it.
    """

    name: str
    size: int
    crc: int
    data: bytes | None
    wide: bool = False


def _write(
    path: Path, files: list[tuple[str, bytes]], payload: str, size_bytes: int, *, sparse: bool, signed: bool
) -> None:
    if signed:
        files = [*files, *_signature_files(files)]
    entries = [_Stored(name, len(data), zlib.crc32(data), data) for name, data in files]
    wide = size_bytes >= _FULL
    length = max(0, size_bytes - _zip_overhead([*entries, _Stored(payload, 0, 0, None, wide)]))
    crc = _crc_of_zeros(length) if sparse else _crc(_payload(length))
    with path.open("wb") as file:
        _write_zip(file, [*entries, _Stored(payload, length, crc, None, wide)], sparse)


def _zip_overhead(entries: list[_Stored]) -> int:
    """What the zip measures beside its payload, in bytes."""
    before = sum(len(_local(entry)) + entry.size for entry in entries)
    return before + len(_directory(entries, before))


def _signature_files(files: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    lines = [b"Manifest-Version: 1.0\r\n\r\n"]
    for name, data in files:
        digest = base64.b64encode(hashlib.sha256(data).digest())
        lines.append(b"Name: %b\r\nSHA-256-Digest: %b\r\n\r\n" % (name.encode(), digest))
    manifest = b"".join(lines)
    digest = base64.b64encode(hashlib.sha256(manifest).digest())
    signature = b"Signature-Version: 1.0\r\nSHA-256-Digest-Manifest: %b\r\n\r\n" % digest
    block = b"\x30\x82\x01\x00" + bytes(256)  # a DER SEQUENCE, as long as the smallest PKCS#7 block, without content
    return [("META-INF/MANIFEST.MF", manifest), ("META-INF/CERT.SF", signature), ("META-INF/CERT.RSA", block)]


def _payload(length: int) -> Iterator[bytes]:
    """Bytes that do not compress and are the same on every machine."""
    for index in range(0, length, _BLOCK):
        yield hashlib.shake_128(b"%d" % index).digest(min(_BLOCK, length - index))


def _crc(blocks: Iterator[bytes]) -> int:
    value = 0
    for block in blocks:
        value = zlib.crc32(block, value)
    return value


def _crc_of_zeros(length: int) -> int:
    """CRC-32 of so many zero bytes, without touching them: one zero bit is a linear map of the register.

    The map of n bits is found by squaring, so a hole of a hundred gigabytes costs some forty multiplications.
    """
    register, bits = _FULL, 8 * length
    step = [0xEDB88320, *(1 << bit for bit in range(31))]  # where each bit of the register goes for one zero bit
    while bits:
        if bits & 1:
            register = _apply(step, register)
        step = [_apply(step, column) for column in step]
        bits >>= 1
    return register ^ _FULL


def _apply(columns: list[int], vector: int) -> int:
    total = 0
    for bit, column in enumerate(columns):
        if vector >> bit & 1:
            total ^= column
    return total


def _write_zip(file: BinaryIO, entries: list[_Stored], sparse: bool) -> None:
    for entry in entries:
        file.write(_local(entry))
        if entry.data is not None:
            file.write(entry.data)
        elif sparse:
            file.seek(entry.size, os.SEEK_CUR)
        else:
            file.writelines(_payload(entry.size))
    file.write(_directory(entries, file.tell()))


def _local(entry: _Stored) -> bytes:
    # Dated 1 January 1981, as reproducible builds do.
    fixed = (45 if entry.wide else 20, 0x0800, 0, 0, 0x0221, entry.crc, *_sizes(entry))
    return struct.pack("<4s5H3I2H", b"PK\3\4", *fixed, len(entry.name), len(_extra(entry))) + _name_and_extra(entry)


def _sizes(entry: _Stored) -> tuple[int, int]:
    return (_FULL, _FULL) if entry.wide else (entry.size, entry.size)


def _extra(entry: _Stored) -> bytes:
    return struct.pack("<2H2Q", 1, 16, entry.size, entry.size) if entry.wide else b""


def _name_and_extra(entry: _Stored) -> bytes:
    return entry.name.encode("ascii") + _extra(entry)


def _directory(entries: list[_Stored], at: int) -> bytes:
    out, offset = bytearray(), 0
    for entry in entries:
        fixed = (45, 45 if entry.wide else 20, 0x0800, 0, 0, 0x0221, entry.crc, *_sizes(entry))
        out += struct.pack("<4s6H3I", b"PK\1\2", *fixed)
        out += struct.pack("<5H2I", len(entry.name), len(_extra(entry)), 0, 0, 0, 0, offset) + _name_and_extra(entry)
        offset += len(_local(entry)) + entry.size
    length, count, wide = len(out), len(entries), entries[-1].wide
    if wide:
        out += struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, length, at)
        out += struct.pack("<4sIQI", b"PK\6\7", 0, at + length, 1)
    return bytes(out) + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, length, _FULL if wide else at, 0)
