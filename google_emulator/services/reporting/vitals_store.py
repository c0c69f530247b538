"""The vitals of all apps, as they are scripted, and how fresh they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from google_emulator.http.response import Json
from google_emulator.services.reporting.civil_time import DAILY, HOURLY, AggregationPeriod
from google_emulator.services.reporting.vitals_script import AppVitals

EVERY_APP = "*"


class VitalsStore:
    """The vitals by package (`*`: of any other). `clock` tells seconds since the epoch."""

    def __init__(self, scripts: Mapping[str, Json], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._apps: dict[str, AppVitals] = {}
        self.script(scripts)

    def script(self, scripts: Mapping[str, Json]) -> None:
        """Changes what is scripted, by package: keys that are not named stay. Raises `ValueError`."""
        now = self._clock()
        changed = {package: self.of(package).changed(script, now) for package, script in scripts.items()}
        self._apps.update(changed)

    def of(self, package: str) -> AppVitals:
        """The vitals of an app."""
        return self._apps.get(package) or self._apps.get(EVERY_APP) or AppVitals()

    def latest_end(self, package: str, period: AggregationPeriod) -> int | None:
        """The point before which there is data; None where nothing is told of it."""
        vitals = self.of(package)
        lag = vitals.freshness_days if period is DAILY else vitals.freshness_hours
        return None if lag is None else period.point_at(self._clock()) - lag

    def freshness(self, package: str) -> list[dict[str, Json]]:
        """The Freshness of every period of aggregation."""
        ends = {period: self.latest_end(package, period) for period in (HOURLY, DAILY)}
        return [
            {"aggregationPeriod": period.name, "latestEndTime": period.write(end)}
            for period, end in ends.items()
            if end is not None
        ]
