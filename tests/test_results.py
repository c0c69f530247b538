"""The outputs that follow from what happened to the files: which ids, from whom, and the sums."""

from __future__ import annotations

import pytest

from uploader.results import FileResult, RunRecord, not_reached, outputs_of


def of(*ids: str) -> list[FileResult]:
    """The results of as many files."""
    return [FileResult(f"{place}.bin", 10, id=one) for place, one in enumerate(ids)]


@pytest.mark.parametrize(
    ("results", "named", "expected"),
    [
        (of("a"), (), {"id": "a", "ids": "a"}),
        (of("a", "b"), (), {"id": "a", "ids": "a,b"}),
        (of("", "b"), (), {"id": "", "ids": "b"}),
        (of("", ""), (), {}),
        ([], (), {}),
        ([*of("a"), not_reached("late.bin", 5)], (), {"id": "a", "ids": "a"}),
        ([], ("m1",), {"id": "m1", "ids": "m1"}),
        (of("30", "mapping"), ("30", "4"), {"id": "30", "ids": "30,4"}),
    ],
    ids=[
        "one",
        "several",
        "first failed",
        "none has one",
        "no file",
        "not reached",
        "no upload",
        "named by the service",
    ],
)
def test_ids_are_those_of_the_uploads_unless_the_service_names_others(
    results: list[FileResult], named: tuple[str, ...], expected: dict[str, str]
) -> None:
    """`id` is the first file's, `ids` are all there are; without any neither output is set."""
    record = RunRecord()
    record.publish({"edit-id": "1"}, named)
    record.publish({"committed": "true"})
    outputs = outputs_of(results, record)
    assert {name: outputs[name] for name in ("id", "ids") if name in outputs} == expected
    assert (outputs["edit-id"], outputs["committed"]) == ("1", "true")


def test_counters_are_sums_over_all_files() -> None:
    """Bytes and attempts are added up; one file that was resumed makes the run a resumed one."""
    first = FileResult("a", 10, attempts=2, bytes_uploaded=10, bytes_resent=3)
    second = FileResult("b", 20, attempts=1, bytes_uploaded=5, resumed_from=15)
    assert outputs_of([first, second], RunRecord()) == {
        "bytes-uploaded": "15", "bytes-resent": "3", "attempts": "3", "resumed": "true",
    }  # fmt: skip
    assert outputs_of([first], RunRecord())["resumed"] == "false"


def test_a_better_result_replaces_a_failure_of_the_same_file() -> None:
    """A file that failed and was tried again stands once in the record."""
    record = RunRecord()
    for result in (FileResult("a", 1, error="no."), FileResult("b", 1), FileResult("a", 1, id="7")):
        record.add(result)
    assert [(one.path, one.id) for one in record.results] == [("a", "7"), ("b", "")]
