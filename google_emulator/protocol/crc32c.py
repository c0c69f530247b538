"""CRC-32C (Castagnoli, RFC 3720 appendix B.4): Cloud Storage puts it into every object, and its client insists on it.

A block is folded in half again and again: a CRC is linear, so the first half, multiplied by the power of x that its
place is worth, can be added to the second. `bytes.translate` multiplies all words of a block at once.
"""

from __future__ import annotations

from functools import lru_cache

POLYNOMIAL = 0x82F63B78  # reflected
FOLDED = 256 * 1024  # bytes; a power of two


def _byte_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)  # noqa: PLW2901 - eight steps of a shift register
        table.append(value)
    return table


_BYTES = _byte_table()


class Crc32c:
    """A running checksum with the face of a `hashlib` object."""

    def __init__(self) -> None:
        self._state = 0xFFFFFFFF

    def update(self, data: memoryview | bytes) -> None:
        """Takes more bytes in."""
        view = memoryview(data)
        while len(view) >= FOLDED:
            self._plain(_fold(bytes(view[:FOLDED]), self._state), fresh=True)
            view = view[FOLDED:]
        self._plain(bytes(view), fresh=False)

    def _plain(self, data: bytes, *, fresh: bool) -> None:
        state = 0 if fresh else self._state
        for byte in data:
            state = state >> 8 ^ _BYTES[(state ^ byte) & 0xFF]
        self._state = state

    def digest(self) -> bytes:
        """The checksum as four bytes, most significant first."""
        return (self._state ^ 0xFFFFFFFF).to_bytes(4, "big")

    def hexdigest(self) -> str:
        """The checksum in hexadecimal."""
        return self.digest().hex()


def _fold(data: bytes, state: int) -> bytes:
    """Four bytes with the same remainder as `data` preceded by `state`."""
    planes = [int.from_bytes(data[index::4], "big") for index in range(4)]
    words = len(data) // 4
    for index, byte in enumerate(state.to_bytes(4, "little")):
        planes[index] ^= byte << 8 * (words - 1)
    while words > 1:
        words //= 2
        tables = _tables(words * 4)
        first = [(plane >> 8 * words).to_bytes(words, "big") for plane in planes]
        mask = (1 << 8 * words) - 1
        planes = [plane & mask for plane in planes]
        for index, part in enumerate(first):
            for other in range(4):
                planes[other] ^= int.from_bytes(part.translate(tables[index][other]), "big")
    return bytes(planes)


@lru_cache(maxsize=32)
def _tables(size: int) -> list[list[bytes]]:
    """For each byte of a word, the four bytes of what it becomes when `size` bytes of zeros follow it."""
    matrix = _zeros(size)
    tables = []
    for index in range(4):
        moved = [_times(matrix, value << 8 * index) for value in range(256)]
        tables.append([bytes(word >> 8 * other & 0xFF for word in moved) for other in range(4)])
    return tables


@lru_cache(maxsize=32)
def _zeros(size: int) -> tuple[int, ...]:
    """The effect of `size` (a power of two) bytes of zeros on each of the 32 bits of a state."""
    if size == 1:
        return tuple(_BYTES[1 << bit] if bit < 8 else 1 << bit - 8 for bit in range(32))
    half = _zeros(size // 2)
    return tuple(_times(half, column) for column in half)


def _times(matrix: tuple[int, ...], word: int) -> int:
    result = 0
    for column in matrix:
        if word & 1:
            result ^= column
        word >>= 1
    return result
