"""Fetch the APKs that Google Play serves of a version, and compare them with the bundle that was
built.

They are compared in sets: the splits of one variant, as a device would have them, or a few APKs
that are complete in themselves. Each set is fetched, compared and removed while the next one is
being fetched. So at most two sets are on the disk, in files without names.
"""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO

from uploader.errors import ApiError, InputError, IntegrityError
from uploader.files.android.apk_signature import verify_signer
from uploader.files.android.limits import MAX_BYTES
from uploader.files.android.served import ApkReport, Finding, Served, Verdict, compare
from uploader.files.android.served_files import Tables
from uploader.files.artifacts import Artifact
from uploader.files.spool import Spool, SpooledFile, open_spool
from uploader.files.watched import Watched
from uploader.files.workspace import Workspace
from uploader.services.base import Context, Download
from uploader.services.play.client import ROOT
from uploader.services.play.generated_apks import (
    MISMATCH_CAUSE,
    MISMATCH_HINT,
    GeneratedApk,
    SigningKey,
    await_generated_apks,
)
from uploader.services.play.known_errors import OTHER, conflict, find
from uploader.services.play.uploaded import UploadedArtifacts
from uploader.services.play.verify_goal import Version
from uploader.text import format_size, plural

MAX_DOWNLOADS = 4  # at the same time
# lists that are read, if an APK of the list is gone when it is fetched
_MAX_LISTS = 3
# seconds after which the download of an APK is given up, unless `wait-deadline` is longer
_MIN_SECONDS = 3600.0
WHOLE_AT_ONCE = 2  # APKs that are complete in themselves, in one set
# Bytes on the disk at the same time, as a multiple of the bundle's size: several times what two
# sets of its APKs take. A small bundle has a fixed limit, since the APKs may be those of another
# bundle, which is larger.
_MAX_TIMES = 32
_MAX_OF_SMALL = 4 << 30
# The beginning and the end of an APK: a first entry, and the record of a zip's end, whose comment
# has at most 64 KiB (PKWARE APPNOTE, sections 4.3.7 and 4.3.16).
_FIRST_ENTRY = b"PK\3\4"
_END_RECORD = b"PK\5\6"
_END_SIZE = 22  # bytes, without the comment
_LONGEST_END = _END_SIZE + 0xFFFF
_GZIP = b"\x1f\x8b"
_WHOLE_KINDS = ("standalone", "universal")  # such an APK is all that a device needs
# The verdict on several sets, or bundles, is the first of these that one of them has.
WORST_FIRST: tuple[Served, ...] = ("changed", "protected", "unverified", "same")


@dataclass(frozen=True)
class FetchedApk:
    """An APK that was fetched, as the comparison reads it."""

    name: str
    apk: GeneratedApk
    file: SpooledFile

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning."""
        return self.file.reader()


@dataclass(frozen=True)
class _Wanted:
    """An APK that is to be fetched, and the name that it has in messages."""

    name: str
    apk: GeneratedApk

    @property
    def is_whole(self) -> bool:
        """Whether it is all that a device needs."""
        return self.apk.kind in _WHOLE_KINDS


def compare_served(
    bundle: Artifact,
    version: Version,
    seconds: float,
    workspace: Workspace,
    context: Context,
    turn: AbstractContextManager[object],
    uploaded: UploadedArtifacts | None = None,
) -> Verdict:
    """Compare all that Google Play serves of a bundle's version with the bundle.

    It waits up to `seconds` for the APKs, and enters `turn` before it fetches them. If Google Play
    generates them anew in the meantime, they are listed again. Raises TemporaryError when time
    is up, ReleaseRefused if `uploaded` has no such version, IntegrityError if what was fetched is
    not what Google Play says it is, and what `Context.download` raises.
    """
    package, number = version
    code = str(number)
    limit = max(_MAX_OF_SMALL, _MAX_TIMES * (bundle.size or 0))
    what = f"what is fetched of version {code} at a time"

    check_uploaded: Callable[[], None] | None = None
    if uploaded:
        check_uploaded = partial(uploaded.check_has, number)

    def compare_once() -> Verdict:
        """Compare all that is listed. Raises ApiError (404) for an APK that is gone."""
        keys = await_generated_apks(
            package,
            code,
            seconds,
            context,
            check_uploaded,
        )
        _log_listed(keys, bundle, code, context)
        with turn, open_spool(workspace, what, limit) as spool:
            comparison = _Comparison(
                bundle,
                code,
                spool,
                max(seconds, _MIN_SECONDS),
                context,
            )
            verdict = comparison.of_keys(keys)
            context.info(
                f"All of it was compared; at most {format_size(spool.size)} were on the disk at a "
                "time."
            )
            return verdict

    for _ in range(_MAX_LISTS - 1):
        try:
            return compare_once()
        except ApiError as refused:
            if refused.status != 404 or find(refused) is not OTHER:
                raise
        context.info(
            f"An APK of version {code} is not there any more; all are listed again."
        )
    return compare_once()


def _log_listed(
    keys: Sequence[SigningKey],
    bundle: Artifact,
    code: str,
    context: Context,
) -> None:
    count = sum(len(key.apks) for key in keys)
    context.info(
        f"Google Play lists {plural(count, 'APK')} of version {code}, signed with "
        f"{plural(len(keys), 'key')}; each is compared with {bundle.name}."
    )


def _sets(keys: Sequence[SigningKey]) -> Iterator[list[_Wanted]]:
    """Yield the APKs that are compared together: the splits of each variant, the slices of asset
    packs, and a few at a time of those that are complete in themselves.

    APKs without automatic protection are in sets of their own.
    """
    alike: Counter[str] = Counter()
    for key in keys:
        label = ""
        if len(keys) > 1:
            label = f"key {key.certificate[:8]}"
            alike[label] += 1
            if alike[label] > 1:  # the list may have one certificate twice
                label += f" ({alike[label]})"
            label += ": "
        for _, members in groupby(
            sorted(_name_apks(key.apks, label), key=_set_of), _set_of
        ):
            together = list(members)
            size = WHOLE_AT_ONCE if together[0].is_whole else len(together)
            for first in range(0, len(together), size):
                yield together[first : first + size]


def _name_apks(apks: Sequence[GeneratedApk], label: str) -> Iterator[_Wanted]:
    """Give every APK of a key a name of its own."""
    alike: Counter[str] = Counter()
    for apk in apks:
        alike[apk.name] += 1
        # Each standalone APK of a variant is for one ABI, which the list does not name.
        number = ""
        if alike[apk.name] > 1:
            number = f" ({alike[apk.name]})"
        yield _Wanted(f"{label}{apk.name}{number}", apk)


def _set_of(wanted: _Wanted) -> tuple[bool, bool, str, int]:
    """Return what the APKs of one set have in common."""
    apk = wanted.apk
    if wanted.is_whole:
        return apk.unprotected, True, "", 0
    return apk.unprotected, False, apk.kind, apk.variant


class _Comparison:
    """The comparison of one bundle with sets of APKs, one of which is fetched while another one is
    compared.
    """

    def __init__(
        self,
        bundle: Artifact,
        code: str,
        spool: Spool,
        seconds: float,
        context: Context,
    ) -> None:
        """Prepare the comparison; `seconds` is that of `Download`, for each APK."""
        self._bundle = bundle
        self._seconds = seconds
        self._code = code
        self._spool = spool
        self._context = context
        self._tables = Tables()
        self._downloading = threading.Lock()
        self._verdicts: list[tuple[int, Verdict]] = []
        # the certificates of the keys of which a base was compared
        self._with_base: set[str] = set()

    def of_keys(self, keys: Sequence[SigningKey]) -> Verdict:
        """Return one verdict on the APKs of all keys."""
        verdict = _merge(self._of_all(_sets(keys)))
        for key in keys:
            if key.certificate not in self._with_base:
                verdict = verdict.with_doubt(_without_base(key))
        return verdict

    def _of_all(self, sets: Iterable[list[_Wanted]]) -> list[Verdict]:
        """Return the verdicts on the sets, in their order."""
        waiting = iter(list(enumerate(sets)))
        self._context.together([partial(self._compare_waiting, waiting)] * 2)
        return [verdict for _, verdict in sorted(self._verdicts, key=itemgetter(0))]

    def _compare_waiting(self, waiting: Iterator[tuple[int, list[_Wanted]]]) -> None:
        for number, wanted in waiting:
            files = [
                FetchedApk(
                    member.name,
                    member.apk,
                    self._spool.new_file(f"{member.name} of {self._code}"),
                )
                for member in wanted
            ]
            with self._downloading:
                downloads = iter(files)
                self._context.together(
                    [partial(self._fetch_waiting, downloads)] * MAX_DOWNLOADS
                )
            self._verdicts.append((number, self._compare(files)))
            for file in files:
                file.file.clear()

    def _fetch_waiting(self, waiting: Iterator[FetchedApk]) -> None:
        for file in waiting:
            url = f"{file.apk.path}?alt=media"
            what = f"{file.name} of version {self._code}"
            limit = MAX_BYTES["apk"]
            self._context.download(
                Download(
                    ROOT,
                    url,
                    file.file,
                    limit,
                    what,
                    partial(check_form, file.name, self._code),
                    seconds=self._seconds,
                    retry_on=conflict,
                )
            )

    def _compare(self, files: Sequence[FetchedApk]) -> Verdict:
        """Compare a set. Raises IntegrityError if an APK is not what was asked for."""
        check = self._context.check_running
        watched = [Watched(file, check) for file in files]
        universal = [file.name for file in files if file.apk.kind == "universal"]
        whole = [file.name for file in files if file.apk.kind in _WHOLE_KINDS]
        listed = {file.name: file.apk.listed for file in files}
        bundle = Watched(self._bundle, check)
        try:
            verdict = compare(
                bundle,
                watched,
                universal,
                self._tables,
                whole,
                listed,
            )
        except InputError as error:
            # The bundle was read before; so it is an APK that can't be compared.
            what = " ".join(problem.what for problem in error.problems)
            raise _mismatch(self._code, what) from None
        for file, report in zip(files, verdict.apks, strict=True):
            self._note_base(file, report)
            if report.certificate != file.apk.certificate:
                self._check_older_certificate(file, report)
        return verdict

    def _note_base(self, file: FetchedApk, report: ApkReport) -> None:
        """Note the key of a compared APK that has the app's own code and that devices get."""
        if file.apk.kind == "universal" or file.apk.unprotected:
            return
        if report.kind in ("base", "standalone"):
            self._with_base.add(file.apk.certificate)

    def _check_older_certificate(self, file: FetchedApk, report: ApkReport) -> None:
        """Raise IntegrityError unless the signature proves a rotation from the certificate that
        Google Play reports to the one that has signed.
        """
        if report.certificate_problem:
            raise _mismatch(self._code, f"{file.name} {report.certificate_problem}.")
        with file.reader() as opened:
            older = verify_signer(opened).rotated_from
        if file.apk.certificate not in older:
            raise _mismatch(
                self._code,
                f"{file.name} is signed by {report.certificate}, but Google Play reports the "
                f"certificate {file.apk.certificate}.",
            )


def check_form(name: str, code: str, file: BinaryIO) -> str:
    """Raise IntegrityError for a file that does not begin or end as an APK does; the comparison
    finds out about the rest. Return "", since the file's name gets no ending (see `Download`).
    """
    what = ""
    head = file.read(len(_FIRST_ENTRY))
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    tail = file.read()
    end = tail.rfind(_END_RECORD)
    if head.startswith(_GZIP):
        what = "is compressed with gzip, which nobody asked for"
    elif head != _FIRST_ENTRY:
        what = "is no APK"
    elif end < 0 or len(tail) - end < _END_SIZE:
        what = "does not end as an APK does"
    elif end + _END_SIZE + int.from_bytes(
        tail[end + 20 : end + _END_SIZE], "little"
    ) < len(tail):
        what = "continues after the end of the APK"
    if what:
        raise _mismatch(code, f"{name} {what}.")
    return ""


def _mismatch(code: str, what: str) -> IntegrityError:
    return IntegrityError(
        f"What was downloaded as an APK of version {code} is something else: {what}",
        cause=MISMATCH_CAUSE,
        hint=MISMATCH_HINT,
        code="served-apk-mismatch",
    )


def _without_base(key: SigningKey) -> str:
    """Return a phrase that says that the list has no base for a key."""
    return (
        "Google Play lists neither the main split of the base nor a standalone APK that is signed "
        f"with the certificate {key.certificate[:8]}…, and a device gets one of them"
    )


def _merge(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict on all sets."""
    kinds = {verdict.served for verdict in verdicts}
    served = next(kind for kind in WORST_FIRST if kind in kinds)
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
        values_not_given=min(verdict.values_not_given for verdict in verdicts),
        protection=tuple(dict.fromkeys(protection)),
        transparency=transparency,
    )
