"""What becomes of releases after a commit: review, approval, publication; and which of them Play
still lists.

A release that was displaced stays listed and keeps its users until a release that displaced it is
published. Reference:
developers.google.com/android-publisher/api-ref/rest/v3/applications.tracks.releases.
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
    """A state, which ends after so many `looks` (answers that reported it) or `seconds`. With
    neither, it lasts until someone acts.
    """

    state: str
    looks: int | None = None
    seconds: float | None = None

    def passed(self, looks: int, seconds: float) -> bool:
        """Return whether the state has ended after so many looks and seconds."""
        by_looks = self.looks is not None and looks >= self.looks
        return by_looks or (self.seconds is not None and seconds >= self.seconds)


Course: TypeAlias = tuple[Stage, ...]
AT_ONCE: Course = (Stage(PUBLISHED),)
UNSENT: Course = (Stage(NOT_SENT),)


@dataclass
class Review:
    """A release on its course. `looks` and `since` (seconds since the epoch) are those of the
    present stage.
    """

    codes: tuple[str, ...]
    name: str
    course: Course
    since: float
    looks: int = 0

    def state(self, now: float) -> str:
        """Return the state at this time, and drop the stages that have ended."""
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
        """Return the state for an answer, and count it as a look."""
        state = self.state(now)
        self.looks += 1
        return state

    def begin(self, course: Course, now: float) -> None:
        """Put the release on another course."""
        self.course, self.since, self.looks = course, now, 0


def read_course(value: Json) -> Course:
    """Return the course in a JSON list of states or of objects with `state`, `looks` and `seconds`.
    Raises `ValueError`.
    """
    if not isinstance(value, list) or not value:
        raise ValueError(
            f"a course is a list of states, each one of {', '.join(STATES)}"
        )
    return tuple(_stage(stage) for stage in value)


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
    """The scripted courses, and the reviews of all apps. `clock` returns seconds since the
    epoch.
    """

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.now = clock
        self._courses: dict[str, Course] = {}
        self._reviews: dict[str, tuple[App, dict[str, list[Review]]]] = {}
        self.script(config.lifecycle)

    def script(self, courses: Mapping[str, Json]) -> None:
        """Set the course of future commits, by package (`*`: any other). Raises `ValueError`."""
        self._courses.update(
            {package: read_course(course) for package, course in courses.items()}
        )

    def course(self, package: str) -> Course:
        """Return the course for what is committed to this app and sent for review."""
        return self._courses.get(package, self._courses.get(EVERY_APP, AT_ONCE))

    def committed(
        self, app: App, before: Mapping[str, Releases], *, sent: bool
    ) -> None:
        """Begin the reviews of the releases that a commit brought. If it was `sent` for review,
        reviews in progress begin again.
        """
        course = self.course(app.package) if sent else UNSENT
        for track in app.live.tracks:
            known = {
                codes_of(release)
                for release in before.get(track, [])
                if release["status"] != "draft"
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
        """Put a release of a track on a course, in place of its present one."""
        reviews, codes = self.reviews_of(app).setdefault(track, []), codes_of(release)
        reviews[:] = [review for review in reviews if review.codes != codes]
        reviews.append(Review(codes, name_of(release), course, self.now()))

    def reviews(self, app: App, track: str, releases: Releases) -> list[Review]:
        """Return the reviews of a track. A release without a known review counts as published."""
        reviews = self.reviews_of(app).setdefault(track, [])
        known = {review.codes for review in reviews}
        for release in releases:
            if release["status"] != "draft" and codes_of(release) not in known:
                reviews.append(
                    Review(codes_of(release), name_of(release), AT_ONCE, self.now())
                )
        return reviews

    def reviews_of(self, app: App) -> dict[str, list[Review]]:
        """Return the reviews of an app by track; none for an app that was reset."""
        known, reviews = self._reviews.get(app.package, (None, {}))
        if known is not app:
            reviews = {}
            self._reviews[app.package] = app, reviews
        return reviews

    def in_review(self, app: App) -> bool:
        """Return whether changes of the app are in review."""
        now = self.now()
        return any(
            review.state(now) == IN_REVIEW
            for reviews in self.reviews_of(app).values()
            for review in reviews
        )

    def send_for_review(self, app: App) -> None:
        """Send for review what waits for that, as a person does in the Play Console."""
        now = self.now()
        for reviews in self.reviews_of(app).values():
            for review in reviews:
                if review.state(now) == NOT_SENT:
                    review.begin(self.course(app.package), now)

    def summaries(self, app: App, track: str) -> list[dict[str, Json]]:
        """Return the ReleaseSummary resources of a track, newest first. This is a look at each
        state but that of a draft.
        """
        now, releases = self.now(), app.live.tracks.get(track, [])
        here = {
            codes_of(release) for release in releases if release["status"] != "draft"
        }
        reviews = self.reviews(app, track, releases)
        waiting = any(
            review.state(now) != PUBLISHED for review in reviews if review.codes in here
        )
        # Forget displaced releases, unless they are published and keep their users while another
        # one waits.
        reviews[:] = [
            review
            for review in reviews
            if review.codes in here or (waiting and review.state(now) == PUBLISHED)
        ]
        drafts = [
            _summary(track, codes_of(release), name_of(release), DRAFT)
            for release in releases
            if release["status"] == "draft"
        ]
        others = [
            _summary(track, review.codes, review.name, review.look(now))
            for review in reviews
        ]
        return sorted([*drafts, *others], key=_newest, reverse=True)[:MAX_LISTED]


def codes_of(release: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the version codes of a release, as texts."""
    return tuple(str(code) for code in release.get("versionCodes", []))


def name_of(release: Mapping[str, Json]) -> str:
    """Return the name of a release; without one its highest version code, since the artifact's
    version name is not known here.
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
    return max(
        (artifact["versionCode"] for artifact in summary["activeArtifacts"]), default=0
    )


class ReleaseSummariesApi(Service):
    """What Play shows of the releases of a track without an edit, with the state of their
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
