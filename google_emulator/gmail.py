"""Gmail: messages are sent, inserted and imported, drafts created, replaced and sent.

A service account has no mailbox: it must act for a user, by domain-wide delegation.
Reference: developers.google.com/gmail/api/reference/rest/v1/users.messages, users.drafts.
"""

from __future__ import annotations

import base64
import binascii

from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.mailbox import read_headers, recipients
from google_emulator.oauth import ACCOUNT
from google_emulator.router import Media, Route, UploadMethod

_AUTH = "https://www.googleapis.com/auth/gmail."
MODIFY = ("https://mail.google.com/", _AUTH + "modify")
SEND = (*MODIFY, _AUTH + "send", _AUTH + "compose")
INSERT = (*MODIFY, _AUTH + "insert")
COMPOSE = (*MODIFY, _AUTH + "compose")
SEND_LIMIT, INSERT_LIMIT = 36_700_160, 157_286_400
BASE = "/gmail/v1/users/{user}"


def _user(x: Exchange) -> str:
    """Whose mailbox it is. Raises `Refusal` as Gmail does for an account without one, or for another's."""
    token = x.token
    if token is None or (token.email == ACCOUNT and not token.subject):
        raise Refusal(400, "Precondition check failed.", "failedPrecondition", state="FAILED_PRECONDITION")
    owner = token.subject or token.email
    if x.params["user"] not in ("me", owner):
        raise Refusal(403, f"Delegation denied for {owner}", "forbidden")
    return owner


def _check(x: Exchange) -> None:
    _user(x)


def _message(x: Exchange, media: Media, metadata: dict[str, Json], labels: list[str]) -> dict[str, Json]:
    """A new message of these bytes, not yet anywhere."""
    headers = read_headers(media.blob)
    number = f"{x.world.number():016x}"
    return {
        "id": number,
        "threadId": metadata.get("threadId", number),
        "labelIds": metadata.get("labelIds", labels),
        "user": _user(x),
        "from": str(headers.get("From", "")),
        "to": recipients(headers),
        "subject": str(headers.get("Subject", "")),
        "size": media.blob.size,
        "sha256": media.blob.hex("sha256"),
        "file": str(media.blob.path),
    }


def _shown(message: dict[str, Json]) -> dict[str, Json]:
    return {name: message[name] for name in ("id", "threadId", "labelIds")}


def _deliver(x: Exchange, message: dict[str, Json], action: str) -> dict[str, Json]:
    if action in ("send", "draft-send") and not message["to"]:
        raise Refusal(400, "Recipient address required", "invalidArgument")
    x.world.mail.messages.append({**message, "action": action})
    x.world.mail.effects[action] += 1
    return _shown(message)


def _send(x: Exchange, media: Media) -> dict[str, Json]:
    return _deliver(x, _message(x, media, media.metadata, ["SENT"]), "send")


def _insert(x: Exchange, media: Media) -> dict[str, Json]:
    return _deliver(x, _message(x, media, media.metadata, []), "insert")


def _import(x: Exchange, media: Media) -> dict[str, Json]:
    return _deliver(x, _message(x, media, media.metadata, ["INBOX", "UNREAD"]), "import")


def _draft(x: Exchange, draft_id: str, media: Media) -> dict[str, Json]:
    message = _message(x, media, media.metadata.get("message", {}), ["DRAFT"])
    x.world.mail.drafts[draft_id] = {"id": draft_id, "message": message}
    return {"id": draft_id, "message": _shown(message)}


def _create_draft(x: Exchange, media: Media) -> dict[str, Json]:
    draft = _draft(x, f"r{x.world.number()}", media)
    x.world.mail.effects["draft"] += 1
    return draft


def _known_draft(x: Exchange, draft_id: str) -> dict[str, Json]:
    _user(x)
    draft = x.world.mail.drafts.get(draft_id)
    if draft is None:
        raise Refusal(404, "Requested entity was not found.")
    return draft


def _check_draft(x: Exchange) -> None:
    _known_draft(x, x.params["draft"])


def _update_draft(x: Exchange, media: Media) -> dict[str, Json]:
    _check_draft(x)
    draft = _draft(x, x.params["draft"], media)
    x.world.mail.effects["draft-update"] += 1
    return draft


def _send_draft(x: Exchange, media: Media) -> dict[str, Json]:
    """Sends a draft with these bytes in place of its own."""
    draft_id = str(media.metadata.get("id", ""))
    _known_draft(x, draft_id)
    message = _message(x, media, media.metadata.get("message", {}), ["SENT"])
    sent = _deliver(x, message, "draft-send")
    del x.world.mail.drafts[draft_id]
    return sent


def _send_kept_draft(x: Exchange) -> Answer:
    """Sends a draft as it is; no media travels."""
    draft_id = str(x.json().get("id", ""))
    message = {**_known_draft(x, draft_id)["message"], "labelIds": ["SENT"]}
    sent = _deliver(x, message, "draft-send")
    del x.world.mail.drafts[draft_id]
    return as_json(sent)


def _send_raw(x: Exchange) -> Answer:
    """A message inside JSON, `raw` in base64url."""
    _user(x)
    wanted = x.json()
    try:
        raw = base64.urlsafe_b64decode(str(wanted.get("raw", "")) + "==")
    except (binascii.Error, ValueError):
        raise Refusal(
            400, "'raw' RFC822 payload message string or uploading message via /upload/* URL required"
        ) from None
    blob = x.world.new_blob(())
    blob.write(raw)
    return as_json(_send(x, Media(blob, "message/rfc822", wanted)))


def _get_draft(x: Exchange) -> Answer:
    draft = _known_draft(x, x.params["draft"])
    return as_json({"id": draft["id"], "message": _shown(draft["message"])})


def _get_message(x: Exchange) -> Answer:
    _user(x)
    found = [one for one in x.world.mail.messages if one["id"] == x.params["message"]]
    if not found:
        raise Refusal(404, "Requested entity was not found.")
    return as_json(_shown(found[0]))


ROUTES = (
    Route("gmail.users.messages.send", "POST", BASE + "/messages/send", _send_raw, SEND),
    Route("gmail.users.messages.get", "GET", BASE + "/messages/{message}", _get_message, MODIFY),
    Route("gmail.users.drafts.send", "POST", BASE + "/drafts/send", _send_kept_draft, COMPOSE),
    Route("gmail.users.drafts.get", "GET", BASE + "/drafts/{draft}", _get_draft, COMPOSE),
)
_UP = "/upload" + BASE
_MAIL = ("message/*",)
UPLOADS = (
    UploadMethod(
        "gmail.users.messages.send", _UP + "/messages/send", _send, _check, accept=_MAIL, limit=SEND_LIMIT, scopes=SEND
    ),
    UploadMethod(
        "gmail.users.messages.import",
        _UP + "/messages/import",
        _import,
        _check,
        accept=_MAIL,
        limit=INSERT_LIMIT,
        scopes=INSERT,
    ),
    UploadMethod(
        "gmail.users.messages.insert",
        _UP + "/messages",
        _insert,
        _check,
        accept=_MAIL,
        limit=INSERT_LIMIT,
        scopes=INSERT,
    ),
    UploadMethod(
        "gmail.users.drafts.send",
        _UP + "/drafts/send",
        _send_draft,
        _check,
        accept=_MAIL,
        limit=SEND_LIMIT,
        scopes=COMPOSE,
    ),
    UploadMethod(
        "gmail.users.drafts.create",
        _UP + "/drafts",
        _create_draft,
        _check,
        accept=_MAIL,
        limit=SEND_LIMIT,
        scopes=COMPOSE,
    ),
    UploadMethod(
        "gmail.users.drafts.update",
        _UP + "/drafts/{draft}",
        _update_draft,
        _check_draft,
        methods=("PUT",),
        accept=_MAIL,
        limit=SEND_LIMIT,
        scopes=COMPOSE,
    ),
)
