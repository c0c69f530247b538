"""Fills parameters into URL paths (RFC 6570), and refuses any value that would lead out of the place it stands in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from uploader.errors import ProtocolError
from uploader.inputs.parse import leads_elsewhere

_EXPRESSION = re.compile(r"\{(\+?)([A-Za-z0-9_]+)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="  # RFC 6570, section 1.5: what `{+name}` lets pass
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")  # one that begins no escape


def names(template: str) -> tuple[str, ...]:
    """The names of a template's parameters, in their order."""
    return tuple(name for _, name in _EXPRESSION.findall(template))


def expand(template: str, values: Mapping[str, str]) -> str:
    """The path with its parameters filled in and escaped.

    `{name}` is simple expansion: everything but unreserved characters is escaped, so a slash stays inside its segment.
    `{+name}` is reserved expansion: slashes separate segments and escapes that are there already are kept. Only the two
    forms occur in Google's documents. Check each value that was given with `objection` first. Raises ProtocolError for
    one that a service named and that leads out of its place.
    """
    if any(map(leads_elsewhere, values.values())):
        raise ProtocolError("The service named an id with a . or .. segment, which would lead to another path.")
    return _EXPRESSION.sub(lambda found: _escape(values[found[2]], reserved=bool(found[1])), template)


def objection(template: str, name: str, value: str) -> str:
    """Why `value` may not stand for `name` in the template, as the rest of a sentence; empty when it may."""
    reserved = f"{{+{name}}}" in template
    if not value:
        return "is empty, which would leave out a part of the path."
    if re.search(r"[\x00-\x1f\x7f]", unquote(value) if reserved else value):
        return "contains a control character."
    if reserved and re.search(r"[?#]", value):
        return "contains ? or #, which would end the path; write %3F or %23 if they belong to the name."
    if leads_elsewhere(value):
        return "contains a . or .. segment, which would lead to another path."
    if reserved and "" in unquote(value).split("/"):
        return "has an empty segment (a slash at the beginning or end, or two in a row)."
    return ""


def _escape(value: str, *, reserved: bool) -> str:
    if not reserved:
        return quote(value, safe="")
    return _LONE_PERCENT.sub("%25", quote(value, safe=_RESERVED + "%"))
