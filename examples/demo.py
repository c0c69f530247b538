"""A release without any account: three uploads to the embedded emulator with injected faults, and then a check.

    make demo

The first run sends a bundle to a Play track, the second archives it in a Drive folder, the third mails the ids to the
team. Each runs the same `entrypoint.py` that a CI job runs, with the environment that GitHub's runner would give it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import takewhile
from operator import ne
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from google_emulator import Emulator, specimens  # noqa: E402  # found only once the checkout is on the path

MIB = 1024 * 1024
BUNDLE = "shop-release.aab"
COLOR = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
FAULTS: list[dict[str, Any]] = [
    {"on": "play.bundles.upload+resumable.put", "do": "status", "status": 503, "nth": 2, "after": MIB},
    {"on": "play.bundles.upload+resumable.put", "do": "reset", "nth": 3, "after": 2 * MIB},
    {"on": "play.bundles.upload+resumable.put", "do": "short-store", "nth": 4, "stored": 2 * MIB},
    {"on": "drive.files.create+resumable.final", "do": "answer-lost"},
    {"on": "resumable.final", "do": "status-after-effect", "status": 502, "nth": 3},
]


def main() -> int:
    """Makes the three runs and returns 0 when every byte is where it belongs, and none that was stored came twice."""
    with tempfile.TemporaryDirectory(prefix="uploader-demo-") as folder, Emulator(faults=FAULTS) as emulator:
        workspace = Path(folder)
        say(f"Making {BUNDLE}: 32 MiB with a valid manifest")
        bundle = workspace / BUNDLE
        specimens.make_bundle(bundle, "com.example.shop", 4711, "1.4.2", size_bytes=32 * MIB)
        demo = Demo(workspace, emulator.url, emulator.key)
        release = demo.upload(
            "1. Google Play, in chunks, despite a 503, a reset and a partly stored chunk",
            {"target": "play", "files": "*.aab", "tracks": "internal", "chunk-size": "4MiB", "release-name": "1.4.2"},
        )
        archive = demo.upload(
            "2. A Drive folder; the final answer is lost and asked for again",
            {"target": "drive.files.create", "files": "*.aab", "metadata": '{"parents": ["releases"]}'},
        )
        mail = demo.upload(
            "3. A mail to the team; the server fails after sending it, and it is not sent twice",
            {
                "target": "gmail",
                "impersonate-user": "releases@example.com",
                "mail-from": "releases@example.com",
                "mail-to": "team@example.com",
                "mail-subject": f"Shop 1.4.2 ({release['version-code']}) is on internal",
                "mail-body": f"Edit {release['edit-id']}, archived in Drive as {archive['id']}.",
            },
        )
        return report(emulator.state(), bundle, release, archive, mail)


class Demo:
    """A workspace with the emulator as Google, in which the program is run as a CI job runs it."""

    def __init__(self, workspace: Path, url: str, key: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._common = {"api-endpoint": url, "credentials": json.dumps(key), "state-dir": str(workspace / ".state")}

    def upload(self, title: str, inputs: Mapping[str, str]) -> dict[str, str]:
        """One run: shows its log and returns the outputs. Ends the demo if it fails."""
        say(title)
        output = self._workspace / "output"
        output.write_text("")
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment |= {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self._workspace)}
        environment["GITHUB_OUTPUT"] = str(output)
        environment |= {f"INPUT_{name.upper()}": value for name, value in {**self._common, **inputs}.items()}
        status = run(environment, self._workspace)
        outputs = dict(read_outputs(output.read_text()))
        if status:
            raise SystemExit(f"The run ended with exit code {status}.")
        return outputs


def run(environment: Mapping[str, str], workspace: Path) -> int:
    """Starts `entrypoint.py` and shows its log as GitHub does: masks hidden, groups as headings."""
    command = [sys.executable, str(ROOT / "entrypoint.py")]
    with subprocess.Popen(
        command, env=environment, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if not line.startswith(("::add-mask::", "::endgroup::")):
                print("  |", line.rstrip().replace("::group::", "▸ "), flush=True)
    return job.returncode


def read_outputs(text: str) -> Iterator[tuple[str, str]]:
    """The names and values in a GITHUB_OUTPUT file: `name<<DELIMITER`, the value's lines, `DELIMITER`."""
    lines = iter(text.splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        yield name, "\n".join(takewhile(partial(ne, delimiter), lines))


def report(
    state: Mapping[str, Any],
    bundle: Path,
    release: Mapping[str, str],
    archive: Mapping[str, str],
    mail: Mapping[str, str],
) -> int:
    """Compares what the emulator holds with what was sent, and says how it all went."""
    sha256 = hashlib.sha256(bundle.read_bytes()).hexdigest()
    again = sum(int(run["bytes-resent"]) for run in (release, archive, mail))
    repeated = sum(session["bytes_repeated"] for session in state["sessions"])
    copies = [item for item in state["objects"] if item["sha256"] == sha256 and item["size"] == bundle.stat().st_size]
    fired = [f"{receipt['do']} ({receipt['on']})" for receipt in state["faults"]["fired"]]
    checks = {
        "the bundle is in Play and in Drive, byte for byte, once each": len(copies) == 2,
        "no byte that the server had stored was sent again": repeated == 0,
        "one mail was sent": len(state["messages"]) == 1,
        "every fault was injected": len(fired) == len(FAULTS),
        "the edit is committed": release["edit-id"] in str(state["edits"]["committed"]),
    }
    say("Result")
    for text, true in checks.items():
        print(f"  {'yes' if true else 'NO '}  {text}")
    print(f"\nEdit {release['edit-id']} is committed with version code {release['version-code']} on track internal.")
    print(f"Drive file {archive['id']}, mail {mail['message-id']}; sha256 {sha256}.")
    sent = sum(int(run["bytes-uploaded"]) for run in (release, archive, mail)) + again
    print(f"{sent:,} bytes were sent, {again:,} of them ({again / sent:.0%}) again because a fault had lost them.")
    print(f"Bytes sent again although the server had stored them: {repeated}.")
    print(f"{len(fired)} injected faults were survived:", *fired, sep="\n  ")
    return 0 if all(checks.values()) else 1


def say(title: str) -> None:
    """A heading."""
    print(f"\n{bold(f'=== {title}')}\n", flush=True)


def bold(text: str) -> str:
    """The text as a heading on a terminal that shows one."""
    return f"\x1b[1m{text}\x1b[0m" if COLOR else text


if __name__ == "__main__":
    sys.exit(main())
