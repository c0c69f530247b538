"""What both encodings of an Android manifest have in common: the attributes of its root, by resource id and by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from uploader.files.android.zip_archive import Malformed

ANDROID = "http://schemas.android.com/apk/res/android"
IDS: Mapping[int, str] = {0x0101021B: "versionCode", 0x0101021C: "versionName", 0x01010576: "versionCodeMajor"}


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that stands in the resource table, not in the manifest: `@0x7f…`. It is told, not guessed."""

    id: int


Value = int | str | Reference


def name_of(resource_id: int, namespace: str, name: str) -> str:
    """The attribute's name as far as it matters here, else "". Like Android, the resource id counts before the name."""
    if resource_id:
        return IDS.get(resource_id, "")
    if namespace == "":
        return name if name == "package" else ""
    return name if namespace == ANDROID and name in IDS.values() else ""


def number(fields: Mapping[str, Value], name: str) -> int:
    """A 32-bit part of the version code; 0 when it is absent. Raises Malformed when it can't be known."""
    value = fields.get(name, 0)
    if isinstance(value, Reference):
        raise Malformed(f"takes {name} from a resource (@0x{value.id:08x}).", "Write the number into the manifest.")
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) <= 10):
            raise Malformed(f"has a {name} that is not a number.")
        value = int(value)
    if value > 0xFFFFFFFF:
        raise Malformed(f"has a {name} beyond 32 bits.")
    return value
