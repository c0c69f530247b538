"""Checks builds by what they say of themselves, before anything is sent: what no release may be, what policy asks.

A fact that makes the release impossible is a problem; Google's moving policy (`limits.py`) is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from uploader.files.android.limits import (
    PAGE_SIZE,
    PAGE_SIZE_FROM_TARGET,
    SIXTY_FOUR_BIT,
    TARGET_API,
    TARGET_API_BY_FEATURE,
    PolicyRule,
)
from uploader.files.android.manifest import Manifest
from uploader.files.artifacts import Artifact
from uploader.files.workspace import printable
from uploader.input_problems import Problems
from uploader.text import plural

_RELEASE_BUILD = "a signed release build; `target: play-internal-sharing` takes any"
_COUNTERPARTS = {"armeabi": "arm64-v8a", "armeabi-v7a": "arm64-v8a", "x86": "x86_64"}
_MAX_LIBRARIES = 3  # libraries in one warning
_MAX_NAMES = 30  # permissions or features in a line of the plan


def check_release(artifacts: Sequence[Artifact], problems: Problems) -> None:
    """Adds what keeps a build out of a release as a problem, and what policy asks beyond it as a warning."""
    for artifact in artifacts:
        if artifact.manifest:
            _check_build(artifact.name, artifact.manifest, problems)
            for warning in (*_target(artifact.manifest), *_pages(artifact.manifest)):
                problems.warn(f"{artifact.name} {warning}")
    abis = {abi for artifact in artifacts if artifact.manifest for abi in artifact.manifest.native.abis}
    for abi in sorted(abis & _COUNTERPARTS.keys()):
        if _COUNTERPARTS[abi] not in abis:
            what = f"`files` has native code for {abi} but none for {_COUNTERPARTS[abi]}"
            problems.warn(f"{what}{_asked('both', SIXTY_FOUR_BIT)}")


def check_certificate(artifacts: Iterable[Artifact], expected: str, problems: Problems) -> None:
    """Adds a problem for each file that is not signed with the expected certificate alone (SHA-256, lower-case hex)."""
    for artifact in artifacts if expected else ():
        found = artifact.certificate_sha256
        if found != expected:
            signed = f"signed with certificate {fingerprint(found)}" if found else "not signed"
            what = f"{artifact.name} is {signed}, not with {fingerprint(expected)}."
            accepted = "the certificate that the file is signed with, or a build that is signed with the expected key"
            problems.add("expected-certificate", what, accepted, code="wrong-signing-key")


def facts(manifest: Manifest) -> Iterator[str]:
    """What the file says of itself beside its version and its signer, as people read it before the run."""
    min_sdk, target = (level if level is not None else "unknown" for level in (manifest.min_sdk, manifest.target_sdk))
    native = f", native code for {', '.join(manifest.native.abis)}" if manifest.native.abis else ""
    yield f"minimum API level {min_sdk}, target {target}{native}"
    for what, names in (("permissions", manifest.permissions), ("requires", manifest.features)):
        if names:
            plain = [name.removeprefix("android.permission.").removeprefix("android.") for name in names]
            yield f"{what}: {_shortened(plain, _MAX_NAMES)}"


def fingerprint(sha256: str) -> str:
    """SHA-256 of certificates (comma-separated) as the Play Console and keytool show it: pairs of upper-case digits."""
    return " and ".join(":".join(re.findall("..", one)).upper() for one in sha256.split(","))


def _check_build(name: str, manifest: Manifest, problems: Problems) -> None:
    """What only internal app sharing takes: a debug build, or one that nobody signed."""
    if not manifest.signers:
        what = f"{name} is not signed, or its signature can't be read: Google Play accepts only signed artifacts."
        problems.add("files", what, _RELEASE_BUILD, code="artifact-not-signed")
    if manifest.debuggable:
        what = f"{name} is debuggable: Google Play accepts no debug builds."
        problems.add("files", what, _RELEASE_BUILD, code="artifact-debuggable")
    if manifest.test_only:
        what = f"{name} is marked testOnly, as Android Studio marks the builds it runs: Google Play rejects it."
        problems.add("files", what, _RELEASE_BUILD, code="artifact-test-only")
    for signer in manifest.signers:
        if signer.debug:
            what = f"{name} is signed with {signer.debug}, SHA-256 {fingerprint(signer.sha256)}."
            problems.add("files", what, _RELEASE_BUILD, code="artifact-debug-certificate")


def _target(manifest: Manifest) -> Iterator[str]:
    rule = next((TARGET_API_BY_FEATURE[one] for one in manifest.features if one in TARGET_API_BY_FEATURE), TARGET_API)
    if manifest.target_sdk is not None and manifest.target_sdk < rule.limit:
        yield f"targets API level {manifest.target_sdk}{_asked(f'{rule.limit} or higher', rule)}"


def _pages(manifest: Manifest) -> Iterator[str]:
    if manifest.target_sdk is not None and manifest.target_sdk < PAGE_SIZE_FROM_TARGET:
        return
    native = manifest.native
    for names, what in (
        (native.under_aligned, "with segments aligned to less than 16 KB"),
        (native.misplaced, "uncompressed at an offset that is not a multiple of 16 KB"),
    ):
        if names:
            libraries = f"{len(names)} 64-bit {'library' if len(names) == 1 else 'libraries'}"
            yield f"has {libraries} {what} ({_shortened(names, _MAX_LIBRARIES)}){_asked('16 KB', PAGE_SIZE)}"
    if native.packed_under_aligned:
        what = "aligns its libraries to 4 KB pages in the APKs made from it (BundleConfig.pb)"
        yield f"{what}{_asked('16 KB', PAGE_SIZE)}"


def _asked(what: str, rule: PolicyRule) -> str:
    return f"; Google Play asks for {what} from {rule.since} on: {rule.source}"


def _shortened(names: Sequence[str], max_shown: int) -> str:
    left = len(names) - max_shown
    return ", ".join(map(printable, names[:max_shown])) + (f" and {plural(left, 'other')}" if left > 0 else "")
