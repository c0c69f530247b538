"""The one door to the files of a run: what it opens, what it never opens, and that nothing changes
behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.factory import make_inputs, prepare
from tests.support.transfer_harness import FakeTime
from uploader.errors import IntegrityError
from uploader.files.artifacts import Artifact, find
from uploader.files.workspace import NotOpened, Workspace
from uploader.http.messages import Span
from uploader.services import media_types
from uploader.upload.sources import FileSource, StreamSource

SECRET = b"do-not-publish!!"


def made(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def refusal(workspace: Workspace, name: str, folder: str | None = None) -> str:
    """Why the file is not opened; empty when it is."""
    try:
        workspace.access("files", folder).open(workspace.root / name).close()
    except NotOpened as error:
        return str(error)
    return ""


NEVER = (
    ".git/config",
    "sub/.git/hooks/pre-push",
    ".GIT/config",
    ".git",
    ".ssh/id_rsa",
    ".SSH/x",
    ".env",
    ".envrc",
    ".env.production",
    ".Env.local",
    ".env/lib/a.py",
    "deep/.env",
    "gha-creds-1.json",
    "a/gha-creds-1.json",
)


@pytest.mark.parametrize("name", NEVER)
def test_some_files_are_never_opened(tmp_path: Path, name: str) -> None:
    """By every component of the real path, in any case, since some file systems do not tell cases
    apart.
    """
    made(tmp_path / name)
    (tmp_path / "link").symlink_to(name)
    workspace = Workspace(tmp_path, allow_outside=True, allow_symlinks=True)
    assert "never uploaded" in refusal(workspace, name)
    assert "never uploaded" in refusal(workspace, "link")


@pytest.mark.parametrize(
    "name",
    [
        ".github/workflows/ci.yml",
        ".gitignore",
        "env",
        "a.env",
        "git/config",
        "my.git/x",
    ],
)
def test_what_only_looks_like_it_is_opened(tmp_path: Path, name: str) -> None:
    """A folder for GitHub and a file that ends in .env are files like any other."""
    made(tmp_path / name)
    assert refusal(Workspace(tmp_path), name) == ""


def test_the_environment_of_the_run_is_no_file(tmp_path: Path) -> None:
    """`/proc/self/environ` holds the credentials as they were given."""
    (tmp_path / "notes").symlink_to("/proc/self/environ")
    workspace = Workspace(tmp_path, allow_outside=True, allow_symlinks=True)
    assert "never uploaded" in refusal(workspace, "notes")


@pytest.mark.parametrize("given", ["key.json", "{}/key.json"])
def test_every_credential_that_is_named_is_protected(
    tmp_path: Path, given: str
) -> None:
    """As an input, in the environment, as an env file: by its inode, wherever it lies and whatever
    it is called.
    """
    key = made(tmp_path / "key.json")
    (tmp_path / "ok.txt").hardlink_to(key)
    inputs = make_inputs(tmp_path, target="gmail", credentials=given.format(tmp_path))
    assert "contains this run's credentials" in refusal(Workspace.of(inputs), "ok.txt")
    assert "contains this run's credentials" in refusal(
        Workspace(tmp_path, credentials=[key]), "key.json"
    )
    assert refusal(Workspace(tmp_path), "ok.txt") == ""


@pytest.mark.parametrize(
    ("link", "target", "why"),
    [
        ("store/de/a.txt", "store/en/a.txt", ""),
        ("store/a.txt", "other/a.txt", "leads out of store"),
        ("store/a.txt", "a.txt", "leads out of store"),
        ("store/a.txt", "store-evil/a.txt", "leads out of store"),
        ("store/a.txt", "../a.txt", "outside the workspace"),
    ],
)
def test_a_link_may_lead_below_the_folder_of_its_input(
    tmp_path: Path, link: str, target: str, why: str
) -> None:
    """Further needs `allow-symlinks`, which the sentence names; out of the workspace,
    `allow-outside-workspace`.
    """
    root = tmp_path / "ws"
    made(root / target)
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(root / target)
    assert why in refusal(Workspace(root), link, "store")
    assert bool(refusal(Workspace(root), link, "store")) is bool(why)
    assert (
        refusal(Workspace(root, allow_symlinks=True, allow_outside=True), link, "store")
        == ""
    )


def test_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    """In the place of a text it is refused, without a writer and without being opened."""
    os.mkfifo(tmp_path / "a.txt")
    assert refusal(Workspace(tmp_path), "a.txt") == "is not a regular file"


def swapped(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def rewritten(path: Path, secret: Path) -> None:
    path.write_bytes(secret.read_bytes())


def hard_linked(path: Path, secret: Path) -> None:
    path.unlink()
    path.hardlink_to(secret)


SWAPS = [swapped, rewritten, hard_linked]


@pytest.fixture
def found(tmp_path: Path) -> Artifact:
    """A file of the run as `files` finds it, of the secret's own size and time."""
    made(tmp_path / "secret", SECRET)
    made(tmp_path / "ws/x86/a.so", b"x" * len(SECRET))
    os.utime(tmp_path / "secret", ns=(0, (tmp_path / "ws/x86/a.so").stat().st_mtime_ns))
    (artifact,) = find(["x86/a.so"], Workspace(tmp_path / "ws"))
    return artifact


@pytest.mark.parametrize("swap", SWAPS)
def test_what_was_swapped_after_the_check_is_not_read(
    tmp_path: Path, found: Artifact, swap: Callable[[Path, Path], None]
) -> None:
    """An artifact, and whatever is looked at before: exit 5, and not a byte of the other file."""
    swap(found.path, tmp_path / "secret")
    for read in (
        found.open,
        lambda: media_types.head(found),
        lambda: media_types.kinds(found),
    ):
        with pytest.raises(IntegrityError, match="changed during the upload"):
            read()
    with pytest.raises(IntegrityError), FileSource(found) as source:
        list(source.blocks(Span(0, len(SECRET))))


@pytest.mark.parametrize("swap", SWAPS)
def test_a_swapped_attachment_is_not_sent(
    tmp_path: Path, found: Artifact, swap: Callable[[Path, Path], None]
) -> None:
    """It was found as a file of the workspace, and is another one when the mail is composed."""
    inputs = make_inputs(
        tmp_path / "ws", target="gmail", mail_to="a@example.com", files="x86/a.so"
    )
    swap(found.path, tmp_path / "secret")
    with pytest.raises(IntegrityError, match=r"a\.so changed during the upload"):
        prepare(inputs, found)


# Pipes


def pipe(folder: Path) -> Artifact:
    os.mkfifo(folder / "pipe")
    (artifact,) = find(["pipe"], Workspace(folder))
    return artifact


def test_a_pipe_without_a_writer_has_a_limit(tmp_path: Path) -> None:
    """After `stall-timeout` the run ends, and says that no process opened it for writing."""
    with pytest.raises(
        IntegrityError, match="no process opened it for writing within 0 s"
    ):
        StreamSource(pipe(tmp_path), FakeTime().clock(), 0.0)


def test_a_pipe_with_a_writer_that_is_slow_is_waited_for(tmp_path: Path) -> None:
    """The limit is for the writer to come, not for what it writes."""
    artifact = pipe(tmp_path)
    writer = os.open(artifact.path, os.O_RDWR)
    with StreamSource(artifact, FakeTime().clock(), 0.0) as source:
        os.write(writer, b"late")
        os.close(writer)
        span, ended = source.available(Span(0, 10))
        assert (b"".join(map(bytes, source.blocks(span))), ended) == (b"late", True)


def test_a_pipe_that_was_replaced_is_not_read(tmp_path: Path) -> None:
    """A file in the place of the pipe, even a pipe of the same name, is another one."""
    artifact = pipe(tmp_path)
    artifact.path.rename(tmp_path / "old")
    os.mkfifo(artifact.path)
    with pytest.raises(IntegrityError, match="it was replaced"):
        StreamSource(artifact, FakeTime().clock(), 0.0)
