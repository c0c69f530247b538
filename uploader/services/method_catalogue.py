"""Knows every upload method of Google's APIs, from data that scripts/make_catalogue.py made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_AUTH = "https://www.googleapis.com/auth/"
_USUAL_IDS = ("id", "name", "versionCode")


@dataclass(frozen=True)
class Parameter:
    """One path or query parameter. `kind` is the document's format or type: string, integer, int32, int64, boolean."""

    name: str
    kind: str
    required: bool = False
    repeated: bool = False
    pattern: str = ""
    choices: Sequence[str] = ()


@dataclass(frozen=True)
class Method:
    """One upload method. `path` and `upload_path` are RFC 6570 templates, `max_size` is in bytes.

    `scope` is the narrowest full scope URL that does the work, `scope_existing` the one needed when the request names
    something that is there already. `name_field` and `type_field` are the metadata fields for a file's name and media
    type, empty where there is none; `id_fields` are the dotted paths under which the answer may hold the identifier,
    the best first. `empty_response` says that success has no body, `id_promised` that it names what was made, by a name
    that the request did not have.
    """

    target: str
    id: str
    root: str
    http_method: str
    path: str
    upload_path: str
    accept: tuple[str, ...]
    max_size: int | None
    resumable: bool
    multipart: bool
    scope: str
    scope_existing: str
    takes_metadata: bool
    name_field: str
    type_field: str
    id_fields: tuple[str, ...]
    id_promised: bool
    empty_response: bool
    parameters: Mapping[str, Parameter]


def targets() -> tuple[str, ...]:
    """Every name that `find` knows, sorted; a method's qualified name (`drive:v3.files.create`) works too."""
    return tuple(_data()["methods"])


def find(target: str) -> Method | None:
    """The method that a user calls `target`; None when there is none of that name."""
    data = _data()
    facts = data["methods"].get(target)
    if facts is None and ":" in target:
        facts = next((one for one in data["methods"].values() if one["qualified"] == target), None)
    return None if facts is None else _method(target, facts, data["apis"][facts["api"]])


def similar(target: str) -> tuple[str, ...]:
    """Up to three targets that look like a mistyped one."""
    import difflib  # 9 ms that only a mistake pays for

    return tuple(difflib.get_close_matches(target, targets(), n=3, cutoff=0.6))


def _data() -> dict[str, Any]:
    text = Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def _method(target: str, facts: Mapping[str, Any], api: Mapping[str, str]) -> Method:
    made: dict[str, Any] = {
        "target": target,
        "root": api["root"],
        "accept": tuple(facts["accept"]),
        "scope": _scope(facts["scope"]),
        "scope_existing": _scope(facts["scope_existing"]),
        "id_fields": tuple(filter(None, (facts["id_field"], *_USUAL_IDS))),
        "id_promised": bool(facts["id_field"]) and facts["id_field"] not in facts["parameters"],
        "parameters": {name: Parameter(name, **one) for name, one in facts["parameters"].items()},
    }
    return Method(**made, **{name: facts[name] for name in Method.__dataclass_fields__ if name not in made})


def _scope(name: str) -> str:
    return name if name.startswith("https:") else _AUTH + name
