"""A folder of small sealed values: whoever has the key can read them, whoever holds the lock may change them.

Values are sealed with AES-GCM under file names that are keyed hashes; what can't be opened is ignored with a warning,
never trusted. A run that works on a value holds the lock beside it, which ends with the process, whatever ends that.
Trouble with the disk never ends a run: it is reported once. Nor is anything kept in a folder that others can change,
or removed from one that others may use: only files named as ours, in a folder that was made here or bears our mark.
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
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from uploader.reporting import Reporter
from uploader.text import plural

_MAX_AGE = 30 * 86400.0  # seconds; any session lives for a week at most, the rest is for clocks that are wrong
_MAX_BYTES = 64 * 1024  # bytes; no value comes near it
_MAX_FILES = 1000  # files of a state folder that are looked at; more than one run leaves
_OWN_NAMES = re.compile(r"[0-9a-f]{40}\.(?:sealed|lock|(?:[0-9a-f]{8}\.)?new)")
_MARK, _MARK_TEXT = ".uploader", b"Unfinished uploads, sealed: what is older than any upload session is removed.\n"
_OWN_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a link or pipe that somebody planted leads or hangs nobody


class SealedStore:
    """Sealed values by name.

    `key` is 32 secret bytes, `purpose` what they are used for here; `wall_clock` is the time in seconds since the
    epoch. The folder may belong to this process's user and to `owners`, other users by their number; without a folder
    nothing is kept.
    """

    def __init__(
        self,
        folder: Path | None,
        key: bytes,
        purpose: str,
        wall_clock: Callable[[], float],
        reporter: Reporter,
        owners: Collection[int] = (),
    ) -> None:
        self._folder = folder or Path()
        self._mark = self._folder / _MARK
        self._name_key = _derived(key, f"names of {purpose}")
        self._seal_key = _derived(key, f"seals of {purpose}")
        self._wall_clock = wall_clock
        self._reporter = reporter
        self._owners = {os.geteuid(), *owners}
        self._usable = self._ours = False
        self._warned = False
        self._locks: dict[str, int | None] = {}  # by name: the lock's descriptor, None where another run has it
        if folder:
            self._prepare()

    def name(self, text: str) -> str:
        """The file name for a value, which tells nothing to anyone without the key."""
        return hmac.new(self._name_key, text.encode(), hashlib.sha256).hexdigest()[:40]

    def close(self) -> None:
        """Unlocks everything; the values stay for the next run, and a folder without any is left empty."""
        while self._locks:
            lock = self._locks.popitem()[1]
            if lock is not None:
                os.close(lock)
        if self._ours:
            with suppress(OSError):
                if list(self._folder.iterdir()) == [self._mark]:
                    self._mark.unlink()

    __del__ = close

    def _prepare(self) -> None:
        """Makes the folder, removes what no run can still need, and warns of what this one can't open."""
        unreadable = expired = 0
        with self._tolerant():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._usable = self._only_ours_to_write()
            found = list(self._folder.iterdir()) if self._usable else []
            self._ours = self._usable and (not found or self._mark in found)
            for path in (path for path in found[:_MAX_FILES] if _OWN_NAMES.fullmatch(path.name)):
                if self._ours and self._expired(path):
                    self._clear(path)
                    expired += path.suffix == ".sealed"
                elif path.suffix == ".sealed" and self._load(path.stem) is None:
                    unreadable += _set_aside(path)
        if expired:
            self._reporter.info(
                f"Removed {plural(expired, 'file')} from the state folder, older than any upload session."
            )
        if unreadable:
            self._reporter.warning(
                f"{plural(unreadable, 'file')} in the state folder can't be opened and will be ignored: another "
                "account, credential or endpoint left them, or they are damaged."
            )

    def _only_ours_to_write(self) -> bool:
        """Whether nobody else can plant or remove anything in the folder; says what is wrong with it otherwise."""
        status = self._folder.stat()
        foreign = status.st_uid not in self._owners
        if foreign or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            what = "belongs to another user" if foreign else "can be changed by other users"
            self._reporter.warning(
                f"The state folder {self._folder} {what}: unfinished uploads are not kept there. "
                "Set `state-dir` to a folder that only you can write (mode 0700)."
            )
            return False
        return True

    def _expired(self, path: Path) -> bool:
        try:
            return self._wall_clock() - path.lstat().st_mtime > _MAX_AGE
        except OSError:  # another run was quicker
            return False

    def _clear(self, path: Path) -> None:
        """Removes one old file, unless a run works on it at this moment."""
        name = path.name.partition(".")[0]
        if self._lock(name):
            path.unlink(missing_ok=True)
            self.unlock(name)
        self._locks.pop(name, None)

    def _path(self, name: str, suffix: str = "sealed") -> Path:
        return self._folder / f"{name}.{suffix}"

    def values(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every value that this key opens, with its name, not locked."""
        with self._tolerant():
            for path in list(self._folder.glob("*.sealed"))[:_MAX_FILES] if self._usable else ():
                value = self._load(path.stem)
                if value is not None:
                    yield path.stem, value

    def read(self, name: str) -> dict[str, Any] | None:
        """The value, locked before it is read: until then another run might finish it."""
        if not self._usable or not os.path.lexists(self._path(name)) or not self._lock(name):
            return None
        found = self._load(name)
        if found is None and os.path.lexists(self._path(name)):
            self._reporter.warning("A file in the state folder can't be opened and is ignored; the upload starts over.")
        return found

    def _load(self, name: str) -> dict[str, Any] | None:
        """A value; None when it is gone, or was not sealed with this key."""
        sealed = b""
        with self._tolerant(), suppress(FileNotFoundError):
            descriptor = os.open(self._path(name), os.O_RDONLY | _OWN_FILE)
            with open(descriptor, "rb") as file:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    sealed = file.read(_MAX_BYTES)
        try:
            value: dict[str, Any] = json.loads(AESGCM(self._seal_key).decrypt(sealed[:12], sealed[12:], name.encode()))
        except (InvalidTag, ValueError):
            return None
        return value

    def write(self, name: str, value: dict[str, Any]) -> bool:
        """Keeps a value, whole or not at all; whether it did. The value of a run that holds the lock stays."""
        if not self._lock(name):
            return False
        kept = False
        nonce = secrets.token_bytes(12)
        sealed = nonce + AESGCM(self._seal_key).encrypt(nonce, json.dumps(value).encode(), name.encode())
        temporary = self._path(name, "new")
        try:
            with self._tolerant():
                if self._ours:
                    with suppress(FileExistsError):  # of an earlier value, or of a run that made it at this moment
                        _create(self._mark, _MARK_TEXT)
                temporary.unlink(missing_ok=True)  # of a run that was killed while it wrote
                _create(temporary, sealed)
                temporary.replace(self._path(name))
                self._sync()
                kept = True
        finally:
            with suppress(OSError):  # on a read-only disk even the removal of what is not there fails
                temporary.unlink(missing_ok=True)
        return kept

    def _sync(self) -> None:
        """Makes the disk remember the folder's entries: a rename that is not written is no rename after a power cut."""
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        """Removes a value and unlocks it."""
        with suppress(OSError):
            if name not in self._locks and not self._path(name).exists():
                return  # as for most files that are sent in one request
        if self._lock(name):
            with self._tolerant():
                self._path(name).unlink(missing_ok=True)
                self._path(name, "new").unlink(missing_ok=True)
        self.unlock(name)

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Reports an error of the disk once, and goes on without."""
        try:
            yield
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._reporter.warning(
                    f"Unfinished uploads can't be kept for the next run ({error.strerror or 'input/output error'}). "
                    "Set `state-dir` to a writable folder."
                )

    def _lock(self, name: str) -> bool:
        """Whether this run holds the lock, taken now if it is free."""
        if self._usable and name not in self._locks:
            with self._tolerant():
                self._locks[name] = self._acquire(name)
        return self._locks.get(name) is not None

    def _acquire(self, name: str) -> int | None:
        path = self._path(name, "lock")
        while True:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | _OWN_FILE, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever had it may have removed the file since it was opened here: then this lock locks nothing.
                with suppress(FileNotFoundError):
                    if os.path.samestat(path.stat(), os.fstat(lock)):
                        return lock
            except BlockingIOError:
                os.close(lock)
                self._reporter.info("Another run is working on the same upload; this one does not share its session.")
                return None
            except OSError:
                os.close(lock)
                raise
            os.close(lock)

    def unlock(self, name: str) -> None:
        """Unlocks a value, which stays."""
        lock = self._locks.pop(name, None)
        if lock is not None:
            with suppress(OSError):
                self._path(name, "lock").unlink(missing_ok=True)
            os.close(lock)


def _derived(key: bytes, purpose: str) -> bytes:
    """A key for one purpose alone. Whatever was sealed under another version of the scheme is not recognised."""
    derived: bytes = HKDFExpand(SHA256(), 32, f"uploader state, version 3: {purpose}".encode()).derive(key)
    return derived


def _create(path: Path, content: bytes) -> None:
    """A new file for its owner alone, on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN_FILE, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _set_aside(path: Path) -> bool:
    """Marks a file that this key can't open as known by making it read-only; whether it was not known yet.

    Whoever has its key may still go on with it: it is not removed, and what replaces it is writable and thus unknown.
    """
    try:
        with open(os.open(path, os.O_RDONLY | _OWN_FILE), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            os.fchmod(file.fileno(), stat.S_IMODE(mode) & ~stat.S_IWUSR)
    except OSError:  # gone, a link, or a file of another user
        return True
    return bool(mode & stat.S_IWUSR)
