"""What becomes of releases after a commit: review, approval, publication; and which of them Play still lists.

A release that others displace stays listed, and with its users, until one of those is published.
Reference: developers.google.com/android-publisher/api-ref/rest/v3/applications.tracks.releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.play.review_course import (
    AT_ONCE,
    DRAFT,
    IN_REVIEW,
    NOT_SENT,
    PUBLISHED,
    UNSENT,
    Course,
    Review,
    read_course,
)
from google_emulator.services.play.store import APPLICATIONS, App, PlayStore, check_track

LONGEST_LIST = 20  # ListReleaseSummariesResponse: "A maximum of 20 releases can be returned"
EVERY_APP = "*"
Releases = list[dict[str, Json]]


class ReleaseLifecycle:
    """The courses that are scripted, and the reviews of the apps. `clock` tells seconds since the epoch."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.now = clock
        self._courses: dict[str, Course] = {}
        self.script(config.lifecycle)

    def script(self, courses: Mapping[str, Json]) -> None:
        """Sets the course of what will be committed, by package (`*`: any other). Raises `ValueError`."""
        self._courses.update({package: read_course(course) for package, course in courses.items()})

    def course(self, package: str) -> Course:
        """The course of what is committed to this app and sent for review."""
        return self._courses.get(package, self._courses.get(EVERY_APP, AT_ONCE))

    def committed(self, app: App, before: Mapping[str, Releases], *, sent: bool) -> None:
        """Begins the review of what a commit brought; a review in flight is taken back and begins anew."""
        course = self.course(app.package) if sent else UNSENT
        for track in app.live.tracks:
            known = {codes_of(one) for one in before.get(track, []) if one["status"] != "draft"}
            for review in self.reviews(app, track, before.get(track, [])):
                if sent and review.state(self.now()) == IN_REVIEW:
                    review.begin(course, self.now())
            for release in app.live.tracks[track]:
                if release["status"] != "draft" and codes_of(release) not in known:
                    self.begin(app, track, release, course)

    def begin(self, app: App, track: str, release: Mapping[str, Json], course: Course) -> None:
        """Puts a release of a track on a course, in place of any that it was on."""
        reviews, codes = app.reviews.setdefault(track, []), codes_of(release)
        reviews[:] = [one for one in reviews if one.codes != codes]
        reviews.append(Review(codes, name_of(release), course, self.now()))

    def reviews(self, app: App, track: str, releases: Releases) -> list[Review]:
        """The reviews of a track's releases; what was there before the first commit is published."""
        reviews = app.reviews.setdefault(track, [])
        known = {review.codes for review in reviews}
        for release in releases:
            if release["status"] != "draft" and codes_of(release) not in known:
                reviews.append(Review(codes_of(release), name_of(release), AT_ONCE, self.now()))
        return reviews

    def in_review(self, app: App) -> bool:
        """Whether changes of the app are in review."""
        now = self.now()
        return any(one.state(now) == IN_REVIEW for reviews in app.reviews.values() for one in reviews)

    def send_for_review(self, app: App) -> None:
        """Sends what waits for it, as a person does in the console."""
        now = self.now()
        for review in (one for reviews in app.reviews.values() for one in reviews):
            if review.state(now) == NOT_SENT:
                review.begin(self.course(app.package), now)

    def summaries(self, app: App, track: str) -> list[dict[str, Json]]:
        """The ReleaseSummary resources of a track, newest first, each state looked at once."""
        now, releases = self.now(), app.live.tracks.get(track, [])
        reviews = self._listed(app, track, releases, now)
        drafts = [_summary(track, codes_of(one), name_of(one), DRAFT) for one in releases if one["status"] == "draft"]
        others = [_summary(track, one.codes, one.name, one.look(now)) for one in reviews]
        return sorted([*drafts, *others], key=_newest, reverse=True)[:LONGEST_LIST]

    def _listed(self, app: App, track: str, releases: Releases, now: float) -> list[Review]:
        """The reviews that are not obsolete; those that are, are forgotten."""
        here = {codes_of(release) for release in releases if release["status"] != "draft"}
        reviews = self.reviews(app, track, releases)
        waiting = any(one.state(now) != PUBLISHED for one in reviews if one.codes in here)
        reviews[:] = [one for one in reviews if one.codes in here or (waiting and one.state(now) == PUBLISHED)]
        return reviews


def codes_of(release: Mapping[str, Json]) -> tuple[str, ...]:
    """The version codes of a release, as texts."""
    return tuple(str(code) for code in release.get("versionCodes", []))


def name_of(release: Mapping[str, Json]) -> str:
    """The name of a release: its own, or its highest version code for want of the artifact's version name."""
    return str(release.get("name") or max(map(int, codes_of(release)), default=""))


def _summary(track: str, codes: tuple[str, ...], name: str, state: str) -> dict[str, Json]:
    return {
        "releaseName": name,
        "track": track,
        "activeArtifacts": [{"versionCode": int(code)} for code in codes],
        "releaseLifecycleState": f"RELEASE_LIFECYCLE_STATE_{state}",
    }


def _newest(summary: Mapping[str, Json]) -> int:
    return max((one["versionCode"] for one in summary["activeArtifacts"]), default=0)


class ReleaseSummariesApi(Service):
    """What Play tells of the releases of a track without an edit, with the state of their review."""

    def __init__(self, store: PlayStore, lifecycle: ReleaseLifecycle) -> None:
        self._store = store
        self._lifecycle = lifecycle
        path = APPLICATIONS + "/{package}/tracks/{track}/releases"
        self.routes = [Route("androidpublisher.applications.tracks.releases.list", "GET", path, self._list)]

    def _list(self, request: Request) -> Response:
        app, track = self._store.app(request.params["package"]), request.params["track"]
        check_track(track, app.live, self._store.config)
        releases = self._lifecycle.summaries(app, track)
        return json_response({"releases": releases} if releases else {})
