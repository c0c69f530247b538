"""Faults that change a response: each takes the true one and returns what is sent instead."""

from __future__ import annotations

import json

from google_emulator.faults.error_response import error_response
from google_emulator.faults.fault_context import FaultContext
from google_emulator.http.errors import Interrupted
from google_emulator.http.response import Json, Response

DIGESTS = frozenset({"md5Hash", "sha1", "sha256", "sha1Checksum", "sha256Checksum", "md5Checksum", "crc32c"})
SIZES = frozenset({"size", "fileSize", "sizeEstimate", "sizeBytes"})
PAGE = b"<!DOCTYPE html><html><head><title>Proxy</title></head><body><h1>A word from the proxy</h1></body></html>"


def status_after_effect(context: FaultContext, response: Response) -> Response:
    """An error, although the effect has happened."""
    del response
    context.fire()
    return error_response(context.fault)


def answer_lost(context: FaultContext, response: Response) -> Response:
    """The effect has happened, and nobody is told. Always raises `Interrupted`."""
    context.fire(status_lost=response.status)
    raise Interrupted(reset=context.option("reset"))


def slow_answer(context: FaultContext, response: Response) -> Response:
    """Waits before the answer."""
    context.fire()
    context.targets.sleep(context.option("seconds"))
    return response


def slow_drip(context: FaultContext, response: Response) -> Response:
    """Lets the answer drip."""
    context.fire()
    response.drip = context.option("seconds")
    return response


def cut_answer(context: FaultContext, response: Response) -> Response:
    """An answer that says how long it is and ends before."""
    if len(response.body) <= context.option("after"):
        return response
    context.fire()
    response.cut, response.pause = int(context.option("after")), float(context.option("pause"))
    return response


def damage_body(context: FaultContext, response: Response) -> Response:
    """An answer with one byte changed, as bad memory does."""
    at = int(context.option("at"))
    if len(response.body) <= at:
        return response
    context.fire()
    response.body = response.body[:at] + bytes([response.body[at] ^ 1]) + response.body[at + 1 :]
    return response


def redirect_308(context: FaultContext, response: Response) -> Response:
    """A 308 that looks like a redirect."""
    if response.status != 308:
        return response
    request = context.request
    same_session = f"{request.server_url}/elsewhere{request.path}?upload_id={request.upload_id}"
    location = context.option("location") or same_session
    context.fire(location_told=location)
    response.set_header("Location", location)
    return response


def foreign_session(context: FaultContext, response: Response) -> Response:
    """A session URI on a host that must not see the token."""
    name = "Location" if response.header("Location") else "X-Goog-Upload-URL"
    if not response.header(name):
        return response
    context.fire()
    path = response.header(name).removeprefix(context.request.server_url)
    response.set_header(name, context.option("origin") + path)
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


def _falsify(context: FaultContext, response: Response, keys: frozenset[str]) -> Response:
    if response.status not in (200, 201) or not response.body:
        return response
    body = json.dumps(_falsified_at(json.loads(response.body), keys)).encode()
    if json.loads(body) == json.loads(response.body):
        return response
    context.fire()
    response.body = body
    return response


def wrong_digest(context: FaultContext, response: Response) -> Response:
    """The resource's digest is not that of what was sent."""
    return _falsify(context, response, DIGESTS)


def wrong_size(context: FaultContext, response: Response) -> Response:
    """The resource's size is not that of what was sent."""
    return _falsify(context, response, SIZES)


def empty_body(context: FaultContext, response: Response) -> Response:
    """Success, and nothing to show for it."""
    if response.status not in (200, 201) or not response.body:
        return response
    context.fire()
    response.body = b""
    return response


def html(context: FaultContext, response: Response) -> Response:
    """A proxy's page in place of the answer; headers of the service are gone with it."""
    del response
    context.fire()
    return Response(context.option("status"), PAGE, [("Content-Type", "text/html; charset=UTF-8")])


def invalid_json(context: FaultContext, response: Response) -> Response:
    """JSON that ends in the middle."""
    if len(response.body) < 2:
        return response
    context.fire()
    response.body = response.body[: len(response.body) // 2]
    return response


def replace_body(context: FaultContext, response: Response) -> Response:
    """Whatever text was asked for, in place of the body."""
    context.fire()
    response.body = str(context.option("body")).encode()
    return response


def huge_answer(context: FaultContext, response: Response) -> Response:
    """More than anyone should read."""
    context.fire()
    response.filler = int(context.option("bytes"))
    return response


def huge_header(context: FaultContext, response: Response) -> Response:
    """A header beyond every limit."""
    context.fire()
    response.set_header("X-Filler", "x" * int(context.option("bytes")))
    return response


def drop_header(context: FaultContext, response: Response) -> Response:
    """An answer without one of its headers."""
    if not response.header(context.option("name")):
        return response
    context.fire()
    response.remove_header(context.option("name"))
    return response


def set_header(context: FaultContext, response: Response) -> Response:
    """An answer with another header than the true one."""
    context.fire()
    response.set_header(context.option("name"), str(context.option("value")))
    return response
