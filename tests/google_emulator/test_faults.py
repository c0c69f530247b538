"""Every fault by name: it does what the table says, leaves its receipt, and what it did not break goes on."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from google_emulator import Emulator
from google_emulator.faults.kinds import KINDS
from tests.google_emulator.conftest import Begin
from tests.support.emulator_client import APP, GRANULE, STORAGE, Talk, raw_request, read_reply

DATA = os.urandom(3 * GRANULE)
SIZE = len(DATA)
FIRST = f"bytes 0-{GRANULE - 1}/{SIZE}"
CASES: dict[str, Callable[[Begin], None]] = {}


def case(name: str) -> Callable[[Callable[[Begin], None]], Callable[[Begin], None]]:
    """Registers the check of one kind of fault."""

    def keep(check: Callable[[Begin], None]) -> Callable[[Begin], None]:
        CASES[name] = check
        return check

    return keep


def fired(talk: Talk) -> list[str]:
    return [receipt["do"] for receipt in talk.emulator.state()["faults"]["fired"]]


def finish(talk: Talk, uri: str) -> None:
    """Asks the offset and sends the rest, as any client would; then the object must be whole."""
    told = talk.offset(uri, SIZE).header("Range")
    start = int(told.rpartition("-")[2]) + 1 if told else 0
    reply = talk.put(uri, DATA[start:], f"bytes {start}-{SIZE - 1}/{SIZE}") if start < SIZE else talk.offset(uri, SIZE)
    assert reply.status == 200, reply.body
    assert [one["sha256"] for one in talk.emulator.state()["objects"]] == [hashlib.sha256(DATA).hexdigest()]


def test_every_fault_has_its_case() -> None:
    """The table of faults and the cases below are the same set."""
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_fault_does_what_it_says(begin: Begin, name: str) -> None:
    """The case of each kind of fault."""
    CASES[name](begin)


@case("status")
def _status(begin: Begin) -> None:
    talk = begin(
        {"on": "resumable.put", "do": "status", "status": 429, "retry_after": 7, "reason": "rateLimitExceeded"}
    )
    uri = talk.begin(size=SIZE)
    reply = talk.put(uri, DATA)
    assert (reply.status, reply.header("Retry-After"), reply.reason) == (429, "7", "rateLimitExceeded")
    assert talk.offset(uri, SIZE).header("Range") == ""
    finish(talk, uri)
    assert fired(talk) == ["status"]


@case("status-after-effect")
def _status_after_effect(begin: Begin) -> None:
    talk = begin({"on": "play.edits.commit", "do": "status-after-effect", "status": 502, "body": "<html>"})
    reply = talk.ask("POST", f"{talk.edit()}:commit", b"")
    assert (reply.status, reply.body) == (502, b"<html>")
    assert talk.emulator.state()["edits"]["committed"]


@case("reset")
def _reset(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "reset", "after": GRANULE + 10})
    uri = talk.begin(size=SIZE)
    connection = raw_request(talk.emulator, "PUT", uri, talk.token, f"Content-Length: {SIZE}")
    connection.sendall(DATA[: GRANULE + 10])
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    connection.close()
    assert talk.offset(uri, SIZE).header("Range") == f"bytes=0-{GRANULE - 1}"
    finish(talk, uri)
    assert talk.emulator.state()["faults"]["fired"][0]["after_bytes"] == GRANULE + 10


@case("answer-lost")
def _answer_lost(begin: Begin) -> None:
    talk = begin({"on": "resumable.final", "do": "answer-lost"})
    uri = talk.begin(size=SIZE)
    connection = raw_request(talk.emulator, "PUT", uri, talk.token, f"Content-Length: {SIZE}")
    connection.sendall(DATA)
    assert connection.recv(1) == b""
    connection.close()
    finish(talk, uri)
    assert fired(talk) == ["answer-lost"]


@case("short-store")
def _short_store(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "short-store", "stored": GRANULE})
    uri = talk.begin(size=SIZE)
    reply = talk.put(uri, DATA)
    assert (reply.status, reply.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    finish(talk, uri)
    assert talk.emulator.state()["faults"]["fired"][0]["dropped_bytes"] == SIZE - GRANULE


@case("stall")
def _stall(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "stall", "after": GRANULE, "seconds": 0.2})
    uri = talk.begin(size=SIZE)
    before = time.monotonic()
    assert talk.put(uri, DATA).status == 200
    assert time.monotonic() - before >= 0.2
    assert fired(talk) == ["stall"]


@case("session-lost")
def _session_lost(begin: Begin) -> None:
    talk = begin({"on": "resumable.query", "do": "session-lost", "status": 410})
    uri = talk.begin(size=SIZE)
    assert talk.offset(uri, SIZE).status == 410
    assert talk.put(uri, DATA).status == 404
    finish(talk, talk.begin(size=SIZE))


@case("token-expired")
def _token_expired(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "token-expired"})
    uri = talk.begin(size=SIZE)
    old = talk.token
    assert talk.put(uri, DATA).status == 401
    assert talk.put(uri, DATA).status == 401
    talk.token = talk.emulator.token("devstorage.read_write")
    assert talk.token != old
    finish(talk, uri)


@case("lose-edit")
def _lose_edit(begin: Begin) -> None:
    talk = begin(
        {"on": "play.tracks.list", "do": "lose-edit", "how": "expired"},
        {"on": "play.edits.get", "do": "lose-edit", "how": "changed"},
        {"on": "play.edits.commit", "do": "lose-edit"},
    )
    edit, other = talk.edit(), talk.edit()
    assert talk.ask("GET", f"{edit}/tracks").reason == "editExpired"
    assert talk.ask("GET", other).message.startswith("A change was made")
    assert talk.ask("POST", f"{talk.edit()}:commit", b"").message == "This Edit has been deleted."


@case("slow-answer")
def _slow_answer(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "slow-answer", "seconds": 0.2})
    before = time.monotonic()
    talk.edit()
    assert time.monotonic() - before >= 0.2


@case("slow-drip")
def _slow_drip(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "slow-drip", "seconds": 0.0005})
    before = time.monotonic()
    talk.edit()
    assert time.monotonic() - before >= 0.05


def _range_of_first_chunk(begin: Begin, **fault: Any) -> str:
    """The Range header of a 308 to the first chunk, spoilt; the session itself must be unharmed."""
    talk = begin({"on": "resumable.put", **fault})
    uri = talk.begin(size=SIZE)
    reply = talk.put(uri, DATA[:GRANULE], FIRST)
    assert reply.status == 308
    finish(talk, uri)
    assert fired(talk) == [fault["do"]]
    return reply.header("Range")


@case("no-range")
def _no_range(begin: Begin) -> None:
    assert _range_of_first_chunk(begin, do="no-range") == ""


@case("range-plain")
def _range_plain(begin: Begin) -> None:
    assert _range_of_first_chunk(begin, do="range-plain") == f"0-{GRANULE - 1}"


@case("range-from")
def _range_from(begin: Begin) -> None:
    assert _range_of_first_chunk(begin, do="range-from", start=5) == f"bytes=5-{GRANULE - 1}"


@case("range-beyond")
def _range_beyond(begin: Begin) -> None:
    assert _range_of_first_chunk(begin, do="range-beyond", by=7) == f"bytes=0-{GRANULE + 6}"
    talk = begin({"on": "goog.query", "do": "range-beyond", "by": 7})
    assert talk.goog(talk.goog_begin(), "query").header("X-Goog-Upload-Size-Received") == "7"


@case("range-backward")
def _range_backward(begin: Begin) -> None:
    assert _range_of_first_chunk(begin, do="range-backward", to=100) == "bytes=0-99"
    talk = begin({"on": "goog.query", "do": "range-backward"})
    url = talk.goog_begin(size=SIZE)
    talk.goog(url, "upload", DATA[:GRANULE], Offset="0")
    assert talk.goog(url, "query").header("X-Goog-Upload-Size-Received") == "0"
    done = talk.goog(url, "upload, finalize", DATA, Offset="0")
    assert done.json["size"] == str(SIZE)


@case("redirect-308")
def _redirect_308(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "redirect-308"})
    uri = talk.begin(size=SIZE)
    reply = talk.put(uri, DATA[:GRANULE], FIRST)
    assert (reply.status, reply.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    assert reply.header("Location").startswith(f"{talk.emulator.url}/elsewhere")
    finish(talk, uri)


@case("redirect")
def _redirect(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "redirect"})
    reply = talk.ask("POST", f"{APP}/edits", json={})
    assert (reply.status, reply.header("Location")) == (307, f"https://upload.example.net{APP}/edits")
    assert talk.emulator.state()["edits"]["open"] == []


@case("foreign-session")
def _foreign_session(begin: Begin) -> None:
    talk = begin(
        {"on": "resumable.start", "do": "foreign-session"},
        {"on": "goog.start", "do": "foreign-session", "origin": "http://127.0.0.2:1"},
    )
    assert talk.begin().startswith(f"https://upload.example.net{STORAGE}?")
    assert talk.goog_begin().startswith(f"http://127.0.0.2:1{STORAGE}?")


@case("wrong-digest")
def _wrong_digest(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "wrong-digest"})
    uri = talk.begin(size=3)
    spoilt, true = talk.put(uri, b"abc").json, talk.offset(uri, 3).json
    assert spoilt["md5Hash"] != true["md5Hash"] == "kAFQmDzST7DWlj99KOF/cg=="
    assert len(spoilt["md5Hash"]) == len(true["md5Hash"])


@case("wrong-size")
def _wrong_size(begin: Begin) -> None:
    talk = begin({"on": "resumable.put", "do": "wrong-size"})
    assert talk.put(talk.begin(size=3), b"abc").json["size"] == "4"


@case("empty-body")
def _empty_body(begin: Begin) -> None:
    talk = begin({"on": "upload", "do": "empty-body"})
    uri = talk.begin(size=3)
    assert talk.put(uri, b"abc").body == b""
    assert talk.offset(uri, 3).json["size"] == "3"


@case("html")
def _html(begin: Begin) -> None:
    talk = begin({"on": "goog.query", "do": "html", "status": 502})
    url = talk.goog_begin()
    reply = talk.goog(url, "query")
    assert (reply.status, reply.header("X-Goog-Upload-Status"), b"<html>" in reply.body) == (502, "", True)
    assert talk.goog(url, "query").header("X-Goog-Upload-Status") == "active"


@case("invalid-json")
def _invalid_json(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "invalid-json"})
    with pytest.raises(json.JSONDecodeError):
        _ = talk.ask("POST", f"{APP}/edits", json={}).json


@case("replace-body")
def _replace_body(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "replace-body", "body": '"text"'})
    assert talk.ask("POST", f"{APP}/edits", json={}).json == "text"


@case("huge-answer")
def _huge_answer(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "huge-answer", "bytes": 1_000_000})
    assert len(talk.ask("POST", f"{APP}/edits", json={}).body) > 1_000_000


@case("huge-header")
def _huge_header(begin: Begin) -> None:
    talk = begin({"on": "play.edits.insert", "do": "huge-header", "bytes": 10_000})
    assert len(talk.ask("POST", f"{APP}/edits", json={}).header("X-Filler")) == 10_000


@case("drop-header")
def _drop_header(begin: Begin) -> None:
    talk = begin({"on": "goog.query", "do": "drop-header"})
    assert talk.goog(talk.goog_begin(), "query").header("X-Goog-Upload-Status") == ""


@case("set-header")
def _set_header(begin: Begin) -> None:
    talk = begin({"on": "goog.query", "do": "set-header", "value": "FINAL"})
    assert talk.goog(talk.goog_begin(), "query").header("X-Goog-Upload-Status") == "FINAL"


@case("final-error")
def _final_error(begin: Begin) -> None:
    talk = begin({"on": "goog.finalize", "do": "final-error"})
    url = talk.goog_begin(size=3)
    refused = talk.goog(url, "upload, finalize", b"abc", Offset="0")
    assert (refused.status, refused.header("X-Goog-Upload-Status")) == (400, "final")
    assert talk.goog(url, "upload, finalize", b"abc", Offset="0").status == 200


def test_an_error_comes_while_the_body_is_still_being_sent(begin: Begin) -> None:
    """After K bytes the answer is there; nobody has to send the rest to read it."""
    talk = begin({"on": "resumable.put", "do": "status", "after": GRANULE})
    uri = talk.begin(size=SIZE)
    connection = raw_request(talk.emulator, "PUT", uri, talk.token, f"Content-Length: {SIZE}")
    connection.sendall(DATA[:GRANULE])
    reply = read_reply(connection)
    connection.close()
    assert (reply.status, reply.header("Connection")) == (503, "close")
    assert talk.offset(uri, SIZE).header("Range") == f"bytes=0-{GRANULE - 1}"


def test_a_client_that_does_not_look_is_not_reset(begin: Begin) -> None:
    """Who sends on behind an early answer can still read it at the end."""
    talk = begin({"on": "resumable.put", "do": "status", "after": 1})
    assert talk.put(talk.begin(size=20 * SIZE), bytes(20 * SIZE)).status == 503
    assert 0 < talk.emulator.state()["bytes_discarded"] < 20 * SIZE


def test_everything_stored_and_still_an_error(begin: Begin) -> None:
    """`after: "end"`: every byte is kept, the last granule's rest included; the offset query completes the upload."""
    talk = begin({"on": "resumable.put", "do": "status", "after": "end"})
    uri = talk.begin(size=1000)
    assert talk.put(uri, b"x" * 1000).status == 503
    assert talk.offset(uri, 1000).json["size"] == "1000"


def test_a_fault_says_what_is_stored(begin: Begin) -> None:
    """`stored` is exact to the byte, below whole granules too."""
    talk = begin({"on": "resumable.put", "do": "status", "after": GRANULE, "stored": 43})
    uri = talk.begin(size=SIZE)
    talk.put(uri, DATA)
    assert talk.offset(uri, SIZE).header("Range") == "bytes=0-42"
    finish(talk, uri)


def test_faults_queue_for_each_operation(begin: Begin) -> None:
    """Two faults for one operation fire one after the other, other operations untouched; then all is well."""
    talk = begin(
        {"on": "play.edits.insert", "do": "status", "status": 500},
        {"on": "play.edits.insert", "do": "status", "status": 502, "times": 2},
    )
    assert talk.ask("GET", f"{APP}/edits/1").status == 404
    statuses = [talk.ask("POST", f"{APP}/edits", json={}).status for _ in range(4)]
    assert statuses == [500, 502, 502, 200]
    assert talk.emulator.state()["faults"]["waiting"] == []


def test_the_nth_request_is_hit(begin: Begin) -> None:
    """`nth` counts requests of that operation from when the fault was queued."""
    talk = begin({"on": "api", "do": "status", "nth": 3}, {"on": "api", "do": "status", "status": 500, "nth": 2})
    assert [talk.ask("POST", f"{APP}/edits", json={}).status for _ in range(4)] == [200, 500, 503, 200]


def test_an_operation_may_have_several_names(begin: Begin) -> None:
    """`a+b` means a request that is both."""
    talk = begin({"on": "play.images.upload+resumable.start", "do": "status"})
    path = f"/upload{talk.edit()}/listings/en-US/icon?uploadType=resumable"
    assert talk.ask("POST", f"{STORAGE}?uploadType=resumable&name=x", b"").status == 200
    assert talk.ask("POST", path, b"", {"X-Upload-Content-Type": "image/png"}).status == 503


def test_a_fault_that_finds_nothing_waits(begin: Begin) -> None:
    """An answer without a Range has none to lose; the fault fires at the next that has one."""
    talk = begin({"on": "resumable", "do": "no-range"})
    uri = talk.begin(size=SIZE)
    assert fired(talk) == []
    assert talk.put(uri, DATA[:GRANULE], FIRST).header("Range") == ""
    assert fired(talk) == ["no-range"]


def test_the_token_endpoint_can_fail(begin: Begin) -> None:
    """Login is an operation like any other."""
    talk = begin({"on": "oauth.token", "do": "status", "status": 500})
    assert talk.ask("POST", "/token", b"").status == 500
    assert talk.emulator.state()["faults"]["fired"][0]["path"] == "/token"


def test_faults_are_added_while_it_runs(begin: Begin) -> None:
    """By the class or over HTTP."""
    talk = begin()
    talk.emulator.add_fault("play.edits.insert", "status", status=500)
    more = {"faults": [{"on": "play.edits.insert", "do": "status", "status": 502}]}
    assert talk.ask("POST", "/__emulator/faults", json=more).status == 200
    assert [talk.ask("POST", f"{APP}/edits", json={}).status for _ in range(3)] == [500, 502, 200]
    assert talk.ask("POST", "/__emulator/faults", json={"faults": [{"do": "nothing"}]}).status == 400


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


def test_a_reset_is_a_reset(begin: Begin) -> None:
    """The connection ends by RST, not by an orderly FIN, even before any byte of the body."""
    talk = begin({"on": "play.edits.insert", "do": "reset"})
    connection = raw_request(talk.emulator, "POST", f"{APP}/edits", talk.token, "Content-Length: 2")
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    info = struct.unpack("B", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))
    connection.close()
    assert info == (7,)  # TCP_CLOSE
