"""What is measured on: the machine, its load, and how it was measured."""

from __future__ import annotations

import subprocess
import time
from typing import Any

from benchmarks.contestants import PYTHON


def load() -> str:
    """The machine's load averages now."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return " ".join(file.read().split()[:3])


def machine() -> dict[str, Any]:
    """Where and when it was measured; the Python is that of this program's runs."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {
        "processor": names[0] if names else "unknown",
        "cores": len(names),
        "python": _version(str(PYTHON)),
        "curl": _version("curl"),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _version(program: str) -> str:
    """The second word of what it says of itself."""
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
