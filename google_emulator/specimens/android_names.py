"""The android namespace, the resource ids of the manifest's attributes as the platform numbers them, its elements."""

from __future__ import annotations

from collections.abc import Mapping

from google_emulator.specimens.build import Build

ANDROID = "http://schemas.android.com/apk/res/android"
RESOURCE_IDS: Mapping[str, int] = {
    "name": 0x01010003,
    "hasCode": 0x0101000C,
    "debuggable": 0x0101000F,
    "minSdkVersion": 0x0101020C,
    "versionCode": 0x0101021B,
    "versionName": 0x0101021C,
    "targetSdkVersion": 0x01010270,
    "testOnly": 0x01010272,
    "required": 0x0101028E,
    "versionCodeMajor": 0x01010576,
}
LOW_32 = 0xFFFFFFFF  # a long version code is versionCodeMajor * 2**32 + versionCode

# The name of an element, and its attributes of the android namespace.
ManifestElement = tuple[str, Mapping[str, int | str | bool]]


def version_attributes(version_code: int, version_name: str) -> dict[str, int | str | bool]:
    """The root's attributes; versionCodeMajor only where the code needs it."""
    low, high = version_code & LOW_32, version_code >> 32
    major: dict[str, int | str | bool] = {"versionCodeMajor": high} if high else {}
    return {"versionCode": low, "versionName": version_name, **major}


def manifest_children(build: Build) -> list[ManifestElement]:
    """What stands below the root."""
    flags = {"debuggable": build.debuggable, "testOnly": build.test_only}
    features: list[ManifestElement] = [
        ("uses-feature", {"name": name, "required": required}) for name, required in build.features.items()
    ]
    return [
        ("uses-sdk", {"minSdkVersion": min(24, build.target_sdk), "targetSdkVersion": build.target_sdk}),
        *(("uses-permission", {"name": name}) for name in build.permissions),
        *features,
        ("application", {"hasCode": False, **{name: True for name, on in flags.items() if on}}),
    ]
