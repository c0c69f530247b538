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

MAX_CELL = 300  # characters of outside text in one cell
MAX_SENTENCE = 2000  # characters of a warning, a label, an address
MAX_PROSE = 20_000  # characters of a text that is nowhere else on the page
# Beside letters and digits, what means nothing in the middle of a line. A colon is harmless before
# a blank only (else it may be an address or an emoji), a dot everywhere but after www.
_MARKUP = re.compile(r"[^\w .,;'()/%=?+\"-]|_|(?<=www)\.(?=\S)", re.IGNORECASE)
_PLAIN_CODE = re.compile(r"[\w.,:@+=/()%~-](?:[\w .,:@+=/()%~-]*[\w.,:@+=/()%~-])?")
_IN_BACKTICKS = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_URL_CHARACTERS = "/:?#@!$&*+,=%~-._"  # no semicolon: none can end a character reference
# Addresses that may be followed wherever they stand: at these hosts nobody but Google has pages.
_CONSOLE = re.compile(
    r"(https://(?:play\.google\.com/console|console\.(?:cloud|developers)\.google\.com)/"
    r"(?:[\w/.?=&%+-]*[\w/])?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Escaper:
    """Makes Markdown of text from outside: redacted, and each text on one line."""

    redactor: Redactor

    def line(self, outside: str, limit: int) -> str:
        """The text itself on one line of at most so many characters, not escaped yet."""
        return self.redactor.one_line(outside, limit).strip()

    def text(self, outside: str, limit: int = MAX_CELL) -> str:
        """Prose of at most so many characters."""
        return text(self.line(outside, limit))

    def prose(self, outside: str) -> str:
        """Prose in full, in which the addresses of Google's consoles are links."""
        parts = _CONSOLE.split(self.line(outside, MAX_PROSE))
        for place, part in enumerate(parts):
            is_address = place % 2 == 1
            parts[place] = link(part, part) if is_address else text(part)
        return "".join(parts)

    def code(self, outside: str) -> str:
        """A name or an identifier in fixed width."""
        return code(self.line(outside, MAX_CELL))

    def link(self, label: str, url: str) -> str:
        """A link, if the address is one of the web."""
        return link(self.line(label, MAX_CELL), self.line(url, MAX_SENTENCE))


def details(title: str, body: str) -> str:
    """A block that is folded below its title; empty without a body."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def diff(lines: Sequence[str]) -> str:
    """Lines that GitHub colours by the sign before them; none of them ends the block."""
    return (
        "\n".join(["```diff", *(line.replace("```", "'''") for line in lines), "```"])
        if lines
        else ""
    )


def size_of(block: str) -> int:
    """The bytes of a block on the page."""
    return len(block.encode("utf-8"))


def text(outside: str) -> str:
    """Prose: the reader sees `outside` (one line) exactly, Markdown and HTML see nothing in it.

    Only text between two backticks is in fixed width, without them: so this program writes
    names.
    """
    parts = _IN_BACKTICKS.split(outside)
    escaped = (_MARKUP.sub(_reference, part).replace("&#58; ", ": ") for part in parts[::2])
    return "".join(
        part + each for part, each in zip(escaped, [*map(code, parts[1::2]), ""], strict=True)
    )


def code(outside: str) -> str:
    """A name or an identifier in fixed width; a code span where it is harmless, else `<code>` with
    references.
    """
    if not outside:
        return ""
    if _PLAIN_CODE.fullmatch(outside):
        return f"`{outside}`"
    return f"<code>{re.sub('[^A-Za-z0-9]', _reference, outside)}</code>"


def link(label: str, url: str) -> str:
    """A link, if `url` is an absolute web address; else the label alone, which can't lead anybody
    anywhere.
    """
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in {"https", "http"} and parts.netloc:
            return f"[{text(label)}](<{quote(url, safe=_URL_CHARACTERS)}>)"
    return text(label)


def _reference(match: re.Match[str]) -> str:
    return "&#64;<!-- -->" if match.group() == "@" else f"&#{ord(match.group())};"


def short_names(paths: Sequence[str], limit: int) -> list[str]:
    """The last part of each path, with folders where several end alike; its middle is left out
    beyond `limit`.
    """
    alike: dict[str, list[list[str]]] = defaultdict(list)
    for *folders, name in (path.split("/") for path in paths):
        alike[name].append(folders)
    shared = {name: len(os.path.commonprefix(each)) for name, each in alike.items()}  # noqa: RUF071  # of lists
    names = ["/".join(parts[shared[parts[-1]] :]) for parts in (path.split("/") for path in paths)]
    end = (limit - 3) // 2
    return [
        name if len(name) <= limit else f"{name[: limit - 3 - end]}...{name[-end:]}"
        for name in names
    ]


def alert(kind: str, paragraphs: Sequence[str]) -> str:
    """A block that GitHub draws with a coloured edge and an icon; empty without paragraphs."""
    if not paragraphs:
        return ""
    body = "\n>\n".join(f"> {paragraph}" for paragraph in paragraphs)
    return f"> [!{kind}]\n{body}"
