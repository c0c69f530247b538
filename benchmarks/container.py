"""Measures the image that `tests/container/build` makes: its compressed size, and how soon it begins to work.

Beside it stands an older image of the program, if `OLD_IMAGE` names one of the test store, else the image that it is
put together from: what an image on top of that would have to pull at least. An older one is built from its checkout,
with the scripts of this one:

    git worktree add ../old COMMIT && cp tests/container/[a-z]* ../old/tests/container/
    sh ../old/tests/container/build old
    make bench OLD_IMAGE=localhost/google-release-uploader:old
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cold_start import cold_start
from benchmarks.ground import ROOT

_HERE = ROOT / "tests" / "container"
_PYTHON = "/app/venv/bin/python"


def container(rounds: int) -> dict[str, Any]:
    """What was found, in bytes and seconds. Raises `CalledProcessError` where no image can be built or run."""
    base, image = (_script(name) for name in ("base", "build"))
    old = os.environ.get("OLD_IMAGE", "")
    began = json.loads(_run(image, ("-I", "-c", (_HERE / "start.py").read_text(encoding="utf-8")), _PYTHON))
    cold = cold_start([image, old or base], rounds)
    return {
        **began,
        **{name: median(times) for name, times in _whole_runs(image, rounds).items()},
        **({"cold": cold[image], "cold_other": cold[old or base]} if cold else {}),
        "other": "the older image" if old else "the image that it is made from",
        "layers": _layers(image),
        "other_size": sum(_layers(old or base)),
    }


def _whole_runs(image: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of a whole `podman run`, of the program's version and of nothing."""
    whole = {"program": (("--version",), None), "nothing": ((), "true")}
    seconds: dict[str, list[float]] = {name: [] for name in whole}
    for _ in range(rounds):
        for name, (words, entrypoint) in whole.items():
            before = time.monotonic()
            _run(image, words, entrypoint)
            seconds[name].append(time.monotonic() - before)
    return seconds


def _script(name: str) -> str:
    """The name of the image that a script of tests/container makes."""
    return subprocess.run(["sh", str(_HERE / name)], check=True, capture_output=True, text=True).stdout.strip()


def _run(image: str, words: Sequence[str], entrypoint: str | None) -> str:
    enter = [f"--entrypoint={entrypoint}"] if entrypoint else []
    return _podman("run", "--rm", "--network=none", *enter, image, *words)


def _layers(image: str) -> list[int]:
    """The size of each layer as a registry would hold it: packed by gzip, the lowest first."""
    with tempfile.TemporaryDirectory() as folder:
        _podman("push", "--quiet", image, f"oci:{folder}")
        blobs = Path(folder) / "blobs" / "sha256"
        index = json.loads((Path(folder) / "index.json").read_bytes())
        manifest = json.loads((blobs / index["manifests"][0]["digest"].partition(":")[2]).read_bytes())
    return [layer["size"] for layer in manifest["layers"]]


def _podman(*words: str) -> str:
    return subprocess.run([str(_HERE / "podman"), *words], check=True, capture_output=True, text=True).stdout
