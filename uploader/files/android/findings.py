"""Collects what is wrong and what is only odd, so that people hear of all of it at once."""

from __future__ import annotations

from uploader.errors import InputError, Problem


class Findings:
    """The problems and warnings of one input."""

    def __init__(self, input_name: str) -> None:
        self.input_name = input_name
        self._problems: list[Problem] = []
        self._warnings: list[str] = []

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong so far."""
        return not self._problems

    def wrong(self, what: str, accepted: str = "") -> None:
        """Play would refuse this, or it can't be what was meant."""
        self._problems.append(Problem(self.input_name, what, accepted))

    def warn(self, what: str) -> None:
        """Worth a look, but Play may take it."""
        self._warnings.append(f"{self.input_name}: {what}")

    def take(self, error: InputError) -> None:
        """Keeps the problems that something deeper raised."""
        self._problems.extend(error.problems)

    def settle(self) -> tuple[str, ...]:
        """The warnings. Raises InputError when there is a problem."""
        if self._problems:
            raise InputError(*self._problems)
        return tuple(self._warnings)
