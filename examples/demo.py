"""A release without any account: uploads that survive faults, then two staged rollouts, and a check
of the results.

    make demo

Each step runs the same `entrypoint.py` that a CI job runs, against the embedded emulator.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from google_emulator import Emulator, specimens  # noqa: E402  # found only once the checkout is on the path

MIB = 1 << 20
APP, DAY = "com.example.shop", 86_400
FAULTS: list[dict[str, Any]] = [
    {
        "on": "play.bundles.upload+resumable.put",
        "do": "status",
        "status": 503,
        "nth": 2,
        "after": MIB,
    },
    {
        "on": "play.bundles.upload+resumable.put",
        "do": "reset",
        "nth": 3,
        "after": 2 * MIB,
    },
    {
        "on": "play.bundles.upload+resumable.put",
        "do": "short-store",
        "nth": 4,
        "stored": 2 * MIB,
    },
    {"on": "drive.files.create+resumable.final", "do": "answer-lost"},
    {
        "on": "gmail.users.messages.send+resumable.final",
        "do": "status-after-effect",
        "status": 502,
    },
]
RELEASE = {
    "target": "play",
    "files": "*.aab",
    "tracks": "internal",
    "chunk-size": "4MiB",
    "release-name": "1.4.2",
}
ARCHIVE = {
    "target": "drive.files.create",
    "files": "*.aab",
    "metadata": '{"parents": ["releases"]}',
}
MAIL = {
    "target": "gmail",
    "impersonate-user": "releases@example.com",
    "mail-from": "releases@example.com",
    "mail-to": "team@example.com",
    "mail-subject": "Shop 1.4.2 is on the internal track",
    "mail-body": "Please try it.",
}
ROLLOUT = {
    "target": "play-rollout",
    "package-name": APP,
    "tracks": "production",
    "rollout-steps": "1%, 5%, 20%, 50%, 100%",
    "halt-above": "crash-rate 1.09%, crash-rate 1.5x",
}
# By version code and day: the users, the share of them that saw a crash, and the expected decision.
COURSES = {
    42: [
        (60, 0.0167, "held"),
        (900, 0.0052, "stepped"),
        (4_000, 0.0048, "stepped"),
        (18_000, 0.0047, "stepped"),
    ],
    43: [(800, 0.004, "stepped"), (900, 0.0122, "held"), (4_100, 0.021, "halted")],
}


def main() -> int:
    """Make all runs. Return 0 if every byte is where it belongs and each day had the expected
    decision, otherwise 1.
    """
    with (
        tempfile.TemporaryDirectory(prefix="uploader-demo-") as folder,
        Emulator(faults=FAULTS) as emulator,
    ):
        workspace = Path(folder)
        specimens.make_bundle(
            workspace / "shop.aab", APP, 41, "1.4.2", size_bytes=32 * MIB
        )
        say(
            "All of this happens in the emulator. A rehearsal of the release, without credentials, "
            "and its outputs"
        )
        rehearsed = run(
            emulator,
            workspace,
            {**RELEASE, "api-endpoint": "emulator", "credentials": ""},
        )
        print(
            "".join(
                f"  {name}={rehearsed[name]}\n"
                for name in ("version-code", "committed", "rehearsal")
            ),
            end="",
        )
        say(
            "A bundle of 32 MiB to Google Play: a 503 in the middle of the bundle, a reset, a "
            "chunk stored in part"
        )
        run(emulator, workspace, RELEASE, shown=True)
        say("The same bundle to Google Drive: the response to its last byte is lost")
        run(emulator, workspace, ARCHIVE, shown=True)
        say("A mail to the team: the server fails after it has sent it")
        run(emulator, workspace, MAIL, shown=True)
        everybody = {"users": 90_000, "userPerceivedCrashRate": 0.0046}
        emulator.console.add_release(APP, "production", {"versionCodes": ["41"]})
        emulator.vitals.script({APP: {"versions": {"41": everybody, "42": everybody}}})
        decided = [rollout(emulator, workspace, code) for code in COURSES]
        return verdict(emulator.state(), workspace / "shop.aab", all(decided))


def rollout(emulator: Emulator, workspace: Path, code: int) -> bool:
    """Roll a version out from 1 %, with one run a day. Return whether each day had the expected
    decision.
    """
    say(f"A staged rollout of version {code}, one run a day")
    release = {
        "versionCodes": [str(code)],
        "status": "inProgress",
        "userFraction": 0.01,
    }
    emulator.console.add_release(APP, "production", release)
    right = True
    for day, (users, crashes, expected) in enumerate(COURSES[code], 1):
        emulator.clock.advance(DAY)
        measured = {"users": users, "userPerceivedCrashRate": crashes}
        emulator.vitals.script({APP: {"versions": {str(code): measured}}})
        decision = run(emulator, workspace, ROLLOUT)["decision"]
        print(
            f"  day {day}: {users:6,} users, {crashes:.2%} saw a crash: {decision}",
            flush=True,
        )
        right = right and decision == expected
    if right and expected == "stepped":
        # The next runs would complete it, too.
        emulator.console.complete(APP, "production", code=code)
    return right


def run(
    emulator: Emulator,
    workspace: Path,
    inputs: Mapping[str, str],
    *,
    shown: bool = False,
) -> dict[str, str]:
    """Run the program once and return its outputs. `shown` prints its retries and its last line."""
    common = {
        "api-endpoint": emulator.url,
        "credentials": json.dumps(emulator.key),
        "state-dir": str(workspace / "s"),
    }
    environment = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG")
        if name in os.environ
    }
    for name, value in {**common, **inputs}.items():
        environment[f"UPLOADER_{name.upper().replace('-', '_')}"] = value
    command = [sys.executable, str(ROOT / "entrypoint.py")]
    done = subprocess.run(
        command,
        env=environment,
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    for line in (line.strip() for line in lines if shown):
        if "trying again" in line or "continuing" in line or line == lines[-1].strip():
            print(f"  {line}", flush=True)
    if done.returncode not in (0, 6):
        raise SystemExit(done.stdout + done.stderr)
    return dict(re.findall(r"^\s*([a-z-]+)=(.*)$", done.stdout, re.MULTILINE))


def verdict(state: Mapping[str, Any], bundle: Path, decided: bool) -> int:
    """Compare what the emulator holds with what was sent, and print the result. Return the exit
    code.
    """
    sha256 = hashlib.sha256(bundle.read_bytes()).hexdigest()
    copies = [stored for stored in state["objects"] if stored["sha256"] == sha256]
    repeated = sum(session["bytes_repeated"] for session in state["sessions"])
    checks = {
        f"{len(state['faults']['fired'])} of {len(FAULTS)} faults happened": not state[
            "faults"
        ]["waiting"],
        f"{repeated} bytes that the server had stored were sent again": repeated == 0,
        f"{len(state['messages'])} mail was sent": len(state["messages"]) == 1,
        "the bundle is on Google Play and in Drive, byte for byte, once each": len(
            copies
        )
        == 2,
        "the healthy release was widened, the crashing one halted": decided,
    }
    say("Result")
    for text, true in checks.items():
        print(f"  {'yes' if true else 'NO '}  {text}")
    return 0 if all(checks.values()) else 1


def say(title: str) -> None:
    """Print a heading."""
    print(f"\n{title}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
