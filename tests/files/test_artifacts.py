"""What `files` means: order, globs, streams, what is refused, the split into shards, and noticing a
changed file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader.errors import InputError
from uploader.files.artifacts import Artifact, difference, find, part
from uploader.files.nearby import files_nearby
from uploader.files.workspace import Workspace


def touch(folder: Path, *names: str) -> None:
    """Makes small files, with their folders."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(*patterns: str, workspace: Path, allow_outside: bool = False) -> list[str]:
    """The names found, in order."""
    return [
        artifact.name
        for artifact in find(
            patterns, Workspace(workspace, allow_outside=allow_outside)
        )
    ]


def refusals(*patterns: str, workspace: Path) -> list[str]:
    """What is wrong, one sentence for each problem."""
    with pytest.raises(InputError) as caught:
        find(patterns, Workspace(workspace))
    assert {problem.name for problem in caught.value.problems} == {"files"}
    return [problem.what for problem in caught.value.problems]


def test_a_path_that_the_shell_took_apart_is_put_together(tmp_path: Path) -> None:
    """One mistake names the whole path, where its first part is no file itself."""
    touch(tmp_path, "my app/a b.aab")
    assert refusals("my", "app/a", "b.aab", workspace=tmp_path) == [
        "`my app/a b.aab` came in 3 parts."
    ]


def test_files_come_in_the_order_of_the_patterns_sorted_within_one_each_once(
    tmp_path: Path,
) -> None:
    """The order is the patterns', then by name; a file that two patterns match counts where it was
    met first.
    """
    touch(tmp_path, "b.apk", "a.apk", "z.aab", "dist/c.apk")
    assert names("z.aab", "*.apk", "**/*.apk", workspace=tmp_path) == [
        "z.aab",
        "a.apk",
        "b.apk",
        "dist/c.apk",
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.apk", ["a.apk"]),
        ("**/*.apk", ["a.apk", "x/b.apk", "x/y/c.apk"]),
        ("**", ["a.apk", "x/b.apk", "x/y/c.apk"]),
        ("x/**", ["x/b.apk", "x/y/c.apk"]),
        ("x/**/c.apk", ["x/y/c.apk"]),
        ("**/y/**/*.apk", ["x/y/c.apk"]),
        ("**/**/b.apk", ["x/b.apk"]),
        ("*/[bc].apk", ["x/b.apk"]),
        ("*/[!c].apk", ["x/b.apk"]),
        ("?/?.apk", ["x/b.apk"]),
        ("./x//b.apk", ["x/b.apk"]),
        ("{}/x/b.apk", ["x/b.apk"]),  # absolute, as GitHub hands paths over
        ("x/../a.*", ["x/../a.apk"]),
        (".hidden/*", [".hidden/d.apk"]),
        (".h*/*.apk", [".hidden/d.apk"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    """`*`, `?` and `[…]` stay within one name, `**` means any depth, hidden names are asked for by
    a dot.
    """
    touch(tmp_path, "a.apk", "x/b.apk", "x/y/c.apk", ".hidden/d.apk")
    assert names(pattern.replace("{}", str(tmp_path)), workspace=tmp_path) == expected


def test_a_pattern_that_matches_nothing_is_an_error_and_all_are_reported_together(
    tmp_path: Path,
) -> None:
    """Each mistake has its own sentence, with the cure that fits it."""
    touch(tmp_path, "a.apk", "dist/b.apk")
    missing, home, absolute, folder = refusals(
        "*.aab", "~/a.apk", "/nowhere/a.apk", "dist", "a.apk", workspace=tmp_path
    )
    assert "'*.aab' matches nothing" in missing
    assert "`~` is not expanded" in home
    assert "relative" in absolute
    assert folder.startswith("`dist` is a folder. Name its files: `dist/*.apk`.")


RELEASE = "app/build/outputs/bundle/release/app-release.aab"
OTHERS = (
    "app/build/outputs/bundle/debug/app-debug.aab",
    "lib/build/lib.aab",
    "x/y.aab",
)


@pytest.mark.parametrize(
    ("pattern", "there", "words"),
    [
        pytest.param(
            "app/build/outputs/bundle/prodRelease/*.aab",
            (RELEASE, *OTHERS),
            f" The workspace has `{RELEASE}`, `{OTHERS[0]}`, `lib/build/lib.aab` and 1 more file.",
            id="another variant",
        ),
        pytest.param(
            "app/build/output/bundle/release/app-release.aab",
            (RELEASE, *OTHERS),
            f" Did you mean `{RELEASE}`?",
            id="misspelt",
        ),
        pytest.param(
            "app.aab",
            (RELEASE,),
            f" The workspace has `{RELEASE}`.",
            id="another folder",
        ),
        pytest.param(
            "*.aab", ("out/a.apk",), " The workspace has `out/a.apk`.", id="APK"
        ),
        pytest.param(
            "dist/*", ("out/a.apk",), " The workspace has `out/a.apk`.", id="no ending"
        ),
        pytest.param(
            "*.aab",
            ("app/build/intermediates/x.aab", ".gradle/x.aab", "README.md"),
            " The workspace has no .aab file at all. Did an earlier step build it?",
            id="half-made",
        ),
        pytest.param(
            "keys/*.json", ("play.json",), " Did an earlier step build it?", id="keys"
        ),
    ],
)
def test_where_a_pattern_matches_nothing_the_files_that_are_there_are_named(
    tmp_path: Path, pattern: str, there: tuple[str, ...], words: str
) -> None:
    """The nearest first."""
    touch(tmp_path, *there)
    [told] = refusals(pattern, workspace=tmp_path)
    assert told.startswith(f"'{pattern}' matches nothing in {tmp_path}.{words}")


def test_a_huge_workspace_is_not_searched_to_its_end(tmp_path: Path) -> None:
    """And nothing is claimed of what was not seen."""
    touch(tmp_path, "a.txt", "b.txt", "c.txt", "x/app.aab")
    assert files_nearby("*.aab", tmp_path, 3) == ""
    assert files_nearby("*.aab", tmp_path, 4) == " The workspace has `x/app.aab`."


@pytest.mark.parametrize(
    "name",
    [
        "a[1].apk",
        "what?.apk",
        "*.apk",
        "**",
        "a\nb.apk",
        "::error::x.apk",
        "##[group]x.apk",
        "-x",
    ],
)
def test_a_name_that_exists_is_taken_literally(tmp_path: Path, name: str) -> None:
    """Wildcards, newlines and the runners' commands are only characters when a file has them in its
    name.
    """
    touch(tmp_path, name, "a1.apk", "other.apk")
    assert names(name, workspace=tmp_path) == [name]


def test_credentials_left_by_the_login_action_are_never_taken(tmp_path: Path) -> None:
    """`gha-creds-*.json` is passed over by globs and refused by name, even behind a link."""
    touch(tmp_path, "gha-creds-0123456789abcdef.json", "a.json")
    (tmp_path / "innocent.json").symlink_to("gha-creds-0123456789abcdef.json")
    assert names("*.json", "**", workspace=tmp_path) == ["a.json"]
    assert (
        "contains credentials"
        in refusals("gha-creds-0123456789abcdef.json", workspace=tmp_path)[0]
    )
    assert "contains credentials" in refusals("innocent.json", workspace=tmp_path)[0]
    refused = (
        "gha-creds-0123456789abcdef.json contains credentials and is never uploaded"
    )
    assert refused in refusals("gha-creds-*.json", workspace=tmp_path)[0]


def test_a_dash_and_a_named_pipe_are_streams_of_unknown_size(tmp_path: Path) -> None:
    """A stream has no size; `./-` is the file of that name."""
    os.mkfifo(tmp_path / "pipe")
    touch(tmp_path, "-")
    stream, pipe, file = find(["-", "pipe", "./-"], Workspace(tmp_path))
    assert (stream.name, stream.path, stream.size) == ("-", Path("-"), None)
    assert (pipe.name, pipe.size) == ("pipe", None)
    assert file.size == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "../secret.apk",
        "link.apk",
        "folder/secret.apk",
        "folder/*",
        "*.apk",
        "{outside}/secret.apk",
    ],
)
def test_a_real_path_outside_the_workspace_is_refused_unless_allowed(
    tmp_path: Path, pattern: str
) -> None:
    """`..`, absolute paths, links to files and links to folders: the real path decides."""
    workspace, outside = tmp_path / "ws", tmp_path / "out"
    workspace.mkdir()
    touch(outside, "secret.apk")
    touch(tmp_path, "secret.apk")
    (workspace / "link.apk").symlink_to(outside / "secret.apk")
    (workspace / "folder").symlink_to(outside)
    pattern = pattern.replace("{outside}", str(outside))
    assert "outside the workspace" in refusals(pattern, workspace=workspace)[0]
    assert len(names(pattern, workspace=workspace, allow_outside=True)) == 1


def test_a_file_in_the_root_folder_is_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for one of its name in the current folder, which is the workspace as a
    rule.
    """
    there = [
        path for path in Path("/").iterdir() if not path.is_symlink() and path.is_file()
    ]
    file = next(
        (path for path in there if os.access(path, os.R_OK)), None
    ) or pytest.skip("`/` has no file to read")
    monkeypatch.chdir(tmp_path)
    assert "outside the workspace" in refusals(str(file), workspace=tmp_path)[0]
    touch(tmp_path, file.name)
    assert names(str(file), file.name, workspace=tmp_path, allow_outside=True) == [
        str(file),
        file.name,
    ]


def test_links_inside_the_workspace_are_followed_and_count_once(tmp_path: Path) -> None:
    """A link and its target are one file; a workspace that is itself reached through a link is no
    escape.
    """
    touch(tmp_path, "ws/a.apk")
    (tmp_path / "ws" / "b.apk").symlink_to("a.apk")
    (tmp_path / "alias").symlink_to("ws")
    assert names("*.apk", workspace=tmp_path / "alias") == ["a.apk"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    """Neither a folder that links to itself nor links in a circle keep the search going."""
    touch(tmp_path, "x/a.apk")
    (tmp_path / "x" / "self").symlink_to(".")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert names("**/*.apk", workspace=tmp_path) == ["x/a.apk"]
    assert names("*/*.apk", workspace=tmp_path) == ["x/a.apk"]
    assert "broken symbolic link" in refusals("one", workspace=tmp_path)[0]


def test_a_link_to_nothing_is_an_error_not_a_gap(tmp_path: Path) -> None:
    """A release must not go out with a file missing that the pattern named."""
    touch(tmp_path, "a.apk")
    (tmp_path / "b.apk").symlink_to("gone.apk")
    assert refusals("*.apk", workspace=tmp_path) == [
        "b.apk, which `*.apk` matches, is a broken symbolic link."
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    """An unreadable folder or file is told before anything is sent."""
    touch(tmp_path, "locked/a.apk", "b.apk")
    (tmp_path / "locked").chmod(0)
    (tmp_path / "b.apk").chmod(0)
    try:
        folder, file = refusals("**/*.apk", "b.apk", workspace=tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert "locked can't be read" in folder
    assert "permission denied" in file


@pytest.mark.parametrize(
    "pattern", ["a\0b", "a\0*", "x" * 5000, "[", "**/[", "", ".", "/", "*/" * 500 + "x"]
)
def test_no_pattern_is_a_traceback(tmp_path: Path, pattern: str) -> None:
    """Anything a text can hold ends as a problem."""
    assert refusals(pattern, workspace=tmp_path)


@given(count=st.integers(0, 60), parts=st.integers(1, 20))
def test_shards_are_disjoint_complete_and_even(count: int, parts: int) -> None:
    """Together the shards are the whole list in its order, and their lengths differ by one at
    most.
    """
    files = tuple(Artifact(str(index), str(index), index) for index in range(count))
    shards = [part(files, k, parts) for k in range(1, parts + 1)]
    assert sum(shards, ()) == files
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def grown(path: Path) -> None:
    with path.open("a") as file:
        file.write("!")


def touched(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def replaced(path: Path) -> None:
    path.rename(path.with_name("old"))
    path.write_text("other")


@pytest.mark.parametrize("change", [grown, touched, replaced])
def test_a_file_that_changed_is_noticed(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """By its size, its time and its inode, each alone; having been read is no change."""
    touch(tmp_path, "a.apk")
    (found,) = find(["a.apk"], Workspace(tmp_path))
    assert found.path.read_text() == "a.apk"
    assert not difference(found, found.path.stat())
    change(found.path)
    if change is not touched:
        os.utime(found.path, ns=(0, found.identity[2]))
    assert difference(found, found.path.stat())
