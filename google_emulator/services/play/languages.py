"""The languages of Google Play, as support.google.com/googleplay/android-developer/answer/9844778 lists them."""

from __future__ import annotations

from google_emulator.http.errors import ApiError

_CODES = (
    "af sq am ar hy-AM az-AZ bn-BD eu-ES be bg my-MM ca zh-HK zh-CN zh-TW hr cs-CZ da-DK nl-NL en-AU en-CA en-GB en-IN "
    "en-SG en-US en-ZA et fil fi-FI fr-CA fr-FR gl-ES ka-GE de-DE el-GR gu iw-IL hi-IN hu-HU is-IS id it-IT ja-JP "
    "kn-IN kk km-KH ko-KR ky-KG lo-LA lv lt mk-MK ms ms-MY ml-IN mr-IN mn-MN ne-NP no-NO fa fa-AE fa-AF fa-IR pl-PL "
    "pt-BR pt-PT pa ro rm ru-RU sr si-LK sk sl es-419 es-ES es-US sw sv-SE ta-IN te-IN th tr-TR uk ur vi zu"
)
LANGUAGES = frozenset(_CODES.split())


def check_language(language: str) -> None:
    """Refuses (400) any other, in Google's words (element-hq/element-android#6793)."""
    if language not in LANGUAGES:
        raise ApiError(400, f"The requested language is not currently supported: {language}")
