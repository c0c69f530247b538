"""What Google Play writes into the manifests of APKs by rule: which attributes and <meta-data>, in
which APKs, and with which values.

Each rule has its source beside it: bundletool (github.com/google/bundletool), or Google's
documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from uploader.files.android.bundle_config import Version
from uploader.files.android.compiled_xml import Element
from uploader.files.android.manifest_merge import (
    NAME,
    is_always_installed,
    is_asset_pack,
    is_instant,
)

Kind: TypeAlias = Literal["base", "standalone", "feature", "configuration"]

ANDROID = "{http://schemas.android.com/apk/res/android}"
VALUE = "0x01010024"
RESOURCE = "0x01010025"
MIN_SDK = "0x0101020c"
VERSION_CODE = "0x0101021b"
VERSION_CODE_MAJOR = "0x01010576"
VERSION_NAME = "0x0101021c"
SPLIT_NAME = "0x01010549"
SANDBOX = "0x0101054c"
SPLIT_TYPES = "0x0101064f"
REQUIRED_SPLIT_TYPES = "0x0101064e"
HAS_CODE = "0x0101000c"
EXTRACT_LIBRARIES = "0x010104ea"
LOCALE_CONFIG = "0x01df000e"
SPLIT_REQUIRED = "0x01010591"
FEATURE_SPLIT = "0x0101055b"
FUSED_MODULES = "com.android.dynamic.apk.fused.modules"
SPLITS_REQUIRED = "com.android.vending.splits.required"
SPLITS_LIST = "com.android.vending.splits"

YES = "12:00000001"
NO = "12:00000000"
INSTANT_SANDBOX = "10:00000002"  # bundletool, ModuleSplitter.makeInstantManifestChanges
INSTANT_MIN_SDK = 21  # the same
_BOOLEANS = frozenset({YES, NO})
# bundletool, RequiredSplitTypesInjector.RequiredSplitType
_SPLIT_LABELS = frozenset(
    {"abi", "density", "textures", "tier", "group", "countries", "module"}
)
# aapt2 link, ManifestFixer
_PLATFORM_NAME = re.compile(r"platformBuildVersion(Code|Name)")
_PLATFORM_VALUE = re.compile(r"1[01]:[0-9a-f]{8}|text:[\w.]{0,30}", re.ASCII)
_STAMP_SOURCE = re.compile(r"text:https?://[!-~]{1,200}", re.ASCII)
_STAMP_TYPE = re.compile(r"text:STAMP_TYPE_(STANDALONE|DISTRIBUTION)_APK")
_NUMBER = re.compile(r"10:[0-9a-f]{8}")
_ASSET_VERSION = re.compile(r"text:\d{1,19}", re.ASCII)
_MASTERS = ("base", "feature")


@dataclass(frozen=True)
class Role:
    """What an APK is, as far as its manifest depends on it.

    `modules` are the names of those that became this APK, and `app` are the manifests of all
    modules of the bundle. `lists` are the ids of the resources that were made for the APK, by their
    names; None where its resource table can't be read.
    """

    kind: Kind
    split: str = ""
    module: str = "base"
    modules: tuple[str, ...] = ("base",)
    app: Mapping[str, Element] = field(default_factory=dict)
    bundletool: Version = (0, 0, 0)
    lists: Mapping[str, int] | None = None

    @property
    def is_instant(self) -> bool:
        """Whether the module is a part of an instant app."""
        manifest = self.app.get(self.module)
        return manifest is not None and is_instant(manifest)

    @property
    def instant_modules(self) -> Collection[str]:
        """The names of the modules of an instant app."""
        return {name for name, manifest in self.app.items() if is_instant(manifest)}

    def is_reference_to(self, value: str, list_name: re.Pattern[str]) -> bool:
        """Return whether a value refers to a resource of such a name that was made for the APK. It
        can't be known without the table, which is then unverified itself.
        """
        if self.lists is None:
            return value.startswith("01:7f")
        for name, resource in self.lists.items():
            if list_name.fullmatch(name) and value == f"01:{resource:08x}":
                return True
        return False


Rule: TypeAlias = Callable[[str, Role], bool]
"""Whether a value in its compiled form is one that Google Play writes into the APK."""


def _is_boolean(value: str, _: Role) -> bool:
    return value in _BOOLEANS


def _is_split(value: str, role: Role) -> bool:
    """bundletool, ManifestEditor.setSplitId and setSplitIdForFeatureSplit"""
    expected = role.split
    if role.kind == "feature":
        expected = role.module
    return role.kind not in ("base", "standalone") and value == f"text:{expected}"


def _is_owner(value: str, role: Role) -> bool:
    """bundletool, ManifestEditor.setConfigForSplit: the base has no name there"""
    owner = "" if role.module == "base" else role.module
    return role.kind == "configuration" and value == f"text:{owner}"


def _is_feature_mark(value: str, role: Role) -> bool:
    """bundletool, ManifestEditor.setSplitIdForFeatureSplit"""
    return role.kind == "feature" and value == YES


def _are_split_types(value: str, role: Role) -> bool:
    """bundletool, RequiredSplitTypesInjector: `module__label`, separated by commas"""
    if role.kind == "standalone" or not value.startswith("text:"):
        return False
    listed = value.removeprefix("text:")
    if not listed:
        return True
    for split_type in listed.split(","):
        module, _, label = split_type.rpartition("__")
        if module not in role.app or label not in _SPLIT_LABELS:
            return False
    return True


def _is_sandbox(value: str, role: Role) -> bool:
    """bundletool, ModuleSplitter.makeInstantManifestChanges"""
    return role.kind != "standalone" and role.is_instant and value == INSTANT_SANDBOX


def _is_locale_config(value: str, role: Role) -> bool:
    """bundletool, LocaleConfigXmlInjector: of the base of an app with splits alone"""
    return role.kind == "base" and role.is_reference_to(
        value, re.compile("locales_config")
    )


def _is_split_required(value: str, role: Role) -> bool:
    return role.kind != "standalone" and value in _BOOLEANS


def _is_asset_version(value: str, role: Role) -> bool:
    """bundletool, AssetSlicesGenerator: the version of a pack that is fetched after the
    installation, as a text
    """
    manifest = role.app.get(role.module)
    if manifest is None or not is_asset_pack(manifest) or is_always_installed(manifest):
        return False
    return _ASSET_VERSION.fullmatch(value) is not None


# Attributes by key, with and without their resource ids.
ROOT: Mapping[str, Rule] = {
    "split": _is_split,
    "configForSplit": _is_owner,
    FEATURE_SPLIT: _is_feature_mark,
    f"{ANDROID}isFeatureSplit": _is_feature_mark,
    SPLIT_TYPES: _are_split_types,
    f"{ANDROID}splitTypes": _are_split_types,
    REQUIRED_SPLIT_TYPES: _are_split_types,
    f"{ANDROID}requiredSplitTypes": _are_split_types,
    # developer.android.com, R.attr; bundletool before 1.9
    SPLIT_REQUIRED: _is_split_required,
    f"{ANDROID}isSplitRequired": _is_split_required,
    SANDBOX: _is_sandbox,
    VERSION_NAME: _is_asset_version,
}
_FEATURE_MARKS = (FEATURE_SPLIT, f"{ANDROID}isFeatureSplit")
APPLICATION: Mapping[str, Rule] = {
    EXTRACT_LIBRARIES: _is_boolean,  # bundletool, NativeLibrariesCompressionSplitter
    SPLIT_REQUIRED: _is_split_required,
    SPLIT_TYPES: _are_split_types,
    LOCALE_CONFIG: _is_locale_config,
    f"{ANDROID}localeConfig": _is_locale_config,
}
NAMES: Mapping[str, str] = {
    FEATURE_SPLIT: "isFeatureSplit",
    SPLIT_TYPES: "splitTypes",
    REQUIRED_SPLIT_TYPES: "requiredSplitTypes",
    SPLIT_REQUIRED: "isSplitRequired",
    SANDBOX: "targetSandboxVersion",
    EXTRACT_LIBRARIES: "extractNativeLibs",
    LOCALE_CONFIG: "localeConfig",
    SPLIT_NAME: "splitName",
}


def is_removed(key: str, role: Role) -> bool:
    """Return whether bundletool takes an attribute of the root out of the manifest of a main APK
    (ManifestEditor.setSplitIdForFeatureSplit).
    """
    if key == "configForSplit":
        return True
    return role.kind != "feature" and key in ("split", *_FEATURE_MARKS)


def is_marked_feature(manifest: Element) -> bool:
    """Return whether an APK says that it is a feature, as each one does: without that Android takes
    it for a configuration, and loads its code and components otherwise.
    """
    return any(manifest.attributes.get(key) == YES for key in _FEATURE_MARKS)


def is_configuration_of(module: str, split: str) -> bool:
    """Return whether the APK of a module's configuration may have this name (bundletool,
    ModuleSplit.generateSplitId).
    """
    prefix = "config." if module == "base" else f"{module}.config."
    return split.startswith(prefix) and split != prefix


def _are_fused_modules(value: str, role: Role) -> bool:
    """bundletool, ManifestEditor.setFusedModuleNames: sorted, each once"""
    if role.kind not in ("base", "standalone"):
        return False
    names = sorted(set(role.modules) | {"base"})
    return value == f"text:{','.join(names)}" and all(
        name in role.app for name in names
    )


def _is_stamp_source(value: str, _: Role) -> bool:
    """bundletool, ModuleSplit.checkStampSource: a URL"""
    return _STAMP_SOURCE.fullmatch(value) is not None


def _is_stamp_type(value: str, _: Role) -> bool:
    return _STAMP_TYPE.fullmatch(value) is not None


def _is_required(value: str, role: Role) -> bool:
    """bundletool, ManifestEditor.setSplitsRequired: of main APKs alone"""
    return role.kind in _MASTERS and value in _BOOLEANS


def _is_apk_number(value: str, _: Role) -> bool:
    return _NUMBER.fullmatch(value) is not None


def _is_list_of_splits(value: str, role: Role) -> bool:
    """bundletool, SplitsXmlInjector"""
    is_of_base = role.kind in ("base", "standalone")
    return is_of_base and role.is_reference_to(value, re.compile(r"splits\d{1,4}"))


# <meta-data> of the application by name: the attribute that has its value, and the rule for it.
_METADATA: Mapping[str, tuple[str, Rule]] = {
    FUSED_MODULES: (VALUE, _are_fused_modules),
    "com.android.stamp.source": (VALUE, _is_stamp_source),
    "com.android.stamp.type": (VALUE, _is_stamp_type),
    SPLITS_LIST: (RESOURCE, _is_list_of_splits),
    SPLITS_REQUIRED: (VALUE, _is_required),
    # the number of a generated APK, which Google Play writes
    "com.android.vending.derived.apk.id": (VALUE, _is_apk_number),
}


def is_metadata_by_rule(element: Element, role: Role) -> bool:
    """Return whether an element of the application is <meta-data> that Google Play writes."""
    name = element.attributes.get(NAME, "").removeprefix("text:")
    if (
        element.name != "meta-data"
        or element.children
        or element.text
        or name not in _METADATA
    ):
        return False
    attribute, is_by_rule = _METADATA[name]
    if element.attributes.keys() != {NAME, attribute}:
        return False
    return is_by_rule(element.attributes[attribute], role)


def is_platform(key: str, value: str) -> bool:
    """Return whether an attribute of the root says which platform the app was compiled for."""
    is_named = _PLATFORM_NAME.fullmatch(key) is not None
    return is_named and _PLATFORM_VALUE.fullmatch(value) is not None
