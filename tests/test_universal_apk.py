"""The universal APK that Play generates: fetched through the real entrypoint, checked, and only then named and told."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from google_emulator.specimens.signature_writer import RELEASE, certificate
from tests.support.job import Job

APP = "com.example.app"
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal", "universal-apk": "dist/app.apk"}
STATUS = {"target": "play-status", "package-name": APP, "tracks": "internal", "universal-apk": "dist/app.apk"}
DOWNLOAD = "play.generatedapks.download"
MIB = 1024 * 1024
CERTIFICATE = hashlib.sha256(certificate(RELEASE)).hexdigest()


@pytest.fixture
def generation() -> dict[str, Any]:
    """How the APKs come about, to be changed by a test before it starts its job."""
    return {}


@pytest.fixture
def emulator(generation: dict[str, Any]) -> Iterator[Emulator]:
    """An emulator that generates as the test says."""
    with Emulator(config={"generated_apks": {"*": generation}}) as emulator:
        yield emulator


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(job.workspace / "app.aab", APP, 42, "1.0")
    return job


def left(job: Job) -> list[str]:
    """Every file in the workspace, but for what each run leaves."""
    files = (path.relative_to(job.workspace) for path in job.workspace.rglob("*") if path.is_file())
    return sorted(str(path) for path in files if path.name != "uploader-results.json")


def fired(job: Job) -> list[str]:
    """The faults that happened."""
    return [receipt["do"] for receipt in job.emulator.state()["faults"]["fired"]]


def requests(job: Job, operation: str = DOWNLOAD) -> int:
    """How many requests the emulator has had for an operation."""
    return int(job.emulator.state()["requests"].get(operation, 0))


def test_the_signed_apk_comes_back_after_the_commit(job: Job) -> None:
    """It is there whole, of the right app and version, with its digest and its certificate told."""
    ended = job.run(PLAY)
    assert ended.code == 0, ended.log
    apk = job.workspace / "dist/app.apk"
    with zipfile.ZipFile(apk) as archive:
        assert "AndroidManifest.xml" in archive.namelist()
    assert ended.outputs["committed"] == "true"
    assert ended.outputs["universal-apk"] == "dist/app.apk"
    assert ended.outputs["universal-apk-sha256"] == hashlib.sha256(apk.read_bytes()).hexdigest()
    assert CERTIFICATE in ended.summary
    assert CERTIFICATE in ended.log
    assert left(job) == ["app.aab", "dist/app.apk"]


def test_a_version_that_is_there_already_is_fetched_alone(job: Job) -> None:
    """The status needs no bundle, and replaces what an earlier run has left."""
    job.run({name: value for name, value in PLAY.items() if name != "universal-apk"})
    (job.workspace / "dist").mkdir()
    (job.workspace / "dist/app.apk").write_bytes(b"yesterday's")
    ended = job.run(STATUS)
    assert ended.code == 0, ended.log
    assert ended.outputs["universal-apk"] == "dist/app.apk"
    assert zipfile.is_zipfile(job.workspace / "dist/app.apk")


def test_a_dry_run_fetches_nothing(job: Job) -> None:
    """Nothing is generated of what is not released."""
    ended = job.run({**PLAY, "dry-run": "true"})
    assert ended.code == 0, ended.log
    assert requests(job) == 0
    assert left(job) == ["app.aab"]


# The download


def test_a_download_that_breaks_goes_on_where_it_was(job: Job, generation: dict[str, Any]) -> None:
    """Each answer that breaks off is continued: what came is not asked for again."""
    generation["size"] = 3 * MIB
    job.emulator.stop()
    with Emulator(config={"generated_apks": {"*": generation}}) as emulator:
        job = Job(job.workspace, emulator)
        emulator.add_fault(DOWNLOAD, "cut-answer", after=MIB)
        emulator.add_fault(DOWNLOAD, "cut-answer", after=MIB // 2)
        ended = job.run(PLAY)
        assert ended.code == 0, ended.log
        assert fired(job) == ["cut-answer", "cut-answer"]
        apk = (job.workspace / "dist/app.apk").read_bytes()
    assert len(apk) == 3 * MIB
    assert hashlib.sha256(apk).hexdigest() == ended.outputs["universal-apk-sha256"]
