"""Checks, offline and in seconds, what goes with a Play release beside its bundles and APKs.

Each function takes a path and the name that people gave it, reads what it must, and returns what Play is to get,
together with warnings; everything that is surely wrong is raised at once as one InputError under the input's own name.
`within` is the folder that real paths may not leave (None: any place is allowed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uploader.playfiles.companions import MAX_BYTES, expansion_file, mapping_file, too_large
from uploader.playfiles.listing import StoreFiles, listing
from uploader.playfiles.notes import notes

if TYPE_CHECKING:
    from uploader.playfiles.symbols import debug_symbols

__all__ = [
    "MAX_BYTES",
    "StoreFiles",
    "debug_symbols",
    "expansion_file",
    "listing",
    "mapping_file",
    "notes",
    "too_large",
]


def __getattr__(name: str) -> Any:
    """Loads `debug_symbols` when it is asked for (PEP 562): few releases bring any, and zipfile is slow to import."""
    if name != "debug_symbols":
        raise AttributeError(name)
    from uploader.playfiles import symbols

    return symbols.debug_symbols
