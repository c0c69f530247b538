"""Bundles, and the APKs that Google Play would make of them: small, with manifests in both
encodings from one description.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace

from google_emulator.specimens.manifests import field, number, varint
from uploader.files.android.compiled_xml import Element

PACKAGE = "com.example.app"
NAME = "0x01010003"
VALUE = "0x01010024"
VERSION_CODE = "0x0101021b"
ANDROID = "http://schemas.android.com/apk/res/android"
_NONE = 0xFFFFFFFF
# The names of the attributes that bundletool writes; others are called by their ids here.
_NAMES = {
    NAME: "name",
    VALUE: "value",
    VERSION_CODE: "versionCode",
    "0x0101021c": "versionName",
    "0x0101000c": "hasCode",
    "0x01010010": "exported",
    "0x01010018": "authorities",
    "0x0101020c": "minSdkVersion",
    "0x010104ea": "extractNativeLibs",
    "0x0101055b": "isFeatureSplit",
    "0x0101064e": "requiredSplitTypes",
    "0x0101064f": "splitTypes",
}
_KINDS = {"10": 6, "11": 7, "12": 8}  # fields of a primitive by the type of the value


@dataclass(frozen=True)
class File:
    """A file to compare, in memory."""

    name: str
    data: bytes

    def reader(self) -> io.BufferedReader:
        """Open it."""
        return io.BufferedReader(io.BytesIO(self.data))

    def with_entries(self, entries: Mapping[str, bytes | None]) -> File:
        """The zip with these entries instead; None leaves one out."""
        with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
            before = {name: archive.read(name) for name in archive.namelist()}
        after = {**before, **entries}
        return replace(
            self, data=make_zip({k: v for k, v in after.items() if v is not None})
        )


FEATURE_MARK = {"0x0101055b": "12:00000001"}  # isFeatureSplit, as aapt2 writes true


def make_zip(entries: Mapping[str, bytes]) -> bytes:
    """A zip of these entries."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in entries.items():
            writer.writestr(name, content)
    return made.getvalue()


def manifest(*components: Element, **attributes: str) -> Element:
    """A manifest of version 42 whose application has these components."""
    own = {"package": f"text:{PACKAGE}", VERSION_CODE: "10:0000002a", **attributes}
    return Element("manifest", own, [Element("application", {}, list(components))])


def component(kind: str, name: str, **attributes: str) -> Element:
    """An activity or another component, or a <meta-data>."""
    return Element(kind, {NAME: f"text:{name}", **attributes})


def bundle(
    modules: Mapping[str, Element], entries: Mapping[str, bytes], name: str = "app.aab"
) -> File:
    """A bundle of these modules."""
    files = {"BundleConfig.pb": field(1, field(2, b"1.18.0"))}
    for module, root in modules.items():
        files[f"{module}/manifest/AndroidManifest.xml"] = proto_xml(root)
    return File(name, make_zip({**files, **entries}))


def apk(name: str, root: Element, entries: Mapping[str, bytes]) -> File:
    """An APK, not signed."""
    return File(name, make_zip({"AndroidManifest.xml": binary_xml(root), **entries}))


def proto_xml(element: Element) -> bytes:
    """An element in aapt2's protobuf XML."""
    written = field(3, element.name.encode())
    for key, value in element.attributes.items():
        kind, _, content = value.partition(":")
        if kind == "text":
            item = field(2, field(1, content.encode()))
        elif kind == "01":
            item = field(1, number(2, int(content, 16)))
        else:
            item = field(7, number(_KINDS[kind], int(content, 16)))
        uri, local = _split(key)
        named = field(1, uri.encode()) + field(2, _NAMES.get(local, local).encode())
        if key.startswith("0x"):
            named += varint(5 << 3) + varint(int(key, 16))
        written += field(4, named + field(6, item))
    for child in element.children:
        written += field(5, proto_xml(child))
    if element.text:
        written += field(5, field(2, element.text.encode()))
    return field(1, written)


def binary_xml(element: Element) -> bytes:
    """An element in Android's binary XML."""
    ids: dict[str, None] = {}
    texts: dict[str, None] = {}
    _collect(element, ids, texts)
    keys = [*ids, *texts]
    places = {text: place for place, text in enumerate(keys)}
    strings = [_NAMES.get(key, key) for key in ids] + list(texts)
    encoded = [_utf16(text) for text in strings]
    offsets = [sum(map(len, encoded[:place])) for place in range(len(encoded))]
    body = b"".join(encoded)
    body += bytes(-len(body) % 4)
    header = struct.pack("<5I", len(strings), 0, 0, 28 + 4 * len(strings), 0)
    pool = _chunk(1, header, struct.pack(f"<{len(offsets)}I", *offsets) + body)
    resource_ids = struct.pack(f"<{len(ids)}I", *(int(key, 16) for key in ids))
    return _chunk(
        3, b"", pool + _chunk(0x180, b"", resource_ids) + _written(element, places)
    )


def _split(key: str) -> tuple[str, str]:
    """The namespace of an attribute, and its name there."""
    if key.startswith("0x"):
        return ANDROID, key
    uri, _, local = key.rpartition("}")
    return uri.removeprefix("{"), local


def _collect(element: Element, ids: dict[str, None], texts: dict[str, None]) -> None:
    texts[element.name] = None
    texts[ANDROID] = None
    for key, value in element.attributes.items():
        uri, local = _split(key)
        (ids if key.startswith("0x") else texts)[local] = None
        if uri:
            texts[uri] = None
        if value.startswith("text:"):
            texts[value.removeprefix("text:")] = None
    if element.text:
        texts[element.text] = None
    for child in element.children:
        _collect(child, ids, texts)


def _written(element: Element, places: Mapping[str, int]) -> bytes:
    attributes = b""
    # those with ids come first, in the order of their ids
    keys = sorted(
        element.attributes, key=lambda key: (not key.startswith("0x"), *_split(key))
    )
    for key in keys:
        value = element.attributes[key]
        kind, _, content = value.partition(":")
        data = places[content] if kind == "text" else int(content, 16)
        if kind == "12" and data:
            data = _NONE  # all bits are set in what is true
        number_of_kind = 3 if kind == "text" else int(kind, 16)
        uri, local = _split(key)
        space = places[uri] if uri else _NONE
        raw = data if kind == "text" else _NONE
        attributes += struct.pack(
            "<3IHBBI", space, places[local], raw, 8, 0, number_of_kind, data
        )
    place = places[element.name]
    start = struct.pack("<2I6H", _NONE, place, 20, 20, len(element.attributes), 0, 0, 0)
    inner = b"".join(_written(child, places) for child in element.children)
    if element.text:
        inner += _event(0x104, struct.pack("<IHBBI", places[element.text], 8, 0, 3, 0))
    end = _event(0x103, struct.pack("<2I", _NONE, place))
    return _event(0x102, start + attributes) + inner + end


def _event(kind: int, body: bytes) -> bytes:
    return _chunk(kind, struct.pack("<2I", 1, _NONE), body)


def _chunk(kind: int, header: bytes, body: bytes) -> bytes:
    return (
        struct.pack("<2HI", kind, 8 + len(header), 8 + len(header) + len(body))
        + header
        + body
    )


def _utf16(text: str) -> bytes:
    data = text.encode("utf-16-le")
    return struct.pack("<H", len(data) // 2) + data + b"\0\0"


BUNDLE = bundle({"base": manifest()}, {"base/dex/classes.dex": b"dex"})
"""The smallest bundle with code in it."""
APK = apk("app.apk", manifest(), {"classes.dex": b"dex"})
"""The APK of it."""
