"""Reads the error bodies of Google's APIs into the service's own words: status, reason and
message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from uploader.http.messages import Response, TransportError

_LONGEST_MESSAGE = 2000  # characters; more than this is no message for people
_GOOGLE_PAGE = b"!!1"  # in the title of each error page of Google's own
_GOOGLE_TITLE = re.compile(rb"<title>(Error \d{3} \([A-Za-z ]{1,60}\))!!1")
_RATE_REASONS = {"rateLimitExceeded", "userRateLimitExceeded"}
# Quotas of a day have a reason of their own, or share it with rates and are recognised by their
# words.
_DAILY_REASONS = {
    "dailyLimitExceeded",
    "dailyLimitExceededUnreg",
    "publishingDailySaveQuotaExceeded",
}
_QUOTA_REASONS = {
    *_RATE_REASONS,
    "quotaExceeded",
    "RESOURCE_EXHAUSTED",
    "RATE_LIMIT_EXCEEDED",
}
_DAILY = re.compile(r"\bper[ -]day\b|\bdaily\b|PerDay|1/d/")
# All of its quotas are for a day (developers.google.com/youtube/v3/getting-started#quota).
_DAILY_DOMAIN = "youtube.quota"


@dataclass(frozen=True)
class GoogleError:
    """What the service said: HTTP status, reasons from every place where Google puts them, and the
    message.

    `silent` says that the message is made from the status alone. `page` is true for HTML that is
    not Google's, `front_end` for the error pages of Google's servers in front of the APIs.
    """

    status: int
    message: str
    reasons: tuple[str, ...]
    body: Mapping[str, Any]
    silent: bool = False
    page: bool = False
    front_end: bool = False

    @property
    def reason(self) -> str:
        """The most specific reason, or an empty string."""
        if not self.reasons:
            return ""
        return self.reasons[0]

    @property
    def how(self) -> str:
        """The end of a sentence that begins with what was refused: the message, or a note that
        there is none.
        """
        if self.page:
            return " with an HTML page."
        if self.silent:
            return " without any explanation."
        return f": {self.message}"

    @property
    def own_words(self) -> str:
        """What can be quoted: the message, or `an HTML page`; empty if there is nothing."""
        if self.page:
            return "an HTML page"
        if self.silent:
            return ""
        return self.message

    @property
    def advice(self) -> tuple[str, str]:
        """The likely cause of a refusal that does not look like Google's, and what to do; both
        empty for any other.
        """
        if self.page:
            cause = (
                "An HTML page is not Google's answer: a proxy or firewall on the way refused the "
                "request."
            )
            hint = (
                "Have Google's API hosts allowed there (such as "
                "androidpublisher.googleapis.com and oauth2.googleapis.com), or correct "
                "HTTPS_PROXY and NO_PROXY."
            )
            return cause, hint
        if self.front_end:
            cause = (
                "This is a page of Google's servers in front of the API, which did not pass "
                "the request on: they don't know its address, or don't accept its form."
            )
            hint = (
                "Check `api-endpoint`, the names and ids in the inputs for characters that "
                "don't belong there, and whether a proxy changes requests on the way."
            )
            return cause, hint
        if self.silent and not self.body:
            cause = (
                "It may not have been Google that answered: its refusals give a reason."
            )
            hint = "Check whether a proxy or firewall is on the way (HTTPS_PROXY, `api-endpoint`)."
            return cause, hint
        return "", ""

    @property
    def rate_limited(self) -> bool:
        """True for the two reasons with which a 403 means "slower", not "no"."""
        return not _RATE_REASONS.isdisjoint(self.reasons)

    @property
    def daily_quota(self) -> bool:
        """True if a daily quota is spent, so that waiting for minutes does not help."""
        if not _DAILY_REASONS.isdisjoint(self.reasons):
            return True
        if _QUOTA_REASONS.isdisjoint(self.reasons):
            return False
        if _DAILY.search(self.message):
            return True
        return _names_daily_quota(self.body.get("error"))


def _names_daily_quota(error: object) -> bool:
    """Return whether an error's domain is one of daily quotas, or the quota in its details
    (google.rpc.ErrorInfo) is for a day.
    """
    for entry in _entries(error, "errors"):
        if entry.get("domain") == _DAILY_DOMAIN:
            return True
    for entry in _entries(error, "details"):
        metadata = entry.get("metadata")
        if not isinstance(metadata, Mapping):
            continue
        for name in ("quota_limit", "quota_unit"):
            if _DAILY.search(_text(metadata.get(name))):
                return True
    return False


def read(response: Response) -> GoogleError:
    """Return the error in a response. Never fails: a body that is not Google's JSON gives a message
    made from the status.
    """
    body = response.json() or {}
    error = body.get("error")
    if isinstance(error, Mapping):
        message = _text(error.get("message"))
        is_silent = not message
        if is_silent:
            message = _status_message(response)
        return GoogleError(
            response.status,
            message,
            _reasons(error),
            body,
            silent=is_silent,
        )
    # OAuth's form, RFC 6749 section 5.2: {"error": "invalid_grant", "error_description": "…"}
    if isinstance(error, str):
        message = _text(body.get("error_description")) or error
        return GoogleError(response.status, message, (error[:100],), body)
    title = _GOOGLE_TITLE.search(response.body[:_LONGEST_MESSAGE])
    if title:
        return GoogleError(
            response.status,
            title[1].decode(),
            (),
            body,
            front_end=True,
        )
    message = _plain(response)
    is_silent = message == _status_message(response)
    is_page = _is_foreign_page(response)
    return GoogleError(
        response.status,
        message,
        (),
        body,
        silent=is_silent,
        page=is_page,
    )


def _is_foreign_page(response: Response) -> bool:
    """Return whether the response is an HTML page, and not one of Google's own."""
    start = response.body[:_LONGEST_MESSAGE].lstrip().lower()
    is_page = start.startswith((b"<!doctype html", b"<html"))
    return is_page and _GOOGLE_PAGE not in start


def is_too_fast(response: Response | TransportError | None) -> bool:
    """Return whether a response says that requests come faster than a quota allows."""
    if not isinstance(response, Response):
        return False
    return response.status == 429 or read(response).rate_limited


def last_words(response: Response | TransportError | None) -> str:
    """Return what the service itself said in a response, to be appended to its status; empty if it
    said nothing.
    """
    if not isinstance(response, Response):
        return ""
    message = read(response).message.rstrip(".")
    if message == _status_message(response):
        return ""
    return f": {message}"


def _reasons(error: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every reason that an error states, the most specific first."""
    reasons: list[str] = []
    for key in ("errors", "details"):
        reasons += [_text(entry.get("reason")) for entry in _entries(error, key)]
    reasons.append(_text(error.get("status")))
    return tuple(reason for reason in reasons if reason)


def _entries(error: object, key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a list of the error."""
    if not isinstance(error, Mapping):
        return
    entries = error.get(key)
    if not isinstance(entries, list):
        return
    for entry in entries:
        if isinstance(entry, Mapping):
            yield entry


def _text(value: object) -> str:
    """Return the value if it is text, trimmed and bounded; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value.strip()[:_LONGEST_MESSAGE]


def _plain(response: Response) -> str:
    """Return a message for a response without Google's error object: its body if that is short
    plain text, else one made from the status.
    """
    text = response.body[:_LONGEST_MESSAGE].decode("utf-8", "replace").strip()
    is_short = 0 < len(text) <= 300
    is_markup = text.startswith(("<", "{", "["))
    if is_short and not is_markup and text.isprintable():
        return text
    return _status_message(response)


def _status_message(response: Response) -> str:
    return f"HTTP {response.status} without an explanation"
