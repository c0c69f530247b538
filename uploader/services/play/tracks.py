"""Read the releases on the tracks of an edit, and create the closed tracks that are missing."""

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
    guess_track,
    in_the_console,
    is_standard,
    with_form_factor,
)


def current_releases(edit: ReleaseEdit, track: str) -> Releases:
    """Return the releases on a track. It is empty if Google Play answers 404, as it may for a track
    that was never used.

    Each track is read once in an edit, and kept in `edit.seen`. That is cleared before a shared
    edit is written to, since other jobs work in it. Raises ReleaseRefused for a track that the app
    does not have.
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
    """Return all tracks of the edit with their releases; none if the list can't be read, since each
    track can be asked for by itself.
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
    """Return how to create a closed track that the app does not have, as the rest of a sentence.

    It is empty for the source of a promotion and for a rollout, which need a release on the track.
    """
    if job.rollout or track == job.promote_from:
        return ""
    return (
        f", or create the closed track {track}: in the Play Console, or with "
        "`create-tracks: true`"
    )


def _check_name(edit: ReleaseEdit, track: str, *, missing: bool) -> None:
    """Raise ReleaseRefused for a track without releases that the app does not have, or plan its
    creation.

    Unless Google Play has said that the track is `missing`, one that is not listed is refused only
    if its name is almost that of another one. A standard track is accepted: Google Play may answer
    404 for it until it is used, and only a write shows whether the app has the form factor.
    """
    of_devices = with_form_factor(track)
    if is_standard(track) and of_devices in ("", track):
        return
    listed: Iterable[str] = edit.seen
    if not edit.seen:
        listed = all_tracks(edit.api)
    known = dict.fromkeys((*STANDARD, *listed))
    if track in known:
        return
    if edit.job.create_tracks and track in (*edit.job.tracks, *edit.job.tester_tracks):
        _plan_creation(edit, track, known)
        return
    form = form_factor(track)
    if form:
        names = [f"`{form}:{name}`" for name in FORM_TRACKS]
        tracks = ", ".join(names)
        raise ReleaseRefused(
            f"The app has no track {track}.",
            cause="Tracks of watches, TVs and cars have a prefix: `wear:production`, "
            "`tv:production`, `automotive:production`.",
            hint=f"Write {tracks} ({form}:{QA} is for internal tests){_creation(edit.job, track)}.",
            code="track-not-found",
        )
    other = guess_track(track, known)
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
    """Return why there is no such track; `other` is the track that was probably meant, if any."""
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

    Raises ReleaseRefused if a track that every app has is probably meant, or if the API can't
    create the track.
    """
    name = TrackName(track)
    other = with_form_factor(track)
    standard = guess_track(name.base, STANDARD)
    if standard and not other:
        other = name.beside(standard).lower()
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
    same_devices = [
        other_name.base
        for other_name in map(TrackName, known)
        if other_name.form_factor == name.form_factor
    ]
    similar = guess_track(name.base, same_devices)
    if similar and track not in edit.missing:
        other = name.beside(similar)
        edit.context.warning(
            f"Track {track} is created, although the app has the track {other}."
        )
    edit.missing.add(track)


def create_missing(edit: ReleaseEdit) -> None:
    """Create the closed tracks that the edit does not have.

    A track may be there by now: created by a request whose response was lost, or by another job in
    a shared edit.
    """
    for track in sorted(edit.missing):
        purpose = edit.job.new_track_purpose(track)
        edit.begin_change(purpose)
        try:
            edit.api.create_track(track, config_form_factor(track))
        except ApiError as refused:
            if not is_there_already(refused) and track not in all_tracks(edit.api):
                raise
        edit.finish_change(purpose, "created")
        edit.context.info(f"Created the closed track {track} in edit {edit.id}.")
    edit.missing.clear()
