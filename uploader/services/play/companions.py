"""Remember which mappings, symbols and expansion files went with a version. Google Play does not
list them, so the journal does.

That needs a state folder that lasts. Without it, a run whose release is there already sends and
commits the files again, to the same effect.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from uploader.files.artifacts import Artifact
from uploader.services.base import Context
from uploader.services.play.client import CONSOLE
from uploader.services.play.edit_lifecycle import ReleaseEdit
from uploader.services.play.release_job import WHAT, ReleaseJob, SupplementaryFile

_MAX_REMEMBERED = 60  # files, of the newest versions


def remember(edit: ReleaseEdit) -> None:
    """Remember the files that were committed with the versions of the job, each by its digest or by
    the version whose file it refers to.
    """
    sent = {
        purpose: digest
        for purpose, digest in edit.changes.items()
        if digest and _kind(purpose) in WHAT
    }
    if not sent or not edit.job.lasting_state:
        return
    remembered = {**_recall_published(edit.job, edit.context), **sent}
    newest = list(remembered.items())[-_MAX_REMEMBERED:]
    value = json.dumps(dict(newest))
    edit.context.remember(_key(edit.job), value)


def warn_of_doubt(edit: ReleaseEdit) -> None:
    """Warn that files may be missing although the release of the job is live.

    Somebody else may have released the same artifact. Then the files are only in the edit whose
    commit was not answered. Nothing is remembered, so that the next run sends them again.
    """
    names: list[str] = []
    for purpose in edit.changes:
        name = WHAT.get(_kind(purpose))
        if name and name not in names:
            names.append(name)
    if names:
        edit.warn_about_app(
            f"nothing shows whether the {' and the '.join(names)} went with "
            "it, because the answer to the commit was lost. Look for it in the Play Console, and "
            f"run again if it is missing: it is sent again. {CONSOLE}"
        )


def _kind(purpose: str) -> str:
    """Return the kind of a change of an edit, such as `mapping` of `mapping:42`."""
    return purpose.partition(":")[0]


def find_published(
    job: ReleaseJob, context: Context, live: Collection[int]
) -> tuple[SupplementaryFile, ...]:
    """Return the files that an earlier run has committed, with the same content, for a version that
    is live.
    """
    if not job.supplementary:
        return ()
    remembered = _recall_published(job, context)
    files: list[SupplementaryFile] = []
    for file in job.supplementary:
        digest = remembered.get(file.purpose)
        # A file is digested only if something is remembered for its version.
        if file.version_code in live and digest and digest == _digest(file, context):
            files.append(file)
    return tuple(files)


def _digest(file: SupplementaryFile, context: Context) -> str:
    """Return what `remember` keeps of a file: its SHA-256, or the version whose file is used."""
    if isinstance(file.file, Artifact):
        return context.sha256(file.file)
    return f"references:{file.file}"


def _recall_published(job: ReleaseJob, context: Context) -> Mapping[str, str]:
    """Return what earlier runs have committed, by purpose; {} if that can't be read."""
    text = context.recall(_key(job))
    if not text:
        return {}
    try:
        digests = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(digests, dict):
        return {}
    return {purpose: str(digest) for purpose, digest in digests.items()}


def _key(job: ReleaseJob) -> str:
    return f"companions:{job.package}"
