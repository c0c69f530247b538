"""bundletool as a witness, with which Google Play makes APKs of bundles: what it makes of a bundle
is never `changed`, and each changed byte is. Debian's apksigner tells the certificates.

bundletool's jar comes with `codemagic-cli-tools`, which other tests need as well.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from google_emulator.specimens import Build, bundle_contents, make_bundle
from google_emulator.specimens.manifests import field, number
from tests.support.android_tools import (
    PASSWORD,
    apk_certificates,
    certificate_of,
    make_key,
    run,
)
from tests.support.served_specimens import File
from uploader.files.android.served import ApkReport, Verdict, compare

pytestmark = pytest.mark.slow

ABIS = {
    "armeabi-v7a": 2,
    "arm64-v8a": 3,
    "x86_64": 5,
}  # with their numbers in targeting.proto
UNIVERSAL = "universal.apk"


@cache
def bundletool() -> Path:
    """The jar; skips the test where it is not installed."""
    package = find_spec("codemagic")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for jar in sorted(Path(folder).glob("data/jars/bundletool-all-*.jar")):
            return jar
    pytest.skip(
        "needs bundletool's jar as an independent witness: install codemagic-cli-tools"
    )


def native_libraries() -> bytes:
    """The description of the folders of libraries, as Gradle's plugin writes it (`native.pb`)."""
    folders = b""
    for abi, alias in ABIS.items():
        targeting = field(1, number(1, alias))
        folders += field(1, field(1, f"lib/{abi}".encode()) + field(2, targeting))
    return folders


@pytest.fixture(scope="module", params=[19, 24], ids=["old-devices", "new-devices"])
def bundle(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bundle with everything that splits are made for, from the lowest API level on."""
    contents = bundle_contents(
        abis=tuple(ABIS), densities=("mdpi", "hdpi", "xxhdpi"), languages=("de", "fr")
    )
    contents["base/native.pb"] = native_libraries()
    path = tmp_path_factory.mktemp("bundle") / "app.aab"
    build = Build(libraries=contents, min_sdk=request.param)
    make_bundle(path, "com.example.app", 42, "1.0", signed=False, build=build)
    return path


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The key that signs the APKs."""
    return make_key(tmp_path_factory.mktemp("key"))


@pytest.fixture(scope="module")
def made(bundle: Path, key: Path) -> dict[str, File]:
    """Every APK that bundletool makes of the bundle, by its name in the set."""
    apks: dict[str, File] = {}
    for mode in ("default", "universal"):
        output = bundle.with_name(f"{mode}.apks")
        signing = (f"--ks={key}", "--ks-key-alias=key", f"--ks-pass=pass:{PASSWORD}")
        places = (f"--bundle={bundle}", f"--output={output}", f"--mode={mode}")
        run("java", "-jar", bundletool(), "build-apks", *places, *signing)
        with zipfile.ZipFile(output) as archive:
            for name in archive.namelist():
                if name.endswith(".apk"):
                    apks[name] = File(name, archive.read(name))
    return apks


def sets(apks: dict[str, File]) -> list[list[File]]:
    """What is compared together: the splits of each variant, and each APK that is whole."""
    splits = [apk for name, apk in apks.items() if name.startswith("splits/")]
    others = [[apk] for name, apk in apks.items() if not name.startswith("splits/")]
    masters = [apk for apk in splits if "-master" in apk.name]
    configurations = [apk for apk in splits if apk not in masters]
    return [[master, *configurations] for master in masters] + others


def compared(bundle: Path, apks: dict[str, File]) -> list[Verdict]:
    """The verdicts on all sets."""
    built = File("app.aab", bundle.read_bytes())
    return [compare(built, together, (UNIVERSAL,)) for together in sets(apks)]


def test_what_bundletool_makes_is_never_changed(
    bundle: Path, made: dict[str, File]
) -> None:
    assert len(made) > 10
    verdicts = compared(bundle, made)
    findings = [
        one
        for verdict in verdicts
        for one in verdict.findings
        if one.state != "by-rule"
    ]
    assert [one for one in findings if one.state != "unverified"] == []
    assert [one for one in findings if one.entry.startswith("META-INF/")] == []
    assert {verdict.served for verdict in verdicts} <= {"same", "unverified"}


def reports(bundle: Path, made: dict[str, File]) -> list[ApkReport]:
    return [report for verdict in compared(bundle, made) for report in verdict.apks]


def test_the_certificates_are_those_that_apksigner_tells(
    bundle: Path, made: dict[str, File], key: Path, tmp_path: Path
) -> None:
    expected = certificate_of(key)
    for report in reports(bundle, made):
        assert report.certificate == expected, report
    for position, apk in enumerate(made.values()):
        path = tmp_path / f"{position}.apk"
        path.write_bytes(apk.data)
        assert apk_certificates(path) == [expected], apk.name


def is_dex(name: str) -> bool:
    return name.endswith(".dex")


def is_library(name: str) -> bool:
    return name.startswith("lib/")


def is_asset(name: str) -> bool:
    return name.startswith("assets/")


def is_picture(name: str) -> bool:
    return name.startswith("res/drawable")


@pytest.mark.parametrize("is_wanted", [is_dex, is_library, is_asset, is_picture])
def test_each_changed_byte_is_a_change(
    bundle: Path, made: dict[str, File], is_wanted: Callable[[str], bool]
) -> None:
    """In the middle of the first such file of every set that has one."""
    built = File("app.aab", bundle.read_bytes())
    changed = 0
    for together in sets(made):
        for place, apk in enumerate(together):
            entries = contents_of(apk)
            name = next(filter(is_wanted, entries), "")
            if not name:
                continue
            content = bytearray(entries[name])
            content[len(content) // 2] ^= 1
            altered = apk.with_entries({name: bytes(content)})
            apks = [*together[:place], altered, *together[place + 1 :]]
            verdict = compare(built, apks, (UNIVERSAL,))
            assert verdict.served == "changed", (apk.name, name)
            changed += 1
            break
    assert changed >= 2  # the universal APK, and a split


def contents_of(apk: File) -> dict[str, bytes]:
    """The entries of an APK that have any content."""
    with zipfile.ZipFile(io.BytesIO(apk.data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return {name: content for name, content in contents.items() if content}
