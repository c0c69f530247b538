"""Everything behind the server: Google's services with their stores, wired together, and what is served of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from google_emulator.auth.authorization import Authority
from google_emulator.auth.identity_tokens import IdentityTokens
from google_emulator.auth.impersonation import Impersonation
from google_emulator.auth.oauth import TokenEndpoint
from google_emulator.auth.sts import SecurityTokenService
from google_emulator.config import Config
from google_emulator.http.routes import Route
from google_emulator.protocol.blobs import BlobStore
from google_emulator.protocol.upload_method import UploadMethod
from google_emulator.protocol.upload_store import UploadStore
from google_emulator.services.any_method import GenericUpload
from google_emulator.services.cloud_storage import CloudStorage
from google_emulator.services.drive import Drive
from google_emulator.services.games import PlayGames
from google_emulator.services.gmail import Gmail
from google_emulator.services.mailbox import Mailbox
from google_emulator.services.over_the_air import OverTheAir
from google_emulator.services.play.console import Console
from google_emulator.services.play.lifecycle import ReleaseLifecycle
from google_emulator.services.play.publisher import AndroidPublisher
from google_emulator.services.play.store import PlayStore
from google_emulator.services.reporting.reporting_api import ReportingApi
from google_emulator.services.reporting.vitals_store import VitalsStore
from google_emulator.simulated_clock import SimulatedClock


class Backend:
    """The services. `root` is where uploaded bytes are kept, `clock` tells seconds since the epoch.

    Play ages by `clock`, which can be moved ahead; logins and upload sessions by real time, as the client does. `lock`
    guards every change that takes more than one step. `routes` and `upload_methods` are in the order in which they are
    tried.
    """

    def __init__(self, config: Config, root: Path, clock: Callable[[], float]) -> None:
        self.config = config
        self.lock = threading.RLock()
        self.blobs = BlobStore(root)
        self.uploads = UploadStore(self.blobs, self.lock, clock, config.session_lifetime)
        self.authority = Authority(config, clock)
        self.identity_tokens = IdentityTokens(self.authority, config)
        self.clock = SimulatedClock(clock)
        self.play = PlayStore(config, self.clock)
        self.lifecycle = ReleaseLifecycle(config, self.clock)
        self.console = Console(self.play, self.lifecycle, self.lock)
        self.vitals = VitalsStore(config.vitals, self.clock)
        self.mailbox = Mailbox()
        self.games = PlayGames()
        self.over_the_air = OverTheAir(config)
        self.storage = CloudStorage(clock)
        self.drive = Drive(clock)
        self.routes: list[Route] = []
        self.upload_methods: list[UploadMethod] = []
        self._serve()

    @property
    def method_ids(self) -> list[str]:
        """Google's ids of all methods, of calls and uploads."""
        return [*(route.id for route in self.routes), *(method.id for method in self.upload_methods)]

    def _serve(self) -> None:
        publisher = AndroidPublisher(self.play, self.config, self.lifecycle)
        gmail = Gmail(self.mailbox, self.blobs)
        self.routes += [
            *TokenEndpoint(self.authority, self.config).routes(),
            *publisher.routes(),
            *ReportingApi(self.vitals, self.config).routes(),
            *gmail.routes(),
            *self.identity_tokens.routes(),
            *SecurityTokenService(self.authority).routes(),
            *Impersonation(self.authority).routes(),
            *self.over_the_air.routes(),
            *self.storage.routes(),
            *self.drive.routes(),
        ]
        self.upload_methods += [
            *publisher.uploads(),
            *gmail.uploads(),
            *self.games.uploads(),
            *self.over_the_air.uploads(),
            *self.storage.uploads(),
            *self.drive.uploads(),
            *GenericUpload().uploads(),  # it takes every path, so it comes last
        ]
