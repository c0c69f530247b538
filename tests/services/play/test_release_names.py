"""A release has one name in everything that people are told of it: heading, changes and log."""

from __future__ import annotations

import re

import pytest

from google_emulator import specimens
from tests.support.job import Ended, Job

APP = "com.example.app"
RELEASE = {
    "target": "play",
    "files": "*.aab",
    "tracks": "production",
    "user-fraction": "0.1",
}
TAG = {"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v1.4.2"}


@pytest.fixture
def job(job: Job) -> Job:
    """An app whose version 41 was named by its tag, and a bundle of 1.4.2 (42) in the workspace."""
    specimens.make_bundle(job.workspace / "app.aab", APP, 42, "1.4.2")
    live = {"versionCodes": ["41"], "name": "v1.4.1"}
    job.emulator.console.add_release(APP, "production", live)
    return job


def names(ended: Ended, code: int) -> set[str]:
    """Every name by which the log and the summary know a version."""
    return set(
        re.findall(rf"\S+ \({code}\)", f"{ended.log}\n{ended.summary}".replace("`", ""))
    )


@pytest.mark.slow
def test_release_that_the_tag_names_is_told_by_its_version(job: Job) -> None:
    """Google Play keeps the tag; people are told 1.4.2 and, of the release before it, 1.4.1."""
    ended = job.succeed(RELEASE, **TAG)
    assert names(ended, 42) == {"1.4.2 (42)"}
    assert names(ended, 41) == {"1.4.1 (41)"}
    (release, _) = job.emulator.state()["apps"][APP]["tracks"]["production"]
    assert release["name"] == "v1.4.2"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v1.4.2", "Spring"])
def test_name_that_was_given_is_told_as_it_is(job: Job, name: str) -> None:
    """Only the file itself is told by its version."""
    ended = job.succeed({**RELEASE, "release-name": name}, **TAG)
    heading = f"## ✅ {name} (42) goes to 10 % of production after the review\n"
    assert ended.summary.startswith(heading)
    assert f"\n+ {name} (42): 10 % of users, in progress\n" in ended.summary
    assert f"Release {name} (42) to track production" in ended.log
    assert names(ended, 42) == {f"{name} (42)", "1.4.2 (42)"}
