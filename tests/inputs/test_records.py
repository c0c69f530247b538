"""The table of inputs and the records agree: whoever adds to one of them and forgets the other is
told here.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from itertools import groupby
from pathlib import Path
from typing import get_args

import pytest

from uploader.inputs import SPECS, specs
from uploader.inputs.records import (
    AppDistributionInputs,
    CheckInputs,
    CommonInputs,
    DataSafetyInputs,
    GamesInputs,
    InternalSharingInputs,
    ListingPullInputs,
    MailInputs,
    MethodInputs,
    OtaInputs,
    Record,
    ReleaseInputs,
    RolloutInputs,
    StatusInputs,
    VerifyInputs,
)
from uploader.inputs.specs import ALL_TARGETS, METHOD

PROGRAM = Path(specs.__file__).parents[1]
RECORDS: tuple[type[Record], ...] = get_args(Record)
RECORD_OF_TARGET: dict[str, type[Record]] = {
    "play": ReleaseInputs,
    "play-status": StatusInputs,
    "play-rollout": RolloutInputs,
    "play-listing-pull": ListingPullInputs,
    "play-verify": VerifyInputs,
    "play-internal-sharing": InternalSharingInputs,
    "play-data-safety": DataSafetyInputs,
    "firebase-app-distribution": AppDistributionInputs,
    "check": CheckInputs,
    "gmail": MailInputs,
    "play-games": GamesInputs,
    "ota": OtaInputs,
    METHOD: MethodInputs,
}
# Fields of records that are no inputs.
FACTS = {"common", "platform", "tag", "lasting_state", "impersonated"}
# What a target has in its record only to refuse it.
REFUSED = {
    "play-status": {"status"},
    "play-rollout": {"status", "user_fraction", "wait_for"},
}
# What a target takes without a warning although it has no use for it.
UNUSED = {
    "play-status": {"expected_certificate"},
    "play-rollout": {"expected_certificate"},
    "play-listing-pull": {"expected_certificate"},
}


def fields(record: type[Record]) -> set[str]:
    """The inputs that a record has, by their names in it."""
    return {field.name for field in dataclasses.fields(record)} - FACTS


def test_every_row_has_a_field_in_a_record() -> None:
    """An input that nobody reads would be accepted without an effect."""
    read = set().union(*map(fields, RECORDS))
    assert [spec.name for spec in SPECS if spec.attribute not in read] == []


def test_every_input_is_read_outside_the_inputs() -> None:
    """A limit that no service reads would be accepted without an effect as well."""
    program = ""
    for module in sorted(PROGRAM.rglob("*.py")):
        if module.parent.name != "inputs":
            program += module.read_text(encoding="utf-8")
    read = set(re.findall(r"\.([a-z_]+)\b", program))
    assert [spec.name for spec in SPECS if spec.attribute not in read] == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_of_a_record_has_a_row(record: type[Record]) -> None:
    """A field without a row would keep its default in every run."""
    assert fields(record) - {spec.attribute for spec in SPECS} == set()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_field_has_the_default_of_its_own_row(record: type[Record]) -> None:
    """And not that of another row, whose type would do as well, nor one of its own."""
    # The formatter wraps a long line into brackets.
    source = re.sub(r"\s+", " ", inspect.getsource(record))
    row = r" (\w+): [\w\[\]., |]+ = (?:\( )?specs[.](\w+)[.]default_value\b"
    rows = dict(re.findall(row, source))
    assert rows == {name: name.upper() for name in fields(record)}


def test_every_target_has_a_record() -> None:
    assert tuple(RECORD_OF_TARGET) == ALL_TARGETS


@pytest.mark.parametrize("target", ALL_TARGETS)
def test_a_target_reads_what_the_table_says(target: str) -> None:
    """Otherwise an input would be ignored without a warning, or used although a warning says that
    it is ignored.
    """
    for_some = {
        spec.attribute
        for spec in SPECS
        if target in spec.targets and spec.targets != ALL_TARGETS
    }
    used = for_some - UNUSED.get(target, set())
    assert fields(RECORD_OF_TARGET[target]) == used | REFUSED.get(target, set())


def test_what_is_read_for_every_target_is_in_no_record_of_one() -> None:
    """It is in `CommonInputs`, or in the records of the login, the transfer, the workspace and the
    run.
    """
    for_all = {spec.attribute for spec in SPECS if spec.targets == ALL_TARGETS}
    assert fields(CommonInputs) <= for_all
    for record in RECORD_OF_TARGET.values():
        assert fields(record) & for_all == set()


def test_a_row_is_named_like_its_input() -> None:
    """So that a field of a record, its row and its variable are found by one word."""
    rows = {
        name: row
        for name, row in vars(specs).items()
        if isinstance(row, specs.InputSpec)
    }
    assert {name: row.attribute.upper() for name, row in rows.items()} == {
        name: name for name in rows
    }
    assert tuple(rows.values()) == SPECS


def test_the_rows_of_a_group_stand_together() -> None:
    """Pages and `--help` show each heading once, in the order of the groups."""
    assert [group for group, _ in groupby(SPECS, key=lambda spec: spec.group)] == list(
        specs.Group
    )
