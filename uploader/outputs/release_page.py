"""What the summary draws of a release: who gets which version, the notes, and the store listing."""

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

MAX_LANGUAGES = 5  # whose notes have a fold each; more are in one fold together
MAX_PICTURES = 8  # of one place, before and after
# How the parts of a bar are drawn, by their number; more have no bar.
_SHADES = ("", "▓", "▓░", "▓▒░")
_HEIGHT = 40  # pixels of a thumbnail
# Pixels that the thumbnails of a place need to stand beside one another. A column can't be given a
# width in Markdown, so that its heading is made as wide.
_WIDTHS = {"icon": 120, "featureGraphic": 220, "tvBanner": 200}
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
    """Which version how many users are offered, or would be, a bar for each track:
    `▓░░░░` ▓ 42 5 % · ░ 41 95 %.
    """
    when = ""
    if facts.planned:
        when = ", planned"
    elif facts.in_review:
        when = ", after the review"
    lines = []
    for track in facts.tracks:
        if track.shares:
            versions = _versions(track.shares, escaper)
            lines.append(f"**{escaper.text(track.track)}{when}:** {versions}")
    return "\n\n".join(lines)


def _versions(offered: Sequence[VersionShare], escaper: Escaper) -> str:
    """The versions of a track: one bar, then each version with its part of it; those that are
    halted, which nobody is offered, come last.
    """
    served = [one for one in offered if one.share]
    halted = [f"{escaper.text(one.version)} halted" for one in offered if not one.share]
    parts = [f"{escaper.text(one.version)} {_percent(one.share)}" for one in served]
    if not served or len(served) >= len(_SHADES):
        return " · ".join(parts + halted)
    shades = _SHADES[len(served)]
    parts = [f"{shade} {part}" for shade, part in zip(shades, parts, strict=True)]
    bar = shared_bar([one.share for one in served], shades)
    return f"`{bar}` {' · '.join(parts + halted)}"


def _percent(share: float) -> str:
    return f"{100 * share:.4g}&#160;%"


def notes(facts: ReleaseFacts, escaper: Escaper) -> str:
    """The release notes in full, folded by language; those that change as a comparison of words."""
    folds = []
    for note in facts.notes:
        if note.before:
            what = "changed"
            body = word_diff(note.before, note.after, escaper)
        else:
            what = plural(len(note.after), "character")
            body = _lines(note.after, escaper)
        title = f"Release notes {escaper.text(note.language)} ({what})"
        folds.append(details(title, body))
    together = "\n\n".join(folds)
    if len(folds) <= MAX_LANGUAGES:
        return together
    languages = len({note.language for note in facts.notes})
    return details(f"Release notes in {plural(languages, 'language')}", together)


def _lines(outside: str, escaper: Escaper) -> str:
    """A text of several lines, each of which stays one."""
    shown = escaper.redactor.clean(outside)
    return "<br>\n".join(escaper.text(line, len(line)) for line in shown.splitlines())


def listing(facts: ReleaseFacts, pictures: Mapping[str, str], escaper: Escaper) -> str:
    """The changes of the store listing: a row for each language, a column for each kind of image
    that changes, and one for the texts. `pictures` has the addresses of committed images.
    """
    languages = {text.language for text in facts.texts}
    languages.update(image.language for image in facts.images)
    if not languages:
        return ""
    kinds = _kinds(facts)
    header = ["Language", *(_heading(kind, pictures) for kind in kinds)]
    if facts.texts:
        header.append("Texts")
    title = "### Store listing"
    if facts.planned:
        title += ", planned"
    lines = [title, "", table_row(header), table_row(["---"] * len(header))]
    for language in sorted(languages):
        cells = [escaper.text(language)]
        cells += [_images(_places(facts, language, kind), pictures) for kind in kinds]
        if facts.texts:
            cells.append(_texts(facts, language, escaper))
        lines.append(table_row(cells))
    return "\n".join(lines)


def _kinds(facts: ReleaseFacts) -> list[str]:
    """The kinds of images of which some change, in the order of the Play Console."""
    changed = {image.kind for image in facts.images}
    return [kind for kind in IMAGE_RULES if kind in changed]


def _places(facts: ReleaseFacts, language: str, kind: str) -> list[ChangedImages]:
    """What changes of one kind of images in one language."""
    return [image for image in facts.images if (image.language, image.kind) == (language, kind)]


def _texts(facts: ReleaseFacts, language: str, escaper: Escaper) -> str:
    """The texts of one language that change, in the order of the Play Console; unknown fields come
    last.
    """
    fields = list(_FIELDS)

    def position(text: ChangedText) -> int:
        if text.field in fields:
            return fields.index(text.field)
        return len(fields)

    texts = [text for text in facts.texts if text.language == language]
    return "<br>".join(_text(text, escaper) for text in sorted(texts, key=position))


def _heading(kind: str, pictures: Mapping[str, str]) -> str:
    """The heading of a kind of images, as wide as its thumbnails need where there are any."""
    name = _KINDS.get(kind, kind)
    if not pictures:
        return name
    missing = _WIDTHS.get(kind, _WIDTH) - _SPACE * len(name)
    space = "&#160;" * max(missing // _SPACE, 0)
    return f"{space}{name.replace(' ', '&#160;')}{space}"


def _text(changed: ChangedText, escaper: Escaper) -> str:
    """One text: `+` where it is new, else which of its words change."""
    field = _FIELDS.get(changed.field, changed.field)
    if not changed.before:
        return f"+ {field}: {escaper.text(changed.after)}"
    return f"~ {field}: {word_diff(changed.before, changed.after, escaper)}"


def _images(changed: Sequence[ChangedImages], pictures: Mapping[str, str]) -> str:
    """The images of one place: how many come, go and stay, and thumbnails of what changes."""
    parts = []
    for place in changed:
        counts = _counts(place)
        if counts:
            parts.append(counts)
        thumbnails = _before_and_after(place, pictures)
        if thumbnails:
            parts.append(thumbnails)
    return "<br>".join(parts)


def _counts(place: ChangedImages) -> str:
    """How many images of a place come, go and stay."""
    counts = []
    if place.added:
        counts.append(f"+{len(place.added)}")
    if place.removed:
        counts.append(f"-{place.removed}")
    if place.sent_again:
        counts.append(f"{place.sent_again} in another order")
    if place.kept:
        counts.append(f"{place.kept} kept")
    return ", ".join(counts)


def _before_and_after(place: ChangedImages, pictures: Mapping[str, str]) -> str:
    """Thumbnails of the images that go, and of those that come, as far as they have addresses."""
    live = [live_image(url) for url in place.replaced[:MAX_PICTURES]]
    before = _thumbnails(live, "before")
    added = [pictures.get(path, "") for path in place.added[:MAX_PICTURES]]
    after = _thumbnails(added, "after")
    if not (before and after):
        return before or after
    # Two images stand beside one another, two rows of them one below the other.
    if len(place.added) == 1:
        return f"{before}&#160;→&#160;{after}"
    return f"{before}<br>→<br>{after}"


def _thumbnails(addresses: Sequence[str], alternative: str) -> str:
    images = [
        f'<img src="{escape(address)}" height="{_HEIGHT}" alt="{alternative}">'
        for address in addresses
        if address
    ]
    return " ".join(images)
