"""What goes into an edit as bytes: bundles, APKs, and the files that belong to them; never what Play has already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uploader.errors import AnswerLost, IntegrityError, Refused, ServiceError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Digest, Endpoint, Note, Reused, Steps, Upload
from uploader.services.play.edit import Work, remember
from uploader.services.play.edit_api import APK, OCTETS, entries
from uploader.services.play.known_errors import VERSION_TAKEN, conflict, find

# Version code to what Play says of the artifact, its SHA-256 among it.
Shelf = Mapping[int, Mapping[str, Any]]


def shelf(work: Work) -> Steps[Shelf]:
    """Everything that the edit knows: a version code belongs to one artifact, be it a bundle or an APK."""
    bundles = yield work.edit.bundles()
    apks = yield work.edit.apks()
    found = [*entries(bundles, "bundles"), *entries(apks, "apks")]
    return {entry["versionCode"]: entry for entry in found if isinstance(entry.get("versionCode"), int)}


def upload_all(work: Work) -> Steps[None]:
    """Each artifact, and right after it the files that belong to it; one at a time, as Play's edits want it."""
    known = (yield from shelf(work)) if work.asked.artifacts else {}
    for artifact in work.asked.artifacts:
        yield from _artifact(work, artifact, known)
        yield from _extras(work, artifact)


def all_known(work: Work) -> Steps[bool]:
    """Whether Play lists every artifact of the run with the same bytes."""
    known = (yield from shelf(work)) if work.asked.artifacts else {}
    for artifact in work.asked.artifacts:
        entry = known.get(_code(artifact))
        if entry is None or (yield Digest(artifact)) != _sha256(entry):
            return False
    return True


def _artifact(work: Work, artifact: Artifact, known: Shelf) -> Steps[None]:
    if _code(artifact) in known:
        yield from _reuse(work, artifact, known[_code(artifact)])
        return
    bundle = artifact.manifest is not None and artifact.manifest.kind == "bundle"
    endpoint = work.edit.upload_bundle() if bundle else work.edit.upload_apk()
    try:
        result = yield Upload(endpoint, artifact, OCTETS if bundle else APK, retry_on=conflict)
    except (Refused, AnswerLost) as error:
        if isinstance(error, Refused) and find(error) is not VERSION_TAKEN:
            raise
        # It may be there by now: an upload of ours whose answer was lost, or another job's in a shared edit.
        entry = (yield from shelf(work)).get(_code(artifact))
        if entry is None:
            raise
        yield from _reuse(work, artifact, entry)
        return
    _check_version(artifact, result)
    yield from _accepted(work, _purpose(artifact), result)


def _reuse(work: Work, artifact: Artifact, entry: Mapping[str, Any]) -> Steps[None]:
    code = _code(artifact)
    ours = yield Digest(artifact)
    if ours != _sha256(entry):
        raise ServiceError(
            f"Version code {code} is on Google Play already, with other bytes than {artifact.name}: "
            f"SHA-256 {_sha256(entry) or 'unknown'} there, {ours} here.",
            cause="The app was built again without a new version code.",
            cure="Raise the version code, or upload the very file that Google Play has.",
        )
    if not work.asked.reuse and work.sent.get(_purpose(artifact)) != ours:
        raise ServiceError(
            f"Version code {code} ({artifact.name}) is on Google Play already.",
            cause="It was uploaded before, and `on-version-conflict` is `fail`.",
            cure="Raise the version code, or set `on-version-conflict: reuse`.",
        )
    yield Note(f"{artifact.name}: version code {code} is on Google Play already with the same bytes; not sent again.")
    yield Reused(_record(artifact, ours, str(code), entry))
    work.sent[_purpose(artifact)] = ours


def _extras(work: Work, artifact: Artifact) -> Steps[None]:
    extras, code, edit = work.asked.extras, _code(artifact), work.edit
    if extras.mapping:
        yield from _extra(work, f"mapping:{code}", edit.upload_symbols(code, "proguard"), extras.mapping)
    if extras.symbols:
        yield from _extra(work, f"symbols:{code}", edit.upload_symbols(code, "nativeCode"), extras.symbols)
    if artifact.manifest is None or artifact.manifest.kind == "bundle":
        return
    for kind, what in extras.expansions:
        if isinstance(what, int):
            yield edit.refer_expansion(code, kind, what)
            work.changed = True
        else:
            yield from _extra(work, f"{kind}:{code}", edit.upload_expansion(code, kind), what)


def _extra(work: Work, purpose: str, endpoint: Endpoint, artifact: Artifact) -> Steps[None]:
    """Play does not list these files, so what was sent into this edit is remembered by digest."""
    if purpose in work.sent:
        ours = yield Digest(artifact)
        if work.sent[purpose] == ours:
            yield Reused(_record(artifact, ours, "", {}))
            return
    result = yield Upload(endpoint, artifact, OCTETS, retry_on=conflict)
    yield from _accepted(work, purpose, result)


def _accepted(work: Work, purpose: str, result: FileResult) -> Steps[None]:
    work.changed = True
    work.sent[purpose] = result.sha256
    yield from remember(work)


def _check_version(artifact: Artifact, result: FileResult) -> None:
    answered = result.resource.get("versionCode")
    if _number(answered) != _code(artifact):
        raise IntegrityError(
            f"{artifact.name} says version code {_code(artifact)}, Google Play answered {answered!r}.",
            cause="What arrived is not what was sent.",
            cure="Run again; if it happens again, the manifest of the file is damaged.",
        )


def _record(artifact: Artifact, digest: str, name: str, entry: Mapping[str, Any]) -> FileResult:
    return FileResult(artifact.name, artifact.size or 0, sha256=digest, id=name, resource=entry, reused=True)


def _code(artifact: Artifact) -> int:
    return artifact.manifest.version_code if artifact.manifest else 0


def _number(value: object) -> int:
    """A version code, which the documents call an integer and JSON may carry as text; 0 for anything else."""
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() and len(str(value)) < 20 else 0


def _purpose(artifact: Artifact) -> str:
    return f"artifact:{_code(artifact)}"


def _sha256(entry: Mapping[str, Any]) -> str:
    """The digest in Play's answer: a bundle has it itself, an APK in `binary`."""
    binary = entry.get("binary")
    holder = binary if isinstance(binary, Mapping) else entry
    return str(holder.get("sha256", "")).lower()
