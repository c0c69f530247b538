"""The table of a run about several apps: what each app was, what it is now, and its review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uploader.errors import ApiError, Interrupted, UploaderError
from uploader.services.base import Section
from uploader.services.play import review
from uploader.services.release_facts import ReleaseFacts
from uploader.text import capitalise

HEADER = ("App", "Version", "Was", "Is", "Review", "Remarks")
_REVIEWS = {"true": "sent", "false": "to be sent in the Play Console"}


@dataclass(frozen=True)
class AppState:
    """One app of several at the end of a run: its outputs, the tables that were made of it, and
    what ended its work, if anything.

    `headline` says how its work ended, and is "" if it did not; `remarks` say what else one has to
    know.
    """

    package: str
    outputs: Mapping[str, str]
    sections: Sequence[Section]
    failure: BaseException | None
    headline: str = ""
    remarks: str = ""

    @property
    def facts(self) -> ReleaseFacts:
        """What its release changes."""
        facts = ReleaseFacts()
        for section in self.sections:
            if section.facts:
                facts = section.facts
        return facts


def table(apps: Sequence[AppState], *, commits: bool) -> Section:
    """Return the table of all apps, in the order in which they were given."""
    failed = [app.package for app in apps if _has_failed_by_itself(app)]
    failed_apps = " and ".join(failed)
    rows = []
    for app in apps:
        remarks = _remarks(app)
        if commits:
            state = _state_after_commit(app)
            review = _review(app)
            if failed and _waits(app):
                remarks = f"not tried: {failed_apps} failed"
        else:
            state = _state_without_commit(app)
            review = ""
        row = (
            app.package,
            _version(app),
            _was(app),
            state,
            review,
            remarks,
        )
        rows.append(row)
    return Section("Apps", HEADER, tuple(rows))


def _has_failed_by_itself(app: AppState) -> bool:
    """Return whether the app has a failure of its own; a signal is not one."""
    if app.failure is None:
        return False
    return not isinstance(app.failure, Interrupted)


def _waits(app: AppState) -> bool:
    """Return whether the app has an edit that is surely not committed, for no reason of its own."""
    if app.failure is not None:
        return False
    if not app.outputs.get("edit-id"):
        return False
    committed = app.outputs.get("committed", "false")
    return committed == "false"


def _version(app: AppState) -> str:
    """Return the releases of an app, or its version codes if the names are not known."""
    releases = [track.release for track in app.facts.tracks if track.release]
    if releases:
        return ", ".join(dict.fromkeys(releases))
    codes = app.outputs.get("version-codes", "")
    return codes.replace(",", "+")


def _was(app: AppState) -> str:
    """Return what was on the tracks of an app, which are named if there are several."""
    tracks = app.facts.tracks
    was = []
    for track in tracks:
        before = track.before or "empty"
        if len(tracks) > 1:
            before = f"{track.track}: {before}"
        was.append(before)
    return "; ".join(was)


def _on_tracks(app: AppState) -> str:
    """Return what is on the tracks of an app after the change."""
    places = [f"{track.after} of {track.track}" for track in app.facts.tracks]
    after = "; ".join(places)
    if app.facts.in_review:
        after += ", after the review"
    return after


def _state_without_commit(app: AppState) -> str:
    """Return what an app would be, in a run that commits nothing."""
    if app.failure:
        return "❌ refused"
    after = _on_tracks(app)
    if after:
        return f"📝 would be: {after}"
    return f"✅ {app.headline}"


def _state_after_commit(app: AppState) -> str:
    """Return what became of an app, with a symbol before it that says so at a glance."""
    committed = app.outputs.get("committed", "false")
    if committed == "":
        return "❓ perhaps committed"
    if committed == "true":
        state = _on_tracks(app) or capitalise(app.headline) or "committed"
        served = app.outputs.get("served", "")
        if served:
            state += f"; what is served: {served}"
        if app.failure:
            return f"⚠️ {state}"
        return f"✅ {state}"
    state = "not committed"
    if app.outputs.get("edit-id"):
        state += ", its edit is kept"
    if app.failure:
        return f"❌ {state}"
    return f"⏸️ {state}"


def _remarks(app: AppState) -> str:
    """Return why an app failed, or else what one has to know about it."""
    if app.failure:
        return _why(app.failure)
    return app.remarks.strip()


def _why(failure: BaseException) -> str:
    """Return why an app failed, in the words of the service if it gave any."""
    if isinstance(failure, ApiError) and failure.message:
        return failure.message
    if isinstance(failure, UploaderError):
        return failure.what
    return "the program itself failed"


def _review(app: AppState) -> str:
    """Return how far the review of an app is, as far as it is known."""
    lifecycle = app.outputs.get("lifecycle", "")
    if lifecycle:
        return review.words(lifecycle)
    if app.outputs.get("committed") != "true":
        return ""
    sent = app.outputs.get("sent-for-review", "")
    return _REVIEWS.get(sent, "")
