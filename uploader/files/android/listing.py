"""Reads the store listing from a directory in fastlane's layout: texts, images and screenshots by
language.

The texts are `<language>/title.txt`, `short_description.txt`, `full_description.txt` and
`video.txt`. A type with a single image has `<language>/images/<type>.png`; screenshots are
`<language>/images/<type>/*.png` in the order of their names. The endings .jpg and .jpeg count as
well. An image is recognised by its first bytes. What the Play Console only advises about its
pixels, or documents without enforcing it at the API (no side more than twice the other), is a
warning. A name that is nearly one of these is a mistake, since what it holds would be left out.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from uploader.errors import Problems
from uploader.files.android.limits import (
    IMAGE_RULES,
    MAX_BYTES,
    MAX_LISTING_TEXT,
    MAX_SCREENSHOTS,
)
from uploader.files.android.notes import LocalizedFolder
from uploader.files.artifacts import Artifact, Artifacts, add_digests, from_path
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
_ACCEPTED = (
    "<language>/images/<type>/*.png, <language>/images/<type>.png, <language>/title.txt"
)
# Not texts of the listing: `changelogs` has release notes, for `whats-new-directory`.
_ELSEWHERE = {"images", "changelogs"}
# What other tools and people call the texts, without the ending.
_OTHER_NAMES = {
    "description": "full_description.txt",
    "long_description": "full_description.txt",
    "video_url": "video.txt",
}
_TEXT_ENDINGS = ("", ".txt", ".text", ".md")
_SIMILAR = 0.8  # difflib's ratio: `titel` is `title`
_YOUTUBE = ("youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
IMAGE_ENDINGS = {_PNG: ".png", _JPEG: ".jpg"}  # by the first bytes
# bytes at the end in which the image has to end; tools append metadata
_TAIL = 64 * 1024
# segments and fill bytes before the frame header; real images have fewer than 300
_MAX_SEGMENTS = 4096
# The segments of these markers (start of frame) have the dimensions; C4, C8 and CC are other
# markers in the same range.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}

ImageSet: TypeAlias = tuple[str, str]
"""A language and a type of images."""


@dataclass(frozen=True)
class StoreFiles:
    """What the directory has: texts by language and the API's field, images by language and type in
    their order.

    `empty` has the languages and types for which there is a folder without an image.
    """

    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    images: Mapping[ImageSet, Artifacts] = field(default_factory=dict)
    empty: tuple[ImageSet, ...] = ()


def store_listing(
    directory: str, workspace: Workspace, problems: Problems
) -> StoreFiles:
    """Read the listing files. What is wrong or odd is added to the problems
    (`images-directory`).
    """
    folder = LocalizedFolder(
        "images-directory",
        directory,
        workspace,
        _ACCEPTED,
        problems,
    )
    if (folder.path / "listings").is_dir():
        folder.wrong(
            folder.path,
            "has Gradle Play Publisher's layout (listings/<language>/…), which is not read here. "
            "Rename its files to fastlane's (docs/MIGRATION.md), or have `target: "
            "play-listing-pull` write what is live.",
            _ACCEPTED,
        )
        return StoreFiles()
    texts: dict[str, Mapping[str, str]] = {}
    images: dict[ImageSet, Artifacts] = {}
    empty: list[ImageSet] = []
    blank: list[Path] = []
    for entry in folder.entries():
        if not entry.is_dir():
            folder.warn(entry, "is not used: it is not in a language's folder.")
            continue
        language = folder.language(entry, must_be_known=False)
        if not language:
            continue
        language_texts, blank_texts = _texts(folder, entry)
        blank += blank_texts
        if language_texts:
            texts[language] = language_texts
        language_images = _images(folder, entry)
        for kind, files in language_images.items():
            if files:
                images[language, kind] = files
            else:
                empty.append((language, kind))
    if texts or images or folder.faulty:
        for path in blank:
            folder.warn(path, "is empty: the text on Google Play is left as it is.")
    else:
        _refuse_empty(folder, blank)
    return StoreFiles(texts, images, tuple(empty))


def _refuse_empty(folder: LocalizedFolder, blank: list[Path]) -> None:
    """Add a problem for a folder that has nothing to publish, by each of its `blank` texts."""
    if not blank:
        folder.wrong(folder.path, "has no listing texts or images.", _ACCEPTED)
    for path in blank:
        folder.wrong(
            path,
            "is empty, and the folder has nothing else to publish. Write the text, or leave "
            "`images-directory` out.",
        )


def _texts(
    folder: LocalizedFolder, language: Path
) -> tuple[dict[str, str], list[Path]]:
    """Return the texts of one language by the API's field, and the files of texts that are empty.

    An empty `video.txt` is none of them: fastlane writes one for every app without a video.
    """
    texts: dict[str, str] = {}
    blank: list[Path] = []
    for entry in folder.entries(language):
        if entry.name in _ELSEWHERE:
            continue
        if entry.name not in TEXTS:
            _report_left_out(folder, entry)
            continue
        field_name = TEXTS[entry.name]
        is_video = field_name == "video"
        problems_before = len(folder.problems)
        text = folder.text(entry, MAX_LISTING_TEXT[field_name])
        is_faulty = len(folder.problems) > problems_before
        if not text:
            if not is_faulty and not is_video:
                blank.append(entry)
            continue
        if is_video and not _is_at_youtube(text):
            folder.wrong(
                entry,
                "is not the address of a YouTube video, and Google Play takes no other.",
                "https://www.youtube.com/watch?v=…",
            )
            continue
        texts[field_name] = text
    return texts, blank


def _is_at_youtube(text: str) -> bool:
    """Return whether a text is an address at YouTube, where Google Play looks for videos."""
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    if address.scheme not in ("http", "https"):
        return False
    return address.hostname in _YOUTUBE


def _report_left_out(folder: LocalizedFolder, entry: Path) -> None:
    """Add a problem for what is nearly a text or the folder of images, a warning for what is
    neither.
    """
    intended = ""
    if entry.is_dir():
        names = _image_names("images/")
        names["images"] = "images/"
        names["graphics"] = "images/"
        intended = _nearest(entry.name, names)
    elif _is_image(entry):
        intended = _nearest(entry.stem, _image_names("images/"))
    elif entry.suffix.lower() in _TEXT_ENDINGS:
        names = dict(_OTHER_NAMES)
        for file_name in TEXTS:
            names[file_name.removesuffix(".txt")] = file_name
        intended = _nearest(entry.stem, names)
    if intended:
        folder.wrong(entry, f"would be left out. Did you mean `{intended}`?")
    else:
        folder.warn(entry, "is not used: it is not the name of a listing text.")


def _image_names(prefix: str) -> dict[str, str]:
    """Return the place of each image type's files."""
    places = {kind: f"{prefix}{kind}.png" for kind in SINGLE}
    for kind in _SEVERAL:
        places[kind] = f"{prefix}{kind}/"
    return places


def _nearest(name: str, names: Mapping[str, str]) -> str:
    """Return the value of the key that a name is another spelling of, `phone-screenshot` for
    `phoneScreenshots`; else empty. A misspelling keeps the first letter.
    """
    values = {_plain(key): value for key, value in names.items()}
    written = _plain(name)
    similar = get_close_matches(
        written[:100],
        values,
        n=1,
        cutoff=_SIMILAR,
    )
    if not similar:
        return ""
    nearest = similar[0]
    if nearest[:1] != written[:1]:
        return ""
    return values[nearest]


def _plain(name: str) -> str:
    return re.sub(r"[\s_.-]", "", name.lower())


def _images(folder: LocalizedFolder, language: Path) -> dict[str, Artifacts]:
    """Return the images of one language by type, empty for the folder of a type without any."""
    images: dict[str, Artifacts] = {}
    for entry in folder.entries(language / "images"):
        is_folder = entry.is_dir()
        kind = entry.stem
        if is_folder:
            kind = entry.name
        if kind in _SEVERAL and is_folder:
            files = _image_files(folder, entry)
        elif kind in SINGLE and _is_image(entry):
            files = [entry]
        else:
            _report_image_left_out(folder, entry, kind)
            continue
        if kind in images:
            folder.wrong(entry, f"is a second {kind}; keep one.")
        elif len(files) > MAX_SCREENSHOTS:
            folder.wrong(
                entry,
                f"has {len(files)} images; Play accepts at most {MAX_SCREENSHOTS}.",
            )
        else:
            images[kind] = _read_images(folder, files, kind)
    return images


def _read_images(folder: LocalizedFolder, files: list[Path], kind: str) -> Artifacts:
    """Return the images of one type, without those that are no files."""
    images: list[Artifact] = []
    for file in files:
        image = _image(folder, file, kind)
        if image is not None:
            images.append(image)
    return tuple(images)


def _report_image_left_out(folder: LocalizedFolder, entry: Path, kind: str) -> None:
    """Add a problem for what is nearly named for a type of images, a warning for anything else."""
    intended = ""
    if entry.is_dir() or _is_image(entry):
        intended = _nearest(kind, _image_names(""))
    if intended:
        folder.wrong(entry, f"would be left out. Did you mean `{intended}`?")
    else:
        places = _image_names("")
        known = ", ".join(places.values())
        folder.warn(entry, f"is not used. Known: {known}.")


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
    ending = path.suffix.lower()
    if ending not in (".png", ".jpg", ".jpeg"):
        return False
    return not path.is_dir()


def _image(folder: LocalizedFolder, path: Path, kind: str) -> Artifact | None:
    """Return the image, or None if it is no file. What is wrong with its content is added to the
    problems.
    """
    name = folder.name_of(path)
    image = folder.problems.collect(lambda: from_path(path, name, folder.access))
    if image is None or image.size is None:
        return None
    limit = MAX_BYTES["image"]
    if image.size > limit:
        what = f"has {image.size:,} bytes; Play accepts at most {limit:,} (15 MiB)."
        folder.wrong(path, what)
        return image
    image = add_digests(image)
    with image.reader() as file:
        data = file.read(image.size)
    size = dimensions(data)
    if size is None:
        folder.wrong(path, "is neither PNG nor JPEG by its content.", "PNG or JPEG")
    elif 0 in size:
        folder.wrong(path, "is damaged or cut short.", "a complete PNG or JPEG")
    elif kind == "featureGraphic" and _has_alpha(data):
        folder.wrong(
            path,
            "has an alpha channel, which Google Play does not take in a feature graphic.",
            "JPEG, or PNG of 24 bits without alpha",
        )
    else:
        _check_pixels(folder, path, kind, size)
    return image


def _check_pixels(
    folder: LocalizedFolder,
    path: Path,
    kind: str,
    size: tuple[int, int],
) -> None:
    """Add a problem if Play takes no image of this size, a warning if it asks for another."""
    rule = IMAGE_RULES[kind]
    width, height = size
    pixels = f"{width} x {height} pixels"
    if rule.exact:
        if size != rule.exact:
            exact_width, exact_height = rule.exact
            exactly = f"{exact_width} x {exact_height}"
            folder.wrong(path, f"has {pixels}; {kind} must be {exactly}.")
        return
    short, long = sorted(size)
    is_too_short = short < rule.min_side
    is_too_long = long > rule.max_side
    if is_too_short or is_too_long:
        sides = f"from {rule.min_side} to {rule.max_side}"
        folder.wrong(path, f"has {pixels}; each side of {kind} must be {sides}.")
    elif rule.square and short != long:
        folder.warn(path, f"has {pixels}; Play asks for square {kind}.")
    elif long > 2 * short:
        what = (
            f"has {pixels}; Play asks that neither side be more than twice the other."
        )
        folder.warn(path, what)
    elif short < rule.advised:
        folder.warn(
            path, f"has {pixels}; Play asks for {rule.advised} or more for {kind}."
        )


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


def _has_alpha(data: bytes) -> bool:
    """Return whether a whole image is a PNG with an alpha channel (PNG, 11.2.2: color types 4 and
    6).
    """
    if not data.startswith(_PNG):
        return False
    color_type = data[25]
    return color_type in (4, 6)


def _png_dimensions(data: bytes) -> tuple[int, int]:
    """Read the image header, which comes first (PNG, 11.2.2), and look for the end of the image."""
    width, height = struct.unpack_from(">2I", data, 16)
    first_chunk = data[12:16]
    if first_chunk != b"IHDR":
        return 0, 0
    tail = data[-_TAIL:]
    if b"IEND" not in tail:
        return 0, 0
    return width, height


def _jpeg_dimensions(data: bytes) -> tuple[int, int]:
    """Read the segments (ITU T.81, B.1.1) up to the frame header: length, precision, height,
    width.
    """
    tail = data[-_TAIL:]
    # The marker of the end of the image.
    if b"\xff\xd9" not in tail:
        return 0, 0
    offset = 2
    for _ in range(_MAX_SEGMENTS):
        if data[offset] != 0xFF:
            break
        marker = data[offset + 1]
        if marker == 0xFF:  # fill bytes may precede a marker
            offset += 1
            continue
        segment = offset + 2
        # The length counts its own two bytes.
        (length,) = struct.unpack_from(">H", data, segment)
        if marker in _FRAMES:
            height, width = struct.unpack_from(">2H", data, segment + 3)
            return width, height
        offset = segment + max(length, 2)
    return 0, 0
