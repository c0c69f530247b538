"""What tests of several folders share: the fixtures, and how hypothesis is used.

A property is judged by its answers alone: a busy machine, or a first run that has to build its tables, is no finding.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures"]

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
