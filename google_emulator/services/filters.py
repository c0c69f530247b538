"""Filters as Drive and the Reporting API take them: comparisons joined by `and`, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias

from google_emulator.http.response import ApiError, Json

Condition: TypeAlias = Callable[[Mapping[str, Json]], bool]
Join: TypeAlias = Callable[[Iterable[bool]], bool]
MAX_DEPTH = 20  # parentheses and negations within each other


class FilterParser:
    """A parser by recursive descent over the tokens of one filter.

    Languages differ in their words, in which of the two joins binds tighter, and in their comparisons.
    """

    token: ClassVar[re.Pattern[str]]  # one token with the blanks before it, the token itself as its first group
    negations: ClassVar[tuple[str, ...]]
    loose: ClassVar[tuple[str, Join]]
    tight: ClassVar[tuple[str, Join]]
    loose_word_optional = False

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        at, text = 0, text.strip()
        while at < len(text):
            found = self.token.match(text, at)
            if found is None:
                raise self.error(f"unexpected {text[at:][:10]!r}")
            self.tokens.append(found[1])
            at = found.end()

    def parse(self) -> Condition:
        """What the filter asks; an empty one asks nothing. Raises `ApiError` 400 for what is none."""
        if not self.tokens:
            return lambda _: True
        whole = self._loosely_joined(MAX_DEPTH)
        if self.tokens:
            raise self.error(f"unexpected {self.tokens[0]!r}")
        return whole

    def take(self) -> str:
        """The next token, taken off."""
        if not self.tokens:
            raise self.error("unexpected end")
        return self.tokens.pop(0)

    def comparison(self) -> Condition:
        """One comparison, taken off the tokens."""
        raise NotImplementedError

    def error(self, why: str) -> ApiError:
        """The service's refusal of a filter that can't be read."""
        raise NotImplementedError

    def _loosely_joined(self, depth: int) -> Condition:
        word, join = self.loose
        parts = [self._tightly_joined(depth)]
        while self.tokens[:1] == [word] or (self.loose_word_optional and self.tokens and self.tokens[0] != ")"):
            if self.tokens[0] == word:
                self.take()
            parts.append(self._tightly_joined(depth))
        return lambda item: join(part(item) for part in parts)

    def _tightly_joined(self, depth: int) -> Condition:
        word, join = self.tight
        parts = [self._one(depth)]
        while self.tokens[:1] == [word]:
            self.take()
            parts.append(self._one(depth))
        return lambda item: join(part(item) for part in parts)

    def _one(self, depth: int) -> Condition:
        if not depth:
            raise self.error("too many parentheses")
        if self.tokens and self.tokens[0] in self.negations:
            self.take()
            negated = self._one(depth - 1)
            return lambda item: not negated(item)
        if self.tokens[:1] != ["("]:
            return self.comparison()
        self.take()
        inside = self._loosely_joined(depth - 1)
        if self.take() != ")":
            raise self.error("')' is missing")
        return inside
