"""Reads the transcripts: the documents' own exchanges, each with the move that leads to it and what
its answer means.

A transcript begins with its facts (`source`, `dialect`, `media`, …). Its exchanges are parted by
empty lines: `move:` is what is done, `>` the request (its body behind an empty line, `[bytes a-b]`
for bytes of the file), `<` the answer (`lost`: none), `event:` what the answer means, `fault:` what
the emulator is asked to do so that it answers so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "transcripts"
_BYTES = re.compile(rb"\[bytes (\d+)-(\d+)\]")


@dataclass(frozen=True)
class Message:
    """The first line (without its mark), the headers, and the body."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        return next(value for key, value in self.headers if key == name)


@dataclass(frozen=True)
class Exchange:
    """One request and its answer; `fault` as the emulator takes it, None when there is none."""

    move: list[str]
    request: Message
    response: Message
    event: list[str]
    fault: dict[str, Any] | None


@dataclass(frozen=True)
class Transcript:
    """The facts and the exchanges."""

    facts: dict[str, str]
    exchanges: tuple[Exchange, ...]


def names() -> list[str]:
    """Every transcript."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def read(name: str, file: bytes) -> Transcript:
    """The transcript of that name; `file` is what its `[bytes a-b]` are taken from."""
    head, *rest = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n\n")
    facts = {
        name: value.strip()
        for name, _, value in (line.partition(":") for line in head.splitlines())
    }
    return Transcript(facts, tuple(_exchange(text, file) for text in rest))


def _exchange(text: str, file: bytes) -> Exchange:
    lines = text.splitlines()
    said = {
        key: line.split(": ", 1)[1].split() for line in lines for key in _keys(line)
    }
    return Exchange(
        said["move"],
        _message([line[2:] for line in lines if line.startswith(">")], file),
        _message([line[2:] for line in lines if line.startswith("<")], file),
        said["event"],
        _fault(said["fault"]) if "fault" in said else None,
    )


def _keys(line: str) -> list[str]:
    return [key for key in ("move", "event", "fault") if line.startswith(f"{key}: ")]


def _message(lines: list[str], file: bytes) -> Message:
    first, *rest = lines
    end = rest.index("") if "" in rest else len(rest)
    headers = tuple(
        (name, value)
        for name, _, value in (line.partition(": ") for line in rest[:end])
    )
    body = "\r\n".join(rest[end + 1 :]).encode()
    return Message(
        first,
        headers,
        _BYTES.sub(lambda match: file[int(match[1]) : int(match[2]) + 1], body),
    )


def _fault(words: list[str]) -> dict[str, Any]:
    on, do, *options = words
    pairs = (option.split("=") for option in options)
    return {
        "on": on,
        "do": do,
        **{name: int(value) if value.isdigit() else value for name, value in pairs},
    }
