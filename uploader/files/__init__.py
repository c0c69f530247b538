"""The files of a run: found by patterns, identified, and checked offline for what the service would
refuse.
"""
