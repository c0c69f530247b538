"""Turns what the scenarios found into docs/PERFORMANCE.md: the figures, what was asked for, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contestants import OURS
from benchmarks.ground import ROOT

PAGE = ROOT / "docs" / "PERFORMANCE.md"
PLOT = ROOT / "docs" / "performance.svg"
_NOTES = Path(__file__).with_name("notes.md")

Data = dict[str, Any]


def page(data: Data) -> str:
    """The whole page, in Markdown."""
    parts = (_head(data), _large(data), _memory(data), _faults(data), _latency(data), _start(data), _growth(data))
    return "\n\n".join([*parts, _NOTES.read_text(encoding="utf-8").strip()]) + "\n"


def _head(data: Data) -> str:
    machine = data["machine"]
    return (
        "# Performance\n\n"
        "Made by `make bench`, which anyone can run; nothing below the tables' titles is written by hand, except the "
        "last section. Every contestant is a child process that sends to a sink on the same machine. They take turns "
        "in each round; a figure is the median of the rounds, a ratio that of the pairs in one round. Processor time "
        "and peak memory are the system's own books for the child.\n\n"
        f"{machine['day']}, {machine['cores']} cores ({machine['processor']}), Python {machine['python']}, "
        f"curl {machine['curl']}, {data['rounds']} rounds. Load average before: {data['load'][0]}; "
        f"after: {data['load'][1]}.\n\n"
        "The sink shares the two cores. It computes no digest and stores nothing, but it has to decrypt, and its "
        "processor time is in the tables: where a contestant's own time and the sink's together fill both cores, "
        "nobody can be faster.\n\n"
        f"![Throughput and processor time of every contestant]({PLOT.name})"
    )


def _large(data: Data) -> str:
    found = data["large"]
    story = (
        f"One file of {_size(found['size'])}, from the start of the process to its end. `sending` is without the "
        "start: from the first byte of a body on. This program's figures hold the sha256 of every byte and its "
        f"comparison; `sha256sum` alone takes {found['sha256sum']:.2f} s of processor time for a GiB here, hashlib "
        f"{found['hashlib']:.2f} s. No peer checks a digest in these runs."
    )
    words = ["## Large files", story]
    head = (
        "",
        "seconds",
        "throughput to curl's",
        "while sending",
        "CPU s/GiB",
        "CPU to curl's",
        "peak MB",
        "sink CPU s/GiB",
    )
    for scheme in ("https", "http"):
        rows = [
            (
                _own(name),
                f"{one['seconds']:.2f}",
                f"{one['speed_ratio']:.2f}",
                f"{one['sending_ratio']:.2f}",
                f"{one['cpu']:.2f}",
                f"{one['cpu_ratio']:.2f}",
                _mb(one["memory"]),
                f"{one['sink_cpu']:.2f}",
            )
            for name, one in found[scheme].items()
        ]
        words += [f"### {'TLS' if scheme == 'https' else 'HTTP'}", _table(head, rows)]
    return "\n\n".join(words)


def _memory(data: Data) -> str:
    rows = [(_size(int(size)), _mb(peak)) for size, peak in data["memory"]["peaks"].items()]
    return "\n\n".join(
        ["## Memory", "This program over TLS; peak of resident memory.", _table(("file", "peak MB"), rows)]
    )


def _faults(data: Data) -> str:
    found = data["faults"]
    rows = [(kind, f"{found[kind]['again']} bytes", f"{found[kind]['extra']:.2f} s") for kind in ("503", "reset")]
    peers = [(name, fates["503"], fates["reset"]) for name, fates in found["peers"].items()]
    story = (
        f"The server fails once, when it has stored half of {_size(found['size'])}. `extra` is the time beyond an "
        "undisturbed run and the wait that the schedule asks for."
    )
    words = [
        "## Faults",
        story,
        _table(("fault", "stored bytes sent again", "extra"), rows),
        "The peers, with the same fault:",
        _table(("", "503", "reset"), peers),
    ]
    return "\n\n".join(words)


def _latency(data: Data) -> str:
    found = data["latency"]
    return (
        "## Latency\n\n"
        "Every answer comes 50 ms late.\n\n"
        f"- 1 GiB over TLS takes {found['large']:.2f} of curl's time.\n"
        f"- 200 images of 200 KB over TLS, `concurrency: 8`: {found['images']:.2f} s, at most "
        f"{found['connections']} connections at a time, {found['requests']} requests with the login."
    )


def _start(data: Data) -> str:
    found = {name: f"{seconds * 1000:.0f} ms" for name, seconds in data["start"].items()}
    rows = (
        ("a Python that does nothing", found["bare"]),
        ("a Python that imports requests and google-auth", found["libraries"]),
        ("this program, to its first request (the token's)", found["request"]),
        ("this program, to the first byte of a file", found["byte"]),
        ("this program, refusing damaged credentials: the whole process", found["refusal"]),
    )
    return "\n\n".join(["## Start", _table(("", "from the start of the process"), rows)])


def _growth(data: Data) -> str:
    found = data["growth"]
    rows = [
        (count, *(text for what in ("planned", "sent") for text in (f"{one[what][0]:.2f} s", _mb(one[what][1]))))
        for count, one in found["files"].items()
    ]
    head = ("files", "planned in", "peak MB", "sent in", "peak MB")
    few, many = (found["files"][count] for count in ("1000", "10000"))
    grown = [(many[what][1] - few[what][1]) / 9000 for what in ("planned", "sent")]
    return "\n\n".join(
        [
            "## Growth",
            "Many files of one byte over HTTP.",
            _table(head, rows),
            f"One more file costs {grown[0]:.0f} bytes to plan and {grown[1]:.0f} bytes to send, with its result.",
            f"The first byte of a sparse file of 100 GiB leaves {found['sparse'] * 1000:.0f} ms after the start.",
        ]
    )


def _own(name: str) -> str:
    return f"**{name}**" if name == OURS else name


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    line = "|" + "---|" + "---:|" * (len(head) - 1)
    return "\n".join(_row(cells) for cells in [head, *rows]).replace("\n", f"\n{line}\n", 1)


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _mb(count: int) -> str:
    return f"{count / 1e6:.0f}"


def _size(count: int) -> str:
    return f"{count >> 30} GiB" if count >= 1 << 30 else f"{count >> 20} MiB"
