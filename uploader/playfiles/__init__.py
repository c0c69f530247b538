"""Checks, offline and in seconds, what goes with a Play release beside its bundles and APKs.

Each function takes a path and the name that people gave it, reads what it must, and returns what Play is to get,
together with warnings; everything that is surely wrong is raised at once as one InputError under the input's own name.
`within` is the folder that real paths may not leave (None: any place is allowed).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uploader.playfiles.companions import MAX_BYTES, expansion_file, mapping_file, too_large
    from uploader.playfiles.listing import StoreFiles, listing
    from uploader.playfiles.notes import notes
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

_HOMES = {"StoreFiles": "listing", "listing": "listing", "notes": "notes", "debug_symbols": "symbols"}


def __getattr__(name: str) -> Any:
    """Loads what is asked for and no more (PEP 562): most releases bring neither symbols nor a listing."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'companions')}"), name)
