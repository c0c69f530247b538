"""Reads from a bundle's `BundleConfig.pb` what decides how bundletool makes APKs of the bundle.

Reference: config.proto and VersionGuardedFeature in bundletool (github.com/google/bundletool).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from uploader.files.android.archive import MalformedFile
from uploader.files.android.protobuf import ProtoReader

Version: TypeAlias = tuple[int, int, int]

# Versions of bundletool from which on it merges modules in another way.
MERGES_ACTIVITIES: Version = (0, 13, 4)
MERGES_COMPONENTS: Version = (1, 8, 0)

_MAX_FIELDS = 100_000
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-.{1,100})?", re.ASCII)
# fields of BundleConfig and of the messages within it
_BUNDLETOOL = 1
_BUNDLETOOL_VERSION = 2
_OPTIMIZATIONS = 2
_STANDALONE_CONFIG = 4
_FEATURE_MODULES_MODE = 4
_RESOURCE_OPTIMIZATIONS = 5
_SPARSE_ENCODING = 1
_COLLAPSED_NAMES = 2
_COLLAPSE = 1
_KEPT_RESOURCE = 2
_KEPT_TYPE = 4
_VARIANT_FOR_SDK_32 = 2  # a value of SparseEncoding
_SEPARATE_FEATURE_MODULES = 1  # a value of FeatureModulesMode
_DAMAGED = (LookupError, UnicodeError, ValueError)


@dataclass(frozen=True)
class BundleConfig:
    """The settings of a bundle. `bundletool` is the version that it was built with.

    With `sparse_tables` devices from API level 32 on get resource tables in the sparse encoding.
    With `collapses_names` resources lose their names, but for `kept_types` and the resources that
    `kept_names` has, each as type and name. With `separate_features` old devices get an APK of its
    own for each feature beside the standalone one.
    """

    bundletool: Version = (0, 0, 0)
    sparse_tables: bool = False
    collapses_names: bool = False
    kept_types: Collection[str] = frozenset()
    kept_names: Collection[tuple[str, str]] = frozenset()
    separate_features: bool = False

    def may_collapse(self, resource_type: str, name: str) -> bool:
        """Return whether a resource loses its name."""
        is_kept = resource_type in self.kept_types or (resource_type, name) in self.kept_names
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
    resources = optimizations[_RESOURCE_OPTIMIZATIONS].data
    standalone = proto.message(optimizations[_STANDALONE_CONFIG].data)
    collapsed = proto.message(resources)[_COLLAPSED_NAMES].data
    kept_types = set()
    kept_names = set()
    for field in proto.fields(collapsed):
        if field.id == _KEPT_TYPE:
            kept_types.add(str(field.data, "utf-8"))
        elif field.id == _KEPT_RESOURCE:
            resource = proto.message(field.data)
            kept_names.add((str(resource[1].data, "utf-8"), str(resource[2].data, "utf-8")))
    return BundleConfig(
        _version(str(bundletool[_BUNDLETOOL_VERSION].data, "utf-8")),
        sparse_tables=proto.message(resources)[_SPARSE_ENCODING].number == _VARIANT_FOR_SDK_32,
        collapses_names=bool(proto.message(collapsed)[_COLLAPSE].number),
        kept_types=frozenset(kept_types),
        kept_names=frozenset(kept_names),
        separate_features=standalone[_FEATURE_MODULES_MODE].number == _SEPARATE_FEATURE_MODULES,
    )


def _version(text: str) -> Version:
    """Return a version. One that bundles of old tools do not name is 0.0.0, as for bundletool
    (BundleToolVersion); a qualifier such as `-alpha01` does not count.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return (0, 0, 0)
    return int(match[1]), int(match[2]), int(match[3])
