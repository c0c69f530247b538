"""The APK for every device that Google Play makes of a bundle and signs: waited for, fetched,
checked, then named.

It is generated some time after the upload. What comes must be of the app and the version that were
asked for, and its signatures must hold and be by the certificate that Google Play reports for it,
before it gets its name and is told as an output.

Where Google Play's automatic protection is on, the universal APK starts only where Google Play
installed it. The list then has fields for APKs "without automatic protection"
(GeneratedApksPerSigningKey, androidpublisher v3). A single standalone one is for all devices, and
is taken instead; several are for some devices each, so there the universal one is taken with a
warning.
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
from uploader.files.android.apk_signature import verified_signer
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
from uploader.services.play.generated_apks import list_generated_apks
from uploader.services.play.known_errors import explained
from uploader.text import format_size

NAME, PLACE = "universal-apk", "{version-code}"
_OWN_FILES = {"uploader-results.json", "uploader-served.json", "uploader.env"}


@dataclass(frozen=True)
class UniversalApk:
    """An APK for every device: the SHA-256 of the certificate that signed it, and the path where it
    is. `protected` says that the app has automatic protection, `instead` that this APK is without
    it.
    """

    certificate: str
    path: str
    protected: bool = False
    instead: bool = False


@dataclass(frozen=True)
class UniversalApkGoal:
    """Where the APK goes, with `{version-code}` in the name or without, and for how many seconds it
    is waited for.
    """

    destination: Destination
    seconds: float

    def of(self, code: str) -> Destination:
        """Where that of one version goes."""
        return replace(self.destination, path=self.destination.path.replace(PLACE, code))


def goal_of(
    inputs: ReleaseInputs | StatusInputs,
    artifacts: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> UniversalApkGoal:
    """What the input `universal-apk` asks for; what can be seen to be wrong with it is added to the
    problems.
    """
    goal = UniversalApkGoal(
        Destination(workspace, NAME, inputs.universal_apk), inputs.wait_deadline
    )
    manifests = {artifact.name: artifact.manifest for artifact in artifacts if artifact.manifest}
    for name in (name for name, one in manifests.items() if one.kind == "apk"):
        what = (
            f"{name} is an APK, which Google Play delivers as it is; it makes a universal APK only "
            "from a bundle."
        )
        problems.add(NAME, what, "together with bundles (.aab)")
    if isinstance(inputs, ReleaseInputs) and not (inputs.common.files and inputs.commit):
        what = "no bundle is committed, so Google Play generates no APK."
        problems.add(NAME, what, "with `files` and `commit: true`, or with `target: play-status`")
    taken = {os.path.realpath(artifact.location) for artifact in artifacts}
    for place in [goal.of(str(one.version_code)) for one in manifests.values()] or [
        goal.destination
    ]:
        problems.collect(place.check)
        path = os.path.realpath(place.workspace.root / place.path)
        if path in taken:
            problems.add(
                NAME,
                f"{place.name} is one of `files`, which the APK would replace; name another place.",
            )
        elif path.rpartition("/")[2] in _OWN_FILES:
            problems.add(
                NAME,
                f"{place.name} is a name that the run gives to files of its own; "
                "name another place.",
            )
    problems.collect(partial(_check_place, goal, tuple(manifests)))
    return goal


def _check_place(goal: UniversalApkGoal, names: tuple[str, ...]) -> None:
    if len(names) > 1 and PLACE not in goal.destination.path:
        goal.destination.refuse(
            f"is one place for the APKs of {', '.join(names)}; write {PLACE} into the path."
        )


def fetched(
    package: str, codes: tuple[str, ...], goal: UniversalApkGoal, outcome: Outcome, context: Context
) -> Outcome:
    """The outcome with the APKs that were fetched; it has `trouble` where one of them could not be.

    What was released is released, so no error ends the flow but the end of the run.
    """
    rows: list[tuple[str, ...]] = []
    trouble: UploaderError | None = None
    try:
        _check_place(goal, tuple(f"version {code}" for code in codes))
        for code in codes:
            apk = _generated(package, code, goal.seconds, context)
            _tell_protection(apk, code, context)
            certificate = apk.certificate
            what, destination = f"the universal APK of version {code}", goal.of(code)
            check = partial(_check, package, int(code), certificate)
            url = f"{apk.path}?alt=media"
            file = context.download(Download(ROOT, url, destination, MAX_BYTES["apk"], what, check))
            signer, size = fingerprint(certificate), format_size(file.size)
            context.info(f"{destination.name}: {what}, {size}, signed with certificate {signer}.")
            rows.append((file.path, size, file.sha256, certificate))
            paths, _, digests, _ = (",".join(values) for values in zip(*rows, strict=True))
            context.publish({"universal-apk": paths, "universal-apk-sha256": digests})
    except Interrupted:
        raise
    except UploaderError as error:
        trouble = explained(error) if isinstance(error, ApiError) else error
    table = Section(
        "Universal APK", ("File", "Size", "SHA-256", "SHA-256 of its certificate"), tuple(rows)
    )
    return replace(
        outcome, sections=(*outcome.sections, *([table] if rows else [])), trouble=trouble
    )


def _tell_protection(apk: UniversalApk, code: str, context: Context) -> None:
    """Say which APK is fetched where Google Play's automatic protection is on."""
    if apk.instead:
        context.info(
            "Google Play's automatic protection is on, so that the universal APK of version "
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


def _generated(package: str, code: str, seconds: float, context: Context) -> UniversalApk:
    """The APK once Google Play has it. Raises TemporaryError when time is up."""
    poll = context.poll(seconds)
    waiting = True
    while waiting:
        found = _listed(context, package, code)
        if len(found) > 1:
            what = f"Google Play signs version {code} with {len(found)} keys"
            context.info(f"{what}; the APK of the first is fetched.")
        if found:
            return found[0]
        waiting = poll.wait(f"the universal APK of version {code} is not generated yet")
    raise TemporaryError(
        f"Google Play has not generated the universal APK of version {code} after {seconds:g} s.",
        cause="It takes minutes, longer for large bundles, and never happens for an APK or a "
        "version not uploaded.",
        hint="Run again, or fetch it later with `target: play-status` and `universal-apk`; nothing "
        "is uploaded twice. Raise `wait-deadline` if it happens often.",
        code="universal-apk-not-generated",
    )


def _listed(context: Context, package: str, code: str) -> list[UniversalApk]:
    """The APK for every device of each key, or the one standalone APK without the protection."""
    found = []
    for key in list_generated_apks(package, code, context):
        unprotected = key.of_kind("standalone", unprotected=True)
        chosen = key.of_kind("universal")
        if len(unprotected) == 1:
            chosen = unprotected
        if chosen:
            instead = chosen is unprotected
            found.append(UniversalApk(key.certificate, chosen[0].path, key.is_protected, instead))
    return found


def _check(package: str, code: int, certificate: str, file: BinaryIO) -> str:
    """Raises IntegrityError for anything but the APK that was asked for."""
    try:
        found = read_manifest(file, "it")
    except InputError as error:
        raise _mismatch(code, " ".join(problem.what for problem in error.problems)) from None
    if (found.kind, found.package, found.version_code) != ("apk", package, code):
        raise _mismatch(
            code,
            f"it is {found.package} {found.version_code} ({found.kind}), not {package} {code}.",
        )
    try:
        signer = verified_signer(file)
    except MalformedFile as error:
        raise _mismatch(code, f"it {error}") from None
    if certificate != signer.sha256 and certificate not in signer.rotated_from:
        signed = f"it is signed by {signer.sha256}"
        raise _mismatch(code, f"{signed}, but Google Play reports the certificate {certificate}.")
    return ""


def _mismatch(code: int, what: str) -> IntegrityError:
    return IntegrityError(
        f"What was downloaded as the universal APK of version {code} is not that: {what}",
        cause="It was damaged or replaced on the way, by a proxy for instance, or the service has "
        "a fault.",
        hint="It was deleted. Run again; report the error if it recurs.",
        code="universal-apk-mismatch",
    )
