"""Everything around one upload that a test wants to control: clock, token, journal and reporter;
the rest is real.

The transport, the transfer and the protocol are the program's own, over real sockets; only time and
credentials are made up, so that a wait of a minute is written down instead of slept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from google_emulator import Emulator
from uploader.auth.google import Login
from uploader.cancellation import Cancellation
from uploader.clock import Clock
from uploader.errors import UploaderError
from uploader.files.artifacts import Artifact, from_path
from uploader.http.client import HttpClient
from uploader.inputs import JobRun
from uploader.inputs.records import TransferInputs
from uploader.inputs.specs import UploadProtocol
from uploader.reporting import UploadListener, UploadProgress
from uploader.results import FileResult
from uploader.retry import RetryPolicy
from uploader.services.base import Context, Dialect, Endpoint, Outcome, Upload
from uploader.state.journal import Journal, SessionRecord
from uploader.state.sealed_store import SealedStore
from uploader.transfer.api_client import ApiClient
from uploader.transfer.engine import Engine

EPOCH = 1_800_000_000.0  # seconds: what the wall clock of a test starts at
KIB = 1024
GRANULE = 256 * KIB
CLOUD = "https://www.googleapis.com/auth/cloud-platform"
DIALECTS: tuple[Dialect, ...] = ("content-range", "goog-upload")
ITEMS = Endpoint(
    id="things.items.insert",
    root="https://things.googleapis.com",
    path="/things/v1/items",
    upload_path="/upload/things/v1/items",
    media_types=("*/*",),
    scopes=(CLOUD,),
)


class FakeTime:
    """A clock that moves only by sleeping; every sleep is written down. The jitter is `fraction`, 0
    unless set.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.naps: list[float] = []
        self.fraction = 0.0

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds

    def clock(self) -> Clock:
        return Clock(
            self.sleep,
            lambda: self.now,
            lambda: EPOCH + self.now,
            lambda: self.fraction,
        )


class FakeLogin(Login):
    """A login that gives one token until it is told to renew; with an emulator the tokens are valid
    there.
    """

    def __init__(self, emulator: Emulator | None = None) -> None:
        self._emulator = emulator
        self.renewals, self.quota_project = 0, ""
        self._token = self._fresh()

    def token(self, min_seconds: float = 300) -> str:
        del min_seconds
        return self._token

    def renew(self) -> None:
        self.renewals += 1
        self._token = self._fresh()

    def _fresh(self) -> str:
        return (
            self._emulator.token(CLOUD, "androidpublisher")
            if self._emulator
            else f"token-{self.renewals}"
        )


def forgetful_journal() -> Journal:
    """A journal that keeps nothing, as that of a run without a state folder."""
    return Journal(
        SealedStore(None, b"", "", Clock(time.sleep), RecordingReporter()), JobRun("")
    )


class MemoryJournal(Journal):
    """A journal that two runs of a test share."""

    def __init__(self) -> None:
        super().__init__(
            SealedStore(None, b"", "", Clock(time.sleep), RecordingReporter()),
            JobRun(""),
        )
        self.entries: dict[Artifact, SessionRecord] = {}

    def has(self, job: Upload) -> bool:
        return job.artifact in self.entries

    def find(self, job: Upload) -> SessionRecord | None:
        return self.entries.get(job.artifact)

    def save(self, job: Upload, record: SessionRecord) -> bool:
        self.entries[job.artifact] = record
        return True

    def drop(self, job: Upload) -> None:
        self.entries.pop(job.artifact, None)


class Line(UploadListener):
    """The progress of one upload, written down; `hook` is told each offset that is another than the
    last.
    """

    def __init__(self, upload: UploadProgress, hook: Callable[[int], None]) -> None:
        self._upload = upload
        self._hook = hook
        self.offsets: list[int] = []
        self.ok: bool | None = None

    def progressed(self) -> None:
        offset = self._upload.position
        moved = offset != (self.offsets[-1] if self.offsets else 0)
        self.offsets.append(offset)
        if moved:
            self._hook(offset)

    def offset_confirmed(self) -> None:
        self.progressed()

    def finished(self) -> None:
        self.ok = True

    def failed(self, error: UploaderError) -> None:
        del error
        self.ok = False


@dataclass
class RecordingReporter:
    """A reporter that remembers. `hook` is told of every progress, from inside the upload."""

    hook: Callable[[int], None] = lambda _: None
    infos: list[str] = field(default_factory=list)
    debugs: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)

    def info(self, text: str) -> None:
        self.infos.append(text)

    def debug(self, text: str) -> None:
        self.debugs.append(text)

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def group(self, title: str, *, folded: bool = True) -> AbstractContextManager[None]:
        del folded
        self.infos.append(title)
        return nullcontext()

    def redact_session(self, uri: str, endpoint: str) -> None:
        assert uri not in endpoint
        self.sessions.append(uri)

    def change(self, line: str) -> None:
        self.info(line)

    def show_progress(self, upload: UploadProgress) -> Line:
        self.lines.append(Line(upload, self.hook))
        return self.lines[-1]


class Bench:
    """One run against one server: `send` uploads, everything that happened can be asked
    afterwards.
    """

    def __init__(
        self,
        server: str | Emulator,
        *,
        chunk: int | None = None,
        protocol: str = "auto",
        max_retries: int = 5,
        retry_deadline: float = 1800.0,
        stall: float = 30.0,
        finalize: float = 30.0,
        journal: Journal | None = None,
        transport: HttpClient | None = None,
    ) -> None:
        self.emulator = server if isinstance(server, Emulator) else None
        self.time = FakeTime()
        self.login = FakeLogin(self.emulator)
        self.reporter = RecordingReporter()
        self.cancellation = Cancellation()
        root = server.url if isinstance(server, Emulator) else server
        known = cast("UploadProtocol", protocol)
        given = TransferInputs(
            api_endpoint=root, upload_protocol=known, chunk_size=chunk
        )
        settings = replace(given, stall_timeout=stall, finalize_timeout=finalize)
        policy = RetryPolicy(
            self.time.clock(), self.cancellation, max_retries, retry_deadline
        )
        self.client = ApiClient(transport or HttpClient(), self.login, policy, settings)
        self.engine = Engine(
            self.client, settings, journal or forgetful_journal(), self.reporter
        )

    def send(self, job: Upload) -> FileResult:
        """Uploads one file through the engine; a failure stands in the result."""

        def flow(context: Context) -> Outcome:
            context.upload(job)
            return Outcome("done")

        try:
            self.engine.run(flow)
        except UploaderError:
            assert self.engine.record.results
        return self.engine.record.results[-1]

    @property
    def naps(self) -> list[float]:
        """The waits in seconds, without their jitter of 0."""
        return self.time.naps

    # --- what the emulator saw --------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        assert self.emulator is not None
        return self.emulator.state()

    def fired(self) -> list[str]:
        """The faults that really happened, by name, in order."""
        return [receipt["do"] for receipt in self.state()["faults"]["fired"]]

    def count(self, operation: str) -> int:
        """How many requests bore this name."""
        return int(self.state()["requests"].get(operation, 0))

    def stored(self) -> list[bytes]:
        """The content of every object that was made."""
        return [Path(one["file"]).read_bytes() for one in self.state()["objects"]]


@contextmanager
def emulated(*faults: dict[str, Any], **settings: Any) -> Iterator[Bench]:
    """A bench with these settings against an emulator with these faults."""
    with Emulator(list(faults)) as emulator:
        yield Bench(emulator, **settings)


def fault(on: str, do: str, **options: Any) -> dict[str, Any]:
    """One fault for the emulator."""
    return {"on": on, "do": do, **options}


STEPS: Mapping[Dialect, Mapping[str, str]] = {
    "content-range": {
        "start": "resumable.start",
        "put": "resumable.put",
        "final": "resumable.final",
        "query": "resumable.query",
        "cancel": "resumable.cancel",
    },
    "goog-upload": {
        "start": "goog.start",
        "put": "goog.upload",
        "final": "goog.finalize",
        "query": "goog.query",
        "cancel": "goog.cancel",
    },
}


@cache
def data_of(size: int, seed: int = 7) -> bytes:
    """Bytes that differ at every offset: a block in the wrong place can't pass."""
    word = (seed * 2_654_435_761).to_bytes(8, "little")
    return b"".join(
        index.to_bytes(8, "little") + word for index in range(size // 16 + 1)
    )[:size]


def in_memory(data: bytes, name: str = "app.bin") -> Artifact:
    """Generated content."""
    return Artifact(name, name, len(data), data=data)


def on_disk(folder: Path, data: bytes, name: str = "app.bin") -> Artifact:
    """A file as the program finds it."""
    path = folder / name
    path.write_bytes(data)
    return from_path(path, name)


def job(
    artifact: Artifact | bytes,
    dialect: Dialect = "content-range",
    *,
    metadata: Mapping[str, Any] | None = None,
    media_type: str = "application/octet-stream",
    **endpoint: Any,
) -> Upload:
    """The upload of an artifact (or of bytes) to the emulator's anything method."""
    found = in_memory(artifact) if isinstance(artifact, bytes) else artifact
    return Upload(
        replace(ITEMS, dialect=dialect, **endpoint), found, media_type, metadata
    )


def schedule(count: int) -> Sequence[float]:
    """The first waits of the documented schedule, without jitter."""
    return [float(2**n) for n in range(count)]
