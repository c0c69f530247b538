"""Every order of two faults at every call of a job: nothing twice, nothing unasked, nothing silent,
nothing lost.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fake_play import artifact, plain, release
from tests.support.play_driver import Engine, release_job
from tests.support.play_faults import FaultyPlay
from tests.support.play_walk import COMPLETED, HALTED, WIDENED, Shape, Walk
from tests.support.turns import Choose, by_turns, in_order, in_reverse
from uploader.files.android.listing import StoreFiles
from uploader.services.play.release_job import ReleaseOptions, SupplementaryFile

pytestmark = pytest.mark.slow

MAPPING = (SupplementaryFile("mapping", plain("mapping.txt", b"m"), 2),)
IMAGES = {
    ("en-US", "icon"): (plain("icon.png", b"\x89PNG"),),
    # of which a second one would be added
    ("en-US", "phoneScreenshots"): (plain("1.png", b"\x89PNG 1"),),
}
LISTING = StoreFiles({"en-US": {"title": "App"}}, IMAGES)
RENAMED = StoreFiles({"de-DE": {"title": "App"}})
STAGED = ReleaseOptions("inProgress", 0.1)


def forgetful() -> FaultyPlay:
    """Says of a committed edit only that there is no such edit."""
    play = FaultyPlay()
    play.forgetful = True
    return play


def reviewed(review: str) -> FaultyPlay:
    """Refuses every commit that does not go about the review as it demands; says nothing of a
    committed edit.
    """
    play = forgetful()
    play.review = review
    return play


def promoting() -> FaultyPlay:
    """Has a release to promote; says nothing of a committed edit."""
    play = forgetful()
    play.live.bundles = {2: "digest of 2", 3: "digest of 3"}
    play.live.tracks["beta"] = [release(2)]
    return play


def next_on_beta(play: FaultyPlay) -> bool:
    """Somebody releases the next version on the track from which the job promotes."""
    play.live = play.live.copy()
    play.live.tracks["beta"] = [release(3)]
    play.close_edits(
        "A change was made to the application outside of this Edit, please create a new edit."
    )
    return True


def other_testers(play: FaultyPlay) -> bool:
    """Somebody lets other people test the release, once it is live."""
    if play.live.tracks.get("alpha") != [release(2)]:
        return False
    play.live = play.live.copy()
    play.live.testers["alpha"] = ["theirs@example.com"]
    play.close_edits(
        "A change was made to the application outside of this Edit, please create a new edit."
    )
    return True


def shared() -> FaultyPlay:
    """Has an edit into which another job uploaded its part."""
    play = FaultyPlay()
    play.open_edit()
    Engine(play).run(
        release_job(artifact(5), tracks=("beta",), commit=False, existing_edit="1")
    )
    play.opened.clear()
    play.calls.clear()
    return play


SHAPES = {
    "own edit": Shape(
        release_job(artifact(2), supplementary=MAPPING),
        forgetful,
        others=(release_job(artifact(2, b"built again"), supplementary=MAPPING),),
    ),
    "own edit that tells its commit": Shape(
        release_job(artifact(2)), lambda: FaultyPlay(internal=[release(1)]), (HALTED,)
    ),
    "two tracks": Shape(
        release_job(artifact(2), tracks=("internal", "beta")), forgetful
    ),
    "existing-edit-id": Shape(
        release_job(artifact(2), existing_edit="1", supplementary=MAPPING), shared
    ),
    "existing-edit-id and commit alone": Shape(
        release_job(tracks=(), existing_edit="1"), shared
    ),
    "commit false": Shape(release_job(artifact(2), commit=False)),
    "dry-run": Shape(release_job(artifact(2), dry_run=True)),
    "dry-run of changes that are to be sent for review": Shape(
        release_job(artifact(2), dry_run=True, not_sent_for_review="false")
    ),
    "review by hand": Shape(release_job(artifact(2)), lambda: reviewed("by hand")),
    "listing": Shape(
        release_job(tracks=(), listing=LISTING),
        forgetful,
        others=(release_job(tracks=(), listing=RENAMED),),
    ),
    "staged": Shape(
        release_job(
            artifact(2),
            options=replace(STAGED, countries=("DE",)),
            tracks=("production",),
        ),
        lambda: FaultyPlay(production=[release(1)]),
        others=(release_job(artifact(2), options=STAGED, tracks=("production",)),),
    ),
    "testers": Shape(
        release_job(
            artifact(2),
            tracks=("alpha",),
            testers=("a@example.com",),
            tester_tracks=("alpha",),
        ),
        forgetful,
        others=(
            release_job(
                artifact(2),
                tracks=("alpha",),
                testers=("b@example.com",),
                tester_tracks=("alpha",),
            ),
        ),
        beside=(other_testers,),
    ),
    "promotion": Shape(
        release_job(promote_from="beta"), promoting, people=(next_on_beta,)
    ),
    "promotion that a person halts": Shape(
        release_job(promote_from="beta"), promoting, (HALTED,)
    ),
    "staged rollout that people take further or halt": Shape(
        release_job(
            artifact(2),
            tracks=("production",),
            options=ReleaseOptions("inProgress", 0.1),
        ),
        forgetful,
        (HALTED, WIDENED, COMPLETED),
    ),
}
BESIDE = Shape(
    release_job(artifact(2), listing=LISTING, supplementary=MAPPING), forgetful
)
"""A listing beside a release, which has so many calls that one fault at each is enough."""
FEW = {"existing-edit-id and commit alone": 700}  # runs: such a job has three calls


@pytest.mark.timeout(600)  # seconds; thousands of runs, and a machine may be busy
@pytest.mark.parametrize("name", SHAPES)
def test_no_two_faults_lead_to_anything_that_must_not_be(name: str) -> None:
    """The rules stand in `play_walk`, which raises when one is broken; here it is seen that the
    walk was long.
    """
    walk = Walk(SHAPES[name])
    walk.explore()
    assert walk.runs > FEW.get(name, 2000)
    assert len(walk.positions) > FEW.get(name, 2000) / 30


@pytest.mark.timeout(600)  # seconds; thousands of runs, and a machine may be busy
@pytest.mark.parametrize(
    ("name", "choose"),
    [
        pytest.param("own edit", in_reverse, id="own edit, in reverse"),
        pytest.param("existing-edit-id", in_reverse, id="existing-edit-id, in reverse"),
        pytest.param("two tracks", by_turns, id="two tracks, by turns"),
        pytest.param("listing", by_turns, id="listing, by turns"),
    ],
)
def test_no_order_of_simultaneous_steps_breaks_the_rules(
    name: str, choose: Choose
) -> None:
    """The last of several things first, and one call of each in turn: the same rules hold."""
    walk = Walk(SHAPES[name], choose)
    walk.explore()
    assert walk.runs > 2000


@pytest.mark.timeout(600)  # seconds; thousands of runs, and a machine may be busy
@pytest.mark.parametrize("choose", [in_order, in_reverse, by_turns])
def test_a_listing_beside_a_release_keeps_the_rules(choose: Choose) -> None:
    """One fault at every call, in each order."""
    walk = Walk(BESIDE, choose)
    walk.explore(faults=1)
    assert walk.runs > 250
