"""Who acts in a run: the login of its plan, and the first token sent for while the rest of the run is still loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from uploader import credentials
from uploader.credentials.login import Login
from uploader.inputs import Inputs
from uploader.outputs import Voice
from uploader.plan import Plan
from uploader.transfer import ahead
from uploader.transfer.stop import Stop
from uploader.transfer.waiting import Clock


class Acting(NamedTuple):
    """What was asked, as whom it is done, where the tokens come from, and by which clock."""

    inputs: Inputs
    login: Login
    tokens: ahead.Login
    clock: Clock


def begin(plan: Plan, speak: Voice, stop: Stop, stack: ExitStack, clock: Clock | None = None) -> Acting:
    """Logs in for the plan, or for its rehearsal, which ends with `stack`. The clock is the system's own unless given.

    A refused login is raised by the tokens, where one is needed first.
    """
    asked, source = plan.inputs, plan.source
    if plan.rehearsal:
        asked, source = _rehearse(asked, speak, stack), None
    clock = clock or Clock(sleep=stop.sleep)
    login = credentials.load(
        asked,
        plan.prepared.scopes,
        source=source,
        sleep=_sleep(clock, stop),
        random=clock.fraction,
        clock=clock.monotonic,
        on_secret=speak.mask,
        direct=plan.rehearsal,
    )
    speak.info(f"Acting as {login.account}.")
    # Without scopes this job has nothing to do, and a token for nothing is refused.
    return Acting(asked, login, ahead.Ahead(login) if plan.prepared.scopes else login, clock)


def _rehearse(asked: Inputs, speak: Voice, stack: ExitStack) -> Inputs:
    """The same inputs against the embedded emulator with its own key: a real credential is not used, even if given."""
    from uploader.emulator import Emulator  # only a rehearsal pays for it

    emulator = stack.enter_context(Emulator())
    speak.warning("This is a rehearsal against the embedded emulator: nothing is published.")
    return replace(
        asked,
        api_endpoint=emulator.url,
        credentials=json.dumps(emulator.key),
        workload_identity_provider="",
        service_account="",
    )


def _sleep(clock: Clock, stop: Stop) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        stop.check()

    return sleep
