"""Native debug symbols in the one layout that Play takes: a zip with a folder for each ABI at its top.

Play refuses a level above (`lib/`: "contain an invalid directory") and any other file ("contain an unexpected file"),
and says so only after the upload; both come from ordinary build folders and zip tools, so they are put right here.
What is written is the same for the same files: names sorted, dates and modes fixed.
"""

from __future__ import annotations

import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO

from uploader.errors import InputError, Problem
from uploader.files.android.play_limits import check_size
from uploader.files.artifacts import Artifact, from_path, is_within, printable
from uploader.problems import Problems

_INPUT = "debug-symbols"
_ABIS = frozenset({"arm64-v8a", "armeabi-v7a", "armeabi", "x86", "x86_64", "riscv64", "mips", "mips64"})
_ENDINGS = (".so", ".so.sym", ".so.dbg")
_ACCEPTED = (
    "a folder or zip with <abi>/*.so, *.so.sym or *.so.dbg, such as merged_native_libs or native-debug-symbols.zip"
)
_MAX_UNPACKED = 32 << 30  # bytes: what a zip may claim to unpack to before it is taken for a bomb
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

Opener = Callable[[], IO[bytes]]


def debug_symbols(
    path: Path, temp: Path, *, name: str = "", within: Path | None = None
) -> tuple[Artifact, tuple[str, ...]]:
    """The zip to send, and warnings: the one given when it is right, else one made in the folder `temp`.

    Raises InputError (`debug-symbols`).
    """
    problems, name = Problems(), printable(name or path.name)
    if path.is_dir():
        return _from_folder(path, temp, name, within, problems)
    artifact = from_path(path, name, input_name=_INPUT, within=within)
    try:
        archive = zipfile.ZipFile(path)
    except _ZIP_ERRORS:
        raise InputError(Problem(_INPUT, f"{name} is not a whole zip.", _ACCEPTED)) from None
    with archive:
        return _from_zip(archive, artifact, temp, problems)


def _from_folder(
    path: Path, temp: Path, name: str, within: Path | None, problems: Problems
) -> tuple[Artifact, tuple[str, ...]]:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    if within is not None:
        for file in files:
            if not is_within(file, within):
                problems.add(_INPUT, f"{name}/{printable(file.relative_to(path).as_posix())} is outside the workspace.")
    sources = {file.relative_to(path).as_posix(): file for file in files}
    chosen = _layout(sources, name, problems)
    return _written({target: _opener(sources[source]) for target, source in chosen.items()}, temp, name, problems)


def _opener(file: Path) -> Opener:
    return lambda: file.open("rb")


def _from_zip(
    archive: zipfile.ZipFile, artifact: Artifact, temp: Path, problems: Problems
) -> tuple[Artifact, tuple[str, ...]]:
    # Not by `is_dir`, which before Python 3.12 fails on a member without a name.
    entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
    if sum(entry.file_size for entry in entries) > _MAX_UNPACKED:
        problems.add(_INPUT, f"{artifact.name} claims to unpack to more than {_MAX_UNPACKED >> 30} GiB.")
        problems.raise_if_any()
    names = [entry.filename for entry in entries]
    chosen = _layout(names, artifact.name, problems)
    if list(chosen.items()) == sorted((name, name) for name in names):
        check_size(artifact, "symbols", problems, _INPUT)
        problems.raise_if_any()
        return artifact, tuple(problems.warnings)
    by_name = {entry.filename: entry for entry in entries}
    openers = {target: _member(archive, by_name[source]) for target, source in chosen.items()}
    return _written(openers, temp, artifact.name, problems)


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Opener:
    return lambda: archive.open(entry)


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
        problems.add(_INPUT, f"{name} has no native symbols.{_hint(unused)}", _ACCEPTED)
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


def _hint(names: list[str]) -> str:
    if any(name.endswith(".symbols") for name in names):
        return " Flutter's .symbols files are for `flutter symbolize`; Play does not take them."
    return ""


def _written(
    files: Mapping[str, Opener], temp: Path, name: str, problems: Problems
) -> tuple[Artifact, tuple[str, ...]]:
    target = temp / "native-debug-symbols.zip"
    problems.raise_if_any()
    try:
        temp.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w") as archive:
            for each, opener in files.items():
                _write(archive, each, opener)
    except _ZIP_ERRORS as error:
        with suppress(OSError):
            target.unlink()
        reason = getattr(error, "strerror", None) or "a file in it is damaged, encrypted or of an unknown compression"
        problems.add(_INPUT, f"{name} can't be packed: {reason}.")
        problems.raise_if_any()
    artifact = from_path(target, f"{name} (as {target.name})", input_name=_INPUT)
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
