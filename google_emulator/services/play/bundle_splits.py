"""Which APKs come of a bundle, and what is in each: base and feature modules with a split for each
ABI, screen density and language, standalone APKs, the universal one, and slices of asset packs.

What goes where is told by bundletool's documentation and source. Left out are: splits by texture
format, device tier and country, standalone APKs by density, and Instant Apps. Of languages and
densities the languages win.
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
    """What a split is for; the main split of a module is for every device."""

    dimension: Literal["", "abi", "density", "language"] = ""
    value: str = ""

    @property
    def suffix(self) -> str:
        """How it is written in the id of a split."""
        return self.value.replace("-", "_")


MAIN = Configuration()


@dataclass
class _Part:
    """What one split of a module has: paths in the bundle by those in the APK, and values of
    resources.
    """

    files: dict[str, str] = field(default_factory=dict)
    values: list[Record] = field(default_factory=list)

    def add(self, other: _Part) -> None:
        """Adds what another split has."""
        self.files |= other.files
        self.values += other.values


@dataclass(frozen=True)
class PlannedApk:
    """One APK before its bytes are made. `files` are paths in the bundle by those in the APK,
    `made` the files that the bundle does not have, `values` those of its resource table. `abis` are
    those whose libraries it may hold.
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
        """Whether the app's code is in it."""
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
    """One value of a resource, with its configuration without density and with its density."""

    record: Record
    others: tuple[str, ...]
    language: str
    density: int


def planned_apks(bundle: Path, variants: int = 1) -> list[PlannedApk]:
    """Every APK that comes of a bundle. Raises one of `artifact_files.MALFORMED`.

    There are `variants` of the splits: they differ in the API level from which on they are served,
    and in how libraries are stored.
    """
    modules, profiles = _read_modules(bundle)
    apps = [module for module in modules if not module.is_asset_pack]
    base = next(module for module in apps if module.name == BASE)
    lowest = _lowest_sdk(base.manifest)
    apks: list[PlannedApk] = []
    if lowest < _LOWEST_WITH_SPLITS:
        abis = [one.value for one in base.parts if one.dimension == "abi"]
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
    """The modules, base first, and the profiles that go into the base."""
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
    """What each split of a module has."""
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
    """The splits that a file of a module goes into."""
    library = re.match(r"lib/([^/]+)/", inside)
    if library:
        return [Configuration("abi", library[1])]
    return owners.get(inside, [MAIN])


def _path_in_apk(inside: str) -> str:
    """Where a file of a module is in an APK; empty for what becomes something else."""
    folder, _, rest = inside.partition("/")
    if folder in ("dex", "root"):
        return rest
    if folder in ("assets", "lib", "res"):
        return inside
    return ""


def _owners(
    table: bytes, parts: dict[Configuration, _Part]
) -> dict[str, list[Configuration]]:
    """The splits that each resource file goes into; the values are added to their parts."""
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
    """The values of one resource, each with a split that it goes into."""
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
    """The value for a density: the lowest that is not below it, else the highest."""
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
    """The main split of a module and those for one configuration each."""
    is_base = module.name == BASE
    split_id = "" if is_base else module.name
    languages = [one.value for one in module.parts if one.dimension == "language"]
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
            if not any(one.dimension == "abi" for one in module.parts):
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
    """One APK of all modules, for every ABI or for one."""
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
    """The one slice of an asset pack. One that is fetched on demand has the version as its version
    name alone (bundletool, AssetSlicesGenerator).
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
    """Whether a module is fetched when the app asks for it."""
    element: Element | None = manifest
    for name in ("module", "delivery", "on-demand"):
        element = element.below(name) if element else None
    return element is not None


def _main_manifest(module: _Module, list_id: int) -> Element:
    """The manifest of a main split; `list_id` is the resource that lists the languages."""
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
    """The types of splits that the main one can't do without."""
    dimensions = {one.dimension for one in module.parts}
    return [f"{module.name}__{one}" for one in ("abi", "density") if one in dimensions]


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
    """The resource that tells the app's libraries which split has which language."""
    entries: list[Element | str] = [
        Element("entry", [Attribute("key", one), Attribute("split", f"config.{one}")])
        for one in languages
    ]
    module = Element(
        "module", [Attribute("name", "")], [Element("language", [], entries)]
    )
    return write_binary_xml(Element("splits", [], [module]))
