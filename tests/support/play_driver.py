"""Carries the steps of a Play flow out on the model of Play, in memory, and dies at any moment when
it is told to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from tests.support.fake_play import PACKAGE, Console, Play, sha256
from tests.support.recording_context import RecordingContext
from uploader.errors import ApiError, OutcomeUnknown, TemporaryError, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import (
    Batch,
    Call,
    Context,
    Flow,
    Outcome,
    Parallel,
    Sleep,
    Step,
    Upload,
)
from uploader.services.play.release import flow
from uploader.services.play.release_job import ReleaseJob


class Killed(BaseException):
    """The process is gone: nothing more runs, not even a cleanup."""


class Engine(RecordingContext):
    """Carries a flow's steps out on a `Play`, and is the flow's context; the journal outlives it,
    as a process's does.

    `moments` counts the steps and what the flow told; at number `kill_at` the process dies.
    """

    def __init__(self, play: Play | Console, journal: dict[str, str] | None = None) -> None:
        super().__init__(journal)
        self.play = play
        self.steps: list[Step] = []
        self.moments = 0
        self.kill_at: int | None = None
        self.kill_after_effect = False
        self.max_retries = 5
        # the steps of several flows; else none is begun once another has failed
        self.at_once = True
        self.waits = 0

    def run(self, job: ReleaseJob) -> Outcome:
        """Drives the flow to its end. Raises what it raises; `Killed` when the process was to
        die.
        """
        return self.drive(partial(flow, job))

    def drive(self, begin: Callable[[Context], Flow]) -> Outcome:
        """What is forgotten leaves the journal when the run has come to an end of its own, as with
        the real one.
        """
        try:
            outcome = self._drive(begin(self))
        except Exception:
            self.settle()
            raise
        self.settle()
        return outcome

    @contextmanager
    def moment(self) -> Iterator[None]:
        """The process dies before or after what happens here, if it is its moment."""
        self.moments += 1
        dying = self.moments == self.kill_at
        if dying and not self.kill_after_effect:
            raise Killed
        try:
            yield
        finally:
            if dying:
                raise Killed

    def _drive(self, steps: Flow) -> Outcome:
        response: Any = None
        failure: BaseException | None = None
        while True:
            try:
                step = steps.send(response) if failure is None else steps.throw(failure)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            if isinstance(step, Parallel):
                found: list[Any] = []
                for one in step.steps:
                    late = not self.at_once and any(
                        isinstance(each, UploaderError) for each in found
                    )
                    found.append(one if late else self._attempted(one))
                response, failure = tuple(found), None
                continue
            response, failure = self._attempted(step), None
            if isinstance(response, UploaderError):
                response, failure = None, response

    def _attempted(self, step: Step) -> Any:
        """What a step comes to, or the error that it ends with."""
        self.steps.append(step)
        try:
            with self.moment():
                return self._carry_out(step)
        except UploaderError as error:
            return error

    def _carry_out(self, step: Step) -> Any:
        match step:
            case Call():
                return self._call(step)
            case Upload():
                return self._upload(step)
            case Batch():
                return tuple(self._tried(upload) for upload in step.uploads)
            case Sleep():
                return self._sleep(step)

    def _sleep(self, step: Sleep) -> bool | None:
        if step.number > self.max_retries:
            raise TemporaryError(
                f"Gave up after {self.max_retries} retries without progress; last "
                f"error: {step.why}."
            )
        self.waits += 1
        return None

    def _again(self, step: Call | Upload, refused: ApiError, waits: int) -> None:
        """Waits as the engine does for a refusal that passes by itself, and raises as it does where
        none is left.
        """
        cause = step.retry_on(refused) if step.retry_on else ""
        if not cause:
            raise refused
        if waits == self.max_retries:
            raise TemporaryError(
                f"Gave up after {waits} retries without progress; last error: {refused.what}",
                cause=cause,
            ) from refused
        self.waits += 1

    def _call(self, step: Call) -> Any:
        try:
            return self._answer(step)
        except OutcomeUnknown:
            assert not step.idempotent, f"the engine repeats {step.what} by itself"
            raise

    def _answer(self, step: Call | Upload) -> Any:
        for waits in count():
            response = self._attempt(step)
            if isinstance(response, ApiError):
                self._again(step, response, waits)
            else:
                return response
        return None

    def _attempt(self, step: Call | Upload) -> Any:
        try:
            return self.play.response(step)
        except ApiError as refused:
            return refused

    def _upload(self, step: Upload) -> FileResult:
        resource = self._uploaded(step)
        result = FileResult(
            step.artifact.name, step.artifact.size or 0, sha256(step.artifact), resource=resource
        )
        self.results.append(result)
        return result

    def _uploaded(self, step: Upload) -> Any:
        """The resource; as by the engine, the upload is repeated where its answer is lost and it is
        not found.
        """
        for number in count(1):
            resource = self._answer_or_find(step)
            if resource is not None:
                return resource
            self._sleep(Sleep(number, f"the answer to the upload of {step.artifact.name} is lost"))
        return None

    def _answer_or_find(self, step: Upload) -> Any:
        try:
            return self._answer(step)
        except OutcomeUnknown:
            if step.search is None:
                raise
            return step.search.find(self._call(step.search.call))

    def _tried(self, step: Upload) -> FileResult:
        try:
            return self._upload(step)
        except UploaderError as error:
            return FileResult(
                step.artifact.name, step.artifact.size or 0, error=str(error), failure=error
            )


def release_job(*artifacts: Artifact, **more: Any) -> ReleaseJob:
    """A release of the artifacts to the internal track, unless said otherwise."""
    return replace(ReleaseJob(PACKAGE, artifacts, ("internal",)), **more)
