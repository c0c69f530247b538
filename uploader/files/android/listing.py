"""Reads the store listing from a directory in fastlane's layout: texts, images and screenshots by
language.

The texts are `<language>/title.txt`, `short_description.txt`, `full_description.txt` and
`video.txt`. A type with a single image has `<language>/images/<type>.png`; screenshots are
`<language>/images/<type>/*.png` in the order of their names. The endings .jpg and .jpeg count as
well. An image is recognised by its first bytes. What the Play Console only advises about its
pixels, or documents without enforcing it at the API (no side more than twice the other), is a
warning.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from uploader.errors import Problems
from uploader.files.android.limits import IMAGE_RULES, MAX_BYTES, MAX_LISTING_TEXT, MAX_SCREENSHOTS
from uploader.files.android.notes import LocalizedFolder
from uploader.files.artifacts import Artifact, checked, from_path
from uploader.files.workspace import Workspace

# File name to the API's field.
TEXTS: Mapping[str, str] = {
    "title.txt": "title",
    "short_description.txt": "shortDescription",
    "full_description.txt": "fullDescription",
    "video.txt": "video",
}
SINGLE = tuple(name for name, rule in IMAGE_RULES.items() if rule.exact)
_SEVERAL = tuple(name for name, rule in IMAGE_RULES.items() if not rule.exact)
_ACCEPTED = "<language>/images/<type>/*.png, <language>/images/<type>.png, <language>/title.txt"
_KNOWN = ", ".join([f"{kind}.png" for kind in SINGLE] + [f"{kind}/" for kind in _SEVERAL])
_ELSEWHERE = {"images", "changelogs"}  # the second is release notes, whats-new-directory reads them

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
IMAGE_ENDINGS = {_PNG: ".png", _JPEG: ".jpg"}  # by the first bytes
_TAIL = 64 * 1024  # bytes at the end in which the image has to end; tools append metadata
_MAX_SEGMENTS = 4096  # before the frame header, with fill bytes; real images have fewer than 300
# Start-of-frame markers hold the dimensions; C4, C8 and CC are other things in the same range.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class StoreFiles:
    """What the directory has: texts by language and the API's field, images by language and type in
    their order.

    `empty` has the languages and types for which there is a folder without an image.
    """

    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    images: Mapping[tuple[str, str], tuple[Artifact, ...]] = field(default_factory=dict)
    empty: tuple[tuple[str, str], ...] = ()


def store_listing(directory: str, workspace: Workspace, problems: Problems) -> StoreFiles:
    """Read the listing files. What is wrong or odd is added to the problems
    (`images-directory`).
    """
    folder = LocalizedFolder("images-directory", directory, workspace, _ACCEPTED, problems)
    texts: dict[str, Mapping[str, str]] = {}
    images: dict[tuple[str, str], tuple[Artifact, ...]] = {}
    empty: list[tuple[str, str]] = []
    for entry in folder.entries():
        if not entry.is_dir():
            folder.warn(entry, "is not used: it is not in a language's folder.")
            continue
        language = folder.language(entry, must_be_known=False)
        if not language:
            continue
        language_texts = _texts(folder, entry)
        if language_texts:
            texts[language] = language_texts
        for kind, files in _images(folder, entry).items():
            if files:
                images[language, kind] = files
            else:
                empty.append((language, kind))
    if not folder.faulty and not texts and not images:
        folder.wrong(folder.path, "has no listing texts or images.", _ACCEPTED)
    return StoreFiles(texts, images, tuple(empty))


def _texts(folder: LocalizedFolder, language: Path) -> dict[str, str]:
    """Return the texts of one language by the API's field."""
    texts: dict[str, str] = {}
    for entry in folder.entries(language):
        if entry.name in TEXTS:
            field_name = TEXTS[entry.name]
            text = folder.text(entry, MAX_LISTING_TEXT[field_name])
            if not text:
                continue
            if field_name == "video" and not text.startswith(("https://", "http://")):
                folder.wrong(entry, "is not a web address.", "the address of a YouTube video")
                continue
            texts[field_name] = text
        elif entry.name not in _ELSEWHERE:
            folder.warn(entry, "is not used: it is not the name of a listing text.")
    return texts


def _images(folder: LocalizedFolder, language: Path) -> dict[str, tuple[Artifact, ...]]:
    """Return the images of one language by type, empty for the folder of a type without any."""
    images: dict[str, tuple[Artifact, ...]] = {}
    for entry in folder.entries(language / "images"):
        kind = entry.name if entry.is_dir() else entry.stem
        if kind in _SEVERAL and entry.is_dir():
            files = _image_files(folder, entry)
        elif kind in SINGLE and _is_image(entry):
            files = [entry]
        else:
            folder.warn(entry, f"is not used. Known: {_KNOWN}.")
            continue
        if kind in images:
            folder.wrong(entry, f"is a second {kind}; keep one.")
        elif len(files) > MAX_SCREENSHOTS:
            folder.wrong(entry, f"has {len(files)} images; Play accepts at most {MAX_SCREENSHOTS}.")
        else:
            candidates = [_image(folder, file, kind) for file in files]
            images[kind] = tuple(image for image in candidates if image is not None)
    return images


def _image_files(folder: LocalizedFolder, below: Path) -> list[Path]:
    """Return the image files in the folder of a type, with a warning about other files."""
    files: list[Path] = []
    for entry in folder.entries(below):
        if _is_image(entry):
            files.append(entry)
        else:
            folder.warn(entry, "is not used: it is not a .png, .jpg or .jpeg file.")
    return files


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in (".png", ".jpg", ".jpeg") and not path.is_dir()


def _image(folder: LocalizedFolder, path: Path, kind: str) -> Artifact | None:
    """Return the image, or None if it is no file. What is wrong with its content is added to the
    problems.
    """
    image = folder.problems.collect(lambda: from_path(path, folder.name_of(path), folder.access))
    if image is None or image.size is None:
        return None
    if image.size > MAX_BYTES["image"]:
        folder.wrong(
            path, f"has {image.size:,} bytes; Play accepts at most {MAX_BYTES['image']:,} (15 MiB)."
        )
        return image
    image = checked(image)
    with image.reader() as file:
        size = dimensions(file.read(image.size))
    if size is None:
        folder.wrong(path, "is neither PNG nor JPEG by its content.", "PNG or JPEG")
    elif 0 in size:
        folder.wrong(path, "is damaged or cut short.", "a complete PNG or JPEG")
    else:
        _check_pixels(folder, path, kind, size)
    return image


def _check_pixels(folder: LocalizedFolder, path: Path, kind: str, size: tuple[int, int]) -> None:
    """Add a problem where Play takes no image of this size, a warning where it asks for another."""
    rule = IMAGE_RULES[kind]
    width, height = size
    pixels = f"{width} x {height} pixels"
    if rule.exact:
        if size != rule.exact:
            folder.wrong(path, f"has {pixels}; {kind} must be {rule.exact[0]} x {rule.exact[1]}.")
        return
    short, long = sorted(size)
    if short < rule.min_side or long > rule.max_side:
        folder.wrong(
            path,
            f"has {pixels}; each side of {kind} must be from {rule.min_side} to {rule.max_side}.",
        )
    elif rule.square and short != long:
        folder.warn(path, f"has {pixels}; Play asks for square {kind}.")
    elif long > 2 * short:
        folder.warn(
            path, f"has {pixels}; Play asks that neither side be more than twice the other."
        )
    elif short < rule.advised:
        folder.warn(path, f"has {pixels}; Play asks for {rule.advised} or more for {kind}.")


def image_ending(data: bytes) -> str:
    """Return the ending for the name of a file that begins with these bytes; empty for what is no
    image that Play takes.
    """
    for magic, ending in IMAGE_ENDINGS.items():
        if data.startswith(magic):
            return ending
    return ""


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels; None for another format, zeros for an image that is
    damaged or does not end.
    """
    try:
        if data.startswith(_PNG):
            return _png_dimensions(data)
        if data.startswith(_JPEG):
            return _jpeg_dimensions(data)
    except (struct.error, IndexError):
        return 0, 0
    return None


def _png_dimensions(data: bytes) -> tuple[int, int]:
    """Read the image header, which comes first (PNG, 11.2.2), and look for the end of the image."""
    width, height = struct.unpack_from(">2I", data, 16)
    if data[12:16] != b"IHDR" or b"IEND" not in data[-_TAIL:]:
        return 0, 0
    return width, height


def _jpeg_dimensions(data: bytes) -> tuple[int, int]:
    """Read the segments (ITU T.81, B.1.1) up to the frame header: length, precision, height,
    width.
    """
    if b"\xff\xd9" not in data[-_TAIL:]:
        return 0, 0
    offset = 2
    for _ in range(_MAX_SEGMENTS):
        if data[offset] != 0xFF:
            break
        marker = data[offset + 1]
        if marker == 0xFF:  # fill bytes may precede a marker
            offset += 1
            continue
        (length,) = struct.unpack_from(">H", data, offset + 2)
        if marker in _FRAMES:
            height, width = struct.unpack_from(">2H", data, offset + 5)
            return width, height
        offset += 2 + max(length, 2)
    return 0, 0
