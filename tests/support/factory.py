"""Makes what the services are given: inputs read as the program reads them, files on disk, and
answers for a flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.recording_context import RecordingContext
from uploader import plan
from uploader.errors import InputError
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace
from uploader.inputs import Inputs, read
from uploader.results import FileResult
from uploader.services.base import Batch, Call, Download, Outcome, Prepared, Sleep, Step, Upload

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def make_inputs(workspace: Path, **given: str) -> Inputs:
    """The inputs of a run in `workspace`; the names are the contract's in snake case."""
    environ = {f"UPLOADER_{name.upper()}": value for name, value in given.items()}
    inputs, problems = read(
        {**environ, "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(workspace)}, []
    )
    assert not problems, problems
    return inputs


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
    """All uploads that the flow yields, when each of them succeeds."""
    _, steps = run(prepared)
    batches = [
        step.uploads if isinstance(step, Batch) else (step,)
        for step in steps
        if isinstance(step, (Batch, Upload))
    ]
    return tuple(upload for batch in batches for upload in batch)


def run(
    prepared: Prepared,
    resource: Mapping[str, Any] | None = None,
    response: Callable[[Step], Any] = lambda _: None,
    context: RecordingContext | None = None,
) -> tuple[Outcome, list[Step]]:
    """Drives a flow to its end: uploads succeed with `resource`, unless `response` returns
    something else or an error.

    What the flow told stands in the `context`.
    """
    context = context or RecordingContext()
    flow, steps = prepared.flow(context), list[Step]()
    reply: Any = None
    try:
        while True:
            step = flow.throw(reply) if isinstance(reply, BaseException) else flow.send(reply)
            steps.append(step)
            reply = response(step)
            if reply is None:
                reply = _success(step, resource or {})
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome, steps


def result(upload: Upload, resource: Mapping[str, Any], **facts: Any) -> FileResult:
    """The result of a finished upload."""
    return FileResult(upload.artifact.name, upload.artifact.size or 0, resource=resource, **facts)


def problems(error: InputError) -> dict[str, str]:
    """What was wrong, by the input's name; the last of several complaints about one."""
    return {problem.name: problem.what for problem in error.problems}


def _success(step: Step, resource: Mapping[str, Any]) -> Any:
    match step:
        case Upload():
            return result(step, resource)
        case Batch():
            return tuple(result(upload, resource) for upload in step.uploads)
        case Call():
            return {}
        case Download() | Sleep():
            return None
