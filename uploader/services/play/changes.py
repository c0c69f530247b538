"""What a run changes on Google Play, as one value: made from what is there and what is to be there, before anything is.

The log, the summary and the output `plan` all show this one value (`change_report.py`), so that they can't disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from uploader.services.play.tracks import REST_OF_WORLD, Release, Releases, codes, notes_of

Kind = Literal["added", "changed", "removed", "kept"]


@dataclass(frozen=True)
class FieldChange:
    """One field of a release that differs; an empty text is an absent field. `language` is that of release notes."""

    field: Literal["name", "priority", "countries", "notes"]
    before: str
    after: str
    language: str = ""


@dataclass(frozen=True)
class ReleaseChange:
    """One release of a track: as it was, where it was there, and as it is to be; one that goes away is not to be."""

    kind: Kind
    before: Release | None
    after: Release | None

    @property
    def release(self) -> Release:
        """The release as it is to be, or the one that goes away."""
        return self.after or self.before or {}

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields beside version codes, status and fraction that differ; none of a release that stays or goes."""
        return tuple(_fields(self.before or {}, self.after)) if self.after else ()


@dataclass(frozen=True)
class TrackChange:
    """A track before and after."""

    track: str
    before: Releases
    after: Releases

    @property
    def releases(self) -> tuple[ReleaseChange, ...]:
        """Each release of either side once: those that are to be first. One is known by its version codes."""
        left = list(self.before)
        found = [_matched(release, left) for release in self.after]
        return (*found, *(ReleaseChange("removed", release, None) for release in left))


@dataclass(frozen=True)
class OtherTrack:
    """A track that the run does not touch: all that the edit holds there, and the version codes that are live.

    `live` is None where that is not known.
    """

    track: str
    held: Releases
    live: frozenset[str] | None = None

    def is_new(self, release: Release) -> bool:
        """Whether a release is known to have a version that is not live."""
        return self.live is not None and not set(codes(release)) <= self.live


@dataclass(frozen=True)
class TextChange:
    """One text of the store listing; `before` is empty where there was none."""

    language: str
    field: str
    before: str
    after: str


@dataclass(frozen=True)
class ImageChange:
    """The images of one type in one language: names of files that come, or come again for their order, and counts."""

    language: str
    type: str
    added: tuple[str, ...] = ()
    sent_again: tuple[str, ...] = ()
    removed: int = 0
    kept: int = 0


@dataclass(frozen=True)
class FileChange:
    """One file that goes with a version code. `there` says that Google Play has it and that it is not sent.

    `certificate_sha256` is that of an artifact's signer, in lower-case hex.
    `inside` says that the bundle called `name` has it in itself.
    """

    kind: Literal["artifact", "mapping", "symbols", "main", "patch"]
    name: str
    version_code: int
    there: bool = False
    certificate_sha256: str = ""
    inside: bool = False


@dataclass(frozen=True)
class Review:
    """How the commit deals with Google's review: the values of the inputs that decide it."""

    commit: bool
    not_sent_for_review: str
    cancel: bool


@dataclass(frozen=True)
class Changes:
    """Everything that a commit would publish.

    `others` are the tracks that the edit holds beside those of the run: in a shared edit they may be other jobs' work.
    `remarks` say what can't be shown.
    """

    package: str
    review: Review
    tracks: tuple[TrackChange, ...] = ()
    files: tuple[FileChange, ...] = ()
    texts: tuple[TextChange, ...] = ()
    images: tuple[ImageChange, ...] = ()
    others: tuple[OtherTrack, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all of it is there already."""
        releases = (change.kind for track in self.tracks for change in track.releases)
        rest = (self.texts, self.images, self.others, self.remarks)
        return all(kind == "kept" for kind in releases) and all(file.there for file in self.files) and not any(rest)


def countries(release: Release) -> tuple[str, ...]:
    """The countries that a release is for, as the input `countries` has them; none where it is not limited."""
    targeting = release.get("countryTargeting")
    if not isinstance(targeting, Mapping):
        return ()
    named = targeting.get("countries")
    rest = [REST_OF_WORLD] if targeting.get("includeRestOfWorld") else []
    return (*map(str, named if isinstance(named, list) else ()), *rest)


def priority(release: Release) -> int:
    """The in-app update priority; zero is what an absent one means."""
    found = release.get("inAppUpdatePriority")
    return found if isinstance(found, int) else 0


def _matched(release: Release, left: list[Release]) -> ReleaseChange:
    """The change that makes a release, taken out of those that are there and not matched yet."""
    before = next((one for one in left if set(codes(one)) == set(codes(release))), None)
    if before is None:
        return ReleaseChange("added", None, release)
    left.remove(before)
    same = _state(before) == _state(release) and not any(_fields(before, release))
    return ReleaseChange("kept" if same else "changed", before, release)


def _state(release: Release) -> tuple[Any, Any]:
    return release.get("status"), release.get("userFraction")


def _fields(before: Release, after: Release) -> Iterator[FieldChange]:
    name = str(before.get("name") or "")
    pairs = (
        # Google Play names a release by itself, so that one is asked for without a name means no change.
        FieldChange("name", name, str(after.get("name") or name)),
        FieldChange("priority", str(priority(before) or ""), str(priority(after) or "")),
        FieldChange("countries", ", ".join(countries(before)), ", ".join(countries(after))),
    )
    yield from (pair for pair in pairs if pair.before != pair.after)
    old, new = dict(notes_of(before)), dict(notes_of(after))
    for language in {**new, **old}:
        pair = FieldChange("notes", old.get(language, ""), new.get(language, ""), language)
        if pair.before != pair.after:
            yield pair
