"""A Play with reviews, measurements and people: what a rollout meets between looks, on the model of
Play's rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from functools import partial
from typing import Any

from tests.support.fake_play import PACKAGE, Play, call_name
from tests.support.play_driver import Engine, Killed
from tests.support.play_faults import FaultyPlay
from uploader.errors import Interrupted, TemporaryError
from uploader.inputs.parsers import limits, rollout_steps
from uploader.retry import FIRST_POLL
from uploader.services.base import Call, Context, Outcome, Poll, Upload
from uploader.services.play.gate import Gate
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.rollout import RolloutJob, flow

TODAY = datetime(2026, 6, 25, 12, tzinfo=timezone.utc)
STEPS = "1%, 5%, 20%, 50%, 100%"
CRASHES = "crash-rate 1.09%"
PUBLISHED = "PUBLISHED"
TIRED = TemporaryError("Gave up after 5 retries without progress.")


class Console(FaultyPlay):
    """An app on Play whose reviews and measurements are what the attributes say.

    `reviews` are states by version code (PUBLISHED for any other); `rates` are shares by version
    code, of so many `users` on the newest day, which ended so many hours ago as `age`; `down` is
    raised by the Reporting API, `unlisted` by the list of releases with their reviews.
    """

    def __init__(self, **tracks: list[dict[str, Any]]) -> None:
        super().__init__(**tracks)
        self.reviews: dict[str, str] = {}
        self.rates: dict[str, float] = {}
        self.users = 5000
        self.age = 24.0
        self.down: BaseException | None = None
        self.unlisted: BaseException | None = None
        self.asked: list[str] = []

    def response(self, step: Call | Upload) -> Any:
        """The answer to a step; those outside an edit are numbered with the others."""
        number = len(self.calls)
        if not isinstance(step, Call) or "/edits" in step.path:
            if number in self.plan and not self.plan[number].fits(call_name(step)):
                del self.plan[number]
            return Play.response(self, step) if self.faults else super().response(step)
        fault = self.plan.pop(number, None)
        self.calls.append(step.path.rpartition("/")[2])
        self.asked.append(step.path)
        if fault:
            raise (
                Killed
                if "killed" in fault.name
                else Interrupted(15)
                if "signal" in fault.name
                else TIRED
            )
        return self.do(step)

    def do(self, step: Call | Upload) -> Any:
        """What a step is answered when nothing goes wrong."""
        if not isinstance(step, Call) or "/edits" in step.path:
            return super().do(step)
        listed = re.fullmatch(
            rf"/androidpublisher/v3/applications/{PACKAGE}/tracks/([^/]+)/releases",
            step.path,
        )
        return self._releases(listed[1]) if listed else self._reported(step)

    def _releases(self, track: str) -> Any:
        if self.unlisted:
            raise self.unlisted
        found = self.live.tracks.get(track, [])
        return {"releases": [self._summary(track, release) for release in found]}

    def _summary(self, track: str, release: dict[str, Any]) -> dict[str, Any]:
        codes = release["versionCodes"]
        state = (
            "DRAFT"
            if release["status"] == "draft"
            else self.reviews.get(max(codes, key=int), PUBLISHED)
        )
        return {
            "releaseName": release.get("name", max(codes, key=int)),
            "track": track,
            "activeArtifacts": [{"versionCode": int(code)} for code in codes],
            "releaseLifecycleState": f"RELEASE_LIFECYCLE_STATE_{state}",
        }

    def _reported(self, step: Call) -> Any:
        assert step.path.startswith(f"/v1beta1/apps/{PACKAGE}/")
        if self.down:
            raise self.down
        end = (TODAY - timedelta(hours=self.age)).date()
        if step.method == "GET":
            freshness = {"aggregationPeriod": "DAILY", "latestEndTime": as_json(end)}
            return {
                "freshnessInfo": {
                    "freshnesses": [{"aggregationPeriod": "HOURLY"}, freshness]
                }
            }
        assert step.json is not None
        metric, users = step.json["metrics"]
        return {
            "rows": [
                {
                    "startTime": as_json(end - timedelta(1)),
                    "dimensions": [{"dimension": "versionCode", "int64Value": code}],
                    "metrics": [
                        {"metric": metric, "decimalValue": {"value": str(rate)}},
                        {"metric": users, "decimalValue": {"value": str(self.users)}},
                    ],
                }
                for code, rate in self.rates.items()
            ]
        }

    # --- what people do ---------------------------------------------------------------------------

    def change(self, track: str, *releases: dict[str, Any]) -> None:
        """Somebody changes the track in the console, which closes every edit."""
        self.live = self.live.copy()
        self.live.tracks[track] = list(releases)
        self.live.bundles |= {
            int(code): "" for one in releases for code in one["versionCodes"]
        }
        self.close_edits(
            "A change was made to the application outside of this Edit, please create a new edit."
        )

    def track(self, name: str = "production") -> list[dict[str, Any]]:
        """What is live on a track."""
        return self.live.tracks.get(name, [])

    @property
    def rollout(self) -> str:
        """The releases on production in short, such as `42 0.05, 41`."""
        return ", ".join(map(short, self.track()))


class RolloutEngine(Engine):
    """Carries a rollout's steps out; it is always the same noon, and a pause is over when it has
    been counted.
    """

    def __init__(
        self, play: Console, journal: dict[str, str] | None = None, pauses: int = 0
    ) -> None:
        super().__init__(play, journal)
        self.time = TODAY.timestamp()
        self.pauses = pauses

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Poll:
        """A pause is over when it has been counted."""
        del seconds, first
        return Pauses(self)

    def look(self, job: RolloutJob) -> Outcome:
        """One run. Raises what ends it."""
        return self.ended(partial(flow, job))

    def ended(self, begin: Callable[[Context], Outcome]) -> Outcome:
        """Drives a flow as a run does: the outcome's trouble is raised."""
        outcome = self.drive(begin)
        if outcome.trouble:
            raise outcome.trouble
        return outcome


class Pauses:
    """The waits of a run, of which there are so many as the engine has pauses."""

    left = 60.0  # seconds

    def __init__(self, engine: RolloutEngine) -> None:
        self._engine = engine

    def wait(self, why: str) -> bool:
        """Counts the pause."""
        del why
        self._engine.pauses -= 1
        return self._engine.pauses >= 0


def rollout_job(above: str = "", steps: str = STEPS, **more: Any) -> RolloutJob:
    """A look at production."""
    gate = Gate(
        limits(above) if above else (),
        **{key: more.pop(key) for key in ("halts", "min_users") if key in more},
    )
    release = ReleaseJob(PACKAGE, tracks=("production",), rollout=True, **more)
    return RolloutJob(release, rollout_steps(steps), gate)


def short(release: dict[str, Any]) -> str:
    """A release in short: `42 0.05`, `42 halted 0.05`, `41`."""
    status = {"inProgress": "", "completed": ""}.get(
        release["status"], release["status"]
    )
    parts = (
        "+".join(release["versionCodes"]),
        status,
        str(release.get("userFraction", "")),
    )
    return " ".join(filter(None, parts))


def as_json(day: date) -> dict[str, Any]:
    """A day as google.type.DateTime."""
    return {
        "year": day.year,
        "month": day.month,
        "day": day.day,
        "timeZone": {"id": "America/Los_Angeles"},
    }
