"""Several things at the same time: results in order, a limit, and the first failure."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest

from uploader.errors import Interrupted, ReleaseRefused, Stopped, TemporaryError
from uploader.tasks import check, together


def test_results_are_in_the_order_of_the_tasks() -> None:
    """Whichever ends first: here the last one lets the others go on."""
    gate = threading.Event()

    def first() -> str:
        assert gate.wait(10)
        return "first"

    def last() -> str:
        gate.set()
        return "last"

    assert together([first, last], at_once=2) == ["first", "last"]
    assert together([], at_once=2) == []


def test_no_more_than_the_limit_are_under_way() -> None:
    """The most that were seen at once, of twenty."""
    lock = threading.Lock()
    under_way: list[int] = []
    most: list[int] = []

    def task(number: int) -> int:
        with lock:
            under_way.append(number)
            most.append(len(under_way))
        with lock:
            under_way.remove(number)
        return number

    assert together([partial(task, number) for number in range(20)], at_once=3) == list(
        range(20)
    )
    assert max(most) <= 3


def test_after_a_failure_no_other_task_is_begun() -> None:
    """What is under way goes on to its end; the failure is raised once nothing is under way."""
    failed = threading.Event()
    ended: list[str] = []

    def slow() -> None:
        assert failed.wait(10)
        ended.append("slow")

    def failing() -> None:
        failed.set()
        raise KeyError("failing")

    def later() -> None:
        ended.append("later")

    with pytest.raises(KeyError, match="failing"):
        together([slow, failing, *[later] * 50], at_once=2)
    assert "slow" in ended
    assert len(ended) < 51


def test_the_first_failure_in_the_order_of_the_tasks_is_raised() -> None:
    """Both fail, the second one before the first."""
    second_failed = threading.Event()

    def first() -> None:
        assert second_failed.wait(10)
        raise KeyError("first")

    def second() -> None:
        second_failed.set()
        raise KeyError("second")

    with pytest.raises(KeyError, match="first"):
        together([first, second], at_once=2)


def test_a_failure_stops_what_is_under_way_at_its_next_step() -> None:
    """Also what a task of the group does together with others; outside nothing is stopped."""
    begun = threading.Barrier(3)
    failed = threading.Event()
    stopped: list[str] = []

    def go_on(name: str) -> None:
        begun.wait(10)
        assert failed.wait(10)
        for _ in range(1000):
            try:
                check()
            except Stopped:
                stopped.append(name)
                raise
            threading.Event().wait(0.01)

    def several() -> None:
        together([partial(go_on, "inner")], at_once=1)

    def failing() -> None:
        begun.wait(10)
        failed.set()
        raise KeyError("failing")

    tasks: list[Callable[[], None]] = [partial(go_on, "outer"), several, failing]
    with pytest.raises(KeyError, match="failing"):
        together(tasks, at_once=3)
    assert sorted(stopped) == ["inner", "outer"]
    check()


@pytest.mark.parametrize(
    ("failures", "raised"),
    [
        ([TemporaryError("Later."), ReleaseRefused("No.")], ReleaseRefused),
        ([ReleaseRefused("No."), Interrupted(15)], Interrupted),
        ([Stopped(), TemporaryError("Later.")], TemporaryError),
    ],
    ids=["refusal before trouble", "signal before refusal", "cause before consequence"],
)
def test_the_failure_that_counts_most_is_raised(
    failures: list[Exception], raised: type[Exception]
) -> None:
    """All fail at the same time."""
    meeting = threading.Barrier(len(failures))

    def fail(failure: Exception) -> None:
        meeting.wait(10)
        raise failure

    with pytest.raises(raised):
        together(
            [partial(fail, failure) for failure in failures], at_once=len(failures)
        )
