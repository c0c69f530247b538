"""The languages that Play knows, and how their names are most often misspelt."""

from __future__ import annotations

import re

ACCEPTED = "en-US, de-DE, es-419, fil"
_NAME = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")

# Play Console Help, table 4419860; the list grows, so that a language outside it is a warning and not an error.
_PLAY = """
af am ar az-AZ be bg bn-BD ca cs-CZ da-DK de-DE el-GR en-AU en-CA en-GB en-IN en-SG en-US en-ZA es-419 es-ES es-US et
eu-ES fa fa-AE fa-AF fa-IR fi-FI fil fr-CA fr-FR gl-ES gu hi-IN hr hu-HU hy-AM id is-IS it-IT iw-IL ja-JP ka-GE kk
km-KH kn-IN ko-KR ky-KG lo-LA lt lv mk-MK ml-IN mn-MN mr-IN ms ms-MY my-MM ne-NP nl-NL no-NO pa pl-PL pt-BR pt-PT rm ro
ru-RU si-LK sk sl sq sr sv-SE sw ta-IN te-IN th tr-TR uk ur vi zh-CN zh-HK zh-TW zu
"""
LANGUAGES = frozenset(_PLAY.split())
# Names that are right elsewhere (BCP 47, or Java's) and that Google spells in another way.
_ALIASES = {"he": "iw-IL", "he-IL": "iw-IL", "nb": "no-NO", "nb-NO": "no-NO", "in": "id", "tl": "fil", "zh": "zh-CN"}


def is_language_name(name: str) -> bool:
    """Whether the name has the form of a language, known to Play or not."""
    return _NAME.fullmatch(name) is not None


def suggestion(name: str) -> str:
    """A question that names the likeliest languages, after a space; empty when none comes near."""
    spelled = name.replace("_", "-").lower()
    exact = [known for known in LANGUAGES if known.lower() == spelled]
    family = sorted(known for known in LANGUAGES if known.partition("-")[0] == spelled.partition("-")[0])
    known = exact or [other for alias, other in _ALIASES.items() if alias.lower() == spelled] or family
    return f" Did you mean {' or '.join(known[:3])}?" if known else ""
