"""Checks renewed locks as data: they come from a job that ran foreign code, and a job that may
write will commit them.

    python3 -I scripts/check_locks.py FOLDER

FOLDER must hold a file for each lock of this checkout and nothing else, each a plain file of at
most 1 MiB whose every line is a comment or a pinned requirement with its hashes. So no option, URL
or path gets into a lock, where pip and uv would obey it. Nothing is installed, imported or changed,
and only the standard library is needed.
"""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_BYTES = 1024 * 1024
COMMENT = r"#[ !-\[\]-~]*"  # printable, without the backslash that would continue it
REQUIREMENT = (
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"  # PEP 508's names
    r"==[A-Za-z0-9.!+]+"
    r"(?: ; [A-Za-z0-9_.'<>=!() ]+)?"  # a marker; a dash would begin an option
    r"(?: --hash=sha256:[0-9a-f]{64})+"
)
LINE = re.compile(f"(?:{COMMENT}|{REQUIREMENT})?")


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the locks in `folder`; empty if they can be committed."""
    found, expected = (
        {path.name for path in place}
        for place in (folder.iterdir(), ROOT.glob("*.lock"))
    )
    return [
        *(f"{name!r} is missing." for name in sorted(expected - found)),
        *(f"{name!r} does not belong here." for name in sorted(found - expected)),
        *(
            problem
            for name in sorted(found & expected)
            if (problem := _problem(folder / name))
        ),
    ]


def _problem(path: Path) -> str:
    """Return the first thing that is wrong with one lock; empty if it is right."""
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode):
        return f"{path.name!r} is not a plain file."
    if state.st_size > MAX_BYTES:
        return f"{path.name!r} has more than {MAX_BYTES} bytes."
    # In latin-1 every byte is a character; LINE accepts only ASCII.
    text = path.read_bytes().decode("latin-1")
    lines = re.sub(r" \\\n +", " ", text).split("\n")
    strange = next((line for line in lines if not LINE.fullmatch(line)), None)
    if strange is not None:
        return f"{path.name!r} has a line that is not a hashed requirement: {strange[:80]!r}"
    return (
        ""
        if any(line and not line.startswith("#") for line in lines)
        else f"{path.name!r} names no package."
    )


if __name__ == "__main__":
    sys.exit("\n".join(problems(Path(sys.argv[1]))) or None)
