"""Reads from a bundle's `BundleConfig.pb` what decides how bundletool makes APKs of the bundle.

Reference: config.proto and VersionGuardedFeature in bundletool (github.com/google/bundletool).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from uploader.files.android.archive import MalformedFile
from uploader.files.android.protobuf import Field, ProtoReader

Version: TypeAlias = tuple[int, int, int]
# What APKs are split by. The dimensions of asset folders are spelt as in the names of the folders.
Dimension: TypeAlias = Literal[
    "abi", "density", "lang", "tcf", "tier", "group", "countries"
]

# The first versions of bundletool that merge activities, and all components.
MERGES_ACTIVITIES: Version = (0, 13, 4)
MERGES_COMPONENTS: Version = (1, 8, 0)
# The first versions that merge features that are on every device into the base, and also those that
# do not say in a <dist:delivery> when they are installed.
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
# The first version that splits APKs by a dimension if the bundle does not say (ApkOptimizations).
_SPLIT_SINCE: Mapping[Dimension, Version] = {
    "abi": (0, 0, 0),
    "density": (0, 0, 0),
    "lang": (0, 0, 0),
    "tcf": (0, 10, 2),
    "tier": (1, 13, 2),
    "countries": (1, 15, 7),
    "group": (1, 18, 0),
}
# The dimensions whose suffix the names of folders may lose (SuffixStripper).
_STRIPPED_DIMENSIONS: Collection[Dimension] = ("tcf", "tier", "group", "countries")
_DAMAGED = (LookupError, UnicodeError, ValueError)


@dataclass(frozen=True)
class BundleConfig:
    """The settings of a bundle. `bundletool` is the version that it was built with.

    With `sparse_tables`, devices from API level 32 on get resource tables in the sparse encoding.
    With `collapses_names`, resources lose their names, except those of `kept_types` and those in
    `kept_names`, each as type and name. With `separate_features`, old devices get a separate APK
    for each feature beside the standalone one.

    Splits are made by `split_dimensions`, standalone APKs by `standalone_dimensions`; with
    `strips_64_bit` the latter have no 64-bit libraries. `default_suffixes` say for some dimensions
    which folder of assets an APK for all devices has. The names of folders lose the suffixes of the
    dimensions in `stripped` in such an APK, and of those in `stripped_in_splits` in splits.
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
        if not self.collapses_names or resource_type in self.kept_types:
            return False
        return (resource_type, name) not in self.kept_names


def read_bundle_config(data: bytes) -> BundleConfig:
    """Read a bundle's configuration. Raises MalformedFile."""
    try:
        return _read(data)
    except _DAMAGED:
        raise MalformedFile("has a BundleConfig.pb that can't be read.") from None


def _read(data: bytes) -> BundleConfig:
    proto = ProtoReader(_MAX_FIELDS)
    message = proto.message(memoryview(data))
    bundletool = proto.message(message[_BUNDLETOOL].data)
    version = _version(_text(bundletool[_BUNDLETOOL_VERSION]))
    optimizations = proto.message(message[_OPTIMIZATIONS].data)
    config = BundleConfig(version)
    config = _with_resource_settings(
        config, proto, optimizations[_RESOURCE_OPTIMIZATIONS].data
    )
    return _with_split_settings(config, proto, optimizations)


def _with_resource_settings(
    config: BundleConfig, proto: ProtoReader, data: memoryview
) -> BundleConfig:
    """Return the configuration with the settings for resource tables."""
    resources = proto.message(data)
    collapsed = resources[_COLLAPSED_NAMES].data
    kept_types = set()
    kept_names = set()
    for kept in proto.fields(collapsed):
        if kept.id == _KEPT_TYPE:
            kept_types.add(_text(kept))
        elif kept.id == _KEPT_RESOURCE:
            resource = proto.message(kept.data)
            kept_names.add((_text(resource[1]), _text(resource[2])))
    sparse_encoding = resources[_SPARSE_ENCODING].number
    collapses = proto.message(collapsed)[_COLLAPSE].number
    return replace(
        config,
        sparse_tables=sparse_encoding == _VARIANT_FOR_SDK_32,
        collapses_names=bool(collapses),
        kept_types=frozenset(kept_types),
        kept_names=frozenset(kept_names),
    )


def _with_split_settings(
    config: BundleConfig, proto: ProtoReader, optimizations: Mapping[int, Field]
) -> BundleConfig:
    """Return the configuration with the settings for splits and standalone APKs."""
    settings = _split_settings(proto, optimizations[_SPLITS_CONFIG].data)
    default_suffixes: dict[Dimension, str] = {}
    stripped: set[Dimension] = set()
    stripped_in_splits: set[Dimension] = set()
    for setting in settings:
        if setting.dimension in _STRIPPED_DIMENSIONS:
            default_suffixes[setting.dimension] = setting.default_suffix
        if setting.strips:
            stripped.add(setting.dimension)
            if not setting.negate:
                stripped_in_splits.add(setting.dimension)
    # Standalone APKs follow the settings of splits, unless they have their own.
    standalone_settings = settings
    if _STANDALONE_CONFIG in optimizations:
        data = optimizations[_STANDALONE_CONFIG].data
        standalone_settings = _split_settings(proto, data)
    standalone = proto.message(optimizations[_STANDALONE_CONFIG].data)
    feature_modules_mode = standalone[_FEATURE_MODULES_MODE].number
    return replace(
        config,
        separate_features=feature_modules_mode == _SEPARATE_FEATURE_MODULES,
        split_dimensions=_with_settings(
            _default_dimensions(config.bundletool), settings
        ),
        standalone_dimensions=_with_settings({"abi", "density"}, standalone_settings),
        strips_64_bit=bool(standalone[_STRIP_64_BIT].number),
        default_suffixes=default_suffixes,
        stripped=stripped,
        stripped_in_splits=stripped_in_splits,
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
        if setting.id != _SPLIT_DIMENSION or number not in _DIMENSIONS:
            continue
        dimension = _DIMENSIONS[number]
        stripping = proto.message(message[_SUFFIX_STRIPPING].data)
        strips = bool(stripping[1].number) and dimension in _STRIPPED_DIMENSIONS
        settings.append(
            _SplitSetting(
                dimension,
                negate=bool(message[_NEGATE].number),
                strips=strips,
                default_suffix=_text(stripping[2]),
            )
        )
    return settings


def _default_dimensions(version: Version) -> set[Dimension]:
    """Return the dimensions by which APKs are split if the bundle does not say. That depends on the
    version that it was built with; if it names none, the current one counts (OptimizationsMerger).
    """
    if version == (0, 0, 0):
        return set(_SPLIT_SINCE)
    return {dimension for dimension, since in _SPLIT_SINCE.items() if version >= since}


def _with_settings(
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
    """Return a version without a qualifier such as `-alpha01`. Bundles of old tools name none; that
    counts as 0.0.0, as for bundletool (BundleToolVersion).
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return (0, 0, 0)
    major, minor, patch, _ = match.groups()
    return int(major), int(minor), int(patch)


def _text(field: Field) -> str:
    return str(field.data, "utf-8")
