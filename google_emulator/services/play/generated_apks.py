"""generatedApks: the APKs that Play makes from a bundle and signs, some time after the upload.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/generatedapks. No document says
how long it takes. Recovery modules, which are made in the Play Console, are never listed.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from google_emulator.config import setting
from google_emulator.http.partial_response import media_response
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.play.bundle_splits import (
    BASE,
    MAIN,
    Configuration,
    PlannedApk,
    planned_apks,
)
from google_emulator.services.play.generated_files import (
    Alterations,
    Signing,
    make_generated_apk,
)
from google_emulator.services.play.store import (
    APPLICATIONS,
    App,
    PlayStore,
    StoreArtifact,
    number_of,
)
from google_emulator.specimens import make_bundle
from google_emulator.specimens.signature_writer import RELEASE, certificate

EVERY_APP = "*"
_LIST = APPLICATIONS + "/{package}/generatedApks/{code}"
_DOWNLOAD = _LIST + "/downloads/{download}:download"


@dataclass(frozen=True)
class Generation:
    """How the APKs of a bundle are made, and when they are listed."""

    looks: int = setting(0, "how many requests for the list find nothing")
    partly: int = setting(0, "how many requests after those find only some of the APKs")
    seconds: float = setting(
        0.0, "for how many seconds after the first request nothing is found"
    )
    never: bool = setting(False, "nothing is ever generated")
    signer: str = setting(RELEASE, "common name of the certificate that signs")
    rotated: str = setting(
        "", "common name of a newer certificate that signs in v3.1 too"
    )
    certificate: str = setting(
        "", "the digest that is reported, instead of the signer's"
    )
    keys: int = setting(
        1, "how many signing keys there are; each signs APKs of its own"
    )
    variants: int = setting(1, "how many variants of the splits there are")
    protected: bool = setting(False, "automatic protection is on")
    unprotected: int = setting(
        1, "how many standalone APKs without protection are listed, if it is on"
    )
    stripped: str = setting(
        "",
        "the path of a file in the bundle, or resources.pb#type/name, missing in every APK",
    )
    changed: str = setting(
        "",
        "the path of a file in the bundle, or resources.pb#type/name, different in every APK",
    )
    package: str = setting("", "the package in the APK, instead of the bundle's")
    code: int = setting(0, "the version code in the APK, instead of the bundle's")
    size: int = setting(
        0, "the least size of the APK in bytes, without its signing block"
    )
    ranges: bool = setting(
        True, "a Range is answered with that part; otherwise with the whole file"
    )
    etag: bool = setting(True, "the file has an ETag")
    digest: bool = setting(True, "the answer has an x-goog-hash")


@dataclass(frozen=True)
class _ListedApk:
    """An APK of the list. `list_name` is the field that has it, `key` the number of its signing
    key.
    """

    download: str
    list_name: str
    key: int
    plan: PlannedApk
    is_protected: bool


@dataclass
class _Work:
    """The APKs of one bundle. `since` is the time of the first request for the list, `looks` counts
    these requests, and `apks` has the bytes that were downloaded, by download id and settings.
    """

    since: float
    looks: int = 0
    apks: dict[tuple[str, Generation], bytes] = field(default_factory=dict, repr=False)


class GeneratedApksApi(Service):
    """The APKs of all live bundles. `clock` returns seconds since the epoch.

    The settings are read at each request, so that they can change while the emulator runs.
    """

    def __init__(self, store: PlayStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        for values in store.config.generated_apks.values():
            read_generation(values)
        self._works: dict[tuple[str, int], _Work] = {}
        self.routes = [
            Route("androidpublisher.generatedapks.list", "GET", _LIST, self._list),
            Route(
                "androidpublisher.generatedapks.download",
                "GET",
                _DOWNLOAD,
                self._download,
            ),
        ]

    def _generation(self, package: str) -> Generation:
        settings = self._store.config.generated_apks
        return read_generation(settings.get(package, settings.get(EVERY_APP, {})))

    def _artifact(self, request: Request) -> tuple[App, StoreArtifact]:
        app, code = (
            self._store.app(request.params["package"]),
            number_of(request.params["code"]),
        )
        if code not in app.live.artifacts:
            message = (
                f"No generated APKs were found for version {request.params['code']}."
            )
            raise ApiError(404, message, "notFound")
        return app, app.live.artifacts[code]

    def _list(self, request: Request) -> Response:
        app, artifact = self._artifact(request)
        generation = self._generation(app.package)
        work = self._works.setdefault(
            (app.package, artifact.code), _Work(self._clock())
        )
        waiting = (
            work.looks < generation.looks
            or self._clock() - work.since < generation.seconds
        )
        is_partial = work.looks < generation.looks + generation.partly
        work.looks += 1
        if artifact.kind == "apk" or generation.never or waiting:
            return json_response({})
        apks = _listed_apks(app.package, artifact, generation)
        if is_partial:
            apks = [apk for apk in apks if apk.list_name != _UNIVERSAL]
            apks = apks[: (len(apks) + 1) // 2]
        keys = [
            _signing_key(app.package, key, apks, generation)
            for key in range(generation.keys)
        ]
        return json_response({"generatedApks": keys})

    def _download(self, request: Request) -> Response:
        app, artifact = self._artifact(request)
        if request.query.get("alt") != "media":
            raise ApiError(400, "The media is downloaded with alt=media.", "badRequest")
        work = self._works.get((app.package, artifact.code))
        generation = self._generation(app.package)
        if work is None or artifact.kind == "apk":
            raise ApiError(404, "No such download.", "notFound")
        cached = (request.params["download"], generation)
        if cached not in work.apks:
            work.apks[cached] = _generated_apk(
                app.package, artifact, generation, cached[0]
            )
        return _media(request, work.apks[cached], generation)


def read_generation(values: Json) -> Generation:
    """Return the settings in a JSON object. Raises `ValueError` for an unknown name."""
    known = [field.name for field in fields(Generation)]
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(
            f"unknown key {', '.join(unknown)} in generated_apks; there are: {', '.join(known)}"
        )
    return Generation(**values)


_SPLITS, _STANDALONE, _UNIVERSAL, _SLICES = (
    "generatedSplitApks",
    "generatedStandaloneApks",
    "generatedUniversalApk",
    "generatedAssetPackSlices",
)
_UNPROTECTED_SPLITS, _UNPROTECTED_STANDALONE = (
    "unprotectedGeneratedSplitApks",
    "unprotectedGeneratedStandaloneApks",
)
_LISTS = {
    "split": _SPLITS,
    "standalone": _STANDALONE,
    "universal": _UNIVERSAL,
    "slice": _SLICES,
}


def _listed_apks(
    package: str, artifact: StoreArtifact, generation: Generation
) -> list[_ListedApk]:
    """Return every APK of the list, for all signing keys."""
    with _bundle(package, artifact) as bundle:
        plans = planned_apks(bundle, generation.variants)
    listed: list[tuple[str, PlannedApk, bool]] = []
    for plan in plans:
        is_protected = generation.protected and plan.kind != "slice"
        listed.append((_LISTS[plan.kind], plan, is_protected))
        if generation.protected and plan.kind == "split":
            listed.append((_UNPROTECTED_SPLITS, plan, False))
    if generation.protected:
        whole = plans[-1]
        for number in range(generation.unprotected):
            plan = replace(whole, kind="standalone", variant=number)
            listed.append((_UNPROTECTED_STANDALONE, plan, False))
    return [
        _ListedApk(f"{artifact.code}-{key}-{number}=", name, key, plan, is_protected)
        for key in range(generation.keys)
        for number, (name, plan, is_protected) in enumerate(listed)
    ]


def _signing_key(
    package: str, key: int, apks: Iterable[_ListedApk], generation: Generation
) -> dict[str, Json]:
    """Return what is listed for one signing key (GeneratedApksPerSigningKey)."""
    reported = hashlib.sha256(certificate(_signer(generation, key))).hexdigest()
    if generation.certificate and not key:
        reported = generation.certificate
    own = [apk for apk in apks if apk.key == key]
    listed: dict[str, Json] = {"certificateSha256Hash": reported}
    for apk in own:
        if apk.list_name == _UNIVERSAL:
            listed[_UNIVERSAL] = _metadata(apk)
        else:
            listed.setdefault(apk.list_name, []).append(_metadata(apk))
    listed["targetingInfo"] = _targeting_info(generation.package or package, own)
    return listed


def _metadata(apk: _ListedApk) -> dict[str, Json]:
    """Return what is listed for one APK. As in all of Google's JSON, empty values and zeros are
    left out.
    """
    plan = apk.plan
    metadata: dict[str, Json] = {"downloadId": apk.download}
    if plan.kind == "slice":
        metadata |= {"moduleName": plan.module, "sliceId": plan.module, "version": "1"}
    if plan.kind == "split":
        metadata |= {"moduleName": plan.module, "splitId": plan.split_id}
    if plan.kind in ("split", "standalone"):
        metadata["variantId"] = plan.variant
    return {name: value for name, value in metadata.items() if value}


def _targeting_info(package: str, apks: list[_ListedApk]) -> dict[str, Json]:
    """Return the TargetingInfo: the variants with their modules, and the asset packs."""
    variants: dict[int, dict[str, list[_ListedApk]]] = defaultdict(
        lambda: defaultdict(list)
    )
    slices: dict[str, list[_ListedApk]] = defaultdict(list)
    for apk in apks:
        if apk.list_name in (_SPLITS, _STANDALONE):
            variants[apk.plan.variant][apk.plan.module].append(apk)
        elif apk.list_name == _SLICES:
            slices[apk.plan.module].append(apk)
    info: dict[str, Json] = {"packageName": package}
    if variants:
        info["variant"] = [
            _variant(number, sets) for number, sets in sorted(variants.items())
        ]
    if slices:
        info["assetSliceSet"] = [
            {
                "assetModuleMetadata": {"name": name, "deliveryType": "ON_DEMAND"},
                "apkDescription": [_description(apk) for apk in members],
            }
            for name, members in slices.items()
        ]
    return info


def _variant(number: int, sets: Mapping[str, list[_ListedApk]]) -> dict[str, Json]:
    lowest = sets[BASE][0].plan.lowest_sdk
    variant: dict[str, Json] = {
        "targeting": {"sdkVersionTargeting": {"value": [{"min": lowest}]}},
        "apkSet": [
            {
                "moduleMetadata": {
                    "name": name,
                    "moduleType": "FEATURE_MODULE",
                    "deliveryType": "INSTALL_TIME",
                },
                "apkDescription": [_description(apk) for apk in members],
            }
            for name, members in sets.items()
        ],
    }
    if number:
        variant["variantNumber"] = number
    return variant


def _description(apk: _ListedApk) -> dict[str, Json]:
    plan = apk.plan
    description: dict[str, Json] = {
        "path": f"{apk.download}.apk",
        "targeting": {
            "sdkVersionTargeting": {"value": [{"min": plan.lowest_sdk}]},
            **_targeting(plan.configuration),
        },
    }
    if plan.kind == "standalone":
        description["standaloneApkMetadata"] = {"fusedModuleName": [BASE]}
        return description
    split = {"splitId": plan.split_id, "isMasterSplit": plan.configuration == MAIN}
    name = "assetSliceMetadata" if plan.kind == "slice" else "splitApkMetadata"
    description[name] = {key: value for key, value in split.items() if value}
    return description


def _targeting(configuration: Configuration) -> dict[str, Json]:
    """Return the member of ApkTargeting for a split of one configuration."""
    alias = configuration.suffix.upper()
    match configuration.dimension:
        case "abi":
            return {"abiTargeting": {"value": [{"alias": alias}]}}
        case "density":
            return {"screenDensityTargeting": {"value": [{"densityAlias": alias}]}}
        case "language":
            return {"languageTargeting": {"value": [configuration.value]}}
        case _:
            return {}


def _signer(generation: Generation, key: int) -> str:
    """Return the common name of the signer with this number."""
    return f"{generation.signer} {key + 1}" if key else generation.signer


def _generated_apk(
    package: str, artifact: StoreArtifact, generation: Generation, download: str
) -> bytes:
    """Return the bytes of the APK with a download id. Raises `ApiError` 404 for an unknown id."""
    for apk in _listed_apks(package, artifact, generation):
        if apk.download == download:
            break
    else:
        raise ApiError(404, "No such download.", "notFound")
    alterations = Alterations(
        apk.is_protected,
        generation.stripped,
        generation.changed,
        generation.package,
        generation.code,
        generation.size,
    )
    signing = Signing(
        _signer(generation, apk.key), "" if apk.key else generation.rotated
    )
    with _bundle(package, artifact) as bundle:
        return make_generated_apk(bundle, apk.plan, alterations, signing)


@contextmanager
def _bundle(package: str, artifact: StoreArtifact) -> Iterator[Path]:
    """Yield the path of the uploaded bundle, or of a specimen for a version that only the
    configuration has.
    """
    if artifact.path is not None:
        yield artifact.path
        return
    with tempfile.TemporaryDirectory(prefix="uploader-emulator-bundle-") as folder:
        path = Path(folder) / "app.aab"
        make_bundle(path, package, artifact.code, artifact.name or "1.0")
        yield path


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
