"""Names that are not ours: the inputs of the tools that people come from, and misspelt ones.

`other_tools.txt` is the one table of what each is here; docs/MIGRATION.md is made from it, too. A
name that differs from ours in hyphens, underscores and capitals alone (packageName) needs no row to
be answered.
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


@dataclass(frozen=True)
class Row:
    """Inputs of another tool as it writes them, what they are here (Markdown), and a remark."""

    names: tuple[str, ...]
    here: str
    remark: str

    @property
    def answer(self) -> str:
        """What somebody is told who gives it to this program."""
        if self.here == NO_INPUT:
            return f"Not needed: {self.remark}."
        remark = self.remark if self.remark.startswith("as ") else ""
        if self.here == "`credentials`" and not remark:
            remark = "which takes JSON, its base64 and a path alike"
        return f"Use {self.here.replace('`, `', '` and `')}{remark and f', {remark}'}."


@cache
def tools() -> Mapping[str, tuple[str, tuple[Row, ...]]]:
    """Every tool by a word for it: its title on the page, and its inputs."""
    found: dict[str, tuple[str, tuple[Row, ...]]] = {}
    for section in TABLE.read_text(encoding="utf-8").split("\n# ")[1:]:
        head, *lines = section.strip().splitlines()
        cells = [[cell.strip() for cell in line.split("|")] for line in lines]
        name, _, title = head.partition(": ")
        found[name] = (
            title,
            tuple(Row(tuple(names.split(", ")), here, remark) for names, here, remark in cells),
        )
    return found


@cache
def answers() -> Mapping[str, tuple[str, str]]:
    """By its letters alone, how another tool writes a name that a variable can have, and what to do
    here.
    """
    known: dict[str, tuple[str, str]] = {}
    for spec in SPECS:
        first, *others = spec.name.split("-")
        camel_case = first + "".join(map(str.capitalize, others))
        known[squashed(spec.name)] = (camel_case, f"Use `{spec.name}`.")
    for row in (row for _, rows in tools().values() for row in rows):
        for name in row.names:
            if re.fullmatch(r"(--)?\w[\w-]*", name):
                known.setdefault(squashed(name), (name.lstrip("-"), row.answer))
    return known


def squashed(name: str) -> str:
    """A name without the differences that variables lose: `packageName`, `package-name`,
    `PACKAGE_NAME` are one.
    """
    return re.sub("[-_ ]", "", name).lower()


def nearly(plain: str) -> InputSpec[Any] | None:
    """The input whose name this is but for hyphens, underscores, capitals and a letter or two."""
    by_name = {spec.name: spec for spec in SPECS}
    for spec in SPECS:
        if squashed(spec.name) == squashed(plain):
            return spec
    written = plain[:80].lower().replace("_", "-")
    similar = get_close_matches(written, by_name, n=1, cutoff=SIMILARITY)
    return by_name[similar[0]] if similar else None


def mistake(given: str, plain: str, way: Way) -> Problem | None:
    """The problem with a name that was surely meant for an input of this program or of another
    tool.

    `given` is the variable or the option, `plain` the name in it. What stood under `with` before
    the runner made a variable of it is told as the other tool writes it.
    """
    noun = "option" if way == "option" else "input"
    written, answer = answers().get(squashed(plain), ("", ""))
    spec = nearly(plain)
    is_same = spec is not None and squashed(spec.name) == squashed(plain)
    if answer and not (is_same and way != "with"):
        name = written if way == "with" else printable(given)
        return Problem(name, f"is another tool's {noun}. {answer}", covers=_inputs_in(answer))
    if spec is None:
        return None
    how = ""
    if is_same and way == "variable":
        how = ": variables are written in capitals, with underscores"
    what = f"is not an {noun}{how}. Did you mean `{_meant(spec, plain, way)}`?"
    return Problem(printable(given), what, covers=(spec.name,))


def _inputs_in(answer: str) -> tuple[str, ...]:
    """The inputs that an answer names."""
    return tuple(spec.name for spec in SPECS if re.search(rf"`{spec.name}[`:]", answer))


def _meant(spec: InputSpec[Any], plain: str, way: Way) -> str:
    """What was meant by a misspelt name, as it is written in its place."""
    if way == "with":
        name, equals = spec.name, ": "
    elif way == "option":
        name, equals = spec.public_name, "="
    else:
        name, equals = spec.variables[-1], "="
    is_negated = re.match("no[-_]?", plain, re.IGNORECASE)  # as in `--no-commit`
    return f"{name}{equals}false" if spec.is_switch and is_negated else name


def printable(name: str) -> str:
    """A name from outside, short and without control characters."""
    return repr(name[:80])[1:-1]
