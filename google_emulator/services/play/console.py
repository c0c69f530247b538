"""What people do in the Play Console between two runs. Each change of the live state ends the open
edits.

Operations are called from Python, or come as objects from JSON: `{"do": "halt", "package": ...,
"track": ...}`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from google_emulator.http.response import ApiError, Json
from google_emulator.services.play.lifecycle import (
    ReleaseLifecycle,
    codes_of,
    read_course,
)
from google_emulator.services.play.store import App, PlayStore, StoreArtifact
from google_emulator.services.play.tracks import checked_releases, read_track


class Console:
    """The Play Console. `lock` guards the live state.

    A release is named by its track and one of its version codes; without a code, it is the first
    one in a status in which the operation is possible. Every operation raises `ValueError` if there
    is no such release, or if the console would not offer it.
    """

    def __init__(
        self,
        store: PlayStore,
        lifecycle: ReleaseLifecycle,
        lock: AbstractContextManager[object],
    ) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._lock = lock

    def operations(self) -> dict[str, Callable[..., None]]:
        """Return every operation by its name in JSON, which has dashes."""
        operations = (
            self.set_fraction,
            self.halt,
            self.resume,
            self.complete,
            self.remove,
            self.add_release,
            self.add_track,
            self.review,
            self.send_for_review,
        )
        return {
            operation.__name__.replace("_", "-"): operation for operation in operations
        }

    def carry_out(self, wanted: Sequence[Mapping[str, Json]]) -> None:
        """Carry out operations from JSON, one after the other. Raises `ValueError` at the first
        that is not possible.
        """
        operations = self.operations()
        for request in wanted:
            options = {name: value for name, value in request.items() if name != "do"}
            operation = operations.get(str(request.get("do")))
            if operation is None:
                raise ValueError(
                    f"unknown operation {request.get('do')!r}; there are: {', '.join(operations)}"
                )
            try:
                inspect.signature(operation).bind(**options)
            except TypeError as error:
                raise ValueError(f"{request['do']}: {error}") from None
            operation(**options)

    def set_fraction(
        self, package: str, track: str, fraction: float, code: int | None = None
    ) -> None:
        """Set the share of users (0 to 1, both excluded) of a release in progress or a halted
        one.
        """
        with self._changed(package) as app:
            self._put(
                app,
                track,
                _find(app, track, code, "inProgress", "halted")
                | {"userFraction": fraction},
            )

    def halt(self, package: str, track: str, code: int | None = None) -> None:
        """Halt a release in progress."""
        with self._changed(package) as app:
            self._put(
                app, track, _find(app, track, code, "inProgress") | {"status": "halted"}
            )

    def resume(
        self,
        package: str,
        track: str,
        code: int | None = None,
        fraction: float | None = None,
    ) -> None:
        """Resume a halted release, at the share that it had unless another is given."""
        with self._changed(package) as app:
            release = _find(app, track, code, "halted")
            share = {} if fraction is None else {"userFraction": fraction}
            self._put(app, track, release | {"status": "inProgress", **share})

    def complete(self, package: str, track: str, code: int | None = None) -> None:
        """Give a release in progress or a halted one to everybody, in place of the completed
        release.
        """
        with self._changed(package) as app:
            release = _find(app, track, code, "inProgress", "halted") | {
                "status": "completed"
            }
            for name in ("userFraction", "countryTargeting"):
                release.pop(name, None)
            self._put(app, track, release)

    def remove(self, package: str, track: str, code: int) -> None:
        """Remove a release from a track."""
        with self._changed(package) as app:
            release = _find(app, track, code)
            app.live.tracks[track].remove(release)

    def add_release(
        self,
        package: str,
        track: str,
        release: Mapping[str, Json],
        course: Sequence[Json] | None = None,
    ) -> None:
        """Put a TrackRelease on a track, in place of the one with the same status, and upload its
        artifacts.

        `course` is the course of its review; that of the app unless given.
        """
        added = {
            "status": "completed",
            **release,
            "versionCodes": list(codes_of(release)),
        }
        stages = (
            self._lifecycle.course(package)
            if course is None
            else read_course(list(course))
        )
        with self._changed(package) as app:
            for code in map(int, added["versionCodes"]):
                app.live.artifacts.setdefault(code, StoreArtifact(code))
                app.used.add(code)
            # Releases that were there before count as published.
            self._lifecycle.reviews(app, track, app.live.tracks.get(track, []))
            self._put(app, track, added)
            if added["status"] != "draft":
                self._lifecycle.begin(app, track, added, stages)

    def add_track(self, package: str, track: str) -> None:
        """Create a track without releases."""
        with self._changed(package) as app:
            if track in app.live.tracks:
                raise ValueError(f"the track {track} exists")
            app.live.tracks[track] = []

    def review(
        self, package: str, track: str, course: Sequence[Json], code: int | None = None
    ) -> None:
        """Put the reviews of a track, or of one release, on another course, as when Google approves
        or rejects, or someone publishes.
        """
        stages = read_course(list(course))
        with self._lock:
            app = self._app(package)
            for release in (
                [_find(app, track, code)]
                if code
                else list(app.live.tracks.get(track, []))
            ):
                reviews = self._lifecycle.reviews(app, track, app.live.tracks[track])
                found = [
                    review for review in reviews if review.codes == codes_of(release)
                ]
                if not found:
                    raise ValueError(f"a draft on {track} is not reviewed")
                found[0].begin(stages, self._lifecycle.now())

    def send_for_review(self, package: str) -> None:
        """Send for review what was committed with changesNotSentForReview."""
        with self._lock:
            self._lifecycle.send_for_review(self._app(package))

    def _app(self, package: str) -> App:
        try:
            return self._store.app(package)
        except ApiError as error:
            raise ValueError(error.message) from None

    @contextmanager
    def _changed(self, package: str) -> Iterator[App]:
        """Yield the app, to be changed. Afterwards, no edit that was open can be committed."""
        with self._lock:
            app = self._app(package)
            yield app
            app.revision += 1

    def _put(self, app: App, track: str, release: dict[str, Json]) -> None:
        """Put a release on a track, in place of itself and of the one with the same status."""
        others = app.live.tracks.get(track, [])
        kept = [
            other
            for other in others
            if codes_of(other) != codes_of(release)
            and other["status"] != release["status"]
        ]
        try:
            wanted = read_track({"releases": [release, *kept]})["releases"]
            app.live.tracks[track] = checked_releases(
                app.live, track, wanted, self._store.today()
            )
        except ApiError as error:
            raise ValueError(error.message) from None


def _find(app: App, track: str, code: int | None, *statuses: str) -> dict[str, Json]:
    """Return the release with a version code (None: any) in one of the statuses (none given: any).
    Raises `ValueError` if there is none.
    """
    for release in app.live.tracks.get(track, []):
        meant = code is None or str(code) in codes_of(release)
        if meant and (not statuses or release["status"] in statuses):
            return release
    which = f"release {code}" if code else "release"
    raise ValueError(
        f"{app.package} has no {which} on {track} that is {' or '.join(statuses) or 'there'}"
    )
