"""Compares the manifest of an APK with the one that was built, except for what Google Play adds by
rule.

A bundle has one manifest for each module. An APK has the manifest of its module; the APK of a
configuration has a new one that asks for nothing. If several modules were merged into one APK, the
elements within <application> come from all of them (`manifest_merge`). What Google Play may write
is in `manifest_rules`, each rule with its source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from uploader.files.android import manifest_rules as rules
from uploader.files.android.compiled_xml import Element
from uploader.files.android.manifest_merge import (
    NAME,
    ElementId,
    application_of,
    digest,
    element_id,
    merge_applications,
)
from uploader.files.android.manifest_rules import (
    ANDROID,
    HAS_CODE,
    INSTANT_MIN_SDK,
    MIN_SDK,
    NO,
    SANDBOX,
    SPLIT_NAME,
    VALUE,
    VERSION_CODE,
    VERSION_CODE_MAJOR,
    VERSION_NAME,
    Role,
    Rule,
)

_HEXADECIMAL = re.compile(r"[0-9a-f]{1,8}")  # of a number in compiled XML
_VERSION_ATTRIBUTES = (VERSION_CODE, VERSION_CODE_MAJOR, VERSION_NAME)
# What bundletool takes splitName out of (ManifestEditor.removeSplitName).
_WITHOUT_SPLIT_NAME = frozenset({"activity", "service", "provider"})
# <meta-data> that every APK may have; the others are those of the main APKs.
_METADATA_OF_ALL = frozenset(
    {
        "text:com.android.stamp.source",
        "text:com.android.stamp.type",
        "text:com.android.vending.derived.apk.id",
    }
)
_EXPORTED = "0x01010010"
_AUTHORITIES = "0x01010018"
# What automatic protection writes into a manifest, as described by people who took such APKs apart:
# a class that starts before the app's own, and a license check, whose components no other app can
# reach.
_PROTECTION_CLASS = "text:com.pairip.application.Application"
_LICENSE_ACTIVITY = re.compile(
    r"text:com\.pairip\.licensecheck\d?\.LicenseActivity\d?", re.ASCII
)
_LICENSE_PROVIDER = re.compile(
    r"text:(com\.pairip\.licensecheck\d?\.LicenseContentProvider\d?)", re.ASCII
)
_LICENSE_PERMISSION = Element(
    "uses-permission", {NAME: "text:com.android.vending.CHECK_LICENSE"}
)
# The names of attributes that bundletool writes. An APK may have them even if the bundle does not:
# they are those of the Android platform (developer.android.com, R.attr).
_MADE_NAMES = frozenset(
    {
        f"xmlns:android {ANDROID.strip('{}')}",
        f"{NAME} {ANDROID}name",
        f"{VALUE} {ANDROID}value",
        f"{rules.RESOURCE} {ANDROID}resource",
        f"{HAS_CODE} {ANDROID}hasCode",
        f"{MIN_SDK} {ANDROID}minSdkVersion",
        f"{VERSION_CODE} {ANDROID}versionCode",
        f"{VERSION_CODE_MAJOR} {ANDROID}versionCodeMajor",
        f"{VERSION_NAME} {ANDROID}versionName",
        f"{rules.FEATURE_SPLIT} {ANDROID}isFeatureSplit",
        f"{rules.SPLIT_REQUIRED} {ANDROID}isSplitRequired",
        f"{rules.SPLIT_TYPES} {ANDROID}splitTypes",
        f"{rules.REQUIRED_SPLIT_TYPES} {ANDROID}requiredSplitTypes",
        f"{SANDBOX} {ANDROID}targetSandboxVersion",
        f"{rules.EXTRACT_LIBRARIES} {ANDROID}extractNativeLibs",
        f"{rules.LOCALE_CONFIG} {ANDROID}localeConfig",
        # of the components of automatic protection
        f"{_EXPORTED} {ANDROID}exported",
        f"{_AUTHORITIES} {ANDROID}authorities",
    }
)
_MAX_LINES = 50  # differences of one kind that are reported for a manifest
_SHOWN_NAMES: Mapping[str, str] = {
    **rules.NAMES,
    NAME: "name",
    VALUE: "value",
    MIN_SDK: "minSdkVersion",
    "0x0101000f": "debuggable",
    _EXPORTED: "exported",
    "0x01010006": "permission",
    "0x01010270": "targetSdkVersion",
    _AUTHORITIES: "authorities",
    "0x01010280": "allowBackup",
    "0x010104ec": "usesCleartextTraffic",
    "0x01010527": "networkSecurityConfig",
    VERSION_CODE: "versionCode",
    VERSION_NAME: "versionName",
    HAS_CODE: "hasCode",
    "0x0101057a": "appComponentFactory",
}


@dataclass(frozen=True)
class ManifestDifference:
    """How an APK's manifest differs from what was built, as phrases.

    `changes` are differences that nothing allows, `protection` those that automatic protection
    makes, `unverified` those that no document explains but that harm no device, and `by_rule` those
    that Google Play makes in every app.
    """

    changes: tuple[str, ...] = ()
    protection: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    by_rule: tuple[str, ...] = ()


_DifferenceKind: TypeAlias = Literal[
    "changes",
    "protection",
    "unverified",
    "by_rule",
]


class _Differences:
    """Collects the differences of one manifest, each of them once."""

    def __init__(self) -> None:
        self._lines: dict[_DifferenceKind, list[str]] = {
            "changes": [],
            "protection": [],
            "unverified": [],
            "by_rule": [],
        }

    def add(self, kind: _DifferenceKind, line: str) -> None:
        lines = self._lines[kind]
        if line in lines:
            return
        if len(lines) < _MAX_LINES:
            lines.append(line)

    def add_element(
        self,
        kind: _DifferenceKind,
        element: Element,
        what: str,
    ) -> None:
        named = _name_suffix(element)
        self.add(kind, f"<{element.name}> {what}{named}")

    def add_all(self, others: _Differences) -> None:
        for kind, lines in others._lines.items():
            for line in lines:
                self.add(kind, line)

    @property
    def has_changes(self) -> bool:
        return bool(self._lines["changes"])

    def result(self) -> ManifestDifference:
        return ManifestDifference(
            changes=tuple(self._lines["changes"]),
            protection=tuple(self._lines["protection"]),
            unverified=tuple(self._lines["unverified"]),
            by_rule=tuple(self._lines["by_rule"]),
        )


def compare_module(
    served: Element,
    role: Role,
    *,
    has_code: bool,
) -> ManifestDifference:
    """Compare the manifest of an APK with the one of its module in `role`, or with those of the
    modules that were merged into it. `has_code` says whether these modules have any code.
    """
    differences = _Differences()
    built = role.app[role.module]
    sandbox = served.attributes.get(SANDBOX)
    instant = sandbox == rules.INSTANT_SANDBOX and role.is_instant
    _compare_root(served, built, role, differences)
    is_merged_base = role.kind == "base" and len(role.modules) > 1
    if is_merged_base and not _has_split_types(served):
        # A standalone APK could pretend to have splits, so that nobody looks for what it lacks.
        differences.add(
            "unverified",
            "it is a base of several modules that names no types of splits",
        )
    _compare_children(served, built, differences, instant=instant)
    application = application_of(served)
    built_application = application_of(built)
    _compare_application(
        application,
        built_application,
        role,
        differences,
        has_code=has_code,
    )
    features = {}
    for name in role.modules:
        if name == role.module:
            continue
        if name in role.app:
            features[name] = role.app[name]
    candidates = [built_application]
    if features:
        candidates = merge_applications(built, features, role.bundletool)
    _compare_with_candidates(
        application,
        candidates,
        role,
        differences,
        instant=instant,
    )
    return differences.result()


def compare_configuration(served: Element, role: Role) -> ManifestDifference:
    """Compare the manifest of a configuration's APK with what every such manifest has, which
    declares nothing (bundletool, AndroidManifest.createForConfigSplit).
    """
    differences = _Differences()
    for key, value in served.attributes.items():
        if not _is_of_configuration(key, value, role):
            attribute = f"{_attribute_name(key)}: {_format_value(value)}"
            differences.add("changes", f"manifest has the attribute {attribute}")
    _compare_place(served, role, differences)
    instant = SANDBOX in served.attributes
    seen: set[str] = set()
    for child in served.children:
        is_known = child.name == "application"
        if child.name == "uses-sdk":
            is_known = instant and _is_instant_sdk(child)
        if not is_known or child.name in seen:
            differences.add_element("changes", child, "was added")
        seen.add(child.name)
    _compare_configuration_application(application_of(served), role, differences)
    return differences.result()


def _compare_configuration_application(
    application: Element,
    role: Role,
    differences: _Differences,
) -> None:
    """Compare the <application> of a configuration's APK."""
    for key, value in application.attributes.items():
        if key == HAS_CODE:
            is_allowed = value == NO
        else:
            is_allowed = _is_written(key, value, rules.APPLICATION, role)
        if not is_allowed:
            attribute = _attribute_name(key)
            differences.add("changes", f"application has the attribute {attribute}")
    seen: set[str] = set()
    for child in application.children:
        name = child.attributes.get(NAME, "")
        is_known = False
        if name in _METADATA_OF_ALL:
            is_known = rules.is_metadata_by_rule(child, role)
        if not is_known or name in seen:
            differences.add_element("changes", child, "was added")
        seen.add(name)


def _compare_place(served: Element, role: Role, differences: _Differences) -> None:
    """Compare what a configuration's APK says about its place among the splits. Configurations of
    the base have no `configForSplit`.
    """
    if not rules.is_configuration_of(role.module, role.split):
        short_name = role.split[:100]
        differences.add("changes", f"no configuration is called {short_name}")
    if role.module != "base" and "configForSplit" not in served.attributes:
        differences.add("changes", "manifest: configForSplit is missing")


def foreign_names(served: frozenset[str], built: frozenset[str]) -> tuple[str, ...]:
    """Return a phrase for each name in the manifest of an APK that no manifest of the bundle has.

    Both sets are what `compiled_xml.tree_and_vocabulary` returns. Android identifies attributes by
    their ids, but other readers by their names.
    """
    foreign = served - built - _MADE_NAMES
    reported = sorted(foreign)[:_MAX_LINES]
    return tuple(f"a name is not the bundle's: {name[:200]}" for name in reported)


def metadata(manifest: Element, name: str) -> str:
    """Return the value of a <meta-data> of the application as text; empty if there is none."""
    compiled_name = f"text:{name}"
    for child in application_of(manifest).children:
        if child.name != "meta-data":
            continue
        if child.attributes.get(NAME) == compiled_name:
            value = child.attributes.get(VALUE, "")
            return value.removeprefix("text:")
    return ""


def min_sdk(manifest: Element) -> int:
    """Return the lowest API level that a manifest is for; 1 if it names none, or a preview."""
    sdk = manifest.find("uses-sdk")
    if sdk is None:
        return 1
    return _min_sdk(sdk)


def _min_sdk(sdk: Element) -> int:
    """Return the minSdkVersion of a <uses-sdk>; 1 if it is no number."""
    value = sdk.attributes.get(MIN_SDK, "")
    kind, _, content = value.partition(":")
    if kind not in ("10", "11"):
        return 1
    if not _HEXADECIMAL.fullmatch(content):
        return 1
    return int(content, 16)


# The root, and what is beside the application


def _compare_root(
    served: Element,
    built: Element,
    role: Role,
    differences: _Differences,
) -> None:
    """Compare the attributes of <manifest>. A module without a version has that of the base."""
    if served.name != "manifest":
        differences.add("changes", f"the root is <{served.name}>")
    expected = dict(built.attributes)
    base = role.app["base"]
    for key in _VERSION_ATTRIBUTES:
        if key in expected or key not in base.attributes:
            continue
        if key in served.attributes:
            expected[key] = base.attributes[key]
    keys = served.attributes.keys() | expected.keys()
    for key in sorted(keys):
        now = served.attributes.get(key)
        before = expected.get(key)
        if now == before:
            continue
        attribute = _attribute_name(key)
        is_removed = now is None and rules.is_removed(key, role)
        if is_removed or _is_written(key, now, rules.ROOT, role):
            differences.add("by_rule", f"manifest: {attribute}")
        elif now is not None and before is None and rules.is_platform(key, now):
            differences.add("by_rule", f"manifest: {key}")
        else:
            change = _change(before, now)
            differences.add("changes", f"manifest: {attribute} {change}")
    if role.kind == "feature" and not rules.is_marked_feature(served):
        differences.add("changes", "manifest: isFeatureSplit is missing")


def _has_split_types(manifest: Element) -> bool:
    """Return whether an APK names the splits that it needs, as bundletool does from 1.9 on."""
    return rules.REQUIRED_SPLIT_TYPES in manifest.attributes


def _is_written(
    key: str,
    value: str | None,
    table: Mapping[str, Rule],
    role: Role,
) -> bool:
    """Return whether Google Play writes this value of an attribute."""
    if value is None or key not in table:
        return False
    is_by_rule = table[key]
    return is_by_rule(value, role)


def _is_of_configuration(key: str, value: str, role: Role) -> bool:
    """Return whether the manifest of a configuration may have an attribute."""
    if key in ("package", VERSION_CODE, VERSION_CODE_MAJOR):
        # They were compared when the APK was identified.
        return True
    base = role.app["base"]
    version_name = base.attributes.get(VERSION_NAME)
    if key == VERSION_NAME and value == version_name:
        return True
    if rules.is_platform(key, value):
        return True
    return _is_written(key, value, rules.ROOT, role)


def _compare_children(
    served: Element,
    built: Element,
    differences: _Differences,
    *,
    instant: bool,
) -> None:
    """Compare the elements beside <application>."""
    served_elements = _beside_application(served)
    built_elements = _beside_application(built)
    added, removed = _find_unmatched(served_elements, built_elements)
    built_sdk = built.find("uses-sdk")
    raised_sdk = _raised_sdk(added, built_sdk)
    for child in added:
        if child is raised_sdk:
            kind: _DifferenceKind = "unverified"
            if instant and _min_sdk(child) == INSTANT_MIN_SDK:
                kind = "by_rule"
            differences.add(kind, "uses-sdk: a higher minSdkVersion")
        elif child == _LICENSE_PERMISSION:
            differences.add_element("protection", child, "was added")
        else:
            differences.add_element("changes", child, "was added or changed")
    for child in removed:
        is_raised = raised_sdk is not None and child is built_sdk
        if not is_raised:
            differences.add_element("changes", child, "was removed or changed")
    _compare_order(served, built, differences)


def _raised_sdk(added: Sequence[Element], built: Element | None) -> Element | None:
    """Return the only <uses-sdk> among these elements if it differs from the one that was built
    in nothing but a higher minSdkVersion. bundletool raises it for instant apps (ModuleSplitter).
    """
    added_sdks = [child for child in added if child.name == "uses-sdk"]
    if len(added_sdks) != 1:
        return None
    sdk = added_sdks[0]
    before = built or Element("uses-sdk")
    if _min_sdk(before) >= _min_sdk(sdk):
        return None
    attributes = dict(before.attributes)
    attributes[MIN_SDK] = sdk.attributes.get(MIN_SDK, "")
    raised = replace(before, attributes=attributes)
    if digest(raised) != digest(sdk):
        return None
    return sdk


def _compare_order(served: Element, built: Element, differences: _Differences) -> None:
    """Compare the order of the elements, and check that there is only one <application>."""
    served_elements = _without_content(served)
    built_elements = _without_content(built)
    if _are_reordered(served_elements, built_elements):
        differences.add("changes", "manifest: its elements are in another order")
    applications = [child for child in served.children if child.name == "application"]
    if len(applications) > 1:
        differences.add("changes", "<application> is there twice")


def _beside_application(manifest: Element) -> list[Element]:
    return [child for child in manifest.children if child.name != "application"]


def _without_content(manifest: Element) -> list[Element]:
    """Return the elements of a manifest in their order, with an empty <application>."""
    elements = []
    for child in manifest.children:
        element = child
        if child.name == "application":
            element = Element("application")
        elements.append(element)
    return elements


def _are_reordered(served: Sequence[Element], built: Sequence[Element]) -> bool:
    """Return whether the elements that both sides have are in another order.

    The order matters to Android: the first of two services for one intent gets it, libraries are
    searched one after the other, and an alias has to follow its activity (PackageParser).
    bundletool keeps the order, and puts what it adds at the end (ManifestEditor).
    """
    return _in_common(served, built) != _in_common(built, served)


def _in_common(elements: Sequence[Element], others: Sequence[Element]) -> list[str]:
    """Return the digests of the elements that the other side has too, in their order."""
    left: Counter[str] = Counter()
    for other in others:
        content = digest(_without_split_name(other))
        left[content] += 1
    common = []
    for element in elements:
        content = digest(_without_split_name(element))
        if left[content]:
            left[content] -= 1
            common.append(content)
    return common


def _without_split_name(element: Element) -> Element:
    """Return an element as bundletool leaves it (ManifestEditor.removeSplitName)."""
    if element.name not in _WITHOUT_SPLIT_NAME:
        return element
    if SPLIT_NAME not in element.attributes:
        return element
    attributes = dict(element.attributes)
    del attributes[SPLIT_NAME]
    return replace(element, attributes=attributes)


def _find_unmatched(
    served: Sequence[Element],
    built: Sequence[Element],
) -> tuple[list[Element], list[Element]]:
    """Return the elements that only `served` has, and those that only `built` has."""
    left: dict[str, list[Element]] = {}
    for element in built:
        content = digest(element)
        equal_elements = left.setdefault(content, [])
        equal_elements.append(element)
    added = []
    for element in served:
        content = digest(element)
        equal_elements = left.get(content, [])
        if equal_elements:
            equal_elements.pop()
        else:
            added.append(element)
    removed = []
    for elements in left.values():
        removed.extend(elements)
    return added, removed


def _is_instant_sdk(sdk: Element) -> bool:
    """Return whether <uses-sdk> is that of a configuration of an instant app."""
    lowest = f"10:{INSTANT_MIN_SDK:08x}"
    return sdk == Element("uses-sdk", {MIN_SDK: lowest})


# The application


def _compare_application(
    served: Element,
    built: Element,
    role: Role,
    differences: _Differences,
    *,
    has_code: bool,
) -> None:
    """Compare the attributes of <application>."""
    if served.text != built.text:
        differences.add("changes", "application: its text differs")
    keys = served.attributes.keys() | built.attributes.keys()
    for key in sorted(keys):
        now = served.attributes.get(key)
        before = built.attributes.get(key)
        if now == before:
            continue
        attribute = _attribute_name(key)
        # bundletool, ModuleSplit.setHasCodeInManifest: of a module without code
        is_marked = False
        if key == HAS_CODE and before is None:
            is_marked = now == NO and not has_code
        if is_marked or _is_written(key, now, rules.APPLICATION, role):
            differences.add("by_rule", f"application: {attribute}")
            continue
        kind: _DifferenceKind = "changes"
        if key == NAME and now == _PROTECTION_CLASS:
            kind = "protection"
        change = _change(before, now)
        differences.add(kind, f"application: {attribute} {change}")


def _is_of_protection(element: Element, package: str) -> bool:
    """Return whether an element of the application is one of the two that automatic protection adds
    to an app. `package` is the app's package in compiled form.
    """
    name = element.attributes.get(NAME, "")
    attributes = {NAME: name, _EXPORTED: NO}
    if element.name == "activity" and _LICENSE_ACTIVITY.fullmatch(name):
        return element == Element("activity", attributes)
    provider = _LICENSE_PROVIDER.fullmatch(name)
    if element.name == "provider" and provider:
        class_name = provider[1]
        attributes[_AUTHORITIES] = f"{package}.{class_name}"
        return element == Element("provider", attributes)
    return False


def _compare_with_candidates(
    served: Element,
    candidates: Sequence[Element],
    role: Role,
    differences: _Differences,
    *,
    instant: bool,
) -> None:
    """Compare what is within <application> with each candidate. If it equals none of them, add how
    it differs from the first one.
    """
    of_first: _Differences | None = None
    for candidate in candidates:
        of_candidate = _compare_components(
            served,
            candidate,
            role,
            instant=instant,
        )
        if not of_candidate.has_changes:
            differences.add_all(of_candidate)
            return
        if of_first is None:
            of_first = of_candidate
    if of_first is not None:
        differences.add_all(of_first)


def _compare_components(
    served: Element,
    built: Element,
    role: Role,
    *,
    instant: bool,
) -> _Differences:
    """Compare what is within <application>."""
    differences = _Differences()
    base = role.app["base"]
    package = base.attributes.get("package", "")
    added, removed = _find_unmatched(served.children, built.children)
    unexplained = _Unexplained(removed)
    for child in unexplained.without_split_names(added):
        if rules.is_metadata_by_rule(child, role) and unexplained.is_first(child):
            compiled_name = child.attributes[NAME]
            name = compiled_name.removeprefix("text:")
            differences.add("by_rule", f"application: {name}")
            unexplained.take_same_component(child)
        elif _is_of_protection(child, package):
            differences.add_element("protection", child, "was added")
        elif unexplained.take_same_component(child):
            differences.add_element("changes", child, "was changed")
        else:
            differences.add_element("changes", child, "was added")
    for child in unexplained.elements():
        if instant and _is_of_other_split(child, role):
            differences.add_element("by_rule", child, "of a feature on demand")
        else:
            differences.add_element("changes", child, "was removed")
    if _are_reordered(served.children, built.children):
        differences.add("changes", "application: its elements are in another order")
    return differences


class _Unexplained:
    """The elements of the bundle's <application> that the APK's does not have, until it turns out
    what became of them.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = dict(enumerate(elements))
        # indices of `_elements`, by the kind and name of the element
        self._by_id: dict[ElementId, list[int]] = {}
        # and by the digest of the element without its splitName, if it has one
        self._by_stripped_digest: dict[str, list[int]] = {}
        self._metadata: set[str] = set()
        for index, element in self._elements.items():
            identity = element_id(element)
            same_component = self._by_id.setdefault(identity, [])
            same_component.append(index)
            stripped = _without_split_name(element)
            if stripped is not element:
                content = digest(stripped)
                equal = self._by_stripped_digest.setdefault(content, [])
                equal.append(index)

    def elements(self) -> list[Element]:
        """Return the elements that are not explained yet."""
        return list(self._elements.values())

    def without_split_names(self, added: Sequence[Element]) -> list[Element]:
        """Take out each element that the APK has without its splitName, and return the other
        elements that were added.
        """
        others = []
        for element in added:
            content = digest(element)
            indices = self._by_stripped_digest.get(content)
            if indices:
                index = indices.pop()
                del self._elements[index]
            else:
                others.append(element)
        return others

    def take_same_component(self, element: Element) -> bool:
        """Take out an element of the same kind and name, and return whether there was one."""
        identity = element_id(element)
        indices = self._by_id.get(identity, [])
        while indices:
            index = indices.pop()
            if index in self._elements:
                del self._elements[index]
                return True
        return False

    def is_first(self, element: Element) -> bool:
        """Return whether this <meta-data> is asked about for the first time."""
        name = element.attributes[NAME]
        is_first = name not in self._metadata
        self._metadata.add(name)
        return is_first


def _is_of_other_split(element: Element, role: Role) -> bool:
    """Return whether a component is for a module that the instant app does not have (bundletool,
    ManifestEditor.removeUnknownSplitComponents).
    """
    split = element.attributes.get(SPLIT_NAME)
    if split is None:
        return False
    module = split.removeprefix("text:")
    return module not in role.instant_modules


# The words of the differences


def _change(before: str | None, now: str | None) -> str:
    if before is None:
        return f"was added: {_format_value(now)}"
    if now is None:
        return f"was removed: {_format_value(before)}"
    return f"was {_format_value(before)}, is {_format_value(now)}"


def _attribute_name(key: str) -> str:
    """Return the name of an attribute as people know it."""
    _, _, local_name = key.rpartition("}")
    name = _SHOWN_NAMES.get(key, local_name)
    return name[:100]


def _format_value(value: str | None) -> str:
    """Return a value in compiled form as people write it."""
    if value is None:
        return ""
    kind, _, content = value.partition(":")
    text = f"`{content[:100]}`"
    if kind == "text":
        return text
    if kind == "alone text":
        return f"{text} without the text that belongs beside it"
    is_hexadecimal = _HEXADECIMAL.fullmatch(content) is not None
    if kind in ("10", "11", "12") and not is_hexadecimal:
        # A number with a text beside it.
        return text
    if kind == "12":
        return "true" if int(content, 16) else "false"
    if kind in ("10", "11"):
        return str(int(content, 16))
    if kind == "01":
        return f"@{content}"
    return content


def _name_suffix(element: Element) -> str:
    """Return what follows an element in a line: its name, if it has one."""
    name = element.attributes.get(NAME, "")
    if not name:
        return ""
    return f": {_format_value(name)}"
