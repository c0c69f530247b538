"""What Google Play refuses of artifacts, languages, countries and apps in review, in its words
where they are known.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from google_emulator.specimens import Build, make_apk, make_bundle
from google_emulator.specimens.signature_writer import (
    V2,
    V3,
    certificate,
    scheme_value,
    with_signing_block,
)
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import PACKAGE, EmulatorClient, Reply
from tests.support.real_artifacts import LARGE, real_apk

BUNDLE_UNSIGNED = (
    "The Android App Bundle was not signed. Please sign the bundle using jarsigner."
)
APK_UNSIGNED = "APK signature is invalid or does not exist."
DEBUGGABLE = "APK is marked as debuggable."
DEBUG_SIGNED = (
    "You uploaded an APK or Android App Bundle that was signed in debug mode."
)
LIVE = {PACKAGE: {"artifacts": [{"versionCode": 7}]}}


def upload(client: EmulatorClient, kind: str, data: bytes) -> Reply:
    return client.upload(f"{client.edit()}/{kind}s", data)


def made(folder: Path, kind: str, **options: Any) -> bytes:
    make = make_bundle if kind == "bundle" else make_apk
    make(folder / "made", PACKAGE, 8, "1.8", **options)
    return (folder / "made").read_bytes()


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("bundle", {"signed": False}, BUNDLE_UNSIGNED),
        ("apk", {"signed": False}, APK_UNSIGNED),
        ("bundle", {"build": Build(debuggable=True)}, DEBUGGABLE),
        ("apk", {"build": Build(debuggable=True)}, DEBUGGABLE),
        ("bundle", {"build": Build(signer="Android Debug")}, DEBUG_SIGNED),
        ("apk", {"build": Build(signer="Android Debug")}, DEBUG_SIGNED),
    ],
)
def test_what_was_not_built_for_release_is_refused(
    client: EmulatorClient,
    tmp_path: Path,
    kind: str,
    options: dict[str, Any],
    words: str,
) -> None:
    """403 PERMISSION_DENIED, and the version code is not used up."""
    reply = upload(client, kind, made(tmp_path, kind, **options))
    assert (reply.status, reply.json["error"]["status"], reply.reason) == (
        403,
        "PERMISSION_DENIED",
        "forbidden",
    )
    assert reply.message.startswith(words)
    assert upload(client, kind, made(tmp_path, kind)).json["versionCode"] == 8


@pytest.mark.parametrize("scheme", [V2, V3])
def test_an_apk_may_be_signed_in_its_signing_block_alone(
    client: EmulatorClient, tmp_path: Path, scheme: int
) -> None:
    """As build tools do it where no Android before 7.0 is meant; a debug key is seen there, too."""
    apk = made(tmp_path, "apk", signed=False)

    def signed(name: str) -> Reply:
        value = scheme_value([certificate(name)], scheme=scheme)
        return upload(client, "apk", with_signing_block(apk, (scheme, value)))

    assert signed("Android Debug").message.startswith(DEBUG_SIGNED)
    assert signed("Specimen Release").status == 200


@pytest.mark.slow
def test_what_real_tools_signed_is_accepted(
    client: EmulatorClient, tmp_path: Path
) -> None:
    """An APK by apksigner, and one that nobody here built: of that, its debug build is what is
    refused.
    """
    large = real_apk(LARGE).read_bytes()
    path = "/androidpublisher/v3/applications/io.appium.uiautomator2.server/edits"
    edit = client.request("POST", path, json={}).json["id"]
    assert client.upload(f"{path}/{edit}/apks", large).message == DEBUGGABLE
    if not (shutil.which("keytool") and shutil.which("apksigner")):
        pytest.skip("needs keytool and apksigner to sign an APK")
    (tmp_path / "app.apk").write_bytes(made(tmp_path, "apk", signed=False))
    key = [
        "-keystore",
        "key.p12",
        "-storepass",
        "secret",
        "-alias",
        "a",
        "-dname",
        "CN=Somebody",
        "-keyalg",
        "RSA",
    ]
    subprocess.run(
        ["keytool", "-genkeypair", *key], cwd=tmp_path, check=True, capture_output=True
    )
    sign = [
        "apksigner",
        "sign",
        "--ks",
        "key.p12",
        "--ks-pass",
        "pass:secret",
        "--min-sdk-version",
        "24",
        "app.apk",
    ]
    subprocess.run(sign, cwd=tmp_path, check=True, capture_output=True)
    assert upload(client, "apk", (tmp_path / "app.apk").read_bytes()).status == 200


@pytest.mark.parametrize(
    "language", ["de", "en", "ar-SA", "gl", "sr-RS", "he-IL", "en_US", "english!"]
)
def test_a_language_that_google_play_does_not_have_is_refused(
    start_emulator: StartEmulator, language: str
) -> None:
    """In a listing, among its images, in release notes and as the default:
    element-hq/element-android#6793.
    """
    client = start_emulator(apps=LIVE)
    edit = client.edit()
    release = {
        "status": "completed",
        "versionCodes": [7],
        "releaseNotes": [{"language": language, "text": "x"}],
    }
    track = {"track": "beta", "releases": [release]}
    for reply in (
        client.request("GET", f"{edit}/listings/{language}"),
        client.request("PUT", f"{edit}/listings/{language}", json={"title": "T"}),
        client.request("GET", f"{edit}/listings/{language}/icon"),
        client.request("PUT", f"{edit}/tracks/beta", json=track),
        client.request("PATCH", f"{edit}/details", json={"defaultLanguage": language}),
    ):
        message = f"The requested language is not currently supported: {language}"
        assert (reply.status, reply.reason, reply.message) == (
            400,
            "badRequest",
            message,
        )


@pytest.mark.parametrize(("fraction", "status"), [(0.1, 400), (0.2, 200), (0.5, 200)])
def test_a_rollout_does_not_go_down(
    start_emulator: StartEmulator, fraction: float, status: int
) -> None:
    """What a share of the users has already is taken from nobody: the fraction of a release in
    progress only grows.
    """
    rollout = {"versionCodes": ["7"], "status": "inProgress", "userFraction": 0.2}
    client = start_emulator(
        apps={PACKAGE: {**LIVE[PACKAGE], "tracks": {"production": [rollout]}}}
    )
    wanted = {
        "track": "production",
        "releases": [{**rollout, "userFraction": fraction}],
    }
    assert (
        client.request("PUT", f"{client.edit()}/tracks/production", json=wanted).status
        == status
    )
