"""The token ahead of its use: fetched at once, waited for where it is needed, and refused for the whole run."""

from __future__ import annotations

import threading

import pytest

from uploader.credentials.token_prefetch import TokenPrefetch
from uploader.errors import CredentialsError


class Slow:
    """A login whose fetch ends when it is told to; `refuses` makes it end with an error."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.asked, self.may_end = threading.Event(), threading.Event()
        self.renewed = 0
        self.fetches = 0
        self._refuses = refuses

    def token(self) -> str:
        self.fetches += 1
        self.asked.set()
        self.may_end.wait()
        if self._refuses:
            raise CredentialsError("no")
        return "token"

    def renew(self) -> None:
        self.renewed += 1


def test_the_first_token_is_fetched_before_anybody_asks() -> None:
    """The login is asked at once, while whoever made it goes on."""
    login = Slow()
    ahead = TokenPrefetch(login)
    assert login.asked.wait(10)
    login.may_end.set()
    assert ahead.token() == "token"


def test_who_asks_waits_for_the_fetch_that_is_under_way() -> None:
    """A token that is asked for meanwhile is that of the same fetch, not of a second one beside it."""
    login = Slow()
    ahead = TokenPrefetch(login)
    got: list[str] = []
    thread = threading.Thread(target=lambda: got.append(ahead.token()))
    thread.start()
    assert login.asked.wait(10)
    assert (login.fetches, got) == (1, [])
    login.may_end.set()
    thread.join()
    assert got == ["token"]


def test_a_login_that_failed_has_failed_for_everybody() -> None:
    """Every file of a run hears the same refusal, and none of them asks once more."""
    login = Slow(refuses=True)
    login.may_end.set()
    ahead = TokenPrefetch(login)
    for _ in range(3):
        with pytest.raises(CredentialsError, match="no"):
            ahead.token()
    assert login.fetches == 1


def test_a_renewal_goes_to_the_login() -> None:
    """After a 401 the login itself is asked for a fresh token."""
    login = Slow()
    login.may_end.set()
    TokenPrefetch(login).renew()
    assert login.renewed == 1
