"""What a run changes on Google Play, as one value: made from what is there and what is to be there, before anything is.

The log, the summary and the output `plan` all show this one value (`change_report.py`), so that they can't disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeVar

from uploader.services.base import Section
from uploader.services.play.edit_api import Release, Releases
from uploader.services.play.job import WHAT
from uploader.services.play.tracks import codes, countries, describe, describe_all, in_words, notes_of, priority
from uploader.text import plural

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


OTHERS: Final = "Also in the edit, not from this run"
SHORT: Final = 80  # characters of a text from outside
_WIDEST: Final = 400  # characters of a line in the log
_LONGEST: Final = 1000  # lines
_INSIDE: Final = ", in the bundle itself"
_SIGNS: Final = {"added": "+", "changed": "~", "removed": "-", "kept": "="}


def lines(changes: Changes) -> list[str]:
    """The changes as people read them in the log: `+` comes, `~` changes, `-` goes, `=` stays, `?` is unknown."""
    found = [line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…" for line in islice(_lines(changes), _LONGEST)]
    return found if len(found) < _LONGEST else [*found, "and more, which is left out here"]


def _lines(changes: Changes) -> Iterator[str]:
    for track in changes.tracks:
        yield f"Track {track.track}"
        for change in track.releases:
            yield f"  {_SIGNS[change.kind]} {_release(change)}"
            # The name of a release that comes stands in its own line.
            fields = (field for field in change.fields if (change.kind, field.field) != ("added", "name"))
            yield from (f"      {_name(field)}: {_difference(field)}" for field in fields)
    blocks = (
        ("Files", [f"{'=' if file.there or file.inside else '+'} {_file(file)}" for file in changes.files]),
        ("Store listing", [_text(text) for text in changes.texts]),
        ("Images", [f"~ {image.language} {image.type}: {_images(image)}" for image in changes.images]),
        (OTHERS, [f"{_other_sign(other)} track {other.track}: {_other(other)}" for other in changes.others]),
        ("Review", on_review(changes)),
        ("Not shown", list(changes.remarks)),
    )
    for title, found in blocks:
        yield from (title, *(f"  {line}" for line in found)) if found else ()


def on_review(changes: Changes) -> list[str]:
    """What the commit does about Google's review, in words."""
    if not changes.review.commit:
        return ["nothing is committed: the edit stays open"]
    if changes.nothing:
        return ["nothing changes, so nothing is committed"]
    sent = {
        "true": "the changes are not sent for review: that remains to be done in the Play Console",
        "false": "the changes are sent for review",
    }.get(
        changes.review.not_sent_for_review,
        "the changes are sent for review, unless Google Play leaves that to the Play Console",
    )
    in_review = (
        "other changes that are in review are withdrawn and sent again with these"
        if changes.review.cancel
        else "if other changes are in review, the commit fails"
    )
    return [sent, in_review]


def sections(changes: Changes, column: str) -> tuple[Section, ...]:
    """The changes as tables for the summary; `column` heads the state that the run makes."""
    tracks = [(one.track, describe_all(one.before), _after(one)) for one in changes.tracks]
    fields = [
        (track.track, "+".join(codes(change.release)), _name(field), *_shown(field))
        for track in changes.tracks
        for change in track.releases
        for field in change.fields
    ]
    files = [
        (file.name, f"{WHAT[file.kind]}{_INSIDE * file.inside}", str(file.version_code))
        for file in changes.files
        if file.kind in WHAT
    ]
    texts = [(text.language, text.field, *_shown(text)) for text in changes.texts]
    images = [(image.language, image.type, _images(image)) for image in changes.images]
    others = [(other.track, _other(other)) for other in changes.others]
    found = (
        Section("Tracks", ("Track", "Before", column), tuple(tracks)),
        Section("Release details", ("Track", "Release", "Field", "Before", column), tuple(fields)),
        Section("Mapping, symbols, expansion files", ("File", "What", "Version code"), tuple(files)),
        Section("Store listing", ("Language", "Text", "Before", column), tuple(texts)),
        Section("Images", ("Language", "Type", "Change"), tuple(images)),
        Section(OTHERS, ("Track", "In the edit"), tuple(others)),
    )
    return tuple(section for section in found if section.rows)


def _after(track: TrackChange) -> str:
    """All that the track is to hold, in one line; what reads as before says so."""
    before, after = describe_all(track.before), describe_all(track.after)
    details = any(change.fields for change in track.releases)
    return after if before != after else "unchanged but for the details below" if details else "unchanged"


def published(changes: Changes) -> str:
    """Every release that the commit publishes, in one line, those of other jobs included."""
    own = [f"{change.track} {describe_all(change.after)}" for change in changes.tracks]
    foreign = [f"{other.track} {_other(other)} (not from this run)" for other in changes.others]
    return ", ".join([*own, *foreign])


def _other(other: OtherTrack) -> str:
    return "; ".join(f"{describe(release)}{', new' * other.is_new(release)}" for release in other.held)


def _other_sign(other: OtherTrack) -> str:
    """What may be another job's work is told from what was live before, where that is known."""
    return "?" if other.live is None else "+" if any(map(other.is_new, other.held)) else "="


def short(text: str) -> str:
    """The first line of a text, cut where it is long; an ellipsis tells that there is more."""
    first = next(iter(text.strip().splitlines()), "").strip()
    return text if text == first and len(first) <= SHORT else f"{first[: SHORT - 1]}…"


def _release(change: ReleaseChange) -> str:
    """`48 "Spring": all users, completed`, and where that changes what it was."""
    release, before = change.release, change.before
    name = f' "{short(str(release["name"]))}"' if release.get("name") else ""
    changed = change.kind == "changed" and before is not None and in_words(before) != in_words(release)
    was = f"{in_words(before)} -> " if changed and before is not None else ""
    return f"{'+'.join(codes(release)) or 'no version'}{name}: {was}{in_words(release)}"


def _name(field: FieldChange) -> str:
    return f"{field.field} {field.language}".strip()


def _difference(change: FieldChange | TextChange) -> str:
    """`"old" -> "new"`, or the one that there is."""
    before, after = _shown(change)
    return f"{before} -> {after or 'none'}" if before else after


def _shown(change: FieldChange | TextChange) -> tuple[str, str]:
    """The field before and after: a text by its first line and its length, a name in quotes."""

    def shown(text: str) -> str:
        quoted = f'"{short(text)}"' if change.language or change.field == "name" else short(text)
        length = f" ({plural(len(text), 'character')})" if change.language else ""
        return f"{quoted}{length}" if text else ""

    return shown(change.before), shown(change.after)


def _file(file: FileChange) -> str:
    where = ", on Google Play already" if file.there else _INSIDE * file.inside
    what = f"{WHAT[file.kind]} for " if file.kind in WHAT else ""
    return f"{file.name}: {what}version code {file.version_code}{where}"


def _text(text: TextChange) -> str:
    return f"{'~' if text.before else '+'} {text.language} {text.field}: {_difference(text)}"


def _images(image: ImageChange) -> str:
    names = ", ".join(path.rpartition("/")[2] for path in image.added)  # language and type say which folder
    added = f"{len(image.added)} added ({names})" if names else ""
    again = f"{len(image.sent_again)} sent again for the order" if image.sent_again else ""
    counts = ((image.removed, "removed"), (image.kept, "kept"))
    return ", ".join(filter(None, (added, again, *(f"{count} {what}" for count, what in counts if count))))


T = TypeVar("T")

LIMIT: Final = 128 * 1024  # characters, all of them ASCII; GitHub takes 1 MiB for all outputs together
_MOST: Final = (200, 50, 10, 2)  # entries of each list: the first with which the whole stays under the limit


def plan_output(changes: Changes, target: str = "play") -> str:
    """The value of the output; `left_out` in it counts the entries for which there was no room."""
    texts = (_PlanJson(changes, target).text(most) for most in _MOST)
    return next(text for text in texts if len(text) <= LIMIT)


class _PlanJson:
    """The changes as JSON with at most so many entries in each list."""

    def __init__(self, changes: Changes, target: str) -> None:
        self._changes = changes
        self._target = target
        self._most = 0
        self._left_out = 0

    def text(self, most: int) -> str:
        self._most, self._left_out = most, 0
        changes = self._changes
        whole = {
            "version": 1,
            "target": self._target,
            "package": short(changes.package),
            "tracks": [self._track(one) for one in self._few(changes.tracks)],
            "files": [{**asdict(one), "name": short(one.name)} for one in self._few(changes.files)],
            "listing": [
                {"language": one.language, "field": one.field, "before": _brief(one.before), "after": _brief(one.after)}
                for one in self._few(changes.texts)
            ],
            "images": [self._image(one) for one in self._few(changes.images)],
            "review": asdict(changes.review),
            "others": [
                {
                    "track": short(other.track),
                    "releases": self._releases(other.held),
                    "live": None if other.live is None else list(self._few(sorted(other.live, key=int))),
                }
                for other in self._few(changes.others)
            ],
        }
        return json.dumps({**whole, "left_out": self._left_out}, separators=(",", ":"))

    def _few(self, found: Sequence[T]) -> Sequence[T]:
        self._left_out += max(0, len(found) - self._most)
        return found[: self._most]

    def _track(self, change: TrackChange) -> dict[str, Any]:
        before, after = self._releases(change.before), self._releases(change.after)
        return {"track": short(change.track), "before": before, "after": after}

    def _image(self, change: ImageChange) -> dict[str, Any]:
        added = [short(name) for name in self._few(change.added)]
        return {
            **asdict(change),
            "added": added,
            "sent_again": [short(name) for name in self._few(change.sent_again)],
        }

    def _releases(self, live: Releases) -> list[dict[str, Any]]:
        return [self._release(release) for release in self._few(live)]

    def _release(self, release: Release) -> dict[str, Any]:
        notes = self._few(notes_of(release))
        return {
            "version_codes": list(self._few(codes(release))),
            "status": short(str(release.get("status") or "")),
            "user_fraction": release.get("userFraction"),
            "name": short(str(release.get("name") or "")),
            "priority": priority(release),
            "countries": [short(country) for country in self._few(countries(release))],
            "notes": [{"language": short(language), **(_brief(text) or {})} for language, text in notes],
        }


def _brief(text: str) -> dict[str, Any] | None:
    return {"first_line": short(text), "characters": len(text)} if text else None
