"""How long a job waits that has never seen the image: from the start of the pull to the program's first request.

Debian's docker-registry serves on loopback, and podman pulls into a store of its own, empty each time.

    python -m benchmarks.cold_start ROUNDS IMAGE IMAGE...

prints the medians of several images that take turns, in seconds.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.ground import ROOT
from tests.container.start import environment

_PODMAN = str(ROOT / "tests" / "container" / "podman")
_CONFIGURATION = """
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: %s}}
http: {addr: "127.0.0.1:%d"}
"""


def cold_start(images: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """The seconds to pull each image and, if it is the program's, to its first request; without a registry nothing."""
    if not shutil.which("docker-registry"):
        return {}
    found: dict[str, dict[str, list[float]]] = {image: {} for image in images}
    with tempfile.TemporaryDirectory() as folder, _registry(Path(folder)) as address:
        places = {image: f"{address}/image{number}" for number, image in enumerate(images)}
        for image, place in places.items():
            _podman("push", "--quiet", "--tls-verify=false", image, place)
        for _ in range(rounds):
            for image, place in places.items():
                for name, seconds in _pull_and_run(place, asks="Entrypoint" in _podman("inspect", image)).items():
                    found[image].setdefault(name, []).append(seconds)
    return {image: {name: median(values) for name, values in times.items()} for image, times in found.items()}


def _pull_and_run(place: str, *, asks: bool) -> dict[str, float]:
    """The seconds of one pull into an empty store and, where the image `asks` for a token, those until it has."""
    with tempfile.TemporaryDirectory() as folder:
        store = (f"--root={folder}/store", f"--runroot={folder}/run")
        began = time.monotonic()
        _podman(*store, "pull", "--quiet", "--tls-verify=false", place)
        seconds = {"pull": time.monotonic() - began}
        if asks:
            _run_until_asked(store, place)
            seconds["first_request"] = time.monotonic() - began
        _podman(*store, "rmi", "--force", place)  # ends the container
    return seconds


def _run_until_asked(store: Sequence[str], place: str) -> None:
    """Starts the program; it goes on when the endpoint of the tokens, which is here, has been asked."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        variables = environment(listener.getsockname()[1])
        given = [f"--env={name}={value}" for name, value in variables.items() if name.startswith("UPLOADER_")]
        _podman(*store, "run", "--detach", "--network=host", *given, place)
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)


@contextlib.contextmanager
def _registry(folder: Path) -> Iterator[str]:
    """A registry on a port of loopback, with what it holds in the folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    (folder / "config.yml").write_text(_CONFIGURATION % (folder / "held", port))
    with subprocess.Popen(
        ["docker-registry", "serve", str(folder / "config.yml")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        while not _listens(port):
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
        server.terminate()


def _listens(port: int) -> bool:
    """Whether the registry is there."""
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _podman(*words: str) -> str:
    return subprocess.run([_PODMAN, *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    print(json.dumps(cold_start(sys.argv[2:], int(sys.argv[1])), indent=1))  # noqa: T201  # its output is its result
