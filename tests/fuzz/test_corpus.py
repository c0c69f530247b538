"""Every input that fuzzing has kept, and some drawn here, run through its target without the fuzzer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).resolve().parent / "corpus"


@pytest.mark.threat("server", "breaks a parser with crafted bytes")
@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_holds(target: str) -> None:
    """What once was found, or covered something new, still breaks no law."""
    files = sorted((CORPUS / target).iterdir())
    assert len(files) > 3
    for file in files:
        TARGETS[target](file.read_bytes())


@pytest.mark.threat(
    "server",
    "breaks a parser with crafted bytes",
    rule="every parser of foreign bytes is fuzzed, and ends with a result or with its own error",
)
@pytest.mark.parametrize("target", TARGETS)
@given(data=some.binary(max_size=300))
def test_any_bytes_hold(target: str, data: bytes) -> None:
    """No bytes at all break a law."""
    TARGETS[target](data)


def test_the_corpus_stays_small() -> None:
    """It is made of many small files, a few kilobytes each, and no finding is left unanswered."""
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert all(path.stat().st_size <= 8192 for path in files)
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert not [path for path in files if path.name.startswith("crash-")]
