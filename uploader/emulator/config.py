"""How the emulated world is before the first request: every setting, its meaning and its default.

Given as the `config` object beside `faults` in the faults JSON, or to `Emulator(config=...)`. A name that is not here is
an error, so a misspelt setting can't pass for a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from uploader.emulator.answers import Json

Review = Literal["any", "automatic", "manual"]


def _setting(default: Any, meaning: str) -> Any:
    factory = type(default) if isinstance(default, (dict, list)) else None
    metadata = {"meaning": meaning}
    return field(default_factory=factory, metadata=metadata) if factory else field(default=default, metadata=metadata)


@dataclass(slots=True)
class Config:
    """Every setting. Durations are in seconds, sizes and rates in bytes."""

    any_app: bool = _setting(True, "every package name is an app created by hand; else only those under `apps`")
    apps: dict[str, Json] = _setting(
        {}, "live state by package: `tracks` {name: [release]}, `artifacts` [{versionCode, kind, sha256}], `used` [codes]"
    )
    denied: list[str] = _setting([], "packages for which the account has no permission (403)")
    any_track: bool = _setting(True, "custom tracks exist without being created; else a 404")
    review: Review = _setting(
        "any", "`manual`: a commit must have changesNotSentForReview; `automatic`: it must not; `any`: both pass"
    )
    in_review: bool = _setting(False, "changes are in review: a commit with ERROR_IF_IN_REVIEW is refused")
    draft_app: bool = _setting(False, "a draft app: only releases with status draft pass validation and commit")
    one_edit_per_app: bool = _setting(False, "a new edit deletes the open ones of the same app")
    used_on_upload: bool = _setting(False, "a version code is used up by its upload, not only by a commit")
    edit_lifetime: float = _setting(604_800.0, "life of an edit")
    token_lifetime: float = _setting(3600.0, "life of an access token")
    oidc_lifetime: float = _setting(300.0, "life of a CI system's identity token")
    session_lifetime: float = _setting(604_800.0, "life of an upload session")
    delegation: bool = _setting(True, "the service account may act for users (`sub` in the assertion)")
    granularity: int = _setting(262_144, "dialect B: chunk granularity that is announced and checked")
    upload_url_scheme: bool = _setting(True, "dialect B: X-Goog-Upload-URL has its scheme")
    read_rate: float = _setting(0.0, "bytes a second that the server reads from each connection; 0 = no limit")

    @classmethod
    def read(cls, values: Mapping[str, Json]) -> Config:
        """The defaults with these values over them. Raises `ValueError` for an unknown name."""
        known = {setting.name for setting in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"unknown setting {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        config = cls(**values)
        if config.review not in get_args(Review):
            raise ValueError(f"review is one of {', '.join(get_args(Review))}")
        return config


def settings() -> list[tuple[str, str, str]]:
    """Name, default and meaning of every setting, for the documentation."""
    defaults = Config()
    return [(one.name, repr(getattr(defaults, one.name)), one.metadata["meaning"]) for one in fields(Config)]
