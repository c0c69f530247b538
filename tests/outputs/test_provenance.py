"""The statement of provenance: valid by in-toto's own reader, true in every run, absent where nothing was released."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

from google_emulator import specimens
from tests.support.destinations import PLACES
from tests.support.job import Ended, Job
from uploader import __version__
from uploader.inputs import Inputs, Platform
from uploader.outputs import provenance
from uploader.redaction import Redactor
from uploader.results import FileResult

ROOT = Path(__file__).resolve().parents[2]
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal", "provenance": "true"}
DRIVE = {"target": "drive.files.create", "files": "*.bin", "provenance": "true"}
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "someone/app",
    "GITHUB_WORKFLOW_REF": "someone/app/.github/workflows/release.yml@refs/tags/v1",
    "GITHUB_JOB": "release",
    "GITHUB_RUN_ID": "1234567890",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_REF": "refs/tags/v1",
    "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
}
FILES = (provenance.STATEMENT, provenance.PREDICATE, provenance.CHECKSUMS)


def read_statement(text: str) -> dict[str, Any]:
    """A statement that in-toto's own reader takes: every required field is there, and none that it does not know."""
    message = json_format.Parse(text, statement_pb2.Statement())
    Statement.copy_from_pb(message).validate()
    found: dict[str, Any] = json.loads(text)
    assert list(found) == ["_type", "subject", "predicateType", "predicate"]
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    return found


def stated(job: Job, ended: Ended) -> dict[str, Any]:
    """The statement of a run that has one, and that its parts for `actions/attest` say the same."""
    path = job.workspace / "uploader-provenance.json"
    assert ended.outputs["provenance-file"] == str(path)
    found = read_statement(path.read_text())
    assert json.loads((job.workspace / "uploader-predicate.json").read_text()) == found["predicate"]
    subjects = [(subject["digest"]["sha256"], subject["name"]) for subject in found["subject"]]
    lines = (job.workspace / "uploader-checksums.txt").read_text().splitlines()
    assert [tuple(line.split("  ", 1)) for line in lines] == subjects
    return found


def claims_nothing(job: Job, ended: Ended) -> bool:
    """Whether a run left no statement, nor the parts of one, and says so."""
    left = [name for name in FILES if (job.workspace / name).exists()]
    return not left and "provenance-file" not in ended.outputs and "No provenance statement" in ended.log


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bundle(job: Job, code: int = 42) -> Path:
    """A bundle in the job's workspace."""
    path = job.workspace / "app.aab"
    specimens.make_bundle(path, "com.example.app", code, "1.0", size_bytes=3000)
    return path


def test_a_release_states_its_artifact_its_edit_its_track_and_its_run(job: Job) -> None:
    """Each file's digest stands beside the id that Play gave it, with the edit, the track and the job that did it."""
    app = bundle(job)
    (job.workspace / "mapping.txt").write_text("com.example.A -> a.a:\n")
    ended = job.run({**PLAY, "mapping-file": "mapping.txt"}, **GITHUB)
    assert ended.code == 0, ended.log
    found = stated(job, ended)
    predicate = found["predicate"]
    assert [subject["name"] for subject in found["subject"]] == ["app.aab", "mapping.txt"]
    first, second = predicate["files"]
    size = app.stat().st_size
    assert first == {"name": "app.aab", "sha256": sha256(app), "bytes": size, "id": "42", "alreadyStored": False}
    assert "id" not in second
    assert predicate["release"] == {
        "packageName": "com.example.app",
        "editId": ended.outputs["edit-id"],
        "committed": True,
        "tracks": ["internal"],
        "versionCodes": ["42"],
    }
    assert set(predicate["run"].values()) == set(GITHUB.values())
    assert predicate["run"]["id"] == "1234567890"
    assert predicate["uploader"] == {"version": __version__}
    assert predicate["apiEndpoint"] == job.emulator.url
    assert predicate["startedOn"] <= predicate["finishedOn"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", predicate["finishedOn"])


def test_what_play_had_already_is_marked(job: Job) -> None:
    """A second release of the same bytes did not send them, and says so."""
    app = bundle(job)
    assert not stated(job, job.run(PLAY))["predicate"]["files"][0]["alreadyStored"]
    again = stated(job, job.run({**PLAY, "tracks": "alpha"}))["predicate"]
    assert again["files"][0]["alreadyStored"]
    assert (again["files"][0]["sha256"], again["files"][0]["id"]) == (sha256(app), "42")
    assert again["release"]["tracks"] == ["alpha"]


def test_an_edit_that_stays_open_is_not_called_committed(job: Job) -> None:
    """With `commit: false` the artifact is in an edit that nobody has committed yet."""
    bundle(job)
    release = stated(job, job.run({**PLAY, "commit": "false"}))["predicate"]["release"]
    assert release["committed"] is False
    assert release["editId"]


def test_files_of_drive_are_bound_to_their_ids(job: Job) -> None:
    """Each of several files has the id that its own answer gave."""
    for name in ("a.bin", "b.bin"):
        (job.workspace / name).write_bytes(name.encode() * 100)
    ended = job.run(DRIVE)
    predicate = stated(job, ended)["predicate"]
    assert [file["id"] for file in predicate["files"]] == ended.outputs["ids"].split(",")
    assert [file["sha256"] for file in predicate["files"]] == [
        sha256(job.workspace / name) for name in ("a.bin", "b.bin")
    ]
    assert "release" not in predicate
    assert "run" not in predicate or "id" not in predicate["run"]


def test_a_mail_is_stated_as_it_was_sent(job: Job) -> None:
    """The message is the file; its digest is that of what the mailbox holds."""
    (job.workspace / "notes.txt").write_text("notes")
    ended = job.run({**PLACES["gmail-send"].inputs, "files": "notes.txt", "provenance": "true"})
    assert ended.code == 0, ended.log
    [file] = stated(job, ended)["predicate"]["files"]
    [stored] = job.emulator.state()["objects"]
    assert (file["sha256"], file["id"]) == (stored["sha256"], ended.outputs["message-id"])


@pytest.mark.threat("neighbour", "an older statement of provenance, or a link in its place, is signed for this run")
@pytest.mark.parametrize("unlike", [{"dry-run": "true"}, {"api-endpoint": "emulator"}], ids=["dry run", "rehearsal"])
def test_what_is_no_release_claims_nothing(job: Job, unlike: Mapping[str, str]) -> None:
    """Neither leaves anything at Google, and the statement of an earlier run does not stand for it."""
    bundle(job)
    stated(job, job.run({**PLAY, "commit": "false"}))
    ended = job.run({**PLAY, **unlike})
    assert ended.code == 0, ended.log
    assert claims_nothing(job, ended)


@pytest.mark.threat(
    "neighbour",
    "an older statement of provenance, or a link in its place, is signed for this run",
    rule="each run removes an earlier statement and does not write through a link; a failure, a dry run or a rehearsal "
    "leaves no statement",
)
def test_a_failure_claims_nothing(job: Job) -> None:
    """One of several files was refused: those that were stored are in the results, and no statement is made."""
    for name in ("a.bin", "b.bin"):
        (job.workspace / name).write_bytes(name.encode() * 100)
    stated(job, job.run(DRIVE))
    job.emulator.add_fault("drive.files.create", "status", status=403, reason="forbidden", nth=2)
    ended = job.run({**DRIVE, "concurrency": "1"})
    assert ended.code != 0
    assert sorted(bool(result["error"]) for result in ended.results) == [False, True]
    assert claims_nothing(job, ended)


def test_a_wrong_input_takes_the_old_statement_away(job: Job) -> None:
    """A run that never began is no reason to sign what an earlier one did."""
    bundle(job)
    stated(job, job.run(PLAY))
    ended = job.run({**PLAY, "tracks": ""})
    assert ended.code == 2
    assert claims_nothing(job, ended)


def test_nothing_is_written_unless_it_is_asked_for(job: Job) -> None:
    """`provenance` is `false` unless given."""
    bundle(job)
    ended = job.run({**PLAY, "provenance": "false"})
    assert ended.code == 0, ended.log
    assert not [name for name in FILES if (job.workspace / name).exists()]


@pytest.mark.threat("neighbour", "an older statement of provenance, or a link in its place, is signed for this run")
def test_a_planted_link_is_not_written_through(job: Job) -> None:
    """A link that lies where the statement goes is replaced, and what it points to stays as it is."""
    bundle(job)
    target = job.workspace / "precious"
    target.write_text("precious")
    (job.workspace / provenance.STATEMENT).symlink_to(target)
    stated(job, job.run(PLAY))
    assert target.read_text() == "precious"


def facts(*results: FileResult, **platform: Any) -> provenance.ReleaseFacts:
    inputs = Inputs(target="drive.files.create", platform=Platform(**platform))
    return provenance.ReleaseFacts(inputs, "", results, {}, 0.0, 60.0)


def test_what_was_not_stored_is_not_stated() -> None:
    """Files that failed, or that the run did not come to, are no subjects; with none left there is no statement."""
    stored = FileResult("a", 0, sha256="aa" * 32, id="1")
    failed, missed = FileResult("b", 1, sha256="bb" * 32, error="Refused."), FileResult("c", 1, error="Not reached.")
    found = read_statement(provenance.files_of(facts(stored, failed, missed), Redactor())[provenance.STATEMENT])
    assert [subject["name"] for subject in found["subject"]] == ["a"]
    [file] = found["predicate"]["files"]
    assert (file["name"], file["bytes"]) == ("a", 0)
    assert (found["predicate"]["startedOn"], found["predicate"]["finishedOn"]) == (
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:01:00Z",
    )
    assert provenance.files_of(facts(failed, missed), Redactor()) == {}


def test_one_file_for_two_artifacts_is_one_subject() -> None:
    """in-toto's subjects are a set; what became of the file each time stands in the predicate."""
    twice = [FileResult("mapping.txt", 1, sha256="aa" * 32, id=name) for name in ("1", "2")]
    found = read_statement(provenance.files_of(facts(*twice), Redactor())[provenance.STATEMENT])
    assert len(found["subject"]) == 1
    assert [file["id"] for file in found["predicate"]["files"]] == ["1", "2"]


@pytest.mark.threat(
    "committer",
    "a file name adds an entry to the list that is signed as provenance",
    rule="a file's name is a single line, and the same in every part of the statement",
)
def test_no_name_breaks_the_list_of_checksums() -> None:
    """A line break in a file's name would make a line that names another file."""
    name = f"a\n{'bb' * 32}  other.aab"
    files = provenance.files_of(facts(FileResult(name, 1, sha256="aa" * 32)), Redactor())
    assert len(files[provenance.CHECKSUMS].splitlines()) == 1
    [subject] = read_statement(files[provenance.STATEMENT])["subject"]
    assert files[provenance.CHECKSUMS] == f"{'aa' * 32}  {subject['name']}\n"


def test_secrets_are_masked_wherever_they_stand() -> None:
    """A secret in a file's name, an id or what the CI system says of the job is in none of the files."""
    secret = "hunter2-and-more"
    result = FileResult(f"{secret}.aab", 1, sha256="aa" * 32, id=f"id-{secret}")
    files = provenance.files_of(facts(result, job_facts={"ref": f"refs/heads/{secret}"}), Redactor([secret]))
    assert set(files) == set(FILES)
    assert not [name for name, text in files.items() if secret in text]


def test_gitlab_tells_its_own_job(job: Job) -> None:
    """The pipeline and the job, under the names that GitHub's facts have where they mean the same."""
    bundle(job)
    gitlab = {
        "CI_SERVER_URL": "https://gitlab.com",
        "CI_PROJECT_PATH": "g/app",
        "CI_PIPELINE_ID": "7",
        "CI_JOB_ID": "9",
    }
    ended = Job(job.workspace, job.emulator, "gitlab").run(PLAY, **gitlab)
    assert ended.code == 0, ended.log
    found = read_statement((job.workspace / provenance.STATEMENT).read_text())
    assert found["predicate"]["run"] == {"server": "https://gitlab.com", "repository": "g/app", "id": "7", "jobId": "9"}
    assert "UPLOADER_PROVENANCE_FILE=" in (job.workspace / "uploader.env").read_text()


PAGE = (ROOT / "docs" / "PROVENANCE.md").read_text(encoding="utf-8")


def test_the_page_describes_every_field(job: Job) -> None:
    """The predicate's fields on the page are those that a whole run writes, under the type that the runs name."""
    bundle(job)
    predicate = stated(job, job.run(PLAY, **GITHUB))["predicate"]
    named = set(re.findall(r"^\| `([\w.]+)` \|", PAGE, re.MULTILINE))
    fields = {name for name, value in predicate.items() if not isinstance(value, (dict, list)) or name == "files"}
    nested = {f"{name}.{key}" for name, value in predicate.items() if isinstance(value, dict) for key in value}
    assert named - {"run.jobId"} == fields | nested | {f"files.{key}" for key in predicate["files"][0]} - {"files"}
    assert provenance.PREDICATE_TYPE in PAGE
    assert PAGE.count(f"\n## {provenance.PREDICATE_TYPE.partition('#')[2]}\n") == 1


def test_the_workflow_signs_what_a_run_writes() -> None:
    """The example hands `actions/attest` the files and the type that the program has, where there is a statement."""
    text = (ROOT / "examples" / "github" / "provenance.yml").read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    [attest] = [step for step in steps if step.get("with", {}).get("predicate-type")]
    assert attest["with"] == {
        "subject-checksums": provenance.CHECKSUMS,
        "predicate-type": provenance.PREDICATE_TYPE,
        "predicate-path": provenance.PREDICATE,
    }
    assert "provenance-file" in attest["if"]
    assert any("gh attestation verify" in step.get("run", "") for step in steps)
