"""What the targets other than Play have in common: checks before the first request, the flow that
sends, its refusals.

None of them has anything to undo, so a dry run says what would be sent and sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlencode

from uploader.errors import (
    ApiError,
    CredentialsError,
    OutcomeUnknown,
    Problems,
    ProtocolError,
    UploaderError,
)
from uploader.files.artifacts import Artifact
from uploader.inputs.records import CommonInputs
from uploader.results import FileResult
from uploader.services import media_types
from uploader.services.base import (
    Call,
    Context,
    Endpoint,
    Flow,
    Outcome,
    Prepared,
    Upload,
)
from uploader.text import format_size, plural

OutputsOf: TypeAlias = Callable[[tuple[FileResult, ...]], Mapping[str, str]]

SHOWN = 20  # files that the plan names one by one
MINUTE = "%Y-%m-%d %H:%M"  # how `begun_before` tells a time in UTC
_CHECK = "Check what the service has before you run again."
# What Google's APIs give as reason or status with a 403 when the account may not do it, in either
# error model.
_DENIED = {
    "PERMISSION_DENIED",
    "IAM_PERMISSION_DENIED",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
    "SERVICE_DISABLED",
    "accessNotConfigured",
    "forbidden",
    "insufficientPermissions",
    "delegationDenied",
    "domainPolicy",
    "appNotAuthorizedToFile",
    "insufficientFilePermissions",
    "insufficientParentPermissions",
}


def require(problems: Problems, **given: object) -> None:
    """Adds a problem for each input that is empty; a name's underscores stand for hyphens."""
    for name, value in given.items():
        if not value:
            problems.add(name.replace("_", "-"), "is required for this target.")


def one_app(names: tuple[str, ...], problems: Problems) -> str:
    """The app's name; adds a problem for several, which only a release and a status can be
    about.
    """
    if len(names) > 1:
        problems.add(
            "package-name",
            f"{len(names)} apps are given, and this target works on one.",
            "one package name",
        )
    return "".join(names[:1])


def require_one(files: tuple[Artifact, ...], what: str, problems: Problems) -> None:
    """Adds a problem unless there is exactly one file."""
    if len(files) != 1:
        wrong = (
            f"{'no file was' if not files else f'{len(files)} files were'} given; {what} takes "
            "exactly one."
        )
        problems.add("files", wrong, "a pattern that matches one file")


def read_metadata(text: str, problems: Problems) -> dict[str, Any]:
    """The JSON object in the input `metadata`; an empty one, and a problem, for anything else."""
    try:
        value = json.loads(text or "{}")
        # Python reads NaN and half a surrogate pair
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        wrong = "is not a map."
    except (ValueError, RecursionError):
        value, wrong = None, "is not JSON."
    if isinstance(value, dict):
        return value
    problems.add("metadata", wrong, "a JSON object")
    return {}


def check(upload: Upload, protocol: str, problems: Problems) -> None:
    """Everything that the endpoint can't take: too large, another type, a stream, a way of sending
    it does not have.
    """
    file, endpoint = upload.artifact, upload.endpoint
    if file.size is None and not endpoint.resumable:
        problems.add(
            "files", f"{file.name} is a stream; {endpoint.id} must know the size in advance."
        )
    elif file.size and endpoint.max_size is not None and file.size > endpoint.max_size:
        what = (
            f"{file.name} has {file.size:,} bytes; {endpoint.id} accepts at most "
            f"{endpoint.max_size:,}."
        )
        problems.add("files", what)
    supported = {
        "resumable": endpoint.resumable,
        "multipart": endpoint.multipart,
        "simple": endpoint.simple,
    }
    if not supported.get(protocol, True):
        accepted = ", ".join(["auto", *(known for known, yes in supported.items() if yes)])
        problems.add(
            "upload-protocol", f"{endpoint.id} does not support {protocol} uploads.", accepted
        )
    elif file.size is None and protocol in {"simple", "multipart"}:
        what = f"{file.name} is a stream, which a {protocol} upload can't carry."
        problems.add("upload-protocol", what, "auto or resumable")
    elif protocol == "simple" and upload.metadata:
        what = (
            "a simple upload can't carry metadata: "
            f"{', '.join(f'`{field}`' for field in upload.metadata)}."
        )
        problems.add("upload-protocol", what, "auto, multipart or resumable")
    if not upload.media_type:
        problems.add(
            "files",
            f"{file.name} is {media_types.kinds(file)[0]}.",
            ", ".join(endpoint.media_types),
        )


def prepared(
    inputs: CommonInputs,
    uploads: tuple[Upload, ...],
    problems: Problems,
    outputs: OutputsOf = lambda _: {},
) -> Prepared:
    """A target that only sends files: its plan, and the flow or the dry run of it, after the
    endpoints' checks.

    `outputs` makes the output values that only this target has. Raises InputError with the
    `problems` so far, too.
    """
    for upload in uploads:
        check(upload, inputs.upload_protocol, problems)
    problems.raise_if_any()
    lines, would = [], []
    for upload in uploads:
        file, endpoint = upload.artifact, upload.endpoint
        length = "a stream" if file.size is None else format_size(file.size)
        what = f"{file.name} ({length}, {upload.media_type}) to {endpoint.id}"
        query = "?" + urlencode(endpoint.query) if endpoint.query else ""
        lines.append(f"Upload {what}")
        would.append(f"Would send {what}: {endpoint.http_method} {endpoint.path}{query}")
    if rest := len(lines[SHOWN:]):
        lines[SHOWN:] = [f"and {plural(rest, 'more file')}, all to {uploads[0].endpoint.id}"]
    flow = dry_run(*would) if inputs.dry_run else partial(_send, uploads, inputs.target, outputs)
    return Prepared(tuple(lines), uploads[0].endpoint.scopes, flow)


def dry_run(*lines: str) -> Flow:
    """Return a flow that only says what would be done."""

    def flow(context: Context) -> Outcome:
        for line in lines:
            context.info(line)
        return Outcome("Every check passed; nothing was sent.")

    return flow


def _send(
    uploads: tuple[Upload, ...], target: str, outputs: OutputsOf, context: Context
) -> Outcome:
    """Sends all files, however many of them fail, then raises the first failure."""
    results = context.upload_all(uploads)
    context.publish({name: value for name, value in outputs(results).items() if value})
    for result in results:
        if result.failure is not None:
            raise result.failure
    return Outcome(f"{plural(len(results), 'file')} sent to {target}.")


@contextmanager
def with_default_advice() -> Iterator[None]:
    """Give the refusals of a flow a cause and a remedy.

    One for lack of permission is a `CredentialsError`: it ends like a failed login, as the account
    must change.
    """
    try:
        yield
    except ApiError as refused:
        if refused.status == 403 and refused.reason in _DENIED:
            raise CredentialsError(
                refused.what,
                cause=refused.cause
                or "The login worked, but the account lacks permission for this, or the API is not "
                "enabled.",
                hint=refused.hint
                or "Enable the API in the account's project, and grant the account the permission.",
                code="permission-denied",
            ) from refused
        refused.cause = (
            refused.cause
            or "The method, or the resource that it works on, does not accept this request."
        )
        refused.hint = refused.hint or "Correct what the service's message names, then run again."
        raise


# The metadata alone, which goes to the resource's own URI, without /upload ("Metadata URI, for
# metadata-only requests", developers.google.com/gmail/api/guides/uploads)


def metadata_alone(
    inputs: CommonInputs, endpoint: Endpoint, metadata: Mapping[str, Any]
) -> Prepared:
    """What a target is that is given metadata and no file."""

    def flow(context: Context) -> Outcome:
        mail = endpoint.id.startswith("gmail.")  # a second one would be worse than none
        send_metadata(endpoint, metadata, endpoint.id, mail, context)
        return Outcome(f"Metadata sent to {endpoint.id}.")

    what = f"the metadata alone to {endpoint.id}"
    return Prepared(
        (f"Send {what}",),
        endpoint.scopes,
        dry_run(f"Would send {what}.") if inputs.dry_run else flow,
    )


def send_metadata(
    endpoint: Endpoint, metadata: Mapping[str, Any], what: str, noted: bool, context: Context
) -> dict[str, Any]:
    """The service's response, whose id becomes an output. Raises ProtocolError for a response
    without an id.

    Where a repeat would add a second thing, it is `noted` meanwhile, since there is no session to
    ask. Raises OutcomeUnknown where an earlier run left such a note, once.
    """
    key = f"metadata {endpoint.id} {endpoint.path} {json.dumps(metadata, sort_keys=True)}"
    if noted and not endpoint.idempotent:
        kept = context.recall(key)
        context.remember(
            key, None if kept else f"{datetime.fromtimestamp(context.now(), timezone.utc):{MINUTE}}"
        )
        if kept:
            raise begun_before(what, kept)
    call = Call(
        endpoint.http_method,
        endpoint.root,
        endpoint.path,
        endpoint.query,
        json=dict(metadata),
        idempotent=endpoint.idempotent,
        what=what,
        may_be_empty=endpoint.empty_response,
    )
    try:
        response = context.call(call)
    except UploaderError as error:
        if error.unanswered and not endpoint.idempotent:
            error.hint = f"It is not known whether {what} took effect. {_CHECK}"
        else:
            context.remember(key, None)
        raise
    context.remember(key, None)
    named = endpoint.identify(response)
    if not named:
        raise ProtocolError(
            f"The service answered {what} without the id of what it made.", hint=_CHECK
        )
    context.publish({}, ids=(named,))  # no upload tells it
    return response


def begun_before(what: str, when: str, remedy: str = "") -> OutcomeUnknown:
    """The error for a mail that a run began and said no more of, without a session that could be
    asked.
    """
    return OutcomeUnknown(
        f"It is not known whether {what} still has to be sent: a run began it at {when} UTC.",
        cause="That run was ended before it could report, or `state-dir` was restored to an older "
        "state.",
        hint="Check the sent mail of the mailbox before you run again. The next run sends it. "
        f"{remedy}".rstrip(),
    )
