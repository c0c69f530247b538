"""generatedApks: the APKs that Play makes of a bundle and signs, some time after the upload; of
them the universal one.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/generatedapks. How long it takes
no document says.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path

from google_emulator.config import setting
from google_emulator.http.partial_response import media_response
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.play.store import (
    APPLICATIONS,
    App,
    PlayStore,
    StoreArtifact,
    number_of,
)
from google_emulator.specimens import Build, make_apk
from google_emulator.specimens.signature_writer import (
    RELEASE,
    V2,
    V3,
    V3_1,
    certificate,
    signed_apk,
)

EVERY_APP = "*"
_LIST = APPLICATIONS + "/{package}/generatedApks/{code}"
_DOWNLOAD = _LIST + "/downloads/{download}:download"


@dataclass(frozen=True)
class Generation:
    """How the APKs of a bundle come about, once someone has looked for them."""

    looks: int = setting(0, "how many looks find nothing")
    seconds: float = setting(0.0, "how long after the first look nothing is found")
    never: bool = setting(False, "nothing is ever generated")
    signer: str = setting(RELEASE, "common name of the certificate that signs")
    rotated: str = setting("", "common name of a newer certificate that signs in v3.1 too")
    certificate: str = setting("", "the digest that is reported, instead of the signer's")
    keys: int = setting(1, "how many signing keys are listed; the first signs")
    protected: bool = setting(False, "automatic protection is on")
    unprotected: int = setting(1, "how many standalone APKs are without it, where it is on")
    package: str = setting("", "the package in the APK, instead of the bundle's")
    code: int = setting(0, "the version code in the APK, instead of the bundle's")
    size: int = setting(0, "bytes of the APK; as short as it can be when that is more")
    ranges: bool = setting(True, "a Range is answered; else with the whole file")
    etag: bool = setting(True, "the file has an ETag")
    digest: bool = setting(True, "the answer has an x-goog-hash")


@dataclass
class _Work:
    """The APKs of one bundle: since when they are waited for, how often they were looked for, and
    the bytes of those that were wanted, by their download ids.
    """

    since: float
    looks: int = 0
    apks: dict[str, bytes] = field(default_factory=dict, repr=False)


class GeneratedApksApi(Service):
    """The universal APKs of all bundles that are live. `clock` tells seconds since the epoch."""

    def __init__(self, store: PlayStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._generations = {
            package: read_generation(values)
            for package, values in store.config.generated_apks.items()
        }
        self._works: dict[tuple[str, int], _Work] = {}
        self.routes = [
            Route("androidpublisher.generatedapks.list", "GET", _LIST, self._list),
            Route("androidpublisher.generatedapks.download", "GET", _DOWNLOAD, self._download),
        ]

    def _generation(self, package: str) -> Generation:
        return self._generations.get(package, self._generations.get(EVERY_APP, Generation()))

    def _artifact(self, request: Request) -> tuple[App, StoreArtifact]:
        app, code = self._store.app(request.params["package"]), number_of(request.params["code"])
        if code not in app.live.artifacts:
            message = f"No generated APKs were found for version {request.params['code']}."
            raise ApiError(404, message, "notFound")
        return app, app.live.artifacts[code]

    def _list(self, request: Request) -> Response:
        app, artifact = self._artifact(request)
        generation = self._generation(app.package)
        work = self._works.setdefault((app.package, artifact.code), _Work(self._clock()))
        waiting = work.looks < generation.looks or self._clock() - work.since < generation.seconds
        work.looks += 1
        if artifact.kind == "apk" or generation.never or waiting:
            return json_response({})
        reported = (
            generation.certificate or hashlib.sha256(certificate(generation.signer)).hexdigest()
        )
        keys = [
            {
                "certificateSha256Hash": f"{key:064x}" if key else reported,
                "generatedUniversalApk": {"downloadId": _download_id(artifact.code, key)},
                **_without_protection(artifact.code, generation),
            }
            for key in range(generation.keys)
        ]
        return json_response({"generatedApks": keys})

    def _download(self, request: Request) -> Response:
        app, artifact = self._artifact(request)
        if request.query.get("alt") != "media":
            raise ApiError(400, "The media is downloaded with alt=media.", "badRequest")
        work = self._works.get((app.package, artifact.code))
        generation = self._generation(app.package)
        names = {_download_id(artifact.code, 0): "1.0 protected" if generation.protected else "1.0"}
        for apk in _without_protection(artifact.code, generation).get(_STANDALONE, []):
            names[apk["downloadId"]] = "1.0"
        download = request.params["download"]
        if work is None or download not in names:
            raise ApiError(404, "No such download.", "notFound")
        if download not in work.apks:
            work.apks[download] = _universal_apk(
                app.package, artifact.code, names[download], generation
            )
        return _media(request, work.apks[download], generation)


def read_generation(values: Json) -> Generation:
    """A generation from JSON. Raises `ValueError` for a name that does not exist."""
    known = [one.name for one in fields(Generation)]
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(
            f"unknown key {', '.join(unknown)} in generated_apks; there are: {', '.join(known)}"
        )
    return Generation(**values)


_STANDALONE = "unprotectedGeneratedStandaloneApks"


def _without_protection(code: int, generation: Generation) -> dict[str, Json]:
    """The fields that are "only present if the app uses automatic protection"."""
    if not generation.protected:
        return {}
    split = {"downloadId": f"split-{code}=", "variantId": 1, "moduleName": "base"}
    standalone = [
        {"downloadId": f"standalone-{code}-{number}=", "variantId": number}
        for number in range(generation.unprotected)
    ]
    return {"unprotectedGeneratedSplitApks": [split], _STANDALONE: standalone}


def _download_id(code: int, key: int) -> str:
    return f"universal-{code}-{key}="


def _universal_apk(package: str, code: int, version_name: str, generation: Generation) -> bytes:
    with tempfile.TemporaryDirectory(prefix="uploader-emulator-apk-") as folder:
        path, build = Path(folder) / "universal.apk", Build(signer=generation.signer)
        make_apk(
            path,
            generation.package or package,
            generation.code or code,
            version_name,
            generation.size,
            build=build,
        )
        schemes = {V2: generation.signer, V3: generation.signer}
        if not generation.rotated:
            return signed_apk(path.read_bytes(), schemes)
        lineage = (generation.signer, generation.rotated)
        return signed_apk(path.read_bytes(), {**schemes, V3_1: generation.rotated}, lineage)


def _media(request: Request, data: bytes, generation: Generation) -> Response:
    md5 = hashlib.md5(data, usedforsecurity=False)
    headers = [("Content-Type", "application/vnd.android.package-archive")]
    headers += [("ETag", f'"{md5.hexdigest()}"')] if generation.etag else []
    headers += (
        [("x-goog-hash", f"md5={base64.b64encode(md5.digest()).decode()}")]
        if generation.digest
        else []
    )
    return (
        media_response(request, io.BytesIO(data), headers)
        if generation.ranges
        else Response(200, data, headers)
    )
