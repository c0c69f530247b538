"""Compares the APKs that Google Play serves with the bundle that was built, entry by entry.

Google Play makes the APKs anew: it compresses, aligns and signs them itself, turns the manifest and
the resources into another encoding, and gives a device only what it needs. So zips are never
compared, only the contents of their entries, and an entry only counts as missing if the APKs that
were given should have it. An entry that may rightly differ is unverified. The reference is
bundletool (github.com/google/bundletool), which makes APKs of bundles for Google Play;
docs/PROOF.md says what follows from a comparison.

`served_files` reads the bundle and the APKs, `served_apk` compares one APK, and this module comes
to a verdict on all of them. The files are untrusted: nothing is unpacked to the disk, and contents
are digested as they are read.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal, Protocol

from uploader.errors import InputError, Problem
from uploader.files.android import served_manifest
from uploader.files.android.apk_signature import ApkSigner, verify_signer
from uploader.files.android.archive import (
    MalformedFile,
    check_unambiguous,
    input_errors,
)
from uploader.files.android.code_transparency import (
    IN_BUNDLE,
    InvalidTransparency,
    Transparency,
    read_transparency,
)
from uploader.files.android.listed_apk import (
    ListedApk,
    is_slice_without_version,
    objection,
)
from uploader.files.android.manifest_merge import is_asset_pack
from uploader.files.android.manifest_rules import Kind
from uploader.files.android.resource_values import UnreadableTable
from uploader.files.android.served_apk import (
    LIBRARY,
    PROTECTION_LIBRARY,
    PROTECTION_STORE,
    ApkChecker,
    DeviceSet,
    Needed,
    State,
    configuration_of,
)
from uploader.files.android.served_files import (
    BUILT_TABLE,
    Bundle,
    Identity,
    ManifestBudget,
    Members,
    Module,
    Tables,
    identity_of,
    is_fused,
)
from uploader.files.android.served_table import lacking_values

Served = Literal["same", "protected", "changed", "unverified"]

MAX_APKS = 20_000  # of one comparison; fifty features in a hundred languages have 5,000
_MAX_NAME = 1000  # characters that are kept of the name of an entry
_MAX_WHY = 5000  # characters
MAX_FINDINGS = 20_000  # findings that are kept; the others are only counted
_CHANGES: tuple[State, ...] = ("changed", "added", "missing")
MAX_ALIKE = 8  # APKs of one split name that are put into sets of their own
WITHOUT_BASE = (
    "no APK with the app's own code was compared: none is a base, a standalone or a "
    "universal APK"
)


class Source(Protocol):
    """A file to compare: its name in messages, and how it is opened."""

    @property
    def name(self) -> str:
        """What people know it by."""

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning."""


@dataclass(frozen=True)
class Finding:
    """One entry that is not the same. `file` is the APK that it is in, or the bundle if no APK has
    it; `why` is a phrase.
    """

    file: str
    entry: str
    state: State
    why: str


@dataclass(frozen=True)
class ApkReport:
    """The result for one APK. The counts are of entries; `devices` says which devices it is for.

    `certificate` is the SHA-256 of the certificate that signed it. It is empty if that is not
    proven; `certificate_problem` then says why.
    """

    name: str
    sha256: str
    kind: Kind
    split: str
    devices: str
    entries: int = 0
    same: int = 0
    by_rule: int = 0
    unverified: int = 0
    protected: int = 0
    changed: int = 0
    certificate: str = ""
    certificate_problem: str = ""


@dataclass(frozen=True)
class CodeTransparency:
    """What the bundle's code transparency file proves. `problem` says why it proves nothing;
    `unlisted` are the served dex files and libraries that it does not list, as `APK: entry`.
    """

    certificate: str = ""
    problem: str = ""
    listed: int = 0
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    `served` is `same` only if every entry of every APK was compared, and at least one of each.
    `left_out` counts findings beyond MAX_FINDINGS. `not_given` counts the entries of the bundle
    that belong to devices whose APKs were not given, and `values_not_given` the values of its
    resource tables. `doubts` are sentences about what was not compared at all.
    """

    served: Served
    bundle: str
    bundle_sha256: str
    package: str
    version_code: int
    apks: tuple[ApkReport, ...]
    findings: tuple[Finding, ...]
    left_out: int = 0
    not_given: int = 0
    values_not_given: int = 0
    protection: tuple[str, ...] = ()
    transparency: CodeTransparency | None = None
    doubts: tuple[str, ...] = ()
    version_name: str = ""

    @property
    def version(self) -> str:
        """Return the version's name and code, `1.4.2 (42)`; the code alone where it has no name."""
        if not self.version_name:
            return str(self.version_code)
        return f"{self.version_name} ({self.version_code})"

    @property
    def has_base(self) -> bool:
        """Whether an APK with the app's own code was compared."""
        return any(apk.kind in ("base", "standalone") for apk in self.apks)

    def count(self, *states: State) -> int:
        """Return how many findings have one of these states."""
        count = 0
        for finding in self.findings:
            if finding.state in states:
                count += 1
        return count

    def with_doubt(self, why: str) -> Verdict:
        """Return the verdict, which can't be `same`, because something was not compared at all.
        `why` is a phrase.
        """
        served = self.served
        if served == "same":
            served = "unverified"
        finding = Finding(self.bundle, "", "unverified", why)
        initial = why[:1].upper()
        sentence = f"{initial}{why[1:]}."
        return replace(
            self,
            served=served,
            findings=(finding, *self.findings),
            doubts=(*self.doubts, sentence),
        )


def compare(
    bundle: Source,
    apks: Sequence[Source],
    universal: Collection[str] = (),
    tables: Tables | None = None,
    whole: Collection[str] = (),
    listed: Mapping[str, ListedApk] | None = None,
) -> Verdict:
    """Compare APKs with the bundle that they should be made of.

    Give the APKs of one device, or of one of Google Play's variants: what the bundle has and none
    of them has counts as missing. `whole` are the names of APKs that need no others, `universal` of
    those that are for every device, since an APK does not say so itself. To compare a bundle with
    several sets of APKs, give the same `tables`, empty at first, so that the bundle's are read only
    once. `listed` says what APKs should be, by their names.

    Raises InputError for a file that is not what it should be, of another app or version, or not
    the one that is listed (problem `files` for the bundle, `apks` for an APK).
    """
    count = len(apks)
    if count > MAX_APKS:
        what = (
            f"{count:,} APKs are too many: at most {MAX_APKS:,} are compared at once."
        )
        raise InputError(Problem("apks", what))
    with input_errors(bundle.name), bundle.reader() as file:
        comparison = _Comparison(
            bundle.name,
            Bundle(file, tables),
            universal,
            whole,
            listed or {},
        )
        identities = [comparison.identify(apk) for apk in apks]
        comparison.plan(identities)
        for apk, identity in zip(apks, identities, strict=True):
            comparison.add(apk, identity)
        return comparison.verdict()


def identify(apk: Source, manifests: ManifestBudget) -> Identity:
    """Return what an APK says it is. Raises InputError (problem `apks`), also if the manifests of
    the APKs that were identified before leave too little of the budget.
    """
    with input_errors(apk.name, "apks"), apk.reader() as file:
        members = Members(file)
        manifests.spend(members)
        return identity_of(members.manifest())


def identify_bundle(bundle: Source) -> Identity:
    """Return the package and the version code of a bundle. Raises InputError (problem `files`)."""
    with input_errors(bundle.name), bundle.reader() as file:
        return Bundle(file).identity


def has_slice_without_version(bundle: Source, apk: Identity) -> bool:
    """Return whether an APK that has no version code is a slice of one of the bundle's asset packs.
    Raises InputError (problem `files`).
    """
    with input_errors(bundle.name), bundle.reader() as file:
        opened = Bundle(file)
        is_of_app = opened.identity.package == apk.package
        return is_of_app and is_slice_without_version(apk, opened)


class _Comparison:
    """The comparison of one bundle with its APKs, one after the other."""

    def __init__(
        self,
        name: str,
        bundle: Bundle,
        universal: Collection[str],
        whole: Collection[str],
        listed: Mapping[str, ListedApk],
    ) -> None:
        self._name = name
        self._bundle = bundle
        self._universal = universal
        self._whole = whole
        self._listed = listed
        self._reports: list[ApkReport] = []
        self._findings: list[Finding] = []
        self._left_out = 0
        self._left_out_states: set[State] = set()
        self._sets = [DeviceSet()]
        # by split name the sets of each APK of that name that is not compared yet
        self._sets_of_split: dict[str, list[list[DeviceSet]]] = {}
        self._missing_entries: set[str] = set()
        self._not_given = 0
        self._values_not_given = 0
        self._fused = {"base"}  # modules that became part of a base
        self._min_sdk = served_manifest.min_sdk(bundle.base)
        self._protection: list[str] = []
        self._transparency: Transparency | None = None
        self._transparency_problem = ""
        self._unlisted: list[str] = []
        self._read_transparency()

    def identify(self, apk: Source) -> Identity:
        """Return what an APK is. Raises InputError for one of another app or version, and for one
        that is not as listed.
        """
        identity = identify(apk, self._bundle.tables.manifests)
        self._check_version(apk, identity)
        listed = self._listed.get(apk.name)
        if listed:
            problem = objection(listed, identity, self._bundle)
            if problem:
                what = f"{apk.name} {problem}"
                raise InputError(Problem("apks", what))
            if listed.kind == "split" and not identity.split:
                identity = replace(identity, kind="base")
        # A feature may be a standalone APK of its own, beside that of the base.
        is_whole = apk.name in self._whole and not identity.split
        if is_whole or apk.name in self._universal:
            identity = replace(identity, kind="standalone", module="base")
        if identity.kind == "standalone":
            # Nothing else is needed, whatever the APK says.
            identity = replace(identity, splits_required=False)
        return identity

    def _check_version(self, apk: Source, identity: Identity) -> None:
        """Raise InputError for an APK of another app or version than the bundle."""
        built = self._bundle.identity
        if identity.package == built.package:
            if identity.version_code == built.version_code:
                return
            if is_slice_without_version(identity, self._bundle):
                return
        what = (
            f"{apk.name} is {identity.package} {identity.version_code}, but {self._name} is "
            f"{built.package} {built.version_code}."
        )
        raise InputError(
            Problem("apks", what, "the APKs of the version that was built")
        )

    def plan(self, identities: Sequence[Identity]) -> None:
        """Look at what all APKs are, before they are compared.

        Configurations of a base also have files of the modules that were merged into it. A device
        has only one of several APKs with the same split name. So each of these is put into a set of
        its own, and an APK that is the only one of its name belongs to all sets.
        """
        bases: list[Identity] = []
        count_of_split: Counter[str] = Counter()
        for identity in identities:
            if identity.kind == "standalone":
                continue
            count_of_split[identity.split] += 1
            if identity.kind == "base":
                bases.append(identity)
                self._fused.update(identity.fused)
        if bases:
            self._min_sdk = min(identity.min_sdk for identity in bases)
        most = max(count_of_split.values(), default=1)
        if most > MAX_ALIKE:
            why = f"{most:,} APKs have one split name, and one may lack what another one has"
            self._find(Finding(self._name, "", "unverified", why))
        set_count = min(most, MAX_ALIKE)
        self._sets = [DeviceSet() for _ in range(set_count)]
        for split, count in count_of_split.items():
            self._sets_of_split[split] = self._share_sets(count)

    def _share_sets(self, count: int) -> list[list[DeviceSet]]:
        """Return the sets of each of so many APKs with the same split name. If there are more sets
        than APKs, the last APK has several; if there are fewer, the last set has several APKs.
        """
        last_apk = count - 1
        last_set = len(self._sets) - 1
        shares: list[list[DeviceSet]] = [[] for _ in range(count)]
        for number in range(max(count, len(self._sets))):
            share = shares[min(number, last_apk)]
            device_set = self._sets[min(number, last_set)]
            share.append(device_set)
        return shares

    # One APK

    def add(self, apk: Source, identity: Identity) -> None:
        """Compare one APK. Raises InputError."""
        with input_errors(apk.name, "apks"), apk.reader() as file:
            check_unambiguous(file)
            members = Members(file)
            signer, certificate_problem = _signer(file)
            device_sets = self._device_sets(apk.name, identity)
            modules = self._modules(identity)
            for device_set in device_sets:
                self._note_given(device_set, identity, modules, members)
            min_sdk = self._min_sdk
            if identity.kind == "standalone":
                min_sdk = identity.min_sdk
            checker = ApkChecker(
                members,
                self._bundle,
                modules,
                identity,
                min_sdk,
                certificates={signer.sha256, *signer.rotated_from},
            )
            counts = self._check(apk.name, members, checker)
            for device_set in device_sets:
                device_set.contents.add(checker.contents)
            self._compare_transparency(apk.name, members)
            report = ApkReport(
                apk.name,
                members.file_sha256(),
                identity.kind,
                identity.split,
                _devices(identity, members),
                entries=len(members.archive.members),
                certificate=signer.sha256,
                certificate_problem=certificate_problem,
            )
        if identity.kind == "standalone":
            missing = self._missing(apk.name, device_sets[0])
            counts["missing"] += missing.count
            self._not_given += missing.not_given
            self._values_not_given += missing.values_not_given
        self._reports.append(_with_counts(report, counts))

    def _device_sets(self, name: str, identity: Identity) -> list[DeviceSet]:
        """Return the sets that an APK belongs to."""
        if identity.kind == "standalone":
            return [DeviceSet(is_universal=name in self._universal)]
        return self._sets_of_split[identity.split].pop()

    def _note_given(
        self,
        device_set: DeviceSet,
        identity: Identity,
        modules: Sequence[Module],
        members: Members,
    ) -> None:
        """Note what a set should have now that it has an APK."""
        if not identity.is_master:
            devices = _devices(identity, members)
            device_set.configurations.add((identity.module, devices))
            return
        for module in modules:
            device_set.masters[module.name] = identity
        if device_set.is_universal:
            for module in self._bundle.modules.values():
                if is_fused(module) and not is_asset_pack(module.manifest):
                    device_set.masters[module.name] = identity

    def _check(
        self,
        name: str,
        members: Members,
        checker: ApkChecker,
    ) -> Counter[State]:
        """Compare the entries of an APK, and return how many are in each state."""
        counts: Counter[State] = Counter()
        for entry in members:
            state, why = checker.check(entry)
            counts[state] += 1
            if state != "same":
                self._find(Finding(name, entry, state, why))
        for path, entry in checker.lacking:
            checker.contents.lacking.add(entry)
            counts["missing"] += 1
            why = "the resource table names it, but the APK does not have it"
            self._find(Finding(name, path, "missing", why))
        for line in checker.protection:
            if line not in self._protection:
                self._protection.append(line)
        return counts

    def _modules(self, identity: Identity) -> list[Module]:
        """Return the modules whose entries an APK may have."""
        names: Iterable[str] = (identity.module,)
        if identity.kind in ("standalone", "base"):
            names = ("base", *identity.fused)
        elif identity.module == "base":
            names = ("base", *sorted(self._fused))
        names_once = dict.fromkeys(names)
        modules = self._bundle.modules
        return [modules[name] for name in names_once if name in modules]

    def _find(self, finding: Finding) -> None:
        """Add a finding; one too many is only counted."""
        if len(self._findings) >= MAX_FINDINGS:
            self._left_out += 1
            self._left_out_states.add(finding.state)
            return
        # A hostile name may have megabytes, and is in many findings.
        entry = finding.entry[:_MAX_NAME]
        why = finding.why[:_MAX_WHY]
        self._findings.append(replace(finding, entry=entry, why=why))

    # What no APK has

    def _missing(self, file: str, device_set: DeviceSet) -> _Missing:
        """Find what a set of APKs lacks. `file` is the APK, or the bundle for several APKs."""
        lacking = _Missing()
        for name, identity in device_set.masters.items():
            module = self._bundle.modules[name]
            needed = Needed(module, device_set, identity, self._bundle.config)
            for path, entries in module.entries.items():
                plain = [entry for entry in entries if entry not in module.assets]
                if not plain or device_set.is_any_settled(plain):
                    continue
                if not needed.is_needed(path):
                    lacking.not_given += 1
                elif self._find_missing(file, plain[0]):
                    lacking.count += 1
            for entry, asset in module.assets.items():
                if device_set.is_settled(entry):
                    continue
                if not needed.is_needed_asset(asset):
                    lacking.not_given += 1
                elif self._find_missing(file, entry):
                    lacking.count += 1
            if not device_set.contents.unread_tables:
                self._find_missing_values(
                    file,
                    device_set,
                    module,
                    identity,
                    lacking,
                )
        return lacking

    def _find_missing(self, file: str, entry: str) -> bool:
        """Add a finding for a missing entry, and return whether there was none from another set."""
        why = "is in the bundle and in none of the APKs that should have it"
        if file == self._name:
            if entry in self._missing_entries:
                return False
            self._missing_entries.add(entry)
            if len(self._sets) > 1:
                why = (
                    "is in the bundle, and one of the APKs that should have it lacks it"
                )
        self._find(Finding(file, entry, "missing", why))
        return True

    def _find_missing_values(
        self,
        file: str,
        device_set: DeviceSet,
        module: Module,
        identity: Identity,
        lacking: _Missing,
    ) -> None:
        """Add what a set of APKs lacks of the resource table of a module, as one finding."""
        entry = f"{module.name}/{BUILT_TABLE}"
        try:
            table = self._bundle.table(module.name)
            if table is None:
                return
            self._bundle.tables.check()
        except UnreadableTable as error:
            if module.name in device_set.contents.values:
                why = f"what the APKs lack of a resource table that {error}"
                self._find(Finding(file, entry, "unverified", why))
            return
        value_count = len(table)
        self._bundle.tables.spend(value_count)
        marks = device_set.contents.marks(module.name, value_count)
        given = device_set.given(module.name, identity, self._bundle.config)
        values = lacking_values(table, marks, given)
        lacking.values_not_given += values.not_given
        if values.missing_count:
            lacking.count += 1
            self._find(Finding(file, entry, "missing", values.why))

    # Code transparency

    def _read_transparency(self) -> None:
        """Verify the bundle's code transparency file, if it has one, and compare it with the
        bundle.
        """
        members = self._bundle.members
        if IN_BUNDLE not in members:
            return
        try:
            data = members.archive.read(IN_BUNDLE)
            transparency = read_transparency(data)
        except InvalidTransparency as error:
            self._transparency_problem = str(error)
        else:
            self._transparency = transparency
            self._transparency_problem = self._unlike(transparency)
        if self._transparency_problem:
            self._find(
                Finding(
                    self._name,
                    IN_BUNDLE,
                    "changed",
                    self._transparency_problem,
                )
            )

    def _unlike(self, transparency: Transparency) -> str:
        """Return which code of the bundle is not as listed, or missing on one of the two sides;
        empty if there is none.
        """
        members = self._bundle.members
        code: set[str] = set()
        for module in self._bundle.modules:
            code.update(_code_of(module, members))
        entries = code | transparency.files.keys()
        for entry in sorted(entries):
            actual = None
            if entry in code:
                actual = members.sha256(entry).hex()
            if transparency.files.get(entry) != actual:
                return f"does not fit the bundle: {entry}"
        return ""

    def _compare_transparency(self, name: str, members: Members) -> None:
        """Find the code in an APK that the list does not have."""
        if self._transparency is None or self._transparency_problem:
            return
        digests = set(self._transparency.files.values())
        for entry in members:
            if not _is_code(entry):
                continue
            digest = members.sha256(entry).hex()
            if digest not in digests:
                self._unlisted.append(f"{name}: {entry}")

    # The result

    def verdict(self) -> Verdict:
        """Return the result, once every APK was compared."""
        missing = [self._missing(self._name, device_set) for device_set in self._sets]
        # If there are several sets, a device has one of them.
        self._not_given += min(lacking.not_given for lacking in missing)
        self._values_not_given += min(lacking.values_not_given for lacking in missing)
        findings = [self._with_protection(finding) for finding in self._findings]
        reports = [self._recount(report, findings) for report in self._reports]
        identity = self._bundle.identity
        return Verdict(
            served=self._result(findings, reports),
            bundle=self._name,
            bundle_sha256=self._bundle.members.file_sha256(),
            package=identity.package,
            version_code=identity.version_code,
            version_name=identity.version_name,
            apks=tuple(reports),
            findings=tuple(findings),
            left_out=self._left_out,
            not_given=self._not_given,
            values_not_given=self._values_not_given,
            protection=tuple(self._protection),
            transparency=self._code_transparency(),
        )

    def _code_transparency(self) -> CodeTransparency | None:
        """Return what the code transparency file proves; None if the bundle has none."""
        if IN_BUNDLE not in self._bundle.members:
            return None
        unlisted = tuple(self._unlisted)
        if self._transparency is None:
            return CodeTransparency(
                problem=self._transparency_problem, unlisted=unlisted
            )
        return CodeTransparency(
            certificate=self._transparency.certificate,
            problem=self._transparency_problem,
            listed=len(self._transparency.files),
            unlisted=unlisted,
        )

    def _with_protection(self, finding: Finding) -> Finding:
        """Return the finding as one of automatic protection if the APKs have code of that and the
        finding is what protection does. Without such code a manifest that names it was changed.
        """
        state = finding.state
        if not self._protection:
            if state == "protected":
                state = "changed"
            return replace(finding, state=state)
        if state in _CHANGES and _is_done_by_protection(finding):
            state = "protected"
        why = finding.why
        if state == "protected":
            why = f"automatic protection: {why}"
        return replace(finding, state=state, why=why)

    def _recount(self, report: ApkReport, findings: Sequence[Finding]) -> ApkReport:
        """Return the report with the entries of automatic protection counted as such."""
        if not self._protection and not report.protected:
            return report
        changed = 0
        protected = 0
        for finding in findings:
            if finding.file != report.name:
                continue
            if finding.state in _CHANGES:
                changed += 1
            elif finding.state == "protected":
                protected += 1
        return replace(report, changed=changed, protected=protected)

    def _result(
        self,
        findings: Sequence[Finding],
        reports: Sequence[ApkReport],
    ) -> Served:
        """Return the result of the comparison."""
        states = {finding.state for finding in findings}
        states |= self._left_out_states
        if not states.isdisjoint(_CHANGES):
            return "changed"
        if self._protection:
            return "protected"
        # Protection without its code is a change.
        if "protected" in states:
            return "changed"
        if self._left_out or "unverified" in states or not reports:
            return "unverified"
        for report in reports:
            if not report.same:
                return "unverified"
        return "same"


def _is_done_by_protection(finding: Finding) -> bool:
    """Return whether automatic protection makes such a change: it rewrites every dex file, and adds
    a library and a file with what it took out of the code.
    """
    if finding.entry.endswith(".dex"):
        return True
    if finding.state != "added":
        return False
    if PROTECTION_STORE.fullmatch(finding.entry):
        return True
    return PROTECTION_LIBRARY.fullmatch(finding.entry) is not None


@dataclass
class _Missing:
    """What a set of APKs lacks: `count` entries that it should have, and how many entries and
    values that are for other devices.
    """

    count: int = 0
    not_given: int = 0
    values_not_given: int = 0


def _with_counts(report: ApkReport, counts: Mapping[State, int]) -> ApkReport:
    """Return the report with the counts of its entries."""
    changed = 0
    for state in _CHANGES:
        changed += counts.get(state, 0)
    return replace(
        report,
        same=counts.get("same", 0),
        by_rule=counts.get("by-rule", 0),
        unverified=counts.get("unverified", 0),
        protected=counts.get("protected", 0),
        changed=changed,
    )


def _code_of(module: str, members: Members) -> Iterator[str]:
    """Yield the entries of a module that a code transparency file lists (bundletool,
    CodeTransparencyFactory).
    """
    libraries = f"{module}/lib/"
    dex_files = f"{module}/dex/"
    for name in members:
        is_library = name.startswith(libraries) and name.endswith(".so")
        if is_library or name.startswith(dex_files):
            yield name


def _is_code(entry: str) -> bool:
    """Return whether an entry of an APK is a dex file or a native library."""
    if entry.endswith(".dex"):
        return True
    if not entry.endswith(".so"):
        return False
    return LIBRARY.match(entry) is not None


def _signer(file: BinaryIO) -> tuple[ApkSigner, str]:
    """Return who signed an APK, verified over all of it. If that is not proven, return an empty
    signer and the reason.
    """
    try:
        return verify_signer(file), ""
    except MalformedFile as error:
        return ApkSigner(""), str(error)


def _devices(identity: Identity, members: Members) -> str:
    """Return which devices an APK is for, in a few words."""
    if identity.kind == "configuration":
        return configuration_of(identity)
    if identity.kind == "feature":
        return f"feature {identity.module}"
    if identity.kind == "base":
        return "all"
    abis = set()
    for name in members:
        library = LIBRARY.match(name)
        if library:
            abis.add(library[1])
    if not abis:
        return "all"
    return ", ".join(sorted(abis))
