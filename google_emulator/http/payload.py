"""The body of a plain call as clients really send it: some compress it, some put the query into it as a form."""

from __future__ import annotations

import zlib
from email.message import Message
from urllib.parse import parse_qsl

from google_emulator.http.errors import ApiError

_GZIP = 16 + zlib.MAX_WBITS  # what zlib calls the format of gzip
_FORM = "application/x-www-form-urlencoded"


def decompressed(data: bytes, encoding: str, limit: int) -> bytes:
    """A body in its Content-Encoding; Google's Java client compresses its JSON.

    Raises `ApiError` 400 for what is not compressed so, 413 beyond `limit` bytes.
    """
    if encoding.lower() != "gzip" or not data:
        return data
    stream = zlib.decompressobj(_GZIP)
    try:
        whole = stream.decompress(data, limit + 1)
    except zlib.error:
        raise ApiError(400, "The request body is not compressed with gzip.") from None
    if len(whole) > limit:
        raise ApiError(413, "Request payload size exceeds the limit.", "requestTooLarge")
    if not stream.eof:
        raise ApiError(400, "The request body is not compressed with gzip.")
    return whole


def is_form(headers: Message) -> bool:
    """Whether the body is a form.

    Google's Ruby client (google-apis-core, in fastlane) puts the query of each POST without a body into one.
    """
    return headers.get_content_type() == _FORM


def form_fields(data: bytes) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    return dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
