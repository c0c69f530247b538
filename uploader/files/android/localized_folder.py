"""A folder of texts and images by language, such as release notes or a store listing, read entry by entry.

Google states the limits of texts in Unicode characters (Play Console Help, "Prepare and roll out a release"), so code
points are counted. An emoji is two UTF-16 units; a text that is over the limit only in those is a warning, since no
document says that no part of Google counts that way.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from uploader.files import path_hints
from uploader.files.android.languages import ACCEPTED, LANGUAGES, is_language_name, suggestion
from uploader.files.workspace import Workspace, printable
from uploader.input_problems import Problems

_MAX_BYTES = 64 * 1024  # four times what the longest allowed text can measure in UTF-8
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def normalised(text: str) -> str:
    """The text with LF line ends, trimmed: what every text is sent as, so that nothing else is a difference."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


class LocalizedFolder:
    """The folder that one input names. What is wrong with its entries is added to `problems` under that input.

    Raises InputError when it is no folder, or may not be listed.
    """

    def __init__(self, input_name: str, name: str, workspace: Workspace, accepted: str) -> None:
        self.path = workspace.root / name
        self.access = workspace.access(input_name, name)
        self.problems = Problems()
        self._name = printable(name).rstrip("/")
        if not self.path.is_dir():
            meant = printable(path_hints.hint(name, workspace.root))
            self.wrong(self.path, f"is not a folder.{meant}", accepted)
        elif objection := self.access.objection(self.path):
            self.wrong(self.path, f"{objection}.")
        self.problems.raise_if_any()

    def name_of(self, path: Path) -> str:
        """How an entry, or the folder itself, is called in messages."""
        return self._name if path == self.path else f"{self._name}/{printable(path.relative_to(self.path).as_posix())}"

    def wrong(self, path: Path, what: str, accepted: str = "") -> None:
        """Play would refuse this, or it can't be what was meant; `what` continues a sentence that begins with it."""
        self.problems.add(self.access.input_name, f"{self.name_of(path)} {what}", accepted)

    def warn(self, path: Path, what: str) -> None:
        """Worth a look, but Play may take it."""
        self.problems.warn(f"{self.access.input_name}: {self.name_of(path)} {what}")

    def entries(self, below: Path | None = None) -> list[Path]:
        """What is in the folder, or in one below it, by name, without hidden entries; empty when it is no folder."""
        folder = below or self.path
        try:
            found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        except OSError:
            return []
        if objection := self.access.objection(folder):
            self.wrong(folder, f"{objection}.")
            return []
        return found

    def is_language(self, name: str, path: Path) -> bool:
        """Whether the language that an entry is named for can be one of Play's; otherwise suggests what to write."""
        if not is_language_name(name):
            self.wrong(path, f"is not named for a language: `{printable(name)}`.{suggestion(name)}", ACCEPTED)
            return False
        if name not in LANGUAGES:
            self.warn(path, f"is for `{name}`, which is not in Google's list of languages.{suggestion(name)}")
        return True

    def text(self, path: Path, limit: int | None) -> str:
        """The text without a byte order mark, with LF line ends, trimmed; "" when there is none or it is wrong."""
        text = self._read(path)
        if text is None:
            return ""
        text = normalised(text)
        if wrong := objection(text, limit):
            self.wrong(path, wrong)
            return ""
        if odd := oddity(text, limit):
            self.warn(path, odd)
        return text

    def _read(self, path: Path) -> str | None:
        file = self.problems.collect(lambda: self.access.open_input(path, self.name_of(path)))
        if file is None:
            return None
        with file:
            size = os.fstat(file.fileno()).st_size
            if size > _MAX_BYTES:
                self.wrong(path, f"has {size:,} bytes, more than any text that Play accepts.")
                return None
            data = file.read(size)
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # what Windows tools call "Unicode"
        try:
            return data.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError as error:
            self.wrong(path, f"is not UTF-8: the byte at offset {error.start} is invalid.", "UTF-8 text")
            return None


def objection(text: str, limit: int | None) -> str:
    """Why Play takes no such text of at most `limit` characters, as the rest of a sentence; empty when it does."""
    if found := _CONTROLS.search(text):
        return f"contains the control character U+{ord(found[0]):04X} (character {found.start() + 1})."
    if limit is not None and len(text) > limit:
        return f"has {len(text)} characters; Play accepts at most {limit}."
    return ""


def oddity(text: str, limit: int | None) -> str:
    """What Play may not take about a text, as the rest of a sentence; empty when nothing is odd."""
    units = len(text.encode("utf-16-le")) // 2
    if limit is not None and units > limit:
        return f"has {len(text)} characters but {units} in UTF-16; Play's limit is {limit}."
    return ""
