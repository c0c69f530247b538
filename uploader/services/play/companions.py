"""The files that went with a version: Google Play lists no mappings, symbols or expansion files, so
the journal does.

Only in a folder that somebody chose, and so keeps. In any other they are sent and committed again
with a release that is there already, to the same effect.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from uploader.files.artifacts import Artifact
from uploader.services.base import Context
from uploader.services.play.client import CONSOLE
from uploader.services.play.edit_lifecycle import ReleaseEdit
from uploader.services.play.release_job import WHAT, ReleaseJob, SupplementaryFile

_MAX_KNOWN = 60  # files, of the newest versions


def remember(edit: ReleaseEdit) -> None:
    """Notes what was committed with the versions of the job, by its digest or the version that it
    refers to.
    """
    sent = {
        purpose: digest
        for purpose, digest in edit.changes.items()
        if purpose.partition(":")[0] in WHAT and digest
    }
    if sent and edit.job.lasting_state:
        known = {**_remembered(edit.job, edit.context), **sent}
        edit.context.remember(_key(edit.job), json.dumps(dict(list(known.items())[-_MAX_KNOWN:])))


def warn_of_doubt(edit: ReleaseEdit) -> None:
    """Say which files may be missing although the release of the job is live.

    Somebody else may have released the same artifact, without the files that only an edit had whose
    commit was not answered. Nothing is remembered, so that the next run sends them.
    """
    kinds = [purpose.partition(":")[0] for purpose in edit.changes]
    named = [WHAT[kind] for kind in dict.fromkeys(kinds) if kind in WHAT]
    if named:
        edit.warn_about_app(
            f"nothing shows whether the {' and the '.join(named)} went with it, because the answer "
            "to the commit was lost. Look for it in the Play Console, and run again if it is "
            f"missing: it is sent again. {CONSOLE}"
        )


def published(
    job: ReleaseJob, context: Context, live: Collection[int]
) -> tuple[SupplementaryFile, ...]:
    """The files that a run before has committed, just so, with a version that is live."""
    known = _remembered(job, context) if job.supplementary else {}
    return tuple(
        one
        for one in job.supplementary
        if one.version_code in live
        and known.get(f"{one.kind}:{one.version_code}") == _digest(one, context)
    )


def _digest(one: SupplementaryFile, context: Context) -> str:
    """What `remember` has of a file: its SHA-256, or which other version's file is used."""
    return context.sha256(one.file) if isinstance(one.file, Artifact) else f"references:{one.file}"


def _remembered(job: ReleaseJob, context: Context) -> Mapping[str, str]:
    try:
        found = json.loads(context.recall(_key(job)) or "{}")
        return {str(purpose): str(digest) for purpose, digest in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _key(job: ReleaseJob) -> str:
    return f"companions:{job.package}"
