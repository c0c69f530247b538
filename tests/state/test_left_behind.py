"""What a run leaves in the state folder: nothing of a release that is over; of what others left,
one warning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from uploader.redaction import SHORTEST

pytestmark = pytest.mark.slow

PACKAGE = "com.example.shop"
PLAY = {
    "target": "play",
    "files": "*.aab",
    "tracks": "internal",
    "chunk-size": "256KiB",
    "max-retries": "1",
}
# the one place where GitHub wants to be told
MASKS = re.compile(r"^::add-mask::.*\n?", re.MULTILINE)
IGNORED = "can't be opened and will be ignored"


@pytest.fixture
def job(job: Job) -> Job:
    """A job with a bundle of several chunks."""
    specimens.make_bundle(
        job.workspace / "app.aab", PACKAGE, 7, "1.0", size_bytes=1_000_000
    )
    return job


def break_off(job: Job, given: dict[str, str]) -> None:
    """A run that ends with 75 after its first chunk, and leaves the edit's record and the
    session's.
    """
    job.emulator.add_fault("resumable.put", "status", status=503, nth=2)
    job.emulator.add_fault("resumable.query", "status", status=503)
    job.fail(75, given)


def rename_bundle(job: Job) -> None:
    (job.workspace / "app.aab").rename(job.workspace / "app-7.aab")


def texts(job: Job) -> str:
    """A folder with one store text."""
    (job.workspace / "listing" / "en-US").mkdir(parents=True)
    (job.workspace / "listing" / "en-US" / "title.txt").write_text("Shop")
    return "listing"


def close_edit(job: Job) -> None:
    job.emulator.add_fault("play.edits.get", "lose-edit", how="deleted")


def refuse_release(job: Job) -> None:
    job.emulator.add_fault("play.tracks.update", "status", status=400, message="No.")


@dataclass(frozen=True)
class Second:
    """What lies between a run that breaks off and the next, what that one is given, and its exit
    code.
    """

    between: Sequence[Callable[[Job], None]] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    code: int = 0


SECONDS = {
    "goes on": Second(),
    "finds the edit closed by others": Second([close_edit]),
    "sends the bundle under another name": Second([rename_bundle]),
    "wants another track, so that the edit is deleted": Second(
        given={"tracks": "alpha"}
    ),
    "leaves its edit open": Second(given={"commit": "false"}),
    "is refused, so that the edit is deleted": Second([refuse_release], code=4),
    "is refused in a fresh edit": Second([close_edit, refuse_release], code=4),
}


@pytest.mark.parametrize("what", SECONDS)
def test_nothing_stays_of_a_release_that_is_over(job: Job, what: str) -> None:
    """After a run that broke off, the next one that releases, or deletes the edit, leaves no record
    of either.
    """
    break_off(job, PLAY)
    assert len(list(job.state_folder.glob("*.sealed"))) == 2
    second = SECONDS[what]
    for change in second.between:
        change(job)
    ended = job.run({**PLAY, **second.given})
    assert ended.code == second.code, ended.log
    assert not list(job.state_folder.iterdir())


@pytest.mark.parametrize(
    "given", [{}, {"dry-run": "true"}, {"commit": "false"}], ids=str
)
def test_nothing_stays_of_one_run_that_ends_well(
    job: Job, given: dict[str, str]
) -> None:
    """A release, a rehearsal and an edit that is left open to others."""
    job.succeed({**PLAY, **given})
    assert not list(job.state_folder.iterdir())


def test_a_shared_edit_keeps_its_sessions_until_it_is_committed(job: Job) -> None:
    """One job breaks off in the edit; a second one that leaves it open spares the session, the
    commit clears it.
    """
    listing = {
        **PLAY,
        "files": "none",
        "tracks": "none",
        "package-name": PACKAGE,
        "images-directory": texts(job),
    }
    assert job.run({**PLAY, "tracks": "alpha"}).code == 0  # there is an app now
    specimens.make_bundle(
        job.workspace / "app.aab", PACKAGE, 8, "1.0", size_bytes=1_000_000
    )
    opened = job.run({**listing, "commit": "false"})
    shared = {**PLAY, "existing-edit-id": opened.outputs["edit-id"]}
    break_off(job, shared)
    listing |= {"existing-edit-id": opened.outputs["edit-id"]}
    assert job.run({**listing, "commit": "false"}).code == 0
    assert len(list(job.state_folder.glob("*.sealed"))) == 1
    ended = job.run(listing)
    assert (ended.code, ended.outputs["committed"]) == (0, "true"), ended.log
    assert not list(job.state_folder.iterdir())


# --- what others left -----------------------------------------------------------------------------


def test_a_record_of_another_credential_warns_once_and_stays_good(job: Job) -> None:
    """Of three runs with another key the first alone tells of it; the run that has its key goes on
    in it afterwards.
    """
    given = {**PLAY, "target": "drive.files.create", "tracks": "none"}
    break_off(job, given)
    with Emulator() as other:
        there = replace(job, emulator=other)
        logs = [there.run(given) for _ in range(3)]
        assert [ended.code for ended in logs] == [0, 0, 0], logs[0].log
        assert [IGNORED in ended.log for ended in logs] == [True, False, False]
    ended = job.run(given)
    assert (ended.code, ended.outputs["resumed"]) == (0, "true"), ended.log
    assert not list(job.state_folder.iterdir())


# --- the secret that seals ------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 5, 6, 8, 15, 16, 40])
def test_a_state_key_is_never_shown_whatever_its_length(job: Job, length: int) -> None:
    """Refused or not, nothing that is written holds it outside GitHub's own masks; a word is masked
    elsewhere, too.
    """
    key = "~Zq7-xK9!"[:length].ljust(length, "~")
    place = key if length >= SHORTEST else "nowhere"
    ended = job.fail(
        2, {**PLAY, "state-key": key, "whats-new-directory": f"no/{place}/there"}
    )
    assert "no/" in ended.log
    seen = [
        MASKS.sub("", ended.log),
        ended.summary,
        json.dumps(ended.results),
        json.dumps(ended.outputs),
    ]
    assert not [text for text in seen if key in text]
