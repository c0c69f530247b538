"""APIs that answer an upload before they have processed the file: with a long-running operation, or
with a resource that has a state. Both can be asked for again.

References: the discovery documents of Artifact Registry (v1, v1beta2), Checks (v1alpha), the Chrome
Web Store (v1.1, v2), BigQuery (v2), Analytics (v3) and YouTube (v3), and google.aip.dev/151 for
operations. The refusals are in this emulator's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from google_emulator.config import Config, ProcessingRule
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Media, Service, UploadMethod

INVALID_ARGUMENT = 3  # google.rpc.Code
MAX_PACKAGE = 2 << 30  # bytes, of the Chrome Web Store


@dataclass
class Task:
    """The processing of one file. It ends after so many more `looks` (status requests), and fails
    if there is an `error`.
    """

    method: str
    number: int
    params: Mapping[str, str]
    media: Media
    looks: int
    error: str
    facts: dict[str, Json] = field(default_factory=dict)

    @property
    def at_work(self) -> bool:
        """Whether the file is still being processed."""
        return self.looks > 0

    def state(self, at_work: str, done: str, failed: str) -> str:
        """Return the one of three words for the state of the task."""
        if self.at_work:
            return at_work
        return failed if self.error else done


Shown: TypeAlias = Callable[[Task], dict[str, Json]]


class Processing:
    """The tasks of all services, by the name in a status request."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tasks: dict[str, tuple[Task, Shown]] = {}
        self._count = 0

    def begin(self, method: str, request: Request, media: Media) -> Task:
        """Return a new task; the settings say how long it takes and whether it fails."""
        self._count += 1
        rules = self._config.processing
        given = rules[method] if method in rules else rules.get("*") or {}
        rule = ProcessingRule.read(given)
        return Task(
            method, self._count, dict(request.params), media, rule.looks, rule.error
        )

    def keep(self, name: str, task: Task, shown: Shown) -> dict[str, Json]:
        """Keep a task under the name for status requests, and return the first answer about it."""
        self._tasks[name] = (task, shown)
        return shown(task)

    def look(self, name: str) -> dict[str, Json]:
        """Return the answer to a status request. Raises `ApiError` 404 for an unknown name."""
        if name not in self._tasks:
            raise ApiError(404, "Requested entity was not found.")
        task, shown = self._tasks[name]
        task.looks = max(task.looks - 1, 0)
        return shown(task)


def operation(name: str, task: Task, response: Mapping[str, Json]) -> dict[str, Json]:
    """Return a google.longrunning.Operation. As in all of Google's JSON, false is left out."""
    if task.at_work:
        return {"name": name}
    if task.error:
        error = {"code": INVALID_ARGUMENT, "message": task.error}
        return {"name": name, "done": True, "error": error}
    return {"name": name, "done": True, "response": dict(response)}


class ArtifactRegistry(Service):
    """Artifacts of a repository."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        self.uploads = []
        self.routes = []
        for version, kinds in (
            ("v1", ("apt", "generic", "googet", "kfp", "yum", "goModules", "files")),
            ("v1beta2", ("apt", "yum")),
        ):
            for kind in kinds:
                self.uploads.append(self._upload(version, kind))
            self.routes.append(
                Route(
                    "artifactregistry.projects.locations.operations.get",
                    "GET",
                    f"/{version}/projects/{{project}}/locations/{{location}}/operations/{{number}}",
                    self._get,
                    (),
                )
            )

    def _upload(self, version: str, kind: str) -> UploadMethod:
        collection = kind if kind in ("goModules", "files") else f"{kind}Artifacts"
        parent = "projects/{project}/locations/{location}/repositories/{repository}"
        verb = "" if kind == "files" else ":create"
        method = f"artifactregistry.projects.locations.repositories.{collection}.upload"

        def finish(request: Request, media: Media) -> dict[str, Json]:
            return self._begin(method, collection, request, media)

        path = f"/upload/{version}/{parent}/{collection}{verb}"
        return UploadMethod(method, path, finish, scopes=(), created=200)

    def _begin(
        self, method: str, collection: str, request: Request, media: Media
    ) -> dict[str, Json]:
        task = self._processing.begin(method, request, media)
        project = (
            f"projects/{task.params['project']}/locations/{task.params['location']}"
        )
        name = f"{project}/operations/{task.number}"
        parent = f"{project}/repositories/{task.params['repository']}"
        artifact: dict[str, Json] = {"name": f"{parent}/{collection}/{task.number}"}
        # Only for these three do the documents have the type of the response: a list of artifacts.
        response = artifact
        if collection in ("aptArtifacts", "googetArtifacts", "yumArtifacts"):
            response = {collection: [artifact]}

        def shown(task: Task) -> dict[str, Json]:
            return operation(name, task, response)

        return {"operation": self._processing.keep(name, task, shown)}

    def _get(self, request: Request) -> Json:
        return self._processing.look(request.path.split("/", 2)[2])


class Checks(Service):
    """Analyses of apps, whose response is a report."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        app = "accounts/{account}/apps/{app}"
        self.uploads = [
            UploadMethod(
                "checks.media.upload",
                f"/upload/v1alpha/{app}/reports:analyzeUpload",
                self._begin,
                scopes=(),
                limit=10 << 30,
            )
        ]
        self.routes = [
            Route(
                "checks.accounts.apps.operations.get",
                "GET",
                f"/v1alpha/{app}/operations/{{number}}",
                lambda request: processing.look(request.path.split("/", 2)[2]),
                (),
            )
        ]

    def _begin(self, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin("checks.media.upload", request, media)
        app = f"accounts/{task.params['account']}/apps/{task.params['app']}"
        name = f"{app}/operations/{task.number}"
        report = {
            "name": f"{app}/reports/{task.number}",
            "appBundle": {"version": "1.0"},
        }
        return self._processing.keep(
            name, task, lambda task: operation(name, task, report)
        )


class ChromeWebStore(Service):
    """Packages of items, in both versions of the API. Version 2 reports a failure without a
    reason.
    """

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        items = "/chromewebstore/v1.1/items"
        item = "/v2/publishers/{publisher}/items/{item}"
        methods = (
            ("chromewebstore.items.insert", items, "POST", self._old),
            ("chromewebstore.items.update", f"{items}/{{item}}", "PUT", self._old),
            ("chromewebstore.media.upload", f"{item}:upload", "POST", self._new),
        )
        self.uploads = [
            UploadMethod(
                name,
                f"/upload{path}",
                finish,
                methods=(verb,),
                scopes=(),
                limit=MAX_PACKAGE,
            )
            for name, path, verb, finish in methods
        ]
        self.routes = [
            Route(
                "chromewebstore.items.get", "GET", f"{items}/{{item}}", self._get, ()
            ),
            Route(
                "chromewebstore.publishers.items.fetchStatus",
                "GET",
                f"{item}:fetchStatus",
                self._status,
                (),
            ),
        ]

    def _old(self, request: Request, media: Media) -> dict[str, Json]:
        verb = "update" if "item" in request.params else "insert"
        task = self._processing.begin(f"chromewebstore.items.{verb}", request, media)
        item = task.params.get("item", f"item{task.number}")

        def shown(task: Task) -> dict[str, Json]:
            state = task.state("IN_PROGRESS", "SUCCESS", "FAILURE")
            resource: dict[str, Json] = {
                "kind": "chromewebstore#item",
                "uploadState": state,
            }
            # An item that could not be made has no id.
            if state != "FAILURE" or verb == "update":
                resource["id"] = item
            if state == "FAILURE":
                error = {"error_code": "PKG_INVALID", "error_detail": task.error}
                resource["itemError"] = [error]
            return resource

        return self._processing.keep(f"chrome/{item}", task, shown)

    def _get(self, request: Request) -> Json:
        if request.query.get("projection") != "DRAFT":
            raise ApiError(400, "Only the projection DRAFT shows an upload.")
        return self._processing.look(f"chrome/{request.params['item']}")

    def _new(self, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin("chromewebstore.media.upload", request, media)
        name = f"publishers/{task.params['publisher']}/items/{task.params['item']}"

        def shown(task: Task) -> dict[str, Json]:
            state = task.state("IN_PROGRESS", "SUCCEEDED", "FAILED")
            return {"name": name, "itemId": task.params["item"], "uploadState": state}

        return self._processing.keep(name, task, shown)

    def _status(self, request: Request) -> Json:
        name = (
            f"publishers/{request.params['publisher']}/items/{request.params['item']}"
        )
        answer = self._processing.look(name)
        state = answer.pop("uploadState")
        return {**answer, "lastAsyncUploadState": state}


class BigQuery(Service):
    """Load jobs."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        jobs = "/bigquery/v2/projects/{project}/jobs"
        self.uploads = [
            UploadMethod(
                "bigquery.jobs.insert", f"/upload{jobs}", self._insert, scopes=()
            )
        ]
        self.routes = [
            Route("bigquery.jobs.get", "GET", f"{jobs}/{{job}}", self._get, ())
        ]

    def _insert(self, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin("bigquery.jobs.insert", request, media)
        project = task.params["project"]
        reference = {
            "projectId": project,
            "jobId": f"job_{task.number}",
            "location": "EU",
        }

        def shown(task: Task) -> dict[str, Json]:
            status: dict[str, Json] = {"state": task.state("RUNNING", "DONE", "DONE")}
            if task.error and not task.at_work:
                error = {"reason": "invalid", "message": task.error}
                status |= {"errorResult": error, "errors": [error]}
            return {
                "kind": "bigquery#job",
                "id": f"{project}:EU.job_{task.number}",
                "jobReference": reference,
                "configuration": dict(media.metadata.get("configuration") or {}),
                "status": status,
            }

        return self._processing.keep(f"bigquery/job_{task.number}", task, shown)

    def _get(self, request: Request) -> Json:
        # A job outside of the US is not found without its location.
        if request.query.get("location") != "EU":
            raise ApiError(404, f"Not found: Job {request.params['job']}")
        return self._processing.look(f"bigquery/{request.params['job']}")


class Analytics(Service):
    """Uploads of custom data."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        path = (
            "/analytics/v3/management/accounts/{account}/webproperties/{property}"
            "/customDataSources/{source}/uploads"
        )
        self.uploads = [
            UploadMethod(
                "analytics.management.uploads.uploadData",
                f"/upload{path}",
                self._begin,
                accept=("application/octet-stream",),
                scopes=(),
                limit=1 << 30,
            )
        ]
        self.routes = [
            Route(
                "analytics.management.uploads.get",
                "GET",
                f"{path}/{{upload}}",
                lambda request: processing.look(
                    f"analytics/{request.params['upload']}"
                ),
                (),
            )
        ]

    def _begin(self, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin(
            "analytics.management.uploads.uploadData", request, media
        )

        def shown(task: Task) -> dict[str, Json]:
            resource: dict[str, Json] = {
                "kind": "analytics#upload",
                "id": f"upload{task.number}",
                "accountId": task.params["account"],
                "customDataSourceId": task.params["source"],
                "status": task.state("PENDING", "COMPLETED", "FAILED"),
            }
            if resource["status"] == "FAILED":
                resource["errors"] = [task.error]
            return resource

        return self._processing.keep(f"analytics/upload{task.number}", task, shown)


class YouTube(Service):
    """Videos and their captions. What becomes of a video after its upload can't be asked here."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        captions = "/youtube/v3/captions"
        self.uploads = [
            UploadMethod(
                "youtube.videos.insert",
                "/upload/youtube/v3/videos",
                self._video,
                accept=("video/*", "application/octet-stream"),
                scopes=(),
                created=200,
                algorithms=("md5",),
            )
        ]
        for verb, method in (("insert", "POST"), ("update", "PUT")):
            self.uploads.append(
                UploadMethod(
                    f"youtube.captions.{verb}",
                    f"/upload{captions}",
                    partial(self._caption, f"youtube.captions.{verb}"),
                    methods=(method,),
                    accept=("*/*",),
                    scopes=(),
                    limit=100 << 20,
                )
            )
        self.routes = [Route("youtube.captions.list", "GET", captions, self._list, ())]

    def _video(self, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin("youtube.videos.insert", request, media)
        status: dict[str, Json] = dict(media.metadata.get("status") or {})
        status["uploadStatus"] = "failed" if task.error else "uploaded"
        if task.error:
            status["failureReason"] = task.error
        return {
            "kind": "youtube#video",
            "id": f"video{task.number}",
            "snippet": dict(media.metadata.get("snippet") or {}),
            "status": status,
        }

    def _caption(self, method: str, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin(method, request, media)
        snippet = dict(media.metadata.get("snippet") or {})

        def shown(task: Task) -> dict[str, Json]:
            resource = {**snippet, "status": task.state("syncing", "serving", "failed")}
            if resource["status"] == "failed":
                resource["failureReason"] = task.error
            return {
                "kind": "youtube#caption",
                "id": f"caption{task.number}",
                "snippet": resource,
            }

        return self._processing.keep(f"caption{task.number}", task, shown)

    def _list(self, request: Request) -> Json:
        if not request.query.get("videoId"):
            raise ApiError(400, "No filter selected. Expected one of: videoId")
        track = self._processing.look(request.query.get("id", ""))
        return {"kind": "youtube#captionListResponse", "items": [track]}


def services(processing: Processing) -> list[Service]:
    """Return all services of this module."""
    return [
        ArtifactRegistry(processing),
        Checks(processing),
        ChromeWebStore(processing),
        BigQuery(processing),
        Analytics(processing),
        YouTube(processing),
    ]
