"""Choose the media type of a file by its first bytes and its name; if the two disagree, the bytes
decide.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Sequence
from posixpath import splitext

from uploader.files.artifacts import Artifact

OCTETS = "application/octet-stream"
_HEAD = 512

# Signatures at the beginning of a file. A name that claims one of these types is ignored when the
# bytes do not have its signature.
_SIGNATURES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("image/bmp", re.compile(rb"BM.{4}\0\0\0\0", re.DOTALL)),
    ("image/tiff", re.compile(rb"II\*\0|MM\0\*")),
    ("application/pdf", re.compile(rb"%PDF-")),
    ("application/zip", re.compile(rb"PK(\x03\x04|\x05\x06)")),
    ("application/gzip", re.compile(rb"\x1f\x8b\x08")),
    ("video/mp4", re.compile(rb"....ftyp(?!qt  )", re.DOTALL)),
    ("video/quicktime", re.compile(rb"....ftypqt  ", re.DOTALL)),
    ("video/webm", re.compile(rb"\x1a\x45\xdf\xa3.{0,64}webm", re.DOTALL)),
    ("video/x-matroska", re.compile(rb"\x1a\x45\xdf\xa3.{0,64}matroska", re.DOTALL)),
)
# Formats that many others are built on, so the name says more than the bytes.
_CONTAINERS = {"application/zip", "application/gzip", "video/mp4"}
_OFFICE = "application/vnd.openxmlformats-officedocument."
_EXTENSIONS = {
    ".aab": OCTETS,
    ".apk": "application/vnd.android.package-archive",
    ".crx": "application/x-chrome-extension",
    ".deb": "application/vnd.debian.binary-package",
    ".dmg": "application/x-apple-diskimage",
    ".docx": f"{_OFFICE}wordprocessingml.document",
    ".heic": "image/heic",
    ".ipa": OCTETS,
    ".jar": "application/java-archive",
    ".md": "text/markdown",
    ".pptx": f"{_OFFICE}presentationml.presentation",
    ".rpm": "application/x-rpm",
    ".xlsx": f"{_OFFICE}spreadsheetml.sheet",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
# Python's own tables only. `mimetypes.guess_type` would also read those of the machine, which takes
# time and gives other types on another runner.
_TYPES = {**mimetypes.common_types, **mimetypes.types_map, **_EXTENSIONS}


def head(artifact: Artifact, count: int = _HEAD) -> bytes:
    """Return the first `count` bytes; none of a stream, which can be read only once."""
    if artifact.size is None:
        return b""
    with artifact.reader() as file:
        return file.read(count)


def sniff(first: bytes) -> str:
    """Return the media type that the first bytes prove; empty if they prove none."""
    for kind, signature in _SIGNATURES:
        if signature.match(first):
            return kind
    return ""


def kinds(artifact: Artifact) -> tuple[str, ...]:
    """Return the media types that fit the file, the best first; never empty."""
    proven = sniff(head(artifact))
    extension = splitext(artifact.name)[1].lower()
    claimed = _TYPES.get(extension, "")
    has_signature = claimed in dict(_SIGNATURES)
    if has_signature and claimed != proven and artifact.size is not None:
        claimed = ""
    if not proven or proven in _CONTAINERS:
        order = (claimed, proven, OCTETS)
    else:
        order = (proven, claimed, OCTETS)
    return tuple(dict.fromkeys(kind for kind in order if kind))


def choose(artifact: Artifact, accepted: Sequence[str]) -> str:
    """Return the best media type of the file that the method accepts; empty if it accepts none of
    them.
    """
    for kind in kinds(artifact):
        if accepts(accepted, kind):
            return kind
    return ""


def accepts(accepted: Sequence[str], kind: str) -> bool:
    """Return whether one of the patterns (`*/*`, `image/*`, `application/zip`) covers the type;
    parameters of the type are ignored.
    """
    essence, _, _ = kind.partition(";")
    essence = essence.strip().lower()
    family, _, _ = essence.partition("/")
    return not {"*/*", f"{family}/*", essence}.isdisjoint(accepted)
