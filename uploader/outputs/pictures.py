"""Where the job summary finds the images of a store listing: only at addresses that GitHub shows,
on Google's or the CI system's own servers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from uploader.hosts import image_host
from uploader.services.release_facts import ReleaseFacts

MAX_INDEX = 64 * 1024 * 1024  # bytes of Git's index
MAX_IMAGE = 16 * 1024 * 1024  # bytes
_PLAIN_URL = re.compile(r"https://[A-Za-z0-9.-]+/[\w/=.~-]{1,500}", re.ASCII)
_DIGEST = 20  # bytes of a SHA-1
_FLAGS = 2  # bytes between an entry's digest and its path (gitformat-index(5), version 2)


def committed_images(
    facts: Iterable[ReleaseFacts], raw_url: str, workspace: Path
) -> dict[str, str]:
    """Return the addresses of those images of the listing that are in the commit as they are here,
    by their paths. `raw_url` is the address below which the commit's files are served.
    """
    paths = {path for one in facts for image in one.images for path in image.added}
    if not (paths and raw_url):
        return {}
    try:
        index = _read(workspace / ".git" / "index", MAX_INDEX)
        return {
            path: raw_url + quote(path)
            for path in sorted(paths)
            if _is_committed(index, path, _read(workspace / path, MAX_IMAGE))
        }
    except OSError:
        return {}


def live_image(url: str) -> str:
    """Return the address of an image that Google serves to everybody; empty for any other."""
    return url if image_host(url) and _PLAIN_URL.fullmatch(url) else ""


def _read(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _is_committed(index: bytes, path: str, content: bytes) -> bool:
    """Whether Git's index has a file with exactly this content: it was not made by the job."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()
    name = path.encode() + b"\0"
    at = index.find(name)
    while at >= 0:
        end = at - _FLAGS
        if index[end - _DIGEST : end] == blob:
            return True
        at = index.find(name, at + 1)
    return False
