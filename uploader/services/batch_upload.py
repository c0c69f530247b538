"""What the targets other than Play have in common: checks before the first request, and a flow that sends the files.

None of them has anything to undo, so a dry run says what would be sent and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlencode

from uploader.errors import ServiceError
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import media_types
from uploader.services.base import Batch, Context, Flow, Note, Outcome, Prepared, Publish, Upload
from uploader.text import format_size, plural

OutputsOf: TypeAlias = Callable[[tuple[FileResult, ...]], Mapping[str, str]]

SHOWN = 20  # files that the plan names one by one


def check(upload: Upload, inputs: Inputs, problems: Problems) -> None:
    """Everything that the endpoint can't take: too large, another type, a stream, a way of sending it does not have."""
    _check_size(upload, problems)
    _check_protocol(upload, inputs.upload_protocol, problems)
    if not upload.media_type:
        what = f"{upload.artifact.name} is {media_types.kinds(upload.artifact)[0]}."
        problems.add("files", what, ", ".join(upload.endpoint.media_types))


def prepared(
    inputs: Inputs, uploads: tuple[Upload, ...], problems: Problems, outputs: OutputsOf = lambda _: {}
) -> Prepared:
    """What a target is that only sends files: the plan, and the flow or its rehearsal, after the endpoints' checks.

    `outputs` makes the output values that only this target has. Raises InputError with the `problems` so far, too.
    """
    for upload in uploads:
        check(upload, inputs, problems)
    problems.raise_if_any()

    def flow(_: Context) -> Flow:
        return _rehearse(uploads) if inputs.dry_run else _send(uploads, inputs.target, outputs)

    return Prepared(_lines(uploads), uploads[0].endpoint.scopes, flow)


def _lines(uploads: tuple[Upload, ...]) -> tuple[str, ...]:
    shown = tuple(f"Upload {_describe(upload)}" for upload in uploads[:SHOWN])
    rest = len(uploads) - len(shown)
    return (*shown, f"and {rest} more files, all to {uploads[0].endpoint.id}") if rest else shown


def _describe(upload: Upload) -> str:
    length = "a stream" if upload.artifact.size is None else format_size(upload.artifact.size)
    return f"{upload.artifact.name} ({length}, {upload.media_type}) to {upload.endpoint.id}"


def rehearse(line: str) -> Flow:
    """The rehearsal of a plan that is this one line."""
    yield Note(f"Would {line[0].lower()}{line[1:]}.")
    return Outcome("Every check passed; nothing was sent.")


def _rehearse(uploads: tuple[Upload, ...]) -> Flow:
    for upload in uploads:
        query = "?" + urlencode(upload.endpoint.query) if upload.endpoint.query else ""
        yield Note(f"Would send {_describe(upload)}: {upload.endpoint.http_method} {upload.endpoint.path}{query}")
    return Outcome("Every check passed; nothing was sent.")


def _send(uploads: tuple[Upload, ...], target: str, outputs: OutputsOf) -> Flow:
    """Sends all files, however many of them fail, then raises the first failure."""
    results: tuple[FileResult, ...] = yield Batch(uploads)
    yield Publish({name: value for name, value in outputs(results).items() if value})
    for result in results:
        if result.failure is not None:
            raise result.failure
        if result.error:
            raise ServiceError(result.error)
    return Outcome(f"{plural(len(results), 'file')} sent to {target}.")


def require_one(files: tuple[Artifact, ...], what: str, problems: Problems) -> None:
    """Adds a problem unless there is exactly one file."""
    if len(files) != 1:
        wrong = f"{len(files)} files were given; {what} takes exactly one."
        problems.add("files", wrong, "a pattern that matches one file")


def require(problems: Problems, **given: str) -> None:
    """Adds a problem for each input that is empty; a name's underscores stand for hyphens."""
    for name, value in given.items():
        if not value:
            problems.add(name.replace("_", "-"), "is required for this target.")


def _check_size(upload: Upload, problems: Problems) -> None:
    size, endpoint = upload.artifact.size, upload.endpoint
    if size is None and not endpoint.resumable:
        problems.add("files", f"{upload.artifact.name} is a stream; {endpoint.id} must know the size in advance.")
    elif size is not None and endpoint.max_size is not None and size > endpoint.max_size:
        what = f"{upload.artifact.name} has {size:,} bytes; {endpoint.id} accepts at most {endpoint.max_size:,}."
        problems.add("files", what)


def _check_protocol(upload: Upload, protocol: str, problems: Problems) -> None:
    endpoint, name = upload.endpoint, "upload-protocol"
    supported = {"resumable": endpoint.resumable, "multipart": endpoint.multipart, "simple": endpoint.simple}
    if not supported.get(protocol, True):
        accepted = ", ".join(["auto", *(known for known, yes in supported.items() if yes)])
        problems.add(name, f"{endpoint.id} does not support {protocol} uploads.", accepted)
    elif upload.artifact.size is None and protocol in {"simple", "multipart"}:
        what = f"{upload.artifact.name} is a stream, which a {protocol} upload can't carry."
        problems.add(name, what, "auto or resumable")
    elif protocol == "simple" and upload.metadata:
        fields = ", ".join(f"`{field}`" for field in upload.metadata)
        problems.add(name, f"a simple upload can't carry metadata: {fields}.", "auto, multipart or resumable")
