"""Several apps in one run: under whose name its lines and its errors are told."""

from __future__ import annotations

import pytest

from tests.support.fake_play import Play, artifact
from tests.support.play_driver import Engine, release_job
from tests.support.recording_context import RecordingContext
from uploader.errors import Interrupted, ReleaseRefused, UploaderError
from uploader.services.play.edit_lifecycle import ReleaseEdit, insert_edit
from uploader.services.play.several_apps import App, SeveralApps

APP = "com.example"
OTHER = "com.example.beta"  # whose name begins with that of the first


def two_apps(context: RecordingContext) -> SeveralApps:
    """A run about two apps, the name of one of which begins with that of the other."""
    return SeveralApps((APP, OTHER), (), context, commits=True)


def test_a_warning_is_told_under_the_name_of_its_app() -> None:
    """Also one whose text begins with the name of another app."""
    context = RecordingContext()
    app = two_apps(context).apps[0]
    app.warning("no release is there.")
    app.warning(f"{OTHER} has the same notes.")
    assert context.warnings == [
        f"{APP}: no release is there.",
        f"{APP}: {OTHER} has the same notes.",
    ]


@pytest.mark.parametrize("several", [False, True], ids=["one-app", "several-apps"])
def test_a_warning_about_an_app_names_it_once(several: bool) -> None:
    engine = Engine(Play())
    run = two_apps(engine)
    context: App | Engine = run.apps[0] if several else engine
    job = release_job(artifact(2), apps_in_run=2 if several else 1)
    edit: ReleaseEdit = insert_edit(job, context)
    edit.warn_about_app("send it for review.")
    name = APP if several else job.package
    assert engine.warnings == [f"{name}: send it for review."]


def failed_with(error: UploaderError) -> UploaderError:
    """What a run ends with whose first app has failed."""
    run = two_apps(RecordingContext())

    def fail() -> None:
        raise error

    run.do_together({run.apps[0]: fail})
    with pytest.raises(UploaderError) as caught:
        run.end("Both apps are committed.")
    return caught.value


def test_the_error_of_an_app_is_told_under_its_name() -> None:
    """Also where its text has the name of an app that begins with this one's."""
    error = failed_with(ReleaseRefused(f"The track has a release of {OTHER}."))
    assert error.what == f"{APP}: The track has a release of {OTHER}."


def test_a_signal_is_about_no_app() -> None:
    assert failed_with(Interrupted(15)).what == "The job was cancelled (SIGTERM)."
