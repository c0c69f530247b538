"""Cloud Storage: objects are inserted into buckets, listed, read, copied, changed and deleted.
Every bucket exists.

Reference: cloud.google.com/storage/docs/json_api/v1/objects, buckets.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import quote

from google_emulator.clock import timestamp
from google_emulator.http.partial_response import media_response
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Headers, Json, Response
from google_emulator.http.routes import Route
from google_emulator.protocol.blobs import Blob
from google_emulator.protocol.uploads import Media, Service, UploadMethod

MAX_PAGE = 1000


_SCOPE = "https://www.googleapis.com/auth/"
WRITE = tuple(
    _SCOPE + name
    for name in ("devstorage.read_write", "devstorage.full_control", "cloud-platform")
)
READ = (*WRITE, _SCOPE + "devstorage.read_only", _SCOPE + "cloud-platform.read-only")
# The fields of an object that metadata can set, besides `contentType` and `metadata`.
SETTABLE = (
    "cacheControl",
    "contentDisposition",
    "contentEncoding",
    "contentLanguage",
    "customTime",
    "storageClass",
)
_BUCKET_NAME = re.compile(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?", re.ASCII)
_BUCKETS = "/storage/v1/b"
_BUCKET = _BUCKETS + "/{bucket}"
_OBJECTS = _BUCKET + "/o"
_OBJECT = _OBJECTS + "/{name}"


class CloudStorage(Service):
    """The objects of every bucket by `b/BUCKET/o/NAME`, and their bytes by the same key."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.objects: dict[str, dict[str, Json]] = {}
        self._blobs: dict[str, Blob] = {}
        self._created: set[str] = set()
        self._clock = clock
        self._numbers = itertools.count(1)
        target = "/b/{destinationBucket}/o/{destination}"
        self.routes = [
            Route("storage.objects.get", "GET", _OBJECT, self._get, READ),
            Route("storage.objects.get", "GET", "/download" + _OBJECT, self._get, READ),
            Route("storage.objects.list", "GET", _OBJECTS, self._list, READ),
            Route("storage.objects.delete", "DELETE", _OBJECT, self._delete, WRITE),
            Route("storage.objects.patch", "PATCH", _OBJECT, self._change, WRITE),
            Route("storage.objects.update", "PUT", _OBJECT, self._change, WRITE),
            Route(
                "storage.objects.rewrite",
                "POST",
                f"{_OBJECT}/rewriteTo{target}",
                self._rewrite,
                WRITE,
            ),
            Route(
                "storage.objects.copy",
                "POST",
                f"{_OBJECT}/copyTo{target}",
                self._copied,
                WRITE,
            ),
            Route(
                "storage.buckets.get",
                "GET",
                _BUCKET,
                lambda request: _bucket(request.params["bucket"]),
                READ,
            ),
            Route("storage.buckets.list", "GET", _BUCKETS, self._list_buckets, READ),
            Route(
                "storage.buckets.insert", "POST", _BUCKETS, self._insert_bucket, WRITE
            ),
        ]
        self.uploads = [
            UploadMethod(
                "storage.objects.insert",
                "/upload/storage/v1/b/{bucket}/o",
                self._insert,
                scopes=WRITE,
                algorithms=("md5", "crc32c"),
                created=200,
                type_field="contentType",
            )
        ]

    def _insert(self, request: Request, media: Media) -> dict[str, Json]:
        _check_bucket(request.params["bucket"])
        name = request.query.get("name") or media.metadata.get("name")
        if not name:
            raise ApiError(400, "Required object name.", "required")
        key = f"b/{request.params['bucket']}/o/{name}"
        self._check_generation(request, key)
        _check_digests(request, media)
        self.objects[key], self._blobs[key] = (
            self._resource(request, str(name), media),
            media.blob,
        )
        return self.objects[key]

    def _check_generation(self, request: Request, key: str) -> None:
        """Raise `ApiError` 412 unless `ifGenerationMatch` and `ifMetagenerationMatch` match the
        object; 0 means that it must not exist.
        """
        present = self.objects.get(key, {})
        for name, field in (
            ("ifGenerationMatch", "generation"),
            ("ifMetagenerationMatch", "metageneration"),
        ):
            if request.query.get(name, present.get(field, "0")) != present.get(
                field, "0"
            ):
                raise ApiError(
                    412,
                    "At least one of the pre-conditions you specified did not hold.",
                    "conditionNotMet",
                )

    def _resource(self, request: Request, name: str, media: Media) -> dict[str, Json]:
        now = self._clock()
        generation = str(int(now * 1_000_000) + next(self._numbers))
        encoding = request.query.get("contentEncoding")
        return {
            "kind": "storage#object",
            **_names(request.server_url, request.params["bucket"], name, generation),
            "metageneration": "1",
            "contentType": media.metadata.get("contentType") or media.content_type,
            "storageClass": "STANDARD",
            **({"contentEncoding": encoding} if encoding else {}),
            **{
                name: media.metadata[name]
                for name in SETTABLE
                if media.metadata.get(name)
            },
            "size": str(media.blob.size),
            "md5Hash": media.blob.base64("md5"),
            "crc32c": media.blob.base64("crc32c"),
            "metadata": media.metadata.get("metadata") or {},
            "timeCreated": timestamp(now),
            "updated": timestamp(now),
        }

    def _found(self, request: Request) -> tuple[str, dict[str, Json]]:
        """Return the key of the object that the path names, and the object, in the generation of
        the query if it has one. Raises `ApiError` 404.
        """
        bucket, name = request.params["bucket"], request.params["name"]
        found = self.objects.get(f"b/{bucket}/o/{name}")
        if (
            found is None
            or request.query.get("generation", found["generation"])
            != found["generation"]
        ):
            raise ApiError(404, f"No such object: {bucket}/{name}")
        return f"b/{bucket}/o/{name}", found

    def _get(self, request: Request) -> Json:
        """Return the resource or its bytes. Bytes stored as gzip are decompressed for a client that
        does not accept gzip.
        """
        key, found = self._found(request)
        if request.query.get("alt") != "media":
            return found
        packed = found.get("contentEncoding") == "gzip"
        headers = _media_headers(found)
        if packed and "gzip" not in request.header("Accept-Encoding").lower():
            data = gzip.decompress(self._blobs[key].path.read_bytes())
            return Response(
                200, data, [*headers, ("Warning", "214 UploadServer gunzipped")]
            )
        encoding = (
            [("Content-Encoding", str(found["contentEncoding"]))]
            if found.get("contentEncoding")
            else []
        )
        with self._blobs[key].path.open("rb") as file:
            return media_response(request, file, [*headers, *encoding])

    def _list(self, request: Request) -> Json:
        bucket = request.params["bucket"]
        _check_bucket(bucket)
        begin = f"b/{bucket}/o/"
        names = [
            key.removeprefix(begin) for key in self.objects if key.startswith(begin)
        ]
        entries, token = _page(names, request.query)
        items = [
            self.objects[begin + name] for name, is_prefix in entries if not is_prefix
        ]
        prefixes = [name for name, is_prefix in entries if is_prefix]
        listing = {"items": items, "prefixes": prefixes, "nextPageToken": token}
        return {
            "kind": "storage#objects",
            **{key: member for key, member in listing.items() if member},
        }

    def _delete(self, request: Request) -> Response:
        key, _ = self._found(request)
        del self.objects[key], self._blobs[key]
        return Response(204)

    def _change(self, request: Request) -> Json:
        """Change the fields that can be changed. null removes a field, or an entry of its
        metadata.
        """
        key, found = self._found(request)
        wanted = request.json()
        metadata = wanted.get("metadata", {})
        if not isinstance(metadata, dict | None):
            raise ApiError(400, "Invalid value for: metadata", "invalid")
        kept = {} if metadata is None or request.method == "PUT" else found["metadata"]
        changed = {
            name: wanted[name] for name in (*SETTABLE, "contentType") if name in wanted
        }
        made = {
            **found,
            **changed,
            "metageneration": str(int(found["metageneration"]) + 1),
        }
        made["metadata"] = _without_nulls({**kept, **(metadata or {})})
        self.objects[key] = _without_nulls(made)
        return self.objects[key]

    def _rewrite(self, request: Request) -> Json:
        """Copy an object, in one step whatever its size."""
        made = self._copied(request)
        size = {
            "totalBytesRewritten": made["size"],
            "objectSize": made["size"],
            "done": True,
        }
        return {"kind": "storage#rewriteResponse", **size, "resource": made}

    def _copied(self, request: Request) -> dict[str, Json]:
        key, found = self._found(request)
        bucket, name = (
            request.params["destinationBucket"],
            request.params["destination"],
        )
        target, changed = f"b/{bucket}/o/{name}", request.json()
        fields = {
            field: changed[field]
            for field in (*SETTABLE, "contentType", "metadata")
            if changed.get(field)
        }
        generation = str(
            max(int(stored["generation"]) for stored in self.objects.values()) + 1
        )
        made = {
            **found,
            **fields,
            "metageneration": "1",
            **_names(request.server_url, bucket, name, generation),
        }
        self.objects[target], self._blobs[target] = made, self._blobs[key]
        return made

    def _list_buckets(self, _: Request) -> Json:
        names = sorted({*self._created, *(key.split("/")[1] for key in self.objects)})
        return {"kind": "storage#buckets", "items": list(map(_bucket, names))}

    def _insert_bucket(self, request: Request) -> Json:
        bucket = _bucket(str(request.json().get("name") or ""))
        _check_bucket(bucket["name"])
        self._created.add(bucket["name"])
        return bucket


def _check_bucket(name: str) -> None:
    """Raise `ApiError` 400 for a name that no bucket can have.

    cloud.google.com/storage/docs/buckets#naming. Names of fewer than 3 characters are accepted, so
    that tests can use short ones.
    """
    parts = name.split(".")
    too_long = len(name) > (63 if len(parts) == 1 else 222) or any(
        len(part) > 63 for part in parts
    )
    numbers = len(parts) == 4 and all(part.isdigit() for part in parts)
    if (
        not _BUCKET_NAME.fullmatch(name)
        or too_long
        or numbers
        or name.startswith("goog")
        or "google" in name
    ):
        raise ApiError(400, f"Invalid bucket name: '{name}'", "invalid")


def _page(
    names: Iterable[str], query: Mapping[str, str]
) -> tuple[list[tuple[str, bool]], str]:
    """Return the page of a listing that the query asks for, and the token of the next page; empty
    if this is the last one.

    An entry is a name, and whether it is a prefix that stands for all names that begin with it.
    Raises `ApiError` 400 for an invalid page size or token.
    """
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    entries = set()
    for name in names:
        if name.startswith(prefix):
            at = name.find(delimiter, len(prefix)) if delimiter else -1
            entries.add(
                (name, False) if at < 0 else (name[: at + len(delimiter)], True)
            )
    size = query.get("maxResults") or str(MAX_PAGE)
    if not size.isdecimal() or not int(size[:9]) > 0:
        raise ApiError(400, f"Invalid value for maxResults: {size}", "invalid")
    try:
        after = base64.urlsafe_b64decode(query.get("pageToken", "")).decode()
    except ValueError:
        raise ApiError(400, "Invalid argument: pageToken.", "invalid") from None
    rest = sorted(entry for entry in entries if entry[0] > after)
    page = rest[: min(int(size[:9]), MAX_PAGE)]
    more = len(rest) > len(page)
    return page, base64.urlsafe_b64encode(page[-1][0].encode()).decode() if more else ""


def _names(server_url: str, bucket: str, name: str, generation: str) -> dict[str, Json]:
    """Return the fields that identify an object and say where it can be read."""
    path = f"{_OBJECTS.format(bucket=quote(bucket, safe=''))}/{quote(name, safe='')}"
    return {
        "id": f"{bucket}/{name}/{generation}",
        "name": name,
        "bucket": bucket,
        "generation": generation,
        "etag": f"CO{generation}",
        "selfLink": server_url + path,
        "mediaLink": f"{server_url}/download{path}?generation={generation}&alt=media",
    }


def _media_headers(found: dict[str, Json]) -> Headers:
    return [
        ("Content-Type", str(found["contentType"])),
        ("ETag", str(found["etag"])),
        ("X-Goog-Generation", str(found["generation"])),
        ("X-Goog-Metageneration", str(found["metageneration"])),
        ("X-Goog-Hash", f"crc32c={found['crc32c']},md5={found['md5Hash']}"),
        (
            "X-Goog-Stored-Content-Encoding",
            str(found.get("contentEncoding") or "identity"),
        ),
        ("X-Goog-Stored-Content-Length", str(found["size"])),
    ]


def _without_nulls(values: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


def _bucket(name: str) -> dict[str, Json]:
    if not name:
        raise ApiError(400, "Required bucket name.", "required")
    fixed = {
        "location": "US",
        "locationType": "multi-region",
        "storageClass": "STANDARD",
        "metageneration": "1",
    }
    uniform = {
        "uniformBucketLevelAccess": {"enabled": False},
        "publicAccessPrevention": "inherited",
    }
    return {
        "kind": "storage#bucket",
        "id": name,
        "name": name,
        **fixed,
        "iamConfiguration": uniform,
    }


def _check_digests(request: Request, media: Media) -> None:
    """Raise `ApiError` 400 if the bytes do not have the digests that the metadata or X-Goog-Hash
    state. The header may come with the last request.
    """
    stated = [
        ("md5", media.metadata.get("md5Hash")),
        ("crc32c", media.metadata.get("crc32c")),
    ]
    for header in request.headers.get_all("X-Goog-Hash", []):
        parts = (part.strip().partition("=") for part in str(header).split(","))
        stated += [
            (name, value) for name, _, value in parts if name in ("md5", "crc32c")
        ]
    for name, value in stated:
        if value is not None and value != (true := media.blob.base64(name)):
            words = {"md5": "MD5 hash", "crc32c": "CRC32C"}[name]
            raise ApiError(
                400,
                f"Provided {words} {value!r} doesn't match calculated {words} {true!r}.",
                "invalid",
            )
