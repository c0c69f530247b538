"""Checks a message that was given as a file: it goes out as it is, so nothing may hide in it.

Not by taking it apart with the standard library, whose work grows with the number of parts times their depth: one pass
finds the headers of every part, and of every message within the message, and holds them to the rule of the first ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value, getaddresses

UNREADABLE = (AttributeError, IndexError, TypeError, ValueError, LookupError, RecursionError, MessageError)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# RFC 5322, section 3.6: these stand at most once in a message.
_ONCE = ("from", "sender", "reply-to", "to", "cc", "bcc", "message-id", "date", "subject", "content-type")
_RECIPIENTS = ("To", "Cc", "Bcc")
_MAX_HEADERS = 512 * 1024  # bytes; Gmail's own limit, support.google.com/a/answer/14016360
_MAX_ALL_HEADERS = 2 * _MAX_HEADERS  # with those of all parts; each counts _PART more than it has
_PART = 256
# Bytes of one header with parameters, and of any other one: both take the library quadratic time.
_MAX_STRUCTURE, _MAX_TEXT = 4096, 65_536
_STRUCTURE = ("content-type", "content-disposition")
_MESSAGES = {"message/rfc822", "message/global"}
_DELIMITER = re.compile(rb"^--[^\r\n]*", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\r\n\r\n")


def checked(raw: bytes, *, to_send: bool) -> tuple[bytes, int]:
    """A message that was given, every line ended by CRLF as RFC 5322 wants it, and how many addresses it goes to.

    `to_send` demands a recipient. Raises ValueError with everything that is wrong, each as the rest of a sentence.
    """
    end = re.search(rb"\r?\n\r?\n", raw)
    head = raw[: end.start()] if end else raw
    if head.startswith(b"From "):
        raise ValueError("begins with a `From ` line: it is a mailbox file, not a single message.")
    if re.search(rb"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", head):
        raise ValueError("has a bare carriage return, a NUL or another control character in its headers.")
    if len(head) > _MAX_HEADERS:
        raise ValueError(f"has {len(head):,} bytes of headers; Gmail accepts at most {_MAX_HEADERS:,}.")
    message = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")
    found, sent_to = [], 0
    try:
        parsed = BytesHeaderParser().parsebytes(message)  # the old policy, which leaves hostile values alone
        names = [name.lower() for name in parsed]
        sent_to = len(getaddresses([str(value) for name in _RECIPIENTS for value in parsed.get_all(name, [])]))
        found += [f"has {names.count(name)} {name} headers." for name in _ONCE if names.count(name) > 1]
        if parsed.defects or not {"from", "to", "cc", "bcc", "subject"} & set(names):
            found.append("is not a message: its headers can't be read.")
        if to_send and not any("@" in str(parsed.get(name, "")) for name in _RECIPIENTS):
            found.append("has no recipient in To, Cc or Bcc.")
        if fault := next(_faults(message), ""):
            found.append(fault)
        elif parsed.get_content_maintype() == "multipart":
            boundary = parsed.get_boundary()
            if boundary is None or b"\r\n--" + boundary.encode("ascii", "replace") not in message:
                found.append("is multipart, but its boundary does not occur in it.")
    except RecursionError:  # the standard library follows each comment into the next one
        found.append("has comments or addresses that are nested too deeply.")
    except UNREADABLE:
        found.append("has a header that can't be read.")
    if found:
        raise ValueError(*found)
    return message, sent_to


def _faults(message: bytes) -> Iterator[str]:
    """What is wrong with the headers of the message and its parts. Behind the first, there may be no headers."""
    left = _MAX_ALL_HEADERS
    for number, (part, size) in enumerate(_parts(message)):
        left -= size + _PART
        if left < 0:
            yield "has more parts, or longer headers in them, than any mail needs."
        if number and (part.defects or len(part.get_all("content-type", ())) > 1):
            yield "has a part whose headers can't be read."
        has = "has a part with" if number else "has"
        for name, value in part.items():
            structured = name.lower() in _STRUCTURE
            limit = _MAX_STRUCTURE if structured else _MAX_TEXT
            if len(str(value)) > limit:
                yield f"{has} a {name} header of more than {limit:,} bytes."
            # A file's name, for one, put together and decoded as RFC 2231 says.
            values = [collapse_rfc2231_value(text) for _, text in part.get_params([], name)] if structured else []
            if any(map(_hides_control, (value, *values))):
                yield f"{has} a control character in its {name} header."


def _parts(message: bytes) -> Iterator[tuple[Message, int]]:
    """The headers of the message, of its parts and of the messages among them, however deep, with their bytes.

    Look at each before you ask for the next, which its boundary may lead to.
    """
    types: dict[bytes, str] = {}  # by boundary: what its parts are that do not say it themselves
    delimiters = _DELIMITER.finditer(message)
    start, default = 0, ""
    while True:
        blank = _BLANK_LINE.search(message, max(start - 2, 0))
        end = blank.start() + 2 if blank else len(message)
        part = BytesHeaderParser().parsebytes(message[start:end])
        part.set_default_type(default)
        yield part, end - start
        if boundary := part.get_boundary():
            digest = part.get_content_type() == "multipart/digest"  # RFC 2046, section 5.1.5
            types[boundary.encode("ascii", "replace")] = "message/rfc822" if digest else "text/plain"
        encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
        start, default = end + 2, "text/plain"
        if part.get_content_type() not in _MESSAGES or encoding in {"base64", "quoted-printable"}:
            line = next((one for one in delimiters if one[0][2:].rstrip() in types), None)
            if line is None:
                return
            start, default = line.end() + 2, types[line[0][2:].rstrip()]


def decoded(text: str) -> str:
    """The text with its RFC 2047 encoded words decoded; as it is when one of them can't be."""
    try:
        return str(make_header(decode_header(text)))
    except UNREADABLE:
        return text


def has_control(text: str) -> bool:
    """Whether a header that says this would hold a control character, as it stands or once a reader has decoded it."""
    for _ in range(2):  # encoded words may stand within encoded words
        if _CONTROL.search(text) or "=?" not in text:
            break
        text = decoded(text)
    return bool(_CONTROL.search(text))


def _hides_control(value: object) -> bool:
    """Whether a header's value holds a control character, perhaps in an encoded word; a fold of the header is none."""
    return has_control(re.sub(r"\r\n(?=[ \t])|\t", " ", str(value)))
