"""GitHub's Markdown in which text from outside stays text: no markup, no HTML, no link, no mention.

Characters that could mean anything are written as numeric character references, which Markdown
never takes for structure (CommonMark 0.30, section 6.2). GitHub looks for mentions and mail
addresses once these are resolved, so an empty comment follows an at sign.
"""

from __future__ import annotations

import os.path
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from uploader.redaction import Redactor

MAX_UNBROKEN = 50  # characters of a cell that is a value rather than a sentence
MAX_CELL = 300  # characters of outside text in one cell
MAX_SENTENCE = 2000  # characters of a warning, a label, an address
MAX_PROSE = 20_000  # characters of a text that is nowhere else on the page
# All but letters, digits and the signs that mean nothing in the middle of a line. A colon is
# harmless only before a blank (else it may be an address or an emoji), a dot except after www.
_MARKUP = re.compile(r"[^\w .,;'()/%=?+\"-]|_|(?<=www)\.(?=\S)", re.IGNORECASE)
_PLAIN_CODE = re.compile(r"[\w.,:@+=/()%~-](?:[\w .,:@+=/()%~-]*[\w.,:@+=/()%~-])?")
_IN_BACKTICKS = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b", re.ASCII)
NO_BREAK_SPACE = "\u00a0"
NO_BREAK_HYPHEN = "\u2011"
# no semicolon: none can end a character reference
_URL_CHARACTERS = "/:?#@!$&*+,=%~-._"
# Addresses that become links wherever they stand: at these hosts nobody but Google has pages.
_CONSOLE = re.compile(
    r"(https://(?:play\.google\.com/console|console\.(?:cloud|developers)\.google\.com)/"
    r"(?:[\w/.?=&%+-]*[\w/])?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Escaper:
    """Turns text from outside into Markdown: redacted, and each text on one line."""

    redactor: Redactor

    def line(self, outside: str, limit: int) -> str:
        """Return the text on one line of at most so many characters, not escaped yet."""
        shown = self.redactor.one_line(outside, limit)
        return shown.strip()

    def text(self, outside: str, limit: int = MAX_CELL) -> str:
        """Return prose of at most so many characters."""
        return text(self.line(outside, limit))

    def prose(self, outside: str) -> str:
        """Return prose in full, in which the addresses of Google's consoles are links."""
        shown = ""
        line = self.line(outside, MAX_PROSE)
        parts = _CONSOLE.split(line)
        for place, part in enumerate(parts):
            is_address = place % 2 == 1
            if is_address:
                shown += link(part, part)
            else:
                shown += text(part)
        return shown

    def code(self, outside: str) -> str:
        """Return a name or an identifier in fixed width."""
        return code(self.line(outside, MAX_CELL))

    def link(self, label: str, url: str) -> str:
        """Return a link if the address is a web address, else the label alone."""
        shown = self.line(label, MAX_CELL)
        address = self.line(url, MAX_SENTENCE)
        return link(shown, address)


def details(title: str, body: str) -> str:
    """Return a block that is folded below its title; "" without a body."""
    if not body:
        return ""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def diff(lines: Sequence[str]) -> str:
    """Return a block of lines that GitHub colours by the sign before them; no line can end it.

    GitHub does not know `~`: for a change it expects an exclamation mark.
    """
    if not lines:
        return ""
    block = ["```diff"]
    for line in lines:
        coloured = re.sub("^~ ", "! ", line)
        block.append(coloured.replace("```", "'''"))
    block.append("```")
    return "\n".join(block)


def table_row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    row = " | ".join(cells)
    return f"| {row} |"


def unbroken(cell: str) -> str:
    """Return a cell in which no line breaks before a percent sign or inside a date. A long cell,
    which is a sentence, is returned unchanged.
    """
    if len(cell) > MAX_UNBROKEN:
        return cell
    unbroken_percent = f"{NO_BREAK_SPACE}%"
    unbroken_date = rf"\1{NO_BREAK_HYPHEN}\2{NO_BREAK_HYPHEN}\3"
    cell = re.sub(r"(?<=\d) %", unbroken_percent, cell)
    return _DATE.sub(unbroken_date, cell)


def size_of(block: str) -> int:
    """Return the bytes of a block on the page."""
    encoded = block.encode("utf-8")
    return len(encoded)


def text(outside: str) -> str:
    """Return one line of prose that readers see as it is: nothing in it is Markdown or HTML.

    Only text between two backticks, which is how this program writes names, is shown in fixed
    width without them.
    """
    shown = ""
    parts = _IN_BACKTICKS.split(outside)
    for place, part in enumerate(parts):
        in_backticks = place % 2 == 1
        if in_backticks:
            shown += code(part)
        else:
            escaped = _MARKUP.sub(_reference, part)
            shown += escaped.replace("&#58; ", ": ")
    return shown


def code(outside: str) -> str:
    """Return a name or an identifier in fixed width: a code span if it is harmless, else `<code>`
    with references.
    """
    if not outside:
        return ""
    if _PLAIN_CODE.fullmatch(outside):
        return f"`{outside}`"
    escaped = re.sub("[^A-Za-z0-9]", _reference, outside)
    return f"<code>{escaped}</code>"


def link(label: str, url: str) -> str:
    """Return a link if `url` is an absolute web address, else the label alone."""
    shown = text(label)
    with suppress(ValueError):
        parts = urlsplit(url)
        is_web = parts.scheme in {"https", "http"}
        if is_web and parts.netloc:
            address = quote(url, safe=_URL_CHARACTERS)
            return f"[{shown}](<{address}>)"
    return shown


def _reference(match: re.Match[str]) -> str:
    character = match[0]
    if character == "@":
        return "&#64;<!-- -->"
    number = ord(character)
    return f"&#{number};"


def short_names(paths: Sequence[str], limit: int) -> list[str]:
    """Return the last part of each path, with folders if several paths end alike. A name longer
    than `limit` loses its middle.
    """
    folders_by_name: dict[str, list[list[str]]] = defaultdict(list)
    for path in paths:
        *folders, name = path.split("/")
        folders_by_name[name].append(folders)
    shared: dict[str, int] = {}  # by name: how many leading folders all its paths share
    for name, folder_lists in folders_by_name.items():
        common = os.path.commonprefix(folder_lists)  # noqa: RUF071  # of lists
        shared[name] = len(common)
    names = []
    for path in paths:
        parts = path.split("/")
        name = parts[-1]
        own_parts = parts[shared[name] :]
        distinct = "/".join(own_parts)
        names.append(_shorten(distinct, limit))
    return names


def _shorten(name: str, limit: int) -> str:
    """Return a name, without its middle if it is longer than `limit`."""
    if len(name) <= limit:
        return name
    kept = limit - 3
    end_length = kept // 2
    start_length = kept - end_length
    start = name[:start_length]
    end = name[-end_length:]
    return f"{start}...{end}"


def alert(kind: str, paragraphs: Sequence[str]) -> str:
    """Return a block that GitHub draws with a coloured edge and an icon; "" without paragraphs."""
    if not paragraphs:
        return ""
    quoted = [f"> {paragraph}" for paragraph in paragraphs]
    body = "\n>\n".join(quoted)
    return f"> [!{kind}]\n{body}"
