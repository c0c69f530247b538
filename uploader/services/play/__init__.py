"""Google Play: files, release notes, images become one release on its tracks, whole or not at
all.
"""
