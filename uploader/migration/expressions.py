"""Reads a value of a Fastfile or a Gradle file, as far as it can be known without running it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from uploader.migration.found_upload import LONGEST, variable
from uploader.migration.lexer import Lexeme, split

Lexemes: TypeAlias = Sequence[Lexeme]
DEEPEST_VALUE = 5  # of lists and calls in each other
FALLBACKS = ("||", "?:", "orElse", "getOrElse")
_VARIABLE = re.compile(r"#\{ ?ENV(?:\[|\.fetch\()[\"'](\w+)[\"'][\])] ?\}|\$\{System\.getenv\(\"(\w+)\"\)\}")
_ROOT = re.compile(r"\$(?:\{(?:rootProject\.projectDir|rootProject\.rootDir|rootDir)\}|rootDir\b)")
_MODULE = re.compile(r"\$(?:\{projectDir\}|projectDir\b)")
_READING = {"ENV", "fetch", "System", "getenv", "providers", "environmentVariable", "get", "orNull"}


class Scope(NamedTuple):
    """What names mean in a file: where its paths begin, and what was assigned to a name before."""

    module: str
    root: str
    names: Mapping[str, Lexemes]
    depth: int = 0

    def value(self, given: Lexemes) -> str | None:
        """The text of a value, an item of a list on each line; None where only the language itself can tell."""
        if self.depth > DEEPEST_VALUE:
            return None
        words = [lexeme.text for lexeme in given]
        if len(given) == 1:
            return self._single(given[0])
        if words[:1] == ["["] or words[:2] in (["listOf", "("], ["setOf", "("]):
            return self._list(given[1 if words[0] == "[" else 2 : -1])
        if not words or any(sign in words for sign in (*FALLBACKS, "+", "?")):
            return None
        return _variable(given) or self._path(given) or _constant(given)

    @property
    def _inner(self) -> Scope:
        return self._replace(depth=self.depth + 1)

    def _single(self, lexeme: Lexeme) -> str | None:
        if lexeme.kind == "string":
            return lexeme.text
        if lexeme.kind == "open":
            return self._interpolated(lexeme.text)
        if lexeme.text in {"true", "false"} or lexeme.text[0] in "0123456789":
            return lexeme.text.rstrip("dDfFlL").replace("_", "")
        assigned = self.names.get(lexeme.text)
        value = self._replace(names={}).value(assigned) if assigned else None
        return value if value is None or len(value) <= LONGEST else None

    def _interpolated(self, text: str) -> str | None:
        """A string with code in it, where that is a variable of the environment or one of Gradle's folders."""
        text = _VARIABLE.sub(lambda found: variable(found[1] or found[2]), text)
        for pattern, folder in ((_ROOT, self.root), (_MODULE, self.module)):
            text = pattern.sub(lambda _, folder=folder or ".": folder, text)  # type: ignore[misc]  # mypy can't infer a lambda with a default
        known = "#{" not in text and "$" not in text.replace("${{ env.", "")
        return posixpath.normpath(text) if known and "/" in text else text if known else None

    def _list(self, given: Lexemes) -> str | None:
        items = [self._inner.value(item) for item in split(given)]
        return None if None in items else "\n".join(item for item in items if item)

    def _path(self, given: Lexemes) -> str | None:
        """`file("x")` beside the build file, `rootProject.file("x")` at the root."""
        words = [lexeme.text for lexeme in given]
        at = next((at for at, word in enumerate(words[:-2]) if word in {"file", "File"} and words[at + 1] == "("), -1)
        if at < 0 or words[-1] != ")":
            return None
        inner = self._inner.value(given[at + 2 : -1])
        base = self.root if "rootProject" in words[:at] or "rootDir" in words[:at] else self.module
        if inner is None or inner.startswith(("/", "$")) or given[at + 2].kind == "open":
            return inner
        return posixpath.normpath(posixpath.join(base, inner))


def fallback(given: Lexemes) -> str:
    """The text behind `||`, `?:`, `orElse`: what holds when nothing else is given."""
    at = max((index for index, lexeme in enumerate(given) if lexeme.text in FALLBACKS), default=len(given))
    found = [each.text for each in given[at:] if each.kind == "string" or re.fullmatch(r"[0-9][0-9.]*", each.text)]
    return found[0] if len(found) == 1 else ""


def _variable(given: Lexemes) -> str | None:
    """`ENV["X"]`, `ENV.fetch("X")`, `System.getenv("X")`, `providers.environmentVariable("X").get()`."""
    names = [lexeme.text for lexeme in given if lexeme.kind == "string"]
    words = {lexeme.text for lexeme in given if lexeme.kind == "word"}
    reading = words & {"ENV", "getenv", "environmentVariable"} and not words - _READING
    return variable(names[0]) if reading and len(names) == 1 and re.fullmatch(r"\w+", names[0]) else None


def _constant(given: Lexemes) -> str | None:
    """`ReleaseStatus.DRAFT`, a symbol such as `:internal`."""
    words = [lexeme.text for lexeme in given]
    if words[0] == ":" and len(words) == 2:
        return words[1]
    return words[-1] if set(words[1::2]) == {"."} and words[-1].isupper() else None
