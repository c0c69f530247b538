"""What becomes of releases after a commit: review, approval, publication; and which of them Play
still lists.

A release that others displace stays listed, and with its users, until one of those is published.
Reference: developers.google.com/android-publisher/api-ref/rest/v3/applications.tracks.releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.play.store import (
    APPLICATIONS,
    App,
    PlayStore,
    check_track,
)

# The states of ReleaseSummary.releaseLifecycleState, without their prefix.
DRAFT, NOT_SENT, IN_REVIEW = "DRAFT", "NOT_SENT_FOR_REVIEW", "IN_REVIEW"
APPROVED, REJECTED, PUBLISHED = "APPROVED_NOT_PUBLISHED", "NOT_APPROVED", "PUBLISHED"
STATES = (NOT_SENT, IN_REVIEW, APPROVED, REJECTED, PUBLISHED)
# "A maximum of 20 releases can be returned", says ListReleaseSummariesResponse.
MAX_LISTED = 20
EVERY_APP = "*"
Releases = list[dict[str, Json]]


@dataclass(frozen=True)
class Stage:
    """A state, and after how many looks at it or how many seconds it passes; with neither it
    stays.
    """

    state: str
    looks: int | None = None
    seconds: float | None = None

    def passed(self, looks: int, seconds: float) -> bool:
        """Whether the state is over after so many looks, so long after it began."""
        by_looks = self.looks is not None and looks >= self.looks
        return by_looks or (self.seconds is not None and seconds >= self.seconds)


Course: TypeAlias = tuple[Stage, ...]
AT_ONCE: Course = (Stage(PUBLISHED),)
UNSENT: Course = (Stage(NOT_SENT),)


@dataclass
class Review:
    """A release on its course. `looks` and `since` (seconds since the epoch) belong to the first
    stage that is left.
    """

    codes: tuple[str, ...]
    name: str
    course: Course
    since: float
    looks: int = 0

    def state(self, now: float) -> str:
        """The state at this time."""
        while len(self.course) > 1 and self.course[0].passed(
            self.looks, now - self.since
        ):
            timed = self.course[0].seconds is not None and now - self.since >= (
                self.course[0].seconds or 0
            )
            self.since = self.since + (self.course[0].seconds or 0) if timed else now
            self.course, self.looks = self.course[1:], 0
        return self.course[0].state

    def look(self, now: float) -> str:
        """The state that an answer tells; telling it is a look."""
        state = self.state(now)
        self.looks += 1
        return state

    def begin(self, course: Course, now: float) -> None:
        """Puts the release on another course."""
        self.course, self.since, self.looks = course, now, 0


def read_course(value: Json) -> Course:
    """A course from JSON: a list of states, or of {`state`, `looks` or `seconds`}. Raises
    `ValueError`.
    """
    if not isinstance(value, list) or not value:
        raise ValueError(
            f"a course is a list of states, each one of {', '.join(STATES)}"
        )
    return tuple(_stage(one) for one in value)


def _stage(value: Json) -> Stage:
    values: dict[str, Json] = (
        {"state": value} if isinstance(value, str) else dict(value)
    )
    unknown = sorted(set(values) - {"state", "looks", "seconds"})
    if unknown:
        raise ValueError(
            f"unknown key {', '.join(unknown)} in a course; there are: state, looks, seconds"
        )
    if values.get("state") not in STATES:
        raise ValueError(
            f"unknown state {values.get('state')!r} in a course; there are: {', '.join(STATES)}"
        )
    for name in ("looks", "seconds"):
        limit = values.get(name)
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 0
        ):
            raise ValueError(f"{name} in a course is a number from 0 on")
    return Stage(**values)


class ReleaseLifecycle:
    """The courses that are scripted, and the reviews of the apps. `clock` tells seconds since the
    epoch.
    """

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.now = clock
        self._courses: dict[str, Course] = {}
        self._reviews: dict[str, tuple[App, dict[str, list[Review]]]] = {}
        self.script(config.lifecycle)

    def script(self, courses: Mapping[str, Json]) -> None:
        """Sets the course of what will be committed, by package (`*`: any other). Raises
        `ValueError`.
        """
        self._courses.update(
            {package: read_course(course) for package, course in courses.items()}
        )

    def course(self, package: str) -> Course:
        """The course of what is committed to this app and sent for review."""
        return self._courses.get(package, self._courses.get(EVERY_APP, AT_ONCE))

    def committed(
        self, app: App, before: Mapping[str, Releases], *, sent: bool
    ) -> None:
        """Begins the review of what a commit brought; a review in flight is taken back and begins
        anew.
        """
        course = self.course(app.package) if sent else UNSENT
        for track in app.live.tracks:
            known = {
                codes_of(one)
                for one in before.get(track, [])
                if one["status"] != "draft"
            }
            for review in self.reviews(app, track, before.get(track, [])):
                if sent and review.state(self.now()) == IN_REVIEW:
                    review.begin(course, self.now())
            for release in app.live.tracks[track]:
                if release["status"] != "draft" and codes_of(release) not in known:
                    self.begin(app, track, release, course)

    def begin(
        self, app: App, track: str, release: Mapping[str, Json], course: Course
    ) -> None:
        """Puts a release of a track on a course, in place of any that it was on."""
        reviews, codes = self.reviews_of(app).setdefault(track, []), codes_of(release)
        reviews[:] = [one for one in reviews if one.codes != codes]
        reviews.append(Review(codes, name_of(release), course, self.now()))

    def reviews(self, app: App, track: str, releases: Releases) -> list[Review]:
        """The reviews of a track's releases; what was there before the first commit is
        published.
        """
        reviews = self.reviews_of(app).setdefault(track, [])
        known = {review.codes for review in reviews}
        for release in releases:
            if release["status"] != "draft" and codes_of(release) not in known:
                reviews.append(
                    Review(codes_of(release), name_of(release), AT_ONCE, self.now())
                )
        return reviews

    def reviews_of(self, app: App) -> dict[str, list[Review]]:
        """The reviews of an app by track; an app that was set up again begins without."""
        known, reviews = self._reviews.get(app.package, (None, {}))
        if known is not app:
            reviews = {}
            self._reviews[app.package] = app, reviews
        return reviews

    def in_review(self, app: App) -> bool:
        """Whether changes of the app are in review."""
        now = self.now()
        return any(
            one.state(now) == IN_REVIEW
            for reviews in self.reviews_of(app).values()
            for one in reviews
        )

    def send_for_review(self, app: App) -> None:
        """Sends what waits for it, as a person does in the console."""
        now = self.now()
        for reviews in self.reviews_of(app).values():
            for review in reviews:
                if review.state(now) == NOT_SENT:
                    review.begin(self.course(app.package), now)

    def summaries(self, app: App, track: str) -> list[dict[str, Json]]:
        """The ReleaseSummary resources of a track, newest first, each state looked at once."""
        now, releases = self.now(), app.live.tracks.get(track, [])
        here = {
            codes_of(release) for release in releases if release["status"] != "draft"
        }
        reviews = self.reviews(app, track, releases)
        waiting = any(
            one.state(now) != PUBLISHED for one in reviews if one.codes in here
        )
        # Those that are obsolete are forgotten.
        reviews[:] = [
            one
            for one in reviews
            if one.codes in here or (waiting and one.state(now) == PUBLISHED)
        ]
        drafts = [
            _summary(track, codes_of(one), name_of(one), DRAFT)
            for one in releases
            if one["status"] == "draft"
        ]
        others = [
            _summary(track, one.codes, one.name, one.look(now)) for one in reviews
        ]
        return sorted([*drafts, *others], key=_newest, reverse=True)[:MAX_LISTED]


def codes_of(release: Mapping[str, Json]) -> tuple[str, ...]:
    """The version codes of a release, as texts."""
    return tuple(str(code) for code in release.get("versionCodes", []))


def name_of(release: Mapping[str, Json]) -> str:
    """The name of a release: its own, or its highest version code for want of the artifact's
    version name.
    """
    return str(release.get("name") or max(map(int, codes_of(release)), default=""))


def _summary(
    track: str, codes: tuple[str, ...], name: str, state: str
) -> dict[str, Json]:
    return {
        "releaseName": name,
        "track": track,
        "activeArtifacts": [{"versionCode": int(code)} for code in codes],
        "releaseLifecycleState": f"RELEASE_LIFECYCLE_STATE_{state}",
    }


def _newest(summary: Mapping[str, Json]) -> int:
    return max((one["versionCode"] for one in summary["activeArtifacts"]), default=0)


class ReleaseSummariesApi(Service):
    """What Play tells of the releases of a track without an edit, with the state of their
    review.
    """

    def __init__(self, store: PlayStore, lifecycle: ReleaseLifecycle) -> None:
        self._store = store
        self._lifecycle = lifecycle
        path = APPLICATIONS + "/{package}/tracks/{track}/releases"
        self.routes = [
            Route(
                "androidpublisher.applications.tracks.releases.list",
                "GET",
                path,
                self._list,
            )
        ]

    def _list(self, request: Request) -> Json:
        app, track = self._store.app(request.params["package"]), request.params["track"]
        check_track(track, app.live, self._store.config)
        releases = self._lifecycle.summaries(app, track)
        return {"releases": releases} if releases else {}
