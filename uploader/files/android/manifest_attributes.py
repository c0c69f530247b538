"""What both encodings of an Android manifest have in common: elements with the attributes that matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from uploader.files.android.zip_reader import MalformedFile

ANDROID = "http://schemas.android.com/apk/res/android"
IDS: Mapping[int, str] = {
    0x01010003: "name",
    0x0101000F: "debuggable",
    0x0101020C: "minSdkVersion",
    0x0101021B: "versionCode",
    0x0101021C: "versionName",
    0x01010270: "targetSdkVersion",
    0x01010272: "testOnly",
    0x0101028E: "required",
    0x01010576: "versionCodeMajor",
}
WANTED = frozenset({"uses-sdk", "uses-permission", "uses-permission-sdk-23", "uses-feature", "application"})
"""The children of the root that are read."""


@dataclass(frozen=True)
class ResourceReference:
    """A value that stands in the resource table, not in the manifest: `@0x7f…`. It is reported, not guessed."""

    id: int


Value = int | str | ResourceReference
Attributes = Mapping[str, Value]


@dataclass(frozen=True)
class Element:
    """One element, with those of its attributes that have a name in IDS, and `package`."""

    name: str
    attributes: Attributes


def name_of(namespace: str, name: str) -> str:
    """What the name of an attribute without a resource id means, "" for one that does not matter here.

    Like Android, readers ask for a resource id first and look it up in IDS.
    """
    if namespace == "":
        return name if name == "package" else ""
    return name if namespace == ANDROID and name in IDS.values() else ""


def number(attributes: Attributes, name: str) -> int:
    """A 32-bit part of the version code; 0 when it is absent. Raises MalformedFile when it can't be known."""
    value = attributes.get(name, 0)
    if isinstance(value, ResourceReference):
        raise MalformedFile(f"takes {name} from a resource (@0x{value.id:08x}).", "Write the number into the manifest.")
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) <= 10):
            raise MalformedFile(f"has a {name} that is not a number.")
        value = int(value)
    if value > 0xFFFFFFFF:
        raise MalformedFile(f"has a {name} beyond 32 bits.")
    return value


def flag(attributes: Attributes, name: str) -> bool:
    """Whether a boolean is set; one that is absent, or stands in a resource, is not."""
    value = attributes.get(name)
    return value == "true" or (isinstance(value, int) and value != 0)
