"""Says what a run did as an in-toto Statement: the SHA-256 of each file beside the id that the service gave it.

Nothing is signed here. A later step does that (`actions/attest`, cosign), and takes the subjects and the predicate from
files of their own. docs/PROVENANCE.md describes the predicate; a change of its meaning needs a new `PREDICATE_TYPE`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from uploader import __version__
from uploader.inputs import Inputs
from uploader.outputs.output_files import masked, write_whole
from uploader.redaction import Redactor
from uploader.results import FileResult

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://github.com/OWNER/google-release-uploader/blob/main/docs/PROVENANCE.md#v1"
STATEMENT, PREDICATE, CHECKSUMS = "uploader-provenance.json", "uploader-predicate.json", "uploader-checksums.txt"


@dataclass(frozen=True)
class ReleaseFacts:
    """What a run that ended well has to state. `started` and `finished` are seconds since 1970."""

    inputs: Inputs
    package: str
    results: Sequence[FileResult]
    outputs: Mapping[str, str]
    started: float
    finished: float


def replace_files(workspace: Path, files: Mapping[str, str]) -> None:
    """Writes the files of this run; those of an earlier one go, even where there are no new ones. Raises OSError."""
    for name in (STATEMENT, PREDICATE, CHECKSUMS):
        with contextlib.suppress(FileNotFoundError):
            (workspace / name).unlink()
    for name, text in files.items():
        write_whole(workspace / name, [text])


def files_of(facts: ReleaseFacts, redactor: Redactor) -> dict[str, str]:
    """Name and content of each file to write, the statement last; none where the service holds no file of this run."""
    stored = [_described(result, redactor) for result in facts.results if result.sha256 and not result.error]
    if not stored:
        return {}
    subjects = list(dict.fromkeys((file["name"], file["sha256"]) for file in stored))
    predicate = _predicate(facts, stored, redactor)
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
    checksums = "".join(f"{digest}  {name}\n" for name, digest in subjects)
    return {PREDICATE: _json(predicate), CHECKSUMS: checksums, STATEMENT: _json(statement)}


def _described(result: FileResult, redactor: Redactor) -> dict[str, Any]:
    """One file, under the one-line name that it has in the list of checksums, too."""
    facts = {
        "name": redactor.one_line(result.path),
        "sha256": result.sha256,
        "bytes": result.bytes,
        "id": redactor.hide(result.id),
        "alreadyStored": result.reused,
    }
    return _known(facts)


def _predicate(facts: ReleaseFacts, stored: Sequence[Mapping[str, Any]], redactor: Redactor) -> dict[str, Any]:
    inputs, outputs = facts.inputs, facts.outputs
    release = {
        "packageName": facts.package,
        "editId": outputs.get("edit-id"),
        "committed": outputs.get("committed") == "true",
        "tracks": inputs.tracks,
        "versionCodes": list(filter(None, outputs.get("version-codes", "").split(","))),
    }
    predicate = {
        "target": inputs.target,
        "apiEndpoint": inputs.api_endpoint,
        "files": stored,
        "release": _known(release) if "committed" in outputs else {},
        "run": inputs.platform.job_facts,
        "uploader": {"version": __version__},
        "startedOn": _timestamp(facts.started),
        "finishedOn": _timestamp(facts.finished),
    }
    shown: dict[str, Any] = masked(_known(predicate), redactor.hide)
    return shown


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts without those that are not known; `false` and 0 are known."""
    return {name: value for name, value in facts.items() if value not in (None, "", (), [], {})}


def _timestamp(seconds: float) -> str:
    """RFC 3339 in UTC, in whole seconds, as in-toto wants it."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
