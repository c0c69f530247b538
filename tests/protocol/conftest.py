"""How hypothesis is used here: a slow machine, or a first run that has to build its tables, is no finding."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
