"""The tracks of an edit: reads their releases, and creates the closed tracks that are missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from uploader.errors import ApiError, ProtocolError, ReleaseRefused, TemporaryError
from uploader.services.play.client import Edit, is_there_already
from uploader.services.play.edit_lifecycle import ReleaseEdit
from uploader.services.play.known_errors import EDIT_GONE, NO_SUCH_TRACK, find
from uploader.services.play.model import Releases, TrackName
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.track_names import (
    FORM_TRACKS,
    HEADING,
    IN_THE_CONSOLE,
    QA,
    STANDARD,
    config_form_factor,
    form_factor,
    in_the_console,
    is_standard,
    meant,
    with_form_factor,
)


def current_releases(edit: ReleaseEdit, track: str) -> Releases:
    """The releases on a track; one that was never used may be answered with 404, and is empty.

    An edit is asked once: before a shared one is written to, what was seen of it is forgotten, as
    others work in it.
    """
    if track in edit.seen:
        return edit.seen[track]
    try:
        releases = edit.api.track(track)
        missing = False
    except ApiError as refused:
        if refused.status != 404 or find(refused) not in NO_SUCH_TRACK:
            raise
        releases = ()
        missing = refused.reason != "trackEmpty"
    if not releases:
        _check_name(edit, track, missing=missing)
    edit.seen[track] = releases
    return releases


def all_tracks(edit: Edit) -> dict[str, Releases]:
    """All tracks of the edit with their releases; none where the list is not to be had, as each can
    be asked alone.
    """
    try:
        return {track.name: track.releases for track in edit.tracks()}
    except ApiError as refused:
        if find(refused) is EDIT_GONE:
            raise
    except (ProtocolError, TemporaryError):
        pass
    return {}


def _creation(job: ReleaseJob, track: str) -> str:
    """Return how a closed track is created that the app does not have.

    A promotion and a rollout need a release on the track, which a new one has not.
    """
    if job.rollout or track == job.promote_from:
        return ""
    return (
        f", or create the closed track {track}: in the Play Console, or with "
        "`create-tracks: true`"
    )


def _check_name(edit: ReleaseEdit, track: str, *, missing: bool) -> None:
    """A track that Play does not list is none if Play says so, or if its name is almost another's.

    A standard track may be answered with 404 until it is used; whether a form factor has it is told
    when it is written.
    """
    of_devices = with_form_factor(track)
    if is_standard(track) and of_devices in ("", track):
        return
    known = dict.fromkeys((*STANDARD, *(edit.seen or all_tracks(edit.api))))
    if track in known:
        return
    if edit.job.create_tracks and track in (*edit.job.tracks, *edit.job.tester_tracks):
        _plan_creation(edit, track, known)
        return
    form = form_factor(track)
    if form:
        tracks = ", ".join(f"`{form}:{name}`" for name in FORM_TRACKS)
        raise ReleaseRefused(
            f"The app has no track {track}.",
            cause="Tracks of watches, TVs and cars have a prefix: `wear:production`, "
            "`tv:production`, `automotive:production`.",
            hint=f"Write {tracks} ({form}:{QA} is for internal tests){_creation(edit.job, track)}.",
            code="track-not-found",
        )
    other = meant(track, known)
    if not other and not missing:
        return
    instead = "Correct the name"
    if other:
        instead = f"Write `{other}`"
    raise ReleaseRefused(
        f"The app has no track {track}.",
        cause=_likely_cause(track, other, known),
        hint=f"{instead}{_creation(edit.job, track)}.",
        code="track-not-found",
    )


def _likely_cause(track: str, other: str, known: Iterable[str]) -> str:
    """Return why there is no such track, where `other` is the one that was meant, if any."""
    if not other:
        cause = f"Google Play lists {', '.join(known)}"
        similar = in_the_console(track)
        if similar:
            heading, name = similar
            cause += f"; {heading} is `{name}`"
        return f"{cause}."
    if ":" in other and ":" not in track:
        return "The prefix of a form factor ends in a colon."
    written = track.lower()
    if written in IN_THE_CONSOLE or HEADING.match(written):
        return f"It is probably the Play Console's name of {other}."
    return f"It is probably a misspelling of {other}."


def _plan_creation(edit: ReleaseEdit, track: str, known: Collection[str]) -> None:
    """Note that a closed track is to be created; `known` are those that the app has.

    Raises ReleaseRefused where a track that every app has is probably meant, or where Google Play
    can't create it.
    """
    form = TrackName(track).form_factor
    base = TrackName(track).base
    other = with_form_factor(track)
    standard = meant(base, STANDARD)
    if standard and not other:
        other = TrackName(track).beside(standard).lower()
    if other:
        raise ReleaseRefused(
            f"The app has no track {track}, and this run does not create it.",
            cause=f"It is probably a misspelling of {other}.",
            hint=f"Write `{other}`, or create the closed track {track} in the Play Console.",
            code="track-not-created",
        )
    if not config_form_factor(track):
        raise ReleaseRefused(
            f"The app has no track {track}, and this run does not create it.",
            cause="The Publishing API creates tracks only for phones, `wear:` and `automotive:`.",
            hint=f"Create the closed track {track} in the Play Console.",
            code="track-not-created",
        )
    names = map(TrackName, known)
    similar = meant(base, [name.base for name in names if name.form_factor == form])
    if similar and track not in edit.missing:
        other = TrackName(track).beside(similar)
        edit.context.warning(
            f"Track {track} is created, although the app has the track {other}."
        )
    edit.missing.add(track)


def create_missing(edit: ReleaseEdit) -> None:
    """Create the closed tracks that the edit does not have.

    One that is there by now was created by a request whose answer was lost, or by another job in a
    shared edit.
    """
    for track in sorted(edit.missing):
        purpose = edit.job.new_track_purpose(track)
        edit.changing(purpose)
        try:
            edit.api.create_track(track, config_form_factor(track))
        except ApiError as refused:
            if not is_there_already(refused) and track not in all_tracks(edit.api):
                raise
        edit.changed(purpose, "created")
        edit.context.info(f"Created the closed track {track} in edit {edit.id}.")
    edit.missing.clear()
