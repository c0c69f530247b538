"""The languages and the countries of Google Play.

Languages: support.google.com/googleplay/android-developer/answer/9844778. Countries: two-letter
codes of CLDR, as the documents require; only the Play Console shows which of them Play serves.
"""

from __future__ import annotations

from google_emulator.http.response import ApiError, invalid_argument

LANGUAGES = frozenset(
    """
    af sq am ar hy-AM az-AZ bn-BD eu-ES be bg my-MM ca zh-HK zh-CN zh-TW hr cs-CZ da-DK nl-NL en-AU
    en-CA en-GB en-IN en-SG en-US en-ZA et fil fi-FI fr-CA fr-FR gl-ES ka-GE de-DE el-GR gu iw-IL
    hi-IN hu-HU is-IS id it-IT ja-JP kn-IN kk km-KH ko-KR ky-KG lo-LA lv lt mk-MK ms ms-MY ml-IN
    mr-IN mn-MN ne-NP no-NO fa fa-AE fa-AF fa-IR pl-PL pt-BR pt-PT pa ro rm ru-RU sr si-LK sk sl
    es-419 es-ES es-US sw sv-SE ta-IN te-IN th tr-TR uk ur vi zu
""".split()  # noqa: SIM905 - a list of so many would have as many lines
)
COUNTRIES = frozenset(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS
    BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE
    EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM
    HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC
    LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
    NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
    SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
    TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
""".split()  # noqa: SIM905 - as above, one line would be many
)


def check_language(language: str) -> str:
    """Return the language. Raises `ApiError` 400 for one that Google Play does not have, in
    Google's words (element-hq/element-android#6793).
    """
    if language not in LANGUAGES:
        raise ApiError(
            400, f"The requested language is not currently supported: {language}"
        )
    return language


def check_countries(countries: list[str]) -> None:
    """Raise `ApiError` 400 for the first invalid country code. No public page has Google's
    words.
    """
    for country in countries:
        if country not in COUNTRIES:
            raise invalid_argument(
                f"Invalid country code: {country!r}; a two-letter CLDR code is expected."
            )
