"""What people give for `params` and `metadata` of Drive and Cloud Storage in a form that the method
does not take, and what a refusal of Drive's means to them.
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
    r"https?://(?:drive|docs)\.google\.com/\S*?(?:folders/|/d/|[?&]id=)([\w-]+)", re.ASCII
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
            "A file belongs to the account that uploads it, and a service account has no room of "
            "its own; a folder that a person shares with it does not change that."
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
        "The bucket takes no access lists for single objects.",
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
    """Return lines like `bucket=my-bucket` or `bucket:my-bucket` as the map that was meant; empty
    for any other text.
    """
    lines = [_PAIR.fullmatch(line.strip()) for line in re.split(r"[\n,]", text) if line.strip()]
    written = [f"{line[1]}: {line[2]}" for line in lines if line]
    return "\n".join(written) if len(written) == len(lines) else ""


def as_meant(
    method: str, params: Mapping[str, Any], metadata: Mapping[str, Any], problems: Problems
) -> dict[str, Any]:
    """Return the parameters as they were meant. Each mistake of a known kind is added to the
    problems, also one in the metadata.
    """
    right = dict(params)
    if method.startswith("drive."):
        for name in [name for name in right if name in _DRIVE_FIELDS]:
            value = right.pop(name)
            shown = f'["{value}"]' if name == "parents" else f'"{value}"'
            what = f"{name!r} is a field of the file, and no parameter: it goes into `metadata`."
            problems.add("params", what, f'`metadata: {{"{name}": {shown}}}`')
        for name in ("fileId", "addParents"):
            identifier = _id_in(right.get(name))
            if identifier:
                right[name] = identifier
                what = f"{name!r} is an address; the id is a part of it: `{identifier}`."
                problems.add("params", what, f"`{name}: {identifier}`")
        parents = metadata.get("parents")
        for parent in parents if isinstance(parents, list) else (parents,):
            identifier = _id_in(parent)
            if identifier:
                what = (
                    f"`parents` has an address; the folder's id is its last part: `{identifier}`."
                )
                problems.add("metadata", what, f'`{{"parents": ["{identifier}"]}}`')
    bucket = right.get("bucket")
    if method.startswith("storage.") and isinstance(bucket, str) and "/" in bucket:
        parts = _BUCKET_ADDRESS.fullmatch(bucket)
        if parts:
            right["bucket"] = parts[1]
            path = (parts[2] or "").strip("/")
            what = f"'bucket' is the name alone: `{parts[1]}`."
            accepted = f"`bucket: {parts[1]}`"
            if path:
                what += f" The path goes into 'name': `{path}/` for all that is to lie below it."
                accepted += f" and `name: {path}/`"
            problems.add("params", what, accepted)
    return right


def _id_in(value: object) -> str:
    """Return the id in the address of a file or folder of Drive; empty for anything else."""
    found = _ADDRESS.match(value) if isinstance(value, str) else None
    return found[1] if found else ""


@contextmanager
def explained_refusals(method: str, params: Mapping[str, Any]) -> Iterator[None]:
    """Say what Drive means by a file that is not found: that this account can't see it. Other
    refusals of Drive and Cloud Storage get the cause and the hint that their words leave out.
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
            hint="Share it with the account (the log says `Acting as …`) as editor." + shared,
        ) from refused
