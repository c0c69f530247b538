"""A release in words: its name and version codes, whom it reaches, and its status."""

from __future__ import annotations

from collections.abc import Iterable

from uploader.services.play.model import Release, having_status
from uploader.text import first_line


def user_fraction(release: Release) -> str:
    """Return the share of users of a release as the input `user-fraction` takes it; "" if it has
    none.
    """
    if release.user_fraction is None:
        return ""
    return f"{release.user_fraction:.15g}"


def share(release: Release) -> str:
    """Return the share of users of a release for people: `10 %`; "" if it has none."""
    if release.user_fraction is None:
        return ""
    percent = release.user_fraction * 100
    return f"{percent:g} %"


def all_users(on_track: Iterable[Release]) -> str:
    """Return whom a completed release reaches, given the releases on its track."""
    if having_status(on_track, "inProgress"):
        return "all other users"
    return "all users"


def in_words(release: Release, on_track: Iterable[Release] = ()) -> str:
    """Return whom a release reaches, and its status: `10 % of users, in progress`.

    `on_track` are the releases of its track, if they are known: beside a release in progress, a
    completed one reaches all other users.
    """
    status: str = release.status or "of unknown status"
    if release.status == "inProgress":
        status = "in progress"
    percent = share(release)
    if percent:
        return f"{percent} of users, {status}"
    if release.status == "completed":
        return f"{all_users(on_track)}, {status}"
    return status


def label(release: Release, name: str = "") -> str:
    """Return a release by its name, or else `name`, and its version codes: `1.4.2 (42)`, or `42` if
    there is no name.
    """
    versions = "+".join(release.version_codes) or "no version"
    name = release.name or name
    prefix = f"{versions} ("
    if name.startswith(prefix):
        name = name.removeprefix(prefix)
        name = name.removesuffix(")")
    if not name or name == versions:
        return versions
    title = first_line(name)
    return f"{title} ({versions})"


def describe(release: Release, on_track: Iterable[Release] = ()) -> str:
    """Return a release for people: `1.4.2 (42), 10 % of users, in progress`; without a name `42 (10
    % of users, …)`. `on_track` is that of `in_words`.
    """
    what = label(release)
    reach = in_words(release, on_track)
    if what.endswith(")"):
        return f"{what}, {reach}"
    return f"{what} ({reach})"


def describe_all(live: Iterable[Release]) -> str:
    """Return all releases of a track in one line; `empty` if there are none."""
    releases = tuple(live)
    if not releases:
        return "empty"
    described = [describe(release, releases) for release in releases]
    return "; ".join(described)
