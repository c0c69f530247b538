"""`python -m google_emulator --reference` tells what can be scripted."""

from __future__ import annotations

import pytest

from google_emulator.__main__ import main


def test_the_reference_lists_faults_settings_and_paths(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One of each kind is there, with its meaning and its default."""
    assert main(["--reference"]) == 0
    text = capsys.readouterr().out
    for name in (
        "status-after-effect",
        "any_app",
        "resumable.put",
        "freshness_days",
        "halt",
    ):
        assert f"| `{name}` |" in text
