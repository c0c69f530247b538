"""Sends a file in one request, and again only where that can't have two effects."""

from __future__ import annotations

import secrets

from uploader.errors import ApiError, Interrupted, OutcomeUnknown
from uploader.http.messages import Request, Response, Span, TransportError
from uploader.protocol import single_request
from uploader.transfer.api_client import last_failure
from uploader.transfer.upload import FileUpload


def send(upload: FileUpload, size: int, *, multipart: bool) -> Response:
    """The service's response to the whole file, `size` bytes long.

    Raises `OutcomeUnknown` when it may have arrived and may not be sent again, besides what every upload raises.
    """
    idempotent = upload.job.endpoint.idempotent
    doubted = False

    def attempt() -> Response | TransportError:
        try:
            return upload.send(_request(upload, size, multipart=multipart), Span(0, size), final=True)
        except Interrupted as stopped:
            if stopped.unanswered and not idempotent:
                upload.warning(
                    "The file was sent, but the run ended before the answer came. "
                    "Check whether the service has it before you run again."
                )
            raise

    def in_doubt(response: Response | TransportError) -> OutcomeUnknown | None:
        nonlocal doubted
        doubted = True
        return None if idempotent else _lost(upload.name, response)

    try:
        response = upload.client.request_with_retries(attempt, upload.retrier, upload.name, in_doubt=in_doubt)
    except ApiError as refused:
        if not doubted:
            raise
        return upload.stored_before(refused)
    if not upload.media.is_resource(response):
        raise upload.violation("the answer to the finished upload is not the resource that the method returns")
    if not response.sent_whole:
        raise upload.violation("the server called the upload finished before it was sent")
    return response


def _request(upload: FileUpload, size: int, *, multipart: bool) -> Request:
    if not multipart:
        return single_request.simple(upload.media, size)
    goog_upload = upload.job.endpoint.dialect == "goog-upload"
    return single_request.multipart(upload.media, size, secrets.token_hex(16), goog_upload=goog_upload)


def _lost(name: str, response: Response | TransportError) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"It is not known whether {name} arrived: {last_failure(response)}.",
        cause="A single-request upload can't be queried, and repeating it could add the file twice.",
        hint="Check whether the service has it before you run again. `upload-protocol: resumable` can ask the server.",
    )
