"""How many files may be in flight: the policy as data, against services that are limited in one way or another."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.transfer_harness import RecordingReporter
from uploader.http.messages import Response, TransportError
from uploader.transfer.concurrency import FIRST, MOST, Concurrency, asks_for_less, concurrency
from uploader.transfer.workers import Workers

KB = 1000


@dataclass(frozen=True)
class Service:
    """How long a file takes: each waits `latency` seconds for its answer; all share one line of `speed` bytes a second.

    `handshake` is what the first file of each connection waits besides.
    """

    latency: float = 0.05
    speed: float = 1e12
    handshake: float = 0.0


@dataclass(frozen=True)
class Course:
    """What came of many files: the seconds for all, and the number allowed when each of them ended."""

    seconds: float
    allowed: list[int]


def sent(service: Service, policy: Concurrency, sizes: list[int]) -> Course:
    """The files one behind the other, as many at once as the policy allows."""
    now, line_free, connections, waiting = 0.0, 0.0, 0, iter(sizes)
    under_way: list[tuple[float, int]] = []
    allowed = list[int]()
    policy.begin(now)
    while True:
        while len(under_way) < policy.allowed and (size := next(waiting, None)) is not None:
            fresh, connections = len(under_way) >= connections, max(connections, len(under_way) + 1)
            line_free = max(line_free, now) + size / service.speed
            heapq.heappush(under_way, (line_free + service.latency + fresh * service.handshake, size))
        if not under_way:
            return Course(now, allowed)
        now, size = heapq.heappop(under_way)
        policy.finished(now, size)
        allowed.append(policy.allowed)


@pytest.mark.parametrize("handshake", [0.0, 0.1], ids=["warm", "cold"])
def test_small_files_are_waited_for_by_more_and_more(handshake: float) -> None:
    """Where each answer takes its time the number doubles to the limit, with new connections' own waits as well."""
    course = sent(Service(handshake=handshake), concurrency(None), [KB] * 200)
    assert course.allowed[0] == FIRST
    assert max(course.allowed) == course.allowed[-1] == MOST
    rounds = 200 / MOST * 0.05 + handshake
    assert course.seconds < rounds + 4 * (0.05 + handshake)


def test_large_files_gain_nothing_by_more_of_them() -> None:
    """Where the line is full with four files, it stays at four, but for a trial now and then."""
    course = sent(Service(latency=0.01, speed=10e6), concurrency(None), [10_000 * KB] * 400)
    assert course.allowed.count(FIRST) > 300
    assert max(course.allowed) == 2 * FIRST


def test_growth_ends_where_the_line_is_full() -> None:
    """Where seven files fill the line, the number goes to eight or to the next doubling, and not on from there."""
    course = sent(Service(latency=0.03, speed=200 * KB), concurrency(None), [KB] * 4000)
    assert sum(number in (8, 16) for number in course.allowed) > 3800


def test_files_that_become_small_are_worth_another_trial() -> None:
    """A batch that begins with large files and goes on with small ones ends with many in flight."""
    course = sent(Service(latency=0.05, speed=10e6), concurrency(None), [10_000 * KB] * 20 + [KB] * 2000)
    assert course.allowed[-1] == MOST


def test_a_throttled_request_halves_the_number_and_growth_goes_on_by_one() -> None:
    """A burst of refusals counts once, a later one again; never below one; each quiet round then gives one more."""
    policy = concurrency(None)
    policy.begin(0.0)
    for _ in range(2):
        policy.throttled(now=1.0, began=0.5)
    assert policy.allowed == 2
    policy.throttled(now=2.0, began=1.5)
    policy.throttled(now=3.0, began=2.5)
    assert policy.allowed == 1
    now, found = 4.0, []
    for _ in range(10):
        now += 1 / policy.allowed
        policy.finished(now, KB)
        found.append(policy.allowed)
    assert found == [2, 2, 3, 3, 3, 4, 4, 4, 4, 5]


@pytest.mark.parametrize("number", [1, 4, 64])
def test_a_number_that_was_given_stays(number: int) -> None:
    """Neither speed nor refusals nor a service's own limit change what somebody chose."""
    policy = concurrency(number)
    policy.begin(0.0, 4)
    for moment in range(200):
        policy.finished(moment, KB)
        policy.throttled(moment, moment)
        assert policy.allowed == number


def test_a_service_has_a_limit_of_its_own() -> None:
    """What a service takes at once is the most for its files, and for no others."""
    policy = concurrency(None)
    policy.begin(0.0, 4)
    for moment in range(40):
        policy.finished(moment, KB)
    assert policy.allowed == 4
    policy.begin(100.0)
    for moment in range(8):
        policy.finished(100.0 + moment / 100, KB)
    assert policy.allowed == 8


steps = st.tuples(st.floats(0, 10), st.sampled_from(["finished", "throttled", "begin"]), st.integers(0, 1 << 40))


@given(st.lists(steps, max_size=300), st.none() | st.integers(1, 64))
def test_whatever_happens_the_number_keeps_its_limits(events: list[tuple[float, str, int]], number: int | None) -> None:
    """In any order of files, refusals and batches, however fast: from one to the most, and at most doubled at once."""
    policy, now = concurrency(number), 0.0
    least, most = (1, MOST) if number is None else (number, number)
    policy.begin(now)
    for seconds, event, size in events:
        now, before = now + seconds, policy.allowed
        if event == "finished":
            policy.finished(now, size)
        elif event == "throttled":
            policy.throttled(now, now - size % 10)
        else:
            policy.begin(now, size % 40 + 1)
        assert least <= policy.allowed <= most
        assert policy.allowed <= 2 * before
        assert event == "finished" or policy.allowed <= before


@pytest.mark.parametrize(
    ("response", "throttled"),
    [
        (Response(429), True),
        (Response(503), True),
        (Response(403, body=b'{"error": {"errors": [{"reason": "userRateLimitExceeded"}]}}'), True),
        (Response(403), False),
        (Response(500), False),
        (Response(200), False),
        (TransportError("reset", sent_whole=False), False),
    ],
    ids=str,
)
def test_what_asks_for_fewer_requests(response: Response | TransportError, *, throttled: bool) -> None:
    """Too many requests, a service without room, Google's 403 for a rate limit; no other failure."""
    assert asks_for_less(response) is throttled


# --- the threads ------------------------------------------------------------------------------------------------------


class Crowd:
    """Work that counts how many are at it at once, and on which threads."""

    def __init__(self, then: Callable[[int], int | None] = lambda place: place) -> None:
        self._then = then
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0
        self.done: list[int] = []
        self.threads: set[int] = set()

    def __call__(self, place: int) -> int | None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.done.append(place)
            self.threads.add(threading.get_ident())
        try:
            return self._then(place)
        finally:
            with self._lock:
                self._now -= 1


def workers(number: int | None, clock: Callable[[], float] = lambda: 0.0) -> tuple[Workers, RecordingReporter]:
    reporter = RecordingReporter()
    return Workers(concurrency(number), clock, reporter), reporter


@pytest.mark.parametrize("number", [1, 3, 8])
def test_all_is_done_once_by_no_more_threads_than_the_number(number: int) -> None:
    """However fast they are, as many threads as were asked for do everything, and they are used again."""
    crowd = Crowd()
    workers(number)[0].run(500, crowd, None)
    assert sorted(crowd.done) == list(range(500))
    assert crowd.most <= number
    assert len(crowd.threads) <= number


def test_the_threads_wait_for_one_another() -> None:
    """Thirty-two are really in flight at once: each of them waits until all the others are there."""
    together = threading.Barrier(32, timeout=20)
    crowd = Crowd(lambda place: together.wait() if place >= 28 else place)
    workers(None)[0].run(28 + 32, crowd, None)
    assert crowd.most == 32


def test_an_error_ends_the_batch() -> None:
    """After one that raises nothing else is begun, what is under way comes to its end, and the error is raised."""

    def fail(place: int) -> int:
        if place == 5:
            raise KeyError(place)
        return place

    crowd = Crowd(fail)
    with pytest.raises(KeyError):
        workers(2)[0].run(100_000, crowd, None)
    assert 6 <= len(crowd.done) < 50_000  # the other thread may have had the interpreter for a while before it knew


def test_threads_end_when_the_service_is_throttled() -> None:
    """Of four threads two go on after a 429, which is told in one line; growth is told to who looks for a fault."""
    some, reporter = workers(None)
    together = threading.Barrier(4)

    def throttled(place: int) -> int:
        together.wait(10)
        if place == 0:
            some.throttled(429, 0.0)
        together.wait(10)
        return 1

    some.run(4, throttled, None)
    assert reporter.infos == ["The server answered 429: 2 files in flight instead of 4."]
    assert reporter.debugs == ["3 files in flight instead of 2."]


def test_a_number_that_is_not_reached_is_not_told() -> None:
    """One file alone is in flight before and after a 503: there is nothing to say."""
    some, reporter = workers(None)
    some.run(1, lambda _: some.throttled(503, 0.0), None)
    assert reporter.infos == []


def test_nothing_is_told_of_a_refusal_outside_a_batch() -> None:
    """A call that is throttled while no file is in flight changes nothing."""
    some, reporter = workers(None)
    some.throttled(429, 0.0)
    crowd = Crowd()
    some.run(100, crowd, None)
    assert reporter.infos == []
