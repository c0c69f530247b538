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
from uploader.services.play.known_errors import conflict
from uploader.services.uri_template import expand

ROOT = "https://androidpublisher.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/androidpublisher"
OCTETS = "application/octet-stream"
CONSOLE = "https://play.google.com/console/"  # it knows apps by numbers of its own and has no address by package name
APK = "application/vnd.android.package-archive"

ExpansionKind = Literal["main", "patch"]
CompanionKind = Literal["mapping", "symbols", "main", "patch"]

Release: TypeAlias = Mapping[str, Any]
Releases: TypeAlias = tuple[Release, ...]

_VERSION_CODE = re.compile(r"[0-9]{1,19}", re.ASCII)  # 64 bits
_EDITS = "/androidpublisher/v3/applications/{packageName}/edits"
# What belongs to a version: its collection, the type in it, and the most bytes.
_COMPANIONS: Mapping[CompanionKind, tuple[str, str, int]] = {
    "mapping": ("deobfuscationFiles", "proguard", MAX_BYTES["symbols"]),
    "symbols": ("deobfuscationFiles", "nativeCode", MAX_BYTES["symbols"]),
    "main": ("expansionFiles", "main", MAX_BYTES["expansion"]),
    "patch": ("expansionFiles", "patch", MAX_BYTES["expansion"]),
}


def insert(package: str) -> Call:
    """Opens an edit. Repeatable: a second one only invalidates the first, of which nobody has heard."""
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
        return self._call("GET", "", what=f"the check of edit {self.id}")

    def delete(self) -> Call:
        """Throws the edit away, with everything that was uploaded into it."""
        return self._call("DELETE", "", what=f"the deletion of edit {self.id}")

    def validate(self) -> Call:
        """Asks Play to check the edit without committing it."""
        return self._call("POST", ":validate", what=f"the validation of edit {self.id}")

    def commit(self, query: tuple[tuple[str, str], ...]) -> Call:
        """Not idempotent: whether a commit whose answer is lost has happened is looked up, not tried out."""
        call = self._call("POST", ":commit", what=f"the commit of edit {self.id}")
        return replace(call, query=query, idempotent=False)

    def listed(self, resource: Literal["bundles", "apks", "tracks", "listings"]) -> Call:
        """All of one kind: artifacts with their digests, tracks with their releases, store texts by language."""
        what = {"apks": "APKs", "listings": "store listings"}.get(resource, resource)
        return self._call("GET", f"/{resource}", what=f"the list of {what}")

    def track(self, name: str) -> Call:
        """One track with its releases."""
        return self._call("GET", f"/tracks/{_segment(name)}", what=f"track {name}")

    def update_track(self, name: str, releases: Sequence[Json]) -> Call:
        """Replaces the track's releases as a whole."""
        body = {"track": name, "releases": list(releases)}
        return self._call("PUT", f"/tracks/{_segment(name)}", json=body, what=f"the update of track {name}")

    def update_listing(self, language: str, listing: Json) -> Call:
        """Replaces the store texts of one language."""
        path = f"/listings/{_segment(language)}"
        return self._call("PUT", path, json=listing, what=f"the update of the {language} listing")

    def images(self, language: str, kind: str) -> Call:
        """The images of one type in one language, with their digests."""
        return self._call("GET", self._images(language, kind), what=f"the list of {language} {kind}")

    def delete_image(self, language: str, kind: str, image: str) -> Call:
        """Removes one image."""
        path = f"{self._images(language, kind)}/{_segment(image)}"
        return self._call("DELETE", path, what=f"the deletion of an image of {language} {kind}")

    def expansion(self, code: int, kind: CompanionKind) -> Call:
        """The expansion file of an APK: its size, or the version whose file it uses."""
        what = f"the {kind} expansion file of version {code}"
        return self._call("GET", f"/apks/{code}/expansionFiles/{kind}", what=what)

    def details(self) -> Call:
        """The app's details, its default language among them."""
        return self._call("GET", "/details", what="the details of the app")

    def refer_expansion(self, code: int, kind: CompanionKind, other: int) -> Call:
        """Lets an APK use the expansion file of another version."""
        path = f"/apks/{code}/expansionFiles/{kind}"
        what = f"the {kind} expansion file of {other} for version {code}"
        return self._call("PATCH", path, json={"referencesVersion": other}, what=what)

    def upload_artifact(self, *, bundle: bool) -> Endpoint:
        """Where a bundle or an APK goes; the first media type is the one to send."""
        if bundle:
            return self._endpoint("bundles", "/bundles", (OCTETS,), MAX_BYTES["bundle"])
        return self._endpoint("apks", "/apks", (APK, OCTETS), MAX_BYTES["apk"])

    def upload_companion(self, code: int, kind: CompanionKind) -> Endpoint:
        """Where a file that belongs to a version goes; a second upload replaces the first."""
        collection, type_, max_size = _COMPANIONS[kind]
        path = f"/apks/{code}/{collection}/{type_}"
        return replace(self._endpoint(collection.lower(), path, (OCTETS,), max_size), idempotent=True)

    def upload_image(self, language: str, kind: str) -> Endpoint:
        """Where an image goes; it is added behind those that are there."""
        endpoint = self._endpoint("images", self._images(language, kind), ("image/*",), MAX_BYTES["image"])
        return replace(endpoint, id_fields=("image.id",))

    @property
    def _path(self) -> str:
        return expand(_EDITS + "/{editId}", {"packageName": self.package, "editId": self.id})

    @staticmethod
    def _images(language: str, kind: str) -> str:
        return f"/listings/{_segment(language)}/{kind}"

    def _call(self, method: str, path: str, *, what: str, json: Json | None = None) -> Call:
        return Call(method, ROOT, self._path + path, json=json, what=what, retry_on=conflict)

    def _endpoint(self, resource: str, path: str, media_types: tuple[str, ...], max_size: int) -> Endpoint:
        return Endpoint(
            id=f"androidpublisher.edits.{resource}.upload",
            root=ROOT,
            path=self._path + path,
            upload_path="/upload" + self._path + path,
            media_types=media_types,
            scopes=(SCOPE,),
            max_size=max_size,
            id_promised=resource in ("bundles", "apks", "images"),
        )


def inserted(package: str, response: object) -> Edit:
    """The edit that Play opened. Raises ProtocolError when the answer does not name it."""
    name = response.get("id") if isinstance(response, Mapping) else None
    if not isinstance(name, str) or not name.strip("."):
        raise ProtocolError("Google Play opened an edit but did not return its id.")
    return Edit(package, name)


def entries(response: object, name: str) -> list[Mapping[str, Any]]:
    """The entries of a list that Play answered. Raises ProtocolError when it is no such list."""
    found = response.get(name, []) if isinstance(response, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(entry, Mapping) for entry in found):
        raise ProtocolError(f"Google Play returned the {name} in an undocumented format.")
    return found


def _segment(value: str) -> str:
    return expand("{value}", {"value": value})


def releases(response: object) -> Releases:
    """The releases in Play's answer about a track. Raises ProtocolError when it is no such answer.

    What is decided by (version codes, fraction, status, name) is checked here, once: it comes from outside.
    """
    found = tuple(entries(response, "releases"))
    if not all(map(_is_sane, found)):
        raise ProtocolError("Google Play returned a release in an undocumented format.")
    return found


def _is_sane(release: Release) -> bool:
    version_codes, fraction = release.get("versionCodes") or [], release.get("userFraction")
    words = (release.get("status"), release.get("name"))
    return (
        isinstance(version_codes, list)
        and all(isinstance(code, str | int) and _VERSION_CODE.fullmatch(str(code)) for code in version_codes)
        and (fraction is None or (isinstance(fraction, int | float) and 0 <= fraction <= 1))
        and all(word is None or isinstance(word, str) for word in words)
    )
