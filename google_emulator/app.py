"""The emulator as a thing to start and stop: a world, a server on loopback, and the key that opens it."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from google_emulator.answers import Json
from google_emulator.config import Config
from google_emulator.faults import Faults
from google_emulator.keyless import PROVIDER, identity_token
from google_emulator.mailbox import Mailbox
from google_emulator.oauth import ACCOUNT, Authority, Token
from google_emulator.play.model import PlayStore
from google_emulator.server import Server
from google_emulator.state import describe
from google_emulator.world import World

if TYPE_CHECKING:
    from typing_extensions import Self


class Emulator:
    """Google's servers on 127.0.0.1, in threads of this process, from `start` (or `with`) to `stop`.

    `faults` and `config` are described in docs/EMULATOR.md; a wrong name in either raises `ValueError` here. `root` is
    where uploaded bytes are kept, a temporary folder (removed at the end) unless given. `clock` tells seconds since the
    epoch; tokens, edits and sessions age by it.
    """

    def __init__(
        self,
        faults: Sequence[Mapping[str, Json]] = (),
        *,
        config: Mapping[str, Json] | None = None,
        root: Path | str | None = None,
        port: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        settings, queue = Config.read(config or {}), Faults(faults)
        self._cleanup = contextlib.ExitStack()
        self._server = Server(port)
        if root is None:
            root = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="uploader-emulator-"))
        self.world = World(
            base=f"http://127.0.0.1:{self._server.port}",
            root=Path(root),
            config=settings,
            clock=clock,
            faults=queue,
            authority=Authority(settings),
            play=PlayStore(settings, clock),
            mail=Mailbox(),
        )
        self._server.world = self.world
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="emulator", daemon=True)

    @property
    def url(self) -> str:
        """The root URL, `http://127.0.0.1:PORT`: what `api-endpoint` is set to."""
        return self.world.base

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return self._server.port

    @property
    def key(self) -> dict[str, str]:
        """A service-account key, as its JSON file would hold it, whose `token_uri` is this emulator's."""
        return self.world.authority.service_account(self.world.base)

    def state(self) -> dict[str, Json]:
        """What `GET /__emulator/state` would answer."""
        return describe(self.world)

    @property
    def oidc_url(self) -> str:
        """What GitHub's runner gives as ACTIONS_ID_TOKEN_REQUEST_URL."""
        return f"{self.url}/oidc/token?api-version=2.0"

    @property
    def oidc_request_token(self) -> str:
        """What GitHub's runner gives as ACTIONS_ID_TOKEN_REQUEST_TOKEN."""
        return self.world.authority.request_token

    @property
    def provider(self) -> str:
        """A workload identity provider that exists here; any other of the same form does, too."""
        return PROVIDER

    @property
    def service_account(self) -> str:
        """The service account's address."""
        return ACCOUNT

    def id_token(self, audience: str = f"https://iam.googleapis.com/{PROVIDER}") -> str:
        """An identity token as GitLab puts it into a job's variable."""
        return identity_token(self.world.authority, audience, self.world.clock(), self.world.config.oidc_lifetime)

    def token(self, *scopes: str, user: str = "") -> str:
        """A bearer token with these scopes (short names of Google's), without the way over the token endpoint."""
        full = tuple(one if "://" in one else f"https://www.googleapis.com/auth/{one}" for one in scopes)
        expires = self.world.clock() + self.world.config.token_lifetime
        return self.world.authority.issue(Token(ACCOUNT, user, full, expires))

    def add_fault(self, on: str, do: str, **options: Json) -> None:
        """Queues one more fault. Raises `ValueError` for a name that does not exist."""
        self.world.faults.add([{"on": on, "do": do, **options}])

    def start(self) -> Self:
        """Begins to serve; the socket listens from the constructor on, so no request is lost."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ends at once: waits in faults are cut short, connections broken, a temporary root removed."""
        self.world.stopping.set()
        self._server.stop()
        self._thread.join()
        self._cleanup.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
