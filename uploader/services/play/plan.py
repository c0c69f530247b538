"""Represent what a run changes on Google Play as one value, made from what is there and what is to
be there, before anything is changed.

The log (`lines`), the summary (`section`) and the output `plan` all show this one value, so that
they can't disagree. Texts from outside are shown by their first line and their length.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Final, Literal

from uploader.files.artifacts import Artifact
from uploader.services.base import Section
from uploader.services.play.model import (
    Release,
    Releases,
    all_version_codes,
    find_same_versions,
)
from uploader.services.play.release_job import WHAT, ReleaseJob, SupplementaryFile
from uploader.services.play.release_names import with_display_name
from uploader.services.play.release_words import describe, in_words, label
from uploader.services.play.testers import TestersChange
from uploader.services.play.track_merge import TrackChange, remark
from uploader.services.play.track_names import (
    is_internal,
)
from uploader.text import first_line, plural

OTHERS: Final = "Also in the edit, not from this run"
# characters of the output, all of them ASCII; GitHub takes 1 MiB for all outputs together
MAX_PLAN: Final = 128 * 1024
# entries of each list in the output: the first number with which it stays below that, else 0
_MAX_ENTRIES: Final = (200, 50, 10, 2)
_MAX_WIDTH: Final = 400  # characters of a line in the log
_MAX_LINES: Final = 1000
# characters that are shown before the first difference of two texts
_CONTEXT: Final = 20
_NEW_TRACK: Final = ", a closed track that is created"


@dataclass(frozen=True)
class TextChange:
    """A change of a text of the store listing, or of a field of a release; "" is no text.

    `language` is that of a listing or of release notes, and "" for every other field.
    """

    language: str
    field: str
    before: str
    after: str

    def __str__(self) -> str:
        before, after = self.shown
        if not before:
            return after
        if not after:
            return f"{before} -> none"
        return f"{before} -> {after}"

    @property
    def name(self) -> str:
        """The field, and the language if it has one."""
        return f"{self.field} {self.language}".strip()

    @property
    def shown(self) -> tuple[str, str]:
        """Before and after as people see it: the first line and the length of a text, a name in
        quotes.

        Two texts with the same beginning are shown from where they differ.
        """
        start = 0
        if first_line(self.before) == first_line(self.after):
            start = _first_difference(self.before, self.after)
        before = self._show(self.before, start)
        after = self._show(self.after, start)
        return before, after

    def _show(self, text: str, start: int) -> str:
        if not text:
            return ""
        line = first_line(text)
        if start > 0:
            line = _excerpt(text, start)
        if self.language:
            length = plural(len(text), "character")
            return f'"{line}" ({length})'
        if self.field == "name":
            return f'"{line}"'
        return line


def _first_difference(text: str, other: str) -> int:
    """Return the index of the first character in which two texts differ."""
    shorter = min(len(text), len(other))
    for index in range(shorter):
        if text[index] != other[index]:
            return index
    return shorter


def _excerpt(text: str, start: int) -> str:
    """Return a text from some characters before `start` on, on one line."""
    beginning = max(start - _CONTEXT, 0)
    excerpt = text[beginning:]
    words = " ".join(excerpt.split())
    if beginning > 0:
        words = f"…{words}"
    return first_line(words)


@dataclass(frozen=True)
class ReleaseChange:
    """One release of a track, as it is to be, or as it was if it is removed (`-`), and the fields
    that differ.

    `fields` is without version codes, status and fraction. `on_track` are the releases of the track
    at the time that `release` shows; for a changed release, `was_on_track` are those before.
    """

    sign: Literal["+", "~", "-", "="]
    before: Release | None
    release: Release
    fields: tuple[TextChange, ...] = ()
    on_track: Releases = ()
    was_on_track: Releases = ()

    def __str__(self) -> str:
        """Return `1.4.2 (42): all users, completed`, with what it was before if that changes."""
        reach = in_words(self.release, self.on_track)
        if self.sign == "~" and self.before:
            before = in_words(self.before, self.was_on_track)
            if before != reach:
                reach = f"{before} -> {reach}"
        return f"{label(self.release)}: {reach}"


@dataclass(frozen=True)
class OtherTrack:
    """A track that the run does not touch: all that the edit holds there, and the version codes
    that are live.

    `live` is None if that is not known.
    """

    track: str
    held: Releases
    live: frozenset[str] | None = None

    def is_new(self, release: Release) -> bool:
        """Return whether a release is known to have a version that is not live."""
        if self.live is None:
            return False
        return not self.live.issuperset(release.version_codes)

    @property
    def sign(self) -> str:
        """`+` for a track with versions that are not live, `=` for one without any, and `?` if that
        is not known.
        """
        if self.live is None:
            return "?"
        if any(map(self.is_new, self.held)):
            return "+"
        return "="

    def __str__(self) -> str:
        return "; ".join(map(self._describe, self.held))

    def _describe(self, release: Release) -> str:
        described = describe(release, self.held)
        if self.is_new(release):
            return f"{described}, new"
        return described


@dataclass(frozen=True)
class ImageChange:
    """The images of one type in one language: the files that are added, or sent again to restore
    the order, and counts.

    `live` are the addresses at which Google serves those that are removed.
    """

    language: str
    type: str
    added: tuple[str, ...] = ()
    sent_again: tuple[str, ...] = ()
    removed: int = 0
    kept: int = 0
    live: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = []
        # language and type say which folder
        names = ", ".join(path.rpartition("/")[2] for path in self.added)
        if names:
            count = len(self.added)
            parts.append(f"{count} added ({names})")
        if self.sent_again:
            count = len(self.sent_again)
            parts.append(f"{count} sent again for the order")
        if self.removed:
            removed = "removed"
            if not parts and not self.kept:
                removed = "removed, none is left"
            parts.append(f"{self.removed} {removed}")
        if self.kept:
            parts.append(f"{self.kept} kept")
        return ", ".join(parts)


@dataclass(frozen=True)
class FileChange:
    """One file that goes with a version code. `there` says that Google Play has it and that it is
    not sent.

    If it is only known to be in a shared edit, `edit` is the id of that edit. `certificate_sha256`
    is that of an artifact's signer, in lower-case hex. `inside` says that the bundle called `name`
    has it in itself.
    """

    kind: Literal["artifact", "mapping", "symbols", "main", "patch"]
    name: str
    version_code: int
    there: bool = False
    certificate_sha256: str = ""
    inside: bool = False
    edit: str = ""

    def __str__(self) -> str:
        version = f"version code {self.version_code}"
        if self.kind in WHAT:
            version = f"{WHAT[self.kind]} for {version}"
        return f"{self.name}: {version}{self._where}"

    @property
    def _where(self) -> str:
        if self.there and self.edit:
            return f", in edit {self.edit} already"
        if self.there:
            return ", on Google Play already"
        if self.inside:
            return ", in the bundle itself"
        return ""


@dataclass(frozen=True)
class Changes:
    """Everything that the commit of a job would publish.

    `others` are the tracks that the edit holds besides those of the run: in a shared edit they may
    be other jobs' work. `reach` says who gets something else than what is released to the tracks,
    and `not_shown` names what can't be shown. `happened` says that the commit of an earlier edit
    has published what is there. `in_edit` says that an earlier run has changed something in the
    edit already, which is committed with the rest.
    """

    job: ReleaseJob
    tracks: tuple[TrackChange, ...] = ()
    files: tuple[FileChange, ...] = ()
    texts: tuple[TextChange, ...] = ()
    images: tuple[ImageChange, ...] = ()
    testers: tuple[TestersChange, ...] = ()
    reach: tuple[str, ...] = ()
    others: tuple[OtherTrack, ...] = ()
    not_shown: str = ""
    happened: bool = False
    in_edit: bool = False

    @property
    def version_codes(self) -> tuple[str, ...]:
        """The version codes that the run is about: those of the files, else those of the releases
        on its tracks.
        """
        if self.job.codes:
            return self.job.codes
        on_tracks = all_version_codes(change.release for change in self.tracks)
        return tuple(dict.fromkeys(on_tracks))

    @property
    def nothing(self) -> bool:
        """Whether all of it is there already, and the edit holds nothing else."""
        if self.in_edit:
            return False
        for track in self.tracks:
            for change in _releases(track, self.job):
                if change.sign != "=":
                    return False
        for file in self.files:
            if not file.there:
                return False
        if any(map(str, self.testers)):
            return False
        return not self._goes_beyond_tracks

    @property
    def reviewed(self) -> bool:
        """Whether Google reviews any of it. What is released to internal tracks alone reaches their
        testers without a review.
        """
        if not self.tracks:
            return True
        for track in self.tracks:
            if not is_internal(track.track):
                return True
        return self._goes_beyond_tracks

    @property
    def _goes_beyond_tracks(self) -> bool:
        """Whether it also changes the store listing or other tracks, or anything that can't be
        shown.
        """
        return any(
            (
                self.texts,
                self.images,
                self.others,
                self.not_shown,
            )
        )


def files_of(
    job: ReleaseJob,
    there: Collection[int] = (),
    published: Collection[SupplementaryFile] = (),
    edit: str = "",
) -> Iterator[FileChange]:
    """Yield the artifacts of a job, and the files that go with them; `there` are the version codes
    that Google Play has.

    `published` are the files that were committed with them. If the artifacts are only known to be
    in a shared edit, `edit` is its id.
    """
    for artifact, code in zip(job.artifacts, job.codes, strict=True):
        version = int(code)
        change = FileChange(
            "artifact",
            artifact.name,
            version,
            certificate_sha256=artifact.certificate_sha256,
        )
        if version in there:
            change = replace(change, there=True, edit=edit)
        yield change
        for companion in job.supplementary:
            if companion.version_code == version:
                is_published = companion in published
                yield _companion(companion, artifact, is_published)


def _companion(
    companion: SupplementaryFile, artifact: Artifact, is_published: bool
) -> FileChange:
    """Return the change for a file that goes with an artifact."""
    inside = companion.file == "bundle"
    if inside:
        name = artifact.name
    elif isinstance(companion.file, Artifact):
        name = companion.file.name
    else:
        name = f"version {companion.file}"
    return FileChange(
        companion.kind,
        name,
        companion.version_code,
        is_published,
        inside=inside,
    )


def _releases(track: TrackChange, job: ReleaseJob) -> Iterator[ReleaseChange]:
    """Yield what becomes of each release that the track has before or after the change, those after
    it first.

    Two releases with the same version codes count as one. Each comes under the name of
    `with_display_name`.
    """
    left = list(track.before)
    after = track.after
    for release in after:
        before = find_same_versions(left, release)
        old = before or Release()
        fields = tuple(_fields(old, release))
        shown = with_display_name(job, release)
        if before is None:
            yield ReleaseChange("+", None, shown, fields, after)
            continue
        left.remove(before)
        if fields or not before.has_same_reach(release):
            yield ReleaseChange(
                "~",
                before,
                shown,
                fields,
                after,
                track.before,
            )
        else:
            yield ReleaseChange("=", before, shown, on_track=after)
    for release in left:
        shown = with_display_name(job, release)
        yield ReleaseChange("-", release, shown, on_track=track.before)


def _fields(before: Release, after: Release) -> Iterator[TextChange]:
    """Yield the fields in which two releases differ, apart from versions, status and fraction."""
    # Google Play gives a name to a release that is sent without one, so a missing name is no
    # change.
    name = after.name or before.name
    changes = [
        TextChange("", "name", before.name, name),
        TextChange(
            "",
            "priority",
            str(before.priority or ""),
            str(after.priority or ""),
        ),
        TextChange(
            "",
            "countries",
            ", ".join(before.countries),
            ", ".join(after.countries),
        ),
    ]
    notes = dict(before.notes)
    new_notes = dict(after.notes)
    for language in {**new_notes, **notes}:
        text = notes.get(language, "")
        changes.append(
            TextChange(
                language,
                "notes",
                text,
                new_notes.get(language, ""),
            )
        )
    for change in changes:
        if change.before != change.after:
            yield change


def lines(changes: Changes, review: Sequence[str] | None = None) -> list[str]:
    """Return the changes as people read them in the log: `+` is added, `~` changed, `-` removed,
    `=` unchanged, `?` unknown.

    `review` are the lines about the review; by default they say what the commit does about it.
    """
    if review is None:
        review = on_review(changes)
    first_lines = islice(_lines(changes, review), _MAX_LINES)
    shown = list(map(_shorten, first_lines))
    if len(shown) == _MAX_LINES:
        shown.append("and more, which is left out here")
    return shown


def _shorten(line: str) -> str:
    if len(line) <= _MAX_WIDTH:
        return line
    beginning = line[: _MAX_WIDTH - 1]
    return f"{beginning}…"


def _lines(changes: Changes, review: Sequence[str]) -> Iterator[str]:
    for track in changes.tracks:
        title = f"Track {track.track}"
        if track.created:
            title += _NEW_TRACK
        yield title
        yield from _lines_of_track(track, changes.job)
    for title, entries in _blocks(changes, review):
        if entries:
            yield title
            for entry in entries:
                yield f"  {entry}"


def _lines_of_track(track: TrackChange, job: ReleaseJob) -> Iterator[str]:
    """Yield what becomes of each release on a track, with the fields that change."""
    for change in _releases(track, job):
        yield f"  {change.sign} {change}"
        for field in change.fields:
            if change.sign == "+" and field.field == "name":
                continue  # the line of a new release has its name already
            yield f"      {field.name}: {field}"
    for sentence in track.notices:
        yield f"      {sentence}"
    if track.gone_on:
        yield f"      {remark(job, track)}"


def _blocks(
    changes: Changes, review: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what changes besides the tracks: a title, and a line for each entry."""
    yield "Files", _lines_of_files(changes)
    yield "Left out of the release notes", _lines_of_notes_left_out(changes.job)
    yield "Store listing", _lines_of_texts(changes)
    yield "Images", _lines_of_images(changes)
    yield "Testers", _lines_of_testers(changes)
    yield "Who gets something else", changes.reach
    yield (
        OTHERS,
        [f"{other.sign} track {other.track}: {other}" for other in changes.others],
    )
    yield "Review", review
    if changes.not_shown:
        yield "Not shown", [changes.not_shown]


def _lines_of_files(changes: Changes) -> list[str]:
    lines = []
    for file in changes.files:
        sign = "+"
        if file.there or file.inside:
            sign = "="
        lines.append(f"{sign} {file}")
    return lines


def _lines_of_notes_left_out(job: ReleaseJob) -> list[str]:
    lines = []
    for tracks, text in _notes_left_out(job):
        place = text.language
        if tracks != job.tracks:
            names = ", ".join(tracks)
            place = f"{names} {place}"
        lines.append(f"- {place}: {text}")
    return lines


def _lines_of_texts(changes: Changes) -> list[str]:
    lines = []
    for text in changes.texts:
        sign = "+"
        if text.before:
            sign = "~"
        place = f"{text.language} {text.field}"
        lines.append(f"{sign} {place}: {text}")
    return lines


def _lines_of_images(changes: Changes) -> list[str]:
    lines = list(_removals(changes))
    for image in changes.images:
        place = f"{image.language} {image.type}"
        lines.append(f"~ {place}: {image}")
    return lines


def _lines_of_testers(changes: Changes) -> list[str]:
    lines = []
    released = [track.track for track in changes.tracks]
    for groups in changes.testers:
        track = groups.track
        if groups.created and track not in released:
            track += _NEW_TRACK
        if str(groups):
            lines.append(f"~ {track}: {groups}")
    return lines


def _notes_left_out(job: ReleaseJob) -> Iterator[tuple[tuple[str, ...], TextChange]]:
    """Yield what was left out of release notes that were too long, and on which tracks."""
    tracks_by_text: dict[tuple[str, str], list[str]] = {}
    for_any_track = job.notes_left_out.get(None, ())
    for track in job.tracks:
        for note in job.notes_left_out.get(track, for_any_track):
            tracks = tracks_by_text.setdefault(note, [])
            tracks.append(track)
    for (language, text), tracks in tracks_by_text.items():
        left_out = TextChange(language or "default language", "notes", "", text)
        yield tuple(tracks), left_out


def _removals(changes: Changes) -> Iterator[str]:
    """Yield a line with the number of images that a run which prunes removes, if there are any."""
    if changes.job.prune_images == "false":
        return
    total = 0
    languages = set()
    for image in changes.images:
        if image.removed:
            total += image.removed
            languages.add(image.language)
    if languages:
        verb = "are"
        if total == 1:
            verb = "is"
        images = plural(total, "image")
        places = plural(len(languages), "language")
        yield f"- {images} of {places} {verb} removed in all"


def on_review(changes: Changes) -> list[str]:
    """Return what the commit does about Google's review, in words; [] if there is no review."""
    if not changes.reviewed:
        return []
    if not changes.job.commit:
        return ["nothing is committed: the edit stays open"]
    if changes.nothing and changes.happened:
        return ["all of it is committed"]
    if changes.nothing:
        return ["nothing changes, so nothing is committed"]
    if changes.job.rehearsal:
        return ["the changes stay in the emulator, and nobody reviews them"]
    sent = {
        "true": "the changes are not sent for review: that remains to be done in the Play Console",
        "false": "the changes are sent for review",
        "auto": "the changes are sent for review, unless Google Play leaves that to the Play "
        "Console",
    }
    in_review = "if other changes are in review, the commit fails"
    if changes.job.cancel_review:
        in_review = (
            "other changes that are in review are withdrawn and sent again with these"
        )
    return [sent[changes.job.not_sent_for_review], in_review]


def section(
    title: str, changes: Changes, review: Sequence[str] | None = None
) -> Section:
    """Return the lines for the summary, without the artifacts, which its table of files has."""
    if review is None:
        review = on_review(changes)
    files = tuple(file for file in changes.files if file.kind in WHAT)
    without_artifacts = replace(changes, files=files)
    rows = [(line,) for line in lines(without_artifacts, review)]
    return Section(title, (), tuple(rows))


def plan_output(changes: Changes) -> str:
    """Return the output `plan` of a dry run, as docs/RECIPES.md describes it: one line of JSON,
    whose lists and texts are cut so that it does not grow too long.
    """
    limit = MAX_PLAN
    if changes.job.one_of_several:
        limit = 4 * MAX_PLAN // changes.job.apps_in_run
    for max_entries in _MAX_ENTRIES:
        text = _plan(changes, max_entries)
        if len(text) <= limit:
            return text
    return _plan(changes, 0)


def _plan(changes: Changes, max_entries: int) -> str:
    """Return the changes as JSON with at most `max_entries` entries in each list.

    `left_out` counts the entries for which there was no room.
    """
    bounds = _Bounds(max_entries)
    plan = bounds.apply(_whole_plan(changes))
    plan["left_out"] = bounds.left_out
    return json.dumps(plan, separators=(",", ":"))


class _Bounds:
    """Shortens texts to their first line and lists to so many entries, and counts the entries that
    it left out.
    """

    def __init__(self, max_entries: int) -> None:
        self.left_out = 0
        self._max_entries = max_entries

    def apply(self, value: Any) -> Any:
        """Return the value with short texts and short lists."""
        if isinstance(value, str):
            return first_line(value)
        if isinstance(value, dict):
            return {key: self.apply(entry) for key, entry in value.items()}
        if isinstance(value, frozenset):
            value = sorted(value, key=int)
        if isinstance(value, (list, tuple)):
            shown = value[: self._max_entries]
            self.left_out += len(value) - len(shown)
            return [self.apply(entry) for entry in shown]
        return value


def _whole_plan(changes: Changes) -> dict[str, Any]:
    """Return all changes, in the format of the output `plan`."""
    job = changes.job
    files = []
    for file in changes.files:
        entry = asdict(file)
        # a dry run has an edit of its own, so that no file is in a shared one
        del entry["edit"]
        files.append(entry)
    notes_left_out = []
    for names, text in _notes_left_out(job):
        note = _text(text.after) or {}
        notes_left_out.append({"tracks": names, "language": text.language, **note})
    listing = []
    for text in changes.texts:
        before = _text(text.before)
        after = _text(text.after)
        listing.append(
            {
                "language": text.language,
                "field": text.field,
                "before": before,
                "after": after,
            }
        )
    images = []
    for image in changes.images:
        entry = asdict(image)
        del entry["live"]  # for the summary alone
        images.append(entry)
    others = []
    for other in changes.others:
        releases = list(map(_release_as_json, other.held))
        others.append(
            {
                "track": other.track,
                "releases": releases,
                "live": other.live,
            }
        )
    target = "play"
    if job.rollout:
        target = "play-rollout"
    return {
        "version": 1,
        "target": target,
        "package": job.package,
        "tracks": list(map(_track_as_json, changes.tracks)),
        "files": files,
        "notes_left_out": notes_left_out,
        "listing": listing,
        "images": images,
        "testers": list(map(asdict, changes.testers)),
        "reach": changes.reach,
        "review": {
            "commit": job.commit,
            "not_sent_for_review": job.not_sent_for_review,
            "cancel": job.cancel_review,
        },
        "others": others,
    }


def _track_as_json(change: TrackChange) -> dict[str, Any]:
    return {
        "track": change.track,
        "created": change.created,
        "before": list(map(_release_as_json, change.before)),
        "after": list(map(_release_as_json, change.after)),
    }


def _release_as_json(release: Release) -> dict[str, Any]:
    notes = []
    for language, note in release.notes:
        text = _text(note) or {}
        notes.append({"language": language, **text})
    return {
        "version_codes": release.version_codes,
        "status": release.status,
        "user_fraction": release.user_fraction,
        "name": release.name,
        "priority": release.priority,
        "countries": release.countries,
        "notes": notes,
    }


def _text(text: str) -> dict[str, Any] | None:
    """Return a text by its first line and its length; None for no text."""
    if not text:
        return None
    return {"first_line": text, "characters": len(text)}
