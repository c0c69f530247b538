"""Says what an APK or an Android App Bundle is: package, version, who signed it, what it asks for, its native code.

Read are the zip's directory, the manifest, the signatures and the heads of native libraries. Whatever is wrong with the
file, the result is one InputError with a sentence for people; no byte of it is trusted.

A manifest has two encodings. In an APK it is Android's binary XML, a chunk of chunks: a string pool, a table that gives
the first strings resource ids, then the XML events (ResourceTypes.h of the Android platform: ResStringPool_header,
ResXMLTree_attrExt, ResXMLTree_attribute, Res_value). In a bundle it is aapt2's protobuf XML: XmlNode, XmlElement,
XmlAttribute, Item and Primitive of aapt2's Resources.proto. Of both, only the root and those of its children that
matter are decoded. Of each 64-bit library only the ELF header and the program headers are read, as far as they lie in
its first bytes (System V ABI, "Object Files" and "Program Header", ELF-64).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO, Literal

from uploader.errors import InputError, Problem
from uploader.files.android.archive import MalformedFile, ZipReader
from uploader.files.android.signatures import JAR_SIGNATURE, SigningCertificate, signers
from uploader.files.workspace import reason

Kind = Literal["bundle", "apk"]

_BUNDLE_MANIFEST = "base/manifest/AndroidManifest.xml"
_APK_MANIFEST = "AndroidManifest.xml"
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_LONGEST_NAME = 255  # characters: of a version, a permission, a feature; no honest one is longer
_SUFFIXES: dict[str, Kind] = {".aab": "bundle", ".apk": "apk"}
_NAMES: dict[Kind, str] = {"bundle": "an Android App Bundle (.aab)", "apk": "an APK"}

_CARRIED = re.compile(
    r"BUNDLE-METADATA/com\.android\.tools\.build\.(obfuscation/proguard\.map|debugsymbols/.+[^/])", re.DOTALL
)


@dataclass(frozen=True)
class NativeCode:
    """The ABIs that there is code for, and the 64-bit libraries that do not fit pages of 16 KB, by their paths.

    `narrow` have segments that are aligned to less; `misplaced` lie uncompressed in an APK where no such page begins.
    `packed_narrow` says that a bundle aligns its libraries to 4 KB pages in the APKs made from it.
    """

    abis: tuple[str, ...] = ()
    narrow: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    packed_narrow: bool = False


@dataclass(frozen=True)
class Manifest:
    """What an APK or a bundle says of itself. `version_code` is the number that Play keys artifacts by (64 bits).

    `version_name` is "" when the manifest has none, or takes it from a resource. `kind` is what the file is, by its
    content. `debuggable` marks a debug build, `test_only` one that Android Studio made to be run at once. The SDKs are
    API levels, None for what is not a number. `features` are those that a device must have. `signers` is empty for a
    file that nobody signed. `carries` says which files for Play's crash reports a bundle brings itself, in its
    BUNDLE-METADATA: `mapping`, `symbols`.
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
    signers: tuple[SigningCertificate, ...] = ()
    native: NativeCode = NativeCode()
    carries: frozenset[str] = frozenset()


def read_manifest(file: BinaryIO, name: str) -> Manifest:
    """The manifest of an open file, called `name` in messages. Raises InputError (problem `files`)."""
    try:
        manifest = _read(file)
    except MalformedFile as error:
        raise InputError(Problem("files", f"{name} {error}")) from None
    except OSError as error:
        raise InputError(Problem("files", f"{name} can't be read: {reason(error)}.")) from None
    claimed = _SUFFIXES.get(PurePath(name).suffix.lower())
    if claimed not in (None, manifest.kind):
        what = f"{name} is named like {_NAMES[claimed]} but is {_NAMES[manifest.kind]}."
        raise InputError(Problem("files", f"{what} Rename it, or point `files` at the other build output."))
    return manifest


def _wanted(entry: str) -> bool:
    if entry.startswith("BUNDLE-METADATA/"):
        return _CARRIED.fullmatch(entry) is not None
    if entry.endswith(".so"):
        return LIBRARY.fullmatch(entry) is not None
    return entry in (BUNDLE_CONFIG, _BUNDLE_MANIFEST, _APK_MANIFEST) or JAR_SIGNATURE.fullmatch(entry) is not None


def _read(file: BinaryIO) -> Manifest:
    archive = ZipReader(file, file.seek(0, 2), _wanted)
    kind = _kind(archive)
    if kind == "bundle":
        manifest = _manifest(kind, proto_elements(archive.read(_BUNDLE_MANIFEST)))
    else:
        manifest = _manifest(kind, binary_elements(archive.read(_APK_MANIFEST)))
    apk = kind == "apk"
    return replace(
        manifest,
        signers=signers(archive, apk=apk),
        native=native_code(archive, apk=apk),
        carries=frozenset() if apk else _carried(archive),
    )


def _carried(archive: ZipReader) -> frozenset[str]:
    """What the Android Gradle plugin packs into a bundle for Play to decode crashes with."""
    found = [_CARRIED.fullmatch(entry) for entry in archive.entries]
    return frozenset("mapping" if each[1].startswith("obfuscation") else "symbols" for each in found if each)


def _kind(archive: ZipReader) -> Kind:
    if BUNDLE_CONFIG in archive.entries:
        if _BUNDLE_MANIFEST not in archive.entries:
            raise MalformedFile(f"is a bundle without {_BUNDLE_MANIFEST}: it has no base module.")
        return "bundle"
    if _APK_MANIFEST in archive.entries:
        return "apk"
    if _BUNDLE_MANIFEST in archive.entries:
        raise MalformedFile(f"has a bundle's manifest but no {BUNDLE_CONFIG}.", "Build it with bundletool or Gradle.")
    raise MalformedFile("is a zip, but neither an APK nor an Android App Bundle.", "Check what the pattern matched.")


def _manifest(kind: Kind, elements: Iterator[Element]) -> Manifest:
    root = next(elements, None)
    if root is None:
        raise MalformedFile("has an AndroidManifest.xml without any element.")
    if root.name != "manifest":
        raise MalformedFile("has an AndroidManifest.xml whose root is not <manifest>.")
    package, version_name = root.attributes.get("package"), root.attributes.get("versionName", "")
    if not (isinstance(package, str) and len(package) <= 255 and _PACKAGE.fullmatch(package)):
        raise MalformedFile("has a manifest without a valid package name.")
    # Test builds have none; Android then counts 0, and only internal app sharing takes such an artifact.
    missing = root.attributes.get("versionCode") in (None, "")
    code = 0 if missing else number(root.attributes, "versionCodeMajor") << 32 | number(root.attributes, "versionCode")
    name = str(version_name)[:_LONGEST_NAME] if isinstance(version_name, (str, int)) else ""
    return _with_children(Manifest(package, code, name, kind), elements)


def _with_children(manifest: Manifest, elements: Iterable[Element]) -> Manifest:
    """The manifest with what the elements below its root say."""
    application: Attributes = {}
    sdk: Attributes = {}
    permissions: dict[str, None] = {}
    features: dict[str, None] = {}
    for element in elements:
        name, attributes = element.name, element.attributes
        if name == "application":
            application = attributes
        elif name == "uses-sdk":
            sdk = attributes
        elif name != "uses-feature":
            permissions[str(attributes.get("name", ""))[:_LONGEST_NAME]] = None
        elif flag({"required": 1, **attributes}, "required"):
            features[str(attributes.get("name", ""))[:_LONGEST_NAME]] = None
    least = _api_level(sdk.get("minSdkVersion", 1))
    return replace(
        manifest,
        debuggable=flag(application, "debuggable"),
        test_only=flag(application, "testOnly"),
        min_sdk=least,
        target_sdk=_api_level(sdk["targetSdkVersion"]) if "targetSdkVersion" in sdk else least,
        permissions=tuple(permissions),
        features=tuple(features),
    )


def _api_level(value: Value) -> int | None:
    """The number; None for the letter of a preview, and for what stands in a resource."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:
        return int(value)
    return value if isinstance(value, int) else None


ANDROID = "http://schemas.android.com/apk/res/android"
IDS: Mapping[int, str] = {
    0x01010003: "name",
    0x0101000F: "debuggable",
    0x0101020C: "minSdkVersion",
    0x0101021B: "versionCode",
    0x0101021C: "versionName",
    0x01010270: "targetSdkVersion",
    0x01010272: "testOnly",
    0x0101028E: "required",
    0x01010576: "versionCodeMajor",
}
WANTED = frozenset({"uses-sdk", "uses-permission", "uses-permission-sdk-23", "uses-feature", "application"})
"""The children of the root that are read."""


@dataclass(frozen=True)
class ResourceReference:
    """A value that stands in the resource table, not in the manifest: `@0x7f…`. It is reported, not guessed."""

    id: int


Value = int | str | ResourceReference
Attributes = Mapping[str, Value]


@dataclass(frozen=True)
class Element:
    """One element, with those of its attributes that have a name in IDS, and `package`."""

    name: str
    attributes: Attributes


def name_of(namespace: str, name: str) -> str:
    """What the name of an attribute without a resource id means, "" for one that does not matter here.

    Like Android, readers ask for a resource id first and look it up in IDS.
    """
    if namespace == "":
        return name if name == "package" else ""
    return name if namespace == ANDROID and name in IDS.values() else ""


def number(attributes: Attributes, name: str) -> int:
    """A 32-bit part of the version code; 0 when it is absent. Raises MalformedFile when it can't be known."""
    value = attributes.get(name, 0)
    if isinstance(value, ResourceReference):
        raise MalformedFile(f"takes {name} from a resource (@0x{value.id:08x}).", "Write the number into the manifest.")
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) <= 10):
            raise MalformedFile(f"has a {name} that is not a number.")
        value = int(value)
    if value > 0xFFFFFFFF:
        raise MalformedFile(f"has a {name} beyond 32 bits.")
    return value


def flag(attributes: Attributes, name: str) -> bool:
    """Whether a boolean is set; one that is absent, or stands in a resource, is not."""
    value = attributes.get(name)
    return value == "true" or (isinstance(value, int) and value != 0)


_XML, _POOL, _IDS, _ELEMENT, _END = 0x0003, 0x0001, 0x0180, 0x0102, 0x0103
_NOTHING = 0xFFFFFFFF
_UTF8 = 1 << 8
_TYPE_REFERENCE, _TYPE_STRING, _TYPE_DYNAMIC_REFERENCE = 0x01, 0x03, 0x07
_TYPE_INTEGERS = range(0x10, 0x20)
_ELEMENT_HEADER = struct.Struct("<2I3H")  # namespace, name, offset of the attributes, size of one, how many
_ATTRIBUTE = struct.Struct("<3IHBBI")  # namespace, name, raw string, then Res_value: size, zero, type, data


def binary_elements(data: bytes) -> Iterator[Element]:
    """The root and then those of its children that are WANTED. Raises MalformedFile for anything but such XML."""
    try:
        yield from _elements(data)
    except (struct.error, IndexError, UnicodeError):
        raise MalformedFile("has a damaged AndroidManifest.xml: it points beyond its end.") from None


def _elements(data: bytes) -> Iterator[Element]:
    strings: StringPool | None = None
    ids: tuple[int, ...] = ()
    depth = 0
    for kind, header, length, chunk in _chunks(data):
        if kind == _POOL:
            strings = StringPool(chunk, header)
        elif kind == _IDS:
            ids = struct.unpack_from(f"<{(length - header) // 4}I", chunk, header)
        elif kind == _END:
            depth -= 1
        elif kind == _ELEMENT and strings is not None:
            depth += 1
            name = strings[_ELEMENT_HEADER.unpack_from(chunk, header)[1]] if depth <= 2 else ""
            if depth == 1 or name in WANTED:
                yield Element(name, _attributes(chunk, header, strings, ids))


def _chunks(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Type, header length, whole length and bytes of each chunk inside the outer one."""
    kind, at, _ = struct.unpack_from("<2HI", data)
    if kind != _XML or at < 8:
        raise MalformedFile("has an AndroidManifest.xml that is not in Android's binary form.", "Build it with aapt2.")
    while at + 8 <= len(data):
        kind, header, length = struct.unpack_from("<2HI", data, at)
        if not 8 <= header <= length <= len(data) - at:
            raise MalformedFile("has a damaged AndroidManifest.xml: a chunk's length is impossible.")
        yield kind, header, length, data[at : at + length]
        at += length


def _attributes(chunk: bytes, header: int, strings: StringPool, ids: tuple[int, ...]) -> dict[str, Value]:
    _, _, start, size, count = _ELEMENT_HEADER.unpack_from(chunk, header)
    if size < _ATTRIBUTE.size:
        raise MalformedFile("has a damaged AndroidManifest.xml: its attributes are too short.")
    found: dict[str, Value] = {}
    for index in range(count):
        namespace, name, raw, _, _, kind, content = _ATTRIBUTE.unpack_from(chunk, header + start + index * size)
        if resource_id := ids[name] if name < len(ids) else 0:
            key = IDS.get(resource_id, "")
        else:
            key = name_of("" if namespace == _NOTHING else strings[namespace], strings[name])
        if key:
            found[key] = _value(strings, raw, kind, content)
    return found


def _value(strings: StringPool, raw: int, kind: int, content: int) -> Value:
    if kind in (_TYPE_REFERENCE, _TYPE_DYNAMIC_REFERENCE):
        return ResourceReference(content)
    if kind == _TYPE_STRING:
        return strings[content]
    if raw != _NOTHING:
        return strings[raw]
    return content if kind in _TYPE_INTEGERS else ""


class StringPool:
    """A string pool, decoded one string at a time as it is asked for, and each once.

    Strings may not share their bytes, as they do in no honest file: what is decoded is never more than the pool holds.
    """

    def __init__(self, chunk: bytes, header: int) -> None:
        self._chunk = chunk
        self._header = header
        self._count, _, flags, self._start, _ = struct.unpack_from("<5I", chunk, 8)
        self._utf8 = bool(flags & _UTF8)
        self._left = len(chunk)  # bytes that may still be decoded
        self._decoded: dict[int, str] = {}  # by where they begin

    def __getitem__(self, index: int) -> str:
        if index >= self._count:
            raise IndexError(index)
        at = self._start + struct.unpack_from("<I", self._chunk, self._header + 4 * index)[0]
        if at not in self._decoded:
            self._decoded[at] = self._utf8_at(at) if self._utf8 else self._utf16_at(at)
        return self._decoded[at]

    def _utf8_at(self, at: int) -> str:
        at = self._byte_length(at)[1]  # how many UTF-16 units it would be: not needed
        length, at = self._byte_length(at)
        # Android's "modified UTF-8" writes characters beyond the BMP as two surrogates of three bytes each.
        units = self._take(at, length).decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "replace")

    def _utf16_at(self, at: int) -> str:
        (length,) = struct.unpack_from("<H", self._chunk, at)
        at += 2
        if length & 0x8000:
            (low,) = struct.unpack_from("<H", self._chunk, at)
            length, at = (length & 0x7FFF) << 16 | low, at + 2
        return self._take(at, 2 * length).decode("utf-16-le", "replace")

    def _byte_length(self, at: int) -> tuple[int, int]:
        length = self._chunk[at]
        return ((length & 0x7F) << 8 | self._chunk[at + 1], at + 2) if length & 0x80 else (length, at + 1)

    def _take(self, at: int, length: int) -> bytes:
        self._left -= length
        if at + length > len(self._chunk) or self._left < 0:
            raise IndexError(at)
        return self._chunk[at : at + length]


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class ProtoField:
    """One field of a message: its content is a number on the wire, or bytes; the other of the two is empty."""

    id: int
    number: int = 0
    data: bytes = b""


def fields(data: bytes) -> Iterator[ProtoField]:
    """Every field of a message, in order. Raises IndexError and ValueError."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(data, at)
            yield ProtoField(key >> 3, number)
            continue
        length, at = _varint(data, at) if kind == _BYTES else ({_FIXED64: 8, _FIXED32: 4}.get(kind, -1), at)
        if length < 0:
            raise ValueError(kind)
        if at + length > len(data):
            raise IndexError(at)
        yield ProtoField(key >> 3, data=data[at : at + length])
        at += length


def pick(data: bytes, *wanted: int) -> dict[int, ProtoField]:
    """The fields asked for, the last of each as protobuf has it, and empty where there is none; no others are held."""
    return {id_: ProtoField(id_) for id_ in wanted} | {field.id: field for field in fields(data) if field.id in wanted}


def message(data: bytes, *path: int) -> bytes:
    """The message or text that the ids lead to, from one message into the next; empty where there is none."""
    for wanted in path:
        data = pick(data, wanted)[wanted].data
    return data


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # ten bytes carry 64 bits; more is no protobuf
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError(at)


_NODE_ELEMENT = 1
_PROTO_NAME, _PROTO_ATTRIBUTE, _PROTO_CHILD = 3, 4, 5
_ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM = 1, 2, 3, 5, 6
_ITEM_REFERENCE, _ITEM_STRING, _ITEM_PRIMITIVE = 1, 2, 7
_REFERENCE_ID = 2
_STRING_VALUE = 1
_PRIMITIVE_INTEGERS = (6, 7, 8)  # int_decimal_value, int_hexadecimal_value, boolean_value


def proto_elements(data: bytes) -> Iterator[Element]:
    """The root and then those of its children that are WANTED. Raises MalformedFile for anything but such XML."""
    try:
        root = message(data, _NODE_ELEMENT)
        yield _element(root)
        for field in fields(root):
            child = message(field.data, _NODE_ELEMENT) if field.id == _PROTO_CHILD else b""
            if message(child, _PROTO_NAME).decode() in WANTED:
                yield _element(child)
    except IndexError:
        raise MalformedFile(
            "has a damaged base/manifest/AndroidManifest.xml: it ends in the middle of a field."
        ) from None
    except ValueError:
        raise MalformedFile("has a base/manifest/AndroidManifest.xml that is not aapt2's protobuf XML.") from None


def _element(data: bytes) -> Element:
    found = dict(_attribute(field.data) for field in fields(data) if field.id == _PROTO_ATTRIBUTE)
    return Element(message(data, _PROTO_NAME).decode(), {name: value for name, value in found.items() if name})


def _attribute(data: bytes) -> tuple[str, Value]:
    found = pick(data, _ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM)
    if resource_id := found[_ATTRIBUTE_ID].number:
        key = IDS.get(resource_id, "")
    else:
        key = name_of(found[_ATTRIBUTE_NAMESPACE].data.decode(), found[_ATTRIBUTE_NAME].data.decode())
    value = _item(found[_ATTRIBUTE_ITEM].data)
    return key, found[_ATTRIBUTE_VALUE].data.decode() if value is None else value


def _item(data: bytes) -> Value | None:
    """The compiled value, or None when it is of a kind that only its text can tell."""
    for field in fields(data):
        if field.id == _ITEM_REFERENCE:
            return ResourceReference(pick(field.data, _REFERENCE_ID)[_REFERENCE_ID].number)
        if field.id == _ITEM_STRING:
            return message(field.data, _STRING_VALUE).decode()
        if field.id == _ITEM_PRIMITIVE:
            # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
            numbers = [each.number for each in fields(field.data) if each.id in _PRIMITIVE_INTEGERS]
            return numbers[-1] & 0xFFFFFFFF if numbers else None
    return None


BUNDLE_CONFIG = "BundleConfig.pb"
LIBRARY = re.compile(r"(?:\w{1,100}/)?lib/(armeabi|armeabi-v7a|arm64-v8a|x86|x86_64|riscv64)/([^/]{1,200}\.so)")
PAGE = 16384  # bytes
_64_BIT = frozenset({"arm64-v8a", "x86_64", "riscv64"})
_HEAD = 4096  # bytes: linkers write the program headers right behind the header, at most some twenty of 56 bytes
_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_LOAD = 1
_OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES, _ENABLED, _ALIGNMENT = 2, 2, 1, 2
_ALIGNMENT_4K = 1


def native_code(archive: ZipReader, *, apk: bool) -> NativeCode:
    """What the entries that LIBRARY accepts are. Raises MalformedFile."""
    found = {name: match[1] for name in archive.entries if (match := LIBRARY.fullmatch(name))}
    narrow, misplaced = [], []
    for name in (name for name, abi in found.items() if abi in _64_BIT):
        head, at = archive.head(name, _HEAD)
        alignment = segment_alignment(head)
        if alignment is not None and alignment < PAGE:
            narrow.append(name)
        if apk and not archive.entries[name].method and at % PAGE:
            misplaced.append(name)
    abis = tuple(sorted(set(found.values())))
    return NativeCode(abis, tuple(narrow), tuple(misplaced), bool(abis) and not apk and _packed_narrow(archive))


def segment_alignment(head: bytes) -> int | None:
    """The least alignment of the LOAD segments of a 64-bit library, in bytes; None when its beginning does not tell."""
    if len(head) < 64 or not head.startswith(_ELF64):
        return None
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<2H", head, 54)
    if size < 56 or table + size * count > len(head):
        return None
    headers = range(table, table + size * count, size)
    loaded = [at for at in headers if struct.unpack_from("<I", head, at) == (_LOAD,)]
    return min((struct.unpack_from("<Q", head, at + 48)[0] for at in loaded), default=None)


def _packed_narrow(bundle: ZipReader) -> bool:
    try:
        found = pick(
            message(bundle.read(BUNDLE_CONFIG), _OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES), _ENABLED, _ALIGNMENT
        )
    except (IndexError, ValueError):
        raise MalformedFile("has a BundleConfig.pb that is not a protobuf.") from None
    return bool(found[_ENABLED].number) and found[_ALIGNMENT].number == _ALIGNMENT_4K
