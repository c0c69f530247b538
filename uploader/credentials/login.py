"""Hands out bearer tokens that stay valid long enough, renewed ahead of time and never inside another request."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from uploader.credentials import checks, google_auth
from uploader.credentials.credential_source import DEFAULT, KEYLESS, Source
from uploader.credentials.exchange import Exchange, Unavailable
from uploader.errors import TemporaryError
from uploader.inputs.parse import is_loopback
from uploader.protocol.retry import next_wait

if TYPE_CHECKING:
    from google.auth.identity_pool import SubjectTokenSupplier

    from uploader.inputs import Inputs

AHEAD = 300.0  # seconds
SEAL = b"uploader journal, sealed\0"


class Login:
    """One account's tokens for one set of scopes. May be used from several threads; one fetch runs at a time.

    `account` is who acts, for people; `secrets` what must be masked from the start (fresh tokens go to `on_secret`);
    `seal_key` 32 bytes derived from the lasting secret, None when there is none; `quota_project` the project that a
    user's calls are billed to (header `X-Goog-User-Project`), mostly empty.
    """

    def __init__(
        self,
        source: Source,
        fetch: Callable[[], google_auth.Token],
        *,
        inputs: Inputs,
        sleep: Callable[[float], None],
        random: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        through = f"{inputs.impersonate_user} through " if inputs.impersonate_user else ""
        self.account = through + source.account
        self.secrets = tuple(filter(None, (*source.secrets, inputs.state_key)))
        self.seal_key = _seal_key(inputs.state_key.encode() or source.lasting)
        self.quota_project = _project(source.info.get("quota_project_id"))
        self._fetch = fetch
        self._sleep = sleep
        self._random = random
        self._clock = clock
        self._max_retries = inputs.max_retries
        self._patience = inputs.retry_deadline
        self._deadline = math.nan
        self._lock = threading.Lock()
        self._token: google_auth.Token | None = None
        self._ends = 0.0
        self._fetched = 0

    def __repr__(self) -> str:
        return f"Login({self.account!r})"

    def token(self, min_seconds: float = AHEAD) -> str:
        """A bearer token that stays valid for `min_seconds`, or for half its life where it never lives so long.

        Raises CredentialsError when the login is refused, ProtocolError for an answer that is no token, TemporaryError
        when the endpoint stays unavailable through `max-retries` waits, and whatever `sleep` raises.
        """
        with self._lock:
            token = self._token
            if token is None or self._ends - self._clock() < _enough(token, min_seconds):
                token = self._renewed()
            return token.value

    def renew(self) -> None:
        """Fetch a fresh token although the old one looked valid, after a 401. Calls at the same time share one."""
        seen = self._fetched
        with self._lock:
            if self._fetched == seen:
                self._renewed()

    def _renewed(self) -> google_auth.Token:
        if math.isnan(self._deadline):  # a run begins with its first token, so this is the run's first request
            self._deadline = self._clock() + self._patience
        spent = 0
        while True:
            asked = self._clock()
            try:
                self._token = self._fetch()
            except Unavailable as caught:
                failure = caught
            else:
                self._ends = asked + self._token.lifetime
                self._fetched += 1
                return self._token
            seconds = next_wait(
                spent,
                self._max_retries,
                time_left=self._deadline - self._clock(),
                fraction=self._random(),
                asked=failure.retry_after,
            )
            if seconds is None:
                raise _spent(failure, spent)
            self._sleep(seconds)
            spent += 1


def build(
    source: Source,
    inputs: Inputs,
    scopes: Sequence[str],
    *,
    sleep: Callable[[float], None],
    on_secret: Callable[[str], object],
    random: Callable[[], float],
    clock: Callable[[], float],
    direct: bool,
) -> Login:
    """The login behind `uploader.credentials.load`, with google-auth's objects inside."""
    exchange = Exchange(root=_root(source, inputs), direct=direct, on_secret=on_secret, clock=clock)
    if source.kind == DEFAULT:
        fetch = _found_late(scopes, exchange)
    else:
        credential = google_auth.credentials(source, scopes, inputs.impersonate_user, _supplier(source, inputs))
        fetch = _fetcher(credential, exchange)
    login = Login(source, fetch, inputs=inputs, sleep=sleep, random=random, clock=clock)
    for secret in login.secrets:
        on_secret(secret)
    return login


def _supplier(source: Source, inputs: Inputs) -> SubjectTokenSupplier | None:
    if source.kind != KEYLESS:
        return None
    from uploader.credentials import keyless  # federation is a part of google-auth that a key does not need

    return keyless.supplier(inputs)


def _fetcher(credential: Any, exchange: Exchange) -> Callable[[], google_auth.Token]:
    return lambda: google_auth.fetch(credential, exchange)


def _found_late(scopes: Sequence[str], exchange: Exchange) -> Callable[[], google_auth.Token]:
    """Looks for the machine's own credentials when the first token is needed: that may ask a metadata server."""
    found: list[Any] = []

    def fetch() -> google_auth.Token:
        if not found:
            found.append(google_auth.ambient(scopes, exchange))
        return google_auth.fetch(found[0], exchange)

    return fetch


def _root(source: Source, inputs: Inputs) -> str:
    """On a loopback endpoint the token exchange and the impersonation of a federated login go there too."""
    federated = source.kind in (KEYLESS, checks.EXTERNAL)
    host = re.sub(r"^https?://|:[0-9]+$", "", inputs.api_endpoint).strip("[]")
    return inputs.api_endpoint if federated and is_loopback(host) else ""


def _enough(token: google_auth.Token, min_seconds: float) -> float:
    """Seconds that must be left. A token that never lives so long is renewed at half its life, not at each request."""
    return min_seconds if token.lifetime >= min_seconds else token.lifetime / 2


def _seal_key(lasting: bytes | None) -> bytes | None:
    return hashlib.sha256(SEAL + lasting).digest() if lasting else None


def _project(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9:.-]{1,100}", value) else ""


def _spent(failure: Unavailable, waits: int) -> TemporaryError:
    waited = f"{waits} wait{'s' * (waits != 1)}"
    return TemporaryError(
        f"No access token: {failure.host} did not give one ({failure.why}), after {waited}.",
        cause="The token endpoint is down, or this machine does not reach it.",
        cure="Run again later; behind a proxy check HTTPS_PROXY and NO_PROXY.",
    )
