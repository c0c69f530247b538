"""Every fault by name: it does what the table says, leaves its receipt, and what it did not break goes on."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from google_emulator import Emulator
from google_emulator.faults import KINDS
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import APP, GRANULE, STORAGE, EmulatorClient, raw_request, read_reply

DATA = os.urandom(3 * GRANULE)
SIZE = len(DATA)
FIRST = f"bytes 0-{GRANULE - 1}/{SIZE}"
CASES: dict[str, Callable[[StartEmulator], None]] = {}


def case(name: str) -> Callable[[Callable[[StartEmulator], None]], Callable[[StartEmulator], None]]:
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
        client.put(uri, DATA[start:], f"bytes {start}-{SIZE - 1}/{SIZE}") if start < SIZE else client.offset(uri, SIZE)
    )
    assert reply.status == 200, reply.body
    assert [one["sha256"] for one in client.emulator.state()["objects"]] == [hashlib.sha256(DATA).hexdigest()]


def test_every_fault_has_its_case() -> None:
    """The table of faults and the cases below are the same set."""
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_fault_does_what_it_says(start_emulator: StartEmulator, name: str) -> None:
    """The case of each kind of fault."""
    CASES[name](start_emulator)


@case("status")
def _status(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.put", "do": "status", "status": 429, "retry_after": 7, "reason": "rateLimitExceeded"}
    )
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA)
    assert (reply.status, reply.header("Retry-After"), reply.reason) == (429, "7", "rateLimitExceeded")
    assert client.offset(uri, SIZE).header("Range") == ""
    finish(client, uri)
    assert fired(client) == ["status"]


@case("status-after-effect")
def _status_after_effect(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.commit", "do": "status-after-effect", "status": 502, "body": "<html>"})
    reply = client.request("POST", f"{client.edit()}:commit", b"")
    assert (reply.status, reply.body) == (502, b"<html>")
    assert client.emulator.state()["edits"]["committed"]


@case("reset")
def _reset(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "reset", "after": GRANULE + 10})
    uri = client.start_session(size=SIZE)
    connection = raw_request(client.emulator, "PUT", uri, client.token, f"Content-Length: {SIZE}")
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
    connection = raw_request(client.emulator, "PUT", uri, client.token, f"Content-Length: {SIZE}")
    connection.sendall(DATA)
    assert connection.recv(1) == b""
    connection.close()
    finish(client, uri)
    assert fired(client) == ["answer-lost"]


@case("short-store")
def _short_store(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "short-store", "stored": GRANULE})
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA)
    assert (reply.status, reply.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    finish(client, uri)
    assert client.emulator.state()["faults"]["fired"][0]["dropped_bytes"] == SIZE - GRANULE


@case("stall")
def _stall(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "stall", "after": GRANULE, "seconds": 0.2})
    uri = client.start_session(size=SIZE)
    before = time.monotonic()
    assert client.put(uri, DATA).status == 200
    assert time.monotonic() - before >= 0.2
    assert fired(client) == ["stall"]


@case("session-lost")
def _session_lost(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.query", "do": "session-lost", "status": 410})
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
    assert client.request("POST", f"{client.edit()}:commit", b"").message == "This Edit has been deleted."


@case("slow-answer")
def _slow_answer(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "slow-answer", "seconds": 0.2})
    before = time.monotonic()
    client.edit()
    assert time.monotonic() - before >= 0.2


@case("slow-drip")
def _slow_drip(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "slow-drip", "seconds": 0.0005})
    before = time.monotonic()
    client.edit()
    assert time.monotonic() - before >= 0.05


def _range_of_first_chunk(start_emulator: StartEmulator, **fault: Any) -> str:
    """The Range header of a 308 to the first chunk, spoilt; the session itself must be unharmed."""
    client = start_emulator({"on": "resumable.put", **fault})
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA[:GRANULE], FIRST)
    assert reply.status == 308
    finish(client, uri)
    assert fired(client) == [fault["do"]]
    return reply.header("Range")


@case("no-range")
def _no_range(start_emulator: StartEmulator) -> None:
    assert _range_of_first_chunk(start_emulator, do="no-range") == ""


@case("range-plain")
def _range_plain(start_emulator: StartEmulator) -> None:
    assert _range_of_first_chunk(start_emulator, do="range-plain") == f"0-{GRANULE - 1}"


@case("range-from")
def _range_from(start_emulator: StartEmulator) -> None:
    assert _range_of_first_chunk(start_emulator, do="range-from", start=5) == f"bytes=5-{GRANULE - 1}"


@case("range-beyond")
def _range_beyond(start_emulator: StartEmulator) -> None:
    assert _range_of_first_chunk(start_emulator, do="range-beyond", by=7) == f"bytes=0-{GRANULE + 6}"
    client = start_emulator({"on": "goog.query", "do": "range-beyond", "by": 7})
    assert client.goog(client.start_goog_session(), "query").header("X-Goog-Upload-Size-Received") == "7"


@case("range-backward")
def _range_backward(start_emulator: StartEmulator) -> None:
    assert _range_of_first_chunk(start_emulator, do="range-backward", to=100) == "bytes=0-99"
    client = start_emulator({"on": "goog.query", "do": "range-backward"})
    url = client.start_goog_session(size=SIZE)
    client.goog(url, "upload", DATA[:GRANULE], Offset="0")
    assert client.goog(url, "query").header("X-Goog-Upload-Size-Received") == "0"
    done = client.goog(url, "upload, finalize", DATA, Offset="0")
    assert done.json["size"] == str(SIZE)


@case("redirect-308")
def _redirect_308(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "redirect-308"})
    uri = client.start_session(size=SIZE)
    reply = client.put(uri, DATA[:GRANULE], FIRST)
    assert (reply.status, reply.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    assert reply.header("Location").startswith(f"{client.emulator.url}/elsewhere")
    finish(client, uri)


@case("redirect")
def _redirect(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "redirect"})
    reply = client.request("POST", f"{APP}/edits", json={})
    assert (reply.status, reply.header("Location")) == (307, f"https://upload.example.net{APP}/edits")
    assert client.emulator.state()["edits"]["open"] == []


@case("foreign-session")
def _foreign_session(start_emulator: StartEmulator) -> None:
    client = start_emulator(
        {"on": "resumable.start", "do": "foreign-session"},
        {"on": "goog.start", "do": "foreign-session", "origin": "http://127.0.0.2:1"},
    )
    assert client.start_session().startswith(f"https://upload.example.net{STORAGE}?")
    assert client.start_goog_session().startswith(f"http://127.0.0.2:1{STORAGE}?")


@case("wrong-digest")
def _wrong_digest(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "wrong-digest"})
    uri = client.start_session(size=3)
    spoilt, true = client.put(uri, b"abc").json, client.offset(uri, 3).json
    assert spoilt["md5Hash"] != true["md5Hash"] == "kAFQmDzST7DWlj99KOF/cg=="
    assert len(spoilt["md5Hash"]) == len(true["md5Hash"])


@case("wrong-size")
def _wrong_size(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "resumable.put", "do": "wrong-size"})
    assert client.put(client.start_session(size=3), b"abc").json["size"] == "4"


@case("empty-body")
def _empty_body(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "upload", "do": "empty-body"})
    uri = client.start_session(size=3)
    assert client.put(uri, b"abc").body == b""
    assert client.offset(uri, 3).json["size"] == "3"


@case("html")
def _html(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "goog.query", "do": "html", "status": 502})
    url = client.start_goog_session()
    reply = client.goog(url, "query")
    assert (reply.status, reply.header("X-Goog-Upload-Status"), b"<html>" in reply.body) == (502, "", True)
    assert client.goog(url, "query").header("X-Goog-Upload-Status") == "active"


@case("invalid-json")
def _invalid_json(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "invalid-json"})
    with pytest.raises(json.JSONDecodeError):
        _ = client.request("POST", f"{APP}/edits", json={}).json


@case("replace-body")
def _replace_body(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "replace-body", "body": '"text"'})
    assert client.request("POST", f"{APP}/edits", json={}).json == "text"


@case("huge-answer")
def _huge_answer(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "huge-answer", "bytes": 1_000_000})
    assert len(client.request("POST", f"{APP}/edits", json={}).body) > 1_000_000


@case("huge-header")
def _huge_header(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "huge-header", "bytes": 10_000})
    assert len(client.request("POST", f"{APP}/edits", json={}).header("X-Filler")) == 10_000


@case("cut-answer")
def _cut_answer(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "cut-answer", "after": 10})
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        client.request("POST", f"{APP}/edits", json={})


@case("damage-body")
def _damage_body(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "play.edits.insert", "do": "damage-body", "at": 0})
    assert client.request("POST", f"{APP}/edits", json={}).body[:1] == bytes([ord("{") ^ 1])


@case("drop-header")
def _drop_header(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "goog.query", "do": "drop-header"})
    assert client.goog(client.start_goog_session(), "query").header("X-Goog-Upload-Status") == ""


@case("set-header")
def _set_header(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "goog.query", "do": "set-header", "value": "FINAL"})
    assert client.goog(client.start_goog_session(), "query").header("X-Goog-Upload-Status") == "FINAL"


@case("final-error")
def _final_error(start_emulator: StartEmulator) -> None:
    client = start_emulator({"on": "goog.finalize", "do": "final-error"})
    url = client.start_goog_session(size=3)
    refused = client.goog(url, "upload, finalize", b"abc", Offset="0")
    assert (refused.status, refused.header("X-Goog-Upload-Status")) == (400, "final")
    assert client.goog(url, "upload, finalize", b"abc", Offset="0").status == 200


def test_an_error_comes_while_the_body_is_still_being_sent(start_emulator: StartEmulator) -> None:
    """After K bytes the answer is there; nobody has to send the rest to read it."""
    client = start_emulator({"on": "resumable.put", "do": "status", "after": GRANULE})
    uri = client.start_session(size=SIZE)
    connection = raw_request(client.emulator, "PUT", uri, client.token, f"Content-Length: {SIZE}")
    connection.sendall(DATA[:GRANULE])
    reply = read_reply(connection)
    connection.close()
    assert (reply.status, reply.header("Connection")) == (503, "close")
    assert client.offset(uri, SIZE).header("Range") == f"bytes=0-{GRANULE - 1}"


def test_a_client_that_does_not_look_is_not_reset(start_emulator: StartEmulator) -> None:
    """Who sends on behind an early answer can still read it at the end."""
    client = start_emulator({"on": "resumable.put", "do": "status", "after": 1})
    assert client.put(client.start_session(size=20 * SIZE), bytes(20 * SIZE)).status == 503
    assert 0 < client.emulator.state()["bytes_discarded"] < 20 * SIZE


def test_everything_stored_and_still_an_error(start_emulator: StartEmulator) -> None:
    """`after: "end"`: every byte is kept, the last granule's rest included; the offset query completes the upload."""
    client = start_emulator({"on": "resumable.put", "do": "status", "after": "end"})
    uri = client.start_session(size=1000)
    assert client.put(uri, b"x" * 1000).status == 503
    assert client.offset(uri, 1000).json["size"] == "1000"


def test_a_fault_says_what_is_stored(start_emulator: StartEmulator) -> None:
    """`stored` is exact to the byte, below whole granules too."""
    client = start_emulator({"on": "resumable.put", "do": "status", "after": GRANULE, "stored": 43})
    uri = client.start_session(size=SIZE)
    client.put(uri, DATA)
    assert client.offset(uri, SIZE).header("Range") == "bytes=0-42"
    finish(client, uri)


def test_faults_queue_for_each_operation(start_emulator: StartEmulator) -> None:
    """Two faults for one operation fire one after the other, other operations untouched; then all is well."""
    client = start_emulator(
        {"on": "play.edits.insert", "do": "status", "status": 500},
        {"on": "play.edits.insert", "do": "status", "status": 502, "times": 2},
    )
    assert client.request("GET", f"{APP}/edits/1").status == 404
    statuses = [client.request("POST", f"{APP}/edits", json={}).status for _ in range(4)]
    assert statuses == [500, 502, 502, 200]
    assert client.emulator.state()["faults"]["waiting"] == []


def test_the_nth_request_is_hit(start_emulator: StartEmulator) -> None:
    """`nth` counts requests of that operation from when the fault was queued."""
    client = start_emulator(
        {"on": "api", "do": "status", "nth": 3}, {"on": "api", "do": "status", "status": 500, "nth": 2}
    )
    assert [client.request("POST", f"{APP}/edits", json={}).status for _ in range(4)] == [200, 500, 503, 200]


def test_an_operation_may_have_several_names(start_emulator: StartEmulator) -> None:
    """`a+b` means a request that is both."""
    client = start_emulator({"on": "play.images.upload+resumable.start", "do": "status"})
    path = f"/upload{client.edit()}/listings/en-US/icon?uploadType=resumable"
    assert client.request("POST", f"{STORAGE}?uploadType=resumable&name=x", b"").status == 200
    assert client.request("POST", path, b"", {"X-Upload-Content-Type": "image/png"}).status == 503


def test_a_fault_that_finds_nothing_waits(start_emulator: StartEmulator) -> None:
    """An answer without a Range has none to lose; the fault fires at the next that has one."""
    client = start_emulator({"on": "resumable", "do": "no-range"})
    uri = client.start_session(size=SIZE)
    assert fired(client) == []
    assert client.put(uri, DATA[:GRANULE], FIRST).header("Range") == ""
    assert fired(client) == ["no-range"]


def test_the_token_endpoint_can_fail(start_emulator: StartEmulator) -> None:
    """Login is an operation like any other."""
    client = start_emulator({"on": "oauth.token", "do": "status", "status": 500})
    assert client.request("POST", "/token", b"").status == 500
    assert client.emulator.state()["faults"]["fired"][0]["path"] == "/token"


def test_faults_are_added_while_it_runs(start_emulator: StartEmulator) -> None:
    """By the class or over HTTP."""
    client = start_emulator()
    client.emulator.add_fault("play.edits.insert", "status", status=500)
    more = {"faults": [{"on": "play.edits.insert", "do": "status", "status": 502}]}
    assert client.request("POST", "/__emulator/faults", json=more).status == 200
    assert [client.request("POST", f"{APP}/edits", json={}).status for _ in range(3)] == [500, 502, 200]
    assert client.request("POST", "/__emulator/faults", json={"faults": [{"do": "nothing"}]}).status == 400


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


def test_a_misspelt_setting_is_an_error() -> None:
    """Settings are known by name."""
    with pytest.raises(ValueError, match="unknown setting"):
        Emulator(config={"anyApp": True})
    with pytest.raises(ValueError, match="review"):
        Emulator(config={"review": "sometimes"})


def test_a_reset_is_a_reset(start_emulator: StartEmulator) -> None:
    """The connection ends by RST, not by an orderly FIN, even before any byte of the body."""
    client = start_emulator({"on": "play.edits.insert", "do": "reset"})
    connection = raw_request(client.emulator, "POST", f"{APP}/edits", client.token, "Content-Length: 2")
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    info = struct.unpack("B", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))
    connection.close()
    assert info == (7,)  # TCP_CLOSE
