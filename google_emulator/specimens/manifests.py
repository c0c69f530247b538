"""Manifests of specimens: XML in protocol buffers for a bundle (aapt2's Resources.proto), binary
XML for an APK.

The binary XML follows the description in the platform's ResourceTypes.h.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from google_emulator.specimens.signature_writer import RELEASE

PRESENT_TARGET = 36  # the API level that Google Play asks of new apps and updates


@dataclasses.dataclass(frozen=True)
class Build:
    """A build; by default a release build. `features` say whether each is required, `libraries` are
    files by path.

    `signer` is the common name of the certificate.
    """

    debuggable: bool = False
    test_only: bool = False
    target_sdk: int = PRESENT_TARGET
    permissions: tuple[str, ...] = ()
    features: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    libraries: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    signer: str = RELEASE
    min_sdk: int = 24


RELEASE_BUILD = Build()


ANDROID = "http://schemas.android.com/apk/res/android"
RESOURCE_IDS: Mapping[str, int] = {
    "name": 0x01010003,
    "hasCode": 0x0101000C,
    "debuggable": 0x0101000F,
    "minSdkVersion": 0x0101020C,
    "versionCode": 0x0101021B,
    "versionName": 0x0101021C,
    "targetSdkVersion": 0x01010270,
    "testOnly": 0x01010272,
    "required": 0x0101028E,
    "versionCodeMajor": 0x01010576,
}
MAX_VERSION_CODE = 2**64 - 1
LOW_32 = 0xFFFFFFFF  # a long version code is versionCodeMajor * 2**32 + versionCode

Value: TypeAlias = "int | str | bool"
# The name of an element, and its attributes of the android namespace.
Element: TypeAlias = tuple[str, Mapping[str, Value]]


def _elements(version_code: int, version_name: str, build: Build) -> list[Element]:
    """Return the elements of a manifest, the root first. The root has a versionCodeMajor only if
    the code needs it. Raises `ValueError` for a code out of range.
    """
    if not 0 <= version_code <= MAX_VERSION_CODE:
        raise ValueError(
            f"a version code is between 0 and {MAX_VERSION_CODE}, not {version_code}"
        )
    low, high = version_code & LOW_32, version_code >> 32
    features: list[Element] = [
        ("uses-feature", {"name": name, "required": on})
        for name, on in build.features.items()
    ]
    flags = {"debuggable": build.debuggable, "testOnly": build.test_only}
    return [
        (
            "manifest",
            {
                "versionCode": low,
                "versionName": version_name,
                **({"versionCodeMajor": high} if high else {}),
            },
        ),
        (
            "uses-sdk",
            {
                "minSdkVersion": min(build.min_sdk, build.target_sdk),
                "targetSdkVersion": build.target_sdk,
            },
        ),
        *(("uses-permission", {"name": name}) for name in build.permissions),
        *features,
        (
            "application",
            {"hasCode": False, **{name: True for name, on in flags.items() if on}},
        ),
    ]


def manifest_proto(
    package: str, version_code: int, version_name: str, build: Build = RELEASE_BUILD
) -> bytes:
    """Return a manifest as aapt2 writes it into a bundle. Raises `ValueError` for a version code
    out of range.
    """
    namespace = field(1, field(1, b"android") + field(2, ANDROID.encode()))
    own = field(4, field(2, b"package") + field(3, package.encode()))
    root, *children = (
        _proto_element(*element)
        for element in _elements(version_code, version_name, build)
    )
    return field(
        1,
        namespace
        + root
        + own
        + b"".join(field(5, field(1, child)) for child in children),
    )


def _proto_element(name: str, attributes: Mapping[str, Value]) -> bytes:
    written = field(3, name.encode())
    for key, value in attributes.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        item = (
            None
            if isinstance(value, str)
            else field(7, number(8 if isinstance(value, bool) else 6, int(value)))
        )
        written += field(4, attribute(key, text, RESOURCE_IDS[key], item))
    return written


def field(key: int, content: bytes) -> bytes:
    """Return a field that holds bytes: a string or a message."""
    return varint(key << 3 | 2) + varint(len(content)) + content


def number(key: int, value: int) -> bytes:
    """Return a field that holds a whole number of 0 or more."""
    return varint(key << 3) + varint(value)


def varint(value: int) -> bytes:
    """Return a whole number in base 128, the least significant group first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def attribute(name: str, value: str, resource_id: int, item: bytes | None) -> bytes:
    """Return an XmlAttribute of the android namespace; `item` is its compiled form, if it has
    one.
    """
    compiled = b"" if item is None else field(6, item)
    text = field(2, name.encode()) + field(3, value.encode())
    return field(1, ANDROID.encode()) + text + number(5, resource_id) + compiled


NO_STRING = 0xFFFFFFFF  # no string, no comment
STRING_POOL, XML, RESOURCE_MAP = 0x0001, 0x0003, 0x0180
NAMESPACE_START, NAMESPACE_END, ELEMENT_START, ELEMENT_END = (
    0x0100,
    0x0101,
    0x0102,
    0x0103,
)
_STRING, _INTEGER, _BOOLEAN = 0x03, 0x10, 0x12
_UTF8_FLAG = 1 << 8


def manifest_axml(
    package: str,
    version_code: int,
    version_name: str,
    build: Build = RELEASE_BUILD,
    *,
    utf16: bool = False,
) -> bytes:
    """Return a manifest as aapt2 writes it into an APK, with strings in UTF-8, or in UTF-16 as
    older tools do. Raises `ValueError` for a version code out of range.
    """
    elements = _elements(version_code, version_name, build)
    ids = {
        name: RESOURCE_IDS[name] for _, attributes in elements for name in attributes
    }
    values = [
        value
        for _, attributes in elements
        for value in attributes.values()
        if isinstance(value, str)
    ]
    # The names of attributes come first, in the order of the resource map. Equal texts share one
    # string.
    strings = list(
        dict.fromkeys(
            [*ids, "android", ANDROID, "package", package, *dict(elements), *values]
        )
    )
    at = {text: index for index, text in enumerate(strings)}
    own = struct.pack(
        "<3IHBBI", NO_STRING, at["package"], at[package], 8, 0, _STRING, at[package]
    )
    scope = struct.pack("<2I", at["android"], at[ANDROID])
    (_, root), *children = elements
    body = b"".join(
        _axml_element(at, name, _attributes(at, attributes))
        for name, attributes in children
    )
    content = (
        string_pool(strings, utf16=utf16)
        + chunk(RESOURCE_MAP, b"", struct.pack(f"<{len(ids)}I", *ids.values()))
        + event(NAMESPACE_START, scope)
        + _axml_element(at, "manifest", [*_attributes(at, root), own], body)
        + event(NAMESPACE_END, scope)
    )
    return chunk(XML, b"", content)


def _attributes(at: Mapping[str, int], attributes: Mapping[str, Value]) -> list[bytes]:
    """Return the attributes of an element; each has a namespace, name, raw string, type and
    data.
    """
    written = []
    for name, value in attributes.items():
        raw, kind, data = NO_STRING, _INTEGER, value
        if isinstance(value, str):
            raw, kind, data = at[value], _STRING, at[value]
        elif isinstance(value, bool):
            kind, data = _BOOLEAN, LOW_32 if value else 0
        written.append(
            struct.pack("<3IHBBI", at[ANDROID], at[name], raw, 8, 0, kind, data)
        )
    return written


def _axml_element(
    at: Mapping[str, int], name: str, attributes: Sequence[bytes], body: bytes = b""
) -> bytes:
    start = struct.pack(
        "<2I6H", NO_STRING, at[name], 20, 20, len(attributes), 0, 0, 0
    ) + b"".join(attributes)
    return (
        event(ELEMENT_START, start)
        + body
        + event(ELEMENT_END, struct.pack("<2I", NO_STRING, at[name]))
    )


def chunk(kind: int, header: bytes, body: bytes) -> bytes:
    """Return a chunk of binary XML or of a resource table, with its header."""
    return (
        struct.pack("<2HI", kind, 8 + len(header), 8 + len(header) + len(body))
        + header
        + body
    )


def event(kind: int, body: bytes) -> bytes:
    """Return a chunk that is a node of binary XML."""
    return chunk(kind, struct.pack("<2I", 1, NO_STRING), body)  # line 1, no comment


def string_pool(strings: Sequence[str], *, utf16: bool = False) -> bytes:
    """Return the chunk that holds the strings of a document, in UTF-8 or UTF-16."""
    encoded = [_utf16(text) if utf16 else _utf8(text) for text in strings]
    offsets = [sum(map(len, encoded[:index])) for index in range(len(encoded))]
    body = b"".join(encoded)
    body += bytes(-len(body) % 4)
    start = 28 + 4 * len(strings)
    header = struct.pack("<5I", len(strings), 0, 0 if utf16 else _UTF8_FLAG, start, 0)
    return chunk(STRING_POOL, header, struct.pack(f"<{len(offsets)}I", *offsets) + body)


def _utf16(text: str) -> bytes:
    data = text.encode("utf-16-le")
    units = len(data) // 2
    length = (
        struct.pack("<H", units)
        if units < 0x8000
        else struct.pack("<2H", units >> 16 | 0x8000, units & 0xFFFF)
    )
    return length + data + b"\0\0"


def _utf8(text: str) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    # Characters beyond the BMP are written as their two surrogates, three bytes each, as the
    # platform does.
    halves = "".join(chr(unit) for (unit,) in struct.iter_unpack(">H", units))
    data = halves.encode("utf-8", "surrogatepass")
    lengths = (len(halves), len(data))
    return (
        b"".join(bytes([n] if n < 0x80 else [n >> 8 | 0x80, n & 0xFF]) for n in lengths)
        + data
        + b"\0"
    )
