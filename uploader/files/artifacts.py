"""Finds the files of a run: patterns and paths become frozen artifacts, checked before anything is sent.

The order is that of the patterns, and within one pattern that of the names (by code point), so that every machine of a
matrix sees the same list. What is found here is only looked at: `Artifact.open` passes the workspace's door once more,
and gives out nothing but the very file that was found.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cache, lru_cache, partial
from pathlib import Path

from uploader.errors import InputError, IntegrityError, Problem
from uploader.files.android.manifest import Manifest, read_manifest
from uploader.files.workspace import (
    ANYWHERE,
    LOGIN_FILE,
    Access,
    NotOpened,
    Workspace,
    is_login_file,
    path_hint,
    printable,
    reason,
)
from uploader.input_problems import Problems

STREAM = "-"
_ACCEPTED = "paths and globs (*, ?, [a-z], **) relative to the workspace, or - for a stream"


@dataclass(frozen=True)
class Artifact:
    """One file as it was found: everything needed to recognise it again and to notice a change while it is sent.

    `name` is how people see it (relative to the workspace, always printable as UTF-8), `location` is where the bytes
    are (`-` is standard input): text, since a path object takes four times the memory and there may be many. `size` is
    in bytes, None for a stream. `identity` is (device, inode, mtime in nanoseconds). Small generated content (a
    composed mail) travels in `data` instead of a file. `access` is what the input that named it may open.
    """

    name: str
    location: str
    size: int | None
    identity: tuple[int, int, int] = (0, 0, 0)
    manifest: Manifest | None = None
    data: bytes | None = None
    access: Access = ANYWHERE

    @property
    def path(self) -> Path:
        """The location, to work with."""
        return Path(self.location)

    @property
    def certificate_sha256(self) -> str:
        """SHA-256 of the certificate that signed it, as far as it was inspected; of several signers, with commas."""
        return ",".join(signer.sha256 for signer in self.manifest.signers) if self.manifest else ""

    def open(self) -> io.FileIO | io.BytesIO:
        """The file that was found, unbuffered. Raises IntegrityError for any other that is in its place by now."""
        if self.data is not None:
            return io.BytesIO(self.data)
        try:
            file = self.access.open(self.location, pipe=self.size is None)
        except NotOpened as refusal:
            raise changed(self, f"it {refusal}") from None
        if how := difference(self, os.fstat(file.fileno())):
            file.close()
            raise changed(self, how)
        return file

    def reader(self) -> io.BufferedReader:
        """The same, buffered: for whoever takes it apart."""
        return io.BufferedReader(self.open())


def find(patterns: Sequence[str], workspace: Workspace) -> tuple[Artifact, ...]:
    """The files that the patterns name, each once. Raises InputError with every problem found (name `files`).

    A text that is the exact name of a file is that file, whatever brackets it holds; anything else is a glob. `*` and
    `**` pass over names that begin with a dot, and `**` does not follow links to folders.
    """
    search = _FileSearch(workspace)
    for pattern in patterns:
        search.add(pattern)
    search.problems.raise_if_any()
    return tuple(search.found.values())


def part(files: tuple[Artifact, ...], k: int, n: int) -> tuple[Artifact, ...]:
    """The k-th (from 1) of n contiguous parts of the whole list; their lengths differ by one at most.

    The cut depends on nothing but the list, so the parts of one matrix are disjoint and together they are everything.
    """
    return files[len(files) * (k - 1) // n : len(files) * k // n]


def inspect(artifact: Artifact) -> Artifact:
    """The artifact with its manifest, read from the APK or bundle. Raises InputError when it is neither, or damaged."""
    if artifact.size is None or artifact.data is not None:
        raise InputError(Problem("files", f"{artifact.name} is a stream; an APK or bundle has to be a file."))
    with artifact.reader() as file:
        return replace(artifact, manifest=read_manifest(file, artifact.name))


def identity(status: os.stat_result) -> tuple[int, int, int]:
    """What tells one state of one file from another, beside its size: device, inode, mtime in nanoseconds."""
    return (status.st_dev, status.st_ino, status.st_mtime_ns)


def difference(artifact: Artifact, status: os.stat_result) -> str:
    """How a file differs today from what was found, in words; empty when it is the same one and was not touched."""
    if artifact.size is None:  # writing into a pipe changes all but its place
        return "" if identity(status)[:2] == artifact.identity[:2] else "it was replaced"
    if status.st_size != artifact.size:
        return f"its size was {artifact.size} bytes and is now {status.st_size}"
    return "" if identity(status) == artifact.identity else "it was rewritten or replaced"


def changed(artifact: Artifact, how: str) -> IntegrityError:
    """The error for a file that is no longer the one that was found."""
    return IntegrityError(
        f"{artifact.name} changed during the upload: {how}.",
        cause="Something else is still writing to it, often a build step or a second job in the same workspace.",
        hint="Let the build finish before this step. Nothing was published from a file that changed.",
        code="file-changed",
    )


def from_path(path: Path, name: str, access: Access = ANYWHERE) -> Artifact:
    """One regular file that an input of its own names (`mapping-file`, an image). Raises InputError for that input."""
    with access.open_input(path, name) as file:
        status = os.fstat(file.fileno())
    return Artifact(printable(name), str(path), status.st_size, identity(status), access=access)


class _FileSearch:
    """Collects files and problems over all patterns; the links of a folder are resolved once, not once a file.

    Paths are text here: there may be many, and each path object leaves its names behind in the interpreter.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.found: dict[str, Artifact] = {}  # by real path
        self.problems = Problems()
        self._access = workspace.access()
        self._workspace = workspace.root
        self._real_folder = cache(os.path.realpath)

    def add(self, pattern: str) -> None:
        if pattern == STREAM:
            self.found.setdefault(STREAM, Artifact(STREAM, STREAM, None))
            return
        try:
            names, exact = self._names(pattern)
        except (OSError, ValueError) as error:
            folder = str(getattr(error, "filename", "")).removeprefix(f"{self._workspace}/")
            where = f"the folder {printable(folder)} can't be read: " if folder else ""
            self._wrong(f"`{printable(pattern)}`: {where}{reason(error)}.")
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
        path = os.path.join(self._workspace, name)  # noqa: PTH118  # text, see the class
        try:
            status = os.stat(path)  # noqa: PTH116  # text, see the class
        except OSError as error:
            missing = "is a broken symbolic link" if Path(path).is_symlink() else f"can't be read: {reason(error)}"
            self._wrong(f"{printable(name)} {missing}.")
            return True
        if stat.S_ISDIR(status.st_mode):
            return False
        real = self._real(path)
        objection = self._objection(path, real, status)
        if objection == LOGIN_FILE and not exact:
            return False
        if objection:
            self._wrong(f"{printable(name)} {objection}.")
            return True
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        file = Artifact(printable(name), path, size, identity(status), access=self._access)
        self.found.setdefault(real, file)
        return True

    def _objection(self, path: str, real: str, status: os.stat_result) -> str:
        if is_login_file(path.rpartition("/")[2]):
            return LOGIN_FILE
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
            return "is neither a regular file nor a named pipe"
        readable = "" if os.access(path, os.R_OK) else "can't be read: permission denied"
        return self._access.workspace.objection(real, status) or readable

    def _real(self, path: str) -> str:
        if os.path.islink(path):  # noqa: PTH114  # text, see the class
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        return f"{self._real_folder(folder).rstrip('/')}/{name}"

    def _nothing(self, pattern: str, names: Sequence[str]) -> str:
        what = f"'{printable(pattern)}' matches nothing"
        if names:
            return f"{what} that can be uploaded: only folders or credentials. Name the files, for example with `/**`."
        if pattern.startswith("~"):
            return f"{what}: `~` is not expanded."
        meant = printable(path_hint(pattern, self._workspace))
        if pattern.startswith("/"):
            relative = " Inside a container the workspace has another path: use a path relative to it."
            return f"{what}.{meant or relative}"
        return f"{what} in {printable(str(self._workspace))}.{meant or ' Did an earlier step build it?'}"

    def _wrong(self, what: str) -> None:
        self.problems.add("files", what, _ACCEPTED)


def _tidy(pattern: str, workspace: Path) -> str:
    """The pattern without empty and `.` segments, relative when it begins with the workspace's path; `..` stays."""
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if not pattern.startswith("/"):
        return "/".join(segments)
    root = [segment for segment in workspace.as_posix().split("/") if segment]
    inside = segments[: len(root)] == root and len(segments) > len(root)
    return "/".join(segments[len(root) :]) if inside else "/" + "/".join(segments)


_WILDCARD = re.compile(r"[*?\[]")
_Entries = Callable[[str], "list[os.DirEntry[str]]"]


def has_wildcard(pattern: str) -> bool:
    """Whether the text is a glob at all."""
    return _WILDCARD.search(pattern) is not None


def expand(pattern: str, root: Path) -> list[str]:
    """The names below `root` that match, unordered, each once; absolute if the pattern is.

    Raises OSError for a folder on the way that can't be listed: its files would be missing without a word.
    """
    segments = [segment for segment in pattern.split("/") if segment]
    entries = lru_cache(maxsize=1)(partial(_listed, root))  # two segments may go over one folder in a row
    found: list[str] = []
    visited: set[tuple[str, int]] = set()
    waiting = [("/" if pattern.startswith("/") else "", 0)]  # a folder, and how many segments led to it
    while waiting:
        here, position = waiting.pop()
        if (here, position) in visited:
            continue  # two `**` lead to the same place in many ways
        visited.add((here, position))
        for name, done in _step(root, entries, segments[position:], here):
            if position + done == len(segments):
                found.append(name)
            else:
                waiting.append((name, position + done))
    return found


def _step(root: Path, entries: _Entries, segments: Sequence[str], here: str) -> Iterator[tuple[str, int]]:
    """Where the first of the segments leads from a folder: names, and whether (1 or 0) the segment is done with."""
    segment, last = segments[0], len(segments) == 1
    if segment == "**":
        for entry in entries(here):
            if not entry.name.startswith(".") and (last or entry.is_dir(follow_symlinks=False)):
                yield _join(here, entry.name), int(not entry.is_dir(follow_symlinks=False))
        if not last:
            yield here, 1  # comes last, hence is taken first: the folder's list is still at hand
    elif has_wildcard(segment):
        matches = re.compile(translate(segment)).match
        for entry in entries(here):
            hidden = entry.name.startswith(".") and not segment.startswith(".")
            if not hidden and matches(entry.name) and (last or _is_folder(entry)):
                yield _join(here, entry.name), 1
    elif os.path.lexists(root / here / segment):
        yield _join(here, segment), 1


def _listed(root: Path, here: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / here) as entries:
            return list(entries)
    except NotADirectoryError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links, which is no folder
        return False


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder in ("", "/") else f"{folder}/{name}"
