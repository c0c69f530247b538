"""The store listing from a directory in fastlane's layout: texts, images and screenshots by language.

`<language>/title.txt`, `short_description.txt`, `full_description.txt`, `video.txt`; `<language>/images/<type>.png` for
what there is one of, `<language>/images/<type>/*.png` for screenshots, in the order of their names; also .jpg, .jpeg.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from uploader.errors import InputError
from uploader.files.android import listing_images
from uploader.files.android.findings import Findings
from uploader.files.android.play_limits import MAX_LISTING_TEXT, MAX_SCREENSHOTS
from uploader.files.android.text_files import Folder, language, text_of
from uploader.files.artifacts import Artifact, from_path

_INPUT = "images-directory"
_ACCEPTED = "<language>/images/<type>/*.png, <language>/images/<type>.png, <language>/title.txt"
_ENDINGS = (".png", ".jpg", ".jpeg")
# File name to the API's field.
_TEXTS: Mapping[str, str] = {
    "title.txt": "title",
    "short_description.txt": "shortDescription",
    "full_description.txt": "fullDescription",
    "video.txt": "video",
}
_ELSEWHERE = {"images", "changelogs"}  # the second is release notes, whats-new-directory reads them


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """What the directory has: texts by language and the API's field, images by language and type in their order."""

    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    images: Mapping[tuple[str, str], tuple[Artifact, ...]] = field(default_factory=dict)


def listing(directory: Path, *, name: str = "", within: Path | None = None) -> tuple[StoreFiles, tuple[str, ...]]:
    """The listing files, and warnings. Raises InputError (`images-directory`)."""
    findings = Findings(_INPUT)
    folder = Folder(directory, name or directory.name, within)
    texts: dict[str, Mapping[str, str]] = {}
    pictures: dict[tuple[str, str], tuple[Artifact, ...]] = {}
    if not directory.is_dir():
        findings.wrong(f"{folder.name} is not a folder.", _ACCEPTED)
        findings.settle()
    for entry in folder.entries():
        where = folder.name_of(entry)
        if not entry.is_dir():
            findings.warn(f"{where} is not used: it is in no language's folder.")
        elif language(entry.name, where, findings):
            texts[entry.name] = _texts(folder, entry, findings)
            pictures.update({(entry.name, kind): found for kind, found in _images(folder, entry, findings).items()})
    if findings.clean and not any(texts.values()) and not pictures:
        findings.wrong(f"{folder.name} has no listing texts or images.", _ACCEPTED)
    warnings = findings.settle()
    return StoreFiles({name: found for name, found in texts.items() if found}, pictures), warnings


def _texts(folder: Folder, where: Path, findings: Findings) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in folder.entries(where):
        if entry.name in _TEXTS:
            name = _TEXTS[entry.name]
            text = text_of(folder, entry, MAX_LISTING_TEXT[name], findings)
            if name == "video" and text and not text.startswith(("https://", "http://")):
                findings.wrong(f"{folder.name_of(entry)} is not a web address.", "the address of a YouTube video")
            elif text:
                found[name] = text
        elif entry.name not in _ELSEWHERE:
            findings.warn(f"{folder.name_of(entry)} is not used: no listing text is called so.")
    return found


def _images(folder: Folder, where: Path, findings: Findings) -> dict[str, tuple[Artifact, ...]]:
    found: dict[str, tuple[Artifact, ...]] = {}
    for entry in folder.entries(where / "images"):
        stem = entry.name if entry.is_dir() else entry.stem
        several, single = (
            stem in listing_images.SEVERAL and entry.is_dir(),
            stem in listing_images.SINGLE and _is_image(entry),
        )
        if several:
            found[stem] = _several(folder, entry, findings)
        elif single and stem in found:
            findings.wrong(f"{folder.name_of(entry)}: there is another {stem} beside it; keep one.")
        elif single:
            found[stem] = _checked(folder, entry, stem, findings)
        else:
            kinds = ", ".join(
                (*(f"{kind}.png" for kind in listing_images.SINGLE), *(f"{kind}/" for kind in listing_images.SEVERAL))
            )
            findings.warn(f"{folder.name_of(entry)} is not used. Known: {kinds}.")
    return {kind: pictures for kind, pictures in found.items() if pictures}


def _several(folder: Folder, where: Path, findings: Findings) -> tuple[Artifact, ...]:
    files = [entry for entry in folder.entries(where) if _is_image(entry)]
    for entry in folder.entries(where):
        if entry not in files:
            findings.warn(f"{folder.name_of(entry)} is not used: it is not a .png, .jpg or .jpeg file.")
    if len(files) > MAX_SCREENSHOTS:
        findings.wrong(f"{folder.name_of(where)} has {len(files)} images, Play takes {MAX_SCREENSHOTS}.")
        return ()
    return tuple(image for file in files for image in _checked(folder, file, where.name, findings))


def _checked(folder: Folder, path: Path, kind: str, findings: Findings) -> tuple[Artifact, ...]:
    try:
        image = from_path(path, folder.name_of(path), input_name=_INPUT, within=folder.within)
    except InputError as error:
        findings.take(error)
        return ()
    listing_images.check(image, kind, findings)
    return (image,)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in _ENDINGS and not path.is_dir()
