"""Each mapping and symbols file goes to the artifact that it was named for, or the run ends before
anything is sent.
"""

from __future__ import annotations

import io
import json
import signal
import sys
import zipfile

import pytest

from google_emulator import specimens
from tests.support.debug_files import (
    OWN_MAPPING,
    OWN_SYMBOLS,
    add_entries,
    r8_dex,
    r8_mapping,
)
from tests.support.fake_play import PACKAGE
from tests.support.job import Ended, Job
from tests.support.release_plans import plan_of
from tests.support.transfer_harness import data_of

PLAY = {"target": "play", "files": "*.a[ap][bk]", "tracks": "internal"}
PHONE, WEAR = "phone.aab", "wear.aab"


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds two bundles, 42 and 1042, of two builds, and a mapping of
    each.
    """
    for name, code in ((PHONE, 42), (WEAR, 1042)):
        build = name.removesuffix(".aab")
        specimens.make_bundle(job.workspace / name, PACKAGE, code, "1.0")
        add_entries(job.workspace / name, {"base/dex/classes.dex": r8_dex(build)})
        for path in (
            job.workspace / build / "mapping.txt",
            job.workspace / str(code) / "mapping.txt",
        ):
            path.parent.mkdir()
            path.write_text(r8_mapping(build))
            (path.parent / "symbols" / "x86_64").mkdir(parents=True)
            (path.parent / "symbols" / "x86_64" / "liba.so").write_text(
                f"symbols of {build}"
            )
    return job


def refused(job: Job, inputs: dict[str, str], *words: str) -> Ended:
    """A run that ends offline: exit 2, no request, each of the words in the log."""
    ended = job.fail(2, {**PLAY, **inputs})
    assert not job.emulator.state()["requests"]
    for word in words:
        assert word in ended.log
    return ended


def test_a_second_run_of_the_same_release_commits_nothing(job: Job) -> None:
    """A state folder that is kept records which mapping and symbols went with the versions, since
    Google Play does not list them.
    """
    release = {
        **PLAY,
        "mapping-file": "{name}/mapping.txt",
        "debug-symbols": "{name}/symbols",
        "state-dir": "state",
    }
    job.succeed(release)
    ended = job.succeed(release)
    assert "is on Google Play already." in ended.log
    assert (ended.outputs["bytes-uploaded"], ended.outputs["committed"]) == (
        "0",
        "true",
    )
    assert len(job.emulator.state()["edits"]["committed"]) == 1
    assert (
        "  = phone/mapping.txt: mapping for version code 42, on Google Play already"
        in plan_of(ended)
    )


@pytest.mark.parametrize(
    "given",
    [
        "{version-code}/mapping.txt",
        "{name}/mapping.txt",
        "1042=wear/mapping.txt\n42=phone/mapping.txt",
    ],
)
def test_each_artifact_gets_its_own_mapping(job: Job, given: str) -> None:
    """By version code, by name, by a line each: the log, the plan and the server agree."""
    ended = job.succeed({**PLAY, "mapping-file": given, "dry-run": "true"})
    sent = {
        entry["version_code"]: entry["name"]
        for entry in json.loads(ended.outputs["plan"])["files"][1::2]
    }
    folders = {42: "phone", 1042: "wear"}
    assert {
        code: (job.workspace / name).read_text() for code, name in sent.items()
    } == {code: r8_mapping(folder) for code, folder in folders.items()}
    for code, name in sent.items():
        assert f"With {name}: mapping for version code {code}" in ended.log
        assert f"  + {name}: mapping for version code {code}" in plan_of(ended)


MISTAKES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "one path": (
        {"mapping-file": "phone/mapping.txt"},
        (
            "it belongs to one artifact, and `files` has 2: phone.aab, wear.aab",
            "{version-code}",
        ),
    ),
    "one folder of symbols": (
        {"debug-symbols": "phone/symbols"},
        ("it belongs to one artifact, and `files` has 2",),
    ),
    "a line for no artifact": (
        {"mapping-file": "42=phone/mapping.txt\n43=wear/mapping.txt"},
        (
            (
                "wear/mapping.txt is for version code 43, which no artifact has: phone.aab (42), "
                "wear.aab (1042)"
            ),
        ),
    ),
    "a pattern without a file": (
        {"debug-symbols": "{name}/symbols.zip"},
        (
            "phone/symbols.zip, which phone.aab needs, does not exist",
            "wear/symbols.zip, which wear.aab needs",
        ),
    ),
    "the mapping of the other build": (
        {"mapping-file": "42=wear/mapping.txt\n1042=phone/mapping.txt"},
        (
            "wear/mapping.txt is not the mapping of phone.aab",
            "phone/mapping.txt is not the mapping of wear.aab",
        ),
    ),
    "an unknown placeholder": (
        {"mapping-file": "{versionCode}/mapping.txt"},
        ("unknown placeholder",),
    ),
    "lines of two kinds": (
        {"mapping-file": "42=phone/mapping.txt\nwear/mapping.txt"},
        ("several lines",),
    ),
    "two lines for one version": (
        {"mapping-file": "42=a.txt\n42=b.txt"},
        ("two files for one version code",),
    ),
    "a mapping without files": (
        {
            "files": "none",
            "package-name": PACKAGE,
            "status": "halted",
            "mapping-file": "phone/mapping.txt",
        },
        ("there is no artifact to attach it to",),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_not_named_for_one_artifact_is_a_mistake(job: Job, name: str) -> None:
    """Exit 2 before any request, and the message names the file and the artifact."""
    inputs, words = MISTAKES[name]
    refused(job, inputs, *words)


def test_jobs_that_share_the_files_share_no_mapping(job: Job) -> None:
    """Each job sees only its own artifact, so one path would silently be used for several. Lines
    that name version codes are the same for all jobs.
    """
    shard = {"shard": "1/2", "commit": "false", "tracks": "none"}
    refused(
        job,
        {**shard, "mapping-file": "phone/mapping.txt"},
        "each of the jobs that share `files`",
    )
    ended = job.succeed(
        {**PLAY, **shard, "mapping-file": "42=phone/mapping.txt, 1042=wear/mapping.txt"}
    )
    assert [result["path"] for result in ended.results] == [PHONE, "phone/mapping.txt"]


def test_a_bundle_that_carries_its_own_needs_none(job: Job) -> None:
    """The plan says what is in it, and a path with a placeholder is used for the other bundle
    alone.
    """
    add_entries(
        job.workspace / PHONE, {OWN_MAPPING: b"a.B -> c:\n", OWN_SYMBOLS: b"\x7fELF"}
    )
    (job.workspace / "phone" / "mapping.txt").unlink()
    ended = job.succeed({**PLAY, "mapping-file": "{name}/mapping.txt"})
    assert [result["path"] for result in ended.results] == [
        PHONE,
        WEAR,
        "wear/mapping.txt",
    ]
    plan = plan_of(ended)
    assert "  = phone.aab: mapping for version code 42, in the bundle itself" in plan
    assert (
        "  = phone.aab: native symbols for version code 42, in the bundle itself"
        in plan
    )
    assert "  + wear/mapping.txt: mapping for version code 1042" in plan
    assert (
        "With phone.aab: mapping for version code 42, in the bundle itself" in ended.log
    )
    assert (
        "\n= phone.aab: mapping for version code 42, in the bundle itself\n"
        in ended.summary
    )


# Nothing of packed symbols stays


def packed_left(job: Job) -> list[str]:
    """What is left of packed symbols in the folder for temporary files."""
    return [str(path) for path in job.state_folder.parent.rglob("*symbols*")]


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGINT, signal.SIGKILL],
    ids=lambda number: number.name,
)
@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a file has a name, which a kill leaves"
)
def test_nothing_of_packed_symbols_stays_after_a_signal(
    job: Job, number: signal.Signals
) -> None:
    """They have no name while they are sent, so they are gone with the process, however it ends."""
    job.emulator.add_fault(
        "resumable.put+play.deobfuscationfiles.upload", "stall", seconds=20
    )
    job.emulator.add_fault("simple+play.deobfuscationfiles.upload", "stall", seconds=20)
    symbols = job.workspace / "phone/symbols/x86_64/liba.so"
    symbols.write_bytes(data_of(2_000_000))
    given = {
        **PLAY,
        "files": PHONE,
        "debug-symbols": "phone/symbols",
        "upload-protocol": "resumable",
    }
    running = job.start(given)
    running.when(lambda state: bool(state["faults"]["fired"]))
    assert packed_left(job) == []
    running.send(number).end()
    assert packed_left(job) == []


def test_packed_symbols_arrive_from_a_file_without_a_name(job: Job) -> None:
    """They are whole, and the log calls them native-debug-symbols.zip."""
    ended = job.succeed({**PLAY, "files": PHONE, "debug-symbols": "phone/symbols"})
    assert "native-debug-symbols.zip" in ended.log
    assert packed_left(job) == []
    with zipfile.ZipFile(io.BytesIO(job.stored()[-1])) as archive:
        assert archive.namelist() == ["x86_64/liba.so"]
