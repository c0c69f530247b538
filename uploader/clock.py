"""The run's time and chance: every clock, every sleep and every random fraction, passed in as one
value.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Clock:
    """Every source of time and chance of a run, replaced as a whole in tests. All figures are
    seconds.

    `sleep` may end early, by raising, when the run is asked to end; `monotonic` measures, `wall` is
    the time since the epoch, `fraction` is random in [0, 1), from a generator without a state of
    its own, so that other users of `random` notice nothing.
    """

    sleep: Callable[[float], None]
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    fraction: Callable[[], float] = random.SystemRandom().random
