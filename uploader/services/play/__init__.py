"""Google Play: files, release notes, images become one release on its tracks, whole or not at
all.
"""

SCOPE = "https://www.googleapis.com/auth/androidpublisher"
"""The OAuth scope of the Publishing API."""
