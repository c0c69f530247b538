"""Says whether Play takes an image: its type by its first bytes, its size in bytes and pixels.

What the Play Console only advises, or documents without enforcing it at the API (no side more than twice the other), is
a warning.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from uploader.files.android.findings import Findings
from uploader.files.android.play_limits import IMAGE_RULES, MAX_BYTES
from uploader.files.artifacts import Artifact

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_TAIL = 64 * 1024  # bytes at the end in which the image has to end; tools append metadata
# Start-of-frame markers hold the dimensions; C4, C8 and CC are other things in the same range.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


SINGLE = tuple(name for name, rule in IMAGE_RULES.items() if rule.exact)
SEVERAL = tuple(name for name, rule in IMAGE_RULES.items() if not rule.exact)


def check(image: Artifact, kind: str, findings: Findings) -> None:
    """Adds what is wrong with an image of type `kind` (a key of IMAGE_RULES)."""
    if (image.size or 0) > MAX_BYTES["image"]:
        findings.wrong(f"{image.name} has {image.size:,} bytes, Play takes {MAX_BYTES['image']:,} (15 MiB).")
        return
    try:
        with image.path.open("rb") as file:
            dimensions = _dimensions(file)
    except OSError as error:
        findings.wrong(f"{image.name} can't be read: {error.strerror}.")
        return
    except (struct.error, IndexError):
        dimensions = (0, 0)
    if dimensions is None:
        findings.wrong(f"{image.name} is neither PNG nor JPEG by its content.", "PNG or JPEG")
    elif 0 in dimensions:
        findings.wrong(f"{image.name} is damaged or cut short.", "a whole PNG or JPEG")
    else:
        _check_dimensions(image.name, dimensions, kind, findings)


def _check_dimensions(name: str, dimensions: tuple[int, int], kind: str, findings: Findings) -> None:
    rule, (short, long) = IMAGE_RULES[kind], sorted(dimensions)
    size = "{} x {} pixels".format(*dimensions)
    if rule.exact and dimensions != rule.exact:
        findings.wrong(f"{name} has {size}, {kind} takes {rule.exact[0]} x {rule.exact[1]}.")
    elif rule.exact:
        return
    elif short < rule.least or long > rule.most:
        findings.wrong(f"{name} has {size}, {kind} takes {rule.least} to {rule.most} on each side.")
    elif rule.square and short != long:
        findings.warn(f"{name} has {size}; Play asks for square {kind}.")
    elif long > 2 * short:
        findings.warn(f"{name} has {size}; Play asks that no side is more than twice the other.")
    elif short < rule.advised:
        findings.warn(f"{name} has {size}; Play asks for {rule.advised} or more for {kind}.")


def _dimensions(file: BinaryIO) -> tuple[int, int] | None:
    """Width and height in pixels; None for another format, zeros when the image does not end."""
    head = file.read(24)
    if head.startswith(_PNG):
        width, height = struct.unpack_from(">2I", head, 16)
        return (width, height) if head[12:16] == b"IHDR" and b"IEND" in _tail(file) else (0, 0)
    if head.startswith(_JPEG):
        dimensions = _jpeg(file)
        return dimensions if b"\xff\xd9" in _tail(file) else (0, 0)
    return None


def _tail(file: BinaryIO) -> bytes:
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    return file.read()


def _jpeg(file: BinaryIO) -> tuple[int, int]:
    """Walks the segments (ITU T.81, B.1.1) to the frame header: length, precision, height, width."""
    file.seek(2)
    while (marker := file.read(2))[:1] == b"\xff":
        if marker[1] == 0xFF:  # fill bytes may precede a marker
            file.seek(-1, 1)
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if marker[1] in _FRAMES:
            height, width = struct.unpack(">x2H", file.read(5))
            return width, height
        file.seek(max(length - 2, 0), 1)
    return 0, 0
