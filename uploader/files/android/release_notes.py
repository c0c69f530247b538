"""Release notes from a directory in any of the three layouts that people have.

- `whatsnew-<language>`, perhaps with `.txt` (the most used GitHub action),
- `<language>/changelogs/<versionCode>.txt` or `default.txt` (fastlane),
- `release-notes/<language>/<track>.txt` or `default.txt` (gradle-play-publisher), or what is inside `release-notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from uploader.files.android.findings import Findings
from uploader.files.android.play_limits import MAX_RELEASE_NOTES
from uploader.files.android.text_files import Folder, language, text_of

_ACCEPTED = (
    "whatsnew-<language>, <language>/changelogs/<versionCode>.txt or default.txt, "
    "or release-notes/<language>/<track>.txt or default.txt"
)

Texts = dict[str, str]
# By track; None stands for every track without notes of its own.
Notes = dict[str | None, Texts]


def notes(
    directory: Path, version_codes: Sequence[int], tracks: Sequence[str], *, name: str = "", within: Path | None = None
) -> tuple[Notes, tuple[str, ...]]:
    """Notes by track and language, and warnings. Raises InputError (`whats-new-directory`).

    Key None holds the notes of every track that has none of its own; a track's own entry is complete: languages that it
    does not have are filled from the default. With several version codes the highest one that has a file counts.
    """
    findings = Findings("whats-new-directory")
    folder = Folder(directory, name or directory.name, within)
    found: list[tuple[str, Notes]] = []
    if not directory.is_dir():
        findings.wrong(f"{folder.name} is not a folder.", _ACCEPTED)
    else:
        codes = sorted(version_codes, reverse=True)
        layouts: Mapping[str, Callable[[], Notes]] = {
            "whatsnew-<language>": lambda: _whatsnew(folder, findings),
            "<language>/changelogs": lambda: _changelogs(folder, codes, findings),
            "release-notes/<language>": lambda: _release_notes(folder, tracks, findings),
        }
        found = [(layout, result) for layout, read in layouts.items() if (result := read())]
        if len(found) > 1:
            findings.wrong(f"{folder.name} has notes in two layouts, {found[0][0]} and {found[1][0]}; keep one.")
        elif not found and findings.clean:
            findings.wrong(f"{folder.name} has no release notes for this release.", _ACCEPTED)
    warnings = findings.settle()
    return found[0][1], warnings


def _whatsnew(folder: Folder, findings: Findings) -> Notes:
    texts: Texts = {}
    files = [entry for entry in folder.entries() if entry.is_file()]
    if not any(entry.name.startswith("whatsnew-") for entry in files):
        return {}
    for entry in files:
        if entry.name.startswith("whatsnew-"):
            _add(texts, entry.name.removeprefix("whatsnew-").removesuffix(".txt"), entry, folder, findings)
        else:
            findings.warn(f"{folder.name_of(entry)} is not used: it is not named whatsnew-<language>.")
    return {None: texts}


def _changelogs(folder: Folder, codes: Sequence[int], findings: Findings) -> Notes:
    texts: Texts = {}
    seen = False
    for entry in folder.entries():
        changelogs = {path.name: path for path in folder.entries(entry / "changelogs")}
        seen = seen or bool(changelogs)
        chosen = _first(changelogs, [*(f"{code}.txt" for code in codes), "default.txt"])
        if chosen:
            _add(texts, entry.name, chosen, folder, findings)
        elif changelogs:
            findings.warn(
                f"{folder.name_of(entry)} has no notes for this release: no default.txt, none of its version."
            )
    return {None: texts} if seen and texts else {}


def _release_notes(folder: Folder, tracks: Sequence[str], findings: Findings) -> Notes:
    root = folder.path / "release-notes"
    languages = [entry for entry in folder.entries(root if root.is_dir() else None) if entry.is_dir()]
    default: Texts = {}
    own: dict[str, Texts] = {track: {} for track in tracks}
    for entry in languages:
        files = {path.name: path for path in folder.entries(entry)}
        if chosen := files.get("default.txt"):
            _add(default, entry.name, chosen, folder, findings)
        for track, texts in own.items():
            if chosen := files.get(f"{track}.txt"):
                _add(texts, entry.name, chosen, folder, findings)
    result: Notes = {track: {**default, **texts} for track, texts in own.items() if texts}
    return {None: default, **result} if default or result else {}


def _first(files: Mapping[str, Path], names: Sequence[str]) -> Path | None:
    return next((files[name] for name in names if name in files), None)


def _add(texts: Texts, name: str, path: Path, folder: Folder, findings: Findings) -> None:
    """One file as the notes of one language; a language that was spelled in two ways is told."""
    where = folder.name_of(path)
    if not language(name, where, findings):
        return
    if name in texts:
        findings.wrong(f"{where}: there are two files for `{name}`.")
        return
    text = text_of(folder, path, MAX_RELEASE_NOTES, findings)
    if text:
        texts[name] = text
    else:
        findings.warn(f"{where} is empty: no notes for `{name}`.")
