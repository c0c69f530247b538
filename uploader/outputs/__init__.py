"""Report to people and to the CI system: one reporter for each system, chosen from the environment.

All text passes the redactor. Text that can't be written (a full disk, a closed pipe) costs one
warning at the most. Only if the outputs can't be written does the run fail, since later steps
depend on them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from uploader.inputs import Platform
from uploader.outputs.console import ConsoleReporter
from uploader.outputs.github import GitHubReporter
from uploader.outputs.gitlab import GitLabReporter
from uploader.outputs.reporter import LogReporter
from uploader.redaction import Redactor

__all__ = ["LogReporter", "make_reporter"]


def make_reporter(
    platform: Platform,
    *,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    now: Callable[[], float] = time.time,
    names: Mapping[str, str] | None = None,
) -> LogReporter:
    """Return the reporter for this platform. `names` are those of `Inputs`; the streams are the
    process's own unless given.
    """
    out = stdout or sys.stdout
    err = out  # a CI system shows one log
    if platform.kind == "console":
        err = stderr or sys.stderr
    reporters = {
        "github": GitHubReporter,
        "gitlab": GitLabReporter,
    }
    reporter = reporters.get(platform.kind, ConsoleReporter)
    redactor = Redactor()
    return reporter(
        platform,
        redactor,
        names or {},
        out,
        err,
        now,
    )
