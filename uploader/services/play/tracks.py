"""What the tracks of an edit hold, read and told: one release after the other, by its fields and in
words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from uploader.errors import ApiError, ProtocolError, ReleaseRefused, TemporaryError
from uploader.services.play.client import Edit, is_there_already
from uploader.services.play.known_errors import EDIT_GONE, NO_SUCH_TRACK, find
from uploader.services.play.model import Release, Releases, TrackName
from uploader.text import first_line

if TYPE_CHECKING:
    from uploader.services.play.edit_lifecycle import ReleaseEdit

STANDARD = ("production", "beta", "alpha", "internal")
INTERNAL = "internal"
QA = "qa"  # the internal track of a form factor
_IN_THE_CONSOLE = {
    "internal testing": "internal",
    "closed testing": "alpha",
    "open testing": "beta",
    # In the other languages of the Play Console in which people have written them.
    **dict.fromkeys(("interner test", "interne tests", "test interne", "tests internes"), INTERNAL),
    **dict.fromkeys(("prueba interna", "teste interno", "test interno"), INTERNAL),
    **dict.fromkeys(("内部テスト", "内部测试"), INTERNAL),
    **dict.fromkeys(("geschlossener test", "geschlossene tests", "test fermé"), "alpha"),
    **dict.fromkeys(("prueba cerrada", "teste fechado", "test chiuso"), "alpha"),
    **dict.fromkeys(("クローズド テスト", "封闭式测试"), "alpha"),
    **dict.fromkeys(("offener test", "offene tests", "test ouvert", "tests ouverts"), "beta"),
    **dict.fromkeys(("prueba abierta", "teste aberto", "test aperto"), "beta"),
    **dict.fromkeys(("オープン テスト", "开放式测试"), "beta"),
    **dict.fromkeys(("produktion", "producción", "produção", "produzione"), "production"),
    **dict.fromkeys(("製品版", "正式版"), "production"),
}
# `Closed testing - Alpha`: the Play Console's heading above a track, and the track's own name
_HEADING = re.compile(
    rf"(?:{'|'.join(map(re.escape, _IN_THE_CONSOLE))})\s*[-\u2013\u2014:/]\s*(?=\S)"
)


@dataclass(frozen=True)
class FormFactor:
    """Devices that have tracks of their own.

    `prefix` is that of their tracks, `feature` the one by which a manifest asks for such devices,
    `devices` their name in a sentence, and `names` what people write instead of the prefix, without
    blanks and hyphens. `config` is the value of TrackConfig.formFactor with which their closed
    tracks are created, empty where the API creates none.
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
        ("automotive", "automotiveos", "androidautomotive", "androidauto", "car", "cars"),
        "AUTOMOTIVE",
    ),
)
FORM_FACTORS: Mapping[str, FormFactor] = {form.prefix: form for form in _FORM_FACTORS}
"""By the prefix of their tracks. The tracks of phones have none."""
_FORM_TRACKS = ("production", "beta", "alpha", QA)
_HOW_TO_CREATE = ": in the Play Console, or with `create-tracks: true`"
_MIN_CUT = 3  # characters of a standard track's name that tell which one is meant: `prod`, `int`


def is_standard(track: str) -> bool:
    """Whether every app has the track, or every app for its form factor."""
    name = TrackName(track)
    return name.base in STANDARD or (bool(name.form_factor) and name.base == QA)


def user_fraction(release: Release) -> str:
    """The share of users of a staged release, as the input `user-fraction` takes it; empty where it
    has none.
    """
    if release.user_fraction is None:
        return ""
    return f"{release.user_fraction:.15g}"


def share(release: Release) -> str:
    """How many users a staged release is for: `10 %`; empty where it says nothing."""
    if release.user_fraction is None:
        return ""
    return f"{release.user_fraction * 100:g} %"


def in_words(release: Release) -> str:
    """Whom a release reaches, and its status: `10 % of users, in progress`."""
    status: str = release.status or "of unknown status"
    if release.status == "inProgress":
        status = "in progress"
    if share(release):
        return f"{share(release)} of users, {status}"
    if release.status == "completed":
        return f"all users, {status}"
    return status


def named(release: Release, name: str = "") -> str:
    """A release by its name, or else `name`, and its version codes: `1.4.2 (42)`; `42` where it has
    no name.
    """
    versions = "+".join(release.version_codes) or "no version"
    name = release.name or name
    if name.startswith(f"{versions} ("):
        name = name.removeprefix(f"{versions} (").removesuffix(")")
    if not name or name == versions:
        return versions
    return f"{first_line(name)} ({versions})"


def describe(release: Release) -> str:
    """A release for people: `1.4.2 (42), 10 % of users, in progress`; without a name `42 (10 % of
    users, …)`.
    """
    what = named(release)
    if what.endswith(")"):
        return f"{what}, {in_words(release)}"
    return f"{what} ({in_words(release)})"


def describe_all(live: Iterable[Release]) -> str:
    """All releases of a track in one line."""
    return "; ".join(map(describe, live)) or "empty"


def current_releases(edit: ReleaseEdit, track: str) -> Releases:
    """The releases on a track; one that was never used may be answered with 404, and is empty.

    An edit is asked once: before a shared one is written to, what was seen of it is forgotten, as
    others work in it.
    """
    if track in edit.seen:
        return edit.seen[track]
    try:
        releases = edit.api.track(track)
        missing = False
    except ApiError as refused:
        if refused.status != 404 or find(refused) not in NO_SUCH_TRACK:
            raise
        releases = ()
        missing = refused.reason != "trackEmpty"
    if not releases:
        _check_name(edit, track, missing=missing)
    edit.seen[track] = releases
    return releases


def all_tracks(edit: Edit) -> dict[str, Releases]:
    """All tracks of the edit with their releases; none where the list is not to be had, as each can
    be asked alone.
    """
    try:
        return {track.name: track.releases for track in edit.tracks()}
    except ApiError as refused:
        if find(refused) is EDIT_GONE:
            raise
    except (ProtocolError, TemporaryError):
        pass
    return {}


def _check_name(edit: ReleaseEdit, track: str, *, missing: bool) -> None:
    """A track that Play does not list is none if Play says so, or if its name is almost another's.

    A standard track may be answered with 404 until it is used; whether a form factor has it is told
    when it is written.
    """
    of_devices = with_form_factor(track)
    if is_standard(track) and of_devices in ("", track):
        return
    known = dict.fromkeys((*STANDARD, *(edit.seen or all_tracks(edit.api))))
    if track in known:
        return
    if edit.job.create_tracks and track in (*edit.job.tracks, *edit.job.tester_tracks):
        _plan_creation(edit, track, known)
        return
    form = form_factor(track)
    if form:
        tracks = ", ".join(f"`{form}:{name}`" for name in _FORM_TRACKS)
        raise ReleaseRefused(
            f"The app has no track {track}.",
            cause="Tracks of watches, TVs and cars have a prefix: `wear:production`, "
            "`tv:production`, `automotive:production`.",
            hint=f"Write {tracks} ({form}:{QA} is "
            f"for internal tests), or create the closed track {track}{_HOW_TO_CREATE}.",
            code="track-not-found",
        )
    other = meant(track, known)
    if not other and not missing:
        return
    instead = f"Write `{other}`" if other else "Correct the name"
    raise ReleaseRefused(
        f"The app has no track {track}.",
        cause=_likely_cause(track, other, known),
        hint=f"{instead}, or create the closed track {track}{_HOW_TO_CREATE}.",
        code="track-not-found",
    )


def _likely_cause(track: str, other: str, known: Iterable[str]) -> str:
    """Return why there is no such track, where `other` is the one that was meant, if any."""
    if not other:
        cause = f"Google Play lists {', '.join(known)}"
        similar = _in_the_console(track)
        if similar:
            heading, name = similar
            cause += f"; {heading} is `{name}`"
        return f"{cause}."
    if ":" in other and ":" not in track:
        return "The prefix of a form factor ends in a colon."
    written = track.lower()
    if written in _IN_THE_CONSOLE or _HEADING.match(written):
        return f"It is probably the Play Console's name of {other}."
    return f"It is probably a misspelling of {other}."


def _in_the_console(track: str) -> tuple[str, str] | None:
    """Return the Play Console's name that a track's name resembles (`open-testing`), and the track
    of that name in the API.
    """
    heading = re.sub(r"[\s_-]+", " ", track.lower())
    name = _IN_THE_CONSOLE.get(heading)
    if name is None:
        return None
    return heading, name


def form_factor(text: str) -> str:
    """Return the prefix of the tracks of the devices that a text names (`android-tv`); else
    empty.
    """
    name = re.sub(r"[\s_-]+", "", text.lower())
    for form in FORM_FACTORS.values():
        if name in form.names:
            return form.prefix
    return ""


def with_form_factor(track: str) -> str:
    """Return a track as Google writes it, `wear:production`, for what names the same track in that
    or another way: `wear/production`, `Android TV: prod`; else empty.
    """
    as_written = TrackName(track)
    if as_written.form_factor in FORM_FACTORS and as_written.base in (*STANDARD, QA):
        return track
    for separator in re.finditer(r"[:/\s._-]+", track):
        form = form_factor(track[: separator.start()])
        name = _form_track(track[separator.end() :].lower())
        if form and name:
            return f"{form}:{name}"
    return ""


def _form_track(text: str) -> str:
    """Return the track of a form factor that a text means behind the form factor; else empty."""
    name = _IN_THE_CONSOLE.get(text, text)
    if name == "internal":
        return QA
    for form_track in _FORM_TRACKS:
        if form_track == name or _is_cut(name, form_track):
            return form_track
    return ""


def only_in_the_emulator(tracks: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each track of a rehearsal that Google Play may not have."""
    for track in tracks:
        if TrackName(track).base in (*STANDARD, QA):
            continue
        also = ""
        similar = _in_the_console(track)
        if similar:
            heading, name = similar
            also = f" ({heading} is `{name}`)"
        yield (
            f"`{track}` is not one of Google's own tracks: the emulator has a track of every name, "
            f"Google Play only those that were created in the Play Console{also}."
        )


def _plan_creation(edit: ReleaseEdit, track: str, known: Collection[str]) -> None:
    """Note that a closed track is to be created; `known` are those that the app has.

    Raises ReleaseRefused where a track that every app has is probably meant, or where Google Play
    can't create it.
    """
    form = TrackName(track).form_factor
    base = TrackName(track).base
    other = with_form_factor(track)
    standard = meant(base, STANDARD)
    if standard and not other:
        other = TrackName(track).beside(standard).lower()
    if other:
        raise ReleaseRefused(
            f"The app has no track {track}, and this run does not create it.",
            cause=f"It is probably a misspelling of {other}.",
            hint=f"Write `{other}`, or create the closed track {track} in the Play Console.",
            code="track-not-created",
        )
    if not _config_form_factor(track):
        raise ReleaseRefused(
            f"The app has no track {track}, and this run does not create it.",
            cause="The Publishing API creates tracks only for phones, `wear:` and `automotive:`.",
            hint=f"Create the closed track {track} in the Play Console.",
            code="track-not-created",
        )
    names = map(TrackName, known)
    similar = meant(base, [name.base for name in names if name.form_factor == form])
    if similar and track not in edit.missing:
        other = TrackName(track).beside(similar)
        edit.context.warning(f"Track {track} is created, although the app has the track {other}.")
    edit.missing.add(track)


def _config_form_factor(track: str) -> str:
    """Return the TrackConfig.formFactor of a new track, empty where the API can't create it."""
    form = TrackName(track).form_factor
    if not form:
        return "DEFAULT"
    if form not in FORM_FACTORS:
        return ""
    return FORM_FACTORS[form].config


def create_missing(edit: ReleaseEdit) -> None:
    """Create the closed tracks that the edit does not have.

    One that is there by now was created by a request whose answer was lost, or by another job in a
    shared edit.
    """
    for track in sorted(edit.missing):
        purpose = edit.job.new_track_purpose(track)
        edit.changing(purpose)
        try:
            edit.api.create_track(track, _config_form_factor(track))
        except ApiError as refused:
            if not is_there_already(refused) and track not in all_tracks(edit.api):
                raise
        edit.changed(purpose, "created")
        edit.context.info(f"Created the closed track {track} in edit {edit.id}.")
    edit.missing.clear()


def meant(track: str, known: Iterable[str]) -> str:
    """The name that was probably meant, misspelt or cut short. Another number is another track, not
    a misspelling.
    """
    of_devices = with_form_factor(track)
    if of_devices:
        return of_devices if of_devices != track else ""
    candidates = [*known]
    form = TrackName(track).form_factor.lower()
    if form:
        candidates += [f"{form}:{name}" for name in _FORM_TRACKS]
    names = {}
    for name in candidates:
        if _digits(name) == _digits(track):
            names[name.lower()] = name
    written = track.lower()
    written = _HEADING.sub("", _IN_THE_CONSOLE.get(written, written))
    for name in get_close_matches(written, names, 1, 0.8):
        return names[name]
    for lower, name in names.items():
        if _is_cut(written, lower):
            return name
    return ""


def _digits(text: str) -> str:
    return re.sub(r"[^0-9]", "", text)


def _is_cut(written: str, name: str) -> bool:
    """Whether a text is the beginning of a track's name, long enough to tell it from others."""
    return name.startswith(written) and len(TrackName(written).base) >= _MIN_CUT
