"""Finds the files of a run: patterns and paths become frozen artifacts, checked before anything is
sent.

The order is that of the patterns, and within one pattern that of the names (by code point), so that
every machine of a matrix sees the same list. What is found here is only looked at: `Artifact.open`
passes the workspace's door once more, and gives out nothing but the very file that was found.
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, TypeAlias

from uploader.errors import InputError, IntegrityError, Problem, Problems
from uploader.files.android.manifest import Manifest, read_manifest
from uploader.files.checked_content import CheckedFile, digest_blocks
from uploader.files.workspace import (
    ANYWHERE,
    LOGIN_FILE,
    Access,
    NotOpened,
    Workspace,
    path_hint,
    printable,
    reason,
)

STREAM = "-"
# bytes that Google Play accepts; discovery documents, `maxSize`
MAX_ARTIFACT: Mapping[str, int] = {
    "bundle": 53_687_091_200,  # edits.bundles.upload: 50 GiB
    "apk": 10_737_418_240,  # edits.apks.upload: 10 GiB
}
Identity: TypeAlias = tuple[int, int, int, int]
_WILDCARD = re.compile(r"[*?\[]")
_FEW = 3  # names that are listed one by one
_ACCEPTED = "paths and globs (*, ?, [a-z], **) relative to the workspace, or - for a stream"


@dataclass(frozen=True)
class Artifact:
    """One file as it was found: everything needed to recognise it again and to notice a change
    while it is sent.

    `name` is how people see it (relative to the workspace, always printable as UTF-8), `location`
    is where the bytes are (`-` is standard input): text, since a path object takes four times the
    memory and there may be many. `size` is in bytes, None for a stream. `identity` is (device,
    inode, mtime, ctime), times in nanoseconds. Small generated content (a composed mail) travels in
    `data` instead of a file. `access` is what the input that named it may open. `digests` are those
    of its blocks when its content was checked, empty where only its identity was: of whatever has
    them, no other bytes can be read. `holder` keeps a file open that has no name of its own.
    """

    name: str
    location: str
    size: int | None
    identity: Identity = (0, 0, 0, 0)
    manifest: Manifest | None = None
    data: bytes | None = None
    access: Access = ANYWHERE
    digests: bytes = field(default=b"", repr=False)
    holder: object = field(default=None, repr=False, compare=False)

    @property
    def path(self) -> Path:
        """The location, to work with."""
        return Path(self.location)

    @property
    def certificate_sha256(self) -> str:
        """SHA-256 of the certificate that signed it, as far as it was inspected; of several
        signers, with commas.
        """
        return ",".join(signer.sha256 for signer in self.manifest.signers) if self.manifest else ""

    @property
    def version(self) -> str:
        """The version's name and code, as far as it was inspected."""
        return self.manifest.version if self.manifest else ""

    def open(self) -> io.FileIO | io.BytesIO | CheckedFile:
        """The file that was found, unbuffered. Raises IntegrityError for any other that is in its
        place by now.

        Of a file whose content was checked, reading raises it for bytes that are other ones by now.
        """
        if self.data is not None:
            return io.BytesIO(self.data)
        try:
            file = self.access.open(self.location, pipe=self.size is None)
        except NotOpened as refusal:
            raise changed(self, f"it {refusal}") from None
        if how := difference(self, os.fstat(file.fileno())):
            file.close()
            raise changed(self, how)
        if not self.digests or self.size is None:
            return file
        return CheckedFile(file, self.size, self.digests, self._refuse)

    def _refuse(self) -> NoReturn:
        raise changed(self, "its content is no longer what was checked")

    def reader(self) -> io.BufferedReader:
        """The same, buffered: for whoever takes it apart."""
        return io.BufferedReader(self.open())


Artifacts: TypeAlias = tuple[Artifact, ...]


def find(patterns: Sequence[str], workspace: Workspace) -> tuple[Artifact, ...]:
    """The files that the patterns name, each once. Raises InputError with every problem found (name
    `files`).

    A text that is the exact name of a file is that file, whatever brackets it holds; anything else
    is a glob. `*` and `**` pass over names that begin with a dot, and `**` does not follow links to
    folders.
    """
    found: dict[str, Artifact] = {}  # by real path
    problems = Problems()
    whole = " ".join(patterns)  # a shell takes a path with blanks apart
    apart = len(patterns) > 1 and not os.path.lexists(workspace.root / patterns[0])
    if apart and os.path.lexists(workspace.root / whole):
        raise InputError(
            Problem("files", f"`{printable(whole)}` came in {len(patterns)} parts.", "it in quotes")
        )
    for pattern in patterns:
        if pattern == STREAM:
            found.setdefault(STREAM, Artifact(STREAM, STREAM, None))
            continue
        tidy = _tidy(pattern, workspace.root)
        try:
            exact = os.path.lexists(workspace.root / pattern)
            names = (
                [tidy]
                if exact
                else sorted(expand(tidy, workspace.root))
                if _WILDCARD.search(tidy)
                else []
            )
        except (OSError, ValueError) as error:
            folder = str(getattr(error, "filename", "")).removeprefix(f"{workspace.root}/")
            where = f"the folder {printable(folder)} can't be read: " if folder else ""
            problems.add("files", f"`{printable(pattern)}`: {where}{reason(error)}.")
            continue
        refused: dict[str, str] = {}
        taken: list[str] = []
        for name in names:
            file = _take(name, workspace, exact=exact)
            if isinstance(file, str):
                refused[name] = file
            elif file:
                taken.append(name)
                found.setdefault(*file)
        for name, objection in refused.items():
            if exact:
                problems.add("files", f"{printable(name)} {objection}.")
            else:
                what = f"{printable(name)}, which `{printable(pattern)}` matches, {objection}."
                problems.add("files", what, _narrower(tidy, taken, list(refused)))
        if not (taken or refused):
            problems.add("files", _nothing(pattern, names, workspace.root), _ACCEPTED)
    problems.raise_if_any()
    return tuple(found.values())


def part(files: tuple[Artifact, ...], k: int, n: int) -> tuple[Artifact, ...]:
    """The k-th (from 1) of n contiguous parts of the whole list; their lengths differ by one at
    most.
    """
    return files[len(files) * (k - 1) // n : len(files) * k // n]


def inspect(artifact: Artifact) -> Artifact:
    """The artifact with its manifest and the digests of its content. Raises InputError when it is
    none, or damaged.

    The manifest is read a second time, from the content that the digests are of: between reading
    and digesting a file, somebody could have changed it.
    """
    found = _with_manifest(artifact)
    kind = found.manifest.kind if found.manifest else "bundle"
    if (found.size or 0) > MAX_ARTIFACT[kind]:
        return found  # which is refused, so digesting it would be a waste of minutes
    return _with_manifest(checked(artifact))


def _with_manifest(artifact: Artifact) -> Artifact:
    if artifact.size is None or artifact.data is not None:
        raise InputError(
            Problem("files", f"{artifact.name} is a stream; an APK or bundle has to be a file.")
        )
    with artifact.reader() as file:
        return replace(artifact, manifest=read_manifest(file, artifact.name))


def checked(artifact: Artifact) -> Artifact:
    """The artifact with the digests of its content, which is read once: from now on nothing else
    comes out of it.
    """
    if artifact.size is None or artifact.data is not None:
        return artifact
    with artifact.open() as file:
        digests = digest_blocks(file, artifact.size)
        how = difference(artifact, os.fstat(file.fileno()))
    if how:
        raise changed(artifact, how)
    return replace(artifact, digests=digests)


def identity(status: os.stat_result) -> Identity:
    """What tells one state of one file from another, beside its size: device, inode, mtime and
    ctime in nanoseconds.

    Whoever rewrites a file can set its mtime back, but not its ctime.
    """
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def difference(artifact: Artifact, status: os.stat_result) -> str:
    """How a file differs today from what was found, in words; empty when it is the same one and was
    not touched.

    A new mode or link moves the ctime, too; it is not looked at where the content itself is
    compared.
    """
    if artifact.size is None:  # writing into a pipe changes all but its place
        return "" if identity(status)[:2] == artifact.identity[:2] else "it was replaced"
    if status.st_size != artifact.size:
        return f"its size was {artifact.size} bytes and is now {status.st_size}"
    compared = 3 if artifact.digests else 4
    return (
        ""
        if identity(status)[:compared] == artifact.identity[:compared]
        else "it was rewritten or replaced"
    )


def changed(artifact: Artifact, how: str) -> IntegrityError:
    """The error for a file that is no longer the one that was found."""
    return IntegrityError(
        f"{artifact.name} changed during the upload: {how}.",
        cause="Something else is still writing to it, often a build step or a second job in the "
        "same workspace.",
        hint="Let the build finish before this step. Nothing was published from a file that "
        "changed.",
        code="file-changed",
    )


def from_path(path: Path, name: str, access: Access = ANYWHERE) -> Artifact:
    """One regular file that an input of its own names (`mapping-file`, an image). Raises InputError
    for that input.
    """
    with access.open_input(path, name) as file:
        status = os.fstat(file.fileno())
    return Artifact(printable(name), str(path), status.st_size, identity(status), access=access)


def expand(pattern: str, root: Path) -> list[str]:
    """The names below `root` that match a glob: `*`, `?`, `[…]` within a name, `**` for any depth;
    absolute if it is.

    As in a shell, a wildcard passes over names that begin with a dot unless its own text begins
    with one. `**` does not follow links to folders, so that a loop of links has an end; a folder
    that another segment names may be a link. Unlike `glob`, which knows none of this, it raises
    OSError for a folder on the way that can't be listed, since its files would be missing without a
    word, and goes over each folder once for a segment.
    """
    segments = [segment for segment in pattern.split("/") if segment]
    found: list[str] = []
    # a folder, and the segment that is looked for in it
    todo = [("/" if pattern.startswith("/") else "", 0)]
    done: set[tuple[str, int]] = set()
    while todo:
        folder, number = place = todo.pop()
        if place in done:
            continue
        done.add(place)
        segment, last, deep = (
            segments[number],
            number == len(segments) - 1,
            segments[number] == "**",
        )
        if deep and not last:
            todo.append((folder, number + 1))
        if not _WILDCARD.search(segment):
            entries = [(segment, True)] if os.path.lexists(root / folder / segment) else []
        else:
            try:
                with os.scandir(root / folder) as listed:
                    entries = [
                        (entry.name, entry.is_dir(follow_symlinks=False)) for entry in listed
                    ]
            except NotADirectoryError:
                continue
        for name, is_folder in entries:
            hidden = name.startswith(".") and not segment.startswith(".")
            if hidden or not (deep or fnmatch.fnmatchcase(name, segment)):
                continue
            inner = is_folder or (not deep and os.path.isdir(root / folder / name))  # noqa: PTH112  # no error
            if last and not (deep and inner):
                found.append(f"{folder}{name}")
            elif inner:
                todo.append((f"{folder}{name}/", number if deep else number + 1))
    return found


def _take(name: str, workspace: Workspace, *, exact: bool) -> tuple[str, Artifact] | str | None:
    """The file with its real path; what is wrong with it; or None for a folder, and credentials
    that a glob matched.
    """
    path = workspace.root / name
    try:
        status = path.stat()
    except OSError as error:
        return (
            "is a broken symbolic link" if path.is_symlink() else f"can't be read: {reason(error)}"
        )
    if stat.S_ISDIR(status.st_mode):
        return None
    real, regular = os.path.realpath(path), stat.S_ISREG(status.st_mode)
    access = workspace.access(named=exact)
    objection = workspace.objection(real, status, name=path.name)
    if objection == LOGIN_FILE and not exact:
        return None
    if objection != LOGIN_FILE and not (regular or stat.S_ISFIFO(status.st_mode)):
        return "is neither a regular file nor a named pipe"
    if objection or not os.access(path, os.R_OK):
        return objection or "can't be read: permission denied"
    if regular and (objection := access.objection_to_file(path)):
        return objection
    size = status.st_size if regular else None
    return real, Artifact(printable(name), str(path), size, identity(status), access=access)


def _narrower(pattern: str, taken: Sequence[str], refused: Sequence[str]) -> str:
    """What to write instead of a pattern that matches files which are not taken; empty where it
    matches no others.
    """
    endings = sorted({Path(name).suffix for name in taken})
    told_apart = all(endings) and not {Path(name).suffix for name in refused}.intersection(endings)
    last = pattern.rpartition("/")[2]
    if taken and told_apart and len(endings) <= _FEW and last in ("*", "**"):
        start = f"{pattern}/" if last == "**" else pattern.removesuffix("*")
        return ", ".join(f"{printable(start)}*{printable(ending)}" for ending in endings)
    if len(taken) <= _FEW:
        return ", ".join(map(printable, taken))
    return f"the files themselves, such as {printable(taken[0])}"


def _nothing(pattern: str, names: Sequence[str], root: Path) -> str:
    what = f"'{printable(pattern)}' matches nothing"
    if names and (root / pattern).is_dir():
        folder = printable(pattern.rstrip("/"))
        kind = next(
            (kind for kind in (".aab", ".apk") if any((root / pattern).glob(f"*{kind}"))), ""
        )
        return f"`{folder}` is a folder. Name its files: `{folder}/*{kind}`."
    if left_out := [name for name in names if not (root / name).is_dir()]:
        return f"{what} that can be uploaded: {printable(left_out[0])} {LOGIN_FILE}."
    if names:
        return f"{what} that can be uploaded: only folders. Name the files, for example with `/**`."
    if pattern.startswith("~"):
        return f"{what}: `~` is not expanded."
    meant = printable(path_hint(pattern, root))
    if len(words := pattern.split()) > 1 and all(Path(word).suffix for word in words):
        meant = meant or " Several paths need commas or line breaks between them."
    if pattern.startswith("/"):
        relative = " Inside a container the workspace has another path: use a path relative to it."
        return f"{what}.{meant or relative}"
    return f"{what} in {printable(str(root))}.{meant or ' Did an earlier step build it?'}"


def _tidy(pattern: str, workspace: Path) -> str:
    """The pattern without empty and `.` segments, relative when it begins with the workspace's
    path; `..` stays.
    """
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if not pattern.startswith("/"):
        return "/".join(segments)
    root = [segment for segment in workspace.as_posix().split("/") if segment]
    inside = segments[: len(root)] == root and len(segments) > len(root)
    return "/".join(segments[len(root) :]) if inside else "/" + "/".join(segments)
