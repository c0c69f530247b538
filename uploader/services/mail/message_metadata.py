"""Reads the input `metadata` of a mail: Gmail's Message, or the Draft that a message stands in.

Source: developers.google.com/gmail/api/reference/rest/v1/users.messages and users.drafts. What the fields mean is the
service's to say; told here is what it would pass over in silence, and a message that could not be sent.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services import map_inputs
from uploader.services.mail import message_file

_OF_A_MESSAGE = ("threadId", "labelIds", "raw")


def read(inputs: Inputs, *, draft: bool, mail: bool) -> dict[str, Any]:
    """The resource: a Draft if `draft`, else a Message; `mail` = a message goes along. Raises InputError."""
    resource = map_inputs.read_metadata(inputs.metadata)
    problems = Problems()
    for name in _OF_A_MESSAGE if draft else ("message",):
        if name in resource:
            accepted = '{"message": {"threadId": "…"}} for a draft, {"threadId": "…"} for a message'
            problems.add("metadata", f"has `{name}` in the wrong place.", accepted)
    message = _message(resource) if draft else resource
    _check(message, problems)
    if "raw" in message and mail:
        problems.add(
            "metadata", "holds a message in `raw`, and the other inputs describe one as well.", "one of the two"
        )
    elif "raw" in message:
        _check_raw(message["raw"], problems, to_send=inputs.gmail_action in {"send", "draft-send"})
    problems.raise_if_any()
    return resource


def holds_message(resource: Mapping[str, Any]) -> bool:
    """Whether the whole message is in the metadata itself, so that nothing has to be uploaded."""
    return "raw" in resource or "raw" in _message(resource)


def _message(draft: Mapping[str, Any]) -> Mapping[str, Any]:
    message = draft.get("message")
    return message if isinstance(message, dict) else {}


def _check(message: Mapping[str, Any], problems: Problems) -> None:
    thread, labels = message.get("threadId", "-"), message.get("labelIds", [])
    if not isinstance(thread, str) or not thread:
        problems.add("metadata", "`threadId` is not the id of a thread.", "text")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        problems.add("metadata", "`labelIds` is not a list of labels.", '["INBOX", "Label_1"]')


def _check_raw(raw: object, problems: Problems, *, to_send: bool) -> None:
    text = "".join(str(raw).split()).rstrip("=")
    try:
        message = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        faults = message_file.faults(message_file.normalised(message), to_send=to_send)
    except binascii.Error:
        faults = ("is not base64url.",)
    except ValueError as error:  # no message, or no ASCII
        faults = (str(error),)
    for fault in faults:
        problems.add("metadata", f"`raw` {fault}", "an RFC 822 message in base64url")
