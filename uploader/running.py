"""Puts a run together for one plan and whoever acts: patience, transport, journal and driver."""

from __future__ import annotations

from contextlib import ExitStack

from uploader.acting import Acting
from uploader.journal import FileJournal, Journal, NoJournal
from uploader.outputs import Voice
from uploader.plan import Plan
from uploader.transfer.driver import Driver
from uploader.transfer.stop import Stop
from uploader.transfer.waiting import Patience
from uploader.transfer.wire import Settings, Wire
from uploader.transport import Requests, Transport


def prepare(
    plan: Plan, acting: Acting, speak: Voice, stop: Stop, stack: ExitStack, transport: Transport | None = None
) -> Driver:
    """A driver that is ready for the plan's flow; what it needs is closed with `stack`.

    The transport is the network's own unless given. Raises what the login raises in a dry run, which may have nothing
    else to ask.
    """
    asked = acting.inputs
    transport = transport or Requests(connections=asked.concurrency, direct=plan.rehearsal)
    stop.when_set(transport.abort)
    if asked.dry_run and plan.prepared.scopes:
        acting.tokens.token()
    patience = Patience(acting.clock, stop, asked.max_retries, asked.retry_deadline)
    settings = _settings(acting)
    wire = Wire(transport, acting.tokens, patience, settings, speak.debug if asked.platform.debug else None)
    return Driver(wire, settings, _journal(acting, speak, stack), speak, plan.prepared.limit)


def _settings(acting: Acting) -> Settings:
    asked = acting.inputs
    return Settings(
        root=asked.api_endpoint,
        protocol=asked.upload_protocol,
        chunk_size=asked.chunk_size,
        concurrency=asked.concurrency,
        stall_timeout=asked.stall_timeout,
        finalize_timeout=asked.finalize_timeout,
        quota_project=acting.login.quota_project,
    )


def _journal(acting: Acting, speak: Voice, stack: ExitStack) -> Journal:
    asked, login = acting.inputs, acting.login
    if login.seal_key is None or asked.state_dir is None:
        unsealed = "there is no lasting secret to seal them with; give one as `state-key`"
        why = unsealed if login.seal_key is None else "there is no folder for them; give one as `state-dir`"
        speak.info(f"Unfinished uploads are not kept for a next run: {why}.")
        return NoJournal()
    # What was begun at one endpoint (an emulator) is nothing to go on with at another.
    whose = f"{login.account} at {asked.api_endpoint}" if asked.api_endpoint else login.account
    journal = FileJournal(asked.state_dir, login.seal_key, whose, acting.clock.wall, speak.warning, speak.info)
    stack.callback(journal.close)
    return journal
