"""The session that an earlier run began: whether this run may continue it, and what the first answer about it means.

What a run had sent when it ended is known where it could still write it down; a killed run may have sent everything.
"""

from __future__ import annotations

from uploader.errors import OutcomeUnknown
from uploader.http.hosts import trusted
from uploader.protocol.session import Completed, Event, OffsetUnknown, Rejected, Session, SessionLost, Stored
from uploader.state.journal import Journal, SessionRecord
from uploader.transfer.file_source import FileSource
from uploader.transfer.file_transfer import FileTransfer


def find(transfer: FileTransfer, journal: Journal, source: FileSource) -> SessionRecord | None:
    """The session that may be continued with this file and this server: what was sealed is checked, too."""
    record = journal.find(transfer.job)
    if record is None:
        return None
    if not trusted(record.uri, transfer.media.url):
        transfer.info("An earlier run began this upload on another host; starting over.")
        return None
    recognised = record.sample == source.sample() and (
        record.same_file or not record.length or source.begins_with(record.length, record.prefix)
    )
    if not recognised:
        transfer.info("The file's content is not what an earlier run began to upload; starting over.")
        return None
    transfer.redact(record.uri)
    transfer.info("An earlier run began this upload; asking the server how far it came.")
    return record


def unconfirmed(record: SessionRecord, size: int) -> OffsetUnknown | None:
    """That all `size` bytes may have been sent; None where the last run wrote down that it had sent fewer."""
    known = record.prefix and record.length < size
    return None if known else OffsetUnknown("an earlier run may have sent all of it")


def checked(transfer: FileTransfer, record: SessionRecord, session: Session, event: Event) -> Event:
    """The first answer about the session, which is lost unless it is there and surely this file's.

    One that is complete is this run's only if this run began it. Raises `OutcomeUnknown` where it can't be told whether
    the session was this run's, and sending the file again could add it twice.
    """
    stored = event.offset if isinstance(event, Stored) else session.size if isinstance(event, Completed) else 0
    if isinstance(event, Rejected):
        return SessionLost("the session of the earlier run is no longer accepted")
    if stored and not record.same_file and stored > record.length:
        why = "the server holds bytes that can't be compared with this file"
    elif isinstance(event, Completed) and not record.own_run:
        why = "another run began it"
    else:
        return event
    if isinstance(event, Completed) and not transfer.job.endpoint.idempotent:
        raise in_doubt(transfer.name, f"an upload of it that {record.origin} began is complete, but {why}")
    return SessionLost(why)


def in_doubt(name: str, how: str) -> OutcomeUnknown:
    """The error for a file that an earlier run may have sent; `how` it looks now is the middle of a sentence."""
    return OutcomeUnknown(
        f"It is not known whether {name} still has to be sent: {how}.",
        cause="That run ended before it could report success, or `state-dir` was restored to an older state.",
        hint="Check what the service has. If the file is missing there, run again: it will then be sent.",
    )
