"""Names that are not ours: another tool's input or a misspelt one is a mistake, anything else is a warning.

A name one letter off must not pass in silence: `dry-rum: true` would publish. Beyond that nobody can tell whose a
variable is, so an unknown `UPLOADER_…` (under GitHub an unknown input too) is a warning; elsewhere `INPUT_…` may be
anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from uploader.errors import Problem
from uploader.input_problems import Problems
from uploader.inputs.ci_platform import Kind
from uploader.inputs.input_table import fields
from uploader.inputs.other_tools import ANSWERS

SIMILARITY = 0.8  # of difflib's ratio: a letter or two


def check(unknown: Sequence[str], other_tools: Sequence[str], kind: Kind, problems: Problems) -> None:
    """Adds a problem or a warning for each variable; the values are not looked at, since any of them may be a key."""
    for variable in unknown:
        prefix, _, plain = variable.partition("_")
        problem = mistake(variable, plain, "input", written_by_hand=prefix == "INPUT")
        if problem:
            problems.extend([problem])
        elif kind == "github" or variable.startswith("UPLOADER_"):
            problems.warn(f"{_printable(variable)} is not an input of this program and is ignored.")
    for variable in other_tools:
        _, response = _answer(variable.removeprefix("SUPPLY_"))
        if response:
            problems.warn(f"{variable} is another tool's variable and is ignored. {response}")


def mistake(given: str, plain: str, kind: str, *, written_by_hand: bool = False) -> Problem | None:
    """The problem with a name that was surely meant for an input of this program or of another tool.

    `given` is the variable or the option, `plain` the name in it, `kind` the word for it, input or option. A name that
    was `written_by_hand`, before the runner made a variable of it, is told as the other tool writes it.
    """
    written, response = _answer(plain)
    names = [field.name for field in fields()]
    if response:
        name = written if written_by_hand else given
        named = tuple(ours for ours in names if re.search(rf"`{ours}[`:]", response))
        return Problem(name, f"is another tool's {kind}. {response}", covers=named)
    nearest = get_close_matches(plain[:80].lower().replace("_", "-"), names, n=1, cutoff=SIMILARITY)
    if not nearest:
        return None
    return Problem(_printable(given), f"is not an {kind}. Did you mean `{nearest[0]}`?", covers=tuple(nearest))


def _answer(plain: str) -> tuple[str, str]:
    """How the other tool writes the name, and what to do here; both empty for a name that nobody knows."""
    squashed = _squash(plain)
    for field in fields():
        if _squash(field.name) == squashed:
            first, *others = field.name.split("-")
            return first + "".join(word.capitalize() for word in others), f"Use `{field.name}`."
    for name, response in ANSWERS.items():
        if _squash(name) == squashed:
            return name, f"Use {response}." if response.startswith("`") else f"{response}."
    return "", ""


def _squash(name: str) -> str:
    """A name without the differences that variables lose: `packageName`, `package-name`, `PACKAGE_NAME` are one."""
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()


def _printable(variable: str) -> str:
    return repr(variable[:80])[1:-1]
