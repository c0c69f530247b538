"""Gmail: messages are sent, inserted and imported, drafts created, replaced and sent.

A service account has no mailbox: it must act for a user, by domain-wide delegation.
Reference: developers.google.com/gmail/api/reference/rest/v1/users.messages, users.drafts.
"""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from dataclasses import replace
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from pathlib import Path

from google_emulator.auth.authority import SERVICE_ACCOUNT
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Json,
    Response,
    failed_precondition,
    json_response,
)
from google_emulator.http.routes import Handler, Route
from google_emulator.protocol.blobs import Blob, BlobStore
from google_emulator.protocol.uploads import Finish, Media, Service, UploadMethod

HEADER_LIMIT = 1024 * 1024  # bytes
_AUTH = "https://www.googleapis.com/auth/gmail."
MODIFY = ("https://mail.google.com/", _AUTH + "modify")
SEND = (*MODIFY, _AUTH + "send", _AUTH + "compose")
INSERT = (*MODIFY, _AUTH + "insert")
COMPOSE = (*MODIFY, _AUTH + "compose")
# Some of the blocked types. Archives are not searched for such files.
BLOCKED = (
    ".apk",
    ".bat",
    ".cmd",
    ".com",
    ".dll",
    ".dmg",
    ".exe",
    ".jar",
    ".js",
    ".msi",
    ".vbs",
)
SEND_LIMIT, INSERT_LIMIT = 36_700_160, 157_286_400  # bytes
USERS = "/gmail/v1/users/{user}"
DRAFT = USERS + "/drafts/{draft}"


class Gmail(Service):
    """The mailbox of the emulated user.

    `messages` are in the order of their arrival, `drafts` are by id, and `effects` counts what was
    really done, by action. A message that was sent twice is there twice and counted twice.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self.messages: list[dict[str, Json]] = []
        self.drafts: dict[str, dict[str, Json]] = {}
        self.effects: Counter[str] = Counter()
        self._blobs = blobs
        self._numbers = itertools.count(1)
        send, insert = self._arrive("send", "SENT"), self._arrive("insert")
        import_ = self._arrive("import", "INBOX", "UNREAD")
        self.routes = [
            Route(
                "gmail.users.messages.send",
                "POST",
                USERS + "/messages/send",
                self._raw(send),
                SEND,
            ),
            Route(
                "gmail.users.messages.import",
                "POST",
                USERS + "/messages/import",
                self._raw(import_),
                INSERT,
            ),
            Route(
                "gmail.users.messages.insert",
                "POST",
                USERS + "/messages",
                self._raw(insert),
                INSERT,
            ),
            Route(
                "gmail.users.messages.get",
                "GET",
                USERS + "/messages/{message}",
                self._get_message,
                MODIFY,
            ),
            Route(
                "gmail.users.drafts.send",
                "POST",
                USERS + "/drafts/send",
                self._send_draft,
                COMPOSE,
            ),
            Route(
                "gmail.users.drafts.create",
                "POST",
                USERS + "/drafts",
                self._raw(self._create_draft),
                COMPOSE,
            ),
            Route(
                "gmail.users.drafts.update",
                "PUT",
                DRAFT,
                self._raw(self._update_draft),
                COMPOSE,
            ),
            Route("gmail.users.drafts.get", "GET", DRAFT, self._get_draft, COMPOSE),
        ]
        self.uploads = [
            _upload("messages.send", "/messages/send", send, SEND),
            _upload(
                "messages.import",
                "/messages/import",
                import_,
                INSERT,
                limit=INSERT_LIMIT,
            ),
            _upload("messages.insert", "/messages", insert, INSERT, limit=INSERT_LIMIT),
            _upload("drafts.send", "/drafts/send", self._send_replaced_draft, COMPOSE),
            _upload("drafts.create", "/drafts", self._create_draft, COMPOSE),
            replace(
                _upload(
                    "drafts.update", "/drafts/{draft}", self._update_draft, COMPOSE
                ),
                check=lambda request, _: self._draft(request, request.params["draft"]),
                methods=("PUT",),
            ),
        ]

    def _message(
        self,
        request: Request,
        media: Media,
        metadata: dict[str, Json],
        labels: list[str],
    ) -> dict[str, Json]:
        headers = _read_headers(media.blob)
        number = f"{next(self._numbers):016x}"
        return {
            "id": number,
            "threadId": metadata.get("threadId", number),
            "labelIds": metadata.get("labelIds", labels),
            "user": _user(request),
            "from": str(headers.get("From", "")),
            "to": [
                str(recipients)
                for name in ("To", "Cc", "Bcc")
                for recipients in headers.get_all(name, [])
            ],
            "subject": str(headers.get("Subject", "")),
            "size": media.blob.size,
            "sha256": media.blob.hex("sha256"),
            "file": str(media.blob.path),
        }

    def _deliver(self, message: dict[str, Json], action: str) -> dict[str, Json]:
        if action in ("send", "draft-send") and not message["to"]:
            raise ApiError(400, "Recipient address required", "invalidArgument")
        if action in ("send", "draft-send"):
            _check_attachments(Path(message["file"]))
        self.messages.append({**message, "action": action})
        self.effects[action] += 1
        return _shown(message)

    def _arrive(self, action: str, *labels: str) -> Finish:
        return lambda request, media: self._deliver(
            self._message(request, media, media.metadata, list(labels)), action
        )

    def _raw(self, finish: Finish) -> Handler:
        """Return the handler of a method whose message is in the JSON: `raw` in base64url, of the
        message or of the draft's message.
        """

        def handle(request: Request) -> Response:
            _user(request)
            wanted = request.json()
            return json_response(
                finish(request, Media(self._blob_of(wanted), "message/rfc822", wanted))
            )

        return handle

    def _blob_of(self, wanted: dict[str, Json]) -> Blob:
        message = wanted.get("message")
        raw = (message if isinstance(message, dict) else wanted).get("raw")
        try:
            decoded = base64.urlsafe_b64decode(str(raw or "") + "==")
        except ValueError:
            decoded = b""
        if not decoded:
            raise ApiError(
                400,
                "'raw' RFC822 payload message string or uploading message via "
                "/upload/* URL required",
            )
        blob = self._blobs.new(())
        blob.write(decoded)
        return blob

    def _get_message(self, request: Request) -> Json:
        _user(request)
        return _shown(
            _found(
                {message["id"]: message for message in self.messages},
                request.params["message"],
            )
        )

    def _draft(self, request: Request, draft_id: str) -> dict[str, Json]:
        _user(request)
        return _found(self.drafts, draft_id)

    def _set_draft(
        self, request: Request, draft_id: str, media: Media, action: str
    ) -> dict[str, Json]:
        message = self._message(
            request, media, _object(media.metadata.get("message")), ["DRAFT"]
        )
        self.drafts[draft_id] = {"id": draft_id, "message": message}
        self.effects[action] += 1
        return {"id": draft_id, "message": _shown(message)}

    def _create_draft(self, request: Request, media: Media) -> dict[str, Json]:
        return self._set_draft(request, f"r{next(self._numbers)}", media, "draft")

    def _update_draft(self, request: Request, media: Media) -> dict[str, Json]:
        draft = self._draft(request, request.params["draft"])
        return self._set_draft(request, draft["id"], media, "draft-update")

    def _send_replaced_draft(self, request: Request, media: Media) -> dict[str, Json]:
        """Send a draft with these bytes instead of its own."""
        draft = self._draft(request, str(media.metadata.get("id", "")))
        message = self._message(
            request, media, _object(media.metadata.get("message")), ["SENT"]
        )
        return self._deliver_draft(draft["id"], message)

    def _send_draft(self, request: Request) -> Json:
        """Send a draft as it is, or with the message in the JSON of the request."""
        if "raw" in _object(request.json().get("message")):
            return self._raw(self._send_replaced_draft)(request)
        draft = self._draft(request, str(request.json().get("id", "")))
        return json_response(
            self._deliver_draft(draft["id"], {**draft["message"], "labelIds": ["SENT"]})
        )

    def _deliver_draft(
        self, draft_id: str, message: dict[str, Json]
    ) -> dict[str, Json]:
        sent = self._deliver(message, "draft-send")
        del self.drafts[draft_id]
        return sent

    def _get_draft(self, request: Request) -> Response:
        draft = self._draft(request, request.params["draft"])
        return json_response({"id": draft["id"], "message": _shown(draft["message"])})


def _read_headers(blob: Blob) -> Message:
    """Return the headers of an RFC 822 message. Raises `ApiError` 400 if there are none."""
    with blob.path.open("rb") as file:
        head = file.read(HEADER_LIMIT)
    end = min(
        (at for mark in (b"\r\n\r\n", b"\n\n") if (at := head.find(mark)) >= 0),
        default=len(head),
    )
    message = BytesHeaderParser().parsebytes(head[:end] + b"\r\n\r\n")
    if not message.keys():
        raise ApiError(400, "Invalid message: there are no headers.", "invalidArgument")
    return message


def _check_attachments(path: Path) -> None:
    """Raise `ApiError` 400 for a message with an attachment that Gmail blocks.

    Gmail Help, "File types blocked in Gmail" (answer 6590). No document has the API's words; these
    are the mail server's (552-5.7.0).
    """
    with path.open("rb") as file:
        message = BytesParser().parse(file)
    for part in message.walk():
        if (part.get_filename() or "").lower().endswith(BLOCKED):
            raise ApiError(
                400,
                "This message was blocked because its content presents a potential security issue.",
                "invalidArgument",
            )


def _found(entities: dict[str, dict[str, Json]], entity_id: str) -> dict[str, Json]:
    if entity_id not in entities:
        raise ApiError(404, "Requested entity was not found.")
    return entities[entity_id]


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _user(request: Request) -> str:
    """Return the owner of the mailbox. Raises `ApiError`, as Gmail does, for an account without a
    mailbox, or for another user's.
    """
    if request.account == SERVICE_ACCOUNT and not request.subject:
        raise failed_precondition("Precondition check failed.")
    owner = request.subject or request.account
    if request.params["user"] not in ("me", owner):
        raise ApiError(403, f"Delegation denied for {owner}", "forbidden")
    return owner


def _shown(message: dict[str, Json]) -> dict[str, Json]:
    return {name: message[name] for name in ("id", "threadId", "labelIds")}


def _upload(
    name: str,
    path: str,
    finish: Finish,
    scopes: tuple[str, ...],
    *,
    limit: int = SEND_LIMIT,
) -> UploadMethod:
    return UploadMethod(
        f"gmail.users.{name}",
        f"/upload{USERS}{path}",
        finish,
        lambda request, _: _user(request),
        accept=("message/*",),
        limit=limit,
        scopes=scopes,
    )
