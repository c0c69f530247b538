"""A release from the environment to the committed edit, through the real entrypoint, as a CI job
runs it.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.platforms import workflow_commands
from tests.support.real_artifacts import real_apk
from tests.support.transfer_harness import FakeTime

MIB = 1024 * 1024
SIZE = 5 * MIB + 12345  # bytes: six chunks of 1 MiB, the last of them short
PLAY = {"target": "play", "files": "*.a*", "tracks": "internal"}


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(
        job.workspace / "app.aab", "com.example.app", 42, "1.0", size_bytes=SIZE
    )
    return job


def stored(job: Job) -> list[tuple[int, str]]:
    """Size and sha256 of everything that the emulator holds."""
    return [(item["size"], item["sha256"]) for item in job.emulator.state()["objects"]]


def file(path: Path) -> tuple[int, str]:
    """Size and sha256 of a file."""
    return path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()


def fired(job: Job) -> list[str]:
    """The faults that happened."""
    return [receipt["do"] for receipt in job.emulator.state()["faults"]["fired"]]


def test_a_bundle_travels_to_a_committed_release(job: Job) -> None:
    """The bundle is stored byte for byte, its version code is on the track, the edit is committed,
    the ids are out.
    """
    ended = job.run({**PLAY, "release-name": "One"})
    state = job.emulator.state()
    assert ended.code == 0, ended.log
    assert stored(job) == [file(job.workspace / "app.aab")]
    assert (
        ended.outputs["version-codes"]
        == ended.outputs["version-code"]
        == ended.outputs["id"]
        == "42"
    )
    assert ended.outputs["committed"] == "true"
    assert ended.outputs["edit-id"] == state["edits"]["committed"][0]["id"]
    assert ended.outputs["bytes-uploaded"] == str(SIZE)
    assert (
        ended.outputs["bytes-resent"],
        ended.outputs["attempts"],
        ended.outputs["resumed"],
    ) == (
        "0",
        "1",
        "false",
    )
    assert "One" in json.dumps(state["tracks"])


@pytest.mark.slow
def test_the_real_apk_survives_a_503_a_reset_and_a_partial_store(job: Job) -> None:
    """An APK that nobody here made arrives whole, with at most two chunks sent again. It is a debug
    build, which only internal app sharing takes.
    """
    apk = real_apk()
    (job.workspace / "app.aab").unlink()
    (job.workspace / "server.apk").symlink_to(apk)
    on = "play.internalappsharingartifacts.uploadapk+resumable.put"
    job.emulator.add_fault(on, "status", status=503, nth=3, after=500_000)
    job.emulator.add_fault(on, "reset", nth=5, after=500_000)
    job.emulator.add_fault(on, "short-store", nth=7, stored=512 * 1024)
    sharing = {"target": "play-internal-sharing", "files": "*.apk"}
    ended = job.succeed(
        {**sharing, "chunk-size": "1MiB", "allow-outside-workspace": "true"}
    )
    assert fired(job) == ["status", "reset", "short-store"]
    assert stored(job) == [file(apk)]
    assert ended.results[0]["sha256"] == file(apk)[1]
    assert int(ended.outputs["bytes-resent"]) <= 2 * MIB


FAULTS: dict[str, dict[str, Any]] = {
    "status 500 at once": {"on": "resumable.put", "do": "status", "status": 500},
    "status 502 after bytes": {
        "on": "resumable.put",
        "do": "status",
        "status": 502,
        "after": 700_000,
        "nth": 2,
    },
    "status 429 with Retry-After": {
        "on": "resumable.put",
        "do": "status",
        "status": 429,
        "retry_after": 1,
    },
    "status 408": {"on": "resumable.put", "do": "status", "status": 408, "nth": 3},
    "rate limit 403": {
        "on": "resumable.put",
        "do": "status",
        "status": 403,
        "reason": "rateLimitExceeded",
    },
    "start refused for now": {"on": "resumable.start", "do": "status", "status": 503},
    "connection reset after bytes": {
        "on": "resumable.put",
        "do": "reset",
        "after": 600_000,
        "nth": 2,
    },
    "fewer bytes stored than sent": {
        "on": "resumable.put",
        "do": "short-store",
        "stored": 262_144,
        "nth": 2,
    },
    "308 without Range": {"on": "resumable.put", "do": "no-range", "nth": 2},
    "answer lost after completion": {"on": "resumable.final", "do": "answer-lost"},
    "error after completion": {
        "on": "resumable.final",
        "do": "status-after-effect",
        "status": 503,
    },
    "stall": {"on": "resumable.put", "do": "stall", "after": 300_000, "seconds": 3},
    "slow answer to the last byte": {
        "on": "resumable.final",
        "do": "slow-answer",
        "seconds": 3,
    },
    "session lost 404": {"on": "resumable.put", "do": "session-lost", "nth": 4},
    "session lost 410": {
        "on": "resumable.put",
        "do": "session-lost",
        "status": 410,
        "nth": 4,
    },
    "token expired": {"on": "resumable.put", "do": "token-expired", "nth": 2},
    "commit answered by a stranger": {
        "on": "play.edits.commit",
        "do": "status",
        "status": 200,
        "body": "",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_alone_is_survived(job: Job, name: str) -> None:
    """Whatever happens once on the way, the release ends committed with the same bytes, stored
    once.
    """
    fault = FAULTS[name]
    job.emulator.add_fault(**fault)
    ended = job.succeed({**PLAY, "chunk-size": "1MiB", "stall-timeout": "1s"})
    assert fired(job) == [fault["do"]]
    assert stored(job) == [file(job.workspace / "app.aab")]
    assert (
        ended.outputs["committed"],
        len(job.emulator.state()["edits"]["committed"]),
    ) == (
        "true",
        1,
    )


@pytest.mark.slow
def test_a_gibibyte_needs_little_memory(job: Job) -> None:
    """A sparse bundle of 1 GiB goes through with less than 80 MB of resident memory."""
    (job.workspace / "app.aab").unlink()
    specimens.make_bundle(
        job.workspace / "huge.aab",
        "com.example.app",
        43,
        "1.0",
        size_bytes=1 << 30,
        sparse=True,
    )
    ended = replace(job, fresh=True).succeed(PLAY)
    assert stored(job)[0][0] == 1 << 30
    assert stored(job)[0][1] == ended.results[0]["sha256"]
    assert ended.peak < 80_000_000


def test_commit_false_leaves_the_edit_open_and_says_its_id(job: Job) -> None:
    """With `commit: false` the next job can go on in the edit, and the second run does."""
    first = job.run({"target": "play", "files": "*.aab", "commit": "false"})
    assert (first.code, first.outputs["committed"]) == (0, "false"), first.log
    assert "An artifact enters the app's library of bundles when a release" in first.log
    assert f"`version-codes-to-retain: {first.outputs['version-codes']}`" in first.log
    ended = job.fail(2, {"target": "play", "files": "*.aab"})
    assert "`commit: false` for an upload that waits in an open edit" in ended.log
    assert "the app's library of bundles" in ended.log
    (edit,) = job.emulator.state()["edits"]["open"]
    assert first.outputs["edit-id"] == edit["id"]
    second = job.run({**PLAY, "existing-edit-id": first.outputs["edit-id"]})
    assert (second.code, second.outputs["edit-id"]) == (0, first.outputs["edit-id"]), (
        second.log
    )
    assert len(stored(job)) == 1


@pytest.mark.parametrize("by_id", [True, False], ids=["existing-edit-id", "run again"])
def test_an_app_that_takes_only_drafts_gets_one_as_the_message_says(
    job: Job, by_id: bool
) -> None:
    """The refused release is in the kept edit, where it becomes a draft."""
    with Emulator(config={"draft_app": True}) as emulator:
        job = replace(job, emulator=emulator)
        refused = job.fail(4, PLAY)
        assert refused.outputs["failure"] == "draft-app"
        edit = refused.outputs["edit-id"]
        assert "Set `status: draft`, or finish the app's setup" in refused.log
        advice = (
            f"kept with everything in it: set `existing-edit-id: {edit}`, or run again."
        )
        assert advice in refused.log
        again = {**PLAY, "status": "draft"}
        if by_id:
            again["existing-edit-id"] = edit
        ended = job.succeed(again)
        assert ended.outputs["edit-id"] == edit
        assert "1.0 (42) is a draft on internal." in ended.last_line
        [committed] = emulator.state()["edits"]["committed"]
        assert [
            (release["versionCodes"], release["status"])
            for release in committed["tracks"]["internal"]
        ] == [(["42"], "draft")]


@pytest.mark.parametrize(
    "commit", [{}, {"commit": "false"}], ids=["commits", "commit-false"]
)
def test_a_run_in_a_shared_edit_that_is_committed_by_now_is_done(
    job: Job, commit: dict[str, str]
) -> None:
    """A job of the pipeline is started again after the last one has committed: its part is live,
    and it says so.
    """
    first = job.succeed({**PLAY, "commit": "false"})
    edit = {"existing-edit-id": first.outputs["edit-id"]}
    job.succeed({"target": "play", "package-name": "com.example.app", **edit})
    again = job.succeed({**PLAY, **edit, **commit})
    who = "by another job or an earlier run"
    told = f"of com.example.app is committed already, {who}, with 1.0 (42) on internal."
    assert again.last_line.endswith(f"Edit {first.outputs['edit-id']} {told}")
    assert (again.outputs["committed"], again.outputs["version-codes"]) == (
        "true",
        "42",
    )
    assert (len(stored(job)), len(job.emulator.state()["edits"]["committed"])) == (1, 1)
    late = job.fail(4, {**PLAY, **edit, "tracks": "beta"})
    assert (late.outputs["failure"], late.outputs.get("committed", "")) == (
        "edit-committed",
        "",
    )


def test_a_run_whose_login_fails_outputs_the_edit_of_the_run_before(job: Job) -> None:
    """The edit is still open. `committed` is empty, since the second run has not seen what is
    committed.
    """
    job.emulator.add_fault("resumable.put", "status", status=503, times=2)
    first = job.fail(75, {**PLAY, "max-retries": "1"})
    job.emulator.add_fault("oauth.token", "status", status=401)
    second = job.fail(3, PLAY)
    assert first.outputs["edit-id"]
    assert first.outputs["committed"] == "false"
    assert (second.outputs["edit-id"], second.outputs.get("committed", "")) == (
        first.outputs["edit-id"],
        "",
    )


def test_a_refusal_deletes_the_edit_and_keeps_the_words(job: Job) -> None:
    """When Google says no, its own words come out in one annotation, and the edit that was opened
    is gone.
    """
    job.emulator.add_fault(
        "play.tracks.update",
        "status",
        status=400,
        message="Release notes are too naughty.",
    )
    ended = job.run(PLAY)
    state = job.emulator.state()
    errors = [
        command for command in workflow_commands(ended.log) if command.name == "error"
    ]
    assert ended.code == 4
    assert len(errors) == 1
    assert "Release notes are too naughty." in errors[0].data
    assert not state["edits"]["open"]
    assert len(state["edits"]["deleted"]) == 1


def test_retries_spent_keep_the_session_and_the_next_run_resumes(job: Job) -> None:
    """Exit 75 keeps edit and session; the same run again sends only the rest, and ends as one clean
    run would.
    """
    job.emulator.add_fault("resumable.put", "status", status=503, nth=3)
    job.emulator.add_fault("resumable.query", "status", status=503)
    first = job.fail(75, {**PLAY, "chunk-size": "1MiB", "max-retries": "1"})
    assert len(job.emulator.state()["edits"]["open"]) == 1
    second = job.succeed({**PLAY, "chunk-size": "1MiB"})
    assert (second.outputs["resumed"], second.outputs["bytes-uploaded"]) == (
        "true",
        str(SIZE - 2 * MIB),
    )
    assert second.outputs["edit-id"] == first.outputs["edit-id"]
    assert stored(job) == [file(job.workspace / "app.aab")]
    assert second.results[0]["resumed_from"] == 2 * MIB


@pytest.mark.parametrize("same", [True, False], ids=["the same bytes", "other bytes"])
def test_a_fresh_checkout_is_known_by_its_bytes(job: Job, same: bool) -> None:
    """The next job's copy of the file has another modification time: only with the same bytes the
    upload goes on.
    """
    job.emulator.add_fault("resumable.put", "stall", after=2 * MIB, seconds=30)
    job.start(PLAY).when(lambda state: bool(state["faults"]["fired"])).send(
        signal.SIGTERM
    ).end()
    bundle = job.workspace / "app.aab"
    content = bytearray(bundle.read_bytes())
    # in the middle, where neither the manifest nor the archive's end is
    content[MIB] ^= 0 if same else 1
    bundle.unlink()
    bundle.write_bytes(content)
    os.utime(bundle, (1_700_000_000, 1_700_000_000))
    again = job.run(PLAY)
    assert (again.code, again.outputs["resumed"]) == (0, "true" if same else "false"), (
        again.log
    )
    assert stored(job) == [file(bundle)]


@pytest.fixture
def listed(job: Job) -> dict[str, str]:
    """The inputs of a release with a mapping and two screenshots."""
    (job.workspace / "mapping.txt").write_text("a.B -> c:\n")
    for number in "12":
        image = (
            job.workspace
            / "listing"
            / "en-US"
            / "images"
            / "phoneScreenshots"
            / f"{number}.png"
        )
        image.parent.mkdir(parents=True, exist_ok=True)
        specimens.make_image(image, 1080, 1919 + int(number))
    return {**PLAY, "mapping-file": "mapping.txt", "images-directory": "listing"}


FILES = [
    "app.aab",
    "mapping.txt",
    *(f"listing/en-US/images/phoneScreenshots/{number}.png" for number in "12"),
]


@pytest.mark.parametrize("request_name", ["play.edits.commit", "play.tracks.update"])
def test_what_was_lost_with_an_edit_is_no_result(
    job: Job, listed: dict[str, str], request_name: str
) -> None:
    """Somebody closed it, and all was sent again into a fresh one: each file has one object, about
    that edit.

    `bytes-uploaded` counts what was sent into the lost edit, too. The mapping may not be among it:
    it is sent at the same time as the track.
    """
    job.emulator.add_fault(request_name, "lose-edit")
    ended = job.succeed(listed)
    assert [one["path"] for one in ended.results] == FILES
    assert [one["error"] for one in ended.results] == [""] * 4
    sizes = sum((job.workspace / path).stat().st_size for path in FILES)
    unsent = 2 * sizes - int(ended.outputs["bytes-uploaded"])
    assert unsent in (0, (job.workspace / "mapping.txt").stat().st_size)
    assert ended.outputs["attempts"] in ("7", "8")
    assert (ended.outputs["ids"], len(job.emulator.state()["edits"]["committed"])) == (
        "42",
        1,
    )


def test_images_that_were_lost_with_an_edit_have_no_ids(
    job: Job, listed: dict[str, str]
) -> None:
    """A listing alone has the ids of its images, each once."""
    job.emulator.add_fault("play.edits.commit", "lose-edit")
    ended = job.succeed(
        {
            **listed,
            "package-name": "com.example.app",
            "files": "none",
            "tracks": "none",
            "mapping-file": "",
        }
    )
    assert ended.outputs["ids"] == ",".join(one["id"] for one in ended.results)
    assert [(one["path"], one["error"]) for one in ended.results] == [
        (path, "") for path in FILES[2:]
    ]
    live = job.emulator.state()["apps"]["com.example.app"]
    assert all(f'"{one["id"]}"' in json.dumps(live) for one in ended.results)


def test_what_a_lost_commit_brought_keeps_its_results(
    job: Job, listed: dict[str, str]
) -> None:
    """The fresh edit has it already: the object of each file is that of its upload, and there is no
    second one.
    """
    job.emulator.add_fault("play.edits.commit", "status-after-effect", status=503)
    job.emulator.add_fault(
        "play.edits.get", "status", status=404, message="Edit not found."
    )
    ended = job.succeed(listed)
    assert [one["path"] for one in ended.results] == FILES
    assert [(one["error"], one["attempts"]) for one in ended.results] == [("", 1)] * 4
    assert (
        ended.outputs["ids"],
        ended.outputs["attempts"],
        ended.outputs["committed"],
    ) == (
        "42",
        "4",
        "true",
    )


class TimeOfOthers(FakeTime):
    """A clock during whose sleeps somebody else does something."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._act()


def test_a_lost_commit_keeps_its_results_whatever_people_change_beside_its_tracks(
    job: Job,
) -> None:
    """The answer is lost and the edit gone, and while the run waits, somebody changes the testers.
    The release is live, so its upload stays what it was; the testers are set again.
    """
    job.emulator.add_fault("play.edits.commit", "status-after-effect", status=503)
    job.emulator.add_fault(
        "play.edits.get", "status", status=404, message="Edit not found."
    )

    def let_others_test() -> None:
        app = job.emulator.play.app("com.example.app")
        app.live.testers["alpha"] = ["theirs@example.com"]

    inputs = {**PLAY, "tracks": "alpha", "testers": "ours@example.com"}
    code, log = job.run_here(inputs, TimeOfOthers(let_others_test))
    assert code == 0, log
    (result,) = json.loads((job.workspace / "uploader-results.json").read_text())
    assert (result["error"], result["attempts"]) == ("", 1)
    app = job.emulator.state()["apps"]["com.example.app"]
    assert app["testers"] == {"alpha": ["ours@example.com"]}
    assert "~ alpha: + ours@example.com, - theirs@example.com" in log


def test_a_run_that_ends_after_the_loss_of_its_edit_says_so_of_each_file(
    job: Job, listed: dict[str, str]
) -> None:
    """The fresh edit is refused, so that nothing of what was sent is anywhere.

    What was on its way when the edit was lost has another error: it was refused, or stopped.
    """
    job.emulator.add_fault("play.tracks.update", "lose-edit")
    job.emulator.add_fault("play.edits.insert", "status", status=400, nth=2)
    ended = job.fail(4, listed)
    assert [one["path"] for one in ended.results] == FILES
    lost = [
        one["path"]
        for one in ended.results
        if one["error"].startswith("Uploaded, then lost with the edit")
    ]
    assert "app.aab" in lost
    assert all(one["error"] for one in ended.results)
    assert not {"id", "ids", "version-codes"} & ended.outputs.keys()
