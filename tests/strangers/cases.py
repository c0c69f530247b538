"""Which clients do which jobs, and which faults each is known not to survive: the set of cases that a run goes through.

A client is used as its documentation shows, with what it has of retries. The table in docs/EMULATOR.md is made of this
and of the run that held it to be true (`make strangers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

PLAIN = "no fault"
# What a fault does, by its name in the table. `{start}`, `{put}` and `{final}` are the steps of the job's protocol.
FAULTS: Mapping[str, Mapping[str, object] | None] = {
    PLAIN: None,
    "503 at the start": {"on": "{start}", "do": "status"},
    "503 midway": {"on": "{put}", "do": "status", "after": 700_000},
    "reset midway": {"on": "{put}", "do": "reset", "after": 700_000},
    "answer lost": {"on": "{final}", "do": "answer-lost"},
    "partly stored": {"on": "{put}", "do": "short-store", "stored": 524_288},
    "token expired": {"on": "{start}", "do": "token-expired"},
}
STEPS: Mapping[str, Mapping[str, str]] = {
    "resumable": {"start": "resumable.start", "put": "resumable.put", "final": "resumable.final"},
    "X-Goog": {"start": "goog.start", "put": "goog.upload", "final": "goog.finalize"},
    "multipart": {"start": "multipart", "put": "multipart", "final": "multipart"},
    "simple": {"start": "simple", "put": "simple", "final": "simple"},
}
SESSIONS = ("resumable", "X-Goog")  # only a session can keep a part


class Job(NamedTuple):
    """What a client is made to do.

    `tool` is who fetches the client (`tools.py`), `program` the command, `protocol` how it uploads; `fails` says for
    each fault that it does not survive why.
    """

    client: str
    name: str
    tool: str
    program: tuple[str, ...]
    protocol: str
    fails: Mapping[str, str] = {}

    @property
    def id(self) -> str:
        """The job's name in test ids."""
        return f"{self.client}-{self.name}".replace(" ", "_")

    def faults(self) -> list[str]:
        """The faults that can happen to this protocol."""
        return [name for name in FAULTS if name != "partly stored" or self.protocol in SESSIONS]

    def expected(self, fault: str) -> str:
        """What the table says: `yes`, `no`, or a dash where the fault can't happen."""
        return "-" if fault not in self.faults() else "no" if fault in self.fails else "yes"


def _node(name: str, what: str, protocol: str, client: str = "googleapis for Node") -> Job:
    return Job(client, name, "node", ("node", "{programs}/google.js", what, "{file}"), protocol)


def _python(name: str, what: str, client: str = "google-api-python-client") -> Job:
    return Job(client, name, "python", ("{python}", "{programs}/google_client.py", what, "{file}"), "resumable")


def _ruby(name: str, what: str) -> Job:
    return Job("google-api-client for Ruby", name, "ruby", ("ruby", "{programs}/google.rb", what, "{file}"), "X-Goog")


def _go(name: str, what: str) -> Job:
    return Job("google-api-go-client", name, "go", ("{tool}/google", what, "{file}"), "resumable")


_RCLONE = ("rclone", "--retries=1", "--drive-chunk-size=1Mi", "copyto", "{file}")

JOBS = (
    _node("object", "object", "resumable", "@google-cloud/storage for Node"),
    _node("object at once", "object-at-once", "multipart", "@google-cloud/storage for Node"),
    _node("release", "release", "simple"),
    _node("file", "drive", "multipart"),
    _node("mail", "mail", "simple"),
    _python("object", "object", "google-cloud-storage for Python"),
    _python("release", "release"),
    _python("file", "drive"),
    _python("mail", "mail"),
    Job(
        "codemagic-cli-tools", "release", "codemagic",
        ("{bin}/google-play", "bundles", "publish", "--bundle", "{file}", "--track", "internal"), "simple",
    ),
    _ruby("object", "object"),
    _ruby("release", "release"),
    _ruby("file", "drive"),
    _go("object", "object"),
    _go("release", "release"),
    _go("file", "drive"),
    Job("gsutil", "object", "gsutil", ("{tool}/bin/gsutil", "cp", "{file}", "gs://bucket/app.aab"), "resumable"),
    Job("rclone", "object", "rclone", (*_RCLONE, ":gcs:bucket/app.aab"), "resumable"),
    Job("rclone", "file", "rclone", (*_RCLONE, ":drive:app.aab"), "resumable"),
)  # fmt: skip


def cases() -> Iterator[tuple[Job, str]]:
    """Every job with every fault that can happen to it."""
    for job in JOBS:
        for fault in job.faults():
            yield job, fault


def fault_for(job: Job, name: str) -> list[dict[str, object]]:
    """The fault as the emulator takes it; none for a plain run."""
    found = FAULTS[name]
    return [] if found is None else [{**found, "on": str(found["on"]).format(**STEPS[job.protocol])}]
