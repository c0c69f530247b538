"""Google's discovery documents accept what is sent to Play, and the check that says so notices every kind of mistake.

Every run that tests.support.job starts is held against the documents at its end; here is one that sends a request of
each kind.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from google_emulator.traffic import LoggedRequest
from tests.support.discovery import DOCUMENTS, discovery, refused_by_google
from tests.support.discovery_schema import SchemaChecker
from tests.support.emulator_client import APP, PACKAGE, EmulatorClient
from tests.support.job import Job

EDIT = f"{APP}/edits/1"
METRICS = f"/v1beta1/apps/{PACKAGE}/crashRateMetricSet"
TRACK: dict[str, Any] = {"track": "production", "releases": [{"status": "completed", "versionCodes": ["42"]}]}


def sent(method: str, target: str, body: Any = None, content_type: str = "application/json") -> LoggedRequest:
    path, _, query = target.partition("?")
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    return LoggedRequest(method, path, query, content_type if data else "", data)


def release(**changed: Any) -> dict[str, Any]:
    return {"releases": [{**TRACK["releases"][0], **changed}]}


def query(**changed: Any) -> LoggedRequest:
    return sent("POST", f"{METRICS}:query", changed)


def write_release(workspace: Path) -> dict[str, str]:
    """Everything that a release can carry, in a workspace; the answer is its inputs."""
    specimens.make_bundle(workspace / "app.aab", PACKAGE, 42, "1.0")
    texts = {
        "mapping.txt": "a.b -> c:\n",
        "notes/whatsnew-en-US": "News\n",
        "store/en-US/title.txt": "App\n",
        "store/en-US/short_description.txt": "Short\n",
        "store/en-US/full_description.txt": "Long\n",
    }
    for name, text in texts.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    images = workspace / "store" / "en-US" / "images"
    images.mkdir()
    specimens.make_image(images / "icon.png", 512, 512, color=(1, 2, 3), alpha=True)
    specimens.make_image(images / "featureGraphic.png", 1024, 500, color=(1, 2, 3))
    return {
        "target": "play",
        "files": "*.aab",
        "mapping-file": "mapping.txt",
        "whats-new-directory": "notes",
        "images-directory": "store",
        "images-prune": "true",
    }


def test_a_whole_release_is_as_the_documents_say(job: Job) -> None:
    """Bundle, mapping, notes, texts, images and two tracks, staged with countries; then a promotion."""
    inputs = write_release(job.workspace)
    staged = {"tracks": "production", "user-fraction": "0.1", "countries": "DE, AT", "in-app-update-priority": "3"}
    first = job.run({**inputs, **staged})
    assert first.code == 0, first.log
    second = job.run({"target": "play", "package-name": PACKAGE, "promote-from": "production", "tracks": "beta"})
    assert second.code == 0, second.log
    served = {name for name in job.emulator.state()["requests"] if name.startswith("androidpublisher.")}
    parts = ("insert", "bundles.upload", "deobfuscationfiles.upload", "listings.update", "images.upload", "commit")
    assert {f"androidpublisher.edits.{part}" for part in parts} <= served
    assert {"androidpublisher.edits.tracks.update", "androidpublisher.edits.tracks.patch"} & served
    assert len(job.emulator.requests) > 10
    assert refused_by_google(job.emulator.requests) == []


@pytest.mark.parametrize(
    "request_",
    [
        sent("POST", f"{APP}/edits", {}),
        sent("POST", f"{EDIT}:commit?changesNotSentForReview=true&changesInReviewBehavior=ERROR_IF_IN_REVIEW"),
        sent("GET", f"{APP}/tracks/wear%3Aproduction/releases"),
        sent("PUT", f"{EDIT}/tracks/production", TRACK),
        sent("POST", f"/upload{EDIT}/bundles?uploadType=resumable", {}),
        sent("POST", f"/resumable/upload{EDIT}/apks/42/deobfuscationFiles/proguard?uploadType=media"),
        sent("PUT", f"/upload{EDIT}/bundles?uploadType=resumable&upload_id=x&unheard=of"),
        sent("GET", f"{METRICS}?alt=json"),
        query(
            timelineSpec={"aggregationPeriod": "DAILY", "startTime": {"year": 2026, "utcOffset": "-3.5s"}},
            metrics=["crashRate"],
            pageSize=3,
            userCohort=None,
        ),
        sent("GET", "/drive/v3/files/x?whatever=1"),
    ],
    ids=str,
)
def test_what_is_right_passes(request_: LoggedRequest) -> None:
    """Every method of both documents is found by its path; other APIs and the URIs of sessions are passed over."""
    assert refused_by_google([request_]) == []


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (sent("GET", f"{APP}/rollouts"), "no method has this path"),
        (sent("PATCH", f"{APP}/edits", {}), "only POST is served there"),
        (sent("GET", f"{METRICS}Set"), "no method has this path"),
        (sent("POST", f"{EDIT}:commit?sure=true"), "unknown query parameter sure"),
        (sent("POST", f"{EDIT}:commit?editId=2"), "unknown query parameter editId"),
        (sent("POST", f"{EDIT}:commit?changesNotSentForReview=yes"), "neither true nor false: 'yes'"),
        (sent("POST", f"{EDIT}:commit?changesInReviewBehavior=WAIT"), "none of CHANGES_IN_REVIEW"),
        (sent("POST", f"{EDIT}:commit?alt=json&alt=json"), "query parameter alt is there twice"),
        (sent("POST", f"{EDIT}:commit", {}), "a body, where the method takes none"),
        (sent("PUT", f"{EDIT}/tracks/beta", TRACK, "text/plain"), "not said to be JSON but text/plain"),
        (sent("PUT", f"{EDIT}/tracks/beta", b"{"), "a body that is no JSON"),
        (sent("PUT", f"{EDIT}/tracks/beta", []), "the body is no object"),
        (sent("PUT", f"{EDIT}/tracks/beta", {"releases": {}}), "releases is no list"),
        (sent("PUT", f"{EDIT}/tracks/beta", release(speed=1)), "unknown field releases[0].speed"),
        (sent("PUT", f"{EDIT}/tracks/beta", release(status="paused")), "releases[0].status is none of"),
        (sent("PUT", f"{EDIT}/tracks/beta", release(userFraction="0.1")), "releases[0].userFraction is no double"),
        (sent("PUT", f"{EDIT}/tracks/beta", release(versionCodes=["x"])), "versionCodes[0] is no int64"),
        (sent("PUT", f"{EDIT}/tracks/beta", release(inAppUpdatePriority=True)), "inAppUpdatePriority is no int32"),
        (sent("PUT", f"{EDIT}/tracks/beta", release(name=7)), "releases[0].name is no string"),
        (sent("GET", f"{EDIT}/apks/x/expansionFiles/main"), "apkVersionCode is no int32"),
        (sent("GET", f"{EDIT}/listings/en-US/poster"), "imageType is none of"),
        (sent("POST", f"/upload{EDIT}/bundles"), "uploadType is none of"),
        (sent("POST", f"/upload{EDIT}/bundles?uploadType=resumable", {"name": "x"}), "unknown field name"),
        (sent("GET", f"{APP}/inappproducts:batchGet?sku=a&sku=b&key=x&key=y"), "query parameter key is there twice"),
        (sent("GET", f"{METRICS}?pageSize=3"), "unknown query parameter pageSize"),
        (query(colour=1), "unknown field colour"),
        (query(timelineSpec={"aggregationPeriod": "WEEKLY"}), "timelineSpec.aggregationPeriod is none of"),
        (query(timelineSpec={"startTime": "2026-11-01T00:00:00Z"}), "timelineSpec.startTime is no object"),
        (query(timelineSpec={"startTime": {"utcOffset": "1h"}}), "utcOffset is no google-duration"),
        (query(pageSize=1 << 31), "pageSize is no int32"),
        (query(userCohort="ALL"), "userCohort is none of"),
        (query(metrics="crashRate"), "metrics is no list"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_every_kind_of_mistake_is_noticed(request_: LoggedRequest, words: str) -> None:
    """Path, verb, parameters, body: what is wrong is named, with the request in which it is, and nothing else is."""
    [problem] = refused_by_google([request_])
    assert problem.startswith(f"{request_.method} {request_.path}: ")
    assert words in problem


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("google-datetime", "2026-11-01T12:00:00.123456789Z", "2026-11-01"),
        ("google-datetime", "2026-11-01T12:00:00+01:00", "2026-11-01T12:00:00"),
        ("google-fieldmask", "a.b,c", "a b"),
        ("byte", "YQ==", "Y"),
        ("uint64", "7", "-7"),
    ],
)
def test_formats_are_checked(form: str, right: str, wrong: str) -> None:
    """Texts that have a form of their own."""
    schema = {"type": "string", "format": form}
    assert list(SchemaChecker({}).problems(right, schema, "x")) == []
    assert list(SchemaChecker({}).problems(wrong, schema, "x")) == [f"x is no {form}: {wrong!r}"]


def test_maps_are_checked_by_their_values() -> None:
    """Where any name is allowed, values still have a type; a schema without one takes everything."""
    schema = {"type": "object", "additionalProperties": {"type": "boolean"}}
    checker = SchemaChecker({})
    assert list(checker.problems({"a": True}, schema)) == []
    assert list(checker.problems({"a": 1}, schema)) == ["a is no boolean: 1"]
    assert list(checker.problems({"a": 1}, {"type": "any"})) == []


def test_a_run_that_sends_what_google_refuses_fails_its_test(job: Job) -> None:
    """The check at the end of each run sees what was sent during it."""
    client = EmulatorClient(job.emulator)
    client.request("GET", f"{APP}/rollouts")
    client.close()
    with pytest.raises(AssertionError, match="no method has this path"):
        job.run({"target": "play"})


def test_requests_are_recorded_without_credentials(emulator: Emulator) -> None:
    """What was asked is kept; logins, headers and media are not."""
    client = EmulatorClient(emulator)
    client.request("POST", "/token", b"assertion=secret", {"Content-Type": "application/x-www-form-urlencoded"})
    client.request("POST", f"{APP}/edits?alt=json", json={})
    client.upload(f"{EDIT}/bundles", b"media")
    client.close()
    media = ("POST", f"/upload{EDIT}/bundles", "uploadType=media", "application/octet-stream", None)
    assert emulator.requests == [
        LoggedRequest("POST", f"{APP}/edits", "alt=json", "application/json; charset=UTF-8", b"{}"),
        LoggedRequest(*media),
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_documents_are_there(name: str) -> None:
    """Both are inside the package that the tests depend on, and have the methods that are used."""
    paths = {"androidpublisher.v3": f"{APP}/edits", "playdeveloperreporting.v1beta1": METRICS}
    assert [discovery(name).serves(path) for path in paths.values()] == [name == one for one in paths]
