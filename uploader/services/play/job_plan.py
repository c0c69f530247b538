"""A release job as the steps that people read before it begins."""

from __future__ import annotations

from collections.abc import Iterator

from uploader.services.play.job import ReleaseJob
from uploader.text import format_size, plural


def steps_of(job: ReleaseJob) -> Iterator[str]:
    """One line for each step, in their order."""
    shared = job.existing_edit and not job.dry_run
    yield f"work in edit {job.existing_edit}" if shared else f"open an edit of {job.package}"
    for artifact in job.artifacts:
        if artifact.manifest:
            version = f"{artifact.manifest.version_name} ({artifact.manifest.version_code})".strip()
            what = f"{artifact.name}, {format_size(artifact.size or 0)}, version {version}"
            yield f"upload {what}, unless Google Play has it already"
    for kind, file in job.companions:
        name = f"of version {file}" if isinstance(file, int) else file.name
        steps = {"mapping": f"upload mapping {name}", "symbols": f"upload native symbols {name}"}
        yield steps.get(kind, f"give each APK the {kind} expansion file {name}")
    if job.listing:
        images, languages = sum(map(len, job.listing.images.values())), len(job.listing.texts)
        yield f"synchronise {plural(images, 'image')} and the texts of {plural(languages, 'language')}"
    for track in job.tracks:
        yield f"put {_what(job)} on track {track}"
    yield _last(job)


def _what(job: ReleaseJob) -> str:
    options = job.options
    share = f" for {options.fraction * 100:g} % of users" if options.fraction is not None else ""
    codes = "+".join(dict.fromkeys((*job.codes, *job.retained)))
    source = f"the release of {job.promote_from}" if job.promote_from else codes or "the release that is there"
    stated = codes or job.promote_from or options.status
    return f"{source} as {options.status or 'completed'}{share}" if stated else source


def _last(job: ReleaseJob) -> str:
    if job.dry_run:
        return "validate the edit and delete it: nothing is published"
    return "commit the edit" if job.commit else "leave the edit open"
