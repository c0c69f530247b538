"""Hold what a release changes, for the parts of the job summary beside the lines of its plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VersionShare:
    """A version by its name for people, and the share of users that it is for, from 0 to 1; a
    halted version has 0.
    """

    version: str
    share: float


@dataclass(frozen=True)
class TrackFacts:
    """A track: the release that is new or changes on it, and the track before and after, in words.

    `shares` says how many users are offered which version once the change is made.
    """

    track: str
    release: str
    before: str
    after: str
    shares: tuple[VersionShare, ...] = ()


@dataclass(frozen=True)
class ChangedText:
    """A text of a listing or release notes; empty if there was or will be none."""

    language: str
    field: str
    before: str
    after: str


@dataclass(frozen=True)
class ChangedImages:
    """The images of one kind in one language.

    `added` are the paths of files in the workspace. `replaced` are the addresses at which Google
    serves the images that are removed, as far as they are known. `removed`, `kept` and `sent_again`
    are numbers of images.
    """

    language: str
    kind: str
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    removed: int = 0
    kept: int = 0
    sent_again: int = 0


@dataclass(frozen=True)
class ReleaseFacts:
    """All changes of a release.

    `listing_files` are the paths of all images of the store listing, also of those that stay. What
    is `planned` has not happened, and what is `in_review` reaches users once Google has reviewed
    it. `title` is the app's name in Google Play, if it is known.
    """

    tracks: tuple[TrackFacts, ...] = ()
    notes: tuple[ChangedText, ...] = ()
    texts: tuple[ChangedText, ...] = ()
    images: tuple[ChangedImages, ...] = ()
    listing_files: frozenset[str] = frozenset()
    planned: bool = False
    in_review: bool = False
    title: str = ""
