"""Turn inputs and files into release jobs.

Every check that needs no network happens here, and all problems are reported at once.
"""

# Modules that are needed only once nothing is refused, or only for an input that few jobs give, are
# imported where they are needed. This halves the time until a wrong input is refused.

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from uploader.errors import Problems
from uploader.files.android import preflight
from uploader.files.android.limits import (
    MAX_RELEASE_NAME,
    MAX_RELEASE_NOTES,
    check_size,
)
from uploader.files.android.notes import (
    inline_notes,
    release_names,
    release_notes,
    shorten,
)
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.files.mistaken_text import is_existing_file
from uploader.files.workspace import Workspace
from uploader.inputs.parsers import (
    LAST_RELEASE,
    MAX_VERSION_CODE,
    PACKAGE,
    FilesByVersion,
)
from uploader.inputs.records import ReleaseInputs
from uploader.services.base import Context, Outcome, Prepared
from uploader.services.play import SCOPE, reach
from uploader.services.play.model import STAGED, Notes, Release, TrackName
from uploader.services.play.release_job import (
    IN_THE_LIBRARY,
    ReleaseJob,
    ReleaseOptions,
    version_code,
)
from uploader.services.play.release_names import display_name
from uploader.services.play.release_words import in_words, label
from uploader.services.play.supplementary import DEBUG_INPUTS, supplementary_files
from uploader.services.play.track_names import is_internal, is_standard
from uploader.text import format_size, plural

if TYPE_CHECKING:
    from uploader.files.android.listing import StoreFiles
    from uploader.services.play.verify_goal import VerifyGoal


def prepare(inputs: ReleaseInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Return the release of each app that is asked for.

    Raises InputError with every problem that can be seen offline.
    """
    problems = Problems()
    artifacts = _inspect(files, problems)
    package = _package(inputs, artifacts, problems)
    apps = {package: (files, artifacts)}
    if len(inputs.package_name) > 1:
        apps = _by_app(inputs, files, artifacts, problems)
    inputs = _for_all_users(inputs, files, problems)
    all_codes = _version_codes(artifacts)
    jobs: list[ReleaseJob] = []
    warnings: list[str] = []
    served: set[str] = set()
    for package, (own_files, own) in apps.items():
        codes_of_others = all_codes - _version_codes(own)
        own_inputs = _for_app(inputs, package or PACKAGE, codes_of_others)
        if own and len(apps) > 1:
            own_inputs = replace(
                own_inputs, tracks=reach.fitting(own_inputs.tracks, own)
            )
        served.update(own_inputs.tracks)
        job = _job(own_inputs, package, own_files, own, workspace, problems)
        jobs.append(replace(job, apps_in_run=len(apps)))
        warnings += _warnings(own_inputs, own)
    if apps and len(artifacts) == len(files):
        _check_tracks_are_served(inputs.tracks, served, problems)
    _check_shared(jobs, problems)
    problems.raise_if_any()
    return Prepared(
        lines=tuple(_lines(jobs)),
        scopes=(SCOPE,),
        flow=_flow(jobs, artifacts),
        warnings=tuple(dict.fromkeys((*warnings, *problems.warnings))),
        apps={job.package: tuple(int(code) for code in job.codes) for job in jobs},
        unsettled=partial(_perhaps_committed, jobs),
    )


def _inspect(files: Artifacts, problems: Problems) -> Artifacts:
    """Return the artifacts with their manifests, without those that can't be read."""
    artifacts = []
    for file in files:
        artifact = problems.collect(partial(inspect, file))
        if artifact:
            artifacts.append(artifact)
    return tuple(artifacts)


def _flow(
    jobs: Sequence[ReleaseJob], artifacts: Artifacts
) -> Callable[[Context], Outcome]:
    """Return the flow that carries out the jobs."""
    # Imported only now, once nothing is refused: these modules are most of this package.
    from uploader.services.play.release import flow, flow_of_several

    if len(jobs) == 1:
        return partial(flow, jobs[0])
    order = [artifact.manifest.package for artifact in artifacts if artifact.manifest]
    return partial(flow_of_several, jobs, order)


def _perhaps_committed(
    jobs: Sequence[ReleaseJob], recall: Callable[[str], str | None]
) -> str:
    from uploader.services.play.edit_lifecycle import perhaps_committed

    return perhaps_committed(jobs, recall)


def _version_codes(artifacts: Artifacts) -> set[str]:
    return {str(version_code(artifact)) for artifact in artifacts}


def _check_tracks_are_served(
    tracks: Sequence[str], served: Collection[str], problems: Problems
) -> None:
    """Add a problem for each track that gets the release of none of the apps."""
    for track in tracks:
        if track not in served:
            what = (
                f"{track} fits none of the apps: their artifacts are for other devices."
            )
            problems.add(
                "tracks",
                what,
                "the tracks of the apps",
                code="form-factor-differs",
            )


def _lines(jobs: Sequence[ReleaseJob]) -> Iterator[str]:
    """Yield the steps of all jobs; with several apps each line names its app."""
    for job in jobs:
        prefix = ""
        if len(jobs) > 1:
            prefix = f"for {job.package}: "
        for step in _steps(job):
            yield prefix + step


_ByApp: TypeAlias = dict[str, tuple[Artifacts, Artifacts]]


def _by_app(
    inputs: ReleaseInputs,
    files: Artifacts,
    artifacts: Artifacts,
    problems: Problems,
) -> _ByApp:
    """Return the files and the artifacts of each of several apps, in the order of `package-name`.

    Only the manifest of a file says which app it belongs to, so the files of an app are those that
    can be read, and both are the same.
    """
    from uploader.services.play.several_apps import ABOUT_ONE, check_several

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
    apps: _ByApp = {}
    for name, own in by_app.items():
        if own or not files:
            apps[name] = (tuple(own), tuple(own))
        elif all_can_be_read:
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
    return apps


def _for_app(
    inputs: ReleaseInputs, package: str, codes_of_others: Collection[str]
) -> ReleaseInputs:
    """Return the inputs of one app: paths with its name, and no file for a version code that only
    other apps have.
    """

    def own_files(files: FilesByVersion) -> FilesByVersion:
        own = []
        for code, path in files:
            if code not in codes_of_others:
                own.append((code, path.replace(PACKAGE, package)))
        return tuple(own)

    return replace(
        inputs,
        whats_new_directory=inputs.whats_new_directory.replace(PACKAGE, package),
        images_directory=inputs.images_directory.replace(PACKAGE, package),
        universal_apk=inputs.universal_apk.replace(PACKAGE, package),
        mapping_file=own_files(inputs.mapping_file),
        debug_symbols=own_files(inputs.debug_symbols),
    )


def _check_shared(jobs: Sequence[ReleaseJob], problems: Problems) -> None:
    """Add a problem for each mapping or symbols file that several apps would be given."""
    owners: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        for companion in job.supplementary:
            if companion.kind in DEBUG_INPUTS and isinstance(companion.file, Artifact):
                name = DEBUG_INPUTS[companion.kind]
                owners.setdefault((name, companion.file.name), []).append(job.package)
    for (name, path), packages in owners.items():
        apps = list(dict.fromkeys(packages))
        if len(apps) > 1:
            what = (
                f"{path} belongs to one artifact, and is named for {', '.join(apps)}."
            )
            problems.add(
                name,
                what,
                f"a path with `{PACKAGE}`",
                code="companion-for-several",
            )


def _job(
    inputs: ReleaseInputs,
    package: str,
    files: Artifacts,
    artifacts: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> ReleaseJob:
    """Return the release of one app, and add what is wrong with it to the problems.

    `artifacts` are those of the `files` that can be read.
    """
    supplementary = tuple(
        supplementary_files(inputs, files, artifacts, workspace, problems)
    )
    notes, notes_left_out = _notes(inputs, artifacts, workspace, problems)
    names = _names(inputs, workspace, problems)
    listing = None
    if inputs.images_directory:
        from uploader.files.android.listing import store_listing

        listing = store_listing(inputs.images_directory, workspace, problems)
    _check_artifacts(artifacts, problems)
    preflight.check_release(artifacts, problems)
    preflight.check_certificate(artifacts, inputs.expected_certificate, problems)
    _check_release(inputs, files, problems)
    reach.check_form_factors(artifacts, inputs.tracks, problems)
    tester_tracks = _tester_tracks(inputs, problems)
    # A problem with `files` may be the reason why the name is not known.
    if not package and not files and "files" not in problems.names:
        problems.add(
            "package-name", "not given, and there is no artifact to read it from."
        )
    _check_status(inputs, files, problems)
    tracks: tuple[str, ...] = ()
    if _releases(inputs, files):
        tracks = inputs.tracks
    review_goal = None
    if inputs.wait_for:
        from uploader.services.play import review

        review_goal = review.goal_of(inputs, tracks, problems)
    apk_goal = None
    if inputs.universal_apk:
        from uploader.services.play import universal_apk

        apk_goal = universal_apk.goal_of(inputs, artifacts, workspace, problems)
    verify_goal = None
    if inputs.verify:
        verify_goal = _verify_goal(inputs, artifacts, workspace, problems)
    return ReleaseJob(
        package=package,
        artifacts=artifacts,
        tracks=tracks,
        options=_options(inputs),
        default_name=inputs.tag[:MAX_RELEASE_NAME],
        notes=notes,
        notes_left_out=notes_left_out,
        names=names,
        copy_notes=LAST_RELEASE in (inputs.whats_new, inputs.whats_new_directory),
        testers=inputs.testers,
        tester_tracks=tester_tracks,
        retained=_codes_to_retain(inputs),
        retain_last=LAST_RELEASE in inputs.version_codes_to_retain,
        supplementary=supplementary,
        listing=listing,
        prune_images=inputs.images_prune,
        promote_from=inputs.promote_from,
        promote_version_codes=inputs.promote_version_codes,
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
        review=review_goal,
        universal_apk=apk_goal,
        verify=verify_goal,
    )


def _options(inputs: ReleaseInputs) -> ReleaseOptions:
    return ReleaseOptions(
        status=inputs.status,
        fraction=inputs.user_fraction,
        name=inputs.release_name,
        priority=inputs.in_app_update_priority,
        countries=inputs.countries,
    )


def _tester_tracks(inputs: ReleaseInputs, problems: Problems) -> tuple[str, ...]:
    """Return the tracks whose testers are replaced, and check that they can have such testers."""
    if not inputs.testers:
        return ()
    from uploader.services.play import testers

    testers.check(inputs.tracks, inputs.testers, problems)
    return testers.closed_tracks(inputs.tracks)


def _verify_goal(
    inputs: ReleaseInputs,
    artifacts: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> VerifyGoal:
    """Return what is compared after the commit; what can't be is added to the problems."""
    bundles = []
    for artifact in artifacts:
        if artifact.manifest is None:
            continue
        if artifact.manifest.kind == "bundle":
            bundles.append(artifact)
        elif artifact.manifest.kind == "apk":
            what = (
                f"{artifact.name} is an APK, which Google Play delivers as it is; APKs are "
                "generated only from a bundle."
            )
            problems.add("verify", what, "together with bundles (.aab)")
    if not (inputs.common.files and inputs.commit):
        what = "no bundle is committed, so Google Play generates no APKs."
        problems.add(
            "verify", what, "with `files` and `commit: true`, or `target: play-verify`"
        )
    from uploader.services.play import verify  # only such a run needs it

    return verify.goal_of(inputs, tuple(bundles), workspace, problems)


_ByTrack: TypeAlias = Mapping[str | None, Notes]


def _notes(
    inputs: ReleaseInputs,
    artifacts: Sequence[Artifact],
    workspace: Workspace,
    problems: Problems,
) -> tuple[_ByTrack, _ByTrack]:
    """Return the release notes by track, and what was cut off of those that were too long.

    Notes for every other track are under None.
    """
    directory = inputs.whats_new_directory
    text = inputs.whats_new
    if directory and text:
        what = "release notes were given in `whats-new-directory` as well."
        problems.add("whats-new", what, "one of them")
    cuts = inputs.whats_new_overflow == "cut"
    max_length: int | None = MAX_RELEASE_NOTES
    if cuts:
        max_length = None
    notes: dict[str | None, dict[str, str]]
    if text and text != LAST_RELEASE:
        input_name = "whats-new"
        notes = {
            None: inline_notes(
                text,
                problems,
                workspace.root,
                max_length=max_length,
            )
        }
    elif directory in ("", LAST_RELEASE):
        return {}, {}
    else:
        input_name = "whats-new-directory"
        codes = _codes_with_notes(inputs, artifacts)
        notes = release_notes(
            directory,
            workspace,
            codes,
            inputs.tracks,
            problems,
            max_length=max_length,
        )
    kept: dict[str | None, Notes] = {}
    left_out: dict[str | None, Notes] = {}
    for track, texts in notes.items():
        kept[track] = tuple(texts.items())
        if cuts:
            short, rest = shorten(texts, input_name, problems)
            kept[track] = tuple(short.items())
            left_out[track] = tuple(rest.items())
    return kept, left_out


def _codes_with_notes(
    inputs: ReleaseInputs, artifacts: Sequence[Artifact]
) -> list[int]:
    """Return the version codes after which files of release notes may be named."""
    codes = [
        artifact.manifest.version_code for artifact in artifacts if artifact.manifest
    ]
    if codes:
        return codes
    named_codes = inputs.promote_version_codes or _codes_to_retain(inputs)
    return [int(code) for code in named_codes]


def _names(
    inputs: ReleaseInputs, workspace: Workspace, problems: Problems
) -> Mapping[str | None, str]:
    """Return the names of releases by track, under None that of every other track."""
    name = inputs.release_name
    if re.fullmatch(r"file:\S+", name) or is_existing_file(name, workspace.root):
        what = "is the path of a file, and would be shown as the name of the release."
        problems.add("release-name", what, "the name itself")
    directory = inputs.whats_new_directory
    inline = inputs.whats_new not in ("", LAST_RELEASE)
    if name or inline or directory in ("", LAST_RELEASE):
        return {}
    return release_names(directory, workspace, inputs.tracks, problems)


def _package(inputs: ReleaseInputs, artifacts: Artifacts, problems: Problems) -> str:
    """Return the app's package name; "" if there are several apps or the name is not known."""
    if len(inputs.package_name) > 1:
        return ""
    packages = {}
    for artifact in artifacts:
        if artifact.manifest:
            packages[artifact.manifest.package] = artifact.name
    if len(packages) > 1:
        apps = [f"{package} ({name})" for package, name in packages.items()]
        what = f"the artifacts belong to different apps: {', '.join(apps)}."
        problems.add(
            "files",
            what,
            "the artifacts of one app, or the names of all in `package-name`",
        )
    package_name = "".join(inputs.package_name)
    if not package_name:
        return next(iter(packages), "")
    for package, name in packages.items():
        if package != package_name:
            what = f"{package_name!r} was given, but {name} is {package!r}."
            problems.add("package-name", what, "the artifact's own name, or nothing")
    return package_name


def _check_artifacts(artifacts: Artifacts, problems: Problems) -> None:
    """Add a problem for each version code that Google Play does not accept, and for sizes."""
    by_code: dict[tuple[str, int], list[str]] = {}
    for artifact in artifacts:
        manifest = artifact.manifest
        if manifest is None:
            continue
        by_code.setdefault((manifest.package, manifest.version_code), []).append(
            artifact.name
        )
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
            listed = ", ".join(names)
            what = f"version code {code} occurs {len(names)} times: {listed}."
            accepted = (
                "each version code once: one of its own for the APK of each ABI, or the bundle "
                "alone"
            )
            problems.add("files", what, accepted)


def _refuse_version_code(name: str, version_code: int, problems: Problems) -> None:
    accepted = f"a versionCode from 1 to {MAX_VERSION_CODE}"
    parts = ""
    # Larger values contain a versionCodeMajor in the upper 32 bits.
    major = version_code >> 32
    if major:
        minor = version_code & 0xFFFFFFFF
        parts = f" (versionCodeMajor {major}, versionCode {minor})"
        accepted += ", and no versionCodeMajor"
    what = (
        f"{name} has version code {version_code}{parts}, more than Google Play accepts."
    )
    problems.add("files", what, accepted)


def _check_release(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Add a problem for whatever leaves open which release goes to which track, or what is looked
    at afterwards.
    """
    if inputs.require_unprotected and not inputs.verify:
        what = "what Google Play serves is not compared."
        problems.add("require-unprotected", what, "together with `verify: true`")
    _check_promotion(inputs, files, problems)
    _check_tracks(inputs, files, problems)
    _check_shard(inputs, files, problems)


def _check_promotion(
    inputs: ReleaseInputs, files: Artifacts, problems: Problems
) -> None:
    if files and inputs.promote_from:
        what = "a promotion takes the release of another track, but new files were given as well."
        problems.add("promote-from", what, "this input or `files`")
    if inputs.promote_from in inputs.tracks:
        problems.add(
            "promote-from",
            f"{inputs.promote_from} is one of `tracks`.",
            "another track",
        )
    if inputs.expected_certificate and not files:
        what = "there is no artifact to check."
        problems.add("expected-certificate", what, "together with `files`")
    if inputs.promote_version_codes and not inputs.promote_from:
        what = "the track that the versions are on is not given."
        problems.add("promote-version-codes", what, "together with `promote-from`")


def _check_tracks(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Add a problem for a release without a track, a track without a change, and a commit of
    nothing.
    """
    releasing = _releases(inputs, files)
    if releasing and not inputs.tracks:
        _check_needs_no_track(inputs, files, problems)
    if inputs.tracks and not releasing and not inputs.testers:
        what = (
            "none are given, and no other input says what should change on the track."
        )
        accepted = "artifacts, or `promote-from`, or `status` or `user-fraction` for what is there"
        problems.add("files", what, accepted)
    if releasing or inputs.tracks or not inputs.commit:
        return
    if not inputs.images_directory and not inputs.existing_edit_id:
        what = "none are given, and no other input asks for anything."
        problems.add("files", what, "artifacts (.aab, .apk)")


def _check_needs_no_track(
    inputs: ReleaseInputs, files: Artifacts, problems: Problems
) -> None:
    """Add a problem for a release without a track, unless its files only wait in an open edit."""
    if files and not inputs.commit:
        return
    what = "no track is given, and a release never goes to a track that was not named."
    accepted = (
        "internal, alpha, beta, production, wear:production, the name of a closed track"
    )
    if files:
        what += f" {IN_THE_LIBRARY}"
        accepted += "; or `commit: false` for an upload that waits in an open edit"
    problems.add("tracks", what, accepted)


def _check_shard(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Add a problem for jobs that share the files of one release and would each commit its own.

    Each commit would be of a part of the release, and would close the edits of the other jobs.
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


def _for_all_users(
    inputs: ReleaseInputs, files: Artifacts, problems: Problems
) -> ReleaseInputs:
    """Return the inputs without a fraction if it is `100%`: a release for all users has none."""
    if inputs.user_fraction != 1:
        return inputs
    if inputs.status in STAGED:
        what = (
            f"100 % means all users, and a release with status {inputs.status} is for a part of "
            "them."
        )
        problems.add(
            "user-fraction", what, "a share below 100 %, or `status: completed`"
        )
    elif not inputs.status and not _makes_release(inputs, files):
        what = "100 % alone does not complete the release that is on the track."
        problems.add("user-fraction", what, "`status: completed`, which says so")
    return replace(inputs, user_fraction=None)


def _check_status(inputs: ReleaseInputs, files: Artifacts, problems: Problems) -> None:
    """Check the status against Google's rules.

    A release that is in progress has a user fraction, a halted one may have one, no other does.
    """
    new = _makes_release(inputs, files)
    if inputs.user_fraction is None:
        _check_no_fraction(inputs, files, new=new, problems=problems)
    elif inputs.status and inputs.status not in STAGED:
        what = f"a release with status {inputs.status} has none."
        problems.add("user-fraction", what, "only with `inProgress` or `halted`")
    if not new and inputs.status == "draft":
        what = "a release that is on the track can't become a draft again."
        problems.add("status", what, "with `files`")
    _check_countries(inputs, new=new, problems=problems)


def _check_no_fraction(
    inputs: ReleaseInputs,
    files: Artifacts,
    *,
    new: bool,
    problems: Problems,
) -> None:
    """Add a problem for a status that a new release can't have without a user fraction."""
    if new and inputs.status == "inProgress":
        what = "a release with status inProgress needs one."
        problems.add("user-fraction", what, "a decimal between 0 and 1")
    if inputs.status == "halted" and (files or inputs.promote_from):
        what = (
            "only a release that is on the track can be halted; a new one can't be released as "
            "halted."
        )
        accepted = "completed, inProgress, draft; or `halted` without `files` and `promote-from`"
        problems.add("status", what, accepted)


def _check_countries(inputs: ReleaseInputs, *, new: bool, problems: Problems) -> None:
    """Add a problem for countries without a staged rollout on production."""
    if not inputs.countries:
        return
    # A release that is on the track may have its fraction.
    staged = inputs.user_fraction is not None or not new
    in_progress = inputs.status in ("", "inProgress")
    names = {TrackName(track).base for track in inputs.tracks}
    if not (staged and in_progress and names <= {"production"}):
        what = "Google Play accepts them only for a staged rollout on production."
        accepted = "with `tracks: production` and `user-fraction`"
        problems.add("countries", what, accepted, code="countries-not-allowed")


def _releases(inputs: ReleaseInputs, files: Sequence[Artifact]) -> bool:
    """Return whether the tracks get a release, or the one that is there is changed."""
    if inputs.user_fraction is not None or inputs.in_app_update_priority is not None:
        return True
    if inputs.status or inputs.release_name or inputs.countries:
        return True
    if inputs.whats_new or inputs.whats_new_directory:
        return True
    return _makes_release(inputs, files)


def _makes_release(inputs: ReleaseInputs, files: Sequence[Artifact]) -> bool:
    """Return whether the tracks get a release, rather than a change of the one that is there."""
    return bool(files or inputs.promote_from or _codes_to_retain(inputs))


def _codes_to_retain(inputs: ReleaseInputs) -> tuple[str, ...]:
    """Return the version codes to retain that are given as numbers."""
    return tuple(
        code for code in inputs.version_codes_to_retain if code != LAST_RELEASE
    )


def _warnings(inputs: ReleaseInputs, artifacts: Artifacts) -> Iterator[str]:
    """Yield a warning for each input that has no effect, or another one than is expected."""
    if inputs.common.dry_run and inputs.existing_edit_id:
        yield (
            "`existing-edit-id` is ignored: a dry run opens an edit of its own, and Google may "
            "then close yours."
        )
    if inputs.images_prune != "false" and not inputs.images_directory:
        yield "`images-prune` does nothing without `images-directory`."
    if inputs.create_tracks and all(map(is_standard, inputs.tracks)):
        yield "`create-tracks` does nothing: `tracks` has no closed track with a name of its own."
    yield from _warnings_of_names(inputs, artifacts)
    yield from _warnings_of_share(inputs)
    if inputs.status == "halted" and (artifacts or inputs.promote_from):
        yield "`status: halted`: Google Play halts only a release that is on the track already."


def _warnings_of_names(inputs: ReleaseInputs, artifacts: Artifacts) -> Iterator[str]:
    """Yield a warning if the name of the release is too long for the Play Console."""
    name = inputs.release_name
    if len(name) > MAX_RELEASE_NAME:
        yield (
            f"`release-name` has {len(name)} characters; the Play Console allows "
            f"{MAX_RELEASE_NAME}."
        )
    named_after_tag = _makes_release(inputs, artifacts) and not name
    if named_after_tag and len(inputs.tag) > MAX_RELEASE_NAME:
        yield (
            f"The tag is cut to {MAX_RELEASE_NAME} characters for the release name; set "
            "`release-name` for another."
        )


def _warnings_of_share(inputs: ReleaseInputs) -> Iterator[str]:
    """Yield a warning if a share that is meant for another track applies to internal testers."""
    if inputs.user_fraction is None or len(inputs.tracks) == 1:
        return
    for track in filter(is_internal, inputs.tracks):
        yield (
            f"`user-fraction` applies to each of the tracks: only {inputs.user_fraction * 100:g} % "
            f"of the testers on {track} would get the release, which is seldom meant. Release to "
            f"{track} in a step of its own, without `user-fraction`."
        )


def _steps(job: ReleaseJob) -> Iterator[str]:
    """Yield a line for each step of the job, in order, to be read before it begins."""
    from uploader.services.play.plan import files_of

    if job.existing_edit and not job.dry_run:
        yield f"work in edit {job.existing_edit}"
    else:
        yield f"open an edit for {job.package}"
    for artifact in job.artifacts:
        yield from _steps_of_artifact(artifact)
    for file in files_of(job):
        if file.kind != "artifact":
            yield f"with {file}"
    if job.listing:
        yield _step_of_listing(job.listing)
    if job.create_tracks:
        yield "create the closed tracks that the app does not have"
    for track in job.tracks:
        yield _step_on_track(job, track)
    for track in job.tester_tracks:
        yield f"let {', '.join(job.testers)} test track {track}"
    if job.dry_run:
        yield "validate the edit and delete it: nothing is published"
        return
    if job.commit:
        yield "commit the edit"
    else:
        yield "leave the edit open"
    yield from _steps_after_commit(job)


def _step_of_listing(listing: StoreFiles) -> str:
    """Return the synchronisation of the store listing, in words."""
    images = 0
    for of_place in listing.images.values():
        images += len(of_place)
    languages = plural(len(listing.texts), "language")
    return f"synchronise {plural(images, 'image')} and the texts of {languages}"


def _steps_after_commit(job: ReleaseJob) -> Iterator[str]:
    """Yield what follows the commit."""
    if job.universal_apk:
        yield f"fetch the universal APK once it is generated: {job.universal_apk.destination.name}"
    if job.verify:
        yield "compare what Google Play serves with what was built"
    if job.review:
        yield f"wait until the release is {job.review.state}"


def _steps_of_artifact(artifact: Artifact) -> Iterator[str]:
    """Yield the upload of an artifact, and the facts about it that matter to a release."""
    manifest = artifact.manifest
    if manifest is None:
        return
    size = format_size(artifact.size or 0)
    yield (
        f"upload {artifact.name}, {size}, version {manifest.version}, unless Google Play has it "
        "already"
    )
    # Sixteen digits are enough to distinguish keys.
    signer = preflight.fingerprint(artifact.certificate_sha256[:16])
    yield f"in {artifact.name}: signed with certificate {signer}…"
    for fact in preflight.facts(manifest):
        yield f"in {artifact.name}: {fact}"


def _step_on_track(job: ReleaseJob, track: str) -> str:
    """Return what becomes of one track, in words."""
    status = job.options.new_status
    in_status = in_words(Release.of((), status or "completed", job.options.fraction))
    codes = list(dict.fromkeys((*job.codes, *job.retained)))
    if not codes and not job.promote_from:
        step = f"update the current release on track {track}"
        if status:
            step += f" ({in_status})"
        return step
    if job.promote_from:
        promoted = "+".join(job.promote_version_codes) or "the release"
        step = f"promote {promoted} of {job.promote_from}"
    else:
        step = f"release {label(Release.of(codes), display_name(job))}"
    if job.retain_last:
        step += " with the versions of the last release"
    return f"{step} to track {track} ({in_status})"
