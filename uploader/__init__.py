"""Brings release artifacts from a CI job to Google's upload services, resumably, and never twice."""

__version__ = "1.0.0"
