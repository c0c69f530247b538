"""The Google Groups whose members test the closed tracks of a run: read, compared and replaced in
the run's edit.

Source: developers.google.com/android-publisher/api-ref/rest/v3/edits.testers, which holds groups
alone; lists of single addresses are the Play Console's. Everybody gets production, and internal
tests know such lists alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from uploader.errors import ApiError, Problems
from uploader.services.play.edit_lifecycle import ReleaseEdit
from uploader.services.play.known_errors import OTHER, TRACK_MISSING, find

# Domains of mail services for people, which have no Google Groups.
_GMAIL = ("gmail.com", "googlemail.com")
_MICROSOFT = ("outlook.com", "hotmail.com", "live.com")
_OTHERS = ("yahoo.com", "icloud.com", "me.com", "aol.com", "gmx.com", "gmx.de", "gmx.net", "web.de")
_MAIL_SERVICES = frozenset((*_GMAIL, *_MICROSOFT, *_OTHERS, "proton.me", "protonmail.com"))


@dataclass(frozen=True)
class TestersChange:
    """The groups of one track before and after; `created` says that the app gets the track by the
    edit.
    """

    track: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    created: bool = False

    def __str__(self) -> str:
        """`+ new@example.com, - old@example.com`; empty where nothing changes."""
        added = [f"+ {group}" for group in self.after if group not in self.before]
        return ", ".join(
            (*added, *(f"- {group}" for group in self.before if group not in self.after))
        )


def closed(tracks: Iterable[str]) -> tuple[str, ...]:
    """The tracks that can have groups of testers."""
    return tuple(
        track for track in tracks if track.rpartition(":")[2] not in ("production", "internal")
    )


def check(tracks: Sequence[str], groups: Sequence[str], problems: Problems) -> None:
    """Adds a problem for groups of testers without a closed track, and for what can't be a
    group.
    """
    people = [group for group in groups if _is_person(group)]
    if people:
        are = "is a person's address" if len(people) == 1 else "are people's addresses"
        problems.add(
            "testers",
            f"{', '.join(people)} {are}, and Google Play takes Google Groups alone here. Single "
            "people are added in the Play Console (Testing, Testers).",
            "groups, such as `name@googlegroups.com` or one of your own domain",
        )
    if not closed(tracks):
        given = f"`tracks` has {', '.join(tracks)} alone" if tracks else "`tracks` has none"
        problems.add(
            "testers",
            f"only a closed track has groups of testers; {given}.",
            "with a closed track in `tracks`",
        )


def _is_person(address: str) -> bool:
    """Whether an address is at a mail service that has no Google Groups."""
    return address.rpartition("@")[2].lower() in _MAIL_SERVICES


def compare(edit: ReleaseEdit) -> tuple[TestersChange, ...]:
    """What becomes of the groups of each closed track."""
    read = [partial(_groups, edit, track) for track in edit.job.tester_tracks]
    groups = edit.context.together(read)
    return tuple(
        TestersChange(track, tuple(map(str.lower, found)), edit.job.testers)
        for track, found in zip(edit.job.tester_tracks, groups, strict=True)
    )


def _groups(edit: ReleaseEdit, track: str) -> tuple[str, ...]:
    """The groups of a track; a track that the run creates has none."""
    try:
        return edit.api.testers(track)
    except ApiError as refused:
        missing = refused.status == 404 and find(refused) in (TRACK_MISSING, OTHER)
        if not (missing and edit.job.create_tracks):
            raise
        return ()


def replace(edit: ReleaseEdit, changes: Iterable[TestersChange]) -> None:
    """Gives each track its groups, where it has others."""
    for change in changes:
        if str(change):
            edit.changing(edit.job.testers_purpose(change.track))
            edit.api.update_testers(change.track, change.after)
            edit.context.info(f"Testers of {change.track} in edit {edit.id}: {change}.")
