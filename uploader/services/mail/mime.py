"""Composes a message from what the inputs say, or checks one that was given; nothing can slip a header into either.

Every header goes through the standard library's structured e-mail package, addresses as parsed addresses. A composed
message is a function of its content and its identity alone, so that a run that continues an unfinished upload
makes the same bytes again.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timezone
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from email.policy import SMTP, EmailPolicy
from email.utils import format_datetime, getaddresses
from typing import NamedTuple

# 7bit makes every part quoted-printable or base64 as it needs; RFC 5322 has CRLF, and lines of 78 characters.
_POLICY: EmailPolicy[EmailMessage] = SMTP.clone(cte_type="7bit")
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,}"
)
# RFC 5322, section 3.6: these stand at most once in a message.
_ONCE = ("from", "sender", "reply-to", "to", "cc", "bcc", "message-id", "date", "subject", "content-type")
_RECIPIENTS = ("To", "Cc", "Bcc")


class Attachment(NamedTuple):
    """One file inside a message."""

    name: str
    media_type: str
    content: bytes


class MailContent(NamedTuple):
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


class MessageIdentity(NamedTuple):
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
    # How the standard library's parser fails, also where comments stand a thousand deep in one another.
    except (AttributeError, IndexError, TypeError, RecursionError, HeaderParseError):
        raise ValueError("is not a list of e-mail addresses.") from None
    wrong = [address.addr_spec for address in found if not _ADDRESS.fullmatch(address.addr_spec)]
    if header.defects or wrong or not found:
        raise ValueError(f"{wrong[0]!r} is not an e-mail address." if wrong else "is not a list of e-mail addresses.")
    return found


def compose(content: MailContent, identity: MessageIdentity) -> bytes:
    """The message as it is sent, with CRLF line ends; Bcc stays in, since Gmail delivers by it and takes it out."""
    message = EmailMessage(policy=_POLICY)
    headers = {
        "From": content.sender,
        "To": content.to,
        "Cc": content.cc,
        "Bcc": content.bcc,
        "Subject": content.subject,
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


def encoded_size(count: int) -> int:
    """Bytes that `count` bytes take as base64 in lines of 76 characters with CRLF."""
    characters = (count + 2) // 3 * 4
    return characters + (characters + 75) // 76 * 2


def normalised(raw: bytes) -> bytes:
    """A message that was given, every line ended by CRLF as RFC 5322 wants it. Raises ValueError when it is none."""
    end = re.search(rb"\r?\n\r?\n", raw)
    head = raw[: end.start()] if end else raw
    if head.startswith(b"From "):
        raise ValueError("begins with a `From ` line: it is a mailbox file, not a single message.")
    if re.search(rb"\r(?!\n)|\0", head):
        raise ValueError("has a bare carriage return or a NUL in its headers.")
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")


def faults(message: bytes, *, to_send: bool) -> tuple[str, ...]:
    """What is wrong with a normalised message; `to_send` demands a recipient."""
    try:
        recipients(message)
        return _faults(message, to_send=to_send)
    except RecursionError:  # the standard library follows each comment into the next one
        return ("has comments or addresses that stand too deep in one another.",)


def _faults(message: bytes, *, to_send: bool) -> tuple[str, ...]:
    parsed = BytesHeaderParser().parsebytes(message)  # the old policy, which leaves hostile values alone
    names = [name.lower() for name in parsed]
    found = [f"has {names.count(name)} {name} headers." for name in _ONCE if names.count(name) > 1]
    if parsed.defects or not {"from", "to", "cc", "bcc", "subject"} & set(names):
        found.append("is not a message: its headers can't be read.")
    if to_send and not any("@" in str(parsed.get(name, "")) for name in _RECIPIENTS):
        found.append("has no recipient in To, Cc or Bcc.")
    if parsed.get_content_maintype() == "multipart" and not _has_parts(message, parsed.get_boundary()):
        found.append("is multipart, but its boundary does not occur in it.")
    return tuple(found)


def recipients(message: bytes) -> int:
    """How many addresses a normalised message goes to."""
    parsed = BytesHeaderParser().parsebytes(message)
    return len(getaddresses([str(value) for name in _RECIPIENTS for value in parsed.get_all(name, [])]))


def _has_parts(message: bytes, boundary: str | None) -> bool:
    return boundary is not None and b"\r\n--" + boundary.encode("ascii", "replace") in message
