"""The resource table of a bundle, in protocol buffers (aapt2's Resources.proto), rewritten as the
binary table of an APK (ResourceTypes.h).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from google_emulator.http.response import Json
from google_emulator.services.play.artifact_files import proto_fields
from google_emulator.services.play.binary_xml import read_primitive
from google_emulator.specimens.manifests import chunk, string_pool

_TABLE, _PACKAGE, _TYPE, _TYPE_SPEC, _LIBRARY = 0x0002, 0x0200, 0x0201, 0x0202, 0x0203
_POOL = 0x0001
_REFERENCE, _ATTRIBUTE, _STRING, _DECIMAL, _BOOLEAN = 0x01, 0x02, 0x03, 0x10, 0x12
_NONE = 0xFFFFFFFF
_COMPLEX = 0x0001  # the flag of an entry that has items
# the package id of an app; the package of a feature has another id, and a library chunk
_APP = 0x7F
_BAG = 0x01000000  # keys of items that are not attributes begin here
_PLURALS = (5, 6, 7, 8, 9, 4)  # zero, one, two, few, many, other
_LOWEST, _HIGHEST = 0x80000000, 0x7FFFFFFF


@dataclass(frozen=True)
class Styled:
    """A text with tags: the name of each, and the offsets of its first and last character."""

    text: str
    spans: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Bag:
    """A value of several items: a style, an array, plurals or an attribute."""

    parent: int
    items: tuple[tuple[int, Item], ...]


Item: TypeAlias = str | Styled | tuple[int, int]
Value: TypeAlias = Item | Bag


@dataclass(frozen=True)
class Record:
    """One value of a resource. `configuration` says for which devices (ResTable_config without its
    size).
    """

    resource: int
    package: str
    type: str
    name: str
    configuration: bytes
    value: Value


def read_proto_table(
    table: bytes,
) -> Iterator[tuple[str, list[tuple[Record, dict[int, list[Json]]]]]]:
    """Yield for each resource its type and its values, each with the fields of its configuration.
    Raises one of `artifact_files.MALFORMED`.
    """
    for package in map(proto_fields, proto_fields(table).get(2, [])):
        package_id, package_name = _id(package), _text(package, 2)
        for kind in map(proto_fields, package.get(3, [])):
            type_name = _text(kind, 2)
            if type_name in ("styleable", "macro"):
                continue
            first = package_id << 24 | _id(kind) << 16
            for entry in map(proto_fields, kind.get(3, [])):
                values = []
                for config_value in map(proto_fields, entry.get(6, [])):
                    fields = proto_fields(_last(config_value, 1, b""))
                    record = Record(
                        first | _id(entry),
                        package_name,
                        type_name,
                        _text(entry, 2),
                        _configuration(fields),
                        _value(proto_fields(_last(config_value, 2, b""))),
                    )
                    values.append((record, fields))
                yield type_name, values


def changed_record(record: Record) -> Record:
    """Return the record with a different value."""
    value = record.value
    if isinstance(value, str):
        return replace(record, value=value[:-1] + ("?" if value.endswith("!") else "!"))
    if isinstance(value, Styled):
        return replace(record, value=replace(value, text=f"{value.text}!"))
    if isinstance(value, Bag):
        return replace(record, value=replace(value, parent=value.parent ^ 1))
    kind, data = value
    return replace(record, value=(kind, data ^ 1))


def next_resource(records: Iterable[Record], type_name: str) -> int:
    """Return the id of a resource of this type that is added to the app's own package."""
    own = [record for record in records if record.resource >> 24 == _APP]
    numbers = [record.resource for record in own if record.type == type_name]
    if numbers:
        return max(numbers) + 1
    types = [record.resource >> 16 & 0xFF for record in own]
    return _APP << 24 | (max(types, default=0) + 1) << 16


# Reading the protocol buffers


def _last(fields: Mapping[int, list[Json]], key: int, default: Json) -> Json:
    return fields.get(key, [default])[-1]


def _text(fields: Mapping[int, list[Json]], key: int) -> str:
    return str(_last(fields, key, b"").decode())


def _id(fields: Mapping[int, list[Json]]) -> int:
    """Return the id in the first field, which is a message."""
    return int(_last(proto_fields(_last(fields, 1, b"")), 1, 0))


def _target(data: bytes) -> int:
    return int(_last(proto_fields(data), 2, 0))


def _value(fields: Mapping[int, list[Json]]) -> Value:
    if 4 in fields:
        return _item(proto_fields(fields[4][-1]))
    compound = proto_fields(_last(fields, 5, b""))
    if 1 in compound:
        return _attribute(proto_fields(compound[1][-1]))
    if 2 in compound:
        return _style(proto_fields(compound[2][-1]))
    if 4 in compound:
        elements = [
            proto_fields(element)
            for element in proto_fields(compound[4][-1]).get(1, [])
        ]
        items = [_item(proto_fields(_last(element, 3, b""))) for element in elements]
        return Bag(0, tuple(enumerate(items, _BAG + 1)))
    elements = [
        proto_fields(element) for element in proto_fields(compound[5][-1]).get(1, [])
    ]
    return Bag(
        0,
        tuple(
            (
                _BAG + _PLURALS[_last(element, 3, 0)],
                _item(proto_fields(_last(element, 4, b""))),
            )
            for element in elements
        ),
    )


def _item(fields: Mapping[int, list[Json]]) -> Item:
    for key in (2, 3, 5):  # a string, a raw string, a file
        if key in fields:
            return _text(proto_fields(fields[key][-1]), 1)
    if 1 in fields:
        is_attribute = _last(proto_fields(fields[1][-1]), 1, 0)
        return (_ATTRIBUTE if is_attribute else _REFERENCE), _target(fields[1][-1])
    if 4 in fields:
        styled = proto_fields(fields[4][-1])
        spans = [proto_fields(span) for span in styled.get(2, [])]
        places = [
            (_text(span, 1), _last(span, 2, 0), _last(span, 3, 0)) for span in spans
        ]
        return Styled(_text(styled, 1), tuple(places)) if places else _text(styled, 1)
    if 7 in fields:
        return read_primitive(proto_fields(fields[7][-1]))
    return _BOOLEAN, 0  # an id


def _attribute(fields: Mapping[int, list[Json]]) -> Bag:
    items: list[tuple[int, Item]] = [(_BAG, (_DECIMAL, _last(fields, 1, 0)))]
    for key, default in ((2, _LOWEST), (3, _HIGHEST)):
        limit = _last(fields, key, 0) & _NONE
        if limit != default:
            items.append((_BAG + key - 1, (_DECIMAL, limit)))
    for symbol in map(proto_fields, fields.get(4, [])):
        kind = _last(symbol, 5, 0) or _DECIMAL
        items.append((_target(_last(symbol, 3, b"")), (kind, _last(symbol, 4, 0))))
    return Bag(0, tuple(items))


def _style(fields: Mapping[int, list[Json]]) -> Bag:
    entries = [proto_fields(entry) for entry in fields.get(3, [])]
    items = [
        (_target(_last(entry, 3, b"")), _item(proto_fields(_last(entry, 4, b""))))
        for entry in entries
    ]
    return Bag(
        _target(_last(fields, 1, b"")), tuple(sorted(items, key=lambda item: item[0]))
    )


def _configuration(fields: Mapping[int, list[Json]]) -> bytes:
    """Return a ResTable_config without its size."""

    def at(key: int) -> int:
        return int(_last(fields, key, 0))

    def opposite(key: int) -> int:
        """Return a choice for which the two encodings number yes and no in opposite order."""
        return (0, 2, 1, 3)[at(key)]

    language, script, region, variant = "", "", "", ""
    for index, part in enumerate(_text(fields, 3).split("-")):
        if not index:
            language = part.lower()
        elif len(part) == 4 and part.isalpha():
            script = part.title()
        elif len(part) < 4:
            region = part.upper()
        else:
            variant = part.lower()
    return struct.pack(
        "<2H2s2s2BH4B2H2H2BH2H4s8s2B14x",
        *(at(1), at(2), _packed(language, "a"), _packed(region, "0")),
        *(
            at(15),
            at(19),
            at(18),
            at(21),
            at(23),
            opposite(20) | opposite(22) << 2,
            at(26),
        ),
        *(at(5), at(6), at(24), at(27)),
        *(at(10) | opposite(11) << 4 | at(4) << 6, at(16) | opposite(17) << 4),
        *(at(9), at(7), at(8), script.encode(), variant.encode()),
        *(opposite(12), opposite(13) | opposite(14) << 2),
    )


def _packed(letters: str, first: str) -> bytes:
    """Return a language or a region in two bytes; three letters take five bits each."""
    if len(letters) < 3:
        return letters.encode()
    numbers = [ord(letter) - ord(first) for letter in letters]
    return struct.pack(">H", 0x8000 | numbers[2] << 10 | numbers[1] << 5 | numbers[0])


# Writing the binary table


def write_binary_table(records: Sequence[Record]) -> bytes:
    """Return the table as aapt2 writes it into an APK."""
    pool = _ValuePool(records)
    packages: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        packages[record.resource >> 24].append(record)
    body = b"".join(
        _package(identity, own, pool) for identity, own in sorted(packages.items())
    )
    return chunk(_TABLE, struct.pack("<I", len(packages)), pool.written() + body)


class _ValuePool:
    """The texts of all values; those with tags come first."""

    def __init__(self, records: Iterable[Record]) -> None:
        texts: dict[str | Styled, None] = {}
        for record in records:
            for item in _items(record.value):
                if isinstance(item, str | Styled):
                    texts[item] = None
        self._styled = [text for text in texts if isinstance(text, Styled)]
        plain = [text for text in texts if isinstance(text, str)]
        tags = {tag: None for text in self._styled for tag, *_ in text.spans}
        self._strings = [*(text.text for text in self._styled), *plain]
        self._tags = {tag: len(self._strings) + index for index, tag in enumerate(tags)}
        self._strings += tags
        ordered: list[str | Styled] = [*self._styled, *plain]
        self._places = {text: place for place, text in enumerate(ordered)}

    def encoded(self, item: Item) -> bytes:
        """Return an item as a Res_value."""
        kind, data = (
            (_STRING, self._places[item]) if isinstance(item, str | Styled) else item
        )
        return struct.pack("<H2BI", 8, 0, kind, data & _NONE)

    def written(self) -> bytes:
        """Return the chunk of the pool."""
        pool = string_pool(self._strings)
        if not self._styled:
            return pool
        spans = [
            b"".join(
                struct.pack("<3I", self._tags[tag], first, last)
                for tag, first, last in text_spans
            )
            + struct.pack("<I", _NONE)
            for text_spans in (text.spans for text in self._styled)
        ]
        places = [sum(map(len, spans[:index])) for index in range(len(spans))]
        count, _, flags, start, _ = struct.unpack_from("<5I", pool, 8)
        shift = 4 * len(spans)
        header = struct.pack(
            "<5I", count, len(spans), flags, start + shift, len(pool) + shift
        )
        split = 28 + 4 * count
        offsets = pool[28:split] + struct.pack(f"<{len(places)}I", *places)
        ending = struct.pack("<2I", _NONE, _NONE)
        return chunk(_POOL, header, offsets + pool[split:] + b"".join(spans) + ending)


def _items(value: Value) -> list[Item]:
    """Return the items of a value; the value itself if it is a single one."""
    if isinstance(value, Bag):
        return [item for _, item in value.items]
    return [value]


def _package(identity: int, records: Sequence[Record], pool: _ValuePool) -> bytes:
    types: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        types[record.resource >> 16 & 0xFF].append(record)
    names = {
        name: index
        for index, name in enumerate(dict.fromkeys(record.name for record in records))
    }
    type_names = [
        types[index][0].type if index in types else f"?{index}"
        for index in range(1, max(types) + 1)
    ]
    type_pool = string_pool(type_names, utf16=True)
    name_pool = string_pool(list(names))
    package_name = records[0].package.encode("utf-16-le")
    header = struct.pack("<I256s", identity, package_name)
    header += struct.pack("<5I", 288, 0, 288 + len(type_pool), 0, 0)
    body = b"".join(
        _type(index, own, names, pool) for index, own in sorted(types.items())
    )
    if identity != _APP:
        library = struct.pack("<I256s", identity, package_name)
        body += chunk(_LIBRARY, struct.pack("<I", 1), library)
    return chunk(_PACKAGE, header, type_pool + name_pool + body)


def _type(
    identity: int, records: Sequence[Record], names: Mapping[str, int], pool: _ValuePool
) -> bytes:
    count = max(record.resource & 0xFFFF for record in records) + 1
    by_configuration: dict[bytes, list[Record]] = defaultdict(list)
    for record in records:
        by_configuration[record.configuration].append(record)
    header = struct.pack("<2BHI", identity, 0, len(by_configuration), count)
    written = chunk(_TYPE_SPEC, header, bytes(4 * count))
    for configuration, own in sorted(by_configuration.items()):
        offsets = [_NONE] * count
        entries = b""
        for record in own:
            offsets[record.resource & 0xFFFF] = len(entries)
            entries += _entry(record, names[record.name], pool)
        header = struct.pack("<2BH2I", identity, 0, 0, count, 84 + 4 * count)
        header += struct.pack("<I", 64) + configuration
        written += chunk(_TYPE, header, struct.pack(f"<{count}I", *offsets) + entries)
    return written


def _entry(record: Record, name: int, pool: _ValuePool) -> bytes:
    value = record.value
    if not isinstance(value, Bag):
        return struct.pack("<2HI", 8, 0, name) + pool.encoded(value)
    items = b"".join(
        struct.pack("<I", key) + pool.encoded(item) for key, item in value.items
    )
    return (
        struct.pack("<2H3I", 16, _COMPLEX, name, value.parent, len(value.items)) + items
    )
