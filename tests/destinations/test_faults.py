"""Bad weather at every destination: a 503, a reset, a lost final answer; every byte arrives, every
effect is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from tests.support.destination_runs import Seen, sha256, value, visit
from tests.support.destinations import (
    ANSWERED_LATER,
    MIB,
    PLACES,
    RESUMABLE,
    SINGLE,
    USER,
)

pytestmark = pytest.mark.slow

HALF = MIB // 2
LATER = [PLACES[name] for name in ANSWERED_LATER]


def storm(put: str, last: str) -> list[dict[str, Any]]:
    """The three faults in one upload: the first two requests break in their middle, the third loses
    its answer.
    """
    return [
        {"on": put, "do": "status", "status": 503, "after": HALF, "retry_after": 0},
        {"on": put, "do": "reset", "nth": 2, "after": HALF},
        {"on": last, "do": "answer-lost", "nth": 3},
    ]


WEATHER = storm("resumable.put", "resumable.final")
WEATHER_B = storm("goog.upload", "goog.finalize")
# A request that is turned away (429), or breaks in its middle, was not carried out; a large body is
# surely not yet whole on the way by then.
SINGLE_WEATHER = [
    {"on": "upload", "do": "status", "status": 429, "after": HALF, "retry_after": 0},
    {"on": "upload", "do": "reset", "nth": 2, "after": HALF},
]
Storms = Mapping[str, "Future[Seen]"]


@pytest.fixture(scope="module")
def storms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storms]:
    """Every destination in the storm. The runs wait most of their time, so they go side by side."""
    with ThreadPoolExecutor(12) as pool:
        folder = tmp_path_factory.mktemp("storms")
        runs = {
            name: pool.submit(
                visit, place, folder / name, WEATHER_B if name == "ota" else WEATHER
            )
            for name, place in RESUMABLE.items()
        }
        runs |= {
            name: pool.submit(
                visit, place, folder / name, SINGLE_WEATHER, size=16 * MIB
            )
            for name, place in SINGLE.items()
        }
        yield runs


@pytest.fixture
def seen(storms: Storms, request: pytest.FixtureRequest) -> Seen:
    run = storms[request.param].result()
    assert run.ended.code == 0, run.ended.log
    return run


@pytest.mark.parametrize("seen", PLACES, indirect=True)
def test_every_fault_happened_and_one_effect_is_left(seen: Seen) -> None:
    """After all the faults the service did its work once, whether or not it could say so."""
    assert (
        seen.fired
        == ["status", "reset", "answer-lost"][
            : 2 if seen.place in SINGLE.values() else 3
        ]
    )
    assert len(seen.stored) == 1
    assert (
        sum(seen.state["effects"].values()) - len(seen.made.keys() & {"draft-id"})
        == seen.place.is_mail
    )
    assert len(seen.state["packages"]) == (seen.place == PLACES["ota"])


@pytest.mark.parametrize("seen", PLACES, indirect=True)
def test_every_byte_arrives_at_its_place(seen: Seen) -> None:
    """The service holds the file's own bytes, at the documented path, with type and metadata as
    they were meant.
    """
    [stored] = seen.stored
    assert stored["http_method"] == seen.place.http_method
    assert stored["path"] == seen.place.path.format(**seen.made)
    assert stored["media_type"] == seen.place.media_type
    assert stored["metadata"] == {
        key: text.format(**seen.made) if isinstance(text, str) else text
        for key, text in seen.place.metadata.items()
    }
    if seen.place.is_mail:
        assert attachment(seen.arrived) == seen.content
    else:
        assert seen.arrived == seen.content


@pytest.mark.parametrize("seen", PLACES, indirect=True)
def test_the_outputs_are_the_services_own_words(seen: Seen) -> None:
    """Outputs and results file hold what the service answered, though the answer itself was
    lost.
    """
    [stored] = seen.stored
    expected = {
        output: value(stored["resource"], path)
        for output, path in seen.place.outputs.items()
    }
    assert {name: seen.ended.outputs.get(name) for name in expected} == expected
    assert seen.ended.outputs["bytes-uploaded"] == str(stored["size"])
    assert int(seen.ended.outputs["bytes-resent"]) > 0
    assert seen.ended.outputs["attempts"] == "3"
    [result] = seen.ended.results
    assert result["sha256"] == sha256(seen.arrived)
    assert result["bytes"] == stored["size"]
    assert result["error"] == ""
    if seen.place not in LATER:
        assert result["resource"] == stored["resource"]


@pytest.mark.parametrize("seen", ANSWERED_LATER, indirect=True)
def test_the_id_is_that_of_what_the_service_makes_of_the_file(seen: Seen) -> None:
    """And not that of the operation which the first answer names."""
    [name] = [name for name in ANSWERED_LATER if PLACES[name] == seen.place]
    assert seen.ended.outputs["id"].startswith(ANSWERED_LATER[name])
    assert "operations" not in seen.ended.outputs["id"]


def attachment(message: bytes) -> bytes:
    """The one file in a mail, whose parts are a text, the same in HTML, and the file."""
    mail = message_from_bytes(message, policy=default)
    assert isinstance(mail, EmailMessage)
    assert mail["From"] == USER
    assert mail["Subject"] == "Grüße: 1.2.0"
    kinds = [part.get_content_type() for part in mail.walk() if not part.is_multipart()]
    assert kinds == ["text/plain", "text/html", "application/octet-stream"]
    [part] = mail.iter_attachments()
    assert part.get_filename() == "notes.bin"
    content = part.get_content()
    assert isinstance(content, bytes)
    return content


def test_a_build_that_firebase_may_have_is_sent_again(tmp_path: Path) -> None:
    """The service makes nothing of a file that it has already, so a lost answer does no harm."""
    place = SINGLE["firebase-app-distribution"]
    seen = visit(place, tmp_path / "workspace", [{"on": "upload", "do": "answer-lost"}])
    assert seen.ended.code == 0
    assert len(seen.stored) == 2
    assert len(seen.state["releases"]) == 1
    assert seen.ended.results[0]["resource"]["result"] == "RELEASE_UNMODIFIED"


@pytest.mark.parametrize(
    "name", [name for name in SINGLE if name != "firebase-app-distribution"]
)
def test_a_lost_answer_without_a_session_is_told_and_not_repeated(
    name: str, tmp_path: Path
) -> None:
    """A method without sessions can't be asked afterwards: exit code 4 says so, and there is one
    effect, not two.
    """
    seen = visit(
        SINGLE[name], tmp_path / "workspace", [{"on": "upload", "do": "answer-lost"}]
    )
    assert seen.ended.code == 4
    assert len(seen.stored) == 1
    assert "is not known" in seen.ended.log
    assert seen.ended.results[0]["error"]


def test_a_draft_is_sent_once_even_when_the_answer_is_lost(tmp_path: Path) -> None:
    """A draft that is sent as it is has no upload to ask: after a lost answer the run ends, and one
    mail is out.
    """
    place = RESUMABLE["gmail-draft-send"]
    bare = replace(
        place,
        inputs={
            name: text
            for name, text in place.inputs.items()
            if not name.startswith("mail-")
        },
    )
    call = [{"on": "gmail.users.drafts.send", "do": "answer-lost"}]
    seen = visit(bare, tmp_path / "workspace", call, files="none")
    assert seen.ended.code == 4
    assert seen.requests["gmail.users.drafts.send"] == 1
    assert len(seen.state["messages"]) == 1
    assert seen.state["drafts"] == []
