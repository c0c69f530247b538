"""What the targets other than Play have in common: checks before the first request, the flow that sends, its refusals.

None of them has anything to undo, so a dry run says what would be sent and sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlencode

from uploader.errors import (
    ApiError,
    CredentialsError,
    InputError,
    Interrupted,
    OutcomeUnknown,
    Problem,
    ProtocolError,
    ServiceError,
    UploaderError,
)
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import media_types
from uploader.services.base import Batch, Call, Context, Endpoint, Flow, Outcome, Prepared, Steps, Upload
from uploader.text import format_size, plural

OutputsOf: TypeAlias = Callable[[tuple[FileResult, ...]], Mapping[str, str]]

SHOWN = 20  # files that the plan names one by one
_CHECK = "Check what the service has before you run again."
# What Google's APIs give as reason or status with a 403 when the account may not do it, in either error model.
_DENIED = frozenset(
    {
        "accessNotConfigured",
        "SERVICE_DISABLED",
        "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
        "IAM_PERMISSION_DENIED",
        "PERMISSION_DENIED",
        "appNotAuthorizedToFile",
        "delegationDenied",
        "domainPolicy",
        "forbidden",
        "insufficientFilePermissions",
        "insufficientParentPermissions",
        "insufficientPermissions",
    }
)


# The checks


def require(problems: Problems, **given: str) -> None:
    """Adds a problem for each input that is empty; a name's underscores stand for hyphens."""
    for name, value in given.items():
        if not value:
            problems.add(name.replace("_", "-"), "is required for this target.")


def require_one(files: tuple[Artifact, ...], what: str, problems: Problems) -> None:
    """Adds a problem unless there is exactly one file."""
    if len(files) != 1:
        wrong = f"{len(files)} files were given; {what} takes exactly one."
        problems.add("files", wrong, "a pattern that matches one file")


def read_metadata(text: str) -> dict[str, Any]:
    """The JSON object in the input `metadata`. Raises InputError."""
    try:
        value = json.loads(text or "{}")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # Python reads NaN and half a surrogate pair
    except (ValueError, RecursionError):
        raise InputError(Problem("metadata", "is not JSON.", "a JSON object")) from None
    if not isinstance(value, dict):
        raise InputError(Problem("metadata", "is not a map.", "a JSON object"))
    return value


def check(upload: Upload, protocol: str, problems: Problems) -> None:
    """Everything that the endpoint can't take: too large, another type, a stream, a way of sending it does not have."""
    file, endpoint = upload.artifact, upload.endpoint
    if file.size is None and not endpoint.resumable:
        problems.add("files", f"{file.name} is a stream; {endpoint.id} must know the size in advance.")
    elif file.size is not None and endpoint.max_size is not None and file.size > endpoint.max_size:
        what = f"{file.name} has {file.size:,} bytes; {endpoint.id} accepts at most {endpoint.max_size:,}."
        problems.add("files", what)
    supported = {"resumable": endpoint.resumable, "multipart": endpoint.multipart, "simple": endpoint.simple}
    if not supported.get(protocol, True):
        accepted = ", ".join(["auto", *(known for known, yes in supported.items() if yes)])
        problems.add("upload-protocol", f"{endpoint.id} does not support {protocol} uploads.", accepted)
    elif file.size is None and protocol in {"simple", "multipart"}:
        what = f"{file.name} is a stream, which a {protocol} upload can't carry."
        problems.add("upload-protocol", what, "auto or resumable")
    elif protocol == "simple" and upload.metadata:
        names = ", ".join(f"`{field}`" for field in upload.metadata)
        what = f"a simple upload can't carry metadata: {names}."
        problems.add("upload-protocol", what, "auto, multipart or resumable")
    if not upload.media_type:
        problems.add("files", f"{file.name} is {media_types.kinds(file)[0]}.", ", ".join(endpoint.media_types))


# The plan and the flow


def prepared(
    inputs: Inputs, uploads: tuple[Upload, ...], problems: Problems, outputs: OutputsOf = lambda _: {}
) -> Prepared:
    """What a target is that only sends files: the plan, and the flow or its rehearsal, after the endpoints' checks.

    `outputs` makes the output values that only this target has. Raises InputError with the `problems` so far, too.
    """
    for upload in uploads:
        check(upload, inputs.upload_protocol, problems)
    problems.raise_if_any()
    would = (f"Would send {_describe(upload)}: {_request_line(upload.endpoint)}" for upload in uploads)
    flow = rehearsal(*would) if inputs.dry_run else partial(_send, uploads, inputs.target, outputs)
    lines = [f"Upload {_describe(upload)}" for upload in uploads[:SHOWN]]
    if rest := len(uploads) - len(lines):
        lines.append(f"and {rest} more files, all to {uploads[0].endpoint.id}")
    return Prepared(tuple(lines), uploads[0].endpoint.scopes, flow)


def _describe(upload: Upload) -> str:
    length = "a stream" if upload.artifact.size is None else format_size(upload.artifact.size)
    return f"{upload.artifact.name} ({length}, {upload.media_type}) to {upload.endpoint.id}"


def _request_line(endpoint: Endpoint) -> str:
    return f"{endpoint.http_method} {endpoint.path}" + ("?" + urlencode(endpoint.query) if endpoint.query else "")


def rehearsal(*lines: str) -> Callable[[Context], Flow]:
    """A flow that only says what would be done."""

    def flow(context: Context) -> Flow:
        for line in lines:
            context.info(line)
        yield from ()
        return Outcome("Every check passed; nothing was sent.")

    return flow


def _send(uploads: tuple[Upload, ...], target: str, outputs: OutputsOf, context: Context) -> Flow:
    """Sends all files, however many of them fail, then raises the first failure."""
    results: tuple[FileResult, ...] = yield Batch(uploads)
    context.publish({name: value for name, value in outputs(results).items() if value})
    for result in results:
        if result.failure is not None:
            raise result.failure
        if result.error:
            raise ServiceError(result.error)
    return Outcome(f"{plural(len(results), 'file')} sent to {target}.")


def explain_refusals(flow: Flow) -> Flow:
    """The same flow, whose refusals have a cause and a remedy.

    One for lack of permission is a `CredentialsError`: it ends like a failed login, as the account must change.
    """
    try:
        return (yield from flow)
    except ApiError as refused:
        if refused.status == 403 and refused.reason in _DENIED:
            raise CredentialsError(
                refused.what,
                cause=refused.cause
                or "The login worked, but the account lacks permission for this, or the API is not enabled.",
                hint=refused.hint or "Enable the API in the account's project, and grant the account the permission.",
                code="permission-denied",
            ) from refused
        refused.cause = refused.cause or "The method, or the resource that it works on, does not accept this request."
        refused.hint = refused.hint or "Correct what the service's message names, then run again."
        raise


# The metadata alone, which goes to the resource's own URI, without /upload ("Metadata URI, for metadata-only requests",
# developers.google.com/gmail/api/guides/uploads)


def send_metadata(
    context: Context, endpoint: Endpoint, metadata: Mapping[str, Any], what: str
) -> Steps[dict[str, Any]]:
    """The service's response, whose id becomes an output. Raises ProtocolError for a response without an id."""
    method, root, path, query = endpoint.http_method, endpoint.root, endpoint.path, endpoint.query
    try:
        response: dict[str, Any] = yield Call(
            method, root, path, query, json=dict(metadata), idempotent=endpoint.idempotent, what=what
        )
    except Interrupted as stopped:
        if stopped.unanswered and not endpoint.idempotent:
            stopped.hint = f"It is not known whether {what} took effect. {_CHECK}"
        raise
    named = endpoint.identify(response)
    if not named:
        raise ProtocolError(f"The service answered {what} without the id of what it made.", hint=_CHECK)
    context.publish({}, ids=(named,))  # no upload tells it
    return response


def send_metadata_once(
    context: Context, endpoint: Endpoint, metadata: Mapping[str, Any], what: str
) -> Steps[dict[str, Any]]:
    """As `send_metadata`, with a note meanwhile where a repeat would add a second one: there is no session to ask.

    Raises OutcomeUnknown where an earlier run left such a note, once.
    """
    if endpoint.idempotent:
        return (yield from send_metadata(context, endpoint, metadata, what))
    key = f"metadata {endpoint.id} {endpoint.path} {json.dumps(metadata, sort_keys=True)}"
    if kept := context.recall(key):
        context.remember(key, None)
        raise begun_before(what, kept)
    context.remember(key, minute(datetime.fromtimestamp(context.now(), timezone.utc)))
    try:
        response = yield from send_metadata(context, endpoint, metadata, what)
    except UploaderError as error:
        if not unanswered(error):
            context.remember(key, None)
        raise
    context.remember(key, None)
    return response


def unanswered(error: UploaderError) -> bool:
    """Whether a signal ended the run between a whole request and its response: what it asked may have been done."""
    return isinstance(error, Interrupted) and error.unanswered


def begun_before(what: str, when: str, remedy: str = "") -> OutcomeUnknown:
    """The error for a mail that a run began and said no more of, without a session that could be asked."""
    return OutcomeUnknown(
        f"It is not known whether {what} still has to be sent: a run began it at {when} UTC.",
        cause="That run was ended before it could report, or `state-dir` was restored to an older state.",
        hint=f"Check the sent mail of the mailbox before you run again. The next run sends it. {remedy}".rstrip(),
    )


def minute(when: datetime) -> str:
    """A time in UTC as `begun_before` tells it."""
    return f"{when:%Y-%m-%d %H:%M}"
