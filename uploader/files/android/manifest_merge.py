"""Merges the manifests of several modules as bundletool does when it makes one APK of them.

The result is the base's manifest; its <application> also has the components of the other modules.
Reference: FusingAndroidManifestMerger, AndroidManifestMerger, BundleModuleMerger and
ModuleSplitsToShardMerger in bundletool (github.com/google/bundletool).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
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
    {
        "activity",
        "activity-alias",
        "meta-data",
        "provider",
        "receiver",
        "service",
    }
)
_ACTIVITIES = frozenset({"activity"})
_NOT_MERGED = "text:com.google.android.gms.version"

ElementId: TypeAlias = tuple[str, str]
"""The kind of an element and its name in compiled form; the name may be empty."""


def element_id(element: Element) -> ElementId:
    """Return what distinguishes an element from its siblings."""
    name = element.attributes.get(NAME, "")
    return element.name, name


def digest(element: Element) -> str:
    """Return the SHA-256 of an element and everything in it, in hexadecimal."""
    attributes = sorted(element.attributes.items())
    children = [digest(child) for child in element.children]
    content = repr((element.name, attributes, element.text, children))
    encoded = content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(encoded).hexdigest()


def application_of(manifest: Element) -> Element:
    """Return the <application> of a manifest, or an empty one."""
    application = manifest.find("application")
    if application is None:
        return Element("application")
    return application


def merge_applications(
    base: Element,
    features: Mapping[str, Element],
    bundletool: Version,
) -> list[Element]:
    """Return each <application> that bundletool may make of a base module and these features.

    bundletool merges all of them at once, or first those that are always installed and then the
    others.
    """
    ordered: list[Element] = []
    always: list[Element] = []
    others: list[Element] = []
    for _, manifest in sorted(features.items()):
        ordered.append(manifest)
        if is_always_installed(manifest):
            always.append(manifest)
        else:
            others.append(manifest)
    application = application_of(base)
    at_once = _merge_all(application, ordered, bundletool)
    if not always or not others:
        return [at_once]
    # A version that merges those that are always installed first merges their activities, too.
    first = max(bundletool, MERGES_ACTIVITIES)
    permanent = _merge_all(application, always, first)
    in_two_steps = _merge_all(permanent, others, bundletool)
    return [at_once, in_two_steps]


def is_asset_pack(manifest: Element) -> bool:
    """Return whether a module has only assets (bundletool, AndroidManifest.getModuleType)."""
    settings = manifest.find(f"{DISTRIBUTION}module")
    if settings is None:
        return False
    module_type = settings.attributes.get(f"{DISTRIBUTION}type")
    return module_type == "text:asset-pack"


def is_always_installed(manifest: Element) -> bool:
    """Return whether a module is on every device (bundletool,
    AndroidManifest.isAlwaysInstalledModule).
    """
    settings = manifest.find(f"{DISTRIBUTION}module")
    if settings is None:
        return True
    delivery = settings.find(f"{DISTRIBUTION}delivery")
    if delivery is None:
        on_demand = settings.attributes.get(f"{DISTRIBUTION}onDemand")
        return on_demand not in TRUE
    for name in ("on-demand", "fast-follow"):
        if delivery.find(f"{DISTRIBUTION}{name}"):
            return False
    install_time = delivery.find(f"{DISTRIBUTION}install-time")
    if install_time is None:
        return True
    if install_time.find(f"{DISTRIBUTION}conditions"):
        return False
    removable = install_time.find(f"{DISTRIBUTION}removable")
    if removable is None:
        return True
    value = removable.attributes.get(f"{DISTRIBUTION}value")
    return value not in TRUE


def is_instant(manifest: Element) -> bool:
    """Return whether a module is part of an instant app (bundletool,
    AndroidManifest.isInstantModule).
    """
    settings = manifest.find(f"{DISTRIBUTION}module")
    if settings is None:
        return False
    instant = settings.attributes.get(f"{DISTRIBUTION}instant")
    return instant in TRUE


def _merge_all(
    base: Element,
    features: Sequence[Element],
    bundletool: Version,
) -> Element:
    """Merge the manifests of features, which are in the order of their names, into the base's
    <application>.
    """
    if not features or bundletool < MERGES_ACTIVITIES:
        return base
    merges_components = bundletool >= MERGES_COMPONENTS
    kinds = _ACTIVITIES
    if merges_components:
        kinds = _COMPONENTS
    applications = [application_of(manifest) for manifest in features]
    applications.append(base)
    declarations = _declarations(applications, kinds)
    own_count = _count(base, kinds)
    declared_count = sum(map(len, declarations.values()))
    # bundletool compares these two numbers and then takes the base as it is.
    if own_count == declared_count:
        return base
    merged: dict[ElementId, Element] = {}
    for identity, elements in declarations.items():
        component = elements[0]
        if merges_components and len(elements) > 1:
            component = _merge_children(elements)
        merged[identity] = component
    return _with_merged(base, merged)


def _declarations(
    applications: Sequence[Element],
    kinds: Collection[str],
) -> dict[ElementId, list[Element]]:
    """Return each component that is merged, with its declarations in the order of these
    applications.
    """
    declarations: dict[ElementId, list[Element]] = {}
    for application in applications:
        for child in application.children:
            if child.name not in kinds:
                continue
            name = child.attributes.get(NAME, "")
            if name in ("", _NOT_MERGED):
                continue
            identity = element_id(child)
            same_component = declarations.setdefault(identity, [])
            same_component.append(child)
    return declarations


def _count(application: Element, kinds: Collection[str]) -> int:
    """Return how many elements of these kinds an <application> has."""
    count = 0
    for child in application.children:
        if child.name in kinds:
            count += 1
    return count


def _merge_children(elements: Sequence[Element]) -> Element:
    """Return the first declaration of a component, with the intent filters and <meta-data> of all
    of its declarations.
    """
    filters: dict[str, Element] = {}
    metadata: dict[str, Element] = {}
    for element in elements:
        for child in element.children:
            if child.name == "intent-filter":
                filters.setdefault(digest(child), child)
            elif _is_named_metadata(child):
                metadata.setdefault(child.attributes[NAME], child)
    first = elements[0]
    children = []
    for child in first.children:
        if child.name == "intent-filter":
            continue
        if _is_named_metadata(child):
            continue
        children.append(child)
    children.extend(filters.values())
    children.extend(metadata.values())
    return replace(first, children=children)


def _is_named_metadata(element: Element) -> bool:
    return element.name == "meta-data" and NAME in element.attributes


def _with_merged(base: Element, merged: Mapping[ElementId, Element]) -> Element:
    """Return the base's <application>, in which merged components replace its own; those that it
    does not declare follow at the end.
    """
    children = []
    additional = dict(merged)
    for child in base.children:
        identity = element_id(child)
        children.append(merged.get(identity, child))
        additional.pop(identity, None)
    children.extend(additional.values())
    return replace(base, children=children)
