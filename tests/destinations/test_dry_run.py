"""A dry run at every destination: all checks, a token, and not one request to the service
itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.destination_runs import visit
from tests.support.destinations import PLACES
from tests.support.job import Job


@pytest.mark.parametrize("name", PLACES)
def test_a_dry_run_fetches_a_token_and_sends_nothing_else(
    name: str, tmp_path: Path
) -> None:
    """The login is proven with the scope that the work needs; the service hears nothing and nothing
    changes.
    """
    seen = visit(PLACES[name], tmp_path / "workspace", size=1000, dry_run="true")
    assert seen.ended.code == 0, seen.ended.log
    assert seen.requests == {"any": 1, "api": 1, "oauth.token": 1}
    assert seen.stored == []
    [token] = seen.tokens
    assert token["scopes"] == [f"https://www.googleapis.com/auth/{seen.place.scope}"]
    assert token["subject"] == seen.place.subject
    assert "Would " in seen.ended.log
    assert "nothing was sent" in seen.ended.log
    assert "dry run" in seen.ended.summary.lower()


def test_a_dry_run_of_an_empty_shard_has_nothing_to_prove(job: Job) -> None:
    """A job of a matrix that no file falls to ends well without asking for a token that is good for
    nothing.
    """
    (job.workspace / "a.bin").write_bytes(b"a")
    ended = job.succeed(
        {
            "target": "drive.files.create",
            "files": "a.bin",
            "shard": "1/2",
            "dry-run": "true",
        }
    )
    assert "no file is assigned to this job" in ended.log
    assert job.emulator.state()["requests"] == {}
