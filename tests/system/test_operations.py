"""Uploads that a service is not through with when it answers: they are waited for, and what it then
says is what the run says.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.job import Job
from tests.support.transfer_harness import FakeTime

Answers = list[dict[str, Any]]
REGISTRY = "artifactregistry.projects.locations.repositories"
PARENT = '{"parent": "projects/p/locations/l/repositories/r"}'
# Each method, and the call that asks about it: by the name under which the emulator counts it.
GETS = {
    f"{REGISTRY}.genericArtifacts.upload": "artifactregistry.projects.locations.operations.get",
    f"{REGISTRY}.aptArtifacts.upload": "artifactregistry.projects.locations.operations.get",
    "checks.media.upload": "checks.accounts.apps.operations.get",
    "chromewebstore.items.insert": "chromewebstore.items.get",
    "chromewebstore.items.update": "chromewebstore.items.get",
    "chromewebstore.media.upload": "chromewebstore.publishers.items.fetchStatus",
    "bigquery.jobs.insert": "bigquery.jobs.get",
    "analytics.management.uploads.uploadData": "analytics.management.uploads.get",
    "youtube.captions.insert": "youtube.captions.list",
}
PARAMS = {
    f"{REGISTRY}.genericArtifacts.upload": PARENT,
    f"{REGISTRY}.aptArtifacts.upload": PARENT,
    "checks.media.upload": '{"parent": "accounts/1/apps/2"}',
    "chromewebstore.items.insert": "",
    "chromewebstore.items.update": '{"itemId": "abc"}',
    "chromewebstore.media.upload": '{"name": "publishers/p/items/i"}',
    "bigquery.jobs.insert": '{"projectId": "p"}',
    "analytics.management.uploads.uploadData": json.dumps(
        {"accountId": "1", "webPropertyId": "UA-1-1", "customDataSourceId": "c"}
    ),
    "youtube.captions.insert": '{"part": "snippet"}',
}
IDS = {
    f"{REGISTRY}.genericArtifacts.upload": (
        "projects/p/locations/l/repositories/r/genericArtifacts/1"
    ),
    f"{REGISTRY}.aptArtifacts.upload": "projects/p/locations/l/repositories/r/aptArtifacts/1",
    "checks.media.upload": "accounts/1/apps/2/reports/1",
    "chromewebstore.items.insert": "item1",
    "chromewebstore.items.update": "abc",
    "chromewebstore.media.upload": "publishers/p/items/i",
    "bigquery.jobs.insert": "p:EU.job_1",
    "analytics.management.uploads.uploadData": "upload1",
    "youtube.captions.insert": "caption1",
}
METHODS = list(GETS)
CHECKS = "checks.media.upload"


def given(job: Job, method: str, *names: str) -> dict[str, str]:
    """Make files, and return the inputs of a run that sends them."""
    for name in names or ("file.bin",):
        (job.workspace / name).write_bytes(name.encode() * 1000)
    inputs = {"target": method, "files": ",".join(names or ("file.bin",))}
    if PARAMS[method]:
        inputs["params"] = PARAMS[method]
    if method == "youtube.captions.insert":
        inputs["metadata"] = (
            '{"snippet": {"videoId": "v", "language": "de", "name": ""}}'
        )
    return inputs


def processing(job: Job, **rule: Any) -> None:
    job.emulator.config.processing = {"*": rule}


def uploads(job: Job) -> int:
    return len(job.emulator.state()["objects"])


def asked(job: Job, method: str) -> int:
    return int(job.emulator.state()["requests"].get(GETS[method], 0))


@pytest.mark.parametrize("method", METHODS)
def test_what_is_under_way_is_waited_for(job: Job, method: str) -> None:
    """The id is that of the resource that came of it, and so is the resource in the results."""
    processing(job, looks=2)
    ended = job.succeed(given(job, method))
    assert ended.outputs["id"] == IDS[method]
    assert "still processing file.bin; looking again in 1 s" in ended.log
    assert "done" not in ended.results[0]["resource"]
    assert ended.results[0]["error"] == ""
    assert (asked(job, method), uploads(job)) == (2, 1)


@pytest.mark.parametrize(
    ("method", "looks"),
    [
        *((method, 0) for method in METHODS),
        (CHECKS, 1),
        *(
            pytest.param(method, 1, marks=pytest.mark.slow)
            for method in METHODS
            if method != CHECKS
        ),
    ],
)
def test_a_failure_inside_a_success_is_told_in_the_services_words(
    job: Job, method: str, looks: int
) -> None:
    """At once or after a wait: 4, no id, and the next run sends the file again."""
    processing(job, looks=looks, error="The manifest is unreadable.")
    ended = job.fail(4, given(job, method))
    assert ended.outputs["failure"] == "processing-failed"
    assert "id" not in ended.outputs
    # Version 2 of the Chrome Web Store has a state for it, and no words.
    words = "The manifest is unreadable"
    if method == "chromewebstore.media.upload":
        words = "(FAILED): it gives no reason"
    assert words in ended.log
    assert words in ended.results[0]["error"]
    processing(job)
    job.succeed(given(job, method))
    assert uploads(job) == 2


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_wait_goes_on_in_the_next_run(job: Job, method: str) -> None:
    """Nothing is sent again, and the next run ends as the first one would have."""
    processing(job, looks=3)
    inputs = given(job, method)
    running = job.start(inputs).when(lambda _: asked(job, method) >= 1)
    assert running.send(signal.SIGKILL).end().code == -signal.SIGKILL
    ended = job.succeed(inputs)
    assert ended.outputs["id"] == IDS[method]
    assert uploads(job) == 1


def test_a_signal_during_the_wait_keeps_what_was_sent(job: Job) -> None:
    """143, and the next run goes on waiting."""
    processing(job, looks=2)
    inputs = given(job, CHECKS)
    running = job.start(inputs).when(lambda _: asked(job, CHECKS) >= 1)
    assert running.send(signal.SIGTERM).end().code == 143
    job.succeed(inputs)
    assert uploads(job) == 1


def test_a_wait_that_takes_too_long_is_a_temporary_failure(job: Job) -> None:
    """75 after `wait-deadline`, in steps that grow; the next run sends nothing again."""
    processing(job, looks=9)
    inputs = given(job, CHECKS)
    time = FakeTime()
    code, log = job.run_here({**inputs, "wait-deadline": "90s"}, time)
    assert code == 75, log
    assert time.naps == [1, 2, 4, 8, 16, 32, 27]
    assert "The service is still processing file.bin after 90 s." in log
    job.succeed(inputs)
    assert uploads(job) == 1


def test_no_deadline_is_one_look(job: Job) -> None:
    """`0s`: what is not through by then is told with 75."""
    processing(job, looks=2)
    ended = job.fail(75, {**given(job, CHECKS), "wait-deadline": "0s"})
    assert ended.outputs["failure"] == "processing-pending"
    assert asked(job, CHECKS) == 1
    ended = job.succeed({**given(job, CHECKS), "wait-deadline": "0s"})
    assert (asked(job, CHECKS), uploads(job)) == (2, 1)


def test_several_files_wait_together(job: Job) -> None:
    """Ten files take no longer than one, and are told in one line."""
    processing(job, looks=3)
    names = [f"{number}.bin" for number in range(10)]
    time = FakeTime()
    code, log = job.run_here(given(job, CHECKS, *names), time)
    assert code == 0, log
    assert time.naps == [1, 2]
    assert "The service is still processing 10 files; looking again in 1 s." in log
    assert uploads(job) == 10


def test_one_file_of_several_that_fails(job: Job) -> None:
    """The others are done, and are not sent again by the next attempt of the run."""
    processing(job, looks=1)
    inputs = given(job, CHECKS, "a.bin", "b.bin", "c.bin")
    job.emulator.config.processing = {"*": {"looks": 1}}
    job.emulator.add_fault(
        GETS[CHECKS],
        "replace-body",
        body='{"name": "n", "done": true, "error": {"code": 9, "message": "Not so."}}',
    )
    ended = job.fail(4, inputs)
    errors = [result["error"] for result in ended.results]
    assert sum("(FAILED_PRECONDITION): Not so." in error for error in errors) == 1
    assert errors.count("") == 2
    job.succeed(inputs)
    assert uploads(job) == 4


FAULTS: dict[str, Callable[[str], Answers]] = {
    "the upload's answer lost": lambda _: [{"on": "upload", "do": "answer-lost"}],
    "the query's answer lost": lambda get: [{"on": get, "do": "answer-lost"}],
    "the query answered 503": lambda get: [{"on": get, "do": "status", "status": 503}],
    "the query answered with a page": lambda get: [{"on": get, "do": "html"}],
    "the token expired": lambda get: [{"on": get, "do": "token-expired"}],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_lost_answers_do_no_harm(job: Job, fault: str) -> None:
    """A query is sent again; so is the request of a resumable session."""
    method = f"{REGISTRY}.genericArtifacts.upload"
    job.emulator.faults.add(
        [
            {**one, "on": "resumable.final" if one["on"] == "upload" else one["on"]}
            for one in FAULTS[fault](GETS[method])
        ]
    )
    code, log = job.run_here(given(job, method), FakeTime())
    assert code == 0, log
    assert uploads(job) == 1
    assert len(job.emulator.state()["faults"]["fired"]) == 1


def test_the_lost_answer_to_a_single_request_is_told(job: Job) -> None:
    """What adds and can't be asked about is not sent twice."""
    job.emulator.add_fault("upload", "answer-lost")
    ended = job.fail(4, given(job, CHECKS))
    assert ended.outputs["failure"] == "outcome-unknown"
    assert "resumable" not in ended.log  # which the method does not offer
    assert uploads(job) == 1


@pytest.mark.parametrize("seconds", [0, 10])
def test_a_service_that_stays_away_is_asked_until_the_deadline(
    job: Job, seconds: int
) -> None:
    """No query goes on for longer than is left of `wait-deadline`: 75, and the next run goes on
    where this one stopped.
    """
    inputs = given(job, CHECKS)
    for _ in range(30):
        job.emulator.add_fault(GETS[CHECKS], "status", status=503)
    time = FakeTime()
    code, log = job.run_here({**inputs, "wait-deadline": f"{seconds}s"}, time)
    assert code == 75, log
    assert sum(time.naps) == seconds
    assert "The service is still processing file.bin after" in log
    assert "The last query was not answered: " in log
    job.emulator.faults.clear()
    job.succeed(inputs)
    assert uploads(job) == 1


def test_a_service_that_comes_back_within_the_deadline_is_waited_for(job: Job) -> None:
    """All attempts of one query are spent, and the next query is answered."""
    for _ in range(6):
        job.emulator.add_fault(GETS[CHECKS], "status", status=503)
    code, log = job.run_here(given(job, CHECKS), FakeTime())
    assert code == 0, log
    assert uploads(job) == 1


@pytest.mark.parametrize(
    ("answer", "code", "what"),
    [
        (
            {"done": True, "error": {"code": 7, "message": "No."}},
            4,
            "(PERMISSION_DENIED): No.",
        ),
        ({"done": True, "error": {}}, 4, "it gives no reason"),
        ({"done": True, "error": {"code": 99}}, 4, "(code 99)"),
        ({"name": "accounts/1/apps/2/operations/../9"}, 4, "without the name"),
        ({"name": 7}, 4, "The service refused"),
        ({"name": "operations/a?b=c"}, 4, "without the name"),
        ({"unheard": "of"}, 4, "without the name"),
        ({"done": True, "response": {"name": "r"}}, 0, "1 file sent"),
        ({"done": True}, 4, "without the name"),
        ({"done": True, "response": []}, 4, "without the name"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_odd_operation_ends_the_run_with_a_sentence(
    job: Job, answer: dict[str, Any], code: int, what: str
) -> None:
    job.emulator.add_fault("upload", "replace-body", body=json.dumps(answer))
    ended = job.run(given(job, CHECKS))
    assert ended.code == code, ended.log
    assert what in ended.log


@pytest.mark.parametrize("answer", ["{}", '{"kind": "x"}', '{"done": true}'])
def test_an_answer_that_says_nothing_is_asked_for_again(job: Job, answer: str) -> None:
    """The operation that the upload was answered with is the one that is waited for."""
    job.emulator.add_fault(GETS[CHECKS], "replace-body", body=answer)
    code, log = job.run_here(given(job, CHECKS), FakeTime())
    assert code == 0, log
    assert uploads(job) == 1


def test_a_file_whose_operation_has_no_name_is_sent_again_by_the_next_run(
    job: Job,
) -> None:
    """The error says so; nothing that is kept stands in the way."""
    job.emulator.add_fault("upload", "replace-body", body='{"name": "../../evil"}')
    ended = job.fail(4, given(job, CHECKS))
    assert "the file would be sent again" in ended.log
    job.succeed(given(job, CHECKS))
    assert uploads(job) == 2


@pytest.mark.parametrize(
    ("method", "answer", "what"),
    [
        ("chromewebstore.items.insert", {"uploadState": "LIMBO"}, "the state LIMBO"),
        (
            "chromewebstore.items.update",
            {
                "uploadState": "FAILURE",
                "itemError": [{"error_code": "A"}, {"error_detail": "B."}],
            },
            "(FAILURE): A; B.",
        ),
        (
            "bigquery.jobs.insert",
            {"status": {"errorResult": {"reason": "invalid"}}},
            "invalid",
        ),
        (
            "bigquery.jobs.insert",
            {"id": "j", "status": {"state": "RUNNING"}},
            "without the",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_odd_state_is_no_success(
    job: Job, method: str, answer: dict[str, Any], what: str
) -> None:
    """A state that is not described is no success, and a failure needs no id."""
    job.emulator.add_fault("resumable.final", "replace-body", body=json.dumps(answer))
    job.emulator.add_fault("simple", "replace-body", body=json.dumps(answer))
    ended = job.fail(4, given(job, method))
    assert what in ended.log
    assert uploads(job) == 1


def test_a_video_that_was_refused_is_a_failure(job: Job) -> None:
    """The first answer is the last: the scope for uploads can't ask for more."""
    (job.workspace / "a.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    inputs = {
        "target": "youtube.videos.insert",
        "files": "a.mp4",
        "params": '{"part": "status"}',
    }
    processing(job, error="emptyFile")
    ended = job.fail(4, inputs)
    assert "(failed): emptyFile" in ended.log
    processing(job)
    assert job.succeed(inputs).outputs["id"] == "video2"


def test_chosen_fields_have_the_state_among_them(job: Job, emulator: Emulator) -> None:
    """With `fields: id` a failure would not be seen."""
    inputs = given(job, "bigquery.jobs.insert")
    processing(job, looks=0, error="Bad rows.")
    job.fail(4, {**inputs, "params": '{"projectId": "p", "fields": "id"}'})
    start = next(one for one in emulator.requests if "uploadType" in one.query)
    assert "fields=id%2Cstatus%2CjobReference" in start.query
