"""From inputs and files to one release job: every offline check, all problems told at once, nothing
sent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from uploader.errors import Problems
from uploader.files.android import preflight
from uploader.files.android.limits import MAX_RELEASE_NAME, MAX_RELEASE_NOTES, check_size
from uploader.files.android.listing import store_listing
from uploader.files.android.notes import (
    inline_notes,
    release_names,
    release_notes,
    shortened,
)
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.files.mistaken_text import is_existing_file
from uploader.files.workspace import Workspace
from uploader.inputs.parsers import LAST_RELEASE, MAX_VERSION_CODE, PACKAGE, FilesByVersion
from uploader.inputs.records import ReleaseInputs
from uploader.services.base import Prepared
from uploader.services.play import client, plan, reach, review, testers, universal_apk, verify
from uploader.services.play.edit_lifecycle import perhaps_committed
from uploader.services.play.model import STAGED, Notes, Release
from uploader.services.play.publish import IN_THE_LIBRARY
from uploader.services.play.release import flow, flow_of_several
from uploader.services.play.release_job import ReleaseJob, ReleaseOptions, version_code
from uploader.services.play.release_names import told_name
from uploader.services.play.several_apps import ABOUT_ONE, check_several
from uploader.services.play.supplementary import DEBUG_INPUTS, supplementary_files
from uploader.services.play.tracks import in_words, is_standard, named
from uploader.text import format_size, plural


def prepare(inputs: ReleaseInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Return the release of each app that is asked for.

    Raises InputError with every problem that can be seen offline.
    """
    problems = Problems()
    inspected = [problems.collect(partial(inspect, file)) for file in files]
    artifacts = tuple(artifact for artifact in inspected if artifact)
    apps = {_package(inputs, artifacts, problems): (files, artifacts)}
    if len(inputs.package_name) > 1:
        apps = _by_app(inputs, files, artifacts, problems)
    all_codes = _version_codes(artifacts)
    inputs = _for_all_users(inputs, files, problems)
    jobs: list[ReleaseJob] = []
    warnings: list[str] = []
    served: set[str] = set()
    for package, (own_files, own) in apps.items():
        others = all_codes - _version_codes(own)
        own_inputs = _for_app(inputs, package or PACKAGE, others)
        if own and len(apps) > 1:
            own_inputs = replace(own_inputs, tracks=reach.fitting(own_inputs.tracks, own))
        served.update(own_inputs.tracks)
        job = _job(own_inputs, package, own_files, own, workspace, problems)
        jobs.append(replace(job, apps_in_run=len(apps)))
        warnings += _warnings(own_inputs, own)
    if apps and len(artifacts) == len(files):
        _check_tracks_are_served(inputs.tracks, served, problems)
    _check_shared(jobs, problems)
    problems.raise_if_any()
    order = [artifact.manifest.package for artifact in artifacts if artifact.manifest]
    return Prepared(
        lines=tuple(_lines(jobs)),
        scopes=(client.SCOPE,),
        flow=partial(flow, jobs[0]) if len(jobs) == 1 else partial(flow_of_several, jobs, order),
        warnings=tuple(dict.fromkeys((*warnings, *problems.warnings))),
        apps={job.package: tuple(map(int, job.codes)) for job in jobs},
        unsettled=partial(perhaps_committed, jobs),
    )


def _version_codes(artifacts: Artifacts) -> set[str]:
    return {str(version_code(artifact)) for artifact in artifacts}


def _check_tracks_are_served(
    tracks: Sequence[str], served: Collection[str], problems: Problems
) -> None:
    """Add a problem for each track that gets the release of none of the apps."""
    for track in tracks:
        if track not in served:
            what = (
                f"{track} is a track for none of the apps, whose artifacts are for other devices."
            )
            problems.add("tracks", what, "the tracks of the apps", code="form-factor-differs")


def _lines(jobs: Sequence[ReleaseJob]) -> Iterator[str]:
    """Return the steps of all jobs; of several apps each line names its app."""
    for job in jobs:
        for step in _steps(job):
            yield step if len(jobs) == 1 else f"for {job.package}: {step}"


_ByApp: TypeAlias = dict[str, tuple[Artifacts, Artifacts]]


def _by_app(
    inputs: ReleaseInputs, files: Artifacts, artifacts: Artifacts, problems: Problems
) -> _ByApp:
    """Return the files of each of several apps, in the order of `package-name`.

    They are there twice, as the files and as the artifacts of the app: all of them can be read.
    """
    by_app: dict[str, list[Artifact]] = {name: [] for name in inputs.package_name}
    for artifact in artifacts:
        if artifact.manifest is None:
            continue
        package = artifact.manifest.package
        if package in by_app:
            by_app[package].append(artifact)
        else:
            what = f"{artifact.name} belongs to {package}, which `package-name` does not name."
            problems.add("files", what, "the artifacts of the apps that are named")
    all_can_be_read = len(artifacts) == len(files)
    for name, own in by_app.items():
        if files and not own and all_can_be_read:
            what = f"none of the files belongs to {name}."
            problems.add("package-name", what, "only the apps of the files")
    if inputs.promote_version_codes:
        problems.add("promote-version-codes", *ABOUT_ONE)
    if inputs.images_directory and PACKAGE not in inputs.images_directory:
        problems.warn(
            f"`images-directory` has no `{PACKAGE}`: every app gets the same store texts "
            "and images."
        )
    check_several(inputs, problems)
    return {name: (tuple(own), tuple(own)) for name, own in by_app.items() if own or not files}


def _for_app(inputs: ReleaseInputs, package: str, others: Collection[str]) -> ReleaseInputs:
    """The inputs of one app: its name in its paths, and no file for a version code that only other
    apps have.
    """

    def of(files: FilesByVersion) -> FilesByVersion:
        return tuple(
            (code, path.replace(PACKAGE, package)) for code, path in files if code not in others
        )

    return replace(
        inputs,
        whats_new_directory=inputs.whats_new_directory.replace(PACKAGE, package),
        images_directory=inputs.images_directory.replace(PACKAGE, package),
        universal_apk=inputs.universal_apk.replace(PACKAGE, package),
        mapping_file=of(inputs.mapping_file),
        debug_symbols=of(inputs.debug_symbols),
    )


def _check_shared(jobs: Sequence[ReleaseJob], problems: Problems) -> None:
    """Adds a problem for each mapping or symbols file that several apps would be given."""
    owners: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        for one in job.supplementary:
            if isinstance(one.file, Artifact) and one.kind in DEBUG_INPUTS:
                owners.setdefault((DEBUG_INPUTS[one.kind], one.file.name), []).append(job.package)
    for (name, path), packages in owners.items():
        if len(set(packages)) > 1:
            what = (
                f"{path} belongs to one artifact, and is named for "
                f"{', '.join(dict.fromkeys(packages))}."
            )
            problems.add(name, what, f"a path with `{PACKAGE}`", code="companion-for-several")


def _job(
    inputs: ReleaseInputs,
    package: str,
    files: Artifacts,
    artifacts: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> ReleaseJob:
    """The release of one app, of whose `files` the `artifacts` can be read; what is wrong with it
    is added.
    """
    supplementary = tuple(supplementary_files(inputs, files, artifacts, workspace, problems))
    notes, notes_left_out = _notes(inputs, artifacts, workspace, problems)
    names = _names(inputs, workspace, problems)
    listing = (
        store_listing(inputs.images_directory, workspace, problems)
        if inputs.images_directory
        else None
    )
    _check_artifacts(artifacts, problems)
    preflight.check_release(artifacts, problems)
    preflight.check_certificate(artifacts, inputs.expected_certificate, problems)
    _check_release(inputs, files, problems)
    reach.check_form_factors(artifacts, inputs.tracks, problems)
    if inputs.testers:
        testers.check(inputs.tracks, inputs.testers, problems)
    # which would bring the name with them
    if not package and not files and "files" not in problems.names:
        problems.add("package-name", "not given, and there is no artifact to read it from.")
    _check_status(inputs, files, problems)
    priority, countries = inputs.in_app_update_priority, inputs.countries
    options = ReleaseOptions(
        inputs.status, inputs.user_fraction, inputs.release_name, (), priority, countries
    )
    tracks = inputs.tracks if _releases(inputs, files) else ()
    return ReleaseJob(
        package=package,
        artifacts=artifacts,
        tracks=tracks,
        options=options,
        default_name=inputs.tag[:MAX_RELEASE_NAME],
        notes=notes,
        notes_left_out=notes_left_out,
        names=names,
        copy_notes=LAST_RELEASE in (inputs.whats_new, inputs.whats_new_directory),
        testers=inputs.testers,
        tester_tracks=testers.closed(inputs.tracks) if inputs.testers else (),
        retained=_retained(inputs),
        retain_last=LAST_RELEASE in inputs.version_codes_to_retain,
        supplementary=supplementary,
        listing=listing,
        prune_images=inputs.images_prune,
        promote_from=inputs.promote_from,
        promoted=inputs.promote_version_codes,
        create_tracks=inputs.create_tracks,
        replace_rollout=inputs.replace_rollout,
        reuse=inputs.on_version_conflict == "reuse",
        existing_edit=inputs.existing_edit_id,
        commit=inputs.commit,
        dry_run=inputs.common.dry_run,
        rehearsal=inputs.common.rehearsal,
        not_sent_for_review=inputs.changes_not_sent_for_review,
        cancel_review=inputs.changes_in_review == "cancel",
        lasting_state=inputs.lasting_state,
        review=review.goal_of(inputs, tracks, problems) if inputs.wait_for else None,
        universal_apk=universal_apk.goal_of(inputs, artifacts, workspace, problems)
        if inputs.universal_apk
        else None,
        verify=_verify_goal(inputs, artifacts, workspace, problems) if inputs.verify else None,
    )


def _verify_goal(
    inputs: ReleaseInputs, artifacts: Artifacts, workspace: Workspace, problems: Problems
) -> verify.VerifyGoal:
    """Return what is compared after the commit; what can't be is added to the problems."""
    for artifact in artifacts:
        if artifact.manifest and artifact.manifest.kind == "apk":
            what = (
                f"{artifact.name} is an APK, which Google Play delivers as it is; APKs are "
                "generated only from a bundle."
            )
            problems.add("verify", what, "together with bundles (.aab)")
    if not (inputs.common.files and inputs.commit):
        what = "no bundle is committed, so Google Play generates no APKs."
        problems.add("verify", what, "with `files` and `commit: true`, or `target: play-verify`")
    bundles = tuple(
        artifact
        for artifact in artifacts
        if artifact.manifest and artifact.manifest.kind == "bundle"
    )
    return verify.goal_of(inputs, bundles, workspace, problems)


_ByTrack: TypeAlias = Mapping[str | None, Notes]


def _notes(
    inputs: ReleaseInputs, artifacts: Sequence[Artifact], workspace: Workspace, problems: Problems
) -> tuple[_ByTrack, _ByTrack]:
    """Release notes by track, and what was left out of those that were too long; under None those
    of every other track.
    """
    directory, text = inputs.whats_new_directory, inputs.whats_new
    if directory and text:
        problems.add(
            "whats-new", "release notes were given in `whats-new-directory` as well.", "one of them"
        )
    cuts = inputs.whats_new_overflow == "cut"
    max_length = None if cuts else MAX_RELEASE_NOTES
    input_name = "whats-new-directory"
    notes: dict[str | None, dict[str, str]]
    if text and text != LAST_RELEASE:
        input_name = "whats-new"
        notes = {None: inline_notes(text, problems, workspace.root, max_length=max_length)}
    elif directory in ("", LAST_RELEASE):
        return {}, {}
    else:
        named = inputs.promote_version_codes or _retained(inputs)
        codes = [one.manifest.version_code for one in artifacts if one.manifest] or [
            int(code) for code in named
        ]
        notes = release_notes(
            directory, workspace, codes, inputs.tracks, problems, max_length=max_length
        )
    if not cuts:
        return {track: tuple(texts.items()) for track, texts in notes.items()}, {}
    kept: dict[str | None, Notes] = {}
    left_out: dict[str | None, Notes] = {}
    for track, texts in notes.items():
        short, rest = shortened(texts, input_name, problems)
        kept[track] = tuple(short.items())
        left_out[track] = tuple(rest.items())
    return kept, left_out


def _names(
    inputs: ReleaseInputs, workspace: Workspace, problems: Problems
) -> Mapping[str | None, str]:
    """Names of releases by track, under None that of every other track."""
    if re.fullmatch(r"file:\S+", inputs.release_name) or is_existing_file(
        inputs.release_name, workspace.root
    ):
        what = "is the path of a file, and would be shown as the name of the release."
        problems.add("release-name", what, "the name itself")
    directory = inputs.whats_new_directory
    inline = inputs.whats_new not in ("", LAST_RELEASE)
    if inputs.release_name or inline or directory in ("", LAST_RELEASE):
        return {}
    return release_names(directory, workspace, inputs.tracks, problems)


def _package(inputs: ReleaseInputs, artifacts: Artifacts, problems: Problems) -> str:
    packages = {
        artifact.manifest.package: artifact.name for artifact in artifacts if artifact.manifest
    }
    given = "".join(inputs.package_name[:1])
    if len(inputs.package_name) > 1:
        return ""
    if len(packages) > 1:
        named = ", ".join(f"{package} ({name})" for package, name in packages.items())
        what = f"the artifacts belong to different apps: {named}."
        problems.add(
            "files", what, "the artifacts of one app, or the names of all in `package-name`"
        )
    for package, name in packages.items():
        if given and package != given:
            what = f"{given!r} was given, but {name} is {package!r}."
            problems.add("package-name", what, "the artifact's own name, or nothing")
    return given or next(iter(packages), "")


def _check_artifacts(artifacts: Artifacts, problems: Problems) -> None:
    by_code: dict[tuple[str, int], list[str]] = {}
    for artifact in artifacts:
        if manifest := artifact.manifest:
            by_code.setdefault((manifest.package, manifest.version_code), []).append(artifact.name)
            check_size(artifact, manifest.kind, problems)
            if not manifest.version_code:
                what = (
                    f"{artifact.name} has no android:versionCode, which Google Play uses to "
                    "identify artifacts."
                )
                problems.add("files", what, "an artifact whose build sets versionCode")
            elif manifest.version_code > MAX_VERSION_CODE:
                _refuse_version_code(artifact.name, manifest.version_code, problems)
    for (_, code), names in by_code.items():
        if code and len(names) > 1:
            what = f"version code {code} occurs {len(names)} times: {', '.join(names)}."
            problems.add("files", what, "each version once")


def _refuse_version_code(name: str, version_code: int, problems: Problems) -> None:
    accepted = f"a versionCode from 1 to {MAX_VERSION_CODE}"
    parts = ""
    # Larger values contain a versionCodeMajor in the upper 32 bits.
    if major := version_code >> 32:
        parts = f" (versionCodeMajor {major}, versionCode {version_code & 0xFFFFFFFF})"
        accepted += ", and no versionCodeMajor"
    problems.add(
        "files",
        f"{name} has version code {version_code}{parts}, more than Google Play accepts.",
        accepted,
    )


def _check_release(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Add a problem for whatever leaves open what goes where, or what is looked at afterwards."""
    if inputs.require_unprotected and not inputs.verify:
        what = "what is served is not looked at."
        problems.add("require-unprotected", what, "together with `verify: true`")
    _check_promotion(inputs, files, problems)
    _check_tracks(inputs, files, problems)
    _check_shard(inputs, files, problems)


def _check_promotion(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    if files and inputs.promote_from:
        what = "a promotion takes the release of another track, but new files were given as well."
        problems.add("promote-from", what, "this input or `files`")
    if inputs.promote_from in inputs.tracks:
        problems.add("promote-from", f"{inputs.promote_from} is one of `tracks`.", "another track")
    if inputs.expected_certificate and not files:
        what = "there is no artifact to check."
        problems.add("expected-certificate", what, "together with `files`")
    if inputs.promote_version_codes and not inputs.promote_from:
        what = "the track that the versions are on is not given."
        problems.add("promote-version-codes", what, "together with `promote-from`")


def _check_tracks(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    releasing = _releases(inputs, files)
    if releasing and not inputs.tracks and (inputs.commit or not files):
        what = "no track is given, and a release never goes to a track that was not named."
        accepted = "internal, alpha, beta, production, wear:production, the name of a closed track"
        if files:
            what += f" {IN_THE_LIBRARY}"
            accepted += "; or `commit: false` for an upload that waits in an open edit"
        problems.add("tracks", what, accepted)
    if inputs.tracks and not releasing and not inputs.testers:
        what = "none are given, and no other input says what should change on the track."
        problems.add(
            "files",
            what,
            "artifacts, or `promote-from`, or `status` or `user-fraction` for what is there",
        )
    asked = releasing or inputs.tracks or inputs.images_directory or inputs.existing_edit_id
    if inputs.commit and not asked:
        what = "none are given, and no other input asks for anything."
        problems.add("files", what, "artifacts (.aab, .apk)")


def _check_shard(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Jobs that split the files of one release would each commit a part of it, against one
    another.
    """
    if not files or not inputs.common.shard:
        return
    number, jobs = inputs.common.shard
    if jobs > 1 and inputs.commit and not inputs.existing_edit_id:
        what = (
            f"this is job {number}/{jobs}, and each of the {jobs} jobs would commit only its own "
            "part of the release."
        )
        accepted = (
            "`1/1` for all files in one job; a part together with `existing-edit-id` or `commit: "
            "false`"
        )
        problems.add("shard", what, accepted)


def _for_all_users(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> ReleaseInputs:
    """The inputs with no fraction where it was given as `100%`: a release for all users has
    none.
    """
    if inputs.user_fraction != 1:
        return inputs
    if inputs.status in STAGED:
        what = (
            f"100 % means all users, and a release with status {inputs.status} is for a part of "
            "them."
        )
        problems.add("user-fraction", what, "a share below 100 %, or `status: completed`")
    elif not inputs.status and not _makes_release(inputs, files):
        what = "100 % alone does not say that the release that is on the track goes to all users."
        problems.add("user-fraction", what, "`status: completed`, which says so")
    return replace(inputs, user_fraction=None)


def _check_status(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Google's rules: a fraction belongs to a release in progress or halted, and one in progress
    has one.
    """
    new = _makes_release(inputs, files)
    status, fraction = inputs.status, inputs.user_fraction
    if fraction is not None and status and status not in STAGED:
        what = f"a release with status {status} has none."
        problems.add("user-fraction", what, "only with `inProgress` or `halted`")
    if new and status == "inProgress" and fraction is None:
        what = "a release with status inProgress needs one."
        problems.add("user-fraction", what, "a decimal between 0 and 1")
    if (files or inputs.promote_from) and status == "halted" and fraction is None:
        what = (
            "only a release that is on the track can be halted; a new one can't be released as "
            "halted."
        )
        problems.add(
            "status",
            what,
            "completed, inProgress, draft; or `halted` without `files` and `promote-from`",
        )
    if not new and status == "draft":
        what = "a release that is on the track can't become a draft again."
        problems.add("status", what, "with `files`")
    _check_countries(inputs, new=new, problems=problems)


def _check_countries(inputs: ReleaseInputs, *, new: bool, problems: Problems) -> None:
    """Add a problem for countries without a staged rollout on production."""
    if not inputs.countries:
        return
    # A release that is on the track may have its fraction.
    staged = inputs.user_fraction is not None or not new
    production = all(track.rpartition(":")[2] == "production" for track in inputs.tracks)
    if not (staged and production and inputs.status in ("", "inProgress")):
        what = "Google Play accepts them only for a staged rollout on production."
        accepted = "with `tracks: production` and `user-fraction`"
        problems.add("countries", what, accepted, code="countries-not-allowed")


def _releases(inputs: ReleaseInputs, files: Sequence[Artifact]) -> bool:
    """Whether the tracks get a release, or the one that is there is changed."""
    said = (
        inputs.status,
        inputs.release_name,
        inputs.whats_new,
        inputs.whats_new_directory,
        inputs.countries,
    )
    numbers = (inputs.user_fraction, inputs.in_app_update_priority)
    return (
        any(said) or any(number is not None for number in numbers) or _makes_release(inputs, files)
    )


def _makes_release(inputs: ReleaseInputs, files: Sequence[Artifact]) -> bool:
    """Whether a release comes to the track, rather than a change to the one that is there."""
    return bool(files or inputs.promote_from or _retained(inputs))


def _retained(inputs: ReleaseInputs) -> tuple[str, ...]:
    """The version codes to retain that are named."""
    return tuple(code for code in inputs.version_codes_to_retain if code != LAST_RELEASE)


def _warnings(inputs: ReleaseInputs, artifacts: Artifacts) -> Iterator[str]:
    if inputs.common.dry_run and inputs.existing_edit_id:
        yield (
            "`existing-edit-id` is ignored: a dry run opens an edit of its own, and Google may "
            "then close yours."
        )
    if inputs.images_prune != "false" and not inputs.images_directory:
        yield "`images-prune` does nothing without `images-directory`."
    if inputs.create_tracks and all(map(is_standard, inputs.tracks)):
        yield "`create-tracks` does nothing: `tracks` has no closed track with a name of its own."
    if len(inputs.release_name) > MAX_RELEASE_NAME:
        yield (
            f"`release-name` has {len(inputs.release_name)} characters; the Play Console allows "
            f"{MAX_RELEASE_NAME}."
        )
    elif (
        _makes_release(inputs, artifacts)
        and not inputs.release_name
        and len(inputs.tag) > MAX_RELEASE_NAME
    ):
        yield (
            f"The tag is cut to {MAX_RELEASE_NAME} characters for the release name; set "
            "`release-name` for another."
        )
    if (artifacts or inputs.promote_from) and inputs.status == "halted":
        yield "`status: halted`: Google Play halts only a release that is on the track already."


def _steps(job: ReleaseJob) -> Iterator[str]:
    """Return the job as people read it before it begins: a line for each step, in order."""
    if job.existing_edit and not job.dry_run:
        yield f"work in edit {job.existing_edit}"
    else:
        yield f"open an edit for {job.package}"
    for artifact in job.artifacts:
        yield from _steps_of_artifact(artifact)
    for file in plan.files_of(job):
        if file.kind != "artifact":
            yield f"with {file}"
    if job.listing:
        images = plural(sum(map(len, job.listing.images.values())), "image")
        languages = plural(len(job.listing.texts), "language")
        yield f"synchronise {images} and the texts of {languages}"
    if job.create_tracks:
        yield "create the closed tracks that the app does not have"
    for track in job.tracks:
        yield _step_on_track(job, track)
    for track in job.tester_tracks:
        yield f"let {', '.join(job.testers)} test track {track}"
    if job.dry_run:
        yield "validate the edit and delete it: nothing is published"
        return
    yield "commit the edit" if job.commit else "leave the edit open"
    yield from _steps_after_commit(job)


def _steps_after_commit(job: ReleaseJob) -> Iterator[str]:
    """Return what follows the commit."""
    if job.universal_apk:
        yield f"fetch the universal APK once it is generated: {job.universal_apk.destination.name}"
    if job.verify:
        yield "compare what Google Play serves with what was built"
    if job.review:
        yield f"wait until the release is {job.review.state}"


def _steps_of_artifact(artifact: Artifact) -> Iterator[str]:
    """Return the upload of an artifact, and what is known of it."""
    manifest = artifact.manifest
    if manifest is None:
        return
    size = format_size(artifact.size or 0)
    what = f"{artifact.name}, {size}, version {manifest.version}"
    yield f"upload {what}, unless Google Play has it already"
    # Sixteen digits are enough to tell one key from another.
    signer = preflight.fingerprint(artifact.certificate_sha256[:16])
    yield f"in {artifact.name}: signed with certificate {signer}…"
    for fact in preflight.facts(manifest):
        yield f"in {artifact.name}: {fact}"


def _step_on_track(job: ReleaseJob, track: str) -> str:
    status = job.options.new_status or "completed"
    made = in_words(Release.of((), status, job.options.fraction))
    codes = list(dict.fromkeys((*job.codes, *job.retained)))
    if not (codes or job.promote_from):
        return (
            "update the current release on track "
            f"{track}{f' ({made})' if job.options.new_status else ''}"
        )
    promoted = f"promote {'+'.join(job.promoted) or 'the release'} of {job.promote_from}"
    new = named(Release.of(codes), told_name(job))
    last = " with the versions of the last release" if job.retain_last else ""
    return f"{promoted if job.promote_from else f'release {new}'}{last} to track {track} ({made})"
