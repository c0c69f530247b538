"""Faults in what a response says of the bytes stored: the Range of a 308, the size received of X-Goog-Upload."""

from __future__ import annotations

from google_emulator.faults.fault_context import FaultContext
from google_emulator.http.response import Response

RECEIVED = "X-Goog-Upload-Size-Received"


def _range(context: FaultContext, response: Response, value: str) -> Response:
    """Sets (or, empty, drops) the Range of a 308; any other answer stays as it is."""
    if response.status != 308:
        return response
    context.fire(range_told=value, range_true=response.header("Range"))
    response.remove_header("Range")
    if value:
        response.set_header("Range", value)
    return response


def no_range(context: FaultContext, response: Response) -> Response:
    """A 308 that does not say how much is stored."""
    return _range(context, response, "") if response.header("Range") else response


def range_plain(context: FaultContext, response: Response) -> Response:
    """The other documented form of the Range header."""
    plain = response.header("Range").removeprefix("bytes=")
    return _range(context, response, plain) if plain else response


def range_from(context: FaultContext, response: Response) -> Response:
    """A Range with a hole at its beginning."""
    end = response.header("Range").rpartition("-")[2]
    return _range(context, response, f"bytes={context.option('start')}-{end}") if end else response


def range_beyond(context: FaultContext, response: Response) -> Response:
    """A Range past everything that was sent."""
    session = context.session
    if session is None:
        return response
    claimed = session.blob.size + int(context.option("by"))
    if response.header(RECEIVED):
        context.fire(size_told=claimed, size_true=session.blob.size)
        response.set_header(RECEIVED, str(claimed))
        return response
    return _range(context, response, f"bytes=0-{claimed - 1}")


def range_backward(context: FaultContext, response: Response) -> Response:
    """Less is stored than was said before; the bytes are really gone."""
    session, to = context.session, int(context.option("to"))
    if session is None or session.finished or to >= session.blob.size:
        return response
    if response.status != 308 and not response.header(RECEIVED):
        return response
    session.lose(to)
    if response.header(RECEIVED):
        context.fire(size_told=to)
        response.set_header(RECEIVED, str(to))
        return response
    return _range(context, response, f"bytes=0-{to - 1}" if to else "")
