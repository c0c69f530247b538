"""Google Play: files, release notes and images become one release on its tracks, completely or not
at all.
"""

SCOPE = "https://www.googleapis.com/auth/androidpublisher"
"""The OAuth scope of the Publishing API."""
