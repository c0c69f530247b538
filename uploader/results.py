"""What happened: one frozen result for each file, the record of the run, and the outputs that
follow from both.
"""

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
    """One thing that happened to a file, for the timeline in the summary. `at` is in seconds of the
    monotonic clock.

    `bytes` is how many a request carried, where it carried any. An `answer` is the wait for the
    response to a request that has left; a `wait` is one before another attempt. An upload that is
    `interrupted` can be continued by a later run, one that has `failed` can't.
    """

    at: float
    kind: Literal["sent", "answer", "wait", "resumed", "restarted", "done", "interrupted", "failed"]
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
    artifact's signer and `version` its name and code, where it was looked at.
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
        """The object that stands for this file in `uploader-results.json`, with the contract's
        keys.
        """
        values = {name: getattr(self, name) for name in _JSON_KEYS}
        signer = {"certificate_sha256": self.certificate_sha256} if self.certificate_sha256 else {}
        return {
            **values,
            "resource": dict(self.resource),
            "seconds": round(self.seconds, 3),
            **signer,
        }


Results: TypeAlias = Sequence[FileResult]


def not_reached(path: str, size: int | None) -> FileResult:
    """The result of a file that the run did not come to."""
    return FileResult(path, size or 0, error="Not reached.")


@dataclass
class RunRecord:
    """What a run has to show, filled while it goes: it is all there even when the run ends badly.

    `ids` are the resource ids where they are not those of the uploads: version codes, a draft sent
    without an upload. `replaced` are the results of files that were tried again: what they sent was
    sent all the same.
    """

    results: list[FileResult] = field(default_factory=list)
    replaced: list[FileResult] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._lock = threading.RLock()  # several files may end at the same time

    def add(self, result: FileResult) -> None:
        """One more result, or the better one of a file that was tried before and failed, or whose
        upload was lost.

        That the service has what this run brought there is no second result.
        """
        content = (result.path, result.sha256)
        with self._lock:
            known = result.sha256 and any(
                content == (one.path, one.sha256) for one in self.results if not one.error
            )
            if not (result.reused and known):
                (place,) = self.reserve((result,))
                self.results[place] = result

    def reserve(self, results: Results) -> list[int]:
        """Gives each file its place: that of a result with an error, which it takes the place of,
        or a new one.
        """
        places = list[int]()
        with self._lock:
            for result in results:
                failed = [
                    place
                    for place, one in enumerate(self.results)
                    if one.error and one.path == result.path
                ]
                place = next((one for one in failed if one not in places), len(self.results))
                if place < len(self.results):
                    self.replaced.append(self.results[place])
                self.results[place : place + 1] = [result]
                places.append(place)
        return places

    def replace(self, result: FileResult) -> None:
        """Puts a result in the place of the last one of the same file."""
        with self._lock:
            places = [place for place, one in enumerate(self.results) if one.path == result.path]
            self.results[places[-1]] = result

    def arrange(self, paths: Sequence[str]) -> None:
        """Puts the results of these files first, in this order; nothing may be under way."""
        order = {path: number for number, path in enumerate(dict.fromkeys(paths))}
        with self._lock:
            self.results.sort(key=lambda result: order.get(result.path, len(order)))

    def discard(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Results | None = None,
    ) -> None:
        """What was uploaded is gone, of what the service had already only `files`: `why` is the
        error of its results.

        No id is left, and `outputs` are taken back. `among` are the results that it is about, where
        not all.
        """
        with self._lock:
            for place, result in enumerate(self.results):
                meant = among is None or any(result is one for one in among)
                whole = not result.error or isinstance(result.failure, Stopped)
                if meant and whole and (not result.reused or result.path in files):
                    self.results[place] = replace(result, id="", error=why)
            for name in outputs:
                self.outputs.pop(name, None)
            self.ids = ()

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Output values that are true from now on; without `ids` those that are known stay."""
        with self._lock:
            self.outputs.update(outputs)
            self.ids = ids or self.ids


def outputs_of(results: Sequence[FileResult], record: RunRecord) -> dict[str, str]:
    """Every output of a run but the place of its results file.

    `id` is the resource id of the first file and `ids` those of all files that have one, in the
    order of the files, unless the service named others; neither is set where there is none. What
    failed, or was discarded, has none.
    """
    ids = record.ids or tuple("" if result.error else result.id for result in results)
    named = ",".join(filter(None, ids))
    sent = (*results, *record.replaced)
    return {
        **({"id": ids[0], "ids": named} if named else {}),
        **record.outputs,
        "bytes-uploaded": str(sum(file.bytes_uploaded for file in sent)),
        "bytes-resent": str(sum(file.bytes_resent for file in sent)),
        "attempts": str(sum(file.attempts for file in sent)),
        "resumed": "true" if any(file.resumed_from is not None for file in sent) else "false",
    }
