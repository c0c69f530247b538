"""Random files, chunk sizes, granularities and schedules of faults: one identical object, or an
honest failure.

Left out are lies that no client could see through: to answer 404 about a session whose object was
made.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from google_emulator import Emulator
from tests.support.transfer_harness import (
    DIALECTS,
    GRANULE,
    STEPS,
    Bench,
    MemoryJournal,
    data_of,
    job,
)
from uploader.errors import TemporaryError, UploaderError
from uploader.services.base import Dialect

pytestmark = pytest.mark.slow

LARGEST = 3 << 20
BYTES = data_of(LARGEST)
SIZES = st.one_of(
    st.integers(GRANULE, LARGEST),
    st.sampled_from([0, 1, 2 * GRANULE, 4 * GRANULE + 1, LARGEST]),
)
CHUNKS = st.one_of(st.none(), st.just(GRANULE), st.integers(1, 1 << 20))
GRANULARITIES = st.sampled_from([1000, 64 * 1024, GRANULE, 1 << 20])
PLACES = st.one_of(st.sampled_from([0, "end"]), st.integers(1, LARGEST))
KEPT = st.none() | st.integers(0, LARGEST)

ERRORS = st.fixed_dictionaries(
    {
        "do": st.just("status"),
        "status": st.sampled_from([500, 503, 502, 429, 408, 403, 400]),
        "after": PLACES,
    },
    optional={
        "stored": KEPT,
        "retry_after": st.sampled_from([0, 3, 400, "soon"]),
        "reason": st.just("rateLimitExceeded"),
        "body": st.just("<html>"),
    },
)
RESETS = st.fixed_dictionaries(
    {"do": st.just("reset"), "after": PLACES, "stored": KEPT}
)
LATE = st.sampled_from([500, 503]).map(
    lambda status: {"do": "status-after-effect", "status": status}
)
PAGES = st.sampled_from([200, 500, 502]).map(
    lambda status: {"do": "html", "status": status}
)
PLAIN = st.sampled_from(
    [
        {"do": do}
        for do in (
            "answer-lost",
            "token-expired",
            "no-range",
            "range-plain",
            "redirect-308",
            "redirect",
        )
    ]
    + [
        {"do": do}
        for do in (
            "range-beyond",
            "range-from",
            "empty-body",
            "invalid-json",
            "wrong-digest",
        )
    ]
    + [{"do": "replace-body", "body": "[]"}, {"do": "slow-drip", "seconds": 0.0}]
)
OF_BYTES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(dict, do=st.just("short-store"), stored=st.integers(0, LARGEST)),
    st.builds(dict, do=st.just("range-backward"), to=st.integers(0, LARGEST)),
    st.builds(
        dict,
        do=st.just("session-lost"),
        status=st.sampled_from([404, 410]),
        after=PLACES,
    ),
)
OF_THE_OTHER = st.sampled_from(
    [
        {"do": "drop-header", "name": f"X-Goog-Upload-{name}"}
        for name in ("Status", "Size-Received", "URL")
    ]
    + [{"do": "final-error", "status": status} for status in (400, 503)]
    + [
        {"do": "set-header", "name": "X-Goog-Upload-Status", "value": value}
        for value in ("ACTIVE", "what")
    ]
    + [
        {
            "do": "status",
            "status": status,
            "headers": {"X-Goog-Upload-Status": "active"},
        }
        for status in (400, 409, 416)
    ]
)


def faults(dialect: Dialect) -> st.SearchStrategy[list[dict[str, Any]]]:
    """One to six faults at any step of the dialect, each at any of its next few requests, once or
    several times.
    """
    step = STEPS[dialect]
    anywhere = st.sampled_from(
        [step[name] for name in ("put", "put", "query", "final", "start")]
    )
    place = {
        "on": anywhere,
        "nth": st.sampled_from([1, 1, 2, 3]),
        "times": st.sampled_from([1, 1, 2, 4]),
    }
    kinds = [
        ERRORS,
        RESETS,
        RESETS,
        LATE,
        PAGES,
        PLAIN,
        *([OF_THE_OTHER] if dialect == "goog-upload" else []),
    ]
    anything = st.builds(
        lambda a, b: {**a, **b}, st.fixed_dictionaries(place), st.one_of(kinds)
    )
    with_bytes = st.builds(
        lambda a, b: {**a, **b},
        st.fixed_dictionaries({**place, "on": st.just(step["put"])}),
        OF_BYTES,
    )
    return st.lists(anything | with_bytes, min_size=1, max_size=6)


def check(
    bench: Bench, data: bytes, failure: BaseException | None, resent: int, chunk: int
) -> None:
    """One object at most and never a wrong one; what is sent again is bounded by the faults that
    fired.
    """
    stored, fired = bench.stored(), len(bench.fired())
    assert len(stored) <= 1, "two objects were made"
    assert all(one == data for one in stored), (
        "something else than the file was finalised"
    )
    if failure is None:
        assert stored == [data]
    else:
        assert isinstance(failure, UploaderError)
        assert failure.exit_code in {3, 4, 5, 75}
        assert fired, "a failure without a fault"
    assert resent <= fired * len(data)
    assert bench.count("upload") <= 6 + (len(data) // chunk + 4) * (fired + 1)
    assert len(bench.naps) <= 2 * fired


@pytest.mark.parametrize("dialect", DIALECTS)
def test_any_schedule_of_faults_ends_whole_or_in_an_honest_failure(
    dialect: Dialect,
) -> None:
    """250 random schedules; after a temporary failure the next run finishes the upload, without a
    second object.
    """

    @settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        schedule=faults(dialect), size=SIZES, chunk=CHUNKS, granularity=GRANULARITIES
    )
    def explore(
        schedule: list[dict[str, Any]], size: int, chunk: int | None, granularity: int
    ) -> None:
        data, journal = BYTES[:size], MemoryJournal()
        with Emulator(schedule, config={"granularity": granularity}) as emulator:
            bench = Bench(emulator, chunk=chunk, journal=journal)
            result = bench.send(job(data, dialect))
            event(type(result.failure).__name__)
            smallest = GRANULE if dialect == "content-range" else granularity
            check(
                bench,
                data,
                result.failure,
                result.bytes_resent,
                max(chunk or 8 << 20, smallest) // smallest * smallest,
            )
            if isinstance(result.failure, TemporaryError):
                emulator.faults.clear()
                again = Bench(emulator, chunk=chunk, journal=journal)
                assert (again.send(job(data, dialect)).error, again.stored()) == (
                    "",
                    [data],
                )

    explore()
