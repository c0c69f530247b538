"""Sends a file in one request, and again only where that can't have two effects."""

from __future__ import annotations

import secrets

from uploader.errors import AnswerLost, Interrupted
from uploader.http.messages import Broken, Request, Response, Span
from uploader.protocol import single_request
from uploader.transfer.api_client import why
from uploader.transfer.file_transfer import FileTransfer


def upload(sending: FileTransfer, size: int, *, multipart: bool) -> Response:
    """The service's answer to the whole file, `size` bytes long.

    Raises `AnswerLost` when it may have arrived and may not be sent again, besides what every upload raises.
    """
    name, repeatable = sending.job.artifact.name, sending.job.endpoint.repeatable
    answer = sending.wire.answer(
        lambda: _transferred(sending, size, multipart=multipart),
        sending.retrier,
        name,
        may_repeat=lambda answer: single_request.may_repeat(answer, repeatable=repeatable),
        lost=lambda answer: _lost(name, answer),
    )
    return _accepted(sending, answer)


def _transferred(sending: FileTransfer, size: int, *, multipart: bool) -> Response | Broken:
    try:
        return sending.transfer(_request(sending, size, multipart=multipart), Span(0, size), final=True)
    except Interrupted:
        if sending.tally.reached == size and not sending.job.endpoint.repeatable:
            sending.watcher.warn("It was sent, but its answer was not waited for: look whether it is there already.")
        raise


def _request(sending: FileTransfer, size: int, *, multipart: bool) -> Request:
    if not multipart:
        return single_request.simple(sending.media, size)
    goog_upload = sending.job.endpoint.dialect == "goog-upload"
    return single_request.multipart(sending.media, size, secrets.token_hex(16), goog_upload=goog_upload)


def _accepted(sending: FileTransfer, answer: Response) -> Response:
    if answer.json() is None and not sending.media.empty_answer:
        raise sending.broken("the answer to the finished upload is not the resource that the method returns")
    if not answer.sent_whole:
        raise sending.broken("the server called the upload finished before it was sent")
    return answer


def _lost(name: str, answer: Response | Broken) -> AnswerLost:
    return AnswerLost(
        f"Whether {name} arrived is not known: {why(answer)}.",
        cause="It was sent in a single request, which leaves no session to ask, and repeating it could add it twice.",
        cure="Look whether it is there. `upload-protocol: resumable` can ask the server and never has this doubt.",
    )
