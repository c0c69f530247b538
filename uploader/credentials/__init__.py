"""Who the program acts as: what was given is checked without network, and becomes a login that hands out bearer tokens.

`source` reads and checks, `login` decides when a token is fetched, `exchange` is one request to a token endpoint, and
`keyless` brings the CI system's own OIDC token. Everything that google-auth raises is translated inside this folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from uploader.credentials.credential_source import Source, parse

if TYPE_CHECKING:
    from uploader.credentials.login import Login
    from uploader.inputs import Inputs

__all__ = ["Source", "load", "parse"]


def load(
    inputs: Inputs,
    scopes: Sequence[str],
    *,
    sleep: Callable[[float], None],
    random: Callable[[], float],
    clock: Callable[[], float],
    source: Source | None = None,
    on_secret: Callable[[str], object] = lambda _: None,
    direct: bool = False,
) -> Login:
    """A login for `scopes`; nothing is sent before its first `token()`.

    `source` is what `parse` made of the same inputs, so that a pipe is read once. `sleep` waits for seconds between
    retries, and what it raises passes through; `random` is in [0, 1), `clock` monotonic in seconds. `on_secret` hears
    every lasting and every fresh secret before it can show up anywhere. `direct` leaves the system's proxies aside.
    Raises InputError for a key that can't be read, CredentialsError where a keyless login has no token of the CI system
    to begin with.
    """
    from uploader.credentials import login  # google-auth takes longer to import than a refusal may last

    checked = source or parse(inputs)
    return login.build(
        checked, inputs, scopes, sleep=sleep, on_secret=on_secret, random=random, clock=clock, direct=direct
    )
