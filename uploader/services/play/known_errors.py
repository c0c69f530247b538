"""Recognise Google Play's known refusals: the likely cause of each, what to do, and which of them
pass by themselves.

They are the sections `play: …` of the table of errors. Google's own words always stay in the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from uploader import error_table
from uploader.errors import ApiError, CredentialsError


@dataclass(frozen=True)
class KnownError:
    """One refusal of the table. `code` is this program's, and `reasons` are Google's.

    `new_build` says that running again with the same files can't help.
    """

    words: str
    pattern: str
    cause: str
    hint: str
    reasons: tuple[str, ...] = ()
    permission: bool = False
    code: str = ""
    new_build: bool = False


def _from_entry(entry: error_table.Entry) -> KnownError:
    """Return the refusal of one section of the table."""
    texts = entry.texts
    return KnownError(
        texts["words"],
        texts["pattern"],
        texts["cause"],
        texts["hint"],
        reasons=tuple(re.findall(r"\w+", texts.get("reasons", ""))),
        permission=entry.exit_code == CredentialsError.exit_code,
        code=entry.code,
        new_build=texts.get("build") == "new",
    )


_KNOWN = {entry.code: _from_entry(entry) for entry in error_table.of_source("play")}
KNOWN_ERRORS = tuple(_KNOWN.values())
VERSION_TAKEN = _KNOWN["version-code-used"]
EDIT_GONE = _KNOWN["edit-gone"]
TRACK_MISSING = _KNOWN["track-not-found"]
REVIEW_BY_HAND = _KNOWN["review-by-hand"]
REVIEW_AUTOMATIC = _KNOWN["review-automatic"]
BY_HAND = (
    "Make the same release by hand in the Play Console, which often explains more (with "
    "RUNNER_DEBUG=1 the log has the request)."
)
OTHER = KnownError(
    "Anything else",
    "",
    "",
    f"Do what Google's message asks for. If it is not clear: {BY_HAND[:1].lower()}{BY_HAND[1:]}",
    code=ApiError.code,
)
# permissions of the Play Console, as it calls them
TO_TESTING = "Release apps to testing tracks"
TO_PRODUCTION = "Release to production, exclude devices, and use Play App Signing"
STORE_PRESENCE = "Manage store presence"
TESTERS = "Manage testing tracks and edit tester lists"
NO_SUCH_TRACK = (TRACK_MISSING, _KNOWN["track-empty"], OTHER)
"""What a 404 to a request about a track may mean: it does not exist, or was never used."""

_MAY_READ = (
    "Reading needs \u201cView app information (read-only)\u201d: under Users and permissions in "
    "the Play Console let the account view this app."
)
_MAY_COMPARE = (
    "Reading the APKs that Google Play generates needs a permission to release: under Users and "
    "permissions in the Play Console let the account release this app to testing tracks or to "
    "production."
)
_NOT_COMPARED = "Google Play did not answer what the comparison needs."


def find(error: ApiError) -> KnownError:
    """Return the entry of a refusal: by its words, since one reason code covers many things, or
    else by its reason.
    """
    words = error.message or error.what
    for known in KNOWN_ERRORS:
        if re.search(known.pattern, words, re.IGNORECASE):
            return known
    for known in KNOWN_ERRORS:
        if error.reason and error.reason in known.reasons:
            return known
    return OTHER


def needs_new_build(code: str) -> bool:
    """Return whether a refusal with this code is about the artifacts, so that running again can't
    help.
    """
    return code in _KNOWN and _KNOWN[code].new_build


def explain(error: ApiError) -> ApiError | CredentialsError:
    """Return the refusal with cause and hint, as a CredentialsError if the account lacks a
    permission.
    """
    known = find(error)
    what = error.what
    if error.message not in what:
        what = f"{what} {error.message}"
    cause = error.cause or known.cause
    hint = error.hint or known.hint
    # The refusal of a commit comes here twice: once before advice about its edit is added to it.
    if known is OTHER and not error.message and BY_HAND not in error.hint:
        hint = f"{error.hint} {BY_HAND}".strip()
    if known.permission:
        return CredentialsError(
            what,
            cause=cause,
            hint=hint,
            code=known.code,
        )
    return error.with_what(what).with_advice(
        cause=cause,
        hint=hint,
        code=known.code,
    )


def explain_comparison(error: ApiError) -> ApiError | CredentialsError:
    """Return the refusal of a request that a comparison with the served APKs makes, with cause and
    hint: there is nothing to release by hand, and another permission is needed.
    """
    known = find(error)
    if known is OTHER and error.status != 403:
        cause = error.cause or _NOT_COMPARED
        hint = (
            error.hint or "Run again with `target: play-verify`, which uploads nothing."
        )
        refused = explain(error.with_advice(cause=cause, hint=hint))
        # `explain` advises to release by hand.
        return refused.with_advice(hint=hint)
    refused = explain(error)
    if error.status != 403 or refused.code not in (OTHER.code, "permission-denied"):
        return refused
    cause = _KNOWN["permission-denied"].cause
    return CredentialsError(
        refused.what,
        cause=cause,
        hint=_MAY_COMPARE,
        code="permission-denied",
    )


@contextmanager
def explain_refusals(*, reading: bool = False) -> Iterator[None]:
    """Give a refusal of Google Play its cause and its hint. A run that only reads (`reading`) is
    told to ask for less permission.
    """
    try:
        yield
    except ApiError as refused:
        error = explain(refused)
        if reading and error.code == "permission-denied":
            raise error.with_advice(hint=_MAY_READ) from None
        raise error from None


def conflict(error: ApiError) -> str:
    """Return why a refusal passes by itself: someone else is changing the app, or Google is still
    at work. Empty for any other refusal.

    Google documents 409 as a concurrent update, to be repeated with exponential backoff (REST
    resource: edits).
    """
    if "uploads are not completed yet" in error.message:
        return "Google Play has not processed all uploaded bundles yet."
    if error.status == 409 and find(error) is not EDIT_GONE:
        return "Another job, or someone in the Play Console, is changing the same app."
    return ""
