"""The search language of Drive's files.list, as far as clients use it: comparisons, `in`, `and`, `or`, `not`.

Reference: developers.google.com/drive/api/guides/ref-search-terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from google_emulator.http.response import ApiError, Json

_TOKEN = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[()]|<=|>=|!=|[=<>]|\w+)\s*")
DEEPEST = 20
Condition: TypeAlias = Callable[[Mapping[str, Json]], bool]
_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda has, wanted: has == wanted,
    "!=": lambda has, wanted: has != wanted,
    "<": lambda has, wanted: has < wanted,
    "<=": lambda has, wanted: has <= wanted,
    ">": lambda has, wanted: has > wanted,
    ">=": lambda has, wanted: has >= wanted,
    "contains": lambda has, wanted: wanted.lower() in has.lower(),
}


def condition_of(query: str) -> Condition:
    """What a query asks of a file; an empty one asks nothing. Raises `ApiError` 400 for what is no query."""
    tokens = _tokens(query)
    if not tokens:
        return lambda _: True
    condition = _any_of(tokens, DEEPEST)
    if tokens:
        raise _invalid()
    return condition


def _tokens(query: str) -> list[str]:
    tokens, at, query = [], 0, query.strip()
    while at < len(query):
        found = _TOKEN.match(query, at)
        if found is None:
            raise _invalid()
        tokens.append(found[1])
        at = found.end()
    return tokens


def _invalid() -> ApiError:
    return ApiError(400, "Invalid Value", "invalid")


def _any_of(tokens: list[str], depth: int) -> Condition:
    conditions = [_all_of(tokens, depth)]
    while tokens[:1] == ["or"]:
        del tokens[0]
        conditions.append(_all_of(tokens, depth))
    return lambda file: any(one(file) for one in conditions)


def _all_of(tokens: list[str], depth: int) -> Condition:
    conditions = [_one(tokens, depth)]
    while tokens[:1] == ["and"]:
        del tokens[0]
        conditions.append(_one(tokens, depth))
    return lambda file: all(one(file) for one in conditions)


def _one(tokens: list[str], depth: int) -> Condition:
    if not depth or not tokens:
        raise _invalid()
    if tokens[0] == "not":
        del tokens[0]
        negated = _one(tokens, depth - 1)
        return lambda file: not negated(file)
    if tokens[0] == "(":
        del tokens[0]
        inner = _any_of(tokens, depth - 1)
        if tokens[:1] != [")"]:
            raise _invalid()
        del tokens[0]
        return inner
    return _comparison(tokens)


def _comparison(tokens: list[str]) -> Condition:
    if len(tokens) < 3:
        raise _invalid()
    left, operator, right = tokens[0], tokens[1], tokens[2]
    del tokens[:3]
    if operator == "in" and left.startswith("'"):
        wanted = _text(left)
        return lambda file: wanted in file.get(right, ())
    compare = _COMPARISONS.get(operator)
    if compare is None or not (right.startswith("'") or right in ("true", "false")):
        raise _invalid()
    value = _text(right)
    return lambda file: compare(_as_text(file.get(left, "")), value)


def _text(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.startswith("'") else token


def _as_text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
