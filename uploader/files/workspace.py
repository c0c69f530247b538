"""The one door to the files of a run: opened here, checked on the open descriptor, read from that
descriptor.

Whoever may commit to the workspace chooses what its links point at, so the rules hold for the real
path of what was opened, never for the name that led there:

- never, whatever is allowed: a credential that the run knows (by its inode, so under another name
  or a hard link too), `gha-creds-*.json`, anything in `.git` or `.ssh` or named `.env*`, and the
  kernel's own files in `/proc` and `/sys`;
- a key, a keystore or another credential, told by its content, only where it is named itself and
  with `allow-credential-files`; what comes through a pipe can't be looked at before it is sent;
- outside the workspace only with `allow-outside-workspace`;
- for texts, notes, images, symbols and mails, beyond the folder that their input names only with
  `allow-symlinks`.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cached_property
from itertools import islice
from pathlib import Path

from uploader.errors import InputError, Problem
from uploader.files.credential_files import LFS_POINTER, is_lfs_pointer, kind_of_file
from uploader.inputs import Inputs
from uploader.inputs.platform import Platform
from uploader.inputs.records import LoginInputs, WorkspaceInputs

_LOGIN_FILES = "gha-creds-*.json"  # what google-github-actions/auth leaves in the workspace
GCLOUD = "~/.config/gcloud/application_default_credentials.json"
_CREDENTIALS = "contains this run's credentials and is never uploaded"
LOGIN_FILE = "contains credentials and is never uploaded"
_NEVER = "is never uploaded: nothing in `.git`, `.ssh`, `/proc` or `/sys`, or named `.env*`, is"
_OUTSIDE = "is outside the workspace, which only `allow-outside-workspace: true` permits"
_CREDENTIAL_BY_NAME = ", which is only uploaded with `allow-credential-files: true`"
_CREDENTIAL_BY_PATTERN = (
    " and is never uploaded because a pattern or a folder brings it along: keep it out of there"
)
_NOT_WRITTEN = (
    "is never written: nothing with credentials, in `.git`, `.ssh`, `/proc` or `/sys`, or named "
    "`.env*`, is"
)
_KERNEL = ("/proc/", "/sys/")
# a pipe without a writer may not hold the run
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class NotOpened(Exception):
    """Why a file is not opened; the text continues a sentence that begins with its name, without a
    full stop.
    """


class Forbidden(NotOpened):
    """The same where a rule of the workspace says no, and not the file itself."""


@dataclass(frozen=True, eq=False)
class Workspace:
    """The folder of the run, what may be opened in it and outside it, and the credentials that are
    never opened.

    `credentials` are paths that may exist; what is there now and the places are protected. `temp`
    is the CI system's.
    """

    root: Path
    allow_outside: bool = False
    allow_symlinks: bool = False
    allow_credential_files: bool = False
    credentials: Sequence[Path] = ()
    temp: Path | None = None

    @classmethod
    def of(cls, inputs: Inputs) -> Workspace:
        """The workspace that the inputs describe, with every credential file that they name."""
        allowed = inputs.record(WorkspaceInputs)
        return cls(
            inputs.platform.workspace,
            allowed.allow_outside_workspace,
            allowed.allow_symlinks,
            allowed.allow_credential_files,
            [*inputs.credential_files, *_login_files(inputs.record(LoginInputs))],
            inputs.platform.temp,
        )

    @classmethod
    def of_login(cls, inputs: LoginInputs) -> Workspace:
        """The rules for what a credential configuration names: mostly outside the workspace, never
        a credential.
        """
        return cls(inputs.platform.workspace, allow_outside=True, credentials=_login_files(inputs))

    def access(
        self, input_name: str = "files", folder: str | None = None, *, named: bool = True
    ) -> Access:
        """What one input may open; `folder` is the one beyond which its links may not lead, None
        for no such bound.

        `named` says that the input names the file itself, not a folder or a pattern: only then may
        it be a credential, where that is allowed.
        """
        rule = _CREDENTIAL_BY_NAME if named else _CREDENTIAL_BY_PATTERN
        if named and self.allow_credential_files:
            rule = ""
        return Access(self, input_name, "" if folder is None else self.lexical(folder), rule)

    def objection(self, real: str, status: os.stat_result, folder: str = "", name: str = "") -> str:
        """Why the file with this real path, or this name, may not be opened, as the end of a
        sentence; else empty.
        """
        inside = real == self.real or real.startswith(below(self.real))
        names = [part.casefold() for part in real[len(self.real) if inside else 0 :].split("/")]
        if any(fnmatchcase(each, _LOGIN_FILES) for each in (names[-1], name)):
            return LOGIN_FILE
        if real in self._secrets or _inode(status) in self._secrets:
            return _CREDENTIALS
        if any(
            part in {".git", ".ssh"} or part.startswith(".env") for part in names
        ) or real.startswith(_KERNEL):
            return _NEVER
        if not (inside or self.allow_outside):
            return _OUTSIDE
        if folder and not (self.allow_symlinks or real == folder or real.startswith(below(folder))):
            return (
                f"leads out of {os.path.relpath(folder, self.real)}, which only `allow-symlinks: "
                "true` permits"
            )
        return ""

    def objection_to_writing(self, real: str) -> str:
        """Why no file may be written at this real path, as the end of a sentence; empty when one
        may.
        """
        try:
            status = os.lstat(real)
        except OSError:
            status = os.stat_result((0,) * 10)  # no file's: there is none
        objection = self.objection(real, status)
        return objection if objection in ("", _OUTSIDE) else _NOT_WRITTEN

    @cached_property
    def real(self) -> str:
        """The real path of the folder."""
        return os.path.realpath(self.root)

    @cached_property
    def _secrets(self) -> frozenset[object]:
        """Real paths and inodes; the inode is found wherever a hard link stands."""
        found: set[object] = set()
        for path in self.credentials:
            # what is no path, or is not there, needs no protection
            with suppress(OSError, ValueError):
                found |= {os.path.realpath(path, strict=True), _inode(path.stat())}
        return frozenset(found)

    def lexical(self, folder: str) -> str:
        """The folder's path with no link followed below the workspace: what is named may be a link
        itself.
        """
        path = os.path.normpath(self.root.absolute() / folder)
        for root in (os.path.normpath(self.root.absolute()), self.real):
            if path == root or path.startswith(below(root)):
                return os.path.normpath(below(self.real) + path[len(root) :].lstrip("/"))
        return os.path.realpath(path)

    def inside(self, path: str) -> str | None:
        """A path that `lexical` has returned, relative to the workspace; None where it is
        outside.
        """
        return (
            path[len(self.real) :].lstrip("/") if below(path).startswith(below(self.real)) else None
        )


@dataclass(frozen=True)
class Access:
    """What one input may open: the workspace's rules, and the real folder beyond which its links
    may not lead.

    `credential_rule` says that no credential may be opened, and when one may; it continues a
    sentence that names its kind. Empty, every file is opened whatever is in it.
    """

    workspace: Workspace
    input_name: str = "files"
    folder: str = ""
    credential_rule: str = ""

    def open(self, path: Path | str, *, pipe: bool = False) -> io.FileIO:
        """A regular file (or a named pipe), after every check. Raises NotOpened. The descriptor
        does not block.
        """
        try:
            _check_kind(Path(path).stat(), pipe=pipe)  # a device may not even be opened
            file = io.FileIO(os.open(path, _FLAGS))
        except (OSError, ValueError) as error:
            raise NotOpened(f"can't be read: {reason(error)}") from None
        with ExitStack() as stack:
            stack.callback(file.close)
            status = os.fstat(file.fileno())
            _check_kind(status, pipe=pipe)
            if objection := self.workspace.objection(
                _real_path(file.fileno(), path, status), status, self.folder
            ):
                raise Forbidden(objection)
            if stat.S_ISREG(status.st_mode) and (objection := self.objection_to_content(file)):
                raise NotOpened(objection)
            stack.pop_all()
        return file

    def objection_to_content(self, file: io.FileIO) -> str:
        """Why an open regular file may not be taken for what is in it, as the end of a sentence;
        else empty.
        """
        try:
            if is_lfs_pointer(file.fileno()):
                return LFS_POINTER
            kind = kind_of_file(file.fileno()) if self.credential_rule else ""
        except OSError as error:
            return f"can't be read: {reason(error)}"
        return f"is {kind}{self.credential_rule}" if kind else ""

    def objection_to_file(self, path: Path) -> str:
        """Why a regular file may not be taken, as the end of a sentence; empty when it may."""
        try:
            self.open(path).close()
        except NotOpened as refusal:
            return str(refusal)
        return ""

    def open_input(self, path: Path, name: str) -> io.FileIO:
        """The same for the file that people call `name`. Raises InputError for the input."""
        try:
            return self.open(path)
        except NotOpened as refusal:
            meant = "" if os.path.lexists(path) else path_hint(name, self.workspace.root)
            raise InputError(
                Problem(self.input_name, f"{printable(name)} {refusal}.{printable(meant)}")
            ) from None

    def objection(self, folder: Path) -> str:
        """Why a folder may not be listed, as the end of a sentence; empty when it may."""
        try:
            return self.workspace.objection(os.path.realpath(folder), folder.stat(), self.folder)
        except (OSError, ValueError) as error:
            return f"can't be read: {reason(error)}"


def _login_files(inputs: LoginInputs) -> list[Path]:
    """The files that the login may come from, as far as they are there, and the user's gcloud login
    in any case.
    """
    platform = inputs.platform
    found = []
    named = (
        inputs.credentials,
        platform.google_application_credentials,
        gcloud_login(platform),
        GCLOUD,
    )
    for text in filter(None, named):
        with suppress(RuntimeError):  # a container's user may have no home
            path = platform.workspace / Path(text).expanduser()
            if os.path.lexists(path):  # else it may be the key itself
                found.append(path)
    return list(dict.fromkeys(found))


def gcloud_login(platform: Platform) -> str:
    """Where gcloud keeps the login of this run: in CLOUDSDK_CONFIG where that is set, and only else
    below the home.

    So do gcloud and google-auth. A relative path starts at the workspace.
    """
    folder = platform.google_auth.get("CLOUDSDK_CONFIG", "")
    return f"{folder}/{Path(GCLOUD).name}" if folder else GCLOUD


ANYWHERE = Access(Workspace(Path("/")))  # for what the program made itself


def printable(name: str) -> str:
    """The name as text that any UTF-8 output takes: bytes that are no UTF-8 (surrogates in Python)
    become `?`.
    """
    return name if name.isascii() else name.encode("utf-8", "replace").decode("utf-8")


def reason(error: Exception) -> str:
    """What the system says in its own words; never the exception's text, which may repeat a whole
    hostile name.
    """
    return (
        (error.strerror or "it can't be read")
        if isinstance(error, OSError)
        else "it is not a valid path"
    )


def _check_kind(status: os.stat_result, *, pipe: bool) -> None:
    if not (stat.S_ISREG(status.st_mode) or (pipe and stat.S_ISFIFO(status.st_mode))):
        raise NotOpened("is not a regular file")


def _real_path(descriptor: int, path: Path | str, status: os.stat_result) -> str:
    """Where the open file is: as the kernel says; where it does not, a real path that leads to this
    inode.
    """
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        real = os.path.realpath(path)
        if _inode(Path(real).stat()) != _inode(status):
            raise NotOpened("was replaced while it was opened") from None
        return real


def _inode(status: os.stat_result) -> tuple[int, int]:
    return (status.st_dev, status.st_ino)


def below(folder: str) -> str:
    """What the path of everything in a folder begins with."""
    return folder.rstrip("/") + "/"


MAX_ENTRIES = 10_000  # of one folder that are looked at
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)


def path_hint(path: str, root: Path) -> str:
    """A sentence that begins with a blank, or nothing. `path` is a path or a glob, relative to
    `root` or absolute.
    """
    if reference := _REFERENCE.search(path):
        return (
            f" {reference[0]} was not expanded, since this job has no such variable, or it is "
            "protected."
        )
    if "\\" in path:
        slashed = path.replace("\\", "/")
        return f" Write `/` between folders: `{_existing(slashed, root) or slashed}`."
    found = _existing(path, root)
    return f" Did you mean `{found}`?" if found.strip("/") != path.strip("/") and found else ""


def _existing(path: str, root: Path) -> str:
    """The first path in any case that is there; empty where there is none, or `**` would make the
    search endless.
    """
    found = Path("/" if path.startswith("/") else "")
    for segment in filter(None, path.split("/")):
        name, matches = segment, re.compile(translate(segment), re.IGNORECASE).match
        if not os.path.lexists(root / found / segment):
            try:
                with os.scandir(root / found) as entries:
                    names = [
                        entry.name for entry in islice(entries, MAX_ENTRIES) if matches(entry.name)
                    ]
            except (OSError, ValueError):
                return ""
            name = "" if segment == "**" else min(names, default="")
        if not name:
            return ""
        found /= name
    return "" if found == Path() else str(found)
