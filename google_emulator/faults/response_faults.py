"""Faults that change a response: each takes the true one and returns what is sent instead."""

from __future__ import annotations

import json

from google_emulator.faults.error_response import error_response
from google_emulator.faults.injection import Injection
from google_emulator.http.errors import Interrupted
from google_emulator.http.response import Json, Response

DIGESTS = frozenset({"md5Hash", "sha1", "sha256", "sha1Checksum", "sha256Checksum", "md5Checksum", "crc32c"})
SIZES = frozenset({"size", "fileSize", "sizeEstimate", "sizeBytes"})
PAGE = b"<!DOCTYPE html><html><head><title>Proxy</title></head><body><h1>A word from the proxy</h1></body></html>"


def status_after_effect(injection: Injection, response: Response) -> Response:
    """An error, although the effect has happened."""
    del response
    injection.fire()
    return error_response(injection.fault)


def answer_lost(injection: Injection, response: Response) -> Response:
    """The effect has happened, and nobody is told. Always raises `Interrupted`."""
    injection.fire(status_lost=response.status)
    raise Interrupted(reset=injection.option("reset"))


def slow_answer(injection: Injection, response: Response) -> Response:
    """Waits before the answer."""
    injection.fire()
    injection.targets.sleep(injection.option("seconds"))
    return response


def slow_drip(injection: Injection, response: Response) -> Response:
    """Lets the answer drip."""
    injection.fire()
    response.drip = injection.option("seconds")
    return response


def redirect_308(injection: Injection, response: Response) -> Response:
    """A 308 that looks like a redirect."""
    if response.status != 308:
        return response
    request = injection.request
    same_session = f"{request.server_url}/elsewhere{request.path}?upload_id={request.upload_id}"
    location = injection.option("location") or same_session
    injection.fire(location_told=location)
    response.set_header("Location", location)
    return response


def foreign_session(injection: Injection, response: Response) -> Response:
    """A session URI on a host that must not see the token."""
    name = "Location" if response.header("Location") else "X-Goog-Upload-URL"
    if not response.header(name):
        return response
    injection.fire()
    path = response.header(name).removeprefix(injection.request.server_url)
    response.set_header(name, injection.option("origin") + path)
    return response


def _other_text(text: str) -> str:
    """The same text with its first character changed, within its alphabet."""
    return ("b" if text[:1] == "a" else "a") + text[1:]


def _falsified_at(value: Json, keys: frozenset[str]) -> Json:
    if isinstance(value, dict):
        return {name: _falsified(one) if name in keys else _falsified_at(one, keys) for name, one in value.items()}
    if isinstance(value, list):
        return [_falsified_at(one, keys) for one in value]
    return value


def _falsified(value: Json) -> Json:
    if isinstance(value, int):
        return value + 1
    return str(int(value) + 1) if value.isdigit() and len(value) < 20 else _other_text(value)


def _falsify(injection: Injection, response: Response, keys: frozenset[str]) -> Response:
    if response.status not in (200, 201) or not response.body:
        return response
    body = json.dumps(_falsified_at(json.loads(response.body), keys)).encode()
    if json.loads(body) == json.loads(response.body):
        return response
    injection.fire()
    response.body = body
    return response


def wrong_digest(injection: Injection, response: Response) -> Response:
    """The resource's digest is not that of what was sent."""
    return _falsify(injection, response, DIGESTS)


def wrong_size(injection: Injection, response: Response) -> Response:
    """The resource's size is not that of what was sent."""
    return _falsify(injection, response, SIZES)


def empty_body(injection: Injection, response: Response) -> Response:
    """Success, and nothing to show for it."""
    if response.status not in (200, 201) or not response.body:
        return response
    injection.fire()
    response.body = b""
    return response


def html(injection: Injection, response: Response) -> Response:
    """A proxy's page in place of the answer; headers of the service are gone with it."""
    del response
    injection.fire()
    return Response(injection.option("status"), PAGE, [("Content-Type", "text/html; charset=UTF-8")])


def invalid_json(injection: Injection, response: Response) -> Response:
    """JSON that ends in the middle."""
    if len(response.body) < 2:
        return response
    injection.fire()
    response.body = response.body[: len(response.body) // 2]
    return response


def replace_body(injection: Injection, response: Response) -> Response:
    """Whatever text was asked for, in place of the body."""
    injection.fire()
    response.body = str(injection.option("body")).encode()
    return response


def huge_answer(injection: Injection, response: Response) -> Response:
    """More than anyone should read."""
    injection.fire()
    response.filler = int(injection.option("bytes"))
    return response


def huge_header(injection: Injection, response: Response) -> Response:
    """A header beyond every limit."""
    injection.fire()
    response.set_header("X-Filler", "x" * int(injection.option("bytes")))
    return response


def drop_header(injection: Injection, response: Response) -> Response:
    """An answer without one of its headers."""
    if not response.header(injection.option("name")):
        return response
    injection.fire()
    response.remove_header(injection.option("name"))
    return response


def set_header(injection: Injection, response: Response) -> Response:
    """An answer with another header than the true one."""
    injection.fire()
    response.set_header(injection.option("name"), str(injection.option("value")))
    return response
