"""Logs in for a plan, or for its rehearsal."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace

from uploader.auth import source as credential_source
from uploader.auth.google import Login
from uploader.cancellation import Cancellation
from uploader.clock import Clock
from uploader.http.client import HttpClient, Transport
from uploader.http.hosts import is_google
from uploader.inputs import Inputs
from uploader.outputs import LogReporter
from uploader.plan import Plan
from uploader.retry import RetryPolicy
from uploader.transfer.engine import MAX_IN_FLIGHT


@dataclass(frozen=True)
class Authenticated:
    """What was asked, as whom it is done, how a run sends requests and tries again."""

    inputs: Inputs
    login: Login
    client: Transport
    policy: RetryPolicy


def authenticate(
    plan: Plan,
    reporter: LogReporter,
    cancellation: Cancellation,
    stack: ExitStack,
    *,
    clock: Clock | None = None,
    client: Transport | None = None,
) -> Authenticated:
    """Logs in for the plan, or for its rehearsal, which ends with `stack`.

    The clock and the client are the system's own unless given. A refused login is raised by the tokens, where one is
    needed first.
    """
    inputs, source = plan.inputs, plan.source
    if plan.inputs.rehearsal:
        inputs, source = _rehearse(inputs, reporter, stack), None
    if inputs.api_endpoint and not is_google(inputs.api_endpoint):
        reporter.info(f"API requests go to {inputs.api_endpoint} instead of Google's own servers.")
    client = client or HttpClient(connections=inputs.concurrency or MAX_IN_FLIGHT, direct=plan.inputs.rehearsal)
    cancellation.on_cancel(client.abort)
    policy = RetryPolicy(clock or Clock(cancellation.sleep), cancellation, inputs.max_retries, inputs.retry_deadline)
    source = source or credential_source.parse(inputs)
    scopes, report = plan.prepared.scopes, lambda wait: reporter.info(str(wait))
    made = Login(inputs, source, scopes, client, policy, report, reporter.mask)
    reporter.info(f"Acting as {made.account}.")
    return Authenticated(inputs, made, client, policy)


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
