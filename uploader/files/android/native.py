"""Native debug symbols in the one layout that Play takes: a zip with a folder for each ABI at its
top.

Play refuses a level above (`lib/`: "contain an invalid directory") and any other file ("contain an
unexpected file"), and says so only after the upload; both come from ordinary build folders and zip
tools, so they are put right here. What is written is the same for the same files: names sorted,
dates and modes fixed.
"""

from __future__ import annotations

import os
import shutil
import weakref
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from uploader.errors import InputError, Problem, Problems
from uploader.files.android.archive import ZIP_ERRORS, MalformedFile, open_zip
from uploader.files.android.limits import MAX_BYTES, check_size
from uploader.files.artifacts import Artifact, checked, from_path
from uploader.files.workspace import Access, Workspace, printable

_INPUT = "debug-symbols"
_ABIS = frozenset(
    {"arm64-v8a", "armeabi-v7a", "armeabi", "x86", "x86_64", "riscv64", "mips", "mips64"}
)
_ENDINGS = (".so", ".so.sym", ".so.dbg")
_ACCEPTED = (
    "a folder or zip with <abi>/*.so, *.so.sym or *.so.dbg, such as merged_native_libs or "
    "native-debug-symbols.zip"
)
_MAX_UNPACKED = 32 << 30  # bytes: what a zip may claim to unpack to before it is taken for a bomb
# times; what compilers write shrinks to a third, and what is all zeros to a thousandth
_MAX_RATIO = 100
_SMALL = 64 << 20  # bytes: so much costs nothing to unpack
_MAX_FILES = 100_000
_FLUTTER = " Flutter's .symbols files are for `flutter symbolize`; Play does not accept them."

_PACKED = "native-debug-symbols.zip"
Opener = Callable[[], IO[bytes]]


class _Kept:
    """Keeps a file open until nothing refers to this object any more."""

    def __init__(self, file: IO[bytes]) -> None:
        weakref.finalize(self, file.close)


def debug_symbols(name: str, workspace: Workspace, temp: Path, problems: Problems) -> Artifact:
    """The zip to send: the one given when it is right, else one made in `temp`. Raises InputError
    (`debug-symbols`).
    """
    path = workspace.root / name
    if path.is_dir():
        symbols = _from_folder(
            path, temp, printable(name), workspace.access(_INPUT, name, named=False), problems
        )
    else:
        given = from_path(path, name, workspace.access(_INPUT, str(PurePosixPath(name).parent)))
        if (given.size or 0) <= MAX_BYTES["symbols"]:
            given = checked(given)
        with given.reader() as file:
            symbols = _from_zip(file, given, temp, problems)
    check_size(symbols, "symbols", problems, _INPUT)
    return symbols


def _from_folder(path: Path, temp: Path, name: str, access: Access, problems: Problems) -> Artifact:
    if objection := access.objection(path):
        raise InputError(Problem(_INPUT, f"{name} {objection}."))
    sources: dict[str, Path] = {}
    try:
        for folder, _, names in os.walk(path):  # links to folders are not followed
            sources |= {
                (file := Path(folder, each)).relative_to(path).as_posix(): file for each in names
            }
            if len(sources) > _MAX_FILES:
                raise InputError(
                    Problem(_INPUT, f"{name} has more than {_MAX_FILES:,} files.", _ACCEPTED)
                )
    except RecursionError:  # which before Python 3.12 is how it goes down
        raise InputError(
            Problem(_INPUT, f"{name} has folders nested too deeply.", _ACCEPTED)
        ) from None
    files: dict[str, Artifact] = {}
    for target, source in _layout(sources, name, problems).items():
        if found := problems.collect(
            partial(from_path, sources[source], f"{name}/{source}", access)
        ):
            files[target] = found
    if sum(file.size or 0 for file in files.values()) > _MAX_UNPACKED:
        raise InputError(Problem(_INPUT, f"{name} has more than {_MAX_UNPACKED >> 30} GiB."))
    return _written({target: file.reader for target, file in files.items()}, temp, name)


def _from_zip(file: BinaryIO, artifact: Artifact, temp: Path, problems: Problems) -> Artifact:
    try:
        archive = open_zip(file)
    except MalformedFile:
        raise InputError(
            Problem(_INPUT, f"{artifact.name} is not a complete zip.", _ACCEPTED)
        ) from None
    # Not by `is_dir`, which before Python 3.12 fails on a member without a name.
    members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    if {member.compress_type for member in members} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise InputError(
            Problem(
                _INPUT, f"{artifact.name} is compressed by another method than deflate.", _ACCEPTED
            )
        )
    size = sum(member.file_size for member in members)  # as it claims
    if size > _MAX_UNPACKED:
        raise InputError(
            Problem(
                _INPUT, f"{artifact.name} claims to unpack to more than {_MAX_UNPACKED >> 30} GiB."
            )
        )
    if size > max(_MAX_RATIO * (artifact.size or 0), _SMALL):
        raise InputError(
            Problem(
                _INPUT,
                f"{artifact.name} claims to unpack to more than {_MAX_RATIO} times its size.",
            )
        )
    names = [member.filename for member in members]
    chosen = _layout(names, artifact.name, problems)
    if list(chosen.items()) == sorted((name, name) for name in names):
        return artifact
    by_name = {member.filename: member for member in members}
    openers = {target: partial(archive.open, by_name[source]) for target, source in chosen.items()}
    return _written(openers, temp, artifact.name)


def _layout(names: Iterable[str], name: str, problems: Problems) -> Mapping[str, str]:
    """Where each symbol file belongs in the zip, and where it comes from; sorted. Raises
    InputError.
    """
    chosen, unused, twice = dict[str, str](), list[str](), list[str]()
    for source in sorted(names):
        target = _target(source)
        if not target:
            unused.append(source)
        elif target in chosen:
            twice.append(
                f"{name} has {target} twice: {printable(chosen[target])} and {printable(source)}."
            )
        else:
            chosen[target] = source
    if not chosen:
        hint = _FLUTTER if any(source.endswith(".symbols") for source in unused) else ""
        raise InputError(Problem(_INPUT, f"{name} has no native symbols.{hint}", _ACCEPTED))
    if twice:
        raise InputError(*(Problem(_INPUT, what) for what in twice))
    if unused:
        shown = ", ".join(printable(each) for each in unused[:3]) + (
            " and more" if len(unused) > 3 else ""
        )
        problems.warn(f"{_INPUT}: {name}: left out, because Play refuses them: {shown}.")
    return dict(sorted(chosen.items()))


def _target(source: str) -> str:
    """The path from its ABI folder on; empty for what is no symbol file of an ABI."""
    parts = PurePosixPath(source).parts
    abis = [index for index, part in enumerate(parts[:-1]) if part in _ABIS]
    usable = abis and source.endswith(_ENDINGS) and "__MACOSX" not in parts and ".." not in parts
    return "/".join(parts[abis[-1] :]) if usable else ""


def _written(files: Mapping[str, Opener], temp: Path, name: str) -> Artifact:
    """The zip, in a file that has no name where the system allows it: it is gone with this process,
    even by a kill.
    """
    try:
        temp.mkdir(parents=True, exist_ok=True)
        packed, target = _new_file(temp)
    except OSError as error:
        raise _not_packed(name, error) from None
    holder = _Kept(packed)
    try:
        with zipfile.ZipFile(packed, "w") as archive:
            for each, opener in files.items():
                entry = zipfile.ZipInfo(each, date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system, entry.external_attr = 3, 0o100644 << 16
                with opener() as source, archive.open(entry, "w", force_zip64=True) as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
    except (OSError, *ZIP_ERRORS) as error:
        with suppress(OSError):  # what is left to write may not fit on the disk either
            packed.close()
        raise _not_packed(name, error) from None
    return replace(checked(from_path(target, f"{name} (as {_PACKED})")), holder=holder)


def _new_file(temp: Path) -> tuple[IO[bytes], Path]:
    """An empty file, and a path that leads to it for as long as it is open."""
    path = temp / _PACKED
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    opened = Path(f"/proc/self/fd/{descriptor}")
    if opened.exists():
        path.unlink()
        with suppress(OSError):  # where it is somebody else's folder, or holds more
            temp.rmdir()
        path = opened
    return open(descriptor, "w+b"), path


def _not_packed(name: str, error: Exception) -> InputError:
    reason = (
        getattr(error, "strerror", None)
        or "a file in it is damaged, encrypted or of an unknown compression"
    )
    return InputError(Problem(_INPUT, f"{name} can't be packed: {reason}."))
