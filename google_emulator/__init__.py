"""A stand-in for Google's servers on loopback, for rehearsals, the demo and the tests.

It was written from Google's documents and imports nothing of the client, so that each reveals a
misreading in the other. `python -m google_emulator --reference` lists what it serves, every setting
and every fault.
"""

from __future__ import annotations

from google_emulator.emulator import Emulator

__all__ = ["Emulator"]
