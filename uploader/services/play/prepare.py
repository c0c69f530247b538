"""From inputs and files to one release job: every offline check, all problems told at once, nothing sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from uploader.files.android import listing, notes, preflight
from uploader.files.android.limits import MAX_RELEASE_NAME, check_size
from uploader.files.android.preflight import facts, fingerprint
from uploader.files.artifacts import Artifact, inspect
from uploader.files.workspace import Workspace
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.inputs.parse_play import LAST_RELEASE
from uploader.services.base import Prepared
from uploader.services.play import edit_api
from uploader.services.play.job import Companion, Notes, ReleaseJob, ReleaseOptions
from uploader.services.play.release import flow
from uploader.services.play.review import goal_of
from uploader.services.play.supplementary import GivenFiles, companions
from uploader.services.play.tracks import STAGED, in_words
from uploader.services.play.universal_apk import UniversalApkGoal
from uploader.text import format_size, plural

T = TypeVar("T")


@dataclass(frozen=True)
class JobFiles:
    """Everything beside the artifacts. `notes` and `names` are by track, under None those of every other track."""

    companions: tuple[Companion, ...] = ()
    notes: Mapping[str | None, Notes] = field(default_factory=dict)
    names: Mapping[str | None, str] = field(default_factory=dict)
    listing: listing.StoreFiles | None = None


def read_job_files(inputs: Inputs, files: GivenFiles, problems: Problems) -> JobFiles:
    """Reads them all; what is wrong or odd about any of them is added to the problems."""
    return _Reader(inputs, files, problems).read()


class _Reader:
    """Reads one file or folder after the other, and goes on after a mistake."""

    def __init__(self, inputs: Inputs, files: GivenFiles, problems: Problems) -> None:
        self._inputs = inputs
        self._files = files
        self._workspace = Workspace.of(inputs)
        own = [artifact.manifest.version_code for artifact in files.readable if artifact.manifest]
        named = inputs.promote_version_codes or inputs.version_codes_to_retain
        self._codes = own or [int(code) for code in named if code != LAST_RELEASE]
        self._problems = problems

    def read(self) -> JobFiles:
        found = companions(self._inputs, self._files, self._problems)
        return JobFiles(found, self._notes(), self._names(), self._listing())

    def _warned(self, read: Callable[[], tuple[T, tuple[str, ...]]]) -> T | None:
        value, warnings = self._problems.collect(read) or (None, ())
        self._problems.warnings += warnings
        return value

    def _notes(self) -> Mapping[str | None, Notes]:
        name, text, tracks = self._inputs.whats_new_directory, self._inputs.whats_new, self._inputs.tracks
        if name and text:
            self._problems.add("whats-new", "release notes were given in `whats-new-directory` as well.", "one of them")
        if text and text != LAST_RELEASE:
            return {None: tuple((self._warned(lambda: notes.inline_notes(text)) or {}).items())}
        if name in ("", LAST_RELEASE):
            return {}
        read = self._warned(lambda: notes.release_notes(name, self._workspace, self._codes, tracks))
        return {track: tuple(texts.items()) for track, texts in (read or {}).items()}

    def _names(self) -> Mapping[str | None, str]:
        name = self._inputs.whats_new_directory
        if name in ("", LAST_RELEASE) or self._inputs.release_name:
            return {}
        return self._warned(lambda: notes.release_names(name, self._workspace, self._inputs.tracks)) or {}

    def _listing(self) -> listing.StoreFiles | None:
        name = self._inputs.images_directory
        if not name:
            return None
        return self._warned(lambda: listing.store_listing(name, self._workspace))


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """The release job that the inputs ask for. Raises InputError with every problem that can be seen offline."""
    problems = Problems()
    inspected = [problems.collect(partial(inspect, file)) for file in files]
    artifacts = tuple(artifact for artifact in inspected if artifact)
    job_files = read_job_files(inputs, GivenFiles(files, artifacts, inputs.shard), problems)
    package = _package(inputs, files, artifacts, problems)
    _check_artifacts(artifacts, problems)
    preflight.check_release(artifacts, problems)
    preflight.check_certificate(artifacts, inputs.expected_certificate, problems)
    _check_release(inputs, files, problems)
    _check_shard(inputs, files, problems)
    _check_status(inputs, files, problems)
    review, universal_apk = goal_of(inputs, problems), _universal_apk(inputs, artifacts, problems)
    problems.raise_if_any()
    job = _job(inputs, package, artifacts, job_files)
    job = replace(job, review=review, universal_apk=universal_apk)
    return Prepared(
        lines=tuple(_steps(job)),
        scopes=(edit_api.SCOPE,),
        flow=lambda _: flow(job),
        warnings=(*_warnings(inputs), *_release_warnings(inputs, artifacts), *problems.warnings),
        package=package,
    )


def _universal_apk(inputs: Inputs, artifacts: tuple[Artifact, ...], problems: Problems) -> UniversalApkGoal | None:
    if not inputs.universal_apk:
        return None
    from uploader.services.play import universal_apk  # few releases fetch anything

    return universal_apk.goal_of(inputs, artifacts, problems)


def _package(inputs: Inputs, files: tuple[Artifact, ...], artifacts: tuple[Artifact, ...], problems: Problems) -> str:
    packages = {artifact.manifest.package: artifact.name for artifact in artifacts if artifact.manifest}
    given = inputs.package_name
    if len(packages) > 1:
        named = ", ".join(f"{package} ({name})" for package, name in packages.items())
        problems.add("files", f"the artifacts belong to different apps: {named}.", "the artifacts of one app")
    for package, name in packages.items():
        if given and package != given:
            what = f"{given!r} was given, but {name} is {package!r}."
            problems.add("package-name", what, "the artifact's own name, or nothing")
    if not given and not files:
        problems.add("package-name", "not given, and there is no artifact to read it from.")
    return given or next(iter(packages), "")


def _check_artifacts(artifacts: tuple[Artifact, ...], problems: Problems) -> None:
    codes = Counter(artifact.manifest.version_code for artifact in artifacts if artifact.manifest)
    for artifact in artifacts:
        if artifact.manifest and not artifact.manifest.version_code:
            what = f"{artifact.name} has no android:versionCode, which Google Play uses to identify artifacts."
            problems.add("files", what, "an artifact whose build sets versionCode")
    for code, times in codes.items():
        if times > 1 and code:
            names = [one.name for one in artifacts if one.manifest and one.manifest.version_code == code]
            problems.add("files", f"version code {code} occurs {times} times: {', '.join(names)}.", "each version once")
    for artifact in artifacts:
        if artifact.manifest:
            check_size(artifact, artifact.manifest.kind, problems)


def _check_release(inputs: Inputs, files: tuple[Artifact, ...], problems: Problems) -> None:
    """Whether it is clear what goes where."""
    releasing = _makes_release(inputs, files) or _changes_release(inputs)
    if files and inputs.promote_from:
        what = "a promotion takes the release of another track, but new files were given as well."
        problems.add("promote-from", what, "this input or `files`")
    if inputs.promote_from in inputs.tracks:
        problems.add("promote-from", f"{inputs.promote_from} is one of `tracks`.", "another track")
    if inputs.expected_certificate and not files:
        problems.add("expected-certificate", "there is no artifact to check.", "together with `files`")
    if inputs.promote_version_codes and not inputs.promote_from:
        what = "the track that the versions are on is not given."
        problems.add("promote-version-codes", what, "together with `promote-from`")
    if releasing and not inputs.tracks and (inputs.commit or not files):
        what = "no track is given, and a release never goes to a track that was not named."
        problems.add("tracks", what, "internal, alpha, beta, production, wear:production, the name of a closed track")
    if inputs.tracks and not releasing:
        what = "none are given, and no other input says what should change on the track."
        problems.add("files", what, "artifacts, or `promote-from`, or `status` or `user-fraction` for what is there")
    if inputs.commit and not (releasing or inputs.tracks or inputs.images_directory or inputs.existing_edit_id):
        problems.add("files", "none are given, and no other input asks for anything.", "artifacts (.aab, .apk)")


def _check_shard(inputs: Inputs, files: tuple[Artifact, ...], problems: Problems) -> None:
    """Jobs that split the files of one release would each commit a part of it, against one another."""
    if files and inputs.shard and inputs.shard[1] > 1 and inputs.commit and not inputs.existing_edit_id:
        part = "{}/{}".format(*inputs.shard)
        jobs = f"each of the {inputs.shard[1]} jobs"
        what = f"this is job {part}, and {jobs} would commit only its own part of the release."
        accepted = "`1/1` for all files in one job; a part together with `existing-edit-id` or `commit: false`"
        problems.add("shard", what, accepted)


def _check_status(inputs: Inputs, files: tuple[Artifact, ...], problems: Problems) -> None:
    """Google's rules: a fraction belongs to a release in progress or halted, and one in progress has one."""
    new, status, fraction = _makes_release(inputs, files), inputs.status, inputs.user_fraction
    if fraction is not None and status and status not in STAGED:
        problems.add("user-fraction", f"a release with status {status} has none.", "only with `inProgress` or `halted`")
    if new and status == "inProgress" and fraction is None:
        problems.add("user-fraction", "a release with status inProgress needs one.", "a decimal between 0 and 1")
    if (files or inputs.promote_from) and status == "halted" and fraction is None:
        what = "only a release that is on the track can be halted; a new one can't be released as halted."
        problems.add("status", what, "completed, inProgress, draft; or `halted` without `files` and `promote-from`")
    if not new and status == "draft":
        problems.add("status", "a release that is on the track can't become a draft again.", "with `files`")
    if inputs.countries and not _may_be_rollout(inputs, new=new):
        what = "Google Play accepts them only for a staged rollout on production."
        accepted = "with `tracks: production` and `user-fraction`"
        problems.add("countries", what, accepted, code="countries-not-allowed")


def _may_be_rollout(inputs: Inputs, *, new: bool) -> bool:
    """Whether the release can be one in progress on production; one that is on the track may have its fraction."""
    production = all(track.rpartition(":")[2] == "production" for track in inputs.tracks)
    staged = inputs.user_fraction is not None or not new
    return production and staged and inputs.status in ("", "inProgress")


def _makes_release(inputs: Inputs, files: tuple[Artifact, ...]) -> bool:
    """Whether a release comes to the track, rather than a change to the one that is there."""
    return bool(files or inputs.promote_from or _retained(inputs))


def _retained(inputs: Inputs) -> tuple[str, ...]:
    """The version codes to retain that are named."""
    return tuple(code for code in inputs.version_codes_to_retain if code != LAST_RELEASE)


def _changes_release(inputs: Inputs) -> bool:
    """Whether something is said about a release: enough to change one without new files."""
    given = (inputs.status, inputs.release_name, inputs.whats_new, inputs.whats_new_directory, inputs.countries)
    return any(given) or inputs.user_fraction is not None or inputs.in_app_update_priority is not None


def _job(inputs: Inputs, package: str, artifacts: tuple[Artifact, ...], job_files: JobFiles) -> ReleaseJob:
    return ReleaseJob(
        package=package,
        artifacts=artifacts,
        tracks=inputs.tracks,
        options=_options(inputs),
        default_name=inputs.platform.tag[:MAX_RELEASE_NAME],
        notes=job_files.notes,
        names=job_files.names,
        copy_notes=LAST_RELEASE in (inputs.whats_new, inputs.whats_new_directory),
        retained=_retained(inputs),
        retain_last=LAST_RELEASE in inputs.version_codes_to_retain,
        companions=job_files.companions,
        listing=job_files.listing,
        prune_images=inputs.images_prune,
        promote_from=inputs.promote_from,
        promoted=inputs.promote_version_codes,
        replace_rollout=inputs.replace_rollout,
        reuse=inputs.on_version_conflict == "reuse",
        existing_edit=inputs.existing_edit_id,
        commit=inputs.commit,
        dry_run=inputs.dry_run,
        not_sent_for_review=inputs.changes_not_sent_for_review,
        cancel_review=inputs.changes_in_review == "cancel",
    )


def _options(inputs: Inputs) -> ReleaseOptions:
    staged = "inProgress" if inputs.user_fraction is not None else ""
    return ReleaseOptions(
        status=inputs.status or staged,
        fraction=inputs.user_fraction,
        name=inputs.release_name,
        priority=inputs.in_app_update_priority,
        countries=inputs.countries,
    )


def _warnings(inputs: Inputs) -> Iterator[str]:
    if inputs.dry_run and inputs.existing_edit_id:
        yield "`existing-edit-id` is ignored: a dry run opens an edit of its own, and Google may then close yours."
    if inputs.images_prune and not inputs.images_directory:
        yield "`images-prune` does nothing without `images-directory`."


def _release_warnings(inputs: Inputs, artifacts: tuple[Artifact, ...]) -> Iterator[str]:
    if len(inputs.release_name) > MAX_RELEASE_NAME:
        yield f"`release-name` has {len(inputs.release_name)} characters; the Play Console allows {MAX_RELEASE_NAME}."
    elif _makes_release(inputs, artifacts) and not inputs.release_name and len(inputs.platform.tag) > MAX_RELEASE_NAME:
        yield f"The tag is cut to {MAX_RELEASE_NAME} characters for the release name; set `release-name` for another."
    if (artifacts or inputs.promote_from) and inputs.status == "halted":
        yield "`status: halted`: Google Play halts only a release that is on the track already."


def _steps(job: ReleaseJob) -> Iterator[str]:
    """The job as people read it before it begins: one line for each step, in their order."""
    shared = job.existing_edit and not job.dry_run
    yield f"work in edit {job.existing_edit}" if shared else f"open an edit for {job.package}"
    for artifact in job.artifacts:
        if artifact.manifest:
            version = f"{artifact.manifest.version_name} ({artifact.manifest.version_code})".strip()
            what = f"{artifact.name}, {format_size(artifact.size or 0)}, version {version}"
            yield f"upload {what}, unless Google Play has it already"
            yield f"in {artifact.name}: signed with certificate {fingerprint(artifact.certificate_sha256)}"
            yield from (f"in {artifact.name}: {fact}" for fact in facts(artifact.manifest))
            yield from (one.step() for one in job.companions if one.version_code == artifact.manifest.version_code)
    if job.listing:
        images, languages = sum(map(len, job.listing.images.values())), len(job.listing.texts)
        yield f"synchronise {plural(images, 'image')} and the texts of {plural(languages, 'language')}"
    for track in job.tracks:
        yield _step_on_track(job, track)
    end = "commit the edit" if job.commit else "leave the edit open"
    yield "validate the edit and delete it: nothing is published" if job.dry_run else end
    if job.universal_apk and not job.dry_run:
        yield f"fetch the universal APK once it is generated: {job.universal_apk.destination.name}"
    if job.review and not job.dry_run:
        yield f"wait until the release is {job.review.state}"


def _step_on_track(job: ReleaseJob, track: str) -> str:
    options = job.options
    made = in_words({"status": options.status or "completed", "userFraction": options.fraction})
    codes = "+".join(dict.fromkeys((*job.codes, *job.retained)))
    last = " with the versions of the last release" if job.retain_last else ""
    if job.promote_from:
        what = "+".join(job.promoted) or "the release"
        return f"promote {what} of {job.promote_from}{last} to track {track} ({made})"
    if codes:
        return f"release {codes}{last} to track {track} ({made})"
    return f"update the current release on track {track}{f' ({made})' if options.status else ''}"
