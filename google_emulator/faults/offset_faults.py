"""Faults in what a response says of the bytes stored: the Range of a 308, the size received of X-Goog-Upload."""

from __future__ import annotations

from google_emulator.faults.injection import Injection
from google_emulator.http.response import Response

RECEIVED = "X-Goog-Upload-Size-Received"


def _range(injection: Injection, response: Response, value: str) -> Response:
    """Sets (or, empty, drops) the Range of a 308; any other answer stays as it is."""
    if response.status != 308:
        return response
    injection.fire(range_told=value, range_true=response.header("Range"))
    response.remove_header("Range")
    if value:
        response.set_header("Range", value)
    return response


def no_range(injection: Injection, response: Response) -> Response:
    """A 308 that does not say how much is stored."""
    return _range(injection, response, "") if response.header("Range") else response


def range_plain(injection: Injection, response: Response) -> Response:
    """The other documented form of the Range header."""
    plain = response.header("Range").removeprefix("bytes=")
    return _range(injection, response, plain) if plain else response


def range_from(injection: Injection, response: Response) -> Response:
    """A Range with a hole at its beginning."""
    end = response.header("Range").rpartition("-")[2]
    return _range(injection, response, f"bytes={injection.option('start')}-{end}") if end else response


def range_beyond(injection: Injection, response: Response) -> Response:
    """A Range past everything that was sent."""
    session = injection.session
    if session is None:
        return response
    claimed = session.blob.size + int(injection.option("by"))
    if response.header(RECEIVED):
        injection.fire(size_told=claimed, size_true=session.blob.size)
        response.set_header(RECEIVED, str(claimed))
        return response
    return _range(injection, response, f"bytes=0-{claimed - 1}")


def range_backward(injection: Injection, response: Response) -> Response:
    """Less is stored than was said before; the bytes are really gone."""
    session, to = injection.session, int(injection.option("to"))
    if session is None or session.finished or to >= session.blob.size:
        return response
    if response.status != 308 and not response.header(RECEIVED):
        return response
    session.lose(to)
    if response.header(RECEIVED):
        injection.fire(size_told=to)
        response.set_header(RECEIVED, str(to))
        return response
    return _range(injection, response, f"bytes=0-{to - 1}" if to else "")
