"""Checks a message that was given as a file: it goes out as it is, so nothing may hide in it.

Not by taking it apart with the standard library, whose work grows with the number of parts times their depth: one pass
finds the headers of every part, and of every message within the message, and holds them to the rule of the first ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value, getaddresses
from itertools import chain, islice

UNREADABLE = (AttributeError, IndexError, TypeError, ValueError, LookupError, RecursionError, MessageError)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# RFC 5322, section 3.6: these stand at most once in a message.
_ONCE = ("from", "sender", "reply-to", "to", "cc", "bcc", "message-id", "date", "subject", "content-type")
_RECIPIENTS = ("To", "Cc", "Bcc")
_MAX_HEADERS = 512 * 1024  # bytes; Gmail's own limit, support.google.com/a/answer/14016360
_MAX_PART_HEADERS = 1024 * 1024  # bytes in all parts together; a part counts _PART more than it has
_PART = 256
# Bytes of one header with parameters, and of any other one in a part: both take the library quadratic time.
_MAX_STRUCTURE, _MAX_TEXT = 4096, 65_536
_STRUCTURE = ("content-type", "content-disposition")
_MESSAGES = {"message/rfc822", "message/global"}
_DELIMITER = re.compile(rb"^--[^\r\n]*", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\r\n\r\n")


def normalised(raw: bytes) -> bytes:
    """A message that was given, every line ended by CRLF as RFC 5322 wants it. Raises ValueError when it is none."""
    end = re.search(rb"\r?\n\r?\n", raw)
    head = raw[: end.start()] if end else raw
    if head.startswith(b"From "):
        raise ValueError("begins with a `From ` line: it is a mailbox file, not a single message.")
    if re.search(rb"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", head):
        raise ValueError("has a bare carriage return, a NUL or another control character in its headers.")
    if len(head) > _MAX_HEADERS:
        raise ValueError(f"has {len(head):,} bytes of headers; Gmail accepts at most {_MAX_HEADERS:,}.")
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")


def faults(message: bytes, *, to_send: bool) -> tuple[str, ...]:
    """What is wrong with a normalised message; `to_send` demands a recipient."""
    try:
        recipients(message)
        return _faults(message, to_send=to_send) or tuple(filter(None, [_part_fault(message)]))
    except RecursionError:  # the standard library follows each comment into the next one
        return ("has comments or addresses that are nested too deeply.",)
    except UNREADABLE:
        return ("has a header that can't be read.",)


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
    if len(str(parsed.get("content-type", ""))) > _MAX_STRUCTURE:
        found.append(f"has a Content-Type header of more than {_MAX_STRUCTURE:,} bytes.")
    elif parsed.get_content_maintype() == "multipart":
        boundary = parsed.get_boundary()
        if boundary is None or b"\r\n--" + boundary.encode("ascii", "replace") not in message:
            found.append("is multipart, but its boundary does not occur in it.")
    return tuple(found)


def recipients(message: bytes) -> int:
    """How many addresses a normalised message without `faults` goes to."""
    parsed = BytesHeaderParser().parsebytes(message)
    return len(getaddresses([str(value) for name in _RECIPIENTS for value in parsed.get_all(name, [])]))


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


def _part_fault(message: bytes) -> str:
    """The first thing that is wrong with the headers of the parts, as the rest of a sentence; empty for nothing."""
    left = _MAX_PART_HEADERS
    for part, size in islice(_parts(message), 1, None):  # without the message's own, which are checked
        left -= size + _PART
        if left < 0:
            return "has more parts, or longer headers in them, than any mail needs."
        if part.defects or len(part.get_all("content-type", ())) > 1:
            return "has a part whose headers can't be read."
        for name, value in part.items():
            structured = name.lower() in _STRUCTURE
            limit = _MAX_STRUCTURE if structured else _MAX_TEXT
            if len(str(value)) > limit:
                return f"has a part with a {name} header of more than {limit:,} bytes."
            # A file's name, for one, put together and decoded as RFC 2231 says.
            values = [collapse_rfc2231_value(text) for _, text in part.get_params([], name)] if structured else []
            if any(map(_hides_control, (value, *values))):
                return f"has a control character in the {name} header of a part."
    return ""


def _parts(message: bytes) -> Iterator[tuple[Message, int]]:
    """The headers of the message, of its parts and of the messages among them, however deep, with their bytes.

    Look at each before you ask for the next, which its boundary may lead to.
    """
    types: dict[bytes, str] = {}  # by boundary: what its parts are that do not say it themselves
    for start, stated in chain([(0, "")], _beginnings(message, types)):
        at, default, more = start, stated, True
        while more:
            blank = _BLANK_LINE.search(message, max(at - 2, 0))
            end = blank.start() + 2 if blank else len(message)
            part = BytesHeaderParser().parsebytes(message[at:end])
            part.set_default_type(default)
            yield part, end - at
            if boundary := part.get_boundary():
                digest = part.get_content_type() == "multipart/digest"  # RFC 2046, section 5.1.5
                types[boundary.encode("ascii", "replace")] = "message/rfc822" if digest else "text/plain"
            encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
            encoded = encoding in {"base64", "quoted-printable"}
            at, default, more = end + 2, "text/plain", part.get_content_type() in _MESSAGES and not encoded


def _beginnings(message: bytes, types: Mapping[bytes, str]) -> Iterator[tuple[int, str]]:
    """Where the headers of each part begin, and what it is by default; `types` grows meanwhile."""
    for line in _DELIMITER.finditer(message):
        default = types.get(line[0][2:].rstrip())
        if default is not None:
            yield line.end() + 2, default
