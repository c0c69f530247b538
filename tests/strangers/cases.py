"""Which clients do which jobs, and which faults each is known not to survive: the set of cases that
a run goes through.

A client is used as its documentation shows, with what it has of retries. `make strangers` holds
this to be true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

PLAIN = "no fault"
# What a fault does, by its name. `{start}`, `{put}` and `{final}` are the steps of the job's
# protocol.
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
    "resumable": {
        "start": "resumable.start",
        "put": "resumable.put",
        "final": "resumable.final",
    },
    "X-Goog": {"start": "goog.start", "put": "goog.upload", "final": "goog.finalize"},
    "multipart": {"start": "multipart", "put": "multipart", "final": "multipart"},
    "simple": {"start": "simple", "put": "simple", "final": "simple"},
}
SESSIONS = ("resumable", "X-Goog")  # only a session can keep a part


@dataclass(frozen=True)
class Job:
    """What a client is made to do.

    `tool` is who fetches the client (`tools.py`), `program` the command, `protocol` how it uploads;
    `fails` says for each fault that it does not survive why.
    """

    client: str
    name: str
    tool: str
    program: tuple[str, ...]
    protocol: str
    fails: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The job's name in test ids."""
        return f"{self.client}-{self.name}".replace(" ", "_")

    def faults(self) -> list[str]:
        """The faults that can happen to this protocol."""
        return [
            name
            for name in FAULTS
            if name != "partly stored" or self.protocol in SESSIONS
        ]


# Why a client does not survive a fault, as its source says.
CLOCK = "a token is renewed by the clock alone, not after a 401"
NO_POST = "a POST is never repeated"
_GOOGLEAPIS = {
    **dict.fromkeys(
        ("503 at the start", "503 midway", "reset midway", "answer lost"), NO_POST
    ),
    "token expired": "what was read from a stream is not sent again",
}
_STORAGE = {
    "answer lost": "the answer that the upload is complete is taken for a loss of all bytes",
    "token expired": CLOCK,
}
_AT_ONCE = {
    "answer lost": "the repeat meets its own object, and the precondition fails",
    "token expired": CLOCK,
}
_GO = {
    "503 at the start": "the start of a session is not repeated",
    "answer lost": "a connection that was closed is not tried again",
    "partly stored": "what the server says that it has stored is not read",
    "token expired": CLOCK,
}
_RUBY = {
    "reset midway": "the HTTP library repeats the request by itself, from the first byte",
    "answer lost": "a connection that was closed is not tried again",
    "partly stored": "an answer that the session is active is taken for the end",
    "token expired": CLOCK,
}
_CODEMAGIC = {
    "answer lost": "the repeat is refused, since the version code is used by then"
}
_RCLONE_DRIVE = {"partly stored": _GO["partly stored"], "token expired": CLOCK}
_CHUNKS = {"partly stored": "a chunk that was stored in part is an error"}


def _node(
    name: str,
    what: str,
    protocol: str,
    fails: Mapping[str, str],
    client: str = "googleapis for Node",
) -> Job:
    return Job(
        client,
        name,
        "node",
        ("node", "{programs}/google.js", what, "{file}"),
        protocol,
        fails,
    )


def _python(
    name: str,
    fails: Mapping[str, str] | None = None,
    client: str = "google-api-python-client",
) -> Job:
    program = ("{python}", "{programs}/google_client.py", name, "{file}")
    return Job(client, name, "python", program, "resumable", fails or {})


def _ruby(name: str) -> Job:
    return Job(
        "google-api-client for Ruby",
        name,
        "ruby",
        ("ruby", "{programs}/google.rb", name, "{file}"),
        "X-Goog",
        _RUBY,
    )


def _go(name: str) -> Job:
    return Job(
        "google-api-go-client",
        name,
        "go",
        ("{tool}/google", name, "{file}"),
        "resumable",
        _GO,
    )


_NODE_STORAGE = "@google-cloud/storage for Node"
_PUBLISH = (
    "{bin}/google-play",
    "bundles",
    "publish",
    "--bundle",
    "{file}",
    "--track",
    "internal",
)
_RCLONE = ("rclone", "--retries=1", "--drive-chunk-size=1Mi", "copyto", "{file}")

JOBS = (
    _node("object", "object", "resumable", _STORAGE, _NODE_STORAGE),
    _node("object at once", "object-at-once", "multipart", _AT_ONCE, _NODE_STORAGE),
    _node("release", "release", "simple", _GOOGLEAPIS),
    _node("file", "file", "multipart", _GOOGLEAPIS),
    _node("mail", "mail", "simple", _GOOGLEAPIS),
    _python("object", _CHUNKS, "google-cloud-storage for Python"),
    _python("release"),
    _python("file"),
    _python("mail"),
    Job("codemagic-cli-tools", "release", "codemagic", _PUBLISH, "simple", _CODEMAGIC),
    _ruby("object"),
    _ruby("release"),
    _ruby("file"),
    _go("object"),
    _go("release"),
    _go("file"),
    Job(
        "gsutil",
        "object",
        "gsutil",
        ("{tool}/bin/gsutil", "cp", "{file}", "gs://bucket/app.aab"),
        "resumable",
    ),
    Job(
        "rclone",
        "object",
        "rclone",
        (*_RCLONE, ":gcs:bucket/app.aab"),
        "multipart",
        {"token expired": CLOCK},
    ),
    Job(
        "rclone",
        "file",
        "rclone",
        (*_RCLONE, ":drive:app.aab"),
        "resumable",
        _RCLONE_DRIVE,
    ),
)


def cases() -> Iterator[tuple[Job, str]]:
    """Every job with every fault that can happen to it."""
    for job in JOBS:
        for fault in job.faults():
            yield job, fault


def fault_for(job: Job, name: str) -> list[dict[str, object]]:
    """The fault as the emulator takes it; none for a plain run."""
    found = FAULTS[name]
    return (
        []
        if found is None
        else [{**found, "on": str(found["on"]).format(**STEPS[job.protocol])}]
    )
