"""Reads from a bundle's `BundleConfig.pb` what decides how bundletool makes APKs of the bundle.

Reference: config.proto and VersionGuardedFeature in bundletool (github.com/google/bundletool).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from uploader.files.android.archive import MalformedFile
from uploader.files.android.protobuf import ProtoReader

Version: TypeAlias = tuple[int, int, int]
# What APKs are split by; those of folders of assets as their names have them.
Dimension: TypeAlias = Literal[
    "abi", "density", "lang", "tcf", "tier", "group", "countries"
]

# Versions of bundletool from which on it merges modules in another way.
MERGES_ACTIVITIES: Version = (0, 13, 4)
MERGES_COMPONENTS: Version = (1, 8, 0)
# From which on it merges features that are on every device into the base, and also those that do
# not say in a <dist:delivery> when they are installed.
MERGES_INSTALLED_MODULES: Version = (1, 0, 0)
MERGES_WITHOUT_DELIVERY: Version = (1, 15, 4)

_MAX_FIELDS = 100_000
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-.{1,100})?", re.ASCII)
# fields of BundleConfig and of the messages within it
_BUNDLETOOL = 1
_BUNDLETOOL_VERSION = 2
_OPTIMIZATIONS = 2
_SPLITS_CONFIG = 1
_STANDALONE_CONFIG = 4
_SPLIT_DIMENSION = 1
_DIMENSION = 1
_NEGATE = 2
_SUFFIX_STRIPPING = 3
_STRIP_64_BIT = 2
_FEATURE_MODULES_MODE = 4
_RESOURCE_OPTIMIZATIONS = 5
_SPARSE_ENCODING = 1
_COLLAPSED_NAMES = 2
_COLLAPSE = 1
_KEPT_RESOURCE = 2
_KEPT_TYPE = 4
_VARIANT_FOR_SDK_32 = 2  # a value of SparseEncoding
_SEPARATE_FEATURE_MODULES = 1  # a value of FeatureModulesMode
# values of SplitDimension
_DIMENSIONS: Mapping[int, Dimension] = {
    1: "abi",
    2: "density",
    3: "lang",
    4: "tcf",
    6: "tier",
    7: "countries",
    9: "group",
}
# From which version on APKs are split by what, where a bundle does not say (ApkOptimizations).
_SPLIT_SINCE: Mapping[Dimension, Version] = {
    "abi": (0, 0, 0),
    "density": (0, 0, 0),
    "lang": (0, 0, 0),
    "tcf": (0, 10, 2),
    "tier": (1, 13, 2),
    "countries": (1, 15, 7),
    "group": (1, 18, 0),
}
# Of what the names of folders may lose their suffix (SuffixStripper).
_STRIPPED_DIMENSIONS: Collection[Dimension] = ("tcf", "tier", "group", "countries")
_DAMAGED = (LookupError, UnicodeError, ValueError)


@dataclass(frozen=True)
class BundleConfig:
    """The settings of a bundle. `bundletool` is the version that it was built with.

    With `sparse_tables` devices from API level 32 on get resource tables in the sparse encoding.
    With `collapses_names` resources lose their names, but for `kept_types` and the resources that
    `kept_names` has, each as type and name. With `separate_features` old devices get an APK of its
    own for each feature beside the standalone one.

    APKs are split by `split_dimensions`, and there are whole ones for each of
    `standalone_dimensions`, with `strips_64_bit` without libraries for 64 bits. `default_suffixes`
    say for some dimensions which folder of assets an APK for all devices has. In such an APK the
    names of folders lose the suffixes of what is in `stripped`, and in splits of what is in
    `stripped_in_splits`.
    """

    bundletool: Version = (0, 0, 0)
    sparse_tables: bool = False
    collapses_names: bool = False
    kept_types: Collection[str] = frozenset()
    kept_names: Collection[tuple[str, str]] = frozenset()
    separate_features: bool = False
    split_dimensions: Collection[Dimension] = frozenset(_SPLIT_SINCE)
    standalone_dimensions: Collection[Dimension] = frozenset({"abi", "density"})
    strips_64_bit: bool = False
    default_suffixes: Mapping[Dimension, str] = field(default_factory=dict)
    stripped: Collection[Dimension] = frozenset()
    stripped_in_splits: Collection[Dimension] = frozenset()

    def may_collapse(self, resource_type: str, name: str) -> bool:
        """Return whether a resource loses its name."""
        is_kept = (
            resource_type in self.kept_types or (resource_type, name) in self.kept_names
        )
        return self.collapses_names and not is_kept


def read_bundle_config(data: bytes) -> BundleConfig:
    """Read a bundle's configuration. Raises MalformedFile."""
    try:
        return _read(data)
    except _DAMAGED:
        raise MalformedFile("has a BundleConfig.pb that can't be read.") from None


def _read(data: bytes) -> BundleConfig:
    proto = ProtoReader(_MAX_FIELDS)
    config = proto.message(memoryview(data))
    bundletool = proto.message(config[_BUNDLETOOL].data)
    optimizations = proto.message(config[_OPTIMIZATIONS].data)
    version = _version(str(bundletool[_BUNDLETOOL_VERSION].data, "utf-8"))
    splits = _split_settings(proto, optimizations[_SPLITS_CONFIG].data)
    # Whole APKs are made as the splits are, unless they have settings of their own.
    standalone_splits = splits
    if _STANDALONE_CONFIG in optimizations:
        standalone_splits = _split_settings(
            proto, optimizations[_STANDALONE_CONFIG].data
        )
    resources = optimizations[_RESOURCE_OPTIMIZATIONS].data
    standalone = proto.message(optimizations[_STANDALONE_CONFIG].data)
    collapsed = proto.message(resources)[_COLLAPSED_NAMES].data
    kept_types = set()
    kept_names = set()
    for kept in proto.fields(collapsed):
        if kept.id == _KEPT_TYPE:
            kept_types.add(str(kept.data, "utf-8"))
        elif kept.id == _KEPT_RESOURCE:
            resource = proto.message(kept.data)
            kept_names.add(
                (str(resource[1].data, "utf-8"), str(resource[2].data, "utf-8"))
            )
    return BundleConfig(
        version,
        sparse_tables=proto.message(resources)[_SPARSE_ENCODING].number
        == _VARIANT_FOR_SDK_32,
        collapses_names=bool(proto.message(collapsed)[_COLLAPSE].number),
        kept_types=frozenset(kept_types),
        kept_names=frozenset(kept_names),
        separate_features=standalone[_FEATURE_MODULES_MODE].number
        == _SEPARATE_FEATURE_MODULES,
        split_dimensions=_changed(_default_dimensions(version), splits),
        standalone_dimensions=_changed(
            {"abi", "density"},
            standalone_splits,
        ),
        strips_64_bit=bool(standalone[_STRIP_64_BIT].number),
        default_suffixes={
            setting.dimension: setting.default_suffix
            for setting in splits
            if setting.dimension in _STRIPPED_DIMENSIONS
        },
        stripped={setting.dimension for setting in splits if setting.strips},
        stripped_in_splits={
            setting.dimension
            for setting in splits
            if setting.strips and not setting.negate
        },
    )


@dataclass(frozen=True)
class _SplitSetting:
    """What a bundle says of one dimension: whether APKs are not split by it (`negate`), whether
    folders of assets lose their suffixes, and which of them an APK for all devices has.
    """

    dimension: Dimension
    negate: bool
    strips: bool
    default_suffix: str


def _split_settings(proto: ProtoReader, config: memoryview) -> list[_SplitSetting]:
    settings = []
    for setting in proto.fields(config):
        message = proto.message(setting.data)
        number = message[_DIMENSION].number
        if setting.id == _SPLIT_DIMENSION and number in _DIMENSIONS:
            dimension = _DIMENSIONS[number]
            stripping = proto.message(message[_SUFFIX_STRIPPING].data)
            strips = bool(stripping[1].number) and dimension in _STRIPPED_DIMENSIONS
            default = str(stripping[2].data, "utf-8")
            negate = bool(message[_NEGATE].number)
            settings.append(_SplitSetting(dimension, negate, strips, default))
    return settings


def _default_dimensions(version: Version) -> set[Dimension]:
    """Return by what APKs are split where the bundle does not say: its version decides, and one
    that it does not name is the current one (OptimizationsMerger).
    """
    return {
        dimension
        for dimension, since in _SPLIT_SINCE.items()
        if version >= since or version == (0, 0, 0)
    }


def _changed(
    dimensions: set[Dimension], settings: Iterable[_SplitSetting]
) -> set[Dimension]:
    """Return the dimensions as the settings change them."""
    changed = set(dimensions)
    for setting in settings:
        if setting.negate:
            changed.discard(setting.dimension)
        else:
            changed.add(setting.dimension)
    return changed


def _version(text: str) -> Version:
    """Return a version. One that bundles of old tools do not name is 0.0.0, as for bundletool
    (BundleToolVersion); a qualifier such as `-alpha01` does not count.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return (0, 0, 0)
    return int(match[1]), int(match[2]), int(match[3])
