"""Calls a method that takes media without any: the metadata alone goes to the resource's own URI, without /upload.

Source: "Metadata URI, for metadata-only requests", developers.google.com/gmail/api/guides/uploads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from uploader.errors import Interrupted, OutcomeUnknown, ProtocolError, UploaderError
from uploader.services.base import Call, Endpoint, Publish, Recall, Remember, Steps, Time

_CHECK = "Check what the service has before you run again."


def send(endpoint: Endpoint, metadata: Mapping[str, Any], what: str) -> Steps[dict[str, Any]]:
    """The service's answer, whose id becomes an output. Raises ProtocolError for an answer without an id."""
    method, root, path, query = endpoint.http_method, endpoint.root, endpoint.path, endpoint.query
    try:
        response: dict[str, Any] = yield Call(
            method, root, path, query, json=dict(metadata), idempotent=endpoint.idempotent, what=what
        )
    except Interrupted as stopped:
        if stopped.unanswered and not endpoint.idempotent:
            stopped.hint = f"It is not known whether {what} took effect. {_CHECK}"
        raise
    named = endpoint.identify(response)
    if not named:
        raise ProtocolError(f"The service answered {what} without the id of what it made.", hint=_CHECK)
    yield Publish({}, ids=(named,))  # no upload tells it
    return response


def send_once(endpoint: Endpoint, metadata: Mapping[str, Any], what: str) -> Steps[dict[str, Any]]:
    """As `send`, with a note meanwhile where a repeat would add a second one: there is no session to ask.

    Raises OutcomeUnknown where an earlier run left such a note, once.
    """
    if endpoint.idempotent:
        return (yield from send(endpoint, metadata, what))
    key = f"metadata {endpoint.id} {endpoint.path} {json.dumps(metadata, sort_keys=True)}"
    kept: str | None = yield Recall(key)
    if kept:
        yield Remember(key, None)
        raise begun_before(what, kept)
    now: float = yield Time()
    yield Remember(key, minute(datetime.fromtimestamp(now, timezone.utc)))
    try:
        response = yield from send(endpoint, metadata, what)
    except UploaderError as error:
        if not unanswered(error):
            yield Remember(key, None)
        raise
    yield Remember(key, None)
    return response


def unanswered(error: UploaderError) -> bool:
    """Whether a signal ended the run between a whole request and its answer: what it asked for may have been done."""
    return isinstance(error, Interrupted) and error.unanswered


def begun_before(what: str, when: str, remedy: str = "") -> OutcomeUnknown:
    """The error for a mail that a run began and said no more of, without a session that could be asked."""
    return OutcomeUnknown(
        f"It is not known whether {what} still has to be sent: a run began it at {when} UTC.",
        cause="That run was ended before it could report, or `state-dir` was restored to an older state.",
        hint=f"Check the sent mail of the mailbox before you run again. The next run sends it. {remedy}".rstrip(),
    )


def minute(moment: datetime) -> str:
    """A moment in UTC as `begun_before` tells it."""
    return f"{moment:%Y-%m-%d %H:%M}"
