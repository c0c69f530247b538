"""Compares the resource table of an APK with those of the bundle's modules, value by value.

Each value that an APK has must be the bundle's for the same resource and the same configuration.
Which values an APK has depends on what it is for: bundletool puts the values for a language into
the APK of that language, and of values that only differ in their density the best one into the APK
of that density (LanguageResourcesSplitter, ScreenDensityResourcesSplitter). So a value only counts
as missing if a set of APKs should have it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

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

DENSITIES = frozenset(
    {
        "ldpi",
        "mdpi",
        "tvdpi",
        "hdpi",
        "xhdpi",
        "xxhdpi",
        "xxxhdpi",
    }
)
# Resources that are made for the APKs (bundletool, SplitsXmlInjector and LocaleConfigXmlInjector).
_MADE_RESOURCE = re.compile(r"res/xml/(splits\d{1,4}|locales_config)\.xml")
# What aapt2 writes for the name of a resource if names are collapsed (Obfuscator).
_COLLAPSED = "0_resource_name_obfuscated"
# The main APK has these for every density (bundletool, ScreenDensityResourcesSplitter).
_MIPMAP = "mipmap"
_APP_PACKAGE = 0x7F
_MAX_PACKAGE_NAME = 127  # characters; aapt2 cuts a longer one
_MAX_CONFIGURATIONS = 0x10000
_MAX_NAMED = 10  # values that are named in a message about one table
# Languages that have two codes; Java's are not always those of the resource table.
_OTHER_CODES = {
    "he": "iw",
    "id": "in",
    "yi": "ji",
    "fil": "tl",
}


class BuiltTable:
    """The resource table of a module, by resource and configuration. Raises UnreadableTable.

    A place is the index of a value in the table, which is sorted. The key of a value is its
    resource id and the number of its configuration.
    """

    def __init__(self, data: bytes) -> None:
        self._numbers: dict[bytes, int] = {}  # of the configurations
        self._configurations: list[bytes] = []  # by number
        self._names: dict[int, tuple[str, str]] = {}  # type and name by resource id
        self._files: dict[int, str] = {}  # paths by key
        keys = array("Q")
        values = bytearray()
        table = ProtoTable(data)
        for value in table.values():
            key = self._add_key(value)
            keys.append(key)
            values += value.value
            if value.text is not None:
                self._files[key] = value.text
        count = len(keys)
        if len(set(keys)) != count:
            raise UnreadableTable("has two values for the same devices")
        self.packages = table.packages
        self.libraries = table.libraries
        self._keys = array("Q")
        sorted_values = bytearray()
        for index in sorted(range(count), key=keys.__getitem__):
            start = index * ENCODED_SIZE
            end = start + ENCODED_SIZE
            self._keys.append(keys[index])
            sorted_values += values[start:end]
        self._values = bytes(sorted_values)

    def _add_key(self, value: TableValue) -> int:
        """Return the key of a value, and note its configuration and the name of its resource."""
        resource = value.resource
        configuration = value.configuration
        number = self._numbers.get(configuration)
        if number is None:
            number = len(self._configurations)
            if number >= _MAX_CONFIGURATIONS:
                raise UnreadableTable("has values for too many kinds of devices")
            self._numbers[configuration] = number
            self._configurations.append(configuration)
        if resource not in self._names:
            self._names[resource] = (value.type, value.name)
        return resource << 16 | number

    def __len__(self) -> int:
        return len(self._keys)

    def name(self, resource: int) -> tuple[str, str] | None:
        """Return the type and the name of a resource, None if the table does not have it."""
        return self._names.get(resource)

    def place(self, resource: int, configuration: bytes) -> int | None:
        """Return the place of a value in the table; None if there is no such value."""
        number = self._numbers.get(configuration)
        if number is None:
            return None
        key = resource << 16 | number
        place = bisect_left(self._keys, key)
        if place == len(self._keys):
            return None
        if self._keys[place] != key:
            return None
        return place

    def value(self, place: int) -> Encoded:
        """Return the value at a place."""
        start = place * ENCODED_SIZE
        end = start + ENCODED_SIZE
        return self._values[start:end]

    def file(self, place: int) -> str | None:
        """Return the path of the value at a place; None if it is no file."""
        key = self._keys[place]
        return self._files.get(key)

    def at(self, place: int) -> tuple[int, bytes]:
        """Return the resource and the configuration of the value at a place."""
        key = self._keys[place]
        resource = key >> 16
        number = key & 0xFFFF
        return resource, self._configurations[number]


@dataclass
class TableDifference:
    """How the table of an APK differs from the bundle's. `files` are the paths that it names, each
    with the paths in the modules whose contents that file should have. `lists` are the ids of the
    resources that were made for the APK, by the names of their files.
    """

    changes: list[str] = field(default_factory=list)
    count: int = 0
    files: dict[str, set[str]] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)

    def add(self, change: str) -> None:
        """Count a change, and remember the first ones."""
        self.count += 1
        if len(self.changes) < _MAX_NAMED:
            self.changes.append(change)

    @property
    def why(self) -> str:
        """The changes as one phrase; empty if there are none."""
        phrase = "; ".join(self.changes)
        further = self.count - len(self.changes)
        if further:
            phrase += f"; and {further:,} more"
        return phrase


def compare_table(
    table: BinaryTable,
    package: str,
    built: Sequence[BuiltTable],
    seen: Sequence[bytearray],
    config: BundleConfig,
) -> TableDifference:
    """Compare the table of an APK with those of the modules that it is made of.

    `package` is the app. Values of `built` that the APK has are marked in the `seen` of the same
    index. `config` says which resources may have lost their names. Raises UnreadableTable.
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
        """Compare one value. Raises UnreadableTable if the table names too many files."""
        change = self._change(value)
        if len(self.difference.files) > MAX_MEMBERS:
            raise UnreadableTable(f"names more than {MAX_MEMBERS:,} files")
        if change:
            devices = describe(value.configuration)
            short_name = value.name[:100]
            resource = f"{value.type}/{short_name}"
            self.difference.add(f"{resource} ({devices}) {change}")

    def _change(self, value: TableValue) -> str:
        """Return how a value differs from the bundle's; empty if it does not."""
        change = "was added"
        is_of_bundle = False
        for table, marks in self._modules:
            built_name = table.name(value.resource)
            if not self._is_named(value, built_name):
                continue
            is_of_bundle = True
            change = "was added for these devices"
            place = table.place(value.resource, value.configuration)
            if place is None:
                continue
            # A value that differs is not missing as well.
            marks[place] = 1
            if self._is_same(value, table, place):
                return ""
            change = "has another value"
        if not is_of_bundle and self._is_made(value):
            return ""
        return change

    def _is_named(self, value: TableValue, built: tuple[str, str] | None) -> bool:
        """Return whether a value has the type and the name that its resource has in the bundle."""
        if built is None:
            return False
        built_type, built_name = built
        if value.type != built_type:
            return False
        if value.name == built_name:
            return True
        if value.name != _COLLAPSED:
            return False
        return self._config.may_collapse(built_type, built_name)

    def _is_same(
        self,
        value: TableValue,
        table: BuiltTable,
        place: int,
    ) -> bool:
        """Return whether a value equals the one at a place of the bundle's table. If both are
        files, note their paths: the contents are compared later.
        """
        file = table.file(place)
        path = value.text
        if file is None or path is None or not path.startswith("res/"):
            return table.value(place) == value.value
        files_of_path = self.difference.files.setdefault(path, set())
        files_of_path.add(file)
        return True

    def _is_made(self, value: TableValue) -> bool:
        """Return whether a value is a file that is made for the APKs, and remember its id."""
        if value.type != "xml" or value.text is None:
            return False
        match = _MADE_RESOURCE.fullmatch(value.text)
        if match is None:
            return False
        name = match[1]
        # The resources that keep their names are those of the bundle (Aapt2ResourceConverter).
        is_collapsed = value.name == _COLLAPSED and self._config.collapses_names
        if value.name != name and not is_collapsed:
            return False
        # No APK has two of them, and each is for every device.
        lists = self.difference.lists
        if name in lists or any(value.configuration):
            return False
        lists[name] = value.resource
        return True


def _is_built_package(
    served: Package,
    package: str,
    built: Sequence[BuiltTable],
) -> bool:
    """Return whether a package of an APK's table is one of the bundle's, or the app's own."""
    is_of_bundle = False
    for table in built:
        name = table.packages.get(served.id)
        if name is None:
            continue
        is_of_bundle = True
        if served.name == name[:_MAX_PACKAGE_NAME]:
            return True
    if is_of_bundle or served.id != _APP_PACKAGE:
        return False
    # It was made for a module that has no resources (bundletool, ResourceInjector).
    return served.name == package[:_MAX_PACKAGE_NAME]


def _is_built_library(library: Package, built: Sequence[BuiltTable]) -> bool:
    """Return whether a package that a table refers to is one of the bundle's, or named there."""
    for table in built:
        for names in (table.packages, table.libraries):
            name = names.get(library.id, "")
            if name[:_MAX_PACKAGE_NAME] == library.name:
                return True
    return False


@dataclass(frozen=True)
class Given:
    """Which devices the APKs of a module are for.

    `suffixes` are the parts of split names behind `config.`. `has_configurations` says whether the
    module has APKs for configurations, and `is_whole` whether one APK has everything. Without
    `splits_languages` or `splits_densities` the main APK has the values for all of them.
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
        if code in self.suffixes:
            return True
        other_code = _OTHER_CODES.get(code)
        return other_code in self.suffixes

    @property
    def has_density(self) -> bool:
        """Whether values for some density should be there."""
        if self.is_whole or not self.has_configurations:
            return True
        return not DENSITIES.isdisjoint(self.suffixes)


@dataclass(frozen=True)
class Lacking:
    """What a set of APKs lacks of a table. `missing` names the first of the `missing_count` values
    that it should have; `not_given` counts those that belong to other devices.
    """

    missing: tuple[str, ...] = ()
    missing_count: int = 0
    not_given: int = 0

    @property
    def why(self) -> str:
        """The missing values as one phrase."""
        phrase = ", ".join(self.missing)
        further = self.missing_count - len(self.missing)
        if further:
            phrase += f" and {further:,} more"
        return f"{phrase}: in none of the APKs that should have it"


def lacking_values(table: BuiltTable, seen: bytearray, given: Given) -> Lacking:
    """Return which values of a table no APK of a set has, and which of them it should have.
    `seen` has a mark for each value that an APK has, `given` says which devices they are for.
    """
    lacking: list[int] = []
    resources: set[int] = set()
    for place, mark in enumerate(seen):
        if not mark:
            lacking.append(place)
            resource, _ = table.at(place)
            resources.add(resource)
    alternatives: Counter[_Group] = Counter()
    present: set[_Group] = set()
    for place in range(len(table)):
        resource, configuration = table.at(place)
        if resource in resources:
            group = resource, without_density(configuration)
            alternatives[group] += 1
            if seen[place]:
                present.add(group)
    missing: list[str] = []
    missing_count = 0
    for place in lacking:
        resource, configuration = table.at(place)
        group = resource, without_density(configuration)
        kind = ""
        name = ""
        type_and_name = table.name(resource)
        if type_and_name is not None:
            kind, name = type_and_name
        is_needed = _is_needed(
            kind,
            configuration,
            alternatives[group],
            given,
            is_present=group in present,
        )
        if not is_needed:
            continue
        missing_count += 1
        if len(missing) < _MAX_NAMED:
            devices = describe(configuration)
            short_name = name[:100]
            missing.append(f"{kind}/{short_name} ({devices})")
    not_given = len(lacking) - missing_count
    return Lacking(tuple(missing), missing_count, not_given)


_Group: TypeAlias = tuple[int, bytes]
"""What values that only differ in their density have in common: the resource, and the rest of the
configuration.
"""


def _is_needed(
    kind: str,
    configuration: bytes,
    alternatives: int,
    given: Given,
    *,
    is_present: bool,
) -> bool:
    """Return whether a lacking value of a resource of this kind should be there. It is one of so
    many `alternatives` that only differ in their density; `is_present` says whether another one of
    them is there.
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
