"""Checks builds by what their manifests say, before anything is sent.

What makes the release impossible is a problem. What Google's changing policy asks for is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from uploader.errors import Problems
from uploader.files.android.manifest import Manifest
from uploader.files.artifacts import Artifact
from uploader.files.workspace import printable
from uploader.text import plural


@dataclass(frozen=True)
class PolicyRule:
    """The minimum (`limit`) that new apps and updates need from a day on (`since`, ISO 8601), and
    Google's page about it.
    """

    limit: int
    since: str
    source: str


TARGET_API = PolicyRule(
    36,
    "2026-08-31",
    "https://support.google.com/googleplay/android-developer/answer/11926878",
)
TARGET_API_BY_FEATURE: Mapping[str, int] = {
    "android.hardware.type.watch": 35,
    "android.hardware.type.automotive": 35,
    "android.software.leanback": 34,
    "android.software.xr.api.spatial": 34,
}
"""API levels that an app needs to target if it requires a feature of another form factor than the
phone.
"""

PAGE_SIZE = PolicyRule(
    16_384, "2025-11-01", "https://developer.android.com/guide/practices/page-sizes"
)
"""Bytes of the memory pages that 64-bit code has to fit, in apps that target at least
_PAGE_SIZE_FROM_TARGET (Android 15).
"""
_PAGE_SIZE_FROM_TARGET = 35
SIXTY_FOUR_BIT = PolicyRule(
    64, "2019-08-01", "https://developer.android.com/google/play/requirements/64-bit"
)
"""Bits: for each 32-bit ABI there has to be the 64-bit ABI that the same devices run."""

_RELEASE_BUILD = "a signed release build; `target: play-internal-sharing` takes any"
_COUNTERPARTS = {"armeabi": "arm64-v8a", "armeabi-v7a": "arm64-v8a", "x86": "x86_64"}
_MAX_LIBRARIES = 3  # libraries in one warning
_MAX_NAMES = 30  # permissions or features in a line of the plan


def check_release(artifacts: Sequence[Artifact], problems: Problems) -> None:
    """Add a problem for what keeps a build out of a release, and a warning for what policy asks
    beyond that.
    """
    abis: set[str] = set()
    for artifact in artifacts:
        manifest = artifact.manifest
        if manifest is None:
            continue
        _check_build(artifact.name, manifest, problems)
        for warning in chain(_target(manifest), _pages(manifest)):
            problems.warn(f"{artifact.name} {warning}")
        abis.update(manifest.native.abis)
    for abi in sorted(abis & _COUNTERPARTS.keys()):
        if _COUNTERPARTS[abi] not in abis:
            what = (
                f"`files` has native code for {abi} but none for {_COUNTERPARTS[abi]}"
            )
            problems.warn(f"{what}{_cite_rule('both', SIXTY_FOUR_BIT)}")


def check_certificate(
    artifacts: Iterable[Artifact], expected: str, problems: Problems
) -> None:
    """Add a problem for each file that is not signed with the expected certificate alone (SHA-256,
    lower-case hex). Nothing is checked if none is expected.
    """
    if not expected:
        return
    for artifact in artifacts:
        actual = artifact.certificate_sha256
        if actual == expected:
            continue
        signed = "not signed"
        if actual:
            signed = f"signed with certificate {fingerprint(actual)}"
        what = f"{artifact.name} is {signed}, not with {fingerprint(expected)}."
        accepted = (
            "the certificate that the file is signed with, or a build that is signed with the "
            "expected key"
        )
        problems.add(
            "expected-certificate",
            what,
            accepted,
            code="wrong-signing-key",
        )


def facts(manifest: Manifest) -> Iterator[str]:
    """Yield the lines of the plan about a file, besides its version and its signer."""
    native = ""
    if manifest.native.abis:
        native = f", native code for {', '.join(manifest.native.abis)}"
    min_sdk = _api_level(manifest.min_sdk)
    target_sdk = _api_level(manifest.target_sdk)
    yield f"minimum API level {min_sdk}, target {target_sdk}{native}"
    if manifest.permissions:
        yield f"permissions: {_short_names(manifest.permissions)}"
    if manifest.features:
        yield f"requires: {_short_names(manifest.features)}"


def _api_level(level: int | None) -> str:
    return "unknown" if level is None else str(level)


def _short_names(names: Sequence[str]) -> str:
    """Return the names of permissions or features without Android's prefixes, as many as fit a
    line.
    """
    short = [
        name.removeprefix("android.permission.").removeprefix("android.")
        for name in names
    ]
    return _shorten(short, _MAX_NAMES)


def fingerprint(sha256: str) -> str:
    """Return the SHA-256 of certificates (comma-separated) as the Play Console and keytool show it:
    pairs of upper-case digits.
    """
    shown = []
    for digest in sha256.split(","):
        pairs = re.findall("..", digest)
        shown.append(":".join(pairs).upper())
    return " and ".join(shown)


def _check_build(name: str, manifest: Manifest, problems: Problems) -> None:
    """Add a problem for what only internal app sharing takes: a debug build, or one without a
    signature.
    """

    def wrong(what: str, code: str) -> None:
        problems.add("files", f"{name} is {what}.", _RELEASE_BUILD, code=code)

    if not manifest.signers:
        what = (
            "not signed, or its signature can't be read: Google Play accepts only "
            "signed artifacts"
        )
        wrong(what, code="artifact-not-signed")
    if manifest.debuggable:
        wrong(
            "debuggable: Google Play accepts no debug builds",
            code="artifact-debuggable",
        )
    if manifest.test_only:
        what = "marked testOnly, as Android Studio marks the builds it runs: Google Play rejects it"
        wrong(what, code="artifact-test-only")
    for signer in manifest.signers:
        if signer.debug:
            what = f"signed with {signer.debug}, SHA-256 {fingerprint(signer.sha256)}"
            wrong(what, code="artifact-debug-certificate")


def _target(manifest: Manifest) -> Iterator[str]:
    """Yield a warning if the target API level is too low."""
    required = TARGET_API.limit
    for feature in manifest.features:
        if feature in TARGET_API_BY_FEATURE:
            required = TARGET_API_BY_FEATURE[feature]
            break
    if manifest.target_sdk is not None and manifest.target_sdk < required:
        asked = _cite_rule(f"{required} or higher", TARGET_API)
        yield f"targets API level {manifest.target_sdk}{asked}"


def _pages(manifest: Manifest) -> Iterator[str]:
    """Yield the warnings about native code that does not fit pages of 16 KB."""
    if manifest.target_sdk is not None and manifest.target_sdk < _PAGE_SIZE_FROM_TARGET:
        return
    native = manifest.native
    asked = _cite_rule("16 KB", PAGE_SIZE)
    if native.under_aligned:
        libraries = _libraries(
            native.under_aligned, "with segments aligned to less than 16 KB"
        )
        yield f"has {libraries}{asked}"
    if native.misplaced:
        what = "uncompressed at an offset that is not a multiple of 16 KB"
        yield f"has {_libraries(native.misplaced, what)}{asked}"
    if native.packed_under_aligned:
        what = "aligns its libraries to 4 KB pages in the APKs made from it (BundleConfig.pb)"
        yield f"{what}{asked}"


def _libraries(names: Sequence[str], what: str) -> str:
    """Return a phrase with the number of these 64-bit libraries, what is true of them, and the
    first of their names.
    """
    noun = "library" if len(names) == 1 else "libraries"
    listed = _shorten(names, _MAX_LIBRARIES)
    return f"{len(names)} 64-bit {noun} {what} ({listed})"


def _cite_rule(what: str, rule: PolicyRule) -> str:
    return f"; Google Play asks for {what} from {rule.since} on: {rule.source}"


def _shorten(names: Sequence[str], max_shown: int) -> str:
    """Return the first names, and how many more there are."""
    first_names = [printable(name) for name in names[:max_shown]]
    shown = ", ".join(first_names)
    left = len(names) - max_shown
    if left > 0:
        shown += f" and {plural(left, 'other')}"
    return shown
