"""Compares the manifest of an APK with the one that was built, less what Google Play adds by rule.

A bundle has one manifest for each module. An APK has that of its module, or for a configuration
one that was made anew and asks for nothing. Where several modules were merged into one APK, the
elements within <application> come from all of them. Each name that is left out here has its source
beside it: bundletool's (github.com/google/bundletool), or Google's documents.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from uploader.files.android.compiled_xml import Element

ANDROID = "{http://schemas.android.com/apk/res/android}"
NAME = "0x01010003"
_HEXADECIMAL = re.compile(r"[0-9a-f]{1,8}")  # of a number in compiled XML
_VALUE = "0x01010024"
_MIN_SDK = "0x0101020c"
_VERSION_CODE = "0x0101021b"
_VERSION_CODE_MAJOR = "0x01010576"
_VERSION_NAME = "0x0101021c"
_SPLIT_NAME = "0x01010549"
_SANDBOX = "0x0101054c"
REQUIRED_SPLIT_TYPES = "0x0101064e"

_ROOT_BY_RULE: Mapping[str, str] = {
    "split": "bundletool, ManifestEditor.setSplitId",
    "configForSplit": "bundletool, ManifestEditor.setConfigForSplit",
    "0x0101055b": "isFeatureSplit: bundletool, ManifestEditor.setSplitIdForFeatureSplit",
    f"{ANDROID}isFeatureSplit": "the same, without its resource id",
    "0x0101064f": "splitTypes: bundletool, RequiredSplitTypesInjector",
    REQUIRED_SPLIT_TYPES: "requiredSplitTypes: bundletool, RequiredSplitTypesInjector",
    f"{ANDROID}splitTypes": "the same, without its resource id",
    f"{ANDROID}requiredSplitTypes": "the same, without its resource id",
    "0x01010591": "isSplitRequired: developer.android.com, R.attr; bundletool before 1.9",
    f"{ANDROID}isSplitRequired": "the same, without its resource id",
    _SANDBOX: "targetSandboxVersion, of an instant app: bundletool, ModuleSplitter",
}
_APPLICATION_BY_RULE: Mapping[str, str] = {
    "0x010104ea": "extractNativeLibs: bundletool, NativeLibrariesCompressionSplitter",
    "0x01010591": "isSplitRequired: developer.android.com, R.attr; bundletool before 1.9",
    "0x0101064f": "splitTypes: bundletool, RequiredSplitTypesInjector",
    "0x01df000e": "localeConfig: bundletool, LocaleConfigXmlInjector",
    f"{ANDROID}localeConfig": "the same, without its resource id",
}
_HAS_CODE = "0x0101000c"  # of a module without code: bundletool, ModuleSplit.setHasCodeInManifest
_METADATA_BY_RULE: Mapping[str, str] = {
    "com.android.dynamic.apk.fused.modules": "bundletool, ManifestEditor.setFusedModuleNames",
    "com.android.stamp.source": "bundletool, SourceStampConstants",
    "com.android.stamp.type": "bundletool, SourceStampConstants",
    "com.android.vending.splits": "bundletool, SplitsXmlInjector",
    "com.android.vending.splits.required": "bundletool, ManifestEditor.setSplitsRequired",
    "com.android.vending.derived.apk.id": "Google Play: the number of a generated APK",
}
FUSED_MODULES = "com.android.dynamic.apk.fused.modules"
SPLITS_REQUIRED = "com.android.vending.splits.required"
# of a configuration's manifest: bundletool, AndroidManifest.createForConfigSplit
_CONFIGURATION_ROOT = frozenset(
    {"package", _VERSION_CODE, _VERSION_CODE_MAJOR, _VERSION_NAME, *_ROOT_BY_RULE}
)
_PLATFORM = re.compile(r"platformBuildVersion(Code|Name)")  # aapt2 link, ManifestFixer
# attributes of the application by which a class of the wrapper starts before the app's own
_CLASS_ATTRIBUTES = frozenset({NAME, "0x0101057a"})  # name, appComponentFactory
# classes of the wrapper that automatic protection adds
PROTECTION_CLASSES = "com.pairip."
_PROTECTION_PERMISSION = "com.android.vending.CHECK_LICENSE"
# What the manifest of an APK may call the attributes that bundletool writes, whether or not the
# bundle has them: their names are those of the Android platform (developer.android.com, R.attr).
_MADE_NAMES = frozenset(
    {
        f"xmlns:android {ANDROID.strip('{}')}",
        f"{NAME} {ANDROID}name",
        f"{_VALUE} {ANDROID}value",
        f"0x01010025 {ANDROID}resource",
        f"0x0101000c {ANDROID}hasCode",
        f"{_MIN_SDK} {ANDROID}minSdkVersion",
        f"{_VERSION_CODE} {ANDROID}versionCode",
        f"{_VERSION_CODE_MAJOR} {ANDROID}versionCodeMajor",
        f"{_VERSION_NAME} {ANDROID}versionName",
        f"0x0101055b {ANDROID}isFeatureSplit",
        f"0x01010591 {ANDROID}isSplitRequired",
        f"0x0101064f {ANDROID}splitTypes",
        f"{REQUIRED_SPLIT_TYPES} {ANDROID}requiredSplitTypes",
        f"{_SANDBOX} {ANDROID}targetSandboxVersion",
        f"0x010104ea {ANDROID}extractNativeLibs",
        f"0x01df000e {ANDROID}localeConfig",
    }
)
_MAX_LINES = 50  # differences of one manifest that are told
_SHOWN_NAMES: Mapping[str, str] = {
    NAME: "name",
    _VALUE: "value",
    _MIN_SDK: "minSdkVersion",
    "0x0101000f": "debuggable",
    "0x01010010": "exported",
    "0x01010006": "permission",
    "0x01010270": "targetSdkVersion",
    "0x01010018": "authorities",
    "0x01010280": "allowBackup",
    "0x010104ec": "usesCleartextTraffic",
    "0x01010527": "networkSecurityConfig",
    _VERSION_CODE: "versionCode",
    _VERSION_NAME: "versionName",
    _HAS_CODE: "hasCode",
    "0x0101057a": "appComponentFactory",
}


@dataclass(frozen=True)
class ManifestDifference:
    """How an APK's manifest differs from what was built: `changes` are what nobody may do,
    `protection` is what automatic protection does, `by_rule` what Google Play does for every app.
    """

    changes: tuple[str, ...] = ()
    protection: tuple[str, ...] = ()
    by_rule: tuple[str, ...] = ()


class _Differences:
    """Collects the differences of one manifest, each said once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {"changes": [], "protection": [], "by_rule": []}

    def add(self, kind: str, line: str) -> None:
        lines = self._lines[kind]
        if line not in lines and len(lines) < _MAX_LINES:
            lines.append(line)

    def result(self) -> ManifestDifference:
        return ManifestDifference(*(tuple(lines) for lines in self._lines.values()))


def compare_module(
    served: Element, built: Element, others: Sequence[Element], base: Element, *, has_code: bool
) -> ManifestDifference:
    """Compare the manifest of an APK with that of its module. `others` are those of the modules
    that were merged into the same APK; `has_code` says whether the module has any code.
    """
    found = _Differences()
    _compare_root(served, built, base, found)
    _compare_children(served, built, others, found)
    application = served.find("application") or Element("application")
    built_application = built.find("application") or Element("application")
    other_applications = [one.find("application") or Element("application") for one in others]
    _compare_attributes(
        "application",
        application,
        built_application,
        _APPLICATION_BY_RULE,
        found,
        allowed=frozenset() if has_code else frozenset({_HAS_CODE}),
    )
    instant = _SANDBOX in served.attributes and _SANDBOX not in built.attributes
    _compare_components(application, built_application, other_applications, found, instant=instant)
    return found.result()


def compare_configuration(served: Element) -> ManifestDifference:
    """Compare the manifest of a configuration's APK with what every such manifest has: it declares
    nothing.
    """
    found = _Differences()
    for key in served.attributes:
        if key not in _CONFIGURATION_ROOT and not _PLATFORM.fullmatch(key):
            found.add("changes", f"manifest has the attribute {_shown(key)}")
    for child in served.children:
        if child.name not in ("application", "uses-split", "uses-sdk"):
            found.add("changes", f"<{child.name}> was added{_named(child)}")
    application = served.find("application") or Element("application")
    for key, value in application.attributes.items():
        allowed = key in _APPLICATION_BY_RULE
        if key == _HAS_CODE:
            allowed = value == "12:00000000"
        if not allowed:
            found.add("changes", f"application has the attribute {_shown(key)}")
    for child in application.children:
        if not _metadata_by_rule(child):
            found.add("changes", f"<{child.name}> was added{_named(child)}")
    return found.result()


def foreign_names(served: frozenset[str], built: frozenset[str]) -> tuple[str, ...]:
    """Return what the manifest of an APK calls otherwise than the bundle's manifests do, as lines;
    both are what `compiled_xml.vocabulary` returns. Android knows attributes by their ids, other
    readers by their names.
    """
    foreign = sorted(served - built - _MADE_NAMES)[:_MAX_LINES]
    return tuple(f"a name is not the bundle's: {name[:200]}" for name in foreign)


def metadata(manifest: Element, name: str) -> str:
    """Return the value of a <meta-data> of the application as text; empty where there is none."""
    application = manifest.find("application")
    for child in application.children if application else ():
        if child.name == "meta-data" and child.attributes.get(NAME) == f"text:{name}":
            return child.attributes.get(_VALUE, "").removeprefix("text:")
    return ""


def min_sdk(manifest: Element) -> int:
    """Return the lowest API level that a manifest is for; 1 where it names none, or a preview."""
    sdk = manifest.find("uses-sdk")
    return _number(sdk.attributes.get(_MIN_SDK, "")) if sdk else 1


def _number(value: str) -> int:
    kind, _, content = value.partition(":")
    if kind in ("10", "11") and _HEXADECIMAL.fullmatch(content):
        return int(content, 16)
    return 1


def _compare_root(served: Element, built: Element, base: Element, found: _Differences) -> None:
    """Compare the attributes of <manifest>. A module without a version has that of the base."""
    if served.name != "manifest":
        found.add("changes", f"the root is <{served.name}>")
    expected = dict(built.attributes)
    for key in (_VERSION_CODE, _VERSION_CODE_MAJOR, _VERSION_NAME):
        if key not in expected and key in base.attributes and key in served.attributes:
            expected[key] = base.attributes[key]
    _compare_attributes("manifest", served, Element("", expected), _ROOT_BY_RULE, found)


def _compare_attributes(
    place: str,
    served: Element,
    built: Element,
    by_rule: Mapping[str, str],
    found: _Differences,
    allowed: frozenset[str] = frozenset(),
) -> None:
    for key in sorted(served.attributes.keys() | built.attributes.keys()):
        now = served.attributes.get(key)
        before = built.attributes.get(key)
        if now == before:
            continue
        if key in by_rule:
            found.add("by_rule", f"{place}: {by_rule[key].partition(':')[0]}")
        elif key in allowed and before is None:
            found.add("by_rule", f"{place}: {_shown(key)}")
        elif before is None and place == "manifest" and _PLATFORM.fullmatch(key):
            found.add("by_rule", f"{place}: {key}")
        else:
            wraps = key in _CLASS_ATTRIBUTES and _of_protection(now)
            kind = "protection" if wraps else "changes"
            found.add(kind, f"{place}: {_shown(key)} {_change(before, now)}")


def _of_protection(value: str | None) -> bool:
    return value is not None and value.startswith(f"text:{PROTECTION_CLASSES}")


def _change(before: str | None, now: str | None) -> str:
    if before is None:
        return f"was added: {_shown_value(now)}"
    if now is None:
        return f"was removed: {_shown_value(before)}"
    return f"was {_shown_value(before)}, is {_shown_value(now)}"


def _compare_children(
    served: Element, built: Element, others: Sequence[Element], found: _Differences
) -> None:
    """Compare the elements beside <application>."""
    now = _beside_application(served)
    before = _beside_application(built)
    by_text = {_said(child): child for child in (*served.children, *built.children)}
    of_others = _beside_application(*others)
    removed = before - now
    for text in now - before:
        child = by_text[text]
        if text in of_others:
            continue
        if child.name == "uses-sdk" and _raises_minimum(child, built):
            found.add("by_rule", "uses-sdk: a higher minSdkVersion")
            for key in [key for key in removed if by_text[key].name == "uses-sdk"]:
                del removed[key]
        elif child.attributes.get(NAME) == f"text:{_PROTECTION_PERMISSION}":
            found.add("protection", f"<{child.name}> was added{_named(child)}")
        else:
            found.add("changes", f"<{child.name}> was added or changed{_named(child)}")
    for text in removed:
        child = by_text[text]
        found.add("changes", f"<{child.name}> was removed or changed{_named(child)}")


def _beside_application(*manifests: Element) -> Counter[str]:
    """Count the elements beside <application>, by what they say."""
    said: Counter[str] = Counter()
    for manifest in manifests:
        said.update(_said(child) for child in manifest.children if child.name != "application")
    return said


def _raises_minimum(sdk: Element, built: Element) -> bool:
    """Return whether <uses-sdk> differs from the one that was built in a higher minSdkVersion
    alone, as for instant apps and the SDK runtime (bundletool, ModuleSplitter).
    """
    before = built.find("uses-sdk") or Element("uses-sdk")
    rest = {key: value for key, value in before.attributes.items() if key != _MIN_SDK}
    now = {key: value for key, value in sdk.attributes.items() if key != _MIN_SDK}
    return rest == now and min_sdk(built) < _number(sdk.attributes.get(_MIN_SDK, ""))


def _compare_components(
    served: Element,
    built: Element,
    others: Sequence[Element],
    found: _Differences,
    *,
    instant: bool,
) -> None:
    """Compare what is within <application>. An instant app loses the components of features that
    are installed on demand (bundletool, ManifestEditor.removeUnknownSplitComponents).
    """
    now = Counter(_said(child) for child in served.children)
    before = Counter(_said(child) for child in built.children)
    sources: dict[tuple[str, str], list[Element]] = {}
    for application in (built, *others):
        for child in application.children:
            sources.setdefault(_identity(child), []).append(child)
    of_others = {_said(child) for other in others for child in other.children}
    served_by_text = {_said(child): child for child in served.children}
    built_by_text = {_said(child): child for child in built.children}
    accounted: set[tuple[str, str]] = set()
    for text in now - before:
        child = served_by_text[text]
        identity = _identity(child)
        if text in of_others or (others and _is_merged(child, sources.get(identity, ()))):
            accounted.add(identity)
        elif _metadata_by_rule(child):
            accounted.add(identity)
            found.add("by_rule", f"application: {child.attributes[NAME].removeprefix('text:')}")
        elif _of_protection(child.attributes.get(NAME)):
            found.add("protection", f"<{child.name}> was added{_named(child)}")
        elif identity in sources:
            accounted.add(identity)
            found.add("changes", f"<{child.name}> was changed{_named(child)}")
        else:
            found.add("changes", f"<{child.name}> was added{_named(child)}")
    for text in before - now:
        child = built_by_text[text]
        if _identity(child) in accounted or _metadata_by_rule(child):
            continue
        if instant and _SPLIT_NAME in child.attributes:
            found.add("by_rule", f"<{child.name}> of a feature on demand{_named(child)}")
        else:
            found.add("changes", f"<{child.name}> was removed{_named(child)}")


def _identity(element: Element) -> tuple[str, str]:
    return element.name, element.attributes.get(NAME, "")


def _is_merged(element: Element, sources: Iterable[Element]) -> bool:
    """Return whether an element is one of the sources with the children of all of them (bundletool,
    FusingAndroidManifestMerger).
    """
    attributes = _component_attributes(element)
    allowed = {_said(child) for source in sources for child in source.children}
    if not any(_component_attributes(source) == attributes for source in sources):
        return False
    return all(_said(child) in allowed for child in element.children)


def _component_attributes(element: Element) -> dict[str, str]:
    """Return the attributes but splitName, which is taken out of every APK (bundletool,
    ManifestEditor.removeSplitName).
    """
    return {key: value for key, value in element.attributes.items() if key != _SPLIT_NAME}


def _said(element: Element) -> str:
    """Return a digest of what an element says, with all that is in it."""
    attributes = sorted(_component_attributes(element).items())
    children = [_said(child) for child in element.children]
    content = repr((element.name, attributes, element.text, children))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _metadata_by_rule(element: Element) -> bool:
    name = element.attributes.get(NAME, "").removeprefix("text:")
    return element.name == "meta-data" and not element.children and name in _METADATA_BY_RULE


def _shown(key: str) -> str:
    """Return the name of an attribute as people know it."""
    return _SHOWN_NAMES.get(key, key.rpartition("}")[2])[:100]


def _shown_value(value: str | None) -> str:
    kind, _, content = (value or "").partition(":")
    if kind == "text":
        return f"`{content[:100]}`"
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
