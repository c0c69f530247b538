"""What Google Play serves of a version: its APKs are fetched and compared with the bundle that was
built.

They come in sets: the splits of one variant, as a device would have them, and every APK that is
whole in itself. Each set is fetched, compared and removed, while the next one is on its way.
"""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, TypeAlias

from uploader.errors import InputError, IntegrityError
from uploader.files.android.apk_signature import verified_signer
from uploader.files.android.limits import MAX_BYTES
from uploader.files.android.served import ApkReport, Finding, Served, Verdict, compare
from uploader.files.artifacts import Artifact
from uploader.files.destination import Destination
from uploader.files.private_folder import private_folder
from uploader.files.workspace import Workspace
from uploader.services.base import Context, Download
from uploader.services.play.client import ROOT
from uploader.services.play.generated_apks import (
    GeneratedApk,
    SigningKey,
    await_generated_apks,
)
from uploader.text import plural

MAX_DOWNLOADS = 4  # at the same time
Version: TypeAlias = tuple[str, int]  # package and version code
# The verdict on several sets is the first of these that one of them has.
_WORST_FIRST: tuple[Served, ...] = ("changed", "protected", "unverified", "same")


@dataclass(frozen=True)
class FetchedApk:
    """An APK that was fetched, as the comparison reads it."""

    name: str
    apk: GeneratedApk
    path: Path

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning."""
        return self.path.open("rb")


@dataclass(frozen=True)
class _ApkSet:
    """APKs that are compared together; `label` tells their key where there are several."""

    label: str
    apks: tuple[GeneratedApk, ...]


def compare_served(
    bundle: Artifact, version: Version, seconds: float, workspace: Workspace, context: Context
) -> Verdict:
    """Compare all that Google Play serves of a bundle's version with the bundle.

    It waits up to `seconds` for the APKs. Raises TemporaryError when time is up, IntegrityError
    where what was fetched is not what Google Play says it is, and what `Context.download` raises.
    """
    package, number = version
    code = str(number)
    keys = await_generated_apks(package, code, seconds, context)
    count = sum(len(key.apks) for key in keys)
    context.info(
        f"Google Play lists {plural(count, 'APK')} of version {code}, signed with "
        f"{plural(len(keys), 'key')}; each is compared with {bundle.name}."
    )
    with private_folder(workspace) as folder:
        return _merged(_Comparison(bundle, code, folder, context).of_all(_sets(keys)))


def _sets(keys: Sequence[SigningKey]) -> Iterator[_ApkSet]:
    """Return what is compared together: the splits of each variant, and all else of each key; what
    is without automatic protection is apart from what has it.
    """
    for key in keys:
        label = f"key {key.certificate[:8]}: " if len(keys) > 1 else ""
        for _, members in groupby(sorted(key.apks, key=_set_of), _set_of):
            yield _ApkSet(label, tuple(members))


def _set_of(apk: GeneratedApk) -> tuple[bool, int]:
    """Return what the APKs of one set have in common."""
    return apk.unprotected, apk.variant if apk.kind == "split" else -1


class _Comparison:
    """The comparison of one bundle with sets of APKs, one of which is fetched while another one is
    compared.
    """

    def __init__(self, bundle: Artifact, code: str, folder: Workspace, context: Context) -> None:
        self._bundle = bundle
        self._code = code
        self._folder = folder
        self._context = context
        self._downloading = threading.Lock()
        self._verdicts: list[tuple[int, Verdict]] = []

    def of_all(self, sets: Iterable[_ApkSet]) -> list[Verdict]:
        """Return the verdicts on the sets, in their order."""
        waiting = iter(list(enumerate(sets)))
        self._context.together([partial(self._compare_waiting, waiting)] * 2)
        return [verdict for _, verdict in sorted(self._verdicts, key=itemgetter(0))]

    def _compare_waiting(self, waiting: Iterator[tuple[int, _ApkSet]]) -> None:
        for number, apks in waiting:
            with self._downloading:
                files = self._fetch(number, apks)
            self._verdicts.append((number, self._compare(files)))
            for file in files:
                file.path.unlink()

    def _fetch(self, number: int, apks: _ApkSet) -> list[FetchedApk]:
        """Fetch a set, a few APKs at a time."""
        files: list[FetchedApk] = []
        alike: Counter[str] = Counter()
        for position, apk in enumerate(apks.apks):
            alike[apk.name] += 1
            # standalone APKs of one variant are for one ABI each, which the list does not tell
            number_of_name = f" ({alike[apk.name]})" if alike[apk.name] > 1 else ""
            path = self._folder.root / f"{number}-{position}.apk"
            files.append(FetchedApk(f"{apks.label}{apk.name}{number_of_name}", apk, path))
        waiting = iter(files)
        self._context.together([partial(self._fetch_waiting, waiting)] * MAX_DOWNLOADS)
        return files

    def _fetch_waiting(self, waiting: Iterator[FetchedApk]) -> None:
        for file in waiting:
            destination = Destination(self._folder, "files", file.path.name)
            url = f"{file.apk.path}?alt=media"
            what = f"{file.name} of version {self._code}"
            limit = MAX_BYTES["apk"]
            self._context.download(Download(ROOT, url, destination, limit, what, _keep))

    def _compare(self, files: Sequence[FetchedApk]) -> Verdict:
        """Compare a set. Raises IntegrityError where an APK is not what was asked for."""
        try:
            verdict = compare(self._bundle, files)
        except InputError as error:
            # The bundle was read before; so it is an APK that can't be compared.
            what = " ".join(problem.what for problem in error.problems)
            raise self._mismatch(what) from None
        for file, report in zip(files, verdict.apks, strict=True):
            if report.certificate != file.apk.certificate:
                self._check_older_certificate(file, report)
        return verdict

    def _check_older_certificate(self, file: FetchedApk, report: ApkReport) -> None:
        """Raise IntegrityError unless the certificate that Google Play reports has handed over to
        the one that has signed.
        """
        if report.certificate_problem:
            raise self._mismatch(f"{file.name} {report.certificate_problem}.")
        with file.reader() as opened:
            older = verified_signer(opened).rotated_from
        if file.apk.certificate not in older:
            raise self._mismatch(
                f"{file.name} is signed by {report.certificate}, but Google Play reports the "
                f"certificate {file.apk.certificate}."
            )

    def _mismatch(self, what: str) -> IntegrityError:
        return IntegrityError(
            f"What was downloaded as an APK of version {self._code} is not that: {what}",
            cause="It was damaged or replaced on the way, by a proxy for instance, or the service "
            "has a fault.",
            hint="It was deleted. Run again; report the error if it recurs.",
            code="served-apk-mismatch",
        )


def _keep(_: BinaryIO) -> str:
    """Let a download have its name: what it is, the comparison finds out."""
    return ""


def _merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict on all sets."""
    kinds = {verdict.served for verdict in verdicts}
    served = next(kind for kind in _WORST_FIRST if kind in kinds)
    apks: list[ApkReport] = []
    findings: list[Finding] = []
    protection: list[str] = []
    unlisted: list[str] = []
    for verdict in verdicts:
        apks += verdict.apks
        findings += verdict.findings
        protection += verdict.protection
        if verdict.transparency:
            unlisted += verdict.transparency.unlisted
    transparency = verdicts[0].transparency
    if transparency:
        transparency = replace(transparency, unlisted=tuple(unlisted))
    return replace(
        verdicts[0],
        served=served,
        apks=tuple(apks),
        findings=tuple(findings),
        left_out=sum(verdict.left_out for verdict in verdicts),
        # An APK that is whole has everything; only splits are for some devices each.
        not_given=min(verdict.not_given for verdict in verdicts),
        protection=tuple(dict.fromkeys(protection)),
        transparency=transparency,
    )
