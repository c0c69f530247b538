"""Cloud Storage around an upload: what clients ask of buckets and of the objects in them. Every bucket exists.

Reference: cloud.google.com/storage/docs/json_api/v1/objects, buckets.
"""

from __future__ import annotations

import gzip
from urllib.parse import quote

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Headers, Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.blobs import Blob
from google_emulator.services.media_download import media_response
from google_emulator.services.object_listing import page_of
from google_emulator.services.partial_response import selected

_SCOPE = "https://www.googleapis.com/auth/"
WRITE = tuple(_SCOPE + name for name in ("devstorage.read_write", "devstorage.full_control", "cloud-platform"))
READ = (*WRITE, _SCOPE + "devstorage.read_only", _SCOPE + "cloud-platform.read-only")
# What metadata may say of an object beside its contentType and its own metadata.
SETTABLE = ("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "customTime", "storageClass")
_BUCKETS = "/storage/v1/b"
_BUCKET = _BUCKETS + "/{bucket}"
_OBJECTS = _BUCKET + "/o"
_OBJECT = _OBJECTS + "/{name}"


class BucketContents:
    """The resources of all objects by `b/BUCKET/o/NAME`, and their bytes by the same key."""

    def __init__(self, objects: dict[str, dict[str, Json]], blobs: dict[str, Blob]) -> None:
        self._objects = objects
        self._blobs = blobs
        self._created: set[str] = set()

    def routes(self) -> list[Route]:
        """The calls that this API serves beside uploads."""
        target = "/b/{destinationBucket}/o/{destination}"
        return [
            Route("storage.objects.get", "GET", _OBJECT, self._get, READ),
            Route("storage.objects.get", "GET", "/download" + _OBJECT, self._get, READ),
            Route("storage.objects.list", "GET", _OBJECTS, self._list, READ),
            Route("storage.objects.delete", "DELETE", _OBJECT, self._delete, WRITE),
            Route("storage.objects.patch", "PATCH", _OBJECT, self._change, WRITE),
            Route("storage.objects.update", "PUT", _OBJECT, self._change, WRITE),
            Route("storage.objects.rewrite", "POST", f"{_OBJECT}/rewriteTo{target}", self._rewrite, WRITE),
            Route("storage.objects.copy", "POST", f"{_OBJECT}/copyTo{target}", self._copy, WRITE),
            Route("storage.buckets.get", "GET", _BUCKET, self._get_bucket, READ),
            Route("storage.buckets.list", "GET", _BUCKETS, self._list_buckets, READ),
            Route("storage.buckets.insert", "POST", _BUCKETS, self._insert_bucket, WRITE),
        ]

    def _found(self, request: Request) -> tuple[str, dict[str, Json]]:
        """The object that the path names, of the generation that the query may name. Raises `ApiError` 404."""
        bucket, name = request.params["bucket"], request.params["name"]
        found = self._objects.get(f"b/{bucket}/o/{name}")
        if found is None or request.query.get("generation", found["generation"]) != found["generation"]:
            raise ApiError(404, f"No such object: {bucket}/{name}")
        return f"b/{bucket}/o/{name}", found

    def _get(self, request: Request) -> Response:
        key, found = self._found(request)
        if request.query.get("alt") == "media":
            return self._media(request, key, found)
        return _shown(request, found)

    def _media(self, request: Request, key: str, found: dict[str, Json]) -> Response:
        """The bytes; those stored as gzip are decompressed for a client that does not take gzip."""
        packed = found.get("contentEncoding") == "gzip"
        headers = _media_headers(found)
        if packed and "gzip" not in request.header("Accept-Encoding").lower():
            data = gzip.decompress(self._blobs[key].path.read_bytes())
            return Response(200, data, [*headers, ("Warning", "214 UploadServer gunzipped")])
        encoding = [("Content-Encoding", str(found["contentEncoding"]))] if found.get("contentEncoding") else []
        return media_response(request, self._blobs[key].path, [*headers, *encoding])

    def _list(self, request: Request) -> Response:
        bucket = request.params["bucket"]
        begin = f"b/{bucket}/o/"
        names = [key.removeprefix(begin) for key in self._objects if key.startswith(begin)]
        page = page_of(names, request.query)
        items = [self._objects[begin + name] for name in page.names]
        listing = {"items": items, "prefixes": page.prefixes, "nextPageToken": page.next_token}
        return _shown(request, {"kind": "storage#objects", **{key: one for key, one in listing.items() if one}})

    def _delete(self, request: Request) -> Response:
        key, _ = self._found(request)
        del self._objects[key], self._blobs[key]
        return Response(204)

    def _change(self, request: Request) -> Response:
        """Changes what may be changed; null takes a field or one entry of its metadata away."""
        key, found = self._found(request)
        wanted = request.json()
        metadata = wanted.get("metadata", {})
        if not isinstance(metadata, dict | None):
            raise ApiError(400, "Invalid value for: metadata", "invalid")
        kept = {} if metadata is None or request.method == "PUT" else found["metadata"]
        changed = {name: wanted[name] for name in (*SETTABLE, "contentType") if name in wanted}
        made = {**found, **changed, "metageneration": str(int(found["metageneration"]) + 1)}
        made["metadata"] = _without_nulls({**kept, **(metadata or {})})
        self._objects[key] = _without_nulls(made)
        return _shown(request, self._objects[key])

    def _rewrite(self, request: Request) -> Response:
        """A copy, in one step whatever its size."""
        made = self._copied(request)
        size = {"totalBytesRewritten": made["size"], "objectSize": made["size"], "done": True}
        return _shown(request, {"kind": "storage#rewriteResponse", **size, "resource": made})

    def _copy(self, request: Request) -> Response:
        return _shown(request, self._copied(request))

    def _copied(self, request: Request) -> dict[str, Json]:
        key, found = self._found(request)
        bucket, name = request.params["destinationBucket"], request.params["destination"]
        target, changed = f"b/{bucket}/o/{name}", request.json()
        fields = {one: changed[one] for one in (*SETTABLE, "contentType", "metadata") if changed.get(one)}
        generation = str(max(int(one["generation"]) for one in self._objects.values()) + 1)
        made = {**found, **fields, "metageneration": "1", **names_of(request.server_url, bucket, name, generation)}
        self._objects[target], self._blobs[target] = made, self._blobs[key]
        return made

    def _get_bucket(self, request: Request) -> Response:
        return _shown(request, _bucket(request.params["bucket"]))

    def _list_buckets(self, request: Request) -> Response:
        """Those that were created or have an object."""
        names = sorted({*self._created, *(key.split("/")[1] for key in self._objects)})
        return _shown(request, {"kind": "storage#buckets", "items": list(map(_bucket, names))})

    def _insert_bucket(self, request: Request) -> Response:
        bucket = _bucket(str(request.json().get("name") or ""))
        self._created.add(bucket["name"])
        return _shown(request, bucket)


def names_of(server_url: str, bucket: str, name: str, generation: str) -> dict[str, Json]:
    """The fields that say which object it is and where it is to be had."""
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


def _shown(request: Request, value: Json) -> Response:
    return json_response(selected(value, request.query["fields"]) if "fields" in request.query else value)


def _media_headers(found: dict[str, Json]) -> Headers:
    return [
        ("Content-Type", str(found["contentType"])),
        ("ETag", str(found["etag"])),
        ("X-Goog-Generation", str(found["generation"])),
        ("X-Goog-Metageneration", str(found["metageneration"])),
        ("X-Goog-Hash", f"crc32c={found['crc32c']},md5={found['md5Hash']}"),
        ("X-Goog-Stored-Content-Encoding", str(found.get("contentEncoding") or "identity")),
        ("X-Goog-Stored-Content-Length", str(found["size"])),
    ]


def _without_nulls(values: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


def _bucket(name: str) -> dict[str, Json]:
    if not name:
        raise ApiError(400, "Required bucket name.", "required")
    fixed = {"location": "US", "locationType": "multi-region", "storageClass": "STANDARD", "metageneration": "1"}
    uniform = {"uniformBucketLevelAccess": {"enabled": False}, "publicAccessPrevention": "inherited"}
    return {"kind": "storage#bucket", "id": name, "name": name, **fixed, "iamConfiguration": uniform}
