"""Most tests start the program by fork, from a process that has imported it (tests/support/
fork_server.py). Such a run does the same as one that a new Python starts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from google_emulator import specimens
from tests.support.job import Ended, Job

PLAY = {"target": "play", "files": "app.aab", "tracks": "internal"}
RUNS = {
    "a dry run": {**PLAY, "dry-run": "true"},
    "mistaken inputs": {**PLAY, "dry-run": "perhaps"},
    "a refused login": {**PLAY, "credentials": "{}"},
}


def comparable(ended: Ended) -> Ended:
    """Leave out what differs between any two runs: tokens, the numbers of edits, times, memory."""
    log = re.sub(r"^::add-mask::.*\n", "", ended.log, flags=re.MULTILINE)
    changing = re.compile(r"\d+\.\d s\b|[\d.]+ \w+/s|\d{15,}")
    log = changing.sub("…", log)
    summary = changing.sub("…", ended.summary)
    # The summary only says how long the run waited if it was long enough to say so.
    summary = summary.replace(", … of it waiting for answers", "")
    outputs = {
        name: value for name, value in ended.outputs.items() if name != "results-file"
    }
    return replace(ended, log=log, summary=summary, outputs=outputs, results=[], peak=0)


@pytest.mark.parametrize("inputs", RUNS.values(), ids=RUNS)
def test_a_forked_run_is_like_one_in_a_python_of_its_own(
    job: Job, inputs: Mapping[str, str]
) -> None:
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 42, "1.0")
    expected = comparable(replace(job, fresh=True).run(inputs))
    assert comparable(job.run(inputs)) == expected
    assert comparable(replace(job, real_time=True).run(inputs)) == expected
