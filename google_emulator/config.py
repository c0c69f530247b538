"""How the emulated services behave, and what they hold before the first request: every setting and
its default.

Given as the `config` object beside `faults` in the faults JSON, or to `Emulator(config=...)`. A
name that is not here is an error, so a misspelt setting can't pass for a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from google_emulator.http.response import Json

Review = Literal["any", "automatic", "manual"]


def setting(default: Any, meaning: str) -> Any:
    """A field of a dataclass whose keys people write, with what the documentation says of it."""
    metadata = {"meaning": meaning}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass
class ProcessingRule:
    """What a service that answers an upload before it is through with it makes of the file."""

    looks: int = setting(
        1,
        "the look at which it is through; 0: the answer to the upload shows that already",
    )
    error: str = setting("", "with these words it then fails")

    @classmethod
    def read(cls, values: Mapping[str, Json]) -> ProcessingRule:
        """The defaults with these values over them. Raises `ValueError` for an unknown name."""
        known = {setting.name for setting in fields(cls)}
        if set(values) - known:
            raise ValueError(f"processing has: {', '.join(sorted(known))}")
        return cls(**values)


@dataclass
class Config:
    """Every setting. Durations are in seconds, sizes and rates in bytes."""

    any_app: bool = setting(
        True,
        "every package name is an app created by hand; else only those under `apps`",
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
        "AppLevelPermission: CAN_MANAGE_TRACK_APKS, …; every permission where there is no entry",
    )
    disabled_apis: list[str] = setting(
        list,
        "APIs that are not enabled in the account's project (403), by their hosts: "
        "androidpublisher.googleapis.com, …",
    )
    min_screenshots: int = setting(
        0,
        "a language that a commit leaves with fewer screenshots, but not with none, is refused; "
        "Google documents 2, and does not say where it checks them",
    )
    any_track: bool = setting(
        True, "custom tracks exist without being created; else a 404"
    )
    review: Review = setting(
        "any",
        "`manual`: a commit must have changesNotSentForReview, and validation, which can't, is "
        "refused; `automatic`: it must not; `any`: both pass",
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
        "until the next}; PUBLISHED at once where there is none",
    )
    vitals: dict[str, Json] = setting(
        dict, "by package (`*`: any other) what the Reporting API measures; see Vitals"
    )
    generated_apks: dict[str, Json] = setting(
        dict,
        "by package (`*`: any other) how the APKs of a bundle come about; see Generated APKs",
    )
    processing: dict[str, Json] = setting(
        dict,
        "by the id of an upload method (`*`: any other) what becomes of a file after the answer to "
        "its upload; see Processing",
    )
    firebase_apps: list[str] = setting(
        list,
        "Firebase: the ids of the apps that exist; empty: every one of its own project",
    )
    firebase_groups: list[str] = setting(
        lambda: ["qa", "beta"], "Firebase: the aliases of the groups that exist"
    )
    firebase_bundles: bool = setting(
        True, "Firebase: the apps are linked to Google Play, as bundles need it"
    )
    package_error: str = setting(
        "",
        "OTA: the `uploadError` of new packages, whose upload the list then calls failed",
    )
    one_edit_per_app: bool = setting(
        False, "a new edit deletes the open ones of the same app"
    )
    used_on_upload: bool = setting(
        False, "a version code is used up by its upload, not only by a commit"
    )
    edit_lifetime: float = setting(604_800.0, "life of an edit")
    token_lifetime: float = setting(3600.0, "the longest life of an access token")
    oidc_lifetime: float = setting(300.0, "life of a CI system's identity token")
    session_lifetime: float = setting(604_800.0, "life of an upload session")
    delegation: bool = setting(
        True, "the service account may act for users (`sub` in the assertion)"
    )
    anonymous: bool = setting(
        False,
        "a request without a token is the service account's: Google's storage clients send none to "
        "an emulator (STORAGE_EMULATOR_HOST); else a 401",
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
        """The permissions of the account for an app; None where it has every one."""
        if package in self.denied:
            return []
        return self.permissions.get(package, self.permissions.get("*"))

    @classmethod
    def read(cls, values: Mapping[str, Json]) -> Config:
        """The defaults with these values over them. Raises `ValueError` for an unknown name."""
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
