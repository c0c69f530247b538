"""Do what the targets other than Play have in common: the checks before the first request, the flow
that sends files or metadata, and advice for refusals.

Unlike an edit of Play, what they send can't be taken back, so a dry run sends nothing and only says
what would be sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

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
from uploader.protocol.resources import identifier
from uploader.results import FileResult
from uploader.services import media_types, operations
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
MINUTE = "%Y-%m-%d %H:%M"  # the format of times (UTC) for `unfinished_mail_error`
_CHECK = "Check what the service has before you run again."
# The reasons and statuses of a 403, in both error models of Google's APIs, that say that the
# account lacks permission.
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


def require(problems: Problems, **inputs: object) -> None:
    """Add a problem for each input that is empty; a name's underscores stand for hyphens."""
    for name, value in inputs.items():
        if not value:
            problems.add(name.replace("_", "-"), "is required for this target.")


def one_app(names: tuple[str, ...], problems: Problems) -> str:
    """Return the app's name, empty if there is none. Add a problem for several apps, which only
    some targets can work with.
    """
    if len(names) > 1:
        problems.add(
            "package-name",
            f"{len(names)} apps are given, but this target works with one.",
            "one package name",
        )
    if not names:
        return ""
    return names[0]


def require_one(files: tuple[Artifact, ...], what: str, problems: Problems) -> None:
    """Add a problem unless there is exactly one file."""
    if len(files) == 1:
        return
    given = "no file was given"
    if files:
        given = f"{len(files)} files were given"
    problems.add(
        "files",
        f"{given}; {what} takes exactly one.",
        "a pattern that matches one file",
    )


def read_metadata(text: str, problems: Problems) -> dict[str, Any]:
    """Return the JSON object in the input `metadata`. Add a problem for anything else, and return
    an empty object.
    """
    accepted = "a JSON object"
    try:
        value = json.loads(text or "{}")
        # Python also reads NaN and half a surrogate pair, which are not JSON.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        problems.add("metadata", "is not JSON.", accepted)
        return {}
    if not isinstance(value, dict):
        problems.add("metadata", "is not a map.", accepted)
        return {}
    return value


def check(upload: Upload, protocol: str, problems: Problems) -> None:
    """Add a problem for everything that the endpoint does not accept: a file that is too large, is
    a stream or has another type, or a protocol that it does not support.
    """
    file = upload.artifact
    endpoint = upload.endpoint
    if file.size is None and not endpoint.resumable:
        problems.add(
            "files",
            f"{file.name} is a stream; {endpoint.id} must know the size in advance.",
        )
    elif file.size and endpoint.max_size is not None and file.size > endpoint.max_size:
        what = (
            f"{file.name} has {file.size:,} bytes; {endpoint.id} accepts at most "
            f"{endpoint.max_size:,}."
        )
        problems.add("files", what)
    _check_protocol(upload, protocol, problems)
    if not upload.media_type:
        what = f"{file.name} is {media_types.kinds(file)[0]}."
        problems.add("files", what, ", ".join(endpoint.media_types))


def _check_protocol(upload: Upload, protocol: str, problems: Problems) -> None:
    """Add a problem for a protocol that the endpoint does not support, or that can't carry the
    upload.
    """
    file = upload.artifact
    endpoint = upload.endpoint
    supported = {
        "resumable": endpoint.resumable,
        "multipart": endpoint.multipart,
        "simple": endpoint.simple,
    }
    if not supported.get(protocol, True):
        names = [name for name, is_supported in supported.items() if is_supported]
        what = f"{endpoint.id} does not support {protocol} uploads."
        problems.add("upload-protocol", what, ", ".join(["auto", *names]))
    elif file.size is None and protocol in {"simple", "multipart"}:
        what = f"{file.name} is a stream, which a {protocol} upload can't carry."
        problems.add("upload-protocol", what, "auto or resumable")
    elif protocol == "simple" and upload.metadata:
        names = [f"`{field}`" for field in upload.metadata]
        fields = ", ".join(names)
        what = f"a simple upload can't carry metadata: {fields}."
        problems.add("upload-protocol", what, "auto, multipart or resumable")


def prepare_uploads(
    inputs: CommonInputs,
    uploads: tuple[Upload, ...],
    problems: Problems,
    outputs: OutputsOf = lambda _: {},
    wait_deadline: float = 0.0,
) -> Prepared:
    """Return a target that only sends files, with its plan, and with its flow or its dry run.

    `outputs` makes the outputs that only this target has. `wait_deadline` says how many seconds to
    wait until the service is done with the files. Raises InputError for the `problems` so far, and
    for what the endpoints do not accept.
    """
    for upload in uploads:
        check(upload, inputs.upload_protocol, problems)
    problems.raise_if_any()
    plan = [f"Upload {_description(upload)}" for upload in uploads[:SHOWN]]
    rest = len(uploads) - SHOWN
    if rest > 0:
        others = plural(rest, "more file")
        plan.append(f"and {others}, all to {uploads[0].endpoint.id}")
    flow: Flow = partial(_send, uploads, inputs.target, outputs, wait_deadline)
    if inputs.dry_run:
        flow = dry_run(*map(_as_dry_run, uploads))
    return Prepared(tuple(plan), uploads[0].endpoint.scopes, flow)


def _as_dry_run(upload: Upload) -> str:
    """Return the line of a dry run about one upload."""
    return f"Would send {_description(upload)}: {_request(upload)}"


def _description(upload: Upload) -> str:
    """Return a file with its size and media type, and the method that takes it, for people."""
    file = upload.artifact
    size = "a stream"
    if file.size is not None:
        size = format_size(file.size)
    return f"{file.name} ({size}, {upload.media_type}) to {upload.endpoint.id}"


def _request(upload: Upload) -> str:
    """Return the HTTP method, the path and the query of an upload's request."""
    endpoint = upload.endpoint
    request = f"{endpoint.http_method} {endpoint.path}"
    if endpoint.query:
        request += f"?{urlencode(endpoint.query)}"
    return request


def dry_run(*lines: str) -> Flow:
    """Return a flow that only says what would be done."""

    def flow(context: Context) -> Outcome:
        for line in lines:
            context.info(line)
        return Outcome("Every check passed; nothing was sent.")

    return flow


def _send(
    uploads: tuple[Upload, ...],
    target: str,
    outputs: OutputsOf,
    wait_deadline: float,
    context: Context,
) -> Outcome:
    """Send all files, even if some of them fail, then raise the first failure."""
    answered = context.upload_all(uploads)
    results = operations.settle(uploads, answered, wait_deadline, context)
    values = outputs(results)
    context.publish({name: value for name, value in values.items() if value})
    for result in results:
        address = address_of(target, result)
        if address:
            context.info(f"{result.path} is {address}")
    for result in results:
        if result.failure is not None:
            raise result.failure
    sent = plural(len(results), "file")
    return Outcome(f"{sent} sent to {target}.")


def address_of(target: str, result: FileResult) -> str:
    """Return the address of what was made of a file; empty if it is not known."""
    if result.error:
        return ""
    resource = result.resource
    if target.startswith("storage.objects."):
        bucket = identifier(resource, ("bucket",))
        name = identifier(resource, ("name",))
        if bucket and name:
            return f"gs://{bucket}/{name}"
    if target.startswith("drive.files.") and result.id:
        return f"https://drive.google.com/file/d/{quote(result.id, safe='')}/view"
    return ""


@contextmanager
def with_default_advice() -> Iterator[None]:
    """Give the refusals of a flow a cause and a hint.

    A refusal for lack of permission becomes a CredentialsError, like a failed login: in both cases
    something about the account has to change.
    """
    try:
        yield
    except ApiError as refused:
        if refused.status == 403 and refused.reason in _DENIED:
            cause = (
                "The login worked, but the account lacks permission for this, or the API is not "
                "enabled."
            )
            hint = "Enable the API in the account's project, and grant the account the permission."
            raise CredentialsError(
                refused.what,
                cause=refused.cause or cause,
                hint=refused.hint or hint,
                code="permission-denied",
            ) from refused
        cause = "The method, or the resource that it works on, does not accept this request."
        hint = "Correct what the service's message names, then run again."
        raise refused.with_advice(
            cause=refused.cause or cause, hint=refused.hint or hint
        ) from refused


# The metadata alone, which goes to the resource's own URI, without /upload ("Metadata URI, for
# metadata-only requests", developers.google.com/gmail/api/guides/uploads)


def metadata_alone(
    inputs: CommonInputs, endpoint: Endpoint, metadata: Mapping[str, Any]
) -> Prepared:
    """Return a target that is given metadata and no file."""

    def flow(context: Context) -> Outcome:
        is_mail = endpoint.id.startswith("gmail.")  # a second one is worse than none
        send_metadata(endpoint, metadata, endpoint.id, is_mail, context)
        return Outcome(f"Metadata sent to {endpoint.id}.")

    what = f"the metadata alone to {endpoint.id}"
    if inputs.dry_run:
        return Prepared(
            (f"Send {what}",), endpoint.scopes, dry_run(f"Would send {what}.")
        )
    return Prepared((f"Send {what}",), endpoint.scopes, flow)


def send_metadata(
    endpoint: Endpoint,
    metadata: Mapping[str, Any],
    what: str,
    noted: bool,
    context: Context,
) -> dict[str, Any]:
    """Send metadata without a file, publish the id in the response, and return the response.

    If `noted`, and a repeat would add a second thing, a note is kept in the journal during the
    request, since there is no session to ask. Raises OutcomeUnknown, once, if an earlier run has
    left such a note, and ProtocolError for a response without an id.
    """
    key = (
        f"metadata {endpoint.id} {endpoint.path} {json.dumps(metadata, sort_keys=True)}"
    )
    if noted and not endpoint.idempotent:
        begun_at = context.recall(key)
        if begun_at:
            context.remember(key, None)
            raise unfinished_mail_error(what, begun_at)
        now = datetime.fromtimestamp(context.now(), timezone.utc)
        context.remember(key, f"{now:{MINUTE}}")
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
            doubt = f"It is not known whether {what} took effect. {_CHECK}"
            raise error.with_advice(hint=doubt) from error
        context.remember(key, None)
        raise
    context.remember(key, None)
    resource_id = endpoint.identify(response)
    if not resource_id:
        raise ProtocolError(
            f"The service answered {what} without the id of what it made.", hint=_CHECK
        )
    # Results publish the id of an upload, but there is none here.
    context.publish({}, ids=(resource_id,))
    return response


def unfinished_mail_error(what: str, when: str, remedy: str = "") -> OutcomeUnknown:
    """Return the error for a mail that an earlier run began to send without a session, so that the
    service can't be asked about it.
    """
    hint = "Check the sent mail of the mailbox before you run again. The next run sends it."
    if remedy:
        hint += f" {remedy}"
    return OutcomeUnknown(
        f"It is not known whether {what} still has to be sent: a run began it at {when} UTC.",
        cause="That run was ended before it could report, or `state-dir` was restored to an older "
        "state.",
        hint=hint,
    )
