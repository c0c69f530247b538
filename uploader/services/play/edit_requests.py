"""Where everything of one Play edit is: the calls and upload methods of androidpublisher v3, as data.

The discovery document androidpublisher.v3 is the reference for every path, parameter, media type and size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from uploader.errors import ProtocolError
from uploader.files.android.limits import MAX_BYTES
from uploader.services.base import Call, Endpoint, Json
from uploader.services.catalogue import expand
from uploader.services.play.known_errors import conflict

ROOT = "https://androidpublisher.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/androidpublisher"
CONSOLE = "https://play.google.com/console/"  # it knows apps by numbers of its own and has no address by package name
OCTETS = "application/octet-stream"
APK = "application/vnd.android.package-archive"

Release: TypeAlias = Mapping[str, Any]
Releases: TypeAlias = tuple[Release, ...]
SupplementaryKind: TypeAlias = Literal["mapping", "symbols", "main", "patch"]

_EDITS = "/androidpublisher/v3/applications/{packageName}/edits"
_VERSION_CODE = re.compile(r"[0-9]{1,19}", re.ASCII)  # 64 bits
# Where a supplementary file of a version is, and the most bytes of it.
_SUPPLEMENTARY: Mapping[SupplementaryKind, tuple[str, str, int]] = {
    "mapping": ("deobfuscationFiles", "proguard", MAX_BYTES["symbols"]),
    "symbols": ("deobfuscationFiles", "nativeCode", MAX_BYTES["symbols"]),
    "main": ("expansionFiles", "main", MAX_BYTES["expansion"]),
    "patch": ("expansionFiles", "patch", MAX_BYTES["expansion"]),
}


def insert(package: str) -> Call:
    """Opens an edit. Idempotent: a second one only invalidates the first, of which nobody has heard."""
    path = expand(_EDITS, {"packageName": package})
    return Call("POST", ROOT, path, json={}, what=f"a new edit of {package}", retry_on=conflict)


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
        return self._call("GET", "", f"the check of edit {self.id}")

    def delete(self) -> Call:
        """Throws the edit away, with everything that was uploaded into it."""
        return self._call("DELETE", "", f"the deletion of edit {self.id}")

    def validate(self) -> Call:
        """Asks Play to check the edit without committing it."""
        return self._call("POST", ":validate", f"the validation of edit {self.id}")

    def commit(self, query: tuple[tuple[str, str], ...]) -> Call:
        """Not idempotent: whether a commit whose response is lost has happened is looked up, not tried out."""
        return replace(self._call("POST", ":commit", f"the commit of edit {self.id}"), query=query, idempotent=False)

    def listed(self, resource: Literal["bundles", "apks", "tracks", "listings"]) -> Call:
        """All of one kind: artifacts with their digests, tracks with their releases, store texts by language."""
        what = {"apks": "APKs", "listings": "store listings"}.get(resource, resource)
        return self._call("GET", f"/{resource}", f"the list of {what}")

    def details(self) -> Call:
        """The app's details, its default language among them."""
        return self._call("GET", "/details", "the details of the app")

    def track(self, name: str) -> Call:
        """One track with its releases."""
        return self._call("GET", _path("tracks", name), f"track {name}")

    def update_track(self, name: str, releases: Sequence[Json]) -> Call:
        """Replaces the track's releases as a whole."""
        body = {"track": name, "releases": list(releases)}
        return self._call("PUT", _path("tracks", name), f"the update of track {name}", body)

    def testers(self, track: str) -> Call:
        """The Google Groups that test a closed track."""
        return self._call("GET", _path("testers", track), f"the testers of track {track}")

    def update_testers(self, track: str, groups: Sequence[str]) -> Call:
        """Replaces the groups of a track."""
        body = {"googleGroups": list(groups)}
        return self._call("PUT", _path("testers", track), f"the update of the testers of track {track}", body)

    def update_listing(self, language: str, listing: Json) -> Call:
        """Replaces the store texts of one language."""
        return self._call("PUT", _path("listings", language), f"the update of the {language} listing", listing)

    def images(self, language: str, kind: str) -> Call:
        """The images of one type in one language, with their digests."""
        return self._call("GET", _path("listings", language, kind), f"the list of {language} {kind}")

    def delete_image(self, language: str, kind: str, image: str) -> Call:
        """Removes one image."""
        path = _path("listings", language, kind, image)
        return self._call("DELETE", path, f"the deletion of an image of {language} {kind}")

    def refer_expansion(self, code: int, kind: SupplementaryKind, other: int) -> Call:
        """Lets an APK use the expansion file of another version."""
        path, what = f"/apks/{code}/expansionFiles/{kind}", f"the {kind} expansion file of {other} for version {code}"
        return self._call("PATCH", path, what, {"referencesVersion": other})

    def upload_artifact(self, *, bundle: bool) -> Endpoint:
        """Where a bundle or an APK goes; the first media type is the one to send."""
        if bundle:
            return self._endpoint("bundles", "/bundles", (OCTETS,), MAX_BYTES["bundle"])
        return self._endpoint("apks", "/apks", (APK, OCTETS), MAX_BYTES["apk"])

    def upload_supplementary(self, code: int, kind: SupplementaryKind) -> Endpoint:
        """Where a file that belongs to a version goes; a second upload replaces the first."""
        collection, type_, max_size = _SUPPLEMENTARY[kind]
        endpoint = self._endpoint(collection.lower(), f"/apks/{code}/{collection}/{type_}", (OCTETS,), max_size)
        return replace(endpoint, idempotent=True)

    def upload_image(self, language: str, kind: str) -> Endpoint:
        """Where an image goes; it is added behind those that are there."""
        endpoint = self._endpoint("images", _path("listings", language, kind), ("image/*",), MAX_BYTES["image"])
        return replace(endpoint, id_fields=("image.id",))

    @property
    def _root(self) -> str:
        return expand(_EDITS + "/{editId}", {"packageName": self.package, "editId": self.id})

    def _call(self, method: str, path: str, what: str, json: Json | None = None) -> Call:
        return Call(method, ROOT, self._root + path, json=json, what=what, retry_on=conflict)

    def _endpoint(self, resource: str, path: str, media_types: tuple[str, ...], max_size: int) -> Endpoint:
        return Endpoint(
            id=f"androidpublisher.edits.{resource}.upload",
            root=ROOT,
            path=self._root + path,
            upload_path="/upload" + self._root + path,
            media_types=media_types,
            scopes=(SCOPE,),
            max_size=max_size,
            id_promised=resource in ("bundles", "apks", "images"),
        )


def _path(*segments: str) -> str:
    return "".join("/" + expand("{value}", {"value": segment}) for segment in segments)


def inserted(package: str, response: object) -> Edit:
    """The edit that Play opened. Raises ProtocolError when the response does not name it."""
    name = response.get("id") if isinstance(response, Mapping) else None
    if not isinstance(name, str) or not name.strip("."):
        raise ProtocolError("Google Play opened an edit but did not return its id.")
    return Edit(package, name)


def entries(response: object, name: str) -> list[Mapping[str, Any]]:
    """The entries of a list in a response. Raises ProtocolError when it is no such list."""
    found = response.get(name, []) if isinstance(response, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(entry, Mapping) for entry in found):
        raise ProtocolError(f"Google Play returned the {name} in an undocumented format.")
    return found


def releases(response: object) -> Releases:
    """The releases in a response about a track. Raises ProtocolError when it is no such response.

    What is decided by (version codes, fraction, status, name) is checked here, once: it comes from outside.
    """
    found = tuple(entries(response, "releases"))
    for release in found:
        version_codes, fraction = release.get("versionCodes") or [], release.get("userFraction")
        words = (release.get("status"), release.get("name"))
        if not (
            isinstance(version_codes, list)
            and all(isinstance(code, str | int) and _VERSION_CODE.fullmatch(str(code)) for code in version_codes)
            and (fraction is None or (isinstance(fraction, int | float) and 0 <= fraction <= 1))
            and all(word is None or isinstance(word, str) for word in words)
        ):
            raise ProtocolError("Google Play returned a release in an undocumented format.")
    return found
