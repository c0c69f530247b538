"""What a file of another tool holds: its uploads, each with what was given to it and where that stands.

Texts are as GitHub writes them: `${{ env.NAME }}` stands for a variable, whatever the file's own language says.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import NamedTuple

from uploader.inputs.other_tools import ToolId

LONGEST = 200  # characters of a folder, or of what a name stands for: with long ones a small file makes a huge text
VARIABLE = re.compile(r"\$\{\{ env\.(\w+) \}\}", re.ASCII)  # as `variable` writes it
_SHELL_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})", re.ASCII)


class Given(NamedTuple):
    """One setting: a list is a line for each item.

    `code` is what the file says where only its own language can tell the value; then `value` is the fallback that
    stands there, or empty.
    """

    name: str
    value: str
    line: int
    code: str = ""


class Leftover(NamedTuple):
    """What is left to the reader: the line in the file, what stands there, and why or what to do."""

    line: int
    what: str
    why: str


class FoundUpload(NamedTuple):
    """One upload: the tool, what it is called there, its settings.

    `folder` is what its paths are relative to, seen from the repository's root; `frame` what belongs to the step or the
    job around it and stays: texts, numbers, booleans, lists and maps of them. Without a title there is nothing to
    convert, and only the leftovers count.
    """

    tool: ToolId
    line: int
    title: str
    given: tuple[Given, ...] = ()
    folder: str = ""
    frame: tuple[tuple[str, object], ...] = ()
    leftovers: tuple[Leftover, ...] = ()


def variable(name: str) -> str:
    """A variable of the environment."""
    return f"${{{{ env.{name} }}}}"


def expanded(text: str) -> str:
    """A text of a shell with its variables as variables of ours."""
    return _SHELL_VARIABLE.sub(lambda found: variable(found[1] or found[2]), text)


def below(folder: str, path: str) -> str:
    """A path that is relative to a folder, seen from the repository's root; what begins otherwise stays."""
    if not 0 < len(folder) <= LONGEST or path.startswith(("/", "$", "~")):
        return path
    return posixpath.normpath(posixpath.join(folder, path))


def lane(folder: str, line: int, what: str) -> FoundUpload:
    """A call of a lane, which is to be migrated where it is written."""
    inside = posixpath.basename(folder) in {"fastlane", ".fastlane"}
    path = below(folder, "Fastfile" if inside else "fastlane/Fastfile")
    why = f"it runs a lane: `uploader migrate {shlex.quote(path)}`"
    return FoundUpload("fastlane", line, "", leftovers=(Leftover(line, what, why),))
