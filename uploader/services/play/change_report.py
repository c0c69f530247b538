"""How people are shown what a run changes: lines for the log before, tables for the summary before and after.

Texts from outside are shown by their first line and their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from uploader.services.base import Section
from uploader.services.play.changes import (
    Changes,
    FieldChange,
    FileChange,
    ImageChange,
    OtherTrack,
    ReleaseChange,
    TextChange,
    TrackChange,
)
from uploader.services.play.job import WHAT
from uploader.services.play.tracks import codes, describe, describe_all, in_words
from uploader.text import plural

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
