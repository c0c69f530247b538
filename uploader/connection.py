"""Connect a run to the service: log in, and make the engine for its flow."""

from __future__ import annotations

import os
from pathlib import Path

from uploader.auth import credentials
from uploader.auth.credentials import ParsedCredentials
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
    """Log in, and return an engine that is ready for the plan's flow.

    `inputs` are those of the plan, or in a rehearsal those that lead to the emulator. The first
    token is fetched here for the machine's own credentials, to see whether it has any, and in a dry
    run, in case that sends no request. Raises the error that keeps the run from logging in; its
    advice names what an earlier run may have done.
    """
    settings = inputs.record(TransferInputs)
    endpoint = settings.api_endpoint
    if endpoint and not is_google(endpoint):
        reporter.info(f"API requests go to {endpoint} instead of Google's own servers.")
    if client is None:
        client = HttpClient(connections=settings.concurrency or MAX_IN_FLIGHT)
    proxy = proxy_for(endpoint or GOOGLE)
    if proxy:
        reporter.info(f"Requests go through {describe_proxy(proxy)}.")
    cancellation.on_cancel(client.abort)
    policy = RetryPolicy(
        clock,
        cancellation,
        settings.max_retries,
        settings.retry_deadline,
    )
    login_inputs = inputs.record(LoginInputs)
    source = plan.source or credentials.parse(login_inputs)
    try:
        login = _log_in(plan, inputs, source, client, policy, reporter)
    except UploaderError as error:
        account = account_of(login_inputs, source)
        unsettled = _recall_unsettled(
            plan, inputs, account, source.lasting, clock, reporter
        )
        raise error.with_advice(also=unsettled) from error
    debug = reporter.debug if inputs.platform.debug else None
    api = ApiClient(client, login, policy, settings, debug)
    # The emulator of a rehearsal ends with this run, and all that it holds.
    rehearsal = plan.inputs.common.rehearsal
    quiet = rehearsal or not plan.prepared.sends_files
    journal = _open_journal(
        inputs,
        login.account,
        source.lasting,
        clock,
        reporter,
        quiet=quiet,
        kept=not rehearsal,
    )
    return Engine(api, settings, journal, reporter)


def _log_in(
    plan: Plan,
    inputs: Inputs,
    source: ParsedCredentials,
    client: HttpClient,
    policy: RetryPolicy,
    reporter: LogReporter,
) -> Login:
    """Return the login of the run; see `connect` for its first token."""
    scopes = plan.prepared.scopes
    login = Login(
        inputs.record(LoginInputs),
        source,
        scopes,
        client,
        policy,
        lambda wait: reporter.info(str(wait)),
        reporter.mask,
    )
    # Without scopes the job asks nothing of the service.
    if not scopes:
        return login
    if source.kind == credentials.DEFAULT:
        # Fails if this machine has no credentials.
        login.token()
    reporter.info(f"Acting as {login.account}.")
    # A dry run perhaps sends no other request. A check does, and reports a refusal in its table.
    if inputs.common.dry_run and inputs.common.target != "check":
        login.token()
    return login


def _recall_unsettled(
    plan: Plan,
    inputs: Inputs,
    account: str,
    lasting: bytes | None,
    clock: Clock,
    reporter: LogReporter,
) -> str:
    """Return what an earlier run may have done, as far as the journal shows it without a login."""
    if plan.inputs.common.rehearsal:
        return ""
    state = inputs.record(RunInputs)
    has_folder = state.state_dir is not None and state.state_dir.is_dir()
    has_key = bool(state.state_key or lasting)
    if not has_folder or not has_key:
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
    """Open the journal, which keeps unfinished uploads for the next run; `Engine.clear_journal`
    closes it.

    With `kept` false nothing is left on disk. A `quiet` run does not log that nothing is kept.
    """
    state = inputs.record(RunInputs)
    key = make_seal_key(state.state_key, lasting, account)
    folder: Path | None = None
    if kept and key is not None:
        folder = state.state_dir
    if folder is None and not quiet:
        why = "there is no folder to keep them in; set `state-dir`"
        if key is None:
            why = "there is no lasting secret to encrypt them with; set `state-key`"
        reporter.info(f"Unfinished uploads can't be resumed by a later run: {why}.")
    # What was begun at one endpoint (such as an emulator) can't be continued at another.
    endpoint = inputs.common.api_endpoint
    owner = account
    if endpoint:
        owner = f"{account} at {endpoint}"
    workspace = inputs.platform.workspace
    store = SealedStore(
        folder,
        key or b"",
        owner,
        clock,
        reporter,
        *_owners(workspace),
        workspace=Workspace(workspace),
    )
    return Journal(store, inputs.platform.run, lasting=state.lasting_state)


def _owners(workspace: Path) -> tuple[int, ...]:
    """Return the users besides our own who may own the state folder.

    In a container, root works for the user who owns the workspace, and a restored cache belongs to
    that user. If the owner of the workspace can't be read there is none.
    """
    if os.geteuid() != 0:
        return ()
    try:
        return (workspace.stat().st_uid,)
    except OSError:
        return ()
