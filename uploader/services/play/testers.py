"""Compare and replace the Google Groups whose members test the closed tracks of a run.

Source: developers.google.com/android-publisher/api-ref/rest/v3/edits.testers. The API has only
groups; lists of single addresses are kept in the Play Console. Production is for everybody, and
internal tests have only lists of addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from uploader.errors import ApiError, Problems
from uploader.services.play.known_errors import NO_SUCH_TRACK, find
from uploader.services.play.model import TrackName

if TYPE_CHECKING:
    from uploader.services.play.edit_lifecycle import ReleaseEdit

# Domains of mail services for people, which have no Google Groups.
_MAIL_SERVICES = frozenset(
    {
        "gmail.com",
        "googlemail.com",
        "outlook.com",
        "hotmail.com",
        "live.com",
        "yahoo.com",
        "icloud.com",
        "me.com",
        "aol.com",
        "gmx.com",
        "gmx.de",
        "gmx.net",
        "web.de",
        "proton.me",
        "protonmail.com",
    }
)


@dataclass(frozen=True)
class TestersChange:
    """The groups of one track before and after.

    `created` says that the edit creates the track.
    """

    track: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    created: bool = False

    def __str__(self) -> str:
        """Return `+ new@example.com, - old@example.com`; empty if nothing changes."""
        added = [f"+ {group}" for group in self.after if group not in self.before]
        removed = [f"- {group}" for group in self.before if group not in self.after]
        return ", ".join(added + removed)


def closed_tracks(tracks: Iterable[str]) -> tuple[str, ...]:
    """Return the tracks that can have groups of testers: all but production and internal ones."""
    return tuple(track for track in tracks if _has_groups(TrackName(track)))


def _has_groups(track: TrackName) -> bool:
    """Return whether a track can have groups of testers."""
    if track.base in ("production", "internal"):
        return False
    # `qa` is the internal track of a form factor.
    return track.base != "qa" or not track.form_factor


def check(tracks: Sequence[str], groups: Sequence[str], problems: Problems) -> None:
    """Add a problem for testers without a closed track, and for addresses of people."""
    people = list(filter(_is_person, groups))
    if people:
        are = "are people's addresses"
        if len(people) == 1:
            are = "is a person's address"
        problems.add(
            "testers",
            f"{', '.join(people)} {are}, and Google Play accepts only Google Groups here. Add "
            "individual people in the Play Console (Testing, Testers).",
            "groups, such as `name@googlegroups.com` or one from your own domain",
        )
    if not closed_tracks(tracks):
        actual = "`tracks` has none"
        if tracks:
            actual = f"`tracks` has {', '.join(tracks)} alone"
        problems.add(
            "testers",
            f"only a closed track has groups of testers; {actual}.",
            "with a closed track in `tracks`",
        )


def _is_person(address: str) -> bool:
    """Return whether an address is at a mail service that has no Google Groups."""
    _, _, domain = address.rpartition("@")
    return domain.lower() in _MAIL_SERVICES


def compare(edit: ReleaseEdit) -> tuple[TestersChange, ...]:
    """Return the change to the groups of each closed track."""
    tracks = edit.job.tester_tracks
    reads = [partial(_groups, edit, track) for track in tracks]
    groups = edit.context.together(reads)
    changes = []
    for track, before in zip(tracks, groups, strict=True):
        addresses = tuple(group.lower() for group in before)
        changes.append(TestersChange(track, addresses, edit.job.testers))
    return tuple(changes)


def _groups(edit: ReleaseEdit, track: str) -> tuple[str, ...]:
    """Return the groups of a track; none for a track that the run creates."""
    try:
        return edit.api.testers(track)
    except ApiError as refused:
        missing = refused.status == 404 and find(refused) in NO_SUCH_TRACK
        if not (missing and edit.job.create_tracks):
            raise
        return ()


def replace(edit: ReleaseEdit, changes: Iterable[TestersChange]) -> None:
    """Replace the groups of each track that has others."""
    for change in changes:
        if not str(change):
            continue
        edit.begin_change(edit.job.testers_purpose(change.track))
        edit.api.update_testers(change.track, change.after)
        edit.context.info(f"Testers of {change.track} in edit {edit.id}: {change}.")
