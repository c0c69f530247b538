"""`play-verify` with APKs that are there already: whole runs, without a login or a request."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files.android.test_served import AAB, ACTIVITY, BASE, BUILT, PHONE, WRAPPED
from tests.support.job import Ended, Job
from tests.support.served_specimens import (
    FEATURE_MARK,
    PACKAGE,
    VERSION_CODE,
    File,
    apk,
    bundle,
    component,
    manifest,
)
from uploader.files.android.compiled_xml import Element
from uploader.files.android.manifest_merge import DISTRIBUTION

GIVEN = {"target": "play-verify", "files": "app.aab", "apks": "phone/*.apk"}
NO_LOGIN = {"credentials": "", "api-endpoint": "google"}


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace has a bundle, and the APKs of one phone in `phone/`."""
    (job.workspace / "phone").mkdir()
    for file in PHONE:
        put(job, file)
    (job.workspace / "app.aab").write_bytes(AAB.data)
    return job


def put(job: Job, file: File) -> None:
    (job.workspace / "phone" / file.name).write_bytes(file.data)


def statement(job: Job, ended: Ended) -> Any:
    """What is in the file that the output names."""
    return json.loads((job.workspace / ended.outputs["served-file"]).read_text())


def test_what_was_built_is_served(job: Job) -> None:
    """No credentials are there, and nothing is asked."""
    ended = job.succeed({**GIVEN, **NO_LOGIN})
    assert ended.outputs["served"] == "same"
    assert (
        ended.last_line
        == "com.example.app 42: the same as built: 10 entries of 3 APKs."
    )
    assert job.emulator.requests == []
    told = statement(job, ended)
    assert told["_type"] == "https://in-toto.io/Statement/v1"
    digests = {one["name"]: one["digest"]["sha256"] for one in told["subject"]}
    assert digests["app.aab"] == hashlib.sha256(AAB.data).hexdigest()
    assert digests["phone/base.apk"] == hashlib.sha256(BASE.data).hexdigest()
    assert told["predicate"]["comparisons"][0]["findings"] == []


def test_a_change_ends_with_6_and_says_where(job: Job) -> None:
    changed = {f"assets/{number}": b"x" for number in range(50)}
    put(job, BASE.with_entries(changed))
    ended = job.fail(6, GIVEN)
    assert (ended.outputs["served"], ended.outputs["failure"]) == (
        "changed",
        "served-changed",
    )
    assert "phone/base.apk: added: assets/0" in ended.log
    assert "44 more entries in uploader-served.json" in ended.log
    assert "assets/49" in ended.summary
    assert "; 1 of 3 APKs differs: assets/" in ended.log
    _, _, behind = ended.summary.partition("### Differences")
    assert "### APKs compared" in behind
    assert "| APK | Changed | Same |" in ended.summary
    assert "`status: halted`, without `files`" in ended.log
    assert ended.results == []
    findings = statement(job, ended)["predicate"]["comparisons"][0]["findings"]
    assert {finding["entry"] for finding in findings} == set(changed)
    said = [
        line for line in ended.log.splitlines() if "phone/" in line or "entries" in line
    ]
    assert len(said) <= 10


def test_protection_ends_with_6_only_where_that_is_asked_for(job: Job) -> None:
    put(job, BASE.with_entries(WRAPPED))
    ended = job.succeed(GIVEN)
    assert ended.outputs["served"] == "protected"
    assert "automatic protection rewrote 2 entries" in ended.last_line
    ended = job.fail(6, {**GIVEN, "require-unprotected": "true"})
    assert ended.outputs["failure"] == "served-protected"


def test_apks_of_another_app_are_a_mistake(job: Job) -> None:
    put(job, apk("other.apk", manifest(**{VERSION_CODE: "10:00000007"}), {}))
    ended = job.fail(2, GIVEN)
    assert "other.apk is com.example.app 7" in ended.log


def test_the_manifests_of_all_apks_have_a_bound(job: Job) -> None:
    """The first APK beyond it is named, and no further one is read."""
    names = [f"{number}{'x' * 32_000}" for number in range(60)]
    root = manifest(*(component("activity", name) for name in names))
    large = apk("large.apk", root, {})
    for number in range(20):
        put(job, replace(large, name=f"large-{number:02}.apk"))
    ended = job.fail(2, GIVEN)
    assert "large-17.apk is one too many: the manifests of all APKs" in ended.log
    assert ended.log.count("is one too many") == 1


def test_without_a_base_nothing_is_proven(job: Job) -> None:
    """No code was compared where only the APK of a configuration was given."""
    (job.workspace / "phone" / BASE.name).unlink()
    ended = job.succeed(GIVEN)
    assert ended.outputs["served"] == "unverified"
    assert "No APK with the app's own code was compared" in ended.last_line
    assert "no APK with the app's own code was compared" in ended.summary
    (comparison,) = statement(job, ended)["predicate"]["comparisons"]
    assert comparison["served"] == "unverified"
    assert "no APK with the app's own code" in comparison["findings"][0]["why"]


LATER = Element(
    f"{DISTRIBUTION}module",
    {f"{DISTRIBUTION}type": "text:asset-pack"},
    [Element(f"{DISTRIBUTION}delivery", {}, [Element(f"{DISTRIBUTION}on-demand", {})])],
)
"""What a manifest says of an asset pack that the app fetches when it needs it."""


def with_pack(job: Job, name: str, code: str) -> None:
    """A bundle with an asset pack."""
    pack = Element(
        "manifest", {"package": f"text:{PACKAGE}", "split": "text:pack"}, [LATER]
    )
    base = manifest(ACTIVITY, **{VERSION_CODE: code})
    built = bundle(
        {"base": base, "pack": pack}, {**BUILT, "pack/assets/level.bin": b"level"}
    )
    (job.workspace / name).write_bytes(built.data)


def pack_slice(name: str, split: str) -> File:
    """The slice of an asset pack, which has no version code (bundletool, AssetSlicesGenerator)."""
    root = Element(
        "manifest",
        {
            "package": f"text:{PACKAGE}",
            "split": f"text:{split}",
            "0x0101021c": "text:42",
            **FEATURE_MARK,
        },
        [LATER],
    )
    return apk(name, root, {"assets/level.bin": b"level"})


def test_a_slice_of_a_pack_that_comes_later_needs_no_version_code(job: Job) -> None:
    with_pack(job, "app.aab", "10:0000002a")
    put(job, pack_slice("pack.apk", "pack"))
    ended = job.succeed(GIVEN)
    assert ended.outputs["served"] == "same"
    told = {one["name"] for one in statement(job, ended)["subject"]}
    assert "phone/pack.apk" in told


def test_any_other_apk_without_a_version_code_is_a_mistake(job: Job) -> None:
    with_pack(job, "app.aab", "10:0000002a")
    put(job, pack_slice("pack.apk", "other"))
    assert "pack.apk is com.example.app 0" in job.fail(2, GIVEN).log


def test_a_slice_that_may_be_of_two_versions_is_a_mistake(job: Job) -> None:
    with_pack(job, "app.aab", "10:0000002a")
    with_pack(job, "app43.aab", "10:0000002b")
    put(job, pack_slice("pack.apk", "pack"))
    ended = job.fail(2, {**GIVEN, "files": "*.aab"})
    assert (
        "pack.apk has no version code, and several bundles have its asset pack"
        in ended.log
    )


def test_hostile_names_reach_no_terminal(job: Job) -> None:
    """An entry may have any name; none leaves the folder or moves the cursor."""
    put(job, BASE.with_entries({"../../evil\x1b[2J\n::error::x": b"x"}))
    ended = job.fail(6, GIVEN)
    assert "\x1b[2J" not in ended.log
    assert "\n::error::x" not in ended.log
    assert not Path(job.workspace.parent / "evil").exists()
