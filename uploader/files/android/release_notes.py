"""Release notes from a directory in any of the three layouts that people have.

- `whatsnew-<language>`, perhaps with `.txt` (the most used GitHub action),
- `<language>/changelogs/<versionCode>.txt` or `default.txt` (fastlane),
- `release-notes/<language>/<track>.txt` or `default.txt` (gradle-play-publisher), or what is inside `release-notes`.

The last one has names of releases beside the notes: `release-names/<track>.txt` or `default.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from uploader.files.android.localized_folder import LocalizedFolder
from uploader.files.android.play_limits import MAX_RELEASE_NAME, MAX_RELEASE_NOTES
from uploader.files.workspace import Workspace

_ACCEPTED = (
    "whatsnew-<language>, <language>/changelogs/<versionCode>.txt or default.txt, "
    "or release-notes/<language>/<track>.txt or default.txt"
)

_NAMES = "release-names"

Texts = dict[str, str]
# By track; None stands for every track without notes of its own.
Notes = dict[str | None, Texts]


def notes(
    directory: str, workspace: Workspace, version_codes: Sequence[int], tracks: Sequence[str]
) -> tuple[Notes, tuple[str, ...]]:
    """Notes by track and language, and warnings. Raises InputError (`whats-new-directory`).

    Key None holds the notes of every track that has none of its own; a track's own entry is complete: languages that it
    does not have are filled from the default. With several version codes the highest one that has a file counts.
    """
    folder = LocalizedFolder("whats-new-directory", directory, workspace, _ACCEPTED)
    codes = sorted(version_codes, reverse=True)
    layouts: Mapping[str, Callable[[], Notes]] = {
        "whatsnew-<language>": lambda: _whatsnew(folder),
        "<language>/changelogs": lambda: _changelogs(folder, codes),
        "release-notes/<language>": lambda: _release_notes(folder, tracks),
    }
    found = [(layout, result) for layout, read in layouts.items() if (result := read())]
    if len(found) > 1:
        folder.wrong(folder.path, f"has notes in two layouts, {found[0][0]} and {found[1][0]}; keep one.")
    elif not found and not folder.problems and not (folder.path / _NAMES).is_dir():
        folder.wrong(folder.path, "has no release notes for this release.", _ACCEPTED)
    folder.problems.raise_if_any()
    return found[0][1] if found else {}, tuple(folder.problems.warnings)


def names(directory: str, workspace: Workspace, tracks: Sequence[str]) -> tuple[dict[str | None, str], tuple[str, ...]]:
    """Names of releases by track, under None that of every other track, and warnings.

    Raises InputError (`whats-new-directory`).
    """
    folder = LocalizedFolder("whats-new-directory", directory, workspace, _ACCEPTED)
    files = {path.name: path for path in folder.entries(folder.path / _NAMES)}
    wanted: dict[str | None, str] = {None: "default.txt", **{track: f"{track}.txt" for track in tracks}}
    found = {track: _name(files[name], folder) for track, name in wanted.items() if name in files}
    folder.problems.raise_if_any()
    return {track: name for track, name in found.items() if name}, tuple(folder.problems.warnings)


def _name(path: Path, folder: LocalizedFolder) -> str:
    name = folder.text(path, None)
    if "\n" in name:
        folder.wrong(path, "has several lines; a release name is a single line.")
    elif len(name) > MAX_RELEASE_NAME:
        folder.warn(path, f"has {len(name)} characters; the Play Console allows {MAX_RELEASE_NAME}.")
    return name


def _whatsnew(folder: LocalizedFolder) -> Notes:
    texts: Texts = {}
    files = [entry for entry in folder.entries() if entry.is_file()]
    if not any(entry.name.startswith("whatsnew-") for entry in files):
        return {}
    for entry in files:
        if entry.name.startswith("whatsnew-"):
            _add(texts, entry.name.removeprefix("whatsnew-").removesuffix(".txt"), entry, folder)
        else:
            folder.warn(entry, "is not used: it is not named whatsnew-<language>.")
    return {None: texts}


def _changelogs(folder: LocalizedFolder, codes: Sequence[int]) -> Notes:
    texts: Texts = {}
    for entry in folder.entries():
        changelogs = {path.name: path for path in folder.entries(entry / "changelogs")}
        names = [*(f"{code}.txt" for code in codes), "default.txt"]
        if chosen := next(filter(None, map(changelogs.get, names)), None):
            _add(texts, entry.name, chosen, folder)
        elif changelogs:
            folder.warn(entry, "has no notes for this release: neither a default.txt nor a file for its version.")
    return {None: texts} if texts else {}


def _release_notes(folder: LocalizedFolder, tracks: Sequence[str]) -> Notes:
    root = folder.path / "release-notes"
    default: Texts = {}
    own: dict[str, Texts] = {track: {} for track in tracks}
    for entry in folder.entries(root if root.is_dir() else None):
        if entry.name == _NAMES:
            continue
        files = {path.name: path for path in folder.entries(entry)}
        if chosen := files.get("default.txt"):
            _add(default, entry.name, chosen, folder)
        for track, texts in own.items():
            if chosen := files.get(f"{track}.txt"):
                _add(texts, entry.name, chosen, folder)
    result: Notes = {track: {**default, **texts} for track, texts in own.items() if texts}
    return {None: default, **result} if default or result else {}


def _add(texts: Texts, language: str, path: Path, folder: LocalizedFolder) -> None:
    """One file as the notes of one language; a second file for it is a mistake."""
    if not folder.is_language(language, path):
        return
    if language in texts:
        folder.wrong(path, f"is a second file for `{language}`; keep one.")
        return
    text = folder.text(path, MAX_RELEASE_NOTES)
    if text:
        texts[language] = text
    else:
        folder.warn(path, f"is empty: no notes for `{language}`.")
