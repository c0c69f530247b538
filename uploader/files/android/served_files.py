"""Reads a bundle and the APKs that should be made of it, for `served` to compare: what each of them
is, and the contents of their entries as digests.

Raises MalformedFile throughout for what is not what it should be. No name is used as a path.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from uploader.files.android import compiled_xml, served_manifest
from uploader.files.android.archive import (
    MAX_MEMBERS,
    PIECE,
    Archive,
    MalformedFile,
    has_utf8_name,
)
from uploader.files.android.asset_targeting import Asset, read_folders, targeted_asset
from uploader.files.android.bundle_config import (
    MERGES_INSTALLED_MODULES,
    MERGES_WITHOUT_DELIVERY,
    BundleConfig,
    Dimension,
    read_bundle_config,
)
from uploader.files.android.compiled_xml import (
    Documents,
    Element,
    NotComparable,
    NotCompiledXml,
)
from uploader.files.android.manifest import BUNDLE_CONFIG
from uploader.files.android.manifest_merge import (
    DISTRIBUTION,
    TRUE,
    is_always_installed,
    is_asset_pack,
)
from uploader.files.android.manifest_rules import (
    FUSED_MODULES,
    REQUIRED_SPLIT_TYPES,
    SPLITS_REQUIRED,
    VERSION_CODE,
    VERSION_CODE_MAJOR,
    VERSION_NAME,
    YES,
    Kind,
)
from uploader.files.android.resource_values import (
    MAX_BUILT_TABLE,
    MAX_TABLE,
    MAX_VALUES_OF_APKS,
    UnreadableTable,
)
from uploader.files.android.served_table import BuiltTable

MANIFEST = "AndroidManifest.xml"
TABLE = "resources.arsc"
BUILT_TABLE = "resources.pb"
_HEXADECIMAL = re.compile(r"[0-9a-f]{1,8}")  # of a number in compiled XML
_MODULE_MANIFEST = re.compile(r"(\w{1,100})/manifest/AndroidManifest\.xml", re.ASCII)
_ASSETS = "assets.pb"
_ISOLATED_SPLITS = "0x0101054b"
_PROFILE_METADATA = (
    "BUNDLE-METADATA/com.android.tools.build.profiles/",
    "BUNDLE-METADATA/assets.dexopt/",
)
# bytes of the manifests of all APKs; that of a large app has some 500 KB
MAX_MANIFESTS = 64 << 20
_PROTECTION_CLASS = b"Lcom/pairip/"  # of the wrapper of automatic protection


@dataclass(frozen=True)
class Identity:
    """What an APK or a bundle says it is. `module` is the one that an APK belongs to, `fused` are
    all modules that were merged into it. `version_name` is empty if the manifest has none, or takes
    it from a resource.
    """

    package: str
    version_code: int
    kind: Kind = "base"
    split: str = ""
    module: str = "base"
    fused: tuple[str, ...] = ()
    min_sdk: int = 1
    splits_required: bool = False
    version_name: str = ""

    @property
    def is_master(self) -> bool:
        """Whether it has what every device needs of its module."""
        return self.kind != "configuration"


class Members:
    """The entries of a zip, with what was read of them so far. Raises MalformedFile."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.archive = Archive(file, lambda name: not name.endswith("/"), MAX_MEMBERS)
        self.archive.check_unpacked_size()
        for member in self.archive.members.values():
            if not has_utf8_name(member):
                raise MalformedFile(
                    "may be read in several ways: the name of an entry is no UTF-8."
                )
        self._sha256: dict[str, bytes] = {}
        self._manifest: tuple[Element, frozenset[str]] | None = None
        self.protected_dex: set[str] = set()  # dex files with classes of the wrapper

    def __contains__(self, name: str) -> bool:
        return name in self.archive.members

    def __iter__(self) -> Iterator[str]:
        return iter(self.archive.members)

    def size(self, name: str) -> int:
        """Return the declared size of an entry, which reading it would confirm."""
        return self.archive.members[name].file_size

    def sha256(self, name: str) -> bytes:
        """Return the digest of an entry's content, read once."""
        if name not in self._sha256:
            digest = hashlib.sha256()
            tail = b""
            size = self.size(name)
            for piece in self.archive.pieces(name, size):
                digest.update(piece)
                if name.endswith(".dex"):
                    if _PROTECTION_CLASS in tail + piece:
                        self.protected_dex.add(name)
                    tail = piece[-len(_PROTECTION_CLASS) :]
            self._sha256[name] = digest.digest()
        return self._sha256[name]

    def digest(self, name: str, kind: str) -> bytes:
        """Return another digest of an entry's content than its SHA-256."""
        digest = hashlib.new(kind, usedforsecurity=False)
        size = self.size(name)
        for piece in self.archive.pieces(name, size):
            digest.update(piece)
        return digest.digest()

    def is_binary_xml(self, name: str) -> bool:
        """Return whether an entry claims to be Android's binary XML."""
        beginning = b"".join(self.archive.pieces(name, 8))
        return compiled_xml.is_binary(beginning)

    def table(self, name: str, max_bytes: int = MAX_TABLE) -> bytes:
        """Return the resource table at a name. Raises UnreadableTable for one that is larger than
        any.
        """
        if self.size(name) > max_bytes:
            raise UnreadableTable(f"is larger than {max_bytes:,} bytes")
        return self.archive.read(name, max_bytes)

    def manifest(self) -> Element:
        """Return the manifest of an APK."""
        root, _ = self._read_manifest()
        return root

    def manifest_names(self) -> frozenset[str]:
        """Return the names in the manifest of an APK."""
        _, names = self._read_manifest()
        return names

    def _read_manifest(self) -> tuple[Element, frozenset[str]]:
        """Decode the manifest of an APK, once."""
        if self._manifest is None:
            if BUNDLE_CONFIG in self or MANIFEST not in self:
                raise MalformedFile("is not an APK.", "Name the APKs themselves.")
            try:
                data = self.archive.read(MANIFEST)
                events = compiled_xml.binary_events(data, named=True)
                self._manifest = compiled_xml.tree_and_vocabulary(events)
            except NotCompiledXml as error:
                raise MalformedFile(f"has an {MANIFEST} that {error}.") from None
        return self._manifest

    def file_sha256(self) -> str:
        """Return the digest of the whole file."""
        digest = hashlib.sha256()
        self.file.seek(0)
        while block := self.file.read(PIECE):
            digest.update(block)
        return digest.hexdigest()


@dataclass
class Module:
    """A module of a bundle: its manifest, and its entries by the path that they have in an APK.
    `assets` are those entries that are assets for some devices.
    """

    name: str
    manifest: Element
    entries: dict[str, list[str]] = field(default_factory=dict)
    assets: dict[str, Asset] = field(default_factory=dict)

    @property
    def has_code(self) -> bool:
        """Whether it has dex files."""
        return any(path.endswith(".dex") for path in self.entries)


class ManifestBudget:
    """The bytes that the manifests of all APKs may have, and how many they had until now."""

    def __init__(self, max_bytes: int = MAX_MANIFESTS) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether a manifest was refused."""
        return self._bytes > self._max_bytes

    def spend(self, members: Members) -> None:
        """Count the manifest of an APK. Raises MalformedFile for one too many."""
        if MANIFEST in members:
            self._bytes += members.size(MANIFEST)
        if self.is_exceeded:
            raise MalformedFile(
                "is one too many: the manifests of all APKs have more than "
                f"{self._max_bytes:,} bytes."
            )


class Tables:
    """The resource tables and XML files of a bundle that were read so far, and how much may still
    be read of its APKs: of their manifests, and of the values of their resource tables, since
    comparing a million of these takes about ten seconds.
    """

    def __init__(
        self,
        max_values: int = MAX_VALUES_OF_APKS,
        max_manifests: int = MAX_MANIFESTS,
        documents: Documents | None = None,
    ) -> None:
        self.built: dict[str, BuiltTable | UnreadableTable] = {}
        self.documents = documents or Documents()
        self.manifests = ManifestBudget(max_manifests)
        self._max_values = max_values
        self._values = 0

    def check(self) -> None:
        """Raise UnreadableTable if no more values may be read."""
        if self._values >= self._max_values:
            raise UnreadableTable(
                f"is one too many: the tables of all APKs have more than {self._max_values:,} "
                "values"
            )

    def spend(self, values: int) -> None:
        """Count values that were read or looked for."""
        self._values += values


class Bundle:
    """A bundle, as far as APKs are compared with it. Raises MalformedFile.

    `tables` are its resource tables if it was read before.
    """

    def __init__(self, file: BinaryIO, tables: Tables | None = None) -> None:
        self.members = Members(file)
        if BUNDLE_CONFIG not in self.members:
            raise MalformedFile(
                "is not an Android App Bundle.",
                "Name the bundle (.aab) that was built.",
            )
        config = self.members.archive.read(BUNDLE_CONFIG)
        self.config: BundleConfig = read_bundle_config(config)
        self.modules: dict[str, Module] = {}
        if tables is None:
            tables = Tables()
        self.tables = tables
        self._names: frozenset[str] = frozenset()
        for name in self.members:
            match = _MODULE_MANIFEST.fullmatch(name)
            if match:
                module_name = match[1]
                manifest = self._manifest(name)
                self.modules[module_name] = Module(module_name, manifest)
        if "base" not in self.modules:
            raise MalformedFile("is a bundle without a base module.")
        folders = {module: self._folders(module) for module in self.modules}
        for name in self.members:
            module_name, _, path = name.partition("/")
            module = self.modules.get(module_name)
            if module is not None:
                self._add_entry(module, name, path, folders[module_name])
        self.identity = identity_of(self.base)

    def _folders(self, module: str) -> dict[str, frozenset[Dimension]]:
        """Return by what the folders of a module's assets are targeted."""
        name = f"{module}/{_ASSETS}"
        if name not in self.members:
            return {}
        try:
            data = self.members.archive.read(name)
            return read_folders(data)
        except (LookupError, ValueError):
            raise MalformedFile(f"has a {name} that can't be read.") from None

    def _add_entry(
        self,
        module: Module,
        name: str,
        path: str,
        folders: Mapping[str, frozenset[Dimension]],
    ) -> None:
        """Add an entry to a module, by the paths that it may have in an APK."""
        is_pack = is_asset_pack(module.manifest)
        asset = targeted_asset(path, folders, self.config, is_pack=is_pack)
        paths_in_apk: set[str] = set()
        if asset is None:
            paths_in_apk.update(_paths_in_apk(path))
        else:
            module.assets[name] = asset
            paths_in_apk.add(asset.split_path)
            if asset.whole_path is not None:
                paths_in_apk.add(asset.whole_path)
        for path_in_apk in paths_in_apk:
            entries = module.entries.setdefault(path_in_apk, [])
            entries.append(name)

    @property
    def base(self) -> Element:
        """The manifest of the base module."""
        return self.modules["base"].manifest

    def manifest_names(self) -> frozenset[str]:
        """Return the names in the manifests of all modules."""
        return self._names

    def _manifest(self, name: str) -> Element:
        """Decode the manifest of a module, and note its names."""
        try:
            data = self.members.archive.read(name)
            events = compiled_xml.proto_events(data, named=True)
            root, names = compiled_xml.tree_and_vocabulary(events)
        except (NotCompiledXml, NotComparable) as error:
            raise MalformedFile(f"has a {name} that {error}.") from None
        self._names |= names
        return root

    def table(self, module: str) -> BuiltTable | None:
        """Return the resource table of a module, read once; None if it has none. Raises
        UnreadableTable.
        """
        name = f"{module}/{BUILT_TABLE}"
        if name not in self.members:
            return None
        if module not in self.tables.built:
            try:
                data = self.members.table(name, MAX_BUILT_TABLE)
                self.tables.built[module] = BuiltTable(data)
            except UnreadableTable as error:
                self.tables.built[module] = error
        built = self.tables.built[module]
        if isinstance(built, UnreadableTable):
            raise built
        return built

    def may_merge_into_base(self, module: Module) -> bool:
        """Return whether a feature becomes part of the base for devices that get splits
        (bundletool, BundleModuleMerger).
        """
        manifest = module.manifest
        isolated_splits = self.base.attributes.get(_ISOLATED_SPLITS)
        if isolated_splits in TRUE:
            return False
        version = self.config.bundletool
        if version < MERGES_INSTALLED_MODULES or is_asset_pack(manifest):
            return False
        delivery = _find(manifest, "delivery")
        if delivery is None and version < MERGES_WITHOUT_DELIVERY:
            return False
        return is_always_installed(manifest)

    def may_fuse(self, module: Module) -> bool:
        """Return whether a module may be part of a standalone APK (bundletool, BuildApksManager). A
        module has to say so; otherwise bundletool makes no such APK.
        """
        if self.config.separate_features:
            return True
        manifest = module.manifest
        if is_asset_pack(manifest) and not is_always_installed(manifest):
            return False
        if _find(manifest, "fusing") is None:
            return True
        return is_fused(module)

    def profiles(self, name: str) -> list[str]:
        """Return the entries of the bundle's metadata that may become this profile of an APK."""
        entries = []
        for folder in _PROFILE_METADATA:
            entry = f"{folder}{name}"
            if entry in self.members:
                entries.append(entry)
        return entries


def is_fused(module: Module) -> bool:
    """Return whether a module says that it belongs in standalone APKs (bundletool,
    AndroidManifest.getIsModuleIncludedInFusing).
    """
    fusing = _find(module.manifest, "fusing")
    if fusing is None:
        return False
    include = fusing.attributes.get(f"{DISTRIBUTION}include")
    # Before bundletool 0.3.4 the attribute needed no namespace.
    bare_include = fusing.attributes.get("include")
    return include in TRUE or bare_include in TRUE


def _find(manifest: Element, name: str) -> Element | None:
    """Return what a module says of its delivery under a name; None if it says nothing."""
    settings = manifest.find(f"{DISTRIBUTION}module")
    if settings is None:
        return None
    return settings.find(f"{DISTRIBUTION}{name}")


def _paths_in_apk(path: str) -> Iterator[str]:
    """Yield the path that an entry of a module has in an APK; none for what only describes the
    module (bundletool, ApkSerializerHelper).
    """
    if path == BUILT_TABLE:
        yield TABLE
        return
    folder, _, rest = path.partition("/")
    if not rest:
        return
    if folder in ("dex", "root"):
        yield rest
    elif folder in ("lib", "res", "assets"):
        yield path


def identity_of(manifest: Element) -> Identity:
    """Return what a manifest says. Raises MalformedFile."""
    attributes = manifest.attributes
    package = attributes.get("package", "").removeprefix("text:")
    if not package or len(package) > 255:
        raise MalformedFile("has a manifest without a package name.")
    low = _integer(attributes.get(VERSION_CODE, ""))
    high = _integer(attributes.get(VERSION_CODE_MAJOR, ""))
    compiled_split = attributes.get("split", "")
    split = compiled_split.removeprefix("text:")[:200]
    listed = served_manifest.metadata(manifest, FUSED_MODULES)[:2000]
    fused = tuple(name for name in listed.split(",") if name)
    module = "base"
    if split:
        owner = attributes.get("configForSplit")
        kind, module = _kind_of_split(split, owner)
    else:
        kind = _kind_of_main(manifest, fused)
    names_splits = _required_types(manifest) != ""
    return Identity(
        package,
        version_code=high << 32 | low,
        kind=kind,
        split=split,
        module=module,
        fused=fused,
        min_sdk=served_manifest.min_sdk(manifest),
        splits_required=names_splits or _requires_splits(manifest),
        version_name=_version_name(manifest),
    )


def _version_name(manifest: Element) -> str:
    """Return the version's name; empty where the manifest has none, or takes it from a resource."""
    value = manifest.attributes.get(VERSION_NAME, "")
    if not value.startswith("text:"):
        return ""
    return value.removeprefix("text:")[:200]


def _kind_of_main(manifest: Element, fused: tuple[str, ...]) -> Kind:
    """Return what an APK without a split name is. `fused` are the modules that it says it was made
    of.

    bundletool notes the modules of every standalone APK. It notes those of a base with splits only
    if there are others than the base (ModuleSplitsToShardMerger, BundleModuleMerger).
    """
    if not fused:
        return "base"
    if set(fused) == {"base"}:
        return "standalone"
    if REQUIRED_SPLIT_TYPES in manifest.attributes:
        return "base"
    if _requires_splits(manifest):
        return "base"
    return "standalone"


def _required_types(manifest: Element) -> str:
    value = manifest.attributes.get(REQUIRED_SPLIT_TYPES, "")
    return value.removeprefix("text:")


def _requires_splits(manifest: Element) -> bool:
    """Return whether an APK says in <meta-data> that it can only be installed with its splits."""
    value = served_manifest.metadata(manifest, SPLITS_REQUIRED)
    return value == YES


def _kind_of_split(split: str, owner: str | None) -> tuple[Kind, str]:
    """Return what a split is, and the module that it belongs to. `owner` is the split that a
    configuration says it is for, in its compiled form; an empty one is the base.
    """
    module = ""
    if owner is not None:
        module = owner.removeprefix("text:")
    elif not re.search(r"(^|\.)config\.", split):
        return "feature", split
    if not module:
        before, _, _ = split.rpartition("config.")
        module = before.rstrip(".")
    if not module:
        module = "base"
    return "configuration", module


def _integer(value: str) -> int:
    kind, _, content = value.partition(":")
    if kind not in ("10", "11"):
        return 0
    if not _HEXADECIMAL.fullmatch(content):
        return 0
    return int(content, 16)
