"""What an uploaded APK or bundle says of itself: package, version, whether it is a debug build, and who signed it.

An APK's manifest is AOSP's binary XML (ResourceTypes.h), a bundle's is XML in protocol buffers (Resources.proto).
"""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from google_emulator.http.response import ApiError
from google_emulator.services.play.store import ArtifactKind

STRING_POOL, RESOURCE_MAP, START_ELEMENT = 0x0001, 0x0180, 0x0102
UTF8_FLAG = 1 << 8
TYPE_STRING, FIRST_INTEGER = 0x03, 0x10  # below an integer: references, whose values are elsewhere
ATTRIBUTES = {
    0x0101000F: "debuggable",
    0x0101021B: "versionCode",
    0x01010576: "versionCodeMajor",
    0x0101021C: "versionName",
}
NONE = 0xFFFFFFFF


def binary_elements(data: bytes) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Name and attributes of each element, from the root on. Raises ValueError or struct.error on malformed data."""
    strings: list[str] = []
    resources: tuple[int, ...] = ()
    for kind, header, start, size in _chunks(data):
        if kind == STRING_POOL:
            strings = _strings(data[start : start + size])
        elif kind == RESOURCE_MAP:
            resources = struct.unpack_from(f"<{(size - header) // 4}I", data, start + header)
        elif kind == START_ELEMENT:
            yield _element(data[start : start + size], header, strings, resources)


def _chunks(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Type, header size, offset and size of each chunk inside the document's own."""
    offset = struct.unpack_from("<HHI", data)[1]
    while offset + 8 <= len(data):
        kind, header, size = struct.unpack_from("<HHI", data, offset)
        if size < 8:
            raise ValueError("a chunk has no size")
        yield kind, header, offset, size
        offset += size


def _strings(chunk: bytes) -> list[str]:
    count, _, flags, first, _ = struct.unpack_from("<5I", chunk, 8)
    offsets = struct.unpack_from(f"<{count}I", chunk, 28)
    read = _utf8 if flags & UTF8_FLAG else _utf16
    return [read(chunk, first + offset) for offset in offsets]


def _utf8(chunk: bytes, at: int) -> str:
    at += 2 if chunk[at] & 0x80 else 1  # the length in characters, of no use here
    size = chunk[at]
    at += 1
    if size & 0x80:
        size = (size & 0x7F) << 8 | chunk[at]
        at += 1
    return chunk[at : at + size].decode("utf-8", "replace")


def _utf16(chunk: bytes, at: int) -> str:
    (size,) = struct.unpack_from("<H", chunk, at)
    at += 2
    if size & 0x8000:
        (low,) = struct.unpack_from("<H", chunk, at)
        size = (size & 0x7FFF) << 16 | low
        at += 2
    return chunk[at : at + size * 2].decode("utf-16-le", "replace")


def _element(
    chunk: bytes, header: int, strings: list[str], resources: tuple[int, ...]
) -> tuple[str, dict[str, str | int]]:
    _, name, first, size, count = struct.unpack_from("<IIHHH", chunk, header)
    found: dict[str, str | int] = {}
    for number in range(count):
        at = header + first + number * size
        _, key, raw, _, _, kind, value = struct.unpack_from("<IIIHBBI", chunk, at)
        label = ATTRIBUTES.get(resources[key]) if key < len(resources) else strings[key]
        if label and kind == TYPE_STRING:
            found[label] = strings[raw if raw != NONE else value]
        elif label and kind >= FIRST_INTEGER:
            found[label] = int(value)
    return strings[name], found


# Fields of Resources.proto that lead from XmlNode to an attribute's value.
_ELEMENT, _ELEMENT_NAME, _ATTRIBUTE, _CHILD = 1, 3, 4, 5
_NAME, _VALUE, _COMPILED = 2, 3, 6
_ITEM_STRING, _ITEM_PRIMITIVE = 2, 7
_NUMBERS = (6, 7, 8)  # decimal, hexadecimal, boolean


def proto_elements(data: bytes) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Name and attributes of each element, from the root on.

    Raises ValueError, IndexError, TypeError or RecursionError if malformed.
    """
    element = next((value for number, value in _fields(data) if number == _ELEMENT and isinstance(value, bytes)), b"")
    found: dict[str, str | int] = {}
    name, children = b"", []
    for number, value in _fields(element):
        if number == _ELEMENT_NAME and isinstance(value, bytes):
            name = value
        elif number == _ATTRIBUTE and isinstance(value, bytes):
            found.update(_attribute(value))
        elif number == _CHILD and isinstance(value, bytes):
            children.append(value)
    yield name.decode(), found
    for child in children:
        yield from proto_elements(child)


def _attribute(data: bytes) -> dict[str, str | int]:
    fields = dict(_fields(data))
    name, value, compiled = (fields.get(number, b"") for number in (_NAME, _VALUE, _COMPILED))
    if not isinstance(name, bytes) or not isinstance(value, bytes):
        raise TypeError("an attribute is malformed")
    if value or not isinstance(compiled, bytes):
        return {name.decode(): value.decode()}
    return {name.decode(): _compiled(compiled)}


def _compiled(data: bytes) -> str | int:
    """An attribute that has only its compiled form: a string, or a whole number."""
    item = dict(_fields(data))
    text, primitive = item.get(_ITEM_STRING), item.get(_ITEM_PRIMITIVE)
    if isinstance(text, bytes):
        return next((value.decode() for _, value in _fields(text) if isinstance(value, bytes)), "")
    if isinstance(primitive, bytes):
        numbers = dict(_fields(primitive))
        return next((value for key in _NUMBERS if isinstance(value := numbers.get(key), int)), 0)
    return ""


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Field numbers and values of one protocol-buffer message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        size = {1: 8, 5: 4}.get(wire)
        if size is None:
            if wire != 2:
                raise ValueError("unknown wire type")
            size, at = _varint(data, at)
        if at + size > len(data):
            raise ValueError("a field is longer than its message")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number is too long")


MANIFEST_LIMIT = 16 * 1024 * 1024  # bytes
_ENTRIES: dict[ArtifactKind, str] = {"apk": "AndroidManifest.xml", "bundle": "base/manifest/AndroidManifest.xml"}
MALFORMED = (
    *(zipfile.BadZipFile, KeyError, ValueError, TypeError, IndexError, struct.error, zlib.error, EOFError),
    *(RecursionError, NotImplementedError, RuntimeError),  # a compression that nobody knows, an encrypted entry
    *(OSError, lzma.LZMAError),  # an entry outside the file, one of bzip2 or of LZMA
)
UNREADABLE: dict[ArtifactKind, str] = {
    "bundle": "We have failed to run 'bundletool build-apks' on this Android App Bundle. Please ensure your bundle is "
    "valid by running 'bundletool build-apks' locally and try again.",
    "apk": "APK cannot be analyzed using aapt dump badging.",
}
Attributes = Mapping[str, "str | int"]


@dataclass(frozen=True)
class ArtifactIdentity:
    """Package name, version code and version name of an artifact."""

    package: str
    code: int
    name: str = ""
    debuggable: bool = False


def read_identity(path: Path, kind: ArtifactKind) -> ArtifactIdentity:
    """Reads an artifact. Raises `ApiError` 403 when it is not what the method takes.

    Google's words stand in Triple-T/gradle-play-publisher#900 and kiwix/kiwix-android#3296.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_ENTRIES[kind]) as file:
            data = file.read(MANIFEST_LIMIT)
        return _identity(list(binary_elements(data) if kind == "apk" else proto_elements(data)))
    except MALFORMED as error:
        raise ApiError(403, UNREADABLE[kind]) from error


def _identity(elements: list[tuple[str, dict[str, str | int]]]) -> ArtifactIdentity:
    root, manifest = elements[0]
    if root != "manifest":
        raise ValueError("the first element is not the manifest")
    application: Attributes = next((attributes for name, attributes in elements if name == "application"), {})
    code = int(manifest["versionCode"]) | int(manifest.get("versionCodeMajor", 0)) << 32
    debuggable = application.get("debuggable", 0) not in (0, "false")
    return ArtifactIdentity(str(manifest["package"]), code, str(manifest.get("versionName", "")), debuggable)


def check_identity(path: Path, kind: ArtifactKind, package: str) -> ArtifactIdentity:
    """Reads an artifact. Raises `ApiError` 403 when it can't be read or is another package's."""
    identity = read_identity(path, kind)
    if identity.package != package:
        message = f"The package name of the {kind} is {identity.package}, but it was uploaded for {package}."
        raise ApiError(403, message, "apkInvalidPackageName")
    return identity


SIGNATURE_LIMIT = 16 * 1024 * 1024  # bytes of certificates and signatures that are looked at
UNSIGNED: dict[ArtifactKind, str] = {
    "bundle": "The Android App Bundle was not signed. Please sign the bundle using jarsigner.",
    "apk": "APK signature is invalid or does not exist. Error from apksigner: ERROR: JAR_SIG_NO_MANIFEST: Missing "
    "META-INF/MANIFEST.MF",
}
DEBUGGABLE = "APK is marked as debuggable."
DEBUG_SIGNED = (
    "You uploaded an APK or Android App Bundle that was signed in debug mode. You need to sign your APK or Android App "
    "Bundle in release mode."
)
_BLOCK_OF_JAR = re.compile(r"META-INF/[^/]+\.(RSA|DSA|EC)", re.IGNORECASE)
_MAGIC = b"APK Sig Block 42"
_DEBUG_KEY = b"Android Debug"  # the common name that every Android SDK gives its debug certificate


def check_build(path: Path, kind: ArtifactKind, identity: ArtifactIdentity) -> None:
    """Refuses (403) what is a debug build, was signed as one, or was not signed at all."""
    try:
        signature = _signature(path, kind)
    except MALFORMED:
        signature = b""
    if not signature:
        raise ApiError(403, UNSIGNED[kind])
    if identity.debuggable:
        raise ApiError(403, DEBUGGABLE)
    if _DEBUG_KEY in signature:
        raise ApiError(403, DEBUG_SIGNED)


def _signature(path: Path, kind: ArtifactKind) -> bytes:
    """Every signature with its certificates, as bytes to be searched; empty without one."""
    with zipfile.ZipFile(path) as archive:
        blocks = [one for one in archive.infolist() if _BLOCK_OF_JAR.fullmatch(one.filename)]
        found = b"".join(archive.read(one) for one in blocks if one.file_size <= SIGNATURE_LIMIT)
        return found + _signing_block(path, archive.start_dir) if kind == "apk" else found


def _signing_block(path: Path, directory: int) -> bytes:
    """The APK Signing Block, which ends where the zip's directory begins (source.android.com, APK Signature Scheme)."""
    with path.open("rb") as file:
        file.seek(max(0, directory - 24))
        size, magic = struct.unpack("<Q16s", file.read(24))
        if magic != _MAGIC or not 24 <= size <= min(directory - 8, SIGNATURE_LIMIT):
            return b""
        file.seek(directory - size - 8)
        return file.read(size + 8)
