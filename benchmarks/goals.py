"""What was asked and what a run found: each goal is a ratio or a difference inside one run, or a plain limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.contestants import OURS, RCLONE
from benchmarks.large_files import NO_DIGEST, SILENT

Data = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """`part` is the part of the page that it belongs to. `found` is None where this run could not measure it."""

    part: str
    what: str
    found: float | None
    least: float | None = None
    most: float | None = None

    @property
    def asked(self) -> str:
        """The limit, in words."""
        return f"at least {self.least:.4g}" if self.least is not None else f"at most {self.most:.4g}"

    @property
    def missed_by(self) -> float | None:
        """How far it is from what was asked, 0 where it is met, None where it was not measured."""
        if self.found is None:
            return None
        short = self.least - self.found if self.least is not None else 0.0
        over = self.found - self.most if self.most is not None else 0.0
        return max(short, over, 0.0)

    @property
    def verdict(self) -> str:
        """Met or not, and by how much."""
        if self.missed_by is None:
            return "not measured"
        if not self.missed_by:
            return "met"
        limit = self.least if self.least is not None else self.most
        if not limit:
            return f"missed by {self.missed_by:.3g}"
        share = self.missed_by / limit
        return f"missed by {share:.0%}" if share >= 0.01 else f"missed by {share:.1%}"


def goals(data: Data) -> list[Goal]:
    """All of them, by the parts of the page."""
    return [*_digests(data), *_small(data), *_large(data), *_memory(data), *_faults(data), *_start(data), *_image(data)]


def _digests(data: Data) -> Iterator[Goal]:
    for service, one in data["digests"].items():
        if service not in (NO_DIGEST, SILENT):
            yield Goal("Digests", f"{service}: time to that without a digest", one["seconds_ratio"], most=1.1)
            yield Goal("Digests", f"{service}: processor time to that without", one["cpu_ratio"], most=1.1)


def _small(data: Data) -> Iterator[Goal]:
    images, many = data["images"], data["many"]
    yield Goal("Small files", "200 images at 50 ms, seconds", images["runs"][OURS]["seconds"], most=1.1)
    connections = max(one["runs"][OURS]["connections"] for one in (images, many))
    yield Goal("Small files", "most connections", connections, most=32)
    what = f"{many['count']:,} files at 20 ms: rclone's time to this program's"
    yield Goal("Small files", what, many["runs"].get(RCLONE, {}).get("ratio"), least=1)


def _large(data: Data) -> Iterator[Goal]:
    large, ours = data["large"], data["large"]["https"][OURS]
    yield Goal("Large files", "throughput to curl's, whole process", ours["speed_ratio"], least=0.75)
    yield Goal("Large files", "throughput to curl's, while sending", ours["sending_ratio"], least=0.85)
    beyond = large["cpu_beyond"] - large["hashlib"]
    yield Goal("Large files", "processor s/GiB beyond curl's and sha256's", beyond, most=0.2)


def _memory(data: Data) -> Iterator[Goal]:
    yield Goal("Memory", "peak, MB of 1,000,000 bytes", max(data["memory"].values()) / 1e6, most=48)
    yield Goal("Memory", "bytes for one more planned file", per_file(data, "planned"), most=1024)


def per_file(data: Data, what: str) -> float:
    """Bytes of memory for one more file."""
    (few, least), *_, (many, most) = data["growth"].items()
    return float(most[what] - least[what]) / (int(many) - int(few))


def _faults(data: Data) -> Iterator[Goal]:
    found = [data["faults"][kind] for kind in ("503", "reset")]
    yield Goal("Faults", "stored bytes sent again after one", max(one["again"] for one in found), most=0)
    yield Goal("Faults", "seconds lost by one, beyond the wait", max(one["extra"] for one in found), most=0.1)


def _start(data: Data) -> Iterator[Goal]:
    start, image = data["start"], data["image"]
    beyond = image["first_request"] - image["python"] if image else start["beyond"]
    where = ", in the image" if image else ""
    yield Goal("Start", f"first request, ms beyond a bare Python{where}", beyond * 1000, most=100)
    yield Goal("Start", "refusal, ms", start["refusal"] * 1000, most=45)
    yield Goal("Start", "`--help`, ms", start["help"] * 1000, most=30)


def _image(data: Data) -> Iterator[Goal]:
    image = data["image"]
    yield Goal("Image", "packed, MB", sum(image["layers"]) / 1e6 if image else None, most=30)
    pulled = image["cold"]["pull"] / image["cold_other"]["pull"] if "cold" in image else None
    yield Goal("Image", f"pull, to that of {image.get('other', 'an older image')}", pulled, most=1 / 3)
