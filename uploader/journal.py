"""Upload sessions that outlive a process: sealed files in the state folder, read again by the next run of the same job.

A session URI is a bearer secret, and CI caches are shared: entries are sealed with AES-GCM under a key derived from the
credential, their file names are keyed hashes, and what can't be opened is left aside with a warning, never trusted.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from uploader.services.base import Upload

_MARGIN = 3600.0  # seconds before a session's documented end in which it is not begun with again
_OLDEST = 8 * 86400.0  # seconds; older than any session lives
_LARGEST = 64 * 1024  # bytes; no entry comes near it


@dataclass(frozen=True, slots=True)
class Entry:
    """What is needed to go on with a session: its URI and the granularity of its chunks in bytes."""

    uri: str
    granularity: int


class Journal(Protocol):
    """Where unfinished sessions and a service's own notes are kept."""

    def find(self, job: Upload) -> Entry | None:
        """The session that an earlier run began for the same file and method, if it can still live."""

    def save(self, job: Upload, entry: Entry) -> None:
        """Keeps a session, before its first byte is sent."""

    def drop(self, job: Upload) -> None:
        """Forgets a session that is finished or lost."""

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

    def drop(self, job: Upload) -> None:
        """Does nothing."""

    def recall(self, name: str) -> str | None:
        """Never finds anything."""

    def remember(self, name: str, value: str | None) -> None:
        """Does nothing."""


class FileJournal:
    """One sealed file for each unfinished session, locked while a run works on it.

    `seal_key` is any lasting secret, `account` whose uploads these are, `wall` the time in seconds since the epoch.
    Trouble with the disk never ends a run: it is told through `warn`, once.
    """

    def __init__(
        self, folder: Path, seal_key: bytes, account: str, wall: Callable[[], float], warn: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._key = hmac.new(seal_key, b"uploader journal v1", hashlib.sha256).digest()
        self._account = account
        self._wall = wall
        self._warn = warn
        self._warned = False
        self._locks: dict[str, IO[bytes] | None] = {}
        self._prepare()

    def find(self, job: Upload) -> Entry | None:
        """See `Journal.find`."""
        found = self._read(self._name(_job_key(job)))
        if found is None:
            return None
        age = self._wall() - float(found.get("created", 0))
        # A clock that went back makes an entry younger than nothing: then its age is unknown, and asking tells.
        if age > job.endpoint.session_lifetime.total_seconds() - _MARGIN:
            return None
        uri, granularity = found.get("uri"), found.get("granularity")
        return Entry(uri, granularity) if isinstance(uri, str) and isinstance(granularity, int) else None

    def save(self, job: Upload, entry: Entry) -> None:
        """See `Journal.save`."""
        self._write(self._name(_job_key(job)), asdict(entry))

    def drop(self, job: Upload) -> None:
        """See `Journal.drop`."""
        name = self._name(_job_key(job))
        self._remove(name)
        self._unlock(name)

    def recall(self, name: str) -> str | None:
        """See `Journal.recall`."""
        found = self._read(self._name(f"note:{name}"))
        value = found.get("value") if found else None
        return value if isinstance(value, str) else None

    def remember(self, name: str, value: str | None) -> None:
        """See `Journal.remember`."""
        if value is None:
            self._remove(self._name(f"note:{name}"))
        else:
            self._write(self._name(f"note:{name}"), {"value": value})

    # --- files ----------------------------------------------------------------------------------------------------

    def _name(self, text: str) -> str:
        return hmac.new(self._key, f"{self._account}\0{text}".encode(), hashlib.sha256).hexdigest()[:40]

    def _prepare(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path in self._folder.glob("*.sealed"):
                if self._wall() - path.stat().st_mtime > _OLDEST:
                    path.unlink(missing_ok=True)
        except OSError as error:
            self._trouble(error)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sealed"

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            with open(self._path(name), "rb") as file:
                sealed = file.read(_LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._trouble(error)
            return None
        if not self._lock(name):
            self._warn("Another run works on the same upload at this moment; this one begins anew.")
            return None
        return self._open(sealed, name)

    def _write(self, name: str, value: dict[str, Any]) -> None:
        if not self._lock(name):
            return  # the other run's entry stays; this run goes on without one
        temporary = self._folder / f"{name}.{secrets.token_hex(4)}.new"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(self._seal({**value, "created": self._wall()}, name))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path(name))
        except OSError as error:
            temporary.unlink(missing_ok=True)
            self._trouble(error)

    def _remove(self, name: str) -> None:
        try:
            if self._lock(name):
                self._path(name).unlink(missing_ok=True)
        except OSError as error:
            self._trouble(error)

    def _lock(self, name: str) -> bool:
        """Whether this run has the entry for itself; the lock ends with the process, whatever ends it."""
        if name not in self._locks:
            self._locks[name] = self._try_lock(name)
        return self._locks[name] is not None

    def _try_lock(self, name: str) -> IO[bytes] | None:
        try:
            file = open(self._folder / f"{name}.lock", "ab")  # noqa: SIM115  # held open on purpose: it is the lock
        except OSError as error:
            self._trouble(error)
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return file

    def _unlock(self, name: str) -> None:
        file = self._locks.pop(name, None)
        if file is not None:
            (self._folder / f"{name}.lock").unlink(missing_ok=True)
            file.close()

    def _trouble(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            self._warn(
                f"Unfinished uploads can't be kept for the next run ({error.strerror or 'input/output error'}). "
                "Set `state-dir` to a folder that can be written."
            )

    # --- seal -----------------------------------------------------------------------------------------------------

    def _seal(self, value: dict[str, Any], name: str) -> bytes:
        nonce = secrets.token_bytes(12)
        sealed: bytes = self._cipher().encrypt(nonce, json.dumps(value).encode(), name.encode())
        return nonce + sealed

    def _open(self, sealed: bytes, name: str) -> dict[str, Any] | None:
        from cryptography.exceptions import InvalidTag  # loaded late: most runs find no entry

        try:
            value = json.loads(self._cipher().decrypt(sealed[:12], sealed[12:], name.encode()))
        except (InvalidTag, ValueError):
            self._warn("A journal entry could not be opened and is left aside; the upload begins anew.")
            return None
        return value if isinstance(value, dict) else None

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # loaded late: see above

        return AESGCM(self._key)


def _job_key(job: Upload) -> str:
    """Everything that makes two uploads the same one: method, parameters, metadata, and the file's identity."""
    artifact, endpoint = job.artifact, job.endpoint
    content = hashlib.sha256(artifact.data).hexdigest() if artifact.data is not None else ""
    modified = 0 if content else artifact.identity[2]
    parts = [endpoint.http_method, endpoint.root, endpoint.upload_path, endpoint.query, job.media_type]
    return json.dumps([*parts, job.metadata, artifact.name, artifact.size, modified, content], sort_keys=True)
