"""Compares an edit with what the job asks for, before the first byte is uploaded: reads and checks, changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from uploader.files.artifacts import Artifact
from uploader.services.base import Steps
from uploader.services.play.artifact_uploads import AlreadyThere, already_there
from uploader.services.play.changes import Changes, FileChange, OtherTrack, Review, TrackChange
from uploader.services.play.edit_machine import Ownership
from uploader.services.play.job import Companion
from uploader.services.play.last_expansion import last_expansion
from uploader.services.play.lifecycle import live_versions
from uploader.services.play.listing_sync import ListingDifference
from uploader.services.play.listing_sync import compare as compare_listing
from uploader.services.play.release_edit import ReleaseEdit
from uploader.services.play.track_update import STANDARD, TrackUpdate, current_releases, foresee, read_tracks
from uploader.services.play.tracks import Releases

_EARLIER = "what an earlier run of this job changed in the store listing of edit {} already, and did not commit"
_OTHERS = "texts, images, files and user fractions that other jobs changed in edit {}: they are committed with it"
_UNLISTED = "tracks of edit {} with names of their own: Google Play does not list them at present"


@dataclass(frozen=True)
class Comparison:
    """What the run changes, for people, and what it needs to know to do it."""

    changes: Changes
    there: AlreadyThere
    listing: ListingDifference | None


def compare(edit: ReleaseEdit) -> Steps[Comparison]:
    """Everything that the run would change. Raises what would end it after the upload, as far as that can be known."""
    job, listing = edit.job, None
    listed = (yield from read_tracks(edit)) if job.tracks or not edit.state.own else {}
    updates = yield from foresee(edit)
    there = yield from already_there(edit)
    for kind in sorted({one.kind for one in job.companions if one.file == "last-release"}):
        yield from last_expansion(edit, kind)
    if job.listing and edit.state.ownership is not Ownership.STAND_IN:
        listing = yield from compare_listing(edit, job.listing)
    changes = Changes(
        job.package,
        Review(job.commit, job.not_sent_for_review, job.cancel_review),
        tracks=of_tracks(updates),
        files=tuple(_files(edit, there)),
        texts=listing.text_changes if listing else (),
        images=tuple(place.change for place in listing.places if place.change) if listing else (),
        others=(yield from _others(edit, listed, {})),
        remarks=tuple(_remarks(edit, listed)),
    )
    return Comparison(changes, there, listing)


def of_tracks(updates: Sequence[TrackUpdate]) -> tuple[TrackChange, ...]:
    """The changes of the tracks alone."""
    return tuple(TrackChange(update.track, update.before, update.after) for update in updates)


def others(edit: ReleaseEdit, seen: Sequence[OtherTrack]) -> Steps[tuple[OtherTrack, ...]]:
    """The tracks of a shared edit beside those of the run, as they are now: other jobs may be at work in it."""
    edit.seen.clear()
    # Where Play does not list them at this moment, those that were seen before are named again.
    tracks = (yield from read_tracks(edit)) or {one.track: one.held for one in seen}
    return (yield from _others(edit, tracks, {one.track: one.live for one in seen}))


def _others(
    edit: ReleaseEdit, listed: Mapping[str, Releases], live: Mapping[str, frozenset[str] | None]
) -> Steps[tuple[OtherTrack, ...]]:
    if edit.state.ownership is not Ownership.SHARED:
        return ()
    tracks, found = dict(listed), []
    for track in () if listed else STANDARD:
        tracks[track] = yield from current_releases(edit, track)
    for track, held in tracks.items():
        if held and track not in edit.job.tracks:
            known = live[track] if track in live else (yield from live_versions(edit.job.package, track))
            found.append(OtherTrack(track, held, known))
    return tuple(found)


def _files(edit: ReleaseEdit, there: AlreadyThere) -> Iterator[FileChange]:
    """Artifacts, and what goes with them; what an earlier run put into the same edit is not on Google Play yet."""
    for artifact in edit.job.artifacts:
        code = artifact.manifest.version_code if artifact.manifest else 0
        listed = code in there and f"artifact:{code}" not in edit.uncommitted
        yield FileChange("artifact", artifact.name, code, listed, artifact.certificate_sha256)
        for one in edit.job.companions:
            if one.version_code == code:
                name = artifact.name if one.file == "bundle" else _name(one, edit)
                yield FileChange(one.kind, name, code, inside=one.file == "bundle")


def _name(companion: Companion, edit: ReleaseEdit) -> str:
    """A file's name, or the version whose expansion file is used."""
    file = companion.file
    return file.name if isinstance(file, Artifact) else f"version {edit.expansions.get(companion.kind, file)}"


def _remarks(edit: ReleaseEdit, listed: dict[str, Releases]) -> Iterator[str]:
    if edit.state.own and "listing" in edit.uncommitted:
        yield _EARLIER.format(edit.id)
    if edit.state.ownership is Ownership.SHARED:
        yield _OTHERS.format(edit.id)
        if not listed:
            yield _UNLISTED.format(edit.id)
