"""Drives a service's flow: carries out each step it yields, sends the answer back, and throws in what went wrong."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from uploader.errors import Interrupted, Refused, UploaderError
from uploader.results import FileResult
from uploader.retrier import Retrier
from uploader.services.base import (
    Backoff,
    Batch,
    Call,
    Digest,
    Flow,
    Note,
    Outcome,
    Publish,
    Recall,
    Remember,
    Reused,
    Step,
    Upload,
)
from uploader.state.journal import Journal
from uploader.transfer.api_call import call
from uploader.transfer.api_client import ApiClient, TransferSettings, words
from uploader.transfer.file_source import sha256
from uploader.transfer.upload import upload


class Progress(Protocol):
    """One upload as people see it."""

    def to(self, offset: int) -> None:
        """It stands at so many bytes."""

    def done(self, ok: bool) -> None:
        """It ended."""


class Reporter(Protocol):
    """Who tells people what happens; see `uploader.outputs`."""

    def info(self, text: str) -> None:
        """A line of the log."""

    def warning(self, text: str) -> None:
        """A line that deserves attention."""

    def debug(self, text: str) -> None:
        """A line for those who asked for more."""

    def progress(self, label: str, total: int | None, start: int = ...) -> Progress:
        """Follow one upload."""


@dataclass(slots=True)
class Record:
    """What a run has to show, filled while it goes: it is all there even when the run ends badly."""

    results: list[FileResult] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)

    def add(self, result: FileResult) -> None:
        """One more record, or the better one of a file that was tried before and failed."""
        tried = (place for place, one in enumerate(self.results) if one.error and one.path == result.path)
        place = next(tried, None)
        if place is None:
            self.results.append(result)
        else:
            self.results[place] = result


class Engine:
    """Runs one flow. `limit` is how many uploads the service takes at once, None for as many as the settings say."""

    def __init__(
        self, wire: ApiClient, settings: TransferSettings, journal: Journal, voice: Reporter, limit: int | None = None
    ) -> None:
        self._wire = wire
        self._settings = settings
        self._journal = journal
        self._voice = voice
        self._threads = min(settings.concurrency, limit or settings.concurrency)
        self._backoffs: dict[str, Retrier] = {}
        self._finished: list[Upload] = []
        self._forgotten: set[str] = set()
        self.record = Record()

    def run(self, flow: Flow) -> Outcome:
        """Carries the flow to its end. Raises what the flow raises."""
        answer: Any = None
        failure: BaseException | None = None
        while True:
            try:
                step = flow.send(answer) if failure is None else flow.throw(failure)
            except StopIteration as end:
                outcome: Outcome = end.value
                self.record.outputs.update(outcome.outputs)
                return outcome
            answer, failure = None, None
            try:
                answer = self._carry_out(step)
            except UploaderError as error:
                failure = error

    def _carry_out(self, step: Step) -> Any:
        match step:
            case Call():
                return call(step, self._wire, self._voice.info)
            case Upload():
                return self._upload(step)
            case Batch():
                return self._batch(step.uploads)
            case Digest():
                return sha256(step.artifact)
            case Reused():
                return self.record.add(step.result)
            case Recall():
                return None if step.name in self._forgotten else self._journal.recall(step.name)
            case Remember():
                return self._remember(step)
            case Publish():
                return self.record.outputs.update(step.outputs)
            case Note():
                return getattr(self._voice, step.level)(step.text)
            case Backoff():
                return self._back_off(step)

    def _remember(self, step: Remember) -> None:
        if step.value is None:
            self._forgotten.add(step.name)
        else:
            self._forgotten.discard(step.name)
            self._journal.remember(step.name, step.value)

    def settle(self, *, ok: bool) -> None:
        """Clears the journal of what this run has done with, once its end is told.

        Until then a kill may make it necessary to run again, and what is done must be found done. After a failure the
        finished uploads stay for the next run, which would add them a second time.
        """
        for name in tuple(self._forgotten):
            self._journal.remember(name, None)
        for job in tuple(self._finished) if ok else ():
            self._journal.drop(job)

    def _back_off(self, step: Backoff) -> None:
        retrier = self._backoffs.get(step.why) if step.attempt > 1 else None
        if retrier is None:
            retrier = self._backoffs[step.why] = self._retrier()
        retrier.wait(step.why)

    def _retrier(self, prefix: str = "") -> Retrier:
        return self._wire.policy.retrier(lambda wait: self._voice.info(f"{prefix}{wait}"))

    # --- uploads --------------------------------------------------------------------------------------------------

    def _upload(self, job: Upload) -> FileResult:
        result = self._one(job)
        self.record.add(result)
        if isinstance(result.failure, UploaderError):
            raise result.failure
        return result

    def _one(self, job: Upload) -> FileResult:
        """Uploads one file, anew after a refusal that passes by itself; whatever goes wrong stands in the result."""
        retrier: Retrier | None = None
        while True:
            result = self._sent(job)
            refused = result.failure
            if job.retry_on is None or not isinstance(refused, Refused) or not job.retry_on(refused):
                return result
            retrier = retrier or self._retrier(f"{job.artifact.name}: ")
            try:
                retrier.wait(words(refused), cause=job.retry_on(refused))
            except UploaderError as error:
                return replace(result, error=str(error), failure=error)

    def _sent(self, job: Upload) -> FileResult:
        watcher = _Watcher(job, self._voice)
        result = upload(job, self._wire, self._settings, self._journal, watcher)
        watcher.progress.done(not result.error)
        if not result.error:
            self._finished.append(job)
        return replace(result, id=job.endpoint.identify(result.resource))

    def _batch(self, jobs: Sequence[Upload]) -> tuple[FileResult, ...]:
        """All of them, several at once, the results in their order; the run's own stop ends all of them."""
        first = len(self.record.results)
        # Each has its place in the record from the start: what is known is there however the run ends.
        self.record.results += [_not_reached(job) for job in jobs]
        self._in_threads([partial(self._into, first + place, job) for place, job in enumerate(jobs)])
        whole = tuple(self.record.results[first : first + len(jobs)])
        stopped = next((result.failure for result in whole if isinstance(result.failure, Interrupted)), None)
        if stopped is not None:
            raise stopped
        return whole

    def _into(self, place: int, job: Upload) -> None:
        self.record.results[place] = self._one(job)

    def _in_threads(self, tasks: Sequence[Callable[[], None]]) -> None:
        waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)
        broken: list[BaseException] = []
        threads = [
            threading.Thread(target=_work, args=(waiting, broken), daemon=True)
            for _ in range(min(self._threads, len(tasks)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if broken:
            raise broken[0]


def _not_reached(job: Upload) -> FileResult:
    return FileResult(job.artifact.name, job.artifact.size or 0, error="was not reached")


def _work(waiting: queue.SimpleQueue[Callable[[], None]], broken: list[BaseException]) -> None:
    while not broken:
        try:
            task = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            task()
        except BaseException as error:  # noqa: BLE001  # carried to the main thread, which raises it
            broken.append(error)


class _Watcher:
    """Tells the voice how one file goes."""

    def __init__(self, job: Upload, voice: Reporter) -> None:
        self._name = job.artifact.name
        self._voice = voice
        self.progress = voice.progress(job.artifact.name, job.artifact.size)

    def to(self, offset: int) -> None:
        self.progress.to(offset)

    def say(self, text: str) -> None:
        self._voice.info(f"{self._name}: {text}")

    def warn(self, text: str) -> None:
        self._voice.warning(f"{self._name}: {text}")
