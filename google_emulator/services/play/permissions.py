"""What the account may do with an app in the Play Console, by the names of AppLevelPermission.

Only for the Reporting API do documents say which permission a method needs. So a call needs any
permission, a new edit one that lets the account change something, and a commit those for what it
changes, as their names in the Play Console suggest.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/grants.
"""

from __future__ import annotations

from collections.abc import Iterator

from google_emulator.config import Config
from google_emulator.http.response import permission_denied
from google_emulator.services.play.store import AppContent

VIEW_APP = "CAN_VIEW_NON_FINANCIAL_DATA"
RELEASE_TO_PRODUCTION = "CAN_MANAGE_PUBLIC_APKS"
RELEASE_TO_TESTING = "CAN_MANAGE_TRACK_APKS"
MANAGE_TESTERS = "CAN_MANAGE_TRACK_USERS"
MANAGE_LISTING = "CAN_MANAGE_PUBLIC_LISTING"
MANAGE_APP_CONTENT = "CAN_MANAGE_APP_CONTENT"
EDITING = (RELEASE_TO_PRODUCTION, RELEASE_TO_TESTING, MANAGE_TESTERS, MANAGE_LISTING)


def may(config: Config, package: str, *permissions: str) -> bool:
    """Return whether the account has one of these permissions for an app."""
    granted = config.granted(package)
    return granted is None or any(permission in granted for permission in permissions)


def require(config: Config, package: str, *permissions: str) -> None:
    """Raise `ApiError` 403 unless the account has one of these permissions for an app."""
    if not may(config, package, *permissions):
        raise permission_denied()


def needed_to_commit(
    before: AppContent, after: AppContent
) -> Iterator[tuple[str, ...]]:
    """Yield a group of permissions for each difference between two states of an app. The account
    needs one of each group.
    """
    for track in {**before.tracks, **after.tracks}:
        if before.tracks.get(track, []) == after.tracks.get(track, []):
            continue
        if track.rpartition(":")[2] == "production":
            yield (RELEASE_TO_PRODUCTION,)
        else:
            yield (RELEASE_TO_TESTING, RELEASE_TO_PRODUCTION)
    if before.testers != after.testers:
        yield (MANAGE_TESTERS,)
    listing_before = (before.listings, before.images, before.details)
    if listing_before != (after.listings, after.images, after.details):
        yield (MANAGE_LISTING,)
