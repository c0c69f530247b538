"""Properties are judged by their answers alone: a busy machine must not make one fail for its slowness."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
