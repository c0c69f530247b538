"""What an answer is read as: operations and states, and words for whatever a service says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts import make_catalogue
from uploader.services import catalogue
from uploader.services.completion import Lookup, Operation, Stage, State, words_of

STATE = State(
    fields=("status.state",),
    done=("DONE",),
    at_work=("RUNNING",),
    failed=("FAILED",),
    error="status.error",
    reasons=("status.error", "errors"),
)
OPERATION = Operation(Lookup("/v1/{+name}", (("name", "name"),)))


@pytest.mark.parametrize(
    ("answer", "stage", "words"),
    [
        ({"status": {"state": "DONE"}}, Stage.DONE, ""),
        ({"status": {"state": "RUNNING"}}, Stage.AT_WORK, ""),
        (
            {"status": {"state": "FAILED"}, "errors": ["a", "b", "a"]},
            Stage.FAILED,
            "a; b",
        ),
        ({"status": {"state": "DONE", "error": {"message": "M"}}}, Stage.FAILED, "M"),
        ({"status": {"state": "NEW"}}, Stage.UNKNOWN, ""),
        ({"status": {"state": ["DONE"]}}, Stage.UNKNOWN, ""),
        ({"status": "DONE"}, Stage.UNKNOWN, ""),
        ({}, Stage.UNKNOWN, ""),
    ],
)
def test_a_state_becomes_a_stage(
    answer: dict[str, Any], stage: Stage, words: str
) -> None:
    """An error counts whatever the state is; a state that the rule does not have is `UNKNOWN`."""
    reading = STATE.read(answer)
    assert (reading.stage, reading.words) == (stage, words)


@pytest.mark.parametrize(
    ("answer", "stage"),
    [
        ({"name": "n"}, Stage.AT_WORK),
        ({"name": "n", "done": False, "error": {"code": 3}}, Stage.AT_WORK),
        ({"name": "n", "done": "true"}, Stage.AT_WORK),
        ({"name": "n", "done": True}, Stage.AT_WORK),
        ({"name": "n", "done": True, "response": None}, Stage.AT_WORK),
        ({"name": "n", "done": True, "response": {}}, Stage.DONE),
        ({"name": "n", "done": True, "error": {"code": 3}}, Stage.FAILED),
    ],
)
def test_an_operation_becomes_a_stage(answer: dict[str, Any], stage: Stage) -> None:
    """An operation ends with `done` and a response, and an error makes it a failure."""
    assert OPERATION.read(answer).stage is stage
    inside = Operation(OPERATION.lookup, "operation")
    assert inside.read({"operation": answer}).stage is stage
    assert inside.as_answer(answer) == {"operation": answer}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("two\n words ", "two words"),
        ({"code": 3, "message": "Bad."}, "Bad."),
        ({"reason": "invalid", "message": "Bad.", "location": "x"}, "invalid: Bad."),
        ([{"error_code": "A", "error_detail": "a"}, {"error_code": "B"}], "A: a; B"),
        ([["a"], None, 7, {}], "a"),
        (None, ""),
        (json.loads("[" * 900 + '"deep"' + "]" * 900), ""),
        (json.loads('{"message":' * 300 + "1" + "}" * 300), ""),
        ("x" * 5000, "x" * 2000),
        (["x" * 1500] * 2 + ["y" * 1500], "x" * 1500 + "; " + "y" * 498),
    ],
)
def test_the_words_of_a_service_are_one_short_line(value: Any, words: str) -> None:
    """At most 2,000 characters."""
    assert words_of(value) == words


def test_eleven_methods_answer_with_an_operation() -> None:
    """And ten with a state; of every other a success is the end."""
    found = [catalogue.find(target) for target in catalogue.targets()]
    rules = [method.template.completion for method in found if method]
    assert len([rule for rule in rules if isinstance(rule, Operation)]) == 11
    assert len([rule for rule in rules if isinstance(rule, State)]) == 10


def test_a_lookup_has_the_parameters_of_the_upload() -> None:
    """What the answer leaves out is known from the request."""
    method = catalogue.find("analytics.management.uploads.uploadData")
    assert method is not None
    values = {"accountId": "1", "webPropertyId": "UA-1-1", "customDataSourceId": "a/b"}
    rule = method.endpoint(values).completion
    assert rule is not None
    assert rule.lookup is not None
    assert rule.lookup.path.endswith(
        "/UA-1-1/customDataSources/a%2Fb/uploads/{uploadId}"
    )


def test_a_state_that_nobody_has_decided_about_stops_the_script() -> None:
    """A new member of an answer that looks like a state is not passed over."""
    schemas: dict[str, Any] = {
        "Thing": {
            "properties": {"id": {"type": "string"}, "buildState": {"type": "string"}}
        }
    }
    with pytest.raises(SystemExit, match="buildState looks like a state"):
        make_catalogue.check_states({"id": "things.insert"}, schemas, "Thing", None)
    values = {"enum": ["STATE_UNSPECIFIED", "GOOD", "BAD"]}
    rule = {"fields": ["buildState"], "done": ["GOOD"], "failed": []}
    schemas["Thing"]["properties"]["buildState"] = values
    with pytest.raises(SystemExit, match=r"has the states \{'BAD'\}"):
        make_catalogue.check_states({"id": "things.insert"}, schemas, "Thing", rule)
