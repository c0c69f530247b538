"""Upload sessions that outlive a process: kept before their first byte, found again by the next run
of the same job.

A session URI is a bearer secret, and CI caches are shared: what is kept is sealed (see
`sealed_store`). A cache can bring back any older state, so a session bears the run that began it:
only that one takes a finished one for its own.
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

    `sample` is `FileSource.sample()`. `last_block_due` is written before the last block leaves:
    until then not all of the file can have been sent. A run that was not killed adds `prefix`, the
    sha256 of the first `length` bytes, which are all that it sent, and a run that sends more takes
    it away first. `origin` is None while this process began the session. `same_file` is false when
    the file is another one today, as after a fresh checkout: then only its bytes can tell;
    `own_run` when it was not begun by this run or an earlier attempt.
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
    """An upload in one request that an earlier run finished: the sha256 of the file, and the
    resource it became.

    `own_run` is that of a session's record.
    """

    sha256: str
    resource: Mapping[str, Any]
    origin: SessionOrigin
    own_run: bool


class Journal:
    """Where unfinished sessions and a service's own notes are kept, for one run at a time.

    `run` is the run that this process belongs to. `lasting` says that the next run surely finds
    what is kept, as a folder for temporary files may be thrown away with its machine. An error of
    the disk never ends a run: the store warns of it, once.
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
        """Return the session that an earlier run began for the same file and method, if it can
        still live.
        """
        kept = self._store.read(self._name(job))
        # which is a finished upload without a session
        if kept is None or "resource" in kept:
            return None
        artifact = job.artifact
        file = kept.pop("file")
        same_file = file == _file_key(job)
        # After a fresh checkout the same content is in another file, of the same size.
        may_be_same = artifact.data is None and file[0] == artifact.size
        if not same_file and not may_be_same:
            self._store.reporter.info(
                f"{artifact.name}: the file is not the one that an earlier run began to upload; "
                "starting over."
            )
            return None
        origin = SessionOrigin(*kept.pop("origin"))
        # The server is asked all the same: it knows, and a clock that jumped must not make it store
        # a file twice.
        lifetime = job.endpoint.session_lifetime.total_seconds()
        if self._age(origin) > lifetime:
            self._store.reporter.info(
                f"{artifact.name}: the session of an earlier run should have expired by now."
            )
        if "last_block_due" not in kept:
            # An earlier version did not write it down.
            all_sent = kept["length"] >= (artifact.size or 0)
            kept["last_block_due"] = all_sent or not kept["prefix"]
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
        # What follows from the file and the run of the reader is not kept.
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
        """Return the upload of a file of this name that an earlier run finished in one request."""
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
        """Keep what became of a file that was sent in one request, which no session could tell the
        next run.

        A resource that is too large for the store is not kept.
        """
        kept = {
            "sha256": sha256,
            "resource": resource,
            "origin": astuple(self._this_run()),
        }
        if len(json.dumps(kept)) > MAX_RESOURCE:
            return
        kept["path"] = job.endpoint.upload_path
        self._store.write(self._name(job), kept)

    def has(self, job: Upload) -> bool:
        """Return whether anything is kept of this upload, begun or finished."""
        return self._store.read(self._name(job)) is not None

    def keeps(self, job: Upload) -> bool:
        """Return whether the next run surely finds out that this upload was begun or finished."""
        return self.lasting and self.has(job)

    def drop(self, job: Upload) -> None:
        """Forget an upload that is lost, or whose end the run has told."""
        self._store.remove(self._name(job))

    def drop_below(self, upload_path: str) -> None:
        """Forget every session whose upload path begins with the segments of this one."""
        for name, value in self._store.values():
            path = str(value.get("path"))
            if path.startswith(f"{upload_path}/"):
                self._store.remove(name)

    def recall(self, name: str) -> str | None:
        """Return what an earlier run remembered under a name."""
        kept = self._store.read(self._store.name(f"note:{name}"))
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
        return SessionOrigin(self._run.id, self._run.attempt, self._store.clock.wall())

    def _is_of_this_run(self, origin: SessionOrigin) -> bool:
        """Return whether this run began it, or an earlier attempt of it."""
        run = self._run
        # Nobody knows of a run without an id whether another one is the same.
        if not run.id or origin.run != run.id:
            return False
        if origin.attempt > run.attempt:
            return False
        return self._age(origin) <= run.rerun_within

    def _age(self, origin: SessionOrigin) -> float:
        """Return how many seconds ago it was begun."""
        return self._store.clock.wall() - origin.time

    def _name(self, job: Upload) -> str:
        """Return the name under which an upload is kept."""
        return self._store.name(_job_key(job))

    def close(self) -> None:
        """End the work on the folder; what is unfinished stays for the next run."""
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
    """Return what makes two files of one name the same one, or the content if it never was in a
    file.

    Build tools set mtimes at will; the inode's own time of change can't be set, so with it nothing
    was touched. If the content was checked, its digest is there as well.
    """
    artifact = job.artifact
    if artifact.data is not None:
        digest = hashlib.sha256(artifact.data)
        return [artifact.size, digest.hexdigest()]
    _, inode, modified, changed = artifact.identity
    key: list[Any] = [artifact.size, modified, inode, changed]
    if artifact.digests:
        digest = hashlib.sha256(artifact.digests)
        key.append(digest.hexdigest())
    return key
