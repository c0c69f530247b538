"""The universal APK that Play generates: fetched through the real entrypoint, checked, and only
then named and told.
"""

from __future__ import annotations

import hashlib
import signal
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from google_emulator.services.play.generated_files import PROTECTION_LIBRARY
from google_emulator.specimens.signature_writer import RELEASE, certificate
from tests.support.job import Job
from uploader.files.android.preflight import fingerprint

pytestmark = pytest.mark.slow

APP = "com.example.app"
PLAY = {
    "target": "play",
    "files": "*.aab",
    "tracks": "internal",
    "universal-apk": "dist/app.apk",
}
STATUS = {
    "target": "play-status",
    "package-name": APP,
    "tracks": "internal",
    "universal-apk": "dist/app.apk",
}
DOWNLOAD = "play.generatedapks.download"
MIB = 1024 * 1024
CERTIFICATE = hashlib.sha256(certificate(RELEASE)).hexdigest()


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulator that generates as the test says."""
    with Emulator(
        config={"generated_apks": {"*": getattr(request, "param", {})}}
    ) as emulator:
        yield emulator


def generating(**generation: Any) -> pytest.MarkDecorator:
    """Says how the APKs come about in a test."""
    return pytest.mark.parametrize(
        "emulator", [generation], indirect=True, ids=["-".join(generation)]
    )


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(job.workspace / "app.aab", APP, 42, "1.0")
    return job


def left(job: Job) -> list[str]:
    """Every file in the workspace, but for what each run leaves."""
    files = (
        path.relative_to(job.workspace)
        for path in job.workspace.rglob("*")
        if path.is_file()
    )
    return sorted(str(path) for path in files if path.name != "uploader-results.json")


def requests(job: Job, operation: str = DOWNLOAD) -> int:
    """How many requests the emulator has had for an operation."""
    return int(job.emulator.state()["requests"].get(operation, 0))


def test_the_signed_apk_comes_back_after_the_commit(job: Job) -> None:
    """It is there whole, of the right app and version, with its digest and its certificate told."""
    ended = job.succeed(PLAY)
    apk = job.workspace / "dist/app.apk"
    with zipfile.ZipFile(apk) as archive:
        assert "AndroidManifest.xml" in archive.namelist()
    assert ended.outputs["committed"] == "true"
    assert ended.outputs["universal-apk"] == "dist/app.apk"
    assert (
        ended.outputs["universal-apk-sha256"]
        == hashlib.sha256(apk.read_bytes()).hexdigest()
    )
    assert CERTIFICATE in ended.summary
    assert fingerprint(CERTIFICATE) in ended.log
    assert left(job) == ["app.aab", "dist/app.apk"]


def test_a_version_that_is_there_already_is_fetched_alone(job: Job) -> None:
    """The status needs no bundle, and replaces what an earlier run has left."""
    job.run({name: value for name, value in PLAY.items() if name != "universal-apk"})
    (job.workspace / "dist").mkdir()
    (job.workspace / "dist/app.apk").write_bytes(b"yesterday's")
    ended = job.succeed(STATUS)
    assert ended.outputs["universal-apk"] == "dist/app.apk"
    assert zipfile.is_zipfile(job.workspace / "dist/app.apk")


# Automatic protection


def is_protected(job: Job) -> bool:
    """Whether the APK that was fetched has the library of automatic protection."""
    with zipfile.ZipFile(job.workspace / "dist/app.apk") as archive:
        return f"lib/arm64-v8a/{PROTECTION_LIBRARY}" in archive.namelist()


@generating(protected=True)
def test_a_protected_app_gets_the_apk_that_people_can_install(job: Job) -> None:
    """The one standalone APK without the protection, checked like any other."""
    ended = job.succeed(PLAY)
    assert not is_protected(job)
    assert "the standalone APK without the protection is fetched instead" in ended.log
    assert ended.outputs["universal-apk"] == "dist/app.apk"
    assert CERTIFICATE in ended.summary


@pytest.mark.parametrize(
    "emulator",
    [{"protected": True, "unprotected": 0}, {"protected": True, "unprotected": 3}],
    indirect=True,
    ids=["none", "one for each kind of device"],
)
def test_an_apk_that_starts_only_from_google_play_is_warned_about(job: Job) -> None:
    """What it is, and where the protection is switched off."""
    ended = job.succeed(PLAY)
    assert is_protected(job)
    assert "starts only where Google Play installed it" in ended.log
    assert (
        "switch the protection off in the Play Console, under App integrity"
        in ended.log
    )


@generating(protected=True)
@pytest.mark.parametrize("fault", ["answer-lost", "status", "reset"])
def test_the_apk_without_protection_survives_a_fault(job: Job, fault: str) -> None:
    options = {"status": 503} if fault == "status" else {}
    job.emulator.add_fault(DOWNLOAD, fault, **options)
    job.succeed(PLAY)
    assert not is_protected(job)
    assert left(job) == ["app.aab", "dist/app.apk"]


@generating(protected=True, code=41)
def test_the_apk_without_protection_is_checked(job: Job) -> None:
    """One of another version is deleted."""
    ended = job.fail(5, PLAY)
    assert ended.outputs["failure"] == "universal-apk-mismatch"
    assert left(job) == ["app.aab"]


# The download


@generating(size=MIB)
def test_a_download_that_never_ends_keeps_the_release(job: Job) -> None:
    """What was committed is told; the run ends as one that may be repeated, and the next one finds
    everything done.
    """
    job.emulator.add_fault(DOWNLOAD, "status", status=503, times=1)
    ended = job.fail(75, {**PLAY, "max-retries": "0"})
    assert (ended.outputs["committed"], ended.outputs["version-code"]) == ("true", "42")
    assert ended.outputs.get("universal-apk", "") == ""
    assert left(job) == ["app.aab"]
    again = job.succeed(PLAY)
    assert (again.outputs["committed"], again.outputs["universal-apk"]) == (
        "true",
        "dist/app.apk",
    )


# What came is checked


@pytest.mark.parametrize(
    ("emulator", "said"),
    [
        (
            {"signer": "Somebody Else", "certificate": CERTIFICATE},
            "Google Play reports the certificate",
        ),
        ({"code": 41}, "it is com.example.app 41 (apk), not com.example.app 42"),
        ({"package": "com.example.other"}, "it is com.example.other 42"),
    ],
    indirect=["emulator"],
    ids=["signer", "version", "package"],
)
def test_another_apk_than_was_asked_for_gets_no_name(said: str, job: Job) -> None:
    """Whoever signed another one, of whichever app: nothing is left of it, and nothing is told as
    an output.
    """
    ended = job.fail(5, PLAY)
    assert ended.outputs["failure"] == "universal-apk-mismatch"
    assert said in ended.log
    assert ended.outputs["committed"] == "true"
    assert "universal-apk" not in ended.outputs or not ended.outputs["universal-apk"]
    assert left(job) == ["app.aab"]


@pytest.mark.parametrize(
    ("emulator", "at"),
    [({"size": MIB}, MIB // 2), ({"digest": False}, 0)],
    indirect=["emulator"],
    ids=["digest", "zip"],
)
def test_damaged_bytes_are_noticed(at: int, job: Job) -> None:
    """By the digest that the server states, else by what the file itself says."""
    job.emulator.add_fault(DOWNLOAD, "damage-body", at=at)
    job.fail(5, PLAY)
    assert left(job) == ["app.aab"]


@pytest.mark.parametrize(
    "emulator",
    [
        {"rotated": "Newer", "keys": 2, **more}
        for more in (
            {},
            {"certificate": hashlib.sha256(certificate("Newer")).hexdigest()},
        )
    ],
    indirect=True,
    ids=["older", "newer"],
)
def test_of_a_rotated_key_google_play_may_report_either(job: Job) -> None:
    """The newer one signs in v3.1 for new devices, the older one in v3 for the others; both have
    signed the APK.
    """
    ended = job.succeed(PLAY)
    assert (
        "Google Play signs version 42 with 2 keys; the APK of the first is fetched."
        in ended.log
    )
    assert ended.outputs["universal-apk"] == "dist/app.apk"


# The waiting


@generating(never=True)
def test_an_apk_that_never_comes_ends_the_run_as_temporary(job: Job) -> None:
    """The error says what to do, and the summary shows the release as committed."""
    ended = job.fail(75, {**PLAY, "wait-deadline": "0s"})
    assert ended.outputs["failure"] == "universal-apk-not-generated"
    assert ended.outputs["committed"] == "true"
    assert "target: play-status" in ended.log
    assert "### Changes\n\n```diff\nTrack internal\n+ " in ended.summary


@generating(looks=2)
def test_an_apk_that_comes_later_is_waited_for(job: Job) -> None:
    """A signal ends the wait, with the release in the outputs; the next run fetches the APK."""
    running = job.start(PLAY).when(
        lambda state: state["requests"].get("play.generatedapks.list", 0) == 1
    )
    ended = running.send(signal.SIGTERM).end()
    assert ended.code == 143, ended.log
    assert ended.outputs["committed"] == "true"
    assert left(job) == ["app.aab"]
    again = job.succeed(PLAY)
    assert again.outputs["universal-apk"] == "dist/app.apk"
    assert requests(job, "play.generatedapks.list") == 3


# Several artifacts, and what can be seen to be wrong before anything is sent


def test_several_bundles_need_a_place_each(job: Job) -> None:
    """A path without the version code is a mistake, one with it gets one file for each."""
    specimens.make_bundle(job.workspace / "b.aab", APP, 43, "1.0")
    ended = job.fail(2, PLAY)
    assert "{version-code}" in ended.log
    ended = job.succeed({**PLAY, "universal-apk": "dist/{version-code}.apk"})
    assert ended.outputs["universal-apk"] == "dist/42.apk,dist/43.apk"
    digests = [
        hashlib.sha256((job.workspace / f"dist/{code}.apk").read_bytes()).hexdigest()
        for code in (42, 43)
    ]
    assert ended.outputs["universal-apk-sha256"] == ",".join(digests)
    ended = job.fail(2, STATUS)
    assert "{version-code}" in ended.log


@pytest.mark.parametrize(
    "path",
    [
        "../app.apk",
        "/tmp/x/app.apk",
        ".git/hooks/pre-commit",
        ".env",
        "dist",
        "dist/link",
    ],
)
def test_a_place_that_nothing_may_be_written_to_is_refused_before_the_upload(
    path: str, job: Job
) -> None:
    """Outside the workspace, through a link, over a folder, or where others would run it."""
    (job.workspace / "dist").mkdir()
    (job.workspace / "dist/link").symlink_to("/tmp/elsewhere.apk")
    ended = job.fail(2, {**PLAY, "universal-apk": path})
    assert "universal-apk: " in ended.log
    assert job.emulator.state()["requests"] == {}


@pytest.mark.parametrize(
    "inputs",
    [
        {"target": "play-status", "universal-apk": ""},
        {"target": "play-listing-pull", "images-directory": ""},
        {**PLAY, "files": "other.aab", "universal-apk": ""},
    ],
    ids=repr,
)
def test_a_path_is_checked_before_its_app_is_known(
    inputs: dict[str, str], job: Job
) -> None:
    """No mistake is hidden by a name that is missing, and `{package}` leads nowhere else
    meanwhile.
    """
    (job.workspace / "other.aab").write_text("no bundle")
    for path, wrong in (("../{package}", True), ("{package}/x", False)):
        ended = job.fail(2, {name: value or path for name, value in inputs.items()})
        assert ("outside the workspace" in ended.log) is wrong, ended.log


def test_the_apk_never_replaces_what_is_uploaded(job: Job) -> None:
    """However its path is written."""
    bundle = (job.workspace / "app.aab").read_bytes()
    for path in ("app.aab", "dist/../app.aab"):
        ended = job.fail(2, {**PLAY, "universal-apk": path})
        assert "is one of `files`" in ended.log
    assert (job.workspace / "app.aab").read_bytes() == bundle
    assert job.emulator.state()["requests"] == {}
