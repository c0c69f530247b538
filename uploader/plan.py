"""What will happen, decided before anything is sent: the files, the credentials' kind, the service's steps in words.

Every offline check is run even when an earlier one found mistakes, so that one run reports them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from uploader.auth import credential_source
from uploader.auth.credential_source import CredentialSource
from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, find, part
from uploader.files.workspace import Workspace
from uploader.inputs import Inputs
from uploader.inputs.table import ReleaseInputs, StatusInputs
from uploader.services import any_method, gmail, internal_sharing, ota, play, play_games
from uploader.services.base import Prepared, Section
from uploader.services.batch import explain_refusals, rehearsal
from uploader.services.play import data_safety, listing, rollout, status
from uploader.text import capitalised

MAX_STEPS, MAX_CHARACTERS = 200, 300  # of the output `plan`

# In the place of files that were not found: a service that is given none would miss more than the files.
_NOT_FOUND = Artifact("files", "files", 0, data=b"")

_Prepare: TypeAlias = Callable[[Inputs, tuple[Artifact, ...], Workspace], Prepared]

# Each service is given the few inputs that it reads. Play knows its own refusals, and which are about permissions.
_ON_PLAY: Mapping[str, _Prepare] = {
    "play": lambda given, files, workspace: play.prepare(given.part(ReleaseInputs), files, workspace),
    "play-status": lambda given, files, workspace: status.prepare(given.part(StatusInputs), files, workspace),
    "play-rollout": lambda given, files, _: rollout.prepare(given, files),
    "play-listing-pull": lambda given, files, _: listing.prepare(given, files),
    "play-data-safety": lambda given, files, _: data_safety.prepare(given, files),
}
_ELSEWHERE: Mapping[str, _Prepare] = {
    "play-internal-sharing": lambda given, files, _: internal_sharing.prepare(given, files),
    "gmail": lambda given, files, _: gmail.prepare(given, files),
    "play-games": lambda given, files, _: play_games.prepare(given, files),
    "ota": lambda given, files, _: ota.prepare(given, files),
}


@dataclass(frozen=True)
class Plan:
    """A run whose every offline check has passed. `source` is None in a rehearsal, which brings its own key."""

    inputs: Inputs
    files: tuple[Artifact, ...]
    prepared: Prepared
    source: CredentialSource | None

    def lines(self) -> tuple[str, ...]:
        """The plan as people read it, one step a line."""
        return tuple(map(capitalised, self.prepared.lines))

    def section(self) -> Section:
        """The same as a table for the summary."""
        return Section("Plan", ("Step",), tuple((line,) for line in self.lines()))

    def as_json(self) -> str:
        """The output `plan` where the service has no better one: the steps in words, bounded, on one line."""
        steps = self.lines()
        few = [step[:MAX_CHARACTERS] for step in steps[:MAX_STEPS]]
        plan = {"version": 1, "target": self.inputs.target, "steps": few, "left_out": len(steps) - len(few)}
        return json.dumps(plan, separators=(",", ":"))


def make_plan(inputs: Inputs, problems: Sequence[Problem]) -> Plan:
    """Runs every offline check. Raises `InputError` with `problems` and whatever else is wrong."""
    found = Problems(problems)
    source = None if inputs.rehearsal else found.collect(lambda: credential_source.parse(inputs), skip_known=True)
    origin = source.info.get("credential_source") if source else None
    token = origin.get("file") if isinstance(origin, Mapping) else None
    if isinstance(token, str):  # a secret as well as the credentials that name it, and never to be opened
        inputs = replace(inputs, credential_files=(*inputs.credential_files, inputs.platform.workspace / token))
    workspace = Workspace.of(inputs)
    everything = found.collect(lambda: find(inputs.files, workspace), skip_known=True) or ()
    files = part(everything, *inputs.shard) if inputs.shard else everything
    if everything and files == everything:  # the other jobs have nothing: this one is no part of a split
        inputs = replace(inputs, shard=None)
    known = files or ((_NOT_FOUND,) if "files" in found.names else ())
    prepared = found.collect(lambda: prepare(inputs, known, workspace), skip_known=True) if inputs.target else None
    if found or prepared is None:
        raise InputError(*found)
    return Plan(inputs, files, prepared, source)


def prepare(inputs: Inputs, files: tuple[Artifact, ...], workspace: Workspace) -> Prepared:
    """What the target makes of its inputs and files. Raises InputError with every problem."""
    if inputs.shard and inputs.files and not files:  # a matrix may have more jobs than there are files
        nothing = f"Shard {inputs.shard[0]}/{inputs.shard[1]}: no file is assigned to this job."
        return Prepared((nothing,), (), rehearsal(nothing, outcome=nothing))
    if on_play := _ON_PLAY.get(inputs.target):
        return on_play(inputs, files, workspace)
    elsewhere = _ELSEWHERE.get(inputs.target)
    prepared = elsewhere(inputs, files, workspace) if elsewhere else any_method.prepare(inputs, files)
    return replace(prepared, flow=lambda context: explain_refusals(prepared.flow(context)))
