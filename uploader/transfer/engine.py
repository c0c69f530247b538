"""Drives a service's flow: carries out each step it yields, sends the answer back, and throws in what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from uploader.errors import ApiError, Interrupted, OutcomeUnknown, TemporaryError, UploaderError
from uploader.files.artifacts import Artifact
from uploader.files.destination import Destination
from uploader.reporting import Reporter
from uploader.results import FileResult, RunRecord, not_reached
from uploader.retrier import CAUSE, HINT, Retrier, Watch
from uploader.services.base import Batch, Call, Context, Download, Flow, Outcome, Section, Sleep, Step, Upload
from uploader.state.journal import Journal
from uploader.text import plural
from uploader.transfer.api_call import call
from uploader.transfer.api_client import ApiClient, TransferSettings, as_reason
from uploader.transfer.concurrency import concurrency
from uploader.transfer.file_source import sha256
from uploader.transfer.upload import upload
from uploader.transfer.workers import Workers


class Engine:
    """Runs one flow."""

    def __init__(self, client: ApiClient, settings: TransferSettings, journal: Journal, reporter: Reporter) -> None:
        self._client = client
        self._settings = settings
        self._journal = journal
        self._reporter = reporter
        self._workers = Workers(concurrency(settings.concurrency), client.policy.clock.monotonic, reporter)
        self._backoffs: dict[str, Retrier] = {}
        self._uploaded: list[Upload] = []
        self._anew: list[Upload] = []  # what the next run is to send again
        self._forgotten: set[str] = set()
        self._watch: Watch | None = None
        self.record = RunRecord()
        self.planned: tuple[Section, ...] = ()  # what the run said that it would change

    def run(self, begin: Callable[[Context], Flow]) -> Outcome:
        """Begins a flow, which gets this engine as its context, and carries it to its end. Raises what it raises."""
        flow = begin(self)
        response: Any = None
        failure: Exception | None = None
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
            case Upload():
                return self._upload(step)
            case Batch():
                return self._batch(step.uploads, step.most)
            case Download():
                from uploader.transfer.download import download  # few runs fetch anything

                return download(step, self._client, self._reporter)
            case Sleep(timeout=None):
                return self._back_off(step)
            case Sleep():
                return self._pause(step)

    # --- the context that the flow is given -----------------------------------------------------------------------

    def info(self, text: str) -> None:
        """Logs a sentence."""
        self._reporter.info(text)

    def warning(self, text: str) -> None:
        """Logs a sentence that deserves attention."""
        self._reporter.warning(text)

    def show(self, title: str, lines: Sequence[str], sections: tuple[Section, ...] = ()) -> None:
        """Logs what is about to change; `sections` are for the summary of a run that ends badly."""
        self.planned = sections
        with self._reporter.group(title):
            for line in lines:
                self._reporter.info(line)

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Makes output values known; see `RunRecord.publish`."""
        self.record.publish(outputs, ids)

    def remember(self, name: str, value: str | None) -> None:
        """Keeps a value in the journal; what is to be forgotten stays there until the end of the run is reported."""
        if value is None:
            self._forgotten.add(name)
        else:
            self._forgotten.discard(name)
            self._journal.remember(name, value)

    def recall(self, name: str) -> str | None:
        """What an earlier run of the same job remembered."""
        return None if name in self._forgotten else self._journal.recall(name)

    def forget_uploads(self, upload_path: str) -> None:
        """Forgets every upload session below this path."""
        self._journal.drop_below(upload_path)

    def reused(self, result: FileResult) -> None:
        """Adds the result of a file that is not sent."""
        self.record.add(result)

    def identified(self, result: FileResult) -> None:
        """Replaces the last upload's result; after an error the next run sends the file again."""
        self.record.results[-1] = result
        if result.error:
            self._anew.append(self._uploaded[-1])

    def discarded(self, why: str, files: frozenset[str] = frozenset(), outputs: tuple[str, ...] = ()) -> None:
        """What this run uploaded is gone; see `RunRecord.discard`."""
        self.record.discard(why, files, outputs)

    def now(self) -> float:
        """The time as the service has it, in seconds since the epoch."""
        return self._client.service_time()

    def sha256(self, artifact: Artifact) -> str:
        """The SHA-256 of a file's bytes."""
        return sha256(artifact)

    def write(self, destination: Destination, data: bytes) -> bool:
        """Makes a file hold exactly these bytes; False where it did already."""
        return destination.write(data)

    def clear_journal(self, *, ok: bool) -> None:
        """Removes from the journal what this run is done with, once its end is reported, and closes it.

        Until then a kill may make it necessary to run again, and what is done must be found done. After a failure the
        finished uploads stay for this run's next attempt, which would add them a second time. What was told to be in
        doubt, or to have failed behind its upload, does not: whoever runs again after that wants it to be sent.
        """
        for name in tuple(self._forgotten):  # a run that was left behind may still add to it
            self._journal.remember(name, None)
        for job in (*self._anew, *(self._uploaded if ok else ())):
            self._journal.drop(job)
        self._journal.close()

    def _back_off(self, step: Sleep) -> None:
        retrier = self._backoffs.get(step.why) if step.number > 1 else None
        if retrier is None:
            retrier = self._backoffs[step.why] = self._retrier()
        retrier.wait(step.why)

    def _pause(self, step: Sleep) -> bool:
        if self._watch is None or step.number == 1:
            self._watch = self._client.policy.watch(self._reporter.info, step.timeout or 0.0)
        return self._watch.wait(step.why)

    def _retrier(self, name: str = "") -> Retrier:
        prefix = f"{name}: " if name else ""
        return self._client.policy.retrier(lambda wait: self._reporter.info(f"{prefix}{wait}"), name)

    # --- uploads --------------------------------------------------------------------------------------------------

    def _upload(self, job: Upload) -> FileResult:
        result = self._upload_with_retries(job)
        self.record.add(result)
        if isinstance(result.failure, UploaderError):
            raise result.failure
        return result

    def _batch(self, jobs: Sequence[Upload], most: int | None) -> tuple[FileResult, ...]:
        """All of them, several at once, the results in their order.

        The cancellation of the run ends all; once the retry deadline has failed one, no other is begun.
        """
        first = len(self.record.results)
        # Each has its place in the record from the start: what is known is there however the run ends.
        self.record.results += [not_reached(job.artifact.name, job.artifact.size) for job in jobs]
        late: list[int] = []

        def send(place: int) -> int | None:
            if self._client.policy.out_of_time:
                late.append(first + place)
                return None
            result = self.record.results[first + place] = self._upload_with_retries(jobs[place])
            if isinstance(result.failure, Interrupted):
                raise result.failure
            return None if result.error else result.bytes

        self._client.on_throttled = self._workers.throttled if len(jobs) > 1 else None
        self._workers.run(len(jobs), send, most)
        if late:
            self._leave(late)
        return tuple(self.record.results[first : first + len(jobs)])

    def _leave(self, places: Sequence[int]) -> None:
        """Says that the files at these places of the record are not begun, because it is too late."""
        seconds = f"{self._client.policy.retry_deadline:g} s"
        what = f"Not begun, because the retry deadline ({seconds}) was reached: {plural(len(places), 'file')}."
        error = TemporaryError(what, cause=CAUSE, hint=HINT)
        self._reporter.warning(what)
        for place in places:
            self.record.results[place] = replace(self.record.results[place], failure=error)

    def _upload_with_retries(self, job: Upload) -> FileResult:
        """Uploads one file, anew after a refusal that passes by itself; whatever goes wrong stands in the result."""
        retrier: Retrier | None = None
        while True:
            result = upload(job, self._client, self._settings, self._journal, self._reporter)
            if retrier:
                result = replace(result, retries=result.retries + retrier.retries)
            refused = result.failure
            if not result.error:
                self._uploaded.append(job)
            elif isinstance(refused, OutcomeUnknown):
                self._anew.append(job)
            if job.retry_on is None or not isinstance(refused, ApiError) or not job.retry_on(refused):
                return result
            retrier = retrier or self._retrier(job.artifact.name)
            try:
                retrier.wait(as_reason(refused), cause=job.retry_on(refused))
            except UploaderError as error:
                return replace(result, error=str(error), failure=error)
