"""Drives flows and upload sessions; starts the worker threads and reads the artifacts' bytes."""
