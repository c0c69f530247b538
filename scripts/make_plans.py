"""Writes the plans below tests/golden/plans anew, each as a run against the emulator shows it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.support.release_plans import KINDS, arranged, golden, plan_of

if __name__ == "__main__":
    for name, kind in KINDS.items():
        with tempfile.TemporaryDirectory() as folder, arranged(kind, Path(folder)) as (job, inputs):
            golden(name).write_text(plan_of(job.run(inputs)), encoding="utf-8")
