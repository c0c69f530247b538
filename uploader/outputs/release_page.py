"""What the summary draws of a release: who gets which version, the notes, and the store listing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from uploader.files.android.limits import IMAGE_RULES
from uploader.outputs.charts import share_bar
from uploader.outputs.markdown import Escaper, details
from uploader.outputs.pictures import live_image
from uploader.outputs.word_diff import word_diff
from uploader.services.release_facts import ChangedImages, ChangedText, ReleaseFacts
from uploader.text import plural

MAX_LANGUAGES = 5  # whose notes have a fold each; more are in one fold together
MAX_PICTURES = 8  # of one place, before and after
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
    """Which version how many users are offered, or would be, a line for each track:
    `42 ▓░░░░ 5 %`.
    """
    planned = ", planned" if facts.planned else ""
    lines = []
    for track in facts.tracks:
        parts = [
            f"{escaper.text(one.version)} `{share_bar(one.share)}` {_percent(one.share)}"
            for one in track.shares
        ]
        if parts:
            lines.append(f"**{escaper.text(track.track)}{planned}:** {' · '.join(parts)}")
    return "\n\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.4g}&#160;%" if share else "halted"


def notes(facts: ReleaseFacts, escaper: Escaper) -> str:
    """The release notes in full, folded by language; those that change as a comparison of words."""
    folds = []
    for note in facts.notes:
        what = "changed" if note.before else plural(len(note.after), "character")
        title = f"Release notes {escaper.text(note.language)} ({what})"
        body = _lines(note.after, escaper)
        if note.before:
            body = word_diff(note.before, note.after, escaper)
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
    changed = {image.kind for image in facts.images}
    kinds = [kind for kind in IMAGE_RULES if kind in changed]
    header = ["Language", *(_heading(kind, pictures) for kind in kinds)]
    if facts.texts:
        header.append("Texts")
    rows = [header, ["---"] * len(header)]
    for language in sorted(languages):
        row = [escaper.text(language)]
        images = [image for image in facts.images if image.language == language]
        for kind in kinds:
            places = [image for image in images if image.kind == kind]
            row.append(_images(places, pictures))
        if facts.texts:
            row.append(_texts(facts, language, escaper))
        rows.append(row)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    planned = ", planned" if facts.planned else ""
    return "\n".join([f"### Store listing{planned}", "", *lines])


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
    if not changed.after:
        return f"- {field}: <del>{escaper.text(changed.before)}</del>"
    return f"~ {field}: {word_diff(changed.before, changed.after, escaper)}"


def _images(changed: Sequence[ChangedImages], pictures: Mapping[str, str]) -> str:
    """The images of one place: how many come, go and stay, and thumbnails of what changes."""
    parts = []
    for place in changed:
        counts = []
        if place.added:
            counts.append(f"+{len(place.added)}")
        if place.removed:
            counts.append(f"-{place.removed}")
        if place.sent_again:
            counts.append(f"{place.sent_again} in another order")
        if place.kept:
            counts.append(f"{place.kept} kept")
        parts.append(", ".join(counts))
        before = _thumbnails(map(live_image, place.replaced[:MAX_PICTURES]), "before")
        added = (pictures.get(path, "") for path in place.added[:MAX_PICTURES])
        after = _thumbnails(added, "after")
        # Two images stand beside one another, two rows of them one below the other.
        arrow = "&#160;→&#160;" if len(place.added) == 1 else "<br>→<br>"
        parts.append(arrow.join(filter(None, (before, after))))
    return "<br>".join(filter(None, parts))


def _thumbnails(addresses: Iterable[str], alternative: str) -> str:
    found = [address for address in addresses if address]
    return " ".join(
        f'<img src="{escape(address)}" height="{_HEIGHT}" alt="{alternative}">' for address in found
    )
