"""Files that others wait for or that hold a key: each appears as a whole, readable only by its
owner.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write or replace a file in one step, with mode 0600. Raises `OSError`."""
    # mkstemp makes the file with mode 0600.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    Path(name).replace(path)
