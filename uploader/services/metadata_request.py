"""Calls a method that takes media without any: the metadata alone goes to the resource's own URI, without /upload.

Source: "Metadata URI, for metadata-only requests", developers.google.com/gmail/api/guides/uploads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uploader.errors import ProtocolError
from uploader.services.base import Call, Endpoint, Publish, Steps


def send(endpoint: Endpoint, metadata: Mapping[str, Any], what: str) -> Steps[dict[str, Any]]:
    """The service's answer, whose id becomes an output. Raises ProtocolError for an answer without an id."""
    answer: dict[str, Any] = yield Call(
        endpoint.http_method,
        endpoint.root,
        endpoint.path,
        endpoint.query,
        json=dict(metadata),
        repeatable=endpoint.repeatable,
        what=what,
    )
    named = endpoint.identify(answer)
    if not named:
        cure = "Check what the service has before you run again."
        raise ProtocolError(f"The service answered {what} without the id of what it made.", cure=cure)
    yield Publish({}, ids=(named,))  # no upload tells it
    return answer
