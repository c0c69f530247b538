"""Release notes that stand in an input: one text for the app's own language, or texts by language as YAML or JSON.

A text whose first line begins like `en-US:` is such a map and must be a whole one, so that no half of it is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from uploader.errors import InputError, Problem
from uploader.files.android.languages import ACCEPTED, LANGUAGES, is_language_name, suggestion
from uploader.files.android.localized_folder import objection, oddity
from uploader.files.android.play_limits import MAX_RELEASE_NOTES
from uploader.files.workspace import printable
from uploader.input_problems import Problems

DEFAULT_LANGUAGE = ""  # the app's own, which only Play knows
_INPUT = "whats-new"
_ACCEPTED = 'a text, or YAML such as `en-US: "Fixed: no more crashes"` with a line for each language'
_FIRST_KEY = re.compile(r"\{?\s*([\"']?)([a-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3})\1\s*:(?:\s|$)")


def inline_notes(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Texts by language, and warnings; a text without a language is under DEFAULT_LANGUAGE.

    Raises InputError (`whats-new`).
    """
    problems = Problems()
    notes: dict[str, str] = {}
    for language, value in _by_language(text) if _is_map(text) else [(DEFAULT_LANGUAGE, text)]:
        _check(language, value, problems)
        if language in notes:
            problems.add(_INPUT, f"it has two texts for `{language}`; keep one.")
        notes[language] = value
    problems.raise_if_any()
    return {language: value for language, value in notes.items() if value}, tuple(problems.warnings)


def _is_map(text: str) -> bool:
    found = _FIRST_KEY.match(text)
    return found is not None and ("-" in found[2] or found[2] in LANGUAGES or bool(suggestion(found[2])))


def _by_language(text: str) -> Iterator[tuple[str, str]]:
    import yaml  # 20 ms that a run without notes by language does without

    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        what = "it begins like a map of languages but is not valid YAML: a text with `: ` in it needs quotes, or `|`."
        raise InputError(Problem(_INPUT, what, _ACCEPTED)) from None
    for key, value in root.value if isinstance(root, yaml.MappingNode) else [(None, None)]:
        if not (isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode) and key.value):
            raise InputError(Problem(_INPUT, "it is not a map from languages to texts.", _ACCEPTED))
        yield key.value, value.value.strip()


def _check(language: str, text: str, problems: Problems) -> None:
    name = f"the text for `{printable(language)}`" if language else "the text"
    if language and not is_language_name(language):
        what = f"`{printable(language)}` is not a language.{suggestion(language)}"
        problems.add(_INPUT, what, ACCEPTED)
    elif language and language not in LANGUAGES:
        problems.warn(f"{_INPUT}: `{language}` is not in Google's list of languages.{suggestion(language)}")
    if wrong := objection(text, MAX_RELEASE_NOTES):
        problems.add(_INPUT, f"{name} {wrong}")
    elif odd := oddity(text, MAX_RELEASE_NOTES):
        problems.warn(f"{_INPUT}: {name} {odd}")
    elif not text:
        problems.warn(f"{_INPUT}: {name} is empty: no notes.")
