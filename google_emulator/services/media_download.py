"""Downloads with `alt=media`: the bytes of a stored file, all of them or a range, with their digests beside them."""

from __future__ import annotations

import re
from pathlib import Path

from google_emulator.http.request import Request
from google_emulator.http.response import Headers, Response

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))")


def media_response(request: Request, file: Path, headers: Headers) -> Response:
    """The file, or the one range of it that the request asks for (RFC 9110, section 14); `headers` are added."""
    size = file.stat().st_size
    headers = [*headers, ("Accept-Ranges", "bytes")]
    found = _RANGE.fullmatch(request.header("Range"))
    if found is None:
        return Response(200, file.read_bytes(), headers)
    first, last, suffix = (None if part is None else int(part) for part in found.groups())
    start = max(0, size - (suffix or 0)) if first is None else first
    stop = size if last is None else min(size, last + 1)
    if start >= stop:
        return Response(416, b"", [("Content-Range", f"bytes */{size}")])
    with file.open("rb") as opened:
        opened.seek(start)
        data = opened.read(stop - start)
    return Response(206, data, [*headers, ("Content-Range", f"bytes {start}-{stop - 1}/{size}")])
