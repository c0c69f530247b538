"""One JSON call to an API, repeated where a second effect is impossible or does no harm."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from uploader.errors import OutcomeUnknown, ProtocolError
from uploader.http.messages import Body, Request, Response, TransportError
from uploader.protocol.media import JSON_TYPE
from uploader.reporting import Reporter
from uploader.services.base import Call
from uploader.text import capitalised
from uploader.transfer.api_client import ApiClient, last_failure


def call(step: Call, client: ApiClient, reporter: Reporter) -> Any:
    """The decoded JSON answer of a call ({} when it is empty).

    Raises `ApiError` in the service's own words, `CredentialsError` after a second 401, `TemporaryError` when the
    retries are spent, `OutcomeUnknown` when a call that must not be repeated may have been obeyed, `ProtocolError` for
    an answer that is no JSON.
    """
    what = step.what or f"{step.method} {step.path}"
    request = _request(step, client)
    response = client.request_with_retries(
        # The answer to a call with an effect is worth waiting for: a commit takes over a minute at times.
        lambda: client.exchange(request, final=not step.idempotent, path=step.path),
        client.policy.retrier(lambda wait: reporter.info(f"{capitalised(what)}: {wait}"), what),
        what,
        idempotent=step.idempotent,
        lost=lambda response: _lost(response, what),
        retry_on=step.retry_on,
    )
    return _decoded(response, what)


def _request(step: Call, client: ApiClient) -> Request:
    query = f"?{urlencode(step.query)}" if step.query else ""
    url = client.url(step.root, step.path) + query
    if step.json is None:
        return Request(step.method, url, closing=step.closing)
    return Request(step.method, url, (("Content-Type", JSON_TYPE),), Body(json.dumps(step.json).encode()))


def _lost(response: Response | TransportError, what: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"It is not known whether {what} took effect: {last_failure(response)}.",
        cause="The answer was lost on the way, or the service failed after it had started on the request.",
        hint="It was not retried, because it must not happen twice. Check whether it took effect before you run again.",
    )


def _decoded(response: Response, what: str) -> Any:
    if not response.body.strip():
        return {}
    decoded = response.json()
    if decoded is None:
        raise ProtocolError(
            f"The answer to {what} is not JSON.",
            cause="A proxy or a login page answered instead of the service.",
            hint="Check `api-endpoint` and the proxy settings of this machine.",
        )
    return decoded
