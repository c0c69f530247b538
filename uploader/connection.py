"""Connects a run to the service: logs in, and makes the engine that its flow is given."""

from __future__ import annotations

import os
from pathlib import Path

from uploader.auth import credential_source
from uploader.auth.google import Login, account_of
from uploader.cancellation import Cancellation
from uploader.clock import Clock
from uploader.errors import UploaderError
from uploader.files.workspace import Workspace
from uploader.hosts import is_google
from uploader.http.client import HttpClient
from uploader.http.environment import describe_proxy, proxy_for
from uploader.inputs import Inputs
from uploader.inputs.records import LoginInputs, RunInputs, TransferInputs
from uploader.outputs import LogReporter
from uploader.plan import Plan
from uploader.retry import RetryPolicy
from uploader.state.journal import Journal
from uploader.state.sealed_store import SealedStore, make_seal_key
from uploader.transfer.api_client import ApiClient
from uploader.transfer.engine import MAX_IN_FLIGHT, Engine

GOOGLE = "https://www.googleapis.com"


def connect(
    plan: Plan,
    inputs: Inputs,
    reporter: LogReporter,
    cancellation: Cancellation,
    clock: Clock,
    client: HttpClient | None = None,
) -> Engine:
    """Return an engine that is ready for the plan's flow. The first token is fetched where one is
    needed first.

    `inputs` are those of the plan, or in a rehearsal those that lead to the emulator. Raises what
    keeps the run from logging in, with what an earlier run may have done.
    """
    scopes = plan.prepared.scopes
    settings = inputs.record(TransferInputs)
    endpoint = settings.api_endpoint
    if endpoint and not is_google(endpoint):
        reporter.info(f"API requests go to {endpoint} instead of Google's own servers.")
    client = client or HttpClient(connections=settings.concurrency or MAX_IN_FLIGHT)
    if proxy := proxy_for(endpoint or GOOGLE):
        reporter.info(f"Requests go through {describe_proxy(proxy)}.")
    cancellation.on_cancel(client.abort)
    policy = RetryPolicy(clock, cancellation, settings.max_retries, settings.retry_deadline)
    asked = inputs.record(LoginInputs)
    source = plan.source or credential_source.parse(asked)
    try:
        login = Login(
            asked,
            source,
            scopes,
            client,
            policy,
            lambda wait: reporter.info(str(wait)),
            reporter.mask,
        )
        if scopes and source.kind == credential_source.DEFAULT:
            login.token()  # which tells whether this machine has credentials
        if scopes:  # without any a job has nothing to do
            reporter.info(f"Acting as {login.account}.")
        # A dry run may have nothing else to ask; a check has, and reports a refusal in its table.
        if scopes and inputs.common.dry_run and inputs.common.target != "check":
            login.token()
    except UploaderError as error:
        account = account_of(asked, source)
        unsettled = _unsettled(plan, inputs, account, source.lasting, clock, reporter)
        raise error.with_advice(also=unsettled) from error
    debug = reporter.debug if inputs.platform.debug else None
    api = ApiClient(client, login, policy, settings, debug)
    # The emulator of a rehearsal ends with this run, and all that it holds.
    rehearsal = plan.inputs.common.rehearsal
    quiet = rehearsal or not plan.prepared.sends_files
    journal = _open_journal(
        inputs, login.account, source.lasting, clock, reporter, quiet=quiet, kept=not rehearsal
    )
    return Engine(api, settings, journal, reporter)


def _unsettled(
    plan: Plan,
    inputs: Inputs,
    account: str,
    lasting: bytes | None,
    clock: Clock,
    reporter: LogReporter,
) -> str:
    """Say what an earlier run may have done, as far as the journal of a run without a login tells
    it.
    """
    state = inputs.record(RunInputs)
    rehearsal = plan.inputs.common.rehearsal
    if rehearsal or not (state.state_dir and state.state_dir.is_dir()):
        return ""
    if not (state.state_key or lasting):
        return ""
    journal = _open_journal(inputs, account, lasting, clock, reporter)
    unsettled = plan.prepared.unsettled(journal.recall)
    journal.close()
    return unsettled


def _open_journal(
    inputs: Inputs,
    account: str,
    lasting: bytes | None,
    clock: Clock,
    reporter: LogReporter,
    *,
    quiet: bool = False,
    kept: bool = True,
) -> Journal:
    """Open where unfinished uploads are kept for a next run; `Engine.clear_journal` closes it.

    With `kept` false nothing is left on disk. A `quiet` run does not say where nothing is kept.
    """
    state = inputs.record(RunInputs)
    key = make_seal_key(state.state_key, lasting, account)
    folder = state.state_dir if kept and key is not None else None
    if folder is None and not quiet:
        why = "there is no folder to keep them in; set `state-dir`"
        if key is None:
            why = "there is no lasting secret to encrypt them with; set `state-key`"
        reporter.info(f"Unfinished uploads can't be resumed by a later run: {why}.")
    # What was begun at one endpoint (an emulator) is nothing to go on with at another.
    endpoint = inputs.common.api_endpoint
    whose = f"{account} at {endpoint}" if endpoint else account
    workspace = inputs.platform.workspace
    store = SealedStore(
        folder,
        key or b"",
        whose,
        clock,
        reporter,
        *_owners(workspace),
        workspace=Workspace(workspace),
    )
    return Journal(store, inputs.platform.run, lasting=state.lasting_state)


def _owners(workspace: Path) -> tuple[int, ...]:
    """Whose folder the state may be in besides our own: a workspace that can't be looked at has no
    owner.

    The container's root works for the user whose workspace it is, to whom a restored cache belongs.
    """
    try:
        return () if os.geteuid() else (workspace.stat().st_uid,)
    except OSError:
        return ()
