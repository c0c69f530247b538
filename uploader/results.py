"""What happened, frozen: one record for each file, the counters of a run that are derived from them, sizes in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple


class Moment(NamedTuple):
    """One thing that happened to a file, for the timeline in the summary. `at` is in seconds since the run began.

    `bytes` is how many a request carried, where it carried any.
    """

    at: float
    kind: Literal["sent", "wait", "resumed", "restarted", "done", "failed"]
    text: str
    seconds: float = 0.0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class FileResult:
    """One media upload, or one file that was not reached (`attempts` 0 and `error` set).

    `bytes` is the file's size; `bytes_uploaded` what this run brought to the server, `bytes_resent` what was sent more
    than once; `attempts` counts requests with a body; `resumed_from` is the offset at which a session of an earlier run
    was continued, None otherwise; `reused` says that the service had the file already. `seconds` is wall time.
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
    waited: float = 0.0
    seconds: float = 0.0
    resumed_from: int | None = None
    reused: bool = False
    error: str = ""
    timeline: tuple[Moment, ...] = ()
    failure: BaseException | None = field(default=None, compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """The object that stands for this file in `uploader-results.json`, with the contract's keys."""
        return {
            "path": self.path,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "id": self.id,
            "resource": dict(self.resource),
            "attempts": self.attempts,
            "bytes_resent": self.bytes_resent,
            "seconds": round(self.seconds, 3),
            "resumed_from": self.resumed_from,
            "error": self.error,
        }


def counters(results: Iterable[FileResult]) -> dict[str, str]:
    """The outputs that are sums over all files: `bytes-uploaded`, `bytes-resent`, `attempts`, `resumed`."""
    files = list(results)
    return {
        "bytes-uploaded": str(sum(file.bytes_uploaded for file in files)),
        "bytes-resent": str(sum(file.bytes_resent for file in files)),
        "attempts": str(sum(file.attempts for file in files)),
        "resumed": "true" if any(file.resumed_from is not None for file in files) else "false",
    }


def size(count: float) -> str:
    """A number of bytes as people read it: `512 B`, `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
