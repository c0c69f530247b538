"""Reads protobuf messages field by field, without their descriptions
(protobuf.dev/programming-guides/encoding).

The bytes are untrusted: the fields of a document are counted, and nothing is copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

# types on the wire
_VARINT = 0
_BYTES = 2
_FIXED = {1: 8, 5: 4}  # the length in bytes by the type


class Field(NamedTuple):
    """One field of a message: its number in the description, and its content, which is a number or
    bytes; the other of the two is empty. A number of fixed length is given as both.
    """

    id: int = 0
    number: int = 0
    data: memoryview = memoryview(b"")


ABSENT = Field()


class ProtoReader:
    """Reads messages, and no more than `max_fields` fields in all.

    Raises LookupError or ValueError for damaged messages, and for one field too many.
    """

    def __init__(self, max_fields: int) -> None:
        self._max_fields = max_fields
        self._left = max_fields

    def fields(self, data: memoryview) -> Iterator[Field]:
        """Read every field of a message."""
        offset = 0
        while offset < len(data):
            self._left -= 1
            if self._left < 0:
                raise ValueError(self._max_fields)
            # Nearly all keys and lengths are numbers of one byte.
            key = data[offset]
            offset += 1
            if key & 0x80:
                key, offset = varint(data, offset - 1)
            field_id = key >> 3
            wire_type = key & 7
            if wire_type == _VARINT:
                number, offset = varint(data, offset)
                yield Field(field_id, number)
                continue
            if wire_type == _BYTES:
                length = data[offset]
                offset += 1
                if length & 0x80:
                    length, offset = varint(data, offset - 1)
            else:
                length = _FIXED[wire_type]
            end = offset + length
            if end > len(data):
                raise IndexError(offset)
            content = data[offset:end]
            number = 0
            if wire_type != _BYTES:
                number = int.from_bytes(content, "little")
            yield Field(field_id, number, content)
            offset = end

    def message(self, data: memoryview) -> defaultdict[int, Field]:
        """Read the fields by id. The last one of an id counts, as in protobuf, and an absent one is
        empty.
        """
        fields: defaultdict[int, Field] = defaultdict(Field)
        for field in self.fields(data):
            fields[field.id] = field
        return fields


def varint(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset behind it."""
    value = 0
    # Ten bytes carry 64 bits, and more is no protobuf.
    for shift in range(0, 70, 7):
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
    raise IndexError(offset)
