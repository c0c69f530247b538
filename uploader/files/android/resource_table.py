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
from typing import NamedTuple, TypeAlias

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
_KNOWN_TYPE_FLAGS = _SPARSE | _SHORT_OFFSETS
_KNOWN_ENTRY_FLAGS = _COMPLEX | _PUBLIC | _WEAK | _COMPACT

_CHUNK = struct.Struct("<2HI")  # kind, size of the header, size
# the whole header of a table and of a list of libraries: a chunk's, then a count
_COUNTED_CHUNK = struct.Struct("<2H2I")
_PACKAGE_HEADER = struct.Struct("<8xI256s5I")
_OLD_PACKAGE_HEADER = struct.Struct("<8xI256s4I")
# id, flags, reserved, count, beginning of the entries
_TYPE_HEADER = struct.Struct("<8x2BH2I")
_SPEC_HEADER = struct.Struct("<8x2BHI")  # id, reserved, count of types, count
_ENTRY = struct.Struct("<2HI")  # size, flags, name
_COMPACT_ENTRY = struct.Struct("<2HI")  # name, flags, data
_COMPLEX_ENTRY = struct.Struct("<2H3I")  # size, flags, name, parent, count
_ITEM = struct.Struct("<IH2BI")  # key, then Res_value
_VALUE = struct.Struct("<H2BI")  # size, zero, type, data
_LIBRARY = struct.Struct("<I256s")
_MAX_CHUNKS = 100_000  # of one table: 255 types for some hundred kinds of devices
_NO_ENTRY = 0xFFFFFFFF
_NO_SHORT_ENTRY = 0xFFFF
_TOO_NEW = "is in a form that Android before API level 34 reads otherwise"
_DAMAGED = (struct.error, LookupError, UnicodeError, ValueError)

_Value: TypeAlias = tuple[Encoded, str | None]
"""An encoded value, and its text if it is a plain one."""


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


class _Chunk(NamedTuple):
    """The kind of a chunk, and the offsets of its beginning and its end."""

    kind: int
    start: int
    end: int


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
        self._texts: dict[int, _Value] = {}
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
        kind, header, size, package_count = _COUNTED_CHUNK.unpack_from(self._data)
        if kind != _TABLE or header != _COUNTED_CHUNK.size:
            raise UnreadableTable("is damaged")
        if size != len(self._data):
            raise UnreadableTable("is damaged")
        # The texts of all values are in one pool, which comes first.
        expected_kind = _POOL
        for kind, start, end in self._chunks(header, size):
            if kind != expected_kind:
                raise UnreadableTable(f"has an unknown part (0x{kind:04x})")
            if kind == _POOL:
                self._pool = StringPool(self._data[start:end])
                expected_kind = _PACKAGE
            else:
                yield from self._package(start, end)
        if len(self.packages) != package_count:
            raise UnreadableTable("is damaged")

    def _chunks(self, start: int, end: int) -> Iterator[_Chunk]:
        """Yield each chunk between two offsets."""
        while start < end:
            self._chunks_left -= 1
            if self._chunks_left < 0:
                raise UnreadableTable(f"has more than {_MAX_CHUNKS:,} parts")
            kind, header, size = _CHUNK.unpack_from(self._data, start)
            if size % 4 or header % 4:
                raise ValueError(size)
            left = end - start
            if not _CHUNK.size <= header <= size <= left:
                raise ValueError(size)
            stop = start + size
            yield _Chunk(kind, start, stop)
            start = stop

    def _package(self, start: int, end: int) -> Iterator[TableValue]:
        """Read a package: the names of its types and of its resources, then the values."""
        package_id, content, types_at, names_at = self._package_header(start)
        chunks = list(self._chunks(content, end))
        pools: dict[int, StringPool] = {}
        for kind, begin, stop in chunks:
            if kind == _POOL:
                distance = begin - start
                pools[distance] = StringPool(self._data[begin:stop])
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
        package = Package(package_id, _package_name(name))
        self.packages.append(package)
        content = start + header
        return package_id, content, types_at, names_at

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
        numbers_end = start + header + 4 * count
        if numbers_end != end:
            raise ValueError(count)
        counts[type_id] = count

    def _header_size(self, start: int) -> int:
        """Return the size of the header of the chunk at an offset, in bytes."""
        _, header, _ = _CHUNK.unpack_from(self._data, start)
        return int(header)

    def _read_libraries(self, start: int, end: int) -> None:
        _, header, _, count = _COUNTED_CHUNK.unpack_from(self._data, start)
        first = start + header
        stop = first + count * _LIBRARY.size
        if header != _COUNTED_CHUNK.size or stop != end:
            raise ValueError(count)
        libraries = self._data[first:stop]
        for package_id, name in _LIBRARY.iter_unpack(libraries):
            library = Package(package_id, _package_name(name))
            self.libraries.append(library)

    def _type(self, start: int) -> _Type:
        """Read the header of a chunk of values."""
        header = self._header_size(start)
        fields = _TYPE_HEADER.unpack_from(self._data, start)
        type_id, flags, reserved, count, entries = fields
        if not type_id or reserved:
            raise ValueError(type_id)
        if flags & ~_KNOWN_TYPE_FLAGS:
            raise UnreadableTable("lists its values in an unknown way")
        is_sparse = bool(flags & _SPARSE)
        if is_sparse and not self._layouts.sparse:
            raise UnreadableTable(
                "is in a form that Android before API level 32 reads otherwise"
            )
        is_short = bool(flags & _SHORT_OFFSETS)
        if is_short and not self._layouts.compact:
            raise UnreadableTable(_TOO_NEW)
        begin = start + _TYPE_HEADER.size
        end = start + header
        (size,) = struct.unpack_from("<I", self._data, begin)
        if size < 28 or begin + size != end:
            raise ValueError(size)
        configuration = self._data[begin + 4 : end]
        known = configuration[:CONFIGURATION_SIZE]
        newer = configuration[CONFIGURATION_SIZE:]
        if any(newer):
            raise UnreadableTable("has values for an unknown kind of device")
        return _Type(
            type_id,
            flags,
            count,
            entries=start + entries,
            configuration=known.ljust(CONFIGURATION_SIZE, b"\0"),
            indices=end,
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
        is_short = bool(chunk.flags & _SHORT_OFFSETS)
        width = 4  # bytes of an index
        if is_short and not is_sparse:
            width = 2
        indices_end = chunk.indices + width * chunk.size
        # Only padding may lie between the indices and the entries.
        gap = chunk.entries - indices_end
        if not 0 <= gap < 4:
            raise ValueError(chunk.size)
        if chunk.entries > end:
            raise ValueError(chunk.size)
        indices = memoryview(self._data)[chunk.indices : indices_end]
        if is_sparse:
            yield from _sparse_offsets(indices)
            return
        if chunk.size > 0x10000:
            raise ValueError(chunk.size)
        if is_short:
            short_offsets = struct.iter_unpack("<H", indices)
            for number, (units,) in enumerate(short_offsets):
                if units != _NO_SHORT_ENTRY:
                    yield number, 4 * units
            return
        offsets = struct.iter_unpack("<I", indices)
        for number, (offset,) in enumerate(offsets):
            if offset != _NO_ENTRY:
                yield number, offset

    def _entry(self, offset: int, end: int) -> _Entry:
        """Read the entry at an offset; its chunk ends at `end`."""
        size, flags, name = _ENTRY.unpack_from(self._data, offset)
        if flags & _COMPACT:
            if not self._layouts.compact:
                raise UnreadableTable(_TOO_NEW)
            name, flags, data = _COMPACT_ENTRY.unpack_from(self._data, offset)
            kind = flags >> 8
            value, text = self._value(kind, data)
            entry = _Entry(name, value, text)
            stop = offset + _COMPACT_ENTRY.size
            return self._check_entry(entry, flags & 0xFF, stop, end)
        if flags & _COMPLEX:
            if size != _COMPLEX_ENTRY.size:
                raise ValueError(size)
            return self._complex_entry(offset, end)
        if size != _ENTRY.size:
            raise ValueError(size)
        value_offset = offset + size
        value_size, zero, kind, data = _VALUE.unpack_from(self._data, value_offset)
        if value_size != _VALUE.size or zero:
            raise ValueError(value_size)
        value, text = self._value(kind, data)
        entry = _Entry(name, value, text)
        stop = value_offset + value_size
        return self._check_entry(entry, flags, stop, end)

    def _complex_entry(self, offset: int, end: int) -> _Entry:
        """Read a style, an array, plurals or an attribute."""
        fields = _COMPLEX_ENTRY.unpack_from(self._data, offset)
        _, flags, name, parent, count = fields
        first = offset + _COMPLEX_ENTRY.size
        stop = first + count * _ITEM.size
        self._items_left -= count
        if self._items_left < 0 or count > MAX_ITEMS_OF_VALUE:
            raise UnreadableTable("has more items than are plausible")
        if stop > end:
            raise ValueError(count)
        keys = []
        items = []
        packed_items = self._data[first:stop]
        for key, size, zero, kind, data in _ITEM.iter_unpack(packed_items):
            if size != _VALUE.size or zero:
                raise ValueError(size)
            item, _ = self._value(kind, data)
            keys.append(key)
            items.append((key, item))
        value = DISORDERED
        if is_in_order(keys):
            value = encode_items(parent, items)
        entry = _Entry(name, value, None)
        return self._check_entry(entry, flags, stop, end)

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
        if flags & ~_KNOWN_ENTRY_FLAGS:
            raise UnreadableTable("has values of an unknown kind")
        return entry

    def _value(self, kind: int, data: int) -> _Value:
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
    text = data.decode("utf-16-le")
    name, _, rest = text.partition("\0")
    if rest.strip("\0"):
        raise ValueError(name)
    return name
