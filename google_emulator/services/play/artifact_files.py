"""What an uploaded APK or bundle says about itself: package, version, whether it is a debug build,
and who signed it.

The manifest of an APK is AOSP's binary XML (ResourceTypes.h), that of a bundle is XML in protocol
buffers (Resources.proto).
"""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from google_emulator.http.response import ApiError
from google_emulator.services.play.store import ArtifactKind

STRING_POOL, RESOURCE_MAP, START_ELEMENT = 0x0001, 0x0180, 0x0102
UTF8_FLAG = 1 << 8
# Other types below an integer are references, whose values are elsewhere, floats or dimensions.
TYPE_STRING, FIRST_INTEGER = 0x03, 0x10
ATTRIBUTES = {
    0x0101000F: "debuggable",
    0x0101021B: "versionCode",
    0x01010576: "versionCodeMajor",
    0x0101021C: "versionName",
}
NONE = 0xFFFFFFFF
# Fields of Resources.proto that lead from XmlNode to an attribute's value.
_ELEMENT, _ELEMENT_NAME, _ATTRIBUTE, _CHILD = 1, 3, 4, 5
_NAME, _VALUE, _COMPILED = 2, 3, 6
_ITEM_STRING, _ITEM_PRIMITIVE = 2, 7
_NUMBERS = (6, 7, 8)  # decimal, hexadecimal, boolean
# bytes that are read of a manifest, and of a file with signatures
MANIFEST_LIMIT = SIGNATURE_LIMIT = 16 * 1024 * 1024
_ENTRIES: dict[ArtifactKind, str] = {
    "apk": "AndroidManifest.xml",
    "bundle": "base/manifest/AndroidManifest.xml",
}
MALFORMED = (
    zipfile.BadZipFile,
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    struct.error,
    zlib.error,
    EOFError,
    RecursionError,
    # an unknown compression, an encrypted entry
    NotImplementedError,
    RuntimeError,
    # an entry outside of the file or a damaged one in bzip2, a damaged one in LZMA
    OSError,
    lzma.LZMAError,
)
UNREADABLE: dict[ArtifactKind, str] = {
    "bundle": "We have failed to run 'bundletool build-apks' on this Android App Bundle. Please "
    "ensure your bundle is valid by running 'bundletool build-apks' locally and try again.",
    "apk": "APK cannot be analyzed using aapt dump badging.",
}
Attributes: TypeAlias = Mapping[str, "str | int"]


@dataclass(frozen=True)
class ArtifactIdentity:
    """The package, version code and version name of an artifact, and whether it is a debug
    build.
    """

    package: str
    code: int
    name: str = ""
    debuggable: bool = False


def check_identity(path: Path, kind: ArtifactKind, package: str) -> ArtifactIdentity:
    """Return the identity of an artifact. Raises `ApiError` 403 if it can't be read or belongs to
    another package.
    """
    identity = read_identity(path, kind)
    if identity.package != package:
        message = (
            f"The package name of the {kind} is {identity.package}, but it was uploaded for "
            f"{package}."
        )
        raise ApiError(403, message, "apkInvalidPackageName")
    return identity


def read_identity(path: Path, kind: ArtifactKind) -> ArtifactIdentity:
    """Return the identity of an artifact. Raises `ApiError` 403 if it can't be read as an artifact
    of this kind.

    Google's words are quoted in Triple-T/gradle-play-publisher#900 and kiwix/kiwix-android#3296.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_ENTRIES[kind]) as file:
            data = file.read(MANIFEST_LIMIT)
        elements = list(
            _axml_elements(data) if kind == "apk" else _proto_elements(data)
        )
        root, manifest = elements[0]
        if root != "manifest":
            raise ValueError("the first element is not the manifest")
        application: Attributes = next(
            (attributes for name, attributes in elements if name == "application"), {}
        )
        code = (
            int(manifest["versionCode"])
            | int(manifest.get("versionCodeMajor", 0)) << 32
        )
        debuggable = application.get("debuggable", 0) not in (0, "false")
        return ArtifactIdentity(
            str(manifest["package"]),
            code,
            str(manifest.get("versionName", "")),
            debuggable,
        )
    except MALFORMED as error:
        raise ApiError(403, UNREADABLE[kind]) from error


def _axml_elements(data: bytes) -> Iterator[tuple[str, Attributes]]:
    """Yield the name and the attributes of each element, the root first. Raises one of
    `MALFORMED`.
    """
    strings: list[str] = []
    resources: tuple[int, ...] = ()
    at = struct.unpack_from("<HHI", data)[1]
    while at + 8 <= len(data):
        kind, header, size = struct.unpack_from("<HHI", data, at)
        if size < 8:
            raise ValueError("a chunk has no size")
        if kind == STRING_POOL:
            strings = _strings(data[at : at + size])
        elif kind == RESOURCE_MAP:
            resources = struct.unpack_from(
                f"<{(size - header) // 4}I", data, at + header
            )
        elif kind == START_ELEMENT:
            yield _axml_element(data[at : at + size], header, strings, resources)
        at += size


def _strings(chunk: bytes) -> list[str]:
    count, _, flags, first, _ = struct.unpack_from("<5I", chunk, 8)
    offsets = struct.unpack_from(f"<{count}I", chunk, 28)
    read = _utf8 if flags & UTF8_FLAG else _utf16
    return [read(chunk, first + offset) for offset in offsets]


def _utf8(chunk: bytes, at: int) -> str:
    at += 2 if chunk[at] & 0x80 else 1  # the length in characters, of no use here
    size, at = chunk[at], at + 1
    if size & 0x80:
        size, at = (size & 0x7F) << 8 | chunk[at], at + 1
    return chunk[at : at + size].decode("utf-8", "replace")


def _utf16(chunk: bytes, at: int) -> str:
    size, low = struct.unpack_from("<HH", chunk, at)
    at += 2
    if size & 0x8000:
        size, at = (size & 0x7FFF) << 16 | low, at + 2
    return chunk[at : at + size * 2].decode("utf-16-le", "replace")


def _axml_element(
    chunk: bytes, header: int, strings: list[str], resources: tuple[int, ...]
) -> tuple[str, Attributes]:
    _, name, first, size, count = struct.unpack_from("<IIHHH", chunk, header)
    found: dict[str, str | int] = {}
    for number in range(count):
        _, key, raw, _, _, kind, value = struct.unpack_from(
            "<IIIHBBI", chunk, header + first + number * size
        )
        label = ATTRIBUTES.get(resources[key]) if key < len(resources) else strings[key]
        if label and kind == TYPE_STRING:
            found[label] = strings[raw if raw != NONE else value]
        elif label and kind >= FIRST_INTEGER:
            found[label] = int(value)
    return strings[name], found


def _proto_elements(data: bytes) -> Iterator[tuple[str, Attributes]]:
    """Yield the name and the attributes of each element, the root first. Raises one of
    `MALFORMED`.
    """
    element = proto_fields(proto_fields(data).get(_ELEMENT, [b""])[0])
    attributes = [proto_fields(attribute) for attribute in element.get(_ATTRIBUTE, [])]
    yield (
        element.get(_ELEMENT_NAME, [b""])[-1].decode(),
        {
            attribute.get(_NAME, [b""])[-1].decode(): _proto_value(attribute)
            for attribute in attributes
        },
    )
    for child in element.get(_CHILD, []):
        yield from _proto_elements(child)


def _proto_value(attribute: Mapping[int, list[Any]]) -> str | int:
    """Return the value of an attribute: its text, or the string or whole number to which it was
    compiled.
    """
    text = attribute.get(_VALUE, [b""])[-1].decode()
    item = proto_fields(attribute.get(_COMPILED, [b""])[-1])
    if text or not item:
        return str(text)
    if _ITEM_STRING in item:
        return next(
            (
                value.decode()
                for (value,) in proto_fields(item[_ITEM_STRING][-1]).values()
            ),
            "",
        )
    numbers = proto_fields(item.get(_ITEM_PRIMITIVE, [b""])[-1])
    return next((int(numbers[key][-1]) for key in _NUMBERS if key in numbers), 0)


def proto_fields(data: bytes) -> dict[int, list[Any]]:
    """Return the values of a protocol-buffer message by field number: whole numbers, or bytes.
    Raises `ValueError` or `IndexError` if it is malformed.
    """
    at, found = 0, defaultdict[int, "list[Any]"](list)
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            found[number].append(value)
            continue
        size = {1: 8, 5: 4}.get(wire)
        if size is None:
            if wire != 2:
                raise ValueError("unknown wire type")
            size, at = _varint(data, at)
        if at + size > len(data):
            raise ValueError("a field is longer than its message")
        found[number].append(data[at : at + size])
        at += size
    return found


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


UNSIGNED: dict[ArtifactKind, str] = {
    "bundle": "The Android App Bundle was not signed. Please sign the bundle using jarsigner.",
    "apk": "APK signature is invalid or does not exist. Error from apksigner: ERROR: "
    "JAR_SIG_NO_MANIFEST: Missing META-INF/MANIFEST.MF",
}
DEBUGGABLE = "APK is marked as debuggable."
DEBUG_SIGNED = (
    "You uploaded an APK or Android App Bundle that was signed in debug mode. You need to sign "
    "your APK or Android App Bundle in release mode."
)
_BLOCK_OF_JAR = re.compile(r"META-INF/[^/]+\.(RSA|DSA|EC)", re.IGNORECASE)
_MAGIC = b"APK Sig Block 42"
_DEBUG_KEY = b"Android Debug"  # the common name that every Android SDK gives its debug certificate


def check_build(path: Path, kind: ArtifactKind, identity: ArtifactIdentity) -> None:
    """Raise `ApiError` 403 for an artifact that is not signed, is a debug build, or is signed with
    a debug key.
    """
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
    """Return the bytes of all signatures with their certificates; empty if there are none."""
    with zipfile.ZipFile(path) as archive:
        blocks = [
            entry
            for entry in archive.infolist()
            if _BLOCK_OF_JAR.fullmatch(entry.filename)
        ]
        found = b"".join(
            archive.read(entry)
            for entry in blocks
            if entry.file_size <= SIGNATURE_LIMIT
        )
        return (
            found + _signing_block(path, archive.start_dir) if kind == "apk" else found
        )


def _signing_block(path: Path, directory: int) -> bytes:
    """Return the APK Signing Block, which ends at the zip's directory; empty if there is none
    (source.android.com, APK Signature Scheme).
    """
    with path.open("rb") as file:
        file.seek(max(0, directory - 24))
        size, magic = struct.unpack("<Q16s", file.read(24))
        if magic != _MAGIC or not 24 <= size <= min(directory - 8, SIGNATURE_LIMIT):
            return b""
        file.seek(directory - size - 8)
        return file.read(size + 8)
