"""Short names for files, by which people tell them apart on one page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence


def short_names(paths: Sequence[str], limit: int) -> list[str]:
    """The last part of each path; where several end alike, with the folders from where they differ.

    What has more than `limit` characters is shortened in its middle.
    """
    split = [path.split("/") for path in paths]
    alike: dict[str, list[list[str]]] = defaultdict(list)
    for *folders, name in split:
        alike[name].append(folders)
    shared = {name: _shared(folders) for name, folders in alike.items()}
    return [_shortened("/".join(parts[shared[parts[-1]] :]), limit) for parts in split]


def _shared(folders: Sequence[list[str]]) -> int:
    """How many of the first folders all have in common; of a single path it is all of them."""
    first, last = min(folders), max(folders)
    return next(
        (count for count, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )


def _shortened(name: str, limit: int) -> str:
    end = (limit - 3) // 2
    return name if len(name) <= limit else f"{name[: limit - 3 - end]}...{name[-end:]}"
