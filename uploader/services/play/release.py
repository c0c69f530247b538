"""One release from the first call to the last, as a story: edit, comparison, artifacts, listing, tracks, commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, ReleaseRefused, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Context, Flow, Outcome, Section, Steps, Upload
from uploader.services.play import edit_lifecycle, plan, reach, status, testers, track_merge, tracks
from uploader.services.play import listing as store_listing
from uploader.services.play.edit_lifecycle import Event, ReleaseEdit, Stage, listed_artifacts
from uploader.services.play.edit_requests import CONSOLE, OCTETS, Release
from uploader.services.play.known_errors import EDIT_GONE, REVIEW_BY_HAND, VERSION_TAKEN, conflict, explained, find
from uploader.services.play.plan import Changes, FileChange, OtherTrack
from uploader.services.play.release_job import ReleaseJob, SupplementaryFile, version_code
from uploader.services.play.review import awaited, live_versions
from uploader.services.play.track_merge import TrackChange
from uploader.services.play.universal_apk import fetched
from uploader.text import capitalised

MAX_REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours
STORE = "https://play.google.com/store/apps/details?id="
TO_SEND = "committed; send it for review in the Play Console"


def flow(job: ReleaseJob, context: Context) -> Flow:
    """Carries the job out; every refusal leaves with its cause and its hint."""
    try:
        outcome = yield from in_an_edit(job, context, _release)
        if job.universal_apk and not job.dry_run:
            outcome = yield from fetched(job.package, job.codes, job.universal_apk, outcome, context)
        if job.review is None or job.dry_run or outcome.trouble:
            return outcome
        return (yield from awaited(job.package, job.tracks, job.codes, job.review, outcome, context))
    except ApiError as refused:
        raise explained(refused) from None


def in_an_edit(job: ReleaseJob, context: Context, work: Callable[[ReleaseEdit], Flow]) -> Flow:
    """Does the work in an edit, from the beginning in a fresh one where others close it; settles what becomes of it."""
    edit = yield from edit_lifecycle.opened(job, context)
    for replay in count():
        try:
            return (yield from work(edit))
        except Exception as error:
            if isinstance(error, ApiError) and find(error) is EDIT_GONE and edit.state.open:
                edit.apply(Event.CLOSED)
            if replay == MAX_REPLAYS or not edit.state.own or edit.state.stage is not Stage.GONE:
                yield from edit_lifecycle.settle(edit, error)
                raise
            what = error.what if isinstance(error, UploaderError) else str(error)
            context.warning(f"{what.rstrip('.')}. Starting over in a fresh edit.")
        edit = yield from edit_lifecycle.replaced(edit)
    raise AssertionError  # the loop has no other end


def _release(edit: ReleaseEdit) -> Flow:
    job, context, codes = edit.job, edit.context, edit.job.codes
    if job.tracks or not edit.state.own:
        edit.seen = yield from tracks.all_tracks(edit.api)
    if edit.state.commit is edit_lifecycle.CommitKnowledge.UNKNOWN:
        yield from _resolve_doubt(edit)
    changes, there, listing = yield from _compare(edit)
    planned = (replace(section, title=f"Planned: {section.title}") for section in plan.sections(changes, "Planned"))
    context.show(f"Changes: {job.package}", plan.lines(changes), tuple(planned))
    if job.dry_run:
        context.publish({"plan": plan.plan_output(changes)})
    for artifact in job.artifacts:
        yield from _put_artifact(edit, artifact, there.get(version_code(artifact)))
        for one in job.supplementary:
            if one.version_code == version_code(artifact) and one.file != "bundle":
                yield from _put_supplementary(edit, one)
    _publish_versions(context, codes)
    if listing:
        yield from store_listing.synchronise(edit, listing)
    if job.tracks and not edit.state.own:  # other jobs may have written to its tracks meanwhile
        edit.seen = yield from tracks.all_tracks(edit.api)
    updates = list[TrackChange]()
    for track in job.tracks:
        updates.append((yield from track_merge.update_track(edit, track)))
        codes = codes or tracks.codes(updates[-1].release)
    yield from testers.replace(edit, changes.testers)
    _publish_versions(context, codes)
    if share := "".join(tracks.user_fraction(one.release) for one in updates[-1:]):
        context.publish({"user-fraction": share})
    outcome = yield from _finish(edit, codes, updates, replace(changes, tracks=tuple(updates)))
    if job.commit and not job.dry_run and updates:
        known = status.outputs({one.track: tuple((live, "") for live in one.after) for one in updates})
        context.publish({"status": known["status"]})  # the other values are of all that is there, not of this release
    return outcome


def _publish_versions(context: Context, codes: tuple[str, ...]) -> None:
    """The outputs about versions; a version code is also the id of its artifact."""
    if codes:
        context.publish({"version-code": max(codes, key=int), "version-codes": ",".join(codes)}, codes)


def _resolve_doubt(edit: ReleaseEdit) -> Steps[None]:
    """Looks for the effect of a commit in the fresh edit that replaced the committed one."""
    evident = any(purpose.startswith(("artifact:", "track:")) for purpose in edit.changes)
    if evident and (yield from _is_live(edit)):
        edit.apply(Event.SEEN_LIVE)
    else:
        edit.apply(Event.NOT_SEEN)
        edit.changes.clear()  # they were lost with the edit


def _is_live(edit: ReleaseEdit) -> Steps[bool]:
    """Whether Play has every artifact with the same bytes, and every track holds what this run would put there."""
    known = (yield from listed_artifacts(edit)) if edit.job.artifacts else {}
    for artifact in edit.job.artifacts:
        entry = known.get(version_code(artifact))
        if entry is None or edit.context.sha256(artifact) != _sha256(entry):
            return False
    for track in edit.job.tracks:
        update = yield from track_merge.plan_update(edit, track)
        if not track_merge.settled(update.now, update.after):
            return False
    return True


def _compare(edit: ReleaseEdit) -> Steps[tuple[Changes, dict[int, FileResult], store_listing.ListingDifference | None]]:
    """What the run changes, and the artifacts that it need not send. Raises what would end it later, if it is known."""
    job, listing, there = edit.job, None, dict[int, FileResult]()
    updates = yield from track_merge.plan_updates(edit)
    for update in updates:
        reach.check_upgrade(update)
    known = (yield from listed_artifacts(edit)) if job.artifacts else {}
    for artifact in job.artifacts:
        if entry := known.get(version_code(artifact)):
            there[version_code(artifact)] = _same(edit, artifact, entry)
    if job.listing:
        listing = yield from store_listing.compare(edit, job.listing)
    changes = Changes(
        job,
        tracks=tuple(updates),
        files=tuple(_files(edit, there)),
        texts=listing.text_changes if listing else (),
        images=tuple(place.change for place in listing.places if place.change) if listing else (),
        testers=(yield from testers.compare(edit)),
        reach=(*reach.shadowed(updates, edit.seen), *reach.left_behind(job, updates, edit.context)),
        others=(yield from _others(edit)),
        remarks=tuple(_remarks(edit)),
    )
    for line in changes.reach:
        edit.context.warning(f"{capitalised(line)}.")
    return changes, there, listing


def _files(edit: ReleaseEdit, there: Mapping[int, FileResult]) -> Iterator[FileChange]:
    """Artifacts, and what goes with them; what an earlier run put into the same edit is not on Google Play yet."""
    for artifact in edit.job.artifacts:
        code = version_code(artifact)
        listed = code in there and f"artifact:{code}" not in edit.uncommitted
        yield FileChange("artifact", artifact.name, code, listed, artifact.certificate_sha256)
        for one in edit.job.supplementary:
            if one.version_code == code:
                own = artifact if one.file == "bundle" else one.file
                name = own.name if isinstance(own, Artifact) else f"version {own}"
                yield FileChange(one.kind, name, code, inside=one.file == "bundle")


def _others(edit: ReleaseEdit) -> Steps[tuple[OtherTrack, ...]]:
    """The tracks of a shared edit beside those of the run."""
    found = []
    for track, held in () if edit.state.own else edit.seen.items():
        if held and track not in edit.job.tracks:
            found.append(OtherTrack(track, held, (yield from live_versions(edit.job.package, track))))
    return tuple(found)


def _remarks(edit: ReleaseEdit) -> Iterator[str]:
    name, earlier = f"edit {edit.id}", "what an earlier run of this job changed in the store listing"
    if edit.state.own and "listing" in edit.uncommitted:
        yield f"{earlier} of {name} already, and did not commit"
    if not edit.state.own:
        yield f"texts, images, files and user fractions that other jobs changed in {name}: they are committed with it"


def _put_artifact(edit: ReleaseEdit, artifact: Artifact, there: FileResult | None) -> Steps[None]:
    code, bundle = version_code(artifact), artifact.manifest is not None and artifact.manifest.kind == "bundle"
    if there is None:
        endpoint = edit.api.upload_artifact(bundle=bundle)
        edit.changing(f"artifact:{code}")
        try:
            result = yield Upload(endpoint, artifact, endpoint.media_types[0], retry_on=conflict)
        except (ApiError, OutcomeUnknown) as error:
            if isinstance(error, ApiError) and find(error) is not VERSION_TAKEN:
                raise
            # It may be there by now: an upload of ours whose response was lost, or another job's in a shared edit.
            entry = (yield from listed_artifacts(edit)).get(code)
            if entry is None:
                raise
            there = _same(edit, artifact, entry)
        else:
            reported = result.resource.get("versionCode")
            if str(reported) != str(code):  # the documents call it an integer, and JSON may carry it as text
                raise IntegrityError(
                    f"{artifact.name} declares version code {code}, but Google Play reported {reported!r}.",
                    cause="What arrived is not what was sent.",
                    hint="Run again; if it happens again, the manifest of the file is damaged.",
                    code="version-code-differs",
                )
            edit.changed(f"artifact:{code}", result.sha256)
    if there:
        edit.context.info(
            f"{artifact.name}: version code {code} is on Google Play already with the same bytes; not sent again."
        )
        edit.context.reused(there)


def _same(edit: ReleaseEdit, artifact: Artifact, entry: Mapping[str, Any]) -> FileResult:
    """The record of an artifact that Play has. Raises ReleaseRefused where it may not stand for the file."""
    code, ours, theirs = version_code(artifact), edit.context.sha256(artifact), _sha256(entry)
    if ours != theirs:
        raise ReleaseRefused(
            f"Google Play already has version code {code} with different contents than {artifact.name}: "
            f"SHA-256 {theirs or 'unknown'} there, {ours} here.",
            cause="The app was built again without a new version code.",
            hint="Raise the version code, or upload the exact file that Google Play has.",
            code="version-code-conflict",
        )
    # What the job itself put into its edit is no conflict, though its response was lost: the bytes are those above.
    if not edit.job.reuse and f"artifact:{code}" not in edit.changes:
        raise ReleaseRefused(
            f"Version code {code} ({artifact.name}) is on Google Play already.",
            cause="It was uploaded before, and `on-version-conflict` is `fail`.",
            hint="Raise the version code, or set `on-version-conflict: reuse`.",
            code="version-code-used",
        )
    record = FileResult(artifact.name, artifact.size or 0, ours, str(code), entry, reused=True)
    return replace(record, certificate_sha256=artifact.certificate_sha256)


def _sha256(entry: Mapping[str, Any]) -> str:
    """The digest in Play's response: a bundle has it itself, an APK in `binary`."""
    binary = entry.get("binary")
    return str((binary if isinstance(binary, Mapping) else entry).get("sha256", "")).lower()


def _put_supplementary(edit: ReleaseEdit, one: SupplementaryFile) -> Steps[None]:
    """Play does not list these files, so what was sent into this edit is remembered: a digest, or another version."""
    purpose, file, code = f"{one.kind}:{one.version_code}", one.file, one.version_code
    before = edit.changes.get(purpose)
    if isinstance(file, Artifact):
        if before and before == edit.context.sha256(file):
            edit.context.reused(FileResult(file.name, file.size or 0, before, reused=True))
            return
        edit.changing(purpose)
        result = yield Upload(edit.api.upload_supplementary(code, one.kind), file, OCTETS, retry_on=conflict)
        edit.changed(purpose, result.sha256)
    elif isinstance(file, int) and before != f"references:{file}":
        edit.changing(purpose)
        yield edit.api.refer_expansion(code, one.kind, file)
        edit.changed(purpose, f"references:{file}")


def _finish(edit: ReleaseEdit, codes: tuple[str, ...], updates: Sequence[TrackChange], changes: Changes) -> Flow:
    """The last steps of a run in which everything is in place."""
    job, context, what = edit.job, edit.context, f"{edit.job.package} {'+'.join(codes)}".strip()
    if job.dry_run:
        try:
            yield edit.api.validate()
        except ApiError as refused:
            # Only a commit can carry the parameter that Google asks for here.
            if find(refused) is not REVIEW_BY_HAND:
                raise
            context.info(f"Google Play says: {refused.message}")
        yield from edit_lifecycle.discard(edit)
        edit.forget()
        passed = "the validation" if job.rehearsal else "Google Play's validation; nothing was published"
        return _outcome(job, f"{what} passed {passed}.", "nothing was published: this was a dry run", changes)
    if not job.commit:
        edit.forget()
        headline = f"{what} is in edit {edit.id}, which is left open."
        return _outcome(job, headline, "not committed: the edit is open", changes)
    if edit.state.stage is Stage.CLEAN:
        context.info(f"Nothing had to be changed, so edit {edit.id} is not needed and `edit-id` stays empty.")
        yield from edit_lifecycle.discard(edit)
        edit.forget()
        context.publish({"committed": "true"})
        already = "Google Play already had all of it; nothing was committed"
        return _outcome(job, f"{what} is on Google Play already.", already, changes)
    if not edit.state.own:
        edit.seen = yield from tracks.all_tracks(edit.api)
        changes = replace(changes, others=(yield from _others(edit)))
        published = [f"{one.track} {tracks.describe_all(one.after)}" for one in updates]
        published += [f"{other.track} {other} (not from this run)" for other in changes.others]
        context.info(f"The commit of edit {edit.id} publishes: {', '.join(published) or 'no release'}.")
    left = yield from committed(edit)
    reach.remember_levels(job, context)
    review = "saved as a draft; roll it out in the Play Console" if job.options.status == "draft" else "sent for review"
    if job.rehearsal:
        review = "committed in the emulator, where nobody reviews it"
    elif left:
        review = "must still be sent for review in the Play Console, under Publishing overview"
    return _outcome(job, _headline(edit, what, updates, left), review, changes)


def committed(edit: ReleaseEdit) -> Steps[str]:
    """Commits the edit and tells so. The result says that a person has to send the changes for review, if so."""
    by_hand, job, context = (yield from edit_lifecycle.commit(edit)), edit.job, edit.context
    edit.forget()
    context.publish({"committed": "true"})
    context.info(f"Committed edit {edit.id}{' in the emulator' if job.rehearsal else ''}.")
    if job.rehearsal:
        return "committed; Google Play would leave it to you to send it to the review" if by_hand else ""
    # A draft waits for a person as well, who rolls it out.
    context.publish({"sent-for-review": "false" if by_hand or job.options.status == "draft" else "true"})
    if by_hand:
        context.warning(f"{job.package}: {TO_SEND}, under Publishing overview: {CONSOLE}")
    return TO_SEND if by_hand else ""


def _headline(edit: ReleaseEdit, what: str, updates: Sequence[TrackChange], left: str) -> str:
    """What happened, in one sentence: what is `left` to do, else tracks that met the same are named together."""
    if left:
        places = ", ".join(f"{one.track} ({tracks.in_words(one.release)})" for one in updates)
        return f"{what}{f' on {places}' if places else ''} is {left}."
    if not updates:
        own = "The store listing" if edit.job.listing else "The list of testers"
        return f"{own if edit.state.own else f'Edit {edit.id}'} of {what} is committed."
    fates: dict[str, list[str]] = {}
    for one in updates:
        fates.setdefault(_fate(edit.job, one.release), []).append(one.track)
    told = " and ".join(f"{fate} {', '.join(names)}" for fate, names in fates.items())
    return f"{what} {told}."


def _fate(job: ReleaseJob, release: Release) -> str:
    """What became of a release, up to the name of its track."""
    status, new, share = str(release.get("status")), job.codes or job.retained, tracks.share(release)
    if job.promote_from:
        how = {"inProgress": f", at {share},", "draft": ", as a draft,"}.get(status, "")
        return f"is promoted from {job.promote_from}{how} to"
    if not (new or job.options.new_status):
        return "is updated on"
    fates = {"inProgress": f"is now at {share} on", "halted": "is halted on", "draft": "is a draft on"}
    return fates.get(status, "is released on" if new else "is rolled out to all users on")


def _outcome(job: ReleaseJob, headline: str, review: str, changes: Changes) -> Outcome:
    after = "Would be" if job.dry_run else "After" if job.commit else "In the edit"
    behaviour = [("With a commit", line) for line in plan.on_review(changes)] if job.dry_run else []
    state = Section("Review", ("Changes", "State"), ((job.package, review), *behaviour))
    links = (("Play Console", CONSOLE), ("Store page", STORE + job.package))
    return Outcome(headline, links, (*plan.sections(changes, after), state))
