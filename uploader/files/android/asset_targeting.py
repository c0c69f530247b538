"""Says which APKs have the files of a targeted folder of assets, such as
`assets/textures#tcf_astc`, and under which path.

A module's `assets.pb` says by which properties of a device a folder is chosen; the value of each is
in the folder's name. A folder that `assets.pb` does not call targeted is for every device, whatever
its name, and keeps it. Reference: files.proto, targeting.proto, TargetedDirectorySegment,
AssetsDimensionSplitterFactory, ModuleSplitterForShards and SuffixStripper in bundletool
(github.com/google/bundletool).

Raises LookupError or ValueError for an `assets.pb` that is damaged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from uploader.files.android.bundle_config import BundleConfig, Dimension
from uploader.files.android.protobuf import ProtoReader

_MAX_FIELDS = 1_000_000
# Fields of AssetsDirectoryTargeting.
_DIMENSIONS: Mapping[int, Dimension] = {
    3: "tcf",
    4: "lang",
    5: "tier",
    6: "countries",
    7: "group",
}
# What the name of a split has for a texture compression format (ModuleSplit.getSuffix).
_FORMATS = {"etc1": "etc1_rgb8", "3dc": "three_dc"}
_OTHERS: Mapping[Dimension, str] = {
    "tcf": "other_tcf",
    "lang": "other_lang",
    "countries": "other_countries",
}
_DEFAULT_TIER = "0"
_SUFFIX = "#{}_([^/#]*)"


@dataclass(frozen=True)
class Asset:
    """Where APKs have a file of a targeted folder.

    `split_path` is its path in the APK of a configuration whose name has all `parts` behind
    `config.`, or in the main APK of the module if there are no parts. `whole_path` is its path in a
    standalone or universal APK; None if that APK has another folder of the same kind.
    """

    split_path: str
    parts: frozenset[str]
    whole_path: str | None

    def is_for(self, configuration: str) -> bool:
        """Return whether the APK of a configuration has the file."""
        return bool(self.parts) and all(
            f"_{part}_" in f"_{configuration}_" for part in self.parts
        )


def read_folders(data: bytes) -> dict[str, frozenset[Dimension]]:
    """Return the dimensions of each folder in an `assets.pb` that is targeted."""
    proto = ProtoReader(_MAX_FIELDS)
    folders = {}
    for field in proto.fields(memoryview(data)):
        if field.id != 1:
            continue
        folder = proto.message(field.data)
        dimensions = _DIMENSIONS.keys() & {
            part.id for part in proto.fields(folder[2].data)
        }
        if dimensions:
            path = str(folder[1].data, "utf-8").rstrip("/")
            folders[path] = frozenset(_DIMENSIONS[number] for number in dimensions)
    return folders


def targeted_asset(
    path: str,
    folders: Mapping[str, Collection[Dimension]],
    config: BundleConfig,
    *,
    is_pack: bool,
) -> Asset | None:
    """Return where APKs have an asset of a module with these folders; None if every APK of the
    module has it. `is_pack` says that the module is an asset pack.
    """
    # Each folder with files is listed, so the one that a file lies in is enough.
    dimensions = folders.get(path.rpartition("/")[0])
    if dimensions is None:
        return None
    values = {dimension: _value(path, dimension) for dimension in dimensions}
    split_path = path
    parts = set()
    for dimension, value in values.items():
        # The slices of an asset pack are not split by language (AssetModuleSplitter).
        if dimension not in config.split_dimensions or (
            is_pack and dimension == "lang"
        ):
            continue
        part = _part(dimension, value)
        if part:
            parts.add(part)
        if dimension in config.stripped_in_splits:
            split_path = _strip_suffix(split_path, dimension)
    return Asset(split_path, frozenset(parts), _whole_path(path, values, config))


def _whole_path(
    path: str, values: Mapping[Dimension, str], config: BundleConfig
) -> str | None:
    """Return the path in an APK for all devices, which has one folder of each kind that the bundle
    has settings for; None if it has another one.
    """
    for dimension, default in config.default_suffixes.items():
        if dimension not in values:
            continue
        kept = default or (_DEFAULT_TIER if dimension == "tier" else "")
        if values[dimension] != kept:
            return None
        if dimension in config.stripped:
            path = _strip_suffix(path, dimension)
    return path


def _value(path: str, dimension: Dimension) -> str:
    """Return the value in the name of a folder; empty for the folder that is for all devices
    without a folder of their own.
    """
    folder = path.rpartition("/")[0]
    match = re.search(_SUFFIX.format(dimension), folder)
    return match[1] if match else ""


def _strip_suffix(path: str, dimension: Dimension) -> str:
    """Return a path whose folders have lost a suffix; the name of the file keeps it."""
    folder, _, name = path.rpartition("/")
    return re.sub(_SUFFIX.format(dimension), "", folder) + "/" + name


def _part(dimension: Dimension, value: str) -> str:
    """Return the part of a split's name that says for which devices it is (ModuleSplit.getSuffix);
    empty if it says nothing.
    """
    if not value:
        return _OTHERS.get(dimension, "")
    if dimension == "tcf":
        return _FORMATS.get(value, value)
    if dimension == "lang":
        return value
    return f"{dimension}_{value}"
