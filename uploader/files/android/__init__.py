"""Checks, offline and in seconds, the bundles and APKs of a Play release, and what goes with
them.
"""
