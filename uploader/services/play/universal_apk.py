"""Fetch the APK for all devices that Google Play makes of a bundle and signs.

It is generated some time after the upload. Before the download gets its name and becomes an output,
it must be of the app and the version that were asked for, and its signatures must be valid and of
the certificate that Google Play reports.

If Google Play's automatic protection is on, the universal APK starts only where Google Play
installed it. The list then has fields for APKs "without automatic protection"
(GeneratedApksPerSigningKey, androidpublisher v3). If there is a single standalone one among them,
it is for all devices and is fetched instead. If there are several, each is for some devices only,
so the universal one is fetched, with a warning.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO

from uploader.errors import (
    ApiError,
    InputError,
    IntegrityError,
    Interrupted,
    Problems,
    TemporaryError,
    UploaderError,
)
from uploader.files.android.archive import MalformedFile
from uploader.files.android.limits import MAX_BYTES
from uploader.files.android.manifest import read_manifest
from uploader.files.android.preflight import fingerprint
from uploader.files.artifacts import Artifacts
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace
from uploader.inputs.records import ReleaseInputs, StatusInputs
from uploader.services.base import (
    Context,
    Download,
    Outcome,
    Section,
)
from uploader.services.play.client import ROOT
from uploader.services.play.generated_apks import (
    MISMATCH_CAUSE,
    MISMATCH_HINT,
    list_generated_apks,
)
from uploader.services.play.known_errors import conflict, explain
from uploader.text import format_size

NAME = "universal-apk"
PLACE = "{version-code}"
_OWN_FILES = {"uploader-results.json", "uploader-served.json", "uploader.env"}


@dataclass(frozen=True)
class UniversalApk:
    """An APK for all devices: the SHA-256 of its certificate, and the path to download it from.

    `protected` says that the app has automatic protection, `instead` that this APK is without it.
    """

    certificate: str
    path: str
    protected: bool = False
    instead: bool = False


@dataclass(frozen=True)
class UniversalApkGoal:
    """Where the APK goes, and how many seconds to wait for it.

    The path of the destination may have `{version-code}` in it.
    """

    destination: Destination
    seconds: float

    def of(self, code: str) -> Destination:
        """Return where the APK of one version goes."""
        return replace(
            self.destination, path=self.destination.path.replace(PLACE, code)
        )


def goal_of(
    inputs: ReleaseInputs | StatusInputs,
    artifacts: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> UniversalApkGoal:
    """Return what the input `universal-apk` asks for, and add what is wrong with it to the
    problems.
    """
    goal = UniversalApkGoal(
        Destination(workspace, NAME, inputs.universal_apk), inputs.wait_deadline
    )
    manifests = {
        artifact.name: artifact.manifest for artifact in artifacts if artifact.manifest
    }
    for name, manifest in manifests.items():
        if manifest.kind == "apk":
            what = (
                f"{name} is an APK, which Google Play delivers as it is; it makes a universal APK "
                "only from a bundle."
            )
            problems.add(NAME, what, "together with bundles (.aab)")
    if isinstance(inputs, ReleaseInputs) and not (
        inputs.common.files and inputs.commit
    ):
        what = "no bundle is committed, so Google Play generates no APK."
        problems.add(
            NAME, what, "with `files` and `commit: true`, or with `target: play-status`"
        )
    destinations = [
        goal.of(str(manifest.version_code)) for manifest in manifests.values()
    ]
    for destination in destinations or [goal.destination]:
        problems.collect(destination.check)
        _check_overwriting(destination, artifacts, problems)
    problems.collect(partial(_check_place, goal, tuple(manifests)))
    return goal


def _check_overwriting(
    destination: Destination, artifacts: Artifacts, problems: Problems
) -> None:
    """Add a problem if the APK would replace an artifact, or a file that the run writes."""
    path = os.path.realpath(destination.workspace.root / destination.path)
    locations = {os.path.realpath(artifact.location) for artifact in artifacts}
    if path in locations:
        what = (
            f"{destination.name} is one of `files`, which the APK would replace; "
            "choose another place."
        )
        problems.add(NAME, what)
    elif path.rpartition("/")[2] in _OWN_FILES:
        what = (
            f"{destination.name} is the name of one of the run's own files; choose "
            "another place."
        )
        problems.add(NAME, what)


def _check_place(goal: UniversalApkGoal, names: tuple[str, ...]) -> None:
    """Raise InputError if several APKs would get the same path."""
    if len(names) > 1 and PLACE not in goal.destination.path:
        goal.destination.refuse(
            f"is one place for the APKs of {', '.join(names)}; write {PLACE} into the path."
        )


def fetch_apks(
    package: str,
    codes: tuple[str, ...],
    goal: UniversalApkGoal,
    outcome: Outcome,
    context: Context,
) -> Outcome:
    """Fetch the APK of each version, and return the outcome with a table of them.

    The outcome has `trouble` if one of them could not be fetched. What was released stays released,
    so only Interrupted is raised.
    """
    rows: list[tuple[str, ...]] = []
    trouble: UploaderError | None = None
    try:
        _check_place(goal, tuple(f"version {code}" for code in codes))
        for code in codes:
            rows.append(_fetch(package, code, goal, context))
            paths = ",".join(path for path, _, _, _ in rows)
            digests = ",".join(sha256 for _, _, sha256, _ in rows)
            context.publish({"universal-apk": paths, "universal-apk-sha256": digests})
    except Interrupted:
        raise
    except ApiError as refused:
        trouble = explain(refused)
    except UploaderError as error:
        trouble = error
    sections = outcome.sections
    if rows:
        header = ("File", "Size", "SHA-256", "SHA-256 of its certificate")
        sections = (*sections, Section("Universal APK", header, tuple(rows)))
    return replace(outcome, sections=sections, trouble=trouble)


def _fetch(
    package: str,
    code: str,
    goal: UniversalApkGoal,
    context: Context,
) -> tuple[str, str, str, str]:
    """Download the APK of one version once it is generated.

    Returns its path, its size in words, its SHA-256, and that of its certificate.
    """
    apk = _wait_for_apk(package, code, goal.seconds, context)
    _log_protection(apk, code, context)
    what = f"the universal APK of version {code}"
    destination = goal.of(code)
    check = partial(_check, package, int(code), apk.certificate)
    url = f"{apk.path}?alt=media"
    limit = MAX_BYTES["apk"]
    step = Download(
        ROOT,
        url,
        destination,
        limit,
        what,
        check,
        retry_on=conflict,
    )
    file = context.download(step)
    signer = fingerprint(apk.certificate)
    size = format_size(file.size)
    context.info(
        f"{destination.name}: {what}, {size}, signed with certificate {signer}."
    )
    return file.path, size, file.sha256, apk.certificate


def _log_protection(apk: UniversalApk, code: str, context: Context) -> None:
    """Log which APK is fetched if Google Play's automatic protection is on."""
    if apk.instead:
        context.info(
            "Google Play's automatic protection is on, so the universal APK of version "
            f"{code} starts only where Google Play installed it: the standalone APK without the "
            "protection is fetched instead."
        )
    elif apk.protected:
        context.warning(
            f"The universal APK of version {code} starts only where Google Play installed it, "
            "because Google Play's automatic protection is on, and there is no single APK without "
            "it. To offer an APK elsewhere, switch the protection off in the Play Console, under "
            "App integrity, and release a new version."
        )


def _wait_for_apk(
    package: str,
    code: str,
    seconds: float,
    context: Context,
) -> UniversalApk:
    """Return the APK once Google Play has it. Raises TemporaryError when time is up."""
    poll = context.poll(seconds)
    waiting = True
    while waiting:
        apks = _list_apks(context, package, code)
        if len(apks) > 1:
            what = f"Google Play signs version {code} with {len(apks)} keys"
            context.info(f"{what}; the APK of the first is fetched.")
        if apks:
            return apks[0]
        waiting = poll.wait(f"the universal APK of version {code} is not generated yet")
    raise TemporaryError(
        f"Google Play has not generated the universal APK of version {code} after {seconds:g} s.",
        cause="It takes minutes, longer for large bundles, and never happens for an APK or a "
        "version not uploaded.",
        hint="Run again, or fetch it later with `target: play-status` and `universal-apk`; nothing "
        "is uploaded twice. Raise `wait-deadline` if it happens often.",
        code="universal-apk-not-generated",
    )


def _list_apks(context: Context, package: str, code: str) -> list[UniversalApk]:
    """Return the APK for all devices of each signing key.

    It is the only standalone one without the protection, or else the universal one.
    """
    apks = []
    for key in list_generated_apks(package, code, context):
        universal = key.of_kind("universal")
        unprotected = key.of_kind("standalone", unprotected=True)
        if len(unprotected) == 1:
            path = unprotected[0].path
            apks.append(
                UniversalApk(key.certificate, path, key.is_protected, instead=True)
            )
        elif universal:
            path = universal[0].path
            apks.append(UniversalApk(key.certificate, path, key.is_protected))
    return apks


def _check(
    package: str,
    code: int,
    certificate: str,
    file: BinaryIO,
) -> str:
    """Raise IntegrityError for anything but the APK that was asked for."""
    try:
        manifest = read_manifest(file, "it")
    except InputError as error:
        raise _mismatch(
            code, " ".join(problem.what for problem in error.problems)
        ) from None
    if (manifest.kind, manifest.package, manifest.version_code) != (
        "apk",
        package,
        code,
    ):
        is_instead = (
            f"it is {manifest.package} {manifest.version_code} ({manifest.kind})"
        )
        raise _mismatch(code, f"{is_instead}, not {package} {code}.")
    # It loads cryptography, which a run without such an APK does not need.
    from uploader.files.android.apk_signature import verify_signer

    try:
        signer = verify_signer(file)
    except MalformedFile as error:
        raise _mismatch(code, f"it {error}") from None
    if certificate != signer.sha256 and certificate not in signer.rotated_from:
        signed = f"it is signed by {signer.sha256}"
        raise _mismatch(
            code, f"{signed}, but Google Play reports the certificate {certificate}."
        )
    return ""


def _mismatch(code: int, what: str) -> IntegrityError:
    return IntegrityError(
        f"What was downloaded as the universal APK of version {code} is something else: {what}",
        cause=MISMATCH_CAUSE,
        hint=MISMATCH_HINT,
        code="universal-apk-mismatch",
    )
