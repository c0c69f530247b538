"""How the work in an edit ends well: validated and thrown away, left open, not needed at all, or committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from uploader.errors import Refused
from uploader.services.base import Flow, Note, Outcome, Publish, Section
from uploader.services.play.edit import Work, commit, discard, forget
from uploader.services.play.patience import Steps, patiently
from uploader.services.play.troubles import REVIEW_BY_HAND, find

CONSOLE = "https://play.google.com/console/"  # it knows apps by numbers of its own and has no address by package name
STORE = "https://play.google.com/store/apps/details?id="

Row: TypeAlias = tuple[str, str, str]  # track, before, after

SENT = "sent for review"
DRAFT = "saved as a draft; it waits in the Play Console to be rolled out"
BY_HAND = "waits in the Play Console, under Publishing overview, to be sent for review"
OPEN = "not committed: the edit is open"
REHEARSED = "nothing was published: this was a rehearsal"
ALREADY = "Google Play had all of it already; nothing was committed"


def end(work: Work, codes: tuple[str, ...], rows: Sequence[Row]) -> Flow:
    """The last steps of a run in which everything is in place."""
    what = f"{work.asked.package} {'+'.join(codes)}".strip()
    if work.asked.dry_run:
        yield from _rehearsed(work)
        return _outcome(work, f"{what} passed Google Play's validation; nothing was published.", REHEARSED, rows, False)
    if not work.asked.commit:
        yield from forget(work)
        return _outcome(work, f"{what} is in edit {work.edit.id}, which is left open.", OPEN, rows, False)
    if work.fresh and not work.changed:
        yield from discard(work)
        return _outcome(work, f"{what} is on Google Play already.", ALREADY, rows, True)
    by_hand = yield from commit(work)
    yield from forget(work)
    yield Publish({"committed": "true"})
    where = f" on {', '.join(work.asked.tracks)}" if work.asked.tracks else ""
    review = BY_HAND if by_hand else DRAFT if work.asked.wish.status == "draft" else SENT
    return _outcome(work, f"{what} is committed{where}.", review, rows, True)


def _rehearsed(work: Work) -> Steps[None]:
    try:
        yield from patiently(work.edit.validate(), work.asked.tries)
    except Refused as refused:
        # Only a commit can carry the parameter that Google asks for here.
        if find(refused) is not REVIEW_BY_HAND:
            raise
        yield Note(f"Google Play says: {refused.message}")
    yield from discard(work)


def _outcome(work: Work, headline: str, review: str, rows: Sequence[Row], committed: bool) -> Outcome:
    sections = [Section("Review", ("Changes", "State"), ((work.asked.package, review),))]
    if rows:
        sections.insert(0, Section("Tracks", ("Track", "Before", "After"), tuple(rows)))
    return Outcome(
        headline,
        outputs={"committed": "true" if committed else "false"},
        links=(("Play Console", CONSOLE), ("Store page", STORE + work.asked.package)),
        sections=tuple(sections),
    )
