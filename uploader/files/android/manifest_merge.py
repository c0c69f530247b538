"""Merges the manifests of several modules as bundletool does where they become one APK.

The result is the base's manifest, in whose <application> the components of the other modules take
part. Reference: FusingAndroidManifestMerger, AndroidManifestMerger, BundleModuleMerger and
ModuleSplitsToShardMerger in bundletool (github.com/google/bundletool).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from uploader.files.android.bundle_config import (
    MERGES_ACTIVITIES,
    MERGES_COMPONENTS,
    Version,
)
from uploader.files.android.compiled_xml import Element

NAME = "0x01010003"
DISTRIBUTION = "{http://schemas.android.com/apk/distribution}"
TRUE = frozenset({"text:true", "12:00000001"})
_COMPONENTS = frozenset(
    {"activity", "activity-alias", "meta-data", "provider", "receiver", "service"}
)
_ACTIVITIES = frozenset({"activity"})
_NOT_MERGED = "text:com.google.android.gms.version"

ElementId: TypeAlias = tuple[str, str]
"""The kind of an element and its name in compiled form; the name may be empty."""


def element_id(element: Element) -> ElementId:
    """Return what tells an element from its siblings."""
    return element.name, element.attributes.get(NAME, "")


def digest(element: Element) -> str:
    """Return a digest of what an element says, with all that is in it."""
    attributes = sorted(element.attributes.items())
    children = [digest(child) for child in element.children]
    content = repr((element.name, attributes, element.text, children))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def application_of(manifest: Element) -> Element:
    """Return the <application> of a manifest, or an empty one."""
    return manifest.find("application") or Element("application")


def merged_applications(
    base: Element, features: Mapping[str, Element], bundletool: Version
) -> list[Element]:
    """Return each <application> that bundletool may make of a base module and these features.

    It merges all of them at once, or first those that are always installed and then the others.
    """
    ordered = dict(sorted(features.items()))
    application = application_of(base)
    at_once = _merge_all(application, ordered.values(), bundletool)
    always: dict[str, Element] = {}
    others: dict[str, Element] = {}
    for name, manifest in ordered.items():
        if is_always_installed(manifest):
            always[name] = manifest
        else:
            others[name] = manifest
    if not always or not others:
        return [at_once]
    # The base with what is always installed was merged by a version that merges activities.
    first = max(bundletool, MERGES_ACTIVITIES)
    permanent = _merge_all(application, always.values(), first)
    return [at_once, _merge_all(permanent, others.values(), bundletool)]


def is_asset_pack(manifest: Element) -> bool:
    """Return whether a module has assets alone (bundletool, AndroidManifest.getModuleType)."""
    settings = manifest.find(f"{DISTRIBUTION}module")
    if settings is None:
        return False
    return settings.attributes.get(f"{DISTRIBUTION}type") == "text:asset-pack"


def is_always_installed(manifest: Element) -> bool:
    """Return whether a module is on every device (bundletool,
    AndroidManifest.isAlwaysInstalledModule).
    """
    settings = manifest.find(f"{DISTRIBUTION}module")
    if settings is None:
        return True
    delivery = settings.find(f"{DISTRIBUTION}delivery")
    if delivery is None:
        return settings.attributes.get(f"{DISTRIBUTION}onDemand") not in TRUE
    for name in ("on-demand", "fast-follow"):
        if delivery.find(f"{DISTRIBUTION}{name}"):
            return False
    install_time = delivery.find(f"{DISTRIBUTION}install-time")
    if install_time is None:
        return True
    if install_time.find(f"{DISTRIBUTION}conditions"):
        return False
    removable = install_time.find(f"{DISTRIBUTION}removable")
    return (
        removable is None
        or removable.attributes.get(f"{DISTRIBUTION}value") not in TRUE
    )


def is_instant(manifest: Element) -> bool:
    """Return whether a module is a part of an instant app (bundletool,
    AndroidManifest.isInstantModule).
    """
    settings = manifest.find(f"{DISTRIBUTION}module")
    return (
        settings is not None
        and settings.attributes.get(f"{DISTRIBUTION}instant") in TRUE
    )


def _merge_all(
    base: Element, features: Iterable[Element], bundletool: Version
) -> Element:
    """Merge features, in the order of their names, into the base's <application>."""
    if bundletool < MERGES_ACTIVITIES:
        return base
    applications = [application_of(manifest) for manifest in features]
    kinds = _COMPONENTS if bundletool >= MERGES_COMPONENTS else _ACTIVITIES
    sources = _sources([*applications, base], kinds)
    of_base = 0
    for child in base.children:
        if child.name in kinds:
            of_base += 1
    total = sum(len(elements) for elements in sources.values())
    # bundletool compares these two numbers and then takes the base as it is.
    if not applications or of_base == total:
        return base
    merged: dict[ElementId, Element] = {}
    for identity, elements in sources.items():
        is_merged = bundletool >= MERGES_COMPONENTS and len(elements) > 1
        merged[identity] = _merge_children(elements) if is_merged else elements[0]
    return _with_merged(base, merged)


def _sources(
    applications: Sequence[Element], kinds: Collection[str]
) -> dict[ElementId, list[Element]]:
    """Return the elements that are merged, those of features before those of the base."""
    sources: dict[ElementId, list[Element]] = {}
    for application in applications:
        for child in application.children:
            name = child.attributes.get(NAME, "")
            if child.name in kinds and name and name != _NOT_MERGED:
                sources.setdefault(element_id(child), []).append(child)
    return sources


def _merge_children(elements: Sequence[Element]) -> Element:
    """Return the first declaration of a component with the filters and metadata of all."""
    filters: dict[str, Element] = {}
    metadata: dict[str, Element] = {}
    for element in elements:
        for child in element.children:
            if child.name == "intent-filter":
                filters.setdefault(digest(child), child)
            elif child.name == "meta-data" and NAME in child.attributes:
                metadata.setdefault(child.attributes[NAME], child)
    kept = []
    for child in elements[0].children:
        is_named_metadata = child.name == "meta-data" and NAME in child.attributes
        if child.name != "intent-filter" and not is_named_metadata:
            kept.append(child)
    return replace(elements[0], children=[*kept, *filters.values(), *metadata.values()])


def _with_merged(base: Element, merged: Mapping[ElementId, Element]) -> Element:
    """Return the base's <application> with merged elements in the places of its own, and the others
    behind them.
    """
    children = []
    left = dict(merged)
    for child in base.children:
        identity = element_id(child)
        children.append(merged.get(identity, child))
        left.pop(identity, None)
    return replace(base, children=[*children, *left.values()])
