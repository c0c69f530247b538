"""Sends, drafts, inserts or imports one mail; what it says comes from the `mail-…` inputs and the files, or an .eml.

A mail that goes out cannot be called back, so a run that goes on where an earlier one died composes the same bytes
again, by which the engine finds the unfinished session.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any

from uploader.errors import ApiError, CredentialsError, InputError, Interrupted, Problem, TemporaryError, UploaderError
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import batch, mail_file, mail_message
from uploader.services.base import Context, Endpoint, Flow, Outcome, Prepared, Upload
from uploader.services.catalogue import expand
from uploader.services.mail_message import MessageIdentity
from uploader.text import format_size, plural

_USER = "/gmail/v1/users/{user}"
_MEDIA = "message/rfc822"
_HELD = "the message in metadata"
_SESSION_KEPT = (TemporaryError, Interrupted, CredentialsError)  # after these the next run continues the session
_SEND_LIMIT, _INSERT_LIMIT = 36_700_160, 157_286_400  # bytes, developers.google.com/gmail/api/guides/uploads


@dataclass(frozen=True)
class _Action:
    """One value of `gmail-action`: the method, the narrowest scope that Google names for it, what it needs.

    `plan` is what will be done with the mail, `done` what was done, in words.
    """

    method: str
    path: str
    scope: str
    plan: str
    done: str
    limit: int = _SEND_LIMIT
    http_method: str = "POST"

    @property
    def sends(self) -> bool:
        """Whether the mail goes out, and so needs a recipient."""
        return self.method.endswith(".send")

    @property
    def draft_needed(self) -> bool:
        """Whether `draft-id` names a draft that is there."""
        return self.method in {"drafts.update", "drafts.send"}


_ACTIONS = {
    "send": _Action("messages.send", "/messages/send", "gmail.send", "Send", "Mail sent"),
    "insert": _Action("messages.insert", "/messages", "gmail.insert", "Insert", "Mail inserted", _INSERT_LIMIT),
    "import": _Action("messages.import", "/messages/import", "gmail.insert", "Import", "Mail imported", _INSERT_LIMIT),
    "draft": _Action("drafts.create", "/drafts", "gmail.compose", "Draft", "Draft created"),
    "draft-update": _Action(
        *("drafts.update", "/drafts/{draft}", "gmail.compose", "Replace the draft with", "Draft updated"),
        http_method="PUT",
    ),
    "draft-send": _Action("drafts.send", "/drafts/send", "gmail.compose", "Send the draft as", "Draft sent"),
}


@dataclass(frozen=True)
class _Job:
    """What is done with a mail, and where.

    `in_session`: the next run can go on with what this one began; `impersonated` is somebody's mailbox.
    """

    action: _Action
    endpoint: Endpoint
    in_session: bool
    impersonated: bool


def prepare(
    inputs: Inputs,
    files: tuple[Artifact, ...],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    token: Callable[[], str] = lambda: secrets.token_hex(16),
) -> Prepared:
    """Checks and composes the mail; its encoding counts for the limit. Raises InputError with every problem."""
    job, problems = _job(inputs), Problems()
    if job.action.draft_needed and not inputs.draft_id:
        problems.add("draft-id", f"is required for `gmail-action: {inputs.gmail_action}`.")
    has_mail = mail_message.given(inputs, files)
    resource = problems.collect(lambda: read_resource(inputs, mail=has_mail)) or {}
    if not has_mail and (inputs.metadata or job.action.method == "drafts.send"):
        problems.raise_if_any()
        held = _holds_message(resource)
        if held or job.action.method == "drafts.send":
            line = f"{job.action.plan} {_HELD}" if held else f"Send the draft {inputs.draft_id}"
            return _prepared(inputs, job, partial(_send_metadata, job, resource), line)
    if files and inputs.shard and inputs.shard[1] > 1:
        what = "this is job {}/{}, and each of them would make a mail with its own part of the attachments."
        problems.add("shard", what.format(*inputs.shard), "`1/1` for all files in one job")
    mail = problems.collect(lambda: mail_message.read(inputs, files, to_send=job.action.sends, limit=job.action.limit))
    if mail is None:
        raise InputError(*problems)
    identity = MessageIdentity(now(), token())
    upload = Upload(job.endpoint, _artifact(mail, identity), _MEDIA, resource or None)
    batch.check(upload, inputs.upload_protocol, problems)
    problems.raise_if_any()
    attached = f", with {plural(mail.attachments, 'attachment')}" if mail.attachments else ""
    to = f" to {plural(mail.recipients, 'recipient')}" if mail.recipients else ""
    line = f"{job.action.plan} {mail.name} ({format_size(upload.artifact.size or 0)}{attached}){to}"
    return _prepared(inputs, job, partial(_send, job, mail, identity, upload), line, mail.warnings)


def _prepared(
    inputs: Inputs, job: _Job, flow: Callable[[Context], Flow], line: str, warnings: tuple[str, ...] = ()
) -> Prepared:
    rehearsal = batch.rehearsal(f"Would {line[0].lower()}{line[1:]}.")
    sending = rehearsal if inputs.dry_run else lambda context: _explained(job, flow(context))
    return Prepared((line,), job.endpoint.scopes, sending, warnings)


def _job(inputs: Inputs) -> _Job:
    action = _ACTIONS[inputs.gmail_action]
    path = expand(_USER + action.path, {"user": inputs.user_id, "draft": inputs.draft_id})
    endpoint = Endpoint(
        id=f"gmail.users.{action.method}",
        root="https://gmail.googleapis.com",
        path=path,
        upload_path="/upload" + path,
        media_types=(_MEDIA,),
        scopes=(f"https://www.googleapis.com/auth/{action.scope}",),
        http_method=action.http_method,
        max_size=action.limit,
        idempotent=(replaces := action.http_method == "PUT"),
        at_most_once=not replaces,
        id_promised=True,
    )
    in_session = replaces or inputs.upload_protocol in {"auto", "resumable"}
    return _Job(action, endpoint, in_session, bool(inputs.impersonate_user))


def _artifact(mail: mail_message.Mail, identity: MessageIdentity) -> Artifact:
    data = mail.data(identity)
    return Artifact(mail.name, mail.name, len(data), data=data)


def read_resource(inputs: Inputs, *, mail: bool) -> dict[str, Any]:
    """What goes along with the mail, if there is one (`mail`), or alone: the metadata given, and the draft to send.

    It is Gmail's Message, or the Draft that a message stands in. Told here is what Gmail would pass over in silence.
    """
    action, problems = _ACTIONS[inputs.gmail_action], Problems()
    resource, draft = batch.read_metadata(inputs.metadata), action.method.startswith("drafts.")
    for name in ("threadId", "labelIds", "raw") if draft else ("message",):
        if name in resource:
            accepted = '{"message": {"threadId": "…"}} for a draft, {"threadId": "…"} for a message'
            problems.add("metadata", f"has `{name}` in the wrong place.", accepted)
    told = _message_of(resource) if draft else resource
    thread, labels = told.get("threadId", "-"), told.get("labelIds", [])
    if not isinstance(thread, str) or not thread:
        problems.add("metadata", "`threadId` is not the id of a thread.", "text")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        problems.add("metadata", "`labelIds` is not a list of labels.", '["INBOX", "Label_1"]')
    if "raw" in told and mail:
        what = "holds a message in `raw`, and the other inputs describe one as well."
        problems.add("metadata", what, "one of the two")
    elif "raw" in told:
        for fault in _faults_of_raw(told["raw"], to_send=action.sends):
            problems.add("metadata", f"`raw` {fault}", "an RFC 822 message in base64url")
    problems.raise_if_any()
    if action.draft_needed and resource.get("id", inputs.draft_id) != inputs.draft_id:
        raise InputError(Problem("metadata", "`id` is not the draft that `draft-id` names."))
    return {**resource, "id": inputs.draft_id} if action.method == "drafts.send" else resource


def _holds_message(resource: Mapping[str, Any]) -> bool:
    """Whether the whole message is in the metadata itself, so that nothing has to be uploaded."""
    return "raw" in resource or "raw" in _message_of(resource)


def _message_of(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message inside of a draft."""
    inside = response.get("message")
    return inside if isinstance(inside, dict) else {}


def _faults_of_raw(raw: object, *, to_send: bool) -> tuple[str, ...]:
    text = "".join(str(raw).split()).rstrip("=")
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return mail_file.faults(mail_file.normalised(decoded), to_send=to_send)
    except binascii.Error:
        return ("is not base64url.",)
    except ValueError as error:  # no message, or no ASCII
        return (str(error),)


def _send(job: _Job, mail: mail_message.Mail, identity: MessageIdentity, upload: Upload, context: Context) -> Flow:
    """Uploads the mail under the identity of an unfinished run, if there is one, and forgets it at the end."""
    along = json.dumps(upload.metadata, sort_keys=True) if upload.metadata else ""
    key = f"mail {upload.endpoint.id} {upload.endpoint.path} {mail.digest} {along}".rstrip()
    earlier = MessageIdentity.parse(context.recall(key) or "")
    if earlier and identity.date - earlier.date < upload.endpoint.session_lifetime:
        if not job.in_session:
            context.remember(key, None)
            remedy = "`upload-protocol: resumable` can ask the server."
            raise batch.begun_before(mail.name, f"{earlier.date:{batch.MINUTE}}", remedy)
        identity, upload = earlier, replace(upload, artifact=_artifact(mail, earlier))
    context.remember(key, str(identity))
    try:
        result: FileResult = yield upload
    except UploaderError as error:
        if not (isinstance(error, _SESSION_KEPT) if job.in_session else batch.unanswered(error)):
            context.remember(key, None)  # a mail that is sent after this is another one
        raise
    outcome = _outcome(job.action, result.resource, context)
    context.remember(key, None)
    return outcome


def _send_metadata(job: _Job, resource: Mapping[str, Any], context: Context) -> Flow:
    """Sends what needs no upload. A draft that was sent is gone, so that it goes once by itself."""
    held = _holds_message(resource)
    what = _HELD if held else job.endpoint.id
    response = yield from batch.send_metadata(context, job.endpoint, resource, what, noted=held)
    return _outcome(job.action, response, context)


def _outcome(action: _Action, response: Mapping[str, Any], context: Context) -> Outcome:
    """The ids of the response, which is a draft with a message inside, or a message."""
    is_draft = action.method in {"drafts.create", "drafts.update"}
    sent = _message_of(response) if is_draft else response
    draft = response.get("id") if is_draft else None
    known = {"draft-id": draft, "message-id": sent.get("id"), "thread-id": sent.get("threadId")}
    context.publish({name: value for name, value in known.items() if isinstance(value, str) and value})
    return Outcome(f"{action.done}, id {response.get('id') or 'unknown'}.")


def _explained(job: _Job, flow: Flow) -> Flow:
    """A service account has no mailbox, and a draft that was sent is gone; Gmail says so in words of its own."""
    try:
        return (yield from flow)
    except ApiError as error:
        if error.reason == "failedPrecondition" and not job.impersonated:
            error.cause = "A service account has no mailbox of its own."
            error.hint = "Set `impersonate-user`, and allow the account domain-wide delegation for the scope."
        if error.status == 404 and job.action.draft_needed:
            error.cause = "The mailbox has no draft with this `draft-id`, or it was already sent."
            error.hint = "Check the drafts and the sent mail of the mailbox; `gmail-action: draft` makes a new draft."
        raise
