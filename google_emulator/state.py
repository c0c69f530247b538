"""What `GET /__emulator/state` tells: everything the emulator holds, as JSON, without any secret in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google_emulator.answers import Json

if TYPE_CHECKING:
    from google_emulator.play.model import Content, Edit
    from google_emulator.sessions import Session
    from google_emulator.world import StoredObject, World


def describe(world: World) -> dict[str, Json]:
    """The whole state. Sizes are in bytes, digests in hexadecimal."""
    with world.lock:
        edits = list(world.play.edits.values())
        return {
            "edits": {
                state: [_edit(edit) for edit in edits if edit.state == state]
                for state in ("open", "committed", "deleted")
            },
            "tracks": {package: app.live.tracks for package, app in world.play.apps.items()},
            "apps": {
                package: {**_content(app.live), "usedVersionCodes": sorted(app.used)}
                for package, app in world.play.apps.items()
            },
            "objects": [_object(one) for one in world.objects],
            "files": dict(world.files),
            "sessions": [_session(one) for one in list(world.sessions.values())],
            "messages": list(world.mail.messages),
            "effects": dict(world.mail.effects),
            "drafts": list(world.mail.drafts.values()),
            "packages": list(world.packages),
            "tokens": [
                {"email": one.email, "subject": one.subject, "scopes": list(one.scopes)}
                for one in world.authority.tokens.values()
            ],
            "requests": dict(sorted(world.requests.items())),
            "connections": world.connections,
            "bytes_received": world.bytes_received,
            "bytes_discarded": world.bytes_discarded,
            "faults": {"fired": list(world.faults.receipts), "waiting": world.faults.waiting()},
        }


def _edit(edit: Edit) -> dict[str, Json]:
    parameters = {"commitParameters": edit.commit_query} if edit.state == "committed" else {}
    return {"id": edit.id, "packageName": edit.package, **_content(edit.content), **parameters}


def _content(content: Content) -> dict[str, Json]:
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


def _object(one: StoredObject) -> dict[str, Json]:
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
    }
