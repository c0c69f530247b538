"""What people and CI systems are told: one reporter for each system, chosen from the environment.

Whatever is said passes the redactor; whatever can't be said (a full disk, a closed pipe) costs one
warning at the most. Only where the outputs can't be written the run fails as well, since later
steps decide by them.
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
    """The reporter for this platform, as `LogReporter` says; the streams are the process's own
    unless given.
    """
    out = stdout or sys.stdout
    # a CI system shows one log
    err = (stderr or sys.stderr) if platform.kind == "console" else out
    reporter = {"github": GitHubReporter, "gitlab": GitLabReporter}.get(
        platform.kind, ConsoleReporter
    )
    return reporter(platform, Redactor(), names or {}, out, err, now)
