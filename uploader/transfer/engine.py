"""The context of a real run: its requests, its uploads and downloads, its waits, its results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar

from uploader import tasks
from uploader.errors import (
    ApiError,
    Interrupted,
    OutcomeUnknown,
    Stopped,
    TemporaryError,
    UploaderError,
)
from uploader.files.destination import Destination
from uploader.inputs.records import TransferInputs
from uploader.reporting import Reporter
from uploader.results import FileResult, RunRecord, not_reached
from uploader.retry import CAUSE, FIRST_POLL, HINT, Retrier, RetryPolicy, Wait
from uploader.services.base import (
    Backoff,
    Call,
    Download,
    Downloaded,
    Flow,
    Json,
    Outcome,
    Poll,
    Search,
    Section,
    Upload,
)
from uploader.state.journal import Journal
from uploader.text import plural
from uploader.transfer.api_client import ApiClient, as_reason, send_call
from uploader.upload.download import download as fetch
from uploader.upload.sources import LARGE, sha256
from uploader.upload.upload import Uploader

T = TypeVar("T")

_MAX_NAMED = 20  # files in one sentence
# with `concurrency: auto`
MAX_IN_FLIGHT = 16  # requests and files
MAX_LARGE_IN_FLIGHT = 4  # files of more than 8 MiB
MAX_CHANGES = 4  # requests that change one resource, such as a Play edit


class Engine:
    """Carries out one flow, and is the context that the flow gets."""

    def __init__(
        self,
        client: ApiClient,
        settings: TransferInputs,
        journal: Journal,
        reporter: Reporter,
    ) -> None:
        self._client = client
        self._settings = settings
        self._journal = journal
        self._reporter = reporter
        # the group of uploads in the log, which the first upload opens
        self._group = ExitStack()
        self._has_group = False
        self._in_flight = threading.Semaphore(settings.concurrency or MAX_IN_FLIGHT)
        self._large_in_flight = threading.Semaphore(
            settings.concurrency or MAX_LARGE_IN_FLIGHT
        )
        self._changes: dict[str, threading.Semaphore] = {}  # by what is changed
        self._changes_lock = threading.Lock()
        # uploads with an open session, whose bytes have not been sent
        self._begun: list[Uploader] = []
        # It keeps the lines of a plan together.
        self._log_lock = threading.RLock()
        self._uploaded: list[Upload] = []
        self._to_send_again: list[Upload] = []  # by the next run
        self._forgotten: set[str] = set()
        self.record = RunRecord()
        self.planned: tuple[Section, ...] = ()  # what the run said that it would change
        # The methods of the context that other objects carry out.
        self.now = client.service_time
        self.publish = self.record.publish
        self.add_reused = self.record.add
        self.mark_discarded = self.record.discard
        self.arrange = self.record.arrange
        self.forget_uploads = journal.drop_below
        self.sha256 = sha256
        self.write = Destination.write

    @property
    def waited_for_answers(self) -> float:
        """The seconds in which at least one request had left whole and was not answered."""
        return self._client.waited_for_answers

    def run(self, flow: Flow) -> Outcome:
        """Carry out a flow, with this engine as its context. Raises what the flow raises."""
        with self._group:
            try:
                outcome = flow(self)
            except (TemporaryError, Interrupted):
                # A service that is down, or a signal, leaves no time to cancel them.
                self._close_begun(cancel=False)
                raise
            except Exception:
                self._close_begun(cancel=True)
                raise
            self._close_begun(cancel=False)
            return outcome

    def _close_begun(self, *, cancel: bool) -> None:
        """Give up the uploads that were begun and not needed."""
        self.together(
            [partial(uploader.close, cancel=cancel) for uploader in self._begun]
        )

    # --- the network and the waits ----------------------------------------------------------------

    def call(self, call: Call) -> dict[str, Json]:
        """Make one JSON request and return the object in its response."""
        if call.closing:
            # A call that cleans up after a signal waits for no other, and no other's failure stops
            # it.
            return tasks.apart(
                partial(
                    send_call,
                    call,
                    self._client,
                    self._reporter,
                )
            )
        with self._limit_on_changes(call.changes), self._in_flight:
            tasks.check()
            return send_call(call, self._client, self._reporter)

    def expect(self, uploads: Sequence[Upload]) -> None:
        """Give files their places in the results, as not reached until they are uploaded."""
        self._reserve(uploads)

    def begin(self, upload: Upload) -> None:
        """Start the upload session of a file, whose bytes `upload` then sends."""
        uploader = self._uploader(upload)
        with self._in_flight:
            tasks.check()
            uploader.begin()
        self._begun.append(uploader)

    def upload(self, upload: Upload) -> FileResult:
        """Upload one file. Raises what went wrong, which is in the results as well."""
        self._begin_uploads()
        with self._place(upload):
            result = self._upload_with_retries(upload)
        self.record.add(result)
        if isinstance(result.failure, UploaderError):
            raise result.failure
        return result

    def download(self, download: Download) -> Downloaded:
        """Fetch one file into the workspace."""
        with self._in_flight:
            tasks.check()
            return fetch(download, self._client, self._reporter)

    def backoff(self) -> Backoff:
        """Begin a series of waits on the schedule of retries."""
        return self._retrier()

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Poll:
        """Begin a series of waits that ends after so many seconds."""
        return _Poll(self._client.policy, seconds, first, self._reporter.info)

    def together(self, work: Sequence[Callable[[], T]]) -> list[T]:
        """Do several things at the same time, and return their results in order."""
        return tasks.together(work, self._settings.concurrency or MAX_IN_FLIGHT)

    def check_running(self) -> None:
        """Raise Interrupted after a signal, Stopped after the failure of a task of the group."""
        self._client.policy.cancellation.check()
        tasks.check()

    def _begin_uploads(self) -> None:
        with self._log_lock:
            if not self._has_group:
                self._group.enter_context(self._reporter.group("Upload"))
                self._has_group = True

    # --- the context that the flow is given -------------------------------------------------------

    def info(self, text: str) -> None:
        """Log a sentence."""
        with self._log_lock:
            self._reporter.info(text)

    def warning(self, text: str) -> None:
        """Log a sentence that deserves attention."""
        with self._log_lock:
            self._reporter.warning(text)

    def show(
        self,
        title: str,
        lines: Sequence[str],
        sections: tuple[Section, ...] = (),
    ) -> None:
        """Log what is about to change; `sections` are for the summary of a run that ends badly."""
        self.planned = sections
        with self._log_lock:
            self._group.close()
            self._has_group = False
            with self._reporter.group(title, folded=False):
                for line in lines:
                    self._reporter.change(line)

    def remember(self, name: str, value: str | None) -> None:
        """Keep a value in the journal, or forget it if it is None. What is to be forgotten stays
        there until the end of the run is reported.
        """
        if value is None:
            self._forgotten.add(name)
        else:
            self._forgotten.discard(name)
            self._journal.remember(name, value)

    def recall(self, name: str) -> str | None:
        """Return what this run or an earlier one of the same job remembered; None if nothing."""
        if name in self._forgotten:
            return None
        return self._journal.recall(name)

    def replace_result(
        self, result: FileResult, answer: Mapping[str, Json] | None = None
    ) -> None:
        """Replace an upload's result, and with an `answer` the response that the journal holds.
        After an error without an answer the next run sends the file again.
        """
        self.record.replace(result)
        upload = self._last_upload(result.path)
        if answer is not None and upload.artifact.size is not None:
            self._journal.save_finished(upload, result.sha256, answer)
        elif result.error:
            self._to_send_again.append(upload)

    def _last_upload(self, name: str) -> Upload:
        """Return the upload of the file of this name that ended last. Raises LookupError."""
        for upload in reversed(self._uploaded):
            if upload.artifact.name == name:
                return upload
        raise LookupError(name)

    def clear_journal(self, *, ok: bool, reported: bool = True) -> None:
        """Remove from the journal what this run is done with, and close it. It is called once the
        end of the run is reported.

        Until then a kill may make it necessary to run again, and the next run has to find what is
        done. After a failure the finished uploads stay for the next attempt of this run, which
        would otherwise add them a second time. An upload that was reported to be in doubt, or to
        have failed after it was complete, does not stay: a person who runs again after that wants
        it to be sent. Everything stays if the end could not be `reported` to later steps, for
        which that is like a kill.
        """
        if reported:
            # a copy, because a run whose thread was left behind may still add to it
            for name in tuple(self._forgotten):
                self._journal.remember(name, None)
            for upload in self._to_send_again:
                self._journal.drop(upload)
            if ok:
                for upload in self._uploaded:
                    self._journal.drop(upload)
        self._journal.close()

    def _retrier(self, name: str = "") -> Retrier:
        """Begin the retries of the file of this name, or of anything else if it is empty."""

        def report(wait: Wait) -> None:
            text = str(wait)
            if name:
                text = f"{name}: {text}"
            self._reporter.info(text)

        return self._client.policy.retrier(report, name)

    # --- uploads ----------------------------------------------------------------------------------

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """Upload independent files, several at a time, and return their results in order.

        Raises `Interrupted` or `Stopped`; any other failure is in the result of its file. Once an
        upload was given up at the retry deadline, no other is begun: those have a TemporaryError as
        failure.
        """
        self._begin_uploads()
        # Each file has its place in the record from the start, so that the record is complete
        # however the run ends.
        places = self._reserve(uploads)
        late: list[int] = []

        def send(upload: Upload, place: int) -> None:
            with self._place(upload):
                if self._client.policy.out_of_time:
                    late.append(place)
                    return
                result = self._upload_with_retries(upload)
                self.record.results[place] = result
            if isinstance(result.failure, (Interrupted, Stopped)):
                raise result.failure

        sendings = [
            partial(send, upload, place)
            for upload, place in zip(uploads, places, strict=True)
        ]
        limit = self._settings.concurrency or max_in_flight or MAX_IN_FLIGHT
        interrupted: Interrupted | None = None
        try:
            tasks.together(sendings, limit)
        except Interrupted as error:
            interrupted = error
        self._tell_late(late)
        self._name_doubles(uploads, places)
        results = tuple(self.record.results[place] for place in places)
        stopped = [
            result.failure
            for result in results
            if isinstance(result.failure, Interrupted)
        ]
        # An error that says what may have arrived is worth more than the bare signal.
        if stopped:
            raise max(stopped, key=lambda error: error.in_doubt)
        if interrupted is not None:
            raise interrupted
        return results

    def _reserve(self, uploads: Sequence[Upload]) -> list[int]:
        """Give files their places in the results, as not reached, and return these places."""
        files = [upload.artifact for upload in uploads]
        return self.record.reserve(
            [not_reached(file.name, file.size) for file in files]
        )

    def _tell_late(self, places: Sequence[int]) -> None:
        """Say which files were not begun because the retry deadline was reached."""
        if not places:
            return
        seconds = f"{self._client.policy.retry_deadline:g} s"
        what = (
            f"Not begun, because the retry deadline ({seconds}) was reached: "
            f"{plural(len(places), 'file')}."
        )
        self._reporter.warning(what)
        error = TemporaryError(what, cause=CAUSE, hint=HINT)
        for place in places:
            self.record.results[place] = replace(
                self.record.results[place], failure=error
            )

    def _name_doubles(self, uploads: Sequence[Upload], places: Sequence[int]) -> None:
        """Say in every failure which other files were added, and would be added again by a run that
        does not find this run's state.
        """
        results = self.record.results
        failures: dict[int, UploaderError] = {}  # by place
        there: list[Upload] = []
        for upload, place in zip(uploads, places, strict=True):
            failure = results[place].failure
            if isinstance(failure, UploaderError):
                failures[place] = failure
            if not results[place].error and upload.endpoint.adds:
                there.append(upload)
        if not failures:
            return
        added = [
            upload.artifact.name for upload in there if not self._journal.keeps(upload)
        ]
        if not added:
            return
        names = ", ".join(added[:_MAX_NAMED])
        unnamed = len(added) - _MAX_NAMED
        if unnamed > 0:
            names += f" and {unnamed} more"
        remedy = (
            f"A run that does not find this run's state would add these again: {names}. Leave them "
            "out of `files`, or keep `state-dir`."
        )
        for place, failure in failures.items():
            results[place] = replace(
                results[place], failure=failure.with_advice(also=remedy)
            )

    @contextmanager
    def _place(self, upload: Upload) -> Iterator[None]:
        """Wait until one more file may be in flight, counting all of the run's."""
        size = upload.artifact.size
        limit_on_large: AbstractContextManager[object] = nullcontext()
        if size is None or size > LARGE:
            limit_on_large = self._large_in_flight
        with self._limit_on_changes(upload.changes), limit_on_large, self._in_flight:
            tasks.check()
            yield

    def _limit_on_changes(self, what: str) -> AbstractContextManager[object]:
        """Return the limit on simultaneous changes to a resource; none if nothing is changed."""
        if not what:
            return nullcontext()
        limit = self._settings.concurrency or MAX_CHANGES
        with self._changes_lock:
            return self._changes.setdefault(what, threading.Semaphore(limit))

    def _upload_with_retries(self, upload: Upload) -> FileResult:
        """Upload one file, and again after a temporary refusal. A failure is in the result."""
        retrier = self._retrier(upload.artifact.name)
        lost: FileResult | None = None  # the last attempt whose outcome is unknown
        while True:
            result = self._upload_once(upload)
            result = replace(result, retries=result.retries + retrier.retries)
            if lost:
                result = _with_attempts_of(lost, result)
            if isinstance(result.failure, OutcomeUnknown) and upload.search:
                result = self._look_up(upload, upload.search, result)
                lost = result
            self._note_end(upload, result)
            failure = result.failure
            cause = _passing_cause(upload, failure)
            if not isinstance(failure, UploaderError) or not cause:
                return result
            try:
                retrier.wait(as_reason(failure), cause=cause)
            except UploaderError as error:
                return replace(result, error=str(error), failure=error)

    def _note_end(self, upload: Upload, result: FileResult) -> None:
        """Note what the end of one attempt means for the journal of this run and the next."""
        failure = result.failure
        if not isinstance(failure, OutcomeUnknown):
            if not result.error:
                self._uploaded.append(upload)
            return
        # The flow may still settle the doubt.
        self._uploaded.append(upload)
        if upload.endpoint.looked_up:
            # If it is not found, it is sent again in this same run.
            self._journal.drop(upload)
        elif not failure.session_kept:
            self._to_send_again.append(upload)

    def _look_up(
        self,
        upload: Upload,
        search: Search,
        lost: FileResult,
    ) -> FileResult:
        """Look for an upload whose response was lost, and return its result: without a failure if
        the service has it, else unchanged.

        If the search fails, its error becomes the failure. The journal drops the session, since a
        file that is not there is sent anew.
        """
        name = upload.artifact.name
        self._journal.drop(upload)
        try:
            answer = send_call(search.call, self._client, self._reporter)
            resource = search.find(answer)
            digest = sha256(upload.artifact)
        except UploaderError as error:
            return replace(lost, error=str(error), failure=error)
        if resource is None:
            self._reporter.info(
                f"{name}: {search.call.what} does not show it; it is sent again."
            )
            return lost
        self._reporter.info(
            f"{name}: {search.call.what} shows it: nothing is left to send."
        )
        return replace(
            lost,
            sha256=digest,
            id=upload.endpoint.identify(resource),
            resource=resource,
            bytes_uploaded=lost.bytes,
            error="",
            failure=None,
        )

    def _upload_once(self, upload: Upload) -> FileResult:
        """Bring one file to its endpoint. An error is in the result's `error` and `failure`."""
        for uploader in tuple(self._begun):
            if uploader.job == upload:
                self._begun.remove(uploader)
                return uploader.run()
        return self._uploader(upload).run()

    def _uploader(self, upload: Upload) -> Uploader:
        return Uploader(
            upload,
            self._client,
            self._settings,
            self._journal,
            self._reporter,
        )


class _Poll:
    """Waits at growing intervals, until so many seconds have passed."""

    def __init__(
        self,
        policy: RetryPolicy,
        seconds: float,
        first: float,
        report: Callable[[str], None],
    ) -> None:
        self._policy = policy
        self._first = first
        self._report = report
        self._waits = 0
        self._end = policy.clock.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(self._end - self._policy.clock.monotonic(), 0.0)

    def wait(self, why: str) -> bool:
        self._waits += 1
        return self._policy.poll(
            why,
            self._waits,
            self._end,
            self._report,
            self._first,
        )


def _passing_cause(upload: Upload, failure: BaseException | None) -> str:
    """Return the cause of a failure after which the upload may start over; empty for any other."""
    if isinstance(failure, OutcomeUnknown) and upload.search:  # which did not find it
        return CAUSE
    if isinstance(failure, ApiError) and upload.retry_on:
        return upload.retry_on(failure)
    return ""


def _with_attempts_of(lost: FileResult, result: FileResult) -> FileResult:
    """Return the result of a file that was sent again, plus what the attempt before it cost."""
    return replace(
        result,
        attempts=lost.attempts + result.attempts,
        bytes_resent=lost.bytes_resent + lost.bytes + result.bytes_resent,
        seconds=lost.seconds + result.seconds,
    )
