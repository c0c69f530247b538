"""Gathers everything that is wrong with a run's inputs, so that one run reports all of it.

A check that goes on after a mistake is handed the `Problems` and adds to them; one that can't go on raises
`InputError`, and its caller runs it through `collect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from uploader.errors import InputError, Problem

T = TypeVar("T")


class Problems:
    """Mistakes in the order in which they were found, each once; and `warnings`, which end no run."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._problems = dict.fromkeys(problems)
        self.warnings: list[str] = []

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)

    @property
    def names(self) -> set[str]:
        """Every input that is known to be wrong."""
        return {name for problem in self for name in (problem.name, *problem.covers)}

    def add(self, name: str, what: str, accepted: str = "", covers: tuple[str, ...] = (), code: str = "") -> None:
        """One mistake, described as in `Problem`."""
        self.extend([Problem(name, what, accepted, covers, code)])

    def extend(self, problems: Iterable[Problem]) -> None:
        """Several mistakes."""
        self._problems.update(dict.fromkeys(problems))

    def warn(self, text: str) -> None:
        """One sentence about what is odd, but may be meant."""
        self.warnings.append(text)

    def collect(self, check: Callable[[], T], *, skip_known: bool = False) -> T | None:
        """The check's value, or None when it raised `InputError`, whose problems are added.

        With `skip_known` an input that was found wrong before is not reported again by this check.
        """
        known = self.names if skip_known else ()
        try:
            return check()
        except InputError as error:
            self.extend(problem for problem in error.problems if problem.name not in known)
            return None

    def raise_if_any(self) -> None:
        """Raises `InputError` with every mistake so far, if there is one."""
        if self._problems:
            raise InputError(*self._problems)
