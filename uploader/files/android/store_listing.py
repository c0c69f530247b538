"""The store listing from a directory in fastlane's layout: texts, images and screenshots by language.

`<language>/title.txt`, `short_description.txt`, `full_description.txt`, `video.txt`; `<language>/images/<type>.png` for
what there is one of, `<language>/images/<type>/*.png` for screenshots, in the order of their names; also .jpg, .jpeg.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from uploader.files.android import listing_images
from uploader.files.android.localized_folder import LocalizedFolder
from uploader.files.android.play_limits import MAX_LISTING_TEXT, MAX_SCREENSHOTS
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace

_ACCEPTED = "<language>/images/<type>/*.png, <language>/images/<type>.png, <language>/title.txt"
_ENDINGS = (".png", ".jpg", ".jpeg")
# File name to the API's field.
TEXTS: Mapping[str, str] = {
    "title.txt": "title",
    "short_description.txt": "shortDescription",
    "full_description.txt": "fullDescription",
    "video.txt": "video",
}
_ELSEWHERE = {"images", "changelogs"}  # the second is release notes, whats-new-directory reads them
_KNOWN = ", ".join(
    (*(f"{kind}.png" for kind in listing_images.SINGLE), *(f"{kind}/" for kind in listing_images.SEVERAL))
)


@dataclass(frozen=True)
class StoreFiles:
    """What the directory has: texts by language and the API's field, images by language and type in their order."""

    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    images: Mapping[tuple[str, str], tuple[Artifact, ...]] = field(default_factory=dict)


def listing(directory: str, workspace: Workspace) -> tuple[StoreFiles, tuple[str, ...]]:
    """The listing files, and warnings. Raises InputError (`images-directory`)."""
    folder = LocalizedFolder("images-directory", directory, workspace, _ACCEPTED)
    texts: dict[str, Mapping[str, str]] = {}
    images: dict[tuple[str, str], tuple[Artifact, ...]] = {}
    for entry in folder.entries():
        if not entry.is_dir():
            folder.warn(entry, "is not used: it is not in a language's folder.")
        elif folder.is_language(entry.name, entry):
            if found := _texts(folder, entry):
                texts[entry.name] = found
            images.update({(entry.name, kind): files for kind, files in _images(folder, entry).items()})
    if not (folder.problems or texts or images):
        folder.wrong(folder.path, "has no listing texts or images.", _ACCEPTED)
    folder.problems.raise_if_any()
    return StoreFiles(texts, images), tuple(folder.problems.warnings)


def _texts(folder: LocalizedFolder, language: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in folder.entries(language):
        if entry.name in TEXTS:
            name = TEXTS[entry.name]
            text = folder.text(entry, MAX_LISTING_TEXT[name])
            if name == "video" and text and not text.startswith(("https://", "http://")):
                folder.wrong(entry, "is not a web address.", "the address of a YouTube video")
            elif text:
                found[name] = text
        elif entry.name not in _ELSEWHERE:
            folder.warn(entry, "is not used: it is not the name of a listing text.")
    return found


def _images(folder: LocalizedFolder, language: Path) -> dict[str, tuple[Artifact, ...]]:
    found: dict[str, tuple[Artifact, ...]] = {}
    for entry in folder.entries(language / "images"):
        kind = entry.name if entry.is_dir() else entry.stem
        if kind in listing_images.SEVERAL and entry.is_dir():
            found[kind] = _screenshots(folder, entry)
        elif not (kind in listing_images.SINGLE and _is_image(entry)):
            folder.warn(entry, f"is not used. Known: {_KNOWN}.")
        elif kind in found:
            folder.wrong(entry, f"is a second {kind}; keep one.")
        else:
            found[kind] = _checked(folder, entry, kind)
    return {kind: images for kind, images in found.items() if images}


def _screenshots(folder: LocalizedFolder, where: Path) -> tuple[Artifact, ...]:
    files = [entry for entry in folder.entries(where) if _is_image(entry)]
    for entry in folder.entries(where):
        if entry not in files:
            folder.warn(entry, "is not used: it is not a .png, .jpg or .jpeg file.")
    if len(files) > MAX_SCREENSHOTS:
        folder.wrong(where, f"has {len(files)} images; Play accepts at most {MAX_SCREENSHOTS}.")
        return ()
    return tuple(image for file in files for image in _checked(folder, file, where.name))


def _checked(folder: LocalizedFolder, path: Path, kind: str) -> tuple[Artifact, ...]:
    """The image, if it is a file at all; what is wrong with what it shows is added to the problems."""
    image = folder.problems.collect(lambda: from_path(path, folder.name_of(path), folder.access))
    if image is None:
        return ()
    listing_images.check(path, image, kind, folder)
    return (image,)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in _ENDINGS and not path.is_dir()
