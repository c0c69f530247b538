"""What a run saw of each client, as JSON in `build/strangers.json`: the table in docs/EMULATOR.md is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOUND = Path(__file__).resolve().parents[2] / "build" / "strangers.json"
_seen: list[dict[str, Any]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Takes down what became of a case; with several workers the reports of all of them come here."""
    told: dict[str, Any] = dict(report.user_properties)
    if report.when == "call" and "case" in told:
        case = dict(zip(("client", "job", "fault"), told["case"], strict=True))
        outcome = told.get("outcome", "") if report.passed else report.outcome
        _seen.append({**case, "version": told.get("version", ""), "outcome": outcome})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes it, in the process that has the reports of all."""
    if _seen and not hasattr(session.config, "workerinput"):
        FOUND.parent.mkdir(exist_ok=True)
        FOUND.write_text(json.dumps(_seen, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
