"""Composes a message from what the inputs say, or checks one that was given; nothing can slip a header into either.

Every header goes through the standard library's structured e-mail package, addresses as parsed addresses. That package
decodes what looks like an RFC 2047 encoded word, in every version of Python in another way, and a line break may come
out; so control characters are refused behind the decoding, and the finished message is read again and held against
what was asked (`difference`). A composed message is a function of its content and its identity alone, so that a run
that continues an unfinished upload makes the same bytes again.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timezone
from email.errors import MessageError
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage, Message
from email.parser import BytesHeaderParser, BytesParser
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
_MOST_HEADERS = 512 * 1024  # bytes; Gmail's own limit, support.google.com/a/answer/14016360
_MOST_STRUCTURE = 8192  # bytes of a Content-Type, whose parameters take the library quadratic time
_PART_HEADERS = {"content-type", "content-transfer-encoding", "content-disposition", "mime-version"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNREADABLE = (AttributeError, IndexError, TypeError, ValueError, LookupError, RecursionError, MessageError)


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
    except _UNREADABLE:  # how the standard library's parser fails
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
    except _UNREADABLE:
        return text


def has_control(text: str) -> bool:
    """Whether a header that says this would hold a control character, as it stands or once a reader has decoded it."""
    return any(_CONTROL.search(form) for form in (text, decoded(text)))


class MessageDiffers(Exception):
    """A finished message would not say what was asked, in the header `header`, or in its `parts`."""

    def __init__(self, header: str) -> None:
        super().__init__(header)
        self.header = header


def compose(content: MailContent, identity: MessageIdentity) -> bytes:
    """The message as it is sent, with CRLF line ends; Bcc stays in, since Gmail delivers by it and takes it out.

    Raises MessageDiffers.
    """
    try:
        message = _composed(content, identity)
    except _UNREADABLE:  # what newer versions of the library refuse to write themselves
        raise MessageDiffers("subject") from None
    if header := difference(message, content):
        raise MessageDiffers(header)
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
    except _UNREADABLE:
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


def normalised(raw: bytes) -> bytes:
    """A message that was given, every line ended by CRLF as RFC 5322 wants it. Raises ValueError when it is none."""
    end = re.search(rb"\r?\n\r?\n", raw)
    head = raw[: end.start()] if end else raw
    if head.startswith(b"From "):
        raise ValueError("begins with a `From ` line: it is a mailbox file, not a single message.")
    if re.search(rb"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", head):
        raise ValueError("has a bare carriage return, a NUL or another control character in its headers.")
    if len(head) > _MOST_HEADERS:
        raise ValueError(f"has {len(head):,} bytes of headers; Gmail accepts at most {_MOST_HEADERS:,}.")
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
    hiding = dict.fromkeys(name for name, value in parsed.items() if _hides_control(value))
    found += [f"has a control character in its {name} header." for name in hiding]
    if parsed.defects or not {"from", "to", "cc", "bcc", "subject"} & set(names):
        found.append("is not a message: its headers can't be read.")
    if to_send and not any("@" in str(parsed.get(name, "")) for name in _RECIPIENTS):
        found.append("has no recipient in To, Cc or Bcc.")
    if len(str(parsed.get("content-type", ""))) > _MOST_STRUCTURE:
        found.append(f"has a Content-Type header of more than {_MOST_STRUCTURE:,} bytes.")
    elif parsed.get_content_maintype() == "multipart" and not _has_parts(message, parsed.get_boundary()):
        found.append("is multipart, but its boundary does not occur in it.")
    return tuple(found)


def recipients(message: bytes) -> int:
    """How many addresses a normalised message without `faults` goes to."""
    parsed = BytesHeaderParser().parsebytes(message)
    return len(getaddresses([str(value) for name in _RECIPIENTS for value in parsed.get_all(name, [])]))


def _hides_control(value: object) -> bool:
    """Whether a header's value holds a control character, perhaps in an encoded word; a fold of the header is none."""
    return has_control(re.sub(r"\r\n(?=[ \t])|\t", " ", str(value)))


def _has_parts(message: bytes, boundary: str | None) -> bool:
    return boundary is not None and b"\r\n--" + boundary.encode("ascii", "replace") in message
