"""Recognises the lists of languages that are made for APKs, and checks their form strictly: Google
Play writes nothing else into these files.

Reference: SplitsProtoXmlBuilder, SplitsXmlInjector, SuffixManager and LocaleConfigXmlInjector in
bundletool (github.com/google/bundletool).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from uploader.files.android.compiled_xml import Element
from uploader.files.android.manifest_merge import NAME

SPLITS_PATH = re.compile(r"res/xml/splits\d{1,4}\.xml")
LOCALES_PATH = "res/xml/locales_config.xml"
_LANGUAGE = re.compile(r"[a-z]{2,8}")
# BCP 47, as aapt2 writes it
_LOCALE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}")


def is_list_of_splits(root: Element, modules: Collection[str]) -> bool:
    """Return whether a document says which split of these modules has which language.

    It is `<splits>` with a `<module name="">` for each module, the base without a name, and in each
    `<language>` with an `<entry key="de" split="config.de"/>` for each language.
    """
    if not _is_plain(root, "splits", set()):
        return False
    names = set()
    for module in root.children:
        name = _text(module, "name")
        is_known = name == "" or (name in modules and name != "base")
        if not is_known or not _is_plain(module, "module", {"name"}) or name in names:
            return False
        names.add(name)
        if len(module.children) != 1 or not _has_languages(module.children[0], name):
            return False
    return True


def _has_languages(element: Element, module: str) -> bool:
    """Return whether an element lists languages, each once and with a split of this module."""
    if not _is_plain(element, "language", set()):
        return False
    languages = set()
    for entry in element.children:
        language = _text(entry, "key")
        split = _text(entry, "split")
        if not _is_plain(entry, "entry", {"key", "split"}) or entry.children:
            return False
        if not _LANGUAGE.fullmatch(language) or language in languages:
            return False
        languages.add(language)
        # What the main split has itself is listed with its name.
        own = f"{module}.config.{language}".lstrip(".")
        if split != module and not re.fullmatch(
            rf"{re.escape(own)}(_\d{{1,4}})?", split
        ):
            return False
    return True


def is_list_of_locales(root: Element) -> bool:
    """Return whether a document lists locales: `<locale-config>` with a `<locale>` for each."""
    if not _is_plain(root, "locale-config", set()):
        return False
    locales = set()
    for child in root.children:
        locale = _text(child, NAME)
        if not _is_plain(child, "locale", {NAME}) or child.children:
            return False
        if not _LOCALE.fullmatch(locale) or locale in locales:
            return False
        locales.add(locale)
    return True


def _is_plain(element: Element, name: str, attributes: Collection[str]) -> bool:
    """Return whether an element has this name, exactly these attributes, and no text."""
    has_attributes = set(element.attributes) == set(attributes)
    return element.name == name and has_attributes and not element.text


def _text(element: Element, attribute: str) -> str:
    """Return an attribute's text; a value of another kind, with its type before it."""
    value = element.attributes.get(attribute, "")
    return value.removeprefix("text:")
