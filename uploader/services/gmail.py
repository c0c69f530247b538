"""Sends, drafts, inserts or imports one mail; what it says comes from the `mail-…` inputs and the
files, or an .eml.

A mail that goes out cannot be called back, so a run that goes on where an earlier one died composes
the same bytes again, by which the engine finds the unfinished session.
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
from typing import Any, TypeAlias

from uploader.errors import ApiError, InputError, Problem, Problems, UploaderError
from uploader.files.artifacts import Artifact, Artifacts
from uploader.files.workspace import Workspace
from uploader.inputs.records import MailInputs
from uploader.services import batch, catalogue, mail_message
from uploader.services.base import Context, Endpoint, Outcome, Prepared, Upload
from uploader.services.mail_message import Mail, MessageIdentity
from uploader.text import format_size, plural

_Response: TypeAlias = Mapping[str, Any]
_Send: TypeAlias = Callable[[Context], _Response]

_MEDIA = "message/rfc822"
_HELD = "the message in metadata"
# By `gmail-action`: the method, what will be done with the mail, and what was done, in words.
_ACTIONS = {
    "send": ("messages.send", "Send", "Mail sent"),
    "insert": ("messages.insert", "Insert", "Mail inserted"),
    "import": ("messages.import", "Import", "Mail imported"),
    "draft": ("drafts.create", "Draft", "Draft created"),
    "draft-update": ("drafts.update", "Replace the draft with", "Draft updated"),
    "draft-send": ("drafts.send", "Send the draft as", "Draft sent"),
}
_OF_A_DRAFT = {"drafts.update", "drafts.send"}  # which `draft-id` names


def prepare(
    inputs: MailInputs,
    files: Artifacts,
    workspace: Workspace,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    token: Callable[[], str] = lambda: secrets.token_hex(16),
) -> Prepared:
    """Checks and composes the mail; its encoding counts for the limit. Raises InputError with every
    problem.
    """
    (method, plan, _), endpoint, problems = (
        _ACTIONS[inputs.gmail_action],
        _endpoint(inputs),
        Problems(),
    )
    if method in _OF_A_DRAFT and not inputs.draft_id:
        problems.add("draft-id", f"is required for `gmail-action: {inputs.gmail_action}`.")
    has_mail = mail_message.given(inputs, files)
    resource = problems.collect(lambda: read_resource(inputs, mail=has_mail)) or {}
    if not has_mail and (inputs.metadata or method == "drafts.send"):
        problems.raise_if_any()
        held = "raw" in resource or "raw" in _message_of(resource)
        if held or method == "drafts.send":
            line = f"{plan} {_HELD}" if held else f"Send the draft {inputs.draft_id}"
            # Without a note where a draft is sent: it is gone then, and can't be sent again.
            send = partial(
                batch.send_metadata, endpoint, resource, _HELD if held else endpoint.id, held
            )
            return _made(inputs, endpoint, send, line)
    if files and inputs.common.shard and inputs.common.shard[1] > 1:
        what = (
            "this is job {}/{}, and each of them would make a mail with its own part of the "
            "attachments."
        )
        problems.add("shard", what.format(*inputs.common.shard), "`1/1` for all files in one job")
    to_send, limit = method.endswith(".send"), endpoint.max_size or 0
    mail = problems.collect(
        lambda: mail_message.read(inputs, files, workspace, to_send=to_send, limit=limit)
    )
    if mail is None:
        raise InputError(*problems)
    identity = MessageIdentity(now(), token())
    upload = Upload(endpoint, _artifact(mail, identity), _MEDIA, resource or None)
    batch.check(upload, inputs.common.upload_protocol, problems)
    problems.raise_if_any()
    attached = f", with {plural(mail.attachments, 'attachment')}" if mail.attachments else ""
    to = f" to {plural(mail.recipients, 'recipient')}" if mail.recipients else ""
    line = f"{plan} {mail.name} ({format_size(upload.artifact.size or 0)}{attached}){to}"
    in_session = endpoint.idempotent or inputs.common.upload_protocol in {"auto", "resumable"}
    return _made(
        inputs, endpoint, partial(_send, mail, identity, upload, in_session), line, mail.warnings
    )


def _endpoint(inputs: MailInputs) -> Endpoint:
    method = catalogue.find(f"gmail.users.{_ACTIONS[inputs.gmail_action][0]}")
    assert method, "the catalogue has all of them"
    replaces = method.template.http_method == "PUT"
    promise = {"idempotent": replaces, "at_most_once": not replaces, "id_promised": True}
    return method.endpoint({"userId": inputs.user_id, "id": inputs.draft_id}, **promise)


def _made(
    inputs: MailInputs, endpoint: Endpoint, send: _Send, line: str, warnings: tuple[str, ...] = ()
) -> Prepared:
    would = batch.dry_run(f"Would {line[0].lower()}{line[1:]}.")
    flow = partial(_flow, inputs.gmail_action, inputs.impersonated, send)
    return Prepared((line,), endpoint.scopes, would if inputs.common.dry_run else flow, warnings)


def _artifact(mail: Mail, identity: MessageIdentity) -> Artifact:
    data = mail.data(identity)
    return Artifact(mail.name, mail.name, len(data), data=data)


def read_resource(inputs: MailInputs, *, mail: bool) -> dict[str, Any]:
    """What goes along with the mail, if there is one (`mail`), or alone: the metadata given, and
    the draft to send.

    It is Gmail's Message, or the Draft that a message stands in. Told here is what Gmail would pass
    over in silence.
    """
    method, problems = _ACTIONS[inputs.gmail_action][0], Problems()
    resource, draft = batch.read_metadata(inputs.metadata, problems), method.startswith("drafts.")
    for name in ("threadId", "labelIds", "raw") if draft else ("message",):
        if name in resource:
            accepted = '{"message": {"threadId": "…"}} for a draft, {"threadId": "…"} for a message'
            problems.add("metadata", f"has `{name}` in the wrong place.", accepted)
    told = _message_of(resource) if draft else resource
    if not isinstance(thread := told.get("threadId", "-"), str) or not thread:
        problems.add("metadata", "`threadId` is not the id of a thread.", "text")
    if not isinstance(labels := told.get("labelIds", []), list) or not all(
        isinstance(one, str) for one in labels
    ):
        problems.add("metadata", "`labelIds` is not a list of labels.", '["INBOX", "Label_1"]')
    if "raw" in told and mail:
        what = "holds a message in `raw`, and the other inputs describe one as well."
        problems.add("metadata", what, "one of the two")
    elif "raw" in told:
        text = "".join(str(told["raw"]).split()).rstrip("=")
        try:
            decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            mail_message.checked(decoded, to_send=method.endswith(".send"))
        except ValueError as error:  # no base64, no ASCII, or no message
            faults = ["is not base64url."] if isinstance(error, binascii.Error) else error.args
            for fault in faults:
                problems.add("metadata", f"`raw` {fault}", "an RFC 822 message in base64url")
    problems.raise_if_any()
    if method in _OF_A_DRAFT and resource.get("id", inputs.draft_id) != inputs.draft_id:
        raise InputError(Problem("metadata", "`id` is not the draft that `draft-id` names."))
    return {**resource, "id": inputs.draft_id} if method == "drafts.send" else resource


def _message_of(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message inside of a draft."""
    inside = response.get("message")
    return inside if isinstance(inside, dict) else {}


def _send(
    mail: Mail, identity: MessageIdentity, upload: Upload, in_session: bool, context: Context
) -> _Response:
    """Uploads the mail under the identity of an unfinished run, if there is one, and forgets it at
    the end.

    `in_session`: the next run can go on with what this one began.
    """
    along = json.dumps(upload.metadata, sort_keys=True) if upload.metadata else ""
    digest = hashlib.sha256(identity.without(upload.artifact.data or b"")).hexdigest()
    key = f"mail {upload.endpoint.id} {upload.endpoint.path} {digest} {along}".rstrip()
    earlier = MessageIdentity.parse(context.recall(key) or "")
    if earlier and identity.date - earlier.date < upload.endpoint.session_lifetime:
        if not in_session:
            context.remember(key, None)
            remedy = "`upload-protocol: resumable` can ask the server."
            raise batch.begun_before(mail.name, f"{earlier.date:{batch.MINUTE}}", remedy)
        identity, upload = earlier, replace(upload, artifact=_artifact(mail, earlier))
    context.remember(key, str(identity))
    try:
        result = context.upload(upload)
    except UploaderError as error:
        if not (error.session_kept if in_session else error.unanswered):
            context.remember(key, None)  # a mail that is sent after this is another one
        raise
    context.remember(key, None)
    return result.resource


def _flow(action: str, impersonated: bool, send: _Send, context: Context) -> Outcome:
    """Sends, and makes outputs of the response, which is a draft with a message inside, or a
    message.

    A service account has no mailbox, and a draft that was sent is gone; Gmail says so in words of
    its own.
    """
    method, _, done = _ACTIONS[action]
    try:
        response = send(context)
    except ApiError as error:
        if error.reason == "failedPrecondition" and not impersonated:
            error.cause = "A service account has no mailbox of its own."
            error.hint = (
                "Set `impersonate-user`, and allow the account domain-wide delegation for the "
                "scope."
            )
        if error.status == 404 and method in _OF_A_DRAFT:
            error.cause = "The mailbox has no draft with this `draft-id`, or it was already sent."
            error.hint = (
                "Check the drafts and the sent mail of the mailbox; `gmail-action: draft` makes a "
                "new draft."
            )
        raise
    is_draft = method in {"drafts.create", "drafts.update"}
    sent = _message_of(response) if is_draft else response
    draft = response.get("id") if is_draft else None
    known = {"draft-id": draft, "message-id": sent.get("id"), "thread-id": sent.get("threadId")}
    context.publish(
        {name: value for name, value in known.items() if isinstance(value, str) and value}
    )
    return Outcome(f"{done}, id {response.get('id') or 'unknown'}.")
