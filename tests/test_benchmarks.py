"""The benchmark measures what it says: every part of its page, on little."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(
    not (shutil.which("openssl") and shutil.which("curl")),
    reason="there is no openssl or no curl",
)
@pytest.mark.skipif(
    not (ROOT / "build/runtime").exists(),
    reason="`make build/runtime` has not been run",
)
def test_a_quick_run_measures_every_part() -> None:
    """Everybody who is here sends a file, with and without a fault, and this program sends none of
    its bytes twice.
    """
    subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    page = (ROOT / "build" / "quick.md").read_text(encoding="utf-8")
    titles = (
        "A large file",
        "Small files",
        "Memory",
        "One fault",
        "Waits",
        "Start",
        "Image",
    )
    for title in titles:
        assert f"## {title}" in page
    assert "\n**this program** | 0 MiB again | 0 MiB again\n" in page
