"""What Google Play asks of a build today, in one table: the limit, since when, and where Google says so.

Google moves these every year, so whatever falls short of them is a warning; Play itself decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_TARGET_SDK = "https://support.google.com/googleplay/android-developer/answer/11926878"


@dataclass(frozen=True)
class PolicyRule:
    """The least that new apps and updates need from a day on (ISO 8601), and Google's page about it."""

    limit: int
    since: str
    source: str


TARGET_API: Final = PolicyRule(36, "2026-08-31", _TARGET_SDK)
TARGET_API_BY_FEATURE: Mapping[str, PolicyRule] = {
    "android.hardware.type.watch": PolicyRule(35, "2026-08-31", _TARGET_SDK),
    "android.hardware.type.automotive": PolicyRule(35, "2026-08-31", _TARGET_SDK),
    "android.software.leanback": PolicyRule(34, "2026-08-31", _TARGET_SDK),
    "android.software.xr.api.spatial": PolicyRule(34, "2026-08-31", _TARGET_SDK),
}
"""API levels that an app needs to target; other ones for an app that requires a feature of another form factor."""

PAGE_SIZE: Final = PolicyRule(16_384, "2025-11-01", "https://developer.android.com/guide/practices/page-sizes")
"""Bytes of the memory pages that 64-bit code has to fit."""
PAGE_SIZE_FROM_TARGET: Final = 35  # the API level of Android 15: the rule is for apps that target it or a later one

SIXTY_FOUR_BIT: Final = PolicyRule(64, "2019-08-01", "https://developer.android.com/google/play/requirements/64-bit")
"""Bits: for each ABI of 32 there has to be the one of 64 that the same devices run."""
