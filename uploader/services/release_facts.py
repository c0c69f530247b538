"""What a release changes, as the job summary draws it beside the lines of its plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VersionShare:
    """A version as people call it, and the share of users that it is for, from 0 to 1; 0 for one
    that is halted.
    """

    version: str
    share: float


@dataclass(frozen=True)
class TrackFacts:
    """A track: the release that comes to it or changes, and in words what it was and what it is.

    `shares` says which version how many users are offered, once the change is made.
    """

    track: str
    release: str
    before: str
    after: str
    shares: tuple[VersionShare, ...] = ()


@dataclass(frozen=True)
class ChangedText:
    """A text of a listing or release notes; empty where there was or will be none."""

    language: str
    field: str
    before: str
    after: str


@dataclass(frozen=True)
class ChangedImages:
    """The images of one kind in one language.

    `added` are the paths of files in the workspace, `replaced` the addresses at which Google serves
    what goes, as far as they are known; `removed` and `kept` are numbers.
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
    """Everything of it. `listing_files` are the paths of all images of the store listing, also of
    those that stay. What is `planned` has not happened, and what is `in_review` reaches users once
    Google has reviewed it. `title` is the app's name in Google Play,
    where it is known.
    """

    tracks: tuple[TrackFacts, ...] = ()
    notes: tuple[ChangedText, ...] = ()
    texts: tuple[ChangedText, ...] = ()
    images: tuple[ChangedImages, ...] = ()
    listing_files: frozenset[str] = frozenset()
    planned: bool = False
    in_review: bool = False
    title: str = ""
