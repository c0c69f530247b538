"""Make the requests of one Play edit, and uploads into it by the methods of the catalogue.

The discovery document androidpublisher.v3 is the source of every path and parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias, cast

from uploader.errors import ApiError, ProtocolError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services import catalogue
from uploader.services.base import Call, Context, Endpoint, Json, Search, Upload
from uploader.services.catalogue import expand
from uploader.services.media_types import choose
from uploader.services.play.known_errors import conflict
from uploader.services.play.model import (
    ArtifactKind,
    ListedArtifact,
    ListedImage,
    Release,
    Releases,
    Track,
)

ROOT = "https://androidpublisher.googleapis.com"
# the likely cause of an answer that is not documented
OTHER_ANSWERS = "The service has a fault, or something else answers in its place."
# The console numbers its apps, so there is no address with a package name.
CONSOLE = "https://play.google.com/console/"

Entries: TypeAlias = list[Mapping[str, Any]]
SupplementaryKind: TypeAlias = Literal["mapping", "symbols", "main", "patch"]

_find = cache(catalogue.find)
_EDITS = "/androidpublisher/v3/applications/{packageName}/edits"
_NAMED = ("language",)  # what the response about a listing always has
# upload method, its parameter, and the value
_SUPPLEMENTARY: Mapping[SupplementaryKind, tuple[str, str, str]] = {
    "mapping": ("deobfuscationfiles", "deobfuscationFileType", "proguard"),
    "symbols": ("deobfuscationfiles", "deobfuscationFileType", "nativeCode"),
    "main": ("expansionfiles", "expansionFileType", "main"),
    "patch": ("expansionfiles", "expansionFileType", "patch"),
}


def insert(context: Context, package: str) -> Edit:
    """Open an edit. The request may be repeated: a second edit only closes the first, whose id was
    lost with its response.

    Raises ProtocolError for a response without an id.
    """
    call = Call(
        "POST",
        ROOT,
        expand(_EDITS, {"packageName": package}),
        json={},
        what=f"a new edit of {package}",
        retry_on=conflict,
        promised=("id",),
    )
    response = context.call(call)
    edit_id = response.get("id")
    if not isinstance(edit_id, str) or not edit_id.strip("."):
        raise ProtocolError("Google Play opened an edit but did not return its id.")
    return Edit(context, package, edit_id)


def uploads(package: str) -> str:
    """Return the path below which all uploads into edits of an app are. An account has at most one
    open edit of an app.
    """
    return "/upload" + expand(_EDITS, {"packageName": package})


@dataclass(frozen=True)
class Edit:
    """One edit of one app. Each method makes one request, and raises what `Context.call` raises."""

    context: Context
    package: str
    id: str

    def get(self) -> None:
        """Ask for the edit itself. Raises ApiError if it is no longer open."""
        self._call("GET", "", f"the check of edit {self.id}", promised=("id",))

    def delete(self, *, closing: bool = False) -> None:
        """Delete the edit with everything that was uploaded into it.

        `closing` is that of `Call`: the request is sent even after a signal.
        """
        what = f"the deletion of edit {self.id}"
        self._call(
            "DELETE",
            "",
            what,
            may_be_empty=True,
            gives_up=True,
            closing=closing,
        )

    def validate(self) -> None:
        """Ask Google Play to check the edit without committing it."""
        what = f"the validation of edit {self.id}"
        self._call("POST", ":validate", what, promised=("id",))

    def commit(self, *, review_by_hand: bool, cancel_review: bool) -> None:
        """Commit the edit.

        `review_by_hand` leaves it to people to send the changes for review, and `cancel_review`
        withdraws those that are in review. Raises OutcomeUnknown if the response is lost, since a
        commit is not sent twice, and ProtocolError for a response that does not name the edit, such
        as one of a proxy.
        """
        in_review = "ERROR_IF_IN_REVIEW"
        if cancel_review:
            in_review = "CANCEL_IN_REVIEW_AND_SUBMIT"
        query = [("changesInReviewBehavior", in_review)]
        if review_by_hand:
            # It is left out rather than false: Google's refusal says that it "must not be set".
            query.append(("changesNotSentForReview", "true"))
        response = self._call(
            "POST",
            ":commit",
            f"the commit of edit {self.id}",
            query=tuple(query),
            promised=("id",),
            idempotent=False,
        )
        if response.get("id") != self.id:
            raise ProtocolError(
                f"The answer to the commit of edit {self.id} does not name it."
            )

    def list_entries(
        self, resource: Literal["bundles", "apks", "tracks", "listings"]
    ) -> Entries:
        """Return the whole list of one kind: artifacts with their digests, tracks with their
        releases, or store texts by language.
        """
        names = {"apks": "APKs", "listings": "store listings"}
        what = f"the list of {names.get(resource, resource)}"
        # An empty list is left out, but its `kind` is not.
        promised = ("kind", resource)
        response = self._call("GET", f"/{resource}", what, promised=promised)
        return entries(response, resource)

    def details(self) -> Mapping[str, Any]:
        """Return the app's details, its default language among them."""
        what = "the details of the app"
        # Every app has one of these.
        promised = ("defaultLanguage", "contactEmail", "contactWebsite", "contactPhone")
        return self._call("GET", "/details", what, promised=promised)

    def artifacts(self, kind: ArtifactKind) -> tuple[ListedArtifact, ...]:
        """Return the bundles, or the APKs, that the edit has."""
        artifacts = []
        for entry in self.list_entries(kind):
            artifact = ListedArtifact.from_json(entry)
            if artifact:
                artifacts.append(artifact)
        return tuple(artifacts)

    def tracks(self) -> tuple[Track, ...]:
        """Return all tracks with their releases."""
        return tuple(map(_track, self.list_entries("tracks")))

    def track(self, name: str) -> Releases:
        """Return the releases of one track."""
        path = _path("tracks", name)
        response = self._call("GET", path, f"track {name}", promised=("track",))
        return releases(response)

    def update_track(self, name: str, new: Releases) -> None:
        """Replace the track's releases as a whole."""
        body = {"track": name, "releases": [release.to_json() for release in new]}
        what = f"the update of track {name}"
        self._change(
            "PUT",
            _path("tracks", name),
            what,
            body,
            promised=("track",),
        )

    def create_track(self, name: str, form_factor: str) -> None:
        """Create a closed track. Raises ApiError, also for a track that is there already."""
        body = {"track": name, "type": "CLOSED_TESTING", "formFactor": form_factor}
        self._change(
            "POST",
            "/tracks",
            f"the new track {name}",
            body,
            promised=("track",),
            retry_on=_track_conflict,
        )

    def testers(self, track: str) -> tuple[str, ...]:
        """Return the Google Groups that test a closed track."""
        what = f"the testers of track {track}"
        response = self._call("GET", _path("testers", track), what, ask_twice=True)
        groups = response.get("googleGroups", [])
        if not _are_texts(groups):
            raise ProtocolError(
                "Google Play returned the testers of a track in an undocumented format."
            )
        return tuple(groups)

    def update_testers(self, track: str, groups: Sequence[str]) -> None:
        """Replace the groups of a track."""
        body = {"googleGroups": list(groups)}
        what = f"the update of the testers of track {track}"
        promised: tuple[str, ...] = ()
        if groups:
            promised = ("googleGroups",)
        self._change(
            "PUT",
            _path("testers", track),
            what,
            body,
            promised=promised,
        )

    def create_listing(self, language: str, texts: Mapping[str, str]) -> None:
        """Write the store texts of a language that has none yet. A language that has some would
        lose those that are not given here.
        """
        body = {"language": language, **texts}
        what = f"the new {language} listing"
        self._change(
            "PUT",
            _path("listings", language),
            what,
            body,
            promised=_NAMED,
        )

    def change_listing(self, language: str, texts: Mapping[str, str]) -> None:
        """Change these store texts of a language, and leave its others as they are."""
        what = f"the update of the {language} listing"
        self._change(
            "PATCH",
            _path("listings", language),
            what,
            dict(texts),
            promised=_NAMED,
        )

    def images(
        self,
        language: str,
        kind: str,
        *,
        ask_twice: bool = True,
    ) -> tuple[ListedImage, ...]:
        """Return the images of one type in one language, in the order in which they are shown.

        `ask_twice` is that of `Call`.
        """
        call = replace(self.list_of_images(language, kind), ask_twice=ask_twice)
        response = self.context.call(call)
        return images(response)

    def list_of_images(self, language: str, kind: str) -> Call:
        """Return the request that lists images, for the search after an upload."""
        path = self._root + _path("listings", language, kind)
        what = f"the list of {language} {kind}"
        return Call(
            "GET",
            ROOT,
            path,
            what=what,
            retry_on=conflict,
            ask_twice=True,
        )

    def delete_image(
        self,
        language: str,
        kind: str,
        image: str,
    ) -> None:
        """Remove one image by its id."""
        path = _path("listings", language, kind, image)
        what = f"the deletion of an image of {language} {kind}"
        self._change("DELETE", path, what, may_be_empty=True)

    def refer_expansion(
        self,
        code: int,
        kind: SupplementaryKind,
        other: int,
    ) -> None:
        """Let an APK use the expansion file of another version."""
        path = f"/apks/{code}/expansionFiles/{kind}"
        what = f"the {kind} expansion file of {other} for version {code}"
        body = {"referencesVersion": other}
        self._change(
            "PATCH",
            path,
            what,
            body,
            promised=("referencesVersion",),
        )

    def begin_artifact(self, file: Artifact, kind: str) -> None:
        """Start the upload session of an artifact, for `upload_artifact` to send the bytes in. The
        edit stays as it is.
        """
        upload = self._artifact(file, kind)
        self.context.begin(upload)

    def upload_artifact(self, file: Artifact, kind: str) -> FileResult:
        """Add a bundle or an APK to the edit, which lists each version code once."""
        upload = self._artifact(file, kind)
        return self.context.upload(upload)

    def _artifact(self, file: Artifact, kind: str) -> Upload:
        """Return the upload of a bundle or an APK."""
        endpoint = replace(self._endpoint(f"{kind}s"), looked_up=True)
        return Upload(
            endpoint,
            file,
            endpoint.media_types[-1],  # the last one is that of an APK
            retry_on=conflict,
            changes=self._root,
        )

    def upload_supplementary(
        self,
        file: Artifact,
        code: int,
        kind: SupplementaryKind,
    ) -> FileResult:
        """Add a file to a version. A second upload replaces the first."""
        method, parameter, value = _SUPPLEMENTARY[kind]
        parameters = {"apkVersionCode": str(code), parameter: value}
        endpoint = replace(self._endpoint(method, **parameters), idempotent=True)
        upload = Upload(
            endpoint,
            file,
            endpoint.media_types[0],
            retry_on=conflict,
            changes=self._root,
        )
        return self.context.upload(upload)

    def image(
        self,
        language: str,
        kind: str,
        file: Artifact,
        search: Search,
    ) -> Upload:
        """Return the upload of an image, which is added after those that are there. `search` finds
        out whether it arrived.
        """
        endpoint = self._endpoint("images", language=language, imageType=kind)
        endpoint = replace(endpoint, at_most_once=True, looked_up=True)
        media_type = choose(file, endpoint.media_types) or "image/png"
        return Upload(
            endpoint,
            file,
            media_type,
            retry_on=conflict,
            search=search,
            changes=self._root,
            quiet=True,  # a store listing has hundreds of images, each sent in a moment
        )

    @property
    def _root(self) -> str:
        """The path of the edit."""
        values = {"packageName": self.package, "editId": self.id}
        return expand(_EDITS + "/{editId}", values)

    def _call(
        self,
        method: str,
        path: str,
        what: str,
        json: Json | None = None,
        **more: Any,
    ) -> dict[str, Json]:
        """Make one request about the edit, at `path` below it; `more` are other fields of the
        `Call`.
        """
        call = Call(
            method,
            ROOT,
            self._root + path,
            json=json,
            what=what,
            retry_on=conflict,
        )
        return self.context.call(replace(call, **more))

    def _change(
        self,
        method: str,
        path: str,
        what: str,
        json: Json | None = None,
        **more: Any,
    ) -> None:
        """Make one request that changes the edit. Only a few of them may be under way at a time."""
        self._call(method, path, what, json, changes=self._root, **more)

    def _endpoint(self, resource: str, **values: str) -> Endpoint:
        """Return the upload method of a resource of the edit, with its parameters filled in."""
        method = _find(f"androidpublisher.edits.{resource}.upload")
        assert method, "the catalogue has it"
        edit = {"packageName": self.package, "editId": self.id}
        return method.endpoint({**edit, **values})


def _track(entry: Mapping[str, Any]) -> Track:
    """Return a track of the list, with its releases. Raises ProtocolError as `releases` does."""
    name = str(entry.get("track", ""))
    return Track(name, releases(entry))


def is_there_already(refused: ApiError) -> bool:
    """Return whether what was to be created is there already, perhaps by a request whose response
    was lost.
    """
    return refused.reason == "alreadyExists" or "already exists" in refused.message


def _track_conflict(refused: ApiError) -> str:
    """Return why the refusal to create a track passes by itself, as `conflict` does; empty for a
    track that is there already, which Google may also answer with 409.
    """
    if is_there_already(refused):
        return ""
    return conflict(refused)


def _path(*segments: str) -> str:
    """Return a path with its segments escaped."""
    path = ""
    for segment in segments:
        path += "/" + expand("{value}", {"value": segment})
    return path


def entries(response: object, name: str) -> Entries:
    """Return the entries of a list of objects in a response; none if it is left out. Raises
    ProtocolError for anything else.
    """
    if isinstance(response, Mapping):
        listed = response.get(name, [])
        if _are_objects(listed):
            return cast(Entries, listed)
    raise ProtocolError(
        f"Google Play returned the {name} in an undocumented format.",
        cause=OTHER_ANSWERS,
        hint="Run again; report the error if it recurs.",
    )


def _are_objects(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(entry, Mapping) for entry in value)


def _are_texts(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(entry, str) for entry in value)


def releases(response: object) -> Releases:
    """Return the releases in a response about a track. Raises ProtocolError for any other."""
    listed = entries(response, "releases")
    return tuple(map(Release.from_json, listed))


def images(response: object) -> tuple[ListedImage, ...]:
    """Return the images in a response that lists them. Raises ProtocolError for any other."""
    listed = entries(response, "images")
    return tuple(map(ListedImage.from_json, listed))
