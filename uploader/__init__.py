"""Uploads release artifacts from a CI job to Google's services, and resumes interrupted uploads."""

__version__ = "1.0.0"
