"""What will happen, decided before anything is sent: the files, the credentials' kind, the service's steps in words.

Every room's offline checks are run even when an earlier one found mistakes, so that one run reports them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import NamedTuple, TypeVar

from uploader import credentials
from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact, find, identity
from uploader.inputs import Inputs, addressed
from uploader.services.base import Flow, Note, Outcome, Prepared
from uploader.services.permission import heeded
from uploader.text import capitalised

T = TypeVar("T")

EMULATOR = "emulator"  # the value of `api-endpoint` that means the embedded one

# In the place of files that were not found: a room that is shown none would miss more than the files.
_NOT_FOUND = Artifact("files", "files", 0, data=b"")

_ROOMS = {
    "play": "play",
    "play-internal-sharing": "internal_sharing",
    "gmail": "mail",
    "play-games": "play_games",
    "ota": "ota",
}


class Plan(NamedTuple):
    """A run whose every offline check has passed. `source` is None in a rehearsal, which brings its own key."""

    inputs: Inputs
    files: tuple[Artifact, ...]
    prepared: Prepared
    source: credentials.Source | None

    @property
    def rehearsal(self) -> bool:
        """Whether all of it happens inside this process."""
        return self.inputs.api_endpoint == EMULATOR

    def lines(self) -> tuple[str, ...]:
        """The plan as people read it, one step a line."""
        return tuple(map(capitalised, self.prepared.lines))


def make(inputs: Inputs, problems: Sequence[Problem]) -> Plan:
    """Runs every offline check. Raises `InputError` with `problems` and whatever else is wrong."""
    found = list(problems)
    files = _collect(found, lambda: _files(inputs)) or ()
    source = None if inputs.api_endpoint == EMULATOR else _collect(found, lambda: credentials.parse(inputs))
    found += _keys(files, source)
    shown = files or ((_NOT_FOUND,) if "files" in _names(found) else ())
    prepared = _collect(found, lambda: _prepare(inputs, shown)) if inputs.target else None
    if found or prepared is None:
        raise InputError(*addressed(found, inputs.platform))
    return Plan(inputs, files, prepared, source)


def _keys(files: Iterable[Artifact], source: credentials.Source | None) -> list[Problem]:
    """A pattern that is too wide may match the very file that holds the secret."""
    if source is None or source.file is None or not source.file.exists():
        return []
    key = identity(source.file.stat())
    what = "{} holds the credentials of this run and is never taken."
    return [Problem("files", what.format(file.name), "the artifacts alone") for file in files if file.identity == key]


def _names(problems: Iterable[Problem]) -> set[str]:
    """Every input that is known to be wrong."""
    return {name for problem in problems for name in problem.names}


def _files(inputs: Inputs) -> tuple[Artifact, ...]:
    return find(
        inputs.files,
        inputs.platform.workspace,
        allow_outside=inputs.allow_outside_workspace,
        shard=inputs.shard,
    )


def _prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    if inputs.shard and inputs.files and not files:
        return _nothing(inputs.shard)
    # Only the room that is needed is loaded: the catalogue of all methods costs a Play release nothing.
    room = import_module(f"uploader.services.{_ROOMS.get(inputs.target, 'generic')}")
    prepared: Prepared = room.prepare(inputs, files)
    # Play knows its own refusals, and which of them are about rights.
    return prepared if inputs.target == "play" else prepared._replace(flow=lambda: heeded(prepared.flow()))


def _nothing(shard: tuple[int, int]) -> Prepared:
    """The plan of a job that no file falls to: a matrix may have more jobs than there are files."""
    text = f"Shard {shard[0]}/{shard[1]}: no file falls to this job."

    def flow() -> Flow:
        yield Note(text)
        return Outcome(text)

    return Prepared((text,), (), flow)


def _collect(found: list[Problem], check: Callable[[], T]) -> T | None:
    """The check's value; its problems go to the others, unless the same input was found wrong before."""
    known = _names(found)
    try:
        return check()
    except InputError as error:
        found.extend(problem for problem in error.problems if problem.name not in known)
        return None
