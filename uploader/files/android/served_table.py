"""Compares the resource table of an APK with those of the bundle's modules, value by value.

Each value that an APK has must be the bundle's for the same resource and the same configuration.
Which values an APK has depends on what it is for: bundletool puts the values for a language into
the APK of that language, and of values that differ in their density alone the best one into the APK
of that density (LanguageResourcesSplitter, ScreenDensityResourcesSplitter). So values are missing
only where a set of APKs should have them.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from uploader.files.android.archive import MAX_MEMBERS
from uploader.files.android.bundle_config import BundleConfig
from uploader.files.android.resource_proto import ProtoTable
from uploader.files.android.resource_table import BinaryTable, Package
from uploader.files.android.resource_values import (
    ENCODED_SIZE,
    Encoded,
    TableValue,
    UnreadableTable,
    density,
    describe,
    language,
    without_density,
)

DENSITIES = frozenset({"ldpi", "mdpi", "tvdpi", "hdpi", "xhdpi", "xxhdpi", "xxxhdpi"})
# Resources that are made for the APKs (bundletool, SplitsXmlInjector and LocaleConfigXmlInjector).
_MADE_RESOURCE = re.compile(r"res/xml/(splits\d{1,4}|locales_config)\.xml")
# What aapt2 writes for the name of a resource where names are collapsed (Obfuscator).
_COLLAPSED = "0_resource_name_obfuscated"
_MIPMAP = "mipmap"  # for every density in the main APK (bundletool, ScreenDensityResourcesSplitter)
_APP_PACKAGE = 0x7F
_MAX_PACKAGE_NAME = 127  # characters; aapt2 cuts a longer one
_MAX_CONFIGURATIONS = 0x10000
_MAX_TOLD = 10  # values that are told of one table
# Languages that have two codes; Java's are not always those of the resource table.
_OTHER_CODES = {"he": "iw", "id": "in", "yi": "ji", "fil": "tl"}


class BuiltTable:
    """The resource table of a module, by resource and configuration. Raises UnreadableTable."""

    def __init__(self, data: bytes) -> None:
        self._numbers: dict[bytes, int] = {}
        self._configurations: list[bytes] = []
        self._names: dict[int, tuple[str, str]] = {}
        self._files: dict[int, str] = {}
        keys = array("Q")
        values = bytearray()
        table = ProtoTable(data)
        for value in table.values():
            key = self._add_key(value)
            keys.append(key)
            values += value.value
            if value.text is not None:
                self._files[key] = value.text
        self.packages = table.packages
        self.libraries = table.libraries
        order = sorted(range(len(keys)), key=keys.__getitem__)
        self._keys = array("Q", (keys[place] for place in order))
        self._values = b"".join(
            values[place * ENCODED_SIZE : (place + 1) * ENCODED_SIZE] for place in order
        )
        if len(set(keys)) != len(keys):
            raise UnreadableTable("has two values for the same devices")

    def _add_key(self, value: TableValue) -> int:
        """Return the number of a resource and a configuration, and take note of both."""
        if value.configuration not in self._numbers:
            if len(self._configurations) >= _MAX_CONFIGURATIONS:
                raise UnreadableTable("has values for too many kinds of devices")
            self._numbers[value.configuration] = len(self._configurations)
            self._configurations.append(value.configuration)
        if value.resource not in self._names:
            self._names[value.resource] = value.type, value.name
        return value.resource << 16 | self._numbers[value.configuration]

    def __len__(self) -> int:
        return len(self._keys)

    def name(self, resource: int) -> tuple[str, str] | None:
        """Return the type and the name of a resource."""
        return self._names.get(resource)

    def place(self, resource: int, configuration: bytes) -> int | None:
        """Return the place of a value in the table."""
        number = self._numbers.get(configuration)
        if number is None:
            return None
        key = resource << 16 | number
        place = bisect_left(self._keys, key)
        if place < len(self._keys) and self._keys[place] == key:
            return place
        return None

    def value(self, place: int) -> Encoded:
        """Return the value at a place."""
        return self._values[place * ENCODED_SIZE : (place + 1) * ENCODED_SIZE]

    def file(self, place: int) -> str | None:
        """Return the path of the file that the value at a place is."""
        return self._files.get(self._keys[place])

    def at(self, place: int) -> tuple[int, bytes]:
        """Return the resource and the configuration of the value at a place."""
        key = self._keys[place]
        return key >> 16, self._configurations[key & 0xFFFF]


@dataclass
class TableDifference:
    """How the table of an APK differs from the bundle's. `files` are the paths that it names, each
    with those in the modules whose contents it should have; `lists` are the ids of the resources
    that were made for the APK, by the names of their files.
    """

    changes: list[str] = field(default_factory=list)
    count: int = 0
    files: dict[str, set[str]] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)

    def add(self, change: str) -> None:
        """Take note of a change."""
        self.count += 1
        if len(self.changes) < _MAX_TOLD:
            self.changes.append(change)

    @property
    def why(self) -> str:
        """The changes as one phrase; empty where there are none."""
        told = "; ".join(self.changes)
        if self.count > len(self.changes):
            told += f"; and {self.count - len(self.changes):,} more"
        return told


def compare_table(
    table: BinaryTable,
    package: str,
    built: Sequence[BuiltTable],
    seen: Sequence[bytearray],
    config: BundleConfig,
) -> TableDifference:
    """Compare the table of an APK of this app with those of the modules that it is made of.

    What each of `built` has and the APK has, too, is marked in the `seen` of the same index.
    `config` tells which resources may have lost their names. Raises UnreadableTable.
    """
    comparison = _TableComparison(built, seen, config)
    for value in table.values():
        comparison.add(value)
    difference = comparison.difference
    for served in table.packages:
        if not _is_built_package(served, package, built):
            difference.add(
                f"the package {served.name[:100]} (0x{served.id:02x}) was added"
            )
    for library in table.libraries:
        if not _is_built_library(library, built):
            difference.add(
                f"the library {library.name[:100]} (0x{library.id:02x}) was added"
            )
    return difference


class _TableComparison:
    """Compares the values of an APK with those of the bundle's modules."""

    def __init__(
        self,
        built: Sequence[BuiltTable],
        seen: Sequence[bytearray],
        config: BundleConfig,
    ) -> None:
        self._modules = list(zip(built, seen, strict=True))
        self._config = config
        self.difference = TableDifference()

    def add(self, value: TableValue) -> None:
        """Compare one value. Raises UnreadableTable where the table names too many files."""
        change = self._change(value)
        if len(self.difference.files) > MAX_MEMBERS:
            raise UnreadableTable(f"names more than {MAX_MEMBERS:,} files")
        if change:
            devices = describe(value.configuration)
            self.difference.add(f"{value.type}/{value.name[:100]} ({devices}) {change}")

    def _change(self, value: TableValue) -> str:
        """Return how a value differs from the bundle's; empty where it does not."""
        change = "was added"
        for table, marks in self._modules:
            if not self._is_named(value, table.name(value.resource)):
                continue
            change = "was added for these devices"
            place = table.place(value.resource, value.configuration)
            if place is None:
                continue
            # A value that differs is there, and not missing as well.
            marks[place] = 1
            if self._is_same(value, table, place):
                return ""
            change = "has another value"
        if change == "was added" and self._is_made(value):
            return ""
        return change

    def _is_named(self, value: TableValue, built: tuple[str, str] | None) -> bool:
        """Return whether a value has the type and the name that its resource has in the bundle."""
        if built is None or built[0] != value.type:
            return False
        if value.name == built[1]:
            return True
        return value.name == _COLLAPSED and self._config.may_collapse(*built)

    def _is_same(self, value: TableValue, table: BuiltTable, place: int) -> bool:
        """Return whether a value says the same as the one at a place of the bundle's table."""
        file = table.file(place)
        if (
            file is not None
            and value.text is not None
            and value.text.startswith("res/")
        ):
            # A file may have another path; its content decides.
            self.difference.files.setdefault(value.text, set()).add(file)
            return True
        return table.value(place) == value.value

    def _is_made(self, value: TableValue) -> bool:
        """Return whether a value is that of a file which is made for the APKs, and take note of its
        id.
        """
        match = _MADE_RESOURCE.fullmatch(value.text or "")
        if match is None or value.type != "xml":
            return False
        # The resources that keep their names are those of the bundle (Aapt2ResourceConverter).
        is_collapsed = value.name == _COLLAPSED and self._config.collapses_names
        if value.name != match[1] and not is_collapsed:
            return False
        # No APK has two of them, and each is for every device.
        if match[1] in self.difference.lists or any(value.configuration):
            return False
        self.difference.lists[match[1]] = value.resource
        return True


def _is_built_package(
    served: Package, package: str, built: Sequence[BuiltTable]
) -> bool:
    names = [
        table.packages[served.id] for table in built if served.id in table.packages
    ]
    if not names and served.id == _APP_PACKAGE:
        # made for a module that has no resources (bundletool, ResourceInjector)
        names = [package]
    return served.name in [name[:_MAX_PACKAGE_NAME] for name in names]


def _is_built_library(library: Package, built: Sequence[BuiltTable]) -> bool:
    """Return whether a package that a table refers to is one of the bundle's, or named there."""
    for table in built:
        for names in (table.packages, table.libraries):
            if names.get(library.id, "")[:_MAX_PACKAGE_NAME] == library.name:
                return True
    return False


@dataclass(frozen=True)
class Given:
    """For what the APKs of a module are: the parts of split names behind `config.`, and whether
    they have what every device needs and what any needs. Without `splits_languages` or
    `splits_densities` the main APK has the values of all of them.
    """

    suffixes: Collection[str]
    has_configurations: bool
    is_whole: bool
    splits_languages: bool = True
    splits_densities: bool = True

    def has_language(self, code: str) -> bool:
        """Return whether values for a language should be there."""
        if self.is_whole or not self.splits_languages:
            return True
        return code in self.suffixes or _OTHER_CODES.get(code) in self.suffixes

    @property
    def has_density(self) -> bool:
        """Whether values for some density should be there."""
        return (
            self.is_whole
            or not self.has_configurations
            or any(suffix in DENSITIES for suffix in self.suffixes)
        )


@dataclass(frozen=True)
class Lacking:
    """What a set of APKs has not of a table: `missing` are values that it should have, in a few
    words, as far as they are told; the counts are of values.
    """

    missing: tuple[str, ...] = ()
    missing_count: int = 0
    not_given: int = 0

    @property
    def why(self) -> str:
        """The missing values as one phrase."""
        told = ", ".join(self.missing)
        if self.missing_count > len(self.missing):
            told += f" and {self.missing_count - len(self.missing):,} more"
        return f"{told}: in none of the APKs that should have it"


def lacking_values(table: BuiltTable, seen: bytearray, given: Given) -> Lacking:
    """Say which values of a table no APK of a set has, and which of them one should have."""
    lacking = [place for place, mark in enumerate(seen) if not mark]
    resources = {table.at(place)[0] for place in lacking}
    groups = Counter(group for _, group in _groups(table, resources))
    present = {group for place, group in _groups(table, resources) if seen[place]}
    missing: list[str] = []
    missing_count = 0
    for place in lacking:
        resource, configuration = table.at(place)
        group = resource, without_density(configuration)
        kind, name = table.name(resource) or ("", "")
        if _is_needed(
            kind, configuration, groups[group], given, is_present=group in present
        ):
            missing_count += 1
            if len(missing) < _MAX_TOLD:
                missing.append(f"{kind}/{name[:100]} ({describe(configuration)})")
    return Lacking(tuple(missing), missing_count, len(lacking) - missing_count)


def _groups(
    table: BuiltTable, resources: Collection[int]
) -> Iterator[tuple[int, tuple[int, bytes]]]:
    """Yield the place of each value of these resources, and what it has in common with those that
    differ from it in their density alone.
    """
    for place in range(len(table)):
        resource, configuration = table.at(place)
        if resource in resources:
            yield place, (resource, without_density(configuration))


def _is_needed(
    kind: str,
    configuration: bytes,
    alternatives: int,
    given: Given,
    *,
    is_present: bool,
) -> bool:
    """Return whether a value should be there that is not: one of so many alternatives by density,
    of which another may be present.
    """
    code = language(configuration)
    if code and not given.has_language(code):
        return False
    if kind == _MIPMAP or not given.splits_densities:
        return True
    if is_present:
        return False
    if alternatives > 1 or density(configuration):
        return given.has_density
    return True
