"""Finds the files of a run: patterns and paths become frozen artifacts, checked before anything is
sent.

The order is that of the patterns, and within one pattern that of the names (by code point), so that
every machine of a matrix gets the same list. Finding a file does not hold it open: `Artifact.open`
checks the workspace's rules again, and opens only the very file that was found.
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

from uploader.errors import InputError, IntegrityError, Problem, Problems
from uploader.files.android.manifest import Manifest, read_manifest
from uploader.files.checked_content import CheckedFile, digest_blocks
from uploader.files.nearby import files_nearby
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
_ACCEPTED = (
    "paths and globs (*, ?, [a-z], **) relative to the workspace, or - for a stream"
)


@dataclass(frozen=True)
class Artifact:
    """One file as it was found: everything needed to recognise it again and to notice a change
    while it is sent.

    `name` is how people see it (relative to the workspace, always printable as UTF-8). `location`
    is where the bytes are (`-` is standard input); it is text, since a path object takes four times
    the memory and there may be many. `size` is in bytes, None for a stream. `identity` is (device,
    inode, mtime, ctime), times in nanoseconds. Small generated content (a composed mail) is in
    `data` instead of a file. `access` is what the input that named the file may open. `digests` are
    those of its blocks once its content was checked, and then no other bytes can be read from it;
    they are empty if only its identity was checked. `holder` keeps a file open that has no name of
    its own.
    """

    name: str
    location: str
    size: int | None
    identity: Identity = (0, 0, 0, 0)
    manifest: Manifest | None = None
    data: bytes | None = None
    access: Access = ANYWHERE
    digests: bytes = field(default=b"", repr=False)
    holder: object = field(
        default=None,
        repr=False,
        compare=False,
    )

    @property
    def path(self) -> Path:
        """The location as a path."""
        return Path(self.location)

    @property
    def certificate_sha256(self) -> str:
        """The SHA-256 of the certificate that signed it; those of several signers with commas
        between them. Empty before it was inspected.
        """
        if self.manifest is None:
            return ""
        fingerprints = [signer.sha256 for signer in self.manifest.signers]
        return ",".join(fingerprints)

    @property
    def version(self) -> str:
        """The version's name and code; empty before it was inspected."""
        if self.manifest is None:
            return ""
        return self.manifest.version

    def open(self) -> io.FileIO | io.BytesIO | CheckedFile:
        """Open the file that was found, unbuffered. Raises IntegrityError when another file is in
        its place by now.

        If the content was checked, reading raises IntegrityError for bytes that have changed since.
        """
        if self.data is not None:
            return io.BytesIO(self.data)
        is_stream = self.size is None
        try:
            file = self.access.open(self.location, pipe=is_stream)
        except NotOpened as refusal:
            raise file_changed_error(self, f"it {refusal}") from None
        status = os.fstat(file.fileno())
        how = difference(self, status)
        if how:
            file.close()
            raise file_changed_error(self, how)
        if not self.digests or self.size is None:
            return file
        return CheckedFile(
            file,
            self.size,
            self.digests,
            self._refuse,
        )

    def _refuse(self) -> NoReturn:
        raise file_changed_error(self, "its content is no longer what was checked")

    def reader(self) -> io.BufferedReader:
        """Open the file as `open` does, buffered, for code that parses it."""
        return io.BufferedReader(self.open())


Artifacts: TypeAlias = tuple[Artifact, ...]


def find(
    patterns: Sequence[str], workspace: Workspace, input_name: str = "files"
) -> tuple[Artifact, ...]:
    """Return the files that the patterns name, each once. Raises InputError for `input_name` with
    every problem found.

    A text that is the exact name of a file means that file, even if it has brackets in it; any
    other text is a glob. `*` and `**` pass over names that begin with a dot, and `**` does not
    follow links to folders.
    """
    root = workspace.root
    _refuse_split_path(patterns, root, input_name)
    artifacts: dict[str, Artifact] = {}  # by real path
    problems = Problems()
    for pattern in patterns:
        if pattern == STREAM:
            stream = Artifact(STREAM, STREAM, size=None)
            artifacts.setdefault(STREAM, stream)
            continue
        try:
            matches = _Matches.of(pattern, root)
        except (OSError, ValueError) as error:
            shown_pattern = printable(pattern)
            why = _why_not_listed(error, root)
            problems.add(input_name, f"`{shown_pattern}`: {why}.")
            continue
        files, objections = _take_all(matches, workspace)
        for file in files:
            artifacts.setdefault(file.real_path, file.artifact)
        refusals = _refusals(matches, files, objections, input_name)
        problems.extend(refusals)
        if not files and not objections:
            what = _nothing(matches, root)
            problems.add(input_name, what, _ACCEPTED)
    problems.raise_if_any()
    return tuple(artifacts.values())


def _take_all(
    matches: _Matches, workspace: Workspace
) -> tuple[list[_File], dict[str, str]]:
    """Return the files that a pattern stands for, and the objections to those that are not taken,
    by name.
    """
    files: list[_File] = []
    objections: dict[str, str] = {}
    for name in matches.names:
        try:
            file = _take(name, workspace, exact=matches.exact)
        except NotOpened as refusal:
            objections[name] = str(refusal)
            continue
        if file is not None:
            files.append(file)
    return files, objections


@dataclass(frozen=True)
class _Matches:
    """The names that a pattern stands for: the pattern itself if there is such a file (`exact`),
    otherwise those that it matches as a glob. `tidy` is the pattern without needless segments.
    """

    pattern: str
    tidy: str
    exact: bool
    names: Sequence[str]

    @classmethod
    def of(cls, pattern: str, root: Path) -> _Matches:
        """Return what a pattern stands for. Raises OSError for a folder that can't be listed, and
        ValueError for a text that can be no path.
        """
        tidy = _tidy(pattern, root)
        if os.path.lexists(root / pattern):
            return cls(
                pattern,
                tidy,
                exact=True,
                names=[tidy],
            )
        return cls(
            pattern,
            tidy,
            exact=False,
            names=_expand_sorted(tidy, root),
        )


@dataclass(frozen=True)
class _File:
    """A file that is taken, by one of its names. All of its names have the same real path."""

    name: str
    real_path: str
    artifact: Artifact


def _refusals(
    matches: _Matches,
    taken: Sequence[_File],
    objections: Mapping[str, str],
    input_name: str,
) -> list[Problem]:
    """Return a problem for each file that is not taken; the objections are by name."""
    problems: list[Problem] = []
    pattern = printable(matches.pattern)
    taken_names = [file.name for file in taken]
    refused_names = list(objections)
    for name, objection in objections.items():
        shown_name = printable(name)
        if matches.exact:
            what = f"{shown_name} {objection}."
            accepted = ""
        else:
            what = f"{shown_name}, which `{pattern}` matches, {objection}."
            accepted = _narrower(matches.tidy, taken_names, refused_names)
        problem = Problem(input_name, what, accepted)
        problems.append(problem)
    return problems


def _refuse_split_path(patterns: Sequence[str], root: Path, input_name: str) -> None:
    """Raise InputError for one path with blanks in it, which a shell has split into its words."""
    count = len(patterns)
    if count < 2:
        return
    first = root / patterns[0]
    if os.path.lexists(first):
        return
    path = " ".join(patterns)
    if os.path.lexists(root / path):
        shown_path = printable(path)
        what = f"`{shown_path}` came in {count} parts."
        raise InputError(Problem(input_name, what, "it in quotes"))


def _expand_sorted(pattern: str, root: Path) -> list[str]:
    """Return the names that a glob matches, by code point; none for a text without wildcards.
    Raises OSError.
    """
    if not _WILDCARD.search(pattern):
        return []
    return sorted(expand(pattern, root))


def _why_not_listed(error: Exception, root: Path) -> str:
    """Return why a glob can't be followed, with the folder if it is known."""
    why = reason(error)
    path = str(getattr(error, "filename", ""))
    folder = path.removeprefix(f"{root}/")
    if not folder:
        return why
    return f"the folder {printable(folder)} can't be read: {why}"


def part(files: tuple[Artifact, ...], k: int, n: int) -> tuple[Artifact, ...]:
    """Return the k-th (from 1) of n contiguous parts of the list. Their lengths differ by at most
    one.
    """
    count = len(files)
    start = count * (k - 1) // n
    stop = count * k // n
    return files[start:stop]


def inspect(artifact: Artifact) -> Artifact:
    """Return the artifact with its manifest and the digests of its content. Raises InputError when
    it is no artifact, or damaged.
    """
    inspected = _with_manifest(artifact)
    if _is_too_large(inspected):
        # It will be refused for its size, and digesting it would take minutes.
        return inspected
    # The manifest is read a second time, from the content that was digested, because somebody could
    # have changed the file between the two.
    return _with_manifest(add_digests(artifact))


def _is_too_large(artifact: Artifact) -> bool:
    """Return whether an inspected artifact has more bytes than Google Play accepts."""
    if artifact.size is None or artifact.manifest is None:
        return False
    limit = MAX_ARTIFACT[artifact.manifest.kind]
    return artifact.size > limit


def _with_manifest(artifact: Artifact) -> Artifact:
    """Return the artifact with its manifest. Raises InputError."""
    if artifact.size is None or artifact.data is not None:
        what = f"{artifact.name} is a stream; an APK or bundle has to be a file."
        raise InputError(Problem("files", what))
    with artifact.reader() as file:
        manifest = read_manifest(file, artifact.name)
    return replace(artifact, manifest=manifest)


def add_digests(artifact: Artifact) -> Artifact:
    """Return the artifact with the digests of its content, which is read once. From now on only
    these bytes can be read from it. Raises IntegrityError.
    """
    if artifact.size is None or artifact.data is not None:
        return artifact
    with artifact.open() as file:
        digests = digest_blocks(file, artifact.size)
        status = os.fstat(file.fileno())
    how = difference(artifact, status)
    if how:
        raise file_changed_error(artifact, how)
    return replace(artifact, digests=digests)


def identity(status: os.stat_result) -> Identity:
    """Return what distinguishes states of a file, besides its size: device, inode, mtime and ctime,
    the times in nanoseconds.

    A program that rewrites a file can set its mtime back, but not its ctime.
    """
    return (
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def difference(artifact: Artifact, status: os.stat_result) -> str:
    """Return how a file differs now from what was found, in words; empty if nothing shows that it
    was replaced or changed. Of a stream, only the identity is compared.
    """
    found = artifact.identity
    current = identity(status)
    if artifact.size is None:
        # Writing to a pipe changes its times, but not its device and inode.
        if current[:2] != found[:2]:
            return "it was replaced"
        return ""
    if status.st_size != artifact.size:
        return f"its size was {artifact.size} bytes and is now {status.st_size}"
    if artifact.digests:
        # A new mode or link changes the ctime as well, so it is not compared where digests would
        # reveal a change of the content.
        current = (*current[:3], 0)
        found = (*found[:3], 0)
    if current != found:
        return "it was rewritten or replaced"
    return ""


def file_changed_error(artifact: Artifact, how: str) -> IntegrityError:
    """Return the error for a file that is no longer the one that was found."""
    return IntegrityError(
        f"{artifact.name} changed during the upload: {how}.",
        cause="Something else is still writing to it, often a build step or a second job in the "
        "same workspace.",
        hint="Let the build finish before this step. Nothing was published from a file that "
        "changed.",
        code="file-changed",
    )


def from_path(path: Path, name: str, access: Access = ANYWHERE) -> Artifact:
    """Return the regular file that an input other than `files` names (`mapping-file`, an image).
    Raises InputError for that input.
    """
    with access.open_input(path, name) as file:
        status = os.fstat(file.fileno())
    return Artifact(
        printable(name),
        str(path),
        status.st_size,
        identity(status),
        access=access,
    )


def expand(pattern: str, root: Path) -> list[str]:
    """Return the names below `root` that match a glob: `*`, `?`, `[…]` within a name, `**` for any
    depth. An absolute pattern gives absolute names.

    As in a shell, a wildcard passes over names that begin with a dot unless the pattern's own text
    begins with one. `**` does not follow links to folders, so that a loop of links has an end; a
    folder that another segment names may be a link. Unlike `glob`, it raises OSError for a folder
    on the way that can't be listed, since its files would be missing without notice, and it goes
    over each folder once for a segment.
    """
    segments = [segment for segment in pattern.split("/") if segment]
    last = len(segments) - 1
    names: list[str] = []
    start = ""
    if pattern.startswith("/"):
        start = "/"
    # folders to search, each with the number of the segment that is looked for in it
    todo = [(start, 0)]
    done: set[tuple[str, int]] = set()
    while todo:
        place = todo.pop()
        if place in done:
            continue
        done.add(place)
        folder, number = place
        segment = segments[number]
        is_last = number == last
        is_deep = segment == "**"
        if is_deep and not is_last:
            # `**` also matches without any folder.
            todo.append((folder, number + 1))
        for entry in _matching_entries(root / folder, segment):
            path = f"{folder}{entry.name}"
            below = f"{path}/"
            if is_deep and entry.is_folder:
                todo.append((below, number))
            elif is_last:
                names.append(path)
            elif entry.is_folder:
                todo.append((below, number + 1))
    return names


class _Entry(NamedTuple):
    """A name in a folder, and whether it is that of a folder."""

    name: str
    is_folder: bool


def _matching_entries(folder: Path, segment: str) -> Iterator[_Entry]:
    """Yield the entries of a folder that a segment of a glob matches. Links to folders count as
    folders except for `**`. Raises OSError.
    """
    for entry in _list_candidates(folder, segment):
        if not _matches_segment(entry.name, segment):
            continue
        if entry.is_folder or segment == "**":
            yield entry
        else:
            path = folder / entry.name
            is_folder = os.path.isdir(path)  # noqa: PTH112  # it raises no error
            yield _Entry(entry.name, is_folder)


def _list_candidates(folder: Path, segment: str) -> list[_Entry]:
    """Return the entries of a folder that a segment of a glob may match. Links count as no folders.
    Raises OSError.
    """
    if not _WILDCARD.search(segment):
        if not os.path.lexists(folder / segment):
            return []
        # If it is no folder, that shows when it is listed itself.
        return [_Entry(segment, is_folder=True)]
    try:
        candidates = []
        with os.scandir(folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                candidates.append(_Entry(entry.name, is_folder))
    except NotADirectoryError:
        return []
    return candidates


def _matches_segment(name: str, segment: str) -> bool:
    is_hidden = name.startswith(".")
    if is_hidden and not segment.startswith("."):
        return False
    if segment == "**":
        return True
    return fnmatch.fnmatchcase(name, segment)


def _take(name: str, workspace: Workspace, *, exact: bool) -> _File | None:
    """Return the file of this name; None for a folder, and for `gha-creds-*.json` that a glob
    matched. Raises NotOpened for what can't be uploaded.
    """
    path = workspace.root / name
    try:
        status = path.stat()
    except OSError as error:
        if path.is_symlink():
            raise NotOpened("is a broken symbolic link") from None
        raise NotOpened(f"can't be read: {reason(error)}") from None
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return None
    real_path = os.path.realpath(path)
    objection = workspace.objection(real_path, status, name=path.name)
    is_login = objection == LOGIN_FILE
    if is_login and not exact:
        return None
    is_file = stat.S_ISREG(mode)
    is_pipe = stat.S_ISFIFO(mode)
    is_usable = is_file or is_pipe
    if not is_usable and not is_login:
        raise NotOpened("is neither a regular file nor a named pipe")
    if objection:
        raise NotOpened(objection)
    if not os.access(path, os.R_OK):
        raise NotOpened("can't be read: permission denied")
    access = workspace.access(named=exact)
    size = None
    # What comes through a pipe has no size, and can't be looked at before it is sent.
    if is_file:
        size = status.st_size
        objection = access.objection_to_file(path)
        if objection:
            raise NotOpened(objection)
    artifact = Artifact(
        printable(name),
        str(path),
        size,
        identity(status),
        access=access,
    )
    return _File(name, real_path, artifact)


def _narrower(pattern: str, taken: Sequence[str], refused: Sequence[str]) -> str:
    """Return what to write instead of a pattern that matches refused files as well; empty if it
    matches no others.
    """
    globs = _globs_by_ending(pattern, taken, refused)
    if globs:
        return ", ".join(map(printable, globs))
    if len(taken) <= _FEW:
        return ", ".join(map(printable, taken))
    return f"the files themselves, such as {printable(taken[0])}"


def _globs_by_ending(
    pattern: str, taken: Sequence[str], refused: Sequence[str]
) -> list[str]:
    """Return a few globs that match the wanted files by their endings and none of the refused ones;
    none if the pattern does not end with a wildcard, or the endings do not distinguish the files.
    """
    _, _, last_segment = pattern.rpartition("/")
    if last_segment not in ("*", "**"):
        return []
    taken_endings = {Path(name).suffix for name in taken}
    refused_endings = {Path(name).suffix for name in refused}
    if len(taken_endings) > _FEW:
        return []
    if "" in taken_endings:
        return []
    if not taken_endings.isdisjoint(refused_endings):
        return []
    start = pattern.removesuffix("*")
    if last_segment == "**":
        start = f"{pattern}/"
    endings = sorted(taken_endings)
    return [f"{start}*{ending}" for ending in endings]


def _nothing(matches: _Matches, root: Path) -> str:
    """Return why a pattern gives no file, with what may be meant: a sentence or two."""
    pattern = matches.pattern
    shown_pattern = printable(pattern)
    what = f"'{shown_pattern}' matches nothing"
    if not matches.names:
        if pattern.startswith("~"):
            return f"{what}: `~` is not expanded."
        hint = _hint(pattern, root)
        if pattern.startswith("/"):
            return f"{what}.{hint}"
        shown_root = printable(str(root))
        return f"{what} in {shown_root}.{hint}"
    path = root / pattern
    if path.is_dir():
        folder = printable(pattern.rstrip("/"))
        ending = _artifact_ending(path)
        return f"`{folder}` is a folder. Name its files: `{folder}/*{ending}`."
    for name in matches.names:
        # Only folders and `gha-creds-*.json` are passed over without an objection.
        if not (root / name).is_dir():
            login_file = printable(name)
            return f"{what} that can be uploaded: {login_file} {LOGIN_FILE}."
    return f"{what} that can be uploaded: only folders. Name the files, for example with `/**`."


def _hint(pattern: str, root: Path) -> str:
    """Return what may be meant by a pattern that matches nothing, after a blank."""
    hint = printable(path_hint(pattern, root))
    if hint:
        return hint
    words = pattern.split()
    if _are_paths(words):
        return " Several paths need commas or line breaks between them."
    if pattern.startswith("/"):
        return " Inside a container the workspace has another path: use a path relative to it."
    nearby = files_nearby(pattern, root)
    if nearby:
        return nearby
    return " Did an earlier step build it?"


def _are_paths(words: Sequence[str]) -> bool:
    """Return whether these are several names of files, by their endings."""
    if len(words) < 2:
        return False
    return all(Path(word).suffix for word in words)


def _artifact_ending(folder: Path) -> str:
    """Return `.aab` or `.apk`, whichever a file in the folder has; else empty."""
    for ending in (".aab", ".apk"):
        files = folder.glob(f"*{ending}")
        if any(files):
            return ending
    return ""


def _tidy(pattern: str, workspace: Path) -> str:
    """Return the pattern without empty and `.` segments, relative when it begins with the
    workspace's path. `..` stays.
    """
    written = pattern.split("/")
    segments = [segment for segment in written if segment not in ("", ".")]
    tidy = "/".join(segments)
    if not pattern.startswith("/"):
        return tidy
    folders = workspace.as_posix().split("/")
    root = [folder for folder in folders if folder]
    depth = len(root)
    inside = segments[depth:]
    if segments[:depth] == root and inside:
        return "/".join(inside)
    return f"/{tidy}"
