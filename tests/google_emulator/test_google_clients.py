"""The emulator is right when strangers' clients work: Google's own ones, through their documented
options.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import googleapiclient
import pytest
from google.auth.transport.requests import Request
from google.cloud import storage
from google.oauth2 import credentials, service_account
from googleapiclient.discovery import build_from_document
from googleapiclient.http import MediaIoBaseUpload

from google_emulator.services.play.data_safety import HEADER
from tests.support.discovery import refused_by_google
from tests.support.emulator_client import GRANULE, PACKAGE, EmulatorClient

DATA = os.urandom(3 * GRANULE + 7)
PLAY = "https://www.googleapis.com/auth/androidpublisher"
REPORTING = "https://www.googleapis.com/auth/playdeveloperreporting"
STORAGE = "https://www.googleapis.com/auth/devstorage.read_write"


def login(client: EmulatorClient, scope: str, subject: str | None = None) -> Any:
    """A bearer token as a person's login; for a service account google-auth asks a Google host
    beyond loopback.
    """
    found: Any = credentials.Credentials  # published without annotations
    return found(client.emulator.token(scope, user=subject or ""))


def api(
    client: EmulatorClient,
    name: str,
    version: str,
    scope: str,
    subject: str | None = None,
) -> Any:
    """google-api-python-client for one API; its media requests go where the document's rootUrl
    says.
    """
    documents = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    document = json.loads(
        (documents / f"{name}.{version}.json").read_text(encoding="utf-8")
    )
    document["rootUrl"] = f"{client.emulator.url}/"
    document["baseUrl"] = f"{client.emulator.url}/{document['servicePath']}"
    return build_from_document(document, credentials=login(client, scope, subject))


def media(kind: str, chunk: int | None) -> MediaIoBaseUpload:
    return MediaIoBaseUpload(
        io.BytesIO(DATA), kind, resumable=chunk is not None, chunksize=chunk or -1
    )


def test_google_auth_logs_in(client: EmulatorClient) -> None:
    """google-auth signs, exchanges, and has a token that expires in an hour."""
    account: Any = service_account.Credentials  # published without annotations
    key = account.from_service_account_info(
        client.emulator.key, scopes=[PLAY], subject="boss@example.com"
    )
    key.refresh(Request())
    assert key.valid
    left = key.expiry.replace(tzinfo=timezone.utc) - datetime.now(timezone.utc)
    assert timedelta(minutes=58) < left <= timedelta(hours=1)
    assert client.emulator.state()["tokens"][-1]["subject"] == "boss@example.com"


@pytest.mark.parametrize(
    "chunk", [None, -1, GRANULE], ids=["simple", "whole", "chunks"]
)
def test_google_api_python_client_uploads_to_play(
    client: EmulatorClient, chunk: int | None
) -> None:
    """An edit, an image by each protocol that the client has, a commit."""
    with api(client, "androidpublisher", "v3", PLAY) as play:
        edits = play.edits()
        edit = edits.insert(packageName=PACKAGE, body={}).execute()["id"]
        names = {"packageName": PACKAGE, "editId": edit}
        image = {
            **names,
            "language": "en-US",
            "imageType": "icon",
            "media_body": media("image/png", chunk),
        }
        answer = edits.images().upload(**image).execute()
        assert answer["image"]["sha256"] == hashlib.sha256(DATA).hexdigest()
        assert edits.commit(**names).execute()["id"] == edit


def test_google_api_python_client_prepares_a_closed_test(
    client: EmulatorClient,
) -> None:
    """A track, its testers and countries, the store's texts and the data safety form: every call
    answers.
    """
    with api(client, "androidpublisher", "v3", PLAY) as play:
        edits = play.edits()
        edit = {
            "packageName": PACKAGE,
            "editId": edits.insert(packageName=PACKAGE).execute()["id"],
        }
        closed = {"track": "friends", "type": "CLOSED_TESTING", "formFactor": "DEFAULT"}
        assert edits.tracks().create(**edit, body=closed).execute() == {
            "track": "friends"
        }
        groups = {"googleGroups": ["qa@googlegroups.com"]}
        assert (
            edits.testers().update(**edit, track="friends", body=groups).execute()
            == groups
        )
        assert (
            edits.testers().patch(**edit, track="friends", body={}).execute() == groups
        )
        assert edits.testers().get(**edit, track="friends").execute() == groups
        assert (
            edits.countryavailability()
            .get(**edit, track="friends")
            .execute()["syncWithProduction"]
        )
        texts = {"title": "T", "shortDescription": "S", "fullDescription": "F"}
        assert (
            edits.listings()
            .update(**edit, language="en-US", body=texts)
            .execute()["title"]
            == "T"
        )
        assert len(edits.listings().list(**edit).execute()["listings"]) == 1
        assert (
            edits.details()
            .patch(**edit, body={"contactEmail": "a@b.example"})
            .execute()["defaultLanguage"]
        )
        assert (
            edits.validate(**edit).execute()["id"]
            == edits.commit(**edit).execute()["id"]
        )
        form = {
            "safetyLabels": (
                f"{HEADER}\nPSL_DATA_COLLECTION_COLLECTS_PERSONAL_DATA,,false,REQUIRED,Does it?\n"
            )
        }
        assert (
            play.applications().dataSafety(packageName=PACKAGE, body=form).execute()
            == {}
        )
    assert refused_by_google(client.emulator.requests) == []


def test_google_api_python_client_reads_what_follows_a_commit(
    client: EmulatorClient,
) -> None:
    """The releases of a track with their reviews, and the crash rate by day and version, page after
    page.
    """
    emulator = client.emulator
    emulator.console.add_release(
        PACKAGE, "production", {"versionCodes": [42]}, ["IN_REVIEW"]
    )
    emulator.vitals.script(
        {
            PACKAGE: {
                "versions": {"42": {"userPerceivedCrashRate": 0.0142}},
                "page_size": 2,
            }
        }
    )
    with api(client, "androidpublisher", "v3", PLAY) as play:
        track = play.applications().tracks().releases()
        [release] = track.list(
            parent=f"applications/{PACKAGE}/tracks/production"
        ).execute()["releases"]
        assert release["releaseLifecycleState"] == "RELEASE_LIFECYCLE_STATE_IN_REVIEW"
    with api(client, "playdeveloperreporting", "v1beta1", REPORTING) as reporting:
        crashes, name = (
            reporting.vitals().crashrate(),
            f"apps/{PACKAGE}/crashRateMetricSet",
        )
        days = crashes.get(name=name).execute()["freshnessInfo"]["freshnesses"][1]
        start = {"year": days["latestEndTime"]["year"] - 1, "month": 1, "day": 1}
        timeline = {
            "aggregationPeriod": "DAILY",
            "startTime": start,
            "endTime": days["latestEndTime"],
        }
        asked = {
            "timelineSpec": timeline,
            "dimensions": ["versionCode"],
            "metrics": ["userPerceivedCrashRate"],
        }
        rows, page = [], crashes.query(name=name, body=asked).execute()
        while token := page.get("nextPageToken"):
            rows += page["rows"]
            page = crashes.query(
                name=name, body={**asked, "pageToken": token}
            ).execute()
        assert {
            row["metrics"][0]["decimalValue"]["value"] for row in [*rows, *page["rows"]]
        } == {"0.0142"}
        # a series begins 28 days ago, and the latest day is not there yet
        assert len([*rows, *page["rows"]]) == 27
    assert refused_by_google(emulator.requests) == []


@pytest.mark.parametrize("chunk", [None, GRANULE], ids=["multipart", "chunks"])
def test_google_api_python_client_uploads_to_drive(
    client: EmulatorClient, chunk: int | None
) -> None:
    """Metadata and media together, in one body or in a session."""
    with api(
        client, "drive", "v3", "https://www.googleapis.com/auth/drive.file"
    ) as drive:
        wanted = {
            "body": {"name": "release"},
            "media_body": media("application/zip", chunk),
            "fields": "name,size",
        }
        assert drive.files().create(**wanted).execute() == {
            "name": "release",
            "size": str(len(DATA)),
        }


@pytest.mark.parametrize("chunk", [None, GRANULE], ids=["one request", "chunks"])
def test_google_cloud_storage_uploads(
    client: EmulatorClient, chunk: int | None
) -> None:
    """Cloud Storage's own client uploads, verifies the checksums it is told, and reads the object
    back.
    """
    google = storage.Client(
        project="p",
        credentials=login(client, STORAGE),
        client_options={"api_endpoint": client.emulator.url},
    )
    blob = google.bucket("bucket").blob("a/b.bin", chunk_size=chunk)
    blob.upload_from_file(io.BytesIO(DATA), size=len(DATA), checksum="md5")
    blob.upload_from_file(io.BytesIO(DATA), size=len(DATA), checksum="crc32c")
    assert google.bucket("bucket").get_blob("a/b.bin").size == len(DATA)
    assert blob.download_as_bytes() == DATA
    google.close()
    assert [one["size"] for one in client.emulator.state()["objects"]] == [
        len(DATA)
    ] * 2
