"""A rollout over simulated days, without any account: one release does well, one is halted on its fourth day.

    make demo

Each day is one scheduled run of the same `entrypoint.py` that a CI job runs, against the embedded emulator, whose clock
is moved a day on and whose Reporting API measures what the script below says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from google_emulator import Emulator  # noqa: E402  # found only once the checkout is on the path

APP = "com.example.shop"
DAY = 86_400
COMMON = {
    "target": "play-rollout",
    "package-name": APP,
    "tracks": "production",
    "rollout-steps": "1%, 5%, 20%, 50%, 100%",
    "halt-above": "crash-rate 1.09%, crash-rate 1.5x",
}


@dataclass(frozen=True)
class Day:
    """What Google measured of the release up to a day: users of its newest day, and the share that saw a crash."""

    users: int
    crashes: float


@dataclass(frozen=True)
class Course:
    """A release day by day, and the decisions that are to come of it."""

    title: str
    code: int
    days: Sequence[Day]
    decisions: Sequence[str]


HEALTHY = Course(
    "A healthy release: held while it has too few users, then one step a day",
    42,
    [Day(60, 0.0167), Day(900, 0.0052), Day(4_000, 0.0048), Day(18_000, 0.0047), Day(45_000, 0.0046)],
    ["held", "stepped", "stepped", "stepped", "completed"],
)
CRASHING = Course(
    "A release that crashes: within chance at first, then clearly above the limit",
    43,
    [Day(60, 0.0), Day(800, 0.004), Day(900, 0.0122), Day(4_100, 0.021), Day(4_000, 0.004)],
    ["held", "stepped", "held", "halted", "halted"],
)


def main() -> int:
    """Runs both courses and returns 0 when every day was decided as it should be."""
    with tempfile.TemporaryDirectory(prefix="uploader-demo-") as folder, Emulator() as emulator:
        emulator.console.add_release(APP, "production", {"versionCodes": ["41"]})
        right = [shown(emulator, Path(folder), course) for course in (HEALTHY, CRASHING)]
    return 0 if all(right) else 1


def shown(emulator: Emulator, workspace: Path, course: Course) -> bool:
    """A release from 1 % on, a look a day; whether the decisions are the expected ones."""
    print(f"\n=== {course.title}\n", flush=True)
    release = {"versionCodes": [str(course.code)], "status": "inProgress", "userFraction": 0.01}
    emulator.console.add_release(APP, "production", release)
    decisions = []
    for number, day in enumerate(course.days, 1):
        emulator.clock.advance(DAY)
        measured = {"users": day.users, "userPerceivedCrashRate": day.crashes}
        everybody = {"users": 90_000, "userPerceivedCrashRate": 0.0046}
        emulator.vitals.script({APP: {"versions": {str(course.code - 1): everybody, str(course.code): measured}}})
        outputs, told = look(emulator, workspace)
        decisions.append(outputs.get("decision", ""))
        share = f"{float(outputs.get('user-fraction') or 1) * 100:g} %"
        print(f"  day {number}: {decisions[-1]:9} now {share:5}  {told}", flush=True)
    return decisions == list(course.decisions)


def look(emulator: Emulator, workspace: Path) -> tuple[dict[str, str], str]:
    """One scheduled run: its outputs, and the line that tells its end."""
    inputs: Mapping[str, Any] = {**COMMON, "api-endpoint": emulator.url, "credentials": json.dumps(emulator.key)}
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment |= {f"UPLOADER_{name.upper().replace('-', '_')}": value for name, value in inputs.items()}
    environment["UPLOADER_STATE_DIR"] = str(workspace / ".state")
    command = [sys.executable, str(ROOT / "entrypoint.py")]
    ended = subprocess.run(command, env=environment, cwd=workspace, capture_output=True, text=True, check=False)
    outputs = dict(re.findall(r"^([a-z-]+)=(.*)$", ended.stdout, re.MULTILINE))
    return outputs, (ended.stderr.strip().splitlines() or ended.stdout.strip().splitlines())[-1]


if __name__ == "__main__":
    sys.exit(main())
