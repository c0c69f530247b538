"""Google Drive: files are created, replaced, found, read and deleted, and answered with the
requested fields.

Reference: developers.google.com/drive/api/reference/rest/v3/files.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from google_emulator.clock import timestamp
from google_emulator.http.partial_response import media_response
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response
from google_emulator.http.routes import Route
from google_emulator.protocol.blobs import Blob
from google_emulator.protocol.uploads import Media, Service, UploadMethod

Condition: TypeAlias = Callable[[Mapping[str, Json]], bool]
MAX_DEPTH = 20  # of nested parentheses and negations
# a token, with the blanks before it
_TOKEN = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[()]|<=|>=|!=|[=<>]|\w+)")
WRITE = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in ("drive", "drive.file", "drive.appdata")
)
READ = (*WRITE, "https://www.googleapis.com/auth/drive.readonly")
DEFAULT_FIELDS = "kind,id,name,mimeType"
LIST_FIELDS = f"kind,incompleteSearch,nextPageToken,files({DEFAULT_FIELDS})"
FOLDER = "application/vnd.google-apps.folder"
ROOT = "root"
MAX_PAGE = 1000
_FILES = "/drive/v3/files"
_FILE = _FILES + "/{file}"
_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": lambda has, wanted: wanted.lower() in has.lower(),
}


class DriveQuery:
    """The search language of files.list, as far as clients use it: comparisons, `in`, `and`, `or`,
    `not`.

    This is a recursive descent parser. Reference:
    developers.google.com/drive/api/guides/ref-search-terms.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at, text = 0, text.strip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise _invalid()
            self._tokens.append(found[1])
            at = found.end()

    def parse(self) -> Condition:
        """Return the condition of the query, which holds for every file if the query is empty.
        Raises `ApiError` 400 if it is malformed.
        """
        whole = self._joined(MAX_DEPTH, "or") if self._tokens else lambda _: True
        if self._tokens:
            raise _invalid()
        return whole

    def _take(self) -> str:
        if not self._tokens:
            raise _invalid()
        return self._tokens.pop(0)

    def _joined(self, depth: int, word: str) -> Condition:
        """Return the condition of parts joined by this word; `and` binds tighter than `or`."""
        parts: list[Condition] = []
        while not parts or self._tokens[:1] == [word]:
            if parts:
                self._take()
            parts.append(
                self._joined(depth, "and") if word == "or" else self._one(depth)
            )
        join = any if word == "or" else all
        return lambda file: join(part(file) for part in parts)

    def _one(self, depth: int) -> Condition:
        if not depth:
            raise _invalid()
        if self._tokens[:1] == ["not"]:
            self._take()
            negated = self._one(depth - 1)
            return lambda file: not negated(file)
        if self._tokens[:1] != ["("]:
            return self._comparison()
        self._take()
        inside = self._joined(depth - 1, "or")
        if self._take() != ")":
            raise _invalid()
        return inside

    def _comparison(self) -> Condition:
        """Return the condition of a comparison: a field, an operator and a value, or a value that
        is `in` a field.
        """
        left, sign, right = self._take(), self._take(), self._take()
        if sign == "in" and left.startswith("'"):
            wanted = _unquoted(left)
            return lambda file: wanted in file.get(right, ())
        compare = _COMPARISONS.get(sign)
        if compare is None or not (right.startswith("'") or right in ("true", "false")):
            raise _invalid()
        value = _unquoted(right)
        return lambda file: compare(_as_text(file.get(left, "")), value)


def _invalid() -> ApiError:
    """Return the 400 of Drive, which gives no reason."""
    return ApiError(400, "Invalid Value", "invalid")


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.startswith("'") else token


def _as_text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Drive(Service):
    """The files of one account, by id. Folders are files, too. The root folder always exists."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.files: dict[str, dict[str, Json]] = {}
        self._blobs: dict[str, Blob] = {}
        self._clock = clock
        self._numbers = itertools.count(1)
        self.routes = [
            Route("drive.files.get", "GET", _FILE, self._get, READ, DEFAULT_FIELDS),
            Route("drive.files.list", "GET", _FILES, self._list, READ, LIST_FIELDS),
            Route(
                "drive.files.create",
                "POST",
                _FILES,
                self._create_empty,
                WRITE,
                DEFAULT_FIELDS,
            ),
            Route(
                "drive.files.update",
                "PATCH",
                _FILE,
                self._update_metadata,
                WRITE,
                DEFAULT_FIELDS,
            ),
            Route("drive.files.delete", "DELETE", _FILE, self._delete, WRITE),
            Route("drive.about.get", "GET", "/drive/v3/about", _about, READ),
        ]
        create = UploadMethod(
            "drive.files.create",
            "/upload" + _FILES,
            lambda _, media: self._store(media, self._new_id(media.metadata)),
            scopes=WRITE,
            algorithms=("md5", "sha1"),
            fields=DEFAULT_FIELDS,
        )
        update = replace(
            create,
            id="drive.files.update",
            template="/upload" + _FILE,
            finish=lambda request, media: self._store(media, request.params["file"]),
            check=lambda request, _: self._file(request),
            methods=("PATCH",),
        )
        self.uploads = [create, update]

    def _get(self, request: Request) -> Json:
        file = self._file(request)
        if request.query.get("alt") != "media":
            return file
        if file["id"] not in self._blobs:
            raise ApiError(
                403,
                "Only files with binary content can be downloaded.",
                "fileNotDownloadable",
            )
        with self._blobs[file["id"]].path.open("rb") as opened:
            return media_response(
                request, opened, [("Content-Type", str(file["mimeType"]))]
            )

    def _list(self, request: Request) -> Json:
        """Return a page of the files that `q` selects, the newest first, which is Drive's
        default.
        """
        condition, begin = (
            DriveQuery(request.query.get("q", "")).parse(),
            _number(request, "pageToken", 0),
        )
        found = [file for file in reversed(self.files.values()) if condition(file)]
        end = begin + min(_number(request, "pageSize", 100), MAX_PAGE)
        listing = {
            "kind": "drive#fileList",
            "incompleteSearch": False,
            "files": found[begin:end],
        }
        more = {"nextPageToken": str(end)} if len(found) > end else {}
        return {**listing, **more}

    def _create_empty(self, request: Request) -> Json:
        return self._set(self._new_id(request.json()), request.json(), {})

    def _update_metadata(self, request: Request) -> Json:
        file = self._file(request)
        return self._set(file["id"], request.json(), _moved(request, file))

    def _delete(self, request: Request) -> Response:
        file = self._file(request)
        self.files.pop(file["id"], None)
        self._blobs.pop(file["id"], None)
        return Response(204)

    def _file(self, request: Request) -> dict[str, Json]:
        file_id = request.params["file"]
        file = {
            "kind": "drive#file",
            "id": ROOT,
            "name": "My Drive",
            "mimeType": FOLDER,
            "trashed": False,
        }
        if file_id != ROOT and (file := self.files.get(file_id, {})) == {}:
            raise ApiError(404, f"File not found: {file_id}.")
        return file

    def _new_id(self, metadata: dict[str, Json]) -> str:
        return str(metadata.get("id") or f"file-{next(self._numbers)}")

    def _store(self, media: Media, file_id: str) -> dict[str, Json]:
        self._blobs[file_id] = media.blob
        file = {
            "mimeType": media.metadata.get("mimeType") or media.content_type,
            "size": str(media.blob.size),
            **{
                f"{name}Checksum": media.blob.hex(name)
                for name in ("md5", "sha1", "sha256")
            },
        }
        return self._set(file_id, media.metadata, file)

    def _set(
        self, file_id: str, metadata: dict[str, Json], file: dict[str, Json]
    ) -> dict[str, Json]:
        now = timestamp(self._clock())
        before = self.files.get(
            file_id, {"name": "Untitled", "trashed": False, "createdTime": now}
        )
        self.files[file_id] = {
            "parents": metadata.get("parents") or [ROOT],
            "modifiedTime": now,
            "mimeType": "application/octet-stream",
            **before,
            **{
                name: value
                for name, value in metadata.items()
                if name != "parents" and value is not None
            },
            **file,
            **({} if metadata.get("modifiedTime") else {"modifiedTime": now}),
            "kind": "drive#file",
            "id": file_id,
        }
        return self.files[file_id]


def _moved(request: Request, file: dict[str, Json]) -> dict[str, Json]:
    added, removed = (
        request.query.get(name, "").split(",")
        for name in ("addParents", "removeParents")
    )
    parents = [
        *(parent for parent in file.get("parents", ()) if parent not in removed),
        *filter(None, added),
    ]
    return {"parents": list(dict.fromkeys(parents)) or [ROOT]}


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name) or str(default)
    if not text.isdecimal() or len(text) > 9:
        raise ApiError(400, f"Invalid Value for {name}", "invalid")
    return int(text)


def _about(request: Request) -> Json:
    """Return the user and the storage quota. Raises `ApiError` 400 without `fields`, as Drive
    does.
    """
    if not request.query.get("fields"):
        raise ApiError(
            400, "The 'fields' parameter is required for this method.", "required"
        )
    user = {
        "kind": "drive#user",
        "displayName": request.account,
        "me": True,
        "emailAddress": request.account,
    }
    room = {
        "limit": str(15 << 30),
        "usage": "0",
        "usageInDrive": "0",
        "usageInDriveTrash": "0",
    }
    return {"kind": "drive#about", "user": user, "storageQuota": room}
