"""Upload sessions that outlive a process: kept before their first byte, found again by the next run
of the same job.

A session URI is a bearer secret, and CI caches are shared, so what is kept is sealed (see
`sealed_store`). A cache can bring back any older state, so a session names the run that began it,
and only that run takes a finished one for its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timezone
from typing import Any

from uploader.inputs import JobRun
from uploader.services.base import Upload
from uploader.state.sealed_store import SealedStore

# characters of JSON; sealed, it has to stay below what the store reads
MAX_RESOURCE = 48 * 1024


@dataclass(frozen=True)
class SessionOrigin:
    """Which run began a session, in which attempt, and when, in seconds since the epoch."""

    run: str
    attempt: int
    time: float

    def __str__(self) -> str:
        run = self.run or "an unknown run"
        if self.attempt:
            run += f", attempt {self.attempt}"
        when = datetime.fromtimestamp(self.time, timezone.utc)
        return f"{run}, at {when:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True)
class SessionRecord:
    """What is needed to continue a session: its URI, the granularity of its chunks in bytes,
    digests of the file.

    `sample` is `FileSource.sample()`. `last_block_due` is set before the last block is sent: until
    then not all of the file can have been sent. A run that was not killed adds `prefix`, the sha256
    of the first `length` bytes, which are all that it sent; a run that sends more removes it first.
    `origin` is None if this process began the session. `same_file` is false if the file is another
    one now, as after a fresh checkout, so that only its bytes can show whether it is the same.
    `own_run` is false if neither this run nor an earlier attempt of it began the session.
    """

    uri: str
    granularity: int
    sample: str = ""
    length: int = 0
    prefix: str = ""
    last_block_due: bool = False
    origin: SessionOrigin | None = None
    same_file: bool = True
    own_run: bool = True


@dataclass(frozen=True)
class FinishedUpload:
    """An upload that an earlier run finished, and that has no session to ask: the sha256 of the
    file, and the service's last answer.

    `own_run` is as in `SessionRecord`.
    """

    sha256: str
    resource: Mapping[str, Any]
    origin: SessionOrigin
    own_run: bool


class Journal:
    """Where unfinished sessions and a service's own notes are kept, for one run at a time.

    `run` is the run that this process belongs to. `lasting` is whether the next run surely finds
    what is kept: a folder for temporary files may be thrown away with its machine. An error of the
    disk never ends a run: the store warns of it, once.
    """

    def __init__(
        self,
        store: SealedStore,
        run: JobRun,
        *,
        lasting: bool = True,
    ) -> None:
        self._store = store
        self._run = run
        self.lasting = lasting

    def find(self, job: Upload) -> SessionRecord | None:
        """Return the session that an earlier run began for the same file and method; None if there
        is none, or the file is surely another one.

        A session that should have expired is returned, too.
        """
        kept = self._store.read(self._name(job))
        # A record with a resource is that of a finished upload.
        if kept is None or "resource" in kept:
            return None
        artifact = job.artifact
        file = kept.pop("file")
        same_file = file == _file_key(job)
        # After a fresh checkout the same content is in another file, of the same size.
        has_same_size = file[0] == artifact.size
        may_be_same = artifact.data is None and has_same_size
        if not same_file and not may_be_same:
            self._store.reporter.info(
                f"{artifact.name}: the file is not the one that an earlier run began to upload; "
                "starting over."
            )
            return None
        origin = SessionOrigin(*kept.pop("origin"))
        # The server is asked all the same: it knows whether the session lives, and a clock that
        # jumped must not make the file be stored twice.
        lifetime = job.endpoint.session_lifetime.total_seconds()
        if self._age(origin) > lifetime:
            self._store.reporter.info(
                f"{artifact.name}: the session of an earlier run should have expired by now."
            )
        if "last_block_due" not in kept:
            # An earlier version did not write it down.
            size = artifact.size or 0
            all_sent = kept["length"] >= size
            was_killed = not kept["prefix"]
            kept["last_block_due"] = all_sent or was_killed
        del kept["path"]
        return SessionRecord(
            **kept,
            origin=origin,
            same_file=same_file,
            own_run=self._is_of_this_run(origin),
        )

    def save(self, job: Upload, record: SessionRecord) -> bool:
        """Keep a session, before its first byte is sent, and return whether that was possible."""
        kept = dict(vars(record))
        # These depend on the file and the run of the reader.
        del kept["same_file"]
        del kept["own_run"]
        origin = record.origin
        if origin is None:
            origin = self._this_run()
        kept["origin"] = astuple(origin)
        kept["file"] = _file_key(job)
        kept["path"] = job.endpoint.upload_path
        return self._store.write(self._name(job), kept)

    def find_finished(self, job: Upload) -> FinishedUpload | None:
        """Return the upload of a file of this name that an earlier run finished; None if there is
        none.
        """
        kept = self._store.read(self._name(job))
        if kept is None or "resource" not in kept:
            return None
        origin = SessionOrigin(*kept["origin"])
        return FinishedUpload(
            kept["sha256"],
            kept["resource"],
            origin,
            own_run=self._is_of_this_run(origin),
        )

    def save_finished(
        self,
        job: Upload,
        sha256: str,
        resource: Mapping[str, Any],
    ) -> None:
        """Keep the service's last answer to a finished upload, if there is no session that the next
        run could ask.

        A resource that is too large for the store is not kept.
        """
        kept = {
            "sha256": sha256,
            "resource": resource,
            "origin": astuple(self._this_run()),
        }
        text = json.dumps(kept)
        if len(text) > MAX_RESOURCE:
            return
        kept["path"] = job.endpoint.upload_path
        self._store.write(self._name(job), kept)

    def has(self, job: Upload) -> bool:
        """Return whether anything is kept of this upload, begun or finished."""
        kept = self._store.read(self._name(job))
        return kept is not None

    def keeps(self, job: Upload) -> bool:
        """Return whether the next run surely finds out that this upload was begun or finished."""
        return self.lasting and self.has(job)

    def drop(self, job: Upload) -> None:
        """Forget an upload that is lost, or whose end the run has reported."""
        self._store.remove(self._name(job))

    def drop_below(self, upload_path: str) -> None:
        """Forget every upload whose path is below this one."""
        for name, value in self._store.values():
            path = str(value.get("path"))
            if path.startswith(f"{upload_path}/"):
                self._store.remove(name)

    def recall(self, name: str) -> str | None:
        """Return what was remembered under a name, None if nothing was."""
        key = self._store.name(f"note:{name}")
        kept = self._store.read(key)
        if kept is None:
            return None
        value: str = kept["value"]
        return value

    def remember(self, name: str, value: str | None) -> None:
        """Keep a value under a name; None forgets it."""
        key = self._store.name(f"note:{name}")
        if value is None:
            self._store.remove(key)
        else:
            self._store.write(key, {"value": value})

    def _this_run(self) -> SessionOrigin:
        return SessionOrigin(
            run=self._run.id,
            attempt=self._run.attempt,
            time=self._store.clock.wall(),
        )

    def _is_of_this_run(self, origin: SessionOrigin) -> bool:
        """Return whether this run, or an earlier attempt of it, began the upload."""
        run = self._run
        # Without an id it can't be known whether two runs are the same.
        if not run.id:
            return False
        if origin.run != run.id:
            return False
        if origin.attempt > run.attempt:
            return False
        return self._age(origin) <= run.rerun_within

    def _age(self, origin: SessionOrigin) -> float:
        """Return how many seconds ago the upload was begun."""
        now = self._store.clock.wall()
        return now - origin.time

    def _name(self, job: Upload) -> str:
        """Return the name under which an upload is kept."""
        return self._store.name(_job_key(job))

    def close(self) -> None:
        """Unlock the folder; what is unfinished stays for the next run."""
        self._store.close()


def _job_key(job: Upload) -> str:
    """Return what makes two uploads the same one: method, parameters, metadata, and the file's
    name.
    """
    endpoint = job.endpoint
    parts = [
        endpoint.http_method,
        endpoint.root,
        endpoint.upload_path,
        endpoint.query,
        job.media_type,
        job.metadata,
        job.artifact.name,
    ]
    return json.dumps(parts, sort_keys=True)


def _file_key(job: Upload) -> list[Any]:
    """Return what identifies a file of this name: its status, or the digest of content that never
    was in a file.

    Build tools set mtimes at will. The inode's ctime can't be set, so if it is the same the file
    was not touched. If the content was checked, its digest is part of the key as well.
    """
    artifact = job.artifact
    if artifact.data is not None:
        digest = hashlib.sha256(artifact.data)
        return [artifact.size, digest.hexdigest()]
    _, inode, modified, changed = artifact.identity
    key: list[Any] = [
        artifact.size,
        modified,
        inode,
        changed,
    ]
    if artifact.digests:
        digest = hashlib.sha256(artifact.digests)
        key.append(digest.hexdigest())
    return key
