"""A mail: read from the inputs and from files in the workspace, and composed so that nothing slips a header into it.

The standard library's e-mail package decodes what looks like an RFC 2047 encoded word, and a line break may come out;
so control characters are refused behind the decoding. A composed message is a function of its content and its identity
alone, so that a run that continues an unfinished upload makes the same bytes again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from email.utils import format_datetime
from functools import partial
from pathlib import PurePosixPath
from typing import TypeAlias

from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace, printable
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services import mail_file, media_types
from uploader.services.mail_file import UNREADABLE, decoded, has_control
from uploader.text import plural

Attachment: TypeAlias = tuple[str, str, bytes]  # name, media type, content

# 7bit makes every part quoted-printable or base64 as it needs; RFC 5322 has CRLF, and lines of 78 characters.
_POLICY: EmailPolicy[EmailMessage] = SMTP.clone(cte_type="7bit")
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,}"
)
_FILE = "file:"
_ADDRESSES = ("from", "to", "cc", "bcc")
_BODIES = ("mail_body", "mail_body_file", "mail_html", "mail_html_file")
_CONTENT_INPUTS = (*(f"mail_{name}" for name in _ADDRESSES), "mail_subject", *_BODIES)


@dataclass(frozen=True)
class MessageIdentity:
    """What makes one message differ from another of the same content: when it was written, and a random token."""

    date: datetime
    token: str

    def __str__(self) -> str:
        return f"{self.date.astimezone(timezone.utc).isoformat(timespec='seconds')} {self.token}"

    @classmethod
    def parse(cls, text: str) -> MessageIdentity | None:
        """The identity that `str` wrote; None for anything else."""
        found = re.fullmatch(r"([-0-9T:]{19}\+00:00) ([0-9a-f]{32})", text)
        try:
            return cls(datetime.fromisoformat(found[1]), found[2]) if found else None
        except ValueError:
            return None

    def without(self, message: bytes) -> bytes:
        """What a message says that was composed under this identity: the same bytes under any other."""
        return message.replace(format_datetime(self.date).encode(), b"").replace(self.token.encode(), b"")


@dataclass(frozen=True)
class Mail:
    """A mail that can be sent: how people see it, how many recipients and attachments it has, its bytes by identity."""

    name: str
    recipients: int
    attachments: int
    data: Callable[[MessageIdentity], bytes]
    warnings: tuple[str, ...] = ()


def given(inputs: Inputs, files: tuple[Artifact, ...]) -> bool:
    """Whether the inputs say anything of what stands in the mail."""
    return bool(inputs.message_file or files or any(getattr(inputs, name) for name in _CONTENT_INPUTS))


def read(inputs: Inputs, files: tuple[Artifact, ...], *, to_send: bool, limit: int) -> Mail:
    """The mail. `to_send` demands a recipient, `limit` is in bytes of the encoded message. Raises InputError."""
    problems = Problems()
    if inputs.message_file:
        return _given_message(inputs, files, problems, to_send=to_send, limit=limit)
    people = {name.capitalize(): _addresses_in(inputs, f"mail_{name}", problems) for name in _ADDRESSES}
    if has_control(inputs.mail_subject):
        problems.add("mail-subject", "contains a control character, perhaps in an encoded word.")
    text = partial(_text, inputs, problems=problems, limit=limit)
    compose_it = partial(
        compose,
        people,
        inputs.mail_subject,
        text=text("mail-body", inputs.mail_body, inputs.mail_body_file),
        html=text("mail-html", inputs.mail_html, inputs.mail_html_file),
        attachments=_attachments(files, problems, limit),
    )
    if len(people["From"]) > 1:
        problems.add("mail-from", "contains several addresses.", "one address")
    if to_send and not (inputs.mail_to or inputs.mail_cc or inputs.mail_bcc):
        problems.add("mail-to", "is missing: the mail has no recipient.")
    if inputs.gmail_action in {"insert", "import"} and not inputs.mail_from:
        problems.add("mail-from", "is missing: a mail that is inserted needs a sender.")
    if not (inputs.mail_subject or inputs.files or any(getattr(inputs, name) for name in _BODIES)):
        problems.add("mail-body", "is missing, and so are the subject, HTML and files: the mail would be empty.")
    problems.raise_if_any()
    name = f'mail "{inputs.mail_subject}"' if inputs.mail_subject else "mail"
    recipients = sum(len(found) for header, found in people.items() if header != "From")
    return Mail(name, recipients, len(files), compose_it, tuple(problems.warnings))


def _given_message(
    inputs: Inputs, files: tuple[Artifact, ...], problems: Problems, *, to_send: bool, limit: int
) -> Mail:
    """The message of `message-file`, which goes out as it is."""
    for name in [*filter(partial(getattr, inputs), _CONTENT_INPUTS), *(["files"] if files else [])]:
        problems.add(name.replace("_", "-"), "can't be combined with `message-file`, which is the whole message.")
    raw = problems.collect(lambda: _content(inputs, "message-file", inputs.message_file, limit))
    name, message, recipients = printable(inputs.message_file), b"", 0
    try:
        message, recipients = mail_file.checked(raw, to_send=to_send) if raw is not None else (b"", 0)
    except ValueError as error:
        for fault in error.args:
            problems.add("message-file", f"{name} {fault}", "an RFC 822 message")
    if len(message) > limit:
        problems.extend([_too_large("message-file", f"{name} takes", len(message), limit)])
    problems.raise_if_any()
    return Mail(inputs.message_file, recipients, 0, lambda _: message)


def _too_large(name: str, what: str, size: int, limit: int) -> Problem:
    return Problem(name, f"{what} {size:,} bytes in the message; Gmail accepts at most {limit:,} in all.")


def _content(inputs: Inputs, name: str, path: str, limit: int) -> bytes:
    """What is in the file that an input names; a link may not lead out of its folder, unless that is allowed."""
    workspace = Workspace.of(inputs)
    file = from_path(workspace.root / path, path, workspace.access(name, str(PurePosixPath(path).parent)))
    if (file.size or 0) > limit:
        raise InputError(_too_large(name, f"{file.name} takes", file.size or 0, limit))
    return media_types.head(file, limit)


def _addresses_in(inputs: Inputs, attribute: str, problems: Problems) -> tuple[Address, ...]:
    try:
        return addresses(getattr(inputs, attribute))
    except ValueError as error:
        problems.add(attribute.replace("_", "-"), str(error), "`Ann <ann@example.com>, bob@example.com`")
        return ()


def addresses(text: str) -> tuple[Address, ...]:
    """The addresses of a header such as `Ann <ann@example.com>, bob@example.com`. Raises ValueError with the reason."""
    if not text:
        return ()
    if len(text.splitlines()) > 1:
        raise ValueError("contains a line break.")
    try:
        header = _POLICY.header_factory("to", text)
        found: tuple[Address, ...] = header.addresses
    except UNREADABLE:  # how the standard library's parser fails
        raise ValueError("is not a list of e-mail addresses.") from None
    if has_control(text) or any(map(has_control, map(str, found))):
        raise ValueError("contains a control character, perhaps in an encoded word.")
    wrong = [address.addr_spec for address in found if not _ADDRESS.fullmatch(address.addr_spec)]
    if header.defects or wrong or not found:
        raise ValueError(f"{wrong[0]!r} is not an e-mail address." if wrong else "is not a list of e-mail addresses.")
    return found


def _text(inputs: Inputs, name: str, value: str, path: str, *, problems: Problems, limit: int) -> str:
    """The text itself, or that of the file which `NAME-file`, or `file:PATH` in its place, names."""
    if value and path:
        problems.add(f"{name}-file", f"is given together with `{name}`.", "one of the two")
        return ""
    if path:
        name = f"{name}-file"
    elif value.startswith(_FILE):
        path = value.removeprefix(_FILE).strip()
        problems.warn(f"`{name}: file:PATH` is deprecated and will stop working: use `{name}-file: {path}`.")
    else:
        return value
    try:
        return (problems.collect(lambda: _content(inputs, name, path, limit)) or b"").decode()
    except UnicodeDecodeError:
        problems.add(name, f"{printable(path)} is not UTF-8.", "text in UTF-8")
        return ""


def _attachments(files: tuple[Artifact, ...], problems: Problems, limit: int) -> tuple[Attachment, ...]:
    sizes, before = sum(encoded_size(file.size or 0) for file in files), len(problems)
    if sizes > limit:  # checked before anything is read: it may not fit in memory
        what = f"{plural(len(files), 'file')} {'takes' if len(files) == 1 else 'take'}"
        problems.extend([_too_large("files", what, sizes, limit)])
    attachments = []
    for file in files:
        if file.size is None:
            problems.add("files", f"{file.name} is a stream; an attachment has to be a file.")
        name = PurePosixPath(file.name).name
        if not name.isprintable() or has_control(name):
            problems.add("files", f"{file.name!r} contains a control character in its name.")
        if len(problems) == before:
            kind, content = media_types.kinds(file)[0], media_types.head(file, file.size or 0)
            if kind.startswith(("message/", "multipart/")):
                kind = media_types.OCTETS  # RFC 2046, section 5.2.1: such parts can't be base64
            attachments.append((name, kind, content))
    return tuple(attachments)


def encoded_size(count: int) -> int:
    """Bytes that `count` bytes take as base64 in lines of 76 characters with CRLF."""
    characters = (count + 2) // 3 * 4
    return characters + (characters + 75) // 76 * 2


def compose(
    people: Mapping[str, tuple[Address, ...]],
    subject: str,
    identity: MessageIdentity,
    *,
    text: str = "",
    html: str = "",
    attachments: Iterable[Attachment] = (),
) -> bytes:
    """The message as it is sent, with CRLF line ends; Bcc stays in, since Gmail delivers by it and takes it out.

    Empty text and empty HTML mean that there is none. Raises InputError when it would not say what was asked.
    """
    subject, sender = decoded(subject), people.get("From")
    changed = Problem("mail-subject", "can't be written into a message without changing it.", "plain text")
    if decoded(subject) != subject:  # the library would decode it once more
        raise InputError(changed)
    message = EmailMessage(policy=_POLICY)
    domain = sender[0].domain if sender else "uploader.invalid"
    headers: dict[str, str | tuple[Address, ...]] = {**people, "Subject": subject}
    headers |= {"Date": format_datetime(identity.date), "Message-ID": f"<{identity.token}@{domain}>"}
    try:
        for name, value in headers.items():
            if value:
                message[name] = value
        message.set_content(text or html, subtype="plain" if text or not html else "html")
        if text and html:
            message.add_alternative(html, subtype="html")
        for name, media_type, content in attachments:
            family, _, kind = media_type.partition("/")
            message.add_attachment(content, maintype=family, subtype=kind, filename=name)
        for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
            part.set_boundary(f"=_{identity.token}_{number}")
        return message.as_bytes()
    except UNREADABLE:  # what newer versions of the library refuse to write themselves
        raise InputError(changed) from None
