"""Which releases of a track stay beside a new one: every small combination, against Google's words.

The words are those of edits.tracks in the reference of androidpublisher v3, and the refusal that
people met ("Only one completed release is allowed.", fastlane#28995).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import combinations, product
from typing import Any

import pytest

from google_emulator.http.response import ApiError as Refused
from google_emulator.services.play.store import AppContent, StoreArtifact
from google_emulator.services.play.tracks import checked_releases, read_track
from tests.support.fake_play import Play, release
from tests.support.play_driver import Engine, release_job
from uploader.errors import UploaderError
from uploader.services.play import track_merge
from uploader.services.play.model import Release
from uploader.services.play.release_job import ReleaseJob, ReleaseOptions

CODES = (1, 2, 3)
SETS = [codes for size in CODES for codes in combinations(CODES, size)]
SHARED = ("same", "keeps", "part", "overlap", "apart")
"""What the version codes of the new release are, beside those of the other one."""

STAYS: dict[tuple[str, str], tuple[str, ...]] = {
    # "Only one completed release is allowed." The new one is "served to all users".
    ("completed", "completed"): (),
    # "Served to a fraction of users": what all users get ends the fraction.
    ("completed", "inProgress"): (),
    ("completed", "halted"): (),
    # "The release's APKs are not being served to users": it waits, unless its versions are in here.
    ("completed", "draft"): ("part", "overlap", "apart"),
    # "Served to all users, unless they are eligible to APKs of a more recent release"; and a
    # release "must include version codes to retain from previous releases". Only the same release
    # can't be both.
    ("inProgress", "completed"): ("keeps", "part", "overlap", "apart"),
    ("halted", "completed"): ("keeps", "part", "overlap", "apart"),
    # "Fraction of users who are eligible for a staged release": there is one, also while halted.
    ("inProgress", "inProgress"): (),
    ("inProgress", "halted"): (),
    ("halted", "inProgress"): (),
    ("halted", "halted"): (),
    ("inProgress", "draft"): ("part", "overlap", "apart"),
    ("halted", "draft"): ("part", "overlap", "apart"),
    # A draft is served to nobody, and takes nothing from anybody.
    ("draft", "completed"): SHARED,
    ("draft", "inProgress"): SHARED,
    ("draft", "halted"): SHARED,
    ("draft", "draft"): (),
}


def shared(codes: tuple[int, ...], others: tuple[int, ...]) -> str:
    """How the version codes of a release and of another one overlap."""
    ours, theirs = set(codes), set(others)
    if ours == theirs:
        return "same"
    if ours > theirs:
        return "keeps"
    if ours < theirs:
        return "part"
    return "overlap" if ours & theirs else "apart"


def staged(codes: tuple[int, ...], status: str, fraction: float) -> dict[str, Any]:
    """A release with the fraction that its status may have."""
    more = {"userFraction": fraction} if status in ("inProgress", "halted") else {}
    return release(*codes, status=status, **more)


def tracks_without_draft() -> Iterator[list[dict[str, Any]]]:
    """Every track with at most one completed and one staged release, whose version codes differ."""
    completed = [None, *SETS]
    others = [None, *product(SETS, ("inProgress", "halted"))]
    for everybody, some in product(completed, others):
        found = []
        if some:
            found.append(staged(*some, 0.1))
        if everybody:
            found.append(release(*everybody))
        if not (some and some[0] == everybody):
            yield found


def merged(live: list[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """What a track holds once a release has come to it."""
    releases = tuple(map(Release, live))
    after = track_merge.merge(
        "production", releases, Release(new), replace_rollout=True
    )
    return [release.to_json() for release in after]


def codes_of(found: dict[str, Any]) -> tuple[int, ...]:
    return tuple(map(int, found["versionCodes"]))


def accepted(releases: list[dict[str, Any]]) -> bool:
    """Whether the emulator, which was written from Google's documents alone, takes the track."""
    content = AppContent(artifacts={code: StoreArtifact(code) for code in CODES})
    wanted = read_track({"track": "production", "releases": releases})["releases"]
    try:
        checked_releases(content, "production", wanted, date(2026, 6, 25))
    except Refused:
        return False
    return True


@pytest.mark.parametrize(("status", "place"), STAYS)
def test_what_stays_beside_a_new_release_is_what_google_says(
    status: str, place: str
) -> None:
    """Each pair of statuses with every pair of version codes out of three."""
    for codes, others in product(SETS, SETS):
        new, other = staged(codes, status, 0.3), staged(others, place, 0.1)
        after = merged([other], new)
        stays = shared(codes, others) in STAYS[status, place]
        assert after == ([new, other] if stays else [new]), (codes, others)


@pytest.mark.parametrize("status", ["completed", "inProgress", "halted", "draft"])
def test_each_release_of_a_track_is_looked_at_by_itself(status: str) -> None:
    """A completed and a staged release beside the new one, with every share of versions."""
    seen = 0
    for live, codes in product(tracks_without_draft(), SETS):
        new = staged(codes, status, 0.3)
        after = merged(live, new)
        stay = [
            one
            for one in live
            if shared(codes, codes_of(one)) in STAYS[status, str(one["status"])]
        ]
        assert after == [new, *stay], live
        seen += 1
    assert seen == (8 * 15 - 2 * 7) * 7


def test_whatever_a_run_leaves_on_a_track_is_a_track_that_google_accepts() -> None:
    """A release of named versions, staged, for everybody or halted, on every track that can be: the
    run is refused with a reason, or the track is valid, and no staged one took a version from all.
    """
    ends: Counter[str] = Counter()
    options = (ReleaseOptions("inProgress", 0.3), ReleaseOptions("completed"))
    for live, codes, wish in product(
        filter(accepted, tracks_without_draft()), SETS, options
    ):
        play = Play(production=live)
        job = release_job(
            tracks=("production",),
            retained=tuple(map(str, codes)),
            options=wish,
            replace_rollout=True,
        )
        # what everybody has is never handed out to a share of them
        everybody = next(
            (set(codes_of(one)) for one in live if one["status"] == "completed"), None
        )
        taken_back = (
            wish.status == "inProgress" and everybody and set(codes) <= everybody
        )
        play.live.bundles |= dict.fromkeys(CODES, "digest")
        refusal = refused(play, job)
        ends[refusal or "released"] += 1
        assert refusal in ("", "user-fraction-lower", "no-upgrade-path"), (live, codes)
        assert (refusal == "user-fraction-lower") == bool(taken_back), (live, codes)
        after = play.live.tracks["production"]
        assert accepted(after), (live, codes, after)
        if not refusal and wish.status == "inProgress" and everybody:
            assert release(*sorted(everybody)) in after, (live, codes)
    assert min(ends.values()) > 20, ends


def refused(play: Play, job: ReleaseJob) -> str:
    """The code of the refusal with which a job ends; empty where it ends well."""
    try:
        Engine(play).run(job)
    except UploaderError as error:
        return error.code
    return ""
