"""Reads texts that Play shows to people: release notes and listing texts, their encoding, length and language.

Google states its limits in Unicode characters (Play Console Help, "Prepare and roll out a release": 500 Unicode
characters a language), so code points are counted. An emoji is two UTF-16 units; a text that is over the limit only in
those is warned about, since no document says that no part of Google counts that way.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from uploader.files.android.findings import Findings
from uploader.files.artifacts import is_within, printable

_MAX_BYTES = 64 * 1024  # four times what the longest allowed text can measure in UTF-8
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# Play Console Help, table 4419860; the list grows, so that a language outside it is a warning and not an error.
_GOOGLES = """
af am ar az-AZ be bg bn-BD ca cs-CZ da-DK de-DE el-GR en-AU en-CA en-GB en-IN en-SG en-US en-ZA es-419 es-ES es-US et
eu-ES fa fa-AE fa-AF fa-IR fi-FI fil fr-CA fr-FR gl-ES gu hi-IN hr hu-HU hy-AM id is-IS it-IT iw-IL ja-JP ka-GE kk
km-KH kn-IN ko-KR ky-KG lo-LA lt lv mk-MK ml-IN mn-MN mr-IN ms ms-MY my-MM ne-NP nl-NL no-NO pa pl-PL pt-BR pt-PT rm ro
ru-RU si-LK sk sl sq sr sv-SE sw ta-IN te-IN th tr-TR uk ur vi zh-CN zh-HK zh-TW zu
"""
GOOGLES = frozenset(_GOOGLES.split())
# Names that are right elsewhere (BCP 47, or Java's) and that Google spells in another way.
_OTHERS = {"he": "iw-IL", "he-IL": "iw-IL", "nb": "no-NO", "nb-NO": "no-NO", "in": "id", "tl": "fil", "zh": "zh-CN"}


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that an input names: where it is, how people call it, and the folder that real paths may not leave."""

    path: Path
    name: str
    within: Path | None

    def name_of(self, path: Path) -> str:
        """How a file below is called in messages."""
        return printable(f"{self.name.rstrip('/')}/{path.relative_to(self.path).as_posix()}")

    def entries(self, below: Path | None = None) -> list[Path]:
        """What is in the folder, or in one below it, by name, without hidden entries; empty when it is no folder."""
        try:
            return sorted(entry for entry in (below or self.path).iterdir() if not entry.name.startswith("."))
        except OSError:
            return []


def language(name: str, where: str, findings: Findings) -> bool:
    """Whether the name can be a language of Play; tells what to write instead when it can't."""
    if not _LANGUAGE.fullmatch(name):
        findings.wrong(
            f"{where}: `{printable(name)}` is not a language name.{_suggestion(name)}", "en-US, de-DE, es-419, fil"
        )
        return False
    if name not in GOOGLES:
        findings.warn(f"{where}: `{name}` is not in Google's list of languages.{_suggestion(name)}")
    return True


def _suggestion(name: str) -> str:
    spelled = name.replace("_", "-").lower()
    exact = [known for known in GOOGLES if known.lower() == spelled]
    family = sorted(known for known in GOOGLES if known.partition("-")[0] == spelled.partition("-")[0])
    known = exact or [other for key, other in _OTHERS.items() if key.lower() == spelled] or family
    return f" Did you mean {' or '.join(known[:3])}?" if known else ""


def text_of(folder: Folder, path: Path, limit: int | None, findings: Findings) -> str:
    """The text without a byte order mark, with LF line ends, trimmed; "" when there is none or it is wrong."""
    name = folder.name_of(path)
    data = _bytes(path, name, folder.within, findings)
    text = _decoded(data, name, findings) if data is not None else None
    if text is None:
        return ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if found := _CONTROLS.search(text):
        findings.wrong(f"{name} holds the control character U+{ord(found[0]):04X} (character {found.start() + 1}).")
        return ""
    if limit is not None:
        _check_length(text, limit, name, findings)
    return text


def _bytes(path: Path, name: str, within: Path | None, findings: Findings) -> bytes | None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            findings.wrong(f"{name} is not a regular file.")
        elif within is not None and not is_within(path, within):
            findings.wrong(f"{name} is outside the workspace, which only `allow-outside-workspace: true` permits.")
        elif status.st_size > _MAX_BYTES:
            findings.wrong(f"{name} has {status.st_size:,} bytes; no text that Play takes is that long.")
        else:
            return path.read_bytes()
    except OSError as error:
        findings.wrong(f"{name} can't be read: {error.strerror}.")
    return None


def _decoded(data: bytes, name: str, findings: Findings) -> str | None:
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # what Windows tools call "Unicode"
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        findings.wrong(f"{name} is not UTF-8: the byte at offset {error.start} does not fit.", "UTF-8 text")
        return None


def _check_length(text: str, limit: int, name: str, findings: Findings) -> None:
    units = len(text.encode("utf-16-le")) // 2
    if len(text) > limit:
        findings.wrong(f"{name} has {len(text)} characters, Play takes {limit}.")
    elif units > limit:
        findings.warn(f"{name} has {len(text)} characters but {units} in UTF-16; Play's limit is {limit}.")
