"""What the services answer of a file that they have: the fields and digests that theirs have, none of them computed.

Cloud Storage states md5 and crc32c in base64 (cloud.google.com/storage/docs/json_api/v1/objects), Play sha1 and sha256
of a bundle (developers.google.com/android-publisher/api-ref/rest/v3/edits.bundles). Drive states what `fields` asks
for, and no digest unasked (developers.google.com/drive/api/guides/fields-parameter). YouTube states none.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DRIVE_UNASKED = "kind,id,name,mimeType"
_BOUNDARY = re.compile(r'boundary="?([^";]+)')


@dataclass(frozen=True)
class Method:
    """What is called: the path of the URL, and the parameter `fields`."""

    path: str
    fields: str = ""


def resource(method: Method, size: int, digests: Mapping[str, str]) -> dict[str, Any]:
    """The answer to an upload of `size` bytes, whose `digests` are given in hex by their names, or not at all."""
    if method.path.endswith("/bundles"):
        return {"versionCode": 1, **{name: digests[name] for name in ("sha1", "sha256") if name in digests}}
    if "/drive/" in method.path:
        names = {"kind": "drive#file", "id": "1", "name": "o", "mimeType": "application/octet-stream"}
        sums = {f"{name}Checksum": digests[name] for name in ("md5", "sha1", "sha256") if name in digests}
        return _only(method.fields or _DRIVE_UNASKED, {**names, "size": str(size), **sums})
    if "/youtube/" in method.path:
        return {"kind": "youtube#video", "id": "1"}
    names = {"kind": "storage#object", "id": "b/o/1", "name": "o", "bucket": "b", "generation": "1"}
    times = dict.fromkeys(("timeCreated", "updated"), "2026-01-01T00:00:00.000Z")
    known = ((field, name) for field, name in (("md5Hash", "md5"), ("crc32c", "crc32c")) if name in digests)
    sums = {field: base64.b64encode(bytes.fromhex(digests[name])).decode() for field, name in known}
    return _only(method.fields, {**names, **times, "metageneration": "1", "size": str(size), **sums})


def _only(fields: str, whole: dict[str, Any]) -> dict[str, Any]:
    """Some of the fields; all without a choice."""
    return {name: value for name, value in whole.items() if fields in ("", "*") or name in fields.split(",")}


def media_size(body: bytes, content_type: str) -> int:
    """How many bytes of a multipart/related body are the file: its second part (RFC 2387)."""
    found = _BOUNDARY.search(content_type)
    assert found, content_type
    return body.split(b"\r\n\r\n", 2)[2].rindex(f"\r\n--{found[1]}--".encode())
