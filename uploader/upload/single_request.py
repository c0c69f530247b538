"""Uploads a file in one request, simple or multipart.

There is no session that could be asked afterwards how much arrived. The request is sent again only
if that can't have two effects.
"""

from __future__ import annotations

import secrets

from uploader.errors import ApiError, Interrupted, OutcomeUnknown
from uploader.http.messages import Request, Response, Span, TransportError
from uploader.protocol import single_request
from uploader.protocol.responses import UNREADABLE, Verdict, verdict
from uploader.transfer.api_client import last_failure
from uploader.upload.proof import look_up_stored
from uploader.upload.sender import FileSender


class SingleRequestUpload:
    """One upload in one request, `multipart` with its metadata; `run` is called once."""

    def __init__(
        self,
        sender: FileSender,
        size: int,
        *,
        multipart: bool,
    ) -> None:
        self._sender = sender
        self._endpoint = sender.upload.job.endpoint
        self._size = size
        self._multipart = multipart
        self._was_in_doubt = False  # whether an attempt may have had its effect

    def run(self) -> Response:
        """Return the service's response to the whole file.

        Raises `OutcomeUnknown` when the file may have arrived and must not be sent again, besides
        what every upload raises.
        """
        sender = self._sender
        try:
            response = sender.client.request_with_retries(
                self._attempt,
                sender.retrier,
                sender.upload.name,
                in_doubt=self._in_doubt,
            )
        except ApiError as refused:
            if not self._was_in_doubt:
                raise
            return look_up_stored(sender, refused)
        if not response.sent_whole:
            raise sender.violation(
                "the server called the upload finished before it was sent"
            )
        return response

    def _attempt(self) -> Response | TransportError:
        span = Span(0, self._size)
        try:
            response = self._sender.send(self._request(), span, final=True)
        except Interrupted as stopped:
            if stopped.unanswered and self._endpoint.adds:
                raise self._sender.warn_of_doubt(stopped) from None
            raise
        return self._as_resource(response)

    def _request(self) -> Request:
        media = self._sender.media
        is_goog_upload = self._endpoint.dialect == "goog-upload"
        if not self._multipart:
            return single_request.simple(media, self._size, goog_upload=is_goog_upload)
        boundary = secrets.token_hex(16)
        return single_request.multipart(
            media,
            self._size,
            boundary,
            goog_upload=is_goog_upload,
        )

    def _as_resource(
        self, response: Response | TransportError
    ) -> Response | TransportError:
        """Return the response, or a broken connection in place of a success that lacks the
        resource.
        """
        if (
            isinstance(response, TransportError)
            or verdict(response) is not Verdict.SUCCESS
        ):
            return response
        if not response.sent_whole or self._sender.media.is_resource(response):
            return response
        return TransportError(
            "the answer is not the resource that the method returns", True, UNREADABLE
        )

    def _in_doubt(self, response: Response | TransportError) -> OutcomeUnknown | None:
        """Return the error for an attempt that may have had its effect; None if a repeat is
        harmless.
        """
        self._was_in_doubt = True
        if self._endpoint.idempotent:
            return None
        hint = "Check whether the service has it before you run again."
        if self._endpoint.resumable:
            hint += " `upload-protocol: resumable` can ask the server."
        return OutcomeUnknown(
            f"It is not known whether {self._sender.upload.name} arrived: "
            f"{last_failure(response)}.",
            cause="A single-request upload can't be queried, and repeating it could add the "
            "file twice.",
            hint=hint,
        )
