"""Every upload method without rules of its own here: Cloud Storage, Drive, and a plausible resource for the rest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.router import Media, Route, UploadMethod

STORAGE_SCOPES = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in ("devstorage.read_write", "devstorage.full_control", "cloud-platform")
)
DRIVE_SCOPES = tuple(f"https://www.googleapis.com/auth/{name}" for name in ("drive", "drive.file", "drive.appdata"))


def _now(x: Exchange) -> str:
    moment = datetime.fromtimestamp(x.world.clock(), timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def _object_name(x: Exchange, metadata: dict[str, Json]) -> str:
    name = x.query.get("name") or metadata.get("name")
    if not name:
        raise Refusal(400, "Required object name.", "required")
    return str(name)


def _check_generation(x: Exchange, key: str) -> None:
    """`ifGenerationMatch`: 0 means that the object must not exist yet."""
    wanted = x.query.get("ifGenerationMatch")
    present = x.world.files.get(key, {}).get("generation", "0")
    if wanted is not None and wanted != present:
        raise Refusal(412, "At least one of the pre-conditions you specified did not hold.", "conditionNotMet")


def _insert_object(x: Exchange, media: Media) -> dict[str, Json]:
    name = _object_name(x, media.metadata)
    key = f"b/{x.params['bucket']}/o/{name}"
    _check_generation(x, key)
    claimed, md5 = media.metadata.get("md5Hash"), media.blob.base64("md5")
    if claimed is not None and claimed != md5:
        raise Refusal(400, f"Provided MD5 hash {claimed!r} doesn't match calculated MD5 hash {md5!r}.", "invalid")
    generation = str(int(x.world.clock() * 1_000_000) + x.world.number())
    resource = {
        "kind": "storage#object",
        "id": f"{x.params['bucket']}/{name}/{generation}",
        "name": name,
        "bucket": x.params["bucket"],
        "generation": generation,
        "metageneration": "1",
        "contentType": media.metadata.get("contentType") or media.content_type,
        "storageClass": "STANDARD",
        "size": str(media.blob.size),
        "md5Hash": md5,
        "crc32c": media.blob.base64("crc32c"),
        "metadata": media.metadata.get("metadata", {}),
        "timeCreated": _now(x),
        "updated": _now(x),
    }
    x.world.files[key] = resource
    return resource


def _get_object(x: Exchange) -> Answer:
    found = x.world.files.get(f"b/{x.params['bucket']}/o/{x.params['name']}")
    if found is None:
        raise Refusal(404, f"No such object: {x.params['bucket']}/{x.params['name']}")
    return as_json(found)


def _file(x: Exchange, media: Media, file_id: str) -> dict[str, Json]:
    """A Drive file resource."""
    before = x.world.files.get(f"drive/{file_id}", {"createdTime": _now(x)})
    changed = {name: value for name, value in media.metadata.items() if name != "parents"}
    resource: dict[str, Json] = {
        "name": "Untitled",
        "parents": media.metadata.get("parents", ["root"]),
        **before,
        **changed,
        "kind": "drive#file",
        "id": file_id,
        "mimeType": media.metadata.get("mimeType") or media.content_type,
        "size": str(media.blob.size),
        "modifiedTime": _now(x),
        **{f"{name}Checksum": media.blob.hex(name) for name in ("md5", "sha1", "sha256")},
    }
    x.world.files[f"drive/{file_id}"] = resource
    return _selected(x, resource)


def _selected(x: Exchange, resource: dict[str, Json]) -> dict[str, Json]:
    """The fields that `fields` asks for; Drive gives kind, id, name and mimeType when it is absent."""
    wanted = x.query.get("fields", "kind,id,name,mimeType")
    return resource if wanted == "*" else {name: resource[name] for name in wanted.split(",") if name in resource}


def _create_file(x: Exchange, media: Media) -> dict[str, Json]:
    return _file(x, media, str(media.metadata.get("id") or f"file-{x.world.number()}"))


def _check_file(x: Exchange) -> None:
    if f"drive/{x.params['file']}" not in x.world.files:
        raise Refusal(404, f"File not found: {x.params['file']}.")


def _update_file(x: Exchange, media: Media) -> dict[str, Json]:
    return _file(x, media, x.params["file"])


def _get_file(x: Exchange) -> Answer:
    _check_file(x)
    return as_json(_selected(x, x.world.files[f"drive/{x.params['file']}"]))


def _anything(x: Exchange, media: Media) -> dict[str, Json]:
    """A resource as most APIs would give it: the metadata, an id, and what is known of the bytes."""
    number = str(x.world.number())
    return {
        "id": number,
        "name": f"media/{number}",
        **media.metadata,
        "contentType": media.content_type,
        "size": str(media.blob.size),
        "md5Hash": media.blob.base64("md5"),
        "sha256": media.blob.hex("sha256"),
    }


def _json_anything(finish: Callable[[Exchange, Media], dict[str, Json]]) -> UploadMethod:
    return UploadMethod(
        "anything.upload",
        "{path+}",
        finish,
        methods=("POST", "PUT", "PATCH"),
        scopes=(),
        algorithms=("md5",),
    )


ROUTES = (
    Route("storage.objects.get", "GET", "/storage/v1/b/{bucket}/o/{name}", _get_object, STORAGE_SCOPES),
    Route("drive.files.get", "GET", "/drive/v3/files/{file}", _get_file, DRIVE_SCOPES),
)
UPLOADS = (
    UploadMethod(
        "storage.objects.insert",
        "/upload/storage/v1/b/{bucket}/o",
        _insert_object,
        scopes=STORAGE_SCOPES,
        algorithms=("md5", "crc32c"),
        created=200,
    ),
    UploadMethod(
        "drive.files.create",
        "/upload/drive/v3/files",
        _create_file,
        scopes=DRIVE_SCOPES,
        algorithms=("md5", "sha1"),
    ),
    UploadMethod(
        "drive.files.update",
        "/upload/drive/v3/files/{file}",
        _update_file,
        _check_file,
        methods=("PATCH",),
        scopes=DRIVE_SCOPES,
        algorithms=("md5", "sha1"),
    ),
    _json_anything(_anything),
)
