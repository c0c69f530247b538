"""The destinations, one row each: what a job asks for, what has to be there before, and what must
come of it.

Paths, media types and scopes are written out from Google's documents, so that they hold the
catalogue and the services to something that is not their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google_emulator import Emulator, specimens
from tests.support.emulator_client import EmulatorClient

MIB = 1024 * 1024
SIZE = 2 * MIB
USER = "me@example.com"
PACKAGE = "com.example.app"
OCTETS, APK, MAIL = (
    "application/octet-stream",
    "application/vnd.android.package-archive",
    "message/rfc822",
)
_PLAY = "/upload/androidpublisher/v3/applications/internalappsharing/com.example.app/artifacts"
_GMAIL = "/upload/gmail/v1/users/me"
_PUBLISHER = "androidpublisher"


def noise(size: int, head: bytes = b"") -> bytes:
    """Bytes that are the same in every run, look like nothing known, and begin with `head`."""
    return (head + hashlib.shake_128(b"noise%d" % size).digest(size))[:size]


def _file(name: str, head: bytes = b"") -> Callable[[Path, int], Path]:
    def make(workspace: Path, size: int) -> Path:
        (workspace / name).write_bytes(noise(size, head))
        return workspace / name

    return make


def apk(workspace: Path, size: int = 0, code: int = 7) -> Path:
    """An APK of version `code`."""
    specimens.make_apk(workspace / f"app-{code}.apk", PACKAGE, code, "1.0", size)
    return workspace / f"app-{code}.apk"


def bundle(workspace: Path, size: int = 0, code: int = 7) -> Path:
    """A bundle of version `code`."""
    specimens.make_bundle(workspace / f"app-{code}.aab", PACKAGE, code, "1.0", size)
    return workspace / f"app-{code}.aab"


def package(workspace: Path, size: int, *, sparse: bool = False) -> Path:
    """A zip, which is all that an OTA package has to be here."""
    specimens.make_bundle(workspace / "ota.zip", PACKAGE, 7, "1.0", size, sparse=sparse)
    return workspace / "ota.zip"


def nothing(_: Emulator) -> dict[str, str]:
    """For destinations that need nothing to be there."""
    return {}


def a_drive_file(emulator: Emulator) -> dict[str, str]:
    """A file in Drive, to be replaced."""
    with closing(EmulatorClient(emulator)) as talk:
        response = talk.request(
            "POST",
            "/upload/drive/v3/files?uploadType=media",
            b"old",
            {"Content-Type": OCTETS},
        )
    return {"params": json.dumps({"fileId": response.json["id"]})}


def a_draft(emulator: Emulator) -> dict[str, str]:
    """A draft in the user's mailbox."""
    draft = b"To: a@example.com\r\nSubject: old\r\n\r\nold"
    with closing(EmulatorClient(emulator)) as talk:
        response = talk.request(
            "POST", f"{_GMAIL}/drafts?uploadType=media", draft, {"Content-Type": MAIL}
        )
    return {"draft-id": response.json["id"]}


@dataclass(frozen=True)
class Place:
    """One destination. `outputs` says for each output where in the service's answer its value
    stands.

    `path` may hold `{name}` of what `before` made; `metadata` is what the service must have been
    told.
    """

    inputs: Mapping[str, str]
    make: Callable[[Path, int], Path]
    path: str
    media_type: str
    scope: str
    outputs: Mapping[str, str]
    http_method: str = "POST"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    before: Callable[[Emulator], dict[str, str]] = nothing
    subject: str = ""

    @property
    def is_mail(self) -> bool:
        """Whether the file travels inside a message."""
        return self.media_type == MAIL


def _sharing(make: Callable[[Path, int], Path], kind: str, media_type: str) -> Place:
    return Place(
        {"target": "play-internal-sharing"},
        make,
        f"{_PLAY}/{kind}",
        media_type,
        _PUBLISHER,
        {
            "id": "downloadUrl",
            "ids": "downloadUrl",
            "download-url": "downloadUrl",
            "download-urls": "downloadUrl",
            "certificate-fingerprint": "certificateFingerprint",
            "sha256": "sha256",
        },
    )


def _gmail(action: str, path: str, scope: str, **more: Any) -> Place:
    """A mail with the file attached."""
    draft = action in ("draft", "draft-update")
    return Place(
        {
            "target": "gmail",
            "gmail-action": action,
            "impersonate-user": USER,
            "mail-from": USER,
            "mail-to": "Ann <ann@example.com>, bob@example.com",
            "mail-subject": "Grüße: 1.2.0",
            "mail-body": "It is out.",
            "mail-html": "<p>It is out.</p>",
        },
        _file("notes.bin"),
        _GMAIL + path,
        MAIL,
        scope,
        {
            "id": "id",
            "ids": "id",
            "message-id": "message.id" if draft else "id",
            "thread-id": "message.threadId" if draft else "threadId",
            **({"draft-id": "id"} if draft else {}),
        },
        subject=USER,
        **more,
    )


def _method(
    target: str, make: Callable[[Path, int], Path], path: str, scope: str, **more: Any
) -> Place:
    """Any method; the outputs are its answer's `id`."""
    inputs = {"target": target, **more.pop("inputs", {})}
    media_type = more.pop("media_type", OCTETS)
    outputs = more.pop("outputs", {"id": "id", "ids": "id"})
    return Place(inputs, make, path, media_type, scope, outputs, **more)


RESUMABLE: dict[str, Place] = {
    "sharing-apk": _sharing(apk, "apk", APK),
    "sharing-bundle": _sharing(bundle, "bundle", OCTETS),
    "gmail-send": _gmail("send", "/messages/send", "gmail.send"),
    "gmail-insert": _gmail("insert", "/messages", "gmail.insert"),
    "gmail-import": _gmail("import", "/messages/import", "gmail.insert"),
    "gmail-draft": _gmail("draft", "/drafts", "gmail.compose"),
    "gmail-draft-update": _gmail(
        "draft-update",
        "/drafts/{draft-id}",
        "gmail.compose",
        http_method="PUT",
        before=a_draft,
    ),
    "gmail-draft-send": _gmail(
        "draft-send",
        "/drafts/send",
        "gmail.compose",
        metadata={"id": "{draft-id}"},
        before=a_draft,
    ),
    "play-games": Place(
        {
            "target": "play-games",
            "resource-id": "CgkI_abc",
            "image-type": "ACHIEVEMENT_ICON",
        },
        _file("icon.png", b"\x89PNG\r\n\x1a\n"),
        "/upload/games/v1configuration/images/CgkI_abc/imageType/ACHIEVEMENT_ICON",
        "image/png",
        _PUBLISHER,
        {"id": "resourceId", "ids": "resourceId"},
    ),
    "ota": Place(
        {"target": "ota", "deployment": "deployment-1", "package-title": "System 1.2"},
        package,
        "/upload/package",
        "application/zip",
        "android_partner_over_the_air",
        {},
        metadata={"deployment": "deployment-1", "package_title": "System 1.2"},
    ),
    "drive-create": _method(
        "drive.files.create",
        _file("app.bin"),
        "/upload/drive/v3/files",
        "drive",
        inputs={
            "metadata": '{"parents": ["folder"], "description": "Grüße"}',
            "params": '{"fields": "*"}',
        },
        metadata={"name": "app.bin", "parents": ["folder"], "description": "Grüße"},
    ),
    "drive-create-own": _method(
        "drive.files.create",
        _file("app.bin"),
        "/upload/drive/v3/files",
        "drive.file",
        metadata={"name": "app.bin"},
    ),
    "drive-replace": _method(
        "drive.files.update",
        _file("app.bin"),
        "/upload/drive/v3/files/{fileId}",
        "drive",
        http_method="PATCH",
        before=a_drive_file,
    ),
    "cloud-storage": _method(
        "storage.objects.insert",
        _file("app.bin"),
        "/upload/storage/v1/b/releases/o",
        "devstorage.read_write",
        inputs={"params": "bucket: releases\nname: v1/"},
    ),
    "youtube": _method(
        "youtube.videos.insert",
        _file("trailer.mp4", b"\0\0\0\x18ftypisom"),
        "/upload/youtube/v3/videos",
        "youtube.upload",
        media_type="video/mp4",
        inputs={
            "params": "part: [snippet, status]\nnotifySubscribers: false",
            "metadata": '{"snippet": {"title": "1.2.0"}, "status": {"privacyStatus": "private"}}',
        },
        metadata={
            "snippet": {"title": "1.2.0"},
            "status": {"privacyStatus": "private"},
        },
    ),
    "artifact-registry": _method(
        "artifactregistry.projects.locations.repositories.genericArtifacts.upload",
        _file("app.bin"),
        "/upload/v1/projects/p/locations/europe-west1/repositories/r/genericArtifacts:create",
        "cloud-platform",
        inputs={
            "params": "parent: projects/p/locations/europe-west1/repositories/r",
            "metadata": '{"packageId": "app", "versionId": "1.2.0"}',
        },
        outputs={},
        metadata={"filename": "app.bin", "packageId": "app", "versionId": "1.2.0"},
    ),
}

SINGLE: dict[str, Place] = {  # methods that Google offers without resumable uploads
    "chrome-web-store": _method(
        "chromewebstore.media.upload",
        _file("extension.zip", b"PK\x03\x04"),
        "/upload/v2/publishers/p/items/i:upload",
        "chromewebstore",
        media_type="application/zip",
        inputs={"params": "name: publishers/p/items/i"},
        outputs={},
    ),
    "firebase-app-distribution": _method(
        "firebaseappdistribution.media.upload",
        apk,
        "/upload/v1/projects/1/apps/1:1:android:a/releases:upload",
        "cloud-platform",
        media_type=APK,
        inputs={"params": 'app: "projects/1/apps/1:1:android:a"'},
        outputs={},
    ),
}
PLACES = RESUMABLE | SINGLE
# Whose first answer is not the last, with the ids of what the service makes of the file.
ANSWERED_LATER = {
    "artifact-registry": (
        "projects/p/locations/europe-west1/repositories/r/genericArtifacts/1"
    ),
    "chrome-web-store": "publishers/p/items/i",
    "firebase-app-distribution": "projects/1/apps/1:1:android:a/releases/",
}
