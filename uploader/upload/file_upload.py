"""One upload of one file: the one place for its size, its offset and its progress.

The modules that carry the upload out (`sender`, `resumable`, `single_request`, `proof`) report here
what is sent and what the server says. The figures are changed nowhere else. Then the listeners are
called: the journal's record, the progress that people see, and the timeline. They do not know of
each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from uploader.errors import UploaderError
from uploader.reporting import UploadListener
from uploader.results import FileResult, TimelineEvent
from uploader.services.base import Upload


class FileUpload:
    """One upload of one file, from its first request to its proof.

    `job` says what goes where. All sizes and offsets are in bytes. `size` is None until the end of
    a stream is read. `position` is the offset of the byte that is sent next, `stored` what the
    server last confirmed. `bytes_sent` is what this run handed to the network, and `bytes_resent`
    how much of that it had sent before. `attempts` counts requests whose body was begun.
    `resumed_from` is the offset at which a session of an earlier run was continued. `resource` is
    the service's description of the upload, `sha256` the digest of the bytes that were sent; both
    are empty until the service calls the upload complete. `failure` is the error that ended it.
    """

    def __init__(self, job: Upload, monotonic: Callable[[], float]) -> None:
        self.job = job
        self.name = job.artifact.name
        self.size = job.artifact.size
        self.position = 0
        self.stored = 0
        self.bytes_sent = 0
        self.bytes_resent = 0
        self.attempts = 0
        self.resumed_from: int | None = None
        self.resource: Mapping[str, Any] = {}
        self.sha256 = ""
        self.failure: UploaderError | None = None
        self._is_complete = False
        # the offset up to which any request has handed on bytes
        self._furthest = 0
        self._request_start = 0
        self._request_began = 0.0
        # when the whole body of the request had left
        self._body_ended: float | None = None
        self._monotonic = monotonic
        self._began = monotonic()
        self._listeners: list[UploadListener] = []

    def start_clock(self) -> None:
        """Count the time from now on: a session that was opened ahead may have waited long."""
        self._began = self._monotonic()

    def add_listener(self, listener: UploadListener) -> None:
        """Call a listener from now on; the first that was added is called first."""
        self._listeners.append(listener)

    @property
    def seconds(self) -> float:
        """How long the upload has taken so far."""
        return self._monotonic() - self._began

    @property
    def bytes_uploaded(self) -> int:
        """How many bytes this run brought to the server, without those that an earlier run had
        stored.
        """
        arrived = self.stored
        if self._is_complete:
            arrived = self.size or 0
        stored_before = self.resumed_from or 0
        return max(arrived - stored_before, 0)

    # --- what leaves ------------------------------------------------------------------------------

    def begin_request(self, start: int) -> None:
        """Begin a request that carries the bytes of the file from offset `start`."""
        self.position = start
        for listener in self._listeners:
            listener.progressed()
        self._request_start = start
        self._request_began = self._monotonic()
        self._body_ended = None

    def count_attempt(self) -> None:
        """Count a request whose connection is made, so that its body is about to be sent."""
        self.attempts += 1

    def announce_last_block(self) -> None:
        """Say that all that is left to send of the file is one block, or nothing."""
        for listener in self._listeners:
            listener.last_block_due()

    def count_sent(self, size: int) -> None:
        """Count the next `size` bytes of the file, which are about to leave."""
        end = self.position + size
        resent_end = min(self._furthest, end)
        resent = resent_end - self.position
        self.bytes_sent += size
        if resent > 0:
            self.bytes_resent += resent
        self.position = end
        self._furthest = max(self._furthest, end)
        for listener in self._listeners:
            listener.progressed()

    def end_body(self) -> None:
        """End the body of a request: all of it has left, and its response is waited for."""
        self._body_ended = self._monotonic()

    def end_request(self) -> None:
        """End a request that has its response, or broke."""
        size = self.position - self._request_start
        ended = self._monotonic()
        waited = 0.0
        if self._body_ended is not None:
            waited = ended - self._body_ended
        for listener in self._listeners:
            listener.request_ended(
                self._request_began,
                size,
                waited,
            )

    def wait(self, why: str, seconds: float) -> None:
        """Say that a wait of so many seconds before another attempt begins; it may be 0."""
        for listener in self._listeners:
            listener.waiting(why, seconds)

    def find_end(self, size: int) -> None:
        """Note the size of a stream, whose end was read."""
        self.size = size

    # --- what the server says of the session ------------------------------------------------------

    def start_session(self, uri: str, granularity: int) -> None:
        """Note a session that the server opened."""
        for listener in self._listeners:
            listener.session_started(uri, granularity)

    def confirm(self, offset: int) -> None:
        """Note that the server holds the bytes before `offset`, where the upload goes on."""
        self.stored = offset
        self.position = offset
        for listener in self._listeners:
            listener.offset_confirmed()

    def resume(self, *, of_earlier_run: bool = False) -> None:
        """Go on from the offset that the server has just confirmed because it was asked.

        `of_earlier_run`: all that is stored there was sent by an earlier run.
        """
        if of_earlier_run:
            self.resumed_from = self.stored
        for listener in self._listeners:
            listener.session_resumed()

    def start_over(self, why: str) -> None:
        """Start over: the session is gone, with all that this run or an earlier one stored."""
        self.resumed_from = None
        for listener in self._listeners:
            listener.session_lost(why)
        self.confirm(0)

    def interrupt(self) -> None:
        """End this run's part of a session that a later run can go on with."""
        for listener in self._listeners:
            listener.interrupted()

    def abandon(self) -> None:
        """Give up the session, and what was stored in it."""
        for listener in self._listeners:
            listener.abandoned()
        self.confirm(0)

    def find_complete(self) -> None:
        """Note that the session of an earlier run was complete before this run sent anything."""
        self.resumed_from = self.size

    # --- how it ends ------------------------------------------------------------------------------

    def complete(self, resource: Mapping[str, Any]) -> None:
        """Note that the service calls the upload complete, and describes it by `resource`."""
        self._is_complete = True
        self.resource = resource
        for listener in self._listeners:
            listener.completed()

    def finish(self) -> None:
        """End the upload well: what the service states of the bytes was compared, and is true."""
        self.stored = self.size or 0
        self.position = self.stored
        for listener in self._listeners:
            listener.finished()

    def fail(self, error: UploaderError) -> None:
        """End the upload with an error."""
        self.failure = error
        for listener in self._listeners:
            listener.failed(error)

    def result(self, retries: int, timeline: tuple[TimelineEvent, ...]) -> FileResult:
        """Return the result of the upload; `retries` is how many waits its attempts took."""
        artifact = self.job.artifact
        endpoint = self.job.endpoint
        error = ""
        if self.failure is not None:
            error = str(self.failure)
        return FileResult(
            path=self.name,
            bytes=self.size or 0,
            sha256=self.sha256,
            id=endpoint.identify(self.resource),
            resource=self.resource,
            attempts=self.attempts,
            bytes_uploaded=self.bytes_uploaded,
            bytes_resent=self.bytes_resent,
            retries=retries,
            seconds=self.seconds,
            resumed_from=self.resumed_from,
            error=error,
            certificate_sha256=artifact.certificate_sha256,
            version=artifact.version,
            timeline=timeline,
            failure=self.failure,
        )
