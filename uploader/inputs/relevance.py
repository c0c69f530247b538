"""Which inputs belong to which target: what the chosen one does not read is told, instead of passing in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uploader.inputs.table import TARGETS, Inputs, table

METHOD = "any upload method"
# The first input of each group, in the table's order, and the targets that read the group; none: every target does.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "package-name": ("play", "play-internal-sharing"),
    "tracks": ("play",),
    "gmail-action": ("gmail",),
    "resource-id": ("play-games",),
    "deployment": ("ota",),
    "params": (METHOD,),
}


def ignored(values: Mapping[str, Any]) -> tuple[str, ...]:
    """One warning that names what was given, differs from its default, and is not read by the target; or none."""
    target = values.get("target")
    if not target:
        return ()
    default, kind = Inputs(), target if target in TARGETS else METHOD
    readers: tuple[str, ...] = ()
    names = []
    for field in table():
        readers = GROUPS.get(field.name, readers)
        usual = getattr(default, field.attribute)
        if readers and kind not in readers and values.get(field.attribute, usual) != usual:
            names.append(f"`{field.name}`")
    return (f"Not read by `target: {target}`, and ignored: {', '.join(names)}.",) if names else ()
