"""What is told of a build before anything is sent: refused, warned or neither, as Google's own
tools see the file.
"""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from google_emulator.specimens import (
    Build,
    make_apk,
    make_bundle,
    manifest_axml,
    manifest_proto,
)
from google_emulator.specimens.manifests import field, number
from google_emulator.specimens.signature_writer import DEBUG, certificate, pkcs7
from tests.support import android_tools
from tests.support.job import Job
from uploader.errors import Problems
from uploader.files.android import manifest, preflight
from uploader.files.android.manifest import Manifest, NativeCode, segment_alignment
from uploader.files.artifacts import from_path, inspect

PACKAGE = "com.example.app"
PLAY = {"target": "play", "tracks": "internal", "files": "app.*", "max-retries": "0"}


def elf(*alignments: int) -> bytes:
    """A 64-bit library with LOAD segments that are aligned so, and nothing in them."""
    header = struct.pack(
        "<2HI3QI6H", 3, 183, 1, 0, 64, 0, 0, 64, 56, 1 + len(alignments), 0, 0, 0
    )
    # PT_PHDR, whose alignment does not matter
    segments = [struct.pack("<2I6Q", 6, 4, 64, 64, 64, 56, 56, 8)]
    segments += [
        struct.pack("<2I6Q", 1, 5, 0, 0, 0, 64, 64, alignment)
        for alignment in alignments
    ]
    return b"\x7fELF\x02\x01\x01" + bytes(9) + header + b"".join(segments)


WIDE, NARROW = elf(0x4000, 0x10000), elf(0x4000, 0x1000)


def read(path: Path) -> Manifest:
    """What the file at the path says of itself."""
    with path.open("rb") as file:
        return manifest.read_manifest(file, path.name)


def native(
    folder: Path, libraries: dict[str, bytes], *, target: int = 36
) -> NativeCode:
    """What is found of a bundle's libraries."""
    make_bundle(
        folder / "a.aab",
        PACKAGE,
        7,
        "7.0",
        build=Build(libraries=libraries, target_sdk=target),
    )
    return read(folder / "a.aab").native


def warnings(*paths: Path) -> list[str]:
    """What a release of these files is warned of, without problems."""
    found = Problems()
    preflight.check_release(
        [inspect(from_path(path, path.name)) for path in paths], found
    )
    assert not list(found)
    return found.warnings


# Refused: in a run, before anything is sent

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "unsigned": ({"signed": False}, "is not signed", "artifact-not-signed"),
    "debuggable": (
        {"build": Build(debuggable=True)},
        "is debuggable",
        "artifact-debuggable",
    ),
    "for tests": (
        {"build": Build(test_only=True)},
        "is marked testOnly",
        "artifact-test-only",
    ),
    "debug key": (
        {"build": Build(signer=DEBUG)},
        "CN=Android Debug",
        "artifact-debug-certificate",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_bundle, make_apk])
@pytest.mark.parametrize("name", REFUSED)
def test_a_release_refuses_what_internal_sharing_takes(
    job: Job, name: str, make: Any
) -> None:
    """A build that is not for users ends a release with exit 2, and goes to testers."""
    options, words, failure = REFUSED[name]
    suffix = "aab" if make is make_bundle else "apk"
    make(job.workspace / f"app.{suffix}", PACKAGE, 7, "7.0", **options)
    ended = job.run(PLAY)
    assert (ended.code, ended.outputs["failure"]) == (2, failure), ended.log
    assert f"files: app.{suffix} is " in ended.log
    assert words in ended.log
    assert "play-internal-sharing" in ended.log
    assert not job.emulator.state()["requests"]
    job.succeed({"target": "play-internal-sharing", "files": f"app.{suffix}"})


@pytest.mark.slow
def test_a_build_that_real_tools_signed_is_released(job: Job) -> None:
    """The certificate that keytool tells is in the plan and in the results, and is the one that was
    expected.
    """
    store = android_tools.make_key(job.workspace.parent)
    make_bundle(job.workspace / "app.aab", PACKAGE, 7, "7.0", signed=False)
    android_tools.jarsign(job.workspace / "app.aab", store)
    make_apk(job.workspace / "app.apk", PACKAGE, 8, "8.0", signed=False)
    android_tools.apksign(job.workspace / "app.apk", store, 2, 3)
    expected = android_tools.certificate_of(store)
    fingerprint = ":".join(re.findall("..", expected)).upper()
    ended = job.succeed({**PLAY, "expected-certificate": fingerprint})
    assert ended.log.count(f": signed with certificate {fingerprint[:23]}…") == 2
    assert [result["certificate_sha256"] for result in ended.results] == [
        expected,
        expected,
    ]


@pytest.mark.slow
def test_a_debug_key_of_real_tools_is_refused(job: Job) -> None:
    """As Android's Gradle plugin makes one, in an APK that apksigner signed."""
    store = android_tools.make_key(
        job.workspace.parent, "C=US, O=Android, CN=Android Debug"
    )
    make_apk(job.workspace / "app.apk", PACKAGE, 7, "7.0", signed=False)
    android_tools.apksign(job.workspace / "app.apk", store, 2)
    ended = job.run(PLAY)
    assert (ended.code, ended.outputs["failure"]) == (
        2,
        "artifact-debug-certificate",
    ), ended.log


@pytest.mark.parametrize("target", ["play", "play-internal-sharing"])
def test_another_certificate_than_the_expected_one_is_refused(
    job: Job, target: str
) -> None:
    """Wherever it goes: both certificates are named, and nothing is sent."""
    make_bundle(job.workspace / "app.aab", PACKAGE, 7, "7.0")
    ended = job.run({**PLAY, "target": target, "expected-certificate": "AB" * 32})
    assert (ended.code, ended.outputs["failure"]) == (2, "wrong-signing-key"), ended.log
    assert f"not with {':'.join(['AB'] * 32)}" in ended.log
    assert not job.emulator.state()["requests"]


@pytest.mark.parametrize("given", ["ab" * 31, "ab" * 20, "CN=Release", "zz" * 32])
def test_what_is_no_sha_256_is_a_mistake(job: Job, given: str) -> None:
    """SHA-1 among it, which old documents show."""
    make_bundle(job.workspace / "app.aab", PACKAGE, 7, "7.0")
    ended = job.fail(2, {**PLAY, "expected-certificate": given})
    assert "64 hexadecimal digits" in ended.log


# Warned of


def test_each_warning_names_the_file_the_day_and_the_source(job: Job) -> None:
    """All of them in one run, which goes on."""
    libraries = {"base/lib/armeabi-v7a/liba.so": b"", "base/lib/x86_64/liba.so": NARROW}
    make_bundle(
        job.workspace / "app.aab",
        PACKAGE,
        7,
        "7.0",
        build=Build(libraries=libraries, target_sdk=35),
    )
    ended = job.succeed({**PLAY, "tracks": "internal"})
    for words, rule in (
        (
            "app.aab targets API level 35; Google Play asks for 36 or higher",
            preflight.TARGET_API,
        ),
        (
            "app.aab has 1 64-bit library with segments aligned to less than 16 KB",
            preflight.PAGE_SIZE,
        ),
        (
            "`files` has native code for armeabi-v7a but none for arm64-v8a",
            preflight.SIXTY_FOUR_BIT,
        ),
    ):
        (line,) = (
            line
            for line in ended.log.splitlines()
            if line.startswith("::warning") and words in line
        )
        assert f" from {rule.since} on" in line
        assert urlsplit(rule.source).path in line


@pytest.mark.parametrize(
    ("feature", "least"),
    [
        ("android.hardware.type.watch", 35),
        ("android.hardware.type.automotive", 35),
        ("android.software.leanback", 34),
        ("android.hardware.camera", 36),
    ],
)
@pytest.mark.parametrize("kind", ["apk", "aab"])
def test_the_api_level_that_is_asked_for_is_that_of_the_form_factor(
    tmp_path: Path, kind: str, feature: str, least: int
) -> None:
    """A feature that is not required makes no other form factor."""
    path = tmp_path / f"a.{kind}"
    for target, required, warned in (
        (least, True, False),
        (least - 1, True, True),
        (least, False, least < 36),
    ):
        made = Build(target_sdk=target, features={feature: required})
        (make_apk if kind == "apk" else make_bundle)(
            path, PACKAGE, 7, "7.0", build=made
        )
        assert (
            any("targets API level" in warning for warning in warnings(path)) == warned
        )


def test_the_other_width_may_be_in_another_file(tmp_path: Path) -> None:
    """One release of two APKs, each for its devices."""
    for abi in ("x86", "x86_64"):
        libraries = {f"lib/{abi}/liba.so": WIDE}
        make_apk(
            tmp_path / f"{abi}.apk",
            PACKAGE,
            7,
            "7.0",
            build=Build(libraries=libraries, target_sdk=36),
        )
    assert any(
        "none for x86_64" in warning for warning in warnings(tmp_path / "x86.apk")
    )
    together = warnings(tmp_path / "x86.apk", tmp_path / "x86_64.apk")
    assert not any("native code" in warning for warning in together)


def test_under_aligned_libraries_are_counted_and_a_few_are_named(
    tmp_path: Path,
) -> None:
    """Only those of 64 bits, and only where the app targets Android 15 or later."""
    libraries = {f"m/lib/arm64-v8a/lib{index}.so": NARROW for index in range(5)}
    libraries |= {"m/lib/armeabi-v7a/lib0.so": NARROW}
    assert len(native(tmp_path, libraries).under_aligned) == 5
    (warning,) = warnings(tmp_path / "a.aab")
    assert "has 5 64-bit libraries with segments" in warning
    assert (
        "(m/lib/arm64-v8a/lib0.so, m/lib/arm64-v8a/lib1.so, m/lib/arm64-v8a/lib2.so and 2 others)"
        in warning
    )
    native(tmp_path, libraries, target=34)
    assert all(
        "targets API level" in warning for warning in warnings(tmp_path / "a.aab")
    )


def test_gcc_and_this_reader_agree_about_segments(tmp_path: Path) -> None:
    """A real library for each page size, by a real linker, compressed and not; readelf is the
    witness.
    """
    (tmp_path / "a.c").write_text("int answer(void) { return 42; }\n")
    libraries = {}
    for size in (0x1000, 0x4000, 0x10000):
        path = tmp_path / f"{size}.so"
        android_tools.run(
            "gcc",
            "-shared",
            "-fPIC",
            f"-Wl,-z,max-page-size={size}",
            "-o",
            path,
            tmp_path / "a.c",
        )
        headers = android_tools.run("readelf", "--segments", "--wide", path)
        loaded = [
            int(line.split()[-1], 16)
            for line in headers.splitlines()
            if line.split()[:1] == ["LOAD"]
        ]
        assert segment_alignment(path.read_bytes()[:4096]) == min(loaded) == size
        libraries[f"base/lib/x86_64/{size}.so"] = path.read_bytes()
    assert native(tmp_path, libraries).under_aligned == ("base/lib/x86_64/4096.so",)
    with zipfile.ZipFile(tmp_path / "b.aab", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("BundleConfig.pb", b"")
        archive.writestr(
            "base/manifest/AndroidManifest.xml", manifest_proto(PACKAGE, 7, "7.0")
        )
        for name, content in libraries.items():
            archive.writestr(name, content)
    assert read(tmp_path / "b.aab").native.under_aligned == ("base/lib/x86_64/4096.so",)


@pytest.mark.parametrize("boundary", [4, 16384])
def test_zipalign_and_this_reader_agree_about_places(
    tmp_path: Path, boundary: int
) -> None:
    """An uncompressed library of an APK has to begin where a page does; a compressed one is
    unpacked first.
    """
    with zipfile.ZipFile(tmp_path / "raw.apk", "w") as archive:
        archive.writestr("AndroidManifest.xml", manifest_axml(PACKAGE, 7, "7.0"))
        archive.writestr("lib/arm64-v8a/libstored.so", WIDE)
        archive.writestr("lib/arm64-v8a/libpacked.so", WIDE, zipfile.ZIP_DEFLATED)
    android_tools.run(
        "zipalign", "-f", boundary, tmp_path / "raw.apk", tmp_path / "app.apk"
    )
    misplaced = () if boundary == 16384 else ("lib/arm64-v8a/libstored.so",)
    assert read(tmp_path / "app.apk").native.misplaced == misplaced
    checked = android_tools.run(
        "zipalign", "-c", "-v", 16384, tmp_path / "app.apk", check=False
    )
    assert ("libstored.so (BAD" in checked) == bool(misplaced)


def test_a_bundle_may_ask_for_narrow_pages(tmp_path: Path) -> None:
    """Its BundleConfig.pb says how the APKs that are made from it are laid out."""
    for enabled, alignment, under_aligned in (
        (1, 1, True),
        (1, 2, False),
        (1, 0, False),
        (0, 1, False),
    ):
        config = field(2, field(2, number(1, enabled) + number(2, alignment)))
        with zipfile.ZipFile(tmp_path / "a.aab", "w") as archive:
            archive.writestr("BundleConfig.pb", config)
            archive.writestr(
                "base/manifest/AndroidManifest.xml", manifest_proto(PACKAGE, 7, "7.0")
            )
            archive.writestr("base/lib/arm64-v8a/liba.so", WIDE)
            archive.writestr("META-INF/CERT.SF", b"")
            archive.writestr("META-INF/CERT.RSA", pkcs7(certificate()))
        assert read(tmp_path / "a.aab").native.packed_under_aligned == under_aligned
        assert (
            any(
                "BundleConfig.pb" in warning for warning in warnings(tmp_path / "a.aab")
            )
            == under_aligned
        )


# What aapt2 says


@pytest.mark.parametrize(
    "build", [Build(), Build(debuggable=True, target_sdk=21), Build(test_only=True)]
)
def test_aapt2_reads_the_same_facts(tmp_path: Path, build: Build) -> None:
    """SDKs, permissions, features, ABIs, and whether it is a debug or a test build."""
    wanted = {"android.hardware.camera": True, "android.hardware.nfc": False}
    permissions = ("android.permission.CAMERA", "com.example.OWN")
    axml = manifest_axml(
        PACKAGE,
        7,
        "7.0",
        Build(build.debuggable, build.test_only, build.target_sdk, permissions, wanted),
    )
    with zipfile.ZipFile(tmp_path / "a.apk", "w") as archive:
        archive.writestr("AndroidManifest.xml", axml)
        archive.writestr("lib/x86/liba.so", b"")
    found, words = read(tmp_path / "a.apk"), android_tools.badging(tmp_path / "a.apk")
    assert re.findall(r"^sdkVersion:'(\d+)'", words, re.MULTILINE) == [
        str(found.min_sdk)
    ]
    assert re.findall(r"^targetSdkVersion:'(\d+)'", words, re.MULTILINE) == [
        str(found.target_sdk)
    ]
    assert (
        tuple(re.findall(r"^uses-permission: name='([^']+)'", words, re.MULTILINE))
        == found.permissions
    )
    assert (found.features, found.optional_features) == (
        ("android.hardware.camera",),
        ("android.hardware.nfc",),
    )
    assert "uses-feature: name='android.hardware.camera'" in words
    assert "uses-feature-not-required: name='android.hardware.nfc'" in words
    assert ("application-debuggable" in words) == found.debuggable == build.debuggable
    assert ("testOnly='-1'" in words) == found.test_only == build.test_only
    assert re.findall(r"^native-code: '([^']+)'", words, re.MULTILINE) == list(
        found.native.abis
    )
