"""Carries the steps of a Play flow out on the model of Play, in memory, and dies at any moment when it is told to."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from tests.support.fake_play import PACKAGE, Play, sha256
from uploader.errors import ApiError, OutcomeUnknown, TemporaryError, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import (
    Backoff,
    Batch,
    Call,
    Digest,
    Discarded,
    Flow,
    Note,
    Outcome,
    Publish,
    Recall,
    Remember,
    Reused,
    Show,
    Step,
    Upload,
)
from uploader.services.play.job import ReleaseJob
from uploader.services.play.release import flow


class Killed(BaseException):
    """The process is gone: nothing more runs, not even a cleanup."""


class Engine:
    """Carries a flow's steps out on a `Play`; the journal outlives it, as it outlives a process."""

    def __init__(self, play: Play, journal: dict[str, str] | None = None) -> None:
        self.play = play
        self.journal = {} if journal is None else journal
        self.steps: list[Step] = []
        self.outputs: dict[str, str] = {}
        self.results: list[FileResult] = []
        self.discarded = ""
        self.kill_at: int | None = None
        self.kill_after_effect = False
        self.max_retries = 5
        self.waits = 0
        self._forgotten: set[str] = set()

    def run(self, job: ReleaseJob) -> Outcome:
        """Drives the flow to its end. Raises what it raises; `Killed` when the process was to die."""
        return self.drive(flow(job))

    def drive(self, steps: Flow) -> Outcome:
        """What is forgotten leaves the journal when the run has come to an end of its own, as with the real one."""
        try:
            return self._drive(steps)
        except Exception:
            self._settle()
            raise

    def _settle(self) -> None:
        for name in self._forgotten:
            self.journal.pop(name, None)

    def _drive(self, steps: Flow) -> Outcome:
        response: Any = None
        failure: BaseException | None = None
        while True:
            try:
                step = steps.send(response) if failure is None else steps.throw(failure)
            except StopIteration as end:
                outcome: Outcome = end.value
                self._settle()
                return outcome
            self.steps.append(step)
            dying = len(self.steps) == self.kill_at
            if dying and not self.kill_after_effect:
                steps.close()
                raise Killed
            response, failure = None, None
            try:
                response = self._carry_out(step)
            except UploaderError as error:
                failure = error
            if dying:
                steps.close()
                raise Killed

    @property
    def notes(self) -> str:
        """The log."""
        texts = ("\n".join(step.lines) if isinstance(step, Show) else step.text for step in self.told)
        return "\n".join(texts)

    @property
    def told(self) -> list[Note | Show]:
        """The steps that leave lines in the log."""
        return [step for step in self.steps if isinstance(step, (Note, Show))]

    @property
    def warnings(self) -> list[str]:
        """What of the log is a warning."""
        return [step.text for step in self.steps if isinstance(step, Note) and step.level == "warning"]

    def _carry_out(self, step: Step) -> Any:
        match step:
            case Call():
                return self._call(step)
            case Upload():
                return self._upload(step)
            case Batch():
                return tuple(self._tried(upload) for upload in step.uploads)
            case Digest():
                return sha256(step.artifact)
            case Recall():
                return None if step.name in self._forgotten else self.journal.get(step.name)
            case Backoff():
                return self._back_off(step)
            case _:
                return self._take_note(step)

    def _back_off(self, step: Backoff) -> None:
        if step.attempt > self.max_retries:
            raise TemporaryError(f"Gave up after {self.max_retries} retries without progress; last error: {step.why}.")
        self.waits += 1

    def _again(self, step: Call | Upload, refused: ApiError, waits: int) -> None:
        """Waits as the engine does for a refusal that passes by itself, and raises as it does where none is left."""
        cause = step.retry_on(refused) if step.retry_on else ""
        if not cause:
            raise refused
        if waits == self.max_retries:
            raise TemporaryError(
                f"Gave up after {waits} retries without progress; last error: {refused.what}", cause=cause
            ) from refused
        self.waits += 1

    def _take_note(self, step: Step) -> None:
        match step:
            case Reused():
                self.results.append(step.result)
            case Remember(value=None):
                self._forgotten.add(step.name)
            case Remember(value=str(value)):
                self._forgotten.discard(step.name)
                self.journal[step.name] = value
            case Discarded():
                self.outputs = {name: value for name, value in self.outputs.items() if name not in step.outputs}
                self.discarded = step.why
            case Publish():
                self.outputs |= step.outputs
                if step.ids:
                    self.outputs |= {"id": step.ids[0], "ids": ",".join(step.ids)}

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
        resource = self._answer(step)
        result = FileResult(step.artifact.name, step.artifact.size or 0, sha256(step.artifact), resource=resource)
        self.results.append(result)
        return result

    def _tried(self, step: Upload) -> FileResult:
        try:
            return self._upload(step)
        except UploaderError as error:
            return FileResult(step.artifact.name, step.artifact.size or 0, error=str(error), failure=error)


def release_job(*artifacts: Artifact, **more: Any) -> ReleaseJob:
    """A release of the artifacts to the internal track, unless said otherwise."""
    return replace(ReleaseJob(PACKAGE, artifacts, ("internal",)), **more)
