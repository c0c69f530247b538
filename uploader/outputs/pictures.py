"""Where the job summary finds the images of a store listing: only at addresses that GitHub shows,
on Google's or the CI system's own servers.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from uploader.files.workspace import NotOpened, open_regular_file
from uploader.hosts import image_host
from uploader.services.release_facts import ReleaseFacts

MAX_INDEX = 64 * 1024 * 1024  # bytes of Git's index
MAX_REFS = 4 * 1024 * 1024  # bytes of a file of Git's references
MAX_IMAGE = 16 * 1024 * 1024  # bytes
_PLAIN_URL = re.compile(r"https://[A-Za-z0-9.-]+/[\w/=.~-]{1,500}", re.ASCII)
_BRANCH = re.compile(r"ref: (refs/[\w./-]+)", re.ASCII)
# gitformat-index(5), versions 2 and 3
_HEADER = struct.Struct(">4sII")  # signature, version, number of entries
_ENTRY = struct.Struct(">40x20sH")  # file's properties, SHA-1, flags
_EXTENSION = struct.Struct(">4sI")  # signature, bytes of what follows
_DIGEST = 20  # bytes of a SHA-1
_EXTENDED = 0x4000  # flag of an entry with two more bytes of flags
_STAGE = 0x3000  # flags of an entry that is in conflict


def committed_images(
    facts: Iterable[ReleaseFacts],
    raw_url: str,
    commit: str,
    workspace: Path,
) -> dict[str, str]:
    """Return the addresses, by their paths, of those images of the listing that are in the commit
    as they are here. `raw_url` is the address below which the commit's files are served.

    No image has an address unless the workspace is a checkout of this commit: GitHub would show
    another image, or none.
    """
    paths: set[str] = set()
    for release in facts:
        for image in release.images:
            paths.update(image.added)
    if not paths:
        return {}
    if not raw_url or not commit:
        return {}
    git = workspace / ".git"
    addresses = {}
    try:
        if _read_commit(git) != commit:
            return {}
        index = _read(git / "index", MAX_INDEX)
        blobs = _committed_blobs(index)
        for path in sorted(paths):
            content = _read(workspace / path, MAX_IMAGE)
            digest = _blob(content)
            if blobs.get(path) == digest:
                addresses[path] = raw_url + quote(path)
    except (NotOpened, OSError, ValueError, RecursionError, struct.error):
        return {}
    return addresses


def live_image(url: str) -> str:
    """Return the address of an image that Google serves to everybody; empty for any other."""
    if not image_host(url):
        return ""
    if not _PLAIN_URL.fullmatch(url):
        return ""
    return url


def _read(path: Path, limit: int) -> bytes:
    """Return the first bytes of a regular file, `limit` at most. Raises NotOpened and OSError."""
    with io.BufferedReader(open_regular_file(path)) as file:
        return file.read(limit)


def _blob(content: bytes) -> bytes:
    """Return the digest under which Git has a file with this content."""
    header = b"blob %d\0" % len(content)
    sha1 = hashlib.sha1(header + content, usedforsecurity=False)
    return sha1.digest()


def _read_commit(git: Path) -> str:
    """Return the commit that is checked out; "" if it is not found."""
    head = _read_reference(git / "HEAD")
    branch = _BRANCH.fullmatch(head)
    if branch is None:
        return head
    name = branch[1]
    if ".." in name:
        return ""
    loose = git / name
    if loose.exists():
        return _read_reference(loose)
    content = _read(git / "packed-refs", MAX_REFS)
    packed = content.decode("utf-8")
    for line in packed.splitlines():
        commit, _, reference = line.partition(" ")
        if reference == name:
            return commit
    return ""


def _read_reference(path: Path) -> str:
    """Return what one of Git's reference files holds: a commit, or `ref: ` and a branch. Raises
    what `_read` does, and ValueError if the file is not ASCII.
    """
    content = _read(path, MAX_REFS)
    reference = content.decode("ascii")
    return reference.strip()


def _committed_blobs(index: bytes) -> dict[str, bytes]:
    """Return the digests of the files in the commit, by their paths.

    The index has what is staged, too. Its extension TREE names the folders in which nothing was
    staged since the checkout; the files of other folders are left out.

    Raises ValueError or struct.error for an index in another format.
    """
    signature, version, count = _HEADER.unpack_from(index)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError(version)
    blobs = {}
    at = _HEADER.size
    for _ in range(count):
        digest, flags = _ENTRY.unpack_from(index, at)
        begin = at + _ENTRY.size
        if flags & _EXTENDED:
            begin += 2
        end = index.index(b"\0", begin)
        if not flags & _STAGE:
            name = index[begin:end]
            path = name.decode("utf-8", "surrogateescape")
            blobs[path] = digest
        # An entry ends with one to eight zeros, at a multiple of eight bytes from its beginning.
        length = end - at
        at += length // 8 * 8 + 8
    unchanged = _unchanged_folders(index, at)
    committed = {}
    for path, digest in blobs.items():
        folder = PurePosixPath(path).parent
        if str(folder) in unchanged:
            committed[path] = digest
    return committed


def _unchanged_folders(index: bytes, at: int) -> set[str]:
    """Return the folders that are the same in the index and in the commit; `.` is the topmost one.
    The extensions begin at the byte `at`.
    """
    while at < len(index) - _DIGEST:
        signature, size = _EXTENSION.unpack_from(index, at)
        at += _EXTENSION.size
        if signature == b"TREE":
            folders: set[str] = set()
            _read_tree(index, at, PurePosixPath(), folders)
            return folders
        at += size
    return set()


def _read_tree(
    index: bytes,
    at: int,
    parent: PurePosixPath,
    unchanged: set[str],
) -> int:
    """Add a folder and those in it to `unchanged` if they are, and return where the next begins.

    An entry consists of the folder's name, a zero, the number of its files, which is negative if
    something in it has changed, the number of folders in it, and its SHA-1 unless it has changed.
    """
    name_end = index.index(b"\0", at)
    line_end = index.index(b"\n", name_end)
    name = index[at:name_end]
    folder = parent / name.decode("utf-8", "surrogateescape")
    counts = index[name_end + 1 : line_end]
    files, folders = counts.split(b" ")
    at = line_end + 1
    if int(files) >= 0:
        unchanged.add(str(folder))
        at += _DIGEST
    for _ in range(int(folders)):
        at = _read_tree(index, at, folder, unchanged)
    return at
