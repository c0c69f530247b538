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
        if not _is_plain(module, "module", {"name"}):
            return False
        name = _text(module, "name")
        if name == "base" or name in names:
            return False
        if name and name not in modules:
            return False
        names.add(name)
        if len(module.children) != 1:
            return False
        languages = module.children[0]
        if not _has_languages(languages, name):
            return False
    return True


def _has_languages(element: Element, module: str) -> bool:
    """Return whether an element lists languages, each once and with a split of this module."""
    if not _is_plain(element, "language", set()):
        return False
    languages = set()
    for entry in element.children:
        if not _is_leaf(entry, "entry", {"key", "split"}):
            return False
        language = _text(entry, "key")
        if language in languages:
            return False
        if not _LANGUAGE.fullmatch(language):
            return False
        languages.add(language)
        split = _text(entry, "split")
        # What the main split has itself is listed with its name.
        if split == module:
            continue
        name = f"{module}.config.{language}".lstrip(".")
        pattern = rf"{re.escape(name)}(_\d{{1,4}})?"
        if not re.fullmatch(pattern, split):
            return False
    return True


def is_list_of_locales(root: Element) -> bool:
    """Return whether a document lists locales: `<locale-config>` with a `<locale>` for each."""
    if not _is_plain(root, "locale-config", set()):
        return False
    locales = set()
    for child in root.children:
        if not _is_leaf(child, "locale", {NAME}):
            return False
        locale = _text(child, NAME)
        if locale in locales:
            return False
        if not _LOCALE.fullmatch(locale):
            return False
        locales.add(locale)
    return True


def _is_leaf(element: Element, name: str, attributes: set[str]) -> bool:
    """Return whether an element is plain and has no children."""
    if element.children:
        return False
    return _is_plain(element, name, attributes)


def _is_plain(element: Element, name: str, attributes: set[str]) -> bool:
    """Return whether an element has this name, exactly these attributes, and no text."""
    if element.name != name or element.text:
        return False
    return element.attributes.keys() == attributes


def _text(element: Element, attribute: str) -> str:
    """Return an attribute's text; a value of another kind, with its type before it."""
    value = element.attributes.get(attribute, "")
    return value.removeprefix("text:")
