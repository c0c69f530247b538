"""Says whether Play takes an image: its type by its first bytes, its size in bytes and pixels.

What the Play Console only advises, or documents without enforcing it at the API (no side more than twice the other), is
a warning.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from uploader.files.android.localized_folder import LocalizedFolder
from uploader.files.android.play_limits import IMAGE_RULES, MAX_BYTES
from uploader.files.artifacts import Artifact

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_TAIL = 64 * 1024  # bytes at the end in which the image has to end; tools append metadata
# Start-of-frame markers hold the dimensions; C4, C8 and CC are other things in the same range.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


SINGLE = tuple(name for name, rule in IMAGE_RULES.items() if rule.exact)
SEVERAL = tuple(name for name, rule in IMAGE_RULES.items() if not rule.exact)


def check(path: Path, image: Artifact, kind: str, folder: LocalizedFolder) -> None:
    """Adds what is wrong with an image of type `kind` (a key of IMAGE_RULES) to the folder's problems."""
    if (image.size or 0) > MAX_BYTES["image"]:
        folder.wrong(path, f"has {image.size:,} bytes; Play takes at most {MAX_BYTES['image']:,} (15 MiB).")
        return
    try:
        with path.open("rb") as file:
            dimensions = _dimensions(file)
    except OSError as error:
        folder.wrong(path, f"can't be read: {error.strerror}.")
        return
    except (struct.error, IndexError):
        dimensions = (0, 0)
    if dimensions is None:
        folder.wrong(path, "is neither PNG nor JPEG by its content.", "PNG or JPEG")
    elif 0 in dimensions:
        folder.wrong(path, "is damaged or cut short.", "a whole PNG or JPEG")
    else:
        _check_dimensions(path, dimensions, kind, folder)


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
