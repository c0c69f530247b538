"""The first token on its way while the run still gets ready: whoever needs one waits for it, or hears why not."""

from __future__ import annotations

import threading
from typing import Protocol


class TokenSource(Protocol):
    """What the transfer needs of credentials: a token that lasts, and a fresh one after a 401."""

    def token(self) -> str:
        """A bearer token that stays valid long enough for a request."""

    def renew(self) -> None:
        """Makes the next token a fresh one."""


class TokenPrefetch:
    """A source whose first token is fetched from now on. A login that failed then has failed for the whole run."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._fetch_first, daemon=True)
        self._thread.start()

    def token(self) -> str:
        """See `TokenSource.token`. Raises what the source raises."""
        self._thread.join()
        if self._error:
            raise self._error
        return self._source.token()

    def renew(self) -> None:
        """See `TokenSource.renew`."""
        self._source.renew()

    def _fetch_first(self) -> None:
        try:
            self._source.token()
        except BaseException as error:  # noqa: BLE001  # carried to whoever asks for the token
            self._error = error
