"""Drives a service's flow: carries out each step it yields, sends back what came of it, throws in
what went wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from uploader.errors import (
    ApiError,
    IntegrityError,
    Interrupted,
    OutcomeUnknown,
    TemporaryError,
    UploaderError,
)
from uploader.files.destination import Destination
from uploader.http.messages import Response
from uploader.inputs.table import TransferInputs
from uploader.reporting import Reporter
from uploader.results import FileResult, RunRecord, not_reached
from uploader.retry import CAUSE, HINT, Retrier
from uploader.services.base import (
    Barrier,
    Batch,
    Call,
    Context,
    Download,
    Endpoint,
    Flow,
    Outcome,
    Parallel,
    Search,
    Section,
    Sleep,
    Step,
    Upload,
)
from uploader.state.journal import Journal
from uploader.text import plural
from uploader.transfer.api_client import ApiClient, as_reason, call
from uploader.transfer.download import download
from uploader.transfer.resumable import Resumable, in_doubt
from uploader.transfer.sources import LARGE, FileSource, Source, StreamSource, sha256, while_sending
from uploader.transfer.upload import FileUpload

SMALL = 1024 * 1024  # bytes: up to here one request saves a round trip worth saving
_MAX_NAMED = 20  # files in one sentence
# files with `concurrency: auto`; those of more than 8 MiB are large
MAX_IN_FLIGHT, MAX_LARGE_IN_FLIGHT = 16, 4


class Engine:
    """Runs one flow, and is the context that the flow is given."""

    def __init__(
        self, client: ApiClient, settings: TransferInputs, journal: Journal, reporter: Reporter
    ) -> None:
        self._client = client
        self._settings = settings
        self._journal = journal
        self._reporter = reporter
        self._backoffs: dict[str, Retrier] = {}
        self._end_of_poll = 0.0
        self._group, self._untitled = ExitStack(), True  # of the log, which the first upload opens
        self._in_flight = threading.Semaphore(settings.concurrency or MAX_IN_FLIGHT)
        self._large_in_flight = threading.Semaphore(settings.concurrency or MAX_LARGE_IN_FLIGHT)
        self._lock = threading.Lock()  # of the record
        self._uploaded: list[Upload] = []
        self._to_send_again: list[Upload] = []  # by the next run
        self._forgotten: set[str] = set()
        self.record = RunRecord()
        self.planned: tuple[Section, ...] = ()  # what the run said that it would change
        # Of the context, what others do.
        self.info, self.warning, self.now = reporter.info, reporter.warning, client.service_time
        self.publish, self.reused, self.discarded = (
            self.record.publish,
            self.record.add,
            self.record.discard,
        )
        self.forget_uploads = journal.drop_below
        self.sha256, self.write = sha256, Destination.write

    def run(self, begin: Callable[[Context], Flow]) -> Outcome:
        """Begins a flow, which gets this engine as its context, and carries it to its end. Raises
        what it raises.
        """
        flow = begin(self)
        response: Any = None
        failure: Exception | None = None
        with self._group:
            while True:
                try:
                    step = flow.send(response) if failure is None else flow.throw(failure)
                except StopIteration as end:
                    outcome: Outcome = end.value
                    return outcome
                response, failure = None, None
                try:
                    response = self._carry_out(step)
                except Exception as error:  # noqa: BLE001  # a defect, too, must let the flow clean up behind itself
                    failure = error

    def _carry_out(self, step: Step) -> Any:
        match step:
            case Call():
                return call(step, self._client, self._reporter)
            case Parallel():
                return self._parallel(step)
            case Barrier():
                return None  # a flow by itself waits for nobody
            case Upload() | Batch():
                self._begin_uploads()
                return self._upload(step) if isinstance(step, Upload) else self._batch(step)
            case Download():
                return download(step, self._client, self._reporter)
            case Sleep(timeout=None):
                if step.number == 1 or step.why not in self._backoffs:
                    self._backoffs[step.why] = self._retrier()
                self._backoffs[step.why].wait(step.why)
                return None
            case Sleep():
                policy = self._client.policy
                if step.number == 1:
                    self._end_of_poll = policy.clock.monotonic() + (step.timeout or 0.0)
                return policy.poll(step.why, step.number, self._end_of_poll, self._reporter.info)

    def _parallel(self, step: Parallel) -> tuple[Any, ...]:
        """What each step comes to, or the exception that is thrown into its flow; results in the
        order of the steps.

        Once one has failed, no other file is begun.
        """
        if any(isinstance(one, Upload | Batch) for one in step.steps):
            self._begin_uploads()

        failures: list[Exception] = []

        def attempt(one: Step) -> Any:
            try:
                return one if failures and isinstance(one, Upload | Batch) else self._carry_out(one)
            except Exception as error:  # noqa: BLE001  # as in `run`: each flow cleans up behind itself
                failures.append(error)
                return error

        first = len(self.record.results)
        with ThreadPoolExecutor(self._settings.concurrency or MAX_IN_FLIGHT) as pool:
            responses = tuple(pool.map(attempt, step.steps))
        order = {
            one.artifact.name: number
            for number, one in enumerate(step.steps)
            if isinstance(one, Upload)
        }
        results, last = self.record.results, len(step.steps)
        results[first:] = sorted(results[first:], key=lambda one: order.get(one.path, last))
        return responses

    def _begin_uploads(self) -> None:
        if self._untitled:
            self._group.enter_context(self._reporter.group("Upload"))
            self._untitled = False

    # --- the context that the flow is given -------------------------------------------------------

    def show(self, title: str, lines: Sequence[str], sections: tuple[Section, ...] = ()) -> None:
        """Logs what is about to change; `sections` are for the summary of a run that ends badly."""
        self.planned = sections
        self._group.close()
        self._untitled = True
        with self._reporter.group(title, folded=False):
            for line in lines:
                self._reporter.info(line)

    def remember(self, name: str, value: str | None) -> None:
        """Keeps a value in the journal; what is to be forgotten stays there until the end of the
        run is reported.
        """
        if value is None:
            self._forgotten.add(name)
        else:
            self._forgotten.discard(name)
            self._journal.remember(name, value)

    def recall(self, name: str) -> str | None:
        """What an earlier run of the same job remembered."""
        return None if name in self._forgotten else self._journal.recall(name)

    def identified(self, result: FileResult) -> None:
        """Replaces the last upload's result; after an error the next run sends the file again."""
        self.record.results[-1] = result
        if result.error:
            self._to_send_again.append(self._uploaded[-1])

    def clear_journal(self, *, ok: bool, told: bool = True) -> None:
        """Removes from the journal what this run is done with, once its end is reported, and closes
        it.

        Until then a kill may make it necessary to run again, and what is done must be found done.
        After a failure the finished uploads stay for this run's next attempt, which would add them
        a second time. What was told to be in doubt, or to have failed behind its upload, does not:
        whoever runs again after that wants it to be sent. All of it stays where the end could not
        be `told` to later steps, which is like a kill for them.
        """
        if told:
            for name in tuple(self._forgotten):  # a run that was left behind may still add to it
                self._journal.remember(name, None)
            for job in (*self._to_send_again, *(self._uploaded if ok else ())):
                self._journal.drop(job)
        self._journal.close()

    def _retrier(self, name: str = "") -> Retrier:
        prefix = f"{name}: " if name else ""
        return self._client.policy.retrier(
            lambda wait: self._reporter.info(f"{prefix}{wait}"), name
        )

    # --- uploads ----------------------------------------------------------------------------------

    def _upload(self, job: Upload) -> FileResult:
        with self._place(job):
            result = self._upload_with_retries(job)
        with self._lock:
            self.record.add(result)
        if isinstance(result.failure, UploaderError):
            raise result.failure
        return result

    def _batch(self, step: Batch) -> tuple[FileResult, ...]:
        """All of them, several at once, the results in their order.

        The cancellation of the run ends all; once the retry deadline has failed one, no other is
        begun.
        """
        jobs, late = step.uploads, list[int]()
        # each has its place in the record from the start: what is known is there however the run
        # ends
        with self._lock:
            places = self.record.reserve(
                [not_reached(job.artifact.name, job.artifact.size) for job in jobs]
            )

        def send(number: int) -> None:
            with self._place(jobs[number]):
                if self._client.policy.out_of_time:
                    late.append(places[number])
                    return
                result = self.record.results[places[number]] = self._upload_with_retries(
                    jobs[number]
                )
            if isinstance(result.failure, Interrupted):
                raise result.failure

        with ThreadPoolExecutor(
            self._settings.concurrency or step.max_in_flight or MAX_IN_FLIGHT
        ) as pool:
            futures = [pool.submit(send, number) for number in range(len(jobs))]
            wait(futures, return_when=FIRST_EXCEPTION)
            pool.shutdown(cancel_futures=True)
        if late:
            seconds = f"{self._client.policy.retry_deadline:g} s"
            what = (
                f"Not begun, because the retry deadline ({seconds}) was reached: "
                f"{plural(len(late), 'file')}."
            )
            self._reporter.warning(what)
            error = TemporaryError(what, cause=CAUSE, hint=HINT)
            for place in late:
                self.record.results[place] = replace(self.record.results[place], failure=error)
        results = tuple(self.record.results[place] for place in places)
        self._name_doubles(jobs, results)
        stopped = [result.failure for result in results if isinstance(result.failure, Interrupted)]
        if stopped:  # what may have arrived is worth more words than the signal
            raise max(stopped, key=lambda error: error.in_doubt)
        for future in futures:
            if not future.cancelled():
                future.result()
        return results

    def _name_doubles(self, jobs: Sequence[Upload], results: Sequence[FileResult]) -> None:
        """Says in every failure which other files were added, and would be again by a run that
        can't know of it.
        """
        failures = dict.fromkeys(
            one.failure for one in results if isinstance(one.failure, UploaderError)
        )
        if not failures:
            return
        added = [
            job.artifact.name
            for job, result in zip(jobs, results, strict=True)
            if not result.error and job.endpoint.adds and not self._journal.keeps(job)
        ]
        if not added:
            return
        named = ", ".join(added[:_MAX_NAMED]) + (
            f" and {len(added) - _MAX_NAMED} more" if added[_MAX_NAMED:] else ""
        )
        remedy = (
            f"A run that does not find this run's state would add these again: {named}. Leave them "
            "out of `files`"
        )
        for failure in failures:
            failure.hint = f"{failure.hint} {remedy}, or keep `state-dir`.".strip()

    @contextmanager
    def _place(self, job: Upload) -> Iterator[None]:
        """Waits until one more file may be in flight, of all the flows of the run together."""
        size = job.artifact.size
        with (
            self._large_in_flight if size is None or size > LARGE else nullcontext(),
            self._in_flight,
        ):
            yield

    def _upload_with_retries(self, job: Upload) -> FileResult:
        """Uploads one file, again after a refusal that passes by itself; whatever goes wrong stands
        in the result.
        """
        retrier = self._retrier(job.artifact.name)
        lost: FileResult | None = None  # the last attempt of which nobody heard whether it arrived
        while True:
            result = self._upload_once(job)
            result = replace(result, retries=result.retries + retrier.retries)
            if lost:
                result = _with_attempts_of(lost, result)
            if isinstance(result.failure, OutcomeUnknown) and job.search:
                result = lost = self._searched(job, job.search, result)
            failure = result.failure
            # the flow may settle the doubt
            if not result.error or isinstance(failure, OutcomeUnknown):
                self._uploaded.append(job)
            if isinstance(failure, OutcomeUnknown) and job.endpoint.looked_up:
                self._journal.drop(job)  # where it is not found, it is sent again in this very run
            elif isinstance(failure, OutcomeUnknown) and not failure.session_kept:
                self._to_send_again.append(job)
            cause = _passing_cause(job, failure)
            if not isinstance(failure, UploaderError) or not cause:
                return result
            try:
                retrier.wait(as_reason(failure), cause=cause)
            except UploaderError as error:
                return replace(result, error=str(error), failure=error)

    def _searched(self, job: Upload, search: Search, lost: FileResult) -> FileResult:
        """The result of an upload whose response was lost: what is there, else the failure as it
        was.

        A search that fails is the failure. The session is forgotten: whatever is not there is sent
        anew.
        """
        name = job.artifact.name
        self._journal.drop(job)
        try:
            found = search.find(call(search.call, self._client, self._reporter))
            digest = sha256(job.artifact)
        except UploaderError as error:
            return replace(lost, error=str(error), failure=error)
        if found is None:
            self._reporter.info(f"{name}: {search.call.what} does not show it; it is sent again.")
            return lost
        self._reporter.info(f"{name}: {search.call.what} shows it: nothing is left to send.")
        known = replace(
            lost,
            sha256=digest,
            id=job.endpoint.identify(found),
            resource=found,
            error="",
            failure=None,
        )
        return replace(known, bytes_uploaded=lost.bytes)

    def _upload_once(self, job: Upload) -> FileResult:
        """Brings one file to its endpoint. What goes wrong stands in the result's `error` and
        `failure`.
        """
        if earlier := self._finished_before(job):
            return earlier
        name, size = job.artifact.name, job.artifact.size
        progress = self._reporter.progress(name, size)
        digest, timeout = job.endpoint.response_digest, self._settings.stall_timeout
        algorithms = while_sending(digest, readable_again=size is not None)
        source: Source
        try:
            if size is not None:
                source = FileSource(job.artifact, algorithms)
            else:
                source = StreamSource(job.artifact, self._client.policy.clock, timeout, algorithms)
        except UploaderError as error:
            progress.done(False)
            return FileResult(name, size or 0, error=str(error), failure=error)
        upload = FileUpload(job, self._client, self._reporter, progress, source)
        protocol = self._protocol(upload)
        failure: UploaderError | None = None
        with source:
            try:
                upload.verify(self._sent(upload, protocol))
                upload.add_event("done", "stored and checked")
            except UploaderError as error:
                failure = error
                # whose frames hold all of the upload
                failure.__traceback__ = failure.__context__ = None
                if isinstance(failure, IntegrityError):
                    # a finished session would only tell the next run of the same damage
                    self._journal.drop(job)
                upload.add_event("failed", failure.what)
        progress.done(failure is None)
        result = upload.result(failure)
        if failure is None and protocol != "resumable" and job.endpoint.adds:
            self._journal.save_finished(job, result.sha256, result.resource)
        return result

    def _finished_before(self, job: Upload) -> FileResult | None:
        """The result of a file that an earlier run added in one request: no session could tell that
        it is there.
        """
        artifact, earlier = job.artifact, self._journal.find_finished(job)
        if earlier is None or artifact.size is None:
            return None
        try:
            same = sha256(artifact) == earlier.sha256
        except IntegrityError as changed:
            return FileResult(artifact.name, artifact.size, error=str(changed), failure=changed)
        if not same:
            self._reporter.info(
                f"{artifact.name}: the file's content is not what an earlier run sent."
            )
            self._journal.drop(job)
            return None
        if not earlier.own_run:
            how = (
                f"an upload of it that {earlier.origin} began is complete, but another run began it"
            )
            doubt = in_doubt(artifact.name, how)
            return FileResult(artifact.name, artifact.size, error=str(doubt), failure=doubt)
        self._reporter.info(
            f"{artifact.name}: an earlier attempt of this run has sent the file; nothing is sent."
        )
        return FileResult(
            artifact.name,
            artifact.size,
            earlier.sha256,
            job.endpoint.identify(earlier.resource),
            earlier.resource,
            resumed_from=artifact.size,
            certificate_sha256=artifact.certificate_sha256,
            version=artifact.version,
        )

    def _protocol(self, upload: FileUpload) -> str:
        size, has_metadata = upload.media.size, upload.media.metadata is not None
        return protocol_for(
            upload.job.endpoint, size, self._settings.upload_protocol, has_metadata=has_metadata
        )

    def _sent(self, upload: FileUpload, protocol: str) -> Response:
        """The resource that the upload ended with."""
        size = upload.media.size
        if size is None or protocol == "resumable":
            return Resumable(upload, self._journal, self._settings.chunk_size).run()
        return upload.send_whole(size, multipart=protocol == "multipart")


def _passing_cause(job: Upload, failure: BaseException | None) -> str:
    """The cause of a failure after which the upload may start over; empty for every other."""
    if isinstance(failure, OutcomeUnknown) and job.search:  # which did not find it
        return CAUSE
    if isinstance(failure, ApiError) and job.retry_on:
        return job.retry_on(failure)
    return ""


def _with_attempts_of(lost: FileResult, result: FileResult) -> FileResult:
    """The result of a file that was sent again, with what the attempt before had cost."""
    return replace(
        result,
        attempts=lost.attempts + result.attempts,
        bytes_resent=lost.bytes_resent + lost.bytes + result.bytes_resent,
        seconds=lost.seconds + result.seconds,
    )


def protocol_for(endpoint: Endpoint, size: int | None, wanted: str, *, has_metadata: bool) -> str:
    """`resumable`, `multipart` or `simple`: what was asked for, or what `auto` chooses.

    `auto` is resumable, except where the method has none, or where a small file saves a round trip
    and sending it twice would replace instead of add; a mail is always resumable. So is a stream,
    which can't be read a second time.
    """
    if size is None:
        return "resumable"
    if wanted != "auto":
        return wanted
    one_request = "multipart" if has_metadata else "simple"
    offered = endpoint.multipart if has_metadata else endpoint.simple
    small = (
        size <= SMALL and endpoint.idempotent and offered and endpoint.media_types != ("message/*",)
    )
    return one_request if small or not endpoint.resumable else "resumable"
