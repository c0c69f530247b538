"""Says what an APK or an Android App Bundle is: package, version, who signed it, what it asks for,
its native code.

Read are the zip's directory, the manifest, the signatures and the heads of native libraries.
Whatever is wrong with the file, the result is one InputError with a sentence for people; no byte of
it is trusted.

A manifest has two encodings, and of both only the root and its children are decoded, and no other
attributes than those in _ATTRIBUTES. In an APK it is Android's binary XML, a chunk of chunks: a
string pool, a table that gives the first strings resource ids, then the XML events (ResourceTypes.h
of the Android platform: ResStringPool_header, ResXMLTree_attrExt, ResXMLTree_attribute, Res_value).
In a bundle it is aapt2's protobuf XML (Resources.proto: XmlNode, XmlElement, XmlAttribute, Item,
Primitive; the wire format is on protobuf.dev, "Encoding").
"""

from __future__ import annotations

import codecs
import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO, Literal, NamedTuple

from uploader.errors import InputError, Problem
from uploader.files.android.archive import Archive, MalformedFile, input_errors
from uploader.files.android.signatures import JAR_SIGNATURE, SigningCertificate, signers

Kind = Literal["bundle", "apk"]

BUNDLE_CONFIG = "BundleConfig.pb"
_BUNDLE_MANIFEST = "base/manifest/AndroidManifest.xml"
_APK_MANIFEST = "AndroidManifest.xml"
_LIBRARY = re.compile(
    r"(?:\w{1,100}/)?lib/(armeabi|armeabi-v7a|arm64-v8a|x86|x86_64|riscv64)/([^/]{1,200}\.so)"
)
_PERMISSIONS, _FEATURE = ("uses-permission", "uses-permission-sdk-23"), "uses-feature"
_CARRIED = re.compile(
    r"BUNDLE-METADATA/com\.android\.tools\.build\.(obfuscation/proguard\.map|debugsymbols/.+[^/])",
    re.DOTALL,
)
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_MAX_TEXT = 256  # characters of a name or a version that are read: no honest one has so many
_SUFFIXES: dict[str, Kind] = {".aab": "bundle", ".apk": "apk"}
_NAMES: dict[Kind, str] = {"bundle": "an Android App Bundle (.aab)", "apk": "an APK"}

# Like Android and bundletool, by the resource id: shrinkers blank the names. Only one attribute has
# none.
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
"""Values by the names in _ATTRIBUTES: numbers in decimal; one from the resource table is `@0x7f…`,
and not guessed.
"""
Element = tuple[str, Attributes]


@dataclass(frozen=True)
class NativeCode:
    """The ABIs that there is code for, and the 64-bit libraries that do not fit pages of 16 KB, by
    their paths.

    `under_aligned` have segments that are aligned to less; `misplaced` lie uncompressed in an APK
    where no such page begins. `packed_under_aligned` says that a bundle aligns its libraries to 4
    KB pages in the APKs made from it.
    """

    abis: tuple[str, ...] = ()
    under_aligned: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    packed_under_aligned: bool = False


@dataclass(frozen=True)
class Manifest:
    """What an APK or a bundle says of itself. `version_code` is the number that Play keys artifacts
    by (64 bits).

    `version_name` is "" when the manifest has none, or takes it from a resource. `kind` is what the
    file is, by its content. `debuggable` marks a debug build, `test_only` one that Android Studio
    made to be run at once. The SDKs are API levels, None for what is not a number. `features` are
    those that a device must have, `optional_features` those that it need not. `signers` is empty
    for a file that nobody signed. `carries` says which files for Play's crash reports a bundle
    brings itself, in its BUNDLE-METADATA: `mapping`, `symbols`.
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
        """The version's name and code: `1.4.2 (42)`."""
        return (
            f"{self.version_name} ({self.version_code})"
            if self.version_name
            else str(self.version_code)
        )


def read_manifest(file: BinaryIO, name: str) -> Manifest:
    """The manifest of an open file, called `name` in messages. Raises InputError (problem
    `files`).
    """
    with input_errors(name):
        manifest = _read(file)
    claimed = _SUFFIXES.get(PurePath(name).suffix.lower())
    if claimed not in (None, manifest.kind):
        what = f"{name} is named like {_NAMES[claimed]} but is {_NAMES[manifest.kind]}."
        raise InputError(
            Problem("files", f"{what} Rename it, or point `files` at the other build output.")
        )
    return manifest


def _read(file: BinaryIO) -> Manifest:
    archive = Archive(file, _wanted)
    bundle = BUNDLE_CONFIG in archive.members
    member, elements_of = (
        (_BUNDLE_MANIFEST, proto_elements) if bundle else (_APK_MANIFEST, binary_elements)
    )
    if bundle and _BUNDLE_MANIFEST not in archive.members:
        raise MalformedFile(f"is a bundle without {_BUNDLE_MANIFEST}: it has no base module.")
    if not bundle and _APK_MANIFEST not in archive.members:
        what = "is a zip, but neither an APK nor an Android App Bundle."
        hint = (
            "Name the artifact itself, not an archive that contains it (`.apks`, the download of a "
            "CI job)."
        )
        if _BUNDLE_MANIFEST in archive.members:
            what, hint = (
                f"has a bundle's manifest but no {BUNDLE_CONFIG}.",
                "Build it with bundletool or Gradle.",
            )
        raise MalformedFile(what, hint)
    elements = [*elements_of(archive.read(member))]
    name, root = elements[0] if elements else ("", {})
    if name != "manifest":
        raise MalformedFile("has an AndroidManifest.xml whose root is not <manifest>.")
    package, version_name = root.get("package", ""), root.get("versionName", "")
    if not (len(package) < _MAX_TEXT and _PACKAGE.fullmatch(package)):
        raise MalformedFile("has a manifest without a valid package name.")
    # Test builds have none; Android then counts 0, and only internal app sharing takes such an
    # artifact.
    has_code = root.get("versionCode", "") != ""
    last, none = dict(elements[1:]), dict[str, str]()
    application, sdk = last.get("application", none), last.get("uses-sdk", none)
    min_sdk = sdk.get("minSdkVersion", "1")
    permissions = [each.get("name", "") for name, each in elements if name in _PERMISSIONS]
    features = {
        each.get("name", ""): _flag(each, "required", "true")
        for name, each in elements
        if name == _FEATURE
    }
    carried = (
        [found[1] for name in archive.members if (found := _CARRIED.fullmatch(name))]
        if bundle
        else []
    )
    return Manifest(
        package,
        _number(root, "versionCodeMajor") << 32 | _number(root, "versionCode") if has_code else 0,
        "" if version_name.startswith("@0x") else version_name,
        "bundle" if bundle else "apk",
        debuggable=_flag(application, "debuggable"),
        test_only=_flag(application, "testOnly"),
        min_sdk=_decimal(min_sdk),
        target_sdk=_decimal(sdk.get("targetSdkVersion", min_sdk)),
        permissions=tuple(dict.fromkeys(permissions)),
        features=tuple(name for name, required in features.items() if required),
        optional_features=tuple(name for name, required in features.items() if not required),
        signers=signers(archive, apk=not bundle),
        native=native_code(archive, apk=not bundle),
        # What the Android Gradle plugin packs into a bundle for Play to decode crashes with.
        carries=frozenset(
            "mapping" if what.startswith("obfuscation") else "symbols" for what in carried
        ),
    )


def _wanted(name: str) -> bool:
    if name in (BUNDLE_CONFIG, _BUNDLE_MANIFEST, _APK_MANIFEST):
        return True
    return any(pattern.fullmatch(name) for pattern in (_LIBRARY, _CARRIED, JAR_SIGNATURE))


def _number(attributes: Attributes, name: str) -> int:
    """A 32-bit part of the version code; 0 when it is absent. Raises MalformedFile when it can't be
    known.
    """
    value = attributes.get(name, "0")
    if value.startswith("@0x"):
        raise MalformedFile(
            f"takes {name} from a resource ({value}).", "Write the number into the manifest."
        )
    if (number := _decimal(value)) is None:
        raise MalformedFile(f"has a {name} that is not a number.")
    if number > 0xFFFFFFFF:
        raise MalformedFile(f"has a {name} beyond 32 bits.")
    return number


def _decimal(value: str) -> int | None:
    """The number; None for the letter of a preview's API level, and for what stands in a
    resource.
    """
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= 10 else None


def _flag(attributes: Attributes, name: str, default: str = "false") -> bool:
    """Whether a boolean is set; one that stands in a resource is not."""
    value = attributes.get(name, default)
    return value == "true" or bool(_decimal(value))


# The native code. System V ABI, "Object Files" and "Program Header" (ELF-64); config.proto of
# bundletool.
PAGE = 16384  # bytes
_64_BIT = frozenset({"arm64-v8a", "x86_64", "riscv64"})
# bytes: linkers write the program headers right behind the header, at most some twenty of 56 bytes
_HEAD = 4096
_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_LOAD = 1
_OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES, _ENABLED, _ALIGNMENT = 2, 2, 1, 2
_ALIGNMENT_4K = 1


def native_code(archive: Archive, *, apk: bool) -> NativeCode:
    """What the native libraries are, by their first bytes. Raises MalformedFile."""
    libraries = {name: match[1] for name in archive.members if (match := _LIBRARY.fullmatch(name))}
    under_aligned, misplaced = [], []
    for name in (name for name, abi in libraries.items() if abi in _64_BIT):
        alignment = segment_alignment(b"".join(archive.pieces(name, _HEAD)))
        if alignment is not None and alignment < PAGE:
            under_aligned.append(name)
        if apk and not archive.members[name].compress_type and archive.offset(name) % PAGE:
            misplaced.append(name)
    packed_under_aligned = False
    if libraries and not apk:
        try:
            proto, config = _ProtoReader(), archive.read(BUNDLE_CONFIG)
            for id_ in (_OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES):
                config = proto.message(config)[id_].data
            found = proto.message(config)
        except (LookupError, ValueError):
            raise MalformedFile("has a BundleConfig.pb that is not a protobuf.") from None
        packed_under_aligned = (
            bool(found[_ENABLED].number) and found[_ALIGNMENT].number == _ALIGNMENT_4K
        )
    abis = tuple(sorted(set(libraries.values())))
    return NativeCode(abis, tuple(under_aligned), tuple(misplaced), packed_under_aligned)


def segment_alignment(head: bytes) -> int | None:
    """The smallest alignment of the LOAD segments of a 64-bit library, in bytes; None when the head
    does not tell.
    """
    if len(head) < 64 or not head.startswith(_ELF64):
        return None
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<2H", head, 54)
    if size < 56 or table + size * count > len(head):
        return None
    headers = range(table, table + size * count, size)
    loaded = [at for at in headers if struct.unpack_from("<I", head, at) == (_LOAD,)]
    return min((struct.unpack_from("<Q", head, at + 48)[0] for at in loaded), default=None)


# Android's binary XML
_XML, _POOL, _IDS, _START_ELEMENT, _END_ELEMENT = 0x0003, 0x0001, 0x0180, 0x0102, 0x0103
_NOTHING = 0xFFFFFFFF
_UTF8 = 1 << 8
_MAX_STRINGS = 2000  # that are decoded: several times the elements and permissions of any app
_REFERENCE, _STRING, _DYNAMIC_REFERENCE, _INTEGERS = 0x01, 0x03, 0x07, range(0x10, 0x20)
# namespace, name, offset of the attributes, size of one, how many
_ELEMENT_HEADER = struct.Struct("<2I3H")
# namespace, name, raw string, then Res_value: size, zero, type, data
_ATTRIBUTE = struct.Struct("<3IHBBI")


def binary_elements(data: bytes) -> Iterator[Element]:
    """The root and then its children. Raises MalformedFile for anything but Android's binary
    XML.
    """
    pool: _StringPool | None = None
    ids, depth = tuple[int, ...](), 0
    try:
        kind, at, _ = struct.unpack_from("<2HI", data)
        if kind != _XML or at < 8:
            what = "has an AndroidManifest.xml that is not in Android's binary form."
            raise MalformedFile(what, "Build it with aapt2.")
        while at + 8 <= len(data):
            kind, header, length = struct.unpack_from("<2HI", data, at)
            if not 8 <= header <= length <= len(data) - at:
                raise IndexError(length)  # noqa: TRY301  # as every other one that is impossible
            chunk, at = data[at : at + length], at + length
            if kind == _POOL and pool is None:
                pool = _StringPool(chunk)
            elif kind == _IDS:
                ids = struct.unpack_from(f"<{(length - header) // 4}I", chunk, header)
            elif kind == _END_ELEMENT:
                depth -= 1
            elif kind == _START_ELEMENT and pool is not None:
                depth += 1
                if depth <= 2:
                    name = pool[_ELEMENT_HEADER.unpack_from(chunk, header)[1]]
                    yield name, dict(_binary_attributes(chunk, header, pool, ids))
    except (struct.error, IndexError, UnicodeError):
        raise MalformedFile(
            "has a damaged AndroidManifest.xml: a length or an offset in it is impossible."
        ) from None


def _binary_attributes(
    chunk: bytes, header: int, pool: _StringPool, ids: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    _, _, start, size, count = _ELEMENT_HEADER.unpack_from(chunk, header)
    if size < _ATTRIBUTE.size:
        raise IndexError(size)
    for at in range(header + start, header + start + size * count, size):
        namespace, name, raw, _, _, kind, content = _ATTRIBUTE.unpack_from(chunk, at)
        known_by = ids[name] if name < len(ids) else pool[name] if namespace == _NOTHING else ""
        if not (key := _ATTRIBUTES.get(known_by)):
            continue
        if kind in (_REFERENCE, _DYNAMIC_REFERENCE):
            yield key, f"@0x{content:08x}"
        elif kind in _INTEGERS:
            yield key, str(content)
        elif kind == _STRING or raw != _NOTHING:
            yield key, pool[content if kind == _STRING else raw]


class _StringPool(dict[int, str]):
    """The strings of a pool by their index: decoded when they are asked for, no more and no longer
    ones than needed.
    """

    def __init__(self, chunk: bytes) -> None:
        super().__init__()
        self._chunk = chunk

    def __missing__(self, index: int) -> str:
        pool = self._chunk
        header, _, count, _, flags, start = struct.unpack_from("<H5I", pool, 2)
        if index >= count or len(self) > _MAX_STRINGS:
            raise IndexError(index)
        at = start + struct.unpack_from("<I", pool, header + 4 * index)[0]
        if flags & _UTF8:
            # its length in UTF-16 units, which is not needed: one byte or two, as the next
            at += 1 + (pool[at] >> 7)
            length = (pool[at] & 0x7F) << 8 | pool[at + 1] if pool[at] & 0x80 else pool[at]
            at += 1 + (pool[at] >> 7)
            # Android's "modified UTF-8" writes characters beyond the BMP as two surrogates of three
            # bytes each.
            text, _ = codecs.utf_8_decode(
                pool[at : at + min(length, 6 * _MAX_TEXT)], "surrogatepass"
            )
            units = text.encode("utf-16-le", "surrogatepass")
        else:
            (length,) = struct.unpack_from("<H", pool, at)
            at += 4 if length & 0x8000 else 2  # a longer one has its length in four bytes
            units = pool[at : at + 2 * min(length, 2 * _MAX_TEXT)]
        self[index] = units.decode("utf-16-le", "replace")[:_MAX_TEXT]
        return self[index]


# aapt2's protobuf XML
_NODE_ELEMENT = 1
_ELEMENT_NAME, _ELEMENT_ATTRIBUTE, _ELEMENT_CHILD = 3, 4, 5
_NAMESPACE, _NAME, _TEXT, _RESOURCE_ID, _ITEM = 1, 2, 3, 5, 6  # of an attribute
_ITEM_REFERENCE, _ITEM_STRING, _ITEM_PRIMITIVE = 1, 2, 7
_REFERENCE_ID, _STRING_VALUE = 2, 1
_PRIMITIVE_INTEGERS = (6, 7, 8)  # int_decimal_value, int_hexadecimal_value, boolean_value
# types on the wire, and the bytes of those of a fixed length
_VARINT, _BYTES, _FIXED = 0, 2, {1: 8, 5: 4}
_MAX_FIELDS = 100_000  # that are gone over: many times as many as any manifest has


class _Field(NamedTuple):
    """One field of a message: its content is a number on the wire, or bytes; the other of the two
    is empty.
    """

    id: int = 0
    number: int = 0
    data: bytes = b""

    @property
    def text(self) -> str:
        return self.data[: 4 * _MAX_TEXT].decode("utf-8", "replace")[:_MAX_TEXT]


def proto_elements(data: bytes) -> Iterator[Element]:
    """The root, then its children; what is deeper is skipped. Raises MalformedFile for all but
    aapt2's protobuf XML.
    """
    proto = _ProtoReader()
    try:
        root = proto.message(data)[_NODE_ELEMENT].data
        yield _proto_element(root, proto)
        for field in proto.fields(root):
            if field.id == _ELEMENT_CHILD:
                yield _proto_element(proto.message(field.data)[_NODE_ELEMENT].data, proto)
    except (LookupError, ValueError):
        raise MalformedFile(f"has a {_BUNDLE_MANIFEST} that is not aapt2's protobuf XML.") from None


def _proto_element(data: bytes, proto: _ProtoReader) -> Element:
    name, attributes = "", dict[str, str]()
    for field in proto.fields(data):
        if field.id == _ELEMENT_NAME:
            name = field.text
        elif field.id == _ELEMENT_ATTRIBUTE:
            found = proto.message(field.data)
            known_by = found[_RESOURCE_ID].number or (
                "" if found[_NAMESPACE].data else found[_NAME].text
            )
            if key := _ATTRIBUTES.get(known_by):
                attributes[key] = _proto_value(found, proto)
    return name, attributes


def _proto_value(attribute: Mapping[int, _Field], proto: _ProtoReader) -> str:
    """The compiled value, or the text where there is none."""
    item = proto.message(attribute[_ITEM].data)
    if _ITEM_REFERENCE in item:
        return f"@0x{proto.message(item[_ITEM_REFERENCE].data)[_REFERENCE_ID].number:08x}"
    if _ITEM_STRING in item:
        return proto.message(item[_ITEM_STRING].data)[_STRING_VALUE].text
    # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
    numbers = [
        each.number
        for each in proto.fields(item[_ITEM_PRIMITIVE].data)
        if each.id in _PRIMITIVE_INTEGERS
    ]
    return str(numbers[-1] & 0xFFFFFFFF) if numbers else attribute[_TEXT].text


class _ProtoReader:
    """Reads protobuf messages, with no more fields in all than any manifest has; else LookupError
    or ValueError.
    """

    def __init__(self) -> None:
        self._left = _MAX_FIELDS

    def fields(self, data: bytes) -> Iterator[_Field]:
        """Every field of a message."""
        at = 0
        while at < len(data):
            self._left -= 1
            if self._left < 0:
                raise ValueError(_MAX_FIELDS)
            key, at = _varint(data, at)
            if key & 7 == _VARINT:
                number, at = _varint(data, at)
                yield _Field(key >> 3, number)
                continue
            length, at = _varint(data, at) if key & 7 == _BYTES else (_FIXED[key & 7], at)
            if at + length > len(data):
                raise IndexError(at)
            yield _Field(key >> 3, data=data[at : at + length])
            at += length

    def message(self, data: bytes) -> defaultdict[int, _Field]:
        """The last field of each id, as protobuf has it, and an empty one for any that is not
        there.
        """
        return defaultdict(_Field, {field.id: field for field in self.fields(data)})


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # ten bytes carry 64 bits; more is no protobuf
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise IndexError(at)
