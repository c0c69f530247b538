"""The wait for the universal APK, in simulated time: at growing intervals, up to the deadline."""

from __future__ import annotations

from pathlib import Path

import pytest

from google_emulator import Emulator
from tests.support.transfer_harness import Bench
from uploader.errors import TemporaryError
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace
from uploader.services.base import Outcome
from uploader.services.play.universal_apk import UniversalApkGoal, fetch_apks

APP = "com.example.app"
DOWNLOAD = "play.generatedapks.download"


def bench(emulator: Emulator) -> Bench:
    """A run against an emulator on which version 42 is released."""
    emulator.console.add_release(APP, "internal", {"versionCodes": ["42"]})
    return Bench(emulator, max_retries=1)


def fetch(bench: Bench, folder: Path, seconds: float = 3600.0) -> Outcome:
    """Fetches the APK of version 42 into the folder."""
    goal = UniversalApkGoal(
        Destination(Workspace(folder), "universal-apk", "{version-code}.apk"), seconds
    )
    return bench.engine.run(
        lambda context: fetch_apks(APP, ("42",), goal, Outcome("Released."), context)
    )


def test_the_last_look_is_at_the_deadline(tmp_path: Path) -> None:
    """The pauses never go beyond it."""
    with Emulator(config={"generated_apks": {"*": {"never": True}}}) as emulator:
        run = bench(emulator)
        outcome = fetch(run, tmp_path, 100.0)
        assert run.naps == [15, 30, 55]
    assert isinstance(outcome.trouble, TemporaryError)
    assert "after 100 s" in str(outcome.trouble)
    assert outcome.headline == "Released."


@pytest.mark.parametrize(
    "body",
    [
        '{"generatedApks": {}}',
        '{"generatedApks": [7]}',
        '{"generatedApks": [{"generatedUniversalApk": {"downloadId": 7}}]}',
        '{"generatedApks": [{"generatedUniversalApk": {"downloadId": ".."}, '
        '"certificateSha256Hash": "%s"}]}' % ("0" * 64),
        '{"generatedApks": [{"generatedUniversalApk": {"downloadId": "x"}}]}',
        '{"generatedApks": [{"unprotectedGeneratedStandaloneApks": 7}]}',
        '{"generatedApks": [{"unprotectedGeneratedStandaloneApks": [{"downloadId": 7}]}]}',
    ],
)
def test_an_answer_in_another_form_breaks_the_protocol(
    body: str, tmp_path: Path
) -> None:
    """Nothing of it becomes a path or a digest to compare with."""
    with Emulator() as emulator:
        run = bench(emulator)
        emulator.add_fault("play.generatedapks.list", "replace-body", body=body)
        outcome = fetch(run, tmp_path)
        assert run.count(DOWNLOAD) == 0
    assert outcome.trouble is not None
    assert outcome.trouble.code == "protocol-error"
