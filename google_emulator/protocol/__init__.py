"""Uploads: both dialects of Google's upload endpoints, their sessions, and the bytes that they
store.
"""
