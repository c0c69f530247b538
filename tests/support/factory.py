"""Makes what the services are given: inputs read as the program reads them, files on disk, and
answers for a flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from tests.support.recording_context import RecordingContext
from uploader import plan
from uploader.errors import InputError
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace
from uploader.inputs import SPECS, Inputs, read
from uploader.results import FileResult
from uploader.retry import FIRST_POLL
from uploader.services.base import Call, Download, Outcome, Prepared, Upload

Step = Call | Upload | Download
T = TypeVar("T")

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def make_inputs(workspace: Path, **given: str) -> Inputs:
    """The inputs of a run in `workspace`; the names are the contract's in snake case."""
    environ = {f"UPLOADER_{name.upper()}": value for name, value in given.items()}
    inputs, problems = read(
        {**environ, "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(workspace)}, []
    )
    assert not problems, problems
    return inputs


def values(inputs: Inputs) -> SimpleNamespace:
    """The value of every input, whoever reads it, by its name in the records."""
    defaults = {spec.attribute: spec.default_value for spec in SPECS}
    return SimpleNamespace(**{**defaults, **inputs.values})


def prepare(inputs: Inputs, *files: Artifact) -> Prepared:
    """What the inputs' target makes of them, as in a run."""
    return plan.prepare(inputs, files, Workspace.of(inputs))


def make_file(
    workspace: Path, name: str, content: bytes = b"content", *, size: int | None = None
) -> Artifact:
    """A file as the program finds it; with `size` it is filled up with a hole."""
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if size is not None:
        with path.open("r+b") as file:
            file.truncate(size)
    return from_path(path, name)


def stream(name: str = "-") -> Artifact:
    """A stream of unknown size."""
    return Artifact(name, name, None)


def only_upload(prepared: Prepared) -> Upload:
    """The one upload that the flow yields."""
    (upload,) = uploads(prepared)
    return upload


def uploads(prepared: Prepared) -> tuple[Upload, ...]:
    """All uploads that the flow makes, when each of them succeeds, and nothing is left to wait
    for.
    """
    operation = {"done": True, "response": {}}
    _, steps = run(prepared, {**operation, "operation": operation})
    return tuple(step for step in steps if isinstance(step, Upload))


def run(
    prepared: Prepared,
    resource: Mapping[str, Any] | None = None,
    response: Callable[[Step], Any] = lambda _: None,
    context: RecordingContext | None = None,
) -> tuple[Outcome, list[Step]]:
    """Carries a flow out to its end: uploads succeed with `resource`, unless `response` returns
    something else or an error.

    What the flow told stands in the `context`.
    """
    answers = Answers(context or RecordingContext(), resource or {}, response)
    return prepared.flow(answers), answers.steps


class Answers:
    """The context of a flow whose requests are answered by a function; the rest is another
    context's.
    """

    def __init__(
        self,
        context: RecordingContext,
        resource: Mapping[str, Any],
        response: Callable[[Step], Any],
    ) -> None:
        self.steps: list[Step] = []
        self._context = context
        self._resource = resource
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def call(self, call: Call) -> Any:
        """What the function answers, else {}."""
        answer = self._answer(call)
        return {} if answer is None else answer

    def upload(self, upload: Upload) -> FileResult:
        """What the function answers, else a result with the resource."""
        answer = self._answer(upload)
        return result(upload, self._resource) if answer is None else answer

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """One result for each upload."""
        del max_in_flight
        return tuple(self.upload(upload) for upload in uploads)

    def download(self, download: Download) -> Any:
        """What the function answers."""
        return self._answer(download)

    def backoff(self) -> Any:
        """Waits that take no time."""
        return self

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Any:
        """Waits that take no time."""
        del seconds, first
        return self

    left = 60.0  # seconds

    def wait(self, why: str) -> bool:
        """Is over at once."""
        del why
        return True

    def begin(self, upload: Upload) -> None:
        """Starts no session: the upload does."""

    def together(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Does one after the other."""
        return [task() for task in tasks]

    def _answer(self, step: Step) -> Any:
        self.steps.append(step)
        answer = self._response(step)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def answers(
    response: Callable[[Step], Any], resource: Mapping[str, Any] | None = None
) -> Answers:
    """A context of its own whose requests are answered by a function."""
    return Answers(RecordingContext(), resource or {}, response)


def result(upload: Upload, resource: Mapping[str, Any], **facts: Any) -> FileResult:
    """The result of a finished upload."""
    return FileResult(
        upload.artifact.name, upload.artifact.size or 0, resource=resource, **facts
    )


def problems(error: InputError) -> dict[str, str]:
    """What was wrong, by the input's name; the last of several complaints about one."""
    return {problem.name: problem.what for problem in error.problems}
