"""Says whether Play takes an image: its type by its first bytes, its size in bytes and pixels.

What the Play Console only advises, or documents without enforcing it at the API (no side more than twice the other), is
a warning.
"""

from __future__ import annotations

import struct
from pathlib import Path

from uploader.files.android.localized_folder import LocalizedFolder
from uploader.files.android.play_limits import IMAGE_RULES, MAX_BYTES
from uploader.files.artifacts import Artifact

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
ENDINGS = {_PNG: ".png", _JPEG: ".jpg"}  # by the first bytes
_TAIL = 64 * 1024  # bytes at the end in which the image has to end; tools append metadata
_MOST_SEGMENTS = 4096  # before the frame header, with fill bytes; real images have fewer than 300
# Start-of-frame markers hold the dimensions; C4, C8 and CC are other things in the same range.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
SINGLE = tuple(name for name, rule in IMAGE_RULES.items() if rule.exact)
SEVERAL = tuple(name for name, rule in IMAGE_RULES.items() if not rule.exact)


def check(path: Path, image: Artifact, kind: str, folder: LocalizedFolder) -> None:
    """Adds what is wrong with an image of type `kind` (a key of IMAGE_RULES) to the folder's problems."""
    if (image.size or 0) > MAX_BYTES["image"]:
        folder.wrong(path, f"has {image.size:,} bytes; Play accepts at most {MAX_BYTES['image']:,} (15 MiB).")
        return
    with image.reader() as file:
        found = dimensions(file.read(image.size or 0))
    if found is None:
        folder.wrong(path, "is neither PNG nor JPEG by its content.", "PNG or JPEG")
    elif 0 in found:
        folder.wrong(path, "is damaged or cut short.", "a complete PNG or JPEG")
    else:
        _check_dimensions(path, found, kind, folder)


def _check_dimensions(path: Path, dimensions: tuple[int, int], kind: str, folder: LocalizedFolder) -> None:
    rule, (short, long) = IMAGE_RULES[kind], sorted(dimensions)
    size = "{} x {} pixels".format(*dimensions)
    if rule.exact and dimensions != rule.exact:
        folder.wrong(path, f"has {size}; {kind} must be {rule.exact[0]} x {rule.exact[1]}.")
    elif rule.exact:
        return
    elif short < rule.least or long > rule.most:
        folder.wrong(path, f"has {size}; each side of {kind} must be from {rule.least} to {rule.most}.")
    elif rule.square and short != long:
        folder.warn(path, f"has {size}; Play asks for square {kind}.")
    elif long > 2 * short:
        folder.warn(path, f"has {size}; Play asks that neither side be more than twice the other.")
    elif short < rule.advised:
        folder.warn(path, f"has {size}; Play asks for {rule.advised} or more for {kind}.")


def ending(data: bytes) -> str:
    """What the name of a file that begins so ends in; empty for what is no image that Play takes."""
    return next((ending for magic, ending in ENDINGS.items() if data.startswith(magic)), "")


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None for another format, zeros for an image that is damaged or does not end."""
    if not data.startswith((_PNG, _JPEG)):
        return None
    try:
        return _png(data) if data.startswith(_PNG) else _jpeg(data)
    except (struct.error, IndexError):
        return 0, 0


def _png(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">2I", data, 16)
    return (width, height) if data[12:16] == b"IHDR" and b"IEND" in data[-_TAIL:] else (0, 0)


def _jpeg(data: bytes) -> tuple[int, int]:
    """Walks the segments (ITU T.81, B.1.1) to the frame header: length, precision, height, width."""
    at = 2 if b"\xff\xd9" in data[-_TAIL:] else len(data)
    for _ in range(_MOST_SEGMENTS):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes may precede a marker
            at += 1
            continue
        (length,) = struct.unpack_from(">H", data, at + 2)
        if marker in _FRAMES:
            height, width = struct.unpack_from(">2H", data, at + 5)
            return width, height
        at += 2 + max(length, 2)
    return 0, 0
