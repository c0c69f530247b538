"""Several apps in one run: all are committed or none, the next run finishes, and every word about
each app is true.
"""

from __future__ import annotations

import html
import json
import re
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.fake_play import BY_HAND
from tests.support.job import Ended, Job
from tests.support.recording_context import RecordingContext
from uploader.retry import FIRST_POLL
from uploader.services.play.several_apps import App, SeveralApps

APPS = ("com.example.phone", "com.example.watch", "com.example.tv")
RELEASE = {
    "target": "play",
    "tracks": "internal",
    "files": "*.aab",
    "package-name": "\n".join(APPS),
}
MAPPING = "com.example.Shop -> a.a:\n    int price -> a\n"


@pytest.fixture
def job(job: Job) -> Job:
    """A workspace with a bundle of each app, whose files are in another order than the names."""
    for name, code, app in (("1-tv", 44, 2), ("2-phone", 42, 0), ("3-watch", 43, 1)):
        specimens.make_bundle(
            job.workspace / f"{name}.aab", APPS[app], code, "1.0", size_bytes=300_000
        )
    return job


def live(job: Job) -> list[str]:
    """The apps that have something on the track."""
    return [
        name
        for name in APPS
        if job.emulator.state()["tracks"].get(name, {}).get("internal")
    ]


def commits(job: Job) -> list[str]:
    """The apps in the order of their commits."""
    paths = (request.path.partition("?")[0] for request in job.emulator.requests)
    return [path.split("/")[4] for path in paths if path.endswith(":commit")]


def apps(ended: Ended) -> dict[str, dict[str, Any]]:
    """The output `apps`."""
    found: dict[str, dict[str, Any]] = json.loads(ended.outputs["apps"])
    return found


def uploads(job: Job) -> list[str]:
    """The digests of the bundles that the emulator was given."""
    return [
        item["sha256"]
        for item in job.emulator.state()["objects"]
        if "/bundles" in item["path"]
    ]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_all_apps_are_committed_in_the_order_of_their_names(
    job: Job, kind: str
) -> None:
    """The outputs about files are in the order of `files`, those about apps by package, and the
    summary has a table.
    """
    job = Job(job.workspace, job.emulator, kind)
    ended = job.succeed(RELEASE)
    assert commits(job) == list(APPS)
    assert live(job) == list(APPS)
    # GitLab has no summary
    assert re.search(
        r"^com.example.tv +1.0 \(44\) +empty +✅ all users of internal +sent$",
        ended.log,
        re.MULTILINE,
    )
    if kind == "gitlab":
        report = (job.workspace / "uploader.env").read_text()
        assert "UPLOADER_COMMITTED=true\n" in report
        assert "UPLOADER_APPS={" in report
        return
    assert (ended.outputs["version-codes"], ended.outputs["ids"]) == (
        "44,42,43",
        "44,42,43",
    )
    assert (ended.outputs["committed"], ended.outputs["version-code"]) == ("true", "44")
    assert {
        name: (app["committed"], app["version-codes"], app["failure"])
        for name, app in apps(ended).items()
    } == {
        "com.example.phone": (True, ["42"], ""),
        "com.example.watch": (True, ["43"], ""),
        "com.example.tv": (True, ["44"], ""),
    }
    assert list(json.loads(ended.outputs["status"])) == list(APPS)
    assert [Path(result["path"]).name for result in ended.results] == [
        "2-phone.aab",
        "3-watch.aab",
        "1-tv.aab",
    ]
    assert ended.log.count("Acting as") == 1
    assert (
        "| com.example.tv | 1.0 (44) | empty | ✅ all users of internal |"
        in html.unescape(ended.summary)
    )


def test_a_refusal_before_the_first_commit_publishes_nothing(job: Job) -> None:
    """What Google Play refuses of one app deletes the edits of all, and each app's fate is told
    in the order of `package-name`.
    """
    job.emulator.add_fault("play.edits.validate", "status", status=400, nth=2)
    ended = job.fail(4, RELEASE)
    assert (live(job), commits(job), job.emulator.state()["edits"]["open"]) == (
        [],
        [],
        [],
    )
    failed = [name for name, app in apps(ended).items() if app["failure"]]
    assert len(failed) == 1
    assert not any(
        app["committed"] or app["edit-id"] or app["version-codes"]
        for app in apps(ended).values()
    )
    assert (ended.outputs["committed"], ended.outputs.get("ids", "")) == ("false", "")
    assert (
        f"Not committed by this run, and no edit is kept: {', '.join(APPS)}."
        in ended.log
    )
    rows = [
        line for line in ended.summary.splitlines() if line.startswith("| com.example.")
    ]
    assert [row.split()[1] for row in rows] == list(APPS)
    states = {row.split()[1]: html.unescape(row).split(" | ")[3] for row in rows}
    assert [name for name, state in states.items() if state.startswith("❌")] == failed
    assert all(result["error"] and not result["id"] for result in ended.results)


@pytest.mark.parametrize("more", [{}, {"dry-run": "true"}], ids=["release", "dry-run"])
def test_a_review_that_is_left_to_people_ends_the_run_before_its_first_commit(
    job: Job, more: dict[str, str]
) -> None:
    """With `changes-not-sent-for-review: false` what the validation announces is final; with `auto`
    all apps are committed.
    """
    job.emulator.add_fault(
        "play.edits.validate", "status", status=400, message=BY_HAND, nth=2
    )
    ended = job.fail(4, {**RELEASE, **more, "changes-not-sent-for-review": "false"})
    assert (live(job), commits(job), job.emulator.state()["edits"]["open"]) == (
        [],
        [],
        [],
    )
    assert (ended.outputs["failure"], ended.outputs["committed"]) == (
        "review-by-hand",
        "false",
    )
    job.emulator.add_fault(
        "play.edits.validate", "status", status=400, message=BY_HAND, nth=2
    )
    job.succeed({**RELEASE, **more})


def test_what_fails_between_two_commits_is_finished_by_the_next_run(job: Job) -> None:
    """The first app stays committed, the edits of the others are kept, and nothing is sent or
    committed twice.
    """
    job.emulator.add_fault("play.edits.commit", "status", status=403, nth=2)
    ended = job.run(RELEASE)
    assert ended.code in (3, 4), ended.log
    assert live(job) == ["com.example.phone"]
    assert [app["committed"] for app in apps(ended).values()] == [True, False, False]
    assert ended.summary.startswith(f"## ❌ 1 of 3 apps is live, {APPS[1]} failed\n")
    kept = [app["edit-id"] for app in list(apps(ended).values())[1:]]
    assert sorted(kept) == sorted(
        edit["id"] for edit in job.emulator.state()["edits"]["open"]
    )
    assert (
        f"Committed: {APPS[0]}. Not committed by this run, and their edits are kept: {APPS[1]}, "
        f"{APPS[2]}."
    ) in ended.log
    edits = {name: app["edit-id"] for name, app in apps(ended).items()}
    assert (
        f"Edit {edits[APPS[1]]} of {APPS[1]} is kept with everything in it" in ended.log
    )
    (row,) = [
        line for line in ended.summary.splitlines() if line.startswith(f"| {APPS[2]} ")
    ]
    assert f"not tried: {APPS[1]} failed" in row
    again = job.succeed(RELEASE)
    assert commits(job) == [
        "com.example.phone",
        "com.example.watch",
        "com.example.watch",
        "com.example.tv",
    ]
    assert (
        again.outputs["bytes-uploaded"],
        again.outputs["committed"],
        len(uploads(job)),
    ) == (
        "0",
        "true",
        3,
    )
    assert (ended.outputs["sent-for-review"], again.outputs["sent-for-review"]) == (
        "true",
        "true",
    )


@pytest.mark.parametrize(
    ("more", "fate"),
    [({}, "sent for review"), ({"wait-for": "published"}, "committed")],
    ids=["sent", "to-be-waited-for"],
)
def test_an_app_whose_review_is_pending_is_not_called_live(
    job: Job, more: dict[str, str], fate: str
) -> None:
    """Users of production get it only once Google has reviewed it."""
    for name in APPS:
        job.emulator.console.add_release(name, "production", {"versionCodes": ["7"]})
    words = "This app has a policy issue."
    job.emulator.add_fault(
        "play.edits.commit", "status", status=403, message=words, nth=2
    )
    ended = job.run({**RELEASE, "tracks": "production", **more})
    assert ended.summary.startswith(f"## ❌ 1 of 3 apps is {fate}, {APPS[1]} failed\n")
    assert f"**Google says ({APPS[1]}):** {words}\n" in ended.summary
    assert "Likely cause" not in ended.summary


@pytest.mark.parametrize(
    "change", [{"user-fraction": "0.5"}, {"status": "halted"}], ids=["wider", "halted"]
)
def test_an_app_whose_release_has_gone_on_does_not_stop_the_others(
    job: Job, change: dict[str, str]
) -> None:
    """The first run ended after its first commit, and that app's rollout went on meanwhile: the
    next run commits the rest.
    """
    staged = {**RELEASE, "tracks": "production", "user-fraction": "0.1"}
    for name in APPS:
        job.emulator.console.add_release(name, "production", {"versionCodes": ["7"]})
    job.emulator.add_fault("play.edits.commit", "status", status=403, nth=2)
    assert job.run(staged).code in (3, 4)
    job.succeed(
        {"target": "play", "package-name": APPS[0], "tracks": "production", **change}
    )
    ended = job.succeed(staged)
    on_track = {
        name: job.emulator.state()["tracks"][name]["production"][0] for name in APPS
    }
    first = on_track[APPS[0]]
    assert (first["status"], first["userFraction"]) == (
        ("halted", 0.1) if "status" in change else ("inProgress", 0.5)
    )
    assert [
        (on_track[name]["status"], on_track[name]["userFraction"]) for name in APPS[1:]
    ] == [("inProgress", 0.1)] * 2
    assert (ended.outputs["committed"], ended.outputs["bytes-uploaded"]) == (
        "true",
        "0",
    )
    told = (
        "is halted at 10 % on production, and stays halted"
        if "status" in change
        else "has progressed since: 50 % of users"
    )
    assert told in next(
        line for line in ended.summary.splitlines() if line.startswith(f"| {APPS[0]} ")
    )


def test_apps_that_can_t_be_looked_at_are_not_said_to_be_uncommitted(job: Job) -> None:
    """The first app is committed and the commit of the second in doubt; the next run may look at
    nothing at all.
    """
    job.emulator.add_fault(
        "play.edits.commit", "status-after-effect", status=503, nth=2
    )
    job.fail(75, {**RELEASE, "max-retries": "0"})
    key = {**job.emulator.key, "token_uri": "http://127.0.0.1:9/token"}
    ended = job.fail(
        75, {**RELEASE, "credentials": json.dumps(key), "max-retries": "0"}
    )
    assert (
        ended.outputs["committed"],
        [app["committed"] for app in apps(ended).values()],
    ) == (
        "",
        [None] * 3,
    )
    assert f"Perhaps committed: {APPS[1]}." in ended.log
    assert ended.summary.startswith("## ❌ Perhaps released: ")
    again = job.succeed(RELEASE)
    assert (commits(job), again.outputs["committed"]) == (list(APPS), "true")


@pytest.mark.parametrize("status", [403, 404])
def test_an_app_that_google_play_refuses_is_named_as_the_cause(
    job: Job, status: int
) -> None:
    """No commit was sent for any app, so none is perhaps released. Whether an earlier run has
    committed one was not looked at.
    """
    refusal = {"status": status, "message": "The caller does not have permission"}
    job.emulator.add_fault("play.edits.insert", "status", **refusal)
    ended = job.run(RELEASE)
    assert ended.code in (3, 4), ended.log
    (refused,) = [name for name, app in apps(ended).items() if app["failure"]]
    assert f"Not released: {refused}: " in ended.summary.splitlines()[0]
    assert ended.outputs["committed"] != "true"
    assert commits(job) == []


def test_an_app_that_was_built_again_begins_anew_alone(job: Job) -> None:
    """After a stopped run its edit is replaced; those of the others are continued, and their files
    not sent again.
    """
    job.emulator.add_fault("play.edits.validate", "status", status=503, nth=3)
    kept = apps(job.fail(75, {**RELEASE, "max-retries": "0"}))
    specimens.make_bundle(
        job.workspace / "3-watch.aab", APPS[1], 43, "1.0", size_bytes=310_000
    )
    again = apps(job.succeed(RELEASE))
    same = [again[name]["edit-id"] == kept[name]["edit-id"] for name in APPS]
    assert (same, commits(job), len(uploads(job))) == (
        [True, False, True],
        list(APPS),
        4,
    )


def test_the_last_line_names_each_app_whose_release_was_kept_from_its_users(
    job: Job,
) -> None:
    halted = {"versionCodes": ["6"], "status": "halted", "userFraction": 0.1}
    for name in APPS:
        job.emulator.console.add_release(name, "production", halted)
    ended = job.succeed(
        {
            "target": "play",
            "package-name": ",".join(APPS),
            "tracks": "production",
            "status": "completed",
        }
    )
    last = ended.last_line
    assert last.startswith("All 3 apps are committed.")
    assert all(f"{name}: 6 was halted on production." in last for name in APPS)


def test_a_temporary_failure_keeps_every_edit(job: Job) -> None:
    """After 75 nothing is published, and the next run goes on in all of the edits without sending a
    file again.
    """
    job.emulator.add_fault("play.edits.validate", "status", status=503, nth=3)
    ended = job.run({**RELEASE, "max-retries": "0"})
    assert (ended.code, live(job), commits(job)) == (75, [], []), ended.log
    kept = {app["edit-id"] for app in apps(ended).values()}
    again = job.succeed(RELEASE)
    assert {app["edit-id"] for app in apps(again).values()} == kept
    assert again.outputs["bytes-uploaded"] == "0"


def test_an_edit_that_can_t_be_looked_at_is_not_replaced(job: Job) -> None:
    """Neither an edit nor an upload is begun, and the edits that are open are told."""
    # At the third validation every app has an edit that is kept.
    job.emulator.add_fault("play.edits.validate", "status", status=503, nth=3)
    assert job.run({**RELEASE, "max-retries": "0"}).code == 75
    job.emulator.add_fault("play.edits.get", "status", status=403, times=len(APPS))
    before = len(job.emulator.requests)
    other = job.run({**RELEASE, "tracks": "alpha"})
    assert other.code in (3, 4), other.log
    sent = [
        request
        for request in job.emulator.requests[before:]
        if request.method == "POST"
    ]
    assert [request.path for request in sent if "/applications/" in request.path] == []
    # those that it did not come to, as well
    left = {edit["id"] for edit in job.emulator.state()["edits"]["open"]}
    assert left == {app["edit-id"] for app in apps(other).values()} - {""}
    assert "could not be deleted" not in other.log


def test_after_a_refused_upload_no_other_is_sent(job: Job) -> None:
    """A refused edit leaves nothing to send, either, and nobody has seen what is committed of the
    apps.
    """
    job.emulator.add_fault("play.bundles.upload", "status", status=400)
    assert job.run({**RELEASE, "concurrency": "1"}).code == 4
    assert uploads(job) == []
    job.emulator.add_fault("play.edits.insert", "status", status=400)
    first = job.run({**RELEASE, "concurrency": "1"})
    assert (first.code, first.outputs["committed"]) == (4, ""), first.log
    assert uploads(job) == []


def test_a_version_code_that_an_apk_has_taken_ends_the_run(job: Job) -> None:
    """Several apps do not ask for the APKs of each before the upload; only a refused upload makes
    the run list those of its app.
    """
    folder = job.workspace.parent / "older"
    folder.mkdir()
    specimens.make_apk(folder / "app.apk", APPS[1], 43, "0.9")
    older = Job(folder, job.emulator)
    older.succeed({**RELEASE, "package-name": APPS[1], "files": "app.apk"})
    listed = job.emulator.state()["requests"]["play.apks.list"]
    ended = job.fail(4, RELEASE)
    assert f"{APPS[1]}: Google Play already has version code 43 with different" in (
        ended.log
    )
    assert job.emulator.state()["requests"]["play.apks.list"] == listed + 1
    assert commits(job) == [APPS[1]]
    assert live(job) == [APPS[1]]


def test_an_edit_that_can_not_be_replaced_is_not_said_to_be_kept(job: Job) -> None:
    """Somebody closes the edit of one app, and Google Play refuses another: nothing of that app is
    left.
    """
    job.emulator.add_fault("play.edits.validate", "lose-edit", nth=2)
    job.emulator.add_fault("play.edits.insert", "status", status=400, nth=4)
    ended = job.run(RELEASE)
    assert (ended.code, job.emulator.state()["edits"]["open"]) == (4, []), ended.log
    assert not any(
        app["edit-id"] or app["version-codes"] for app in apps(ended).values()
    )
    assert (
        f"Not committed by this run, and no edit is kept: {', '.join(APPS)}."
        in ended.log
    )
    assert all(result["error"] and not result["id"] for result in ended.results)


def test_a_bundle_that_is_sent_again_beside_an_image_is_no_defect(job: Job) -> None:
    """An edit that is closed during its upload, while another app's images are sent: all is
    released.
    """
    listing = job.workspace / "listing" / APPS[1] / "en-US"
    for name in (
        "icon",
        "phoneScreenshots/1",
        "phoneScreenshots/2",
        "sevenInchScreenshots/1",
        "tenInchScreenshots/1",
    ):
        (path := listing / "images" / f"{name}.png").parent.mkdir(
            parents=True, exist_ok=True
        )
        specimens.make_image(
            path,
            *((512, 512) if name == "icon" else (1080, 1920)),
            alpha=name == "icon",
        )
    for name in (APPS[0], APPS[2]):
        (job.workspace / "listing" / name / "en-US").mkdir(parents=True)
        (job.workspace / "listing" / name / "en-US" / "title.txt").write_text("Title")
    job.emulator.add_fault("play.bundles.upload", "lose-edit")
    ended = job.run(
        {**RELEASE, "images-directory": "listing/{package}", "concurrency": "1"}
    )
    assert (ended.code, live(job)) == (0, list(APPS)), ended.log
    assert len(ended.results) == 8


@pytest.mark.slow
def test_without_a_journal_the_next_run_commits_the_rest_as_well(job: Job) -> None:
    """Where nothing can be kept, what is committed is told, and a new run finds it done."""
    job.emulator.add_fault("play.edits.commit", "status", status=400, nth=2)
    nowhere = {"RUNNER_TEMP": "/proc/nowhere", "HOME": "/proc/nowhere"}
    ended = job.run(RELEASE, **nowhere)
    assert "Committed: com.example.phone." in ended.log
    assert "in a run of this app alone to continue in it" in ended.log
    assert job.run(RELEASE, **nowhere).code == 0
    assert live(job) == list(APPS)
    assert commits(job).count("com.example.phone") == 1


def test_all_mistakes_are_reported_together(job: Job) -> None:
    """An app without a file, a file of another app, and inputs that can't serve several; nothing is
    sent.
    """
    (job.workspace / "mapping.txt").write_text(MAPPING)
    wrong = {
        "package-name": "com.example.phone, com.example.tv, com.example.car",
        "existing-edit-id": "7",
        "universal-apk": "universal.apk",
        "mapping-file": "mapping.txt",
        "whats-new-directory": "notes/{flavour}",
    }
    ended = job.run({**RELEASE, **wrong})
    assert (ended.code, job.emulator.requests) == (2, [])
    assert "notes/{flavour} is not a folder" in ended.log
    # one mistake of all apps is told once
    assert "has no release notes" not in ended.log
    for words in (
        "3-watch.aab belongs to com.example.watch, which `package-name` does not name",
        "none of the files belongs to com.example.car",
        "existing-edit-id: is about one app",
        "universal-apk: is one place for the APKs of several apps",
        "mapping.txt belongs to one artifact, and is named for com.example.phone, com.example.tv",
    ):
        assert words in ended.log
    (one_app := {**RELEASE}).pop("package-name")
    specimens.make_bundle(job.workspace / "3-watch.aab", "com.example.watch", 42, "1.0")
    unnamed = job.run(one_app).log
    assert "or the names of all in `package-name`" in unnamed
    assert "version code 42 occurs" not in unnamed  # apps may share one
    spaced = job.run({**RELEASE, "package-name": " ".join(APPS)}).log
    assert "with a comma between two apps" in spaced


def test_each_app_has_its_own_files(job: Job) -> None:
    """`{package}` in a path is the app's name: its notes reach its track, and one that is missing
    is a mistake.
    """
    for name in APPS[:2]:
        (job.workspace / "notes" / name).mkdir(parents=True)
        (job.workspace / "notes" / name / "whatsnew-en-US").write_text(
            f"News of {name}"
        )
        (job.workspace / f"{name}.txt").write_text(MAPPING)
    own = {"whats-new-directory": "notes/{package}", "mapping-file": "{package}.txt"}
    missing = job.run({**RELEASE, **own})
    assert (missing.code, job.emulator.requests) == (2, []), missing.log
    assert "notes/com.example.tv" in missing.log
    assert "com.example.tv.txt" in missing.log
    (job.workspace / "1-tv.aab").unlink()
    ended = job.succeed({**RELEASE, **own, "package-name": ",".join(APPS[:2])})
    tracks = job.emulator.state()["tracks"]
    for name in APPS[:2]:
        (release,) = tracks[name]["internal"]
        assert release["releaseNotes"] == [
            {"language": "en-US", "text": f"News of {name}"}
        ]
    assert [
        result["path"] for result in ended.results if result["path"].endswith(".txt")
    ]


def test_a_dry_run_and_a_rehearsal_are_about_all(job: Job) -> None:
    """The plan has an object for each app, nothing is published, and no edit is left."""
    ended = job.succeed({**RELEASE, "dry-run": "true"})
    plan = json.loads(ended.outputs["plan"])
    assert {
        name: one["tracks"][0]["after"][0]["version_codes"]
        for name, one in plan.items()
    } == {
        "com.example.phone": ["42"],
        "com.example.watch": ["43"],
        "com.example.tv": ["44"],
    }
    assert (commits(job), job.emulator.state()["edits"]["open"]) == ([], [])
    rehearsed = job.succeed(
        {**RELEASE, "api-endpoint": "emulator", "wait-for": "published"}
    )
    assert (
        rehearsed.outputs["committed"],
        {app["committed"] for app in apps(rehearsed).values()},
    ) == (
        "false",
        {False},
    )
    assert all(f"{name} live: " in rehearsed.log for name in APPS)


def test_a_wait_is_for_all(job: Job) -> None:
    """A review that is through for two apps of three is waited for; then the run says which one is
    missing.
    """
    with Emulator(config={"lifecycle": {"com.example.tv": ["IN_REVIEW"]}}) as emulator:
        job = Job(job.workspace, emulator)
        ended = job.run({**RELEASE, "wait-for": "published", "wait-deadline": "0s"})
        assert (live(job), ended.code) == (list(APPS), 75), ended.log
    assert ended.outputs["committed"] == "true"
    assert [app["failure"] for app in apps(ended).values()] == [
        "",
        "",
        "review-pending",
    ]
    assert "com.example.tv: The release is not published" in ended.log
    states = {"com.example.tv": ["NOT_APPROVED"], "com.example.watch": ["IN_REVIEW"]}
    # a rejection is worse than a wait, whoever comes first
    with Emulator(config={"lifecycle": states}) as emulator:
        ended = Job(job.workspace, emulator).run(
            {**RELEASE, "wait-for": "published", "wait-deadline": "0s"}
        )
    assert (ended.code, ended.outputs["failure"]) == (6, "review-rejected"), ended.log


def test_a_status_looks_at_every_app(job: Job) -> None:
    """One that can't be looked at ends the run with its failure, and keeps nobody from the
    others.
    """
    assert job.run(RELEASE).code == 0
    look = {"target": "play-status", "package-name": RELEASE["package-name"]}
    ended = job.succeed(look)
    assert {app["committed"] for app in apps(ended).values()} == {None}
    found = json.loads(ended.outputs["status"])
    assert {
        name: one["internal"]["releases"][0]["versionCodes"]
        for name, one in found.items()
    } == {
        "com.example.phone": ["42"],
        "com.example.watch": ["43"],
        "com.example.tv": ["44"],
    }
    job.emulator.add_fault(
        "play.applications.tracks.releases.list", "status", status=400
    )
    refused = job.fail(4, {**look, "tracks": "internal"})
    assert len(json.loads(refused.outputs["status"])) == 2
    assert [bool(app["failure"]) for app in apps(refused).values()].count(True) == 1
    assert refused.summary.count("### Tracks: ") == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one edit an app", "an edit of somebody else"])
def test_an_edit_that_is_closed_by_another_is_begun_anew(job: Job, kind: str) -> None:
    """An edit that somebody closes costs a fresh edit of its app alone. A server that keeps only
    one edit of each app closes none.
    """
    with Emulator(config={"one_edit_per_app": True}) as emulator:
        job = Job(job.workspace, emulator)
        if kind == "an edit of somebody else":
            emulator.add_fault("play.edits.commit", "lose-edit", nth=2)
        job.succeed(RELEASE)
        assert live(job) == list(APPS)
        begun = emulator.state()["requests"]["play.edits.insert"]
        assert begun == len(APPS) + (kind == "an edit of somebody else")


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_call_is_finished_by_the_next(
    job: Job, tmp_path: Path
) -> None:
    """SIGKILL when the n-th request has arrived, for each n: nothing is taken twice, and all is
    committed.
    """
    assert job.run(RELEASE).code == 0
    for number in range(1, len(job.emulator.requests) + 1):
        with Emulator() as emulator:
            killed = Job(job.workspace, emulator)
            running = killed.start(RELEASE, RUNNER_TEMP=str(tmp_path / str(number)))
            while running.child.poll() is None and len(emulator.requests) < number:
                time.sleep(0.0005)
            before = commits(killed)
            running.send(signal.SIGKILL).end()
            assert before == list(APPS[: len(before)])
            killed.succeed(RELEASE, RUNNER_TEMP=str(tmp_path / str(number)))
            assert live(killed) == list(APPS)
            assert len(emulator.state()["edits"]["committed"]) == 3
            assert len(set(uploads(killed))) == 3
            assert max(map(uploads(killed).count, uploads(killed))) == 1


@pytest.mark.slow
def test_a_hundred_apps_take_less_than_a_third_of_a_hundred_runs(job: Job) -> None:
    """Bundles of 2 MiB at 50 ms; on a quiet machine it is a tenth. Hardly more memory than for
    fifty.
    """
    job.emulator.add_fault("any", "slow-answer", seconds=0.05, times=10**9)
    names = [f"com.example.app{number}" for number in range(100)]
    for number, name in enumerate(names):
        path = job.workspace / "all" / f"{number:03}.aab"
        path.parent.mkdir(exist_ok=True)
        specimens.make_bundle(path, name, 42, "1.0", size_bytes=(2 << 20) + number)
    taken, peak = [], []
    for count in (1, 50, 100):
        files = "\n".join(f"all/{number:03}.aab" for number in range(count))
        began = time.monotonic()
        release = {
            **RELEASE,
            "files": files,
            "package-name": "\n".join(names[:count]),
            "tracks": f"t{count}",
        }
        ended = replace(job, fresh=True).succeed(release)
        taken.append(time.monotonic() - began)
        peak.append(ended.peak)
    assert taken[2] < 100 * taken[0] / 3
    assert peak[2] < 1.15 * peak[1]


def test_each_app_gets_the_tracks_for_its_devices(job: Job) -> None:
    """A phone app never comes to a track for watches, nor a watch app to one for phones where it
    has its own.
    """
    watch = specimens.Build(features={"android.hardware.type.watch": True})
    specimens.make_bundle(
        job.workspace / "3-watch.aab", APPS[1], 43, "1.0", build=watch
    )
    job.succeed({**RELEASE, "tracks": "production, wear:production"})
    tracks = job.emulator.state()["tracks"]
    found = {
        name: [track for track, releases in tracks[name].items() if releases]
        for name in APPS
    }
    assert list(found.values()) == [["production"], ["wear:production"], ["production"]]
    nowhere = job.run(
        {**RELEASE, "tracks": "production, wear:production, tv:production"}
    )
    assert (nowhere.code, nowhere.outputs["failure"]) == (2, "form-factor-differs")
    assert "tracks: tv:production fits none of the apps" in nowhere.log


def test_the_line_of_a_wait_says_which_app_is_waited_for() -> None:
    """Several apps wait at the same time, and the log tells them apart."""
    whole = Waiting()
    run = SeveralApps(("com.example.a", "com.example.b"), (), whole, commits=False)

    def wait(app: App) -> None:
        app.backoff().wait("the edit is busy")
        app.poll(60).wait("not published")

    run.do_together({app: partial(wait, app) for app in run.apps})
    assert whole.waited == [
        "the edit is busy, for com.example.a",
        "not published, for com.example.a",
        "the edit is busy, for com.example.b",
        "not published, for com.example.b",
    ]


class Waiting(RecordingContext):
    """A context that writes down what is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[str] = []

    def backoff(self) -> Any:
        return self

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Any:
        del seconds, first
        return self

    left = 60.0  # seconds

    def wait(self, why: str) -> bool:
        self.waited.append(why)
        return True


def test_a_slow_answer_to_one_app_holds_no_other(job: Job) -> None:
    """Each app is staged at its own pace: the others are validated before the slow one has an edit
    to work in. Nothing is committed before all are.
    """
    job.emulator.add_fault("play.edits.insert", "slow-answer", seconds=1.5)
    job.succeed(RELEASE)
    steps = [
        (request.path.split("/")[4], request.path.partition("?")[0].rpartition(":")[2])
        for request in job.emulator.requests
        if "/edits/" in request.path
    ]
    last = [app for app, step in steps if step == "validate"][-1]
    begun = next(number for number, (app, _) in enumerate(steps) if app == last)
    validated = [app for app, step in steps[:begun] if step == "validate"]
    assert sorted([*validated, last]) == sorted(APPS)
    assert commits(job) == list(APPS)


def test_a_retry_says_which_app_it_is_about(job: Job) -> None:
    """Several apps meet the same refusal at the same time."""
    job.emulator.add_fault("play.edits.validate", "status", status=503)
    ended = job.succeed(RELEASE)
    retry = r"com\.example\.\w+: the validation of edit \d+: The server answered 503"
    assert re.search(retry, ended.log), ended.log
