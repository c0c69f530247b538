"""A release in words: its name and version codes, whom it reaches, and its status."""

from __future__ import annotations

from collections.abc import Iterable

from uploader.services.play.model import Release, having_status
from uploader.text import first_line


def user_fraction(release: Release) -> str:
    """The share of users of a staged release, as the input `user-fraction` takes it; empty where it
    has none.
    """
    if release.user_fraction is None:
        return ""
    return f"{release.user_fraction:.15g}"


def share(release: Release) -> str:
    """How many users a staged release is for: `10 %`; empty where it says nothing."""
    if release.user_fraction is None:
        return ""
    return f"{release.user_fraction * 100:g} %"


def all_users(on_track: Iterable[Release]) -> str:
    """Whom a completed release reaches beside the releases of its track."""
    if having_status(on_track, "inProgress"):
        return "all other users"
    return "all users"


def in_words(release: Release, on_track: Iterable[Release] = ()) -> str:
    """Whom a release reaches, and its status: `10 % of users, in progress`. `on_track` are the
    releases of its track, where they are known: a completed one has all other users beside a staged
    one.
    """
    status: str = release.status or "of unknown status"
    if release.status == "inProgress":
        status = "in progress"
    if share(release):
        return f"{share(release)} of users, {status}"
    if release.status == "completed":
        return f"{all_users(on_track)}, {status}"
    return status


def named(release: Release, name: str = "") -> str:
    """A release by its name, or else `name`, and its version codes: `1.4.2 (42)`; `42` where it has
    no name.
    """
    versions = "+".join(release.version_codes) or "no version"
    name = release.name or name
    if name.startswith(f"{versions} ("):
        name = name.removeprefix(f"{versions} (").removesuffix(")")
    if not name or name == versions:
        return versions
    return f"{first_line(name)} ({versions})"


def describe(release: Release, on_track: Iterable[Release] = ()) -> str:
    """A release for people: `1.4.2 (42), 10 % of users, in progress`; without a name `42 (10 % of
    users, …)`. `on_track` are the releases of its track, as for `in_words`.
    """
    what = named(release)
    reach = in_words(release, on_track)
    if what.endswith(")"):
        return f"{what}, {reach}"
    return f"{what} ({reach})"


def describe_all(live: Iterable[Release]) -> str:
    """All releases of a track in one line."""
    releases = tuple(live)
    described = [describe(release, releases) for release in releases]
    return "; ".join(described) or "empty"
