"""Puts a run together for its plan: first the login, whose token is sent for at once, then what can wait for it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from uploader import credentials
from uploader.cancellation import Cancellation
from uploader.clock import Clock
from uploader.credentials.login import Login
from uploader.http.client import HttpClient, Transport
from uploader.inputs import Inputs
from uploader.outputs import LogReporter
from uploader.plan import Plan
from uploader.retrier import RetryPolicy
from uploader.state.journal import FileJournal, Journal
from uploader.transfer import token_prefetch
from uploader.transfer.api_client import ApiClient, TransferSettings
from uploader.transfer.engine import Engine


class Parts(NamedTuple):
    """The inputs, the login, where its tokens come from, and how long a run tries again."""

    inputs: Inputs
    login: Login
    tokens: token_prefetch.Login
    policy: RetryPolicy


def login(
    plan: Plan, reporter: LogReporter, cancellation: Cancellation, stack: ExitStack, clock: Clock | None = None
) -> Parts:
    """Logs in for the plan, or for its rehearsal, which ends with `stack`. The clock is the system's own unless given.

    A refused login is raised by the tokens, where one is needed first.
    """
    inputs, source = plan.inputs, plan.source
    if plan.rehearsal:
        inputs, source = _rehearse(inputs, reporter, stack), None
    clock = clock or Clock(sleep=cancellation.sleep)
    made = credentials.load(
        inputs,
        plan.prepared.scopes,
        source=source,
        sleep=clock.sleep,
        random=clock.fraction,
        clock=clock.monotonic,
        on_secret=reporter.mask,
        direct=plan.rehearsal,
    )
    reporter.info(f"Acting as {made.account}.")
    policy = RetryPolicy(clock, cancellation, inputs.max_retries, inputs.retry_deadline)
    # Without scopes this job has nothing to do, and a token for nothing is refused.
    return Parts(inputs, made, token_prefetch.TokenPrefetch(made) if plan.prepared.scopes else made, policy)


def engine(
    plan: Plan, parts: Parts, reporter: LogReporter, stack: ExitStack, transport: Transport | None = None
) -> Engine:
    """An engine that is ready for the plan's flow; what it needs is closed with `stack`.

    The transport is the network's own unless given. Raises what the login raises in a dry run, which may have nothing
    else to ask.
    """
    inputs, policy = parts.inputs, parts.policy
    transport = transport or HttpClient(connections=inputs.concurrency, direct=plan.rehearsal)
    policy.cancellation.on_cancel(transport.abort)
    if inputs.dry_run and plan.prepared.scopes:
        parts.tokens.token()
    settings = _settings(parts)
    debug = reporter.debug if inputs.platform.debug else None
    client = ApiClient(transport, parts.tokens, policy, settings, debug)
    return Engine(client, settings, _journal(parts, reporter, stack), reporter, plan.prepared.limit)


def _rehearse(inputs: Inputs, reporter: LogReporter, stack: ExitStack) -> Inputs:
    """The same inputs against the embedded emulator with its own key: a real credential is not used, even if given."""
    from google_emulator import Emulator  # only a rehearsal pays for it

    emulator = stack.enter_context(Emulator())
    reporter.warning("This is a rehearsal against the embedded emulator: nothing is published.")
    return replace(
        inputs,
        api_endpoint=emulator.url,
        credentials=json.dumps(emulator.key),
        workload_identity_provider="",
        service_account="",
    )


def _settings(parts: Parts) -> TransferSettings:
    inputs = parts.inputs
    return TransferSettings(
        root=inputs.api_endpoint,
        protocol=inputs.upload_protocol,
        chunk_size=inputs.chunk_size,
        concurrency=inputs.concurrency,
        stall_timeout=inputs.stall_timeout,
        finalize_timeout=inputs.finalize_timeout,
        quota_project=parts.login.quota_project,
    )


def _journal(parts: Parts, reporter: LogReporter, stack: ExitStack) -> Journal:
    inputs, login = parts.inputs, parts.login
    if login.seal_key is None or inputs.state_dir is None:
        unsealed = "there is no lasting secret to seal them with; give one as `state-key`"
        why = unsealed if login.seal_key is None else "there is no folder for them; give one as `state-dir`"
        reporter.info(f"Unfinished uploads are not kept for a next run: {why}.")
        return Journal()
    # What was begun at one endpoint (an emulator) is nothing to go on with at another.
    whose = f"{login.account} at {inputs.api_endpoint}" if inputs.api_endpoint else login.account
    clock = parts.policy.clock
    journal = FileJournal(inputs.state_dir, login.seal_key, whose, clock.wall, reporter)
    stack.callback(journal.close)
    return journal
