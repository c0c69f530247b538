"""Collects the files of the published image from the image in which it is built: those of the
system, and the program's.

    PYTHONHASHSEED=0 python -m scripts.image_root /app /layers

It makes two root folders. `/layers/system` has the interpreter, the standard library, every shared
library with which they and the program's packages are linked, two shells and their tools, the
trusted certificates, and records of where all of it comes from. `/layers/program` has /app, the
program with its packages. Python modules are there only as bytecode. Two builds give the same
bytes, since times are fixed, and the hash seed fixes the order of sets in bytecode.
"""

from __future__ import annotations

import os
import py_compile
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from scripts.image_contents import tell_scanners

# GitLab's runner quotes for bash; other shells need a setting in the job
# (FF_POSIXLY_CORRECT_ESCAPES).
SHELLS = ("/bin/sh", "/bin/bash")
# What the scripts of CI jobs call besides the program.
TOOLS = (
    "[",
    "basename",
    "cat",
    "chmod",
    "cp",
    "cut",
    "date",
    "dirname",
    "echo",
    "env",
    "false",
    "find",
    "grep",
    "gzip",
    "head",
    "id",
    "ln",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "printf",
    "pwd",
    "python",
    "python3",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "sed",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tar",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "uname",
    "uniq",
    "wc",
    "xargs",
)
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
SYSTEM_FILES = (
    "/etc/debian_version",
    "/etc/group",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    CERTIFICATES,
    "/usr/lib/locale/C.utf8",
    "/usr/share/common-licenses",
    "/usr/share/zoneinfo/America/Los_Angeles",  # a rehearsed rollout counts Google's days
)
# No file is linked with these: the C library loads them when a host is looked up or a thread ends.
LOADED_LATER = ("libnss_*.so.*", "libresolv.so.*", "libgcc_s.so.*")
# Modules of the standard library that are left out: tests, installers, and what needs a terminal, a
# screen or a database.
LEFT_OUT = re.compile(
    r"_*(?:test.*|xx.*|ctypes_test|ensurepip|venv|lib2to3|config-.*|site-packages|dist-packages"
    r"|idlelib|tkinter|turtle|turtledemo|pydoc|pydoc_data|pyrepl|curses|curses_panel|readline|sqlite3|dbm|gdbm)"
)
MADE_AT = 315_532_800  # 1980-01-01 in UTC, the earliest time that every kind of archive can hold


class Root:
    """The new root folder, in which each file has the same path as on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: set[Path] = set()
        """The files that were taken as they are, by their real paths."""

    def take(self, path: Path) -> None:
        """Copy a file or a whole folder, with every link on the way to it."""
        here = Path("/")
        for following, part in enumerate(path.parts[1:], 2):
            here /= part
            if here.is_symlink():
                self.link(here, here.readlink())
                target = here.parent.joinpath(here.readlink(), *path.parts[following:])
                self.take(Path(os.path.normpath(target)))
                return
        if path.is_dir():
            for inside in path.iterdir():
                self.take(inside)
        elif path not in self.taken:
            self.taken.add(path)
            shutil.copy(path, self.place(path))

    def take_modules(
        self, folder: Path, left_out: re.Pattern[str] | None = None
    ) -> None:
        """Copy a folder with its sources compiled to bytecode, which Python loads without looking
        for the sources.
        """
        for path in sorted(folder.iterdir()):
            name = path.name.partition(".")[0]
            if name == "__pycache__" or (left_out and left_out.fullmatch(name)):
                continue
            if path.is_dir():
                self.take_modules(path, left_out)
            elif path.suffix == ".py":
                target = self.place(path.with_suffix(".pyc"))
                trusted = py_compile.PycInvalidationMode.UNCHECKED_HASH
                py_compile.compile(
                    str(path),
                    str(target),
                    str(path),
                    doraise=True,
                    invalidation_mode=trusted,
                )
            else:
                self.take(path)

    def link(self, path: Path, target: Path) -> None:
        """Make a link, unless it exists."""
        if not self.place(path).is_symlink():
            self.place(path).symlink_to(target)

    def place(self, path: Path) -> Path:
        """Return where a path is in the new root, and make the folder above it."""
        place = self.folder / path.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def main(app: Path, layers: Path) -> None:
    """Fill the folders of both layers."""
    if sys.flags.hash_randomization:
        raise SystemExit(
            "Set PYTHONHASHSEED=0: otherwise the bytecode of sets differs between builds."
        )
    root = Root(layers / "system")
    for path in (*SHELLS, *map(program, TOOLS), *SYSTEM_FILES):
        root.take(Path(path))
    root.take_modules(Path(sysconfig.get_path("stdlib")), LEFT_OUT)
    root.take_modules(app / "venv" / "lib")
    for name in ("entrypoint.py", "bin", "venv/bin", "venv/pyvenv.cfg"):
        root.take(app / name)
    for library in libraries(root.taken):
        root.take(library)
    furnish(root)
    tell_scanners(root.folder, root.taken, app)
    program_root = Root(layers / "program")
    root.place(app).rename(program_root.place(app))
    for made in layers.rglob("*"):
        os.utime(made, (MADE_AT, MADE_AT), follow_symlinks=False)


def program(name: str) -> str:
    """Return the path of a program. Raises SystemExit if there is none."""
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"The build image has no {name}.")
    return path


def libraries(files: Iterable[Path]) -> set[Path]:
    """Return the libraries with which the programs and libraries among the files are linked, and
    those that the C library loads later. Raises SystemExit if one is missing.
    """
    machine_code = [
        str(file) for file in sorted(files) if file.read_bytes()[:4] == b"\x7fELF"
    ]
    done = subprocess.run(
        ["ldd", *machine_code], capture_output=True, text=True, check=False
    )
    if done.returncode or "not found" in done.stdout:
        raise SystemExit(
            f"The build image lacks a library.\n{done.stderr}{done.stdout}"
        )
    found = {Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)}
    folder = next(path.parent for path in found if path.name == "libc.so.6")
    return found.union(*(folder.glob(pattern) for pattern in LOADED_LATER))


def furnish(root: Root) -> None:
    """Make what is in no package: empty folders, links, and the loader's list of libraries."""
    for folder, mode in (("/tmp", 0o1777), ("/var/tmp", 0o1777), ("/root", 0o700)):  # noqa: S108  # made here, not used
        root.place(Path(folder)).mkdir(parents=True)
        root.place(Path(folder)).chmod(mode)
    root.link(Path(ssl.get_default_verify_paths().openssl_cafile), Path(CERTIFICATES))
    root.link(Path("/usr/local/bin/uploader"), Path("/app/venv/bin/uploader"))
    subprocess.run(["ldconfig", "-X", "-r", str(root.folder)], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
