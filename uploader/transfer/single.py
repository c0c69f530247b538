"""Sends a file in one request, and again only where that can't have two effects."""

from __future__ import annotations

import secrets

from uploader.errors import Interrupted, OutcomeUnknown
from uploader.http.messages import Response, Span, TransportError
from uploader.protocol import single_request
from uploader.transfer.api_client import last_failure
from uploader.transfer.file_transfer import FileTransfer


def upload(transfer: FileTransfer, size: int, *, multipart: bool) -> Response:
    """The service's answer to the whole file, `size` bytes long.

    Raises `OutcomeUnknown` when it may have arrived and may not be sent again, besides what every upload raises.
    """
    name = transfer.name
    response = transfer.client.request_with_retries(
        lambda: _send(transfer, size, multipart=multipart),
        transfer.retrier,
        name,
        idempotent=transfer.job.endpoint.idempotent,
        lost=lambda response: _lost(name, response),
    )
    if not transfer.media.is_resource(response):
        raise transfer.violation("the answer to the finished upload is not the resource that the method returns")
    if not response.sent_whole:
        raise transfer.violation("the server called the upload finished before it was sent")
    return response


def _send(transfer: FileTransfer, size: int, *, multipart: bool) -> Response | TransportError:
    if multipart:
        goog_upload = transfer.job.endpoint.dialect == "goog-upload"
        boundary = secrets.token_hex(16)
        request = single_request.multipart(transfer.media, size, boundary, goog_upload=goog_upload)
    else:
        request = single_request.simple(transfer.media, size)
    try:
        response = transfer.send(request, Span(0, size), final=True)
    except Interrupted as stopped:
        if stopped.unanswered and not transfer.job.endpoint.idempotent:
            transfer.warning(
                "The file was sent, but the run ended before the answer came. "
                "Check whether the service has it before you run again."
            )
        raise
    transfer.in_doubt |= single_request.may_have_acted(response)
    return response


def _lost(name: str, response: Response | TransportError) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"It is not known whether {name} arrived: {last_failure(response)}.",
        cause="A single-request upload can't be queried, and repeating it could add the file twice.",
        hint="Check whether the service has it before you run again. `upload-protocol: resumable` can ask the server.",
    )
