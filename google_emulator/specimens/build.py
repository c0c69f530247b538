"""What a specimen says of itself beside its package and version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from google_emulator.specimens.signature_writer import RELEASE

PRESENT_TARGET = 36  # the API level that Google Play asks of new apps and updates


@dataclass(frozen=True, slots=True)
class Build:
    """A release build, unless more is said. `features` say whether they are required, `libraries` are files by path.

    `signer` is the common name of the certificate.
    """

    debuggable: bool = False
    test_only: bool = False
    target_sdk: int = PRESENT_TARGET
    permissions: tuple[str, ...] = ()
    features: Mapping[str, bool] = field(default_factory=dict)
    libraries: Mapping[str, bytes] = field(default_factory=dict)
    signer: str = RELEASE


RELEASE_BUILD = Build()
