"""How the emulated services behave, and what they hold before the first request: every setting and
its default.

The settings are the `config` object beside `faults` in the faults JSON, or `Emulator(config=...)`.
An unknown name is an error, so that a misspelt setting can't make a test pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from google_emulator.http.response import Json

Review = Literal["any", "automatic", "manual"]


def setting(default: Any, meaning: str) -> Any:
    """Return a field of a dataclass whose names are keys of JSON, with its meaning for the
    reference. A callable `default` makes the default.
    """
    metadata = {"meaning": meaning}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass
class ProcessingRule:
    """What becomes of a file if the service answers its upload before it has processed it."""

    looks: int = setting(
        1,
        "the status request that finds the file processed; 0: the answer to the upload says so",
    )
    error: str = setting("", "with this message, the processing fails")

    @classmethod
    def read(cls, values: Mapping[str, Json]) -> ProcessingRule:
        """Return the defaults overridden by these values. Raises `ValueError` for an unknown
        name.
        """
        known = {setting.name for setting in fields(cls)}
        if set(values) - known:
            raise ValueError(f"processing has: {', '.join(sorted(known))}")
        return cls(**values)


@dataclass
class Config:
    """Every setting. Durations are in seconds, sizes and rates in bytes."""

    any_app: bool = setting(
        True,
        "every package name is an app that exists; otherwise only those under `apps`",
    )
    apps: dict[str, Json] = setting(
        dict,
        "live state by package: `tracks` {name: [release]}, `used` [codes], `artifacts` "
        "[{versionCode, versionName, kind, sha256}], `details` {defaultLanguage}, `testers` "
        "{track: [group]}, `countries` {track: [code]}",
    )
    denied: list[str] = setting(
        list, "packages for which the account has no permission (403)"
    )
    permissions: dict[str, list[str]] = setting(
        dict,
        "by package (`*`: any other) the permissions of the account, by the names in Google's "
        "AppLevelPermission: CAN_MANAGE_TRACK_APKS, …; all of them without an entry",
    )
    disabled_apis: list[str] = setting(
        list,
        "APIs that are not enabled in the account's project (403), by their hosts: "
        "androidpublisher.googleapis.com, …",
    )
    min_screenshots: int = setting(
        0,
        "validation and commit refuse a language with fewer screenshots, unless it has none; "
        "Google documents 2, and does not say when it checks them",
    )
    any_track: bool = setting(
        True, "custom tracks exist without being created; otherwise they get a 404"
    )
    review: Review = setting(
        "any",
        "`manual`: a commit must have changesNotSentForReview, and a validation, which can't, is "
        "refused; `automatic`: a commit must not have it; `any`: both are accepted",
    )
    in_review: bool = setting(
        False, "changes are in review: a commit with ERROR_IF_IN_REVIEW is refused"
    )
    draft_app: bool = setting(
        False, "a draft app: only releases with status draft pass validation and commit"
    )
    lifecycle: dict[str, Json] = setting(
        dict,
        "by package (`*`: any other) the course of a review: states, or {state, looks or seconds "
        "until the next}; without an entry, PUBLISHED at once",
    )
    vitals: dict[str, Json] = setting(
        dict, "by package (`*`: any other) what the Reporting API measures; see Vitals"
    )
    generated_apks: dict[str, Json] = setting(
        dict,
        "by package (`*`: any other) how the APKs of a bundle are made; see Generated APKs",
    )
    processing: dict[str, Json] = setting(
        dict,
        "by the id of an upload method (`*`: any other) what becomes of a file after the answer to "
        "its upload; see Processing",
    )
    firebase_apps: list[str] = setting(
        list,
        "Firebase: the ids of the apps that exist; empty: every id, in its own project",
    )
    firebase_groups: list[str] = setting(
        lambda: ["qa", "beta"], "Firebase: the aliases of the groups that exist"
    )
    firebase_bundles: bool = setting(
        True, "Firebase: the apps are linked to Google Play, which bundles require"
    )
    package_error: str = setting(
        "",
        "OTA: the `uploadError` of new packages, which the list then shows as failed",
    )
    one_edit_per_app: bool = setting(
        False, "a new edit deletes the open ones of the same app"
    )
    used_on_upload: bool = setting(
        False, "a version code is used up by its upload, not only by a commit"
    )
    edit_lifetime: float = setting(604_800.0, "lifetime of an edit")
    token_lifetime: float = setting(3600.0, "the longest lifetime of an access token")
    oidc_lifetime: float = setting(300.0, "lifetime of a CI system's identity token")
    session_lifetime: float = setting(604_800.0, "lifetime of an upload session")
    delegation: bool = setting(
        True, "the service account may act for users (`sub` in the assertion)"
    )
    anonymous: bool = setting(
        False,
        "a request without a token counts as the service account's, since Google's storage clients "
        "send none to an emulator (STORAGE_EMULATOR_HOST); otherwise it gets a 401",
    )
    granularity: int = setting(
        262_144, "dialect B: chunk granularity that is announced and checked"
    )
    upload_url_scheme: bool = setting(
        True, "dialect B: X-Goog-Upload-URL has its scheme"
    )
    read_rate: float = setting(
        0.0, "bytes a second that the server reads from each connection; 0 = no limit"
    )

    def granted(self, package: str) -> list[str] | None:
        """Return the permissions of the account for an app; None if it has all of them."""
        if package in self.denied:
            return []
        return self.permissions.get(package, self.permissions.get("*"))

    @classmethod
    def read(cls, values: Mapping[str, Json]) -> Config:
        """Return the defaults overridden by these values. Raises `ValueError` for an unknown name
        or an unknown `review`.
        """
        known = {setting.name for setting in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(
                f"unknown setting {', '.join(unknown)}; there are: {', '.join(sorted(known))}"
            )
        config = cls(**values)
        for rule in config.processing.values():
            ProcessingRule.read(rule)
        if config.review not in get_args(Review):
            raise ValueError(f"review is one of {', '.join(get_args(Review))}")
        return config
