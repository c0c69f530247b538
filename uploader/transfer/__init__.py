"""Drives flows and upload sessions: the only clock, sleep, threads and reading of artifact bytes."""
