"""Reads what an APK or an Android App Bundle is: package, version, who signed it, what it asks for,
its native code.

Only the zip's directory, the manifest, the signatures and the heads of native libraries are read.
Whatever is wrong with the file, the result is one InputError with a sentence for people; no byte of
it is trusted.

A manifest has one of two encodings. In both of them only the root and its children are decoded, and
only the attributes in _ATTRIBUTES. In an APK it is Android's binary XML, a chunk of chunks: a
string pool, a table that gives the first strings resource ids, then the XML events (ResourceTypes.h
of the Android platform: ResStringPool_header, ResXMLTree_attrExt, ResXMLTree_attribute, Res_value).
In a bundle it is aapt2's protobuf XML (Resources.proto: XmlNode, XmlElement, XmlAttribute, Item,
Primitive; the wire format is on protobuf.dev, "Encoding").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO, Literal

from uploader.errors import InputError, Problem
from uploader.files.android.archive import (
    JAR_SIGNATURE,
    Archive,
    MalformedFile,
    input_errors,
)
from uploader.files.android.protobuf import Field, ProtoReader
from uploader.files.android.resource_values import (
    DYNAMIC_REFERENCE,
    ITEM_PRIMITIVE,
    ITEM_REFERENCE,
    ITEM_TEXT,
    REFERENCE,
    STRING,
)
from uploader.files.android.string_pool import decode_utf8, utf8_length, utf16_length

if TYPE_CHECKING:
    from uploader.files.android.signatures import SigningCertificate

Kind = Literal["bundle", "apk"]

BUNDLE_CONFIG = "BundleConfig.pb"
_BUNDLE_MANIFEST = "base/manifest/AndroidManifest.xml"
_APK_MANIFEST = "AndroidManifest.xml"
_LIBRARY = re.compile(
    r"(?:\w{1,100}/)?lib/(armeabi|armeabi-v7a|arm64-v8a|x86|x86_64|riscv64)/([^/]{1,200}\.so)"
)
_PERMISSIONS = ("uses-permission", "uses-permission-sdk-23")
_FEATURE = "uses-feature"
_CARRIED = re.compile(
    r"BUNDLE-METADATA/com\.android\.tools\.build\.(obfuscation/proguard\.map|debugsymbols/.+[^/])",
    re.DOTALL,
)
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_MAX_TEXT = 256  # characters of a name or a version that are read; real ones have fewer
_SUFFIXES: dict[str, Kind] = {
    ".aab": "bundle",
    ".apk": "apk",
}
_NAMES: dict[Kind, str] = {
    "bundle": "an Android App Bundle (.aab)",
    "apk": "an APK",
}

# Attributes are known by their resource ids, as in Android and bundletool, because shrinkers blank
# the names. Only `package` has no resource id.
_ATTRIBUTES: Mapping[int | str, str] = {
    0x01010003: "name",
    0x0101000F: "debuggable",
    0x0101020C: "minSdkVersion",
    0x0101021B: "versionCode",
    0x0101021C: "versionName",
    0x01010270: "targetSdkVersion",
    0x01010272: "testOnly",
    0x0101028E: "required",
    0x01010576: "versionCodeMajor",
    "package": "package",
}
Attributes = Mapping[str, str]
"""Values by the names in _ATTRIBUTES. Numbers are in decimal. A value from the resource table is
`@0x7f…` and is not looked up there.
"""
Element = tuple[str, Attributes]


@dataclass(frozen=True)
class NativeCode:
    """The ABIs that there is code for, and the paths of the 64-bit libraries that do not fit pages
    of 16 KB.

    Libraries in `under_aligned` have segments that are aligned to less. Libraries in `misplaced`
    lie uncompressed in an APK at an offset where no such page begins. `packed_under_aligned` means
    that a bundle aligns its libraries to pages of 4 KB in the APKs made from it.
    """

    abis: tuple[str, ...] = ()
    under_aligned: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    packed_under_aligned: bool = False


@dataclass(frozen=True)
class Manifest:
    """What an APK or a bundle says of itself. `version_code` is the number by which Play
    distinguishes artifacts (64 bits).

    `version_name` is "" when the manifest has none or takes it from a resource. `kind` is what the
    file is by its content. `debuggable` marks a debug build, `test_only` one that Android Studio
    made only to run it. The SDKs are API levels, None for what is not a number. `features` are
    those that a device must have, `optional_features` those that it need not have. `signers` is
    empty for a file without a signature. `carries` has the files for Play's crash reports that a
    bundle brings in its BUNDLE-METADATA: `mapping`, `symbols`.
    """

    package: str
    version_code: int
    version_name: str = ""
    kind: Kind = "bundle"
    debuggable: bool = False
    test_only: bool = False
    min_sdk: int | None = None
    target_sdk: int | None = None
    permissions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    optional_features: tuple[str, ...] = ()
    signers: tuple[SigningCertificate, ...] = ()
    native: NativeCode = NativeCode()
    carries: frozenset[str] = frozenset()

    @property
    def version(self) -> str:
        """The version's name and code, such as `1.4.2 (42)`."""
        if not self.version_name:
            return str(self.version_code)
        return f"{self.version_name} ({self.version_code})"


def read_manifest(file: BinaryIO, name: str) -> Manifest:
    """Read the manifest of an open file, which messages call `name`. Raises InputError (problem
    `files`).
    """
    with input_errors(name):
        manifest = _read(file)
    suffix = PurePath(name).suffix.lower()
    claimed_kind = _SUFFIXES.get(suffix)
    if claimed_kind is not None and claimed_kind != manifest.kind:
        claimed = _NAMES[claimed_kind]
        actual = _NAMES[manifest.kind]
        what = f"{name} is named like {claimed} but is {actual}."
        raise InputError(
            Problem(
                "files",
                f"{what} Rename it, or point `files` at the other build output.",
            )
        )
    return manifest


def _read(file: BinaryIO) -> Manifest:
    """Read the manifest, the signers and the native libraries. Raises MalformedFile."""
    # Only a run with an artifact needs it, and it loads much.
    from uploader.files.android.signatures import signers

    archive = Archive(file, _is_wanted)
    is_bundle = BUNDLE_CONFIG in archive.members
    elements = _read_elements(archive, bundle=is_bundle)
    if not elements or elements[0][0] != "manifest":
        raise MalformedFile("has an AndroidManifest.xml whose root is not <manifest>.")
    _, root = elements[0]
    package = root.get("package", "")
    if len(package) >= _MAX_TEXT or not _PACKAGE.fullmatch(package):
        raise MalformedFile("has a manifest without a valid package name.")
    version_name = root.get("versionName", "")
    if version_name.startswith("@0x"):
        version_name = ""

    # Of several elements of one name the last one counts.
    children = dict(elements[1:])
    no_attributes: Attributes = {}
    application = children.get("application", no_attributes)
    sdk = children.get("uses-sdk", no_attributes)
    min_sdk = sdk.get("minSdkVersion", "1")
    target_sdk = sdk.get("targetSdkVersion", min_sdk)
    features = _read_features(elements)
    kind: Kind = "apk"
    carries: frozenset[str] = frozenset()
    if is_bundle:
        kind = "bundle"
        carries = _bundled_crash_files(archive)
    return Manifest(
        package,
        _version_code(root),
        version_name,
        kind,
        debuggable=_flag(application, "debuggable"),
        test_only=_flag(application, "testOnly"),
        min_sdk=_decimal(min_sdk),
        target_sdk=_decimal(target_sdk),
        permissions=_read_permissions(elements),
        features=tuple(name for name, required in features.items() if required),
        optional_features=tuple(
            name for name, required in features.items() if not required
        ),
        signers=signers(archive, apk=not is_bundle),
        native=native_code(archive, apk=not is_bundle),
        carries=carries,
    )


def _read_elements(archive: Archive, *, bundle: bool) -> list[Element]:
    """Read the root of the manifest and its children. Raises MalformedFile, also if there is no
    manifest.
    """
    if bundle:
        if _BUNDLE_MANIFEST not in archive.members:
            raise MalformedFile(
                f"is a bundle without {_BUNDLE_MANIFEST}: it has no base module."
            )
        return list(proto_elements(archive.read(_BUNDLE_MANIFEST)))
    if _APK_MANIFEST in archive.members:
        return list(binary_elements(archive.read(_APK_MANIFEST)))
    if _BUNDLE_MANIFEST in archive.members:
        raise MalformedFile(
            f"has a bundle's manifest but no {BUNDLE_CONFIG}.",
            "Build it with bundletool or Gradle.",
        )
    raise MalformedFile(
        "is a zip, but neither an APK nor an Android App Bundle.",
        "Name the artifact itself, not an archive that contains it (`.apks`, the download of a "
        "CI job).",
    )


def _read_permissions(elements: Sequence[Element]) -> tuple[str, ...]:
    """Return the permissions that the app asks for, each once, in their order."""
    permissions = [
        attributes.get("name", "")
        for name, attributes in elements
        if name in _PERMISSIONS
    ]
    return tuple(dict.fromkeys(permissions))


def _read_features(elements: Sequence[Element]) -> dict[str, bool]:
    """Return the features that the app uses, and whether a device must have them."""
    features: dict[str, bool] = {}
    for name, attributes in elements:
        if name == _FEATURE:
            feature = attributes.get("name", "")
            features[feature] = _flag(attributes, "required", "true")
    return features


def _bundled_crash_files(archive: Archive) -> frozenset[str]:
    """Return which files the Android Gradle plugin packed into a bundle for Play to decode crashes
    with: `mapping`, `symbols`.
    """
    kinds = set()
    for name in archive.members:
        match = _CARRIED.fullmatch(name)
        if match is None:
            continue
        if match[1].startswith("obfuscation"):
            kinds.add("mapping")
        else:
            kinds.add("symbols")
    return frozenset(kinds)


def _is_wanted(name: str) -> bool:
    """Return whether a member of the zip is read."""
    if name in (BUNDLE_CONFIG, _BUNDLE_MANIFEST, _APK_MANIFEST):
        return True
    patterns = (_LIBRARY, _CARRIED, JAR_SIGNATURE)
    return any(pattern.fullmatch(name) for pattern in patterns)


def _version_code(root: Attributes) -> int:
    """Return the version code (64 bits), 0 if there is none. Raises MalformedFile."""
    # Test builds have none. Android then counts 0, and only internal app sharing takes such an
    # artifact.
    if root.get("versionCode", "") == "":
        return 0
    high = _number(root, "versionCodeMajor")
    low = _number(root, "versionCode")
    return high << 32 | low


def _number(attributes: Attributes, name: str) -> int:
    """Return a 32-bit part of the version code, 0 when it is absent. Raises MalformedFile when it
    can't be known.
    """
    value = attributes.get(name, "0")
    if value.startswith("@0x"):
        raise MalformedFile(
            f"takes {name} from a resource ({value}).",
            "Write the number into the manifest.",
        )
    number = _decimal(value)
    if number is None:
        raise MalformedFile(f"has a {name} that is not a number.")
    if number > 0xFFFFFFFF:
        raise MalformedFile(f"has a {name} beyond 32 bits.")
    return number


def _decimal(value: str) -> int | None:
    """Return the number, or None for the letter of a preview's API level and for a value from a
    resource.
    """
    if not value.isascii() or not value.isdecimal():
        return None
    if len(value) > 10:
        return None
    return int(value)


def _flag(attributes: Attributes, name: str, default: str = "false") -> bool:
    """Return whether a boolean is set. One from a resource counts as not set."""
    value = attributes.get(name, default)
    if value == "true":
        return True
    return bool(_decimal(value))


# Native code: System V ABI, "Object Files" and "Program Header" (ELF-64); config.proto of
# bundletool.
PAGE = 16384  # bytes
_64_BIT = frozenset({"arm64-v8a", "x86_64", "riscv64"})
# bytes: linkers write the program headers right behind the header, some twenty of 56 bytes at most
_HEAD = 4096
_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_LOAD = 1
_OPTIMIZATIONS = 2
_UNCOMPRESS_NATIVE_LIBRARIES = 2
_ENABLED = 1
_ALIGNMENT = 2
_ALIGNMENT_4K = 1


def native_code(archive: Archive, *, apk: bool) -> NativeCode:
    """Read the first bytes of the native libraries. Raises MalformedFile."""
    abis: dict[str, str] = {}  # by the path of the library
    for name in archive.members:
        match = _LIBRARY.fullmatch(name)
        if match:
            abis[name] = match[1]

    under_aligned: list[str] = []
    misplaced: list[str] = []
    for name, abi in abis.items():
        if abi not in _64_BIT:
            continue
        head = b"".join(archive.pieces(name, _HEAD))
        alignment = segment_alignment(head)
        if alignment is not None and alignment < PAGE:
            under_aligned.append(name)
        # Android maps a library of an APK from where it lies, unless it is compressed.
        is_compressed = archive.members[name].compress_type != 0
        if not apk or is_compressed:
            continue
        if archive.offset(name) % PAGE:
            misplaced.append(name)

    packed_under_aligned = False
    if abis and not apk:
        config = archive.read(BUNDLE_CONFIG)
        packed_under_aligned = _packs_under_aligned(config)
    sorted_abis = sorted(set(abis.values()))
    return NativeCode(
        tuple(sorted_abis),
        tuple(under_aligned),
        tuple(misplaced),
        packed_under_aligned,
    )


def _packs_under_aligned(config: bytes) -> bool:
    """Return whether a bundle's configuration aligns uncompressed libraries to pages of 4 KB.
    Raises MalformedFile.
    """
    proto = ProtoReader(_MAX_FIELDS)
    try:
        message = proto.message(memoryview(config))
        optimizations = proto.message(message[_OPTIMIZATIONS].data)
        uncompressed = optimizations[_UNCOMPRESS_NATIVE_LIBRARIES]
        settings = proto.message(uncompressed.data)
    except (LookupError, ValueError):
        raise MalformedFile("has a BundleConfig.pb that is not a protobuf.") from None
    if not settings[_ENABLED].number:
        return False
    return settings[_ALIGNMENT].number == _ALIGNMENT_4K


def segment_alignment(head: bytes) -> int | None:
    """Return the smallest alignment of the LOAD segments of a 64-bit library, in bytes, or None
    when the head does not show it.
    """
    if len(head) < 64:
        return None
    if not head.startswith(_ELF64):
        return None
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<2H", head, 54)
    if size < 56:
        return None
    end = table + size * count
    if end > len(head):
        return None
    alignments: list[int] = []
    for offset in range(table, end, size):
        (segment_type,) = struct.unpack_from("<I", head, offset)
        if segment_type == _LOAD:
            (alignment,) = struct.unpack_from("<Q", head, offset + 48)
            alignments.append(alignment)
    return min(alignments, default=None)


# Android's binary XML
_XML = 0x0003
_POOL = 0x0001
_IDS = 0x0180
_START_ELEMENT = 0x0102
_END_ELEMENT = 0x0103
_NOTHING = 0xFFFFFFFF
_UTF8 = 1 << 8
# strings that are decoded: several times the elements and permissions of any app
_MAX_STRINGS = 2000
_INTEGERS = range(0x10, 0x20)  # types of a value
# namespace, name, offset of the attributes, size of one, how many
_ELEMENT_HEADER = struct.Struct("<2I3H")
# namespace, name, raw string, then Res_value: size, zero, type, data
_ATTRIBUTE = struct.Struct("<3IHBBI")


def binary_elements(data: bytes) -> Iterator[Element]:
    """Yield the root and then its children. Raises MalformedFile for anything but Android's binary
    XML.
    """
    pool: StringPool | None = None
    ids: tuple[int, ...] = ()
    depth = 0
    try:
        for kind, header, chunk in _binary_chunks(data):
            if kind == _POOL and pool is None:
                pool = StringPool(chunk)
            elif kind == _IDS:
                count = (len(chunk) - header) // 4
                ids = struct.unpack_from(f"<{count}I", chunk, header)
            elif kind == _END_ELEMENT:
                depth -= 1
            elif kind == _START_ELEMENT and pool is not None:
                depth += 1
                if depth <= 2:
                    _, name, _, _, _ = _ELEMENT_HEADER.unpack_from(chunk, header)
                    element_name = pool[name]
                    attributes = _binary_attributes(chunk, header, pool, ids)
                    yield element_name, dict(attributes)
    except (struct.error, IndexError, UnicodeError):
        raise MalformedFile(
            "has a damaged AndroidManifest.xml: a length or an offset in it is impossible."
        ) from None


def _binary_chunks(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield each chunk of a binary XML, after its kind and the length of its header in bytes.

    Raises MalformedFile for another format, struct.error or IndexError for a damaged one.
    """
    kind, offset, _ = struct.unpack_from("<2HI", data)
    if kind != _XML or offset < 8:
        what = "has an AndroidManifest.xml that is not in Android's binary form."
        raise MalformedFile(what, "Build it with aapt2.")
    while offset + 8 <= len(data):
        kind, header, length = struct.unpack_from("<2HI", data, offset)
        if not 8 <= header <= length:
            raise IndexError(length)
        end = offset + length
        if end > len(data):
            raise IndexError(length)
        yield kind, header, data[offset:end]
        offset = end


def _binary_attributes(
    chunk: bytes,
    header: int,
    pool: StringPool,
    ids: tuple[int, ...],
) -> Iterator[tuple[str, str]]:
    """Read those attributes of an element that are in _ATTRIBUTES, with their values."""
    _, _, start, size, count = _ELEMENT_HEADER.unpack_from(chunk, header)
    if size < _ATTRIBUTE.size:
        raise IndexError(size)
    first = header + start
    end = first + size * count
    for offset in range(first, end, size):
        fields = _ATTRIBUTE.unpack_from(chunk, offset)
        namespace, name, raw, _, _, kind, content = fields
        identifier: int | str
        if name < len(ids):
            identifier = ids[name]
        elif namespace == _NOTHING:
            identifier = pool[name]
        else:
            continue
        attribute = _ATTRIBUTES.get(identifier)
        if not attribute:
            continue
        if kind in (REFERENCE, DYNAMIC_REFERENCE):
            yield attribute, f"@0x{content:08x}"
        elif kind in _INTEGERS:
            yield attribute, str(content)
        elif kind == STRING:
            yield attribute, pool[content]
        elif raw != _NOTHING:
            yield attribute, pool[raw]


class StringPool(dict[int, str]):
    """The strings of a pool by their index. A string is decoded when it is asked for, and only its
    first `max_text` characters; no more than `max_strings` are decoded.
    """

    def __init__(
        self,
        chunk: bytes,
        max_text: int = _MAX_TEXT,
        max_strings: int = _MAX_STRINGS,
    ) -> None:
        super().__init__()
        self._chunk = chunk
        self._max_text = max_text
        self._max_strings = max_strings

    def __missing__(self, index: int) -> str:
        pool = self._chunk
        header, _, count, _, flags, start = struct.unpack_from("<H5I", pool, 2)
        if index >= count:
            raise IndexError(index)
        if len(self) > self._max_strings:
            raise IndexError(index)
        position = header + 4 * index
        (distance,) = struct.unpack_from("<I", pool, position)
        offset = start + distance
        is_utf8 = bool(flags & _UTF8)
        units = self._utf8_units(offset) if is_utf8 else self._utf16_units(offset)
        decoded = units.decode("utf-16-le", "replace")
        text = decoded[: self._max_text]
        self[index] = text
        return text

    def _utf8_units(self, offset: int) -> bytes:
        """Return a string of a UTF-8 pool in UTF-16, surrogates as they are."""
        pool = self._chunk
        # Its length in UTF-16 units comes first, and is not needed.
        _, offset = utf8_length(pool, offset)
        length, offset = utf8_length(pool, offset)
        max_bytes = 6 * self._max_text
        stop = offset + min(length, max_bytes)
        return decode_utf8(pool[offset:stop], is_whole=False)

    def _utf16_units(self, offset: int) -> bytes:
        """Return a string of a UTF-16 pool as it is."""
        length, offset = utf16_length(self._chunk, offset)
        units = min(length, 2 * self._max_text)
        stop = offset + 2 * units
        return self._chunk[offset:stop]


# aapt2's protobuf XML
_NODE_ELEMENT = 1
# fields of an element
_ELEMENT_NAME = 3
_ELEMENT_ATTRIBUTE = 4
_ELEMENT_CHILD = 5
# fields of an attribute
_NAMESPACE = 1
_NAME = 2
_TEXT = 3
_RESOURCE_ID = 5
_ITEM = 6
# fields of what is in an attribute's item
_REFERENCE_ID = 2
_STRING_VALUE = 1
# int_decimal_value, int_hexadecimal_value, boolean_value
_PRIMITIVE_INTEGERS = (6, 7, 8)
_MAX_FIELDS = 100_000  # fields that are read: many times those of any manifest


def proto_elements(data: bytes) -> Iterator[Element]:
    """Yield the root and then its children. Raises MalformedFile for anything but aapt2's protobuf
    XML.
    """
    proto = ProtoReader(_MAX_FIELDS)
    try:
        document = proto.message(memoryview(data))
        root = document[_NODE_ELEMENT].data
        yield _proto_element(root, proto)
        for field in proto.fields(root):
            if field.id == _ELEMENT_CHILD:
                node = proto.message(field.data)
                child = node[_NODE_ELEMENT].data
                yield _proto_element(child, proto)
    except (LookupError, ValueError):
        raise MalformedFile(
            f"has a {_BUNDLE_MANIFEST} that is not aapt2's protobuf XML."
        ) from None


def _proto_element(data: memoryview, proto: ProtoReader) -> Element:
    """Read the name of an element, and those of its attributes that are in _ATTRIBUTES."""
    name = ""
    attributes: dict[str, str] = {}
    for field in proto.fields(data):
        if field.id == _ELEMENT_NAME:
            name = _text(field)
        elif field.id == _ELEMENT_ATTRIBUTE:
            message = proto.message(field.data)
            attribute = _proto_attribute_name(message)
            if attribute:
                attributes[attribute] = _proto_value(message, proto)
    return name, attributes


def _proto_attribute_name(message: Mapping[int, Field]) -> str | None:
    """Return the name in _ATTRIBUTES, or None for any other attribute."""
    resource_id = message[_RESOURCE_ID].number
    if resource_id:
        return _ATTRIBUTES.get(resource_id)
    if message[_NAMESPACE].data:
        return None
    name = _text(message[_NAME])
    return _ATTRIBUTES.get(name)


def _proto_value(attribute: Mapping[int, Field], proto: ProtoReader) -> str:
    """Return the compiled value, or the text if there is none."""
    item = proto.message(attribute[_ITEM].data)
    if ITEM_REFERENCE in item:
        reference = proto.message(item[ITEM_REFERENCE].data)
        resource_id = reference[_REFERENCE_ID].number
        return f"@0x{resource_id:08x}"
    if ITEM_TEXT in item:
        string = proto.message(item[ITEM_TEXT].data)
        return _text(string[_STRING_VALUE])
    number = None
    for field in proto.fields(item[ITEM_PRIMITIVE].data):
        if field.id in _PRIMITIVE_INTEGERS:
            number = field.number
    if number is None:
        return _text(attribute[_TEXT])
    # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
    return str(number & 0xFFFFFFFF)


def _text(field: Field) -> str:
    # a character takes four bytes at most
    max_bytes = 4 * _MAX_TEXT
    encoded = bytes(field.data[:max_bytes])
    text = encoded.decode("utf-8", "replace")
    return text[:_MAX_TEXT]
