"""The results of a run: one for each file, the record of them, and the outputs that follow."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from uploader.errors import Stopped

_JSON_KEYS = (
    "path",
    "bytes",
    "sha256",
    "id",
    "resource",
    "attempts",
    "bytes_resent",
    "seconds",
    "resumed_from",
    "error",
)


@dataclass(frozen=True)
class TimelineEvent:
    """An event in the upload of a file, for the timeline in the summary. `at` is in seconds of the
    monotonic clock.

    `bytes` is how many a request carried, 0 if it had no body. An `answer` is the wait for the
    response to a request that has left; a `wait` is one before another attempt. An upload that is
    `interrupted` can be continued by a later run, one that has `failed` can't.
    """

    at: float
    kind: Literal[
        "sent",
        "answer",
        "wait",
        "resumed",
        "restarted",
        "done",
        "interrupted",
        "failed",
    ]
    text: str
    seconds: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class FileResult:
    """One media upload, or one file that was not reached (`attempts` 0 and `error` set).

    `bytes` is the file's size; `bytes_uploaded` what this run brought to the server, `bytes_resent`
    what was sent more than once; `attempts` counts requests with a body; `resumed_from` is the
    offset at which a session of an earlier run was continued, None otherwise; `reused` says that
    the service had the file already. `seconds` is wall time. `certificate_sha256` is that of an
    artifact's signer and `version` its name and code if it was looked at.
    """

    path: str
    bytes: int
    sha256: str = ""
    id: str = ""
    resource: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 0
    bytes_uploaded: int = 0
    bytes_resent: int = 0
    retries: int = 0
    seconds: float = 0.0
    resumed_from: int | None = None
    reused: bool = False
    error: str = ""
    certificate_sha256: str = ""
    version: str = ""
    timeline: tuple[TimelineEvent, ...] = ()
    failure: BaseException | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the object for this file in `uploader-results.json`, with the contract's keys."""
        values = {name: getattr(self, name) for name in _JSON_KEYS}
        values["resource"] = dict(self.resource)
        values["seconds"] = round(self.seconds, 3)
        if self.certificate_sha256:
            values["certificate_sha256"] = self.certificate_sha256
        return values


Results: TypeAlias = Sequence[FileResult]


def not_reached(path: str, size: int | None) -> FileResult:
    """Return the result of a file that the run did not reach."""
    return FileResult(path, size or 0, error="Not reached.")


@dataclass
class RunRecord:
    """The results and outputs of a run. It is filled while the run goes on, so it is complete even
    if the run fails.

    `ids` are the resource ids if they are not those of the uploads, such as version codes, or a
    draft that was sent without an upload. `replaced` are the results of files that were tried
    again, since what they sent was sent all the same.
    """

    results: list[FileResult] = field(default_factory=list)
    replaced: list[FileResult] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._lock = threading.RLock()  # several files may end at the same time

    def add(self, result: FileResult) -> None:
        """Add a result, or replace the failed one of the same file.

        A `reused` result of what this run uploaded itself is left out.
        """
        with self._lock:
            if result.reused and result.sha256 and self._has_succeeded(result):
                return
            (place,) = self.reserve((result,))
            self.results[place] = result

    def _has_succeeded(self, result: FileResult) -> bool:
        """Return whether the same content of the same file has a result without an error."""
        for other in self.results:
            is_same = other.path == result.path and other.sha256 == result.sha256
            if is_same and not other.error:
                return True
        return False

    def reserve(self, results: Results) -> list[int]:
        """Put results into the list, and return the place of each.

        A result replaces a failed one of the same file; without one it gets a new place.
        """
        places: list[int] = []
        with self._lock:
            for result in results:
                place = self._failed_place(result.path, places)
                if place is None:
                    place = len(self.results)
                    self.results.append(result)
                else:
                    self.replaced.append(self.results[place])
                    self.results[place] = result
                places.append(place)
        return places

    def _failed_place(self, path: str, taken: Sequence[int]) -> int | None:
        """Return the first place of a failed result of a file that is not taken, None if there is
        none.
        """
        for place, result in enumerate(self.results):
            if result.error and result.path == path and place not in taken:
                return place
        return None

    def replace(self, result: FileResult) -> None:
        """Replace the last result of the same file."""
        with self._lock:
            for place in reversed(range(len(self.results))):
                if self.results[place].path == result.path:
                    self.results[place] = result
                    return
            raise LookupError(result.path)

    def arrange(self, paths: Sequence[str]) -> None:
        """Put the results of these files first, in this order; nothing may be under way."""
        order: dict[str, int] = {}
        for path in paths:
            order.setdefault(path, len(order))
        with self._lock:
            last = len(order)
            self.results.sort(key=lambda result: order.get(result.path, last))

    def discard(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Results | None = None,
    ) -> None:
        """Mark this run's uploads as discarded, with `why` as their error, and take back `outputs`.

        Results that were reused are kept unless their path is in `files`. `among` are the results
        that may be discarded, by default all. No ids are left.
        """
        with self._lock:
            for place, result in enumerate(self.results):
                if among is not None and not _is_among(result, among):
                    continue
                if result.error and not isinstance(result.failure, Stopped):
                    continue
                if result.reused and result.path not in files:
                    continue
                self.results[place] = replace(result, id="", error=why)
            for name in outputs:
                self.outputs.pop(name, None)
            self.ids = ()

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Set outputs that are true from now on; without `ids` the current ones stay."""
        with self._lock:
            self.outputs.update(outputs)
            if ids:
                self.ids = ids


def _is_among(result: FileResult, results: Results) -> bool:
    """Return whether this very object is one of the results, not an equal one."""
    return any(result is candidate for candidate in results)


def outputs_of(results: Sequence[FileResult], record: RunRecord) -> dict[str, str]:
    """Return every output of a run except the path of its results file.

    `id` is the resource id of the first file and `ids` those of all files that have one, in the
    order of the files, unless the service named others. Neither is set if there is none. Failed and
    discarded uploads have none.
    """
    ids = list(record.ids)
    if not ids:
        ids = _ids_of(results)
    outputs = {}
    known_ids = [identifier for identifier in ids if identifier]
    if known_ids:
        outputs["id"] = ids[0]
        outputs["ids"] = ",".join(known_ids)
    outputs.update(record.outputs)
    outputs.update(_counts([*results, *record.replaced]))
    return outputs


def _ids_of(results: Results) -> list[str]:
    """Return the resource id of each file; empty for a failed or discarded upload."""
    ids = []
    for result in results:
        identifier = result.id
        if result.error:
            identifier = ""
        ids.append(identifier)
    return ids


def _counts(results: Results) -> dict[str, str]:
    """Return the outputs that say what all uploads took."""
    bytes_uploaded = 0
    bytes_resent = 0
    attempts = 0
    resumed = False
    for result in results:
        bytes_uploaded += result.bytes_uploaded
        bytes_resent += result.bytes_resent
        attempts += result.attempts
        if result.resumed_from is not None:
            resumed = True
    return {
        "bytes-uploaded": str(bytes_uploaded),
        "bytes-resent": str(bytes_resent),
        "attempts": str(attempts),
        "resumed": "true" if resumed else "false",
    }
