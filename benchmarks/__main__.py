"""Measures this program beside curl and other clients, and writes docs/development/MEASUREMENTS.md:
`make bench`.

Every client is a child process that sends over TLS to a sink on the same machine. In each round,
the clients take turns. A figure is the median of all rounds, and a ratio compares the runs of one
round. `--quick` measures a few things once, and writes to build/quick.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks import waits
from benchmarks.ground import ROOT, Ground, Run, ground

KB, MIB, GIB = 1000, 1 << 20, 1 << 30  # bytes
OURS, CURL, RCLONE = "**this program**", "curl -T", "rclone"
NODE = "@googleapis/androidpublisher (node)"
PAGE = ROOT / "docs" / "development" / "MEASUREMENTS.md"
# The sink keeps nothing with which rclone could compare.
UNCHECKED = ("--retries", "1", "--ignore-checksum", "--ignore-size")
PEERS = Path(__file__).with_name("peers")
# A Python with the runtime dependencies and nothing else, as users have it.
PYTHON = str(ROOT / "build" / "runtime" / "bin" / "python")
_LIBRARIES = {
    "requests, a file as body": "requests",
    "google-cloud-storage": "google.cloud.storage",
    "google-api-python-client": "googleapiclient",
    "codemagic-cli-tools": "codemagic",
}

Command = tuple[Sequence[str], Mapping[str, str]]  # what to run, and its variables
Clients = Mapping[str, Callable[[Path], Command]]


def main() -> None:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser(
        prog="benchmarks", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    rounds, size = (1, 16 * MIB) if given.quick else (given.rounds, GIB)
    page = ROOT / "build" / "quick.md" if given.quick else PAGE
    page.parent.mkdir(exist_ok=True)
    rows = waits.ROWS[:1] if given.quick else waits.ROWS
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-") as folder,
        ground(Path(folder)) as here,
    ):
        clients = find_clients(here)
        parts = (
            _head(rounds),
            large(here, clients, rounds, size),
            small(here, RCLONE in clients, rounds),
            memory(
                here, (MIB, size) if given.quick else (MIB, 64 * MIB, GIB, 10 * GIB)
            ),
            faults(here, clients, size),
            waits.page(Path(folder) / "waits", 0.3, rounds, rows),
            start(here, 3 * rounds),
            image(),
        )
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    sys.stdout.write(f"{page.relative_to(ROOT)} is written.\n")


def find_clients(here: Ground) -> Clients:
    """Return for each available client a function that returns the command with which it sends a
    file.
    """
    found: dict[str, Callable[[Path], Command]] = {
        OURS: lambda file: ours(here, file.name)
    }
    # Without `Expect:`, curl would wait for a 100 Continue.
    quiet = ("curl", "--silent", "--show-error", "--fail", "--header", "Expect:")
    found[CURL] = lambda file: (
        (*quiet, "--upload-file", str(file), f"{here.url}/put"),
        {},
    )
    for name, module in _LIBRARIES.items():
        if importlib.util.find_spec(module.partition(".")[0]):
            script = (sys.executable, str(PEERS / "python_clients.py"), module)
            found[name] = _for_file(
                (*script, here.url, "FILE", str(here.folder / "key.json"))
            )
    if shutil.which("node") and shutil.which("npm"):
        folder = here.folder / "node"
        folder.mkdir()
        shutil.copy(PEERS / "publisher.mjs", folder)
        install = (
            "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "@googleapis/androidpublisher",
        )
        if (
            subprocess.run(
                install, cwd=folder, check=False, capture_output=True
            ).returncode
            == 0
        ):
            found[NODE] = _for_file(
                ("node", str(folder / "publisher.mjs"), here.url, "FILE")
            )
    if shutil.which("rclone"):
        found[RCLONE] = _for_file(
            ("rclone", *UNCHECKED, "copyto", "FILE", f"{_remote(here)}/o")
        )
    return found


def ours(here: Ground, files: str) -> Command:
    """Return the command with which this program uploads files to Cloud Storage."""
    given = {
        "target": "storage.objects.insert",
        "params": '{"bucket": "b"}',
        "credentials": str(here.folder / "key.json"),
        "api_endpoint": here.url,
        "files": files,
        "state_dir": str(here.folder / "state"),
    }
    return (PYTHON, str(ROOT / "entrypoint.py")), {
        f"UPLOADER_{name.upper()}": value for name, value in given.items()
    }


def _for_file(command: Sequence[str]) -> Callable[[Path], Command]:
    return lambda file: (
        [str(file) if word == "FILE" else word for word in command],
        {},
    )


def _remote(here: Ground) -> str:
    return (
        f":gcs,endpoint='{here.url}/storage/v1/',anonymous=true,no_check_bucket=true:b"
    )


def in_turns(
    runs: Mapping[str, Callable[[], Run]], rounds: int
) -> dict[str, list[Run]]:
    """Return the runs of each client. A peer that fails is left out; raises RuntimeError if this
    program fails.
    """
    done: dict[str, list[Run]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name in tuple(done):
            run = runs[name]()
            if run.code == 0:
                done[name].append(run)
            elif name == OURS:
                raise RuntimeError(run.log[-2000:])
            else:
                sys.stdout.write(f"{name} failed and is left out: {run.log[-300:]}\n")
                del done[name]
    return done


def ratio(mine: Iterable[Run], theirs: Iterable[Run]) -> float:
    """Return the median over the rounds of the seconds of `mine` divided by those of `theirs`."""
    return median(
        run.seconds / other.seconds for run, other in zip(mine, theirs, strict=True)
    )


def large(here: Ground, clients: Clients, rounds: int, size: int) -> str:
    """Measure one large file with each client, in its default configuration. The service states
    digests.
    """
    file = here.file(size)
    stated = here.digests(file)

    def send(client: Callable[[Path], Command]) -> Callable[[], Run]:
        return lambda: here.run(*client(file), digests=stated)

    runs = in_turns({name: send(client) for name, client in clients.items()}, rounds)
    rows = [
        (
            name,
            f"{median(run.seconds for run in client_runs):.2f}",
            f"{ratio(runs[CURL], client_runs):.2f}",
            f"{median(run.cpu for run in client_runs):.2f}",
            f"{max(run.memory for run in client_runs) / MIB:.0f}",
        )
        for name, client_runs in runs.items()
    ]
    text = (
        f"## A large file\n\n{size // MIB} MiB over TLS. This program computes the sha256 of what "
        "it sends.\n\n"
    )
    return text + table(
        ("client", "seconds", "throughput to curl's", "processor seconds", "peak MiB"),
        rows,
    )


def small(here: Ground, rclone: bool, rounds: int) -> str:
    """Measure many small files, with every response late."""
    folder = here.files(200, 200 * KB)
    copy = (
        "rclone",
        *UNCHECKED,
        "copy",
        "--transfers",
        "16",
        str(folder),
        f"{_remote(here)}/f",
    )
    everybody = {OURS: lambda: here.run(*ours(here, f"{folder.name}/*"), latency=0.05)}
    if rclone:
        everybody[f"{RCLONE} --transfers 16"] = lambda: here.run(copy, {}, latency=0.05)
    runs = in_turns(everybody, rounds)
    rows = [
        (name, f"{median(run.seconds for run in client_runs):.2f}")
        for name, client_runs in runs.items()
    ]
    text = "## Small files\n\n200 files of 200 KB, every response 50 ms late.\n\n"
    return text + table(("client", "seconds"), rows)


def memory(here: Ground, sizes: Sequence[int]) -> str:
    """Measure the peak memory by the size of the file; the files are sparse."""
    rows = []
    for size in sizes:
        file = here.file(size, sparse=True)
        run = here.run(*ours(here, file.name))
        rows.append(
            (
                f"{size // MIB:,} MiB",
                f"{run.memory / 1e6:.1f}" if run.code == 0 else run.log[-200:],
            )
        )
        file.unlink()
    return (
        "## Memory\n\nThe peak memory of this program, in MB of 1,000,000 bytes.\n\n"
        + table(("file", "MB"), rows)
    )


def faults(here: Ground, clients: Clients, size: int) -> str:
    """Measure how many stored bytes each client sends again if the server fails once in the
    middle.
    """
    file = here.file(size)
    rows = []
    for name, client in clients.items():
        cells = []
        for kind in ("503", "reset"):
            run = here.run(*client(file), fault={"at": size // 2, "do": kind})
            again = max(run.seen["received"] - size, 0) / MIB
            cells.append(f"{again:.0f} MiB again" if run.code == 0 else "failed")
        rows.append((name, *cells))
    text = "## One fault in the middle of the file\n\n"
    text += (
        "How many of the bytes that the server has stored each client sends again, by "
        "default.\n\n"
    )
    return text + table(("client", "a 503", "a connection reset"), rows)


def start(here: Ground, rounds: int) -> str:
    """Measure how soon the first request is sent, compared with a Python that does nothing."""
    file = here.file(KB)
    runs = in_turns(
        {
            "bare": lambda: here.run((PYTHON, "-c", "pass"), {}),
            OURS: lambda: here.run(*ours(here, file.name)),
        },
        rounds,
    )
    bare = median(run.seconds for run in runs["bare"])
    first = median(run.first_request for run in runs[OURS])
    rows = [
        ("a Python that does nothing", f"{bare:.2f}"),
        ("to the first request, after that", f"{first - bare:.2f}"),
    ]
    return "## Start\n\n" + table(("client", "seconds"), rows)


def image() -> str:
    """Measure the packed size of the image, if one can be built here."""
    scripts = ROOT / "tests" / "container"
    with tempfile.TemporaryDirectory() as folder:
        try:
            built = subprocess.run(
                ("sh", str(scripts / "build")),
                check=True,
                capture_output=True,
                text=True,
            )
            push = (
                str(scripts / "podman"),
                "push",
                "--quiet",
                built.stdout.strip(),
                f"oci:{folder}",
            )
            subprocess.run(push, check=True, capture_output=True)
        except (subprocess.CalledProcessError, OSError):
            return "## Image\n\nNot measured: no image could be built."
        packed = sum(
            blob.stat().st_size
            for blob in (Path(folder) / "blobs" / "sha256").iterdir()
        )
    return f"## Image\n\nThe packed image has {packed / 1e6:.1f} MB."


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown, with numbers aligned to the right."""
    lines = [header, ("---", *["---:"] * (len(header) - 1)), *rows]
    return "\n".join(" | ".join(map(str, line)) for line in lines)


def _head(rounds: int) -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        processors = [
            line.partition(":")[2].strip()
            for line in file
            if line.startswith("model name")
        ]
    machine = f"{len(processors)} cores ({processors[0] if processors else 'unknown'})"
    return (
        "# Measurements\n\n`make bench` measures all of this and writes this page. Every client is "
        "a separate process that sends to a sink on the same machine. The clients take turns, and "
        "the figures are the medians of the rounds.\n\n"
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, {machine}, rounds: {rounds}."
    )


if __name__ == "__main__":
    main()
