"""Artifacts to rehearse with, made to order: bundles, APKs and images, for which no Android project
has to be built.

`python -m google_emulator.specimens bundle --package com.example.app --out app.aab` makes them on
the command line. The encoders were written from the descriptions of the formats and share nothing
with the program's readers, so that they can check them.
"""

from __future__ import annotations

from google_emulator.specimens.artifacts import make_apk, make_bundle, make_image
from google_emulator.specimens.bundle_contents import bundle_contents
from google_emulator.specimens.manifests import Build, manifest_axml, manifest_proto

__all__ = [
    "Build",
    "bundle_contents",
    "make_apk",
    "make_bundle",
    "make_image",
    "manifest_axml",
    "manifest_proto",
]
