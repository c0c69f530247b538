"""A folder of small sealed values, used by one run at a time. Only a holder of the key can read
them.

Values are sealed with AES-GCM under file names that are keyed hashes. Only the run that holds the
folder's lock, which ends with the process, reads and changes them. Nothing is kept in a folder that
others can change. Old files are removed only if they are named like ours, and only from a folder
that was empty when it was opened or bears our mark.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from uploader.clock import Clock
from uploader.files.folders import open_folder
from uploader.files.workspace import Workspace
from uploader.reporting import Reporter
from uploader.text import plural

# seconds; any session lives for a week at most, the rest is for clocks that are wrong
_MAX_AGE = 30 * 86400.0
# bytes; the notes of five releases, in every language, are a third of it
_MAX_BYTES = 4 * 1024 * 1024
# files of a state folder that are looked at; one run leaves fewer
_MAX_FILES = 1000
_OWN_NAMES = re.compile(r"[0-9a-f]{40}\.(?:sealed|lock|(?:[0-9a-z_]{8}\.)?new)")
_LOCK = ".lock"
_MARK = ".uploader"
_MARK_TEXT = (
    b"Unfinished uploads, sealed: what is older than any upload session is removed.\n"
)
SEAL_CONTEXT = b"uploader journal, sealed\0"
# With blocks of 1 KiB each guess takes 32 MiB and 60 ms. It is restic's value, without its
# calibration.
SCRYPT_COST = 2**15
_SEALED = ".sealed"
_UNFINISHED = ".new"
_NONCE = 12  # bytes at the beginning of a sealed value; AES-GCM's usual length
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
# A link that somebody planted is not followed, and a planted pipe does not hang the run.
_OWN_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def make_seal_key(state_key: str, lasting: bytes | None, account: str) -> bytes | None:
    """Return 32 bytes derived from `state-key`, or from the credential's lasting secret; None if
    there is neither.

    The key for a `state-key` is that of this `account` alone.

    A `state-key` may be a word that people chose, so it is stretched; no other secret needs that.
    """
    if state_key:
        salt = SEAL_CONTEXT + account.encode()
        return hashlib.scrypt(
            state_key.encode(),
            salt=salt,
            n=SCRYPT_COST,
            r=8,
            p=1,
            maxmem=2**26,
            dklen=32,
        )
    if not lasting:
        return None
    return hashlib.sha256(SEAL_CONTEXT + lasting).digest()


class SealedStore:
    """Sealed values by name.

    `key` is any lasting secret, `purpose` names whose values these are, and at which endpoint. The
    folder may belong to this process's user and to `owners`, other users by their number; without a
    folder nothing is kept. Below `workspace`, where others make links, none is followed.
    """

    def __init__(
        self,
        folder: Path | None,
        key: bytes,
        purpose: str,
        clock: Clock,
        reporter: Reporter,
        *owners: int,
        workspace: Workspace | None = None,
    ) -> None:
        self._folder = folder or Path()
        # The folder's descriptor: files are opened relative to it, so that no link leads elsewhere.
        self._descriptor = -1
        self._name_key = _derive(key, f"names of {purpose}")
        self._seal_key = _derive(key, f"seals of {purpose}")
        self.clock = clock
        self.reporter = reporter
        # The descriptor that holds the lock. Without it nothing is read or kept.
        self._lock: int | None = None
        self._ours = False
        self._warned = False
        if folder:
            with self._tolerant():
                self._descriptor = _open_state_folder(folder, owners, workspace)
                objection = _objection(os.fstat(self._descriptor), owners)
                if objection:
                    reporter.warning(
                        f"The state folder {folder} {objection}: unfinished uploads are not kept "
                        "there. Set `state-dir` to a folder that only you can write (mode 0700)."
                    )
                    return
                self._lock = self._take_lock()
                if self._lock is not None:
                    self._tidy()

    def _open(self, name: str, flags: int) -> int:
        """Return a descriptor of a file in the folder. A new file can be read and written by its
        owner alone. Follows no link.
        """
        return os.open(
            name,
            flags | _OWN_FILE,
            mode=0o600,
            dir_fd=self._descriptor,
        )

    def _status(self, name: str) -> os.stat_result:
        """Return the status of a file in the folder, or of a link there. Raises OSError."""
        return os.stat(
            name,
            dir_fd=self._descriptor,
            follow_symlinks=False,
        )

    def _is_there(self, name: str) -> bool:
        try:
            self._status(name)
        except FileNotFoundError:
            return False
        return True

    def _unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def _names(self) -> list[str]:
        """Return the names of all files in the folder."""
        return os.listdir(self._descriptor)  # noqa: PTH208  # a path could lead elsewhere by now

    def name(self, text: str) -> str:
        """Return the file name for a value, which says nothing to anyone without the key."""
        digest = hmac.new(self._name_key, text.encode(), hashlib.sha256)
        return digest.hexdigest()[:40]

    def close(self) -> None:
        """Unlock the folder; the values stay for the next run, and a folder without any is left
        empty.
        """
        lock = self._lock
        self._lock = None
        if lock is not None:
            with suppress(OSError):
                self._unlink(_LOCK)
                if self._ours and self._names() == [_MARK]:
                    self._unlink(_MARK)
            os.close(lock)
        descriptor = self._descriptor
        self._descriptor = -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close

    def _take_lock(self) -> int | None:
        """Lock the folder and return the descriptor that holds the lock; None if another run holds
        it.
        """
        while True:
            lock = self._open(_LOCK, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(lock)
                if not isinstance(error, BlockingIOError):
                    raise
                self.reporter.info(
                    "Another run is using the state folder: this one neither continues nor keeps "
                    "unfinished uploads. Set `state-dir` to a separate folder if runs overlap."
                )
                return None
            status = os.fstat(lock)
            if status.st_nlink:
                return lock
            # Its last holder has removed it since it was opened here.
            os.close(lock)

    def _tidy(self) -> None:
        """Remove what no run can still need, and warn of what this one can't open."""
        expired = 0
        unreadable = 0
        names = [name for name in self._names() if name != _LOCK]
        self._ours = not names or _MARK in names
        for name in names[:_MAX_FILES]:
            if not _OWN_NAMES.fullmatch(name):
                continue
            is_sealed = name.endswith(_SEALED)
            if self._ours and self._is_over(name):
                self._unlink(name)
                if is_sealed:
                    expired += 1
                continue
            if not is_sealed:
                continue
            value = self._load(name.removesuffix(_SEALED))
            if value is None:
                was_unknown = self._set_aside(name)
                if was_unknown:
                    unreadable += 1
        if expired:
            self.reporter.info(
                f"Removed {plural(expired, 'file')} from the state folder, older than any upload "
                "session."
            )
        if unreadable:
            self.reporter.warning(
                f"{plural(unreadable, 'file')} in the state folder can't be opened and will be "
                "ignored: written for another account, credential or endpoint, or damaged."
            )

    def _is_over(self, name: str) -> bool:
        """Return whether no run can still need a file: it is too old, or was never finished."""
        status = self._status(name)
        if name.endswith(_UNFINISHED):
            return True
        age = self.clock.wall() - status.st_mtime
        return age > _MAX_AGE

    def values(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every value that this key opens, with its name."""
        if self._lock is None:
            return
        with self._tolerant():
            sealed = [name for name in self._names() if name.endswith(_SEALED)]
            for file_name in sealed[:_MAX_FILES]:
                name = file_name.removesuffix(_SEALED)
                value = self._load(name)
                if value is not None:
                    yield name, value

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the value; None when there is none, or none that can be opened."""
        if self._lock is None:
            return None
        if not self._is_there(name + _SEALED):
            return None
        value = self._load(name)
        if value is None:
            self.reporter.warning(
                "A file in the state folder can't be opened and is ignored; the upload starts over."
            )
        return value

    def _load(self, name: str) -> dict[str, Any] | None:
        """Return a value; None when it is gone, or was not sealed with this key."""
        sealed = b""
        with self._tolerant(), suppress(FileNotFoundError):
            descriptor = self._open(name + _SEALED, os.O_RDONLY)
            with open(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode):
                    sealed = file.read(_MAX_BYTES)
        nonce = sealed[:_NONCE]
        encrypted = sealed[_NONCE:]
        cipher = AESGCM(self._seal_key)
        try:
            text = cipher.decrypt(nonce, encrypted, name.encode())
            value: dict[str, Any] = json.loads(text)
        except (InvalidTag, ValueError):
            return None
        return value

    def write(self, name: str, value: dict[str, Any]) -> bool:
        """Keep a value, whole or not at all, and return whether it is on the disk now.

        A value that is too large to be read again is not kept, nor the one that it replaces.
        """
        if self._lock is None:
            return False
        text = json.dumps(value).encode()
        nonce = secrets.token_bytes(_NONCE)
        cipher = AESGCM(self._seal_key)
        encrypted = cipher.encrypt(nonce, text, name.encode())
        sealed = nonce + encrypted
        if len(sealed) > _MAX_BYTES:
            self.remove(name)
            return False
        kept = False
        with self._tolerant():
            if self._ours and not self._is_there(_MARK):
                self._make_mark()
            suffix = secrets.token_hex(4)
            # If the disk is full, the next run removes what is left of this file.
            temporary = f"{name}.{suffix}{_UNFINISHED}"
            descriptor = self._open(temporary, _NEW)
            with open(descriptor, "wb") as file:
                file.write(sealed)
                file.flush()
                os.fsync(file.fileno())
            os.replace(
                temporary,
                name + _SEALED,
                src_dir_fd=self._descriptor,
                dst_dir_fd=self._descriptor,
            )
            # Until this is written, a power cut could undo the rename.
            os.fsync(self._descriptor)
            kept = True
        # An error of the disk ends the block above, and not this function.
        return kept  # noqa: RET504  # so it is clear what is returned

    def _make_mark(self) -> None:
        """Mark the folder as ours, unless another thread that keeps a value has just done so."""
        with suppress(FileExistsError):
            descriptor = self._open(_MARK, _NEW)
            with open(descriptor, "wb") as mark:
                mark.write(_MARK_TEXT)

    def remove(self, name: str) -> None:
        """Remove a value."""
        if self._lock is not None:
            with self._tolerant():
                self._unlink(name + _SEALED)

    def _set_aside(self, name: str) -> bool:
        """Make a file that this key can't open read-only, which marks it as reported, and return
        whether it was not marked before.

        It is not removed, because a run with its key may still need it. A file that replaces it is
        writable, so it will be reported. A file with several hard links is not marked: it may
        belong elsewhere.
        """
        try:
            descriptor = self._open(name, os.O_RDONLY)
        except OSError:  # gone, a link, or a file of another user
            return True
        try:
            status = os.fstat(descriptor)
            has_one_link = status.st_nlink == 1
            if has_one_link and stat.S_ISREG(status.st_mode):
                permissions = stat.S_IMODE(status.st_mode)
                os.fchmod(descriptor, permissions & ~stat.S_IWUSR)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return bool(status.st_mode & stat.S_IWUSR)

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Suppress errors of the disk, and warn of the first one."""
        try:
            yield
        except OSError as error:
            if not self._warned:
                self._warned = True
                why = error.strerror or "input/output error"
                if isinstance(error, (FileExistsError, NotADirectoryError)):
                    why = f"{self._folder} is not a folder"
                self.reporter.warning(
                    f"Unfinished uploads can't be kept for the next run ({why}). Set `state-dir` "
                    "to a writable folder."
                )


def _open_state_folder(
    folder: Path, owners: tuple[int, ...], workspace: Workspace | None
) -> int:
    """Return a descriptor of the state folder, which is created if it is missing. Raises OSError.

    Links outside the workspace are followed: they are the machine's own, such as /tmp on macOS.
    """
    if workspace:
        path = workspace.lexical(str(folder.absolute()))
        inside = workspace.inside(path)
        if inside is not None:
            return open_folder(
                workspace.real,
                inside,
                make=True,
                mode=0o700,
            )
    folder.mkdir(
        mode=0o700,
        parents=True,
        exist_ok=True,
    )
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    if owners:
        # If another user may own the folder, not even a link at the end of its path is followed.
        flags |= os.O_NOFOLLOW
    return os.open(folder, flags)


def _objection(status: os.stat_result, owners: tuple[int, ...]) -> str:
    """Return why nothing is kept in a folder with this status, as the end of a sentence; empty if
    it can be.
    """
    allowed_owners = {os.geteuid(), *owners}
    if status.st_uid not in allowed_owners:
        return "belongs to another user"
    writable_by_others = stat.S_IWGRP | stat.S_IWOTH
    if status.st_mode & writable_by_others:
        return "can be changed by other users"
    return ""


def _derive(key: bytes, purpose: str) -> bytes:
    """Return a key for one purpose alone. Whatever was sealed under another version of the scheme
    is not recognised.
    """
    context = f"uploader state, version 3: {purpose}"
    derivation = HKDFExpand(
        SHA256(),
        length=32,
        info=context.encode(),
    )
    return bytes(derivation.derive(key))
