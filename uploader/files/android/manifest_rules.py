"""What Google Play writes into the manifests of APKs by rule: which attributes and <meta-data>, in
which APKs, and with which values.

Each rule names its source: bundletool (github.com/google/bundletool), or Google's documents.
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
    {
        "abi",
        "density",
        "textures",
        "tier",
        "group",
        "countries",
        "module",
    }
)
# aapt2 link, ManifestFixer
_PLATFORM_NAME = re.compile(r"platformBuildVersion(Code|Name)")
_PLATFORM_VALUE = re.compile(r"1[01]:[0-9a-f]{8}|text:[\w.]{0,30}", re.ASCII)
_STAMP_SOURCE = re.compile(r"text:https?://[!-~]{1,200}", re.ASCII)
_STAMP_TYPE = re.compile(r"text:STAMP_TYPE_(STANDALONE|DISTRIBUTION)_APK")
_NUMBER = re.compile(r"10:[0-9a-f]{8}")
_ASSET_VERSION = re.compile(r"text:\d{1,19}", re.ASCII)
# names of resources that are made for the APKs
_LOCALE_CONFIG = re.compile(r"locales_config")
_SPLITS = re.compile(r"splits\d{1,4}")


@dataclass(frozen=True)
class Role:
    """What an APK is, as far as its manifest depends on it.

    `modules` are the names of the modules that became this APK, and `app` has the manifests of all
    modules of the bundle. `lists` are the ids of the resources that were made for the APK, by their
    names; None if its resource table can't be read.
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
        """Whether the module is part of an instant app."""
        manifest = self.app.get(self.module)
        if manifest is None:
            return False
        return is_instant(manifest)

    @property
    def instant_modules(self) -> Collection[str]:
        """The names of the modules of an instant app."""
        names = set()
        for name, manifest in self.app.items():
            if is_instant(manifest):
                names.add(name)
        return names

    def is_reference_to(self, value: str, list_name: re.Pattern[str]) -> bool:
        """Return whether a value refers to a resource with a name of this kind that was made for
        the APK. If the table can't be read, any resource of the app will do: the table is
        unverified then.
        """
        if self.lists is None:
            return value.startswith("01:7f")
        for name, resource in self.lists.items():
            reference = f"01:{resource:08x}"
            if value == reference and list_name.fullmatch(name):
                return True
        return False


Rule: TypeAlias = Callable[[str, Role], bool]
"""Whether a value in its compiled form is one that Google Play writes into the APK."""


def _is_boolean(value: str, _: Role) -> bool:
    return value in _BOOLEANS


def _is_split(value: str, role: Role) -> bool:
    """Return whether this is the name of the APK's split (bundletool, ManifestEditor.setSplitId and
    setSplitIdForFeatureSplit).
    """
    if role.kind == "feature":
        return value == f"text:{role.module}"
    if role.kind == "configuration":
        return value == f"text:{role.split}"
    return False


def _is_owner(value: str, role: Role) -> bool:
    """Return whether this is the module of a configuration; the base has no name there (bundletool,
    ManifestEditor.setConfigForSplit).
    """
    if role.kind != "configuration":
        return False
    if role.module == "base":
        return value == "text:"
    return value == f"text:{role.module}"


def _is_feature_mark(value: str, role: Role) -> bool:
    """Return whether this marks a feature, which is said of features alone (bundletool,
    ManifestEditor.setSplitIdForFeatureSplit).
    """
    if role.kind != "feature":
        return False
    return value == YES


def _are_split_types(value: str, role: Role) -> bool:
    """Return whether these are types of splits: `module__label`, separated by commas (bundletool,
    RequiredSplitTypesInjector).
    """
    if role.kind == "standalone":
        return False
    if not value.startswith("text:"):
        return False
    listed = value.removeprefix("text:")
    if not listed:
        return True
    for split_type in listed.split(","):
        module, _, label = split_type.rpartition("__")
        if module not in role.app:
            return False
        if label not in _SPLIT_LABELS:
            return False
    return True


def _is_sandbox(value: str, role: Role) -> bool:
    """Return whether this is the sandbox of an instant app (bundletool,
    ModuleSplitter.makeInstantManifestChanges).
    """
    if role.kind == "standalone" or not role.is_instant:
        return False
    return value == INSTANT_SANDBOX


def _is_locale_config(value: str, role: Role) -> bool:
    """Return whether this refers to the list of locales, which only the base of an app with splits
    has (bundletool, LocaleConfigXmlInjector).
    """
    if role.kind != "base":
        return False
    return role.is_reference_to(value, _LOCALE_CONFIG)


def _is_split_required(value: str, role: Role) -> bool:
    if role.kind == "standalone":
        return False
    return value in _BOOLEANS


def _is_asset_version(value: str, role: Role) -> bool:
    """Return whether this is the version of a pack that is fetched after the installation, as a
    text (bundletool, AssetSlicesGenerator).
    """
    manifest = role.app.get(role.module)
    if manifest is None or not is_asset_pack(manifest):
        return False
    if is_always_installed(manifest):
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
    """Return whether bundletool removes an attribute of the root from the manifest of a main APK
    (ManifestEditor.setSplitIdForFeatureSplit).
    """
    if key == "configForSplit":
        return True
    if role.kind == "feature":
        return False
    return key == "split" or key in _FEATURE_MARKS


def is_marked_feature(manifest: Element) -> bool:
    """Return whether an APK says that it is a feature, as each feature must. Otherwise Android
    takes it for a configuration, and loads its code and components differently.
    """
    marks = [manifest.attributes.get(key) for key in _FEATURE_MARKS]
    return YES in marks


def is_configuration_of(module: str, split: str) -> bool:
    """Return whether the APK of a module's configuration may have this name (bundletool,
    ModuleSplit.generateSplitId).
    """
    prefix = f"{module}.config."
    if module == "base":
        prefix = "config."
    if not split.startswith(prefix):
        return False
    devices = split.removeprefix(prefix)
    return devices != ""


def _are_fused_modules(value: str, role: Role) -> bool:
    """Return whether these are the modules that became this APK: sorted, each once (bundletool,
    ManifestEditor.setFusedModuleNames).
    """
    if role.kind not in ("base", "standalone"):
        return False
    names = {"base", *role.modules}
    if not names.issubset(role.app):
        return False
    listed = ",".join(sorted(names))
    return value == f"text:{listed}"


def _is_stamp_source(value: str, _: Role) -> bool:
    """Return whether this is the URL of a stamp's source (bundletool,
    ModuleSplit.checkStampSource).
    """
    return _STAMP_SOURCE.fullmatch(value) is not None


def _is_stamp_type(value: str, _: Role) -> bool:
    return _STAMP_TYPE.fullmatch(value) is not None


def _is_required(value: str, role: Role) -> bool:
    """Return whether this says if splits are required, which only main APKs with splits say
    (bundletool, ManifestEditor.setSplitsRequired).
    """
    if role.kind not in ("base", "feature"):
        return False
    return value in _BOOLEANS


def _is_apk_number(value: str, _: Role) -> bool:
    return _NUMBER.fullmatch(value) is not None


def _is_list_of_splits(value: str, role: Role) -> bool:
    """Return whether this refers to the list of splits (bundletool, SplitsXmlInjector)."""
    if role.kind not in ("base", "standalone"):
        return False
    return role.is_reference_to(value, _SPLITS)


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
    if element.name != "meta-data" or element.children or element.text:
        return False
    compiled_name = element.attributes.get(NAME, "")
    name = compiled_name.removeprefix("text:")
    if name not in _METADATA:
        return False
    attribute, is_by_rule = _METADATA[name]
    if element.attributes.keys() != {NAME, attribute}:
        return False
    return is_by_rule(element.attributes[attribute], role)


def is_platform(key: str, value: str) -> bool:
    """Return whether an attribute of the root says which platform the app was compiled for."""
    if not _PLATFORM_NAME.fullmatch(key):
        return False
    return _PLATFORM_VALUE.fullmatch(value) is not None
