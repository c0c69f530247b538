"""Whether a mapping and an artifact are of one build: what R8 wrote into both, and what is not
compared.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from google_emulator import specimens
from tests.support.debug_files import (
    OWN_MAPPING,
    OWN_SYMBOLS,
    add_entries,
    map_hash,
    marker,
    r8_dex,
    r8_mapping,
)
from uploader.files.android.map_ids import (
    MAX_DEX,
    ids_of_artifact,
    ids_of_mapping,
    same_build,
)
from uploader.files.artifacts import Artifact, from_path, inspect

MIB = 1 << 20


def apk(folder: Path, entries: dict[str, bytes], *, stored: bool = False) -> Artifact:
    """An APK with these entries."""
    path = folder / "app.apk"
    specimens.make_apk(path, "com.example.app", 7, "1.0")
    add_entries(path, entries, stored=stored)
    return from_path(path, path.name)


def test_the_ids_of_a_mapping_are_in_its_head() -> None:
    """The id and the whole hash; line ends of either kind."""
    head = r8_mapping("one").replace("\n", "\r\n").encode()
    assert ids_of_mapping(head) == {map_hash("one"), map_hash("one")[:7]}
    assert ids_of_mapping(b"a.B -> c:\n") == set()


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("before", [0, MIB - 40, MIB, 3 * MIB])
def test_the_marker_is_found_wherever_it_stands(
    tmp_path: Path, before: int, stored: bool
) -> None:
    """Across the pieces in which a dex file is read, too."""
    found = ids_of_artifact(
        apk(tmp_path, {"classes.dex": r8_dex("one", before)}, stored=stored)
    )
    assert found == {map_hash("one")[:7]}


def test_the_base_comes_before_a_feature_and_the_first_file_before_the_second(
    tmp_path: Path,
) -> None:
    """The first dex file that has a marker counts: `classes10.dex` comes after `classes2.dex`."""
    entries = {
        "classes10.dex": r8_dex("ten"),
        "classes2.dex": r8_dex("two"),
        "classes.dex": b"dex",
    }
    assert ids_of_artifact(apk(tmp_path, entries)) == {map_hash("two")[:7]}
    path = tmp_path / "app.aab"
    specimens.make_bundle(path, "com.example.app", 7, "1.0")
    add_entries(
        path,
        {
            "a/dex/classes.dex": r8_dex("feature"),
            "base/dex/classes.dex": r8_dex("base"),
        },
    )
    assert ids_of_artifact(from_path(path, path.name)) == {map_hash("base")[:7]}


def test_the_marker_of_a_library_is_none_of_the_app(tmp_path: Path) -> None:
    """A library that was shrunk on its own has one for class files, with a mapping that nobody
    has.
    """
    library = marker("1234567", backend="cf")
    assert ids_of_artifact(apk(tmp_path, {"classes.dex": library + b"\0"})) == set()


@pytest.mark.parametrize(
    ("mapping", "dex", "same"),
    [
        ({"7fe8b95", "7fe8b95ae7"}, {"7fe8b95"}, True),
        ({"7fe8b95ae7"}, {"7fe8b95"}, True),
        ({"7fe8b95"}, {"1111111", "7fe8b95"}, True),
        ({"7fe8b95", "7fe8b95ae7"}, {"1111111"}, False),
        (set(), {"1111111"}, True),
        ({"7fe8b95"}, set(), True),
    ],
)
def test_nothing_is_held_against_what_says_nothing(
    mapping: set[str], dex: set[str], same: bool
) -> None:
    """Two ids that differ are a fact; one alone is none."""
    assert same_build(frozenset(mapping), frozenset(dex)) is same


@pytest.mark.slow
def test_a_dex_file_without_end_is_given_up(tmp_path: Path) -> None:
    """Zeros that unpack to more than any app's code: so much is looked at and no more, a mebibyte
    at a time.
    """
    artifact = apk(
        tmp_path,
        {
            "classes.dex": bytes(MAX_DEX + MIB) + r8_dex("one"),
            "classes2.dex": r8_dex("one"),
        },
    )
    tracemalloc.start()
    assert ids_of_artifact(artifact) == set()
    assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("entries", "carries"),
    [
        ([], set()),
        ([OWN_MAPPING], {"mapping"}),
        ([OWN_SYMBOLS], {"symbols"}),
        ([OWN_MAPPING, OWN_SYMBOLS], {"mapping", "symbols"}),
        (["BUNDLE-METADATA/com.android.tools.build.debugsymbols/"], set()),
        ([f"base/assets/{OWN_MAPPING}"], set()),
    ],
)
def test_what_a_bundle_carries_is_seen_in_its_directory(
    tmp_path: Path, entries: list[str], carries: set[str]
) -> None:
    """The names alone count, since Play reads the contents; an APK carries nothing."""
    path = tmp_path / "app.aab"
    specimens.make_bundle(path, "com.example.app", 7, "1.0")
    add_entries(path, dict.fromkeys(entries, b"x"))
    manifest = inspect(from_path(path, path.name)).manifest
    assert manifest
    assert manifest.carries == carries
    other = inspect(apk(tmp_path, dict.fromkeys(entries, b"x"))).manifest
    assert other
    assert not other.carries
