"""What a run says that it changes: before the first byte, the same in a dry run and after the
commit, and nothing else.

The plans of all kinds of releases stand below tests/golden/plans; `python -m
tests.support.release_plans` writes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Ended, Job
from tests.support.platforms import dotenv_report, reading, tables, workflow_commands
from tests.support.release_plans import (
    KINDS,
    LIVE,
    NEW,
    NOTES,
    PRODUCTION,
    WITH_NOTES,
    arranged,
    golden,
    plan_of,
)
from uploader.services.play.model import Release
from uploader.services.play.plan import (
    MAX_PLAN,
    Changes,
    ImageChange,
    OtherTrack,
    TextChange,
    plan_output,
)
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.track_merge import TrackChange

RECIPES = (Path(__file__).parents[2] / "docs" / "RECIPES.md").read_text(
    encoding="utf-8"
)
PUT = "play.tracks.update"


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with an app that has version 47 on production."""
    with Emulator(
        config={"apps": {PACKAGE: {"tracks": {"production": [LIVE]}}}}
    ) as emulator:
        yield emulator


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds version 48."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 48, "1.48")
    return job


def live(job: Job) -> dict[str, Any]:
    """Version codes, status and fraction of all that is live, by track."""
    tracks = job.emulator.state()["tracks"].get(PACKAGE, {})
    return {
        track: [
            (one["versionCodes"], one["status"], one.get("userFraction"))
            for one in releases
        ]
        for track, releases in tracks.items()
    }


def planned(ended: Ended) -> dict[str, Any]:
    """The same of what the output `plan` says that will be live."""
    return {
        change["track"]: [
            (one["version_codes"], one["status"], one["user_fraction"])
            for one in change["after"]
        ]
        for change in json.loads(ended.outputs["plan"])["tracks"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KINDS if not KINDS[name].shared])
def test_a_dry_run_shows_the_plan_and_the_release_does_exactly_that(
    name: str, tmp_path: Path
) -> None:
    """Log, output and summary of the dry run agree with what is live after the run that was not
    dry.
    """
    with arranged(KINDS[name], tmp_path) as (job, inputs):
        before = live(job)
        dry = job.run({**inputs, "dry-run": "true"})
        assert (dry.code, live(job)) == (0, before), dry.log
        assert plan_of(dry) == golden(name).read_text(encoding="utf-8")
        assert dry.outputs["plan"].isascii()
        wet = job.run(inputs)
        assert (wet.code, plan_of(wet)) == (0, plan_of(dry)), wet.log
        assert "plan" not in wet.outputs
        assert live(job) == {**before, **planned(dry)}
        for ended, title in ((dry, "Planned changes"), (wet, "Changes")):
            # There is no diff where the drawn store listing is all that changed.
            changes = ended.summary.partition(f"### {title}\n")[2]
            diff = changes.partition("```diff\n")[2].partition("\n```")[0].splitlines()
            # GitHub colours the lines of a diff that begin with an exclamation mark.
            diff = [re.sub("^!", "~", line) for line in diff]
            # The summary draws the store listing.
            plan = re.sub(
                r"^(?:Store listing|Images)\n(?:  .*\n)+",
                "",
                plan_of(dry),
                flags=re.MULTILINE,
            )
            shown = [
                line[2:] for line in plan.splitlines() if ": version code" not in line
            ]
            signed = [
                [line for line in lines if line[:1] in ("+", "-", "~", "=", "?")]
                for lines in (diff, shown)
            ]
            assert signed[0] == signed[1]


@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name].shared])
def test_the_commit_of_a_shared_edit_names_what_other_jobs_put_into_it(
    name: str, tmp_path: Path
) -> None:
    """A phone release at 10 % that another job prepared is named before the upload, the commit and
    in the summary.
    """
    with arranged(KINDS[name], tmp_path) as (job, inputs):
        ended = job.succeed(inputs)
        assert live(job)["production"][0] == (["48"], "inProgress", 0.1)
    assert plan_of(ended) == golden(name).read_text(encoding="utf-8")
    phone = (
        "production 1.48 (48), 10 % of users, in progress, new; 1.47 (47), all other users, "
        "completed (not from this run)"
    )
    edit = inputs["existing-edit-id"]
    ours = (
        "wear:production 1.1048 (1048), all users, completed, "
        if "wear" in inputs.get("tracks", "")
        else ""
    )
    said = [
        f"The commit of edit {edit} publishes: {ours}{phone}.",
        f"Committed edit {edit}.",
    ]
    assert [
        line
        for line in ended.log.splitlines()
        if phone in line or line.startswith("Committed")
    ] == said
    theirs = (
        "+ track production: 1.48 (48), 10 % of users, in progress, new; 1.47 (47), all other "
        "users, completed"
    )
    assert f"\nAlso in the edit, not from this run\n{theirs}\n" in ended.summary


def test_the_plan_comes_before_the_first_byte(job: Job) -> None:
    """It is in the log of a run whose first upload is refused, and the summary calls it planned."""
    job.emulator.add_fault("resumable.start", "status", status=400, message="No room.")
    ended = job.fail(4, NEW)
    assert "+ 1.48 (48): all users, completed" in plan_of(ended)
    assert "### Planned changes\n" in ended.summary
    assert "### Changes\n" not in ended.summary


def test_a_conflict_of_the_second_artifact_is_found_before_the_first_is_sent(
    job: Job,
) -> None:
    """Version 47 is there with other bytes: 48 is not uploaded in vain."""
    specimens.make_bundle(job.workspace / "old.aab", PACKAGE, 47, "1.47")
    ended = job.fail(4, {**NEW, "files": "app.aab, old.aab"})
    assert "version code 47 with different contents" in ended.log
    assert (
        hashlib.sha256((job.workspace / "old.aab").read_bytes()).hexdigest()
        in ended.log
    )
    assert job.emulator.state()["objects"] == []


def test_after_a_refused_track_nothing_is_claimed(job: Job) -> None:
    """What was uploaded is gone with the edit: no version code and no id is an output, and the
    result of each file has the error.
    """
    (job.workspace / "mapping.txt").write_text("a.B -> c:\n")
    job.emulator.add_fault(PUT, "status", status=400, message="Too naughty.")
    ended = job.fail(4, {**NEW, "mapping-file": "mapping.txt"})
    assert not {"id", "ids", "version-code", "version-codes"} & ended.outputs.keys()
    assert "in edit" not in ended.log.replace("edit …", "")
    assert "Committed" not in ended.log
    told = "Uploaded, then discarded with the edit"
    assert [(one["path"], one["error"].partition(":")[0]) for one in ended.results] == [
        ("app.aab", told),
        ("mapping.txt", told),
    ]
    assert all(
        "Too naughty." in one["error"] and not one["id"] for one in ended.results
    )
    shown = [reading(row[-1]) for row in tables(ended.summary)[0][1:]]
    assert shown == [f"❌ {told}: see above"] * 2


def test_an_artifact_that_play_had_before_is_not_lost_with_the_edit(job: Job) -> None:
    """It is still there after the failure, so its id is true and nothing is wrong with the file."""
    assert job.run({**NEW, "tracks": "internal"}).code == 0
    job.emulator.add_fault(PUT, "status", status=400, message="Too naughty.")
    ended = job.fail(4, NEW)
    assert [one["error"] for one in ended.results] == [""]
    assert ended.outputs["id"] == "48"


@pytest.mark.slow
def test_committed_is_empty_as_long_as_nobody_knows_whether_a_commit_happened(
    job: Job,
) -> None:
    """Its answer was lost, and so was every look at the edit: `committed` is neither true nor
    false.
    """
    job.emulator.add_fault("play.edits.commit", "status-after-effect", status=503)
    job.emulator.add_fault("play.edits.get", "status", status=503, times=2)
    ended = job.run({**NEW, "max-retries": "1"})
    assert (ended.code, ended.outputs["committed"]) == (75, ""), ended.log
    doubt = f"The commit of edit {ended.outputs['edit-id']} may have happened: a run that finds"
    assert doubt in ended.log
    again = job.run(NEW)
    assert (again.code, again.outputs["committed"]) == (0, "true"), again.log


def test_a_dry_run_that_is_refused_has_its_plan_all_the_same(job: Job) -> None:
    """The output and the tables are there; what was uploaded into the throwaway edit is not."""
    job.emulator.add_fault(
        "play.edits.validate", "status", status=400, message="Not like this."
    )
    ended = job.fail(4, {**NEW, "dry-run": "true"})
    assert planned(ended) == {"production": [(["48"], "completed", None)]}
    assert "### Planned changes\n" in ended.summary
    assert "version-code" not in ended.outputs
    assert job.emulator.state()["edits"]["open"] == []


def test_names_and_notes_of_others_stay_on_their_lines(tmp_path: Path) -> None:
    """A release that somebody named to forge the log is one line, and no command."""
    name = "x\n::error::forged\n+ 99: all users"
    apps = {PACKAGE: {"tracks": {"production": [release(47, name=name)]}}}
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for path, text in NOTES.items():
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text(text)
    with Emulator(config={"apps": apps}) as emulator:
        ended = Job(workspace, emulator).run(
            {**PRODUCTION, **WITH_NOTES, "dry-run": "true"}
        )
    assert ended.code == 0, ended.log
    assert "  ~ x… (47): all users, completed\n" in plan_of(ended)
    assert "error" not in {command.name for command in workflow_commands(ended.log)}
    assert json.loads(ended.outputs["plan"])["tracks"][0]["before"][0]["name"] == "x…"


def test_under_gitlab_a_plan_that_is_too_long_is_left_out_of_the_report(
    tmp_path: Path,
) -> None:
    """The report takes 5 KiB; the other outputs are in it, a warning names the one that is not, the
    log has it.
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    specimens.make_bundle(workspace / "app.aab", PACKAGE, 1048, "1.0")
    tracks = {f"closed {number}": [release(number)] for number in range(1, 31)}
    with Emulator(config={"apps": {PACKAGE: {"tracks": tracks}}}) as emulator:
        ended = Job(workspace, emulator, "gitlab").run(
            {**NEW, "tracks": ",".join(tracks), "dry-run": "true"}
        )
    assert ended.code == 0, ended.log
    report = dotenv_report((workspace / "uploader.env").read_bytes())
    assert "UPLOADER_PLAN" not in report
    assert report["UPLOADER_VERSION_CODE"] == "1048"
    assert "The output plan was left out" in ended.log
    assert '\nplan={"version":1,' in ended.log


def test_a_dry_run_elsewhere_has_its_steps_as_the_plan(job: Job) -> None:
    """What would be sent where, in words."""
    ended = job.succeed(
        {"target": "drive.files.create", "files": "app.aab", "dry-run": "true"}
    )
    plan = json.loads(ended.outputs["plan"])
    assert (plan["version"], plan["target"], plan["left_out"]) == (
        1,
        "drive.files.create",
        0,
    )
    assert any("app.aab" in step for step in plan["steps"])
    assert tables(ended.summary)[0] == [["Step"], *([step] for step in plan["steps"])]
    assert ended.summary.startswith(
        "# NOTHING WAS PUBLISHED\n\n**Dry run.** Every check passed; nothing was sent."
    )
    assert ended.last_line == "Dry run. Every check passed; nothing was sent."


# --- the output -----------------------------------------------------------------------------------

EVERYTHING = Changes(
    ReleaseJob(PACKAGE),
    tracks=tuple(
        TrackChange(
            f"closed {number}",
            tuple(Release(release(code, name="n" * 5000)) for code in range(9)),
            tuple(
                Release.of([str(code)], "completed").with_notes(
                    (f"l{n}", "ä" * 500) for n in range(20)
                )
                for code in range(9)
            ),
        )
        for number in range(300)
    ),
    texts=tuple(
        TextChange(f"l{number}", "title", "old", "ä" * 4000) for number in range(300)
    ),
    others=(OtherTrack("production", (Release(release(1)),), frozenset({"1"})),),
    images=tuple(
        ImageChange(f"l{n}", "icon", tuple(f"{m}.png" for m in range(300)))
        for n in range(300)
    ),
)


@pytest.mark.slow
def test_the_output_never_grows_out_of_hand() -> None:
    """Whatever an edit holds, the line stays short enough for GitHub, and counts what it leaves
    out.
    """
    text = plan_output(EVERYTHING)
    assert len(text) <= MAX_PLAN
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text)["left_out"] > 300


def test_two_texts_with_the_same_beginning_are_shown_where_they_differ() -> None:
    """A log that shows the same line before and after would seem to change nothing."""
    beginning = "With this app you find shops that are open now. " * 4
    change = TextChange(
        "en-US",
        "fullDescription",
        before=f"{beginning}\nNear you.",
        after=f"{beginning}\nNear you, and far away.",
    )
    assert str(change) == (
        '"…open now. Near you." (202 characters) -> '
        '"…open now. Near you, and far away." (216 characters)'
    )


def test_a_text_that_only_goes_on_is_shown_at_its_end() -> None:
    change = TextChange(
        "en-US", "notes", before="Fixed.\nMore.", after="Fixed.\nMore. Yes."
    )
    assert str(change) == (
        '"Fixed. More." (12 characters) -> "Fixed. More. Yes." (17 characters)'
    )
