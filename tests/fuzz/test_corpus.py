"""Every input that fuzzing has kept, and some drawn here, run through its target without the
fuzzer.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).resolve().parent / "corpus"


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_holds(target: str) -> None:
    """What once was found, or covered something new, still breaks no law."""
    files = sorted((CORPUS / target).iterdir())
    assert len(files) > 3
    for file in files:
        TARGETS[target](file.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
@given(data=some.binary(max_size=300))
def test_any_bytes_hold(target: str, data: bytes) -> None:
    """No bytes at all break a law."""
    TARGETS[target](data)
