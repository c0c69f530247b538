"""The CRC-32 of a hole in a file, found without reading it."""

from __future__ import annotations

_FULL = 0xFFFFFFFF


def crc32_of_zeros(length: int) -> int:
    """CRC-32 of so many zero bytes, without touching them: one zero bit is a linear map of the register.

    The map of n bits is found by squaring, so a hole of a hundred gigabytes costs some forty multiplications.
    """
    register, bits = _FULL, 8 * length
    step = [0xEDB88320, *(1 << bit for bit in range(31))]  # where each bit of the register goes for one zero bit
    while bits:
        if bits & 1:
            register = _apply(step, register)
        step = [_apply(step, column) for column in step]
        bits >>= 1
    return register ^ _FULL


def _apply(columns: list[int], vector: int) -> int:
    total = 0
    for bit, column in enumerate(columns):
        if vector >> bit & 1:
            total ^= column
    return total
