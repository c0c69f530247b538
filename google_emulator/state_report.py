"""What `GET /__emulator/state` tells: everything the emulator holds, as JSON, without any secret in it."""

from __future__ import annotations

from google_emulator.auth.authorization import Authority
from google_emulator.faults.fault_queue import FaultQueue
from google_emulator.google_services import Backend
from google_emulator.http.response import Json
from google_emulator.protocol.sessions import Session
from google_emulator.protocol.upload_store import CompletedUpload, UploadStore
from google_emulator.services.mailbox import Mailbox
from google_emulator.services.play.model import AppContent, Edit
from google_emulator.services.play.store import PlayStore
from google_emulator.services.timestamps import timestamp
from google_emulator.traffic import Traffic


def describe(backend: Backend, faults: FaultQueue, traffic: Traffic) -> dict[str, Json]:
    """The whole state. Sizes are in bytes, digests in hexadecimal."""
    with backend.lock:
        drive = {f"drive/{file_id}": file for file_id, file in backend.drive.files.items()}
        return {
            **_play(backend.play),
            "reviews": _reviews(backend.play, backend.clock()),
            "time": timestamp(backend.clock()),
            **_uploads(backend.uploads),
            **_mail(backend.mailbox),
            "files": {**backend.storage.objects, **drive},
            "packages": list(backend.over_the_air.packages),
            "gameImages": dict(backend.games.images),
            "tokens": _tokens(backend.authority),
            "requests": dict(sorted(traffic.requests.items())),
            "connections": traffic.connections,
            "bytes_received": traffic.bytes_received,
            "bytes_discarded": traffic.bytes_discarded,
            "faults": {"fired": list(faults.receipts), "waiting": faults.waiting()},
        }


def _play(store: PlayStore) -> dict[str, Json]:
    edits = list(store.edits.values())
    return {
        "edits": {
            state: [_edit(edit) for edit in edits if edit.state == state] for state in ("open", "committed", "deleted")
        },
        "tracks": {package: app.live.tracks for package, app in store.apps.items()},
        "apps": {
            package: {**_content(app.live), "usedVersionCodes": sorted(app.used)} for package, app in store.apps.items()
        },
    }


def _reviews(store: PlayStore, now: float) -> dict[str, Json]:
    return {
        package: {
            track: [{"versionCodes": list(one.codes), "state": one.state(now)} for one in reviews]
            for track, reviews in app.reviews.items()
        }
        for package, app in store.apps.items()
    }


def _uploads(store: UploadStore) -> dict[str, Json]:
    return {
        "objects": [_upload(one) for one in store.completed],
        "sessions": [_session(one) for one in list(store.sessions.values())],
    }


def _mail(mailbox: Mailbox) -> dict[str, Json]:
    return {
        "messages": list(mailbox.messages),
        "drafts": list(mailbox.drafts.values()),
        "effects": dict(mailbox.effects),
    }


def _tokens(authority: Authority) -> list[dict[str, Json]]:
    tokens = list(authority.tokens.values())
    return [{"email": one.email, "subject": one.subject, "scopes": list(one.scopes)} for one in tokens]


def _edit(edit: Edit) -> dict[str, Json]:
    parameters = {"commitParameters": edit.commit_query} if edit.state == "committed" else {}
    return {"id": edit.id, "packageName": edit.package, **_content(edit.content), **parameters}


def _content(content: AppContent) -> dict[str, Json]:
    return {
        "tracks": content.tracks,
        "artifacts": [
            {"versionCode": one.code, "kind": one.kind, "sha256": one.sha256, "size": one.size}
            for one in content.artifacts.values()
        ],
        "listings": content.listings,
        "images": {f"{language}/{kind}": images for (language, kind), images in content.images.items() if images},
        "expansionFiles": {f"{code}/{kind}": one for (code, kind), one in content.expansion.items()},
        "deobfuscationFiles": {f"{code}/{kind}": one for (code, kind), one in content.symbols.items()},
    }


def _upload(one: CompletedUpload) -> dict[str, Json]:
    return {
        "method": one.method,
        "http_method": one.http_method,
        "path": one.path,
        "protocol": one.protocol,
        "media_type": one.media_type,
        "size": one.blob.size,
        **one.blob.digests(),
        "metadata": one.metadata,
        "resource": one.resource,
        "account": one.account,
        "file": str(one.blob.path),
        "requests": one.requests,
        "bytes_received": one.received,
    }


def _session(one: Session) -> dict[str, Json]:
    return {
        "method": one.method.id,
        "path": one.path,
        "state": one.state,
        "protocol": one.dialect,
        "stored": one.blob.size,
        "total": one.total,
        "requests": one.requests,
        "bytes_received": one.received,
        "bytes_repeated": one.repeated,
        "uneven_chunks": one.uneven_chunks,
    }
