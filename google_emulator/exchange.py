"""One request on its way through the emulator: what was asked, under which names faults find it, and for whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import TYPE_CHECKING, TypeAlias

from google_emulator.answers import Answer, Json, Refusal
from google_emulator.body import Body

if TYPE_CHECKING:
    from google_emulator.oauth import Token
    from google_emulator.sessions import Session
    from google_emulator.world import World

PAYLOAD_LIMIT = 10 * 1024 * 1024


@dataclass(slots=True)
class Exchange:
    """A request with its surroundings. `query` has the last value of each name; `names` are the operation's."""

    world: World
    method: str
    path: str
    query: Mapping[str, str]
    headers: Message
    body: Body
    names: frozenset[str] = frozenset()
    token: Token | None = None
    session: Session | None = None
    payload: bytes = b""
    params: dict[str, str] = field(default_factory=dict)

    def header(self, name: str) -> str:
        """A request header, stripped; an empty string when there is none."""
        return str(self.headers.get(name, "")).strip()

    def json(self) -> dict[str, Json]:
        """The request body as a JSON object; {} when it is empty. Raises `Refusal` 400 for anything else."""
        return json_object(self.payload)

    def flag(self, name: str) -> bool:
        """A boolean query parameter; absent is false."""
        value = self.query.get(name, "false").lower()
        if value not in ("true", "false"):
            raise Refusal(400, f"Invalid value at '{name}' (TYPE_BOOL), \"{value}\"")
        return value == "true"


Handler: TypeAlias = Callable[[Exchange], Answer]


def json_object(text: bytes) -> dict[str, Json]:
    """A JSON object from a request. Raises `Refusal` 400, worded as Google does, when it is none."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        raise Refusal(400, "Invalid JSON payload received. Unexpected token.", "parseError") from None
    if not isinstance(value, dict):
        raise Refusal(400, "Invalid JSON payload received. An object is expected.", "parseError")
    return value
