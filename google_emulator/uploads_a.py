"""Uploads in the dialect of `uploadType`: media, multipart, resumable with Content-Range and 308.

Strict where Google's documents are: granularity, gaps, lengths that contradict each other, exactly two parts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from google_emulator.answers import Answer, Refusal, as_json
from google_emulator.blobs import GRANULE, pour
from google_emulator.exchange import PAYLOAD_LIMIT, Exchange
from google_emulator.media import check_media, store
from google_emulator.related import RelatedReader
from google_emulator.router import Media, UploadMethod
from google_emulator.sessions import Session, find_session, open_session

STEPS = (
    "simple",
    "multipart",
    *(f"resumable.{step}" for step in ("start", "put", "final", "query", "cancel")),
)
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")


@dataclass(frozen=True, slots=True)
class ContentRange:
    """A request's Content-Range: the offsets of its first and past its last byte (None: a query), and the total."""

    start: int | None
    end: int | None
    total: int | None


def parse_range(text: str) -> ContentRange:
    """Reads a Content-Range header. Raises `Refusal` 400 when it is malformed or contradicts itself."""
    match = _CONTENT_RANGE.fullmatch(text)
    if match is None:
        raise Refusal(400, f"Failed to parse Content-Range header: {text!r}.")
    start, last, total = (None if part in (None, "*") else int(part) for part in match.groups())
    end = None if last is None else last + 1
    if start is not None and end is not None and (end <= start or (total is not None and end > total)):
        raise Refusal(400, f"Invalid Content-Range header: {text!r}.")
    return ContentRange(start, end, total)


def steps_of(x: Exchange) -> set[str]:
    """The protocol step of a request, by its query and headers alone."""
    if "upload_id" not in x.query:
        kind = x.query.get("uploadType", "")
        return {{"media": "simple", "resumable": "resumable.start"}.get(kind, kind)} & set(STEPS)
    if x.method == "DELETE":
        return {"resumable.cancel"}
    text = x.header("Content-Range")
    if text.startswith("bytes */"):
        return {"resumable.query"} | ({"resumable.final"} if text == "bytes */0" else set())
    match = _CONTENT_RANGE.fullmatch(text)
    last = text == "" or (match is not None and match[2] is not None and match[3] == str(int(match[2]) + 1))
    return {"resumable.put"} | ({"resumable.final"} if last else set())


def upload(x: Exchange, method: UploadMethod) -> Answer:
    """Carries out one upload request of this dialect."""
    if "upload_id" in x.query:
        return _session_request(x, find_session(x))
    kind = x.query.get("uploadType", "")
    if kind == "resumable":
        return _start(x, method)
    if kind == "media":
        return _simple(x, method)
    if kind == "multipart":
        return multipart(x, method)
    raise Refusal(400, "uploadType must be media, multipart or resumable.", "invalidParameter")


def _need_length(x: Exchange) -> None:
    if "Content-Length" not in x.headers and "Transfer-Encoding" not in x.headers:
        raise Refusal(411, "POST requests require a Content-length header.", "lengthRequired")


def _simple(x: Exchange, method: UploadMethod) -> Answer:
    _need_length(x)
    content_type = x.header("Content-Type") or "application/octet-stream"
    check_media(method, content_type, x.body.length)
    method.check(x)
    blob = x.world.new_blob(method.algorithms)
    try:
        pour(x.body, blob.write)
        check_media(method, content_type, blob.size)
        resource = store(x, method, Media(blob, content_type, {}), "simple", x.method, x.body.received, 1)
    except BaseException:
        blob.remove()
        raise
    return Answer() if method.empty else as_json(resource)


def multipart(x: Exchange, method: UploadMethod) -> Answer:
    """One request with metadata and media; the other dialect's multipart has the same body."""
    _need_length(x)
    reader = RelatedReader(x.body, x.header("Content-Type"))
    metadata = reader.metadata()
    x.payload = json.dumps(metadata).encode()  # where every check looks for it
    content_type = reader.media_type()
    check_media(method, content_type, None)
    method.check(x)
    blob = x.world.new_blob(method.algorithms)
    try:
        reader.media(blob.write)
        check_media(method, content_type, blob.size)
        resource = store(x, method, Media(blob, content_type, metadata), "multipart", x.method, x.body.received, 1)
    except BaseException:
        blob.remove()
        raise
    return Answer() if method.empty else as_json(resource)


def _size_header(x: Exchange, name: str) -> int | None:
    text = x.header(name)
    if not text:
        return None
    if not text.isdecimal():
        raise Refusal(400, f"Invalid {name}: {text!r}.")
    return int(text)


def read_metadata(x: Exchange) -> None:
    """The metadata of a start: an empty body, or JSON that says so. It stays in the exchange's payload."""
    x.payload = x.body.read_all(PAYLOAD_LIMIT)
    if x.payload and not x.header("Content-Type").lower().startswith("application/json"):
        raise Refusal(400, "The metadata must be application/json; charset=UTF-8.", "badContent")


def _start(x: Exchange, method: UploadMethod) -> Answer:
    _need_length(x)
    read_metadata(x)
    content_type = x.header("X-Upload-Content-Type") or "application/octet-stream"
    total = _size_header(x, "X-Upload-Content-Length")
    session = open_session(x, method, dialect="resumable", content_type=content_type, total=total)
    location = f"{x.world.base}{x.path}?uploadType=resumable&upload_id={session.id}"
    return Answer(200, b"", [("Location", location), ("X-GUploader-UploadID", session.id)])


def _session_request(x: Exchange, session: Session) -> Answer:
    if session.dialect != "resumable":
        raise Refusal(400, "The session speaks the other protocol.")
    if x.method == "DELETE":
        return _cancel(session)
    if x.method != "PUT":
        raise Refusal(405, "Bytes are sent to a session with PUT.", "httpMethodNotAllowed")
    text = x.header("Content-Range")
    span = parse_range(text) if text else ContentRange(0, x.body.length, x.body.length)
    if span.start is None:
        return _query(x, session, span)
    return _put(x, session, span)


def _cancel(session: Session) -> Answer:
    with session.lock:
        if session.state == "open":
            session.state = "cancelled"
            session.result = Refusal(499, "The upload was cancelled.").answer()
            session.blob.remove()
    return Answer(499)


def _check_total(session: Session, total: int | None) -> None:
    if total is not None and session.total is not None and total != session.total:
        raise Refusal(400, f"The total size {total} differs from {session.total}, which was said before.")


def _query(x: Exchange, session: Session, span: ContentRange) -> Answer:
    """How much is stored; with the total known and everything there, the upload is complete."""
    if x.body.length != 0:
        raise Refusal(400, "A request for the offset has no body.")
    with session.lock:
        if session.result is not None:
            return session.finish(x)
        _check_total(session, span.total)
        total = session.total if span.total is None else span.total
        if total is not None and session.blob.size > total:
            raise Refusal(400, f"{session.blob.size} bytes are stored, more than the total of {total}.")
        return session.finish(x) if session.blob.size == total else _progress(session)


def _progress(session: Session) -> Answer:
    answer = Answer(308, b"", [("X-GUploader-UploadID", session.id)])
    if session.blob.size:
        answer.put("Range", f"bytes=0-{session.blob.size - 1}")
    return answer


def _put(x: Exchange, session: Session, span: ContentRange) -> Answer:
    if session.result is not None:
        return session.finish(x)
    _check_span(x, session, span)
    start = span.start or 0
    session.take(x, skip=session.blob.size - start)
    with session.lock:
        total = span.total if span.total is not None else _end_of(x, span, start)
        session.total = total if total is not None else session.total
        return session.finish(x) if session.blob.size == session.total else _progress(session)


def _end_of(x: Exchange, span: ContentRange, start: int) -> int | None:
    """A body of unknown length and without a range is the whole file: its end is the file's."""
    return start + x.body.received if span.end is None else None


def _check_span(x: Exchange, session: Session, span: ContentRange) -> None:
    """Refuses a chunk that contradicts its headers, leaves a gap or breaks the granularity."""
    _need_length(x)
    start, end = span.start or 0, span.end
    if end is not None and x.body.length is not None and end - start != x.body.length:
        raise Refusal(400, f"Content-Range has {end - start} bytes, Content-Length is {x.body.length}.")
    _check_total(session, span.total)
    if start > session.blob.size:
        raise Refusal(
            503,
            f"Invalid request.  According to the Content-Range header, the upload offset is {start} byte(s), "
            f"which exceeds already uploaded size of {session.blob.size} byte(s).",
        )
    if end is not None and end != span.total and (end - start) % GRANULE:
        raise Refusal(
            400,
            f"Invalid request.  The number of bytes uploaded is required to be a multiple of {GRANULE}, except for "
            f"the final request.  The received request contained {end - start} bytes.",
        )
