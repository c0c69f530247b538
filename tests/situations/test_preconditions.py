"""Situations of a precondition: a request that is obeyed makes its repeat fail, and only the object
tells who did.
"""

from __future__ import annotations

from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.transfer_harness import (
    GRANULE,
    Bench,
    MemoryJournal,
    data_of,
    emulated,
    fault,
    in_memory,
)
from tests.support.transfer_harness import job as upload_of
from uploader.errors import ApiError, OutcomeUnknown, TemporaryError
from uploader.results import FileResult
from uploader.services.base import Upload

DATA = data_of(2 * GRANULE + 5)
FOREIGN = data_of(2 * GRANULE + 5, seed=9)
OBJECT = "/storage/v1/b/b/o/app.bin"
PROTOCOLS = ["simple", "multipart", "resumable"]
ONE_REQUEST = pytest.mark.parametrize("protocol", ["simple", "multipart"])
GET = "storage.objects.get"
NOT_STORED = {"do": "reset", "after": "end"}


def job(data: bytes = DATA, **state: str) -> Upload:
    """The upload of one object, which must not exist yet unless `state` says otherwise."""
    query = tuple({"name": "app.bin", **(state or {"ifGenerationMatch": "0"})}.items())
    place: dict[str, Any] = {
        "path": "/storage/v1/b/b/o",
        "upload_path": "/upload/storage/v1/b/b/o",
        "lookup": OBJECT,
    }
    return upload_of(
        in_memory(data),
        metadata={"name": "app.bin"},
        query=query,
        idempotent=True,
        **place,
    )


def held(bench: Bench) -> dict[str, Any]:
    """The object in the bucket as it was written last."""
    return dict(bench.state()["objects"][-1]["resource"])


def put_there(emulator: Emulator, data: bytes) -> dict[str, Any]:
    """Somebody else's object of this name."""
    bench = Bench(emulator, protocol="simple")
    assert not bench.send(job(data)).error
    return held(bench)


def is_unknown(result: FileResult, *words: str) -> None:
    """Exit code 4, no id, and words that say both: what was refused, and what is not known."""
    assert isinstance(result.failure, OutcomeUnknown)
    assert (result.failure.exit_code, result.id, result.resource) == (4, "", {})
    for word in (
        "It is not known whether app.bin was stored",
        "412",
        "pre-conditions",
        *words,
    ):
        assert word in result.error


@ONE_REQUEST
@pytest.mark.parametrize(
    "trouble",
    [{"do": "answer-lost"}, {"do": "status-after-effect", "status": 503}],
    ids=str,
)
def test_a_lost_answer_is_found_in_the_object(
    protocol: str, trouble: dict[str, Any]
) -> None:
    """Tried again, refused with 412, looked up: the first try did it, and nothing was written
    twice.
    """
    with emulated({"on": protocol, **trouble}, protocol=protocol) as bench:
        result = bench.send(job())
        assert (result.error, bench.naps, result.attempts, bench.count(GET)) == (
            "",
            [1.0],
            2,
            1,
        )
        assert (bench.stored(), result.id) == ([DATA], held(bench)["id"])
        assert any("holds exactly the bytes" in text for text in bench.reporter.infos)


@ONE_REQUEST
@pytest.mark.parametrize(
    "trouble", [{"do": "status", "status": 503}, NOT_STORED], ids=str
)
def test_a_try_that_had_no_effect_is_repeated(
    protocol: str, trouble: dict[str, Any]
) -> None:
    """The second try is obeyed, so there is nothing to look up."""
    with emulated({"on": protocol, **trouble}, protocol=protocol) as bench:
        result = bench.send(job())
        assert (result.error, bench.stored(), bench.count(GET)) == ("", [DATA], 0)


@ONE_REQUEST
def test_somebody_elses_object_of_the_same_size_is_no_success(protocol: str) -> None:
    """The first try was lost on its way, and the object holds other bytes: exit code 4, and it is
    left as it is.
    """
    with Emulator() as emulator:
        before = put_there(emulator, FOREIGN)
        emulator.faults.add([{"on": protocol, **NOT_STORED}])
        bench = Bench(emulator, protocol=protocol)
        is_unknown(bench.send(job()), "crc32c", "but what was sent has")
        assert (held(bench), len(bench.stored())) == (before, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_lost_answer_412_is_the_services_word(protocol: str) -> None:
    """Even for an object with the very same bytes: this run has not written it, and nothing is
    looked up.
    """
    with Emulator() as emulator:
        put_there(emulator, DATA)
        bench = Bench(emulator, protocol=protocol)
        result = bench.send(job())
        assert isinstance(result.failure, ApiError)
        assert (result.failure.status, bench.naps, bench.count(GET)) == (412, [], 0)


@pytest.mark.parametrize("status", [408, 429])
def test_a_try_that_was_turned_away_leaves_no_doubt(status: int) -> None:
    """It was not acted on, so the 412 that follows is about somebody else's object."""
    with Emulator() as emulator:
        put_there(emulator, FOREIGN)
        emulator.faults.add([fault("simple", "status", status=status, after="end")])
        bench = Bench(emulator, protocol="simple")
        result = bench.send(job())
        assert isinstance(result.failure, ApiError)
        assert bench.count(GET) == 0


def test_an_object_that_was_to_be_replaced_shows_that_it_was() -> None:
    """`ifGenerationMatch` with a generation: the object has another one now, and the file's
    bytes.
    """
    with Emulator() as emulator:
        before = put_there(emulator, FOREIGN)
        emulator.faults.add([fault("simple", "answer-lost")])
        bench = Bench(emulator, protocol="simple")
        result = bench.send(job(ifGenerationMatch=before["generation"]))
        assert (result.error, bench.stored()[-1]) == ("", DATA)
        assert held(bench)["generation"] != before["generation"]


def test_a_precondition_that_still_holds_lets_the_repeat_through() -> None:
    """`ifMetagenerationMatch: 1` is true of what the first try made, too: the same bytes are
    written again.
    """
    with Emulator() as emulator:
        put_there(emulator, FOREIGN)
        emulator.faults.add([fault("simple", "answer-lost")])
        bench = Bench(emulator, protocol="simple")
        result = bench.send(job(ifMetagenerationMatch="1"))
        assert (result.error, bench.stored(), bench.count(GET)) == (
            "",
            [FOREIGN, DATA, DATA],
            0,
        )


def test_an_object_that_nobody_replaced_is_no_success() -> None:
    """Its generation is still the one to be replaced: the other precondition failed, whatever bytes
    it holds.
    """
    with Emulator() as emulator:
        before = put_there(emulator, DATA)
        emulator.faults.add([{"on": "simple", **NOT_STORED}])
        bench = Bench(emulator, protocol="simple")
        result = bench.send(
            job(ifGenerationMatch=before["generation"], ifMetagenerationMatch="9")
        )
        is_unknown(result, "still the one that was to be replaced")


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (
            {"do": "status", "status": 403, "message": "No storage.objects.get."},
            "No storage.objects.get.",
        ),
        (
            {"do": "status", "status": 404, "message": "No such object."},
            "No such object.",
        ),
        ({"do": "status", "status": 503, "times": 99}, "503"),
        ({"do": "reset", "times": 99}, "reset"),
        (
            {"do": "replace-body", "body": '{"id": "1", "size": "524293"}'},
            "states no digest",
        ),
        ({"do": "html", "status": 200, "times": 99}, "not a JSON object"),
        ({"do": "empty-body", "times": 99}, "the answer is empty"),
        ({"do": "wrong-digest"}, "but what was sent has"),
        ({"do": "wrong-size"}, "bytes, 524293 were sent"),
    ],
    ids=str,
)
def test_an_object_that_does_not_show_its_bytes_is_no_success(
    trouble: dict[str, Any], words: str
) -> None:
    """It can't be read, or says nothing that could be compared: exit code 4, though the first try
    may have done it.
    """
    with Emulator([fault("simple", "answer-lost"), {"on": GET, **trouble}]) as emulator:
        is_unknown(Bench(emulator, protocol="simple").send(job()), words)


@pytest.mark.parametrize(
    "trouble",
    [
        {"do": "status", "status": 503},
        {"do": "html", "status": 200},
        {"do": "empty-body"},
        {"do": "replace-body", "body": "[]"},
        {"do": "replace-body", "body": "{}"},
        {"do": "replace-body", "body": '{"size": "524293"}'},
        {"do": "cut-head"},
        {"do": "cut-answer", "after": 5},
    ],
    ids=str,
)
def test_the_look_is_tried_again(trouble: dict[str, Any]) -> None:
    """A service that fails for now, or in whose place somebody else answered, is asked once
    more.
    """
    with emulated(
        fault("simple", "answer-lost"), {"on": GET, **trouble}, protocol="simple"
    ) as bench:
        assert (bench.send(job()).error, bench.naps) == ("", [1.0, 2.0])


@pytest.mark.parametrize("forgotten", [404, 410])
def test_a_session_that_was_forgotten_after_its_work_is_looked_up(
    forgotten: int,
) -> None:
    """The last answer was lost, then the session; the new one is refused with 412, and the object
    tells.
    """
    lost = [
        fault("resumable.final", "answer-lost"),
        fault("resumable.query", "session-lost", status=forgotten),
    ]
    with emulated(*lost, protocol="resumable") as bench:
        result = bench.send(job())
        assert (result.error, bench.stored(), bench.count(GET)) == ("", [DATA], 1)
        assert (result.id, bench.count("resumable.start")) == (held(bench)["id"], 2)


@pytest.mark.parametrize("step", ["resumable.query", "resumable.start"])
def test_412_after_a_lost_last_answer_is_looked_up_wherever_it_comes(step: str) -> None:
    """As the answer to the query, or to the start of the next session."""
    lost = [
        fault("resumable.final", "answer-lost"),
        fault(step, "status", status=412, message="pre-conditions"),
    ]
    if step == "resumable.start":
        lost[1]["nth"] = 2
        lost.append(fault("resumable.query", "session-lost"))
    with emulated(*lost, protocol="resumable") as bench:
        result = bench.send(job())
        assert (result.error, bench.stored(), bench.count(GET)) == ("", [DATA], 1)


def test_a_session_that_lost_a_part_leaves_no_doubt() -> None:
    """Not all of it was sent when the answer was lost: the 412 at the end is about somebody else's
    object.
    """
    with Emulator([fault("resumable.put", "reset", after=GRANULE)]) as emulator:
        put_there(emulator, FOREIGN)
        bench = Bench(emulator, protocol="resumable")
        result = bench.send(job(bytes(24 << 20)))
        assert isinstance(result.failure, ApiError)
        assert bench.count(GET) == 0


@pytest.mark.parametrize("content", [DATA, FOREIGN], ids=["own", "foreign"])
def test_the_next_run_looks_up_what_the_last_one_may_have_stored(
    content: bytes,
) -> None:
    """The last run could not learn how its session ended, and by now it is forgotten: the object
    tells the next run.
    """
    lost = [
        fault("resumable.final", "reset", after="end"),
        fault("resumable.query", "status", status=503, times=99),
    ]
    with Emulator(lost) as emulator:
        journal, this = MemoryJournal(), job()
        first = Bench(emulator, protocol="resumable", journal=journal)
        assert isinstance(first.send(this).failure, TemporaryError)
        put_there(emulator, content)
        emulator.faults.clear()
        emulator.faults.add([fault("resumable.query", "session-lost")])
        bench = Bench(emulator, protocol="resumable", journal=journal)
        result = bench.send(this)
        if content == DATA:
            assert (result.error, len(bench.stored())) == ("", 1)
        else:
            is_unknown(result, "but what was sent has")
        assert bench.count(GET) == 1
