"""A stand-in for Google's servers on loopback, for rehearsals, the demo and the tests.

It is a second reading of Google's documents, not the client's mirror: nothing of the client is
imported here. `python -m google_emulator --reference` tells what it serves, every setting, and
every fault that it can be asked for.
"""

from __future__ import annotations

from google_emulator.emulator import Emulator

__all__ = ["Emulator"]
