"""Writes text from outside into GitHub's Markdown so that it stays text: no markup, no HTML, no link, no mention.

Characters that could mean anything are written as numeric character references, which Markdown never takes for
structure (CommonMark 0.30, section 6.2). An at sign needs more: GitHub looks for mentions and mail addresses after the
references are resolved, so an empty comment parts it from what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlsplit

# Beside letters and digits, what means nothing in the middle of a line. A colon is harmless before a blank only (else
# it may be an address or an emoji), a dot everywhere but after www.
_MARKUP: Final = re.compile(r"[^\w .,;'()/%=?+\"-]|_|(?<=www)\.(?=\S)", re.IGNORECASE)
_PLAIN_CODE: Final = re.compile(r"[\w.,:@+=/()%~-](?:[\w .,:@+=/()%~-]*[\w.,:@+=/()%~-])?")
_IN_BACKTICKS: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_URL_CHARACTERS: Final = "/:?#@!$&*+,=%~-._"  # no semicolon: none can end a character reference


def text(outside: str) -> str:
    """Prose: the reader sees `outside` (one line) exactly, Markdown and HTML see nothing in it.

    Only what stands between two backticks is in fixed width, without them: so this program writes names.
    """
    parts = _IN_BACKTICKS.split(outside)
    return "".join(code(part) if number % 2 else _escaped(part) for number, part in enumerate(parts))


def code(outside: str) -> str:
    """A name or an identifier in fixed width; a code span where it is harmless, else `<code>` with references."""
    if not outside:
        return ""
    if _PLAIN_CODE.fullmatch(outside):
        return f"`{outside}`"
    return f"<code>{re.sub('[^A-Za-z0-9]', _reference, outside)}</code>"


def link(label: str, url: str) -> str:
    """A link, if `url` is an absolute web address; else the label alone, which can't lead anybody anywhere."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in {"https", "http"} and parts.netloc:
            return f"[{text(label)}](<{quote(url, safe=_URL_CHARACTERS)}>)"
    return text(label)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], limit: int) -> tuple[str, int]:
    """A table of ready-made cells and the number of rows that fit into `limit` bytes; no row is cut in its middle."""
    lines = [_row(header), _row(["---"] * len(header))]
    left = limit - sum(map(_weight, lines))
    for row in rows:
        line = _row((*row, *[""] * len(header))[: len(header)])
        left -= _weight(line)
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines), len(lines) - 2


def _escaped(part: str) -> str:
    return _MARKUP.sub(_reference, part).replace("&#58; ", ": ")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _weight(line: str) -> int:
    return len(line.encode("utf-8")) + 1


def _reference(match: re.Match[str]) -> str:
    return "&#64;<!-- -->" if match.group() == "@" else f"&#{ord(match.group())};"
