"""Brings release artifacts from a CI job to Google's upload services, every byte exactly once."""

__version__ = "1.0.0"
