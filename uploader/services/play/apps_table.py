"""The table of a run about several apps: what each app was, what it is now, and its review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uploader.errors import ApiError, UploaderError
from uploader.services.base import Section
from uploader.services.play import review
from uploader.services.release_facts import ReleaseFacts, TrackFacts
from uploader.text import capitalised

HEADER = ("App", "Version", "Was", "Is", "Review")
_REVIEWS = {"true": "sent", "false": "to be sent in the Play Console"}


@dataclass(frozen=True)
class AppState:
    """One app of several at the end of a run: its outputs, the tables that were made of it, and
    what ended its work, if anything.

    `headline` says how its work came to its end, and is empty where it did not; `remarks` is what
    has to be known besides.
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
        found = [section.facts for section in self.sections if section.facts]
        return found[-1] if found else ReleaseFacts()


def table(apps: Sequence[AppState], *, commits: bool) -> Section:
    """Return the table of all apps, in the order in which they were given."""
    rows = []
    for app in apps:
        tracks = app.facts.tracks
        versions = list(dict.fromkeys(track.release for track in tracks if track.release))
        codes = app.outputs.get("version-codes", "").replace(",", "+")
        was = [_on_track(track, track.before or "empty", tracks) for track in tracks]
        rows.append(
            (
                app.package,
                ", ".join(versions) or codes,
                "; ".join(was),
                _state(app, commits=commits),
                _review(app) if commits else "",
            )
        )
    return Section("Apps", HEADER, tuple(rows))


def _on_track(track: TrackFacts, words: str, tracks: Sequence[TrackFacts]) -> str:
    """Return what is said of a track, with its name where there are several."""
    return words if len(tracks) == 1 else f"{track.track}: {words}"


def _state(app: AppState, *, commits: bool) -> str:
    """Return what an app is now, behind a sign that shows at a glance how that is."""
    tracks = app.facts.tracks
    after = "; ".join(f"{track.after} of {track.track}" for track in tracks)
    committed = app.outputs.get("committed", "false")
    why = f": {_why(app.failure)}" if app.failure else ""
    if not commits:
        if app.failure:
            return f"❌ refused{why}"
        return f"📝 would be: {after}.{app.remarks}" if after else f"✅ {app.headline}"
    if committed == "true":
        done = after or capitalised(app.headline) or "committed"
        served = app.outputs.get("served", "")
        if served:
            done += f"; what is served: {served}"
        if app.failure:
            return f"⚠️ {done}{why}"
        return f"✅ {done}.{app.remarks}" if app.remarks else f"✅ {done}"
    if committed == "":
        return f"❓ perhaps committed{why}"
    kept = ", its edit is kept" if app.outputs.get("edit-id") else ""
    if app.failure:
        return f"❌ not committed{kept}{why}"
    return f"⏸️ not committed{kept}"


def _why(failure: BaseException) -> str:
    """Return why an app failed, in the words of the service where it has any."""
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
    return _REVIEWS.get(app.outputs.get("sent-for-review", ""), "")
