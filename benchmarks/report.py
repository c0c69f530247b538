"""Turns what was measured into docs/PERFORMANCE.md: what was asked and found, what bounds it, and the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contestants import CURL, OURS
from benchmarks.goals import Goal, goals, per_file
from benchmarks.ground import ROOT

PAGE = ROOT / "docs" / "PERFORMANCE.md"
PLOT = ROOT / "docs" / "performance.svg"
_NOTES = Path(__file__).with_name("notes.md")
_NOTE = re.compile(r"\*\*(.+?)\.\*\* (.+?)(?:\n\n|\Z)", re.DOTALL)
MIB = 1 << 20
GIB = 1 << 30

Data = dict[str, Any]
Row = Sequence[object]


def page(data: Data) -> str:
    """The whole page, in Markdown."""
    parts = (_goals, _limits, _large, _digests, _small, _memory, _faults, _start, _image)
    return "\n\n".join([_head(data), *(part(data) for part in parts)]) + "\n"


def _head(data: Data) -> str:
    machine = data["machine"]
    left_out = "; ".join(f"{name} ({why})" for name, why in data["left_out"].items())
    return (
        "# Performance\n\n"
        "`make bench` measures all of this and writes the page. Every contestant is a child process that sends to a "
        "sink on the same machine, over TLS unless said otherwise; the sink answers as the services do, with their "
        "digests, but stores and computes nothing. The contestants take turns in each round: a figure is the median of "
        "the rounds, a ratio that of the runs of one round. Processor time and peak memory are the system's own books "
        "for the child; MB are 1,000,000 bytes. `python -m benchmarks --profile` shows where a run spends its time; "
        "what was done for speed and what was left out is in [DECISIONS.md](DECISIONS.md#choices-for-speed).\n\n"
        f"{machine['day']}, {machine['cores']} cores ({machine['processor']}), Python {machine['python']}, curl "
        f"{machine['curl']}, rounds: {data['rounds']}. "
        f"Load average before: {data['load'][0]}; after: {data['load'][1]}."
        + (f" Left out: {left_out}." if left_out else "")
    )


def _goals(data: Data) -> str:
    rows = [(one.part, one.what, one.asked, _figure(one), one.verdict) for one in goals(data)]
    return "\n\n".join(["## Asked and found", _table(("", "", "asked", "found", ""), rows, left=2)])


def _figure(goal: Goal) -> str:
    if goal.found is None:
        return "-"
    return f"{goal.found:.3g}" if abs(goal.found) < 1000 else f"{goal.found:.0f}"


def _limits(data: Data) -> str:
    """The sentences that were written by hand, with this run's figures in them; what they do not explain is named."""
    known = facts(data)
    said = {part: text.format_map(known) for part, text in notes().items() if data["image"] or part != "Image"}
    unsaid = {one.part: "Missed in this run, and not explained." for one in goals(data) if one.missed_by}
    return "\n\n".join(["## What bounds it", *(f"**{part}.** {text}" for part, text in {**unsaid, **said}.items())])


def notes() -> dict[str, str]:
    """The sentences of notes.md by the part of the page that they explain, on one line each."""
    return {part: " ".join(text.split()) for part, text in _NOTE.findall(_NOTES.read_text(encoding="utf-8").strip())}


def facts(data: Data) -> dict[str, Any]:
    """What the sentences may name. Times are seconds, those of the start milliseconds; memory is in MB."""
    large, many, peaks = data["large"], data["many"], list(data["memory"].values())
    ours, curl, cores = large["https"][OURS], large["https"][CURL], data["machine"]["cores"]
    work, idle = ours["cpu"] + ours["sink_cpu"], data["start"]["byte"]  # until then one core has nothing to do
    floor = (work + idle) / cores
    costs = [(what, seconds * 1000) for what, seconds in data["costs"]]
    imports = [(what, cost) for what, cost in costs if what != data["rest"]]
    layers = data["image"].get("layers", (0, 0))
    return {
        "work": work,
        "cores": cores,
        "idle": idle,
        "floor": floor,
        "bound": curl["seconds"] * GIB / large["size"] / floor,
        "count": f"{many['count']:,}",
        "each": many["runs"][OURS]["cpu"] / many["count"] * 1000,
        "imported": peaks[0] / 1e6,
        "buffers": (max(peaks) - peaks[0]) / 1e6,
        "first": imports[0][0],
        "second": imports[1][0],
        "both": imports[0][1] + imports[1][1],
        "whole": data["start"]["request"] * 1000,
        "rest": dict(costs).get(data["rest"], 0.0),
        "system": layers[0] / 1e6,
        "packed": sum(layers) / 1e6,
    }


def _large(data: Data) -> str:
    found = data["large"]
    story = (
        f"One file of {_size(found['size'])} by everybody, as users have them: this program computes sha256 "
        "and compares crc32c, google-cloud-storage and rclone compare a checksum as well, the others none. `sending` "
        "is without the start: from the first byte of a body on. sha256 of a GiB by itself takes "
        f"{found['hashlib']:.2f} s here. The smallest peak is the harness's own, from which each child is split off."
    )
    head = ("", "seconds", "to curl's", "sending, to curl's", "CPU s/GiB", "to curl's", "peak MB", "sink's CPU s/GiB")
    rows = [
        (
            _own(name),
            *(f"{one[key]:.2f}" for key in ("seconds", "speed_ratio", "sending_ratio", "cpu", "cpu_ratio")),
            _mb(one["memory"]),
            f"{one['sink_cpu']:.2f}",
        )
        for name, one in found["https"].items()
    ]
    picture = f"![Throughput and processor time of every contestant]({PLOT.name})"
    return "\n\n".join(["## Large files", story, picture, _table(head, rows)])


def _digests(data: Data) -> str:
    rows = [
        (service, *(f"{one[key]:.2f}" for key in ("seconds", "cpu", "seconds_ratio", "cpu_ratio")))
        for service, one in data["digests"].items()
    ]
    head = ("to", "seconds", "CPU s/GiB", "time to the first row's", "CPU to the first row's")
    story = (
        f"This program sends {_size(data['large']['size'])} and compares what the service states. It reads the file "
        "once: sha256 is computed of each byte on a second thread while the first one sends, and crc32c beside it "
        "where Cloud Storage is going to state that."
    )
    return "\n\n".join(["## Digests", story, _table(head, rows)])


def _small(data: Data) -> str:
    rows: list[Row] = []
    for one in (data["images"], data["many"]):
        what = f"{one['count']:,} files of {one['size'] // 1000} KB, {one['latency'] * 1000:.0f} ms"
        for name, it in one["runs"].items():
            figures = (f"{it['seconds']:.2f}", f"{it['cpu']:.2f}", it["connections"], it["requests"])
            rows.append((what, _own(name), *figures, _mb(it["memory"])))
    head = ("", "", "seconds", "CPU s", "most connections", "requests", "peak MB")
    story = (
        "Every answer comes late. This program runs with its defaults; rclone is told as many transfers as this "
        "program had connections in the same round."
    )
    return "\n\n".join(["## Small files", story, _table(head, rows, left=2)])


def _memory(data: Data) -> str:
    files = [(_size(int(size)), _mb(peak), f"{peak / MIB:.1f}") for size, peak in data["memory"].items()]
    rows = [
        (f"{int(count):,} files of one byte, {what}", _mb(one[what]), f"{one[what] / MIB:.1f}")
        for what in ("planned", "sent")
        for count, one in data["growth"].items()
    ]
    more = [f"{per_file(data, what):.0f} bytes {what}" for what in ("planned", "sent")]
    story = f"Peak of resident memory. One more file costs {more[0]}, {more[1]} with its result."
    return "\n\n".join(["## Memory", story, _table(("", "MB", "MiB"), [*files, *rows])])


def _faults(data: Data) -> str:
    found = data["faults"]
    rows: list[Row] = [
        (_own(OURS), *(f"{found[kind]['again']} bytes, {found[kind]['extra']:.2f} s" for kind in ("503", "reset")))
    ]
    rows += [(name, fates["503"], fates["reset"]) for name, fates in found["peers"].items()]
    story = (
        f"The server fails once, when it has stored half of {_size(found['size'])}: what is sent again of the stored "
        "bytes, and the time beyond an undisturbed run and the wait that the schedule asks for."
    )
    return "\n\n".join(["## Faults", story, _table(("", "503", "reset"), rows)])


def _start(data: Data) -> str:
    found = {name: f"{seconds * 1000:.0f}" for name, seconds in data["start"].items()}
    rows = (
        ("a Python that does nothing", found["bare"]),
        ("a Python that imports requests and cryptography", found["libraries"]),
        ("to the first request (the token's)", found["request"]),
        ("to the first byte of a file", found["byte"]),
        ("damaged credentials refused: the whole process", found["refusal"]),
        ("`--help`: the whole process", found["help"]),
    )
    costs = ", ".join(f"{what} {seconds * 1000:.1f}" for what, seconds in data["costs"])
    story = (
        f"The largest costs up to the first request, in milliseconds under Python's own profiler of imports: {costs}."
    )
    return "\n\n".join(["## Start", _table(("from the start of the process", "ms"), rows), story])


def _image(data: Data) -> str:
    found = data["image"]
    if not found:
        return "## Image\n\nNo image could be built or run where this was measured."
    system, program = (size / 1e6 for size in found["layers"])
    cold, other = found.get("cold", {}), found.get("cold_other", {})
    times = (
        ("a Python that does nothing, inside", found["python"]),
        ("this program, inside, to its first request", found["first_request"]),
        ("a whole `podman run` of `true`", found["nothing"]),
        ("a whole `podman run` of `--version`", found["program"]),
        ("`podman pull` from a registry on this machine", cold.get("pull")),
        (f"the same of {found['other']}", other.get("pull")),
        ("from the start of the pull to the first request", cold.get("first_request")),
        (f"the same of {found['other']}", other.get("first_request")),
    )
    rows = [(what, f"{seconds * 1000:.0f}") for what, seconds in times if seconds]
    story = (
        f"Packed, the whole image has {system + program:.1f} MB: {system:.1f} with Python, its libraries and a shell, "
        f"{program:.1f} with the program and its dependencies; {found['other']} has {found['other_size'] / 1e6:.1f} MB."
    )
    return "\n\n".join(["## Image", story, _table(("", "ms"), rows)])


def _own(name: str) -> str:
    return f"**{name}**" if name == OURS else name


def _table(head: Row, rows: Iterable[Row], left: int = 1) -> str:
    line = "|" + "---|" * left + "---:|" * (len(head) - left)
    return "\n".join(_row(cells) for cells in [head, *rows]).replace("\n", f"\n{line}\n", 1)


def _row(cells: Row) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _mb(count: int) -> str:
    return f"{count / 1e6:.1f}"


def _size(count: int) -> str:
    return f"{count >> 30} GiB" if count >= GIB else f"{count >> 20} MiB"
