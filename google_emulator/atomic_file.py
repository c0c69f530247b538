"""Files that others wait for or that hold a key: each appears whole, readable by its owner
alone.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file, or replaces it, in one step. Raises `OSError`."""
    # mode 0600 by its contract
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    Path(name).replace(path)
