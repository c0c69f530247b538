"""What the summary shows of a release: who gets which version, the notes, the store listing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from uploader.files.android.limits import IMAGE_RULES
from uploader.outputs.charts import shared_bar
from uploader.outputs.markdown import Escaper, details, table_row
from uploader.outputs.pictures import live_image
from uploader.outputs.word_diff import word_diff
from uploader.services.release_facts import (
    ChangedImages,
    ChangedText,
    ReleaseFacts,
    VersionShare,
)
from uploader.text import plural

MAX_LANGUAGES = 5  # the notes of more languages are folded together once more
MAX_PICTURES = 8  # of one place, before and after
# The shades of a bar's parts, by how many parts there are; for more there is no bar.
_SHADES = ("", "▓", "▓░", "▓▒░")
# The shade of a completed version beside a halted one, as it is beside a staged one.
_SHADE_OF_OTHERS = "░"
_HEIGHT = 40  # pixels of a thumbnail
# Pixels that the thumbnails of a place need to stand beside one another. Markdown can't set the
# width of a column, so its heading is made as wide.
_WIDTHS = {
    "icon": 120,
    "featureGraphic": 220,
    "tvBanner": 200,
}
_WIDTH = 260
_SPACE = 9  # pixels of two spaces in a heading, and of a letter
_KINDS = {
    "icon": "Icon",
    "featureGraphic": "Feature graphic",
    "phoneScreenshots": "Phone",
    "sevenInchScreenshots": "7-inch tablet",
    "tenInchScreenshots": "10-inch tablet",
    "tvBanner": "TV banner",
    "tvScreenshots": "TV",
    "wearScreenshots": "Watch",
}
_FIELDS = {
    "title": "title",
    "shortDescription": "short description",
    "fullDescription": "full description",
    "video": "video",
}


def shares(facts: ReleaseFacts, escaper: Escaper) -> str:
    """Return the share of users who are offered each version, or would be, with a bar for each
    track: `▓░░░░` ▓ 42 5 % · ░ 41 95 %.
    """
    when = ", now"
    if facts.planned:
        when = ", planned"
    elif facts.in_review:
        when = ", after the review"
    lines = []
    for track in facts.tracks:
        if track.shares:
            versions = _versions(track.shares, escaper)
            name = escaper.text(track.track)
            lines.append(f"**{name}{when}:** {versions}")
    return "\n\n".join(lines)


def _versions(offered: Sequence[VersionShare], escaper: Escaper) -> str:
    """Return the versions of a track: one bar, then each version with its share. Halted versions,
    which nobody is offered, come last.
    """
    served: list[float] = []  # the shares
    parts: list[str] = []
    halted: list[str] = []
    for offer in offered:
        version = escaper.text(offer.version)
        if offer.share:
            served.append(offer.share)
            percent = 100 * offer.share
            parts.append(f"{version} {percent:.4g}&#160;%")
        else:
            halted.append(
                f"{version} halted: who has it keeps it, and nobody else gets it"
            )
    count = len(served)
    if count == 0 or count >= len(_SHADES):
        return " · ".join(parts + halted)
    shades = _SHADES[count]
    if halted and count == 1:
        shades = _SHADE_OF_OTHERS
    for place, shade in enumerate(shades):
        part = parts[place]
        parts[place] = f"{shade} {part}"
    bar = shared_bar(served, shades)
    versions = " · ".join(parts + halted)
    return f"`{bar}` {versions}"


def notes(facts: ReleaseFacts, escaper: Escaper) -> str:
    """Return the release notes in full, folded by language. For changed notes, the words that
    change are marked.
    """
    folds = []
    languages = set()
    for note in facts.notes:
        languages.add(note.language)
        if note.before:
            what = "changed"
            body = word_diff(note.before, note.after, escaper)
        else:
            what = plural(len(note.after), "character")
            body = _lines(note.after, escaper)
        language = escaper.text(note.language)
        title = f"Release notes {language} ({what})"
        folds.append(details(title, body))
    together = "\n\n".join(folds)
    if len(folds) <= MAX_LANGUAGES:
        return together
    count = plural(len(languages), "language")
    return details(f"Release notes in {count}", together)


def _lines(outside: str, escaper: Escaper) -> str:
    """Return a text of several lines with its line breaks."""
    clean = escaper.redactor.clean(outside)
    lines = clean.splitlines()
    shown = [escaper.text(line, len(line)) for line in lines]
    return "<br>\n".join(shown)


def listing(
    facts: ReleaseFacts,
    pictures: Mapping[str, str],
    escaper: Escaper,
) -> str:
    """Return the changes of the store listing: a row for each language, a column for each kind of
    image that changes, and one for the texts. `pictures` has the addresses of committed images.
    """
    languages = {text.language for text in facts.texts}
    for image in facts.images:
        languages.add(image.language)
    if not languages:
        return ""
    kinds = _kinds(facts)
    header = ["Language"]
    header += [_heading(kind, pictures) for kind in kinds]
    if facts.texts:
        header.append("Texts")
    title = "### Store listing"
    if facts.planned:
        title += ", planned"
    rule = ["---"] * len(header)
    lines = [
        title,
        "",
        table_row(header),
        table_row(rule),
    ]
    for language in sorted(languages):
        cells = [escaper.text(language)]
        for kind in kinds:
            images = _images(facts, language, kind, pictures)
            cells.append(images)
        if facts.texts:
            texts = _texts(facts, language, escaper)
            cells.append(texts)
        lines.append(table_row(cells))
    return "\n".join(lines)


def _kinds(facts: ReleaseFacts) -> list[str]:
    """Return the kinds of images that change, in the order of the Play Console."""
    changed = {image.kind for image in facts.images}
    return [kind for kind in IMAGE_RULES if kind in changed]


def _texts(facts: ReleaseFacts, language: str, escaper: Escaper) -> str:
    """Return the texts of one language that change, in the order of the Play Console; unknown
    fields come last.
    """
    fields = list(_FIELDS)

    def position(text: ChangedText) -> int:
        if text.field in fields:
            return fields.index(text.field)
        return len(fields)

    texts = [text for text in facts.texts if text.language == language]
    texts.sort(key=position)
    shown = [_text(text, escaper) for text in texts]
    return "<br>".join(shown)


def _heading(kind: str, pictures: Mapping[str, str]) -> str:
    """Return the heading of a kind of images, as wide as the thumbnails if there are any."""
    name = _KINDS.get(kind, kind)
    if not pictures:
        return name
    width = _WIDTHS.get(kind, _WIDTH)
    missing = width - _SPACE * len(name)
    on_each_side = max(missing // _SPACE, 0)
    space = "&#160;" * on_each_side
    unbroken_name = name.replace(" ", "&#160;")
    return f"{space}{unbroken_name}{space}"


def _text(changed: ChangedText, escaper: Escaper) -> str:
    """Return one text: marked with `+` if it is new, else with the words that change."""
    field = _FIELDS.get(changed.field, changed.field)
    if not changed.before:
        added = escaper.text(changed.after)
        return f"+ {field}: {added}"
    words = word_diff(changed.before, changed.after, escaper)
    return f"~ {field}: {words}"


def _images(
    facts: ReleaseFacts,
    language: str,
    kind: str,
    pictures: Mapping[str, str],
) -> str:
    """Return the images of one kind in one language: how many are added, removed and kept, and
    thumbnails of those that change.
    """
    parts = []
    for place in facts.images:
        if place.language != language:
            continue
        if place.kind != kind:
            continue
        counts = _counts(place)
        if counts:
            parts.append(counts)
        thumbnails = _before_and_after(place, pictures)
        if thumbnails:
            parts.append(thumbnails)
    return "<br>".join(parts)


def _counts(place: ChangedImages) -> str:
    """Return how many images of a place are added, removed, sent again and kept."""
    counts = []
    if place.added:
        added = len(place.added)
        counts.append(f"+{added}")
    if place.removed:
        counts.append(f"-{place.removed}")
    if place.sent_again:
        counts.append(f"{place.sent_again} in another order")
    if place.kept:
        counts.append(f"{place.kept} kept")
    return ", ".join(counts)


def _before_and_after(
    place: ChangedImages,
    pictures: Mapping[str, str],
) -> str:
    """Return thumbnails of the removed and of the added images, as far as they have addresses."""
    replaced = place.replaced[:MAX_PICTURES]
    live = [live_image(url) for url in replaced]
    before = _thumbnails(live, "before")
    paths = place.added[:MAX_PICTURES]
    added = [pictures.get(path, "") for path in paths]
    after = _thumbnails(added, "after")
    if not before:
        return after
    if not after:
        return before
    # Two images stand beside one another, two rows of them one below the other.
    if len(place.added) == 1:
        return f"{before}&#160;→&#160;{after}"
    return f"{before}<br>→<br>{after}"


def _thumbnails(addresses: Sequence[str], alternative: str) -> str:
    images = []
    for address in addresses:
        if address:
            source = escape(address)
            images.append(
                f'<img src="{source}" height="{_HEIGHT}" alt="{alternative}">'
            )
    return " ".join(images)
