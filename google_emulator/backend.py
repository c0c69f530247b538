"""Everything behind the server: Google's services with their stores, and the routes to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from google_emulator.auth.authority import Authority
from google_emulator.auth.logins import Logins
from google_emulator.clock import SimulatedClock
from google_emulator.config import Config
from google_emulator.http.routes import Route
from google_emulator.protocol.blobs import BlobStore
from google_emulator.protocol.uploads import Service, UploadMethod, UploadStore
from google_emulator.services import processed_uploads
from google_emulator.services.any_method import GenericUpload
from google_emulator.services.cloud_storage import CloudStorage
from google_emulator.services.drive import Drive
from google_emulator.services.firebase import AppDistribution
from google_emulator.services.games import PlayGames
from google_emulator.services.gmail import Gmail
from google_emulator.services.over_the_air import OverTheAir
from google_emulator.services.play.artifacts import ArtifactsApi, SupplementaryFilesApi
from google_emulator.services.play.console import Console
from google_emulator.services.play.data_safety import DataSafetyApi
from google_emulator.services.play.edits import EditsApi
from google_emulator.services.play.generated_apks import GeneratedApksApi
from google_emulator.services.play.lifecycle import (
    ReleaseLifecycle,
    ReleaseSummariesApi,
)
from google_emulator.services.play.listings import ImagesApi, ListingsApi
from google_emulator.services.play.store import PlayStore
from google_emulator.services.play.tracks import TracksApi
from google_emulator.services.processed_uploads import Processing
from google_emulator.services.reporting import ReportingApi
from google_emulator.services.vitals import VitalsStore


class Backend:
    """The services. Uploaded bytes are kept below `root`; the parameter `clock` returns seconds
    since the epoch.

    Play ages by the attribute `clock`, which can be moved ahead; logins, upload sessions, Cloud
    Storage and Drive go by the parameter. `lock` guards every change that takes more than one step.
    `routes` and `upload_methods` are in the order in which they are tried.
    """

    def __init__(self, config: Config, root: Path, clock: Callable[[], float]) -> None:
        self.config = config
        self.lock = threading.RLock()
        blobs = BlobStore(root)
        self.uploads = UploadStore(blobs, self.lock, clock, config.session_lifetime)
        self.authority = Authority(config, clock)
        self.logins = Logins(self.authority, config)
        self.clock = SimulatedClock(clock)
        self.play = PlayStore(config, self.clock)
        self.lifecycle = ReleaseLifecycle(config, self.clock)
        self.console = Console(self.play, self.lifecycle, self.lock)
        self.vitals = VitalsStore(config.vitals, self.clock)
        self.gmail = Gmail(blobs)
        self.games = PlayGames()
        self.over_the_air = OverTheAir(config)
        self.storage = CloudStorage(clock)
        self.drive = Drive(clock)
        self.processing = Processing(config)
        self.app_distribution = AppDistribution(config, self.processing)
        services: list[Service] = [
            self.logins,
            EditsApi(self.play, self.lifecycle),
            ReleaseSummariesApi(self.play, self.lifecycle),
            GeneratedApksApi(self.play, self.clock),
            ArtifactsApi(self.play),
            SupplementaryFilesApi(self.play),
            TracksApi(self.play),
            ListingsApi(self.play),
            ImagesApi(self.play),
            DataSafetyApi(self.play),
            ReportingApi(self.vitals, config),
            self.gmail,
            self.games,
            self.over_the_air,
            self.storage,
            self.drive,
            *processed_uploads.services(self.processing),
            self.app_distribution,
            GenericUpload(),  # it takes every path, so it comes last
        ]
        self.routes: list[Route] = [
            route for service in services for route in service.routes
        ]
        self.upload_methods: list[UploadMethod] = [
            method for service in services for method in service.uploads
        ]

    @property
    def method_ids(self) -> list[str]:
        """Google's ids of all methods, those of plain calls first."""
        return [
            *(route.id for route in self.routes),
            *(method.id for method in self.upload_methods),
        ]
