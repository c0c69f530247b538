"""What goes into an edit as bytes: bundles, APKs, and the files that belong to them; never what Play has already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, ReleaseRefused
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Digest, Note, Reused, Steps, Upload
from uploader.services.play.edit_api import OCTETS, CompanionKind, entries
from uploader.services.play.known_errors import VERSION_TAKEN, conflict, find
from uploader.services.play.last_expansion import last_expansion
from uploader.services.play.release_edit import ReleaseEdit

# Version code to what Play says of the artifact, its SHA-256 among it.
ListedArtifacts = Mapping[int, Mapping[str, Any]]
# Version code to the record of an artifact that need not be sent.
AlreadyThere = Mapping[int, FileResult]


def listed_artifacts(edit: ReleaseEdit) -> Steps[ListedArtifacts]:
    """Everything that the edit knows: a version code belongs to one artifact, be it a bundle or an APK."""
    bundles = yield edit.api.listed("bundles")
    apks = yield edit.api.listed("apks")
    found = [*entries(bundles, "bundles"), *entries(apks, "apks")]
    return {entry["versionCode"]: entry for entry in found if isinstance(entry.get("versionCode"), int)}


def already_there(edit: ReleaseEdit) -> Steps[AlreadyThere]:
    """The artifacts that Play has. Raises ServiceError for one that it has with other bytes, or that is not wanted."""
    found: dict[int, FileResult] = {}
    known = (yield from listed_artifacts(edit)) if edit.job.artifacts else {}
    for artifact in edit.job.artifacts:
        if _code(artifact) in known:
            found[_code(artifact)] = yield from _same(edit, artifact, known[_code(artifact)])
    return found


def upload_all(edit: ReleaseEdit, there: AlreadyThere) -> Steps[None]:
    """Each artifact, and right after it the files that belong to it; one at a time, as Play's edits want it."""
    for artifact in edit.job.artifacts:
        if _code(artifact) in there:
            yield from _reuse(artifact, there[_code(artifact)])
        else:
            yield from _artifact(edit, artifact)
        yield from _companions(edit, artifact)


def all_listed(edit: ReleaseEdit) -> Steps[bool]:
    """Whether Play lists every artifact of the run with the same bytes."""
    known = (yield from listed_artifacts(edit)) if edit.job.artifacts else {}
    for artifact in edit.job.artifacts:
        entry = known.get(_code(artifact))
        if entry is None or (yield Digest(artifact)) != _sha256(entry):
            return False
    return True


def _artifact(edit: ReleaseEdit, artifact: Artifact) -> Steps[None]:
    purpose = f"artifact:{_code(artifact)}"
    endpoint = edit.api.upload_artifact(bundle=_is_bundle(artifact))
    yield from edit.changing(purpose)
    try:
        result = yield Upload(endpoint, artifact, endpoint.media_types[0], retry_on=conflict)
    except (ApiError, OutcomeUnknown) as error:
        if isinstance(error, ApiError) and find(error) is not VERSION_TAKEN:
            raise
        # It may be there by now: an upload of ours whose answer was lost, or another job's in a shared edit.
        entry = (yield from listed_artifacts(edit)).get(_code(artifact))
        if entry is None:
            raise
        yield from _reuse(artifact, (yield from _same(edit, artifact, entry)))
        return
    _check_version(artifact, result)
    yield from edit.changed(purpose, result.sha256)


def _same(edit: ReleaseEdit, artifact: Artifact, entry: Mapping[str, Any]) -> Steps[FileResult]:
    """The record of an artifact that Play has. Raises ServiceError where it may not stand for the file."""
    code = _code(artifact)
    ours = yield Digest(artifact)
    if ours != _sha256(entry):
        raise ReleaseRefused(
            f"Google Play already has version code {code} with different contents than {artifact.name}: "
            f"SHA-256 {_sha256(entry) or 'unknown'} there, {ours} here.",
            cause="The app was built again without a new version code.",
            hint="Raise the version code, or upload the exact file that Google Play has.",
            code="version-code-conflict",
        )
    # What the job itself put into its edit is no conflict, though its answer was lost: the bytes are those above.
    if not edit.job.reuse and f"artifact:{code}" not in edit.changes:
        raise ReleaseRefused(
            f"Version code {code} ({artifact.name}) is on Google Play already.",
            cause="It was uploaded before, and `on-version-conflict` is `fail`.",
            hint="Raise the version code, or set `on-version-conflict: reuse`.",
            code="version-code-used",
        )
    return _record(artifact, ours, str(code), entry)


def _reuse(artifact: Artifact, record: FileResult) -> Steps[None]:
    text = f"version code {record.id} is on Google Play already with the same bytes; not sent again."
    yield Note(f"{artifact.name}: {text}")
    yield Reused(record)


def _companions(edit: ReleaseEdit, artifact: Artifact) -> Steps[None]:
    for companion in edit.job.companions:
        kind, file, code = companion.kind, companion.file, companion.version_code
        if code != _code(artifact) or file == "bundle":
            continue
        if isinstance(file, Artifact):
            yield from _companion(edit, kind, code, file)
        else:
            other = (yield from last_expansion(edit, kind)) if file == "last-release" else file
            yield from _reference(edit, kind, code, other)


def _companion(edit: ReleaseEdit, kind: CompanionKind, code: int, file: Artifact) -> Steps[None]:
    """Play does not list these files, so what was sent into this edit is remembered by digest."""
    purpose = f"{kind}:{code}"
    if edit.changes.get(purpose):
        ours = yield Digest(file)
        if edit.changes[purpose] == ours:
            yield Reused(_record(file, ours, "", {}))
            return
    yield from edit.changing(purpose)
    result = yield Upload(edit.api.upload_companion(code, kind), file, OCTETS, retry_on=conflict)
    yield from edit.changed(purpose, result.sha256)


def _reference(edit: ReleaseEdit, kind: CompanionKind, code: int, other: int) -> Steps[None]:
    purpose, reference = f"{kind}:{code}", f"references:{other}"
    if edit.changes.get(purpose) != reference:
        yield from edit.changing(purpose)
        yield edit.api.refer_expansion(code, kind, other)
        yield from edit.changed(purpose, reference)


def _check_version(artifact: Artifact, result: FileResult) -> None:
    answered = result.resource.get("versionCode")
    if str(answered) != str(_code(artifact)):  # the documents call it an integer, and JSON may carry it as text
        raise IntegrityError(
            f"{artifact.name} declares version code {_code(artifact)}, but Google Play reported {answered!r}.",
            cause="What arrived is not what was sent.",
            hint="Run again; if it happens again, the manifest of the file is damaged.",
            code="version-code-differs",
        )


def _record(artifact: Artifact, digest: str, name: str, entry: Mapping[str, Any]) -> FileResult:
    return FileResult(
        artifact.name,
        artifact.size or 0,
        sha256=digest,
        id=name,
        resource=entry,
        reused=True,
        certificate_sha256=artifact.certificate_sha256,
    )


def _code(artifact: Artifact) -> int:
    return artifact.manifest.version_code if artifact.manifest else 0


def _is_bundle(artifact: Artifact) -> bool:
    return artifact.manifest is not None and artifact.manifest.kind == "bundle"


def _sha256(entry: Mapping[str, Any]) -> str:
    """The digest in Play's answer: a bundle has it itself, an APK in `binary`."""
    binary = entry.get("binary")
    holder = binary if isinstance(binary, Mapping) else entry
    return str(holder.get("sha256", "")).lower()
