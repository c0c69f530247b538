"""The target `play-verify`: compare the APKs that Google Play serves with the bundles that were
built.

With `apks` the APKs are files that are there already, such as those of a phone, and no request goes
to Google. Without it they are those that Google Play generated, of every signing key. The same
comparison can follow a release, which stays whatever the result.

The comparison itself is in `files/android/served`; here its verdicts become the outputs, the log,
the summary and the statement `uploader-served.json`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from uploader.errors import (
    ApiError,
    InputError,
    Interrupted,
    Problem,
    Problems,
    ReleaseTrouble,
    Stopped,
    UploaderError,
)
from uploader.files.android import served
from uploader.files.android.preflight import fingerprint
from uploader.files.android.served import (
    ApkReport,
    CodeTransparency,
    Finding,
    Served,
    Verdict,
)
from uploader.files.android.served_files import Identity, ManifestBudget
from uploader.files.artifacts import Artifact, Artifacts, find
from uploader.files.destination import Destination
from uploader.files.watched import Watched
from uploader.files.workspace import Workspace, printable
from uploader.inputs.records import ReleaseInputs, VerifyInputs
from uploader.services import batch
from uploader.services.base import Context, Flow, Outcome, Prepared, Section
from uploader.services.play import (
    SCOPE,
)
from uploader.services.play.client import CONSOLE
from uploader.services.play.known_errors import explain_comparison
from uploader.services.play.served_apks import WORST_FIRST, compare_served
from uploader.services.play.several_apps import App, SeveralApps
from uploader.services.play.uploaded import UploadedArtifacts
from uploader.services.play.verify_goal import VerifyGoal, Version
from uploader.tasks import rank
from uploader.text import plural

STATEMENT = "uploader-served.json"
# in-toto Attestation Framework, "Statement v1"; the predicate is described in docs/PROOF.md
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE_TYPE = "urn:google-release-uploader:served:v1"
_STATES_FIRST = ("changed", "missing", "added", "protected", "unverified", "by-rule")
_MAX_LINES = 6  # findings in the log
_MAX_ENTRIES = 3  # that an error names
_MAX_ROWS = 200  # of a table in the summary
_MAX_NAME = 200  # characters of the name of an entry that people are shown
_SHORT_FINGERPRINT = 11  # characters of a certificate's fingerprint: four bytes
_STAYS = (
    "The release is committed; only its comparison with what Google Play serves failed:"
)
_NOT_LISTED = ("by-rule",)  # states that neither the log nor the summary lists

Pair: TypeAlias = tuple[Artifact, tuple[Artifact, ...]]
"""A bundle, and the APKs that are compared with it."""


@dataclass(frozen=True)
class VerifyJob:
    """Bundles, each with the APKs of its app and version."""

    pairs: tuple[Pair, ...]
    destination: Destination
    require_unprotected: bool


@dataclass(frozen=True)
class OtherBuild:
    """The verdict on a bundle that is not the one that was uploaded with its version code, and the
    SHA-256 of the one that was.
    """

    verdict: Verdict
    uploaded_sha256: str


def prepare(inputs: VerifyInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Check the inputs, and match APKs with bundles. Raises InputError with every problem."""
    if not inputs.apks:
        return _prepare_with_login(inputs, files, workspace)
    problems = Problems()
    batch.require(problems, files=files)
    find_apks = partial(find, inputs.apks, workspace, "apks")
    apks = problems.collect(find_apks)
    pairs: tuple[Pair, ...] = ()
    if files and apks:
        pairs = _pairs(files, apks, problems)
    destination = Destination(workspace, "files", STATEMENT)
    problems.collect(destination.check)
    problems.raise_if_any()
    job = VerifyJob(pairs, destination, inputs.require_unprotected)
    lines = []
    for bundle, paired in pairs:
        count = plural(len(paired), "APK")
        lines.append(f"Compare {count} with {bundle.name}, entry by entry")
    return Prepared(
        tuple(lines),
        (),
        partial(_flow, job),
        sends_files=False,
    )


def _prepare_with_login(
    inputs: VerifyInputs, files: Artifacts, workspace: Workspace
) -> Prepared:
    """Check the inputs of a comparison with what Google Play generated."""
    problems = Problems()
    batch.require(problems, files=files)
    if inputs.common.rehearsal:
        what = "the embedded emulator has no release to compare."
        problems.add(
            "api-endpoint", what, "a rehearsal of `target: play` with `verify: true`"
        )
    goal = goal_of(inputs, files, workspace, problems)
    problems.raise_if_any()
    apps: dict[str, tuple[int, ...]] = {}
    lines = []
    for bundle, (package, code) in goal.bundles:
        apps[package] = (*apps.get(package, ()), code)
        lines.append(
            f"Compare what Google Play serves of {package} {code} with {bundle.name}"
        )
    if inputs.common.dry_run:
        count = plural(len(files), "bundle")
        flow = batch.dry_run(f"Would compare {count} with what is served.")
    else:
        flow = _flow_of(goal)
    return Prepared(tuple(lines), (SCOPE,), flow, apps=apps, sends_files=False)


def _flow_of(goal: VerifyGoal) -> Flow:
    """Return the flow for the bundles of one app, or of several."""
    order = []
    bundles: dict[str, list[tuple[Artifact, Version]]] = {}
    for bundle, version in goal.bundles:
        package, _ = version
        order.append(package)
        own = bundles.setdefault(package, [])
        own.append((bundle, version))
    if len(bundles) == 1:
        return partial(_flow_with_login, goal)
    goals = {}
    for package, own in bundles.items():
        goals[package] = replace(goal, bundles=tuple(own))
    return partial(_flow_of_several, goals, order)


def goal_of(
    inputs: VerifyInputs | ReleaseInputs,
    files: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> VerifyGoal:
    """Return what is to be compared with what Google Play serves, and add what is wrong with the
    files to the problems.
    """
    versions = _by_version(files, problems)
    destination = Destination(workspace, "files", STATEMENT)
    problems.collect(destination.check)
    bundles = tuple((bundle, version) for version, bundle in versions.items())
    return VerifyGoal(
        bundles,
        inputs.wait_deadline,
        workspace,
        destination,
        inputs.require_unprotected,
    )


class Verification:
    """The comparison of `count` bundles, of one app or of several, with what Google Play serves:
    one bundle at a time, with one statement about all of them.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        # Held while the APKs of a bundle are compared, so that few APKs are on the disk.
        self.turn = threading.Lock()
        self._lock = threading.Lock()
        self._verdicts: list[Verdict] = []

    def add(
        self,
        verdicts: Sequence[Verdict],
        destination: Destination,
        context: Context,
    ) -> bool:
        """Write the statement with these verdicts and those that were added before, and return
        whether that was done.

        As long as verdicts are missing, there is no statement unless something has changed.
        """
        with self._lock:
            self._verdicts = sorted(
                [*self._verdicts, *verdicts], key=attrgetter("package")
            )
            worst = _worst(self._verdicts)
            if worst != "changed" and len(self._verdicts) < self._count:
                return False
            context.write(destination, _statement(self._verdicts, worst))
            return True


def _flow_with_login(goal: VerifyGoal, context: Context) -> Outcome:
    """Compare what Google Play generated, and report the result."""
    _publish_codes(goal, context)
    uploaded = _find_uploaded(goal, context)
    return _compare_bundles(
        goal,
        Verification(len(goal.bundles)),
        context,
        uploaded,
    )


def _find_uploaded(goal: VerifyGoal, context: Context) -> UploadedArtifacts:
    """Return what Google Play has of the app of these bundles."""
    _, (package, _) = goal.bundles[0]
    return UploadedArtifacts(package, context)


def _flow_of_several(
    goals: Mapping[str, VerifyGoal], order: Sequence[str], context: Context
) -> Outcome:
    """Compare what Google Play generated of each of several apps, whatever the results of the
    others; `order` has the app of each bundle.
    """
    run = SeveralApps(list(goals), order, context, commits=False)
    verification = Verification(len(order))
    flows = {}
    for app in run.apps:
        goal = goals[app.package]
        flows[app] = partial(_verify_app, goal, verification, app)
    run.do_together(flows)
    headlines = [app.outcome.headline for app in run.apps if app.outcome]
    return run.end(" ".join(headlines))


def _verify_app(goal: VerifyGoal, verification: Verification, app: App) -> None:
    _publish_codes(goal, app)
    try:
        app.outcome = _compare_bundles(
            goal, verification, app, _find_uploaded(goal, app)
        )
    except (Interrupted, Stopped):
        raise
    except UploaderError as error:
        # As trouble, unlike a failure, it does not hide that another app's APKs have changed.
        app.outcome = Outcome("", trouble=error)


def _publish_codes(goal: VerifyGoal, context: Context) -> None:
    """Publish which versions the run is about."""
    codes = []
    for _, version in goal.bundles:
        codes.append(version[1])
    listed = ",".join(map(str, codes))
    context.publish(
        {
            "version-code": str(max(codes)),
            "version-codes": listed,
        }
    )


def verify_release(
    goal: VerifyGoal,
    outcome: Outcome,
    verification: Verification,
    context: Context,
) -> Outcome:
    """Compare what is served of a release, and return its outcome with the result.

    The outcome has `trouble` if something else is served than what was built, or if the comparison
    failed. What was released stays released, and an error of the comparison says so. Raises only
    Interrupted and Stopped.
    """
    try:
        served_outcome = _compare_bundles(goal, verification, context)
    except (Interrupted, Stopped):
        raise
    except UploaderError as error:
        trouble = error.with_what(f"{_STAYS} {error.what}")
        return replace(outcome, trouble=trouble)
    return replace(
        outcome,
        headline=f"{outcome.headline} {served_outcome.headline}".lstrip(),
        sections=(*outcome.sections, *served_outcome.sections),
        trouble=served_outcome.trouble,
    )


def _compare_bundles(
    goal: VerifyGoal,
    verification: Verification,
    context: Context,
    uploaded: UploadedArtifacts | None = None,
) -> Outcome:
    """Compare all bundles, and report the result.

    The APKs of each bundle are waited for separately. `uploaded` is None if this run has released
    the bundles itself. Raises the error of a bundle that could not be compared, with the advice for
    a comparison, unless the APKs of another bundle have changed.
    """
    verdicts: list[Verdict] = []
    failures: list[UploaderError] = []

    def compare_one(bundle: Artifact, version: Version) -> None:
        try:
            verdicts.append(
                compare_served(
                    bundle,
                    version,
                    goal.seconds,
                    goal.workspace,
                    context,
                    verification.turn,
                    uploaded,
                )
            )
        except (Interrupted, Stopped):
            raise
        except ApiError as error:
            failures.append(explain_comparison(error))
        except UploaderError as error:
            failures.append(error)

    context.together([partial(compare_one, *pair) for pair in goal.bundles])
    if failures and (not verdicts or _worst(verdicts) != "changed"):
        raise min(failures, key=rank)
    names = [bundle.name for bundle, _ in goal.bundles]
    verdicts.sort(key=lambda verdict: names.index(verdict.bundle))
    other_builds: tuple[OtherBuild, ...] = ()
    if uploaded:
        other_builds = tuple(_other_builds(verdicts, uploaded))
    return report(
        verdicts,
        goal.destination,
        verification,
        context,
        require_unprotected=goal.require_unprotected,
        other_builds=other_builds,
    )


def _other_builds(
    verdicts: Sequence[Verdict], uploaded: UploadedArtifacts
) -> Iterator[OtherBuild]:
    """Yield each bundle that does not match what is served, and is not the one that was
    uploaded.
    """
    for verdict in verdicts:
        if verdict.served != "changed":
            continue
        artifacts = uploaded.read() or {}
        artifact = artifacts.get(verdict.version_code)
        if artifact and artifact.sha256 not in ("", verdict.bundle_sha256):
            yield OtherBuild(verdict, artifact.sha256)


def _pairs(files: Artifacts, apks: Artifacts, problems: Problems) -> tuple[Pair, ...]:
    """Return each bundle with its APKs. What can't be paired is added to the problems."""
    bundles = _by_version(files, problems)
    if len(bundles) < len(files):
        return ()
    paired: dict[Version, list[Artifact]] = {version: [] for version in bundles}
    manifests = ManifestBudget()
    for apk in apks:
        version = problems.collect(
            partial(
                _version_of_apk,
                apk,
                bundles,
                manifests,
            )
        )
        if version is not None:
            paired[version].append(apk)
        if manifests.is_exceeded:
            break
    for version, bundle in bundles.items():
        if not paired[version] and not problems:
            package, code = version
            what = f"none is of {bundle.name} ({package} {code})."
            problems.add("apks", what, "APKs of every bundle in `files`")
    pairs = []
    for version, bundle in bundles.items():
        pairs.append((bundle, tuple(paired[version])))
    return tuple(pairs)


def _version_of_apk(
    apk: Artifact, bundles: Mapping[Version, Artifact], manifests: ManifestBudget
) -> Version:
    """Return the version of the bundle that an APK belongs to. Raises InputError if it belongs to
    none, or if that can't be found out, also once the manifests of the APKs exceed their budget.
    """
    _check_no_stream(apk, "apks")
    identity = served.identify(apk, manifests)
    version = identity.package, identity.version_code
    if version in bundles:
        return version
    candidates = []
    if not identity.version_code:
        for candidate, bundle in bundles.items():
            if served.has_slice_without_version(bundle, identity):
                candidates.append(candidate)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        what = (
            f"{apk.name} has no version code, and several bundles have its asset pack."
        )
        raise InputError(Problem("apks", what, "the bundle of one version in `files`"))
    built = ", ".join(f"{package} {code}" for package, code in bundles)
    version_of_apk = f"{identity.package} {identity.version_code}"
    what = f"{apk.name} is {version_of_apk}, but `files` is {built}."
    raise InputError(Problem("apks", what, "the APKs of the version that was built"))


def _by_version(files: Artifacts, problems: Problems) -> dict[Version, Artifact]:
    """Return the bundles by app and version. A file that is no bundle, or that has the version of
    another one, is added to the problems.
    """
    bundles: dict[Version, Artifact] = {}
    for bundle in files:
        identity = problems.collect(partial(_identify_bundle, bundle))
        if identity is None:
            continue
        version = identity.package, identity.version_code
        if version in bundles:
            first = bundles[version]
            what = f"{bundle.name} is of the same version as {first.name}."
            problems.add("files", what, "one bundle of each version")
        bundles.setdefault(version, bundle)
    return bundles


def _identify_bundle(bundle: Artifact) -> Identity:
    """Return the app and the version that a bundle names. Raises InputError."""
    _check_no_stream(bundle, "files")
    return served.identify_bundle(bundle)


def _check_no_stream(file: Artifact, input_name: str) -> None:
    """Raise InputError for a stream."""
    if file.size is None:
        what = f"{file.name} is a stream, which can't be compared."
        raise InputError(Problem(input_name, what, "files"))


def _flow(job: VerifyJob, context: Context) -> Outcome:
    """Compare, write the statement and report the result."""
    check = context.check_running
    verdicts = []
    for bundle, apks in job.pairs:
        watched = [Watched(apk, check) for apk in apks]
        verdict = served.compare(Watched(bundle, check), watched)
        if not verdict.has_base:
            verdict = verdict.with_doubt(served.WITHOUT_BASE)
        verdicts.append(verdict)
    required = job.require_unprotected
    verification = Verification(len(job.pairs))
    return report(
        verdicts,
        job.destination,
        verification,
        context,
        require_unprotected=required,
    )


def report(
    verdicts: Sequence[Verdict],
    destination: Destination,
    verification: Verification,
    context: Context,
    *,
    require_unprotected: bool,
    other_builds: Sequence[OtherBuild] = (),
) -> Outcome:
    """Write the statement of several comparisons as soon as `verification` allows it, publish the
    outputs, and return the outcome; it has `trouble` if Google Play serves something else than what
    was built.
    """
    worst = _worst(verdicts)
    outputs: dict[str, str] = {"served": worst}
    in_statement = ""
    if verification.add(verdicts, destination, context):
        outputs["served-file"] = destination.path
        in_statement = f" in {STATEMENT}"
    context.publish(outputs)
    findings = _findings_to_list(verdicts)
    for finding in findings[:_MAX_LINES]:
        context.info(
            f"{finding.file}: {finding.state}: {_short(finding.entry)} ({finding.why})."
        )
    if len(findings) > _MAX_LINES:
        more = _entries(len(findings) - _MAX_LINES, "more ")
        context.info(f"{more}{in_statement}.")
    headline = " ".join(_headline(verdict) for verdict in verdicts)
    trouble = _trouble(
        worst,
        verdicts,
        other_builds,
        require_unprotected=require_unprotected,
    )
    return Outcome(
        headline,
        sections=_sections(verdicts, findings),
        trouble=trouble,
    )


def _worst(verdicts: Sequence[Verdict]) -> Served:
    """Return the worst of the results."""
    return min((verdict.served for verdict in verdicts), key=WORST_FIRST.index)


def _headline(verdict: Verdict) -> str:
    """Return the result of one comparison, in a sentence or two."""
    app = f"{verdict.package} {printable(verdict.version)}"
    same_entries = 0
    unverified_entries = 0
    for apk in verdict.apks:
        same_entries += apk.same
        unverified_entries += apk.unverified
    same = _entries(same_entries)
    are = "is" if same_entries == 1 else "are"
    where = plural(len(verdict.apks), "APK")
    if verdict.served == "same":
        return f"{app}: the same as built: {same} of {where}."
    unverified = ""
    if unverified_entries:
        not_compared = _entries(unverified_entries)
        unverified = f" {not_compared} can't be compared."
    if verdict.served == "unverified":
        doubts = " ".join(("", *verdict.doubts))
        return f"{app}: nothing differs in {same} of {where}.{unverified}{doubts}"
    if verdict.served == "protected":
        rewritten = _entries(verdict.count("protected"))
        return (
            f"{app}: automatic protection rewrote {rewritten}; {same} of {where} "
            f"{are} the same.{unverified}"
        )
    count = verdict.count("changed", "missing", "added")
    changed = _entries(count)
    differ = "differs" if count == 1 else "differ"
    return (
        f"{app}: {changed} of {where} {differ} from the bundle; {same} {are} the "
        f"same.{unverified}"
    )


def _entries(count: int, words: str = "") -> str:
    noun = "entry" if count == 1 else "entries"
    return f"{count:,} {words}{noun}"


def _trouble(
    worst: Served,
    verdicts: Sequence[Verdict],
    other_builds: Sequence[OtherBuild],
    *,
    require_unprotected: bool,
) -> UploaderError | None:
    """Return the error that ends the run with exit code 6; None if there is none."""
    names = [verdict.bundle for verdict in verdicts if verdict.served == worst]
    bundles = ", ".join(names)
    versions = ", ".join(
        printable(verdict.version) for verdict in verdicts if verdict.served == worst
    )
    if worst == "changed" and len(other_builds) == len(names):
        return _not_uploaded(other_builds)
    if worst == "changed":
        differing = _differing(verdicts)
        return ReleaseTrouble(
            f"The served APKs of {versions} do not match {bundles}{differing}.",
            cause="They were built from other sources, changed on the way, or Google Play made a "
            "change that this program does not recognise.",
            hint="Until you know why, halt the release with `target: play` and `status: halted`, "
            f"without `files`, or in the Play Console. {STATEMENT}, whose path is the output "
            f"`served-file`, lists what differs. The Play Console: {CONSOLE}",
            code="served-changed",
        )
    if worst == "protected" and require_unprotected:
        return ReleaseTrouble(
            f"Google Play's automatic protection rewrote the code of {versions}.",
            cause="It is switched on for this release in the Play Console.",
            hint="Switch it off in the Play Console, under App integrity, and release a new "
            "version, or leave `require-unprotected` out.",
            code="served-protected",
        )
    return None


def _not_uploaded(other_builds: Sequence[OtherBuild]) -> ReleaseTrouble:
    """Return the error for bundles that are not those that were uploaded."""
    sentences = []
    digests = []
    for other in other_builds:
        verdict = other.verdict
        sentences.append(
            f"{verdict.bundle} is not the bundle that was uploaded as version "
            f"{verdict.version_code}."
        )
        digests.append(
            f"The SHA-256 of {verdict.bundle} is {verdict.bundle_sha256}, that of the uploaded "
            f"bundle {other.uploaded_sha256}."
        )
    digests.append(
        "It comes from another build, so what Google Play serves does not match it either."
    )
    return ReleaseTrouble(
        " ".join(sentences),
        cause=" ".join(digests),
        hint="Compare the file that the job which released this version uploaded: keep it as an "
        "artifact of that job. If this is that file, someone else has uploaded the version: halt "
        "the release until you know why, with `target: play` and `status: halted`, without "
        f"`files`, or in the Play Console: {CONSOLE}",
        code="served-changed",
    )


def _differing(verdicts: Sequence[Verdict]) -> str:
    """Return how many APKs differ, and in which entries, those of the most APKs first:
    `; 5 of 7 APKs differ: classes.dex (4), AndroidManifest.xml (1)`. It is "" if no APK is among
    what differs.
    """
    apks = 0
    differing = 0
    entries: Counter[str] = Counter()
    for verdict in verdicts:
        apks += len(verdict.apks)
        for apk in verdict.apks:
            if apk.changed:
                differing += 1
        for finding in verdict.findings:
            if finding.state in ("changed", "missing", "added"):
                entries[_short(finding.entry)] += 1
    if not differing:
        return ""
    differ = "differs" if differing == 1 else "differ"
    most = []
    for entry, count in entries.most_common(_MAX_ENTRIES):
        most.append(f"{entry} ({count})")
    if len(entries) > _MAX_ENTRIES:
        most.append("…")
    where = plural(apks, "APK")
    listed = ", ".join(most)
    return f"; {differing} of {where} {differ}: {listed}"


def _findings_to_list(verdicts: Sequence[Verdict]) -> list[Finding]:
    """Return the findings that the log and the summary list, the worst first."""
    findings: list[Finding] = []
    for verdict in verdicts:
        findings += [
            finding for finding in verdict.findings if finding.state not in _NOT_LISTED
        ]
    return sorted(findings, key=lambda finding: _STATES_FIRST.index(finding.state))


def _sections(
    verdicts: Sequence[Verdict], findings: Sequence[Finding]
) -> tuple[Section, ...]:
    """Return the tables of the summary."""
    apks: list[ApkReport] = []
    for verdict in verdicts:
        apks += verdict.apks
    # The decisive columns come first, since a wide table is cut off on the right.
    header = (
        "APK",
        "Changed",
        "Protected",
        "Unverified",
        "Same",
        "Added by Google Play",
        "For",
        "Certificate (SHA-256)",
    )
    shown_apks = apks[:_MAX_ROWS]
    rows = _without_zeros(tuple(map(_row, shown_apks)))
    sections = []
    if findings:
        shown_findings = findings[:_MAX_ROWS]
        differences = Section(
            _title("Differences", len(findings)),
            ("File", "Entry", "State", "Why"),
            tuple(map(_row_of_finding, shown_findings)),
        )
        sections.append(differences)
    compared = Section(_title("APKs compared", len(apks)), header, rows)
    sections.append(compared)
    transparent = [verdict for verdict in verdicts if verdict.transparency]
    sections.extend(map(_transparency, transparent))
    return tuple(sections)


def _without_zeros(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return the rows with empty cells in each column that is zero in all of them, which the
    summary leaves out.
    """
    columns = []
    for column in zip(*rows, strict=True):
        if set(column) == {"0"}:
            columns.append(("",) * len(column))
        else:
            columns.append(column)
    return tuple(zip(*columns, strict=True))


def _row_of_finding(finding: Finding) -> tuple[str, ...]:
    return finding.file, _short(finding.entry), finding.state, finding.why


def _title(text: str, count: int) -> str:
    if count <= _MAX_ROWS:
        return text
    return f"{text} (the first {_MAX_ROWS} of {count:,})"


def _row(apk: ApkReport) -> tuple[str, ...]:
    certificate = "not proven"
    if apk.certificate:
        # The statement has all of it.
        beginning = fingerprint(apk.certificate)[:_SHORT_FINGERPRINT]
        certificate = f"{beginning}…"
    return (
        apk.name,
        str(apk.changed),
        str(apk.protected),
        str(apk.unverified),
        str(apk.same),
        str(apk.by_rule),
        apk.devices,
        certificate,
    )


def _transparency(verdict: Verdict) -> Section:
    transparency = verdict.transparency or CodeTransparency()
    state = transparency.problem
    if not state:
        files = plural(transparency.listed, "file")
        state = f"holds for {files}"
    unlisted = plural(len(transparency.unlisted), "served file")
    certificate = ""
    if transparency.certificate:
        certificate = fingerprint(transparency.certificate)
    return Section(
        "Code transparency",
        ("Bundle", "State", "Not listed", "SHA-256 of its certificate"),
        ((verdict.bundle, state, unlisted, certificate),),
    )


def _short(name: str) -> str:
    shown = printable(name)
    if len(shown) > _MAX_NAME:
        return f"{shown[:_MAX_NAME]}…"
    return shown


# The statement


def _statement(verdicts: Sequence[Verdict], worst: Served) -> bytes:
    """Return the in-toto statement: its subjects are the bundles and the APKs, and the predicate
    has every finding.
    """
    subjects: list[Mapping[str, object]] = []
    for verdict in verdicts:
        subjects.append(_subject(verdict.bundle, verdict.bundle_sha256))
        subjects.extend(_subject(apk.name, apk.sha256) for apk in verdict.apks)
    statement = {
        "_type": _STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": _PREDICATE_TYPE,
        "predicate": {
            "served": worst,
            "comparisons": [_comparison(verdict) for verdict in verdicts],
        },
    }
    return json.dumps(statement, indent=1).encode() + b"\n"


def _subject(name: str, sha256: str) -> Mapping[str, object]:
    return {"name": name, "digest": {"sha256": sha256}}


def _comparison(verdict: Verdict) -> Mapping[str, object]:
    transparency: Mapping[str, object] | None = None
    if verdict.transparency:
        transparency = _code_transparency(verdict.transparency)
    return {
        "served": verdict.served,
        "package": verdict.package,
        "versionCode": verdict.version_code,
        "bundle": verdict.bundle,
        "apks": [_apk(apk) for apk in verdict.apks],
        "notGiven": verdict.not_given,
        "valuesNotGiven": verdict.values_not_given,
        "protection": list(verdict.protection),
        "codeTransparency": transparency,
        "findings": [_finding(finding) for finding in verdict.findings],
        "findingsLeftOut": verdict.left_out,
    }


def _code_transparency(transparency: CodeTransparency) -> Mapping[str, object]:
    return {
        "certificateSha256": transparency.certificate,
        "problem": transparency.problem,
        "listed": transparency.listed,
        "unlisted": [printable(entry) for entry in transparency.unlisted],
    }


def _finding(finding: Finding) -> Mapping[str, object]:
    return {
        "file": finding.file,
        "entry": printable(finding.entry),
        "state": finding.state,
        "why": printable(finding.why),
    }


def _apk(apk: ApkReport) -> Mapping[str, object]:
    return {
        "name": apk.name,
        "kind": apk.kind,
        "split": printable(apk.split),
        "devices": printable(apk.devices),
        "entries": apk.entries,
        "same": apk.same,
        "byRule": apk.by_rule,
        "unverified": apk.unverified,
        "protected": apk.protected,
        "changed": apk.changed,
        "certificateSha256": apk.certificate,
        "certificateProblem": apk.certificate_problem,
    }
