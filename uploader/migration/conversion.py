"""Says what an upload of another tool is here: this project's inputs, and what could not become one.

The table of inputs/other_tools.py answers for each setting; `special_settings` has those that are more than a name. A
key is never taken over, only an expression or a path that leads to it, and what no input accepts is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from uploader.inputs import fields
from uploader.inputs.invalid_value import InvalidValue
from uploader.inputs.other_tools import TOOLS
from uploader.migration.found_upload import FoundUpload, Given, Leftover, below
from uploader.redaction import Redactor, credentials_in, holds_credential

LONGEST_SHOWN = 80  # characters of a setting in a remark
PATHS = {"files", "mapping-file", "debug-symbols", "whats-new-directory", "images-directory"}
# What it looks through it does not look through again: `${{` inside begins another.
EXPRESSION = re.compile(r"\$\{\{(?:[^}$]|\$(?!\{\{)|\}(?!\}))*\}\}")
_LOG_COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)  # what GitHub's log obeys, wherever it is printed
_FIELDS = {field.name: field for field in fields()}


class Conversion:
    """The step that is being made of one upload: its inputs by name, their lines, what is left to the reader.

    `exists` tells whether a path is there.
    """

    def __init__(self, upload: FoundUpload, exists: Callable[[str], bool]) -> None:
        self.upload = upload
        self.exists = exists
        self.inputs = {"target": "play"}
        self.lines: dict[str, int] = {}
        self.leftovers: list[Leftover] = []
        self.missed: set[str] = set()  # inputs that were given a value which nobody can tell, or takes
        # By name; where one is given twice, the first.
        self.given: dict[str, Given] = {each.name: each for each in reversed(upload.given)}

    def text(self, name: str) -> str:
        """The value of a setting, or nothing."""
        return self.given[name].value if name in self.given else ""

    def true(self, *names: str) -> bool:
        """Whether each of some settings is switched on."""
        return all(self.text(name).lower() == "true" for name in names)

    def carry(self, name: str, given: Given, value: str | None = None) -> None:
        """Takes a setting over as an input; a value that the input would refuse is left to the reader."""
        value = (given.value if value is None else value).strip()
        if name in PATHS and value:
            folder = self.upload.folder
            value = "\n".join(below(folder, path.strip()) for path in re.split(r"[\n,]", value) if path.strip())
        reason = refusal(name, value)
        if reason or (given.code and not value):
            self.missed.add(name)
        if given.code:
            self.leave(given, f"{'taken as ' + value if value and not reason else 'only its own language can tell'}")
        if reason:
            self.leave(given, reason)
        elif value:
            self.inputs.setdefault(name, value)
            self.lines.setdefault(name, given.line)

    def leave(self, given: Given, why: str) -> None:
        """Names a setting that is not taken over."""
        row = TOOLS[self.upload.tool].find(given.name)
        text = given.code or f"{given.name}: {given.value}"
        secret = (row is not None and "credentials" in row.inputs) or holds_key(text) or holds_key(given.value)
        what = given.name if secret else text
        self.leftovers.append(Leftover(given.line, what, why))

    def drop(self, name: str, why: str) -> None:
        """Takes an input back, and names it."""
        value = self.inputs.pop(name)
        self.leftovers.append(Leftover(self.lines.get(name, self.upload.line), f"{name}: {value}", why))

    def add(self, why: str, what: str = "") -> None:
        """Names what the other tool did by itself."""
        self.leftovers.append(Leftover(self.upload.line, what or self.upload.title, why))


def holds_key(text: str) -> bool:
    """Whether a credential stands in a text, as it is or as a word of base64."""
    words = re.split(r"[^\w+/=-]+", text)
    return holds_credential(text) or any(credentials_in(text)) or any(map(holds_credential, words))


def unfit(text: str) -> str:
    """Why a text may not be repeated at all; empty where it may."""
    if holds_key(text):
        return "it holds a key: revoke it, and put the new one into a secret"
    if _LOG_COMMAND.search(text):
        return "it is a command of GitHub's log"
    return "" if Redactor().clean(text) == text else "it has characters that can't be seen"


def refusal(name: str, value: str) -> str:
    """Why an input would not take a value; empty where it would, or where nobody can tell before the run."""
    reason = unfit(value)
    if reason or not value or EXPRESSION.search(value):
        return reason
    try:
        _FIELDS[name].parse(value)
    except InvalidValue as invalid:
        return f"it {invalid.reason}"
    return ""


def shown(what: str) -> str:
    """What stands in the file, on one line and short, without a key."""
    text = remark(what)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def remark(text: str) -> str:
    """A text for the reader, on one line, without a key and without what a terminal or GitHub's log would obey."""
    text = "a key" if holds_key(text) else " ".join(text.split())
    return Redactor().one_line(text).replace("##[", "## [")
