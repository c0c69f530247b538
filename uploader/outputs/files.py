"""The files that a run leaves for other programs. They are written whole or not at all, and never
through a link that somebody planted.

A write that the system does not allow raises OSError and nothing else; the reporter turns that into
one line.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from uploader.redaction import Redactor
from uploader.results import FileResult

DOTENV_LIMIT = 5 * 1024 - 1  # bytes; GitLab wants fewer than 5 KiB
# Outputs with the names of inputs. GitLab would set them in every later job, with precedence over
# that job's own variables, and the status of one release would decide how the next is rolled out.
ALSO_INPUTS = frozenset({"status", "universal-apk", "user-fraction"})
# levels of a service's response that are kept; deeper ones are replaced by an ellipsis
MAX_DEPTH = 64


def write_whole(path: Path, text: str, workspace: Path) -> None:
    """Replace the content of a file by `text`, as UTF-8, mode 0644: it is written beside the file,
    then renamed over it.

    Raises OSError; the old content is then untouched. Anything but a regular file is refused, since
    it may be a link to a file elsewhere, or a device; and so is a folder of the workspace that
    leads out of it.
    """
    folder = path.parent
    is_named_within = _is_within(str(folder), str(workspace))
    real_folder = os.path.realpath(folder)
    real_workspace = os.path.realpath(workspace)
    is_really_within = _is_within(real_folder, real_workspace)
    if is_named_within and not is_really_within:
        raise OSError(
            errno.ELOOP,
            "a link leads out of the workspace",
            str(path),
        )
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError(
                errno.EEXIST,
                "what is there is not a regular file",
                str(path),
            )
    handle, temporary = tempfile.mkstemp(
        prefix=f".{path.name}.",
        dir=folder,
    )
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            os.fchmod(handle, 0o644)  # a later step may run as another user
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _is_within(folder: str, workspace: str) -> bool:
    """Return whether a folder is the workspace or below it, by the names alone."""
    relative = os.path.relpath(folder, workspace)
    return not relative.startswith("..")


def append_whole(path: Path, text: str) -> None:
    """Add `text` to a file of the runner's, on a line of its own, as UTF-8: all of it, or nothing.

    Raises OSError, after taking back what a full disk let through: half an entry would fail the
    step.
    """
    with path.open("ab+", buffering=0) as file:
        handle = file.fileno()
        size = os.fstat(handle).st_size
        left = text.encode("utf-8")
        if size > 0:
            last_byte = os.pread(handle, 1, size - 1)
            if last_byte != b"\n":
                left = b"\n" + left
        try:
            while left:
                written = file.write(left)
                left = left[written:]
        except OSError:
            # If this fails as well, the first error is the one to report.
            with contextlib.suppress(OSError):
                file.truncate(size)
            raise


def _key(name: str) -> str:
    """Return the variable of the dotenv report for an output's name."""
    capitals = name.upper()
    variable = re.sub("[^A-Z0-9]", "_", capitals)
    return f"UPLOADER_{variable}"


def dotenv_report(
    outputs: Mapping[str, str],
    redactor: Redactor,
) -> tuple[list[str], list[str]]:
    """Return the lines of the dotenv report, and the names of the outputs that were left out so
    that the rest fits.

    The longest are left out first, so that short ones, such as single ids, always stay. A value is
    on one line. The report is written under GitLab, and wherever `UPLOADER_DOTENV` names a file.
    """
    lines: dict[str, str] = {}
    sizes: dict[str, int] = {}  # bytes
    for name, value in outputs.items():
        if name in ALSO_INPUTS:
            continue
        variable = _key(name)
        shown = redactor.one_line(value).strip()
        line = f"{variable}={shown}\n"
        encoded = line.encode("utf-8")
        lines[name] = line
        sizes[name] = len(encoded)
    left_out = []
    while sum(sizes.values()) > DOTENV_LIMIT:
        longest = max(sizes, key=sizes.__getitem__)
        left_out.append(longest)
        del sizes[longest]
        del lines[longest]
    return list(lines.values()), left_out


def results_json(results: Iterable[FileResult], redactor: Redactor) -> str:
    """Return the content of `uploader-results.json`: an array with an object for each file, one a
    line. Secrets are masked.

    It is all ASCII: escaped characters in a file name are exact for a program and harmless on a
    terminal.
    """
    lines = []
    for result in results:
        masked = _mask(result.as_json(), redactor.hide)
        line = json.dumps(masked, allow_nan=False)
        lines.append(line)
    if not lines:
        return "[]\n"
    objects = ",\n".join(lines)
    return f"[\n{objects}\n]\n"


def _mask(
    value: Any,
    hide: Callable[[str], str],
    depth: int = 0,
) -> Any:
    """Return a JSON value with its secrets masked by `hide`. Numbers that JSON does not have become
    None, and what is nested deeper than `MAX_DEPTH` an ellipsis.
    """
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth == MAX_DEPTH:
        return "…"
    deeper = depth + 1
    if not isinstance(value, dict):
        return [_mask(member, hide, deeper) for member in value]
    masked = {}
    for key, member in value.items():
        name = hide(str(key))
        masked[name] = _mask(member, hide, deeper)
    return masked
