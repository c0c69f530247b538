"""Turns what the scenarios found into docs/PERFORMANCE.md: the figures, what was asked for, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contestants import CURL, OURS
from benchmarks.ground import ROOT

PAGE = ROOT / "docs" / "PERFORMANCE.md"
PLOT = ROOT / "docs" / "performance.svg"
_NOTES = Path(__file__).with_name("notes.md")

MIB = 1 << 20

Data = dict[str, Any]


def page(data: Data) -> str:
    """The whole page, in Markdown."""
    parts = (
        _head(data),
        _goals(data),
        _large(data),
        _memory(data),
        _faults(data),
        _latency(data),
        _start(data),
        _growth(data),
        _container(data["container"]),
    )
    return "\n\n".join([*parts, _NOTES.read_text(encoding="utf-8").strip()]) + "\n"


def _head(data: Data) -> str:
    machine = data["machine"]
    return (
        "# Performance\n\n"
        "Made by `make bench`, which anyone can run: the tables from its data alone, the last section by hand. Every "
        "contestant is a child process that sends to a sink on the same machine. They take turns in each round; a "
        "figure is the median of the rounds, a ratio that of the pairs in one round. Processor time and peak memory "
        "are the system's own books for the child; a peak of 30 MB or less may be the harness's own, from which each "
        "child is split off. This program runs with its own locked dependencies alone, as users have it, the Python "
        "peers with all that the tests need.\n\n"
        f"{machine['day']}, {machine['cores']} cores ({machine['processor']}), Python {machine['python']}, "
        f"curl {machine['curl']}, {data['rounds']} rounds. Load average before: {data['load'][0]}; "
        f"after: {data['load'][1]}.\n\n"
        "The sink shares the two cores. It computes no digest and stores nothing, but it has to decrypt, and its "
        "processor time is in the tables: where a contestant's own time and the sink's together fill both cores, "
        "nobody can be faster.\n\n"
        f"![Throughput and processor time of every contestant]({PLOT.name})"
    )


def _goals(data: Data) -> str:
    """What the project set itself, beside what this run found."""
    tls, plain = (data["large"][scheme][OURS] for scheme in ("https", "http"))
    allowed = data["large"]["https"][CURL]["cpu"] + data["large"]["sha256sum"]
    peak = max(data["memory"]["peaks"].values()) / MIB
    worst = max(data["faults"][kind]["extra"] for kind in ("503", "reset"))
    again = max(data["faults"][kind]["again"] for kind in ("503", "reset"))
    late, start, growth = data["latency"], data["start"], data["growth"]
    layers = data["container"].get("layers")
    rows = (
        _goal("TLS throughput to curl's, while sending", tls["sending_ratio"], least=1.0),
        _goal("HTTP throughput to curl's, while sending", plain["sending_ratio"], least=1.3),
        _goal("CPU s/GiB over TLS: curl's and sha256sum's", tls["cpu"], most=allowed),
        _goal("peak memory, MiB", peak, most=50),
        _goal("stored bytes sent again after a fault", again, most=0),
        _goal("seconds lost by a fault, beyond the wait", worst, most=0.1),
        _goal("1 GiB at 50 ms for each answer, to curl's time", late["large"], most=1.1),
        _goal("200 images at 50 ms, seconds", late["images"], most=1.6),
        _goal("connections for them", late["connections"], most=8),
        _goal("first request, ms beyond a bare Python", (start["request"] - start["bare"]) * 1000, most=130),
        _goal("refusal, ms", start["refusal"] * 1000, most=60),
        _goal("bytes for one more planned file", _per_file(growth, "planned"), most=1024),
        *([_goal("the image, packed, MB", sum(layers) / 1e6, most=30)] if layers else []),
    )
    story = (
        "What the project asked of itself before it was written. Where a figure is not met, the last section says why, "
        "and what the next limit is."
    )
    return "\n\n".join(["## Asked and found", story, _table(("", "asked", "found", ""), rows)])


def _goal(
    what: str, found: float, *, least: float | None = None, most: float | None = None
) -> tuple[str, str, str, str]:
    met = (least is None or found >= least) and (most is None or found <= most)
    asked = f"at least {least:.4g}" if least is not None else f"at most {most:.4g}"
    return what, asked, f"{found:.3g}" if found < 1000 else f"{found:.0f}", "met" if met else "not met"


def _per_file(growth: Data, what: str) -> float:
    few, many = (growth["files"][count][what][1] for count in ("1000", "10000"))
    return float(many - few) / 9000


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
    grown = [_per_file(found, what) for what in ("planned", "sent")]
    return "\n\n".join(
        [
            "## Growth",
            "Many files of one byte over HTTP.",
            _table(head, rows),
            f"One more file costs {grown[0]:.0f} bytes to plan and {grown[1]:.0f} bytes to send, with its result.",
            f"The first byte of a sparse file of 100 GiB leaves {found['sparse'] * 1000:.0f} ms after the start.",
        ]
    )


def _container(found: Data) -> str:
    if not found:
        return "## Container\n\nNo image could be built or run where this was measured."
    system, program = found["layers"]
    rows = [
        (what, f"{seconds * 1000:.0f} ms")
        for what, seconds in (
            ("a Python that does nothing, inside", found["python"]),
            ("this program, inside, to its first request", found["first_request"]),
            ("a whole `podman run` of `true`", found["nothing"]),
            ("a whole `podman run` of `--version`", found["program"]),
            ("`podman pull` from a registry on this machine", found.get("cold", {}).get("pull")),
            ("the same of the image that it is made from", found.get("cold_base", {}).get("pull")),
            ("from the start of the pull to the first request", found.get("cold", {}).get("first_request")),
        )
        if seconds
    ]
    story = (
        f"Packed, the whole image has {(system + program) / 1e6:.1f} MB: {system / 1e6:.1f} with Python, its "
        f"libraries and a shell, {program / 1e6:.1f} with the program and its dependencies. The one that it is "
        f"made from has {found['base'] / 1e6:.1f} MB; in tests that is Debian with its own Python and pip."
    )
    return "\n\n".join(["## Container", story, _table(("", "time"), rows)])


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
