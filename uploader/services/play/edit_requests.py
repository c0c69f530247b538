"""The requests of one Play edit, as data: the calls of androidpublisher v3, and the catalogue's
upload methods.

The discovery document androidpublisher.v3 is the reference for every path and parameter.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from uploader.errors import ProtocolError
from uploader.files.artifacts import Artifact
from uploader.services import catalogue
from uploader.services.base import Call, Endpoint, Json, Upload
from uploader.services.catalogue import expand
from uploader.services.play.known_errors import conflict

ROOT = "https://androidpublisher.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/androidpublisher"
# it knows apps by numbers of its own and has no address by package name
CONSOLE = "https://play.google.com/console/"

Release: TypeAlias = Mapping[str, Any]
Releases: TypeAlias = tuple[Release, ...]
SupplementaryKind: TypeAlias = Literal["mapping", "symbols", "main", "patch"]

_find = cache(catalogue.find)
_EDITS = "/androidpublisher/v3/applications/{packageName}/edits"
_NAMED = ("language",)  # what the response about a listing always has
_VERSION_CODE = re.compile(r"[0-9]{1,19}", re.ASCII)  # 64 bits
# upload method, its parameter, and the value
_SUPPLEMENTARY: Mapping[SupplementaryKind, tuple[str, str, str]] = {
    "mapping": ("deobfuscationfiles", "deobfuscationFileType", "proguard"),
    "symbols": ("deobfuscationfiles", "deobfuscationFileType", "nativeCode"),
    "main": ("expansionfiles", "expansionFileType", "main"),
    "patch": ("expansionfiles", "expansionFileType", "patch"),
}


def insert(package: str) -> Generator[Call, Any, Edit]:
    """Opens an edit. Idempotent: a second one only invalidates the first, of which nobody has
    heard.
    """
    path = expand(_EDITS, {"packageName": package})
    what = f"a new edit of {package}"
    response = yield Call(
        "POST", ROOT, path, json={}, what=what, retry_on=conflict, promised=("id",)
    )
    name = response.get("id") if isinstance(response, Mapping) else None
    if not isinstance(name, str) or not name.strip("."):
        raise ProtocolError("Google Play opened an edit but did not return its id.")
    return Edit(package, name)


def uploads(package: str) -> str:
    """The path of all uploads into edits of an app. An account has one open edit of it at most."""
    return "/upload" + expand(_EDITS, {"packageName": package})


@dataclass(frozen=True)
class Edit:
    """One edit of one app; each method is a request that has not been sent."""

    package: str
    id: str

    def get(self) -> Call:
        """The edit itself: whether it is still there."""
        return self._call("GET", "", f"the check of edit {self.id}", promised=("id",))

    def delete(self) -> Call:
        """Throws the edit away, with everything that was uploaded into it."""
        return self._call("DELETE", "", f"the deletion of edit {self.id}", may_be_empty=True)

    def validate(self) -> Call:
        """Asks Play to check the edit without committing it."""
        return self._call(
            "POST", ":validate", f"the validation of edit {self.id}", promised=("id",)
        )

    def commit(self, query: tuple[tuple[str, str], ...]) -> Call:
        """Not idempotent: whether a commit whose response is lost has happened is looked up, not
        tried out.
        """
        commit = self._call("POST", ":commit", f"the commit of edit {self.id}", promised=("id",))
        return replace(commit, query=query, idempotent=False)

    def confirm(self, response: object) -> None:
        """Raises ProtocolError unless the response to a commit names the edit, as one of a proxy
        would not.
        """
        if not isinstance(response, Mapping) or response.get("id") != self.id:
            raise ProtocolError(f"The answer to the commit of edit {self.id} does not name it.")

    def listed(self, resource: Literal["bundles", "apks", "tracks", "listings"]) -> Call:
        """All of one kind: artifacts with their digests, tracks with their releases, store texts by
        language.

        Where there are none the response still names its `kind`.
        """
        what = {"apks": "APKs", "listings": "store listings"}.get(resource, resource)
        return self._call("GET", f"/{resource}", f"the list of {what}", promised=("kind", resource))

    def details(self) -> Call:
        """The app's details, its default language among them."""
        # every app has one of them
        promised = ("defaultLanguage", "contactEmail", "contactWebsite", "contactPhone")
        return self._call("GET", "/details", "the details of the app", promised=promised)

    def track(self, name: str) -> Call:
        """One track with its releases."""
        return self._call("GET", _path("tracks", name), f"track {name}", promised=("track",))

    def update_track(self, name: str, releases: Sequence[Json]) -> Call:
        """Replaces the track's releases as a whole."""
        body = {"track": name, "releases": list(releases)}
        return self._call(
            "PUT", _path("tracks", name), f"the update of track {name}", body, promised=("track",)
        )

    def testers(self, track: str) -> Call:
        """The Google Groups that test a closed track."""
        return self._call(
            "GET", _path("testers", track), f"the testers of track {track}", ask_twice=True
        )

    def update_testers(self, track: str, groups: Sequence[str]) -> Call:
        """Replaces the groups of a track."""
        body, what = {"googleGroups": list(groups)}, f"the update of the testers of track {track}"
        promised = ("googleGroups",) if groups else ()
        return self._call("PUT", _path("testers", track), what, body, promised=promised)

    def create_listing(self, language: str, texts: Mapping[str, str]) -> Call:
        """Adds the store texts of a language that has none. One that has some would lose all but
        these.
        """
        what = f"the new {language} listing"
        return self._call(
            "PUT",
            _path("listings", language),
            what,
            {"language": language, **texts},
            promised=_NAMED,
        )

    def change_listing(self, language: str, texts: Mapping[str, str]) -> Call:
        """Changes these texts of a language, and leaves its others as they are."""
        what = f"the update of the {language} listing"
        return self._call("PATCH", _path("listings", language), what, dict(texts), promised=_NAMED)

    def images(self, language: str, kind: str) -> Call:
        """The images of one type in one language, with their digests."""
        what = f"the list of {language} {kind}"
        return self._call("GET", _path("listings", language, kind), what, ask_twice=True)

    def delete_image(self, language: str, kind: str, image: str) -> Call:
        """Removes one image."""
        path = _path("listings", language, kind, image)
        return self._call(
            "DELETE", path, f"the deletion of an image of {language} {kind}", may_be_empty=True
        )

    def refer_expansion(self, code: int, kind: SupplementaryKind, other: int) -> Call:
        """Lets an APK use the expansion file of another version."""
        path, what = (
            f"/apks/{code}/expansionFiles/{kind}",
            f"the {kind} expansion file of {other} for version {code}",
        )
        return self._call(
            "PATCH", path, what, {"referencesVersion": other}, promised=("referencesVersion",)
        )

    def upload_artifact(self, file: Artifact, kind: str) -> Upload:
        """Adds a bundle or an APK; a version code is there once, and listed."""
        endpoint = replace(self._endpoint(f"{kind}s"), looked_up=True)
        # of an APK its own one
        return Upload(endpoint, file, endpoint.media_types[-1], retry_on=conflict)

    def upload_supplementary(self, file: Artifact, code: int, kind: SupplementaryKind) -> Upload:
        """Adds a file to a version; a second upload replaces the first."""
        method, parameter, value = _SUPPLEMENTARY[kind]
        endpoint = self._endpoint(method, apkVersionCode=str(code), **{parameter: value})
        return Upload(
            replace(endpoint, idempotent=True), file, endpoint.media_types[0], retry_on=conflict
        )

    def upload_image(self, language: str, kind: str) -> Endpoint:
        """Where an image goes; it is added behind those that are there."""
        endpoint = self._endpoint("images", language=language, imageType=kind)
        return replace(endpoint, at_most_once=True, looked_up=True)

    @property
    def _root(self) -> str:
        return expand(_EDITS + "/{editId}", {"packageName": self.package, "editId": self.id})

    def _call(
        self,
        method: str,
        path: str,
        what: str,
        json: Json | None = None,
        *,
        promised: tuple[str, ...] = (),
        may_be_empty: bool = False,
        ask_twice: bool = False,
    ) -> Call:
        call = Call(method, ROOT, self._root + path, json=json, what=what, retry_on=conflict)
        return replace(call, promised=promised, may_be_empty=may_be_empty, ask_twice=ask_twice)

    def _endpoint(self, resource: str, **values: str) -> Endpoint:
        method = _find(f"androidpublisher.edits.{resource}.upload")
        assert method, "the catalogue has it"
        return method.endpoint({"packageName": self.package, "editId": self.id, **values})


def _path(*segments: str) -> str:
    return "".join("/" + expand("{value}", {"value": segment}) for segment in segments)


def entries(response: object, name: str) -> list[Mapping[str, Any]]:
    """The entries of a list in a response. Raises ProtocolError when it is no such list."""
    found = response.get(name, []) if isinstance(response, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(entry, Mapping) for entry in found):
        raise ProtocolError(f"Google Play returned the {name} in an undocumented format.")
    return found


def releases(response: object) -> Releases:
    """The releases in a response about a track. Raises ProtocolError when it is no such response.

    What is decided by (version codes, fraction, status, name) is checked here, once: it comes from
    outside.
    """
    found = tuple(entries(response, "releases"))
    for release in found:
        version_codes, fraction = release.get("versionCodes") or [], release.get("userFraction")
        words = (release.get("status"), release.get("name"))
        if not (
            isinstance(version_codes, list)
            and all(
                isinstance(code, str | int) and _VERSION_CODE.fullmatch(str(code))
                for code in version_codes
            )
            and (fraction is None or (isinstance(fraction, int | float) and 0 <= fraction <= 1))
            and all(word is None or isinstance(word, str) for word in words)
        ):
            raise ProtocolError("Google Play returned a release in an undocumented format.")
    return found
