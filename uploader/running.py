"""Puts the machinery of a run together: clock, signals, login, transport, journal and driver, for one plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from uploader import credentials
from uploader.credentials.login import Login
from uploader.inputs import Inputs
from uploader.journal import FileJournal, Journal, NoJournal
from uploader.outputs import Voice
from uploader.plan import Plan
from uploader.transfer.driver import Driver
from uploader.transfer.stop import Stop
from uploader.transfer.waiting import Clock, Patience
from uploader.transfer.wire import Settings, Wire
from uploader.transport import Requests, Transport


def prepare(
    plan: Plan,
    speak: Voice,
    stop: Stop,
    stack: ExitStack,
    *,
    clock: Clock | None = None,
    transport: Transport | None = None,
) -> Driver:
    """A driver that is ready for the plan's flow; what it needs is closed with `stack`.

    `clock` and `transport` are the system's own unless given.
    """
    asked, source = plan.inputs, plan.source
    if plan.rehearsal:
        asked, source = _rehearse(asked, speak, stack), None
    clock = clock or Clock(sleep=stop.sleep)
    patience = Patience(clock, stop, asked.max_retries, asked.retry_deadline)
    transport = transport or Requests(connections=asked.concurrency, direct=plan.rehearsal)
    stop.when_set(transport.abort)
    load = partial(credentials.load, sleep=_sleep(clock, stop), random=clock.fraction, clock=clock.monotonic)
    login = load(asked, plan.prepared.scopes, source=source, on_secret=speak.mask)
    speak.info(f"Acting as {login.account}.")
    if asked.dry_run and plan.prepared.scopes:  # none: this job has nothing to do, and a token for nothing is refused
        login.token()
    settings = _settings(asked, login)
    wire = Wire(transport, login, patience, settings, speak.debug if asked.platform.debug else None)
    return Driver(wire, settings, _journal(asked, login, clock, speak, stack), speak, plan.prepared.limit)


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


def _settings(asked: Inputs, login: Login) -> Settings:
    return Settings(
        root=asked.api_endpoint,
        protocol=asked.upload_protocol,
        chunk_size=asked.chunk_size,
        concurrency=asked.concurrency,
        stall_timeout=asked.stall_timeout,
        finalize_timeout=asked.finalize_timeout,
        quota_project=login.quota_project,
    )


def _sleep(clock: Clock, stop: Stop) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        stop.check()

    return sleep


def _journal(asked: Inputs, login: Login, clock: Clock, speak: Voice, stack: ExitStack) -> Journal:
    if login.seal_key is None or asked.state_dir is None:
        unsealed = "there is no lasting secret to seal them with; give one as `state-key`"
        why = unsealed if login.seal_key is None else "there is no folder for them; give one as `state-dir`"
        speak.info(f"Unfinished uploads are not kept for a next run: {why}.")
        return NoJournal()
    # What was begun at one endpoint (an emulator) is nothing to go on with at another.
    whose = f"{login.account} at {asked.api_endpoint}" if asked.api_endpoint else login.account
    journal = FileJournal(asked.state_dir, login.seal_key, whose, clock.wall, speak.warning, speak.info)
    stack.callback(journal.close)
    return journal
