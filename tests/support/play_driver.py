"""Carries the calls of a Play flow out on the model of Play, in memory, and dies at any moment when
it is told to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

from tests.support.fake_play import PACKAGE, Console, Play, sha256
from tests.support.recording_context import RecordingContext
from tests.support.turns import Choose, Turns, by_turns, in_order
from uploader.errors import ApiError, OutcomeUnknown, TemporaryError, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.retry import FIRST_POLL
from uploader.services.base import (
    Backoff,
    Call,
    Download,
    Downloaded,
    Flow,
    Outcome,
    Poll,
    Upload,
)
from uploader.services.play.release import flow
from uploader.services.play.release_job import ReleaseJob

Step = Call | Upload
S = TypeVar("S", Call, Upload)
T = TypeVar("T")


class Killed(BaseException):
    """The process is gone: nothing more runs, not even a cleanup."""


class Engine(RecordingContext):
    """Carries the calls of a flow out on a `Play`, and is the flow's context; the journal outlives
    it, as a process's does.

    `moments` counts the calls and what the flow told; at number `kill_at` the process dies.
    `choose` says which of several things that are done together goes on at each call.
    """

    def __init__(
        self,
        play: Play | Console,
        journal: dict[str, str] | None = None,
        choose: Choose | None = None,
    ) -> None:
        super().__init__(journal)
        self.play = play
        self.steps: list[Step] = []
        self.moments = 0
        self.kill_at: int | None = None
        self.kill_after_effect = False
        self.max_retries = 5
        self.waits = 0
        self.turns = Turns(choose or (in_order if isinstance(play, Play) else by_turns))
        self._dead = False

    def run(self, job: ReleaseJob) -> Outcome:
        """Carries the job out to its end. Raises what it raises; `Killed` when the process was to
        die.
        """
        return self.drive(partial(flow, job))

    def drive(self, begin: Flow) -> Outcome:
        """What is forgotten leaves the journal when the run has come to an end of its own, as with
        the real one.
        """
        try:
            outcome = begin(self)
        except Exception:
            self.settle()
            raise
        self.settle()
        return outcome

    @contextmanager
    def moment(self) -> Iterator[None]:
        """The process dies before or after what happens here, if it is its moment."""
        if self._dead:
            raise Killed
        self.moments += 1
        dying = self.moments == self.kill_at
        if dying and not self.kill_after_effect:
            self._dead = True
            raise Killed
        try:
            yield
        except Killed:
            self._dead = True
            raise
        finally:
            if dying:
                self._dead = True
                raise Killed

    # --- the network and the waits ----------------------------------------------------------------

    def call(self, call: Call) -> dict[str, Any]:
        """The answer of Google Play to a call."""
        answer: dict[str, Any] = self._carry_out(call, self._call)
        return answer

    def begin(self, upload: Upload) -> None:
        """A session changes nothing on Google Play; the process may die when it is started."""
        del upload
        self.turns.pass_on()
        with self.moment():
            pass

    def upload(self, upload: Upload) -> FileResult:
        """The result of an upload."""
        return self._carry_out(upload, self._upload)

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """The results of several uploads."""
        del max_in_flight
        self.turns.pass_on()
        self.steps += uploads
        with self.moment():
            return tuple(self._tried(upload) for upload in uploads)

    def download(self, download: Download) -> Downloaded:
        """Nothing is downloaded here."""
        raise AssertionError(download)

    def backoff(self) -> Backoff:
        """Waits that are counted, as often as there are retries."""
        return _Waits(self)

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Poll:
        """Waits that are counted."""
        del seconds, first
        return _Looks(self)

    def together(self, work: Sequence[Callable[[], T]]) -> list[T]:
        """Does several things, of which one goes on at a time, as the walk chooses; what one of
        them does together it does in order.
        """
        if self.turns.inside or self.turns.is_plain or len(work) == 1:
            return [task() for task in work]
        return self.turns.run(work)

    def _carry_out(self, step: S, do: Callable[[S], T]) -> T:
        self.turns.pass_on()
        self.steps.append(step)
        with self.moment():
            return do(step)

    def wait(self, number: int, why: str) -> None:
        """Counts a wait. Raises TemporaryError when there were as many as there may be."""
        self.turns.pass_on()
        if number > self.max_retries:
            raise TemporaryError(
                f"Gave up after {self.max_retries} retries without progress; last error: {why}."
            )
        with self.moment():
            self.waits += 1

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
            step.artifact.name,
            step.artifact.size or 0,
            sha256(step.artifact),
            resource=resource,
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
            self.wait(
                number, f"the answer to the upload of {step.artifact.name} is lost"
            )
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
                step.artifact.name,
                step.artifact.size or 0,
                error=str(error),
                failure=error,
            )


class _Waits:
    """The waits of one operation."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = 0

    def wait(self, why: str) -> None:
        """Counts the wait."""
        self._number += 1
        self._engine.wait(self._number, why)


class _Looks:
    """The waits for something that takes its time, of which there are as many as retries."""

    left = 60.0  # seconds

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = 0

    def wait(self, why: str) -> bool:
        """Counts the wait."""
        self._number += 1
        if self._number > self._engine.max_retries:
            return False
        self._engine.wait(self._number, why)
        return True


def release_job(*artifacts: Artifact, **more: Any) -> ReleaseJob:
    """A release of the artifacts to the internal track, unless said otherwise."""
    return replace(ReleaseJob(PACKAGE, artifacts, ("internal",)), **more)
