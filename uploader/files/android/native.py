"""Native debug symbols in the one layout that Play takes: a zip with a folder for each ABI at its top.

Play refuses a level above (`lib/`: "contain an invalid directory") and any other file ("contain an unexpected file"),
and says so only after the upload; both come from ordinary build folders and zip tools, so they are put right here.
What is written is the same for the same files: names sorted, dates and modes fixed.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from uploader.errors import InputError, Problem
from uploader.files.android.limits import check_size
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Access, Workspace, printable
from uploader.input_problems import Problems

_INPUT = "debug-symbols"
_ABIS = frozenset({"arm64-v8a", "armeabi-v7a", "armeabi", "x86", "x86_64", "riscv64", "mips", "mips64"})
_ENDINGS = (".so", ".so.sym", ".so.dbg")
_ACCEPTED = (
    "a folder or zip with <abi>/*.so, *.so.sym or *.so.dbg, such as merged_native_libs or native-debug-symbols.zip"
)
_MAX_UNPACKED = 32 << 30  # bytes: what a zip may claim to unpack to before it is taken for a bomb
_MAX_RATIO = 100  # times; what compilers write shrinks to a third, and what is all zeros to a thousandth
_SMALL = 64 << 20  # bytes: so much costs nothing to unpack
_MAX_FILES = 100_000
_MAX_DIRECTORY = 16 << 20  # bytes: as many files with names of a hundred characters
# All that zipfile is known to raise for a damaged, encrypted or hostile archive.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ArithmeticError,
    RuntimeError,
    ValueError,
    OSError,
)

_FLUTTER = " Flutter's .symbols files are for `flutter symbolize`; Play does not accept them."

Opener = Callable[[], IO[bytes]]
Symbols = tuple[Artifact, tuple[str, ...]]  # the zip to send, and warnings


def debug_symbols(name: str, workspace: Workspace, temp: Path) -> Symbols:
    """The zip to send, and warnings: the one given when it is right, else one made in the folder `temp`.

    Raises InputError (`debug-symbols`).
    """
    path, problems = workspace.root / name, Problems()
    if path.is_dir():
        return _from_folder(path, temp, printable(name), workspace.access(_INPUT, name), problems)
    artifact = from_path(path, name, workspace.access(_INPUT, str(PurePosixPath(name).parent)))
    with _BoundedReader(artifact.open()) as file:
        try:
            archive = zipfile.ZipFile(file)
        except _ZIP_ERRORS:
            raise InputError(Problem(_INPUT, f"{artifact.name} is not a complete zip.", _ACCEPTED)) from None
        with archive:
            return _from_zip(archive, artifact, temp, problems)


class _BoundedReader(io.BufferedReader):
    """A zip's file, of which no more is read at once than a plausible directory is long."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_DIRECTORY:
            raise zipfile.BadZipFile
        return super().read(size)


def _from_folder(path: Path, temp: Path, name: str, access: Access, problems: Problems) -> Symbols:
    if objection := access.objection(path):
        raise InputError(Problem(_INPUT, f"{name} {objection}."))
    sources = {file.relative_to(path).as_posix(): file for file in _walk(path, name)}
    chosen = _layout(sources, name, problems)
    files = {
        target: problems.collect(partial(from_path, sources[source], f"{name}/{source}", access))
        for target, source in chosen.items()
    }
    problems.raise_if_any()
    found = {target: file for target, file in files.items() if file}
    _check_unpacked(sum(file.size or 0 for file in found.values()), name)
    return _written({target: file.reader for target, file in found.items()}, temp, name, problems)


def _walk(path: Path, name: str) -> list[Path]:
    """Every file below the folder, in order; links to folders are not followed."""
    found: list[Path] = []
    for folder, _, files in os.walk(path):
        found += (Path(folder, file) for file in files)
        if len(found) > _MAX_FILES:
            raise InputError(Problem(_INPUT, f"{name} has more than {_MAX_FILES:,} files.", _ACCEPTED))
    return sorted(found)


def _from_zip(archive: zipfile.ZipFile, artifact: Artifact, temp: Path, problems: Problems) -> Symbols:
    # Not by `is_dir`, which before Python 3.12 fails on a member without a name.
    entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
    if {entry.compress_type for entry in entries} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise InputError(Problem(_INPUT, f"{artifact.name} is compressed by another method than deflate.", _ACCEPTED))
    _check_unpacked(sum(entry.file_size for entry in entries), artifact.name, packed=artifact.size)
    names = [entry.filename for entry in entries]
    chosen = _layout(names, artifact.name, problems)
    if list(chosen.items()) == sorted((name, name) for name in names):
        check_size(artifact, "symbols", problems, _INPUT)
        problems.raise_if_any()
        return artifact, tuple(problems.warnings)
    by_name = {entry.filename: entry for entry in entries}
    openers = {target: partial(archive.open, by_name[source]) for target, source in chosen.items()}
    return _written(openers, temp, artifact.name, problems)


def _check_unpacked(size: int, name: str, *, packed: int | None = None) -> None:
    """Refuses what is more work than any app's symbols: too much in all, or too much for the bytes that were given."""
    if size > _MAX_UNPACKED:
        raise InputError(Problem(_INPUT, f"{name} claims to unpack to more than {_MAX_UNPACKED >> 30} GiB."))
    if packed is not None and size > max(_MAX_RATIO * packed, _SMALL):
        raise InputError(Problem(_INPUT, f"{name} claims to unpack to more than {_MAX_RATIO} times its size."))


def _layout(names: Iterable[str], name: str, problems: Problems) -> Mapping[str, str]:
    """Where each symbol file belongs in the zip, and where it comes from; sorted. Raises InputError."""
    chosen: dict[str, str] = {}
    unused: list[str] = []
    for source in sorted(names):
        target = _target(source)
        if not target:
            unused.append(source)
        elif target in chosen:
            problems.add(_INPUT, f"{name} has {target} twice: {printable(chosen[target])} and {printable(source)}.")
        else:
            chosen[target] = source
    if not chosen:
        hint = _FLUTTER if any(source.endswith(".symbols") for source in unused) else ""
        problems.add(_INPUT, f"{name} has no native symbols.{hint}", _ACCEPTED)
    elif unused:
        shown = ", ".join(printable(each) for each in unused[:3]) + (" and more" if len(unused) > 3 else "")
        problems.warn(f"{_INPUT}: {name}: left out, because Play refuses them: {shown}.")
    problems.raise_if_any()
    return dict(sorted(chosen.items()))


def _target(source: str) -> str:
    """The path from its ABI folder on; empty for what is no symbol file of an ABI."""
    parts = PurePosixPath(source).parts
    abis = [index for index, part in enumerate(parts[:-1]) if part in _ABIS]
    usable = abis and source.endswith(_ENDINGS) and "__MACOSX" not in parts and ".." not in parts
    return "/".join(parts[abis[-1] :]) if usable else ""


def _written(files: Mapping[str, Opener], temp: Path, name: str, problems: Problems) -> Symbols:
    target = temp / "native-debug-symbols.zip"
    try:
        temp.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w") as archive:
            for each, opener in files.items():
                _write(archive, each, opener)
    except _ZIP_ERRORS as error:
        with suppress(OSError):
            target.unlink()
        reason = getattr(error, "strerror", None) or "a file in it is damaged, encrypted or of an unknown compression"
        raise InputError(Problem(_INPUT, f"{name} can't be packed: {reason}.")) from None
    artifact = from_path(target, f"{name} (as {target.name})")
    check_size(artifact, "symbols", problems, _INPUT)
    problems.raise_if_any()
    return artifact, tuple(problems.warnings)


def _write(archive: zipfile.ZipFile, name: str, opener: Opener) -> None:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    with opener() as source, archive.open(entry, "w", force_zip64=True) as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
