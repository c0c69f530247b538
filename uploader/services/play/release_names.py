"""The name under which people see a release: the same in the plan, the log and the summary.

A release that nobody has named gets the tag as its name, which is often the version with a `v`
before it. Then people see the version: `1.4.2 (42)`. A name that was given is shown as it is.
"""

from __future__ import annotations

import re

from uploader.services.play.model import Release
from uploader.services.play.release_job import ReleaseJob

_TAG_OF_VERSION = re.compile(r"^v(?=\d)", re.ASCII)


def given_name(job: ReleaseJob) -> str:
    """Return the name that the job gives to its release; "" if it gives none, or different ones on
    its tracks.
    """
    if job.options.name:
        return job.options.name
    names = set(job.names.values())
    if len(names) != 1:
        return ""
    return names.pop()


def display_name(job: ReleaseJob) -> str:
    """Return the name under which people see a new release of the job before it is on a track."""
    return given_name(job) or job.version_name


def with_display_name(job: ReleaseJob, release: Release) -> Release:
    """Return a release of a track with the name under which people see it.

    If the releases of this app are named after tags, earlier ones lose the `v` as well.
    """
    name = release.name
    if job.options.name or job.names or not job.version_name:
        return release
    is_of_the_job = not set(job.codes).isdisjoint(release.version_codes)
    if is_of_the_job and name in ("", job.default_name):
        return release.with_name(job.version_name)
    if name and job.default_name == f"v{job.version_name}":
        return release.with_name(_TAG_OF_VERSION.sub("", name, count=1))
    return release
