"""Which digest a service states of what it stored, and how it is asked to: answers hold fewer fields than they could.

Cloud Storage states crc32c of every object, md5 of most. Drive states sha256 where it is asked for, once it holds the
bytes as they were sent (developers.google.com/drive/api/reference/rest/v3/files).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from uploader.services.method_parameters import Values


@dataclass(frozen=True)
class _Answer:
    """`field` states the digest `algorithm`; `usual` are the fields of an answer unless others are asked for, empty
    when these are all.
    """

    algorithm: str
    field: str
    usual: str = ""


_ANSWERS = {
    "/storage/v1/": _Answer("crc32c", "crc32c"),
    "/drive/v2/": _Answer("sha256", "sha256Checksum"),
    "/drive/v3/": _Answer("sha256", "sha256Checksum", "kind,id,name,mimeType"),
}


def asked_for(path: str, values: Values) -> tuple[str, Values]:
    """The digest that the method of this path states, empty when it is not known to, and `values` that ask for it.

    Every field that `values` ask for stays.
    """
    response = next((_ANSWERS[prefix] for prefix in _ANSWERS if path.startswith(prefix)), None)
    if response is None:
        return "", values
    wanted = "".join(values.get("fields", ())) or response.usual
    if not wanted or {response.field, "*"} & set(re.split(r"[\s,]+", wanted)):
        return response.algorithm, values
    return response.algorithm, {**values, "fields": (f"{wanted},{response.field}",)}
