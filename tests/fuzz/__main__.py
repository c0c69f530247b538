"""Fuzzes targets with atheris: `python -m tests.fuzz --seconds 60 [--keep] [target ...]`.

Each target runs in a process of its own, beginning with the corpus. What it finds new stays in
`.cache/fuzz`, and with `--keep` the smallest of it goes into the corpus. An input that breaks a law
is left beside the corpus as `crash-…`, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
WORK = Path(__file__).resolve().parent.parent.parent / ".cache" / "fuzz"
LONGEST, LONGEST_KEPT = 4096, 512  # bytes of one input
MOST_KEPT = 50  # for each target


def main() -> int:
    """Fuzzes each target that was named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument(
        "--keep", action="store_true", help="add the smallest finds to the corpus"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        return fuzz(asked.targets[0], asked.seconds)
    # not before instrumentation, in the process that is instrumented
    from tests.fuzz.targets import TARGETS

    failed = []
    for target in asked.targets or TARGETS:
        sys.stdout.write(f"--- {target}, {asked.seconds} s\n")
        sys.stdout.flush()
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            "--here",
            target,
            "--seconds",
            str(asked.seconds),
        ]
        if subprocess.run(command, check=False).returncode:
            failed.append(target)
        elif asked.keep:
            keep(target)
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "no finding\n")
    return 1 if failed else 0


def fuzz(target: str, seconds: int) -> int:
    """Fuzzes one target inside this process until the time is over, or a law is broken."""
    try:
        import atheris  # a tool of its own, which only this needs
    except ImportError:
        sys.exit(
            "atheris exists for Linux on x86_64 and Python 3.11 to 3.13; `make fuzz` installs "
            "it there."
        )

    with atheris.instrument_imports(include=["uploader"]):
        from tests.fuzz.targets import TARGETS
    folders = (WORK / target, CORPUS / target)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        "-timeout=10",
        "-rss_limit_mb=2048",
    ]
    options += [
        f"-artifact_prefix={CORPUS}/crash-{target}-",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *map(str, folders), *options], TARGETS[target])
    atheris.Fuzz()
    return 0


def keep(target: str) -> None:
    """Adds the smallest inputs that covered something new to the corpus."""
    found = sorted(
        (WORK / target).iterdir(), key=lambda path: (path.stat().st_size, path.name)
    )
    for path in found[:MOST_KEPT]:
        if path.stat().st_size <= LONGEST_KEPT:
            shutil.copy(path, CORPUS / target / path.name[:12])


if __name__ == "__main__":
    sys.exit(main())
