"""Drives flows, with their worker threads, and sends the requests of a run to an API."""
