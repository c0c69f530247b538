"""Firebase App Distribution: the releases of an app, their notes, testers and groups.

Reference: the discovery document firebaseappdistribution.v1 and
firebase.google.com/docs/reference/app-distribution/rest. The document says that distribute creates
testers, and that a group that does not exist is an INVALID_ARGUMENT. An alias that no group can
have was answered with 404 "Requested entity was not found." (Firebase-Distribution-Github-Action,
issue 75). The other refusals are in this emulator's own words.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Json,
    failed_precondition,
    invalid_argument,
)
from google_emulator.http.routes import Route
from google_emulator.protocol.goog_upload import PREFIX
from google_emulator.protocol.uploads import Media, Service, UploadMethod
from google_emulator.services.payload_rules import Rule, read_message, text
from google_emulator.services.play.artifact_files import ArtifactIdentity, read_identity
from google_emulator.services.play.store import ArtifactKind
from google_emulator.services.processed_uploads import Processing, Task, operation

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
MAX_RECIPIENTS = 999  # of one request, testers and groups together
MAX_SIZE = 2 << 30
_APP = "projects/{project}/apps/{app}"
_RELEASE = f"/v1/{_APP}/releases/{{release}}"
_NOT_FOUND = "Requested entity was not found."
_NOTES_MASKS = (
    "release_notes",
    "release_notes.text",
    "releaseNotes",
    "releaseNotes.text",
)
_DISTRIBUTION: Mapping[str, Rule] = {"testerEmails": [text], "groupAliases": [text]}
_ID = "firebaseappdistribution.projects.apps.releases"


@dataclass
class AppRelease:
    """A release: the binary, its notes, and to whom it was distributed. `invitations` counts the
    requests to distribute it.
    """

    name: str
    sha256: str
    version: str
    code: str
    kind: str
    notes: str = ""
    testers: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    invitations: int = 0

    def shown(self) -> dict[str, Json]:
        """Return the Release resource."""
        app, _, release = self.name.partition("/releases/")
        number, app_id = app.split("/")[1], app.split("/")[3]
        resource: dict[str, Json] = {
            "name": self.name,
            "displayVersion": self.version,
            "buildVersion": self.code,
            "binaryType": "AAB" if self.kind == "bundle" else "APK",
            "firebaseConsoleUri": f"https://console.firebase.google.com/project/p{number}/"
            f"appdistribution/app/{app_id}/releases/{release}",
            "testingUri": f"https://appdistribution.firebase.google.com/testerapps/{app_id}/"
            f"releases/{release}",
            "binaryDownloadUri": "https://firebaseappdistribution.googleapis.com/app-binary-"
            f"downloads/{self.name}/binaries/{self.sha256}/app.apk?token=signed",
        }
        if self.notes:
            resource["releaseNotes"] = {"text": self.notes}
        return resource


class AppDistribution(Service):
    """The releases by name. With no `firebase_apps` in the settings, every app exists in its own
    project.
    """

    def __init__(self, config: Config, processing: Processing) -> None:
        self.releases: dict[str, AppRelease] = {}
        self._config = config
        self._processing = processing
        app = f"/v1/{_APP}"
        self.uploads = [
            UploadMethod(
                "firebaseappdistribution.media.upload",
                f"/upload/v1/{_APP}/releases:upload",
                self._upload,
                self._check,
                scopes=SCOPES,
                limit=MAX_SIZE,
            )
        ]
        self.routes = [
            Route(
                f"{_ID}.operations.get",
                "GET",
                f"{_RELEASE}/operations/{{operation}}",
                lambda request: processing.look(request.path.removeprefix("/v1/")),
                SCOPES,
            ),
            Route(
                f"{_ID}.get",
                "GET",
                _RELEASE,
                lambda request: self._release(request).shown(),
                SCOPES,
            ),
            Route(f"{_ID}.patch", "PATCH", _RELEASE, self._patch, SCOPES),
            Route(
                f"{_ID}.distribute",
                "POST",
                f"{_RELEASE}:distribute",
                self._distribute,
                SCOPES,
            ),
            Route(
                "firebaseappdistribution.projects.groups.get",
                "GET",
                "/v1/projects/{project}/groups/{group}",
                self._group,
                SCOPES,
            ),
            Route(
                "firebaseappdistribution.projects.apps.getAabInfo",
                "GET",
                f"{app}/aabInfo",
                self._bundle_info,
                SCOPES,
            ),
        ]

    def _check(self, request: Request, _: Mapping[str, Json]) -> None:
        """Raise `ApiError` for a request without the headers that the reference requires, or for an
        app that does not exist in the project.
        """
        if request.header(PREFIX + "Protocol").lower() != "raw":
            raise ApiError(400, "This upload requires X-Goog-Upload-Protocol: raw.")
        if not request.header(PREFIX + "File-Name"):
            raise ApiError(400, "X-Goog-Upload-File-Name is required.")
        self._check_app(request)

    def _check_app(self, request: Request) -> None:
        app = request.params["app"]
        known = self._config.firebase_apps
        number = re.fullmatch(r"1:(\d+):(android|ios|web):[0-9a-zA-Z]+", app)
        if number is None or (known and app not in known):
            raise ApiError(404, _NOT_FOUND)
        project = request.params["project"]
        if project.isdecimal() and project != number[1]:
            raise ApiError(404, _NOT_FOUND)

    def _upload(self, request: Request, media: Media) -> dict[str, Json]:
        task = self._processing.begin(
            "firebaseappdistribution.media.upload", request, media
        )
        app = f"projects/{task.params['project']}/apps/{task.params['app']}"
        name = f"{app}/releases/-/operations/{task.number}"
        response: dict[str, Json] = {}
        if not task.error:
            task.error, response = self._made(app, media)

        def shown(task: Task) -> dict[str, Json]:
            return operation(name, task, response)

        return self._processing.keep(name, task, shown)

    def _made(self, app: str, media: Media) -> tuple[str, dict[str, Json]]:
        """Return the error and an empty response if the file can't become a release, otherwise an
        empty error and the response with the release.
        """
        kind = _kind_of(media)
        if kind is None:
            return "The binary is neither an APK nor an Android App Bundle.", {}
        if kind == "bundle" and not self._config.firebase_bundles:
            return (
                "The app is not linked to Google Play, so that bundles can't be used.",
                {},
            )
        try:
            identity = read_identity(media.blob.path, kind)
        except ApiError as error:
            return error.message, {}
        release, result = self._put(app, media.blob.hex("sha256"), kind, identity)
        return "", {"result": result, "release": release.shown()}

    def _put(
        self, app: str, sha256: str, kind: ArtifactKind, identity: ArtifactIdentity
    ) -> tuple[AppRelease, str]:
        version, code = identity.name, str(identity.code)
        for release in self.releases.values():
            if not release.name.startswith(f"{app}/releases/"):
                continue
            if release.sha256 == sha256:
                return release, "RELEASE_UNMODIFIED"
            if (release.version, release.code) == (version, code):
                release.sha256 = sha256
                return release, "RELEASE_UPDATED"
        made = AppRelease(f"{app}/releases/{sha256[:13]}", sha256, version, code, kind)
        self.releases[made.name] = made
        return made, "RELEASE_CREATED"

    def _release(self, request: Request) -> AppRelease:
        self._check_app(request)
        params = request.params
        name = f"projects/{params['project']}/apps/{params['app']}/releases/{params['release']}"
        if name not in self.releases:
            raise ApiError(404, _NOT_FOUND)
        return self.releases[name]

    def _patch(self, request: Request) -> Json:
        release = self._release(request)
        mask = request.query.get("updateMask", "releaseNotes")
        if mask not in _NOTES_MASKS:
            raise invalid_argument(
                f"Only the release notes can be updated, not {mask}."
            )
        notes = request.json().get("releaseNotes") or {}
        release.notes = read_message(
            notes, {"text": text}, "release.release_notes"
        ).get("text", "")
        return release.shown()

    def _distribute(self, request: Request) -> Json:
        release = self._release(request)
        wanted = read_message(request.json(), _DISTRIBUTION, "request")
        testers, groups = wanted.get("testerEmails", []), wanted.get("groupAliases", [])
        if len(testers) + len(groups) > MAX_RECIPIENTS:
            raise invalid_argument(
                f"At most {MAX_RECIPIENTS} testers and groups can be given."
            )
        for address in testers:
            if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", address):
                raise failed_precondition(f"{address} can be no tester.")
        for alias in groups:
            if not re.fullmatch(r"[a-z0-9-]+", alias):
                raise ApiError(404, _NOT_FOUND)
            if alias not in self._config.firebase_groups:
                raise invalid_argument("Request contains an invalid argument.")
        release.testers += [
            tester for tester in testers if tester not in release.testers
        ]
        release.groups += [group for group in groups if group not in release.groups]
        release.invitations += 1
        return {}

    def _group(self, request: Request) -> Json:
        alias = request.params["group"]
        if alias not in self._config.firebase_groups:
            raise ApiError(404, _NOT_FOUND)
        name = f"projects/{request.params['project']}/groups/{alias}"
        return {"name": name, "displayName": alias.capitalize()}

    def _bundle_info(self, request: Request) -> Json:
        self._check_app(request)
        state = (
            "INTEGRATED" if self._config.firebase_bundles else "PLAY_ACCOUNT_NOT_LINKED"
        )
        app = f"projects/{request.params['project']}/apps/{request.params['app']}"
        return {"name": f"{app}/aabInfo", "integrationState": state}


def _kind_of(media: Media) -> ArtifactKind | None:
    """Return whether the binary is an APK or a bundle; None if it is neither."""
    try:
        with zipfile.ZipFile(media.blob.path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return None
    if "base/manifest/AndroidManifest.xml" in names:
        return "bundle"
    return "apk" if "AndroidManifest.xml" in names else None
