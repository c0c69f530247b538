"""A page of a bucket's listing: names below a prefix, cut at a delimiter, as many as were asked for.

Reference: cloud.google.com/storage/docs/json_api/v1/objects/list.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from google_emulator.http.errors import ApiError

LONGEST_PAGE = 1000


class ListingPage(NamedTuple):
    """The names of objects, the prefixes in place of what lies behind a delimiter, and how to ask for the next page."""

    names: list[str]
    prefixes: list[str]
    next_token: str


def page_of(names: Iterable[str], query: Mapping[str, str]) -> ListingPage:
    """The page that the query asks for. Raises `ApiError` 400 for a page size or a token that is none."""
    entries = sorted(_entries(names, query.get("prefix", ""), query.get("delimiter", "")))
    after, size = _decoded(query.get("pageToken", "")), _page_size(query.get("maxResults", ""))
    rest = [one for one in entries if one[0] > after]
    page = rest[:size]
    more = base64.urlsafe_b64encode(page[-1][0].encode()).decode() if len(rest) > size else ""
    return ListingPage([name for name, cut in page if not cut], [name for name, cut in page if cut], more)


def _entries(names: Iterable[str], prefix: str, delimiter: str) -> set[tuple[str, bool]]:
    """Every entry of the listing, and whether it is a prefix."""
    entries = set()
    for name in names:
        if name.startswith(prefix):
            at = name.find(delimiter, len(prefix)) if delimiter else -1
            entries.add((name, False) if at < 0 else (name[: at + len(delimiter)], True))
    return entries


def _page_size(text: str) -> int:
    if not text:
        return LONGEST_PAGE
    if not text.isdecimal() or not int(text[:9]) > 0:
        raise ApiError(400, f"Invalid value for maxResults: {text}", "invalid")
    return min(int(text[:9]), LONGEST_PAGE)


def _decoded(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError:
        raise ApiError(400, "Invalid argument: pageToken.", "invalid") from None
