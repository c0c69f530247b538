"""Walks the skeleton of DER (X.690), in which keys and signatures are written; the bytes may be anybody's.

By hand, since it is a few lines: libraries that read it load far more, and raise what they like for hostile bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

INTEGER, OCTETS, SEQUENCE = 0x02, 0x04, 0x30  # tags


@dataclass(frozen=True)
class DerValue:
    """One value: its tag, its content, and the whole of it."""

    tag: int
    content: bytes
    whole: bytes


def sequence(data: bytes) -> list[DerValue]:
    """The values of a SEQUENCE that is all of the data. Raises ValueError or IndexError."""
    (outer,) = children(data)
    if outer.tag != SEQUENCE:
        raise ValueError(outer.tag)
    return children(outer.content)


def children(data: bytes) -> list[DerValue]:
    """The values that follow one another in the data. Raises ValueError or IndexError."""
    found, at = [], 0
    while at < len(data):
        begin, length, at = at, data[at + 1], at + 2
        if length & 0x80:  # the length of the length; none is indefinite, which DER forbids
            octets = length & 0x7F
            if not 1 <= octets <= 4:
                raise ValueError(octets)
            length, at = int.from_bytes(data[at : at + octets], "big"), at + octets
        if at + length > len(data):
            raise IndexError(at)
        at += length
        found.append(DerValue(data[begin], data[at - length : at], data[begin:at]))
    return found
