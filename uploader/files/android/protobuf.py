"""Reads protobuf messages field by field, bounded by their bytes: less than a generated module and a runtime would be.

Wire format: protobuf.dev, "Encoding". A message that ends in the middle of a field raises IndexError, one that is no
protobuf raises ValueError; the caller says whose message it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
