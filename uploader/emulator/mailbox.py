"""The mailbox of the emulated user: messages and drafts, each with what really happened to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from uploader.emulator.answers import Json


@dataclass(slots=True)
class Mailbox:
    """Messages in the order of their arrival, drafts by id. A message that was sent twice is here twice."""

    messages: list[dict[str, Json]] = field(default_factory=list)
    drafts: dict[str, dict[str, Json]] = field(default_factory=dict)
