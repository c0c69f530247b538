"""Every fault by name: it does what the table says, leaves its receipt, and what it did not break
goes on.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from google_emulator import Emulator
from google_emulator.faults import KINDS
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import (
    APP,
    GRANULE,
    STORAGE,
    EmulatorClient,
    Reply,
    raw_request,
    read_reply,
)

DATA = os.urandom(3 * GRANULE)
SIZE = len(DATA)
FIRST = f"bytes 0-{GRANULE - 1}/{SIZE}"
CASES: dict[str, Callable[[StartEmulator], None]] = {}

INSERT = "play.edits.insert"
SPOILT: dict[str, tuple[dict[str, Any], Callable[[Reply], object], object]] = {
    "redirect": (
        {},
        lambda it: (it.status, it.header("Location")),
        (307, f"https://upload.example.net{APP}/edits"),
    ),
    "replace-body": ({"body": '"text"'}, lambda it: it.json, "text"),
    "invalid-json": ({}, lambda it: is_json(it.body), False),
    "empty-body": ({}, lambda it: it.body, b""),
    "html": (
        {"status": 502},
        lambda it: (it.status, b"<html>" in it.body),
        (502, True),
    ),
    "damage-body": ({"at": 0}, lambda it: it.body[:1], bytes([ord("{") ^ 1])),
}
RANGES = {
    "no-range": ({}, ""),
    "range-plain": ({}, f"0-{GRANULE - 1}"),
    "range-from": ({"start": 5}, f"bytes=5-{GRANULE - 1}"),
    "range-beyond": ({"by": 7}, f"bytes=0-{GRANULE + 6}"),
    "range-backward": ({"to": 100}, "bytes=0-99"),
    "redirect-308": ({}, f"bytes=0-{GRANULE - 1}"),
}


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def case(
    name: str,
) -> Callable[[Callable[[StartEmulator], None]], Callable[[StartEmulator], None]]:
    """Registers the check of one kind of fault."""

    def keep(check: Callable[[StartEmulator], None]) -> Callable[[StartEmulator], None]:
        CASES[name] = check
        return check

    return keep


def fired(client: EmulatorClient) -> list[str]:
    return [receipt["do"] for receipt in client.emulator.state()["faults"]["fired"]]


def finish(client: EmulatorClient, uri: str) -> None:
    """Asks the offset and sends the rest, as any client would; then the object must be whole."""
    told = client.offset(uri, SIZE).header("Range")
    start = int(told.rpartition("-")[2]) + 1 if told else 0
    reply = (
        client.put(uri, DATA[start:], f"bytes {start}-{SIZE - 1}/{SIZE}")
        if start < SIZE
        else client.offset(uri, SIZE)
    )
    assert reply.status == 200, reply.body
    assert [one["sha256"] for one in client.emulator.state()["objects"]] == [
        hashlib.sha256(DATA).hexdigest()
    ]


@pytest.mark.parametrize("name", sorted(set(KINDS) - set(SPOILT) - set(RANGES)))
def test_a_fault_does_what_it_says(start_emulator: StartEmulator, name: str) -> None:
    """The case of each kind of fault."""
    CASES[name](start_emulator)


@pytest.mark.parametrize("name", SPOILT)
def test_a_response_is_spoilt(start_emulator: StartEmulator, name: str) -> None:
    """In the way that the fault names, once."""
    options, seen, wanted = SPOILT[name]
    client = start_emulator({"on": INSERT, "do": name, **options})
    assert seen(client.request("POST", f"{APP}/edits", json={})) == wanted
    assert client.request("POST", f"{APP}/edits", json={}).status == 200
    assert fired(client) == [name]


@pytest.mark.parametrize("name", RANGES)
def test_the_range_of_a_308_is_spoilt(start_emulator: StartEmulator, name: str) -> None:
    """Or a Location comes with it; the session itself is unharmed."""
    options, wanted = RANGES[name]
    client = start_emulator({"on": "resumable.put", "do": name, **options})
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA[:GRANULE], FIRST)
    assert (reply.status, reply.header("Range")) == (308, wanted)
    assert reply.header("Location").startswith(f"{client.emulator.url}/elsewhere") == (
        name == "redirect-308"
    )
    finish(client, uri)
    assert fired(client) == [name]


@case("slow-answer")
@case("slow-drip")
def _slow(start_emulator: StartEmulator) -> None:
    for fault, least in (
        ({"do": "slow-answer", "seconds": 0.2}, 0.2),
        ({"do": "slow-drip", "seconds": 0.0005}, 0.05),
    ):
        client = start_emulator({"on": INSERT, **fault})
        before = time.monotonic()
        client.edit()
        assert time.monotonic() - before >= least


@case("wrong-digest")
@case("wrong-size")
def _wrong_resource(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.put", "do": "wrong-digest"},
        {"on": "resumable.put", "do": "wrong-size"},
    )
    uri = client.start_session(size=3)
    spoilt, larger, true = (
        client.put(uri, b"abc").json,
        client.put(uri, b"abc").json,
        client.offset(uri, 3).json,
    )
    assert spoilt["md5Hash"] != true["md5Hash"] == "kAFQmDzST7DWlj99KOF/cg=="
    assert len(spoilt["md5Hash"]) == len(true["md5Hash"])
    assert (larger["size"], true["size"]) == ("4", "3")


@case("cut-answer")
def _cut_answer(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": INSERT, "do": "cut-answer", "after": 10})
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        client.request("POST", f"{APP}/edits", json={})


@case("cut-head")
def _cut_head(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": INSERT, "do": "cut-head", "after": 40},
        {"on": INSERT, "do": "cut-head", "after": 9_999},
        {"on": INSERT, "do": "status", "status": 200, "body": "{}", "cut_head": 12},
    )
    token = client.emulator.token("androidpublisher")
    heads = []
    for _ in range(3):
        with raw_request(
            client.emulator, "POST", f"{APP}/edits", token, "Content-Length: 0"
        ) as connection:
            heads.append(b"".join(iter(partial(connection.recv, 65536), b"")))
    assert [len(head) for head in heads[::2]] == [40, 12]
    assert all(
        head.startswith(b"HTTP/1.1 200") and b"\r\n\r\n" not in head for head in heads
    )


@case("drop-header")
@case("set-header")
def _headers(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "goog.query", "do": "drop-header"},
        {"on": "goog.query", "do": "set-header", "value": "FINAL"},
    )
    url = client.start_goog_session()
    assert [
        client.goog(url, "query").header("X-Goog-Upload-Status") for _ in range(2)
    ] == [
        "",
        "FINAL",
    ]


@case("status")
def _status(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {
            "on": "resumable.put",
            "do": "status",
            "status": 429,
            "retry_after": 7,
            "reason": "rateLimitExceeded",
        }
    )
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA)
    assert (reply.status, reply.header("Retry-After"), reply.reason) == (
        429,
        "7",
        "rateLimitExceeded",
    )
    assert client.offset(uri, SIZE).header("Range") == ""
    finish(client, uri)
    assert fired(client) == ["status"]


@case("status-after-effect")
def _status_after_effect(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {
            "on": "play.edits.commit",
            "do": "status-after-effect",
            "status": 502,
            "body": "<html>",
        }
    )
    reply = client.request("POST", f"{client.edit()}:commit", b"")
    assert (reply.status, reply.body) == (502, b"<html>")
    assert client.emulator.state()["edits"]["committed"]


@case("reset")
def _reset(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.put", "do": "reset", "after": GRANULE + 10}
    )
    uri = client.start_session(size=SIZE)
    connection = raw_request(
        client.emulator, "PUT", uri, client.token, f"Content-Length: {SIZE}"
    )
    connection.sendall(DATA[: GRANULE + 10])
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    connection.close()
    assert client.offset(uri, SIZE).header("Range") == f"bytes=0-{GRANULE - 1}"
    finish(client, uri)
    assert client.emulator.state()["faults"]["fired"][0]["after_bytes"] == GRANULE + 10


@case("answer-lost")
def _answer_lost(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.final", "do": "answer-lost"})
    uri = client.start_session(size=SIZE)
    connection = raw_request(
        client.emulator, "PUT", uri, client.token, f"Content-Length: {SIZE}"
    )
    connection.sendall(DATA)
    assert connection.recv(1) == b""
    connection.close()
    finish(client, uri)
    assert fired(client) == ["answer-lost"]


@case("short-store")
def _short_store(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.put", "do": "short-store", "stored": GRANULE}
    )
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA)
    assert (reply.status, reply.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    finish(client, uri)
    assert (
        client.emulator.state()["faults"]["fired"][0]["dropped_bytes"] == SIZE - GRANULE
    )


@case("stall")
def _stall(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.put", "do": "stall", "after": GRANULE, "seconds": 0.2}
    )
    uri = client.start_session(size=SIZE)
    before = time.monotonic()
    assert client.put(uri, DATA).status == 200
    assert time.monotonic() - before >= 0.2
    assert fired(client) == ["stall"]


@case("session-lost")
def _session_lost(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.query", "do": "session-lost", "status": 410}
    )
    uri = client.start_session(size=SIZE)
    assert client.offset(uri, SIZE).status == 410
    assert client.put(uri, DATA).status == 404
    finish(client, client.start_session(size=SIZE))


@case("token-expired")
def _token_expired(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "token-expired"})
    uri = client.start_session(size=SIZE)
    old = client.token
    assert client.put(uri, DATA).status == 401
    assert client.put(uri, DATA).status == 401
    client.token = client.emulator.token("devstorage.read_write")
    assert client.token != old
    finish(client, uri)


@case("lose-edit")
def _lose_edit(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "play.tracks.list", "do": "lose-edit", "how": "expired"},
        {"on": "play.edits.get", "do": "lose-edit", "how": "changed"},
        {"on": "play.edits.commit", "do": "lose-edit"},
    )
    edit, other = client.edit(), client.edit()
    assert client.request("GET", f"{edit}/tracks").reason == "editExpired"
    assert client.request("GET", other).message.startswith("A change was made")
    assert (
        client.request("POST", f"{client.edit()}:commit", b"").message
        == "This Edit has been deleted."
    )


def test_a_count_of_the_other_dialect_is_spoilt(start_emulator: StartEmulator) -> None:
    """X-Goog-Upload-Size-Received is where that dialect says how much is stored."""
    client = start_emulator(
        {"on": "goog.query", "do": "range-beyond", "by": 7},
        {"on": "goog.query", "do": "range-backward"},
    )
    url = client.start_goog_session(size=SIZE)
    client.goog(url, "upload", DATA[:GRANULE], Offset="0")
    told = [
        client.goog(url, "query").header("X-Goog-Upload-Size-Received")
        for _ in range(2)
    ]
    assert told == [str(GRANULE + 7), "0"]
    assert client.goog(url, "upload, finalize", DATA, Offset="0").json["size"] == str(
        SIZE
    )


@case("foreign-session")
def _foreign_session(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.start", "do": "foreign-session"},
        {"on": "goog.start", "do": "foreign-session", "origin": "http://127.0.0.2:1"},
    )
    assert client.start_session().startswith(f"https://upload.example.net{STORAGE}?")
    assert client.start_goog_session().startswith(f"http://127.0.0.2:1{STORAGE}?")


@case("final-error")
def _final_error(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "goog.finalize", "do": "final-error"})
    url = client.start_goog_session(size=3)
    refused = client.goog(url, "upload, finalize", b"abc", Offset="0")
    assert (refused.status, refused.header("X-Goog-Upload-Status")) == (400, "final")
    assert client.goog(url, "upload, finalize", b"abc", Offset="0").status == 200


def test_an_error_comes_while_the_body_is_still_being_sent(
    start_emulator: StartEmulator,
) -> None:
    """After K bytes the answer is there; nobody has to send the rest to read it."""
    client = start_emulator({"on": "resumable.put", "do": "status", "after": GRANULE})
    uri = client.start_session(size=SIZE)
    connection = raw_request(
        client.emulator, "PUT", uri, client.token, f"Content-Length: {SIZE}"
    )
    connection.sendall(DATA[:GRANULE])
    reply = read_reply(connection)
    connection.close()
    assert (reply.status, reply.header("Connection")) == (503, "close")
    assert client.offset(uri, SIZE).header("Range") == f"bytes=0-{GRANULE - 1}"


def test_faults_queue_for_each_operation(start_emulator: StartEmulator) -> None:
    """Two faults for one operation fire one after the other, other operations untouched; then all
    is well.
    """
    client = start_emulator(
        {"on": "play.edits.insert", "do": "status", "status": 500},
        {"on": "play.edits.insert", "do": "status", "status": 502, "times": 2},
    )
    assert client.request("GET", f"{APP}/edits/1").status == 404
    statuses = [
        client.request("POST", f"{APP}/edits", json={}).status for _ in range(4)
    ]
    assert statuses == [500, 502, 502, 200]
    assert client.emulator.state()["faults"]["waiting"] == []


def test_faults_are_added_while_it_runs(start_emulator: StartEmulator) -> None:
    """By the class or over HTTP."""
    client = start_emulator()
    client.emulator.add_fault("play.edits.insert", "status", status=500)
    more = {"faults": [{"on": "play.edits.insert", "do": "status", "status": 502}]}
    assert client.request("POST", "/__emulator/faults", json=more).status == 200
    assert [
        client.request("POST", f"{APP}/edits", json={}).status for _ in range(3)
    ] == [
        500,
        502,
        200,
    ]
    assert (
        client.request(
            "POST", "/__emulator/faults", json={"faults": [{"do": "nothing"}]}
        ).status
        == 400
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"on": "any", "do": "explode"},
        {"on": "any"},
        {"on": "play.edits.comit", "do": "status"},
        {"on": "any", "do": "status", "code": 500},
    ],
)
def test_a_misspelt_fault_is_an_error(wrong: dict[str, Any]) -> None:
    """A fault that can never fire must not pass for a test that was survived."""
    with pytest.raises(ValueError, match=r"unknown fault|no operation|no option"):
        Emulator([wrong])
