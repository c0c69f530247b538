"""What `files` means: order, globs, streams, what is refused, the split into shards, and noticing a changed file."""

from __future__ import annotations

import os
import socket
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from google_emulator.specimens import make_bundle
from uploader.errors import InputError
from uploader.files.artifacts import Artifact, difference, find, from_path, inspect, part
from uploader.files.workspace import Workspace


def touch(folder: Path, *names: str) -> None:
    """Makes small files, with their folders."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(*patterns: str, workspace: Path, allow_outside: bool = False) -> list[str]:
    """The names found, in order."""
    return [artifact.name for artifact in find(patterns, Workspace(workspace, allow_outside=allow_outside))]


def refusals(*patterns: str, workspace: Path) -> list[str]:
    """What is wrong, one sentence for each problem."""
    with pytest.raises(InputError) as caught:
        find(patterns, Workspace(workspace))
    assert {problem.name for problem in caught.value.problems} == {"files"}
    return [problem.what for problem in caught.value.problems]


def test_files_come_in_the_order_of_the_patterns_sorted_within_one_each_once(tmp_path: Path) -> None:
    """The order is the patterns', then by name; a file that two patterns match counts where it was met first."""
    touch(tmp_path, "b.apk", "a.apk", "z.aab", "dist/c.apk")
    assert names("z.aab", "*.apk", "**/*.apk", workspace=tmp_path) == ["z.aab", "a.apk", "b.apk", "dist/c.apk"]


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
        ("x/../a.*", ["x/../a.apk"]),
        (".hidden/*", [".hidden/d.apk"]),
        (".h*/*.apk", [".hidden/d.apk"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    """`*`, `?` and `[…]` stay within one name, `**` means any depth, hidden names are asked for by a dot."""
    touch(tmp_path, "a.apk", "x/b.apk", "x/y/c.apk", ".hidden/d.apk")
    assert names(pattern, workspace=tmp_path) == expected


def test_an_absolute_path_inside_the_workspace_is_shown_relative_to_it(tmp_path: Path) -> None:
    """GitHub hands over absolute paths; people see the same short names as with relative ones."""
    touch(tmp_path, "dist/a.apk")
    assert names(f"{tmp_path}/dist/a.apk", f"{tmp_path}/dist/*", workspace=tmp_path) == ["dist/a.apk"]


def test_an_artifact_carries_size_and_identity(tmp_path: Path) -> None:
    """Size in bytes, and device, inode and mtime as the file system tells them."""
    touch(tmp_path, "a.apk")
    (found,) = find(["a.apk"], Workspace(tmp_path))
    status = (tmp_path / "a.apk").stat()
    assert (found.size, found.identity) == (5, (status.st_dev, status.st_ino, status.st_mtime_ns))
    assert found.path == tmp_path / "a.apk"


def test_a_pattern_that_matches_nothing_is_an_error_and_all_are_reported_together(tmp_path: Path) -> None:
    """Each mistake has its own sentence, with the cure that fits it."""
    touch(tmp_path, "a.apk", "dist/b.apk")
    missing, home, absolute, folder = refusals(
        "*.aab", "~/a.apk", "/nowhere/a.apk", "dist", "a.apk", workspace=tmp_path
    )
    assert "'*.aab' matches nothing" in missing
    assert "`~` is not expanded" in home
    assert "relative" in absolute
    assert "only folders" in folder


def test_folders_are_skipped(tmp_path: Path) -> None:
    """A glob that matches files and folders takes the files."""
    touch(tmp_path, "out/a.apk", "out/deep/b.apk")
    assert names("out/*", workspace=tmp_path) == ["out/a.apk"]


@pytest.mark.parametrize(
    "name", ["a[1].apk", "what?.apk", "*.apk", "**", "a\nb.apk", "::error::x.apk", "##[group]x.apk", "-x"]
)
def test_a_name_that_exists_is_taken_literally(tmp_path: Path, name: str) -> None:
    """Wildcards, newlines and the runners' commands are only characters when a file has them in its name."""
    touch(tmp_path, name, "a1.apk", "other.apk")
    assert names(name, workspace=tmp_path) == [name]


def test_hostile_names_are_found_by_globs_unchanged(tmp_path: Path) -> None:
    """What a name does to a log is the log's business; here it is a name."""
    hostile = ["\x1b[31mred.apk", "##[error]x.apk", "::error::x.apk", "a\nb.apk", "\u202egpj.apk"]
    touch(tmp_path, *hostile)
    assert names("*.apk", workspace=tmp_path) == sorted(hostile)


def test_a_name_that_is_no_utf8_can_be_printed(tmp_path: Path) -> None:
    """The name is text that every output can write; the path still leads to the bytes."""
    (tmp_path / os.fsdecode(b"caf\xe9.apk")).write_text("x")
    (found,) = find(["*.apk"], Workspace(tmp_path))
    assert found.name == "caf?.apk"
    assert found.path.read_text() == "x"


@pytest.mark.threat("committer", "a pattern or a link picks up a credential or files outside the workspace")
def test_credentials_left_by_the_login_action_are_never_taken(tmp_path: Path) -> None:
    """`gha-creds-*.json` is passed over by globs and refused by name, even behind a link."""
    touch(tmp_path, "gha-creds-0123456789abcdef.json", "a.json")
    (tmp_path / "innocent.json").symlink_to("gha-creds-0123456789abcdef.json")
    assert names("*.json", "**", workspace=tmp_path) == ["a.json"]
    assert "contains credentials" in refusals("gha-creds-0123456789abcdef.json", workspace=tmp_path)[0]
    assert "contains credentials" in refusals("innocent.json", workspace=tmp_path)[0]
    assert "credentials" in refusals("gha-creds-*.json", workspace=tmp_path)[0]


def test_a_dash_and_a_named_pipe_are_streams_of_unknown_size(tmp_path: Path) -> None:
    """A stream has no size; `./-` is the file of that name."""
    os.mkfifo(tmp_path / "pipe")
    touch(tmp_path, "-")
    stream, pipe, file = find(["-", "pipe", "./-"], Workspace(tmp_path))
    assert (stream.name, stream.path, stream.size) == ("-", Path("-"), None)
    assert (pipe.name, pipe.size) == ("pipe", None)
    assert file.size == 1


def test_a_socket_is_refused(tmp_path: Path) -> None:
    """What is neither file nor pipe can't be uploaded."""
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind(str(tmp_path / "s"))
        assert "neither a regular file nor a named pipe" in refusals("s", workspace=tmp_path)[0]


@pytest.mark.threat(
    "committer",
    "a pattern or a link picks up a credential or files outside the workspace",
    rule="paths that resolve outside the workspace are refused; `gha-creds-*.json` is never taken",
)
@pytest.mark.parametrize(
    "pattern", ["../secret.apk", "link.apk", "folder/secret.apk", "folder/*", "*.apk", "{outside}/secret.apk"]
)
def test_a_real_path_outside_the_workspace_is_refused_unless_allowed(tmp_path: Path, pattern: str) -> None:
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


def test_a_file_in_the_root_folder_is_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for one of its name in the current folder, which is the workspace as a rule."""
    there = [path for path in Path("/").iterdir() if not path.is_symlink() and path.is_file()]
    file = next((path for path in there if os.access(path, os.R_OK)), None) or pytest.skip("`/` has no file to read")
    monkeypatch.chdir(tmp_path)
    assert "outside the workspace" in refusals(str(file), workspace=tmp_path)[0]
    touch(tmp_path, file.name)
    assert names(str(file), file.name, workspace=tmp_path, allow_outside=True) == [str(file), file.name]


def test_a_neighbour_whose_name_begins_like_the_workspace_is_outside(tmp_path: Path) -> None:
    """`/tmp/ws-evil` is not inside `/tmp/ws`."""
    (tmp_path / "ws").mkdir()
    touch(tmp_path, "ws-evil/a.apk")
    assert "outside the workspace" in refusals("../ws-evil/a.apk", workspace=tmp_path / "ws")[0]


def test_links_inside_the_workspace_are_followed_and_count_once(tmp_path: Path) -> None:
    """A link and its target are one file; a workspace that is itself reached through a link is no escape."""
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
    assert refusals("*.apk", workspace=tmp_path) == ["b.apk is a broken symbolic link."]


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


@pytest.mark.parametrize("pattern", ["a\0b", "a\0*", "x" * 5000, "[", "**/[", "", ".", "/", "*/" * 500 + "x"])
def test_no_pattern_is_a_traceback(tmp_path: Path, pattern: str) -> None:
    """Anything a text can hold ends as a problem."""
    assert refusals(pattern, workspace=tmp_path)


@given(st.text(alphabet="ab*?[]!-/.\0\n~", max_size=12))
def test_any_pattern_finds_files_or_says_why_not(tmp_path_factory: pytest.TempPathFactory, pattern: str) -> None:
    """For every text: files inside the workspace, or an InputError."""
    root = tmp_path_factory.getbasetemp() / "any-pattern"
    touch(root, "ws/a", "ws/b/a", "a")
    try:
        found = find([pattern], Workspace(root / "ws"))
    except InputError:
        return
    assert {artifact.path.resolve() for artifact in found if artifact.size is not None} <= {
        root / "ws/a",
        root / "ws/b/a",
    }


def test_a_shard_is_a_contiguous_part_of_the_whole_list(tmp_path: Path) -> None:
    """`2/5` is the second fifth."""
    touch(tmp_path, *(f"{index:02}.png" for index in range(10)))
    assert [a.name for a in part(find(["*.png"], Workspace(tmp_path)), 2, 5)] == ["02.png", "03.png"]


@given(count=st.integers(0, 60), parts=st.integers(1, 20))
def test_shards_are_disjoint_complete_and_even(count: int, parts: int) -> None:
    """Together the shards are the whole list in its order, and their lengths differ by one at most."""
    files = tuple(Artifact(str(index), str(index), index) for index in range(count))
    shards = [part(files, k, parts) for k in range(1, parts + 1)]
    assert sum(shards, ()) == files
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_ten_thousand_files_are_found_quickly_and_lightly(tmp_path: Path) -> None:
    """One pass: under 1 KB of memory a file, and the cost of a file does not grow with their number."""
    for index in range(10_000):
        (tmp_path / f"{index:05}.png").touch()
    begin = time.process_time()
    few = find(["00*.png"], Workspace(tmp_path))
    few_seconds = time.process_time() - begin
    tracemalloc.start()
    find(["*.png"], Workspace(tmp_path))[0]
    before = tracemalloc.get_traced_memory()[0]
    found = find(["*.png"], Workspace(tmp_path))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    begin = time.process_time()
    find(["*.png"], Workspace(tmp_path))
    seconds = time.process_time() - begin
    assert len(few) == 1000
    assert len(found) == 10_000
    assert grown / len(found) < 1000
    assert seconds < 40 * few_seconds, "ten times the files may not cost much more than ten times the time"


def test_a_folder_is_listed_once(tmp_path: Path) -> None:
    """`**/*.x` reads each folder a single time, however its two segments meet there (Python's own audit counts)."""
    touch(tmp_path, "a.x", "d/b.x", "d/e/c.x")
    listed: list[str] = []
    counting = True

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if counting and event == "os.scandir":
            listed.append(str(arguments[0]))

    sys.addaudithook(count)
    found = names("**/*.x", workspace=tmp_path)
    counting = False
    assert found == ["a.x", "d/b.x", "d/e/c.x"]
    assert sorted(listed) == [str(tmp_path), str(tmp_path / "d"), str(tmp_path / "d/e")]


def opened_unchanged(artifact: Artifact) -> bool:
    """What `difference` says of the file that is at the artifact's path now."""
    return not difference(artifact, artifact.path.stat())


def test_a_file_that_was_only_read_is_unchanged(tmp_path: Path) -> None:
    """Reading is no change."""
    touch(tmp_path, "a.apk")
    (found,) = find(["a.apk"], Workspace(tmp_path))
    assert found.path.read_text() == "a.apk"
    assert opened_unchanged(found)


def test_a_file_that_grew_is_noticed_even_with_its_old_mtime(tmp_path: Path) -> None:
    """The size alone gives it away."""
    touch(tmp_path, "a.apk")
    (found,) = find(["a.apk"], Workspace(tmp_path))
    with found.path.open("a") as file:
        file.write("!")
    os.utime(found.path, ns=(0, found.identity[2]))
    assert not opened_unchanged(found)


@pytest.mark.threat(
    "neighbour",
    "the bytes that arrive are not those that were checked",
    rule="digests are compared where the service states one; a file that changes ends the run with exit code 5",
)
def test_a_file_rewritten_in_place_is_noticed_by_its_mtime(tmp_path: Path) -> None:
    """Same size, same inode: a nanosecond is enough."""
    touch(tmp_path, "a.apk")
    (found,) = find(["a.apk"], Workspace(tmp_path))
    os.utime(found.path, ns=(0, found.identity[2] + 1))
    assert not opened_unchanged(found)


def test_a_file_replaced_by_another_is_noticed_even_with_its_old_size_and_mtime(tmp_path: Path) -> None:
    """The inode gives it away."""
    touch(tmp_path, "a.apk", "b.apk")
    (found,) = find(["a.apk"], Workspace(tmp_path))
    os.utime(tmp_path / "b.apk", ns=(0, found.identity[2]))
    (tmp_path / "b.apk").replace(found.path)
    assert not opened_unchanged(found)


def test_inspect_adds_the_manifest(tmp_path: Path) -> None:
    """An artifact gains what its file says of itself, and keeps the rest."""
    make_bundle(tmp_path / "a.aab", "com.example.app", 7, "1.0")
    (found,) = find(["a.aab"], Workspace(tmp_path))
    inspected = inspect(found)
    assert inspected.manifest is not None
    assert (inspected.manifest.package, inspected.manifest.version_code) == ("com.example.app", 7)
    assert (inspected.path, inspected.size, inspected.identity) == (found.path, found.size, found.identity)


def test_inspect_refuses_a_stream() -> None:
    """A bundle has to be a file: its directory is at its end."""
    with pytest.raises(InputError, match="is a stream"):
        inspect(Artifact("-", "-", None))


def test_from_path_names_the_input_that_is_wrong(tmp_path: Path) -> None:
    """A file that another input names is checked under that input's name."""
    touch(tmp_path, "mapping.txt")
    access = Workspace(tmp_path).access("mapping-file")
    assert from_path(tmp_path / "mapping.txt", "mapping.txt", access).size == 11
    for name in ("missing", "."):
        with pytest.raises(InputError) as caught:
            from_path(tmp_path / name, name, access)
        assert caught.value.problems[0].name == "mapping-file"
