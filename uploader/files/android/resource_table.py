"""Reads the resource table of an APK, `resources.arsc`, value by value.

Reference: ResourceTypes.h of the Android platform (ResTable_header, ResTable_package,
ResTable_typeSpec, ResTable_type, ResTable_config, ResTable_entry, ResTable_map_entry, ResTable_map,
Res_value, ResTable_lib_header).

The bytes are untrusted: values and items are counted, what several entries share is decoded once,
and chunks follow one another without gaps, so that no reader finds other ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from uploader.files.android.resource_values import (
    CONFIGURATION_SIZE,
    DISORDERED,
    MAX_ITEMS,
    MAX_ITEMS_OF_VALUE,
    MAX_VALUES,
    STRING,
    Encoded,
    TableValue,
    UnreadableTable,
    encode_items,
    encode_number,
    encode_styled,
    encode_text,
    is_in_order,
)
from uploader.files.android.string_pool import StringPool

# kinds of chunks
_POOL = 0x0001
_TABLE = 0x0002
_PACKAGE = 0x0200
_TYPE = 0x0201
_TYPE_SPEC = 0x0202
_LIBRARIES = 0x0203
# flags of a type
_SPARSE = 0x01
_SHORT_OFFSETS = 0x02
# flags of an entry
_COMPLEX = 0x0001
_PUBLIC = 0x0002
_WEAK = 0x0004
_COMPACT = 0x0008

_CHUNK = struct.Struct("<2HI")  # kind, size of the header, size
_PACKAGE_HEADER = struct.Struct("<8xI256s5I")
_OLD_PACKAGE_HEADER = struct.Struct("<8xI256s4I")
# id, flags, reserved, count, beginning of the entries
_TYPE_HEADER = struct.Struct("<8x2BH2I")
_SPEC_HEADER = struct.Struct("<8x2BHI")  # id, reserved, count of types, count
_ENTRY = struct.Struct("<2HI")  # size, flags, name
_COMPACT_ENTRY = struct.Struct("<2HI")  # name, flags, data
_MAP = struct.Struct("<2I")  # parent, count
_ITEM = struct.Struct("<IH2BI")  # key, then Res_value
_VALUE = struct.Struct("<H2BI")  # size, zero, type, data
_LIBRARY = struct.Struct("<I256s")
_MAX_CHUNKS = 100_000  # of one table: 255 types for some hundred kinds of devices
_NO_ENTRY = 0xFFFFFFFF
_NO_SHORT_ENTRY = 0xFFFF
_TOO_NEW = "is in a form that Android before API level 34 reads otherwise"
_DAMAGED = (struct.error, LookupError, UnicodeError, ValueError)


class Package(NamedTuple):
    """A package that a table has or refers to."""

    id: int
    name: str


class Layouts(NamedTuple):
    """The newer layouts that a table may use because every device that gets it can read them; older
    devices would misread them. aapt2 writes `sparse` lists for API level 32 and later, `compact`
    entries and short offsets for 34 and later (TableFlattener).
    """

    sparse: bool = False
    compact: bool = False


class _Entry(NamedTuple):
    """One entry of a type: its name, and its value."""

    name: int
    value: Encoded
    text: str | None


class _Type(NamedTuple):
    """A chunk of values for the same configuration, with room for `size` resources. `entries` and
    `indices` are offsets.
    """

    id: int
    flags: int
    size: int
    entries: int
    configuration: bytes
    indices: int


class BinaryTable:
    """The resource table of an APK. `packages` and `libraries` are complete once all values were
    read.

    Raises UnreadableTable.
    """

    def __init__(self, data: bytes, layouts: Layouts) -> None:
        self._data = data
        self._layouts = layouts
        self._values_left = MAX_VALUES
        self._items_left = MAX_ITEMS
        self._chunks_left = _MAX_CHUNKS
        self._texts: dict[int, tuple[Encoded, str | None]] = {}
        self.packages: list[Package] = []
        self.libraries: list[Package] = []

    @property
    def work(self) -> int:
        """How many values, and items within them, were read so far."""
        values = MAX_VALUES - self._values_left
        items = MAX_ITEMS - self._items_left
        return values + items

    def values(self) -> Iterator[TableValue]:
        """Read every value."""
        try:
            yield from self._values()
        except _DAMAGED:
            raise UnreadableTable("is damaged") from None

    def _values(self) -> Iterator[TableValue]:
        kind, header, size = _CHUNK.unpack_from(self._data)
        if kind != _TABLE or header != 12 or size != len(self._data):
            raise UnreadableTable("is damaged")
        (packages,) = struct.unpack_from("<I", self._data, 8)
        is_first = True
        for kind, start, end in self._chunks(header, size):
            if is_first and kind == _POOL:
                self._pool = StringPool(self._data[start:end])
            elif not is_first and kind == _PACKAGE:
                yield from self._package(start, end)
            else:
                raise UnreadableTable(f"has an unknown part (0x{kind:04x})")
            is_first = False
        if len(self.packages) != packages:
            raise UnreadableTable("is damaged")

    def _chunks(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the kind of each chunk between two offsets, and where it begins and ends."""
        while start < end:
            self._chunks_left -= 1
            if self._chunks_left < 0:
                raise UnreadableTable(f"has more than {_MAX_CHUNKS:,} parts")
            kind, header, size = _CHUNK.unpack_from(self._data, start)
            if not 8 <= header <= size <= end - start or size % 4 or header % 4:
                raise ValueError(size)
            yield kind, start, start + size
            start += size

    def _package(self, start: int, end: int) -> Iterator[TableValue]:
        """Read a package: the names of its types and of its resources, then the values."""
        package_id, content, types_at, names_at = self._package_header(start)
        chunks = list(self._chunks(content, end))
        pools: dict[int, StringPool] = {}
        for kind, begin, stop in chunks:
            if kind == _POOL:
                pools[begin - start] = StringPool(self._data[begin:stop])
        if pools.keys() != {types_at, names_at}:
            raise ValueError(names_at)
        type_names = pools[types_at]
        names = pools[names_at]
        counts: dict[int, int] = {}
        for kind, begin, stop in chunks:
            if kind == _TYPE:
                chunk = self._type(begin)
                type_name = type_names[chunk.id - 1]
                first = package_id << 24 | chunk.id << 16
                for number, entry in self._entries(chunk, stop):
                    # Android finds no entry beyond those that were announced.
                    if number >= counts[chunk.id]:
                        raise ValueError(number)
                    yield TableValue(
                        first | number,
                        type_name,
                        names[entry.name],
                        chunk.configuration,
                        entry.value,
                        entry.text,
                    )
            elif kind == _TYPE_SPEC:
                self._read_spec(begin, stop, counts)
            elif kind == _LIBRARIES:
                self._read_libraries(begin, stop)
            elif kind != _POOL:
                raise UnreadableTable(f"has an unknown part (0x{kind:04x})")

    def _package_header(self, start: int) -> tuple[int, int, int, int]:
        """Return the id of a package, where its content begins, and how far behind `start` the
        names of the types and of the resources are.
        """
        header = self._header_size(start)
        layout = _PACKAGE_HEADER
        if header < layout.size:
            layout = _OLD_PACKAGE_HEADER
        if header != layout.size:
            raise ValueError(header)
        fields = layout.unpack_from(self._data, start)
        package_id, name, types_at, _, names_at, _, *type_offset = fields
        if any(type_offset):
            raise UnreadableTable("numbers its types in an unknown way")
        if not 0 <= package_id <= 0xFF:
            raise ValueError(package_id)
        self.packages.append(Package(package_id, _package_name(name)))
        return package_id, start + header, types_at, names_at

    def _read_spec(
        self,
        start: int,
        end: int,
        counts: dict[int, int],
    ) -> None:
        """Read how many resources a type has. The rest of the chunk is skipped: it only says after
        which changes of a device Android has to look for a resource again.
        """
        type_id, zero, _, count = _SPEC_HEADER.unpack_from(self._data, start)
        if not type_id or type_id in counts or zero:
            raise ValueError(type_id)
        # With a longer header Android would look for the numbers elsewhere.
        header = self._header_size(start)
        if header != _SPEC_HEADER.size:
            raise ValueError(header)
        if end - start != _SPEC_HEADER.size + 4 * count:
            raise ValueError(count)
        counts[type_id] = count

    def _header_size(self, start: int) -> int:
        """Return the size of the header of the chunk at an offset, in bytes."""
        _, header, _ = _CHUNK.unpack_from(self._data, start)
        return int(header)

    def _read_libraries(self, start: int, end: int) -> None:
        header = self._header_size(start)
        (count,) = struct.unpack_from("<I", self._data, start + 8)
        if header != 12 or end - start != header + count * _LIBRARY.size:
            raise ValueError(count)
        for offset in range(start + header, end, _LIBRARY.size):
            package_id, name = _LIBRARY.unpack_from(self._data, offset)
            self.libraries.append(Package(package_id, _package_name(name)))

    def _type(self, start: int) -> _Type:
        """Read the header of a chunk of values."""
        header = self._header_size(start)
        fields = _TYPE_HEADER.unpack_from(self._data, start)
        type_id, flags, reserved, count, entries = fields
        if not type_id or reserved:
            raise ValueError(type_id)
        if flags & ~(_SPARSE | _SHORT_OFFSETS):
            raise UnreadableTable("lists its values in an unknown way")
        if flags & _SPARSE and not self._layouts.sparse:
            raise UnreadableTable(
                "is in a form that Android before API level 32 reads otherwise"
            )
        if flags & _SHORT_OFFSETS and not self._layouts.compact:
            raise UnreadableTable(_TOO_NEW)
        begin = start + _TYPE_HEADER.size
        (size,) = struct.unpack_from("<I", self._data, begin)
        if size < 28 or size != header - _TYPE_HEADER.size:
            raise ValueError(size)
        configuration = self._data[begin + 4 : begin + size]
        known = configuration[:CONFIGURATION_SIZE].ljust(CONFIGURATION_SIZE, b"\0")
        newer = configuration[CONFIGURATION_SIZE:]
        if any(newer):
            raise UnreadableTable("has values for an unknown kind of device")
        return _Type(
            type_id,
            flags,
            count,
            entries=start + entries,
            configuration=known,
            indices=start + header,
        )

    def _entries(self, chunk: _Type, end: int) -> Iterator[tuple[int, _Entry]]:
        """Read the values of one chunk, each with the number of its resource."""
        shared: dict[int, _Entry] = {}
        for number, distance in self._offsets(chunk, end):
            self._values_left -= 1
            if self._values_left < 0:
                raise UnreadableTable(f"has more than {MAX_VALUES:,} values")
            if distance not in shared:
                offset = chunk.entries + distance
                if distance % 4 or offset >= end:
                    raise ValueError(distance)
                shared[distance] = self._entry(offset, end)
            yield number, shared[distance]

    def _offsets(self, chunk: _Type, end: int) -> Iterator[tuple[int, int]]:
        """Yield the number of each entry that has a value, and how far behind the first entry it
        begins.
        """
        is_sparse = bool(chunk.flags & _SPARSE)
        is_short = bool(chunk.flags & _SHORT_OFFSETS) and not is_sparse
        width = 4  # bytes of an index
        if is_short:
            width = 2
        indices_end = chunk.indices + width * chunk.size
        # Only padding may lie between the indices and the entries.
        if not 0 <= chunk.entries - indices_end < 4 or chunk.entries > end:
            raise ValueError(chunk.size)
        indices = memoryview(self._data)[chunk.indices : indices_end]
        if is_sparse:
            yield from _sparse_offsets(indices)
            return
        if chunk.size > 0x10000:
            raise ValueError(chunk.size)
        if is_short:
            for number, (units,) in enumerate(struct.iter_unpack("<H", indices)):
                if units != _NO_SHORT_ENTRY:
                    yield number, 4 * units
            return
        for number, (offset,) in enumerate(struct.iter_unpack("<I", indices)):
            if offset != _NO_ENTRY:
                yield number, offset

    def _entry(self, offset: int, end: int) -> _Entry:
        """Read the entry at an offset; its chunk ends at `end`."""
        size, flags, name = _ENTRY.unpack_from(self._data, offset)
        if flags & _COMPACT:
            if not self._layouts.compact:
                raise UnreadableTable(_TOO_NEW)
            name, flags, data = _COMPACT_ENTRY.unpack_from(self._data, offset)
            value, text = self._value(flags >> 8, data)
            stop = offset + _COMPACT_ENTRY.size
            return self._check_entry(
                _Entry(name, value, text),
                flags & 0xFF,
                stop,
                end,
            )
        if flags & _COMPLEX:
            if size != _ENTRY.size + _MAP.size:
                raise ValueError(size)
            return self._complex_entry(offset, end, name, flags)
        if size != _ENTRY.size:
            raise ValueError(size)
        value_size, zero, kind, data = _VALUE.unpack_from(self._data, offset + size)
        if value_size != _VALUE.size or zero:
            raise ValueError(value_size)
        value, text = self._value(kind, data)
        stop = offset + size + value_size
        return self._check_entry(_Entry(name, value, text), flags, stop, end)

    def _complex_entry(
        self,
        offset: int,
        end: int,
        name: int,
        flags: int,
    ) -> _Entry:
        """Read a style, an array, plurals or an attribute."""
        parent, count = _MAP.unpack_from(self._data, offset + _ENTRY.size)
        first = offset + _ENTRY.size + _MAP.size
        stop = first + count * _ITEM.size
        self._items_left -= count
        if self._items_left < 0 or count > MAX_ITEMS_OF_VALUE:
            raise UnreadableTable("has more items than are plausible")
        if stop > end:
            raise ValueError(count)
        keys = []
        items = []
        for key, size, zero, kind, data in _ITEM.iter_unpack(self._data[first:stop]):
            if size != _VALUE.size or zero:
                raise ValueError(size)
            item, _ = self._value(kind, data)
            keys.append(key)
            items.append((key, item))
        value = DISORDERED
        if is_in_order(keys):
            value = encode_items(parent, items)
        return self._check_entry(_Entry(name, value, None), flags, stop, end)

    def _check_entry(
        self,
        entry: _Entry,
        flags: int,
        stop: int,
        end: int,
    ) -> _Entry:
        """Return an entry that ends within its chunk and has no unknown flags."""
        if stop > end:
            raise ValueError(stop)
        if flags & ~(_COMPLEX | _PUBLIC | _WEAK | _COMPACT):
            raise UnreadableTable("has values of an unknown kind")
        return entry

    def _value(self, kind: int, data: int) -> tuple[Encoded, str | None]:
        """Return a value, encoded, and its text if it is a plain one."""
        if kind != STRING:
            return encode_number(kind, data), None
        if data not in self._texts:
            text = self._pool[data]
            spans = self._pool.spans(data)
            if spans:
                self._texts[data] = encode_styled(text, spans), None
            else:
                self._texts[data] = encode_text(text), text
        return self._texts[data]


def _sparse_offsets(indices: memoryview) -> Iterator[tuple[int, int]]:
    """Yield what `_offsets` does, from a sparse list."""
    last_number = -1
    for number, units in struct.iter_unpack("<2H", indices):
        # Android searches it as a sorted list.
        if number <= last_number:
            raise ValueError(number)
        last_number = number
        yield number, 4 * units


def _package_name(data: bytes) -> str:
    """Decode a name in UTF-16 that ends with a zero; only zeros may follow."""
    name, _, rest = data.decode("utf-16-le").partition("\0")
    if rest.strip("\0"):
        raise ValueError(name)
    return name
