"""The Android Publisher API: all of its parts over one store.

Reference: developers.google.com/android-publisher/api-ref/rest.
"""

from __future__ import annotations

from google_emulator.config import Config
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import UploadMethod
from google_emulator.services.play.artifacts import ArtifactsApi
from google_emulator.services.play.deobfuscation_files import DeobfuscationFilesApi
from google_emulator.services.play.edits import EditsApi
from google_emulator.services.play.expansion_files import ExpansionFilesApi
from google_emulator.services.play.generated_apks import GeneratedApksApi
from google_emulator.services.play.images import ImagesApi
from google_emulator.services.play.internal_sharing import InternalSharingApi
from google_emulator.services.play.lifecycle import ReleaseLifecycle
from google_emulator.services.play.listings import ListingsApi
from google_emulator.services.play.products import KINDS, ProductsApi
from google_emulator.services.play.release_summaries import ReleaseSummariesApi
from google_emulator.services.play.store import PlayStore
from google_emulator.services.play.track_audience import TrackAudienceApi
from google_emulator.services.play.tracks import TracksApi


class AndroidPublisher:
    """Play's apps and edits as an API."""

    def __init__(self, store: PlayStore, config: Config, lifecycle: ReleaseLifecycle) -> None:
        self._edits = EditsApi(store, config, lifecycle)
        self._releases = ReleaseSummariesApi(store, config, lifecycle)
        self._generated_apks = GeneratedApksApi(store, config, lifecycle.now)
        self._artifacts = ArtifactsApi(store, config)
        self._tracks = TracksApi(store, config)
        self._audience = TrackAudienceApi(store, config)
        self._expansion_files = ExpansionFilesApi(store)
        self._deobfuscation_files = DeobfuscationFilesApi(store)
        self._listings = ListingsApi(store)
        self._images = ImagesApi(store)
        self._internal_sharing = InternalSharingApi(store)
        self._products = [ProductsApi(store, kind) for kind in KINDS]

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            *self._edits.routes(),
            *self._releases.routes(),
            *self._generated_apks.routes(),
            *self._artifacts.routes(),
            *self._tracks.routes(),
            *self._audience.routes(),
            *self._expansion_files.routes(),
            *self._listings.routes(),
            *self._images.routes(),
            *(route for products in self._products for route in products.routes()),
        ]

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            *self._artifacts.uploads(),
            *self._internal_sharing.uploads(),
            *self._expansion_files.uploads(),
            *self._deobfuscation_files.uploads(),
            *self._images.uploads(),
        ]
