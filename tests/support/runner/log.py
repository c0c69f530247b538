"""What GitHub's runner makes of a step's output: commands obeyed, secrets masked, files parsed or the step failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.platforms import Command, file_commands, workflow_commands

ANNOTATIONS, ANNOTATION = 10, 4096  # of one type a step; characters each
LARGEST_SUMMARY = 1024 * 1024  # bytes
SHOWN = ("group", "notice", "warning", "error")


@dataclass
class Masks:
    """The secrets of a job: each whole and line by line, as the runner learns them."""

    known: set[str] = field(default_factory=set)

    def add(self, secret: str) -> None:
        """Learns one more."""
        self.known.update(part.strip() for part in (secret, *re.split(r"[\r\n]+", secret)) if part.strip())

    def hide(self, text: str) -> str:
        """The text with every secret as ***, longest first."""
        for secret in sorted(self.known, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


@dataclass
class Step:
    """A step that has ended. `raw` is all it printed, `log` what the page of the run shows of it."""

    code: int
    raw: str
    files: Mapping[str, Path]
    masks: Masks
    log: str = ""
    annotations: list[Command] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""

    def job_outputs(self) -> dict[str, str]:
        """What other jobs get: an output that holds anything masked is left out."""
        return {name: value for name, value in self.outputs.items() if self.masks.hide(value) == value}


def read_step(code: int, raw: bytes, files: Mapping[str, Path], secrets: Sequence[str], *, debug: bool) -> Step:
    """Reads all that a step left. Raises ValueError where the runner would fail the step for a malformed file."""
    masks = Masks()
    for secret in secrets:
        masks.add(secret)
    step = Step(code, raw.decode(), files, masks)
    step.log = "\n".join(_shown(step, debug=debug))
    step.outputs = file_commands(files["GITHUB_OUTPUT"].read_bytes())
    for name in ("GITHUB_ENV", "GITHUB_STATE"):
        file_commands(files[name].read_bytes())
    summary = files["GITHUB_STEP_SUMMARY"].read_bytes()
    if len(summary) > LARGEST_SUMMARY:
        raise ValueError("$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k")
    step.summary = masks.hide(summary.decode())
    return step


def _shown(step: Step, *, debug: bool) -> Iterable[str]:
    """The lines of the log in their order, so that a secret printed before it was masked is seen."""
    resume = ""
    for line in re.split(r"\r\n|\r|\n", step.raw):
        command = next(iter(workflow_commands(line)), None)
        if resume or command is None:
            resume = "" if resume and line.strip() == f"::{resume}::" else resume
            yield step.masks.hide(line)
        elif command.name == "add-mask":
            step.masks.add(command.data)
        elif command.name == "stop-commands":
            resume = command.data
        elif command.name in SHOWN or (command.name == "debug" and debug):
            yield _obeyed(step, command)
        elif command.name not in ("endgroup", "debug"):
            raise ValueError(f"the step used the command {command.name}, which has been taken away")


def _obeyed(step: Step, command: Command) -> str:
    """The line in the log for a command; the first few messages of each type also become annotations."""
    text = step.masks.hide(command.data)
    same = [one for one in step.annotations if one.name == command.name]
    if command.name in ("notice", "warning", "error") and len(same) < ANNOTATIONS:
        step.annotations.append(Command(command.name, text[:ANNOTATION], command.properties))
    return f"##[{command.name}]{text}"
