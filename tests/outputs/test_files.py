"""Files for other programs: whole or not at all, without secrets, never through somebody's link."""

from __future__ import annotations

import io
import json
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.platforms import hostile, where
from uploader.outputs import make_reporter
from uploader.outputs.files import append_whole, results_json, write_whole
from uploader.redaction import Redactor
from uploader.results import FileResult

SMALL = 4096  # bytes


@contextmanager
def small_disk() -> Iterator[None]:
    """No file of this process may grow beyond SMALL meanwhile: the system cuts the write that
    crosses it.

    It lasts for one call alone, since pytest's own log is a file too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_half_an_entry_is_taken_back(tmp_path: Path) -> None:
    """When the disk fills up in the middle of an entry, the file is what it was before."""
    path = tmp_path / "output"
    path.write_text("before=1\n")
    with small_disk(), pytest.raises(OSError, match="File too large"):
        append_whole(path, "x" * SMALL)
    assert path.read_text() == "before=1\n"


def test_failed_write_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    """When a whole file can't be written, the old one stands and no temporary one remains."""
    path = tmp_path / "uploader.env"
    path.write_text("OLD=1\n")
    with small_disk(), pytest.raises(OSError, match="File too large"):
        write_whole(path, "x" * SMALL + "y", tmp_path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [
        ("uploader.env", "OLD=1\n")
    ]


def test_mode_is_readable_whatever_the_umask(tmp_path: Path) -> None:
    """Results are readable for later steps that run as another user."""
    before = os.umask(0o077)
    try:
        write_whole(
            tmp_path / "uploader-results.json", results_json([], Redactor()), tmp_path
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "uploader-results.json").stat().st_mode) == 0o644


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, kind: str) -> None:
    """A planted link, a folder or a pipe in the place of the results is neither followed nor
    replaced: a warning.
    """
    target, path, log = (
        tmp_path / "precious",
        tmp_path / "uploader-results.json",
        io.StringIO(),
    )
    if kind != "dangling":
        target.write_text("precious")
    makers = {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path)}
    makers.get(kind, lambda: path.symlink_to(target))()
    mode = path.lstat().st_mode
    make_reporter(where(tmp_path, "github"), stdout=log).write_results(
        path, [FileResult("a", 1)]
    )
    assert log.getvalue() == (
        "::warning::uploader-results.json could not be written: what is there is not a regular "
        "file.\n"
    )
    assert path.lstat().st_mode == mode
    assert target.exists() == (kind != "dangling")
    assert kind == "dangling" or target.read_text() == "precious"


def test_a_folder_that_leads_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    """A committed link in the place of a folder gets no file into another one; the workspace may be
    a link itself.
    """
    for name in ("real", "elsewhere"):
        (tmp_path / name).mkdir()
    workspace = tmp_path / "workspace"
    workspace.symlink_to("real")
    (workspace / "out").symlink_to("../elsewhere")
    write_whole(workspace / "uploader.env", "", workspace)
    with pytest.raises(OSError, match="leads out"):
        write_whole(workspace / "out" / "uploader.env", "", workspace)
    assert not any((tmp_path / "elsewhere").iterdir())


def test_results_of_an_earlier_run_are_told_from_this_one_s(tmp_path: Path) -> None:
    """They stay where nothing can be written, here beside a name that is too long for another
    one.
    """
    log, path = io.StringIO(), tmp_path / ("r" * 250)
    path.write_text("[]")
    assert not make_reporter(where(tmp_path, "github"), stdout=log).write_results(
        path, []
    )
    assert (
        f"::warning::The {path.name} that is there is from an earlier run.\n"
        in log.getvalue()
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | hostile,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3)
    ),
    max_leaves=6,
)


responses = st.dictionaries(hostile, values, max_size=3)
some_results = st.builds(
    FileResult,
    path=hostile,
    bytes=st.integers(0),
    id=hostile,
    resource=responses,
    error=hostile,
)


@pytest.mark.slow
@given(st.lists(some_results, max_size=3))
def test_results_are_exact_json(
    tmp_path_factory: pytest.TempPathFactory, results: list[FileResult]
) -> None:
    """The file is an array in plain ASCII with one object for each file, strings exactly as they
    were.
    """
    path = tmp_path_factory.mktemp("results") / "uploader-results.json"
    write_whole(path, results_json(results, Redactor()), path.parent)
    content = path.read_bytes()
    read = json.loads(content.decode("ascii"), parse_constant=_refuse)
    assert [(entry["path"], entry["id"], entry["error"]) for entry in read] == [
        (result.path, result.id, result.error) for result in results
    ]
    assert all(
        set(entry["resource"]) == set(result.resource)
        for entry, result in zip(read, results, strict=True)
    )
    assert not set(content) & (set(range(0x20)) - {0x0A} | {0x7F})


def test_secrets_in_results_are_masked(tmp_path: Path) -> None:
    """A token that a server put into its answer, in a value or in a name, does not reach the
    results file.
    """
    path = tmp_path / "uploader-results.json"
    response = {
        "hunter2-hunter2": [
            "hunter2-hunter2",
            {"url": "https://x.example/?upload_id=ABC"},
        ]
    }
    result = FileResult("a.aab", 3, resource=response, error="hunter2-hunter2")
    write_whole(path, results_json([result], Redactor(["hunter2-hunter2"])), tmp_path)
    (entry,) = json.loads(path.read_text())
    assert entry["resource"] == {
        "***": ["***", {"url": "https://x.example/?upload_id=***"}]
    }
    assert entry["error"] == "***"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
