"""The mailbox of the emulated user: messages and drafts, and how often something was really done.

A message that was sent twice is here twice, and counted twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesHeaderParser

from google_emulator.http.errors import ApiError
from google_emulator.http.response import Json
from google_emulator.protocol.blobs import Blob

HEADER_LIMIT = 1024 * 1024  # bytes


@dataclass(slots=True)
class Mailbox:
    """Messages in the order of their arrival, drafts by id, and the number of effects by action."""

    messages: list[dict[str, Json]] = field(default_factory=list)
    drafts: dict[str, dict[str, Json]] = field(default_factory=dict)
    effects: Counter[str] = field(default_factory=Counter)


def read_headers(blob: Blob) -> Message:
    """The headers of an RFC 822 message. Raises `ApiError` 400 when there are none."""
    with blob.path.open("rb") as file:
        head = file.read(HEADER_LIMIT)
    end = min((at for mark in (b"\r\n\r\n", b"\n\n") if (at := head.find(mark)) >= 0), default=len(head))
    message = BytesHeaderParser().parsebytes(head[:end] + b"\r\n\r\n")
    if not message.keys():
        raise ApiError(400, "Invalid message: there are no headers.", "invalidArgument")
    return message


def recipients(message: Message) -> list[str]:
    """Everyone a message goes to."""
    return [str(value) for name in ("To", "Cc", "Bcc") for value in message.get_all(name, [])]
