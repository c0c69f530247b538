"""The locks: what is too new for them, what is never built from source, and which renewed ones may be committed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.package_index import Upload, package_index, source, wheel

ROOT = Path(__file__).resolve().parent.parent
LOCKS = tuple(path.name for path in sorted(ROOT.glob("*.lock")))
HASH = "--hash=sha256:" + "0" * 64
PYPROJECT = """\
[project]
name = "some-project"
version = "1"
requires-python = ">=3.10"
dependencies = ["parcel"]
[dependency-groups]
dev = ["parcel"]
build = ["parcel"]
fuzz = ["parcel"]
sbom = ["parcel"]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with one dependency and the scripts that lock and install it."""
    folder = tmp_path / "checkout"
    (folder / "scripts").mkdir(parents=True)
    for name in ("lock", "venv"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def run(checkout: Path, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command in a checkout, deaf to the machine's own settings of pip and uv."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    quiet = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(checkout / "cache")}
    return subprocess.run(
        command, cwd=checkout, env={**inherited, **quiet, **environ}, check=False, capture_output=True, text=True
    )


@pytest.mark.threat(
    "dependency",
    "a poisoned release of a dependency compromises our releases",
    rule="a seven-day cooldown, wheels only, no write permission beside third-party code, locks and images handled "
    "as data, approval before anything is signed",
)
@pytest.mark.parametrize(
    ("environ", "version"), [({}, "1.0"), ({"COOLDOWN": "0 days"}, "2.0")], ids=["by itself", "when told"]
)
def test_a_renewal_leaves_out_what_was_just_published(
    checkout: Path, tmp_path: Path, environ: dict[str, str], version: str
) -> None:
    """Six days are too few, eight are enough; a version that exists as a source alone is not even looked at."""
    mark = tmp_path / "mark"
    uploads = {
        "parcel-1.0-py3-none-any.whl": Upload(wheel("parcel", "1.0"), days=8),
        "parcel-2.0-py3-none-any.whl": Upload(wheel("parcel", "2.0"), days=6),
        "parcel-3.0.tar.gz": Upload(source("parcel", "3.0", mark), days=30),
    }
    with package_index(uploads) as address:
        response = run(checkout, "sh", "scripts/lock", "--upgrade", UV_DEFAULT_INDEX=address, **environ)
    assert response.returncode == 0, response.stderr
    for lock in LOCKS:
        assert f"\nparcel=={version} " in (checkout / lock).read_text()
    assert not mark.exists()


def test_a_lock_without_a_wheel_for_every_machine_is_refused(checkout: Path) -> None:
    """A package that only one platform gets as a wheel is named with the platform that lacks it."""
    name = "parcel-1.0-py3-none-manylinux2014_x86_64.whl"
    with package_index({name: Upload(wheel("parcel", "1.0"), days=8)}) as address:
        response = run(checkout, "sh", "scripts/lock", UV_DEFAULT_INDEX=address)
    assert response.returncode == 1
    assert "There is not a wheel of every package for Python 3.10 on aarch64-manylinux_2_28." in response.stderr


@pytest.mark.threat("dependency", "a poisoned release of a dependency compromises our releases")
@pytest.mark.parametrize(("environ", "built"), [({}, False), ({"FROM_SOURCE": "parcel"}, True)], ids=["no", "named"])
def test_no_source_is_built_unless_it_is_named(
    checkout: Path, tmp_path: Path, environ: dict[str, str], built: bool
) -> None:
    """A source runs its own code to be built, whatever its hash says."""
    mark, packages = tmp_path / "mark", tmp_path / "packages"
    packages.mkdir()
    content = source("parcel", "1.0", mark)
    (packages / "parcel-1.0.tar.gz").write_bytes(content)
    (checkout / "some.lock").write_text(f"parcel==1.0 --hash=sha256:{hashlib.sha256(content).hexdigest()}\n")
    variables = {"PYTHON": sys.executable, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages), **environ}
    assert run(checkout, "sh", "scripts/venv", "some.lock", "other", **variables).returncode != 0
    assert mark.exists() is built


def test_the_image_builds_no_source_but_its_own() -> None:
    """Every lock that the Dockerfile installs is installed as wheels."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if "-r requirements" in line]
    assert len(lines) == 2
    assert all("--require-hashes --no-deps --only-binary :all: -r" in line for line in lines)


@pytest.fixture
def renewed(tmp_path: Path) -> Path:
    """What a good renewal hands over: every lock, and nothing else."""
    for name in LOCKS:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def check(folder: Path) -> tuple[int, str]:
    """The exit code and words of the step that looks at renewed locks."""
    command = [sys.executable, "-I", str(ROOT / "scripts" / "check_locks.py"), str(folder)]
    response = subprocess.run(command, check=False, capture_output=True, text=True)
    return response.returncode, response.stderr.strip()


def test_good_locks_are_taken(renewed: Path) -> None:
    """The locks of this checkout are themselves what a renewal may bring."""
    assert check(renewed) == (0, "")


@pytest.mark.threat("dependency", "a poisoned release of a dependency compromises our releases")
@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.com/simple",
        "--extra-index-url=https://example.com/simple",
        "-i https://example.com/simple",
        "--find-links .",
        "-r other.txt",
        "-c other.txt",
        "-e .",
        "--trusted-host example.com",
        "./parcel",
        "parcel.whl",
        "https://example.com/parcel-1.0.whl",
        f"parcel @ https://example.com/parcel-1.0.whl {HASH}",
        f"parcel @ file:///parcel-1.0.whl {HASH}",
        "parcel==1.0",
        f"parcel {HASH}",
        f"parcel>=1.0 {HASH}",
        f"parcel==1.* {HASH}",
        f"parcel[extra]==1.0 {HASH}",
        f"parcel==1.0 {HASH} --index-url https://example.com",
        f"parcel==1.0 --config-settings=x=y {HASH}",
        f"parcel==1.0 --global-option=x {HASH}",
        f"parcel==1.0 ; python_version > '3' --index-url x {HASH}",
        f"parcel==1.0 ; python_version > '${{HOME}}' {HASH}",
        "parcel==1.0 --hash=md5:" + "0" * 32,
        f"parcel==1.0 {HASH}0",
        f"parcel==1.0 {HASH} \\",
        f" parcel==1.0 {HASH}",
        f"--pre parcel==1.0 {HASH}",
        "# a comment that goes on \\",
        "# a comment\r--index-url https://example.com",
        "# a comment\x0b--index-url https://example.com",
        "# a comment\x85--index-url https://example.com",
        "# a comment\u2028--index-url https://example.com",
        f"# \\\nparcel==1.0 {HASH}",
        f"p\u0430rcel==1.0 {HASH}",
        "\x00",
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_line_that_is_no_hashed_requirement_is_refused(renewed: Path, line: str, first: bool) -> None:
    """Options, addresses, paths and whatever pip might read as more than one line stay out."""
    lock = renewed / "requirements.lock"
    text = lock.read_text()
    lock.write_text(f"{line}\n{text}" if first else f"{text}{line}\n", encoding="utf-8", newline="")
    code, words = check(renewed)
    assert code == 1
    assert words.startswith("'requirements.lock' has a line that is not a hashed requirement: ")


def test_strange_files_are_refused(renewed: Path) -> None:
    """Others than the locks, links, folders, empty and enormous files: each is named."""
    (renewed / ".gitattributes").touch()
    (renewed / "requirements-build.lock").unlink()
    (renewed / "requirements-dev.lock").write_text("# nothing\n")
    (renewed / "requirements-fuzz.lock").unlink()
    (renewed / "requirements-fuzz.lock").symlink_to("/etc/passwd")
    (renewed / "requirements-sbom.lock").write_text("#" * (1024 * 1024 + 1))
    (renewed / "requirements.lock").unlink()
    (renewed / "requirements.lock").mkdir()
    code, words = check(renewed)
    assert code == 1
    assert words.splitlines() == [
        "'requirements-build.lock' is missing.",
        "'.gitattributes' does not belong here.",
        "'requirements-dev.lock' names no package.",
        "'requirements-fuzz.lock' is not a plain file.",
        "'requirements-sbom.lock' has more than 1048576 bytes.",
        "'requirements.lock' is not a plain file.",
    ]
