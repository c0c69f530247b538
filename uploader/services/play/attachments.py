"""The files beside the artifacts: mapping, symbols, expansion files, release notes, listing; checked offline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from uploader.artifacts import Artifact, from_path
from uploader.errors import InputError, Problem
from uploader.inputs import Inputs
from uploader.services.play import api
from uploader.services.play.asked import Extras, Listing
from uploader.services.play.tracks import Notes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attachments:
    """Everything beside the artifacts. `notes` are release notes by track."""

    extras: Extras = field(default_factory=Extras)
    notes: dict[str, Notes] = field(default_factory=dict)
    listing: Listing | None = None


def attachments(inputs: Inputs, artifacts: tuple[Artifact, ...], problems: list[Problem]) -> Attachments:
    """Reads them all; what is wrong with any of them is added to the problems."""
    return Attachments(_extras(inputs, problems))


def _extras(inputs: Inputs, problems: list[Problem]) -> Extras:
    mapping = _file(inputs, "mapping-file", inputs.mapping_file, api.DEOBFUSCATION_LIMIT, problems)
    symbols = _file(inputs, "debug-symbols", inputs.debug_symbols, api.DEOBFUSCATION_LIMIT, problems)
    expansions: list[tuple[api.ExpansionKind, Artifact | int]] = []
    given: tuple[tuple[api.ExpansionKind, str], ...] = (
        ("main", inputs.expansion_file_main),
        ("patch", inputs.expansion_file_patch),
    )
    for kind, value in given:
        word, _, code = value.partition("references:")
        found = (
            int(code)
            if code and not word
            else _file(inputs, f"expansion-file-{kind}", value, api.EXPANSION_LIMIT, problems)
        )
        if found is not None:
            expansions.append((kind, found))
    return Extras(mapping, symbols, tuple(expansions))


def _file(inputs: Inputs, name: str, value: str, limit: int, problems: list[Problem]) -> Artifact | None:
    if not value:
        return None
    try:
        found = from_path(inputs.platform.workspace / value, value, input_name=name)
    except InputError as error:
        problems += error.problems
        return None
    if not 0 < (found.size or 0) <= limit:
        problems.append(Problem(name, f"{found.name} has {found.size} bytes.", f"1 to {limit} bytes"))
    return found
