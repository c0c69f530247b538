"""Numbers that nobody means, wherever a number is read: a mistake of the input, at once, and never
a defect.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from google_emulator import specimens
from tests.support.factory import make_inputs
from tests.support.job import Job
from uploader.errors import InputError
from uploader.files.artifacts import find
from uploader.files.workspace import Workspace
from uploader.inputs import read
from uploader.inputs.records import ReleaseInputs
from uploader.services.any_method import read_params
from uploader.services.play.prepare import prepare

HUGE = "9" * 5000  # more digits than Python turns into a number
NUMBERS = {
    "chunk-size": ("9e99GiB", f"{HUGE}GiB", "1e3", "\u0663MiB", "-1", "0x10"),
    "concurrency": (HUGE, "1e1", "\uff11\uff16"),
    "max-retries": (HUGE, "-1", "5.0"),
    "retry-deadline": ("9e99h", f"{HUGE}h", "999999999h", "infs", "nans"),
    "stall-timeout": (f"{HUGE}s", "-1s"),
    "shard": (f"1/{HUGE}", f"{HUGE}/{HUGE}", "0/0"),
    "user-fraction": (HUGE, "1e-400", "nan", "inf", "0." + "0" * 5000 + "1"),
    "in-app-update-priority": (HUGE, "6", "-1"),
    "version-codes-to-retain": (HUGE, "2100000001", "0", "-1"),
    "promote-version-codes": (HUGE, "2100000001"),
    "expansion-file-main": (
        f"references:{HUGE}",
        "references:2100000001",
        "references:-1",
    ),
    "mapping-file": (f"{HUGE}=mapping.txt",),
    "gate-min-users": (HUGE,),
    "gate-period": (HUGE,),
    "gate-max-age": (f"{HUGE}h",),
    "halt-above": (f"crash-rate {HUGE}%", "crash-rate nan%", "crash-rate 1e9x"),
    "rollout-steps": (f"{HUGE}%", "nan%", "1e-400"),
}
TARGETS = dict.fromkeys(
    ("gate-min-users", "gate-period", "gate-max-age", "halt-above"), "play-rollout"
)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in NUMBERS.items() for value in values],
    ids=lambda text: text[:24],
)
def test_a_number_that_nobody_means_is_a_mistake(
    tmp_path: Path, name: str, value: str
) -> None:
    """The problem is that of the input, and is found in less than a second."""
    target = TARGETS.get(name, "play-rollout" if name == "rollout-steps" else "play")
    environ = {
        "UPLOADER_TARGET": target,
        f"UPLOADER_{name.upper().replace('-', '_')}": value,
        "HOME": str(tmp_path),
    }
    began = time.process_time()
    _, problems = read(environ, [])
    assert name in {problem.name for problem in problems}
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("code", "fits"),
    [(2_100_000_000, True), (2_100_000_001, False), (0xFFFFFFFF, False)],
)
def test_a_manifest_s_version_code_is_bounded(
    tmp_path: Path, code: int, fits: bool
) -> None:
    """By what Google Play takes."""
    specimens.make_bundle(tmp_path / "app.aab", "com.example.app", code, "1.0")
    workspace = Workspace(tmp_path)
    inputs = make_inputs(
        tmp_path, target="play", files="app.aab", tracks="internal"
    ).record(ReleaseInputs)
    files = find(["app.aab"], workspace)
    if fits:
        assert prepare(inputs, files, workspace).lines
        return
    with pytest.raises(InputError, match="more than Google Play accepts"):
        prepare(inputs, files, workspace)


@pytest.mark.parametrize("code", [1 << 32 | 5, (1 << 64) - 1])
def test_a_version_code_with_a_major_part_names_it(tmp_path: Path, code: int) -> None:
    """Android's long version code: the attribute that makes it too large is not the one that people
    look at.
    """
    specimens.make_bundle(tmp_path / "app.aab", "com.example.app", code, "1.0")
    workspace = Workspace(tmp_path)
    inputs = make_inputs(
        tmp_path, target="play", files="app.aab", tracks="internal"
    ).record(ReleaseInputs)
    with pytest.raises(InputError) as caught:
        prepare(inputs, find(["app.aab"], workspace), workspace)
    (problem,) = caught.value.problems
    assert (
        f"version code {code} (versionCodeMajor {code >> 32}, versionCode {code & 0xFFFFFFFF})"
        in problem.what
    )
    assert (
        problem.accepted
        == "a versionCode from 1 to 2100000000, and no versionCodeMajor"
    )


BRACKETS = {
    "lists": "a: " + "[" * 100_000,
    "maps": "a: " + "{" * 100_000,
    "both": "a: " + "[{" * 50_000,
    "closed": "a: " + "[" * 50_000 + "]" * 50_000,
    "on lines": "a:\n" + " [\n" * 30_000,
}


@pytest.mark.parametrize("what", BRACKETS)
def test_deep_brackets_are_refused_before_they_are_scanned(what: str) -> None:
    """The YAML library would take hours."""
    began = time.process_time()
    with pytest.raises(InputError):
        read_params(BRACKETS[what])
    assert time.process_time() - began < 1


@pytest.mark.parametrize("what", BRACKETS)
def test_deep_brackets_in_release_notes_end_the_run_at_once(
    job: Job, what: str
) -> None:
    """As a whole run, with exit 2."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 42, "1.0")
    given = {
        "target": "play",
        "files": "app.aab",
        "tracks": "internal",
        "whats-new": f"en-US: {BRACKETS[what]}",
    }
    ended = job.fail(2, given)
    assert "whats-new" in ended.log


def test_brackets_that_people_write_are_read() -> None:
    """Nesting as in any real map."""
    assert read_params("a: [1, {b: [2, 3]}]\nc: '[[['") == {
        "a": ["1", {"b": ["2", "3"]}],
        "c": "[[[",
    }
