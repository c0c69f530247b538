"""Opens every file that the inputs of a run name, except the credentials (`auth.credentials`)
and what the run writes. A file is checked on its open descriptor and read from that descriptor.

Anybody who may commit to the workspace chooses what its links point at. Therefore the rules apply
to the real path of what was opened, not to the name that led there:

- These are never opened, whatever is allowed: a credential that the run knows (by its inode, so
  also under another name or a hard link), `gha-creds-*.json`, anything in `.git` or `.ssh` or named
  `.env*`, and the kernel's own files in `/proc` and `/sys`.
- A key, a keystore or another credential, recognised by its content, is opened only if it is named
  itself, and with `allow-credential-files`. What comes through a pipe can't be looked at before it
  is sent.
- A file outside the workspace is opened only with `allow-outside-workspace`.
- For texts, notes, images, symbols and mails, a file beyond the folder that their input names is
  opened only with `allow-symlinks`.
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

# what google-github-actions/auth leaves in the workspace
_LOGIN_FILES = "gha-creds-*.json"
GCLOUD = "~/.config/gcloud/application_default_credentials.json"
_CREDENTIALS = "contains this run's credentials and is never uploaded"
LOGIN_FILE = "contains credentials and is never uploaded"
_NEVER = "is never uploaded, like everything in `.git`, `.ssh`, `/proc` or `/sys`, or named `.env*`"
_OUTSIDE = (
    "is outside the workspace, which only `allow-outside-workspace: true` permits"
)
_CREDENTIAL_BY_NAME = ", which is only uploaded with `allow-credential-files: true`"
_CREDENTIAL_BY_PATTERN = (
    " and is never uploaded just because a pattern or a folder includes it: exclude it "
    "there"
)
_NOT_WRITTEN = (
    "is never written, like everything with credentials, in `.git`, `.ssh`, `/proc` or `/sys`, or "
    "named `.env*`"
)
_KERNEL = ("/proc/", "/sys/")
# O_NONBLOCK, so that a pipe without a writer does not hold the run
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class NotOpened(Exception):
    """A file was not opened. The text says why: it continues a sentence that begins with the file's
    name, without a full stop.
    """


class Forbidden(NotOpened):
    """A file was not opened because of a rule of the workspace, not because of what it is."""


@dataclass(frozen=True, eq=False)
class Workspace:
    """The folder of the run, what may be opened in it and outside it, and the credentials that are
    never opened.

    `credentials` are paths that may exist; both these paths and the files that are there now are
    protected. `temp` is the CI system's folder for temporary files.
    """

    root: Path
    allow_outside: bool = False
    allow_symlinks: bool = False
    allow_credential_files: bool = False
    credentials: Sequence[Path] = ()
    temp: Path | None = None

    @classmethod
    def of(cls, inputs: Inputs) -> Workspace:
        """Return the workspace that the inputs describe, with the credential files they name."""
        allowed = inputs.record(WorkspaceInputs)
        credentials = list(inputs.credential_files)
        credentials += _login_files(inputs.record(LoginInputs))
        return cls(
            inputs.platform.workspace,
            allowed.allow_outside_workspace,
            allowed.allow_symlinks,
            allowed.allow_credential_files,
            credentials,
            inputs.platform.temp,
        )

    @classmethod
    def of_login(cls, inputs: LoginInputs) -> Workspace:
        """Return the rules for the files that a credential configuration names: mostly outside the
        workspace, never a credential.
        """
        return cls(
            inputs.platform.workspace,
            allow_outside=True,
            credentials=_login_files(inputs),
        )

    def access(
        self,
        input_name: str = "files",
        folder: str | None = None,
        *,
        named: bool = True,
    ) -> Access:
        """Return what one input may open. Its links may not lead beyond `folder`; None sets no such
        bound.

        `named` means that the input names the file itself, not a folder or a pattern. Only then may
        it be a credential if that is allowed.
        """
        if not named:
            rule = _CREDENTIAL_BY_PATTERN
        elif self.allow_credential_files:
            rule = ""
        else:
            rule = _CREDENTIAL_BY_NAME
        bound = ""
        if folder is not None:
            bound = self.lexical(folder)
        return Access(self, input_name, bound, rule)

    def objection(
        self,
        real: str,
        status: os.stat_result,
        folder: str = "",
        name: str = "",
    ) -> str:
        """Return why the file with this real path, or this name, may not be opened, as the end of a
        sentence; empty when it may.
        """
        path = real
        inside = self._contains(real)
        if inside:
            # The workspace itself may lie in a folder whose name is protected.
            path = real[len(self.real) :]
        names = path.casefold().split("/")
        if fnmatchcase(names[-1], _LOGIN_FILES) or fnmatchcase(name, _LOGIN_FILES):
            return LOGIN_FILE
        if real in self._secrets or _inode(status) in self._secrets:
            return _CREDENTIALS
        if _is_protected(names) or real.startswith(_KERNEL):
            return _NEVER
        if not inside and not self.allow_outside:
            return _OUTSIDE
        if not folder or self.allow_symlinks:
            return ""
        if not _is_in(real, folder):
            shown = os.path.relpath(folder, self.real)
            return f"leads out of {shown}, which only `allow-symlinks: true` permits"
        return ""

    def objection_to_writing(self, real: str) -> str:
        """Return why no file may be written at this real path, as the end of a sentence; empty when
        one may.
        """
        try:
            status = os.lstat(real)
        except OSError:
            # No file is there yet, and no file has these values.
            status = os.stat_result((0,) * 10)
        objection = self.objection(real, status)
        if objection in ("", _OUTSIDE):
            return objection
        return _NOT_WRITTEN

    @cached_property
    def real(self) -> str:
        """The real path of the folder."""
        return os.path.realpath(self.root)

    @cached_property
    def _secrets(self) -> frozenset[object]:
        """The real paths and inodes of the credentials. The inode recognises a hard link, too."""
        secrets: set[object] = set()
        for path in self.credentials:
            # A text that is no path, or the path of no file, needs no protection.
            with suppress(OSError, ValueError):
                real = os.path.realpath(path, strict=True)
                inode = _inode(path.stat())
                secrets.add(real)
                secrets.add(inode)
        return frozenset(secrets)

    def _contains(self, real: str) -> bool:
        """Return whether a real path is the workspace or lies in it."""
        return _is_in(real, self.real)

    def lexical(self, folder: str) -> str:
        """Return the folder's path without following a link below the workspace, since the input
        may name a link itself.
        """
        workspace = os.path.normpath(self.root.absolute())
        path = os.path.normpath(self.root.absolute() / folder)
        for root in (workspace, self.real):
            if _is_in(path, root):
                relative = path[len(root) :].lstrip("/")
                return os.path.normpath(below(self.real) + relative)
        return os.path.realpath(path)

    def inside(self, path: str) -> str | None:
        """Return a path from `lexical` relative to the workspace; None if it is outside."""
        if not below(path).startswith(below(self.real)):
            return None
        return path[len(self.real) :].lstrip("/")


@dataclass(frozen=True)
class Access:
    """What one input may open: the workspace's rules, and the real folder beyond which its links
    may not lead.

    `credential_rule` continues a sentence that names the kind of a credential, and says when such a
    file may be opened. If it is empty, every file is opened whatever is in it.
    """

    workspace: Workspace
    input_name: str = "files"
    folder: str = ""
    credential_rule: str = ""

    def open(self, path: Path | str, *, pipe: bool = False) -> io.FileIO:
        """Open a regular file (or a named pipe) after every check, with a descriptor that does not
        block. Raises NotOpened.
        """
        try:
            # Opening a device can have effects, so its kind is checked before.
            _check_kind(Path(path).stat(), pipe=pipe)
            file = io.FileIO(os.open(path, _FLAGS))
        except (OSError, ValueError) as error:
            raise NotOpened(f"can't be read: {reason(error)}") from None
        with ExitStack() as stack:
            stack.callback(file.close)
            status = os.fstat(file.fileno())
            _check_kind(status, pipe=pipe)
            real = _real_path(file.fileno(), path, status)
            objection = self.workspace.objection(real, status, self.folder)
            if objection:
                raise Forbidden(objection)
            if stat.S_ISREG(status.st_mode):
                objection = self.objection_to_content(file)
                if objection:
                    raise NotOpened(objection)
            # Every check passed, so the file stays open.
            stack.pop_all()
        return file

    def objection_to_content(self, file: io.FileIO) -> str:
        """Return why an open regular file may not be taken for its content, as the end of a
        sentence; empty when it may.
        """
        try:
            if is_lfs_pointer(file.fileno()):
                return LFS_POINTER
            if not self.credential_rule:
                return ""
            kind = kind_of_file(file.fileno())
        except OSError as error:
            return f"can't be read: {reason(error)}"
        if not kind:
            return ""
        return f"is {kind}{self.credential_rule}"

    def objection_to_file(self, path: Path) -> str:
        """Return why a regular file may not be taken, as the end of a sentence; else empty."""
        try:
            self.open(path).close()
        except NotOpened as refusal:
            return str(refusal)
        return ""

    def open_input(self, path: Path, name: str) -> io.FileIO:
        """Open the file that messages call `name`. Raises InputError for the input."""
        try:
            return self.open(path)
        except NotOpened as refusal:
            what = f"{printable(name)} {refusal}."
            if not os.path.lexists(path):
                what += printable(path_hint(name, self.workspace.root))
            raise InputError(Problem(self.input_name, what)) from None

    def objection(self, folder: Path) -> str:
        """Return why a folder may not be listed, as the end of a sentence; empty when it may."""
        try:
            return self.workspace.objection(
                os.path.realpath(folder), folder.stat(), self.folder
            )
        except (OSError, ValueError) as error:
            return f"can't be read: {reason(error)}"


def _login_files(inputs: LoginInputs) -> list[Path]:
    """Return the files that the login may come from, as far as they exist, and in any case the
    user's gcloud login.
    """
    platform = inputs.platform
    texts = (
        inputs.credentials,
        platform.google_application_credentials,
        gcloud_login(platform),
        GCLOUD,
    )
    paths: list[Path] = []
    for text in texts:
        if not text:
            continue
        # A container's user may have no home.
        with suppress(RuntimeError):
            path = platform.workspace / Path(text).expanduser()
            # What does not exist may be the key itself.
            if os.path.lexists(path):
                paths.append(path)
    return list(dict.fromkeys(paths))


def gcloud_login(platform: Platform) -> str:
    """Return where gcloud keeps the login of this run: in CLOUDSDK_CONFIG if that is set, otherwise
    below the home.

    gcloud and google-auth look there, too. A relative path starts at the workspace.
    """
    folder = platform.google_auth.get("CLOUDSDK_CONFIG", "")
    if not folder:
        return GCLOUD
    return f"{folder}/{Path(GCLOUD).name}"


ANYWHERE = Access(Workspace(Path("/")))  # for what the program made itself


def printable(name: str) -> str:
    """Return the name as text that any UTF-8 output takes: bytes that are no UTF-8 (surrogates in
    Python) become `?`.
    """
    if name.isascii():
        return name
    return name.encode("utf-8", "replace").decode("utf-8")


def reason(error: Exception) -> str:
    """Return the system's own words for an error. The exception's text may repeat a whole hostile
    name, so it is not used.
    """
    if not isinstance(error, OSError):
        return "it is not a valid path"
    return error.strerror or "it can't be read"


def open_regular_file(path: Path) -> io.FileIO:
    """Open a regular file that no input names, such as Git's index, with a descriptor that does not
    block. Raises NotOpened for any other kind of file, and OSError.
    """
    _check_kind(path.stat(), pipe=False)
    file = io.FileIO(os.open(path, _FLAGS))
    try:
        _check_kind(os.fstat(file.fileno()), pipe=False)
    except NotOpened:
        file.close()
        raise
    return file


def _check_kind(status: os.stat_result, *, pipe: bool) -> None:
    """Raise NotOpened for anything but a regular file, or a named pipe if that is allowed."""
    if stat.S_ISREG(status.st_mode):
        return
    if not pipe or not stat.S_ISFIFO(status.st_mode):
        raise NotOpened("is not a regular file")


def _is_protected(names: Sequence[str]) -> bool:
    """Return whether one of the names on a path, in lower case, protects what is below it."""
    return any(name in {".git", ".ssh"} or name.startswith(".env") for name in names)


def _real_path(descriptor: int, path: Path | str, status: os.stat_result) -> str:
    """Return where the open file is, as the kernel says, or else a real path that leads to the same
    inode. Raises NotOpened.
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


def _is_in(path: str, folder: str) -> bool:
    """Return whether a path is that of a folder or of something in it."""
    return path == folder or path.startswith(below(folder))


def below(folder: str) -> str:
    """Return the folder's path with a slash at its end, with which the path of everything in it
    begins.
    """
    return folder.rstrip("/") + "/"


MAX_ENTRIES = 10_000  # entries of one folder that are looked at
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:[\\/]", re.ASCII)
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)


def path_hint(path: str, root: Path) -> str:
    """Return a sentence, after a blank, that says what may be meant; empty if that is not known.
    `path` is a path or a glob, relative to `root` or absolute.
    """
    reference = _REFERENCE.search(path)
    if reference:
        return (
            f" {reference[0]} was not expanded: GitHub expands no variables in `with:`, and GitLab "
            "expands none that this job does not have, or that is protected while its branch is "
            "not."
        )
    if re.search(r"\{(package[-_]?name|application[-_]?id)\}", path, re.IGNORECASE):
        return " Did you mean `{package}`?"
    if _WINDOWS_DRIVE.match(path):
        return (
            " This is a path of a Windows machine: write one relative to the workspace."
        )
    if "\\" in path:
        slashed = path.replace("\\", "/")
        meant = _existing(slashed, root) or slashed
        return f" Write `/` between folders: `{meant}`."
    existing = _existing(path, root)
    if existing and existing.strip("/") != path.strip("/"):
        return f" Did you mean `{existing}`?"
    return ""


def _existing(path: str, root: Path) -> str:
    """Return the first existing path that this path or glob matches in any case; empty if there is
    none, or if the glob has `**`, with which the search would not end.
    """
    existing = Path("/" if path.startswith("/") else "")
    for segment in path.split("/"):
        if not segment:
            continue
        name = segment
        if not os.path.lexists(root / existing / segment):
            name = _similar_name(root / existing, segment)
        if not name:
            return ""
        existing /= name
    if existing == Path():
        return ""
    return str(existing)


def _similar_name(folder: Path, segment: str) -> str:
    """Return the first name in a folder that a segment matches in any case; else empty."""
    # `**` matches folders at any depth, so that the search would have no end.
    if segment == "**":
        return ""
    matches = re.compile(translate(segment), re.IGNORECASE).match
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in islice(entries, MAX_ENTRIES)
                if matches(entry.name)
            ]
    except (OSError, ValueError):
        return ""
    return min(names, default="")
