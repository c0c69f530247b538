"""Says what an APK or an Android App Bundle is: package, version, who signed it, what it asks for, its native code.

Read are the zip's directory, the manifest, the signatures and the heads of native libraries. Whatever is wrong with the
file, the result is one InputError with a sentence for people; no byte of it is trusted.

A manifest has two encodings, and of both only the root and those of its children that matter are decoded. In an APK it
is Android's binary XML, a chunk of chunks: a string pool, a table that gives the first strings resource ids, then the
XML events (ResourceTypes.h of the Android platform: ResStringPool_header, ResXMLTree_attrExt, ResXMLTree_attribute,
Res_value). In a bundle it is aapt2's protobuf XML (Resources.proto: XmlNode, XmlElement, XmlAttribute, Item, Primitive;
the wire format is on protobuf.dev, "Encoding").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO, Literal, NamedTuple

from uploader.errors import InputError, Problem
from uploader.files.android.archive import Archive, MalformedFile
from uploader.files.android.signatures import JAR_SIGNATURE, SigningCertificate, signers
from uploader.files.workspace import reason

Kind = Literal["bundle", "apk"]

BUNDLE_CONFIG = "BundleConfig.pb"
_BUNDLE_MANIFEST = "base/manifest/AndroidManifest.xml"
_APK_MANIFEST = "AndroidManifest.xml"
_LIBRARY = re.compile(r"(?:\w{1,100}/)?lib/(armeabi|armeabi-v7a|arm64-v8a|x86|x86_64|riscv64)/([^/]{1,200}\.so)")
_CARRIED = re.compile(
    r"BUNDLE-METADATA/com\.android\.tools\.build\.(obfuscation/proguard\.map|debugsymbols/.+[^/])", re.DOTALL
)
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_MAX_NAME = 255  # characters: of a package, a version, a permission, a feature; no honest one is longer
_SUFFIXES: dict[str, Kind] = {".aab": "bundle", ".apk": "apk"}
_NAMES: dict[Kind, str] = {"bundle": "an Android App Bundle (.aab)", "apk": "an APK"}

_ANDROID = "http://schemas.android.com/apk/res/android"
_ATTRIBUTE_IDS = {
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
_CHILDREN = frozenset({"uses-sdk", "uses-permission", "uses-permission-sdk-23", "uses-feature", "application"})


@dataclass(frozen=True)
class NativeCode:
    """The ABIs that there is code for, and the 64-bit libraries that do not fit pages of 16 KB, by their paths.

    `under_aligned` have segments that are aligned to less; `misplaced` lie uncompressed in an APK where no such page
    begins. `packed_under_aligned` says that a bundle aligns its libraries to 4 KB pages in the APKs made from it.
    """

    abis: tuple[str, ...] = ()
    under_aligned: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    packed_under_aligned: bool = False


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


@dataclass(frozen=True)
class ResourceReference:
    """A value that stands in the resource table, not in the manifest: `@0x7f…`. It is reported, not guessed."""

    id: int


Value = int | str | ResourceReference
Attributes = Mapping[str, Value]
Element = tuple[str, Attributes]
"""The name of an element, and those of its attributes that have a resource id in _ATTRIBUTE_IDS, and `package`."""


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


def _read(file: BinaryIO) -> Manifest:
    archive = Archive(file, _wanted)
    bundle = BUNDLE_CONFIG in archive.members
    if bundle and _BUNDLE_MANIFEST not in archive.members:
        raise MalformedFile(f"is a bundle without {_BUNDLE_MANIFEST}: it has no base module.")
    if not bundle and _APK_MANIFEST not in archive.members:
        what, hint = "is a zip, but neither an APK nor an Android App Bundle.", "Check what the pattern matched."
        if _BUNDLE_MANIFEST in archive.members:
            what, hint = f"has a bundle's manifest but no {BUNDLE_CONFIG}.", "Build it with bundletool or Gradle."
        raise MalformedFile(what, hint)
    carried = [found[1] for name in archive.members if (found := _CARRIED.fullmatch(name))] if bundle else []
    if bundle:
        manifest = _manifest("bundle", proto_elements(archive.read(_BUNDLE_MANIFEST)))
    else:
        manifest = _manifest("apk", binary_elements(archive.read(_APK_MANIFEST)))
    return replace(
        manifest,
        signers=signers(archive, apk=not bundle),
        native=native_code(archive, apk=not bundle),
        # What the Android Gradle plugin packs into a bundle for Play to decode crashes with.
        carries=frozenset("mapping" if what.startswith("obfuscation") else "symbols" for what in carried),
    )


def _wanted(name: str) -> bool:
    if name.startswith("BUNDLE-METADATA/"):
        return _CARRIED.fullmatch(name) is not None
    if name.endswith(".so"):
        return _LIBRARY.fullmatch(name) is not None
    return name in (BUNDLE_CONFIG, _BUNDLE_MANIFEST, _APK_MANIFEST) or JAR_SIGNATURE.fullmatch(name) is not None


def _manifest(kind: Kind, elements: Iterator[Element]) -> Manifest:
    name, root = next(elements, ("", {}))
    if name != "manifest":
        raise MalformedFile("has an AndroidManifest.xml whose root is not <manifest>.")
    package, version_name = root.get("package"), root.get("versionName", "")
    if not (isinstance(package, str) and len(package) <= _MAX_NAME and _PACKAGE.fullmatch(package)):
        raise MalformedFile("has a manifest without a valid package name.")
    # Test builds have none; Android then counts 0, and only internal app sharing takes such an artifact.
    missing = root.get("versionCode") in (None, "")
    version_code = 0 if missing else _number(root, "versionCodeMajor") << 32 | _number(root, "versionCode")
    application: Attributes = {}
    sdk: Attributes = {}
    permissions: dict[str, None] = {}
    features: dict[str, None] = {}
    for name, attributes in elements:
        if name == "application":
            application = attributes
        elif name == "uses-sdk":
            sdk = attributes
        elif name != "uses-feature":
            permissions[str(attributes.get("name", ""))[:_MAX_NAME]] = None
        elif _flag({"required": 1, **attributes}, "required"):
            features[str(attributes.get("name", ""))[:_MAX_NAME]] = None
    min_sdk = sdk.get("minSdkVersion", 1)
    return Manifest(
        package,
        version_code,
        str(version_name)[:_MAX_NAME] if isinstance(version_name, (str, int)) else "",
        kind,
        debuggable=_flag(application, "debuggable"),
        test_only=_flag(application, "testOnly"),
        min_sdk=_api_level(min_sdk),
        target_sdk=_api_level(sdk.get("targetSdkVersion", min_sdk)),
        permissions=tuple(permissions),
        features=tuple(features),
    )


def _number(attributes: Attributes, name: str) -> int:
    """A 32-bit part of the version code; 0 when it is absent. Raises MalformedFile when it can't be known."""
    value = attributes.get(name, 0)
    if isinstance(value, ResourceReference):
        raise MalformedFile(f"takes {name} from a resource (@0x{value.id:08x}).", "Write the number into the manifest.")
    if (number := _api_level(value)) is None:
        raise MalformedFile(f"has a {name} that is not a number.")
    if number > 0xFFFFFFFF:
        raise MalformedFile(f"has a {name} beyond 32 bits.")
    return number


def _api_level(value: Value) -> int | None:
    """The number; None for the letter of a preview, and for what stands in a resource."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:
        return int(value)
    return value if isinstance(value, int) else None


def _flag(attributes: Attributes, name: str) -> bool:
    """Whether a boolean is set; one that is absent, or stands in a resource, is not."""
    value = attributes.get(name)
    return value == "true" or (isinstance(value, int) and value != 0)


def _attribute_name(resource_id: int, namespace: str, name: str) -> str:
    """What an attribute is called, "" for one that does not matter: like Android, by its resource id if it has one."""
    if resource_id:
        return _ATTRIBUTE_IDS.get(resource_id, "")
    if namespace == "":
        return name if name == "package" else ""
    return name if namespace == _ANDROID and name in _ATTRIBUTE_IDS.values() else ""


# The native code. System V ABI, "Object Files" and "Program Header" (ELF-64); config.proto of bundletool.

PAGE = 16384  # bytes
_64_BIT = frozenset({"arm64-v8a", "x86_64", "riscv64"})
_HEAD = 4096  # bytes: linkers write the program headers right behind the header, at most some twenty of 56 bytes
_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_LOAD = 1
_OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES, _ENABLED, _ALIGNMENT = 2, 2, 1, 2
_ALIGNMENT_4K = 1


def native_code(archive: Archive, *, apk: bool) -> NativeCode:
    """What the native libraries are, by their first bytes. Raises MalformedFile."""
    libraries = {name: match[1] for name in archive.members if (match := _LIBRARY.fullmatch(name))}
    under_aligned, misplaced = [], []
    for name in (name for name, abi in libraries.items() if abi in _64_BIT):
        head, at = archive.head(name, _HEAD)
        alignment = segment_alignment(head)
        if alignment is not None and alignment < PAGE:
            under_aligned.append(name)
        if apk and not archive.members[name].compress_type and at % PAGE:
            misplaced.append(name)
    packed_under_aligned = False
    if libraries and not apk:
        try:
            proto = _ProtoReader()
            config = proto.message(archive.read(BUNDLE_CONFIG), _OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES)
            found = proto.pick(config, _ENABLED, _ALIGNMENT)
        except (IndexError, ValueError):
            raise MalformedFile("has a BundleConfig.pb that is not a protobuf.") from None
        packed_under_aligned = bool(found[_ENABLED].number) and found[_ALIGNMENT].number == _ALIGNMENT_4K
    abis = tuple(sorted(set(libraries.values())))
    return NativeCode(abis, tuple(under_aligned), tuple(misplaced), packed_under_aligned)


def segment_alignment(head: bytes) -> int | None:
    """The smallest alignment of the LOAD segments of a 64-bit library, in bytes; None when the head does not tell."""
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
_TYPE_REFERENCE, _TYPE_STRING, _TYPE_DYNAMIC_REFERENCE = 0x01, 0x03, 0x07
_TYPE_INTEGERS = range(0x10, 0x20)
_ELEMENT_HEADER = struct.Struct("<2I3H")  # namespace, name, offset of the attributes, size of one, how many
_ATTRIBUTE = struct.Struct("<3IHBBI")  # namespace, name, raw string, then Res_value: size, zero, type, data


def binary_elements(data: bytes) -> Iterator[Element]:
    """The root and then its _CHILDREN. Raises MalformedFile for anything but Android's binary XML."""
    strings: _StringPool | None = None
    ids: tuple[int, ...] = ()
    depth = 0
    try:
        kind, at, _ = struct.unpack_from("<2HI", data)
        if kind != _XML or at < 8:
            what = "has an AndroidManifest.xml that is not in Android's binary form."
            raise MalformedFile(what, "Build it with aapt2.")
        while at + 8 <= len(data):
            kind, header, length = struct.unpack_from("<2HI", data, at)
            if not 8 <= header <= length <= len(data) - at:
                raise MalformedFile("has a damaged AndroidManifest.xml: a chunk's length is impossible.")
            chunk = data[at : at + length]
            at += length
            if kind == _POOL:
                strings = _StringPool(chunk, header)
            elif kind == _IDS:
                ids = struct.unpack_from(f"<{(length - header) // 4}I", chunk, header)
            elif kind == _END_ELEMENT:
                depth -= 1
            elif kind == _START_ELEMENT and strings is not None:
                depth += 1
                name = strings[_ELEMENT_HEADER.unpack_from(chunk, header)[1]] if depth <= 2 else ""
                if depth == 1 or name in _CHILDREN:
                    yield name, _binary_attributes(chunk, header, strings, ids)
    except (struct.error, IndexError, UnicodeError):
        raise MalformedFile("has a damaged AndroidManifest.xml: it points beyond its end.") from None


def _binary_attributes(chunk: bytes, header: int, strings: _StringPool, ids: tuple[int, ...]) -> Attributes:
    _, _, start, size, count = _ELEMENT_HEADER.unpack_from(chunk, header)
    if size < _ATTRIBUTE.size:
        raise MalformedFile("has a damaged AndroidManifest.xml: its attributes are too short.")
    found: dict[str, Value] = {}
    for at in range(header + start, header + start + size * count, size):
        namespace, name, raw, _, _, kind, content = _ATTRIBUTE.unpack_from(chunk, at)
        resource_id = ids[name] if name < len(ids) else 0
        space = strings[namespace] if not resource_id and namespace != _NOTHING else ""
        key = _attribute_name(resource_id, space, "" if resource_id else strings[name])
        if not key:
            continue
        if kind in (_TYPE_REFERENCE, _TYPE_DYNAMIC_REFERENCE):
            found[key] = ResourceReference(content)
        elif kind == _TYPE_STRING or raw != _NOTHING:
            found[key] = strings[content if kind == _TYPE_STRING else raw]
        else:
            found[key] = content if kind in _TYPE_INTEGERS else ""
    return found


class _StringPool:
    """A string pool, decoded one string at a time as it is asked for, and each once.

    Strings may not share their bytes, as they do in no honest file: what is decoded is never more than the pool holds.
    """

    def __init__(self, chunk: bytes, header: int) -> None:
        self._chunk, self._header = chunk, header
        self._count, _, flags, self._start, _ = struct.unpack_from("<5I", chunk, 8)
        self._decode = self._utf8_at if flags & _UTF8 else self._utf16_at
        self._left = len(chunk)  # bytes that may still be decoded
        self._decoded: dict[int, str] = {}  # by where they begin

    def __getitem__(self, index: int) -> str:
        if index >= self._count:
            raise IndexError(index)
        at = self._start + struct.unpack_from("<I", self._chunk, self._header + 4 * index)[0]
        if at not in self._decoded:
            self._decoded[at] = self._decode(at)
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


# aapt2's protobuf XML

_NODE_ELEMENT = 1
_ELEMENT_NAME, _ELEMENT_ATTRIBUTE, _ELEMENT_CHILD = 3, 4, 5
_NAMESPACE, _NAME, _TEXT, _RESOURCE_ID, _ITEM = 1, 2, 3, 5, 6  # of an attribute
_ITEM_REFERENCE, _ITEM_STRING, _ITEM_PRIMITIVE = 1, 2, 7
_REFERENCE_ID, _STRING_VALUE = 2, 1
_PRIMITIVE_INTEGERS = (6, 7, 8)  # int_decimal_value, int_hexadecimal_value, boolean_value
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # types on the wire
_MAX_FIELDS = 300_000  # that are gone over: many times as many as any manifest has


class _Field(NamedTuple):
    """One field of a message: its content is a number on the wire, or bytes; the other of the two is empty."""

    id: int
    number: int = 0
    data: bytes = b""


def proto_elements(data: bytes) -> Iterator[Element]:
    """The root and then its _CHILDREN. Raises MalformedFile for anything but aapt2's protobuf XML.

    Everything else is skipped by its length, so the depth of the document does not matter.
    """
    proto = _ProtoReader()
    try:
        root = proto.message(data, _NODE_ELEMENT)
        yield _proto_element(root, proto)
        for field in proto.fields(root):
            child = proto.message(field.data, _NODE_ELEMENT) if field.id == _ELEMENT_CHILD else b""
            if child and proto.message(child, _ELEMENT_NAME).decode() in _CHILDREN:
                yield _proto_element(child, proto)
    except IndexError:
        raise MalformedFile(f"has a damaged {_BUNDLE_MANIFEST}: it ends in the middle of a field.") from None
    except ValueError:
        raise MalformedFile(f"has a {_BUNDLE_MANIFEST} that is not aapt2's protobuf XML.") from None


def _proto_element(data: bytes, proto: _ProtoReader) -> Element:
    attributes: dict[str, Value] = {}
    for each in proto.fields(data):
        if each.id != _ELEMENT_ATTRIBUTE:
            continue
        found = proto.pick(each.data, _NAMESPACE, _NAME, _TEXT, _RESOURCE_ID, _ITEM)
        namespace, name = (found[id_].data.decode("utf-8", "replace") for id_ in (_NAMESPACE, _NAME))
        value = _proto_value(found[_ITEM].data, proto)
        if key := _attribute_name(found[_RESOURCE_ID].number, namespace, name):
            attributes[key] = found[_TEXT].data.decode() if value is None else value
    return proto.message(data, _ELEMENT_NAME).decode(), attributes


def _proto_value(item: bytes, proto: _ProtoReader) -> Value | None:
    """The compiled value, or None when it is of a kind that only its text can tell."""
    for field in proto.fields(item):
        if field.id == _ITEM_REFERENCE:
            return ResourceReference(proto.pick(field.data, _REFERENCE_ID)[_REFERENCE_ID].number)
        if field.id == _ITEM_STRING:
            return proto.message(field.data, _STRING_VALUE).decode()
        if field.id == _ITEM_PRIMITIVE:
            # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
            numbers = [each.number for each in proto.fields(field.data) if each.id in _PRIMITIVE_INTEGERS]
            return numbers[-1] & 0xFFFFFFFF if numbers else None
    return None


class _ProtoReader:
    """Reads protobuf messages field by field, and no more fields in all than any manifest has.

    A message that ends in the middle of a field raises IndexError; what is no protobuf raises ValueError.
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
            kind = key & 7
            if kind == _VARINT:
                number, at = _varint(data, at)
                yield _Field(key >> 3, number)
                continue
            length, at = _varint(data, at) if kind == _BYTES else ({_FIXED64: 8, _FIXED32: 4}.get(kind, -1), at)
            if length < 0:
                raise ValueError(kind)
            if at + length > len(data):
                raise IndexError(at)
            yield _Field(key >> 3, data=data[at : at + length])
            at += length

    def pick(self, data: bytes, *wanted: int) -> dict[int, _Field]:
        """The last field of each wanted id, as protobuf has it, or an empty one; no others are held."""
        found = {id_: _Field(id_) for id_ in wanted}
        for field in self.fields(data):
            if field.id in found:
                found[field.id] = field
        return found

    def message(self, data: bytes, *path: int) -> bytes:
        """The message or text that the ids lead to, from one message into the next; empty where there is none."""
        for wanted in path:
            data = self.pick(data, wanted)[wanted].data
        return data


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # ten bytes carry 64 bits; more is no protobuf
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise IndexError(at)
