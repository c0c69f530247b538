"""A mail: read from the inputs and from files in the workspace, and composed so that nothing slips a header into it.

The standard library's e-mail package decodes what looks like an RFC 2047 encoded word, and a line break may come out;
so control characters are refused behind the decoding. A composed message is a function of its content and its identity
alone, so that a run that continues an unfinished upload makes the same bytes again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from email.utils import format_datetime
from functools import partial
from pathlib import PurePosixPath

from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace, printable
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services import mail_file, media_types
from uploader.services.mail_file import UNREADABLE, decoded, has_control
from uploader.text import plural

# 7bit makes every part quoted-printable or base64 as it needs; RFC 5322 has CRLF, and lines of 78 characters.
_POLICY: EmailPolicy[EmailMessage] = SMTP.clone(cte_type="7bit")
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,}"
)
_FILE = "file:"
_ADDRESS_INPUTS = ("mail_from", "mail_to", "mail_cc", "mail_bcc")
_BODY_INPUTS = ("mail_body", "mail_body_file", "mail_html", "mail_html_file")
_CONTENT_INPUTS = (*_ADDRESS_INPUTS, "mail_subject", *_BODY_INPUTS)


@dataclass(frozen=True)
class Attachment:
    """One file inside a message."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class MailContent:
    """What a composed message says. Empty text and empty HTML mean that there is none."""

    sender: tuple[Address, ...] = ()
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    subject: str = ""
    text: str = ""
    html: str = ""
    attachments: tuple[Attachment, ...] = ()

    def digest(self) -> str:
        """A name for the content, the same in every run that would send the same."""
        parts = (self.sender, self.to, self.cc, self.bcc, self.subject, self.text, self.html)
        digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass"))
        for attachment in self.attachments:
            digest.update(repr((attachment.name, attachment.media_type, len(attachment.content))).encode())
            digest.update(attachment.content)
        return digest.hexdigest()


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


@dataclass(frozen=True)
class Mail:
    """A mail that can be sent: how people see it, with the numbers of its recipients and of the files attached to it,
    a digest of what it says, and its bytes under an identity.
    """

    name: str
    recipients: int
    attachments: int
    digest: str
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
    sender, to, cc, bcc = (_addresses_in(inputs, name, problems) for name in _ADDRESS_INPUTS)
    if has_control(inputs.mail_subject):
        problems.add("mail-subject", "contains a control character, perhaps in an encoded word.")
    text = partial(_text, inputs, problems=problems, limit=limit)
    content = MailContent(
        *(sender, to, cc, bcc),
        subject=inputs.mail_subject,
        text=text("mail-body", inputs.mail_body, inputs.mail_body_file),
        html=text("mail-html", inputs.mail_html, inputs.mail_html_file),
        attachments=_attachments(files, problems, limit),
    )
    if len(sender) > 1:
        problems.add("mail-from", "contains several addresses.", "one address")
    if to_send and not (inputs.mail_to or inputs.mail_cc or inputs.mail_bcc):
        problems.add("mail-to", "is missing: the mail has no recipient.")
    if inputs.gmail_action in {"insert", "import"} and not inputs.mail_from:
        problems.add("mail-from", "is missing: a mail that is inserted needs a sender.")
    if not (inputs.mail_subject or inputs.files or any(getattr(inputs, name) for name in _BODY_INPUTS)):
        problems.add("mail-body", "is missing, and so are the subject, HTML and files: the mail would be empty.")
    problems.raise_if_any()
    name = f'mail "{content.subject}"' if content.subject else "mail"
    recipients, warnings = len((*to, *cc, *bcc)), tuple(problems.warnings)
    return Mail(name, recipients, len(files), content.digest(), partial(compose, content), warnings)


def _given_message(
    inputs: Inputs, files: tuple[Artifact, ...], problems: Problems, *, to_send: bool, limit: int
) -> Mail:
    """The message of `message-file`, which goes out as it is."""
    others = [name.replace("_", "-") for name in _CONTENT_INPUTS if getattr(inputs, name)]
    for name in [*others, *(["files"] if files else [])]:
        problems.add(name, "can't be combined with `message-file`, which is the whole message.")
    name, message = printable(inputs.message_file), b""
    try:
        message = mail_file.normalised(_content(inputs, "message-file", inputs.message_file, limit))
    except ValueError as error:
        problems.add("message-file", f"{name} {error}", "an RFC 822 message")
    except InputError as error:
        problems.extend(error.problems)
    if len(message) > limit:
        problems.extend([_too_large("message-file", f"{name} takes", len(message), limit)])
    problems.raise_if_any()
    for fault in mail_file.faults(message, to_send=to_send):
        problems.add("message-file", f"{inputs.message_file} {fault}")
    problems.raise_if_any()
    digest = hashlib.sha256(message).hexdigest()
    return Mail(inputs.message_file, mail_file.recipients(message), 0, digest, lambda _: message)


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
    for file in files:
        if file.size is None:
            problems.add("files", f"{file.name} is a stream; an attachment has to be a file.")
        name = PurePosixPath(file.name).name
        if not name.isprintable() or has_control(name):
            problems.add("files", f"{file.name!r} contains a control character in its name.")
    attachments = []
    for file in () if len(problems) > before else files:
        kind = media_types.kinds(file)[0]
        if kind.startswith(("message/", "multipart/")):
            kind = media_types.OCTETS  # RFC 2046, section 5.2.1: such parts can't be base64
        content = media_types.head(file, file.size or 0)
        attachments.append(Attachment(PurePosixPath(file.name).name, kind, content))
    return tuple(attachments)


def encoded_size(count: int) -> int:
    """Bytes that `count` bytes take as base64 in lines of 76 characters with CRLF."""
    characters = (count + 2) // 3 * 4
    return characters + (characters + 75) // 76 * 2


def compose(content: MailContent, identity: MessageIdentity) -> bytes:
    """The message as it is sent, with CRLF line ends; Bcc stays in, since Gmail delivers by it and takes it out.

    Raises InputError when it would not say what was asked.
    """
    subject = decoded(content.subject)
    changed = Problem("mail-subject", "can't be written into a message without changing it.", "plain text")
    if decoded(subject) != subject:  # the library would decode it once more
        raise InputError(changed)
    message = EmailMessage(policy=_POLICY)
    people = {"From": content.sender, "To": content.to, "Cc": content.cc, "Bcc": content.bcc}
    domain = content.sender[0].domain if content.sender else "uploader.invalid"
    more = {"Date": format_datetime(identity.date), "Message-ID": f"<{identity.token}@{domain}>"}
    try:
        for name, value in {**people, "Subject": subject, **more}.items():
            if value:
                message[name] = value
        if content.text or not content.html:
            message.set_content(content.text)
            if content.html:
                message.add_alternative(content.html, subtype="html")
        else:
            message.set_content(content.html, subtype="html")
        for attachment in content.attachments:
            family, _, kind = attachment.media_type.partition("/")
            message.add_attachment(attachment.content, maintype=family, subtype=kind, filename=attachment.name)
        for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
            part.set_boundary(f"=_{identity.token}_{number}")
        return message.as_bytes()
    except UNREADABLE:  # what newer versions of the library refuse to write themselves
        raise InputError(changed) from None
