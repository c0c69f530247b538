"""Advice on names that are not ours: the inputs of the tools that people come from, and misspelt
ones.

`other_tools.txt` is the table of what each is called here; docs/MIGRATION.md is made from it, too.
A name that differs from ours only in hyphens, underscores and capitals (packageName) needs no row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal

from uploader.errors import Problem
from uploader.inputs.specs import SPECS, InputSpec

# how a name was given: in a workflow under `with`, on the command line, …
Way = Literal["with", "option", "variable"]

TABLE = Path(__file__).with_name("other_tools.txt")
SIMILARITY = 0.8  # of difflib's ratio: a letter or two
NO_INPUT = "no input"
# a name that a variable or an option can have; the table also has names of other kinds
_OTHER_NAME = re.compile(r"(--)?\w[\w-]*")


@dataclass(frozen=True)
class Row:
    """Inputs of another tool as it writes them, what they are here (Markdown), and a remark."""

    names: tuple[str, ...]
    here: str
    remark: str

    @property
    def answer(self) -> str:
        """The advice to somebody who gives one of these names to this program."""
        if self.here == NO_INPUT:
            return f"Not needed: {self.remark}."
        inputs = self.here.replace("`, `", "` and `")
        # The other remarks are for the page alone.
        if self.remark.startswith("as "):
            return f"Use {inputs}, {self.remark}."
        if self.here == "`credentials`":
            return f"Use {inputs}, which takes JSON, its base64 and a path alike."
        return f"Use {inputs}."


@dataclass(frozen=True)
class Tool:
    """Another tool: its title on the page, and its inputs."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Answer:
    """A name as its own tool writes it, and the advice on what to use here."""

    written: str
    advice: str


@cache
def tools() -> Mapping[str, Tool]:
    """Return every tool by its short name."""
    by_word: dict[str, Tool] = {}
    table = TABLE.read_text(encoding="utf-8")
    _, *sections = table.split("\n# ")
    for section in sections:
        head, *lines = section.strip().splitlines()
        word, _, title = head.partition(": ")
        rows = map(_row, lines)
        by_word[word] = Tool(title, tuple(rows))
    return by_word


def _row(line: str) -> Row:
    """Read a line of the table: names, what they are here, and a remark, between bars."""
    names, here, remark = map(str.strip, line.split("|"))
    return Row(
        names=tuple(names.split(", ")),
        here=here,
        remark=remark,
    )


@cache
def answers() -> Mapping[str, Answer]:
    """Return the answer to each name that a variable can have, in the form of `squash`."""
    by_letters: dict[str, Answer] = {}
    for spec in SPECS:
        letters = squash(spec.name)
        by_letters[letters] = Answer(
            written=_camel_case(spec.name),
            advice=f"Use `{spec.name}`.",
        )
    for tool in tools().values():
        for row in tool.rows:
            for name in row.names:
                if not _OTHER_NAME.fullmatch(name):
                    continue
                letters = squash(name)
                # If several tools have the name, the first one counts.
                if letters not in by_letters:
                    by_letters[letters] = Answer(
                        written=name.lstrip("-"),
                        advice=row.answer,
                    )
    return by_letters


def _camel_case(name: str) -> str:
    """Return a name as tools without hyphens write it: `packageName`."""
    first, *others = name.split("-")
    for word in others:
        first += word.capitalize()
    return first


def squash(name: str) -> str:
    """Return a name without what distinguishes spellings of the same variable: `packageName`,
    `package-name` and `PACKAGE_NAME` give the same text.
    """
    return re.sub("[-_ ]", "", name).lower()


def nearly(plain: str) -> InputSpec[Any] | None:
    """Return the input whose name differs from this only in hyphens, underscores, capitals and a
    letter or two; None if there is none.
    """
    letters = squash(plain)
    by_name: dict[str, InputSpec[Any]] = {}
    for spec in SPECS:
        if squash(spec.name) == letters:
            return spec
        by_name[spec.name] = spec
    written = plain[:80].lower().replace("_", "-")
    similar = get_close_matches(written, by_name, n=1, cutoff=SIMILARITY)
    if not similar:
        return None
    return by_name[similar[0]]


def mistake(given: str, plain: str, way: Way) -> Problem | None:
    """Return the problem with a name that was surely meant for an input of this program or of
    another tool; None if it was not.

    `given` is the variable or the option, `plain` the name in it. A name from `with`, of which the
    runner made a variable, is shown as the other tool writes it.
    """
    noun = "input"
    if way == "option":
        noun = "option"
    name = printable(given)
    letters = squash(plain)
    answer = answers().get(letters)
    if answer and way == "with":
        return _of_other_tool(answer.written, noun, answer)
    spec = nearly(plain)
    if spec is None:
        if answer is None:
            return None
        return _of_other_tool(name, noun, answer)
    is_same = squash(spec.name) == letters
    if answer and not is_same:
        advises_spec = f"`{spec.name}`" in answer.advice
        # UPLOADER_TRACK is no other tool's variable, but UPLOADER_TRACKS misspelt.
        is_misspelt = way == "variable" and advises_spec
        if not is_misspelt:
            return _of_other_tool(name, noun, answer)
    how = ""
    if is_same and way == "variable":
        how = ": variables are written in capitals, with underscores"
    meant = _spell(spec, plain, way)
    return Problem(
        name,
        f"is not an {noun}{how}. Did you mean `{meant}`?",
        covers=(spec.name,),
    )


def _of_other_tool(name: str, noun: str, answer: Answer) -> Problem:
    """Return the problem with a name that is another tool's."""
    return Problem(
        name,
        f"is another tool's {noun}. {answer.advice}",
        covers=_inputs_in(answer.advice),
    )


def _inputs_in(text: str) -> tuple[str, ...]:
    """Return the inputs that a text names, in backticks. No input has a digit in its name."""
    in_backticks = set(re.findall("`([a-z-]+)[`:]", text))
    return tuple(spec.name for spec in SPECS if spec.name in in_backticks)


def _spell(spec: InputSpec[Any], plain: str, way: Way) -> str:
    """Return the right spelling of a misspelt name, in the form for `way`."""
    equals = "="
    if way == "with":
        name = spec.name
        equals = ": "
    elif way == "option":
        name = spec.public_name
    else:
        name = spec.variables[-1]
    is_negated = re.match("no[-_]?", plain, re.IGNORECASE)  # as in `--no-commit`
    if spec.is_switch and is_negated:
        return f"{name}{equals}false"
    return name


def printable(name: str) -> str:
    """Return a name from outside, short and without control characters."""
    quoted = repr(name[:80])
    return quoted[1:-1]
