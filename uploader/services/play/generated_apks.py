"""The APKs that Google Play makes of a bundle and signs: what it lists, once it has made them.

Reference: generatedapks in the discovery document androidpublisher v3. Modules of recovery actions,
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
_LIST = "/androidpublisher/v3/applications/{package}/generatedApks/{code}"
_DOWNLOAD = _LIST + "/downloads/{download}:download"
_SPLITS, _STANDALONE, _SLICES = (
    "generatedSplitApks",
    "generatedStandaloneApks",
    "generatedAssetPackSlices",
)
_UNIVERSAL = "generatedUniversalApk"
# Fields that are "only present if the app uses automatic protection".
UNPROTECTED_SPLITS, UNPROTECTED_STANDALONE = (
    "unprotectedGeneratedSplitApks",
    "unprotectedGeneratedStandaloneApks",
)
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
    """One APK: the SHA-256 of the certificate that has signed it, and the path where it is.

    `split` is the name of the split, empty for the main split of the base, or the id of the slice;
    `module` is empty where the list has none. Of an app with automatic protection some are
    `unprotected`.
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
        """What people know it by, among those of one signing key."""
        split = self.split or self.module or "base"
        names = {
            "split": f"{split}.apk of variant {self.variant}",
            "standalone": f"standalone.apk of variant {self.variant}",
            "universal": "universal.apk",
            "slice": f"{split}.apk",
        }
        return (
            f"unprotected {names[self.kind]}" if self.unprotected else names[self.kind]
        )

    @property
    def listed(self) -> ListedApk:
        """What it should be."""
        return ListedApk(self.kind, self.module, self.split)

    @property
    def is_base(self) -> bool:
        """Whether it is one with the app's own code that devices get."""
        return self.kind == "standalone" or (self.kind == "split" and not self.split)


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
        """Whether there is an APK with the app's own code that devices get. Every app bundle yields
        one: the main split of the base, or standalone APKs.
        """
        return any(apk.is_base and not apk.unprotected for apk in self.apks)

    def of_kind(
        self, kind: ListedKind, *, unprotected: bool = False
    ) -> list[GeneratedApk]:
        """The APKs of one kind, with automatic protection or without."""
        return [
            apk
            for apk in self.apks
            if (apk.kind, apk.unprotected) == (kind, unprotected)
        ]


def await_generated_apks(
    package: str,
    code: str,
    seconds: float,
    context: Context,
    check_uploaded: Callable[[], None] | None = None,
) -> list[SigningKey]:
    """Return all APKs of a version once Google Play has made them.

    Where two looks find none, or the only one, `check_uploaded` is to raise an error if Google Play
    does not have the version.

    No document says when the list is complete. It counts as complete where every key has what
    devices get of the app's own code, and a universal APK, which is for every device, or where it
    stays the same for a while. When time is up, a list that has every universal APK, or stays the
    same, is returned as it is. Raises TemporaryError for any other.
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
    """Return whether there is a universal APK of every key; false where there is no key."""
    return bool(keys) and all(key.of_kind("universal") for key in keys)


def _have_bases(keys: Sequence[SigningKey]) -> bool:
    """Return whether devices get the app's own code of every key; false where there is no key."""
    return bool(keys) and all(key.has_base for key in keys)


def list_generated_apks(package: str, code: str, context: Context) -> list[SigningKey]:
    """Return the APKs of a version by the key that has signed them.

    A version of which nothing is generated may be answered with 404. Raises ProtocolError for an
    answer of another form.
    """
    place = {"package": package, "code": code}
    try:
        what = f"the list of APKs generated for version {code}"
        path = expand(_LIST, place)
        response = context.call(Call("GET", ROOT, path, what=what, retry_on=conflict))
    except ApiError as refused:
        if refused.status != 404 or find(refused) is not OTHER:
            raise
        return []
    keys = []
    for entry in entries(response, "generatedApks"):
        digest = re.sub(r"[:\s]", "", str(entry.get("certificateSha256Hash")))
        certificate = normal(digest, 32)
        apks = tuple(_apks(entry, place, certificate))
        if apks and not re.fullmatch("[0-9a-f]{64}", certificate):
            raise _undocumented(code)
        if apks:
            keys.append(SigningKey(certificate, apks))
    if sum(len(key.apks) for key in keys) > MAX_APKS:
        raise ProtocolError(
            f"Google Play lists more than {MAX_APKS:,} APKs of version {code}.",
            cause=OTHER_ANSWERS,
            hint="Run again; report the error if it recurs.",
        )
    return keys


def _apks(
    key: Mapping[str, Any], place: Mapping[str, str], certificate: str
) -> Iterator[GeneratedApk]:
    """Read the APKs of one key. Raises ProtocolError."""
    for name, kind in _KINDS.items():
        for entry in entries(key, name):
            texts = [entry.get(text, "") for text in _TEXTS]
            variant = entry.get("variantId", 0)
            if (
                not all(isinstance(text, str) for text in texts)
                or type(variant) is not int
            ):
                raise _undocumented(place["code"])
            module = entry.get("moduleName", "")
            # "Empty for the main split of the base module"
            split = entry.get("splitId") or entry.get("sliceId") or module
            if kind == "split" and split == "base":
                split = ""
            yield GeneratedApk(
                kind,
                certificate,
                _path(entry, place),
                split,
                module,
                variant,
                name in (UNPROTECTED_SPLITS, UNPROTECTED_STANDALONE),
            )
    universal = key.get(_UNIVERSAL)
    if isinstance(universal, Mapping) and universal.get("downloadId"):
        yield GeneratedApk("universal", certificate, _path(universal, place))


def _path(entry: Mapping[str, Any], place: Mapping[str, str]) -> str:
    """Return the path of a download. Raises ProtocolError where its id is none."""
    download = entry.get("downloadId")
    if not isinstance(download, str) or not download.strip("."):
        raise _undocumented(place["code"])
    return expand(_DOWNLOAD, {**place, "download": download})


def _undocumented(code: str) -> ProtocolError:
    return ProtocolError(
        f"Google Play returned the APKs of version {code} in an undocumented format.",
        cause=OTHER_ANSWERS,
        hint="Run again; report the error if it recurs.",
    )
