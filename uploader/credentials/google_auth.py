"""google-auth's objects for checked credentials, and the one place where its exceptions are translated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from uploader.credentials import configuration_checks as checks
from uploader.credentials.credential_source import CredentialSource
from uploader.credentials.token_request import HINT, TokenRequest, Unavailable
from uploader.errors import CredentialsError, InputError, Problem, ProtocolError, UploaderError

if TYPE_CHECKING:
    from google.auth.identity_pool import SubjectTokenSupplier

BEARER = re.compile(r"[\x21-\x7e]{1,16384}")
USUAL_LIFETIME = 3600.0  # seconds; Google's, where an answer does not say (RFC 6749, section 5.1 lets it be left out)


@dataclass(frozen=True)
class Token:
    """An access token and how long it is valid from now, in seconds."""

    value: str
    lifetime: float

    def __repr__(self) -> str:
        return f"Token(lifetime={self.lifetime})"


@cache
def _raised() -> tuple[type[Exception], ...]:
    """What google-auth is known to raise on a damaged configuration, an unreadable file or a strange answer.

    Its own error is the first.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # asked only once something is raised
    from google.auth.exceptions import GoogleAuthError  # and a login by a key uses nothing of google-auth

    usual = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError)
    return GoogleAuthError, UnsupportedAlgorithm, *usual


def credentials(
    source: CredentialSource, scopes: Sequence[str], subject: str, supplier: SubjectTokenSupplier | None
) -> Any:
    """The object that google-auth refreshes. Raises InputError when the configuration turns out to be unusable."""
    try:
        return _built(source.kind, source.info, list(scopes), subject or None, supplier)
    except _raised():
        what = "`private_key` can't be read." if "private_key" in source.info else "the configuration can't be used."
    raise InputError(Problem(source.origin, what, "a credential configuration as Google's tools write it."))


def _built(
    kind: str, info: Mapping[str, Any], scopes: list[str], subject: str | None, supplier: SubjectTokenSupplier | None
) -> Any:
    if kind == checks.SERVICE_ACCOUNT:
        return _service_account(info, scopes, subject)
    if kind == checks.USER:
        return _user(info)
    if kind == checks.EXTERNAL_USER:
        return _google("auth.external_account_authorized_user").Credentials.from_info(info)
    if kind == checks.IMPERSONATED:
        return _impersonated(_impersonator(info["source_credentials"], scopes), info, scopes, subject)
    if subject:
        alone = {name: value for name, value in info.items() if name != checks.IMPERSONATION}
        return _impersonated(_external(alone, scopes, supplier), info, scopes, subject)
    return _external(info, scopes, supplier)


def _service_account(info: Mapping[str, Any], scopes: list[str], subject: str | None) -> Any:
    from uploader.credentials.service_account_key import ServiceAccount  # a login of any other kind reads no key

    return ServiceAccount(info, scopes, subject)


def _impersonator(info: Mapping[str, Any], scopes: list[str]) -> Any:
    """Who acts for another account: google-auth wants an object of its own there. The key is read as elsewhere."""
    if info["type"] != checks.SERVICE_ACCOUNT:
        return _built(info["type"], info, scopes, None, None)
    from uploader.credentials.service_account_key import sound_key  # a login of any other kind reads no key

    signer = _google("auth.crypt").RSASigner(sound_key(info["private_key"]), info.get("private_key_id"))
    names = {"service_account_email": info["client_email"], "token_uri": info["token_uri"]}
    return _google("oauth2.service_account").Credentials(signer, scopes=scopes, **names)


def _user(info: Mapping[str, Any]) -> Any:
    """Not by google-auth's own reader, which ignores a `token_uri`. The scopes are those of the refresh token."""
    token_uri = info.get("token_uri") or "https://oauth2.googleapis.com/token"
    names = ("refresh_token", "client_id", "client_secret")
    user = _google("oauth2.credentials").Credentials
    return user(token=None, token_uri=token_uri, **{name: info[name] for name in names})


def _impersonated(source: Any, info: Mapping[str, Any], scopes: list[str], subject: str | None) -> Any:
    """A service account by `generateAccessToken`, or with a subject a user by `signJwt` and the token exchange."""
    url = info[checks.IMPERSONATION]
    return _google("auth.impersonated_credentials").Credentials(
        source_credentials=source,
        target_principal=checks.principal(url),
        target_scopes=scopes,
        delegates=info.get("delegates"),
        subject=subject,
        iam_endpoint_override=url,
    )


def _external(info: Mapping[str, Any], scopes: list[str], supplier: SubjectTokenSupplier | None) -> Any:
    """A federated login. google-auth runs a command only if GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES allows it."""
    if supplier:
        pool = _google("auth.identity_pool").Credentials
        return pool.from_info(info, scopes=scopes, subject_token_supplier=supplier)
    if info["subject_token_type"] == checks.AWS:
        module = "auth.aws"
    elif "executable" in info["credential_source"]:
        module = "auth.pluggable"
    else:
        module = "auth.identity_pool"
    return _google(module).Credentials.from_info(info, scopes=scopes)


def _google(module: str) -> Any:
    """A part of google-auth: each run pays for the import of its own alone, and their types are not complete."""
    return import_module(f"google.{module}")


def application_default(scopes: Sequence[str], request: TokenRequest) -> Any:
    """What google-auth finds on this machine: gcloud's login elsewhere than usual, or a metadata server.

    One short question to the metadata server at most: where none answers there is none. Raises CredentialsError.
    """
    import logging  # a login by a key is spared 3 ms
    import warnings

    logging.getLogger("google.auth").addHandler(logging.NullHandler())  # its advice is not for our log
    with suppress(Unavailable, UploaderError, *_raised()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _google("auth").default(scopes=list(scopes), request=request)[0]
    raise CredentialsError(
        "There are no credentials.",
        cause="Neither `credentials` nor `workload-identity-provider` is given, and this machine has no credentials of "
        "its own.",
        hint="Give `credentials`, or for a keyless login `workload-identity-provider` and `service-account`.",
        code="no-credentials",
    )


def fetch(credential: Any, request: TokenRequest) -> Token:
    """A fresh access token. Raises Unavailable, CredentialsError, or ProtocolError for an answer that is no token."""
    request.answered = ""
    words = ""
    try:
        credential.refresh(request)
        return _token(credential.token, credential.expiry)
    except _raised() as caught:
        words = _words(caught)
    raise _explained(words, request)


def _words(error: Exception) -> str:
    """What google-auth or the system says; what Python itself says of an answer may hold a part of it."""
    if isinstance(error, _raised()[0]):
        return str(error.args[0]) if error.args else ""
    return error.strerror or "" if isinstance(error, OSError) else ""


def _token(value: object, expiry: datetime | None) -> Token:
    """Checks what google-auth took from the answer; a token with a line break would become a header of its own."""
    if not isinstance(value, str) or not BEARER.fullmatch(value):
        raise ValueError("no token")
    if expiry is None:
        return Token(value, USUAL_LIFETIME)
    lifetime = (expiry.replace(tzinfo=timezone.utc) - datetime.now(timezone.utc)).total_seconds()
    if lifetime <= 0:
        raise ValueError("expired")
    return Token(value, lifetime)


def _explained(words: str, request: TokenRequest) -> UploaderError:
    """A failure after an answer is the answer's; one before any is this machine's, told in google-auth's words."""
    if request.answered:
        return ProtocolError(
            f"{request.answered} answered a token request with something other than a token.", hint=HINT
        )
    said = words.strip().rstrip(".") or "the configured source of the token can't be read"
    return CredentialsError(
        f"There is no token to log in with: {said}.",
        cause="The credential configuration names a source that this job does not have.",
        hint="Check `credential_source`, and that its file or command is reachable from here.",
        code="no-token-source",
    )
