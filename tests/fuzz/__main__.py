"""Fuzzes targets with atheris: `python -m tests.fuzz --seconds 60 [target ...]`; what is new goes into the corpus.

Each target runs in a process of its own. A finding is left beside the corpus as `crash-…`, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
LONGEST = 4096  # bytes of one input


def main() -> int:
    """Fuzzes each target that was named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        return fuzz(asked.targets[0], asked.seconds)
    from tests.fuzz.targets import TARGETS  # not before instrumentation, in the process that is instrumented

    failed = []
    for target in asked.targets or TARGETS:
        sys.stdout.write(f"--- {target}, {asked.seconds} s\n")
        sys.stdout.flush()
        command = [sys.executable, "-m", "tests.fuzz", "--here", target, "--seconds", str(asked.seconds)]
        if subprocess.run(command, check=False).returncode:
            failed.append(target)
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "no finding\n")
    return 1 if failed else 0


def fuzz(target: str, seconds: int) -> int:
    """Fuzzes one target inside this process until the time is over, or something is found."""
    import atheris  # a tool of its own, which only this needs

    with atheris.instrument_imports(include=["uploader"]):
        from tests.fuzz.targets import TARGETS
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=10", "-rss_limit_mb=2048"]
    options += [f"-artifact_prefix={CORPUS}/crash-{target}-", "-print_final_stats=1", "-reduce_inputs=1"]
    atheris.Setup([sys.argv[0], str(folder), *options], TARGETS[target])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
