"""Send, draft, insert or import one mail, which the `mail-…` inputs and the files describe, or an
.eml file contains.

A mail that was sent can't be called back. So a run that continues a killed one composes the same
bytes again, by which the engine finds the unfinished session.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from uploader.errors import ApiError, InputError, Problem, Problems, UploaderError
from uploader.files.artifacts import Artifact, Artifacts
from uploader.files.workspace import Workspace
from uploader.inputs.records import CommonInputs, MailInputs
from uploader.services import batch, catalogue, mail_message
from uploader.services.base import Context, Endpoint, Flow, Outcome, Prepared, Upload
from uploader.services.mail_message import Mail, MessageIdentity
from uploader.text import format_size, plural

_Response: TypeAlias = Mapping[str, Any]
_Send: TypeAlias = Callable[[Context], _Response]


class _Action(NamedTuple):
    """What a `gmail-action` does.

    `method` is the API's. `plan` and `done` say for people what will be done with the mail, and
    what was done.
    """

    method: str
    plan: str
    done: str


_MEDIA = "message/rfc822"
_HELD = "the message in metadata"
_ACTIONS = {
    "send": _Action("messages.send", "Send", "Mail sent"),
    "insert": _Action("messages.insert", "Insert", "Mail inserted"),
    "import": _Action("messages.import", "Import", "Mail imported"),
    "draft": _Action("drafts.create", "Draft", "Draft created"),
    "draft-update": _Action("drafts.update", "Replace the draft with", "Draft updated"),
    "draft-send": _Action("drafts.send", "Send the draft as", "Draft sent"),
}
_OF_A_DRAFT = {"drafts.update", "drafts.send"}  # methods for the draft of `draft-id`


def prepare(
    inputs: MailInputs,
    files: Artifacts,
    workspace: Workspace,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    token: Callable[[], str] = lambda: secrets.token_hex(16),
) -> Prepared:
    """Check and compose the mail, or take it from the metadata or from a draft that Gmail has.

    The encoded size of a composed mail counts for the limit. Raises InputError with every problem.
    """
    action = _ACTIONS[inputs.gmail_action]
    endpoint = _endpoint(inputs)
    problems = Problems()
    if action.method in _OF_A_DRAFT and not inputs.draft_id:
        problems.add(
            "draft-id", f"is required for `gmail-action: {inputs.gmail_action}`."
        )
    has_mail = mail_message.given(inputs, files)
    resource = problems.collect(partial(read_resource, inputs, mail=has_mail))
    if resource is None:
        resource = {}
    if not has_mail and (inputs.metadata or action.method == "drafts.send"):
        problems.raise_if_any()
        without_upload = _prepare_without_upload(inputs, endpoint, resource)
        if without_upload:
            return without_upload
    mail = _read_mail(
        inputs,
        files,
        workspace,
        endpoint.max_size or 0,
        problems,
    )
    identity = MessageIdentity(now(), token())
    upload = Upload(endpoint, _artifact(mail, identity), _MEDIA, resource or None)
    protocol = inputs.common.upload_protocol
    batch.check(upload, protocol, problems)
    problems.raise_if_any()
    in_session = endpoint.idempotent or protocol in {"auto", "resumable"}
    send = partial(_send, mail, identity, upload, in_session)
    line = f"{action.plan} {_description(mail, upload.artifact)}"
    return _prepare_target(inputs, endpoint, send, line, mail.warnings)


def _read_mail(
    inputs: MailInputs,
    files: Artifacts,
    workspace: Workspace,
    limit: int,
    problems: Problems,
) -> Mail:
    """Return the mail that the inputs and files describe; `limit` is in bytes.

    Raises InputError with every problem so far if there is no such mail.
    """
    if files:
        _check_shard(inputs.common, problems)
    to_send = _ACTIONS[inputs.gmail_action].method.endswith(".send")
    read = partial(
        mail_message.read,
        inputs,
        files,
        workspace,
        to_send=to_send,
        limit=limit,
    )
    mail = problems.collect(read)
    if mail is None:
        raise InputError(*problems)
    return mail


def _prepare_without_upload(
    inputs: MailInputs, endpoint: Endpoint, resource: dict[str, Any]
) -> Prepared | None:
    """Return the target for a message in the metadata, or for a draft that Gmail has already; None
    if there is neither.
    """
    action = _ACTIONS[inputs.gmail_action]
    send: _Send
    if "raw" in resource or "raw" in _message_of(resource):
        send = partial(batch.send_metadata, endpoint, resource, _HELD, True)
        return _prepare_target(inputs, endpoint, send, f"{action.plan} {_HELD}")
    if action.method == "drafts.send":
        # No note is needed: a draft that was sent is gone, and can't be sent again.
        send = partial(
            batch.send_metadata,
            endpoint,
            resource,
            endpoint.id,
            False,
        )
        return _prepare_target(
            inputs, endpoint, send, f"Send the draft {inputs.draft_id}"
        )
    return None


def _check_shard(inputs: CommonInputs, problems: Problems) -> None:
    """Add a problem if the files of the mail are divided among several jobs."""
    if not inputs.shard:
        return
    number, count = inputs.shard
    if count > 1:
        what = (
            f"this is job {number}/{count}, and each job would make a mail with its own part of "
            "the attachments."
        )
        problems.add("shard", what, "`1/1` for all files in one job")


def _description(mail: Mail, artifact: Artifact) -> str:
    """Return a mail for the plan: its name, its size, the numbers of attachments and recipients."""
    contents = format_size(artifact.size or 0)
    if mail.attachments:
        contents += f", with {plural(mail.attachments, 'attachment')}"
    description = f"{mail.name} ({contents})"
    if mail.recipients:
        description += f" to {plural(mail.recipients, 'recipient')}"
    return description


def _endpoint(inputs: MailInputs) -> Endpoint:
    """Return the upload method of the action."""
    name = _ACTIONS[inputs.gmail_action].method
    method = catalogue.find(f"gmail.users.{name}")
    assert method, "the catalogue has all of them"
    replaces = method.template.http_method == "PUT"
    return method.endpoint(
        {"userId": inputs.user_id, "id": inputs.draft_id},
        idempotent=replaces,
        at_most_once=not replaces,
        id_promised=True,
    )


def _prepare_target(
    inputs: MailInputs,
    endpoint: Endpoint,
    send: _Send,
    line: str,
    warnings: tuple[str, ...] = (),
) -> Prepared:
    """Return the target with the plan `line`, and with its flow or its dry run."""
    flow: Flow = partial(_flow, inputs.gmail_action, inputs.impersonated, send)
    if inputs.common.dry_run:
        flow = batch.dry_run(f"Would {line[0].lower()}{line[1:]}.")
    return Prepared((line,), endpoint.scopes, flow, warnings)


def _artifact(mail: Mail, identity: MessageIdentity) -> Artifact:
    """Return the bytes of a mail under an identity as a file to upload."""
    data = mail.data(identity)
    return Artifact(mail.name, mail.name, len(data), data=data)


def read_resource(inputs: MailInputs, *, mail: bool) -> dict[str, Any]:
    """Return the metadata that goes along with the mail, or alone if there is none (`mail`).

    It is Gmail's Message, or the Draft around a message; a draft to send gets its id. Raises
    InputError also for what Gmail would silently ignore.
    """
    method = _ACTIONS[inputs.gmail_action].method
    problems = Problems()
    resource = batch.read_metadata(inputs.metadata, problems)
    message: Mapping[str, Any] = resource
    misplaced_names: tuple[str, ...] = ("message",)
    if method.startswith("drafts."):
        message = _message_of(resource)
        misplaced_names = ("threadId", "labelIds", "raw")
    for name in misplaced_names:
        if name in resource:
            accepted = '{"message": {"threadId": "…"}} for a draft, {"threadId": "…"} for a message'
            problems.add("metadata", f"has `{name}` in the wrong place.", accepted)
    _check_message(message, problems)
    if "raw" in message:
        if mail:
            what = "contains a message in `raw`, and the other inputs describe one as well."
            problems.add("metadata", what, "one of the two")
        else:
            _check_raw(message["raw"], problems, to_send=method.endswith(".send"))
    problems.raise_if_any()
    draft_id = resource.get("id", inputs.draft_id)
    if method in _OF_A_DRAFT and draft_id != inputs.draft_id:
        raise InputError(
            Problem("metadata", "`id` is not the draft that `draft-id` names.")
        )
    if method == "drafts.send":
        return {**resource, "id": inputs.draft_id}
    return resource


def _check_message(message: Mapping[str, Any], problems: Problems) -> None:
    """Add a problem for a thread or labels in a form that Gmail does not accept."""
    thread = message.get("threadId", "-")
    if not isinstance(thread, str) or not thread:
        problems.add("metadata", "`threadId` is not the id of a thread.", "text")
    if not _are_labels(message.get("labelIds", [])):
        problems.add(
            "metadata", "`labelIds` is not a list of labels.", '["INBOX", "Label_1"]'
        )


def _are_labels(labels: object) -> bool:
    """Return whether a value is a list of texts."""
    if not isinstance(labels, list):
        return False
    return all(isinstance(label, str) for label in labels)


def _check_raw(raw: object, problems: Problems, *, to_send: bool) -> None:
    """Add every problem of a message in base64url; `to_send` requires a recipient."""
    accepted = "an RFC 822 message in base64url"
    text = "".join(str(raw).split()).rstrip("=")
    padding = "=" * (-len(text) % 4)
    try:
        decoded = base64.b64decode(
            text + padding,
            altchars=b"-_",
            validate=True,
        )
        mail_message.check_message(decoded, to_send=to_send)
    except binascii.Error:
        problems.add("metadata", "`raw` is not base64url.", accepted)
    except ValueError as error:  # not ASCII, or not a message
        for fault in error.args:
            problems.add("metadata", f"`raw` {fault}", accepted)


def _message_of(draft: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message in a draft; empty if there is none."""
    message = draft.get("message")
    if not isinstance(message, dict):
        return {}
    return message


def _send(
    mail: Mail,
    identity: MessageIdentity,
    upload: Upload,
    in_session: bool,
    context: Context,
) -> _Response:
    """Upload the mail, and return the response.

    If an earlier run has left an unfinished upload of the same mail, it is uploaded under the
    identity that it had there. `in_session` says that an upload has a session with which the next
    run can continue. Raises OutcomeUnknown for a mail that an earlier run began without a session.
    """
    key = _note_key(upload, identity)
    earlier = MessageIdentity.parse(context.recall(key) or "")
    if earlier and identity.date - earlier.date < upload.endpoint.session_lifetime:
        if not in_session:
            context.remember(key, None)
            begun_at = f"{earlier.date:{batch.MINUTE}}"
            remedy = "`upload-protocol: resumable` can ask the server."
            raise batch.unfinished_mail_error(mail.name, begun_at, remedy)
        identity = earlier
        upload = replace(upload, artifact=_artifact(mail, earlier))
    context.remember(key, str(identity))
    try:
        result = context.upload(upload)
    except UploaderError as error:
        may_continue = error.unanswered
        if in_session:
            may_continue = error.session_kept
        if not may_continue:
            context.remember(key, None)  # the next run sends it as another mail
        raise
    context.remember(key, None)
    return result.resource


def _note_key(upload: Upload, identity: MessageIdentity) -> str:
    """Return the key under which the journal keeps the identity of a mail. It is the same for the
    same content.
    """
    endpoint = upload.endpoint
    content = identity.without(upload.artifact.data or b"")
    digest = hashlib.sha256(content).hexdigest()
    key = f"mail {endpoint.id} {endpoint.path} {digest}"
    if upload.metadata:
        key += f" {json.dumps(upload.metadata, sort_keys=True)}"
    return key


def _flow(
    action: str,
    impersonated: bool,
    send: _Send,
    context: Context,
) -> Outcome:
    """Send the mail, and publish the ids in the response, which is a message or a draft with a
    message in it.
    """
    method = _ACTIONS[action].method
    try:
        response = send(context)
    except ApiError as refused:
        advised = _with_advice(refused, method, impersonated)
        if advised is None:
            raise
        raise advised from refused
    ids: dict[str, str] = {}
    message = response
    if method in {"drafts.create", "drafts.update"}:
        ids["draft-id"] = _id(response, "id")
        message = _message_of(response)
    ids["message-id"] = _id(message, "id")
    ids["thread-id"] = _id(message, "threadId")
    outputs = {name: text for name, text in ids.items() if text}
    context.publish(outputs)
    own_id = response.get("id") or "unknown"
    return Outcome(f"{_ACTIONS[action].done}, id {own_id}.")


def _id(resource: Mapping[str, Any], field: str) -> str:
    """Return an id in a response; empty if there is none, or if it is not text."""
    value = resource.get(field)
    if not isinstance(value, str):
        return ""
    return value


def _with_advice(refused: ApiError, method: str, impersonated: bool) -> ApiError | None:
    """Return a refusal with a cause and a hint if Gmail's own words are unclear: for a draft that
    is gone, and for an account without a mailbox. None is returned for any other refusal.
    """
    if refused.status == 404 and method in _OF_A_DRAFT:
        return refused.with_advice(
            cause="The mailbox has no draft with this `draft-id`, or it was already sent.",
            hint="Check the drafts and the sent mail of the mailbox; `gmail-action: draft` "
            "makes a new draft.",
        )
    if refused.reason == "failedPrecondition" and impersonated:
        return refused.with_advice(
            cause="The user of `impersonate-user` has no Gmail mailbox: Gmail is off for the "
            "user, or the account has no licence for it.",
            hint="Switch Gmail on for the user in the Admin console, or name another user.",
        )
    if refused.reason == "failedPrecondition":
        return refused.with_advice(
            cause="A service account has no mailbox of its own.",
            hint="Set `impersonate-user`, and allow the account domain-wide delegation for the "
            "scope.",
        )
    return None
