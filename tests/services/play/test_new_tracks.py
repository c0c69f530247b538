"""`create-tracks`: a closed track that the app lacks is created once, in the release's edit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fake_play import Play, artifact, call_name, refused, release
from tests.support.play_driver import Engine, Killed, release_job
from uploader.errors import ApiError, ReleaseRefused, TemporaryError, UploaderError
from uploader.services.base import Call
from uploader.services.play import testers
from uploader.services.play.release_job import ReleaseJob

CREATE = "POST tracks"


def play(*closed: str) -> Play:
    """An app with these closed tracks, which answers 404 for any other."""
    app = Play(production=[release(5)])
    app.closed_tracks = set(closed)
    return app


def job(*tracks: str, **more: Any) -> ReleaseJob:
    """A release of version 6 on these tracks."""
    return release_job(
        artifact(6), tracks=tracks or ("team",), create_tracks=True, **more
    )


def test_a_missing_track_is_created_and_gets_the_release() -> None:
    """In one edit, before anything is uploaded; the next run finds it."""
    app = play("others")
    Engine(app).run(job("team", "others", "internal"))
    assert app.count(CREATE) == 1
    assert app.calls.index(CREATE) < app.calls.index("upload bundles")
    assert {track for track in app.live.tracks if app.live.tracks[track]} == {
        "production",
        "team",
        "others",
        "internal",
    }
    Engine(app).run(job("team", "others", "internal"))
    assert (app.count(CREATE), len(app.commits)) == (1, 1)


def test_without_the_input_the_refusal_names_it() -> None:
    app = play()
    with pytest.raises(ReleaseRefused) as caught:
        Engine(app).run(release_job(artifact(6), tracks=("team",)))
    assert (caught.value.code, app.count(CREATE)) == ("track-not-found", 0)
    assert "`create-tracks: true`" in caught.value.hint


@pytest.mark.parametrize(
    ("track", "cause"),
    [
        ("prod", "misspelling of production"),
        ("Closed testing", "misspelling of alpha"),
        ("wear:prodution", "misspelling of wear:production"),
        ("tv:team", "only for phones, `wear:` and `automotive:`"),
    ],
)
def test_what_is_probably_another_track_or_can_t_be_created_is_refused(
    track: str, cause: str
) -> None:
    """Before the upload, and the edit is deleted."""
    app = play()
    with pytest.raises(ReleaseRefused, match="this run does not create it") as caught:
        Engine(app).run(job(track))
    assert (caught.value.code, cause in caught.value.cause) == (
        "track-not-created",
        True,
    )
    assert (app.uploads, app.count(CREATE), app.edits) == ([], 0, {})


def test_a_name_like_that_of_another_closed_track_is_warned_about() -> None:
    app = play("team-a")
    engine = Engine(app)
    engine.run(job("team-b"))
    assert engine.warnings == [
        "Track team-b is created, although the app has the track team-a."
    ]


@pytest.mark.parametrize(
    ("track", "form_factor"),
    [("team", "DEFAULT"), ("wear:team", "WEAR"), ("automotive:team", "AUTOMOTIVE")],
)
def test_the_form_factor_is_that_of_the_name(track: str, form_factor: str) -> None:
    app = play()
    engine = Engine(app)
    engine.run(job(track))
    calls = [step for step in engine.steps if isinstance(step, Call)]
    (body,) = [call.json for call in calls if call_name(call) == CREATE]
    assert body == {"track": track, "type": "CLOSED_TESTING", "formFactor": form_factor}


def test_testers_of_a_new_track_are_set_once_it_is_there() -> None:
    """With a release, or alone."""
    groups = {"testers": ("qa@example.com",), "tester_tracks": ("team",)}
    for wish in (job(**groups), replace(job(**groups), artifacts=(), tracks=())):
        app = play()
        Engine(app).run(wish)
        assert (app.count(CREATE), app.live.testers) == (
            1,
            {"team": ["qa@example.com"]},
        )


def test_a_creation_whose_answer_was_lost_is_found() -> None:
    """The next run goes on in the same edit, in which the track is."""
    app, journal = play(), dict[str, str]()
    app.fail(CREATE, TemporaryError("Gave up."), after=True)
    with pytest.raises(TemporaryError):
        Engine(app, journal).run(job())
    Engine(app, journal).run(job())
    assert app.live.tracks["team"] == [release(6)]
    assert len(app.commits) == 1


def test_a_track_that_another_request_has_created_is_there() -> None:
    """The request itself was sent again, and is told that the track exists already."""
    app = play()
    app.fail(
        CREATE, refused(409, "Track team already exists.", "alreadyExists"), after=True
    )
    Engine(app).run(job())
    assert app.live.tracks["team"] == [release(6)]


def test_a_refusal_deletes_the_edit_and_leaves_nothing() -> None:
    app = play()
    app.fail(CREATE, refused(403, "The caller does not have permission", "forbidden"))
    with pytest.raises(UploaderError, match="permission"):
        Engine(app).run(job())
    assert (app.uploads, app.edits, app.commits) == ([], {}, [])


@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_is_killed_at_any_moment_is_finished_by_the_next(
    *, after: bool
) -> None:
    """One commit, one track, one release, wherever the first run ended."""
    moments = 1
    while True:
        app, journal = play(), dict[str, str]()
        engine = Engine(app, journal)
        engine.kill_at, engine.kill_after_effect = moments, after
        try:
            engine.run(job(testers=("qa@example.com",), tester_tracks=("team",)))
        except Killed:
            pass
        else:
            break
        again = Engine(app, journal)
        again.run(job(testers=("qa@example.com",), tester_tracks=("team",)))
        assert app.live.tracks["team"] == [release(6)], moments
        assert app.live.testers == {"team": ["qa@example.com"]}, moments
        assert len(app.commits) == 1, moments
        moments += 1
    assert moments > 15


@pytest.mark.parametrize("kind", ["lose the edit", "refuse"])
def test_a_failure_at_any_call_never_commits_half_of_it(kind: str) -> None:
    """A lost edit is replaced, and the track created anew in it; a refusal ends the run."""
    calls = play()
    Engine(calls).run(job())
    for name in dict.fromkeys(calls.calls):
        app, journal = play(), dict[str, str]()
        if kind == "refuse":
            app.fail(name, refused(400, "No.", "badRequest"))
        else:
            app.fail(
                name,
                refused(404, "This Edit has been deleted."),
                effect=app.close_edits,
            )
        try:
            Engine(app, journal).run(job())
        except (ApiError, ReleaseRefused):
            assert not app.commits, name
            assert "team" not in app.live.tracks, name
            Engine(app, journal).run(job())
        assert app.live.tracks["team"] == [release(6)], name
        assert len(app.commits) == 1, name


def test_the_internal_track_of_watches_needs_no_creation() -> None:
    """Every app with a watch has `wear:qa`. Like `internal` it has no groups of testers."""
    watch = play()
    watch.closed_tracks = {"wear:qa"}
    Engine(watch).run(job("wear:qa"))
    assert watch.live.tracks["wear:qa"] == [release(6)]
    assert watch.count(CREATE) == 0
    assert testers.closed_tracks(("wear:qa", "qa", "wear:alpha")) == (
        "qa",
        "wear:alpha",
    )
