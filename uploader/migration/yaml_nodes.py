"""A YAML file as a graph of nodes that know their lines: nothing is built from it, and an alias is one node more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from uploader.errors import InputError, Problem

if TYPE_CHECKING:
    from yaml import Node

LARGEST = 1 << 20  # characters and nodes of a file, those behind an alias counted every time
Entry: TypeAlias = "tuple[Node, Node]"
Members: TypeAlias = Mapping[str, Entry]


def documents(text: str) -> list[Node]:
    """The roots of a file. Raises `InputError` for what is no YAML."""
    import yaml  # 20 ms that only a YAML file is worth

    try:
        roots = list(yaml.compose_all(text, Loader=yaml.BaseLoader))
        size = sum(_size(root, {}) for root in roots)
    except RecursionError:
        raise InputError(Problem("FILE", "is nested too deeply to be read.")) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", from line {mark.line + 1} on" if mark else ""
        raise InputError(Problem("FILE", f"is not YAML{where}.")) from None
    if size > LARGEST:
        raise InputError(Problem("FILE", "is too large: its aliases repeat what they stand for too often."))
    return roots


def _size(node: Node, known: dict[int, int]) -> int:
    """The characters and nodes of a node with each alias written out; one that holds itself is over every limit."""
    if id(node) not in known:
        known[id(node)] = LARGEST + 1
        pairs = (pair if isinstance(pair, tuple) else (pair,) for pair in node.value)
        inside = sum(_size(part, known) for pair in pairs for part in pair) if isinstance(node.value, list) else 0
        known[id(node)] = min(1 + (inside or len(node.value)), LARGEST + 1)
    return known[id(node)]


def members(node: Node | None) -> dict[str, Entry]:
    """The members of a mapping by name; nothing of another node."""
    found: dict[str, Entry] = {}
    for pair in node.value if node is not None and isinstance(node.value, list) else ():
        if isinstance(pair, tuple) and isinstance(pair[0].value, str):
            found[pair[0].value] = pair
    return found


def items(node: Node) -> list[Node]:
    """The items of a list; nothing of another node."""
    return [item for item in node.value if not isinstance(item, tuple)] if isinstance(node.value, list) else []


def text(node: Node) -> str:
    """A scalar as it was written; nothing of another node."""
    return node.value if isinstance(node.value, str) else ""


def line(node: Node) -> int:
    """The number of the line on which a node begins."""
    return int(node.start_mark.line) + 1


def settings(entry: Entry | None) -> Iterator[tuple[str, str, int]]:
    """The members of a mapping as texts, with their lines; a list is a line for each item."""
    for name, (key, value) in members(entry[1] if entry else None).items():
        yield name, "\n".join(map(text, items(value))) or text(value), line(key)


def texts(node: Node) -> list[tuple[int, str]]:
    """A text or a list of them, with the numbers of their first lines."""
    scalars = [node] if isinstance(node.value, str) else items(node)
    return [(line(one) + (getattr(one, "style", None) in {"|", ">"}), text(one)) for one in scalars]


def plain(node: Node, most: int = 200) -> object:
    """What a small node says; None for one of more nodes than that, each alias counted every time."""
    left = [most]
    value = _plain(node, left)
    return None if left[0] < 0 else value


def _plain(node: Node, left: list[int]) -> object:
    left[0] -= 1
    if left[0] < 0:
        return None
    if isinstance(node.value, str):
        return _scalar(node)
    found = members(node)
    return {name: _plain(value, left) for name, (_, value) in found.items()} or [
        _plain(item, left) for item in items(node)
    ]


def _scalar(node: Node) -> object:
    """A text, or the boolean or number that one without quotes is."""
    value = text(node)
    if getattr(node, "style", None) is not None:
        return value
    if value in {"true", "false"}:
        return value == "true"
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value, re.ASCII) else value
