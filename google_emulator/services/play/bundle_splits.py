"""Which APKs are made from a bundle, and what each contains: base and feature modules with a split
for each ABI, screen density and language, standalone APKs, the universal APK, and slices of asset
packs.

The rules are from bundletool's documentation and source. Left out are splits by texture format,
device tier and country, standalone APKs by density, and Instant Apps. A resource with a language
and a density goes into the split of its language.
"""

from __future__ import annotations

import copy
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from google_emulator.http.response import Json
from google_emulator.services.play.binary_table import (
    Record,
    next_resource,
    read_proto_table,
)
from google_emulator.services.play.binary_xml import (
    Attribute,
    Element,
    android,
    android_reference,
    read_proto_xml,
    write_binary_xml,
)
from google_emulator.specimens.manifests import ANDROID

ApkKind: TypeAlias = Literal["split", "standalone", "universal", "slice"]
BASE = "base"
DENSITIES = {
    "ldpi": 120,
    "mdpi": 160,
    "tvdpi": 213,
    "hdpi": 240,
    "xhdpi": 320,
    "xxhdpi": 480,
    "xxxhdpi": 640,
}
_DISTRIBUTION = "http://schemas.android.com/apk/distribution"
_PROFILES = "BUNDLE-METADATA/com.android.tools.build.profiles/"
_LOWEST_WITH_SPLITS = 21  # the API level below which a device gets a standalone APK
_LOWEST_SDK = 1  # of a manifest that names none
# Resource ids of attributes of the android namespace.
_NAME, _VALUE, _RESOURCE, _HAS_CODE = 0x01010003, 0x01010024, 0x01010025, 0x0101000C
_VERSION_NAME = 0x0101021C
_IS_FEATURE_SPLIT, _SPLIT_TYPES, _REQUIRED_SPLIT_TYPES = (
    0x0101055B,
    0x0101064F,
    0x0101064E,
)
_STORE = "https://play.google.com/store"
# The list of languages that is added: its type, its name, its path.
_LIST_TYPE, _LIST_NAME, _LIST_PATH = "xml", "splits0", "res/xml/splits0.xml"


@dataclass(frozen=True, order=True)
class Configuration:
    """The devices for which a split is; the main split of a module is for all."""

    dimension: Literal["", "abi", "density", "language"] = ""
    value: str = ""

    @property
    def suffix(self) -> str:
        """The value as it is written in the id of a split."""
        return self.value.replace("-", "_")


MAIN = Configuration()


@dataclass
class _Part:
    """The contents of one split of a module: the bundle's paths by the paths in the APK, and the
    values of resources.
    """

    files: dict[str, str] = field(default_factory=dict)
    values: list[Record] = field(default_factory=list)

    def add(self, other: _Part) -> None:
        """Add the contents of another split."""
        self.files |= other.files
        self.values += other.values


@dataclass(frozen=True)
class PlannedApk:
    """One APK before its bytes are made.

    `files` are paths in the bundle by those in the APK, `made` the files that the bundle does not
    have, `values` those of its resource table. `abis` are the ABIs for which automatic protection
    adds its library.
    """

    kind: ApkKind
    variant: int
    module: str
    split_id: str
    configuration: Configuration
    manifest: Element
    files: Mapping[str, str]
    made: Mapping[str, bytes]
    values: tuple[Record, ...]
    abis: tuple[str, ...]
    lowest_sdk: int

    @property
    def has_code(self) -> bool:
        """Whether it is the base's main split, or an APK of all modules for every ABI."""
        return (
            self.kind != "slice" and self.module == BASE and self.configuration == MAIN
        )


@dataclass(frozen=True)
class _Module:
    name: str
    manifest: Element
    parts: Mapping[Configuration, _Part]
    is_asset_pack: bool


@dataclass(frozen=True)
class _ResourceValue:
    """One value of a resource. `density` and `language` are those of its configuration, `others` is
    the rest of it.
    """

    record: Record
    others: tuple[str, ...]
    language: str
    density: int


def planned_apks(bundle: Path, variants: int = 1) -> list[PlannedApk]:
    """Return every APK that is made from a bundle. Raises one of `artifact_files.MALFORMED`.

    There are `variants` of the splits, which differ in the lowest API level of their devices and in
    how libraries are stored.
    """
    modules, profiles = _read_modules(bundle)
    apps = [module for module in modules if not module.is_asset_pack]
    base = next(module for module in apps if module.name == BASE)
    lowest = _lowest_sdk(base.manifest)
    apks: list[PlannedApk] = []
    if lowest < _LOWEST_WITH_SPLITS:
        abis = [
            configuration.value
            for configuration in base.parts
            if configuration.dimension == "abi"
        ]
        apks += [_fused("standalone", apps, profiles, abi) for abi in abis or [""]]
    for variant in range(1, variants + 1):
        for module in apps:
            apks += _splits_of(
                module, variant, profiles if module is base else {}, lowest
            )
    apks += [
        _slice(module, base.manifest) for module in modules if module.is_asset_pack
    ]
    apks.append(_fused("universal", apps, profiles, ""))
    return apks


def _read_modules(bundle: Path) -> tuple[list[_Module], dict[str, str]]:
    """Return the modules, base first, and the profiles that go into the base."""
    modules = []
    with zipfile.ZipFile(bundle) as archive:
        paths = [info.filename for info in archive.infolist() if not info.is_dir()]
        ending = "/manifest/AndroidManifest.xml"
        names = [path.removesuffix(ending) for path in paths if path.endswith(ending)]
        for name in sorted(names, key=lambda name: (name != BASE, name)):
            manifest = read_proto_xml(archive.read(f"{name}{ending}"))
            table = b""
            if f"{name}/resources.pb" in paths:
                table = archive.read(f"{name}/resources.pb")
            inside = [path for path in paths if path.startswith(f"{name}/")]
            module = manifest.below("module")
            kind = module.get("type", _DISTRIBUTION) if module else None
            is_asset_pack = kind is not None and kind.text == "asset-pack"
            modules.append(
                _Module(name, manifest, _parts(name, inside, table), is_asset_pack)
            )
    profiles = {
        f"assets/dexopt/{path.removeprefix(_PROFILES)}": path
        for path in paths
        if path.startswith(_PROFILES)
    }
    return modules, profiles


def _parts(
    module: str, paths: Iterable[str], table: bytes
) -> dict[Configuration, _Part]:
    """Return the contents of each split of a module."""
    parts: dict[Configuration, _Part] = defaultdict(_Part)
    parts[MAIN] = _Part()
    owners = _owners(table, parts)
    for path in paths:
        inside = path.removeprefix(f"{module}/")
        for configuration in _configurations(inside, owners):
            target = _path_in_apk(inside)
            if target:
                parts[configuration].files[target] = path
    return dict(sorted(parts.items()))


def _configurations(
    inside: str, owners: Mapping[str, list[Configuration]]
) -> list[Configuration]:
    """Return the splits into which a file of a module goes."""
    library = re.match(r"lib/([^/]+)/", inside)
    if library:
        return [Configuration("abi", library[1])]
    return owners.get(inside, [MAIN])


def _path_in_apk(inside: str) -> str:
    """Return the path in an APK of a file of a module; empty if the file itself does not go into an
    APK.
    """
    folder, _, rest = inside.partition("/")
    if folder in ("dex", "root"):
        return rest
    if folder in ("assets", "lib", "res"):
        return inside
    return ""


def _owners(
    table: bytes, parts: dict[Configuration, _Part]
) -> dict[str, list[Configuration]]:
    """Return the splits into which each resource file goes, and add the values to their parts."""
    owners: dict[str, list[Configuration]] = defaultdict(list)
    for kind, fields in read_proto_table(table):
        values = [
            _resource_value(record, configuration) for record, configuration in fields
        ]
        for value, configuration in _distributed(kind, values):
            if isinstance(value.record.value, str):
                owners[value.record.value].append(configuration)
            parts[configuration].values.append(value.record)
    return owners


def _distributed(
    kind: str, values: list[_ResourceValue]
) -> list[tuple[_ResourceValue, Configuration]]:
    """Return the values of one resource, each with a split into which it goes."""
    placed = []
    groups: dict[tuple[str, ...], list[_ResourceValue]] = defaultdict(list)
    for value in values:
        if value.language:
            placed.append((value, Configuration("language", value.language)))
        else:
            groups[value.others].append(value)
    for group in groups.values():
        if len(group) == 1 or kind == "mipmap":
            placed += [(value, MAIN) for value in group]
            continue
        for name, density in DENSITIES.items():
            placed.append((_best_match(group, density), Configuration("density", name)))
    claimed = {id(value) for value, _ in placed}
    return placed + [(value, MAIN) for value in values if id(value) not in claimed]


def _best_match(values: list[_ResourceValue], density: int) -> _ResourceValue:
    """Return the value for a density: that of the lowest density that is not below it, or else of
    the highest.
    """
    fitting = [value for value in values if (value.density or 160) >= density]
    if fitting:
        return min(fitting, key=lambda value: value.density or 160)
    return max(values, key=lambda value: value.density or 160)


def _resource_value(
    record: Record, configuration: dict[int, list[Json]]
) -> _ResourceValue:
    locale = configuration.pop(3, [b""])[-1].decode()
    density = int(configuration.pop(18, [0])[-1])
    others = tuple(f"{key}={value}" for key, value in sorted(configuration.items()))
    return _ResourceValue(record, others, re.split("[-_]", locale)[0], density)


def _lowest_sdk(manifest: Element) -> int:
    uses = manifest.below("uses-sdk")
    attribute = uses.get("minSdkVersion", ANDROID) if uses else None
    if attribute is None:
        return _LOWEST_SDK
    return attribute.value[1] if attribute.value else int(attribute.text)


def _splits_of(
    module: _Module, variant: int, profiles: Mapping[str, str], lowest: int
) -> list[PlannedApk]:
    """Return the main split of a module and its splits for one configuration each."""
    is_base = module.name == BASE
    split_id = "" if is_base else module.name
    languages = [
        configuration.value
        for configuration in module.parts
        if configuration.dimension == "language"
    ]
    sdk = max(lowest, _LOWEST_WITH_SPLITS) + variant - 1
    apks = []
    for configuration, part in module.parts.items():
        made: dict[str, bytes] = {}
        values = list(part.values)
        files = dict(part.files)
        abis: tuple[str, ...] = ()
        if configuration == MAIN:
            own_id = split_id
            list_id = next_resource(values, _LIST_TYPE) if is_base and languages else 0
            manifest = _main_manifest(module, list_id)
            if is_base:
                _stamp(manifest, "STAMP_TYPE_DISTRIBUTION_APK")
                files |= profiles
                made["stamp-cert-sha256"] = bytes(range(32))
            if list_id:
                made[_LIST_PATH] = _list_of_languages(languages)
                package = values[0].package if values else ""
                added = (
                    list_id,
                    package,
                    _LIST_TYPE,
                    _LIST_NAME,
                    bytes(60),
                    _LIST_PATH,
                )
                values.append(Record(*added))
            if not any(other.dimension == "abi" for other in module.parts):
                abis = ("arm64-v8a",)
        else:
            own_id = f"{split_id}.config.{configuration.suffix}".lstrip(".")
            manifest = _configuration_manifest(module, own_id, split_id, configuration)
            abis = (configuration.value,) if configuration.dimension == "abi" else ()
        apks.append(
            PlannedApk(
                "split",
                variant,
                module.name,
                own_id,
                configuration,
                manifest,
                files,
                made,
                tuple(values),
                abis,
                sdk,
            )
        )
    return apks


def _fused(
    kind: ApkKind, modules: list[_Module], profiles: Mapping[str, str], abi: str
) -> PlannedApk:
    """Return one APK of all modules, for one ABI, or for all if `abi` is empty."""
    whole = _Part()
    abis: list[str] = []
    code: dict[str, str] = {}
    for module in modules:
        for configuration, part in module.parts.items():
            if configuration.dimension == "abi":
                if abi not in ("", configuration.value):
                    continue
                abis.append(configuration.value)
            whole.add(
                _Part(
                    {k: v for k, v in part.files.items() if "/dex/" not in v},
                    part.values,
                )
            )
            for path in part.files.values():
                if "/dex/" in path:
                    name = "classes.dex" if not code else f"classes{len(code) + 1}.dex"
                    code[name] = path
    manifest = copy.deepcopy(modules[0].manifest)
    _add_metadata(
        manifest,
        android("value", _VALUE, ",".join(sorted(module.name for module in modules))),
        "com.android.dynamic.apk.fused.modules",
    )
    _stamp(manifest, "STAMP_TYPE_STANDALONE_APK")
    made = {"stamp-cert-sha256": bytes(range(32))}
    files = {**code, **whole.files, **profiles}
    configuration = Configuration("abi", abi) if abi else MAIN
    lowest = _lowest_sdk(manifest)
    return PlannedApk(
        kind,
        0,
        BASE,
        "",
        configuration,
        manifest,
        files,
        made,
        tuple(dict.fromkeys(whole.values)),
        tuple(dict.fromkeys(abis)) or ("arm64-v8a",),
        lowest,
    )


def _slice(module: _Module, base: Element) -> PlannedApk:
    """Return the slice of an asset pack. If the pack is fetched on demand, its manifest has the
    version code only as the version name (bundletool, AssetSlicesGenerator).
    """
    manifest = copy.deepcopy(module.manifest)
    package = base.get("package")
    if package:
        manifest.set(package)
    code = base.get("versionCode", ANDROID)
    if code and code.value and _is_on_demand(manifest):
        manifest.set(android("versionName", _VERSION_NAME, str(code.value[1])))
    elif code:
        manifest.set(code)
    manifest.set(Attribute("split", module.name))
    manifest.set(android("isFeatureSplit", _IS_FEATURE_SPLIT, True))
    files = module.parts[MAIN].files
    return PlannedApk(
        "slice", 0, module.name, module.name, MAIN, manifest, files, {}, (), (), 21
    )


def _is_on_demand(manifest: Element) -> bool:
    """Return whether a module is fetched when the app asks for it."""
    element: Element | None = manifest
    for name in ("module", "delivery", "on-demand"):
        element = element.below(name) if element else None
    return element is not None


def _main_manifest(module: _Module, list_id: int) -> Element:
    """Return the manifest of a main split. `list_id` is the resource that lists the languages; 0 if
    there is none.
    """
    manifest = copy.deepcopy(module.manifest)
    if module.name == BASE:
        manifest.remove("split")
    else:
        manifest.set(Attribute("split", module.name))
        manifest.set(android("isFeatureSplit", _IS_FEATURE_SPLIT, True))
    types = _split_types(module)
    manifest.set(android("splitTypes", _SPLIT_TYPES, ""))
    if types:
        manifest.set(
            android("requiredSplitTypes", _REQUIRED_SPLIT_TYPES, ",".join(types))
        )
        required = android("value", _VALUE, True)
        _add_metadata(manifest, required, "com.android.vending.splits.required")
    if list_id:
        reference = android_reference("resource", _RESOURCE, list_id)
        _add_metadata(manifest, reference, "com.android.vending.splits")
    return manifest


def _split_types(module: _Module) -> list[str]:
    """Return the types of splits that the main split requires."""
    dimensions = {configuration.dimension for configuration in module.parts}
    return [
        f"{module.name}__{dimension}"
        for dimension in ("abi", "density")
        if dimension in dimensions
    ]


def _configuration_manifest(
    module: _Module, split_id: str, main_id: str, configuration: Configuration
) -> Element:
    manifest = Element("manifest", namespaces={"android": ANDROID})
    for attribute in module.manifest.attributes:
        if attribute.name in ("package", "versionCode", "versionCodeMajor"):
            manifest.set(attribute)
    manifest.set(Attribute("split", split_id))
    if main_id:
        manifest.set(Attribute("configForSplit", main_id))
    types = f"{module.name}__{configuration.dimension}"
    if configuration.dimension == "language":
        types = ""  # an app can do without its languages
    manifest.set(android("splitTypes", _SPLIT_TYPES, types))
    application = Element("application", [android("hasCode", _HAS_CODE, False)])
    manifest.children.append(application)
    return manifest


def _stamp(manifest: Element, kind: str) -> None:
    _add_metadata(
        manifest, android("value", _VALUE, _STORE), "com.android.stamp.source"
    )
    _add_metadata(manifest, android("value", _VALUE, kind), "com.android.stamp.type")


def _add_metadata(manifest: Element, value: Attribute, name: str) -> None:
    application = manifest.below("application")
    if application is None:
        application = Element("application")
        manifest.children.append(application)
    application.children.append(
        Element("meta-data", [android("name", _NAME, name), value])
    )


def _list_of_languages(languages: list[str]) -> bytes:
    """Return the XML resource that says which split has which language."""
    entries: list[Element | str] = [
        Element(
            "entry",
            [Attribute("key", language), Attribute("split", f"config.{language}")],
        )
        for language in languages
    ]
    module = Element(
        "module", [Attribute("name", "")], [Element("language", [], entries)]
    )
    return write_binary_xml(Element("splits", [], [module]))
