"""One step, repeated while Play says that somebody else is changing the same thing."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from typing import Any, TypeAlias, TypeVar

from uploader.errors import Refused, TemporaryError
from uploader.services.base import Call, Pause, Step, Upload
from uploader.services.play.troubles import EDIT_GONE, find

T = TypeVar("T")
Steps: TypeAlias = Generator[Step, Any, T]


def patiently(step: Call | Upload, tries: int) -> Steps[Any]:
    """The step's answer, after at most `tries` waits on 409. Raises TemporaryError when they are spent.

    Google documents 409 as a concurrent update that is to be repeated with exponential backoff (REST resource: edits).
    """
    for attempt in count(1):
        try:
            return (yield step)
        except Refused as refused:
            if refused.status != 409 or find(refused) is EDIT_GONE:
                raise
            if attempt > tries:
                raise TemporaryError(
                    f"{refused.what} It stayed so after {attempt} attempts.",
                    cause="Another program, or somebody in the Play Console, is changing the same app.",
                    cure="Run again when that has ended.",
                ) from refused
        yield Pause(attempt, "something else is changing the same app")
    raise AssertionError  # the loop has no other end
