"""What published clients do in the same situations: each uploads to the emulator with the same fault, and is watched.

They are used as their documentation says, with their own retries switched on; only their waits are shortened. Every
request is counted, so that a client that would go on for ever is stopped.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import googleapiclient
from google.auth.transport.requests import AuthorizedSession
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY
from google.oauth2.credentials import Credentials
from google.resumable_media import InvalidResponse
from google.resumable_media.common import RetryStrategy
from google.resumable_media.requests import ResumableUpload
from google_auth_httplib2 import AuthorizedHttp  # type: ignore[import-untyped]  # published without types
from googleapiclient.discovery import build_from_document
from googleapiclient.http import MediaIoBaseUpload, build_http

from google_emulator import Emulator
from tests.support.transfer_harness import Bench, data_of, fault, job

SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
PATH = "/upload/storage/v1/b/bucket/o"
CHUNK = 2 << 20
DATA = data_of(4 * CHUNK + 5)  # google-cloud-storage sends what is up to 8 MiB in one request
TIMEOUT = 3.0  # seconds
MOST_REQUESTS = 60
REFUSALS = ("UntrustedHost", "ProtocolError", "IntegrityError", "DataCorruption")  # exceptions that name the very cause


_Upload: Any = ResumableUpload  # published without annotations, as is the next
_Retry: Any = RetryStrategy


class Endless(BaseException):
    """The client was stopped; no handler of its own may take this for a failure that is worth another try."""


class Counter:
    """Counts requests and ends what has no end."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, request: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(request)
        def counted(*args: Any, **options: Any) -> Any:
            self.requests += 1
            if self.requests > MOST_REQUESTS:
                raise Endless
            return request(*args, **options)

        return counted


def credentials(emulator: Emulator) -> Any:
    """A user's login: renewed by the emulator, and without the look-ups elsewhere that a service account's makes."""
    kind: Any = Credentials  # published without annotations
    authority = emulator.authority
    where = {"token_uri": f"{emulator.url}/token", "client_id": "client", "client_secret": authority.client_secret}
    return kind(None, refresh_token=authority.refresh_token, scopes=[SCOPE], **where)


def session(emulator: Emulator) -> Any:
    """Requests with a login, every request counted."""
    kind: Any = AuthorizedSession  # published without annotations
    made = kind(credentials(emulator))
    made.request = Counter()(made.request)
    return made


def this_program(emulator: Emulator, data: bytes) -> None:
    """Uploads with `chunk-size: 2MiB`."""
    bench = Bench(emulator, chunk=CHUNK, protocol="resumable", stall=TIMEOUT, finalize=TIMEOUT)
    bench.login._token = emulator.token("devstorage.read_write")
    fresh = functools.partial(emulator.token, "devstorage.read_write")
    bench.login._fresh = fresh  # type: ignore[method-assign]  # the token that this service wants
    upload = job(data)
    endpoint = replace(upload.endpoint, upload_path=PATH, query=(("name", "x"),))
    result = bench.send(replace(upload, endpoint=endpoint))
    if result.failure is not None:
        raise result.failure


def api_client(emulator: Emulator, data: bytes) -> None:
    """google-api-python-client: `next_chunk(num_retries=5)` until there is a response."""
    documents = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    document = json.loads((documents / "storage.v1.json").read_text(encoding="utf-8"))
    document |= {"rootUrl": f"{emulator.url}/", "baseUrl": f"{emulator.url}/{document['servicePath']}"}
    http = build_http()
    http.timeout = TIMEOUT
    http.request = Counter()(http.request)
    media = MediaIoBaseUpload(io.BytesIO(data), "application/octet-stream", chunksize=CHUNK, resumable=True)
    with build_from_document(document, http=AuthorizedHttp(credentials(emulator), http=http)) as service:
        request = service.objects().insert(bucket="bucket", name="x", body={}, media_body=media)
        request._sleep = _no_sleep  # its own stub for tests
        response = None
        while response is None:
            _, response = request.next_chunk(num_retries=5)


def _no_sleep(seconds: float) -> None:
    del seconds


def cloud_storage(emulator: Emulator, data: bytes) -> None:
    """google-cloud-storage: `upload_from_file` with the default retry."""
    made = session(emulator)
    options = {"api_endpoint": emulator.url}
    with made, storage.Client("project", made.credentials, made, client_options=options) as client:
        blob = client.bucket("bucket").blob("x", chunk_size=CHUNK)
        retry = DEFAULT_RETRY.with_delay(initial=0.05, maximum=0.05).with_timeout(1.0)
        blob.upload_from_file(io.BytesIO(data), size=len(data), retry=retry, timeout=TIMEOUT)


def resumable_media(emulator: Emulator, data: bytes) -> None:
    """google-resumable-media: `transmit_next_chunk` until finished, `recover` after an invalid response."""
    upload = _Upload(f"{emulator.url}{PATH}?uploadType=resumable&name=x", CHUNK)
    upload._retry_strategy = _Retry(max_retries=5, initial_delay=0.001, max_sleep=0.002)
    with session(emulator) as transport:
        stream = io.BytesIO(data)
        upload.initiate(transport, stream, {}, "application/octet-stream", total_bytes=len(data), timeout=TIMEOUT)
        while not upload.finished:
            _transmit(upload, transport)


def _transmit(upload: Any, transport: Any) -> None:
    try:
        upload.transmit_next_chunk(transport, timeout=TIMEOUT)
    except InvalidResponse:
        if not upload.invalid:
            raise
        upload.recover(transport)


CLIENTS: Mapping[str, Callable[[Emulator, bytes], None]] = {
    "this program": this_program,
    "google-api-python-client": api_client,
    "google-cloud-storage": cloud_storage,
    "google-resumable-media": resumable_media,
}


@dataclass(frozen=True)
class Trial:
    """One row of the table, tried with every client: the faults, and what is uploaded."""

    row: str
    title: str
    faults: Sequence[Mapping[str, Any]]
    data: bytes = DATA


TRIALS = (
    Trial("start-fails", "503 to the start, twice", [fault("resumable.start", "status", times=2)]),
    Trial("start-fails", "408 to the start", [fault("resumable.start", "status", status=408)]),
    Trial("start-fails", "connection reset at the start", [fault("resumable.start", "reset")]),
    Trial("start-refused", "401 to the start", [fault("resumable.start", "token-expired")]),
    Trial("breaks-mid-body", "second chunk: reset, 43 bytes stored",
          [fault("resumable.put", "reset", nth=2, after="end", stored=43)]),
    Trial("breaks-mid-body", "second chunk stored, the answer lost", [fault("resumable.put", "answer-lost", nth=2)]),
    Trial("error-mid-body", "second chunk: 503, 43 bytes stored",
          [fault("resumable.put", "status", nth=2, after="end", stored=43)]),
    Trial("error-mid-body", "second chunk stored, then 503", [fault("resumable.put", "status-after-effect", nth=2)]),
    Trial("308-without-range", "308 without Range to the second chunk", [fault("resumable.put", "no-range", nth=2)]),
    Trial("range-lower", "43 bytes of the second chunk stored",
          [fault("resumable.put", "short-store", nth=2, stored=43)]),
    Trial("range-backward", "the third answer goes back to byte 0", [fault("resumable.put", "range-backward", nth=3)]),
    Trial("range-nonsense", "a Range beyond what was sent", [fault("resumable.put", "range-beyond", nth=2)]),
    Trial("range-nonsense", "a Range that begins at 1", [fault("resumable.put", "range-from", nth=2)]),
    Trial("range-forms", "`Range: 0-2097151`", [fault("resumable.put", "range-plain", times=4)]),
    Trial("session-lost", "404 to the second chunk", [fault("resumable.put", "session-lost", nth=2)]),
    Trial("session-lost", "410 to the second chunk", [fault("resumable.put", "session-lost", nth=2, status=410)]),
    Trial("token-expired", "401 to the second chunk", [fault("resumable.put", "token-expired", nth=2)]),
    Trial("rate-limit", "403 userRateLimitExceeded",
          [fault("resumable.put", "status", nth=2, status=403, reason="userRateLimitExceeded")]),
    Trial("timeout-408", "408 to the second chunk", [fault("resumable.put", "status", nth=2, status=408)]),
    Trial("retry-after", "429 with `Retry-After: 1`",
          [fault("resumable.put", "status", nth=2, status=429, retry_after=1)]),
    Trial("answer-lost", "503 after the last byte was stored", [fault("resumable.final", "status-after-effect")]),
    Trial("answer-lost", "the final answer lost", [fault("resumable.final", "answer-lost")]),
    Trial("308-location", "308 with a Location", [fault("resumable.put", "redirect-308", times=4)]),
    Trial("foreign-host", "a session on another port",
          [fault("resumable.start", "foreign-session", origin="http://127.0.0.1:9")]),
    Trial("empty-file", "no fault, an empty file", [], b""),
    Trial("wrong-digest", "another md5Hash than was sent", [fault("resumable.final", "wrong-digest")]),
    Trial("empty-answer", "success without a body", [fault("resumable.final", "empty-body")]),
)  # fmt: skip


def outcome(trial: Trial, client: Callable[[Emulator, bytes], None]) -> str:
    """What the client did, in a few words; every fault must have fired."""
    with Emulator(trial.faults) as emulator:
        failure = _failure(client, emulator, trial.data)
        state = emulator.state()
        assert {one["do"] for one in state["faults"]["fired"]} == {one["do"] for one in trial.faults}
        stored = [Path(one["file"]).read_bytes() for one in state["objects"]]
        asked = state["requests"].get("resumable.query", 0) > (0 if trial.data else 1)
        again = any(one["bytes_repeated"] for one in state["sessions"])
    return _words(failure, [one == trial.data for one in stored], asked=asked, again=again)


def _failure(client: Callable[[Emulator, bytes], None], emulator: Emulator, data: bytes) -> str:
    try:
        client(emulator, data)
    except Endless:
        return "does not end"
    except Exception as error:  # noqa: BLE001  # whatever a client raises is its way to give up
        return "refuses" if type(error).__name__ in REFUSALS else "gives up"
    return ""


def _words(failure: str, identical: Sequence[bool], *, asked: bool, again: bool) -> str:
    if failure:
        return f"{failure}, though it was stored" if identical else failure
    if not identical:
        return "**false success**"
    if not all(identical):
        return "**stored damaged**"
    if len(identical) > 1:
        return f"**stored {len(identical)} times**"
    how = ", after asking" if asked else ", bytes sent twice" if again else ""
    return f"stored once{how}"


def outcomes(trial: Trial) -> list[str]:
    """What each client did, in the order of `CLIENTS`."""
    return [outcome(trial, client) for client in CLIENTS.values()]
