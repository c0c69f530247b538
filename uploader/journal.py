"""Upload sessions that outlive a process: sealed files in the state folder, read again by the next run of the same job.

A session URI is a bearer secret, and CI caches are shared: entries are sealed with AES-GCM under a key derived from the
credential, their file names are keyed hashes, and what can't be opened is left aside with a warning, never trusted.
A run that works on an entry holds the lock beside it, which ends with the process, whatever ends that.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from uploader.services.base import Upload

_OLDEST = 30 * 86400.0  # seconds; any session lives for a week at most, the rest is for clocks that are wrong
_LARGEST = 64 * 1024  # bytes; no entry comes near it
_MOST = 1000  # files of a state folder that are looked at; more than one run leaves
_OWN_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a link or pipe that somebody planted leads or hangs nobody


@dataclass(frozen=True, slots=True)
class Entry:
    """What is needed to go on with a session: its URI, the granularity of its chunks in bytes, digests of the file.

    `sample` is `Source.sample()`: what the file began and ended with when the session was begun. A run that ended in
    good order adds `prefix`, the sha256 of the first `length` bytes, which are all that it sent. `same_file` is false
    when the file is another one today, as after a fresh checkout: then only its bytes can tell.
    """

    uri: str
    granularity: int
    sample: str = ""
    length: int = 0
    prefix: str = ""
    same_file: bool = True


class Journal(Protocol):
    """Where unfinished sessions and a service's own notes are kept."""

    def find(self, job: Upload) -> Entry | None:
        """The session that an earlier run began for the same file and method, if it can still live."""

    def save(self, job: Upload, entry: Entry) -> None:
        """Keeps a session, before its first byte is sent."""

    def rest(self, job: Upload) -> None:
        """Lets go of a session that is finished, and keeps it: a run that has to be repeated finds it done."""

    def drop(self, job: Upload) -> None:
        """Forgets a session that is lost, or finished together with its run."""

    def recall(self, name: str) -> str | None:
        """What an earlier run remembered under a name."""

    def remember(self, name: str, value: str | None) -> None:
        """Keeps a value under a name; None forgets it."""


class NoJournal:
    """Keeps nothing: where no lasting secret could seal it."""

    def find(self, job: Upload) -> Entry | None:
        """Never finds anything."""

    def save(self, job: Upload, entry: Entry) -> None:
        """Does nothing."""

    def rest(self, job: Upload) -> None:
        """Does nothing."""

    def drop(self, job: Upload) -> None:
        """Does nothing."""

    def recall(self, name: str) -> str | None:
        """Never finds anything."""

    def remember(self, name: str, value: str | None) -> None:
        """Does nothing."""


class FileJournal:
    """One sealed file for each unfinished session and each note, locked while a run works on it.

    `seal_key` is any lasting secret, `account` whose uploads these are (and where), `wall` the time in seconds since
    the epoch. Trouble with the disk never ends a run: it is told through `warn`, once; `say` tells why a session that
    was kept is not continued.
    """

    def __init__(
        self,
        folder: Path,
        seal_key: bytes,
        account: str,
        wall: Callable[[], float],
        warn: Callable[[str], None],
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._folder = folder
        self._key = hmac.new(seal_key, b"uploader journal v2\0" + account.encode(), hashlib.sha256).digest()
        self._wall = wall
        self._warn = warn
        self._say = say or warn
        self._warned = False
        self._locks: dict[str, int | None] = {}  # by entry: the lock's descriptor, None where another run has it
        self._prepare()

    def find(self, job: Upload) -> Entry | None:
        """See `Journal.find`."""
        found = self._read(_name(self._key, _job_key(job)))
        if found is None:
            return None
        name = job.artifact.name
        same_file = found.get("file") == _file_key(job)
        if not (same_file or (found["prefix"] and found["file"][0] == job.artifact.size)):
            self._say(f"{name}: the file is not the one that an earlier run began to upload; beginning anew.")
            return None
        # The server is asked all the same: it knows, and a clock that jumped must not make it store a file twice.
        if self._wall() - float(found["created"]) > job.endpoint.session_lifetime.total_seconds():
            self._say(f"{name}: the session of an earlier run should have expired by now.")
        known = {field.name: found[field.name] for field in fields(Entry) if field.name != "same_file"}
        return Entry(**known, same_file=same_file)

    def save(self, job: Upload, entry: Entry) -> None:
        """See `Journal.save`."""
        self._write(_name(self._key, _job_key(job)), {**asdict(entry), "file": _file_key(job)})

    def rest(self, job: Upload) -> None:
        """See `Journal.rest`."""
        self._unlock(_name(self._key, _job_key(job)))

    def drop(self, job: Upload) -> None:
        """See `Journal.drop`."""
        self._remove(_name(self._key, _job_key(job)))

    def recall(self, name: str) -> str | None:
        """See `Journal.recall`."""
        found = self._read(_name(self._key, f"note:{name}"))
        value = found.get("value") if found else None
        return value if isinstance(value, str) else None

    def remember(self, name: str, value: str | None) -> None:
        """See `Journal.remember`."""
        if value is None:
            self._remove(_name(self._key, f"note:{name}"))
        else:
            self._write(_name(self._key, f"note:{name}"), {"value": value})

    def close(self) -> None:
        """Lets go of everything; what is unfinished stays for the next run."""
        while self._locks:
            lock = self._locks.popitem()[1]
            if lock is not None:
                os.close(lock)

    __del__ = close

    # --- files ----------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Makes the folder, removes what no run can need any more, and tells of what this one can't open."""
        strange = outlived = 0
        with self._tolerant():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path, _ in zip(self._folder.iterdir(), range(_MOST), strict=False):
                if self._outlived(path):
                    self._clear(path)
                    outlived += path.suffix == ".sealed"
                elif path.suffix == ".sealed":
                    strange += self._load(path.stem) is None
        if outlived:
            self._say(f"{outlived} files of the state folder, older than any upload session lives, are removed.")
        if strange:
            self._warn(
                f"The state folder holds what another account, credential or endpoint left unfinished, or what is "
                f"damaged ({strange} of its files can't be opened); it is left aside."
            )

    def _outlived(self, path: Path) -> bool:
        try:
            return path.suffix in (".sealed", ".lock", ".new") and self._wall() - path.lstat().st_mtime > _OLDEST
        except OSError:  # another run was quicker
            return False

    def _clear(self, path: Path) -> None:
        """Removes one old file, unless a run works on it at this moment."""
        name = path.name.partition(".")[0]
        if self._lock(name):
            path.unlink(missing_ok=True)
            self._unlock(name)
        self._locks.pop(name, None)

    def _path(self, name: str, suffix: str = "sealed") -> Path:
        return self._folder / f"{name}.{suffix}"

    def _read(self, name: str) -> dict[str, Any] | None:
        """The entry, locked before it is read: until then another run might finish it."""
        if not os.path.lexists(self._path(name)) or not self._lock(name):
            return None
        found = self._load(name)
        if found is None and os.path.lexists(self._path(name)):
            self._warn("A journal entry could not be opened and is left aside; the upload begins anew.")
        return found

    def _load(self, name: str) -> dict[str, Any] | None:
        """The content of an entry; None when it is gone, or is none that this account sealed."""
        sealed = b""
        with self._tolerant(), suppress(FileNotFoundError):
            descriptor = os.open(self._path(name), os.O_RDONLY | _OWN_FILE)
            with open(descriptor, "rb") as file:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    sealed = file.read(_LARGEST)
        return self._open(sealed, name) if sealed else None

    def _write(self, name: str, value: dict[str, Any]) -> None:
        if not self._lock(name):
            return  # the other run's entry stays; this run goes on without one
        temporary = self._path(f"{name}.{secrets.token_hex(4)}", "new")
        try:
            with self._tolerant():
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN_FILE, 0o600)
                with open(descriptor, "wb") as file:
                    file.write(self._seal({**value, "created": self._wall()}, name))
                    file.flush()
                    os.fsync(descriptor)
                temporary.replace(self._path(name))
        finally:
            with suppress(OSError):  # on a read-only disk even the removal of what is not there fails
                temporary.unlink(missing_ok=True)

    def _remove(self, name: str) -> None:
        if self._lock(name):
            with self._tolerant():
                self._path(name).unlink(missing_ok=True)
        self._unlock(name)

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Trouble with the disk is told once, and goes no further."""
        try:
            yield
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._warn(
                    f"Unfinished uploads can't be kept for the next run ({error.strerror or 'input/output error'}). "
                    "Set `state-dir` to a folder that can be written."
                )

    # --- locks ----------------------------------------------------------------------------------------------------

    def _lock(self, name: str) -> bool:
        """Whether this run has the entry for itself."""
        if name not in self._locks:
            with self._tolerant():
                self._locks[name] = self._taken(name)
        return self._locks.get(name) is not None

    def _taken(self, name: str) -> int | None:
        path = self._path(name, "lock")
        while True:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | _OWN_FILE, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever had it may have removed the file since it was opened here: then this lock locks nothing.
                if _inode(path) == os.fstat(lock).st_ino:
                    return lock
            except BlockingIOError:
                os.close(lock)
                self._say("Another run works on the same upload at this moment; this one goes on for itself.")
                return None
            except OSError:
                os.close(lock)
                raise
            os.close(lock)

    def _unlock(self, name: str) -> None:
        lock = self._locks.pop(name, None)
        if lock is not None:
            with suppress(OSError):
                self._path(name, "lock").unlink(missing_ok=True)
            os.close(lock)

    # --- seal -----------------------------------------------------------------------------------------------------

    def _seal(self, value: dict[str, Any], name: str) -> bytes:
        nonce = secrets.token_bytes(12)
        sealed: bytes = self._cipher().encrypt(nonce, json.dumps(value).encode(), name.encode())
        return nonce + sealed

    def _open(self, sealed: bytes, name: str) -> dict[str, Any] | None:
        from cryptography.exceptions import InvalidTag  # loaded late: most runs find no entry

        try:
            value: dict[str, Any] = json.loads(self._cipher().decrypt(sealed[:12], sealed[12:], name.encode()))
        except (InvalidTag, ValueError):
            return None
        return value

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # loaded late: see above

        return AESGCM(self._key)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _name(key: bytes, text: str) -> str:
    """An entry's file name, which tells nothing to anyone without the key."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:40]


def _job_key(job: Upload) -> str:
    """What makes two uploads the same one: method, parameters, metadata, and the file's name."""
    endpoint = job.endpoint
    parts = [endpoint.http_method, endpoint.root, endpoint.upload_path, endpoint.query, job.media_type]
    return json.dumps([*parts, job.metadata, job.artifact.name], sort_keys=True)


def _file_key(job: Upload) -> list[Any]:
    """What makes two files of one name the same one, or the content where it never was in a file.

    Build tools set mtimes at will; the inode's own time of change can't be set, so with it nothing was touched.
    """
    artifact = job.artifact
    if artifact.data is not None:
        return [artifact.size, hashlib.sha256(artifact.data).hexdigest()]
    try:
        changed = artifact.path.stat().st_ctime_ns
    except OSError:
        changed = 0
    _, inode, modified = artifact.identity
    return [artifact.size, modified, inode, changed]
