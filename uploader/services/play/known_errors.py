"""Google Play's known refusals: which one it is, its likely cause, what to do, and which of them
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
    """One refusal, as the table has it; `code` is ours, and `reasons` are Google's.

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


def _known(entry: error_table.Entry) -> KnownError:
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


_KNOWN = {entry.code: _known(entry) for entry in error_table.of_source("play")}
KNOWN_ERRORS = tuple(_KNOWN.values())
VERSION_TAKEN, EDIT_GONE = _KNOWN["version-code-used"], _KNOWN["edit-gone"]
TRACK_MISSING = _KNOWN["track-not-found"]
REVIEW_BY_HAND, REVIEW_AUTOMATIC = _KNOWN["review-by-hand"], _KNOWN["review-automatic"]
BY_HAND = (
    "Make the same release by hand in the Play Console, which often explains more (with "
    "RUNNER_DEBUG=1 the log has the request)."
)
OTHER = KnownError(
    "Anything else",
    "",
    "",
    f"Google's message above says why. If it is not enough: {BY_HAND[:1].lower()}{BY_HAND[1:]}",
    code=ApiError.code,
)
# permissions of the Play Console, as it calls them
TO_TESTING = "Release apps to testing tracks"
TO_PRODUCTION = "Release to production, exclude devices, and use Play App Signing"
STORE_PRESENCE = "Manage store presence"
TESTERS = "Manage testing tracks and edit tester lists"
NO_SUCH_TRACK = (TRACK_MISSING, _KNOWN["track-empty"], OTHER)
"""What a 404 to a question about a track may be: it does not exist, or was never used."""


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
    """The entry of a refusal: by its words first, since one reason code covers many things; else by
    its reason.
    """
    words = error.message or error.what
    by_words = (
        known
        for known in KNOWN_ERRORS
        if re.search(known.pattern, words, re.IGNORECASE)
    )
    by_reason = (
        known
        for known in KNOWN_ERRORS
        if error.reason and error.reason in known.reasons
    )
    return next(by_words, None) or next(by_reason, None) or OTHER


def needs_new_build(code: str) -> bool:
    """Whether a refusal with this code is about the artifacts, so that running again can't help."""
    return code in _KNOWN and _KNOWN[code].new_build


def explained(error: ApiError) -> ApiError | CredentialsError:
    """The refusal with cause and hint; as a CredentialsError where the account is not permitted."""
    known = find(error)
    what = (
        error.what if error.message in error.what else f"{error.what} {error.message}"
    )
    cause = error.cause or known.cause
    hint = error.hint or known.hint
    # A refusal of a commit is explained before its edit is told of, and comes here once more.
    if known is OTHER and not error.message and BY_HAND not in error.hint:
        hint = f"{error.hint} {BY_HAND}".strip()
    if known.permission:
        return CredentialsError(what, cause=cause, hint=hint, code=known.code)
    return error.with_what(what).with_advice(cause=cause, hint=hint, code=known.code)


def explained_comparison(error: ApiError) -> ApiError | CredentialsError:
    """The refusal of what is read for a comparison with what Google Play serves: there is nothing
    to release by hand, and the permission is another one.
    """
    known = find(error)
    if known is OTHER and error.status != 403:
        hint = (
            error.hint or "Run again with `target: play-verify`, which uploads nothing."
        )
        # It has neither a cause nor a hint of its own.
        refused = explained(
            error.with_advice(cause=error.cause or _NOT_COMPARED, hint=hint)
        )
        return refused.with_advice(hint=hint)
    refused = explained(error)
    if error.status != 403 or refused.code not in (OTHER.code, "permission-denied"):
        return refused
    cause = _KNOWN["permission-denied"].cause
    return CredentialsError(
        refused.what, cause=cause, hint=_MAY_COMPARE, code="permission-denied"
    )


@contextmanager
def explained_refusals(*, reading: bool = False) -> Iterator[None]:
    """Give a refusal of Google Play its cause and its hint; where nothing is changed (`reading`),
    less permission is asked for.
    """
    try:
        yield
    except ApiError as refused:
        error = explained(refused)
        if reading and error.code == "permission-denied":
            raise error.with_advice(hint=_MAY_READ) from None
        raise error from None


def conflict(error: ApiError) -> str:
    """Why a refusal passes by itself: someone else is changing the app, or Google is still at work.
    Empty for others.

    Google documents 409 as a concurrent update, to be repeated with exponential backoff (REST
    resource: edits).
    """
    if "uploads are not completed yet" in error.message:
        return "Google Play has not processed all uploaded bundles yet."
    passes = error.status == 409 and find(error) is not EDIT_GONE
    return (
        "Another job, or someone in the Play Console, is changing the same app."
        if passes
        else ""
    )
