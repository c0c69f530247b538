"""Checks builds by what they say of themselves, before anything is sent: what no release may be,
what policy asks.

A fact that makes the release impossible is a problem; Google's moving policy is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from uploader.errors import Problems
from uploader.files.android.manifest import Manifest
from uploader.files.artifacts import Artifact
from uploader.files.workspace import printable
from uploader.text import plural


@dataclass(frozen=True)
class PolicyRule:
    """The minimum that new apps and updates need from a day on (ISO 8601), and Google's page about
    it.
    """

    limit: int
    since: str
    source: str


TARGET_API = PolicyRule(
    36, "2026-08-31", "https://support.google.com/googleplay/android-developer/answer/11926878"
)
TARGET_API_BY_FEATURE: Mapping[str, int] = {
    "android.hardware.type.watch": 35,
    "android.hardware.type.automotive": 35,
    "android.software.leanback": 34,
    "android.software.xr.api.spatial": 34,
}
"""API levels that an app needs to target; other ones for an app that requires a feature of another
form factor.
"""

PAGE_SIZE = PolicyRule(
    16_384, "2025-11-01", "https://developer.android.com/guide/practices/page-sizes"
)
"""Bytes of the memory pages that 64-bit code has to fit, in apps that target
_PAGE_SIZE_FROM_TARGET: Android 15.
"""
_PAGE_SIZE_FROM_TARGET = 35
SIXTY_FOUR_BIT = PolicyRule(
    64, "2019-08-01", "https://developer.android.com/google/play/requirements/64-bit"
)
"""Bits: for each ABI of 32 there has to be the one of 64 that the same devices run."""

_RELEASE_BUILD = "a signed release build; `target: play-internal-sharing` takes any"
_COUNTERPARTS = {"armeabi": "arm64-v8a", "armeabi-v7a": "arm64-v8a", "x86": "x86_64"}
_MAX_LIBRARIES = 3  # libraries in one warning
_MAX_NAMES = 30  # permissions or features in a line of the plan


def check_release(artifacts: Sequence[Artifact], problems: Problems) -> None:
    """Adds what keeps a build out of a release as a problem, and what policy asks beyond it as a
    warning.
    """
    for artifact in artifacts:
        if artifact.manifest:
            _check_build(artifact.name, artifact.manifest, problems)
            for warning in (*_target(artifact.manifest), *_pages(artifact.manifest)):
                problems.warn(f"{artifact.name} {warning}")
    abis = {
        abi for artifact in artifacts if artifact.manifest for abi in artifact.manifest.native.abis
    }
    for abi in sorted(abis & _COUNTERPARTS.keys()):
        if _COUNTERPARTS[abi] not in abis:
            what = f"`files` has native code for {abi} but none for {_COUNTERPARTS[abi]}"
            problems.warn(f"{what}{_asked('both', SIXTY_FOUR_BIT)}")


def check_certificate(artifacts: Iterable[Artifact], expected: str, problems: Problems) -> None:
    """Adds a problem for each file that is not signed with the expected certificate alone (SHA-256,
    lower-case hex).
    """
    for artifact in artifacts if expected else ():
        found = artifact.certificate_sha256
        if found != expected:
            signed = f"signed with certificate {fingerprint(found)}" if found else "not signed"
            what = f"{artifact.name} is {signed}, not with {fingerprint(expected)}."
            accepted = (
                "the certificate that the file is signed with, or a build that is signed with the "
                "expected key"
            )
            problems.add("expected-certificate", what, accepted, code="wrong-signing-key")


def facts(manifest: Manifest) -> Iterator[str]:
    """What the file says of itself beside its version and its signer, as people read it before the
    run.
    """
    min_sdk, target = (
        level if level is not None else "unknown"
        for level in (manifest.min_sdk, manifest.target_sdk)
    )
    native = f", native code for {', '.join(manifest.native.abis)}" if manifest.native.abis else ""
    yield f"minimum API level {min_sdk}, target {target}{native}"
    for what, names in (("permissions", manifest.permissions), ("requires", manifest.features)):
        if names:
            plain = [
                name.removeprefix("android.permission.").removeprefix("android.") for name in names
            ]
            yield f"{what}: {_shortened(plain, _MAX_NAMES)}"


def fingerprint(sha256: str) -> str:
    """SHA-256 of certificates (comma-separated) as the Play Console and keytool show it: pairs of
    upper-case digits.
    """
    return " and ".join(":".join(re.findall("..", one)).upper() for one in sha256.split(","))


def _check_build(name: str, manifest: Manifest, problems: Problems) -> None:
    """What only internal app sharing takes: a debug build, or one that nobody signed."""

    def wrong(what: str, code: str) -> None:
        problems.add("files", f"{name} is {what}.", _RELEASE_BUILD, code=code)

    if not manifest.signers:
        what = (
            "not signed, or its signature can't be read: Google Play accepts only signed artifacts"
        )
        wrong(what, code="artifact-not-signed")
    if manifest.debuggable:
        wrong("debuggable: Google Play accepts no debug builds", code="artifact-debuggable")
    if manifest.test_only:
        what = "marked testOnly, as Android Studio marks the builds it runs: Google Play rejects it"
        wrong(what, code="artifact-test-only")
    for signer in manifest.signers:
        if signer.debug:
            what = f"signed with {signer.debug}, SHA-256 {fingerprint(signer.sha256)}"
            wrong(what, code="artifact-debug-certificate")


def _target(manifest: Manifest) -> Iterator[str]:
    levels = (
        TARGET_API_BY_FEATURE[one] for one in manifest.features if one in TARGET_API_BY_FEATURE
    )
    least = next(levels, TARGET_API.limit)
    if manifest.target_sdk is not None and manifest.target_sdk < least:
        yield f"targets API level {manifest.target_sdk}{_asked(f'{least} or higher', TARGET_API)}"


def _pages(manifest: Manifest) -> Iterator[str]:
    if manifest.target_sdk is not None and manifest.target_sdk < _PAGE_SIZE_FROM_TARGET:
        return
    native = manifest.native
    for names, what in (
        (native.under_aligned, "with segments aligned to less than 16 KB"),
        (native.misplaced, "uncompressed at an offset that is not a multiple of 16 KB"),
    ):
        if names:
            libraries = f"{len(names)} 64-bit {'library' if len(names) == 1 else 'libraries'}"
            yield (
                f"has {libraries} {what} "
                f"({_shortened(names, _MAX_LIBRARIES)}){_asked('16 KB', PAGE_SIZE)}"
            )
    if native.packed_under_aligned:
        what = "aligns its libraries to 4 KB pages in the APKs made from it (BundleConfig.pb)"
        yield f"{what}{_asked('16 KB', PAGE_SIZE)}"


def _asked(what: str, rule: PolicyRule) -> str:
    return f"; Google Play asks for {what} from {rule.since} on: {rule.source}"


def _shortened(names: Sequence[str], max_shown: int) -> str:
    left = len(names) - max_shown
    return ", ".join(map(printable, names[:max_shown])) + (
        f" and {plural(left, 'other')}" if left > 0 else ""
    )
