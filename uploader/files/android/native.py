"""Packs native debug symbols in the one layout that Play takes: a zip with a folder for each ABI at
its top.

Play refuses a level above (`lib/`: "contain an invalid directory") and any other file ("contain an
unexpected file"), and says so only after the upload. Ordinary build folders and zip tools make
both, so they are corrected here. The same files always give the same zip: names are sorted, dates
and modes fixed.
"""

from __future__ import annotations

import errno
import os
import shutil
import weakref
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from uploader.errors import InputError, Problem, Problems
from uploader.files.android.archive import ZIP_ERRORS, MalformedFile, open_zip
from uploader.files.android.limits import MAX_BYTES, check_size
from uploader.files.artifacts import Artifact, add_digests, from_path
from uploader.files.workspace import Access, Workspace, printable

_INPUT = "debug-symbols"
_ABIS = frozenset(
    {
        "arm64-v8a",
        "armeabi-v7a",
        "armeabi",
        "x86",
        "x86_64",
        "riscv64",
        "mips",
        "mips64",
    }
)
_ENDINGS = (".so", ".so.sym", ".so.dbg")
_ACCEPTED = (
    "a folder or zip with <abi>/*.so, *.so.sym or *.so.dbg, such as merged_native_libs or "
    "native-debug-symbols.zip"
)
# bytes: what a zip may claim to unpack to before it is taken for a bomb
_MAX_UNPACKED = 32 << 30
# times; what compilers write shrinks to a third, and what is all zeros to a thousandth
_MAX_RATIO = 100
_SMALL = 64 << 20  # bytes that may be unpacked whatever the ratio
_MAX_FILES = 100_000
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # that are taken
_SHOWN = 3  # files that are named
_FLUTTER = (
    " Flutter's .symbols files are for `flutter symbolize`; Play does not accept them."
)

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota, limit of a file
_PACKED = "native-debug-symbols.zip"
_UNIX = 3  # the system that a zip's entry says it was made on
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can have
_MODE = 0o100644  # a regular file
_PIECE = 1 << 20  # bytes of one copy
Opener = Callable[[], IO[bytes]]


class _Kept:
    """Keeps a file open until nothing refers to this object any more."""

    def __init__(self, file: IO[bytes]) -> None:
        weakref.finalize(self, file.close)


def debug_symbols(
    name: str,
    workspace: Workspace,
    temp: Path,
    problems: Problems,
) -> Artifact:
    """Return the zip to send: the one given when it is right, otherwise one made in `temp`. Raises
    InputError (`debug-symbols`), and OSError where `temp` has no room for it.
    """
    path = workspace.root / name
    if path.is_dir():
        access = workspace.access(_INPUT, name, named=False)
        symbols = _from_folder(path, temp, printable(name), access, problems)
    else:
        folder = PurePosixPath(name).parent
        access = workspace.access(_INPUT, str(folder))
        archive = from_path(path, name, access)
        # A larger one is refused below, and digesting it would take minutes.
        size = archive.size or 0
        if size <= MAX_BYTES["symbols"]:
            archive = add_digests(archive)
        with archive.reader() as file:
            symbols = _from_zip(file, archive, temp, problems)
    check_size(symbols, "symbols", problems, _INPUT)
    return symbols


def _from_folder(
    path: Path,
    temp: Path,
    name: str,
    access: Access,
    problems: Problems,
) -> Artifact:
    """Pack the symbol files below a folder. Raises InputError."""
    objection = access.objection(path)
    if objection:
        what = f"{name} {objection}."
        raise InputError(Problem(_INPUT, what))
    paths = _list_files(path, name)
    sources = _layout(paths, name, problems)
    openers: dict[str, Opener] = {}
    size = 0
    for target, source in sources.items():
        file_name = f"{name}/{source}"
        read = partial(from_path, paths[source], file_name, access)
        file = problems.collect(read)
        if file is None:
            continue
        openers[target] = file.reader
        if file.size is not None:
            size += file.size
    if size > _MAX_UNPACKED:
        raise InputError(
            Problem(_INPUT, f"{name} has more than {_MAX_UNPACKED >> 30} GiB.")
        )
    return _write_zip(openers, temp, name)


def _list_files(root: Path, name: str) -> dict[str, Path]:
    """Return the files below a folder by their relative paths. Raises InputError.

    Links to folders are not followed.
    """
    paths: dict[str, Path] = {}
    try:
        for folder, _, file_names in os.walk(root):
            for file_name in file_names:
                path = Path(folder, file_name)
                relative_path = path.relative_to(root).as_posix()
                paths[relative_path] = path
            if len(paths) > _MAX_FILES:
                what = f"{name} has more than {_MAX_FILES:,} files."
                raise InputError(Problem(_INPUT, what, _ACCEPTED))
    except RecursionError:  # before Python 3.12 `os.walk` calls itself for each level
        what = f"{name} has folders nested too deeply."
        raise InputError(Problem(_INPUT, what, _ACCEPTED)) from None
    return paths


def _from_zip(
    file: BinaryIO,
    artifact: Artifact,
    temp: Path,
    problems: Problems,
) -> Artifact:
    """Return the zip itself if its layout is right, otherwise another one with the symbol files in
    it. Raises InputError.
    """
    try:
        archive = open_zip(file)
    except MalformedFile:
        what = f"{artifact.name} is not a complete zip."
        raise InputError(Problem(_INPUT, what, _ACCEPTED)) from None
    # Not by `is_dir`, which before Python 3.12 fails on a member without a name.
    members = [
        member for member in archive.infolist() if not member.filename.endswith("/")
    ]
    _check_members(members, artifact)
    names = [member.filename for member in members]
    sources = _layout(names, artifact.name, problems)
    # The zip itself is sent if everything in it is where Play wants it.
    unchanged = {name: name for name in names}
    if sources == unchanged:
        return artifact
    openers: dict[str, Opener] = {}
    for target, source in sources.items():
        openers[target] = partial(archive.open, source)
    return _write_zip(openers, temp, artifact.name)


def _check_members(members: Sequence[zipfile.ZipInfo], artifact: Artifact) -> None:
    """Raise InputError for a zip that can't be unpacked, or claims to unpack to too much."""
    claimed_size = 0
    for member in members:
        claimed_size += member.file_size
        if member.compress_type not in _COMPRESSIONS:
            what = f"{artifact.name} is compressed by another method than deflate."
            raise InputError(Problem(_INPUT, what, _ACCEPTED))
    if claimed_size > _MAX_UNPACKED:
        what = (
            f"{artifact.name} claims to unpack to more than {_MAX_UNPACKED >> 30} GiB."
        )
        raise InputError(Problem(_INPUT, what))
    size = artifact.size or 0
    plausible_size = max(_MAX_RATIO * size, _SMALL)
    if claimed_size > plausible_size:
        what = f"{artifact.name} claims to unpack to more than {_MAX_RATIO} times its size."
        raise InputError(Problem(_INPUT, what))


def _layout(names: Iterable[str], name: str, problems: Problems) -> Mapping[str, str]:
    """Return the source of each symbol file by its place in the zip, sorted. Raises InputError."""
    sources: dict[str, str] = {}
    unused: list[str] = []
    duplicates: list[Problem] = []
    for source in sorted(names):
        target = _target(source)
        if not target:
            unused.append(source)
        elif target in sources:
            first = printable(sources[target])
            second = printable(source)
            what = f"{name} has {target} twice: {first} and {second}."
            duplicates.append(Problem(_INPUT, what))
        else:
            sources[target] = source
    if not sources:
        raise _no_symbols(name, unused)
    if duplicates:
        raise InputError(*duplicates)
    if unused:
        first_unused = map(printable, unused[:_SHOWN])
        shown = ", ".join(first_unused)
        if len(unused) > _SHOWN:
            shown += " and more"
        problems.warn(
            f"{_INPUT}: {name}: left out, because Play refuses them: {shown}."
        )
    return dict(sorted(sources.items()))


def _no_symbols(name: str, sources: Sequence[str]) -> InputError:
    """Return the error for a folder or zip without symbols that Play takes."""
    what = f"{name} has no native symbols."
    for source in sources:
        if source.endswith(".symbols"):
            what += _FLUTTER
            break
    return InputError(Problem(_INPUT, what, _ACCEPTED))


def _target(source: str) -> str:
    """Return the path from its ABI folder on; empty for anything but the symbol file of an ABI."""
    if not source.endswith(_ENDINGS):
        return ""
    parts = PurePosixPath(source).parts
    if "__MACOSX" in parts or ".." in parts:
        return ""
    # The folder of an ABI that is next to the file counts.
    folder_count = len(parts) - 1
    for depth in reversed(range(folder_count)):
        if parts[depth] in _ABIS:
            return "/".join(parts[depth:])
    return ""


def _write_zip(files: Mapping[str, Opener], temp: Path, name: str) -> Artifact:
    """Write the zip, into a file without a name if the system allows that: it is gone with this
    process, even if that is killed. Raises InputError, and OSError if there is no room.
    """
    try:
        temp.mkdir(parents=True, exist_ok=True)
        packed, target = _new_file(temp)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        raise _packing_error(name, error) from None
    holder = _Kept(packed)
    try:
        with zipfile.ZipFile(packed, "w") as archive:
            for path, opener in files.items():
                with opener() as source:
                    _add_entry(archive, path, source)
    except (OSError, *ZIP_ERRORS) as error:
        # Closing writes what is left, and that may not fit on the disk either.
        with suppress(OSError):
            packed.close()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise
        raise _packing_error(name, error) from None
    artifact = from_path(target, f"{name} (as {_PACKED})")
    return replace(add_digests(artifact), holder=holder)


def _add_entry(archive: zipfile.ZipFile, path: str, source: IO[bytes]) -> None:
    """Add a file to the zip, with the same date and mode wherever it is packed."""
    entry = zipfile.ZipInfo(path, date_time=_DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = _UNIX
    entry.external_attr = _MODE << 16
    with archive.open(entry, "w", force_zip64=True) as sink:
        shutil.copyfileobj(source, sink, _PIECE)


def _new_file(temp: Path) -> tuple[IO[bytes], Path]:
    """Make an empty file. Returns it with a path that leads to it for as long as it is open."""
    path = temp / _PACKED
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    opened = Path(f"/proc/self/fd/{descriptor}")
    if opened.exists():
        path.unlink()
        # It stays if it is somebody else's folder, or has other files.
        with suppress(OSError):
            temp.rmdir()
        path = opened
    return open(descriptor, "w+b"), path


def _packing_error(name: str, error: Exception) -> InputError:
    """Return the error for what can't be packed, with the system's reason if there is one."""
    reason = getattr(error, "strerror", None)
    if not reason:
        reason = "a file in it is damaged, encrypted or of an unknown compression"
    what = f"{name} can't be packed: {reason}."
    return InputError(Problem(_INPUT, what))
