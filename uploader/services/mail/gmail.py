"""Sends, drafts, inserts or imports one mail; what it says comes from the `mail-…` inputs and the files, or an .eml.

A mail that goes out cannot be called back, so nothing here is idempotent: the upload is resumable, and a run that goes
on where an earlier one died composes the same bytes again, by which the engine finds the unfinished session.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any

from uploader.errors import (
    ApiError,
    CredentialsError,
    InputError,
    Interrupted,
    Problem,
    TemporaryError,
    UploaderError,
)
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import batch_upload, metadata_request, uri_template
from uploader.services.base import Context, Endpoint, Flow, Outcome, Prepared, Publish, Recall, Remember, Upload
from uploader.services.mail import mail_inputs, message_metadata, mime
from uploader.text import format_size, plural

_ROOT = "https://gmail.googleapis.com"
_USER = "/gmail/v1/users/{user}"
_MEDIA = "message/rfc822"
_HELD = "the message in metadata"
_SESSION_KEPT = (TemporaryError, Interrupted, CredentialsError)  # after these the next run continues the session
_SEND_LIMIT, _INSERT_LIMIT = 36_700_160, 157_286_400  # bytes, developers.google.com/gmail/api/guides/uploads


@dataclass(frozen=True)
class _MailAction:
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


_ACTIONS = {
    "send": _MailAction("messages.send", "/messages/send", "gmail.send", "Send", "Mail sent"),
    "insert": _MailAction("messages.insert", "/messages", "gmail.insert", "Insert", "Mail inserted", _INSERT_LIMIT),
    "import": _MailAction(
        "messages.import", "/messages/import", "gmail.insert", "Import", "Mail imported", _INSERT_LIMIT
    ),
    "draft": _MailAction("drafts.create", "/drafts", "gmail.compose", "Draft", "Draft created"),
    "draft-update": _MailAction(
        "drafts.update",
        "/drafts/{draft}",
        "gmail.compose",
        "Replace the draft with",
        "Draft updated",
        http_method="PUT",
    ),
    "draft-send": _MailAction("drafts.send", "/drafts/send", "gmail.compose", "Send the draft as", "Draft sent"),
}
_NEED_DRAFT = {"draft-update", "draft-send"}


def prepare(
    inputs: Inputs,
    files: tuple[Artifact, ...],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    token: Callable[[], str] = lambda: secrets.token_hex(16),
) -> Prepared:
    """Checks and composes the mail; its encoding counts for the limit. Raises InputError with every problem."""
    action = _ACTIONS[inputs.gmail_action]
    problems = Problems()
    if inputs.gmail_action in _NEED_DRAFT and not inputs.draft_id:
        problems.add("draft-id", f"is required for `gmail-action: {inputs.gmail_action}`.")
    has_mail = mail_inputs.given(inputs, files)
    resource = problems.collect(partial(_resource, inputs, action, mail=has_mail)) or {}
    if not has_mail and (inputs.metadata or action.method == "drafts.send"):
        problems.raise_if_any()
        if alone := _without_upload(inputs, action, resource):
            return alone
    identity = mime.MessageIdentity(now(), token())
    _check_shard(inputs, files, problems)
    to_send = inputs.gmail_action in {"send", "draft-send"}
    mail = problems.collect(lambda: mail_inputs.read(inputs, files, to_send=to_send, limit=action.limit))
    if mail is None:
        raise InputError(*problems)
    upload = _upload(inputs, action, mail.name, mail.data(identity), resource)
    batch_upload.check(upload, inputs, problems)
    problems.raise_if_any()
    flow = partial(_send, inputs, action, mail, identity, upload)
    return _prepared(inputs, action, flow, f"{action.plan} {_described(mail, upload)}", mail.warnings)


def _check_shard(inputs: Inputs, files: tuple[Artifact, ...], problems: Problems) -> None:
    """Jobs that split the attachments of one mail would each send it, with a part of them."""
    if files and inputs.shard and inputs.shard[1] > 1:
        what = "this is job {}/{}, and each of them would make a mail with its own part of the attachments."
        problems.add("shard", what.format(*inputs.shard), "`1/1` for all files in one job")


def _without_upload(inputs: Inputs, action: _MailAction, resource: Mapping[str, Any]) -> Prepared | None:
    """What needs no upload: a message that is in the metadata itself, a draft as it is."""
    flow = partial(_send_metadata, inputs, action, resource)
    if message_metadata.holds_message(resource):
        return _prepared(inputs, action, flow, f"{action.plan} {_HELD}")
    if action.method == "drafts.send":
        return _prepared(inputs, action, flow, f"Send the draft {inputs.draft_id}")
    return None


def _described(mail: mail_inputs.Mail, upload: Upload) -> str:
    """One line of the plan: what goes to how many."""
    attached = f", with {plural(mail.attachments, 'attachment')}" if mail.attachments else ""
    to = f" to {plural(mail.recipients, 'recipient')}" if mail.recipients else ""
    return f"{mail.name} ({format_size(upload.artifact.size or 0)}{attached}){to}"


def _prepared(
    inputs: Inputs, action: _MailAction, flow: Callable[[Context], Flow], line: str, warnings: tuple[str, ...] = ()
) -> Prepared:
    done = (lambda _: batch_upload.rehearse(line)) if inputs.dry_run else flow
    return Prepared((line,), (_scope(action),), done, warnings)


def _scope(action: _MailAction) -> str:
    return f"https://www.googleapis.com/auth/{action.scope}"


def _resource(inputs: Inputs, action: _MailAction, *, mail: bool) -> dict[str, Any]:
    """What goes along with the mail, or alone: the metadata given, and the draft to send."""
    resource = message_metadata.read(inputs, draft=action.method.startswith("drafts."), mail=mail)
    if inputs.gmail_action in _NEED_DRAFT and resource.get("id", inputs.draft_id) != inputs.draft_id:
        raise InputError(Problem("metadata", "`id` is not the draft that `draft-id` names."))
    return {**resource, "id": inputs.draft_id} if action.method == "drafts.send" else resource


def _upload(inputs: Inputs, action: _MailAction, name: str, data: bytes, resource: Mapping[str, Any]) -> Upload:
    return Upload(_endpoint(inputs, action), _artifact(name, data), _MEDIA, resource or None)


def _artifact(name: str, data: bytes) -> Artifact:
    return Artifact(name, name, len(data), data=data)


def _endpoint(inputs: Inputs, action: _MailAction) -> Endpoint:
    path = uri_template.expand(_USER + action.path, {"user": inputs.user_id, "draft": inputs.draft_id})
    return Endpoint(
        id=f"gmail.users.{action.method}",
        root=_ROOT,
        path=path,
        upload_path="/upload" + path,
        media_types=(_MEDIA,),
        scopes=(_scope(action),),
        http_method=action.http_method,
        max_size=action.limit,
        at_most_once=True,
        id_promised=True,
    )


def _send(
    inputs: Inputs,
    action: _MailAction,
    mail: mail_inputs.Mail,
    identity: mime.MessageIdentity,
    upload: Upload,
    _: Context,
) -> Flow:
    """Uploads the mail under the identity of an unfinished run, if there is one, and forgets it at the end."""
    along = json.dumps(upload.metadata, sort_keys=True) if inputs.metadata else ""
    key = f"mail {upload.endpoint.id} {upload.endpoint.path} {mail.digest} {along}".rstrip()
    in_session = inputs.upload_protocol in {"auto", "resumable"}
    kept: str | None = yield Recall(key)
    earlier = mime.MessageIdentity.parse(kept or "")
    if earlier and identity.date - earlier.date < upload.endpoint.session_lifetime:
        if not in_session:
            yield Remember(key, None)
            began, remedy = metadata_request.minute(earlier.date), "`upload-protocol: resumable` can ask the server."
            raise metadata_request.begun_before(mail.name, began, remedy)
        identity, upload = earlier, replace(upload, artifact=_artifact(mail.name, mail.data(earlier)))
    yield Remember(key, str(identity))
    try:
        result: FileResult = yield upload
    except UploaderError as error:
        if not (isinstance(error, _SESSION_KEPT) if in_session else metadata_request.unanswered(error)):
            yield Remember(key, None)  # a mail that is sent anew after this is another one
        _explain(error, inputs)
        raise
    outcome = yield from _outcome(action, dict(result.resource))
    yield Remember(key, None)
    return outcome


def _send_metadata(inputs: Inputs, action: _MailAction, resource: Mapping[str, Any], _: Context) -> Flow:
    """Sends what needs no upload. A draft that was sent is gone, so that it goes once by itself."""
    endpoint = _endpoint(inputs, action)
    try:
        if message_metadata.holds_message(resource):
            response = yield from metadata_request.send_once(endpoint, resource, _HELD)
        else:
            response = yield from metadata_request.send(endpoint, resource, endpoint.id)
    except ApiError as error:
        _explain(error, inputs)
        raise
    return (yield from _outcome(action, response))


def _outcome(action: _MailAction, response: dict[str, Any]) -> Flow:
    """The ids of the answer, which is a draft with a message inside, or a message."""
    is_draft = action.method in {"drafts.create", "drafts.update"}
    message = response.get("message") if is_draft else response
    message = message if isinstance(message, dict) else {}
    known = {
        "draft-id": response.get("id") if is_draft else None,
        "message-id": message.get("id"),
        "thread-id": message.get("threadId"),
    }
    yield Publish({name: value for name, value in known.items() if isinstance(value, str) and value})
    return Outcome(f"{action.done}, id {response.get('id') or 'unknown'}.")


def _explain(error: UploaderError, inputs: Inputs) -> None:
    """A service account has no mailbox, and a draft that was sent is gone; Gmail says so in words of its own."""
    if not isinstance(error, ApiError):
        return
    if error.reason == "failedPrecondition" and not inputs.impersonate_user:
        error.cause = "A service account has no mailbox of its own."
        error.hint = "Set `impersonate-user`, and allow the account domain-wide delegation for the scope."
    if error.status == 404 and inputs.gmail_action in _NEED_DRAFT:
        error.cause = "The mailbox has no draft with this `draft-id`, or it was already sent."
        error.hint = "Check the drafts and the sent mail of the mailbox; `gmail-action: draft` makes a new draft."
