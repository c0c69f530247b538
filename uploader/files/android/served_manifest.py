"""Compares the manifest of an APK with the one that was built, less what Google Play adds by rule.

A bundle has one manifest for each module. An APK has that of its module, or for a configuration
one that was made anew and asks for nothing. Where several modules were merged into one APK, the
elements within <application> come from all of them (`manifest_merge`). What Google Play may write
is in `manifest_rules`, each with its source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from uploader.files.android import manifest_rules as rules
from uploader.files.android.compiled_xml import Element
from uploader.files.android.manifest_merge import (
    NAME,
    ElementId,
    application_of,
    digest,
    element_id,
    merged_applications,
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
# What automatic protection writes into a manifest, as people have described it who took such APKs
# apart: a class that starts before the app's own, and the check of the license, whose components no
# other app can reach.
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
# What the manifest of an APK may call the attributes that bundletool writes, whether or not the
# bundle has them: their names are those of the Android platform (developer.android.com, R.attr).
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
_MAX_LINES = 50  # differences of one manifest that are told
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
    """How an APK's manifest differs from what was built: `changes` are what nobody may do,
    `protection` is what automatic protection does, `unverified` what no document explains and no
    device is harmed by, `by_rule` what Google Play does for every app.
    """

    changes: tuple[str, ...] = ()
    protection: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    by_rule: tuple[str, ...] = ()


class _Differences:
    """Collects the differences of one manifest, each said once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {
            "changes": [],
            "protection": [],
            "unverified": [],
            "by_rule": [],
        }

    def add(self, kind: str, line: str) -> None:
        lines = self._lines[kind]
        if line not in lines and len(lines) < _MAX_LINES:
            lines.append(line)

    def add_all(self, others: _Differences) -> None:
        for kind, lines in others._lines.items():
            for line in lines:
                self.add(kind, line)

    @property
    def has_changes(self) -> bool:
        return bool(self._lines["changes"])

    def result(self) -> ManifestDifference:
        return ManifestDifference(*(tuple(lines) for lines in self._lines.values()))


def compare_module(
    served: Element, role: Role, *, has_code: bool
) -> ManifestDifference:
    """Compare the manifest of an APK with that of its module, which `role` has, or with those of
    the modules that were merged into it; `has_code` says whether they have any code.
    """
    found = _Differences()
    built = role.app[role.module]
    instant = (
        served.attributes.get(SANDBOX) == rules.INSTANT_SANDBOX and role.is_instant
    )
    _compare_root(served, built, role, found)
    if role.kind == "base" and len(role.modules) > 1 and not _has_split_types(served):
        # An APK that is whole may pretend to have splits, so that nobody looks for what it lacks.
        found.add(
            "unverified",
            "it is a base of several modules that names no types of splits",
        )
    _compare_children(served, built, found, instant=instant)
    application = application_of(served)
    _compare_application(
        application, application_of(built), role, found, has_code=has_code
    )
    features = {}
    for name in role.modules:
        if name in role.app and name != role.module:
            features[name] = role.app[name]
    candidates = [application_of(built)]
    if features:
        candidates = merged_applications(built, features, role.bundletool)
    _compare_with_candidates(application, candidates, role, found, instant=instant)
    return found.result()


def compare_configuration(served: Element, role: Role) -> ManifestDifference:
    """Compare the manifest of a configuration's APK with what every such manifest has: it declares
    nothing (bundletool, AndroidManifest.createForConfigSplit).
    """
    found = _Differences()
    for key, value in served.attributes.items():
        if not _is_of_configuration(key, value, role):
            found.add(
                "changes",
                f"manifest has the attribute {_shown(key)}: {_shown_value(value)}",
            )
    _compare_place(served, role, found)
    instant = SANDBOX in served.attributes
    seen: set[str] = set()
    for child in served.children:
        is_known = child.name == "application"
        if child.name == "uses-sdk":
            is_known = instant and _is_instant_sdk(child)
        if not is_known or child.name in seen:
            found.add("changes", f"<{child.name}> was added{_named(child)}")
        seen.add(child.name)
    application = application_of(served)
    for key, value in application.attributes.items():
        allowed = key in rules.APPLICATION and rules.APPLICATION[key](value, role)
        if key == HAS_CODE:
            allowed = value == NO
        if not allowed:
            found.add("changes", f"application has the attribute {_shown(key)}")
    names: set[str] = set()
    for child in application.children:
        name = child.attributes.get(NAME, "")
        is_known = name in _METADATA_OF_ALL and rules.is_metadata_by_rule(child, role)
        if not is_known or name in names:
            found.add("changes", f"<{child.name}> was added{_named(child)}")
        names.add(name)
    return found.result()


def _compare_place(served: Element, role: Role, found: _Differences) -> None:
    """Compare what a configuration's APK says about its place among the splits. That of the base
    has no owner.
    """
    if not rules.is_configuration_of(role.module, role.split):
        found.add("changes", f"no configuration is called {role.split[:100]}")
    if role.module != "base" and "configForSplit" not in served.attributes:
        found.add("changes", "manifest: configForSplit is missing")


def foreign_names(served: frozenset[str], built: frozenset[str]) -> tuple[str, ...]:
    """Return what the manifest of an APK calls otherwise than the bundle's manifests do, as lines;
    both are names that `compiled_xml.tree_and_vocabulary` returns. Android knows attributes by
    their ids, other readers by their names.
    """
    foreign = sorted(served - built - _MADE_NAMES)[:_MAX_LINES]
    return tuple(f"a name is not the bundle's: {name[:200]}" for name in foreign)


def metadata(manifest: Element, name: str) -> str:
    """Return the value of a <meta-data> of the application as text; empty where there is none."""
    for child in application_of(manifest).children:
        if child.name == "meta-data" and child.attributes.get(NAME) == f"text:{name}":
            return child.attributes.get(VALUE, "").removeprefix("text:")
    return ""


def min_sdk(manifest: Element) -> int:
    """Return the lowest API level that a manifest is for; 1 where it names none, or a preview."""
    sdk = manifest.find("uses-sdk")
    return _number(sdk.attributes.get(MIN_SDK, "")) if sdk else 1


def _number(value: str) -> int:
    kind, _, content = value.partition(":")
    if kind in ("10", "11") and _HEXADECIMAL.fullmatch(content):
        return int(content, 16)
    return 1


# The root, and what is beside the application


def _compare_root(
    served: Element, built: Element, role: Role, found: _Differences
) -> None:
    """Compare the attributes of <manifest>. A module without a version has that of the base."""
    if served.name != "manifest":
        found.add("changes", f"the root is <{served.name}>")
    expected = dict(built.attributes)
    base = role.app["base"]
    for key in _VERSION_ATTRIBUTES:
        if key not in expected and key in base.attributes and key in served.attributes:
            expected[key] = base.attributes[key]
    for key in sorted(served.attributes.keys() | expected.keys()):
        now = served.attributes.get(key)
        before = expected.get(key)
        if now == before:
            continue
        is_removed = now is None and rules.is_removed(key, role)
        if is_removed or _is_written(key, now, rules.ROOT, role):
            found.add("by_rule", f"manifest: {_shown(key)}")
        elif now is not None and before is None and rules.is_platform(key, now):
            found.add("by_rule", f"manifest: {key}")
        else:
            found.add("changes", f"manifest: {_shown(key)} {_change(before, now)}")
    if role.kind == "feature" and not rules.is_marked_feature(served):
        found.add("changes", "manifest: isFeatureSplit is missing")


def _has_split_types(manifest: Element) -> bool:
    """Return whether an APK names the splits that it needs, as bundletool does from 1.9 on."""
    return rules.REQUIRED_SPLIT_TYPES in manifest.attributes


def _is_written(
    key: str, value: str | None, table: Mapping[str, Rule], role: Role
) -> bool:
    """Return whether Google Play writes this value of an attribute."""
    return value is not None and key in table and table[key](value, role)


def _is_of_configuration(key: str, value: str, role: Role) -> bool:
    """Return whether the manifest of a configuration may have an attribute."""
    base = role.app["base"]
    if key in ("package", VERSION_CODE, VERSION_CODE_MAJOR):
        return True  # the APK was identified by them
    if key == VERSION_NAME and base.attributes.get(VERSION_NAME) == value:
        return True
    return _is_written(key, value, rules.ROOT, role) or rules.is_platform(key, value)


def _compare_children(
    served: Element, built: Element, found: _Differences, *, instant: bool
) -> None:
    """Compare the elements beside <application>."""
    added, removed = _unmatched(_beside_application(served), _beside_application(built))
    sdk = built.find("uses-sdk")
    is_sdk_alone = len([child for child in added if child.name == "uses-sdk"]) == 1
    for child in added:
        if child.name == "uses-sdk" and is_sdk_alone and _raises_minimum(child, sdk):
            removed = [element for element in removed if element is not sdk]
            kind = "unverified"
            if (
                instant
                and _number(child.attributes.get(MIN_SDK, "")) == INSTANT_MIN_SDK
            ):
                kind = "by_rule"
            found.add(kind, "uses-sdk: a higher minSdkVersion")
        elif child == _LICENSE_PERMISSION:
            found.add("protection", f"<{child.name}> was added{_named(child)}")
        else:
            found.add("changes", f"<{child.name}> was added or changed{_named(child)}")
    for child in removed:
        found.add("changes", f"<{child.name}> was removed or changed{_named(child)}")
    _compare_order(served, built, found)


def _compare_order(served: Element, built: Element, found: _Differences) -> None:
    """Compare the order of the elements, among which <application> stands once."""
    if _are_reordered(_without_content(served), _without_content(built)):
        found.add("changes", "manifest: its elements are in another order")
    applications = [child for child in served.children if child.name == "application"]
    if len(applications) > 1:
        found.add("changes", "<application> is there twice")


def _beside_application(manifest: Element) -> list[Element]:
    return [child for child in manifest.children if child.name != "application"]


def _without_content(manifest: Element) -> list[Element]:
    """Return the elements of a manifest, and in their midst an <application> without content."""
    empty = Element("application")
    return [
        empty if child.name == "application" else child for child in manifest.children
    ]


def _are_reordered(served: Sequence[Element], built: Sequence[Element]) -> bool:
    """Return whether those elements that both sides have are in another order.

    Android goes by the order: of two services for one intent the first gets it, libraries are
    searched one after the other, and an alias has to follow its activity (PackageParser).
    bundletool keeps it, and puts behind the others what it adds (ManifestEditor).
    """
    return _in_common(served, built) != _in_common(built, served)


def _in_common(elements: Sequence[Element], others: Sequence[Element]) -> list[str]:
    """Return the digests of those elements that the other side has, too, in their order."""
    left = Counter(digest(_without_split_name(other)) for other in others)
    common = []
    for element in elements:
        content = digest(_without_split_name(element))
        if left[content]:
            left[content] -= 1
            common.append(content)
    return common


def _without_split_name(element: Element) -> Element:
    """Return an element as bundletool leaves it (ManifestEditor.removeSplitName)."""
    if element.name not in _WITHOUT_SPLIT_NAME or SPLIT_NAME not in element.attributes:
        return element
    attributes = dict(element.attributes)
    del attributes[SPLIT_NAME]
    return replace(element, attributes=attributes)


def _unmatched(
    served: Sequence[Element], built: Sequence[Element]
) -> tuple[list[Element], list[Element]]:
    """Return the elements that only one of the two sides has, of each side."""
    left: dict[str, list[Element]] = {}
    for element in built:
        left.setdefault(digest(element), []).append(element)
    added = []
    for element in served:
        alike = left.get(digest(element))
        if alike:
            alike.pop()
        else:
            added.append(element)
    removed = []
    for elements in left.values():
        removed.extend(elements)
    return added, removed


def _raises_minimum(sdk: Element, built: Element | None) -> bool:
    """Return whether <uses-sdk> differs from the one that was built in a higher minSdkVersion
    alone. bundletool raises it for instant apps (ModuleSplitter).
    """
    before = built or Element("uses-sdk")
    minimum = before.attributes.get(MIN_SDK, "")
    raised = {**before.attributes, MIN_SDK: sdk.attributes.get(MIN_SDK, "")}
    is_alike = digest(replace(before, attributes=raised)) == digest(sdk)
    return is_alike and _number(minimum) < _number(raised[MIN_SDK])


def _is_instant_sdk(sdk: Element) -> bool:
    """Return whether <uses-sdk> is that of a configuration of an instant app."""
    return sdk == Element("uses-sdk", {MIN_SDK: f"10:{INSTANT_MIN_SDK:08x}"})


# The application


def _compare_application(
    served: Element, built: Element, role: Role, found: _Differences, *, has_code: bool
) -> None:
    """Compare the attributes of <application>."""
    if served.text != built.text:
        found.add("changes", "application: its text differs")
    for key in sorted(served.attributes.keys() | built.attributes.keys()):
        now = served.attributes.get(key)
        before = built.attributes.get(key)
        if now == before:
            continue
        # bundletool, ModuleSplit.setHasCodeInManifest: of a module without code
        is_marked = key == HAS_CODE and before is None and now == NO and not has_code
        if is_marked or _is_written(key, now, rules.APPLICATION, role):
            found.add("by_rule", f"application: {_shown(key)}")
        else:
            wraps = key == NAME and now == _PROTECTION_CLASS
            kind = "protection" if wraps else "changes"
            found.add(kind, f"application: {_shown(key)} {_change(before, now)}")


def _is_of_protection(element: Element, package: str) -> bool:
    """Return whether an element of the application is one of the two that automatic protection adds
    to an app of this package, `text:` before its name.
    """
    name = element.attributes.get(NAME, "")
    expected = {NAME: name, _EXPORTED: NO}
    provider = _LICENSE_PROVIDER.fullmatch(name)
    if element.name == "provider" and provider:
        expected[_AUTHORITIES] = f"{package}.{provider[1]}"
    elif element.name != "activity" or not _LICENSE_ACTIVITY.fullmatch(name):
        return False
    return element == Element(element.name, expected)


def _compare_with_candidates(
    served: Element,
    candidates: Sequence[Element],
    role: Role,
    found: _Differences,
    *,
    instant: bool,
) -> None:
    """Compare what is within <application> with each of those that it may be, and note how it
    differs from the first, unless it is one of the others.
    """
    first: _Differences | None = None
    for candidate in candidates:
        differences = _compare_components(served, candidate, role, instant=instant)
        if not differences.has_changes:
            found.add_all(differences)
            return
        first = first or differences
    if first is not None:
        found.add_all(first)


def _compare_components(
    served: Element, built: Element, role: Role, *, instant: bool
) -> _Differences:
    """Compare what is within <application>."""
    found = _Differences()
    package = role.app["base"].attributes.get("package", "")
    added, removed = _unmatched(served.children, built.children)
    left = _Left(removed)
    for child in left.without_split_names(added):
        if rules.is_metadata_by_rule(child, role) and left.is_first(child):
            found.add(
                "by_rule",
                f"application: {child.attributes[NAME].removeprefix('text:')}",
            )
            left.take_alike(child)
        elif _is_of_protection(child, package):
            found.add("protection", f"<{child.name}> was added{_named(child)}")
        elif left.take_alike(child):
            found.add("changes", f"<{child.name}> was changed{_named(child)}")
        else:
            found.add("changes", f"<{child.name}> was added{_named(child)}")
    for child in left.elements():
        if instant and _is_of_other_split(child, role):
            found.add(
                "by_rule", f"<{child.name}> of a feature on demand{_named(child)}"
            )
        else:
            found.add("changes", f"<{child.name}> was removed{_named(child)}")
    if _are_reordered(served.children, built.children):
        found.add("changes", "application: its elements are in another order")
    return found


class _Left:
    """The elements of the bundle's <application> that the APK's has not, until it turns out what
    became of them.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = dict(enumerate(elements))
        self._alike: dict[ElementId, list[int]] = {}
        self._without_split_name: dict[str, list[int]] = {}
        self._metadata: set[str] = set()
        for place, element in self._elements.items():
            self._alike.setdefault(element_id(element), []).append(place)
            stripped = _without_split_name(element)
            if stripped is not element:
                self._without_split_name.setdefault(digest(stripped), []).append(place)

    def elements(self) -> list[Element]:
        """Return those that are still left."""
        return list(self._elements.values())

    def without_split_names(self, added: Sequence[Element]) -> list[Element]:
        """Take out each element that the APK has without its splitName, and return what is added
        otherwise.
        """
        others = []
        for element in added:
            places = self._without_split_name.get(digest(element))
            if places:
                del self._elements[places.pop()]
            else:
                others.append(element)
        return others

    def take_alike(self, element: Element) -> bool:
        """Take out an element of the same kind and name, and return whether there was one."""
        places = self._alike.get(element_id(element), [])
        while places:
            if self._elements.pop(places.pop(), None) is not None:
                return True
        return False

    def is_first(self, element: Element) -> bool:
        """Return whether this <meta-data> is asked about for the first time."""
        name = element.attributes[NAME]
        is_first = name not in self._metadata
        self._metadata.add(name)
        return is_first


def _is_of_other_split(element: Element, role: Role) -> bool:
    """Return whether an instant app has not the module that a component is for (bundletool,
    ManifestEditor.removeUnknownSplitComponents).
    """
    split = element.attributes.get(SPLIT_NAME)
    if split is None:
        return False
    return split.removeprefix("text:") not in role.instant_modules


# How it is told


def _change(before: str | None, now: str | None) -> str:
    if before is None:
        return f"was added: {_shown_value(now)}"
    if now is None:
        return f"was removed: {_shown_value(before)}"
    return f"was {_shown_value(before)}, is {_shown_value(now)}"


def _shown(key: str) -> str:
    """Return the name of an attribute as people know it."""
    return _SHOWN_NAMES.get(key, key.rpartition("}")[2])[:100]


def _shown_value(value: str | None) -> str:
    kind, _, content = (value or "").partition(":")
    if kind == "text":
        return f"`{content[:100]}`"
    if kind == "alone text":
        return f"`{content[:100]}` without the text that belongs beside it"
    if kind in ("10", "11", "12") and not _HEXADECIMAL.fullmatch(content):
        return f"`{content[:100]}`"  # a number with a text beside it
    if kind == "12":
        return "true" if int(content, 16) else "false"
    if kind in ("10", "11"):
        return str(int(content, 16))
    return f"@{content}" if kind == "01" else content


def _named(element: Element) -> str:
    name = element.attributes.get(NAME, "")
    return f": {_shown_value(name)}" if name else ""
