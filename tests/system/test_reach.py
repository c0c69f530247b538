"""Who gets a release: seen before anything of it is sent, by the manifest, the tracks and the
testers of the app.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from google_emulator import specimens
from google_emulator.http.response import ApiError
from google_emulator.services.play.tracks import check_upgrade as plays_rule
from google_emulator.specimens.manifests import RELEASE_BUILD, Build
from tests.destinations.conftest import begin as begin  # noqa: PLC0414  # the fixture
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Ended, Job
from uploader.errors import ReleaseRefused
from uploader.services.play.model import Release
from uploader.services.play.reach import check_upgrade
from uploader.services.play.track_merge import TrackChange

DRY = {"dry-run": "true"}
WATCH, TELEVISION, CAR = (
    "hardware.type.watch",
    "software.leanback",
    "hardware.type.automotive",
)
Live = Callable[..., Job]


@pytest.fixture
def live(begin: Callable[..., Job]) -> Live:
    """An app whose tracks hold these releases."""
    return lambda **tracks: begin(apps={PACKAGE: {"tracks": tracks}})


def send(
    job: Job,
    code: int,
    tracks: str,
    more: Mapping[str, str] = DRY,
    build: Build = RELEASE_BUILD,
) -> Ended:
    """A release of one bundle; a dry run unless other inputs are given."""
    specimens.make_bundle(
        job.workspace / "app.aab", PACKAGE, code, f"1.{code}", build=build
    )
    return job.run({"target": "play", "files": "app.aab", "tracks": tracks, **more})


def build(features: Mapping[str, bool]) -> Build:
    """A build for devices with these features; each value says whether the feature is required."""
    return Build(
        features={f"android.{name}": required for name, required in features.items()}
    )


def plan(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.outputs["plan"])
    return found


# --- the same track -------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"user-fraction": "0.1"}, DRY])
def test_a_version_that_nobody_would_be_offered_is_refused(
    live: Live, more: dict[str, str]
) -> None:
    """Everybody has a higher one: exit code 4, the edit is deleted, and no byte of the bundle was
    sent.
    """
    job = live(production=[release(50)])
    ended = send(job, 45, "production", more)
    assert ended.code == 4, ended.log
    assert "Everybody on production has 50; nobody would be offered 45." in ended.log
    assert ended.outputs["failure"] == "no-upgrade-path"
    state = job.emulator.state()
    assert (state["objects"], state["edits"]["open"]) == ([], [])
    sessions = [
        (session["state"], session["bytes_received"]) for session in state["sessions"]
    ]
    assert sessions == [("cancelled", 0)]


@pytest.mark.parametrize(
    ("there", "more"),
    [
        ([], {}),  # an app without any release
        ([release(44)], {}),
        ([release(50)], {"status": "draft"}),
        # a rollback for new users that keeps the old code live
        ([release(50)], {"version-codes-to-retain": "50"}),
        ([release(40, 50)], {}),  # APKs for different devices: some users have 40
        ([release(50, status="draft"), release(44)], {}),
        ([release(50, status="halted", userFraction=0.1), release(44)], {}),
    ],
)
def test_what_google_play_accepts_goes_through(
    live: Live, there: list[Any], more: dict[str, str]
) -> None:
    """Somebody is offered the release, or it is for nobody yet."""
    ended = send(live(production=there), 45, "production", more)
    assert ended.code == 0, ended.log


RELEASES = st.lists(
    st.builds(
        lambda codes, status: {
            "versionCodes": sorted(map(str, codes)),
            "status": status,
        },
        st.sets(st.integers(1, 6), max_size=3),
        st.sampled_from(("completed", "inProgress", "halted", "draft")),
    ),
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=500)
@given(RELEASES, RELEASES.filter(bool))
def test_a_refusal_is_one_of_google_plays_own(
    there: list[Any], wanted: list[Any]
) -> None:
    """Whatever is on the track, the program refuses only what Google Play's own rule refuses."""
    before = tuple(Release.from_json(entry) for entry in there)
    after = tuple(Release.from_json(entry) for entry in wanted)
    try:
        check_upgrade(TrackChange("production", before, (*after, *before), after[0]))
    except ReleaseRefused:
        with pytest.raises(ApiError):
            plays_rule(there, wanted[:1])


# --- more open tracks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tracks", "track", "words"),
    [
        (
            {"production": [release(50)]},
            "internal",
            "testers on internal get 50 from production, not 45",
        ),
        (
            {"beta": [release(50)]},
            "friends",
            "testers on friends who may get beta, too, get 50 from beta, not 45",
        ),
    ],
)
def test_testers_who_get_more_elsewhere_are_told_in_plan_and_log(
    live: Live, tracks: dict[str, Any], track: str, words: str
) -> None:
    """The release goes on, since it may be meant; a warning and the plan say who gets something
    else.
    """
    job = live(**tracks, friends=[])
    dry = send(job, 45, track)
    assert (dry.code, plan(dry)["reach"]) == (0, [words]), dry.log
    ended = send(job, 45, track, {})
    assert ended.code == 0, ended.log
    assert f"::warning::{words[0].upper()}{words[1:]}." in ended.log


def test_a_version_that_a_more_open_track_has_is_told(live: Live) -> None:
    """The closed track reaches more people than the internal one."""
    promotion = {
        "target": "play",
        "package-name": PACKAGE,
        "promote-from": "alpha",
        "tracks": "internal",
    }
    dry = live(alpha=[release(45)]).run({**promotion, **DRY})
    assert (dry.code, plan(dry)["reach"]) == (
        0,
        ["45 is on alpha already, which reaches more people than internal"],
    ), dry.log


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tracks", "track"),
    [
        ({"production": [release(40)]}, "internal"),
        ({"internal": [release(50)]}, "production"),
        (
            {
                "production": [
                    release(40),
                    release(50, status="inProgress", userFraction=0.1),
                ]
            },
            "internal",
        ),
        ({"wear:production": [release(50)]}, "internal"),
        ({"alpha": [release(50)]}, "friends"),
        ({}, "internal, production"),
    ],
)
def test_nothing_is_said_where_the_release_is_offered(
    live: Live, tracks: dict[str, Any], track: str
) -> None:
    """Lower versions, less open tracks, other devices, and the same release on both."""
    dry = send(live(**tracks, friends=[]), 45, track)
    assert (dry.code, plan(dry)["reach"]) == (0, []), dry.log


@pytest.mark.parametrize(
    "there",
    [
        {},
        {"production": []},
        {"production": [release(40, status="draft")], "internal": [release(44)]},
    ],
    ids=["no release at all", "an empty track", "a draft"],
)
def test_a_staged_first_release_on_production_is_warned_of(
    live: Live, there: dict[str, Any]
) -> None:
    """Google Play stages only updates, so the share that was asked for would not hold."""
    job = live(**there)
    dry = send(job, 45, "production", {**DRY, "user-fraction": "5%"})
    assert dry.code == 0, dry.log
    (sentence,) = plan(dry)["reach"]
    assert sentence.startswith(
        "the first release on production goes to all users, not to 5 %"
    )
    assert (
        "::warning::The first release on production goes to all users, not to 5 %"
        in dry.log
    )
    assert "leave out `user-fraction` and `status` for this one" in dry.log
    assert "would be released on production\n" in dry.summary
    real = send(job, 45, "production", {"user-fraction": "5%"})
    assert "production has no completed release" in real.summary
    assert real.last_line.endswith("1.45 (45) goes to production after the review.")
    assert "1.45 (45) goes to production after the review\n" in real.summary
    assert "95&#160;%" not in real.summary


@pytest.mark.parametrize(
    ("there", "track", "more"),
    [
        ([release(40)], "production", {"user-fraction": "5%"}),
        (
            [release(40, status="inProgress", userFraction=0.1)],
            "production",
            {"user-fraction": "20%", "replace-rollout": "true"},
        ),
        ([], "production", {}),
        ([], "production", {"status": "draft"}),
        ([], "beta", {"user-fraction": "5%"}),
    ],
    ids=[
        "an update",
        "after a staged release",
        "all users",
        "a draft",
        "a testing track",
    ],
)
def test_nothing_is_said_of_a_first_release_where_there_is_none(
    live: Live, there: list[Any], track: str, more: dict[str, str]
) -> None:
    """Neither of updates, nor of what is not staged, nor of testing tracks."""
    dry = send(live(production=there), 45, track, {**DRY, **more})
    assert (dry.code, plan(dry)["reach"]) == (0, []), dry.log


# --- devices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("track", "features", "fits"),
    [
        ("wear:production", {}, "`production`"),
        ("tv:beta", {WATCH: True}, "`wear:beta`"),
        (
            "wear:prod",
            {},
            "wear:prod: did you mean `wear:production`? wear:prod is for watches",
        ),
        ("wear:prod", {}, "Accepted: `production`, or a build for watches"),
        ("automotive:internal", {TELEVISION: False}, "`tv:internal`"),
    ],
)
def test_a_build_for_other_devices_is_refused_offline(
    job: Job, track: str, features: dict[str, bool], fits: str
) -> None:
    """Exit code 2 with the track that fits, and no request."""
    ended = send(job, 45, track, build=build(features))
    assert ended.code == 2, ended.log
    assert fits in ended.log
    assert job.emulator.state()["requests"] == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("track", "feature", "warned"),
    [
        ("wear:production", {WATCH: True}, False),
        ("tv:beta", {TELEVISION: False}, False),
        ("automotive:internal", {CAR: True}, False),
        (
            "production",
            {TELEVISION: False},
            False,
        ),  # one build for phones and televisions
        ("production", {WATCH: True}, True),
        # a form factor that is not known here is Google Play's to judge
        ("xr:production", {}, False),
    ],
)
def test_a_build_for_the_devices_of_its_track_goes_through(
    begin: Callable[..., Job], track: str, feature: dict[str, bool], *, warned: bool
) -> None:
    """Only what is for watches alone is warned of on a track for phones."""
    job = begin()
    ended = send(job, 45, track, build=build(feature))
    assert ended.code == 0, ended.log
    assert ("app.aab is for watches only" in ended.log) == warned


def test_a_higher_minimum_api_level_is_told_from_what_the_job_released(
    live: Live,
) -> None:
    """A state folder that is kept knows the level of the release that is replaced; of any other
    nothing is claimed.
    """
    job = live(production=[release(40)])
    state = {"state-dir": "../state"}
    first = send(job, 45, "production", state, Build(min_sdk=21))
    second = send(job, 46, "production", {**DRY, **state}, Build(min_sdk=24))
    assert (first.code, second.code) == (0, 0), second.log
    assert plan(second)["reach"] == [
        "devices with API level 21 to 23 stay on 45 on production"
    ]
    assert "stay on" not in first.log


# --- testers --------------------------------------------------------------------------------------


def test_testers_are_replaced_in_the_same_edit(live: Live) -> None:
    """The plan shows who comes and who goes; a run that changes nothing writes nothing."""
    job = live(alpha=[release(44)])
    groups = {"testers": "QA@example.com, beta@example.com"}
    assert (
        send(
            job, 45, "alpha, production", {"testers": "old@example.com, qa@example.com"}
        ).code
        == 0
    )
    dry = send(job, 46, "alpha", {**groups, **DRY})
    [change] = plan(dry)["testers"]
    assert change == {
        "track": "alpha",
        "before": ["old@example.com", "qa@example.com"],
        "after": ["qa@example.com", "beta@example.com"],
        "created": False,
    }
    assert "~ alpha: + beta@example.com, - old@example.com" in dry.log
    ended = send(job, 46, "alpha", groups)
    assert ended.code == 0, ended.log
    again = send(job, 46, "alpha", groups)
    assert again.code == 0, again.log
    state = job.emulator.state()
    assert state["apps"][PACKAGE]["testers"] == {
        "alpha": ["qa@example.com", "beta@example.com"]
    }
    # one of them in the dry run
    assert state["requests"]["androidpublisher.edits.testers.update"] == 3


def test_testers_alone_need_no_release(live: Live) -> None:
    """The track keeps what it has."""
    job = live(alpha=[release(44)])
    job.succeed(
        {
            "target": "play",
            "package-name": PACKAGE,
            "tracks": "alpha",
            "testers": "qa@example.com",
        }
    )
    state = job.emulator.state()
    assert state["apps"][PACKAGE]["testers"] == {"alpha": ["qa@example.com"]}
    assert [one["versionCodes"] for one in state["tracks"][PACKAGE]["alpha"]] == [
        ["44"]
    ]


@pytest.mark.parametrize(
    ("tracks", "groups", "words"),
    [
        ("production", "qa@example.com", "only a closed track has groups of testers"),
        ("internal", "qa@example.com", "only a closed track has groups of testers"),
        ("alpha", "the QA team", "is not the e-mail address"),
        ("alpha", "qa@example.com\nQA@example.com", "more than once"),
    ],
)
def test_what_can_be_no_group_of_testers_is_refused_offline(
    job: Job, tracks: str, groups: str, words: str
) -> None:
    """Exit code 2, and no request."""
    ended = send(job, 45, tracks, {"testers": groups})
    assert ended.code == 2, ended.log
    assert words in ended.log
    assert job.emulator.state()["requests"] == {}
