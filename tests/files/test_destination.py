"""The door through which files are written: whole or not at all, where they belong, and never
through a link.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from uploader.errors import InputError
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace


def destination(root: Path, path: str, *, allow_outside: bool = False) -> Destination:
    """A place in a workspace of its own."""
    return Destination(
        Workspace(root, allow_outside=allow_outside), "universal-apk", path
    )


def names(root: Path) -> list[str]:
    """Everything below a folder."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_file_is_written_with_the_folders_that_it_needs(tmp_path: Path) -> None:
    """Readable for a later step that runs as another user; the same again is no change."""
    place = destination(tmp_path, "a/b/app.apk")
    assert place.write(b"one")
    assert not place.write(b"one")
    assert place.write(b"two")
    assert (tmp_path / "a/b/app.apk").read_bytes() == b"two"
    assert stat.S_IMODE((tmp_path / "a/b/app.apk").stat().st_mode) == 0o644
    assert names(tmp_path) == ["a", "a/b", "a/b/app.apk"]


def test_a_file_that_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    """What stood there before stays as it was."""
    (tmp_path / "app.apk").write_bytes(b"before")
    place = destination(tmp_path, "app.apk")

    def breaks_off() -> None:
        with place.writing() as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        breaks_off()
    with place.writing() as file:
        file.write(b"not kept either")
    assert names(tmp_path) == ["app.apk"]
    assert (tmp_path / "app.apk").read_bytes() == b"before"


@pytest.mark.parametrize("path", ["../app.apk", "a/../../app.apk", "/nowhere/app.apk"])
def test_outside_the_workspace_only_where_it_is_allowed(
    path: str, tmp_path: Path
) -> None:
    """Whether it is written so or absolutely."""
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(InputError, match="allow-outside-workspace"):
        destination(root, path).check()
    with pytest.raises(InputError, match="allow-outside-workspace"):
        destination(root, path).write(b"x")
    place = destination(root, str(tmp_path / "other/app.apk"), allow_outside=True)
    place.check()
    assert place.write(b"x")
    assert (tmp_path / "other/app.apk").read_bytes() == b"x"


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "a/.ssh/key",
        ".env",
        ".ENV.local",
        "gha-creds-1.json",
        "/proc/self/x",
    ],
)
def test_some_places_are_never_written(path: str, tmp_path: Path) -> None:
    """Where others run what stands there, or take it for a secret; whatever is allowed."""
    with pytest.raises(InputError, match="never written"):
        destination(tmp_path, path, allow_outside=True).check()
    with pytest.raises(InputError, match="never written"):
        destination(tmp_path, path, allow_outside=True).write(b"x")
    assert names(tmp_path) == []


def test_a_credential_of_the_run_is_never_replaced(tmp_path: Path) -> None:
    """Under another name, by a hard link, neither."""
    key = tmp_path / "key.json"
    key.write_text("{}")
    os.link(key, tmp_path / "app.apk")
    workspace = Workspace(tmp_path, credentials=[key])
    for name in ("key.json", "app.apk"):
        with pytest.raises(InputError, match="never written"):
            Destination(workspace, "universal-apk", name).write(b"x")


@pytest.mark.parametrize("path", ["", ".", "..", "a/..", "dist/", "folder"])
def test_a_folder_is_no_place_for_a_file(path: str, tmp_path: Path) -> None:
    """Its name is missing, or taken by the folder."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        destination(tmp_path, path).check()
    with pytest.raises(InputError):
        destination(tmp_path, path).write(b"x")


def test_no_link_is_followed(tmp_path: Path) -> None:
    """Neither one on the way nor one in the place, though it leads into the workspace; a file on
    the way is none.
    """
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "link").symlink_to(root / "real")
    (root / "out").symlink_to(tmp_path)
    (root / "file").symlink_to(root / "real/file")
    (root / "plain").write_text("x")
    for path in ("link/app.apk", "out/app.apk", "file", "plain/app.apk"):
        with pytest.raises(InputError, match=r"link|regular"):
            destination(root, path).check()
        with pytest.raises(InputError, match=r"link|regular"):
            destination(root, path).write(b"x")
    assert names(tmp_path) == [
        "root",
        "root/file",
        "root/link",
        "root/out",
        "root/plain",
        "root/real",
    ]


def test_a_link_that_comes_meanwhile_changes_nothing(tmp_path: Path) -> None:
    """The folder that was opened is the one that the file is named in; what has its name by then is
    looked at again.
    """
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "dist").mkdir(parents=True)
    outside.mkdir()
    with destination(root, "dist/app.apk").writing() as file:
        (root / "dist").rename(root / "moved")
        (root / "dist").symlink_to(outside)
        file.keep()
    assert (names(outside), names(root / "moved")) == ([], ["app.apk"])
    with destination(root, "moved/app.apk").writing() as file:
        (root / "moved/app.apk").unlink()
        (root / "moved/app.apk").symlink_to(outside / "x")
        with pytest.raises(InputError, match="regular"):
            file.keep()
    assert names(outside) == []
