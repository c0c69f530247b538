"""Reads from a service's response the digests and the size of what it stored, in any of the forms
that Google's APIs use.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uploader.http.headers import Headers

_HEX_FIELDS = {
    "sha256": "sha256",
    "sha256Checksum": "sha256",
    "sha1": "sha1",
    "sha1Checksum": "sha1",
    "md5Checksum": "md5",
    "md5Hash": "md5",  # base64 in Cloud Storage
    "crc32c": "crc32c",  # base64, the highest byte first
}
# Where else the service itself writes digests; any other object (`metadata`, `properties`) holds
# what people put there.
_HOLDERS = ("binary", "image")
# bytes of each digest; the algorithm that is worth most for its cost comes first
_LENGTHS = {
    "sha256": 32,
    "crc32c": 4,
    "sha1": 20,
    "md5": 16,
}
_URL_SAFE = str.maketrans("-_", "+/")
_HEX = re.compile(r"[0-9a-fA-F]+", re.ASCII)
_SIZE = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True)
class Claim:
    """The service says that the `algorithm` digest of what it stored is `value` (lower-case
    hex).
    """

    algorithm: str
    value: str
    field: str


def claims(resource: Mapping[str, Any], headers: Headers) -> tuple[Claim, ...]:
    """Return every digest in a response: in the resource, one level below it (`binary`, `image`),
    and in `x-goog-hash`.
    """
    stated = list(_fields(resource))
    for holder in _HOLDERS:
        nested = resource.get(holder)
        if isinstance(nested, Mapping):
            stated += _fields(nested)
    header = headers.get("x-goog-hash")
    if header:
        stated += _goog_hash(header)
    return tuple(stated)


def decisive(stated: Collection[Claim], computed: Container[str]) -> tuple[Claim, ...]:
    """Return the claims to be checked: those whose algorithm is among the `computed` ones, else
    those of the best algorithm.

    Any of them shows whether the bytes arrived, so the file is not read again for another one.
    """
    ready = tuple(claim for claim in stated if claim.algorithm in computed)
    if ready:
        return ready
    for algorithm in _LENGTHS:
        best = tuple(claim for claim in stated if claim.algorithm == algorithm)
        if best:
            return best
    return ()


def stated_size(resource: Mapping[str, Any]) -> int | None:
    """Return the size in bytes that the resource states for the media (`size`); None if it states
    none, or the media was converted.
    """
    media_type = str(resource.get("mimeType", ""))
    if media_type.startswith("application/vnd.google-apps."):
        # Drive has converted the file into a document of its own.
        return None
    value = resource.get("size")
    # Python counts a boolean among the integers.
    if isinstance(value, bool):
        return None
    if not isinstance(value, int | str):
        return None
    text = str(value)
    if not _SIZE.fullmatch(text):
        return None
    return int(text)


def _fields(level: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield every digest in the fields of one object."""
    for field, algorithm in _HEX_FIELDS.items():
        value = level.get(field)
        if isinstance(value, str) and value:
            yield _claim(algorithm, value, field)


def _goog_hash(header: str) -> Iterator[Claim]:
    """Yield every digest in the header `x-goog-hash: crc32c=…,md5=…`."""
    for item in header.split(","):
        name, _, value = item.strip().partition("=")
        if name in _LENGTHS and value:
            yield _claim(name, value, "x-goog-hash")


def _claim(algorithm: str, value: str, field: str) -> Claim:
    """Return the claim of a digest that is written in hex or base64."""
    length = _LENGTHS[algorithm]
    return Claim(
        algorithm,
        value=normal(value, length),
        field=field,
    )


def normal(text: str, length: int) -> str:
    """Return a digest written in hex or base64 as lower-case hex; a text that is neither is cut at
    100 characters and will match nothing.
    """
    hex_length = 2 * length
    if len(text) == hex_length and _HEX.fullmatch(text):
        return text.lower()
    standard = text.translate(_URL_SAFE)
    try:
        digest = base64.b64decode(standard, validate=True)
    except (binascii.Error, ValueError):
        return text[:100]
    if len(digest) != length:
        return text[:100]
    return digest.hex()
