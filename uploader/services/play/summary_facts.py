"""Turn the changes of a run into facts for the job summary: shares of users, notes, the listing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from uploader.services.base import Section
from uploader.services.play import plan
from uploader.services.play.model import (
    Release,
    Releases,
    find_same_versions,
    having_status,
)
from uploader.services.play.plan import Changes
from uploader.services.play.reach import as_served
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.release_names import with_display_name
from uploader.services.play.release_words import (
    all_users,
    in_words,
    label,
    share,
)
from uploader.services.play.track_merge import TrackChange
from uploader.services.release_facts import (
    ChangedImages,
    ChangedText,
    ReleaseFacts,
    TrackFacts,
    VersionShare,
)

PLANNED = "Planned changes"  # the title of what has not happened
_EVERYBODY = 1.0
_NOTES = re.compile(r" {6}notes \S+: ")  # a line of the plan about release notes


def section(
    title: str, changes: Changes, review: Sequence[str] | None = None
) -> Section:
    """Return the changes for the summary: the facts that it shows in its own way, and lines about
    the rest.

    Notes, texts and images are among the facts, so there are no lines about them.
    """
    if review is None:
        review = plan.on_review(changes)
    rest = plan.section(title, replace(changes, texts=(), images=()), review)
    rows = tuple(row for row in rest.rows if not _NOTES.match(row[0]))
    facts = replace(facts_of(changes), planned=title == PLANNED)
    return replace(rest, rows=rows, facts=facts)


def facts_of(changes: Changes) -> ReleaseFacts:
    """Return the facts about the changes that the summary shows in its own way."""
    job = changes.job
    texts = [
        ChangedText(text.language, text.field, text.before, text.after)
        for text in changes.texts
    ]
    images = []
    for image in changes.images:
        replaced = tuple(image.live)
        counts = (image.removed, image.kept, len(image.sent_again))
        images.append(
            ChangedImages(
                image.language,
                image.type,
                image.added,
                replaced,
                *counts,
            )
        )
    files: set[str] = set()
    if job.listing:
        for artifacts in job.listing.images.values():
            files.update(artifact.name for artifact in artifacts)
    return ReleaseFacts(
        tracks=tuple(_track_facts(change, job) for change in changes.tracks),
        notes=tuple(_changed_notes(changes.tracks)),
        texts=tuple(texts),
        images=tuple(images),
        listing_files=frozenset(files),
        title=_title(changes),
    )


def _title(changes: Changes) -> str:
    """Return the app's title as the store listing had it before the run; "" if it had none. Of
    several, the English one is preferred. A title that the run sets is not approved yet.
    """
    listing = changes.job.listing
    if listing is None or changes.in_edit:
        return ""
    titles: dict[str, str] = {}
    for language, texts in listing.texts.items():
        titles[language] = texts.get("title", "")
    for text in changes.texts:
        if text.field == "title":
            titles[text.language] = text.before
    live = {language: title for language, title in titles.items() if title}
    if not live:
        return ""
    return live.get("en-US", live[min(live)])


def _track_facts(change: TrackChange, job: ReleaseJob) -> TrackFacts:
    change = as_served(change)
    release = change.release
    if not release.json and change.after:
        release = change.after[0]
    version = ""
    reach = ""
    if release.json:
        version = label(with_display_name(job, release))
        reach = _reach(release, change.after)
    before = [
        _in_brief(with_display_name(job, replaced), change.before)
        for replaced in change.before
    ]
    shares = _shares(change.after, job)
    return TrackFacts(change.track, version, "; ".join(before), reach, shares)


def _in_brief(release: Release, on_track: Releases) -> str:
    """Return a release and whom it reaches: `1.4.1 (41), all users`."""
    return f"{label(release)}, {_reach(release, on_track)}"


def _reach(release: Release, on_track: Releases) -> str:
    """Return whom a release of a track reaches: `5 %`, `all users`, `halted at 5 %`, `draft`."""
    if release.status == "completed":
        return all_users(on_track)
    if release.status == "inProgress" and share(release):
        return share(release)
    if release.status == "halted" and share(release):
        return f"halted at {share(release)}"
    return in_words(release)


def _shares(after: Releases, job: ReleaseJob) -> tuple[VersionShare, ...]:
    """Return the version that each part of the users is offered; () if a share is not known.

    A staged release leaves the completed one to all others. A halted one is offered to nobody.
    """
    shares = []
    left = _EVERYBODY
    for release in having_status(after, "inProgress"):
        fraction = release.user_fraction
        if fraction is None or not 0 < fraction < left:
            return ()
        shares.append(VersionShare(label(with_display_name(job, release)), fraction))
        left -= fraction
    halted = having_status(after, "halted")
    shares += [
        VersionShare(label(with_display_name(job, release)), 0.0) for release in halted
    ]
    completed = having_status(after, "completed")
    if completed:
        version = label(with_display_name(job, completed[0]))
        shares.append(VersionShare(version, left))
    return tuple(shares)


def _changed_notes(tracks: Sequence[TrackChange]) -> Iterator[ChangedText]:
    """Yield the notes that are new or change, each once even if it is on several tracks."""
    seen = set[ChangedText]()
    for change in tracks:
        for release in change.after:
            old = find_same_versions(change.before, release) or Release()
            before = dict(old.notes)
            for language, text in release.notes:
                changed = ChangedText(
                    language,
                    "notes",
                    before.get(language, ""),
                    text,
                )
                if text != changed.before and changed not in seen:
                    seen.add(changed)
                    yield changed
