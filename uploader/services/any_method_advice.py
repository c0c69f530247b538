"""Correct common mistakes in `params` and `metadata` of Drive and Cloud Storage, and explain their
refusals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from uploader.errors import ApiError, Problems

# Fields of a Drive file that people take for parameters.
_DRIVE_FIELDS = ("parents", "name", "title", "mimeType", "description")
_ADDRESS = re.compile(
    r"https?://(?:drive|docs)\.google\.com/\S*?(?:folders/|/d/|[?&]id=)([\w-]+)",
    re.ASCII,
)
# A bucket's name is of lower-case letters, digits, hyphens, underscores and points.
_BUCKET_ADDRESS = re.compile(
    r"(?:gs://|https?://storage\.(?:googleapis|cloud\.google)\.com/"
    r"|https?://console\.cloud\.google\.com/storage/browser/)?"
    r"([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/(.*))?",
    re.DOTALL,
)
# The beginning of a method's id, words of its refusal, the likely cause, and what to do.
_REFUSALS: Sequence[tuple[str, str, str, str]] = (
    (
        "drive.",
        "storage quota",
        (
            "A file belongs to the account that uploads it, and a service account has no storage "
            "of its own; a folder that a person shares with it does not change that."
        ),
        (
            'Upload into a shared drive (`metadata: {"parents": ["FOLDER"]}` and `params: '
            "supportsAllDrives: true`), or act for a person with `impersonate-user`."
        ),
    ),
    (
        "storage.",
        "specified bucket does not exist",
        "No project has a bucket of this name.",
        "Check `bucket` in `params`, or create the bucket.",
    ),
    (
        "storage.",
        "storage.objects.delete access",
        (
            "An object of this name is there already, and the account may create objects but not "
            "replace them."
        ),
        (
            "Grant the account roles/storage.objectUser on the bucket, or give each upload a name "
            "of its own."
        ),
    ),
    (
        "storage.",
        "storage.objects.create",
        "The account may not create objects in this bucket, or there is no such bucket.",
        (
            "Grant the account roles/storage.objectUser on the bucket, or correct `bucket` in "
            "`params`."
        ),
    ),
    (
        "storage.",
        "uniform bucket-level access",
        "The bucket accepts no access lists for individual objects.",
        "Leave `predefinedAcl` out of `params`, and grant access on the bucket.",
    ),
    (
        "storage.",
        "billing account",
        "The project of the bucket has no active billing account.",
        "Link a billing account to the project in the Google Cloud console, then run again.",
    ),
)
_PAIR = re.compile(r"(\w+)\s*[=:]\s*(\S.*)", re.ASCII)


def pairs(text: str) -> str:
    """Return the YAML map that was meant by lines like `bucket=my-bucket` or `bucket:my-bucket`;
    empty for any other text.
    """
    lines = []
    for line in re.split(r"[\n,]", text):
        if not line.strip():
            continue
        pair = _PAIR.fullmatch(line.strip())
        if pair is None:
            return ""
        lines.append(f"{pair[1]}: {pair[2]}")
    return "\n".join(lines)


def as_meant(
    method: str,
    params: Mapping[str, Any],
    metadata: Mapping[str, Any],
    problems: Problems,
) -> dict[str, Any]:
    """Return the parameters as they were meant. Add a problem for each mistake of a known kind,
    also in the metadata.
    """
    meant = dict(params)
    if method.startswith("drive."):
        _correct_fields(meant, problems)
        _correct_ids(meant, problems)
        _check_parents(metadata.get("parents"), problems)
    if method.startswith("storage."):
        _correct_bucket(meant, problems)
    return meant


def _correct_fields(params: dict[str, Any], problems: Problems) -> None:
    """Remove fields of a Drive file, which belong in the metadata, from the parameters."""
    for name in list(params):
        if name not in _DRIVE_FIELDS:
            continue
        value = params.pop(name)
        member = f'"{value}"'
        if name == "parents":
            member = f"[{member}]"
        what = f"{name!r} is a field of the file, and no parameter: it goes into `metadata`."
        problems.add("params", what, f'`metadata: {{"{name}": {member}}}`')


def _correct_ids(params: dict[str, Any], problems: Problems) -> None:
    """Replace addresses of files and folders in Drive by their ids."""
    for name in ("fileId", "addParents"):
        identifier = _id_in(params.get(name))
        if identifier:
            params[name] = identifier
            what = f"{name!r} is an address; the id is a part of it: `{identifier}`."
            problems.add("params", what, f"`{name}: {identifier}`")


def _check_parents(parents: object, problems: Problems) -> None:
    """Add a problem for each parent folder that is given by its address."""
    folders = [parents]
    if isinstance(parents, list):
        folders = parents
    for folder in folders:
        identifier = _id_in(folder)
        if identifier:
            what = f"`parents` has an address; the folder's id is its last part: `{identifier}`."
            problems.add("metadata", what, f'`{{"parents": ["{identifier}"]}}`')


def _correct_bucket(params: dict[str, Any], problems: Problems) -> None:
    """Replace the address of a bucket by its name."""
    bucket = params.get("bucket")
    if not isinstance(bucket, str) or "/" not in bucket:
        return
    address = _BUCKET_ADDRESS.fullmatch(bucket)
    if address is None:
        return
    name = address[1]
    params["bucket"] = name
    what = f"'bucket' is the name alone: `{name}`."
    accepted = f"`bucket: {name}`"
    path = (address[2] or "").strip("/")
    if path:
        what += f" The path goes into 'name': `{path}/` for everything below it."
        accepted += f" and `name: {path}/`"
    problems.add("params", what, accepted)


def _id_in(value: object) -> str:
    """Return the id in the address of a file or folder of Drive; empty for anything else."""
    if not isinstance(value, str):
        return ""
    address = _ADDRESS.match(value)
    if not address:
        return ""
    return address[1]


@contextmanager
def explain_refusals(method: str, params: Mapping[str, Any]) -> Iterator[None]:
    """Give refusals of Drive and Cloud Storage the cause and the hint that their words leave out.

    A file that Drive does not find may be one that the account can't see.
    """
    try:
        yield
    except ApiError as refused:
        for service, words, cause, hint in _REFUSALS:
            if method.startswith(service) and words in refused.message:
                raise refused.with_advice(cause=cause, hint=hint) from refused
        missing = re.search(r"File not found: ([\w-]+)", refused.message)
        if refused.status != 404 or not missing or not method.startswith("drive."):
            raise
        shared = ""
        if str(params.get("supportsAllDrives")).lower() != "true":
            shared = " If it is in a shared drive, add `supportsAllDrives: true` to `params`."
        raise refused.with_advice(
            cause=f"There is no file or folder {missing[1]}, or the account of this run can't see "
            "it.",
            hint="Share it with the account (the log says `Acting as …`) as editor."
            + shared,
        ) from refused
