"""Everything that can be known to be wrong with a Play release before anything is sent, and how the
plan reads.
"""

from __future__ import annotations

import os
import resource
import zipfile
from pathlib import Path

import pytest

from google_emulator.specimens import make_apk, make_bundle, make_image
from tests.support import factory
from tests.support.factory import make_inputs
from tests.support.fake_play import Play
from tests.support.play_driver import Engine
from uploader.errors import InputError, UploaderError
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace
from uploader.inputs import read
from uploader.inputs.records import ReleaseInputs
from uploader.services.base import Prepared
from uploader.services.play.prepare import prepare as prepare_release

PACKAGE = "com.example.app"


def bundle(workspace: Path, code: int = 7, package: str = PACKAGE) -> Artifact:
    """A valid bundle on disk."""
    path = workspace / f"{package}-{code}.aab"
    make_bundle(path, package, code, f"{code}.0")
    return from_path(path, path.name)


def apk(workspace: Path, code: int = 7) -> Artifact:
    """A valid APK on disk."""
    path = workspace / f"{code}.apk"
    make_apk(path, PACKAGE, code, f"{code}.0")
    return from_path(path, path.name)


def prepare(workspace: Path, *files: Artifact, **given: str) -> Prepared:
    """The job that the inputs ask for."""
    return factory.prepare(make_inputs(workspace, target="play", **given), *files)


def complaints(workspace: Path, *files: Artifact, **given: str) -> dict[str, str]:
    """What is wrong, by input; nothing may be right about it."""
    with pytest.raises(InputError) as caught:
        prepare(workspace, *files, **given)
    return {problem.name: str(problem) for problem in caught.value.problems}


# --- what is refused ------------------------------------------------------------------------------


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """One run, one list: whoever corrects it need not come back for the next mistake."""
    broken = tmp_path / "broken.aab"
    broken.write_bytes(b"PK\x03\x04 and no more")
    found = complaints(
        tmp_path,
        bundle(tmp_path),
        from_path(broken, "broken.aab"),
        package_name="com.example.other",
        status="completed",
        user_fraction="0.5",
        whats_new_directory="nowhere",
        mapping_file="nothing.txt",
        debug_symbols="nothing.zip",
        images_directory="nothing",
        expansion_file_main="nothing.obb",
    )
    assert found.keys() == {
        "files",
        "package-name",
        "tracks",
        "user-fraction",
        "whats-new-directory",
        "mapping-file",
        "debug-symbols",
        "images-directory",
        "expansion-file-main",
    }


def test_an_unreadable_artifact_is_one_mistake(tmp_path: Path) -> None:
    """What could not be read is not held against the inputs that go with it."""
    (tmp_path / "mapping.txt").write_text("a.b.C -> x.y:\n")
    (tmp_path / "broken.apk").write_bytes(b"no zip")
    broken = from_path(tmp_path / "broken.apk", "broken.apk")
    given = {"mapping_file": "mapping.txt", "expansion_file_main": "references:5"}
    assert complaints(tmp_path, broken, tracks="beta", **given).keys() == {"files"}


def test_symbols_for_which_there_is_no_temporary_folder_are_no_mistake(
    tmp_path: Path,
) -> None:
    """Nobody can make a folder in this one."""
    (tmp_path / "symbols/x86_64").mkdir(parents=True)
    (tmp_path / "symbols/x86_64/liba.so").write_text("symbols")
    workspace = Workspace(tmp_path, temp=Path("/proc"))
    given = {"tracks": "beta", "debug_symbols": "symbols"}
    inputs = make_inputs(tmp_path, target="play", **given)
    with pytest.raises(
        UploaderError, match="No temporary file could be made"
    ) as raised:
        prepare_release(inputs.record(ReleaseInputs), (bundle(tmp_path),), workspace)
    assert (raised.value.code, raised.value.exit_code) == ("file-not-written", 1)
    assert "`RUNNER_TEMP`" in raised.value.hint


def test_symbols_that_do_not_fit_on_the_disk_are_no_mistake(tmp_path: Path) -> None:
    """A small limit of a file stands for the disk."""
    (tmp_path / "symbols/x86_64").mkdir(parents=True)
    (tmp_path / "symbols/x86_64/liba.so").write_bytes(os.urandom(1 << 20))
    given = {"tracks": "beta", "debug_symbols": "symbols"}
    artifact = bundle(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(UploaderError) as raised:
            prepare(tmp_path, artifact, **given)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.code == "file-not-written"
    assert "No temporary file could be made: File too large." in str(raised.value)


def test_the_package_name_is_the_artifact_s(tmp_path: Path) -> None:
    """It need not be given; if it is, it has to be right."""
    assert (
        "open an edit for com.example.app"
        in prepare(tmp_path, bundle(tmp_path), tracks="beta").lines
    )
    found = complaints(
        tmp_path, bundle(tmp_path), tracks="beta", package_name="com.example.other"
    )
    assert "com.example.app-7.aab is 'com.example.app'" in found["package-name"]


@pytest.mark.parametrize(
    ("status", "fraction", "wrong"),
    [
        ("auto", "all", False),
        ("auto", "0.1", False),
        ("auto", "100%", False),
        ("completed", "all", False),
        ("completed", "100%", False),
        ("draft", "all", False),
        ("inProgress", "0.1", False),
        ("halted", "0.1", False),
        ("completed", "0.1", True),
        ("draft", "0.1", True),
        ("inProgress", "all", True),
        ("inProgress", "100%", True),
    ],
)
def test_a_fraction_belongs_to_a_staged_release(
    tmp_path: Path, status: str, fraction: str, wrong: bool
) -> None:
    """`inProgress` and `halted` have one, `completed` and `draft` have none; a fraction alone means
    `inProgress`.
    """
    given = {"status": status, "user_fraction": fraction, "tracks": "production"}
    if wrong:
        assert complaints(tmp_path, bundle(tmp_path), **given).keys() == {
            "user-fraction"
        }
    else:
        prepare(tmp_path, bundle(tmp_path), **given)


@pytest.mark.parametrize(
    "given", [{}, {"promote_from": "beta", "package_name": PACKAGE}]
)
def test_nothing_new_can_be_released_as_halted(
    tmp_path: Path, given: dict[str, str]
) -> None:
    """No fraction is missing; with one it is a warning, since the files may be the release that is
    there.
    """
    files = () if given else (bundle(tmp_path),)
    found = complaints(tmp_path, *files, tracks="production", status="halted", **given)
    assert found.keys() == {"status"}
    assert "only a release that is on the track can be halted" in found["status"]
    (warning,) = prepare(
        tmp_path,
        *files,
        tracks="production",
        status="halted",
        user_fraction="0.1",
        **given,
    ).warnings
    assert warning.startswith("`status: halted`")


BETA, PRODUCTION = {"tracks": "beta"}, {"tracks": "production"}


@pytest.mark.parametrize(
    ("files", "given", "name", "words"),
    [
        ("bundle other", BETA, "files", "com.example.other ("),
        ("bundle other", BETA, "files", "com.example.app ("),
        (
            "bundle apk",
            BETA,
            "files",
            "version code 7 occurs 2 times: com.example.app-7.aab, 7.apk",
        ),
        ("", {}, "files", ""),
        (
            "",
            PRODUCTION,
            "files",
            "",
        ),  # files that were forgotten must not complete a rollout
        (
            "",
            {"tracks": "alpha", "testers": "us@example.com", "wait_for": "published"},
            "wait-for",
            "",
        ),
        (
            "",
            {**PRODUCTION, "status": "draft"},
            "status",
            "",
        ),  # a draft is made of files
        ("", {**BETA, "promote_from": "beta"}, "promote-from", ""),
        ("", {"tracks": "production,beta", "promote_from": "beta"}, "promote-from", ""),
        ("bundle", {**PRODUCTION, "promote_from": "beta"}, "promote-from", ""),
        ("bundle", {**PRODUCTION, "countries": "DE"}, "countries", ""),
        (
            "bundle",
            {**BETA, "user_fraction": "0.5", "countries": "DE"},
            "countries",
            "",
        ),
        (
            "bundle",
            {"tracks": "production,beta", "user_fraction": "0.5", "countries": "DE"},
            "countries",
            "",
        ),
        (
            "bundle",
            {
                **PRODUCTION,
                "user_fraction": "0.5",
                "status": "halted",
                "countries": "DE",
            },
            "countries",
            "",
        ),
        (
            "bundle",
            {**PRODUCTION, "status": "draft", "countries": "DE"},
            "countries",
            "",
        ),
    ],
)
def test_what_makes_no_release_is_refused(
    tmp_path: Path, files: str, given: dict[str, str], name: str, words: str
) -> None:
    """Files that don't belong together, a job that asks for nothing, and what Google takes in a
    rollout alone.
    """
    made = {
        "bundle": bundle(tmp_path),
        "other": bundle(tmp_path, 8, "com.example.other"),
        "apk": apk(tmp_path),
    }
    package = {} if files else {"package_name": PACKAGE}
    found = complaints(
        tmp_path, *(made[file] for file in files.split()), **package, **given
    )
    assert list(found) == [name]
    assert words in found[name]


def test_one_release_is_not_split_over_jobs_that_each_commit(tmp_path: Path) -> None:
    """A part is for a shared edit, or for one that stays open; all files in one job are 1/1."""
    given = {"tracks": "beta", "shard": "2/3"}
    assert "2/3" in complaints(tmp_path, bundle(tmp_path), **given)["shard"]
    prepare(tmp_path, bundle(tmp_path), **given, existing_edit_id="12")
    prepare(tmp_path, bundle(tmp_path), **given, commit="false")
    prepare(tmp_path, bundle(tmp_path), **{**given, "shard": "1/1"})
    prepare(tmp_path, package_name=PACKAGE, status="halted", **given)


def test_gitlab_s_parallel_jobs_do_not_split_a_release_either(tmp_path: Path) -> None:
    """`parallel: 3` needs no input to be a split."""
    environ = {
        "GITLAB_CI": "true",
        "CI_PROJECT_DIR": str(tmp_path),
        "CI_NODE_INDEX": "1",
        "CI_NODE_TOTAL": "3",
    }
    inputs, _ = read(
        {**environ, "UPLOADER_TARGET": "play", "UPLOADER_TRACKS": "beta"}, []
    )
    with pytest.raises(InputError, match="each of the 3 jobs"):
        factory.prepare(inputs, bundle(tmp_path))


@pytest.mark.parametrize(
    "given",
    [
        {"status": "halted"},
        {"status": "completed"},
        {"status": "inProgress"},
        {"user_fraction": "0.5"},
        {"promote_from": "beta"},
        {"version_codes_to_retain": "7"},
        {"in_app_update_priority": "5"},
    ],
)
def test_a_release_can_be_changed_without_files(
    tmp_path: Path, given: dict[str, str]
) -> None:
    """Widen, halt, resume, complete, promote: the package and the track are enough."""
    prepare(tmp_path, package_name=PACKAGE, tracks="production", **given)
    assert complaints(tmp_path, tracks="production", **given).keys() == {"package-name"}
    assert complaints(tmp_path, package_name=PACKAGE, **given).keys() == {"tracks"}


def test_an_edit_that_is_named_or_left_open_is_a_job(tmp_path: Path) -> None:
    """An existing edit asks to be committed, `commit: false` for an open one."""
    prepared = prepare(tmp_path, package_name=PACKAGE, existing_edit_id="12")
    assert prepared.lines == ("work in edit 12", "commit the edit")
    opened = prepare(tmp_path, package_name=PACKAGE, commit="false")
    assert opened.lines == ("open an edit for com.example.app", "leave the edit open")


def test_expansion_files_belong_to_apks(tmp_path: Path) -> None:
    """A bundle has asset packs instead."""
    found = complaints(
        tmp_path, bundle(tmp_path), tracks="beta", expansion_file_main="references:5"
    )
    assert found.keys() == {"expansion-file-main"}
    assert "with version 5: main expansion file for version code 7" in " ".join(
        prepare(
            tmp_path, apk(tmp_path), tracks="beta", expansion_file_main="references:5"
        ).lines
    )


def test_a_file_larger_than_play_takes_is_not_sent(tmp_path: Path) -> None:
    """10 GiB for an APK, said before the first byte."""
    path = tmp_path / "large.apk"
    make_apk(path, PACKAGE, 7, "7.0", 10 * 2**30 + 1, sparse=True)
    found = complaints(tmp_path, from_path(path, "large.apk"), tracks="beta")
    assert "10,737,418,240" in found["files"]


# --- what is only odd -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        (
            {"dry_run": "true", "existing_edit_id": "12"},
            "`existing-edit-id` is ignored",
        ),
        ({"images_prune": "true"}, "`images-prune` does nothing"),
        ({"release_name": "x" * 51}, "`release-name` has 51 characters"),
    ],
)
def test_what_is_odd_is_a_warning(
    tmp_path: Path, given: dict[str, str], warning: str
) -> None:
    """Google, or nobody, will mind: the run goes on."""
    (found,) = prepare(tmp_path, bundle(tmp_path), tracks="beta", **given).warnings
    assert found.startswith(warning)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"whats_new_directory": "notes/{packageName}"}, "Did you mean `{package}`?"),
        ({"whats_new_directory": "distribution"}, "`actions/checkout`"),
    ],
    ids=["placeholder", "no checkout"],
)
def test_a_path_that_leads_nowhere_is_told_with_what_was_meant(
    tmp_path: Path, given: dict[str, str], told: str
) -> None:
    """Another name of the placeholder, or a job without the repository."""
    with pytest.raises(InputError) as caught:
        prepare(tmp_path, bundle(tmp_path), tracks="beta", **given)
    assert told in str(caught.value)


def test_a_share_on_an_internal_track_beside_another_is_a_warning(
    tmp_path: Path,
) -> None:
    """The share is one for all tracks, and was probably meant for production alone."""
    fraction = {"user_fraction": "5%"}
    both = prepare(tmp_path, bundle(tmp_path), tracks="internal,production", **fraction)
    (warning,) = both.warnings
    assert warning.startswith(
        "`user-fraction` applies to each of the tracks: only 5 % of"
    )
    assert "testers on internal" in warning
    for tracks in ("production", "beta,production", "internal"):
        assert (
            prepare(tmp_path, bundle(tmp_path), tracks=tracks, **fraction).warnings
            == ()
        )
    every = {"user_fraction": "100%"}
    assert (
        prepare(tmp_path, bundle(tmp_path), tracks="internal,beta", **every).warnings
        == ()
    )


def test_a_long_tag_is_cut_to_what_a_release_s_name_may_have(tmp_path: Path) -> None:
    """The default must not be what Google refuses; a name that was given is left as it is."""
    environ = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_REF_TYPE": "tag",
        "GITHUB_REF_NAME": "release/" + "x" * 60,
    }
    given = {
        "GITHUB_WORKSPACE": str(tmp_path),
        "UPLOADER_TARGET": "play",
        "UPLOADER_TRACKS": "beta",
    }
    inputs, _ = read({**environ, **given}, [])
    prepared = factory.prepare(inputs, bundle(tmp_path))
    store = Play()
    Engine(store).drive(prepared.flow)
    assert store.live.tracks["beta"][0]["name"] == "release/" + "x" * 42
    assert "cut to 50 characters" in prepared.warnings[0]


# --- what the plan says, and what comes of it -----------------------------------------------------


def full_workspace(workspace: Path) -> dict[str, str]:
    """Everything that can go with an artifact, in the layouts that people have, and the inputs that
    name it.
    """
    (workspace / "mapping.txt").write_text("a.b.C -> x.y:\n")
    with zipfile.ZipFile(workspace / "symbols.zip", "w") as archive:
        archive.writestr("arm64-v8a/libapp.so", b"\x7fELF symbols")
    images = workspace / "metadata/en-US/images"
    images.mkdir(parents=True)
    make_image(images / "icon.png", 512, 512, alpha=True)
    (workspace / "metadata/en-US/title.txt").write_text("App")
    (workspace / "whatsnew").mkdir()
    (workspace / "whatsnew/whatsnew-en-US").write_text("News.")
    return {
        "mapping_file": "mapping.txt",
        "debug_symbols": "symbols.zip",
        "whats_new_directory": "whatsnew",
        "images_directory": "metadata",
    }


def test_inputs_become_the_release(tmp_path: Path) -> None:
    """From environment to track: name, notes, priority, countries, status, and what goes with the
    artifact.
    """
    inputs = full_workspace(tmp_path)
    given = {
        "release_name": "Spring",
        "in_app_update_priority": "3",
        "countries": "DE,rest-of-world",
    }
    prepared = prepare(
        tmp_path,
        bundle(tmp_path),
        tracks="production",
        user_fraction="0.1",
        **given,
        **inputs,
    )
    store = Play()
    Engine(store).drive(prepared.flow)
    assert store.live.tracks["production"] == [
        {
            "versionCodes": ["7"],
            "status": "inProgress",
            "userFraction": 0.1,
            "name": "Spring",
            "releaseNotes": [{"language": "en-US", "text": "News."}],
            "inAppUpdatePriority": 3,
            "countryTargeting": {"countries": ["DE"], "includeRestOfWorld": True},
        }
    ]
    assert store.live.supplementary.keys() == {(7, "proguard"), (7, "nativeCode")}
    assert store.live.listings["en-US"] == {"language": "en-US", "title": "App"}
    assert store.live.images.keys() == {("en-US", "icon")}
