"""The emulator as an object to start and stop: Google's services behind a server on loopback, and a
key for them.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from google_emulator.admin import describe
from google_emulator.auth.authority import SERVICE_ACCOUNT
from google_emulator.auth.logins import PROVIDER
from google_emulator.backend import Backend
from google_emulator.config import Config
from google_emulator.faults import FaultInjector
from google_emulator.http.response import Json
from google_emulator.router import Router
from google_emulator.server import Server
from google_emulator.traffic import LoggedRequest, Traffic

if TYPE_CHECKING:
    from typing_extensions import Self

POLL_INTERVAL = 0.02  # seconds between two checks whether the server should stop


class Emulator:
    """Google's servers on 127.0.0.1, in threads of this process, from `start` (or `with`) to
    `stop`.

    `python -m google_emulator --reference` describes `faults` and `config`; a wrong name in either
    raises `ValueError` here. Uploaded bytes are kept below `root`; without it, in a temporary
    folder that `stop` removes. `port` 0 takes a free one; a port that can't be had raises `OSError`
    or `OverflowError`. The parameter `clock` returns seconds since the epoch; tokens, edits and
    sessions age by it. If there is an `admin_token`, the emulator's own addresses require it.

    The attribute `config` has the settings, most of which may be changed while it runs; `faults`
    has the waiting faults and the receipts of those that fired. The attribute `clock` is the one by
    which Play ages: its `advance` moves it. `console` does what people do in the Play Console,
    `lifecycle` scripts reviews, `vitals` what the Reporting API measures. `provider` is the name of
    a workload identity provider; any other name of this form is accepted, too.
    """

    def __init__(
        self,
        faults: Sequence[Mapping[str, Json]] = (),
        *,
        config: Mapping[str, Json] | None = None,
        root: Path | str | None = None,
        port: int = 0,
        clock: Callable[[], float] = time.time,
        admin_token: str = "",
    ) -> None:
        self.config = Config.read(config or {})
        self._traffic = Traffic()
        with contextlib.ExitStack() as stack:
            root = root or stack.enter_context(
                tempfile.TemporaryDirectory(prefix="uploader-emulator-")
            )
            self._backend = backend = Backend(self.config, Path(root), clock)
            self._server = Server(port, self.config, self._traffic)
            stack.callback(self._server.server_close)
            self.faults = FaultInjector(backend, self._server.sleep)
            self.faults.add(faults)
            self._cleanup = stack.pop_all()
        self._server.respond = Router(
            backend, self.faults, self._traffic, admin_token
        ).respond
        self._thread = _serving(self._server)
        self.authority = backend.authority
        self.uploads = backend.uploads
        self.play = backend.play
        self.clock = backend.clock
        self.console = backend.console
        self.lifecycle = backend.lifecycle
        self.vitals = backend.vitals
        self.provider = PROVIDER
        self.service_account = SERVICE_ACCOUNT

    @property
    def url(self) -> str:
        """The root URL for `api-endpoint`: `http://127.0.0.1:PORT`, unless another one was set.

        If a proxy is in front, set it to the proxy's URL, so that the URLs in responses lead there.
        """
        return self._server.url

    @url.setter
    def url(self, url: str) -> None:
        self._server.url = url

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return self._server.port

    @property
    def key(self) -> dict[str, str]:
        """The contents of a service-account key file whose `token_uri` is this emulator's."""
        return self.authority.service_account_key(self.url)

    @property
    def requests(self) -> list[LoggedRequest]:
        """The API requests so far, without logins and without requests to the emulator's own
        paths.
        """
        return self._traffic.logged()

    @property
    def oidc_url(self) -> str:
        """The URL that GitHub's runner passes as ACTIONS_ID_TOKEN_REQUEST_URL."""
        return f"{self.url}/oidc/token?api-version=2.0"

    @property
    def oidc_request_token(self) -> str:
        """The token that GitHub's runner passes as ACTIONS_ID_TOKEN_REQUEST_TOKEN."""
        return self.authority.request_token

    def id_token(self, audience: str = f"https://iam.googleapis.com/{PROVIDER}") -> str:
        """Return an identity token, as GitLab puts one into a job's variable."""
        return self._backend.logins.identity_token(audience)

    def token(self, *scopes: str, user: str = "") -> str:
        """Return an access token with these scopes, without a request to the token endpoint. A
        scope may be the last part of Google's URL; `user` is the user for whom the token acts.
        """
        full = tuple(
            scope if "://" in scope else f"https://www.googleapis.com/auth/{scope}"
            for scope in scopes
        )
        return self.authority.issue(SERVICE_ACCOUNT, full, subject=user)

    def add_fault(self, on: str, do: str, **options: Json) -> None:
        """Queue one more fault. Raises `ValueError` for an unknown name."""
        self.faults.add([{"on": on, "do": do, **options}])

    def state(self) -> dict[str, Json]:
        """Return what `GET /__emulator/state` would answer."""
        return describe(self._backend, self.faults, self._traffic)

    def start(self) -> Self:
        """Start to serve. The socket has listened since the constructor, so that no request is
        lost.
        """
        self._thread.start()
        return self

    def serve_google_hosts(self, folder: Path, port: int = 0) -> dict[str, str]:
        """Also answer for Google's own hosts from now on, over TLS, behind a proxy on 127.0.0.1.

        Writes the files that a client needs into `folder`, and returns the variables that lead a
        client here. `port` is the proxy's; 0 takes a free one. Raises `OSError` and `ValueError` as
        `write_environment` does, and `ImportError` if cryptography is too old.
        """
        # Imported only here, since older versions of cryptography can't write a truststore for
        # Java.
        from google_emulator.google_hosts import (
            HttpsProxy,
            make_certificates,
            write_environment,
        )

        authority, context = make_certificates()
        proxy = HttpsProxy(port, self.config, self._traffic, context)
        self._cleanup.callback(proxy.server_close)
        key = self.authority.service_account_key("https://oauth2.googleapis.com")
        environment = write_environment(folder, proxy.port, authority, key)
        proxy.respond = self._server.respond
        _serving(proxy).start()
        self._cleanup.callback(proxy.stop)
        return environment

    def stop(self) -> None:
        """Stop at once: cut waits in faults short, break connections, remove a temporary root."""
        self._server.stop()
        self._thread.join()
        self._cleanup.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _serving(server: Server) -> threading.Thread:
    return threading.Thread(
        target=server.serve_forever, args=(POLL_INTERVAL,), name="emulator", daemon=True
    )
