"""Points of a timeline: days in Los Angeles and hours in UTC, counted, and as google.type.DateTime writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from google_emulator.http.response import Json

HOUR = 3600  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class AggregationPeriod:
    """A period of aggregation with the one time zone that it has. Its points are counted from a fixed one on."""

    name: str
    zone: str

    @property
    def daily(self) -> bool:
        """Whether a point is a day."""
        return self.name == "DAILY"

    @property
    def tzinfo(self) -> tzinfo:
        """The time zone's rules."""
        return ZoneInfo(self.zone) if self.daily else timezone.utc

    def point_at(self, seconds: float) -> int:
        """The point in which a moment (seconds since the epoch) lies."""
        return self.point_of(datetime.fromtimestamp(seconds, self.tzinfo))

    def point_of(self, moment: datetime) -> int:
        """The point that begins at this civil time."""
        return moment.toordinal() if self.daily else int((moment - _EPOCH) // timedelta(hours=1))

    def write(self, point: int) -> dict[str, Json]:
        """The point's beginning as google.type.DateTime; hours are left out where they are 0, as by Google."""
        if self.daily:
            day = date.fromordinal(point)
            return {"year": day.year, "month": day.month, "day": day.day, "timeZone": {"id": self.zone}}
        hour = _EPOCH + timedelta(hours=point)
        hours = {"hours": hour.hour} if hour.hour else {}
        return {"year": hour.year, "month": hour.month, "day": hour.day, **hours, "timeZone": {"id": self.zone}}


DAILY = AggregationPeriod("DAILY", "America/Los_Angeles")
HOURLY = AggregationPeriod("HOURLY", "UTC")
PERIODS = {period.name: period for period in (DAILY, HOURLY)}


def day_of_hour(hour: int) -> int:
    """The day in Los Angeles in which an hour lies."""
    return DAILY.point_at(hour * HOUR)
