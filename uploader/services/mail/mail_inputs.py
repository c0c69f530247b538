"""Reads what a mail is made of, from the inputs and from files in the workspace, and reports all mistakes at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from email.headerregistry import Address
from functools import partial
from pathlib import PurePosixPath

from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace, printable
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services import media_types
from uploader.services.mail import message_file, mime

_FILE = "file:"
_ADDRESS_INPUTS = ("mail_from", "mail_to", "mail_cc", "mail_bcc")
_BODY_INPUTS = ("mail_body", "mail_body_file", "mail_html", "mail_html_file")
_CONTENT_INPUTS = (*_ADDRESS_INPUTS, "mail_subject", *_BODY_INPUTS)


@dataclass(frozen=True)
class Mail:
    """A mail that can be sent: how people see it, a digest of what it says, and its bytes under an identity.

    `recipients` and `attachments` are their numbers; what a message that was given has attached is not counted.
    """

    name: str
    recipients: int
    attachments: int
    digest: str
    data: Callable[[mime.MessageIdentity], bytes]
    warnings: tuple[str, ...] = ()


def given(inputs: Inputs, files: tuple[Artifact, ...]) -> bool:
    """Whether the inputs say anything of what stands in the mail."""
    return bool(inputs.message_file or files or any(getattr(inputs, name) for name in _CONTENT_INPUTS))


def read(inputs: Inputs, files: tuple[Artifact, ...], *, to_send: bool, limit: int) -> Mail:
    """The mail. `to_send` demands a recipient, `limit` is in bytes of the encoded message. Raises InputError."""
    if inputs.message_file:
        return _given_message(inputs, files, to_send=to_send, limit=limit)
    return _MailReader(inputs, limit).read(files, to_send=to_send)


def _given_message(inputs: Inputs, files: tuple[Artifact, ...], *, to_send: bool, limit: int) -> Mail:
    problems = Problems()
    for name in [name.replace("_", "-") for name in _CONTENT_INPUTS if getattr(inputs, name)] + ["files"] * bool(files):
        problems.add(name, "can't be combined with `message-file`, which is the whole message.")
    message = problems.collect(lambda: _normalised(inputs, limit))
    if message is None:
        raise InputError(*problems)
    for fault in message_file.faults(message, to_send=to_send):
        problems.add("message-file", f"{inputs.message_file} {fault}")
    problems.raise_if_any()
    digest = hashlib.sha256(message).hexdigest()
    return Mail(inputs.message_file, message_file.recipients(message), 0, digest, lambda _: message)


def _normalised(inputs: Inputs, limit: int) -> bytes:
    name = printable(inputs.message_file)
    try:
        message = message_file.normalised(_content(inputs, "message-file", inputs.message_file, limit))
    except ValueError as error:
        raise InputError(Problem("message-file", f"{name} {error}", "an RFC 822 message")) from None
    if len(message) > limit:
        raise InputError(_too_large("message-file", name, len(message), limit))
    return message


def _too_large(name: str, what: str, size: int, limit: int) -> Problem:
    return Problem(name, f"{what} takes {size:,} bytes in the message; Gmail accepts at most {limit:,} in all.")


def _content(inputs: Inputs, name: str, given: str, limit: int) -> bytes:
    """What is in the file that an input names; a link may not lead out of its folder, unless that is allowed."""
    workspace = Workspace.of(inputs)
    file = from_path(workspace.root / given, given, workspace.access(name, str(PurePosixPath(given).parent)))
    if (file.size or 0) > limit:
        raise InputError(_too_large(name, file.name, file.size or 0, limit))
    return media_types.head(file, limit)


class _MailReader:
    """Collects the parts of a mail and what is wrong with them."""

    def __init__(self, inputs: Inputs, limit: int) -> None:
        self._inputs = inputs
        self._limit = limit
        self._problems = Problems()

    def read(self, files: tuple[Artifact, ...], *, to_send: bool) -> Mail:
        inputs = self._inputs
        sender, to, cc, bcc = (self._addresses(name) for name in _ADDRESS_INPUTS)
        content = mime.MailContent(
            *(sender, to, cc, bcc),
            subject=self._subject(),
            text=self._text("mail-body", inputs.mail_body, inputs.mail_body_file),
            html=self._text("mail-html", inputs.mail_html, inputs.mail_html_file),
            attachments=self._attachments(files),
        )
        self._check_required(content, to_send=to_send)
        self._problems.raise_if_any()
        name = f'mail "{content.subject}"' if content.subject else "mail"
        recipients = len((*to, *cc, *bcc))
        warnings = tuple(self._problems.warnings)
        return Mail(name, recipients, len(files), content.digest(), partial(mime.compose, content), warnings)

    def _check_required(self, content: mime.MailContent, *, to_send: bool) -> None:
        inputs = self._inputs
        if len(content.sender) > 1:
            self._problems.add("mail-from", "contains several addresses.", "one address")
        if to_send and not (inputs.mail_to or inputs.mail_cc or inputs.mail_bcc):
            self._problems.add("mail-to", "is missing: the mail has no recipient.")
        if inputs.gmail_action in {"insert", "import"} and not inputs.mail_from:
            self._problems.add("mail-from", "is missing: a mail that is inserted needs a sender.")
        if not (inputs.mail_subject or inputs.files or any(getattr(inputs, name) for name in _BODY_INPUTS)):
            self._problems.add(
                "mail-body", "is missing, and so are the subject, HTML and files: the mail would be empty."
            )

    def _addresses(self, attribute: str) -> tuple[Address, ...]:
        try:
            return mime.addresses(getattr(self._inputs, attribute))
        except ValueError as error:
            self._problems.add(attribute.replace("_", "-"), str(error), "`Ann <ann@example.com>, bob@example.com`")
            return ()

    def _subject(self) -> str:
        if mime.has_control(self._inputs.mail_subject):
            self._problems.add("mail-subject", "contains a control character, perhaps in an encoded word.")
            return ""
        return self._inputs.mail_subject

    def _text(self, name: str, value: str, path: str) -> str:
        """The text itself, or that of the file which `NAME-file`, or `file:PATH` in its place, names."""
        if value and path:
            self._problems.add(f"{name}-file", f"is given together with `{name}`.", "one of the two")
            return ""
        if path:
            name = f"{name}-file"
        elif value.startswith(_FILE):
            path = value.removeprefix(_FILE).strip()
            self._problems.warn(f"`{name}: file:PATH` is deprecated and will stop working: use `{name}-file: {path}`.")
        else:
            return value
        return self._problems.collect(lambda: _text_of(self._inputs, name, path, self._limit)) or ""

    def _attachments(self, files: tuple[Artifact, ...]) -> tuple[mime.Attachment, ...]:
        sizes = sum(mime.encoded_size(file.size or 0) for file in files)
        before = len(self._problems)
        if sizes > self._limit:  # checked before anything is read: it may not fit in memory
            self._problems.extend([_too_large("files", f"{len(files)} files", sizes, self._limit)])
        for file in files:
            if file.size is None:
                self._problems.add("files", f"{file.name} is a stream; an attachment has to be a file.")
            name = PurePosixPath(file.name).name
            if not name.isprintable() or mime.has_control(name):
                self._problems.add("files", f"{file.name!r} contains a control character in its name.")
        return () if len(self._problems) > before else tuple(_attachment(file) for file in files)


def _text_of(inputs: Inputs, name: str, path: str, limit: int) -> str:
    try:
        return _content(inputs, name, path, limit).decode()
    except UnicodeDecodeError:
        raise InputError(Problem(name, f"{printable(path)} is not UTF-8.", "text in UTF-8")) from None


def _attachment(file: Artifact) -> mime.Attachment:
    kind = media_types.kinds(file)[0]
    if kind.startswith(("message/", "multipart/")):
        kind = media_types.OCTETS  # RFC 2046, section 5.2.1: such parts can't be base64
    return mime.Attachment(PurePosixPath(file.name).name, kind, media_types.head(file, file.size or 0))
