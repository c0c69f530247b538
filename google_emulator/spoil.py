"""Faults that spoil an answer: each takes the true one and returns what goes over the wire instead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from google_emulator.answers import Answer, Cut, Json, Refusal

if TYPE_CHECKING:
    from google_emulator.exchange import Exchange
    from google_emulator.faults import Fault

DIGESTS = frozenset({"md5Hash", "sha1", "sha256", "sha1Checksum", "sha256Checksum", "md5Checksum", "crc32c"})
SIZES = frozenset({"size", "fileSize", "sizeEstimate", "sizeBytes"})
RECEIVED = "X-Goog-Upload-Size-Received"
PAGE = b"<!DOCTYPE html><html><head><title>Proxy</title></head><body><h1>A word from the proxy</h1></body></html>"


def slow_answer(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """Waits before the answer."""
    x.world.faults.fire(fault, x)
    x.world.sleep(fault.options["seconds"])
    return answer


def slow_drip(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """Lets the answer drip."""
    x.world.faults.fire(fault, x)
    answer.drip = fault.options["seconds"]
    return answer


def _range(fault: Fault, x: Exchange, answer: Answer, value: str) -> Answer:
    """Sets (or, empty, drops) the Range of a 308; any other answer stays as it is."""
    if answer.status != 308:
        return answer
    x.world.faults.fire(fault, x, range_told=value, range_true=answer.header("Range"))
    answer.drop("Range")
    if value:
        answer.put("Range", value)
    return answer


def no_range(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A 308 that does not say how much is stored."""
    return _range(fault, x, answer, "") if answer.header("Range") else answer


def range_plain(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """The other documented form of the Range header."""
    plain = answer.header("Range").removeprefix("bytes=")
    return _range(fault, x, answer, plain) if plain else answer


def range_from(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A Range with a hole at its beginning."""
    end = answer.header("Range").rpartition("-")[2]
    return _range(fault, x, answer, f"bytes={fault.options['start']}-{end}") if end else answer


def range_beyond(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A Range past everything that was sent."""
    if x.session is None:
        return answer
    claimed = x.session.blob.size + int(fault.options["by"])
    if answer.header(RECEIVED):
        x.world.faults.fire(fault, x, size_told=claimed, size_true=x.session.blob.size)
        answer.put(RECEIVED, str(claimed))
        return answer
    return _range(fault, x, answer, f"bytes=0-{claimed - 1}")


def range_backward(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """Less is stored than was said before; the bytes are really gone."""
    to = int(fault.options["to"])
    if x.session is None or x.session.finished or to >= x.session.blob.size:
        return answer
    if answer.status != 308 and not answer.header(RECEIVED):
        return answer
    with x.session.lock:
        x.session.blob.truncate(to)
    if answer.header(RECEIVED):
        x.world.faults.fire(fault, x, size_told=to)
        answer.put(RECEIVED, str(to))
        return answer
    return _range(fault, x, answer, f"bytes=0-{to - 1}" if to else "")


def redirect_308(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A 308 that looks like a redirect."""
    if answer.status != 308:
        return answer
    location = fault.options["location"] or f"{x.world.base}/elsewhere{x.path}?upload_id={x.query.get('upload_id', '')}"
    x.world.faults.fire(fault, x, location_told=location)
    answer.put("Location", location)
    return answer


def redirect(fault: Fault, x: Exchange) -> None:
    """Sends the client elsewhere."""
    location = urlsplit(fault.options["location"])
    if not location.path:
        location = location._replace(path=x.path)
    x.world.faults.fire(fault, x)
    raise Cut(Answer(fault.options["status"], b"", [("Location", urlunsplit(location))]))


def foreign_session(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A session URI on a host that must not see the token."""
    name = "Location" if answer.header("Location") else "X-Goog-Upload-URL"
    if not answer.header(name):
        return answer
    x.world.faults.fire(fault, x)
    answer.put(name, fault.options["origin"] + answer.header(name).removeprefix(x.world.base))
    return answer


def _other(text: str) -> str:
    """The same text with its first character changed, within its alphabet."""
    return ("b" if text[:1] == "a" else "a") + text[1:]


def _changed(value: Json, keys: frozenset[str]) -> Json:
    if isinstance(value, dict):
        return {name: _spoiled(one) if name in keys else _changed(one, keys) for name, one in value.items()}
    if isinstance(value, list):
        return [_changed(one, keys) for one in value]
    return value


def _spoiled(value: Json) -> Json:
    if isinstance(value, int):
        return value + 1
    return str(int(value) + 1) if value.isdigit() and len(value) < 20 else _other(value)


def _spoil(fault: Fault, x: Exchange, answer: Answer, keys: frozenset[str]) -> Answer:
    if answer.status not in (200, 201) or not answer.body:
        return answer
    body = json.dumps(_changed(json.loads(answer.body), keys)).encode()
    if json.loads(body) == json.loads(answer.body):
        return answer
    x.world.faults.fire(fault, x)
    answer.body = body
    return answer


def wrong_digest(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """The resource's digest is not that of what was sent."""
    return _spoil(fault, x, answer, DIGESTS)


def wrong_size(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """The resource's size is not that of what was sent."""
    return _spoil(fault, x, answer, SIZES)


def empty_body(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """Success, and nothing to show for it."""
    if answer.status not in (200, 201) or not answer.body:
        return answer
    x.world.faults.fire(fault, x)
    answer.body = b""
    return answer


def html(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A proxy's page in place of the answer; headers of the service are gone with it."""
    del answer
    x.world.faults.fire(fault, x)
    return Answer(fault.options["status"], PAGE, [("Content-Type", "text/html; charset=UTF-8")])


def invalid_json(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """JSON that ends in the middle."""
    if len(answer.body) < 2:
        return answer
    x.world.faults.fire(fault, x)
    answer.body = answer.body[: len(answer.body) // 2]
    return answer


def replace_body(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """Whatever text was asked for, in place of the body."""
    x.world.faults.fire(fault, x)
    answer.body = str(fault.options["body"]).encode()
    return answer


def huge_answer(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """More than anyone should read."""
    x.world.faults.fire(fault, x)
    answer.filler = int(fault.options["bytes"])
    return answer


def huge_header(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """A header beyond every limit."""
    x.world.faults.fire(fault, x)
    answer.put("X-Filler", "x" * int(fault.options["bytes"]))
    return answer


def drop_header(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """An answer without one of its headers."""
    if not answer.header(fault.options["name"]):
        return answer
    x.world.faults.fire(fault, x)
    answer.drop(fault.options["name"])
    return answer


def set_header(fault: Fault, x: Exchange, answer: Answer) -> Answer:
    """An answer with another header than the true one."""
    x.world.faults.fire(fault, x)
    answer.put(fault.options["name"], str(fault.options["value"]))
    return answer


def final_error(fault: Fault, x: Exchange) -> None:
    """The session is called over, and is not."""
    x.world.faults.fire(fault, x)
    answer = Refusal(fault.options["status"], "The upload has been rejected.").answer()
    answer.put("X-Goog-Upload-Status", "final")
    raise Cut(answer)
