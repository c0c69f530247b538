"""The body of a plain call as some clients really send it: a form, with what belongs into the query."""

from __future__ import annotations

from email.message import Message
from urllib.parse import parse_qsl

_FORM = "application/x-www-form-urlencoded"


def is_form(headers: Message) -> bool:
    """Whether the body is a form.

    Google's Ruby client (google-apis-core, in fastlane) puts the query of each POST without a body into one.
    """
    return headers.get_content_type() == _FORM


def form_fields(data: bytes) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    return dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
