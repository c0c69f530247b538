"""Finds the `play` blocks of a Gradle file, in Groovy and in Kotlin."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from uploader.inputs.other_tools import TOOLS
from uploader.migration.expressions import Lexemes, Scope, fallback
from uploader.migration.found_upload import FoundUpload, Given
from uploader.migration.lexer import LONGEST_VALUE, closing, lexemes, statement_end

_NAMES = {name for row in TOOLS["gradle"].rows for name in row.names}
_CONDITIONS = ("if", "else", "when", "let")
DEEPEST = 20  # brackets in each other; nothing that is looked for lies deeper
_LOOK_BACK = 40  # lexemes of a line that say what a bracket on it is


def uploads(text: str, path: str) -> Iterator[FoundUpload]:
    """Every `play` block; its paths begin beside the file."""
    found = lexemes(text, "gradle")
    module = posixpath.dirname(path)
    names: dict[str, Lexemes] = {}
    index = 0
    while index < len(found):
        word, following = found[index], found[index + 1].text if index + 1 < len(found) else ""
        index += 1
        if word.kind == "word" and following == "=":
            names[word.text] = found[index + 1 : statement_end(found, index + 1, LONGEST_VALUE)]
        elif word.kind == "word" and word.text == "play" and following == "{" and _alone(found, index - 1):
            end = closing(found, index)
            given = tuple(_settings(found[index + 1 : end], text, Scope("", ".." if module else "", names)))
            yield FoundUpload("gradle", word.line, "the `play` block", given, module)
            index = end


def _alone(found: Lexemes, index: int) -> bool:
    """Whether a word is the first of a statement."""
    return not index or found[index - 1].kind == "newline" or found[index - 1].text in {"{", "}", ";"}


def _settings(block: Lexemes, text: str, scope: Scope) -> Iterator[Given]:
    """Every setting of a block, and of those inside it."""
    inside: list[str] = []  # what each bracket is that is open
    index = 0
    while index < len(block) and len(inside) < DEEPEST:
        word = block[index]
        line = _line_before(block, index)
        name = f"retain.{word.text}" if "retain" in inside else word.text
        if word.kind == "word" and name in _NAMES and (_alone(block, index) or line[:1] == ["if"]):
            end = max(statement_end(block, index), index + 1)
            conditional = bool({*inside, *line[:1]} & set(_CONDITIONS))
            yield _setting(name, block[index:end], text, scope, conditional=conditional)
            index = end
            continue
        if word.kind == "sign" and word.text == "{":
            inside.append(next((each for each in line if each in {*_CONDITIONS, "retain"}), ""))
        elif word.kind == "sign" and word.text == "}" and inside:
            inside.pop()
        index += 1


def _line_before(block: Lexemes, index: int) -> list[str]:
    """What stands before on the same line."""
    start = index
    while start and start > index - _LOOK_BACK and block[start - 1].kind != "newline":
        start -= 1
    return [lexeme.text for lexeme in block[start:index]]


def _setting(name: str, statement: Lexemes, text: str, scope: Scope, *, conditional: bool) -> Given:
    """`track = "x"`, `track.set("x")`, `track "x"`, `track("x")`."""
    code = text[statement[0].start : statement[-1].end]
    value = statement[1:]
    if [lexeme.text for lexeme in value[:3]] in ([".", "set", "("], [".", "addAll", "("]):
        value = value[3:-1]
    elif value and value[0].text in {"=", "("}:
        value = value[1:-1] if value[0].text == "(" else value[1:]
    value = [lexeme for lexeme in value if lexeme.kind != "newline"]
    value = value[:-1] if value and value[-1].text == "," else value
    known = scope.value(value)
    if known is None:
        return Given(name, fallback(value), statement[0].line, code)
    return Given(name, known, statement[0].line, code if conditional else "")
