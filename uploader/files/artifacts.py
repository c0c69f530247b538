"""Finds the files of a run: patterns and paths become frozen artifacts, checked before anything is sent.

The order is that of the patterns, and within one pattern that of the names (by code point), so that every machine of a
matrix sees the same list. What is found here is only looked at; `difference` tells whether it is still the same file
when it is sent.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uploader.errors import InputError, Problem
from uploader.files.globbing import UnreadableFolder, expand, has_wildcard
from uploader.problems import Problems

if TYPE_CHECKING:
    from uploader.files.android.manifest import Manifest

STREAM = "-"
_CREDENTIALS = "gha-creds-*.json"
OUTSIDE = "is outside the workspace, which only `allow-outside-workspace: true` permits"
_ACCEPTED = "paths and globs (*, ?, [a-z], **) relative to the workspace, or - for a stream"


class Artifact(NamedTuple):
    """One file as it was found: everything needed to recognise it again and to notice a change while it is sent.

    `name` is how people see it (relative to the workspace, always printable as UTF-8), `location` is where the bytes
    are (`-` is standard input): text, since a path object takes four times the memory and there may be many. `size` is
    in bytes, None for a stream. `identity` is (device, inode, mtime in nanoseconds). Small generated content (a
    composed mail) travels in `data` instead of a file.
    """

    name: str
    location: str
    size: int | None
    identity: tuple[int, int, int] = (0, 0, 0)
    manifest: Manifest | None = None
    data: bytes | None = None

    @property
    def path(self) -> Path:
        """The location, to work with."""
        return Path(self.location)


def find(
    patterns: Sequence[str],
    workspace: Path,
    *,
    allow_outside: bool = False,
    shard: tuple[int, int] | None = None,
) -> tuple[Artifact, ...]:
    """The files that the patterns name, each once. Raises InputError with every problem found (name `files`).

    A text that is the exact name of a file is that file, whatever brackets it holds; anything else is a glob. `*` and
    `**` pass over names that begin with a dot, and `**` does not follow links to folders. With `shard` (k, n) only the
    k-th of n parts is returned (see `part`); it is empty when there are fewer files than parts.
    """
    search = _FileSearch(workspace, allow_outside)
    for pattern in patterns:
        search.add(pattern)
    search.problems.raise_if_any()
    found = tuple(search.found.values())
    return part(found, *shard) if shard else found


def part(files: tuple[Artifact, ...], k: int, n: int) -> tuple[Artifact, ...]:
    """The k-th (from 1) of n contiguous parts of the whole list; their lengths differ by one at most.

    The cut depends on nothing but the list, so the parts of one matrix are disjoint and together they are everything.
    """
    return files[len(files) * (k - 1) // n : len(files) * k // n]


def inspect(artifact: Artifact) -> Artifact:
    """The artifact with its manifest, read from the APK or bundle. Raises InputError when it is neither, or damaged."""
    if artifact.size is None or artifact.data is not None:
        raise InputError(Problem("files", f"{artifact.name} is a stream; an APK or bundle has to be a file."))
    from uploader.files.android import manifest  # four parsers that a run without Android artifacts does without

    return artifact._replace(manifest=manifest.read(artifact.path, artifact.name))


def identity(status: os.stat_result) -> tuple[int, int, int]:
    """What tells one state of one file from another, beside its size: device, inode, mtime in nanoseconds."""
    return (status.st_dev, status.st_ino, status.st_mtime_ns)


def difference(artifact: Artifact, status: os.stat_result) -> str:
    """How a file differs today from what was found, in words; empty when it is the same one and was not touched."""
    if status.st_size != artifact.size:
        return f"its size was {artifact.size} bytes and is {status.st_size}"
    return "" if identity(status) == artifact.identity else "it was rewritten or replaced"


def from_path(path: Path, name: str, *, input_name: str = "files", within: Path | None = None) -> Artifact:
    """One regular file that an input of its own names (`mapping-file`, an image). Raises InputError for that input.

    Its real path may not leave the folder `within`; None allows every place.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise InputError(Problem(input_name, f"{printable(name)} can't be read: {_reason(error)}.")) from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(Problem(input_name, f"{printable(name)} is not a regular file."))
    if within is not None and not is_within(path, within):
        raise InputError(Problem(input_name, f"{printable(name)} {OUTSIDE}."))
    return Artifact(printable(name), str(path), status.st_size, identity(status))


def is_within(path: Path, folder: Path) -> bool:
    """Whether the real path, all links followed, is inside the folder's real path."""
    return os.path.realpath(path).startswith(os.path.realpath(folder).rstrip("/") + "/")


def printable(name: str) -> str:
    """The name as text that any UTF-8 output takes: bytes that are no UTF-8 (surrogates in Python) become `?`."""
    return name.encode("utf-8", "replace").decode("utf-8")


class _FileSearch:
    """Collects files and problems over all patterns; the links of a folder are resolved once, not once a file."""

    def __init__(self, workspace: Path, allow_outside: bool) -> None:
        self.found: dict[str, Artifact] = {}  # by real path
        self.problems = Problems()
        self._workspace = workspace
        self._root = os.path.realpath(workspace).rstrip("/") + "/"
        self._allow_outside = allow_outside
        self._real_folders: dict[str, str] = {}

    def add(self, pattern: str) -> None:
        if pattern == STREAM:
            self.found.setdefault(STREAM, Artifact(STREAM, STREAM, None))
            return
        try:
            names, exact = self._names(pattern)
        except (UnreadableFolder, OSError, ValueError) as error:
            self._wrong(f"`{printable(pattern)}`: {_reason(error)}.")
            return
        if not sum(self._take(name, exact) for name in names):
            self._wrong(self._nothing(pattern, names))

    def _names(self, pattern: str) -> tuple[list[str], bool]:
        tidy = _tidy(pattern, self._workspace)
        if os.path.lexists(self._workspace / pattern):
            return [tidy], True
        return (sorted(expand(tidy, self._workspace)) if has_wildcard(pattern) else []), False

    def _take(self, name: str, exact: bool) -> bool:
        """Whether the name became a file of the run or a problem; folders and credentials are passed over."""
        path = self._workspace / name
        try:
            status = path.stat()
        except OSError as error:
            reason = "is a symbolic link to nothing" if path.is_symlink() else f"can't be read: {_reason(error)}"
            self._wrong(f"{printable(name)} {reason}.")
            return True
        real = self._real(path)
        if stat.S_ISDIR(status.st_mode) or (_is_credentials(path, real) and not exact):
            return False
        if objection := self._objection(path, real, status):
            self._wrong(f"{printable(name)} {objection}.")
            return True
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        self.found.setdefault(real, Artifact(printable(name), str(path), size, identity(status)))
        return True

    def _objection(self, path: Path, real: str, status: os.stat_result) -> str:
        if _is_credentials(path, real):
            return "contains credentials and is never uploaded"
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
            return "is neither a regular file nor a named pipe"
        if not (self._allow_outside or real.startswith(self._root)):
            return OUTSIDE
        return "" if os.access(path, os.R_OK) else "can't be read: permission denied"

    def _real(self, path: Path) -> str:
        if path.is_symlink():
            return os.path.realpath(path)
        folder = str(path.parent)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return f"{self._real_folders[folder].rstrip('/')}/{path.name}"

    def _nothing(self, pattern: str, names: Sequence[str]) -> str:
        what = f"`{printable(pattern)}` matches nothing"
        if names:
            return f"{what} that can be uploaded: only folders or credentials. Name the files, for example with `/**`."
        if pattern.startswith("~"):
            return f"{what}: `~` is not expanded."
        if pattern.startswith("/"):
            return f"{what}. Inside a container the workspace has another path: use a path relative to it."
        return f"{what} in {printable(str(self._workspace))}. Did an earlier step build it?"

    def _wrong(self, what: str) -> None:
        self.problems.add("files", what, _ACCEPTED)


def _is_credentials(path: Path, real: str) -> bool:
    """The key file that google-github-actions/auth leaves in the workspace, under its own name or behind a link."""
    return any(fnmatchcase(name, _CREDENTIALS) for name in (path.name, real.rpartition("/")[2]))


def _tidy(pattern: str, workspace: Path) -> str:
    """The pattern without empty and `.` segments, relative when it begins with the workspace's path; `..` stays."""
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if not pattern.startswith("/"):
        return "/".join(segments)
    root = [segment for segment in workspace.as_posix().split("/") if segment]
    inside = segments[: len(root)] == root and len(segments) > len(root)
    return "/".join(segments[len(root) :]) if inside else "/" + "/".join(segments)


def _reason(error: Exception) -> str:
    """What the system says in its own words; never the exception's text, which may repeat a whole hostile name."""
    if isinstance(error, UnreadableFolder):
        return f"the folder {printable(error.folder)} can't be read: {error.reason}"
    return (error.strerror or "it can't be read") if isinstance(error, OSError) else "it is not a valid path"
