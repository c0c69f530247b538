"""The APKs that Google Play makes of a bundle: the list, what is in each, and what goes wrong."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from google_emulator.services.play.generated_files import (
    PROTECTION_CLASS,
    PROTECTION_LIBRARY,
)
from google_emulator.specimens import Build, bundle_contents, make_bundle, manifest_axml
from tests.google_emulator.conftest import StartEmulator
from tests.support.discovery import discovery
from tests.support.emulator_client import APP, PACKAGE, EmulatorClient
from uploader.files.android.apk_signature import verify_signer
from uploader.files.android.manifest import binary_elements

LIST = f"{APP}/generatedApks/42"
CONTENTS = bundle_contents(asset_packs=("levels",))
DEX = CONTENTS["base/dex/classes2.dex"]


def release(client: EmulatorClient, folder: Path, **build: Any) -> None:
    """Releases version 42 with contents that are split."""
    path = folder / "app.aab"
    given = {"libraries": CONTENTS, "min_sdk": 19, **build}
    make_bundle(path, PACKAGE, 42, "1.0", build=Build(**given))
    edit = client.edit()
    client.upload(f"{edit}/bundles", path.read_bytes())
    reply = client.request("POST", f"{edit}:commit")
    assert reply.status == 200, reply.body


def keys_of(client: EmulatorClient) -> list[dict[str, Any]]:
    """What is listed, key by key."""
    reply = client.request("GET", LIST)
    assert reply.status == 200, reply.body
    found = reply.json.get("generatedApks", [])
    assert isinstance(found, list)
    return found


def splits_of(
    key: Mapping[str, Any], name: str = "generatedSplitApks"
) -> dict[str, str]:
    """The download ids of the splits by split id; that of the main split is empty."""
    return {one.get("splitId", ""): one["downloadId"] for one in key[name]}


def files_of(client: EmulatorClient, download: str) -> dict[str, bytes]:
    """The files of an APK, whose signatures have to hold."""
    reply = client.request("GET", f"{LIST}/downloads/{download}:download?alt=media")
    assert reply.status == 200, reply.body
    assert verify_signer(io.BytesIO(reply.body)).sha256
    with zipfile.ZipFile(io.BytesIO(reply.body)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def own(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files but for what every APK has of its own."""
    return {
        name: data
        for name, data in files.items()
        if not name.startswith("META-INF/CERT.")
        and name
        not in ("AndroidManifest.xml", "META-INF/MANIFEST.MF", "stamp-cert-sha256")
    }


def attributes_of(files: Mapping[str, bytes], element: str) -> dict[str, Any]:
    """The attributes of the first element of this name in the manifest."""
    for name, attributes in binary_elements(files["AndroidManifest.xml"]):
        if name == element:
            return dict(attributes)
    raise AssertionError(element)


# The list


def test_every_kind_of_apk_is_listed(client: EmulatorClient, tmp_path: Path) -> None:
    release(client, tmp_path)
    (key,) = keys_of(client)
    assert list(splits_of(key)) == [
        "",
        "config.arm64_v8a",
        "config.armeabi_v7a",
        *(f"config.{one}" for one in ("hdpi", "ldpi", "mdpi", "tvdpi")),
        *(f"config.{one}" for one in ("xhdpi", "xxhdpi", "xxxhdpi")),
        "config.de",
    ]
    assert len(key["generatedStandaloneApks"]) == 2
    (asset_slice,) = key["generatedAssetPackSlices"]
    assert (asset_slice["moduleName"], asset_slice["version"]) == ("levels", "1")
    assert key["generatedUniversalApk"]["downloadId"]
    assert "unprotectedGeneratedSplitApks" not in key
    assert "generatedRecoveryModules" not in key


def test_standalone_apks_are_for_devices_without_splits_alone(
    client: EmulatorClient, tmp_path: Path
) -> None:
    release(client, tmp_path, min_sdk=21)
    assert "generatedStandaloneApks" not in keys_of(client)[0]


@pytest.mark.parametrize(
    "generation", [{}, {"protected": True, "keys": 2, "variants": 2}]
)
def test_the_list_is_what_the_discovery_document_describes(
    start_emulator: StartEmulator, tmp_path: Path, generation: dict[str, Any]
) -> None:
    """Every member is there, with a value of its type."""
    client = start_emulator(generated_apks={"*": generation})
    release(client, tmp_path)
    schemas = discovery("androidpublisher.v3").schemas
    answer = {"generatedApks": keys_of(client)}
    assert not list(schemas.problems(answer, {"$ref": "GeneratedApksListResponse"}))


def test_targeting_names_the_download_of_each_apk(
    client: EmulatorClient, tmp_path: Path
) -> None:
    release(client, tmp_path)
    (key,) = keys_of(client)
    by_path = {
        apk["path"]: apk
        for variant in key["targetingInfo"]["variant"]
        for module in variant["apkSet"]
        for apk in module["apkDescription"]
    }
    splits = splits_of(key)
    library = by_path[f"{splits['config.arm64_v8a']}.apk"]["targeting"]["abiTargeting"]
    assert library["value"] == [{"alias": "ARM64_V8A"}]
    picture = by_path[f"{splits['config.hdpi']}.apk"]["targeting"][
        "screenDensityTargeting"
    ]
    assert picture["value"] == [{"densityAlias": "HDPI"}]
    assert by_path[f"{splits['']}.apk"]["splitApkMetadata"] == {"isMasterSplit": True}


def test_every_signing_key_signs_apks_of_its_own(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    client = start_emulator(generated_apks={"*": {"keys": 2}})
    release(client, tmp_path)
    for key in keys_of(client):
        download = key["generatedUniversalApk"]["downloadId"]
        reply = client.request("GET", f"{LIST}/downloads/{download}:download?alt=media")
        assert (
            verify_signer(io.BytesIO(reply.body)).sha256 == key["certificateSha256Hash"]
        )


# What is in them


def test_files_go_where_bundletool_puts_them(
    client: EmulatorClient, tmp_path: Path
) -> None:
    """The folders dex and root are left out, libraries and pictures go into their splits."""
    release(client, tmp_path)
    splits = splits_of(keys_of(client)[0])
    main = own(files_of(client, splits[""]))
    assert main.pop("res/xml/splits0.xml")
    assert b"Hello" in main.pop("resources.arsc")
    assert main == {
        "classes.dex": CONTENTS["base/dex/classes.dex"],
        "classes2.dex": DEX,
        "META-INF/services/com.example.Service": b"com.example.Implementation\n",
        "assets/data.bin": CONTENTS["base/assets/data.bin"],
        "assets/payload.bin": b"",
    }
    library = own(files_of(client, splits["config.arm64_v8a"]))
    assert library == {
        "lib/arm64-v8a/libapp.so": CONTENTS["base/lib/arm64-v8a/libapp.so"]
    }
    picture = own(files_of(client, splits["config.xxhdpi"]))
    assert list(picture) == ["res/drawable-xhdpi/logo.png", "resources.arsc"]
    assert (
        b"Hello in de" in own(files_of(client, splits["config.de"]))["resources.arsc"]
    )


def test_a_configuration_split_has_a_manifest_of_its_own(
    client: EmulatorClient, tmp_path: Path
) -> None:
    release(client, tmp_path)
    splits = splits_of(keys_of(client)[0])
    manifest = attributes_of(files_of(client, splits["config.arm64_v8a"]), "manifest")
    assert manifest["package"] == PACKAGE
    assert manifest["versionCode"] == "42"
    assert (
        b"config.arm64_v8a"
        in files_of(client, splits["config.arm64_v8a"])["AndroidManifest.xml"]
    )


def test_the_main_manifest_is_that_of_the_bundle(
    client: EmulatorClient, tmp_path: Path
) -> None:
    """All that an APK's own manifest would have, and what says that it is split."""
    release(client, tmp_path, permissions=("android.permission.INTERNET",))
    manifest = files_of(client, splits_of(keys_of(client)[0])[""])[
        "AndroidManifest.xml"
    ]
    plain = manifest_axml(
        PACKAGE,
        42,
        "1.0",
        Build(min_sdk=19, permissions=("android.permission.INTERNET",)),
    )
    names = [name for name, _ in binary_elements(manifest)]
    assert [name for name in names if name != "meta-data"] == [
        name for name, _ in binary_elements(plain)
    ]
    assert b"base__abi,base__density" in manifest
    assert b"com.android.vending.splits.required" in manifest
    assert b"com.android.stamp.source" in manifest


def test_whole_apks_have_everything(client: EmulatorClient, tmp_path: Path) -> None:
    """The universal one for every ABI, a standalone one for its own."""
    release(client, tmp_path)
    (key,) = keys_of(client)
    universal = own(files_of(client, key["generatedUniversalApk"]["downloadId"]))
    assert universal["classes2.dex"] == DEX
    assert {"lib/arm64-v8a/libapp.so", "lib/armeabi-v7a/libapp.so"} <= set(universal)
    assert {"res/drawable-hdpi/logo.png", "res/drawable-xhdpi/logo.png"} <= set(
        universal
    )
    standalone = own(files_of(client, key["generatedStandaloneApks"][0]["downloadId"]))
    assert set(universal) - set(standalone) == {"lib/armeabi-v7a/libapp.so"}


def test_an_asset_pack_becomes_a_slice(client: EmulatorClient, tmp_path: Path) -> None:
    release(client, tmp_path)
    (asset_slice,) = keys_of(client)[0]["generatedAssetPackSlices"]
    files = files_of(client, asset_slice["downloadId"])
    assert own(files) == {"assets/level.bin": CONTENTS["levels/assets/level.bin"]}
    assert attributes_of(files, "manifest")["package"] == PACKAGE
    # It is fetched on demand, so it has no version code.
    assert "versionCode" not in attributes_of(files, "manifest")


# What the settings change


def test_protection_rewrites_the_code_and_adds_a_wrapper(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    """The APKs without it are listed beside the protected ones."""
    client = start_emulator(generated_apks={"*": {"protected": True}})
    release(client, tmp_path)
    (key,) = keys_of(client)
    main = files_of(client, splits_of(key)[""])
    assert main["classes2.dex"] != DEX
    assert "classes3.dex" in main
    assert PROTECTION_CLASS.encode() in main["AndroidManifest.xml"]
    library = files_of(client, splits_of(key)["config.arm64_v8a"])
    assert f"lib/arm64-v8a/{PROTECTION_LIBRARY}" in library
    unprotected = splits_of(key, "unprotectedGeneratedSplitApks")
    assert list(unprotected) == list(splits_of(key))
    assert files_of(client, unprotected[""])["classes2.dex"] == DEX
    (standalone,) = key["unprotectedGeneratedStandaloneApks"]
    assert files_of(client, standalone["downloadId"])["classes2.dex"] == DEX


def test_protection_can_be_switched_on_while_it_runs(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    client = start_emulator(generated_apks={"*": {}})
    release(client, tmp_path)
    download = splits_of(keys_of(client)[0])[""]
    assert files_of(client, download)["classes2.dex"] == DEX
    client.emulator.config.generated_apks["*"] = {"protected": True}
    assert files_of(client, splits_of(keys_of(client)[0])[""])["classes2.dex"] != DEX


def test_a_file_is_stripped_from_every_apk(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    client = start_emulator(generated_apks={"*": {"stripped": "base/dex/classes2.dex"}})
    release(client, tmp_path)
    (key,) = keys_of(client)
    for download in (splits_of(key)[""], key["generatedUniversalApk"]["downloadId"]):
        assert "classes2.dex" not in files_of(client, download)


def test_one_byte_of_one_file_is_changed(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    client = start_emulator(generated_apks={"*": {"changed": "base/dex/classes2.dex"}})
    release(client, tmp_path)
    main = files_of(client, splits_of(keys_of(client)[0])[""])
    differences = [
        one
        for one, other in zip(main["classes2.dex"], DEX, strict=True)
        if one != other
    ]
    assert len(differences) == 1
    assert main["classes.dex"] == CONTENTS["base/dex/classes.dex"]


def test_some_apks_are_found_first_and_the_rest_later(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    client = start_emulator(generated_apks={"*": {"looks": 1, "partly": 1}})
    release(client, tmp_path)
    assert keys_of(client) == []
    (first,) = keys_of(client)
    assert "generatedUniversalApk" not in first
    (whole,) = keys_of(client)
    assert (
        0 < len(first.get("generatedSplitApks", [])) < len(whole["generatedSplitApks"])
    )
    assert whole["generatedUniversalApk"]


def test_a_download_that_is_not_listed_is_not_there(
    client: EmulatorClient, tmp_path: Path
) -> None:
    release(client, tmp_path)
    keys_of(client)
    assert (
        client.request("GET", f"{LIST}/downloads/other:download?alt=media").status
        == 404
    )
