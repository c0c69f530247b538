"""Composes a message from what the inputs say, and lets nothing slip a header into it.

Every header goes through the standard library's structured e-mail package, addresses as parsed addresses. That package
decodes what looks like an RFC 2047 encoded word, in every version of Python in another way, and a line break may come
out; so control characters are refused behind the decoding, and the finished message is read again and held against
what was asked (`difference`). A composed message is a function of its content and its identity alone, so that a run
that continues an unfinished upload makes the same bytes again.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from email.errors import MessageError
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import SMTP, EmailPolicy
from email.utils import format_datetime

from uploader.errors import InputError, Problem

# 7bit makes every part quoted-printable or base64 as it needs; RFC 5322 has CRLF, and lines of 78 characters.
_POLICY: EmailPolicy[EmailMessage] = SMTP.clone(cte_type="7bit")
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,}"
)
_PART_HEADERS = {"content-type", "content-transfer-encoding", "content-disposition", "mime-version"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNREADABLE = (AttributeError, IndexError, TypeError, ValueError, LookupError, RecursionError, MessageError)


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


def decoded(text: str) -> str:
    """The text with its RFC 2047 encoded words decoded; as it is when one of them can't be."""
    try:
        return str(make_header(decode_header(text)))
    except UNREADABLE:
        return text


def has_control(text: str) -> bool:
    """Whether a header that says this would hold a control character, as it stands or once a reader has decoded it."""
    return any(_CONTROL.search(form) for form in (text, decoded(text)))


def compose(content: MailContent, identity: MessageIdentity) -> bytes:
    """The message as it is sent, with CRLF line ends; Bcc stays in, since Gmail delivers by it and takes it out.

    Raises InputError when it would not say what was asked.
    """
    try:
        message = _composed(content, identity)
        header = difference(message, content)
    except UNREADABLE:  # what newer versions of the library refuse to write themselves
        message, header = b"", "subject"
    if header:
        name = "files" if header == "parts" else f"mail-{header}"
        raise InputError(Problem(name, "can't be written into a message without changing it.", "plain text"))
    return message


def _composed(content: MailContent, identity: MessageIdentity) -> bytes:
    message = EmailMessage(policy=_POLICY)
    headers = {
        "From": content.sender,
        "To": content.to,
        "Cc": content.cc,
        "Bcc": content.bcc,
        "Subject": decoded(content.subject),
    }
    for name, value in headers.items():
        if value:
            message[name] = value
    domain = content.sender[0].domain if content.sender else "uploader.invalid"
    message["Date"] = format_datetime(identity.date)
    message["Message-ID"] = f"<{identity.token}@{domain}>"
    _fill(message, content)
    for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
        part.set_boundary(f"=_{identity.token}_{number}")
    return message.as_bytes()


def _fill(message: EmailMessage, content: MailContent) -> None:
    if content.html and not content.text:
        message.set_content(content.html, subtype="html")
    else:
        message.set_content(content.text)
        if content.html:
            message.add_alternative(content.html, subtype="html")
    for attachment in content.attachments:
        family, _, kind = attachment.media_type.partition("/")
        message.add_attachment(attachment.content, maintype=family, subtype=kind, filename=attachment.name)


def difference(message: bytes, content: MailContent) -> str:
    """The header in which a composed message does not say what was asked; `parts` for its parts, empty for none."""
    try:
        parsed = BytesParser(policy=_POLICY.clone(raise_on_defect=True)).parsebytes(message)
        return _header_difference(parsed, content) or _part_difference(parsed, content)
    except UNREADABLE:
        return "parts"


def _header_difference(parsed: EmailMessage, content: MailContent) -> str:
    people = {"from": content.sender, "to": content.to, "cc": content.cc, "bcc": content.bcc}
    for name, wanted in people.items():
        found = parsed[name].addresses if name in parsed else ()
        if [*map(_seen, map(str, found))] != [*map(_seen, map(str, wanted))]:
            return name
    if _seen(parsed["subject"] or "") != _seen(decoded(content.subject)):
        return "subject"
    asked = {name for name, wanted in people.items() if wanted} | ({"subject"} if content.subject else set())
    return "subject" if _beyond(parsed, asked | {"date", "message-id"} | _PART_HEADERS) else ""


def _part_difference(parsed: EmailMessage, content: MailContent) -> str:
    leaves = [part for part in parsed.walk() if not part.is_multipart()]
    bodies = 2 if content.text and content.html else 1
    wanted = [""] * bodies + [_seen(attachment.name) for attachment in content.attachments]
    beyond = any(_beyond(part, _PART_HEADERS) for part in parsed.walk() if part is not parsed)
    return "parts" if beyond or [_file_name(part) for part in leaves] != wanted else ""


def _file_name(part: Message) -> str:
    """As it is written; `get_filename` would take away quotes and angle brackets that belong to a name."""
    header = part["content-disposition"]
    return _seen(getattr(header, "params", {}).get("filename", ""))


def _beyond(part: Message, known: set[str]) -> bool:
    """Whether a header stands there that nobody composed, or one stands there twice."""
    names = [name.lower() for name in part]
    return not known.issuperset(names) or len(set(names)) < len(names)


def _seen(text: str) -> str:
    """The text without whitespace, where a fold of a long header may move a space."""
    return "".join(text.split())


def encoded_size(count: int) -> int:
    """Bytes that `count` bytes take as base64 in lines of 76 characters with CRLF."""
    characters = (count + 2) // 3 * 4
    return characters + (characters + 75) // 76 * 2
