"""Hands out bearer tokens that stay valid long enough, renewed ahead of time and never inside another request."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from uploader.credentials import configuration_checks as checks
from uploader.credentials import google_auth
from uploader.credentials.credential_source import DEFAULT, KEYLESS, CredentialSource, parse
from uploader.credentials.token_request import TokenRequest, Unavailable
from uploader.http.client import Transport
from uploader.http.hosts import on_loopback
from uploader.inputs import Inputs
from uploader.retrier import Report, RetryPolicy

if TYPE_CHECKING:
    from google.auth.identity_pool import SubjectTokenSupplier

EARLY_RENEWAL = 300.0  # seconds before a token expires
SEAL_CONTEXT = b"uploader journal, sealed\0"
SCRYPT_COST = 2**15  # with blocks of 1 KiB: 32 MiB and 60 ms for each guess; restic's, without its calibration
CAUSE = "The token endpoint is down, or can't be reached from this machine."
HINT = "Run again later; behind a proxy check HTTPS_PROXY and NO_PROXY."


def load(
    inputs: Inputs,
    scopes: Sequence[str],
    client: Transport,
    policy: RetryPolicy,
    *,
    source: CredentialSource | None = None,
    report: Report = lambda _: None,
    on_secret: Callable[[str], object] = lambda _: None,
) -> Login:
    """A login for `scopes`; nothing is sent before its first `token()`.

    `source` is what `parse` made of the same inputs, so that a pipe is read once. `report` hears of every wait before
    another attempt, `on_secret` every lasting and every fresh secret before it can show up anywhere. Raises InputError
    for a key that can't be read, CredentialsError where a keyless login has no token of the CI system to begin with.
    """
    source = source or parse(inputs)
    request = TokenRequest(client, on_secret, _root(source, inputs))
    if source.kind == DEFAULT:
        # Looked for when the first token is needed: that may ask a metadata server.
        credential = cache(lambda: google_auth.application_default(scopes, request))
    else:
        made = google_auth.credentials(source, scopes, inputs.impersonate_user, _supplier(source, inputs))
        credential = cache(lambda: made)
    login = Login(source, inputs, lambda: google_auth.fetch(credential(), request), policy, report)
    for secret in login.secrets:
        on_secret(secret)
    return login


class Login:
    """One account's tokens for one set of scopes. May be used from several threads; one fetch runs at a time.

    `account` is who acts, for people; `secrets` what must be masked from the start (fresh tokens go to `on_secret`);
    `quota_project` the project that a user's calls are billed to (header `X-Goog-User-Project`), mostly empty.
    """

    def __init__(
        self,
        source: CredentialSource,
        inputs: Inputs,
        fetch: Callable[[], google_auth.Token],
        policy: RetryPolicy,
        report: Report,
    ) -> None:
        through = f"{inputs.impersonate_user} through " if inputs.impersonate_user else ""
        self.account = through + source.account
        self.secrets = tuple(filter(None, (*source.secrets, inputs.state_key)))
        self._state_key = inputs.state_key
        self._lasting = source.lasting
        self.quota_project = _project(source.info.get("quota_project_id"))
        self._fetch = fetch
        self._policy = policy
        self._report = report
        self._lock = threading.Lock()
        self._token: google_auth.Token | None = None
        self._expires = 0.0
        self._fetched = 0

    def __repr__(self) -> str:
        return f"Login({self.account!r})"

    @cached_property
    def seal_key(self) -> bytes | None:
        """32 bytes derived from `state-key`, or from the credential's lasting secret; None where there is neither.

        A `state-key` may be a word that people chose, so it is stretched; no other secret needs that.
        """
        context = SEAL_CONTEXT + self.account.encode()
        if self._state_key:
            return hashlib.scrypt(
                self._state_key.encode(), salt=context, n=SCRYPT_COST, r=8, p=1, maxmem=2**26, dklen=32
            )
        return hashlib.sha256(SEAL_CONTEXT + self._lasting).digest() if self._lasting else None

    def token(self, min_seconds: float = EARLY_RENEWAL) -> str:
        """A bearer token that stays valid for `min_seconds`, or for half its life where it never lives so long.

        Raises CredentialsError when the login is refused, ProtocolError for an answer that is no token, TemporaryError
        when the endpoint stays unavailable through `max-retries` waits, Interrupted when the run is asked to end.
        """
        with self._lock:
            token = self._token
            if token is None or self._expires - self._policy.clock.monotonic() < _least_left(token, min_seconds):
                token = self._renewed()
            return token.value

    def renew(self) -> None:
        """Fetches a fresh token although the old one looked valid, after a 401. Calls at the same time share one."""
        seen = self._fetched
        with self._lock:
            if self._fetched == seen:
                self._renewed()

    def _renewed(self) -> google_auth.Token:
        retrier = self._policy.retrier(self._report)
        while True:
            self._policy.cancellation.check()
            began = self._policy.clock.monotonic()
            try:
                self._token = self._fetch()
            except Unavailable as caught:
                failure = caught
            else:
                self._expires = began + self._token.lifetime
                self._fetched += 1
                return self._token
            finally:
                self._policy.cancellation.check()  # a request that was broken off fails in one way or another
            why = f"no access token from {failure.host}{failure.detail}"
            retrier.wait(why, failure.response, cause=CAUSE, hint=HINT)


def _supplier(source: CredentialSource, inputs: Inputs) -> SubjectTokenSupplier | None:
    if source.kind != KEYLESS:
        return None
    from uploader.credentials import oidc_token  # federation is a part of google-auth that a key does not need

    return oidc_token.supplier(inputs)


def _root(source: CredentialSource, inputs: Inputs) -> str:
    """On a loopback endpoint the token exchange and the impersonation of a federated login go there too."""
    federated = source.kind in (KEYLESS, checks.EXTERNAL)
    return inputs.api_endpoint if federated and on_loopback(inputs.api_endpoint) else ""


def _least_left(token: google_auth.Token, min_seconds: float) -> float:
    """Seconds that must be left. A token that never lives so long is renewed at half its life, not at each request."""
    return min_seconds if token.lifetime >= min_seconds else token.lifetime / 2


def _project(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9:.-]{1,100}", value) else ""
