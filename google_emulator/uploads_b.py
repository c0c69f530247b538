"""Uploads in the dialect of the `X-Goog-Upload-*` headers: multipart, and start, upload, finalize, query, cancel.

Every request is a POST, every answer says in X-Goog-Upload-Status whether the session is active, final or cancelled.
"""

from __future__ import annotations

from urllib.parse import urlencode

from google_emulator.answers import Answer, Refusal
from google_emulator.exchange import Exchange
from google_emulator.router import UploadMethod
from google_emulator.sessions import Session, find_session, open_session
from google_emulator.uploads_a import multipart, read_metadata

STEPS = ("goog.multipart", "goog.start", "goog.upload", "goog.finalize", "goog.query", "goog.cancel")
PREFIX = "X-Goog-Upload-"


def speaks(x: Exchange) -> bool:
    """Whether a request is of this dialect."""
    return bool(x.header(PREFIX + "Protocol") or x.header(PREFIX + "Command"))


def _commands(x: Exchange) -> list[str]:
    return [word.strip().lower() for word in x.header(PREFIX + "Command").split(",") if word.strip()]


def steps_of(x: Exchange) -> set[str]:
    """The protocol step of a request, by its headers alone; `upload, finalize` is both."""
    if x.header(PREFIX + "Protocol").lower() == "multipart":
        return {"goog.multipart"}
    return {f"goog.{command}" for command in _commands(x)} & set(STEPS)


def upload(x: Exchange, method: UploadMethod) -> Answer:
    """Carries out one upload request of this dialect."""
    if x.method != "POST":
        raise Refusal(405, "Every command is a POST.", "httpMethodNotAllowed")
    if "upload_id" in x.query:
        return _command(x, find_session(x), _commands(x))
    protocol = x.header(PREFIX + "Protocol").lower()
    if protocol == "multipart":
        answer = multipart(x, method)
        answer.put(PREFIX + "Status", "final")
        return answer
    if protocol == "resumable" and _commands(x) == ["start"]:
        return _start(x, method)
    raise Refusal(400, "X-Goog-Upload-Protocol must be multipart, or resumable with the command start.")


def _number(x: Exchange, name: str) -> int | None:
    text = x.header(name)
    if not text:
        return None
    if not text.isdecimal():
        raise Refusal(400, f"Invalid {name}: {text!r}.")
    return int(text)


def _start(x: Exchange, method: UploadMethod) -> Answer:
    read_metadata(x)
    content_type = x.header(PREFIX + "Header-Content-Type") or "application/octet-stream"
    total = _number(x, PREFIX + "Header-Content-Length")
    try:
        session = open_session(x, method, dialect="goog", content_type=content_type, total=total)
    except Refusal as refusal:
        answer = refusal.answer()
        answer.put(PREFIX + "Status", "final")
        return answer
    base = x.world.base if x.world.config.upload_url_scheme else x.world.base.partition("://")[2]
    url = f"{base}{x.path}?" + urlencode({"upload_id": session.id, "upload_protocol": "resumable"})
    answer = _status(x, session, Answer())
    answer.drop(PREFIX + "Size-Received")
    answer.put(PREFIX + "URL", url)
    answer.put(PREFIX + "Control-URL", url)
    return answer


def _status(x: Exchange, session: Session, answer: Answer) -> Answer:
    """The answer with the session's state written over it."""
    word = {"open": "active", "cancelled": "cancelled"}.get(session.state, "final")
    answer.put(PREFIX + "Status", word)
    if session.state == "open":
        answer.put(PREFIX + "Size-Received", str(session.blob.size))
        answer.put(PREFIX + "Chunk-Granularity", str(x.world.config.granularity))
    return answer


def _command(x: Exchange, session: Session, commands: list[str]) -> Answer:
    if session.dialect != "goog":
        raise Refusal(400, "The session speaks the other protocol.")
    try:
        answer = _carry_out(x, session, commands)
    except Refusal as refusal:
        answer = refusal.answer()
    return _status(x, session, answer)


def _carry_out(x: Exchange, session: Session, commands: list[str]) -> Answer:
    if commands == ["query"]:
        return _query(x, session)
    if commands == ["cancel"]:
        return _cancel(session)
    if commands not in (["upload"], ["finalize"], ["upload", "finalize"]):
        raise Refusal(400, f"Unknown X-Goog-Upload-Command: {x.header(PREFIX + 'Command')!r}.")
    if session.state == "cancelled":
        raise Refusal(400, "The upload was cancelled.")
    if session.result is not None:
        return session.finish(x)
    _check_chunk(x, session, commands)
    session.take(x)
    return _finish(x, session) if "finalize" in commands else Answer()


def _query(x: Exchange, session: Session) -> Answer:
    with session.lock:
        if session.state in ("open", "cancelled"):
            return Answer()
        return session.finish(x)


def _cancel(session: Session) -> Answer:
    with session.lock:
        if session.state == "open":
            session.state = "cancelled"
            session.blob.remove()
    return Answer()


def _check_chunk(x: Exchange, session: Session, commands: list[str]) -> None:
    """The offset is exactly the number of bytes stored; every chunk but the last is whole granules."""
    length = x.body.length
    if length is None:
        raise Refusal(411, "A Content-Length is required.", "lengthRequired")
    if "upload" not in commands:
        if length:
            raise Refusal(400, "A finalize without upload has no body.")
        return
    offset = _number(x, PREFIX + "Offset")
    if offset is None or offset != session.blob.size:
        raise Refusal(400, f"X-Goog-Upload-Offset is {offset}, but {session.blob.size} bytes were received.")
    if "finalize" not in commands and (length == 0 or length % x.world.config.granularity):
        raise Refusal(400, f"A chunk of {length} bytes is no multiple of {x.world.config.granularity}.")
    if session.total is not None and offset + length > session.total:
        raise Refusal(400, f"More bytes than the {session.total} that were announced.")


def _finish(x: Exchange, session: Session) -> Answer:
    """Ends the upload; bytes that a fault swallowed leave it active, so that the client may send them again."""
    if x.body.dropped:
        return Answer()
    if session.total is not None and session.blob.size != session.total:
        raise Refusal(400, f"{session.total} bytes were announced, {session.blob.size} received.")
    return session.finish(x)
