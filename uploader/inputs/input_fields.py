"""The rows of the table of inputs, one value each, for whoever goes through all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from uploader.inputs.input_table import Group, Inputs


class Field(NamedTuple):
    """One row of the table: the contract's name, the attribute, its group, its default in writing, how it is read."""

    name: str
    attribute: str
    group: Group
    default: str
    parse: Callable[[str], object]
    help: str
    secret: bool

    @property
    def variables(self) -> tuple[str, str, str]:
        """The names under which the value may come, first found wins; only GitHub's runner passes a hyphen on."""
        plain = self.attribute.upper()
        return f"INPUT_{self.name.upper()}", f"INPUT_{plain}", f"UPLOADER_{plain}"


def fields() -> tuple[Field, ...]:
    """Every input of the contract, as the help and the README lay them out."""
    return tuple(
        Field(name=field.name.replace("_", "-"), attribute=field.name, **{"secret": False, **field.metadata})
        for field in dataclasses.fields(Inputs)
        if field.metadata
    )
