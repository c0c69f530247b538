"""Filters as AIP-160 writes them, as far as the Reporting API supports them: dimensions compared for equality.

`versionCode = 42`, `versionCode = 42 OR versionCode = 43`, `(versionCode = 42) AND countryCode = "DE"`, `NOT …`. As in
AIP-160, OR binds tighter than AND, and AND may be left out. Reference: google.aip.dev/160.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from google_emulator.http.errors import ApiError, invalid_argument
from google_emulator.services.reporting.metric_sets import DIMENSIONS

Predicate: TypeAlias = Callable[[Mapping[str, str]], bool]
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"\\]*"|'[^'\\]*')|(?P<sign>!=|<=|>=|[()=<>:,-])|(?P<word>[^\s()=<>:,!"']+))"""
)
DEEPEST = 32  # parentheses


def parse_filter(text: str) -> Predicate:
    """What the filter says of a slice's dimensions. Raises `ApiError` 400 for what it can't read."""
    return _Parser(text).parse()


class _Parser:
    """A parser by recursive descent over the tokens of one filter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._tokens = self._split(text.strip())

    def _split(self, rest: str) -> list[str]:
        tokens, position = [], 0
        while position < len(rest):
            found = _TOKEN.match(rest, position)
            if found is None:
                raise self._error(f"unexpected {rest[position:][:10]!r}")
            tokens.append(found[0].strip())
            position = found.end()
        return tokens

    def parse(self) -> Predicate:
        if not self._tokens:
            return lambda _: True
        whole = self._sequence()
        if self._tokens:
            raise self._error(f"unexpected {self._tokens[0]!r}")
        return whole

    def _next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self) -> str:
        if not self._tokens:
            raise self._error("unexpected end")
        return self._tokens.pop(0)

    def _sequence(self) -> Predicate:
        factors = [self._factor()]
        while self._tokens and self._next() != ")":
            if self._next() == "AND":
                self._take()
            factors.append(self._factor())
        return lambda slice_: all(factor(slice_) for factor in factors)

    def _factor(self) -> Predicate:
        terms = [self._term()]
        while self._next() == "OR":
            self._take()
            terms.append(self._term())
        return lambda slice_: any(term(slice_) for term in terms)

    def _term(self) -> Predicate:
        if self._next() in ("NOT", "-"):
            self._take()
            negated = self._simple()
            return lambda slice_: not negated(slice_)
        return self._simple()

    def _simple(self) -> Predicate:
        if self._next() != "(":
            return self._comparison()
        self._take()
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error("too many parentheses")
        inside = self._sequence()
        if self._take() != ")":
            raise self._error("')' is missing")
        self._depth -= 1
        return inside

    def _comparison(self) -> Predicate:
        name, sign, value = self._take(), self._take(), self._take().strip("\"'")
        if name not in DIMENSIONS:
            raise self._error(f"{name!r} is no dimension")
        if sign not in ("=", "!="):
            raise self._error(f"{sign!r} is not supported, only equality is")
        if DIMENSIONS[name] == "int64Value" and not value.isdecimal():
            raise self._error(f"{value!r} is no int64")
        return lambda slice_: (slice_[name] == value) is (sign == "=")

    def _error(self, why: str) -> ApiError:
        return invalid_argument(f"Invalid filter {self._text!r}: {why}.", "filter")
