"""The engine: what stands in a result, what is begun ahead, and how much is under way at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.transfer_harness import Bench, MemoryJournal, emulated, in_memory
from tests.support.transfer_harness import job as upload_of
from tests.transfer.test_api_client import AnsweringTransport
from uploader.errors import (
    ApiError,
    Interrupted,
    ReleaseRefused,
    Stopped,
    TemporaryError,
)
from uploader.http.messages import Response
from uploader.services.base import Call, Context, Outcome
from uploader.state.journal import SessionRecord

CONFLICT = Response(
    409,
    body=b'{"error": {"code": 409, "message": "Busy.", "errors": [{"reason": "conflict"}]}}',
)
STORED = Response(200, body=b'{"id": "1"}')


@pytest.mark.parametrize("max_retries", [1, 5])
def test_the_waits_for_a_conflict_are_in_the_result(max_retries: int) -> None:
    """An upload that starts over after a conflict was retried, whether it ends well or not."""
    transport = AnsweringTransport(CONFLICT, CONFLICT, STORED)
    bench = Bench(
        "https://things.googleapis.com",
        protocol="simple",
        max_retries=max_retries,
        transport=transport,
    )
    job = replace(upload_of(in_memory(b"x")), retry_on=lambda _: "It is being updated.")
    result = bench.send(job)
    assert (result.retries, bool(result.error)) == (
        (2, False) if max_retries == 5 else (1, True)
    )


def test_a_session_that_is_begun_ahead_is_used_by_the_upload() -> None:
    """One start, and no query for the offset; the bytes come with the upload."""
    with emulated() as bench:
        job = upload_of(in_memory(b"x" * 1000))

        def flow(context: Context) -> Outcome:
            context.begin(job)
            assert (bench.count("resumable.start"), bench.stored()) == (1, [])
            context.upload(job)
            return Outcome("done")

        bench.engine.run(flow)
        requests = [
            bench.count(f"resumable.{name}") for name in ("start", "query", "put")
        ]
        assert (requests, bench.stored()) == ([1, 0, 1], [b"x" * 1000])


def test_a_refused_start_is_told_by_the_upload() -> None:
    """Not by what began it, since it may turn out not to be needed; it is not tried twice."""
    fault = {"on": "resumable.start", "do": "status", "status": 403, "message": "No."}
    with emulated(fault) as bench:
        job = upload_of(in_memory(b"x"))

        def flow(context: Context) -> Outcome:
            context.begin(job)
            with pytest.raises(ApiError, match="No\\."):
                context.upload(job)
            return Outcome("done")

        bench.engine.run(flow)
        assert bench.count("resumable.start") == 1
        assert [
            result.failure is not None for result in bench.engine.record.results
        ] == [True]


def test_a_session_that_is_not_used_leaves_nothing_behind() -> None:
    """No result, and nothing in the journal for the next run."""
    journal = MemoryJournal()
    with emulated(journal=journal) as bench:
        job = upload_of(in_memory(b"x"))

        def flow(context: Context) -> Outcome:
            context.begin(job)
            assert journal.has(job)
            return Outcome("done")

        bench.engine.run(flow)
        assert (bench.engine.record.results, bench.stored()) == ([], [])
        assert not journal.has(job)


@pytest.mark.parametrize(
    ("failure", "cancelled"),
    [
        pytest.param(ReleaseRefused("Nobody would be offered it."), 1, id="refusal"),
        pytest.param(TemporaryError("The service is down."), 0, id="service down"),
        pytest.param(Interrupted(15), 0, id="signal"),
    ],
)
def test_a_session_that_a_refused_run_does_not_use_is_cancelled(
    failure: Exception, cancelled: int
) -> None:
    """A service that is down is not waited for once more, nor does a signal wait."""
    with emulated() as bench:
        job = upload_of(in_memory(b"x"))

        def flow(context: Context) -> Outcome:
            context.begin(job)
            raise failure

        with pytest.raises(type(failure)):
            bench.engine.run(flow)
        assert (bench.count("resumable.cancel"), bench.stored()) == (cancelled, [])


def test_what_an_earlier_run_has_begun_is_not_begun_anew() -> None:
    """Its session is continued by the upload."""
    journal = MemoryJournal()
    with emulated(journal=journal) as bench:
        job = upload_of(in_memory(b"x"))
        journal.save(
            job, SessionRecord("https://things.googleapis.com/upload/1", 262144)
        )

        def flow(context: Context) -> Outcome:
            context.begin(job)
            return Outcome("done")

        bench.engine.run(flow)
        assert bench.count("resumable.start") == 0


class Counting(AnsweringTransport):
    """Lets each request wait for one more than there may be, and counts the most that came."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.most = 0
        self._limit = limit
        self._now = 0
        self._change = threading.Condition()

    def send(self, *_: Any) -> Response:
        """The answer, after a moment in which others may come."""
        with self._change:
            self._now += 1
            self.most = max(self.most, self._now)
            self._change.notify_all()
            self._change.wait_for(lambda: self.most > self._limit, 0.3)
            self._now -= 1
        return STORED


@pytest.mark.parametrize(
    ("changes", "most"), [("edits/1", 4), ("", 16)], ids=["edit", "reads"]
)
def test_few_requests_change_the_same_thing_at_once(changes: str, most: int) -> None:
    """Google Play refuses changes of an edit that meet; what changes nothing has another limit."""
    transport = Counting(most)
    bench = Bench("https://things.googleapis.com", transport=transport)
    call = Call(
        "PUT", "https://things.googleapis.com", "/things", json={}, changes=changes
    )

    def flow(context: Context) -> Outcome:
        calls: list[Callable[[], object]] = [partial(context.call, call)] * (most + 4)
        context.together(calls)
        return Outcome("done")

    bench.engine.run(flow)
    assert transport.most == most


def test_a_refusal_ends_an_upload_that_was_begun_together_with_it() -> None:
    """At its next block: the rest of a large file is not sent for nothing."""
    size = 8 * 1024 * 1024
    with Emulator(config={"read_rate": 1024 * 1024.0}) as emulator:
        bench = Bench(emulator)
        sent = threading.Event()
        bench.reporter.hook = lambda position: sent.set() if position else None
        job = upload_of(in_memory(b"x" * size))

        def refuse() -> None:
            assert sent.wait(10)
            raise KeyError("refused")

        def flow(context: Context) -> Outcome:
            work: list[Callable[[], object]] = [partial(context.upload, job), refuse]
            context.together(work)
            return Outcome("done")

        with pytest.raises(KeyError, match="refused"):
            bench.engine.run(flow)
        (result,) = bench.engine.record.results
        assert isinstance(result.failure, Stopped)
        assert bench.stored() == []
