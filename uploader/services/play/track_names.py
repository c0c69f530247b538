"""Know the names of tracks: those that every app has, those of form factors, and which track is
meant by another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from uploader.services.play.model import TrackName

STANDARD = ("production", "beta", "alpha", "internal")
INTERNAL = "internal"
QA = "qa"  # the internal track of a form factor
IN_THE_CONSOLE = {
    "internal testing": "internal",
    "closed testing": "alpha",
    "open testing": "beta",
    # In the other languages of the Play Console in which people have written them.
    **dict.fromkeys(
        ("interner test", "interne tests", "test interne", "tests internes"), INTERNAL
    ),
    **dict.fromkeys(("prueba interna", "teste interno", "test interno"), INTERNAL),
    **dict.fromkeys(("内部テスト", "内部测试"), INTERNAL),
    **dict.fromkeys(
        ("geschlossener test", "geschlossene tests", "test fermé"), "alpha"
    ),
    **dict.fromkeys(("prueba cerrada", "teste fechado", "test chiuso"), "alpha"),
    **dict.fromkeys(("クローズド テスト", "封闭式测试"), "alpha"),
    **dict.fromkeys(
        ("offener test", "offene tests", "test ouvert", "tests ouverts"), "beta"
    ),
    **dict.fromkeys(("prueba abierta", "teste aberto", "test aperto"), "beta"),
    **dict.fromkeys(("オープン テスト", "开放式测试"), "beta"),
    **dict.fromkeys(
        ("produktion", "producción", "produção", "produzione"), "production"
    ),
    **dict.fromkeys(("製品版", "正式版"), "production"),
}
# `Closed testing - Alpha`: the Play Console's heading above a track, and the track's own name
HEADING = re.compile(
    rf"(?:{'|'.join(map(re.escape, IN_THE_CONSOLE))})\s*[-\u2013\u2014:/]\s*(?=\S)"
)


@dataclass(frozen=True)
class FormFactor:
    """Devices that have tracks of their own.

    `prefix` is that of their tracks, `feature` the one with which a manifest asks for such devices,
    `devices` their name in a sentence. `names` are what people write instead of the prefix, without
    blanks and hyphens. `config` is the value of TrackConfig.formFactor with which their closed
    tracks are created, empty if the API can't create any.
    Source: developers.google.com/android-publisher/tracks#ff-track-name.
    """

    prefix: str
    feature: str
    devices: str
    names: tuple[str, ...]
    config: str = ""


_FORM_FACTORS = (
    FormFactor(
        "wear",
        "android.hardware.type.watch",
        "watches",
        ("wear", "wearos", "androidwear", "watch", "watches", "smartwatch"),
        "WEAR",
    ),
    FormFactor(
        "tv",
        "android.software.leanback",
        "televisions",
        ("tv", "tvs", "androidtv", "googletv", "television", "leanback"),
    ),
    FormFactor(
        "automotive",
        "android.hardware.type.automotive",
        "cars",
        (
            "automotive",
            "automotiveos",
            "androidautomotive",
            "androidauto",
            "car",
            "cars",
        ),
        "AUTOMOTIVE",
    ),
)
FORM_FACTORS: Mapping[str, FormFactor] = {form.prefix: form for form in _FORM_FACTORS}
"""The form factors by the prefix of their tracks. The tracks of phones have no prefix."""
FORM_TRACKS = ("production", "beta", "alpha", QA)
_MIN_CUT = 3  # characters of a standard track's name that show which one is meant: `prod`, `int`


def is_standard(track: str) -> bool:
    """Return whether every app, or every app for the form factor, has the track."""
    name = TrackName(track)
    if name.base in STANDARD:
        return True
    return bool(name.form_factor) and name.base == QA


def in_the_console(track: str) -> tuple[str, str] | None:
    """Return the Play Console's name that is meant by the name of a track (`open-testing`), and the
    API's name of that track; None if none is meant.
    """
    heading = re.sub(r"[\s_-]+", " ", track.lower())
    name = IN_THE_CONSOLE.get(heading)
    if name is None:
        return None
    return heading, name


def is_internal(track: str) -> bool:
    """Return whether a track is for internal tests, which need no review. That of a form factor is
    called `qa`.
    """
    name = TrackName(track)
    return name.base == "internal" or (name.base == QA and track != QA)


def form_factor(text: str) -> str:
    """Return the prefix of the tracks for the devices that a text names (`android-tv`); empty if it
    names none.
    """
    name = re.sub(r"[\s_-]+", "", text.lower())
    for form in FORM_FACTORS.values():
        if name in form.names:
            return form.prefix
    return ""


def with_form_factor(track: str) -> str:
    """Return the track of a form factor as Google writes it (`wear:production`), also if it is
    written in another way (`wear/production`, `Android TV: prod`); empty for any other track.
    """
    as_written = TrackName(track)
    if as_written.form_factor in FORM_FACTORS and as_written.base in (*STANDARD, QA):
        return track
    for separator in re.finditer(r"[:/\s._-]+", track):
        devices = track[: separator.start()]
        rest = track[separator.end() :]
        form = form_factor(devices)
        name = _form_track(rest.lower())
        if form and name:
            return f"{form}:{name}"
    return ""


def _form_track(text: str) -> str:
    """Return the track that is meant by the text after a form factor; empty if none is."""
    name = IN_THE_CONSOLE.get(text, text)
    if name == "internal":
        return QA
    for form_track in FORM_TRACKS:
        if form_track == name or _is_cut(name, form_track):
            return form_track
    return ""


def only_in_the_emulator(tracks: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each track of a rehearsal that Google Play may not have.

    There is no warning for a name that is almost a standard one, since the rehearsal refuses it.
    """
    for track in tracks:
        is_standard_name = TrackName(track).base in (*STANDARD, QA)
        if is_standard_name or form_factor(track) or guess_track(track, STANDARD):
            continue
        also = ""
        similar = in_the_console(track)
        if similar:
            heading, name = similar
            also = f" ({heading} is `{name}`)"
        yield (
            f"`{track}` is not one of Google's own tracks: the emulator has a track of every name, "
            f"Google Play only those that were created in the Play Console{also}."
        )


def config_form_factor(track: str) -> str:
    """Return the TrackConfig.formFactor of a new track; empty if the API can't create it."""
    form = TrackName(track).form_factor
    if not form:
        return "DEFAULT"
    if form not in FORM_FACTORS:
        return ""
    return FORM_FACTORS[form].config


def guess_track(track: str, known: Iterable[str]) -> str:
    """Return the track that was probably meant by a misspelt name or by its first letters; empty if
    there is none. A name with another number is that of another track, not a misspelling.
    """
    of_devices = with_form_factor(track)
    if of_devices == track:
        return ""
    if of_devices:
        return of_devices
    candidates = [*known]
    form = TrackName(track).form_factor.lower()
    if form:
        candidates += [f"{form}:{name}" for name in FORM_TRACKS]
    names = {}
    for name in candidates:
        if _digits(name) == _digits(track):
            names[name.lower()] = name
    written = track.lower()
    written = HEADING.sub("", IN_THE_CONSOLE.get(written, written))
    similar = get_close_matches(written, names, n=1, cutoff=0.8)
    if similar:
        return names[similar[0]]
    for lower, name in names.items():
        if _is_cut(written, lower):
            return name
    return ""


def _digits(text: str) -> str:
    return re.sub(r"[^0-9]", "", text)


def _is_cut(written: str, name: str) -> bool:
    """Return whether a text is the beginning of a track's name, long enough to identify it."""
    return name.startswith(written) and len(TrackName(written).base) >= _MIN_CUT
