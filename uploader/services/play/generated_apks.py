"""List the APKs that Google Play makes of a bundle and signs, and wait until it has made them.

Source: generatedapks in the discovery document androidpublisher v3. Modules of recovery actions,
which are made in the Play Console, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uploader.errors import ApiError, ProtocolError, TemporaryError
from uploader.files.android.listed_apk import ListedApk, ListedKind
from uploader.protocol.stated_digests import normal
from uploader.services.base import Call, Context
from uploader.services.catalogue import expand
from uploader.services.play.client import OTHER_ANSWERS, ROOT, entries
from uploader.services.play.known_errors import OTHER, conflict, find

# of one version: thirty features in a hundred languages and six variants
MAX_APKS = 20_000
SETTLED = 4  # looks that find the same list, after which no more APKs are expected
# of a download that is not the APK that was asked for
MISMATCH_CAUSE = (
    "It was damaged or replaced on the way, by a proxy for instance, or the service has "
    "a fault."
)
MISMATCH_HINT = "It was deleted. Run again; report the error if it recurs."
_LIST = "/androidpublisher/v3/applications/{package}/generatedApks/{code}"
_DOWNLOAD = _LIST + "/downloads/{download}:download"
_SPLITS = "generatedSplitApks"
_STANDALONE = "generatedStandaloneApks"
_SLICES = "generatedAssetPackSlices"
_UNIVERSAL = "generatedUniversalApk"
# Fields that are "only present if the app uses automatic protection".
UNPROTECTED_SPLITS = "unprotectedGeneratedSplitApks"
UNPROTECTED_STANDALONE = "unprotectedGeneratedStandaloneApks"
_KINDS: Mapping[str, ListedKind] = {
    _SPLITS: "split",
    UNPROTECTED_SPLITS: "split",
    _STANDALONE: "standalone",
    UNPROTECTED_STANDALONE: "standalone",
    _SLICES: "slice",
}
_TEXTS = ("downloadId", "moduleName", "splitId", "sliceId")


@dataclass(frozen=True)
class GeneratedApk:
    """One APK that Google Play has made.

    `certificate` is the SHA-256 of the certificate of its key, and `path` that of its download.
    `split` is the name of the split, empty for the main split of the base, or the id of the slice.
    `module` is empty if the list names none. An app with automatic protection has `unprotected`
    APKs as well.
    """

    kind: ListedKind
    certificate: str
    path: str
    split: str = ""
    module: str = ""
    variant: int = 0
    unprotected: bool = False

    @property
    def name(self) -> str:
        """Its name for people, which differs from those of the other APKs of its signing key."""
        split = self.split or self.module or "base"
        names = {
            "split": f"{split}.apk of variant {self.variant}",
            "standalone": f"standalone.apk of variant {self.variant}",
            "universal": "universal.apk",
            "slice": f"{split}.apk",
        }
        name = names[self.kind]
        if self.unprotected:
            return f"unprotected {name}"
        return name

    @property
    def listed(self) -> ListedApk:
        """What the list says that the file is."""
        return ListedApk(self.kind, self.module, self.split)

    @property
    def is_base(self) -> bool:
        """Whether devices get the app's own code with it."""
        if self.kind == "split":
            return not self.split
        return self.kind == "standalone"


@dataclass(frozen=True)
class SigningKey:
    """The APKs that one key has signed; `certificate` is the SHA-256 of its certificate."""

    certificate: str
    apks: tuple[GeneratedApk, ...]

    @property
    def is_protected(self) -> bool:
        """Whether the app uses automatic protection."""
        return any(apk.unprotected for apk in self.apks)

    @property
    def has_base(self) -> bool:
        """Whether there is an APK with which devices get the app's own code. Every app bundle
        yields one: the main split of the base, or standalone APKs.
        """
        return any(apk.is_base and not apk.unprotected for apk in self.apks)

    def of_kind(
        self, kind: ListedKind, *, unprotected: bool = False
    ) -> list[GeneratedApk]:
        """Return the APKs of one kind, without automatic protection if `unprotected`."""
        of_kind = [apk for apk in self.apks if apk.kind == kind]
        return [apk for apk in of_kind if apk.unprotected == unprotected]


def await_generated_apks(
    package: str,
    code: str,
    seconds: float,
    context: Context,
    check_uploaded: Callable[[], None] | None = None,
) -> list[SigningKey]:
    """Return all APKs of a version once Google Play has made them, after `seconds` at most.

    If two looks in a row, or the only look, find no APK, `check_uploaded` is called: it is to raise
    an error if Google Play does not have the version.

    No document says when the list is complete. It counts as complete if every key has the APKs with
    the app's own code, and if it also has its universal APK or the list has stayed the same for a
    while. When time is up, a list that has every universal APK, or has stayed the same, is returned
    as it is. Raises TemporaryError for any other.
    """
    poll = context.poll(seconds)
    same_looks = 0
    before: list[SigningKey] = []
    is_waiting = True
    is_settled = False
    while is_waiting:
        keys = list_generated_apks(package, code, context)
        if check_uploaded and not keys and (same_looks == 1 or poll.left <= 0):
            check_uploaded()
        if keys == before:
            same_looks += 1
        else:
            same_looks = 1
        is_settled = _have_universal_apks(keys) or same_looks >= SETTLED
        if is_settled and _have_bases(keys):
            return keys
        before = keys
        state = "are not generated yet"
        if keys:
            state = "are not all generated yet"
        is_waiting = poll.wait(f"the APKs of version {code} {state}")
    if before and is_settled:
        return before
    what = "the APKs"
    if before:
        what = "all APKs"
    raise TemporaryError(
        f"Google Play has not generated {what} of version {code} after {seconds:g} s.",
        cause="It takes minutes, longer for large bundles, and never happens for an APK or a "
        "version not uploaded.",
        hint="Run again with `target: play-verify`, which uploads nothing. Raise `wait-deadline` "
        "if it happens often.",
        code="apks-not-generated",
    )


def _have_universal_apks(keys: Sequence[SigningKey]) -> bool:
    """Return whether every key has a universal APK; False if there is no key."""
    for key in keys:
        if not key.of_kind("universal"):
            return False
    return bool(keys)


def _have_bases(keys: Sequence[SigningKey]) -> bool:
    """Return whether every key has the APKs with the app's own code; False if there is no key."""
    for key in keys:
        if not key.has_base:
            return False
    return bool(keys)


def list_generated_apks(package: str, code: str, context: Context) -> list[SigningKey]:
    """Return the APKs of a version by the key that has signed them; none if Google Play answers
    404, as it may before any is generated.

    Raises ProtocolError for an answer in another form.
    """
    version = {"package": package, "code": code}
    call = Call(
        "GET",
        ROOT,
        expand(_LIST, version),
        what=f"the list of APKs generated for version {code}",
        retry_on=conflict,
    )
    try:
        response = context.call(call)
    except ApiError as refused:
        if refused.status != 404 or find(refused) is not OTHER:
            raise
        return []
    keys = []
    count = 0
    for entry in entries(response, "generatedApks"):
        digest = re.sub(r"[:\s]", "", str(entry.get("certificateSha256Hash")))
        certificate = normal(digest, 32)
        apks = tuple(_apks(entry, version, certificate))
        if not apks:
            continue
        if not re.fullmatch("[0-9a-f]{64}", certificate):
            raise _undocumented_error(code)
        keys.append(SigningKey(certificate, apks))
        count += len(apks)
    if count > MAX_APKS:
        raise ProtocolError(
            f"Google Play lists more than {MAX_APKS:,} APKs of version {code}.",
            cause=OTHER_ANSWERS,
            hint="Run again; report the error if it recurs.",
        )
    return keys


def _apks(
    key: Mapping[str, Any], version: Mapping[str, str], certificate: str
) -> Iterator[GeneratedApk]:
    """Read the APKs of one key. Raises ProtocolError for an undocumented entry."""
    for name, kind in _KINDS.items():
        for entry in entries(key, name):
            if not _is_documented(entry):
                raise _undocumented_error(version["code"])
            module = entry.get("moduleName", "")
            yield GeneratedApk(
                kind,
                certificate,
                path=_path(entry, version),
                split=_split(entry, kind, module),
                module=module,
                variant=entry.get("variantId", 0),
                unprotected=name in (UNPROTECTED_SPLITS, UNPROTECTED_STANDALONE),
            )
    universal = key.get(_UNIVERSAL)
    if isinstance(universal, Mapping) and universal.get("downloadId"):
        yield GeneratedApk("universal", certificate, _path(universal, version))


def _is_documented(entry: Mapping[str, Any]) -> bool:
    """Return whether the fields of an APK have the documented types."""
    for name in _TEXTS:
        if not isinstance(entry.get(name, ""), str):
            return False
    return type(entry.get("variantId", 0)) is int


def _split(entry: Mapping[str, Any], kind: ListedKind, module: str) -> str:
    """Return the name of a split, or the id of a slice. An APK without either has the name of its
    module, except the main split of the base, whose name is empty.
    """
    split: str = entry.get("splitId") or entry.get("sliceId") or module
    if kind == "split" and split == "base":
        return ""
    return split


def _path(entry: Mapping[str, Any], version: Mapping[str, str]) -> str:
    """Return the path of a download. Raises ProtocolError if its id can't be part of a path."""
    download = entry.get("downloadId")
    if not isinstance(download, str) or not download.strip("."):
        raise _undocumented_error(version["code"])
    return expand(_DOWNLOAD, {**version, "download": download})


def _undocumented_error(code: str) -> ProtocolError:
    """Return the error for a list of APKs that can't be read."""
    return ProtocolError(
        f"Google Play returned the APKs of version {code} in an undocumented format.",
        cause=OTHER_ANSWERS,
        hint="Run again; report the error if it recurs.",
    )
