"""What people and CI systems are told: one reporter for each system, chosen from the environment.

Whatever is said passes the redactor, and whatever can't be said (a full disk, a closed pipe) costs one warning line and
never the run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from uploader.outputs.reporter import Reporter
from uploader.redaction import Redactor

if TYPE_CHECKING:
    from uploader.inputs import Platform

__all__ = ["Reporter", "make_reporter"]


def make_reporter(
    platform: Platform,
    *,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    redactor: Redactor | None = None,
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], float] = time.time,
) -> Reporter:
    """The reporter for this platform. `clock` measures (seconds), `now` tells the time of day (seconds since 1970).

    The streams are the process's own unless given; the redactor learns from `Reporter.mask` and may be shared.
    """
    out, err = stdout or sys.stdout, stderr or sys.stderr
    knowing = redactor or Redactor()
    if platform.kind == "github":
        from uploader.outputs.github import GitHub  # each run needs one reporter only

        return GitHub(platform, out, knowing, clock)
    if platform.kind == "gitlab":
        from uploader.outputs.gitlab import GitLab

        return GitLab(platform, out, knowing, clock, now)
    from uploader.outputs.console import Console

    return Console(platform, out, err, knowing, clock)
