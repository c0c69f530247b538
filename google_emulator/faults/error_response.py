"""The error that a fault was asked to answer with."""

from __future__ import annotations

from google_emulator.faults.fault_queue import Fault
from google_emulator.http.errors import ApiError
from google_emulator.http.response import Json, Response

ERROR_OPTIONS: dict[str, Json] = {
    "status": 503,
    "message": "The service is currently unavailable.",
    "reason": "",
    "retry_after": None,
    "headers": {},
    "body": None,
    "content_type": "text/html; charset=UTF-8",
}


def error_response(fault: Fault) -> Response:
    """Google's error body, or the text that was asked for; the fault has `ERROR_OPTIONS`."""
    options = fault.options
    response = ApiError(options["status"], options["message"], options["reason"]).response()
    if options["body"] is not None:
        headers = [("Content-Type", options["content_type"])]
        response = Response(options["status"], str(options["body"]).encode(), headers)
    response.headers += [(name, str(value)) for name, value in options["headers"].items()]
    if options["retry_after"] is not None:
        response.headers.append(("Retry-After", str(options["retry_after"])))
    return response
