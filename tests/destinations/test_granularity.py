"""Services that take chunks of 1 or of 8 MiB, as some of Google's do: every chunk but the last is whole granules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.destinations.conftest import Begin
from tests.support.destinations import MIB, package

SIZE = 17 * MIB + 7
OTA = {"target": "ota", "deployment": "d", "package-title": "t", "files": "ota.zip"}
STATUS = {"on": "goog.upload", "do": "status", "status": 503, "after": 3 * MIB, "retry_after": 0}


@pytest.mark.parametrize("granularity", [MIB, 8 * MIB])
@pytest.mark.parametrize(
    "fault",
    [None, STATUS, {"on": "goog.upload", "do": "reset", "after": 12 * MIB}, {"on": "goog.upload", "do": "answer-lost"}],
    ids=lambda fault: fault["do"] if fault else "no fault",
)
@pytest.mark.parametrize("asked", ["auto", "256KiB", "9MiB"])
def test_the_services_granularity_is_kept(
    begin: Begin, granularity: int, fault: dict[str, Any] | None, asked: str
) -> None:
    """Whatever chunk size was asked for, and wherever an upload broke off, it goes on in whole granules."""
    job = begin(*([fault] if fault else []), granularity=granularity)
    package(job.workspace, SIZE, sparse=True)
    ended = job.run({**OTA, "chunk-size": asked})
    assert ended.code == 0, ended.log
    state = job.emulator.state()
    [made], [session] = state["packages"], state["sessions"]
    assert (made["size"], made["sha256"]) == (SIZE, ended.results[0]["sha256"])
    assert session["uneven_chunks"] == 0
    if asked == "256KiB" and fault is None:
        assert state["requests"]["goog.upload"] == -(-SIZE // granularity)
