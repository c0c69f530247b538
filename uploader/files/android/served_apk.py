"""Compares one APK with the bundle, and says which entries of the bundle a set of APKs should have.

What Google Play adds, leaves out or makes anew by rule is named here, each with its source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from uploader.files.android import compiled_xml, made_lists, served_manifest
from uploader.files.android.archive import MAX_MEMBER
from uploader.files.android.asset_targeting import Asset
from uploader.files.android.bundle_config import BundleConfig, Dimension
from uploader.files.android.code_transparency import IN_APK, IN_BUNDLE
from uploader.files.android.compiled_xml import NotComparable, NotCompiledXml
from uploader.files.android.manifest_rules import Role
from uploader.files.android.resource_table import BinaryTable, Layouts
from uploader.files.android.resource_values import UnreadableTable
from uploader.files.android.served_files import (
    MANIFEST,
    TABLE,
    Bundle,
    Identity,
    Members,
    Module,
)
from uploader.files.android.served_jar import JarSignature, is_jar_part
from uploader.files.android.served_manifest import ManifestDifference
from uploader.files.android.served_table import Given, TableDifference, compare_table

State = Literal[
    "same", "by-rule", "unverified", "protected", "changed", "missing", "added"
]

LIBRARY = re.compile(r"lib/([^/]+)/")
# bundletool, BinaryArtProfilesInjector
_PROFILES = re.compile(r"assets/dexopt/([^/]+)")
# bundletool, SourceStamp; source.android.com has its format
_STAMP = "stamp-cert-sha256"
_STAMP_SIZE = 32  # bytes
_LIBRARY = re.compile(r"lib/[^/]+/[^/]+\.so")
# bundletool, AbiPlaceholderInjector
_PLACEHOLDER = re.compile(r"lib/([^/]+)/libplaceholder\.so")
# Files for the SDK runtime (bundletool, RuntimeEnabledSdkTableInjector and ModuleSplit).
_SDK_RUNTIME = frozenset(
    {
        "assets/RuntimeEnabledSdkTable.xml",
        "assets/SandboxedSdkProviderCompatClassName.txt",
    }
)
# signed anew (bundletool, ApkSigner.signEmbeddedApks)
_EMBEDDED = re.compile(r"res/.+\.apk")
_DENSITY = re.compile(r"(?:l|m|tv|h|xh|xxh|xxxh|\d{1,4})dpi")
_LANGUAGE = re.compile(r"[a-z]{2,3}|b\+[A-Za-z0-9+]+")
_RESOURCE = re.compile(r"res/([^/]+)/([^/]+)")
# a library of the wrapper of automatic protection
PROTECTION_LIBRARY = re.compile(r"lib/[^/]+/libpairip\w*\.so")
# the code that it has taken out of the app's, by names such as `PAvdaIa2xHwL2BZt`
PROTECTION_STORE = re.compile(r"assets/[A-Za-z0-9]{16}")
_NUMBERED_DEX = re.compile(r"classes([2-9]|[1-9][0-9]{1,4})\.dex")
# What bundletool puts behind `config.`, and a number if the name is taken
# (ModuleSplit.getSuffix, SuffixManager).
_CONFIGURATION = re.compile(
    r"(?P<devices>"
    r"(?:_(?:armeabi_v7a|armeabi|arm64_v8a|x86_64|x86|mips64|mips|riscv64|other_abis))*"
    r"(?:_hwasan)?"
    r"(?:_[a-z]{2,3}|_other_lang)*"
    r"(?:_(?:l|m|tv|h|xh|xxh|xxxh|no)dpi|_default)?"
    r"(?:_(?:astc|atc|dxt1|latc|paletted|pvrtc|etc1_rgb8|etc2|s3tc|three_dc|other_tcf))?"
    r"(?:_tier_\d{1,9})?"
    r"(?:_group_\w+)?"
    r"(?:_countries_\w+|_other_countries)?"
    r")(?:_(?:[2-9]|[1-9]\d{1,5}))?",
    re.ASCII,
)
# API levels from which on Android reads sparse and compact resource tables.
_SPARSE_TABLES = 32
_COMPACT_TABLES = 34
_MULTIDEX = 21  # the API level from which on Android itself loads several dex files


@dataclass
class Contents:
    """What an APK, or several APKs of one device, have of the bundle: which entries, and which
    values of resource tables. `lacking` are entries that are known to be missing.
    """

    seen: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)
    values: dict[str, bytearray] = field(default_factory=dict)
    unmatched_dex: int = 0
    unread_tables: bool = False

    def marks(self, module: str, size: int) -> bytearray:
        """Return a mark for each of so many values of a module's resource table, 1 if it is
        there.
        """
        return self.values.setdefault(module, bytearray(size))

    def add(self, other: Contents) -> None:
        """Add what another APK has."""
        self.seen |= other.seen
        self.lacking |= other.lacking
        self.unmatched_dex += other.unmatched_dex
        self.unread_tables = self.unread_tables or other.unread_tables
        for module, marks in other.values.items():
            own = self.marks(module, len(marks))
            own_bits = int.from_bytes(own, "little")
            other_bits = int.from_bytes(marks, "little")
            both = own_bits | other_bits
            own[:] = both.to_bytes(len(own), "little")


@dataclass
class DeviceSet:
    """APKs that a device has together.

    `masters` are the main APKs by module, which have what every device needs. `configurations` are
    the other APKs, as module and suffix. A set that `is_universal` is a single APK for all devices.
    """

    is_universal: bool = False
    contents: Contents = field(default_factory=Contents)
    masters: dict[str, Identity] = field(default_factory=dict)
    configurations: set[tuple[str, str]] = field(default_factory=set)

    def is_settled(self, entry: str) -> bool:
        """Return whether an entry of the bundle is there, or known to be missing."""
        if entry in self.contents.seen:
            return True
        return entry in self.contents.lacking

    def is_any_settled(self, entries: Iterable[str]) -> bool:
        """Return whether one of these entries is there, or known to be missing."""
        return any(map(self.is_settled, entries))

    def dimensions(
        self, identity: Identity, config: BundleConfig
    ) -> Collection[Dimension]:
        """Return by which properties of a device APKs of the kind of `identity` are split."""
        if self.is_universal:
            return ()
        if identity.kind == "standalone":
            return config.standalone_dimensions
        return config.split_dimensions

    def given(
        self,
        module: str,
        identity: Identity,
        config: BundleConfig,
    ) -> Given:
        """Return which devices the APKs of a module are for. `identity` is the main one."""
        suffixes = set()
        for name, suffix in self.configurations:
            if name in (module, identity.module):
                suffixes.add(suffix)
        dimensions = self.dimensions(identity, config)
        return Given(
            suffixes,
            has_configurations=identity.splits_required or bool(suffixes),
            is_whole=identity.kind == "standalone",
            splits_languages="lang" in dimensions,
            splits_densities="density" in dimensions,
        )


class ApkChecker:
    """Compares the entries of one APK."""

    def __init__(
        self,
        members: Members,
        bundle: Bundle,
        modules: Sequence[Module],
        identity: Identity,
        min_sdk: int,
        certificates: Collection[str],
    ) -> None:
        """Prepare to compare an APK that is made of these modules. It is for devices from the API
        level `min_sdk` on, and one of `certificates` (SHA-256) signed it.
        """
        self._members = members
        self._bundle = bundle
        self._modules = modules
        self._identity = identity
        self._min_sdk = min_sdk
        self._signature = JarSignature(members, certificates)
        self._table: tuple[State, str] | None = None
        # The ids of the lists that were made for the APK; None if its table can't be read.
        self._lists: Mapping[str, int] | None = {}
        # Files that have another path than in the bundle, each with the entries whose content it
        # should have by the resource table.
        self._files: dict[str, list[str]] = {}
        # Files that the resource table names but the APK lacks, each with the bundle's entry.
        self.lacking: list[tuple[str, str]] = []
        self.protection: list[str] = []
        self.contents = Contents()

    def check(self, name: str) -> tuple[State, str]:
        """Compare one entry, and return its state and why it is not the same. Raises
        MalformedFile.
        """
        if name == MANIFEST:
            return self._check_manifest()
        if name == TABLE:
            return self._check_table()
        if _is_dex(name):
            if self._identity.kind == "configuration":
                return "changed", "the APK of a configuration has no code"
            if len(self._modules) > 1:
                return self._check_merged_dex(name)
        if name.startswith("res/"):
            self._check_table()
            if name in self._files:
                return self._check_renamed(name)
        candidates = self._candidates(name)
        if candidates:
            return self._check_content(name, candidates)
        return self._check_unknown(name)

    def _check_table(self) -> tuple[State, str]:
        """Compare the resource table, once."""
        if TABLE not in self._members:
            return "same", ""
        if self._table is None:
            self._table = self._compare_table()
        return self._table

    def _compare_table(self) -> tuple[State, str]:
        self.contents.seen.update(self._candidates(TABLE))
        try:
            difference = self._table_difference()
        except UnreadableTable as error:
            self.contents.unread_tables = True
            self._lists = None
            return "unverified", f"a resource table that {error}"
        self._lists = difference.lists
        for path, files in difference.files.items():
            self._note_file(path, files)
        if difference.count:
            return "changed", difference.why
        return "same", ""

    def _table_difference(self) -> TableDifference:
        """Compare the resource table. Raises UnreadableTable."""
        built = []
        marks = []
        for module in self._modules:
            built_table = self._bundle.table(module.name)
            if built_table is None:
                continue
            built.append(built_table)
            value_count = len(built_table)
            marks.append(self.contents.marks(module.name, value_count))
        config = self._bundle.config
        layouts = Layouts(
            sparse=config.sparse_tables or self._min_sdk >= _SPARSE_TABLES,
            compact=self._min_sdk >= _COMPACT_TABLES,
        )
        self._bundle.tables.check()
        data = self._members.table(TABLE)
        table = BinaryTable(data, layouts)
        try:
            package = self._identity.package
            return compare_table(table, package, built, marks, config)
        finally:
            self._bundle.tables.spend(table.work)

    def _note_file(self, path: str, files: set[str]) -> None:
        """Note a path that the table names, and the paths in the modules whose contents the file
        should have.
        """
        entries = []
        for module in self._modules:
            for file in sorted(files):
                entry = f"{module.name}/{file}"
                if entry in self._bundle.members:
                    entries.append(entry)
        if path not in self._members:
            self.lacking.extend((path, entry) for entry in entries)
        elif files != {path}:
            self._files[path] = entries

    def _check_renamed(self, name: str) -> tuple[State, str]:
        """Compare a file that has another path than in the bundle. It must equal each of the files
        that the bundle's table has for the resources of this path.
        """
        state: State = "added"
        why = "the bundle has no such entry"
        for entry in self._files[name]:
            state, why = self._check_content(name, [entry])
            if state != "same":
                return state, why
        return state, why

    def _candidates(self, name: str) -> list[str]:
        """Return the entries of the bundle that may become this one."""
        candidates: list[str] = []
        for module in self._modules:
            for entry in module.entries.get(name, ()):
                asset = module.assets.get(entry)
                if asset is None or self._may_have(asset, name):
                    candidates.append(entry)
        profile = _PROFILES.fullmatch(name)
        if profile:
            candidates += self._bundle.profiles(profile[1])
        if name == IN_APK and IN_BUNDLE in self._bundle.members:
            candidates.append(IN_BUNDLE)
        return candidates

    def _may_have(self, asset: Asset, name: str) -> bool:
        """Return whether an asset for some devices belongs in the APK under this name."""
        if self._identity.kind == "standalone":
            return asset.whole_path == name
        if asset.split_path != name:
            return False
        if self._identity.kind == "configuration":
            devices = configuration_of(self._identity)
            return asset.is_for(devices)
        return not asset.parts

    def _check_content(self, name: str, candidates: list[str]) -> tuple[State, str]:
        """Compare an entry with those that it may come from."""
        self.contents.seen.update(candidates)
        sha256 = self._members.sha256(name)
        for candidate in candidates:
            built_sha256 = self._bundle.members.sha256(candidate)
            if sha256 == built_sha256:
                return "same", ""
        if name.startswith("res/") and self._members.is_binary_xml(name):
            return self._check_xml(name, candidates)
        if _PROFILES.fullmatch(name):
            return "unverified", "a baseline profile that differs from the bundle's"
        if _EMBEDDED.fullmatch(name):
            return "unverified", "an APK within the APK is signed anew"
        if name.endswith(".dex"):
            self._note_protection(name)
        return "changed", "its content differs from the bundle's"

    def _check_xml(self, name: str, candidates: list[str]) -> tuple[State, str]:
        """Compare compiled XML by what it means."""
        built_members = self._bundle.members
        sizes = [self._members.size(name)]
        sizes.extend(map(built_members.size, candidates))
        if max(sizes) > MAX_MEMBER:
            return "unverified", "an XML file that is too large to decode"
        try:
            served = self._document(self._members, name, is_binary=True)
            for candidate in candidates:
                built = self._document(built_members, candidate, is_binary=False)
                if built == served:
                    return "same", ""
        except NotComparable as error:
            return "unverified", f"an XML file that {error}"
        except NotCompiledXml:
            return "changed", "its content differs from the bundle's"
        return "changed", "the XML file says something else than the bundle's"

    def _document(
        self,
        members: Members,
        name: str,
        *,
        is_binary: bool,
    ) -> bytes:
        """Return a digest of what compiled XML says. Raises NotCompiledXml and NotComparable."""
        documents = self._bundle.tables.documents
        return documents.digest(
            members.sha256(name),
            lambda: members.archive.read(name),
            is_binary=is_binary,
        )

    def _check_merged_dex(self, name: str) -> tuple[State, str]:
        """Compare a dex file of an APK into which several modules were merged: the dex files of
        features have other names there (bundletool, ModuleSplitsToShardMerger).
        """
        if not self._is_loaded(name):
            return "changed", "Android does not load a dex file of this name here"
        sources = self._sources_of_dex(name)
        if sources:
            self.contents.seen.update(sources)
            base = self._modules[0]
            of_base = base.entries.get(name, [])
            if of_base and of_base[0] not in sources:
                # Android loads the class of the first dex file that has one of its name.
                return (
                    "changed",
                    f"its content is that of another dex file, {sources[0]}",
                )
            return "same", ""
        self.contents.unmatched_dex += 1
        if self._identity.min_sdk < _MULTIDEX:
            return (
                "unverified",
                "the dex files of several modules were merged for old devices",
            )
        if self._candidates(name):
            self._note_protection(name)
            return "changed", "its content is that of no dex file in the bundle"
        self._note_protection(name)
        return "added", "its content is that of no dex file in the bundle"

    def _sources_of_dex(self, name: str) -> list[str]:
        """Return the dex files of the modules that have the content of this one."""
        sha256 = self._members.sha256(name)
        sources = []
        for module in self._modules:
            for path, entries in module.entries.items():
                if not _is_dex(path):
                    continue
                built_sha256 = self._bundle.members.sha256(entries[0])
                if sha256 == built_sha256:
                    sources += entries
        return sources

    def _is_loaded(self, dex: str) -> bool:
        """Return whether Android loads a dex file: `classes.dex`, then the numbers from 2 on, up to
        the first gap.
        """
        if dex == "classes.dex":
            return True
        match = _NUMBERED_DEX.fullmatch(dex)
        if match is None:
            return False
        number_before = int(match[1]) - 1
        before = f"classes{number_before}.dex"
        if number_before == 1:
            before = "classes.dex"
        return before in self._members

    def _note_protection(self, name: str) -> None:
        """Note classes of the wrapper in a dex file, unless the bundle has such classes too."""
        if name not in self._members.protected_dex:
            return
        if not self._bundle.members.protected_dex:
            self.protection.append(
                "a wrapper was added to the code (classes of com.pairip)"
            )

    def _check_unknown(self, name: str) -> tuple[State, str]:
        """Return whether an entry that the bundle does not have is one that Google Play adds by
        rule.
        """
        if is_jar_part(name):
            if self._signature.is_expected(name):
                return "by-rule", "a part of the signature"
            return (
                "unverified",
                "a part of a JAR signature that holds more, or can't be read",
            )
        size = self._members.size(name)
        if name == _STAMP and size == _STAMP_SIZE:
            return "by-rule", "the certificate of the source stamp"
        if _PLACEHOLDER.fullmatch(name) and size == 0:
            return self._check_placeholder(name)
        if name in _SDK_RUNTIME:
            return "unverified", "a file for the SDK runtime"
        if _PROFILES.fullmatch(name):
            return "unverified", "a baseline profile that is not the bundle's"
        if self._is_made_list(name):
            return "by-rule", "a list of languages, made for the APKs"
        self._look_for_wrapper(name)
        return "added", "the bundle has no such entry"

    def _look_for_wrapper(self, name: str) -> None:
        """Note an added library or dex file of automatic protection."""
        if PROTECTION_LIBRARY.fullmatch(name):
            _, _, library = name.rpartition("/")
            self.protection.append(f"a library was added ({library})")
        elif name.endswith(".dex"):
            self._members.sha256(name)
            self._note_protection(name)

    def _check_placeholder(self, name: str) -> tuple[State, str]:
        """Compare an empty library. In a base without libraries it stands for an ABI for which
        another module has some (bundletool, AbiPlaceholderInjector).
        """
        if self._identity.kind != "base":
            return "added", "an empty library in an APK that is no base with splits"
        for other in self._members:
            if _PLACEHOLDER.fullmatch(other):
                continue
            if _LIBRARY.fullmatch(other):
                return "added", "an empty library beside those of the app"
        placeholder = _PLACEHOLDER.fullmatch(name)
        if placeholder is None or not self._has_module_for(placeholder[1]):
            return (
                "added",
                "an empty library for an ABI of which no other module has libraries",
            )
        return "by-rule", "an empty library that stands for an ABI"

    def _has_module_for(self, abi: str) -> bool:
        """Return whether the modules of this APK have no libraries, and another module has some of
        this ABI.
        """
        other_abis = set()
        own = {module.name for module in self._modules}
        for module in self._bundle.modules.values():
            for path in module.entries:
                library = LIBRARY.match(path)
                if library is None:
                    continue
                if module.name in own:
                    return False
                other_abis.add(library[1])
        return abi in other_abis

    def _is_made_list(self, name: str) -> bool:
        """Return whether an entry is a list of languages or locales that bundletool makes, in an
        APK that gets one.
        """
        is_splits = made_lists.SPLITS_PATH.fullmatch(name) is not None
        is_locales = name == made_lists.LOCALES_PATH
        if not is_splits and not is_locales:
            return False
        kinds = ["base"]
        if is_splits:
            kinds.append("standalone")
        if self._identity.kind not in kinds:
            return False
        if self._members.size(name) > MAX_MEMBER:
            return False
        data = self._members.archive.read(name)
        try:
            events = compiled_xml.binary_events(data)
            root = compiled_xml.tree(events)
        except NotCompiledXml:
            return False
        if is_splits:
            return made_lists.is_list_of_splits(root, self._bundle.modules)
        return made_lists.is_list_of_locales(root)

    def _check_manifest(self) -> tuple[State, str]:
        """Compare the manifest."""
        if not self._modules:
            return "added", "the bundle has no such module"
        self._check_table()
        foreign = self._foreign_modules()
        if foreign:
            listed = ", ".join(foreign)
            return "changed", f"modules that are not merged into it: {listed}"
        difference = self._manifest_difference()
        foreign_names = served_manifest.foreign_names(
            self._members.manifest_names(),
            self._bundle.manifest_names(),
        )
        changes = (*difference.changes, *foreign_names)
        if changes:
            phrases = (*changes, *difference.protection)
            return "changed", "; ".join(phrases)
        if difference.protection:
            # `served` takes it for a change if no APK has code of the wrapper.
            return "protected", "; ".join(difference.protection)
        doubts = list(difference.unverified)
        if not self._identity.is_master and not has_known_configuration(self._identity):
            doubts.append("its name does not say for which devices it is")
        if doubts:
            return "unverified", "; ".join(doubts)
        return "same", ""

    def _manifest_difference(self) -> ManifestDifference:
        served = self._members.manifest()
        role = self._role()
        if not self._identity.is_master:
            return served_manifest.compare_configuration(served, role)
        has_code = any(module.has_code for module in self._modules)
        return served_manifest.compare_module(served, role, has_code=has_code)

    def _foreign_modules(self) -> list[str]:
        """Return the modules that bundletool does not merge into such an APK. A base with splits
        gets what is on every device (BundleModuleMerger), a standalone APK what `dist:fusing`
        includes (BuildApksManager).
        """
        if self._identity.kind not in ("base", "standalone"):
            return []
        may_merge = self._bundle.may_merge_into_base
        if self._identity.kind == "standalone":
            may_merge = self._bundle.may_fuse
        foreign = []
        for module in self._modules:
            if module.name == "base":
                continue
            if not may_merge(module):
                foreign.append(module.name)
        return foreign

    def _role(self) -> Role:
        """Return what the APK is, as far as its manifest depends on it."""
        app = {name: module.manifest for name, module in self._bundle.modules.items()}
        modules: tuple[str, ...] = (self._identity.module,)
        if self._identity.module == "base":
            fused = ("base", *self._identity.fused)
            modules = tuple(dict.fromkeys(fused))
        return Role(
            kind=self._identity.kind,
            split=self._identity.split,
            module=self._identity.module,
            modules=modules,
            app=app,
            bundletool=self._bundle.config.bundletool,
            lists=self._lists,
        )


def configuration_of(identity: Identity) -> str:
    """Return the devices that the APK of a configuration is for, as its name says, without the
    number that distinguishes it from others for the same devices.
    """
    _, _, name = identity.split.rpartition("config.")
    match = _CONFIGURATION.fullmatch(f"_{name}")
    if match is None:
        return name
    return match["devices"].removeprefix("_")


def has_known_configuration(identity: Identity) -> bool:
    """Return whether the APK of a configuration has a name that bundletool makes."""
    _, _, name = identity.split.rpartition("config.")
    match = _CONFIGURATION.fullmatch(f"_{name}")
    if match is None:
        return False
    return match["devices"] != ""


def _is_dex(path: str) -> bool:
    return path.endswith(".dex") and "/" not in path


class Needed:
    """Which entries of a module a set of APKs should have."""

    def __init__(
        self,
        module: Module,
        device_set: DeviceSet,
        identity: Identity,
        config: BundleConfig,
    ) -> None:
        self._module = module
        self._set = device_set
        self._dimensions = device_set.dimensions(identity, config)
        self._strips_64_bit = config.strips_64_bit and not device_set.is_universal
        self._standalone = identity.kind == "standalone"
        self._has_configurations = identity.splits_required
        self._suffixes = set()
        for name, suffix in device_set.configurations:
            if name == module.name:
                self._has_configurations = True
            if name in (module.name, identity.module):
                self._suffixes.add(suffix)
        self._abis = self._present_abis()
        self._by_density = self._density_groups()

    def _present_abis(self) -> set[str]:
        """Return the ABIs for which the APKs have libraries of the module. In a standalone APK the
        libraries of any module count, since it has those of one ABI from all modules.
        """
        abis = set()
        for path in self._module.entries:
            library = LIBRARY.match(path)
            if library is None:
                continue
            # An APK that is for an ABI by its name has libraries of it.
            suffix = library[1].replace("-", "_")
            configuration = (self._module.name, suffix)
            if configuration in self._set.configurations:
                abis.add(library[1])
        for entry in self._set.contents.seen:
            module, _, path = entry.partition("/")
            is_own = module == self._module.name
            if not is_own and not self._standalone:
                continue
            library = LIBRARY.match(path)
            if library:
                abis.add(library[1])
        return abis

    def _density_groups(self) -> set[tuple[str, str]]:
        """Return the resources, by type and name, that the bundle has for some density. A device
        only gets the best one of each (bundletool, ScreenDensityResourcesSplitter).
        """
        groups = set()
        for path in self._module.entries:
            resource = _parse_resource(path)
            if resource is None:
                continue
            if any(map(_DENSITY.fullmatch, resource.qualifiers)):
                group = (resource.type, resource.name)
                groups.add(group)
        return groups

    def is_needed(self, path: str) -> bool:
        """Return whether a set of APKs without this entry lacks something."""
        library = LIBRARY.match(path)
        if library:
            return self._is_needed_library(library[1])
        if path.startswith("res/"):
            return self._is_needed_resource(path)
        if _is_dex(path) and len(self._set.masters) > 1:
            # If a dex file was changed, it is unknown which one.
            return not self._set.contents.unmatched_dex
        return not is_jar_part(path)

    def is_needed_asset(self, asset: Asset) -> bool:
        """Return whether a set of APKs without this asset, which is for some devices, lacks
        something.
        """
        if self._standalone:
            return asset.whole_path is not None
        if not asset.parts:
            return True
        return any(map(asset.is_for, self._suffixes))

    def _is_needed_library(self, abi: str) -> bool:
        # A universal APK has the libraries of all devices (bundletool, `--mode=universal`).
        if self._set.is_universal:
            return True
        if "abi" not in self._dimensions:
            if self._standalone and self._strips_64_bit:
                return "64" not in abi
            return True
        if self._abis:
            return abi in self._abis
        # Without configurations the device would have no library to run.
        return not self._has_configurations

    def _is_needed_resource(self, path: str) -> bool:
        # A universal APK has the resources of all devices (bundletool, `--mode=universal`).
        if self._set.is_universal:
            return True
        has_languages = self._standalone or "lang" not in self._dimensions
        has_densities = "density" not in self._dimensions
        if has_languages and has_densities:
            return True
        # A shortened path (aapt2 optimize) does not say which devices it is for.
        resource = _parse_resource(path)
        if resource is None:
            return False
        is_for_language = any(map(_LANGUAGE.fullmatch, resource.qualifiers))
        if is_for_language and not has_languages:
            return False
        if has_densities:
            return True
        group = (resource.type, resource.name)
        return group not in self._by_density


class _Resource(NamedTuple):
    """A file of a resource, by its path in an APK."""

    type: str
    qualifiers: Sequence[str]
    name: str


def _parse_resource(path: str) -> _Resource | None:
    """Return what a path says of a resource; None for a path that does not follow the rules."""
    match = _RESOURCE.fullmatch(path)
    if match is None:
        return None
    folder = match[1]
    file_name = match[2]
    resource_type, *qualifiers = folder.split("-")
    name, _, _ = file_name.partition(".")
    return _Resource(resource_type, qualifiers, name)
