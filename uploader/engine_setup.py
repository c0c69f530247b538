"""Puts the engine of a run together, once the login is made: what it needs, and what it keeps for a next run."""

from __future__ import annotations

import os
from pathlib import Path

from uploader.authentication import Authenticated
from uploader.outputs import LogReporter
from uploader.plan import Plan
from uploader.state.journal import Journal
from uploader.transfer.api_client import ApiClient, TransferSettings
from uploader.transfer.engine import Engine


def engine(plan: Plan, parts: Authenticated, reporter: LogReporter) -> Engine:
    """An engine that is ready for the plan's flow; `Engine.clear_journal` closes what it keeps.

    Raises what the login raises in a dry run, which may have nothing else to ask.
    """
    inputs = parts.inputs
    if inputs.dry_run and plan.prepared.scopes:
        parts.login.token()
    settings = TransferSettings(
        root=inputs.api_endpoint,
        protocol=inputs.upload_protocol,
        chunk_size=inputs.chunk_size,
        concurrency=inputs.concurrency,
        stall_timeout=inputs.stall_timeout,
        finalize_timeout=inputs.finalize_timeout,
        quota_project=parts.login.quota_project,
    )
    debug = reporter.debug if inputs.platform.debug else None
    client = ApiClient(parts.client, parts.login, parts.policy, settings, debug)
    return Engine(client, settings, _journal(parts, reporter, rehearsal=plan.inputs.rehearsal), reporter)


def _journal(parts: Authenticated, reporter: LogReporter, *, rehearsal: bool) -> Journal:
    inputs, login = parts.inputs, parts.login
    folder = None if rehearsal else inputs.state_dir  # the emulator ends with this run, and all that it holds
    if not rehearsal and (login.seal_key is None or folder is None):
        unsealed = "there is no lasting secret to encrypt them with; set `state-key`"
        why = unsealed if login.seal_key is None else "there is no folder to keep them in; set `state-dir`"
        reporter.info(f"Unfinished uploads can't be resumed by a later run: {why}.")
        folder = None
    # What was begun at one endpoint (an emulator) is nothing to go on with at another.
    whose = f"{login.account} at {inputs.api_endpoint}" if inputs.api_endpoint else login.account
    wall_clock, run = parts.policy.clock.wall, inputs.platform.run
    owners = workspace_owners(inputs.platform.workspace)
    return Journal(folder, login.seal_key or b"", whose, wall_clock, reporter, run, owners)


def workspace_owners(workspace: Path) -> tuple[int, ...]:
    """Whose folder the state may be in besides our own: a workspace that can't be looked at has no owner.

    The container's root works for the user whose workspace it is, to whom a restored cache belongs.
    """
    try:
        return () if os.geteuid() else (workspace.stat().st_uid,)
    except OSError:
        return ()
