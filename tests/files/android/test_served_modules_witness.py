"""bundletool as a witness for bundles of several modules: what it makes of features, of instant
apps and of the settings for resources is never `changed`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from google_emulator.specimens import bundle_contents
from google_emulator.specimens.manifests import ANDROID, field, number, varint
from tests.files.android.test_served_witness import UNIVERSAL, bundletool, sets
from tests.support.android_tools import run
from tests.support.served_specimens import File, make_zip
from uploader.files.android.listed_apk import ListedApk
from uploader.files.android.served import compare, identify
from uploader.files.android.served_files import ManifestBudget

pytestmark = pytest.mark.slow

DISTRIBUTION = "http://schemas.android.com/apk/distribution"
IDS = {
    "name": 0x01010003,
    "value": 0x01010024,
    "exported": 0x01010010,
    "authorities": 0x01010018,
    "minSdkVersion": 0x0101020C,
    "targetSdkVersion": 0x01010270,
    "versionCode": 0x0101021B,
    "versionName": 0x0101021C,
    "splitName": 0x01010549,
}
PACKAGE = "com.example.app"
TITLE = "@7f010000"  # a text of the base, which a feature needs


def attribute(namespace: str, name: str, value: str | int) -> bytes:
    """An attribute with a text, a number or a boolean, or behind `@` a reference."""
    written = field(1, namespace.encode()) if namespace else b""
    written += field(2, name.encode())
    if namespace == ANDROID:
        written += varint(5 << 3) + varint(IDS[name])
    written += field(3, str(value).lower().encode())
    if isinstance(value, bool):
        item = field(7, number(8, int(value)))
    elif isinstance(value, int):
        item = field(7, number(6, value))
    elif value.startswith("@"):
        item = field(1, number(2, int(value[1:], 16)))
    else:
        item = field(2, field(1, value.encode()))
    return field(4, written + field(6, item))


def element(tag: str, /, *children: bytes, **attributes: str | int) -> bytes:
    """An element with attributes of Android's namespace."""
    return _element(tag, children, "", attributes)


def _element(
    tag: str,
    children: Sequence[bytes],
    namespace: str,
    attributes: Mapping[str, str | int],
) -> bytes:
    written = field(2, namespace.encode()) if namespace else b""
    written += field(3, tag.encode())
    for key, value in attributes.items():
        written += attribute(namespace or ANDROID, key, value)
    for child in children:
        written += field(5, child)
    return field(1, written)


def setting(tag: str, /, *children: bytes, **attributes: str | int) -> bytes:
    """An element that says how a module is delivered."""
    return _element(tag, children, DISTRIBUTION, attributes)


def manifest(min_sdk: int, split: str, *children: bytes) -> bytes:
    """The manifest of a module."""
    written = b""
    for prefix, uri in (("android", ANDROID), ("dist", DISTRIBUTION)):
        written += field(1, field(1, prefix.encode()) + field(2, uri.encode()))
    written += field(3, b"manifest")
    written += attribute(ANDROID, "versionCode", 42) + attribute(
        ANDROID, "versionName", "1.0"
    )
    written += attribute("", "package", PACKAGE)
    if split:
        written += attribute("", "split", split)
    sdk = element("uses-sdk", minSdkVersion=min_sdk, targetSdkVersion=34)
    for child in (sdk, *children):
        written += field(5, child)
    return field(1, written)


def activity(name: str, /, *filters: str, **attributes: str | int) -> bytes:
    """An activity with a filter for each of these actions."""
    children = [
        element("intent-filter", element("action", name=f"{PACKAGE}.{action}"))
        for action in filters
    ]
    return element("activity", *children, name=f"{PACKAGE}.{name}", **attributes)


def module(delivery: bytes, *, fused: bool = True, instant: bool = False) -> bytes:
    """What the manifest of a feature says about it."""
    settings: dict[str, str | int] = {"title": TITLE}
    if instant:
        settings["instant"] = True
    ways = setting("delivery", delivery)
    return setting("module", ways, setting("fusing", include=fused), **settings)


LAUNCHER = element(
    "activity",
    element(
        "intent-filter",
        element("action", name="android.intent.action.MAIN"),
        element("category", name="android.intent.category.LAUNCHER"),
    ),
    name=f"{PACKAGE}.Main",
    exported=True,
)
ALWAYS = setting("install-time")
REMOVABLE = setting("install-time", setting("removable", value=True))
ON_DEMAND = setting("on-demand")
ASTC = 9  # a format of textures, in targeting.proto


def features(min_sdk: int, *, instant: bool) -> dict[str, bytes]:
    """Features of every kind, which share a component."""
    modules: Mapping[str, tuple[bytes, list[bytes]]] = {
        "always": (
            module(ALWAYS),
            [activity("Always", "x"), activity("Shared", "always")],
        ),
        "paid": (
            module(ON_DEMAND, instant=instant),
            [activity("Paid", "q", exported=True), activity("Shared", "paid")],
        ),
        "removable": (module(REMOVABLE), [activity("Shared", "base", "removable")]),
        "apart": (module(ON_DEMAND, fused=False), [activity("Apart")]),
    }
    files = {}
    for name, (settings, components) in modules.items():
        root = manifest(min_sdk, name, settings, element("application", *components))
        files[f"{name}/manifest/AndroidManifest.xml"] = root
        files[f"{name}/dex/classes.dex"] = b"dex\n035\0" + name.encode()
        files[f"{name}/assets/{name}.bin"] = name.encode()
    return files


def asset_packs() -> dict[str, bytes]:
    """An asset pack of each kind of delivery, with textures in one format and in any other."""
    files = {}
    for delivery in ("install-time", "on-demand", "fast-follow"):
        name = delivery.replace("-", "")
        ways = setting("delivery", setting(delivery))
        root = field(1, field(1, b"dist") + field(2, DISTRIBUTION.encode()))
        root += field(3, b"manifest") + attribute("", "package", PACKAGE)
        root += attribute("", "split", name)
        fusing = setting("fusing", include=True)
        root += field(5, setting("module", ways, fusing, type="asset-pack"))
        files[f"{name}/manifest/AndroidManifest.xml"] = field(1, root)
        files[f"{name}/assets/{name}.bin"] = name.encode()
        files[f"{name}/assets/{name}#tcf_astc/one.tex"] = b"astc" + name.encode()
        files[f"{name}/assets/{name}/one.tex"] = b"other" + name.encode()
        files[f"{name}/assets.pb"] = folders_of_textures(name)
    return files


def folders_of_textures(name: str) -> bytes:
    """The description of the folders of a pack, as Gradle's plugin writes it (`assets.pb`)."""
    astc = field(3, field(1, number(1, ASTC)))
    other = field(3, field(2, number(1, ASTC)))
    folders = field(1, field(1, f"assets/{name}#tcf_astc".encode()) + field(2, astc))
    folders += field(1, field(1, f"assets/{name}".encode()) + field(2, other))
    return folders + field(1, field(1, b"assets"))


def bundle(version: str, optimizations: bytes, min_sdk: int, *, instant: bool) -> File:
    """A bundle of a base and features."""
    components = [
        LAUNCHER,
        activity("Shared", "base"),
        activity("Paid", "p", splitName="paid", exported=True),
        element("receiver", name=f"{PACKAGE}.Receiver", splitName="paid"),
        element("meta-data", name="com.google.android.gms.version", value=7),
        element("meta-data", name="own", value="x"),
    ]
    beside = [element("uses-permission", name="android.permission.INTERNET")]
    if instant:
        beside.append(setting("module", instant=True))
    application = element("application", *components)
    files = {
        "BundleConfig.pb": field(1, field(2, version.encode()))
        + field(2, optimizations),
        "base/manifest/AndroidManifest.xml": manifest(
            min_sdk, "", *beside, application
        ),
        **bundle_contents(
            abis=("arm64-v8a",), densities=("mdpi", "xhdpi"), languages=("de",)
        ),
        "base/native.pb": field(
            1, field(1, b"lib/arm64-v8a") + field(2, field(1, number(1, 3)))
        ),
        **features(min_sdk, instant=instant),
    }
    return File("app.aab", make_zip(files))


NEVER_MERGE = field(4, number(3, 1))  # dex files: those of the specimens are none
COLLAPSE = field(5, field(2, number(1, 1)))
KEEP = field(
    5, field(2, number(1, 1) + field(2, field(1, b"string") + field(2, b"hello")))
)
KEEP_TYPE = field(5, field(2, number(1, 1) + field(4, b"xml")))
SPARSE = field(5, number(1, 2))
TEXTURES = field(1, field(1, number(1, 4)))  # splits for the formats of textures, too


@pytest.mark.parametrize(
    "built",
    [
        bundle("1.18.1", b"", 21, instant=False),
        bundle("1.18.1", NEVER_MERGE, 19, instant=True),
        bundle("1.7.0", b"", 21, instant=False),
        bundle("0.13.0", b"", 21, instant=False),
        bundle("1.18.1", COLLAPSE, 21, instant=False),
        bundle("1.18.1", KEEP, 21, instant=False),
        bundle("1.18.1", KEEP_TYPE, 21, instant=False),
        bundle("1.18.1", SPARSE, 21, instant=False),
    ],
    ids=[
        "features",
        "instant",
        "only-activities-are-merged",
        "nothing-is-merged",
        "collapsed",
        "kept-resource",
        "kept-type",
        "sparse",
    ],
)
def test_what_bundletool_makes_of_modules_is_the_same(
    built: File, tmp_path: Path
) -> None:
    """Each variant, all variants together, and each APK that is whole."""
    apks = apks_of(built, tmp_path)
    instant = [apk for name, apk in apks.items() if name.startswith("instant/")]
    others = {
        name: apk for name, apk in apks.items() if not name.startswith("instant/")
    }
    splits = [apk for name, apk in others.items() if name.startswith("splits/")]
    together = [*sets(others), splits]
    if instant:
        together.append(instant)
    for apks_of_device in together:
        verdict = compare(built, apks_of_device, (UNIVERSAL,))
        found = [finding for finding in verdict.findings if finding.state != "by-rule"]
        assert found == []
        assert verdict.served == "same"


def apks_of(built: File, folder: Path) -> dict[str, File]:
    """Every APK that bundletool makes of a bundle, by its name in the set."""
    bundle_path = folder / built.name
    bundle_path.write_bytes(built.data)
    apks: dict[str, File] = {}
    for mode in ("default", "universal"):
        output = folder / f"{mode}.apks"
        places = (f"--bundle={bundle_path}", f"--output={output}", f"--mode={mode}")
        run("java", "-jar", bundletool(), "build-apks", *places)
        with zipfile.ZipFile(output) as archive:
            for name in archive.namelist():
                if name.endswith(".apk"):
                    apks[name] = File(name, archive.read(name))
    return apks


def test_what_bundletool_makes_is_what_a_list_says(tmp_path: Path) -> None:
    """Features and asset packs. A slice of a pack that comes later has no version code."""
    built = bundle("1.18.1", TEXTURES, 21, instant=False)
    built = built.with_entries(asset_packs())
    apks = apks_of(built, tmp_path)
    slices = [apk for name, apk in apks.items() if name.startswith("asset-slices/")]
    assert len(slices) == 3 * 3
    manifests = ManifestBudget()
    without_version = [
        apk for apk in slices if not identify(apk, manifests).version_code
    ]
    assert len(without_version) == 2 * 3
    listed = {name: listed_as(name) for name in apks}
    splits = [apk for name, apk in apks.items() if name.startswith("splits/")]
    for together in (splits, slices, [apks[UNIVERSAL]]):
        whole = [UNIVERSAL]
        verdict = compare(built, together, (UNIVERSAL,), whole=whole, listed=listed)
        assert [
            finding for finding in verdict.findings if finding.state != "by-rule"
        ] == []
        assert verdict.served == "same"


def listed_as(name: str) -> ListedApk:
    """What Google Play's list would have of an APK of bundletool's set."""
    if name == UNIVERSAL:
        return ListedApk("universal")
    module, _, suffix = Path(name).stem.partition("-")
    suffix = suffix.rpartition("_")[0] if suffix[-2:] in ("_2", "_3") else suffix
    main = "" if module == "base" else module
    split = main if suffix == "master" else f"{main}.config.{suffix}".lstrip(".")
    return ListedApk(
        "slice" if name.startswith("asset-slices/") else "split", module, split
    )
