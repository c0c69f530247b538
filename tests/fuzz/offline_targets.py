"""The targets for what lies beside the wire: files in the workspace, credentials, kept state,
answers about tracks.

Whole files go through the offline checks of a run (`make_plan`), each in a workspace of its own, in
memory.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import PrivateFormat

from google_emulator import specimens
from google_emulator.auth.authority import process_key
from tests.support.recording_context import RecordingContext
from uploader import hosts, redaction
from uploader.auth import credentials
from uploader.auth import google as google_auth
from uploader.auth.destinations import Destinations
from uploader.auth.google import TokenRequest, Unavailable
from uploader.auth.oidc import JobToken
from uploader.clock import Clock
from uploader.errors import InputError, Problems, UploaderError
from uploader.files.artifacts import Artifact
from uploader.files.workspace import ANYWHERE
from uploader.http.client import HttpClient, Timeouts
from uploader.http.headers import Headers
from uploader.http.messages import Block, Request, Response
from uploader.inputs import Inputs, Platform, reader
from uploader.inputs.parsers import Limit
from uploader.inputs.platform import JobRun
from uploader.inputs.records import LoginInputs
from uploader.plan import make_plan
from uploader.services import media_types
from uploader.services.base import Call, Endpoint, Upload
from uploader.services.play import (
    client,
    release_words,
    track_merge,
)
from uploader.services.play.edit_lifecycle import recall_edit
from uploader.services.play.gate import Gate, judge, measure
from uploader.services.play.model import Release
from uploader.services.play.release_job import ReleaseJob, ReleaseOptions
from uploader.services.play.review import live_versions
from uploader.services.play.rollout import read_first_look, step_since
from uploader.state.journal import Journal, SessionRecord
from uploader.state.sealed_store import SealedStore
from uploader.upload import resumable

T = TypeVar("T")

_RELEASE = Inputs().with_values(
    target="play", files=("app.aab",), tracks=("internal",), api_endpoint="emulator"
)
_MAIL = Inputs().with_values(target="gmail", api_endpoint="emulator")
# What the first byte of an input chooses: where the file lies, and what asks for it and for nothing
# that is wrong.
ASKED: Mapping[bytes, tuple[str, Inputs]] = {
    b"m": ("mapping.txt", _RELEASE.with_values(mapping_file=(("", "mapping.txt"),))),
    b"s": ("symbols.zip", _RELEASE.with_values(debug_symbols=(("", "symbols.zip"),))),
    b"n": ("notes/whatsnew-en-US", _RELEASE.with_values(whats_new_directory="notes")),
    b"i": (
        "icons/en-US/images/icon.png",
        _RELEASE.with_values(images_directory="icons"),
    ),
    b"t": (
        "texts/en-US/full_description.txt",
        _RELEASE.with_values(images_directory="texts"),
    ),
    b"o": ("main.obb", _RELEASE.with_values(expansion_file_main="main.obb")),
    b"e": ("mail.eml", _MAIL.with_values(message_file="mail.eml")),
    b"a": (
        "notes.bin",
        _MAIL.with_values(
            files=("notes.bin",), mail_to="a@example.com", mail_body="text"
        ),
    ),
    b"b": (
        "body.txt",
        _MAIL.with_values(mail_to="a@example.com", mail_body="file:body.txt"),
    ),
}


@cache
def folder() -> Path:
    """A folder in memory, if the machine has one, that goes with the process."""
    memory = "/dev/shm"
    made = tempfile.TemporaryDirectory(
        prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None
    )
    _KEPT.append(made)
    return Path(made.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def workspace() -> Path:
    """A workspace with one small bundle in it."""
    path = folder() / "workspace"
    path.mkdir()
    specimens.make_bundle(path / "app.aab", "com.example.app", 42, "1.0")
    return path


def workspace_files(data: bytes) -> None:
    """Mappings, symbols, notes, images, texts, expansion files, messages, attachments: a plan, or
    what is wrong.
    """
    if data[:1] not in ASKED:
        return
    name, inputs = ASKED[data[:1]]
    path, temp = workspace() / name, folder() / "temp"
    path.parent.mkdir(parents=True, exist_ok=True)
    temp.mkdir(exist_ok=True)
    path.write_bytes(data[1:])
    with suppress(InputError):
        planned = make_plan(
            replace(inputs, platform=Platform(workspace=workspace(), temp=temp)), ()
        )
        assert all(line.isprintable() for line in planned.lines())
    path.unlink()
    shutil.rmtree(temp)


KEY_HERE = "@key@"  # in an input, for a whole private key: none lies in the repository


@cache
def _key() -> str:
    """The key of an emulator, as it stands in JSON."""
    return json.dumps(process_key().private_pem())[1:-1]


def credentials_given(data: bytes) -> None:
    """A credential as JSON, as base64, and in a file: one reading of all three, its secrets known,
    or what is wrong.
    """
    text = data.decode("utf-8", "replace").strip().replace(KEY_HERE, _key())
    path = folder() / "credentials.json"
    path.write_bytes(data.replace(KEY_HERE.encode(), _key().encode()))
    forms = [str(path)]
    if text.startswith("{"):
        forms += [text, base64.b64encode(text.encode()).decode()]
    for given in forms:
        with suppress(InputError):
            source = credentials.parse(LoginInputs(credentials=given))
            for field in ("private_key", "refresh_token", "client_secret"):
                value = source.info.get(field)
                assert not value or any(
                    value in secret or secret in value for secret in source.secrets
                )
            google_auth.credentials(source, ["scope"], "", None, ANYWHERE)


@cache
def _der(form: PrivateFormat) -> bytes:
    key = serialization.load_pem_private_key(process_key().private_pem().encode(), None)
    return key.private_bytes(
        serialization.Encoding.DER, form, serialization.NoEncryption()
    )


def damaged_keys(data: bytes) -> None:
    """A private key of which some bytes are others: after its form and their place. It is the same
    key, or none.
    """
    whole = _der(
        PrivateFormat.PKCS8 if data[:1] == b"8" else PrivateFormat.TraditionalOpenSSL
    )
    at, others = int.from_bytes(data[1:3], "big") % len(whole), data[3:]
    body = base64.b64encode(whole[:at] + others + whole[at + len(others) :]).decode()
    pem = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    info = {
        "type": "service_account",
        "client_email": "a@b",
        "private_key": pem,
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    with suppress(InputError):
        source = credentials.parse(LoginInputs(credentials=json.dumps(info)))
        signature = google_auth.credentials(
            source, ["scope"], "", None, ANYWHERE
        ).sign_bytes(b"signed")
        _public_key().verify(signature, b"signed", PKCS1v15(), SHA256())


@cache
def _public_key() -> RSAPublicKey:
    key = serialization.load_pem_private_key(
        process_key().private_pem().encode(), None
    ).public_key()
    assert isinstance(key, RSAPublicKey)
    return key


class OneAnswer(HttpClient):
    """A transport whose every answer is the same."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self._answer = response

    def send(
        self,
        request: Request,  # noqa: ARG002  # the protocol has it
        blocks: Iterable[Block],  # noqa: ARG002  # the protocol has them
        token: str,  # noqa: ARG002  # the protocol has it
        timeouts: Timeouts,
    ) -> Response:
        """The answer, cut where the transport would cut it."""
        return Response(
            self._answer.status,
            self._answer.headers,
            self._answer.body[: timeouts.max_size],
        )


def token_answers(data: bytes) -> None:
    """What a token endpoint, an exchange of tokens, GitHub's OIDC endpoint answer: a token that
    fits in a header.
    """
    status = 200 if data[:1] == b"{" else 100 + 2 * data[0] if data else 500
    response = Response(status, Headers(), data if data[:1] == b"{" else data[1:])
    secrets: list[str] = []
    for info in _LOGINS:
        source = credentials.parse(LoginInputs(credentials=json.dumps(info)))
        request = TokenRequest(
            OneAnswer(response),
            secrets.append,
            google_auth.destinations(source, LoginInputs()),
        )
        with suppress(UploaderError, Unavailable):
            token, lifetime = google_auth.fetch(
                google_auth.credentials(source, ["scope"], "", None, ANYWHERE), request
            )
            assert google_auth.BEARER.fullmatch(token)
            assert lifetime > 0
            assert token in secrets
    supplier = JobToken(_KEYLESS)
    request = TokenRequest(
        OneAnswer(response), secrets.append, Destinations.of([supplier.url])
    )
    with suppress(UploaderError, Unavailable):
        assert supplier.get_subject_token(None, request)


_KEYLESS = LoginInputs(
    platform=Platform(
        oidc_request_url="https://x.actions.githubusercontent.com/token",
        oidc_request_token="bearer",
    )
)
_LOGINS = (
    {
        "type": "authorized_user",
        "client_id": "id",
        "client_secret": "secret-of-it",
        "refresh_token": "refresh-token",
    },
    {
        "type": "external_account",
        "audience": (
            "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/providers/p"
        ),
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.iam:generateAccessToken",
        "credential_source": {
            "url": "https://x.actions.githubusercontent.com/token",
            "format": {"type": "text"},
        },
    },
)


def env_files(data: bytes) -> None:
    """A file of variables: what it sets are texts, and every mistake has words."""
    path = folder() / "variables"
    path.write_bytes(data)
    found = reader.read_env_file(str(path), Problems())
    read, problems = reader.read({}, [f"--env-file={path}"])
    assert all(problem.name and problem.what for problem in problems)
    assert read.values.get("release_name", "") in (
        "",
        *(value for _, value in found.values()),
    )


class Silent:
    """A reporter whom nobody hears."""

    def info(self, text: str) -> None:
        """Nothing."""

    def warning(self, text: str) -> None:
        """Nothing."""


ENDPOINT = Endpoint(
    "things.upload",
    "https://things.googleapis.com",
    "/things",
    "/upload/things",
    ("*/*",),
    (),
)
JOB = Upload(ENDPOINT, Artifact("a", "a", 1, data=b"a"), "text/plain")
RECORD = SessionRecord(
    "https://things.googleapis.com/upload/things?upload_id=x", 262_144
)


def state_entries(data: bytes) -> None:
    """What somebody put in the place of kept entries: nothing of it is believed, and it stays as it
    is.
    """
    state = folder() / "state"
    if not state.exists():
        kept = _journal(state)
        kept.save(JOB, RECORD)
        kept.remember("edit", "1")
        kept.close()
    entries = sorted(state.glob("*.sealed"))
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(data)
    journal = _journal(state)
    assert journal.find(JOB) is None
    assert journal.recall("edit") is None
    journal.close()
    assert [entry.read_bytes() for entry in entries] == [data, data]


def _journal(state: Path) -> Journal:
    reporter: Any = Silent()  # it follows no upload
    return Journal(
        SealedStore(state, b"k" * 32, "account", Clock(time.sleep), reporter),
        JobRun("run"),
    )


def edit_records(data: bytes) -> None:
    """What an earlier version may have remembered of an edit, or of a rollout's first look: one of
    both, or nothing.
    """
    job = ReleaseJob("com.example.app", tracks=("internal",))
    look = read_first_look(data.decode("utf-8", "replace"))
    if look is not None:
        assert not step_since(look, (Release.of(["1"], "draft"),))
    found = recall_edit(
        job, RecordingContext({job.memory: data.decode("utf-8", "replace")})
    )
    if found is not None:
        assert isinstance(found.id, str)
        assert all(isinstance(value, str) for value in found.changes.values())


def vitals_answers(data: bytes) -> None:
    """The Reporting API's answers, and the list of releases: a judgement with its reasons, or a
    refusal in words.
    """
    response = Response(200, Headers(), data).json()
    gate = Gate(
        (Limit("crash-rate", 0.01), Limit("anr-rate", 2.0, relative=True)), days=3
    )
    with suppress(UploaderError):
        found = measure(_Answering(response), "com.example.app", gate)
        judgement = judge(gate, 1_800_000_000, found, {"2"}, {"1"})
        assert judgement.reasons or judgement.ruling == "pass"
    with suppress(UploaderError):
        live_versions(_Answering(response), "com.example.app", "production")


class _Answering(RecordingContext):
    """A context that gets this one answer to everything, which is an object as of the engine's."""

    def __init__(self, response: object) -> None:
        super().__init__()
        self._response = response if isinstance(response, dict) else {}

    def call(self, call: Call) -> Any:
        del call
        return self._response


def track_answers(data: bytes) -> None:
    """Google Play's answer about a track: each decision about it is made, or refused in words."""
    response = Response(200, Headers(), data).json()
    with suppress(UploaderError):
        live = client.releases(response)
        options = ReleaseOptions()
        release_words.describe_all(live)
        release = track_merge.new(
            ReleaseOptions(status="inProgress", fraction=0.5), ["7"]
        )
        for decide in (
            lambda: track_merge.merge("beta", live, release, replace_rollout=False),
            lambda: track_merge.apply_options(
                options, track_merge.to_change("beta", live)
            ),
            lambda: track_merge.to_promote("beta", live),
            lambda: track_merge.holds(live, [release]),
            lambda: track_merge.holds(live, live),
        ):
            with suppress(UploaderError):
                decide()


def media_kinds(data: bytes) -> None:
    """What a file's first bytes and its name say that it is."""
    name, _, content = data.partition(b"\n")
    artifact = Artifact(
        "a", name.decode("utf-8", "replace"), len(content), data=content
    )
    kinds = media_types.kinds(artifact)
    assert kinds
    assert all("/" in kind for kind in kinds)


def addresses_of_sessions(data: bytes) -> None:
    """A URL that a server names: wherever it points, what is secret in it is known."""
    uri = data.decode("utf-8", "replace")
    hosts.origin(uri)
    words = redaction.session_words(uri, ENDPOINT.root)
    shown = redaction.without_session(
        uri.encode("utf-8", "replace"), uri, ENDPOINT.root
    )
    assert not any(word.encode() in shown for word in words)
    assert not (hosts.on_loopback(uri) and hosts.is_google(uri))
    whole = resumable.absolute(uri, ENDPOINT.root + "/upload/things")
    assert not hosts.trusted(whole, ENDPOINT.root) or hosts.origin(whole).host.endswith(
        "googleapis.com"
    )


TARGETS = (
    workspace_files,
    credentials_given,
    damaged_keys,
    token_answers,
    env_files,
    state_entries,
    edit_records,
    vitals_answers,
    track_answers,
    media_kinds,
    addresses_of_sessions,
)
