"""Sends a file in one request, and again only where that can't have two effects."""

from __future__ import annotations

import secrets

from uploader.errors import AnswerLost, Interrupted
from uploader.protocol import single
from uploader.protocol.messages import Broken, Request, Response, Span
from uploader.protocol.retry import Verdict, whether
from uploader.transfer.sending import Sending, why
from uploader.transfer.wire import refusal


def upload(sending: Sending, size: int, *, multipart: bool) -> Response:
    """The service's answer to the whole file, `size` bytes long.

    Raises `AnswerLost` when it may have arrived and may not be sent again, besides what every upload raises.
    """
    name, repeatable = sending.job.artifact.name, sending.job.endpoint.repeatable
    while True:
        answer = _transferred(sending, size, multipart=multipart)
        verdict = whether(answer)
        if isinstance(answer, Response) and verdict is Verdict.SUCCESS:
            return _accepted(sending, answer)
        if isinstance(answer, Response) and verdict in (Verdict.REFUSED, Verdict.GONE):
            raise refusal(answer, name)
        if not single.may_repeat(answer, repeatable=repeatable):
            raise _lost(name, answer)
        if isinstance(answer, Response) and verdict is Verdict.RENEW:
            sending.pace.renew(answer)
        else:
            sending.wait(why(answer), answer)


def _transferred(sending: Sending, size: int, *, multipart: bool) -> Response | Broken:
    try:
        return sending.transfer(_request(sending, size, multipart=multipart), Span(0, size), final=True)
    except Interrupted:
        if sending.tally.reached == size and not sending.job.endpoint.repeatable:
            sending.watcher.warn("It was sent, but its answer was not waited for: look whether it is there already.")
        raise


def _request(sending: Sending, size: int, *, multipart: bool) -> Request:
    if not multipart:
        return single.simple(sending.media, size)
    goog_upload = sending.job.endpoint.dialect == "goog-upload"
    return single.multipart(sending.media, size, secrets.token_hex(16), goog_upload=goog_upload)


def _accepted(sending: Sending, answer: Response) -> Response:
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
