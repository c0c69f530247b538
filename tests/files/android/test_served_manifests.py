"""What the manifest of a served APK may say: what bundletool writes, in the APKs and with the
values that it writes, and in an APK of several modules exactly what it merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.served_specimens import NAME, VALUE, component, manifest
from uploader.files.android.compiled_xml import Element
from uploader.files.android.manifest_merge import (
    DISTRIBUTION,
    is_always_installed,
    merge_applications,
)
from uploader.files.android.manifest_rules import (
    FUSED_MODULES,
    LOCALE_CONFIG,
    MIN_SDK,
    RESOURCE,
    SANDBOX,
    SPLIT_NAME,
    SPLIT_TYPES,
    SPLITS_LIST,
    SPLITS_REQUIRED,
    Role,
)
from uploader.files.android.served_manifest import (
    ManifestDifference,
    compare_configuration,
    compare_module,
)

NOW = (1, 18, 1)
SAME = ((), (), ())
MAIN = component("activity", "com.example.app.Main")
PAID = component("activity", "com.example.app.Paid", **{SPLIT_NAME: "text:paid"})
PAID_ALIAS = component(
    "activity-alias", "com.example.app.Alias", **{SPLIT_NAME: "text:paid"}
)
INSTANT = Element(f"{DISTRIBUTION}module", {f"{DISTRIBUTION}instant": "text:true"})


def uses_sdk(minimum: int, *children: Element, **attributes: str) -> Element:
    return Element(
        "uses-sdk", {MIN_SDK: f"10:{minimum:08x}", **attributes}, list(children)
    )


def with_children(root: Element, *children: Element) -> Element:
    """The manifest with more beside its application."""
    return replace(root, children=[*children, *root.children])


BASE = with_children(manifest(MAIN, PAID, PAID_ALIAS), uses_sdk(19))
APP = {"base": BASE, "paid": manifest(split="text:paid")}
INSTANT_APP = {
    "base": with_children(BASE, INSTANT),
    "paid": manifest(split="text:paid"),
}


def differences(
    found: ManifestDifference,
) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    return found.changes, found.protection, found.unverified


def of_base(
    served: Element, app: dict[str, Element] | None = None
) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """What differs in the manifest of a base with splits."""
    lists = {"splits0": 0x7F060000, "locales_config": 0x7F060001}
    role = Role("base", app=app or APP, bundletool=NOW, lists=lists)
    return differences(compare_module(served, role, has_code=True))


def of_configuration(
    served: Element, app: dict[str, Element] | None = None
) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """What differs in the manifest of a configuration of the base."""
    role = Role("configuration", "config.de", app=app or APP, bundletool=NOW)
    return differences(compare_configuration(served, role))


def metadata(name: str, value: str, key: str = VALUE) -> Element:
    return component("meta-data", name, **{key: value})


def served_base(*components: Element, **attributes: str) -> Element:
    """The base's manifest with these components behind its own."""
    root = manifest(MAIN, PAID, PAID_ALIAS, *components, **attributes)
    return with_children(root, uses_sdk(19))


# Components of other splits


def test_bundletool_takes_split_names_out() -> None:
    plain = component("activity", "com.example.app.Paid")
    assert (
        of_base(with_children(manifest(MAIN, plain, PAID_ALIAS), uses_sdk(19))) == SAME
    )


@pytest.mark.parametrize(
    "components",
    [
        [
            replace(MAIN, attributes={**MAIN.attributes, SPLIT_NAME: "text:paid"}),
            PAID,
            PAID_ALIAS,
        ],
        [
            MAIN,
            replace(PAID, attributes={**PAID.attributes, SPLIT_NAME: "text:no"}),
            PAID_ALIAS,
        ],
        [MAIN, PAID, component("activity-alias", "com.example.app.Alias")],
        [MAIN, component("activity", "com.example.app.Paid"), PAID, PAID_ALIAS],
    ],
    ids=["added", "changed", "of-an-alias", "twice"],
)
def test_no_other_split_name_is_added_or_taken_out(components: list[Element]) -> None:
    changes = of_base(with_children(manifest(*components), uses_sdk(19)))
    assert changes != SAME


# The order of elements


def action(name: str) -> Element:
    return Element("intent-filter", {}, [component("action", name)])


def service(name: str, message: str) -> Element:
    return replace(component("service", name), children=[action(message)])


@pytest.mark.parametrize(
    "elements",
    [
        [service("Push", "MESSAGE"), service("OldPush", "MESSAGE")],
        [component("uses-library", "a"), component("uses-library", "b")],
        [component("meta-data", "key", **{VALUE: f"text:{value}"}) for value in "12"],
        [
            MAIN,
            component(
                "activity-alias", "Alias", targetActivity="text:com.example.app.Main"
            ),
        ],
    ],
    ids=["services", "libraries", "metadata", "alias"],
)
def test_elements_of_the_application_in_another_order_are_a_change(
    elements: list[Element],
) -> None:
    app = {"base": manifest(*elements)}
    assert of_base(manifest(*elements), app) == SAME
    changes, _, _ = of_base(manifest(*reversed(elements)), app)
    assert changes == ("application: its elements are in another order",)


def test_elements_beside_the_application_in_another_order_are_a_change() -> None:
    beside = [component("uses-permission", name) for name in "ab"]
    app = {"base": with_children(manifest(MAIN), *beside)}
    assert of_base(with_children(manifest(MAIN), *beside), app) == SAME
    changes, _, _ = of_base(with_children(manifest(MAIN), *reversed(beside)), app)
    assert changes == ("manifest: its elements are in another order",)


def test_a_text_without_the_one_beside_it_is_a_change() -> None:
    """An app that asks for the attribute gets nothing then."""
    app = {"base": manifest(MAIN, **{"0x0101021c": "text:1.0"})}
    changes, _, _ = of_base(manifest(MAIN, **{"0x0101021c": "alone text:1.0"}), app)
    assert changes == (
        "manifest: versionName was `1.0`, is `1.0` without the text that belongs beside it",
    )


def test_what_bundletool_adds_may_be_anywhere() -> None:
    required = metadata(SPLITS_REQUIRED, "12:00000001")
    served = manifest(
        MAIN, required, component("activity", "com.example.app.Paid"), PAID_ALIAS
    )
    assert of_base(with_children(served, uses_sdk(19))) == SAME


# Instant apps

INSTANT_ROOT = {SANDBOX: "10:00000002"}


def test_an_instant_app_loses_the_components_of_other_modules() -> None:
    served = with_children(manifest(MAIN, **INSTANT_ROOT), INSTANT, uses_sdk(21))
    assert of_base(served, INSTANT_APP) == SAME


@pytest.mark.parametrize(
    ("app", "root"),
    [
        (APP, served_base(**INSTANT_ROOT)),
        (INSTANT_APP, with_children(served_base(**{SANDBOX: "10:00000001"}), INSTANT)),
        (APP, with_children(manifest(MAIN), uses_sdk(19))),
        (
            INSTANT_APP,
            with_children(manifest(PAID, **INSTANT_ROOT), INSTANT, uses_sdk(21)),
        ),
    ],
    ids=["no-instant-module", "another-version", "not-instant", "its-own-component"],
)
def test_nothing_else_is_explained_by_an_instant_app(
    app: dict[str, Element], root: Element
) -> None:
    assert of_base(root, app) != SAME


def test_an_instant_app_keeps_the_components_of_its_modules() -> None:
    app = {**INSTANT_APP, "paid": with_children(manifest(split="text:paid"), INSTANT)}
    lacking = with_children(manifest(MAIN, **INSTANT_ROOT), INSTANT, uses_sdk(21))
    assert of_base(lacking, app) != SAME


# API levels


def test_a_higher_minimum_that_bundletool_does_not_write_is_unverified() -> None:
    raised = with_children(manifest(MAIN, PAID, PAID_ALIAS), uses_sdk(25))
    assert of_base(raised) == ((), (), ("uses-sdk: a higher minSdkVersion",))


@pytest.mark.parametrize(
    "sdk",
    [
        uses_sdk(25, Element("extension-sdk", {MIN_SDK: "10:00000063"})),
        uses_sdk(25, **{"0x01010270": "10:00000010"}),
        uses_sdk(18),
    ],
    ids=["extension", "target", "lower"],
)
def test_nothing_else_of_the_api_levels_changes(sdk: Element) -> None:
    assert of_base(with_children(manifest(MAIN, PAID, PAID_ALIAS), sdk)) != SAME


# What is written for splits


@pytest.mark.parametrize(
    "served",
    [
        served_base(
            **{SPLIT_TYPES: "text:", "0x0101064e": "text:base__abi,paid__module"}
        ),
        served_base(metadata(SPLITS_LIST, "01:7f060000", RESOURCE)),
        served_base(metadata(SPLITS_REQUIRED, "12:00000001")),
    ],
    ids=["types", "list", "required"],
)
def test_what_bundletool_writes_for_splits_is_no_change(served: Element) -> None:
    assert of_base(served) == SAME


@pytest.mark.parametrize(
    "served",
    [
        served_base(**{SPLIT_TYPES: "text:other__abi"}),
        served_base(**{SPLIT_TYPES: "text:base__everything"}),
        served_base(**{"0x0101055b": "12:00000001"}),
        served_base(split="text:paid"),
        served_base(metadata(SPLITS_LIST, "01:7f060001", RESOURCE)),
        served_base(metadata(SPLITS_LIST, "text:payload")),
        served_base(metadata(SPLITS_REQUIRED, "text:payload")),
        served_base(*[metadata(SPLITS_REQUIRED, "12:00000001")] * 2),
        served_base(metadata("com.android.stamp.source", "text:not a URL")),
        served_base(metadata("com.android.stamp.type", "text:OTHER")),
        served_base(metadata("com.android.vending.derived.apk.id", "text:payload")),
        served_base(metadata(FUSED_MODULES, "text:base,other")),
    ],
    ids=[
        "module",
        "label",
        "feature",
        "split",
        "another-list",
        "no-list",
        "required",
        "twice",
        "source",
        "type",
        "number",
        "modules",
    ],
)
def test_other_values_are_a_change(served: Element) -> None:
    assert of_base(served) != SAME


@pytest.mark.parametrize(
    ("value", "is_same"),
    [("01:7f060001", True), ("01:7f060000", False), ("01:7f020000", False)],
)
def test_the_locales_are_those_of_the_list_that_was_made(
    value: str, is_same: bool
) -> None:
    served = served_base()
    served.children[-1].attributes[LOCALE_CONFIG] = value
    assert (of_base(served) == SAME) == is_same


# Configurations


def configuration(*beside: Element, **attributes: str) -> Element:
    own = {"split": "text:config.de", SPLIT_TYPES: "text:"}
    root = manifest(**{**own, **attributes})
    root.children[0].attributes["0x0101000c"] = "12:00000000"
    return with_children(root, *beside)


@pytest.mark.parametrize(
    ("module", "split"),
    [
        ("base", "paid"),
        ("base", "config."),
        ("base", "paid.config.de"),
        ("paid", "config.de"),
    ],
)
def test_a_configuration_has_the_name_of_one(module: str, split: str) -> None:
    owner = "" if module == "base" else module
    served = configuration(split=f"text:{split}", configForSplit=f"text:{owner}")
    role = Role("configuration", split, module, app=APP, bundletool=NOW)
    changes, _, _ = differences(compare_configuration(served, role))
    assert changes == (f"no configuration is called {split}",)


def test_a_configuration_of_a_feature_says_of_which() -> None:
    role = Role("configuration", "paid.config.de", "paid", app=APP, bundletool=NOW)
    served = configuration(split="text:paid.config.de", configForSplit="text:paid")
    assert differences(compare_configuration(served, role)) == SAME
    del served.attributes["configForSplit"]
    changes, _, _ = differences(compare_configuration(served, role))
    assert changes == ("manifest: configForSplit is missing",)


@pytest.mark.parametrize(
    ("mark", "changes"),
    [
        ({"0x0101055b": "12:00000001"}, ()),
        ({}, ("manifest: isFeatureSplit is missing",)),
    ],
    ids=["marked", "not-marked"],
)
def test_a_feature_says_that_it_is_one(
    mark: dict[str, str], changes: tuple[str, ...]
) -> None:
    """Android takes a split without that mark for a configuration."""
    role = Role("feature", "paid", "paid", ("paid",), app=APP, bundletool=NOW)
    found = compare_module(manifest(split="text:paid", **mark), role, has_code=True)
    assert found.changes == changes


def test_a_configuration_declares_nothing() -> None:
    assert of_configuration(configuration()) == SAME
    instant = configuration(uses_sdk(21), **INSTANT_ROOT)
    assert of_configuration(instant, INSTANT_APP) == SAME


@pytest.mark.parametrize(
    "served",
    [
        configuration(uses_sdk(99)),
        configuration(uses_sdk(21)),
        configuration(component("uses-split", "nosuch")),
        configuration(**INSTANT_ROOT),
        configuration(configForSplit="text:paid"),
        configuration(**{"0x0101021c": "text:payload"}),
    ],
    ids=["sdk", "not-instant", "uses-split", "sandbox", "owner", "version-name"],
)
def test_whatever_a_configuration_declares_is_a_change(served: Element) -> None:
    assert of_configuration(served) != SAME


# Merged modules


def activity(name: str, *children: Element) -> Element:
    return Element("activity", {NAME: f"text:{name}"}, list(children))


LAUNCHER = activity("Main", action("MAIN"))
FEATURES = {
    "a": manifest(activity("Main", action("A")), activity("Extra"), split="text:a"),
    "b": manifest(component("service", "B"), split="text:b"),
}
MERGED_APP = {"base": manifest(LAUNCHER), **FEATURES}
BOTH = activity("Main", action("A"), action("MAIN"))
ALL = metadata(FUSED_MODULES, "text:a,b,base")


def of_whole(*components: Element) -> object:
    """What differs in the manifest of an APK of all modules."""
    role = Role(
        "standalone",
        modules=("base", "a", "b"),
        app=MERGED_APP,
        bundletool=NOW,
        lists={},
    )
    return differences(compare_module(manifest(*components, ALL), role, has_code=True))


def test_a_merged_component_has_the_filters_of_all_modules() -> None:
    assert of_whole(BOTH, activity("Extra"), component("service", "B")) == SAME


@pytest.mark.parametrize(
    "components",
    [
        [LAUNCHER, activity("Extra"), component("service", "B")],
        [activity("Main"), activity("Extra"), component("service", "B")],
        [BOTH, component("service", "B")],
        [BOTH, BOTH, activity("Extra"), component("service", "B")],
        [BOTH, component("service", "B"), activity("Extra")],
        [
            BOTH,
            activity("Extra"),
            component("service", "B"),
            metadata(SPLITS_REQUIRED, "12:1"),
        ],
    ],
    ids=["filter", "filters", "component", "twice", "order", "splits"],
)
def test_anything_else_is_a_change(components: list[Element]) -> None:
    assert of_whole(*components) != SAME


@pytest.mark.parametrize(
    ("version", "children"),
    [
        ((1, 8, 0), [BOTH, activity("Extra"), component("service", "B")]),
        ((1, 7, 9), [activity("Main", action("A")), activity("Extra")]),
        ((0, 13, 3), [LAUNCHER]),
    ],
    ids=["components", "activities", "base-alone"],
)
def test_it_depends_on_the_version_of_bundletool_how_modules_are_merged(
    version: tuple[int, int, int], children: list[Element]
) -> None:
    first, *_ = merge_applications(MERGED_APP["base"], FEATURES, version)
    assert first.children == children


def delivered(*children: str, removable: bool = False) -> Element:
    """A module that is delivered like this."""
    ways = [Element(f"{DISTRIBUTION}{child}") for child in children]
    if removable:
        ways[0].children.append(
            Element(f"{DISTRIBUTION}removable", {f"{DISTRIBUTION}value": "text:true"})
        )
    delivery = Element(f"{DISTRIBUTION}delivery", {}, ways)
    return Element("manifest", {}, [Element(f"{DISTRIBUTION}module", {}, [delivery])])


@pytest.mark.parametrize(
    ("module", "is_always"),
    [
        (delivered("install-time"), True),
        (delivered("on-demand"), False),
        (delivered("install-time", removable=True), False),
        (Element("manifest"), True),
        (
            Element(
                "manifest",
                {},
                [
                    Element(
                        f"{DISTRIBUTION}module",
                        {f"{DISTRIBUTION}onDemand": "text:true"},
                    )
                ],
            ),
            False,
        ),
    ],
    ids=["install-time", "on-demand", "removable", "nothing", "legacy"],
)
def test_which_modules_are_always_installed(module: Element, is_always: bool) -> None:
    assert is_always_installed(module) == is_always
