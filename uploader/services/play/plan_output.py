"""The output `plan` of a dry run: what a run would change, as one line of JSON that never grows out of hand.

The keys are those that docs/RECIPES.md documents. A text from outside is there by its first line and its length.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, TypeVar

from uploader.services.play.change_report import short
from uploader.services.play.changes import Changes, ImageChange, TrackChange, countries, priority
from uploader.services.play.tracks import Release, Releases, codes, notes_of

T = TypeVar("T")

LIMIT: Final = 128 * 1024  # characters, all of them ASCII; GitHub takes 1 MiB for all outputs together
_MOST: Final = (200, 50, 10, 2)  # entries of each list: the first with which the whole stays under the limit


def plan_output(changes: Changes, target: str = "play") -> str:
    """The value of the output; `left_out` in it counts the entries for which there was no room."""
    texts = (_PlanJson(changes, target).text(most) for most in _MOST)
    return next(text for text in texts if len(text) <= LIMIT)


class _PlanJson:
    """The changes as JSON with at most so many entries in each list."""

    def __init__(self, changes: Changes, target: str) -> None:
        self._changes = changes
        self._target = target
        self._most = 0
        self._left_out = 0

    def text(self, most: int) -> str:
        self._most, self._left_out = most, 0
        changes = self._changes
        whole = {
            "version": 1,
            "target": self._target,
            "package": short(changes.package),
            "tracks": [self._track(one) for one in self._few(changes.tracks)],
            "files": [{**asdict(one), "name": short(one.name)} for one in self._few(changes.files)],
            "listing": [
                {"language": one.language, "field": one.field, "before": _brief(one.before), "after": _brief(one.after)}
                for one in self._few(changes.texts)
            ],
            "images": [self._image(one) for one in self._few(changes.images)],
            "review": asdict(changes.review),
            "others": [
                {
                    "track": short(other.track),
                    "releases": self._releases(other.held),
                    "live": None if other.live is None else list(self._few(sorted(other.live, key=int))),
                }
                for other in self._few(changes.others)
            ],
        }
        return json.dumps({**whole, "left_out": self._left_out}, separators=(",", ":"))

    def _few(self, found: Sequence[T]) -> Sequence[T]:
        self._left_out += max(0, len(found) - self._most)
        return found[: self._most]

    def _track(self, change: TrackChange) -> dict[str, Any]:
        before, after = self._releases(change.before), self._releases(change.after)
        return {"track": short(change.track), "before": before, "after": after}

    def _image(self, change: ImageChange) -> dict[str, Any]:
        added = [short(name) for name in self._few(change.added)]
        return {
            **asdict(change),
            "added": added,
            "sent_again": [short(name) for name in self._few(change.sent_again)],
        }

    def _releases(self, live: Releases) -> list[dict[str, Any]]:
        return [self._release(release) for release in self._few(live)]

    def _release(self, release: Release) -> dict[str, Any]:
        notes = self._few(notes_of(release))
        return {
            "version_codes": list(self._few(codes(release))),
            "status": short(str(release.get("status") or "")),
            "user_fraction": release.get("userFraction"),
            "name": short(str(release.get("name") or "")),
            "priority": priority(release),
            "countries": [short(country) for country in self._few(countries(release))],
            "notes": [{"language": short(language), **(_brief(text) or {})} for language, text in notes],
        }


def _brief(text: str) -> dict[str, Any] | None:
    return {"first_line": short(text), "characters": len(text)} if text else None
