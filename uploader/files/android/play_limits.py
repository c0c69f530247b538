"""What Google Play takes at most: the one table of sizes and lengths for everything that goes with a release.

Sources: the discovery document of androidpublisher v3 (maxSize), and Play Console Help for texts and screenshots.
"""

from __future__ import annotations

from collections.abc import Mapping

from uploader.files.artifacts import Artifact
from uploader.problems import Problems

GIB = 1 << 30
# The largest file of each kind, in bytes.
FILE_BYTES: Mapping[str, int] = {
    "bundle": 50 * GIB,
    "apk": 10 * GIB,
    "mapping": 2_097_152_000,
    "symbols": 2_097_152_000,
    "expansion": 2 * GIB,
    "image": 15 << 20,
}
SCREENSHOTS = 8  # of one type and language
# The longest texts in characters ("Prepare and roll out a release", "Create and set up your app").
RELEASE_NOTES = 500
TITLE, SHORT_DESCRIPTION, FULL_DESCRIPTION = 30, 80, 4000


def check_size(artifact: Artifact, kind: str, problems: Problems, input_name: str = "files") -> None:
    """Adds a problem when the file is larger than Play takes for its kind (a key of FILE_BYTES)."""
    if artifact.size is not None and artifact.size > FILE_BYTES[kind]:
        what = f"{artifact.name} has {artifact.size:,} bytes; Play takes at most {FILE_BYTES[kind]:,}."
        problems.add(input_name, what)
