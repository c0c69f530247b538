"""Takes Ruby, Groovy and Kotlin apart into words, strings and signs; nothing is ever carried out.

It is tolerant: what it does not know becomes a sign of one character, and a string ends with its line. Every character
is looked at once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Language = Literal["ruby", "gradle"]

_COMMON = r"(?P<newline>\n)|(?P<blank>[ \t\r\f]+)|(?P<word>[A-Za-z_]\w*[?!]?|[0-9][0-9._]*[dDfFlL]?)"
_SINGLE = r"'(?P<single>(?:[^'\\\n]|\\[\s\S])*)(?:'|(?=\n)|\\?\Z)"
# Code in a string may hold quotes. What follows the repeated part always matches, so that nothing is tried twice.
_DOUBLE = r"\"(?P<double>(?:%s\{[^}\n]{0,200}\}|[^\"\\\n]|\\[\s\S])*)(?:\"|(?=\n)|\\?\Z)"
_PATTERNS = {
    "ruby": re.compile(
        rf"(?P<comment>#[^\n]*)|{_COMMON}|{_SINGLE}|{_DOUBLE % '#'}|<<[~-]['\"]?(?P<heredoc>\w+)['\"]?"
        r"|(?P<sign>=>|\|\||==|\S)"
    ),
    "gradle": re.compile(
        r"(?P<comment>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))|(?P<triple>\"\"\"(?s:.*?)(?:\"\"\"|\Z))"
        rf"|{_COMMON}|{_SINGLE}|{_DOUBLE % '[$]'}|(?P<sign>\?:|\|\||==|\S)"
    ),
}
_BARE_LINE = re.compile(r"^[ \t]*(\w+)[ \t]*$", re.MULTILINE)
_ESCAPE = re.compile(r"\\([\s\S])")
LONGEST_VALUE = 40  # lexemes of what is assigned to a name
OPENING, CLOSING = "([{", ")]}"


class Lexeme(NamedTuple):
    """A word, a string without its quotes, a sign or the end of a line; an `open` string holds code."""

    kind: Literal["word", "string", "open", "sign", "newline"]
    text: str
    line: int
    start: int
    end: int


def lexemes(text: str, language: Language) -> tuple[Lexeme, ...]:
    """What a text is made of, without comments and blanks."""
    return tuple(_lexemes(text, language))


def _lexemes(text: str, language: Language) -> Iterator[Lexeme]:
    position, line = 0, 1
    heredoc = ""
    ends = _Heredocs(text)
    while match := _PATTERNS[language].match(text, position):
        kind = match.lastgroup or ""
        end = match.end()
        if kind not in {"comment", "blank"}:
            yield _lexeme(kind, match[kind], language, (line, position, end))
        heredoc = match[kind] if kind == "heredoc" else heredoc
        if kind == "newline" and heredoc:
            end, heredoc = ends.end(heredoc, end), ""
        line += text.count("\n", position, end)
        position = end


class _Heredocs:
    """Where the texts end that Ruby lets begin on the line after their mark."""

    def __init__(self, text: str) -> None:
        self._ends: dict[str, list[int]] | None = None
        self._text = text

    def end(self, word: str, start: int) -> int:
        """The end of the first line after `start` that is the word alone; `start` itself if there is none."""
        if self._ends is None:
            self._ends = {}
            for found in _BARE_LINE.finditer(self._text):
                self._ends.setdefault(found[1], []).append(found.end())
        ends = self._ends.get(word, [])
        at = bisect_left(ends, start)
        return ends[at] if at < len(ends) else start


def _lexeme(kind: str, raw: str, language: Language, place: tuple[int, int, int]) -> Lexeme:
    if kind in {"double", "single", "triple"}:
        raw = raw.strip('"') if kind == "triple" else raw
        is_open = kind != "single" and ("#{" in raw if language == "ruby" else "$" in raw.replace("\\$", ""))
        return Lexeme("open" if is_open else "string", _ESCAPE.sub(r"\1", raw), *place)
    if kind == "word":
        return Lexeme("word", raw, *place)
    return Lexeme("newline" if kind == "newline" else "sign", raw, *place)


def closing(found: Sequence[Lexeme], start: int) -> int:
    """The index of the sign that closes what opens at `start`, or the end of the text."""
    depth = 0
    for index in range(start, len(found)):
        if found[index].kind == "sign":
            depth += (found[index].text in OPENING) - (found[index].text in CLOSING)
            if depth <= 0:
                return index
    return len(found)


def split(found: Sequence[Lexeme]) -> list[list[Lexeme]]:
    """What stands between commas that are in no brackets, without the ends of lines."""
    parts: list[list[Lexeme]] = [[]]
    depth = 0
    for lexeme in found:
        if lexeme.kind == "sign":
            depth += (lexeme.text in OPENING) - (lexeme.text in CLOSING)
            if lexeme.text == "," and not depth:
                parts.append([])
                continue
        if lexeme.kind != "newline":
            parts[-1].append(lexeme)
    return [part for part in parts if part]


def statement_end(found: Sequence[Lexeme], start: int, most: int = 200) -> int:
    """Where a statement is over: at the end of a line on which no bracket is open, and after `most` at the latest."""
    depth = 0
    stop = min(start + most, len(found))
    for index in range(start, stop):
        lexeme = found[index]
        depth += (lexeme.text in OPENING) - (lexeme.text in CLOSING) if lexeme.kind == "sign" else 0
        if depth < 0 or (not depth and (lexeme.kind == "newline" or lexeme.text == ";")):
            return index
    return stop
