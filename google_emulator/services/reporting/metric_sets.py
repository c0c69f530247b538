"""The metric sets of the Reporting API: their metrics, dimensions and cohorts, as the discovery document lists them.

Reference: developers.google.com/play/developer/reporting/reference/rest/v1beta1/vitals.crashrate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

USERS = "distinctUsers"
VERSION_CODE = "versionCode"
AVERAGES = {"": 1, "7dUserWeighted": 7, "28dUserWeighted": 28}  # suffix of a metric's name: days
COHORTS = ("OS_PUBLIC", "OS_BETA", "APP_TESTERS")  # the first is the default
OS_BETA_DIMENSIONS = (VERSION_CODE, "osBuild")
_STRINGS = (
    *("apiLevel", "deviceModel", "deviceBrand", "deviceType", "countryCode", "deviceSocMake", "deviceSocModel"),
    *("deviceCpuMake", "deviceCpuModel", "deviceGpuMake", "deviceGpuModel", "deviceGpuVersion"),
    *("deviceVulkanVersion", "deviceGlEsVersion", "deviceScreenSize", "deviceScreenDpi", "osBuild"),
)
# Every dimension with the field of DimensionValue that holds its values.
DIMENSIONS: Mapping[str, str] = {
    VERSION_CODE: "int64Value",
    "deviceRamBucket": "int64Value",
    **dict.fromkeys(_STRINGS, "stringValue"),
}


@dataclass(frozen=True, slots=True)
class MetricSet:
    """A metric set: its name in the path, that of its methods, and the rates of which its metrics are made."""

    name: str
    method: str
    rates: tuple[str, str]

    def metric(self, name: str) -> tuple[str, int] | None:
        """The rate (or the users) that a metric shows, and over how many days; None for a metric of another set."""
        if name == USERS:
            return USERS, 1
        for rate in self.rates:
            for suffix, days in AVERAGES.items():
                if name == rate + suffix:
                    return rate, days
        return None


METRIC_SETS = (
    MetricSet("crashRateMetricSet", "crashrate", ("userPerceivedCrashRate", "crashRate")),
    MetricSet("anrRateMetricSet", "anrrate", ("userPerceivedAnrRate", "anrRate")),
)
RATES = tuple(rate for metric_set in METRIC_SETS for rate in metric_set.rates)
