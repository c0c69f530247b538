"""Makes `uploader/services/catalogue.json` and docs/METHODS.md from Google's discovery documents.

The documents are static files in the package google-api-python-client, a development dependency.
Run this without arguments to write both files, and look at the differences before you commit them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import googleapiclient.discovery_cache

from uploader.text import format_size

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "uploader" / "services" / "catalogue.json"
PAGE = ROOT / "docs" / "METHODS.md"
PAGE_TEXT = """# All upload methods

{count} methods, from Google's discovery documents ({source}). Each line has the `target`, the path
with braces for `params` to fill in, and the largest file. [TARGETS.md](TARGETS.md) explains
`params`, `metadata`, names and repeats.

```text
{lines}```

## What a success is

A refusal of any method has an HTTP status of 400 or more, and ends the run with 4 (or 3, if the
account lacks the permission). Some methods can also say in a 200 that the upload failed, or that
the service has not processed it yet. For these, the program reads the answer: it waits for what is
still being processed, for up to `wait-deadline`. A failure ends the run with 4, and the message
quotes the service; so does a state that is not in the method's description. An answer that is not
an object, or lacks what is promised here, counts as lost. An answer without its state (YouTube's
without `part: status`) counts as a success. For a video, the program reports only the upload: with
the scope for uploads, it can't ask about the video afterwards.

{table}"""
PACKAGE = "google-api-python-client"
AUTH = "https://www.googleapis.com/auth/"

# Where a method takes several scopes, the first of these that it takes is the narrowest with which
# a release job can do its work. A method with several scopes of which none is here stops the
# script: a person has to decide.
NARROWEST = (
    "gmail.send",
    "gmail.insert",
    "gmail.compose",
    "youtube.upload",
    "youtube.force-ssl",
    "chat.messages.create",
    "cloud_search.indexing",
    "analytics.edit",
    "display-video",
    "aiplatform",
    "bigquery",
    "run",
    "devstorage.read_write",
    "cloud-platform",
    "drive.file",
)
# drive.file covers only files that the same project made, so a request that names an existing
# folder or file needs the full scope.
WHEN_EXISTING = {AUTH + "drive.file": AUTH + "drive"}
# The document of this API lists no scope; developers.google.com/checks/guide/api/auth names it.
UNLISTED = {"checks.media.upload": [AUTH + "checks"]}
# Fields that identify the result, the preferred ones first. They are searched for in the answer
# itself, then one level down.
IDENTIFIERS = (
    "id",
    "versionCode",
    "name",
    "apkId",
    "fileId",
    "imageId",
    "mediaId",
    "packageName",
    "resourceName",
    "downloadUrl",
    "downloadUri",
    "path",
    "object",
    "url",
)
# The metadata field that holds the file's own name, for methods that make something new.
NAME_FIELDS = ("filename", "fileName")
DRIVE_NAME_FIELDS = {"drive:v3.files.create": "name", "drive:v2.files.insert": "title"}
# The metadata field that holds the media type, which the upload must have, too.
TYPE_FIELDS = ("contentType", "mimeType")
# The methods whose answer has a state, by the id without a version. `get` is the method that shows
# the state again; if there is none, or none that the scope of the upload may call (YouTube's
# videos), the first answer decides. `values` and `query` say which fields of the first answer have
# the parameters of `get` that the upload itself does not have. The rest is as in
# `uploader.services.completion.State`. The script compares these states with the documents.
CHROME_WEB_STORE: dict[str, Any] = {
    "fields": ["uploadState", "lastAsyncUploadState"],
    "done": ["SUCCESS", "SUCCEEDED"],
    "at_work": ["IN_PROGRESS", "UPLOAD_IN_PROGRESS"],
    "failed": ["FAILURE", "FAILED", "NOT_FOUND"],
    "reasons": ["itemError"],
}
CAPTIONS: dict[str, Any] = {
    "fields": ["snippet.status"],
    "done": ["serving"],
    "at_work": ["syncing"],
    "failed": ["failed"],
    "reasons": ["snippet.failureReason"],
    "get": "youtube.captions.list",
    "query": {"videoId": "snippet.videoId", "id": "id"},
    "constants": {"part": "id,snippet"},
    "at": "items.0",
}
STATES: dict[str, dict[str, Any]] = {
    "aiplatform.media.upload": {
        "fields": ["ragFile.fileStatus.state"],
        "done": ["ACTIVE"],
        "failed": ["ERROR"],
        "error": "error",
        "reasons": ["error", "ragFile.fileStatus.errorStatus"],
    },
    "analytics.management.uploads.uploadData": {
        "fields": ["status"],
        "done": ["COMPLETED"],
        "at_work": ["PENDING"],
        "failed": ["FAILED", "DELETING", "DELETED"],
        "reasons": ["errors"],
        "get": "analytics.management.uploads.get",
        "values": {"uploadId": "id"},
    },
    "bigquery.jobs.insert": {
        "fields": ["status.state"],
        "done": ["DONE"],
        "at_work": ["PENDING", "RUNNING"],
        "failed": [],
        "error": "status.errorResult",
        "reasons": ["status.errorResult"],
        "get": "bigquery.jobs.get",
        "values": {
            "projectId": "jobReference.projectId",
            "jobId": "jobReference.jobId",
        },
        "query": {"location": "jobReference.location"},
    },
    "chromewebstore.items.insert": {
        **CHROME_WEB_STORE,
        "get": "chromewebstore.items.get",
        "values": {"itemId": "id"},
        "constants": {"projection": "DRAFT"},
    },
    "chromewebstore.items.update": {
        **CHROME_WEB_STORE,
        "get": "chromewebstore.items.get",
        "constants": {"projection": "DRAFT"},
    },
    "chromewebstore.media.upload": {
        **CHROME_WEB_STORE,
        "get": "chromewebstore.publishers.items.fetchStatus",
    },
    # Its states are not in the document:
    # developers.google.com/workspace/admin/groups-migration/v1/reference/archive/insert
    "groupsmigration.archive.insert": {
        "fields": ["responseCode"],
        "done": ["SUCCESS"],
        "failed": [
            "AUTHORIZATION FAILURE",
            "BACKEND FAILURE",
            "INVALID MESSAGE FAILURE",
            "UNSUPPORTED_PARALLEL_OPERATION",
        ],
    },
    "youtube.captions.insert": CAPTIONS,
    "youtube.captions.update": CAPTIONS,
    "youtube.videos.insert": {
        "fields": ["status.uploadStatus"],
        "done": ["uploaded", "processed"],
        "failed": ["failed", "rejected", "deleted"],
        "reasons": ["status.failureReason", "status.rejectionReason"],
    },
}
# Methods that require the dialect of the X-Goog-Upload headers, as their reference says (but no
# document), and that change nothing if they get the same file again:
# firebase.google.com/docs/reference/app-distribution/rest, upload.v1.projects.apps.releases.upload
RAW = ("firebaseappdistribution.media.upload",)
# Fields that look like a state of the upload but are something else. A field that is neither here
# nor in STATES stops the script: a person has to decide.
OTHER_STATES = {
    "adAsset.entityStatus": "what the asset may be used for",
    "adAsset.syntheticContentAttestationStatus": "what the advertiser says of the asset",
    "clientEncryptionDetails.encryptionState": "how the contents are encrypted",
    "configuration": "what the job was told to do",
    "image.aiGeneratedState": "what the developer says of the image",
    "latestReviewSummary.state": "of a review, which another method begins",
    "processingDetails": "of the processing after the upload, which `part` can't ask for",
    "snippet.status": "of a caption track",
    "statistics": "figures",
    "status.errors": "errors that need not have been fatal, as the document says",
    "status.privacyStatus": "who may see the video",
    "suggestions": "advice about the video",
}
LOOKS_LIKE_STATE = re.compile(
    r"state$|status$|error|fail|reject|^done$|^responseCode$", re.IGNORECASE
)
MAX_DEPTH = 4  # of the members of an answer that are checked
BINARY_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def documents() -> Iterator[dict[str, Any]]:
    """Yield the discovery documents of the installed package that have upload methods, in the order
    of their file names.
    """
    folder = Path(googleapiclient.discovery_cache.__file__).parent / "documents"
    for path in sorted(folder.glob("*.json")):
        # Parsing all of them as JSON would take a minute.
        if '"mediaUpload"' in (text := path.read_text(encoding="utf-8")):
            yield json.loads(text)


def upload_methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every method below a resource that takes media."""
    for method in resource.get("methods", {}).values():
        if "mediaUpload" in method:
            yield method
    for child in resource.get("resources", {}).values():
        yield from upload_methods(child)


def size(text: str | None) -> int | None:
    """Return the bytes of a `maxSize` such as `5497558138880` or `1GB`; None if the document sets
    no limit.
    """
    found = re.fullmatch(r"(\d+)(B|KB|MB|GB|TB)?", text or "")
    if text and not found:
        raise SystemExit(f"maxSize {text!r} can't be read")
    return int(found[1]) * BINARY_UNITS[found[2] or "B"] if found else None


def narrowest(method: dict[str, Any]) -> str:
    """Return the scope that the program asks for. Raises SystemExit if a person has to choose
    it.
    """
    listed = method.get("scopes") or UNLISTED[method["id"]]
    found = (
        listed
        if len(listed) == 1
        else [AUTH + name for name in NARROWEST if AUTH + name in listed]
    )
    if not found:
        raise SystemExit(
            f"{method['id']} takes several scopes, none of them in NARROWEST: {', '.join(listed)}"
        )
    return str(found[0])


def parameter(facts: dict[str, Any]) -> dict[str, Any]:
    """Return one path or query parameter, without the facts that are the default."""
    kept: dict[str, Any] = {"kind": facts.get("format") or facts["type"]}
    kept |= {
        name: facts[name]
        for name in ("required", "repeated", "pattern")
        if facts.get(name)
    }
    if "enum" in facts:
        kept["choices"] = [
            choice
            for choice in facts["enum"]
            if not choice.lower().endswith("unspecified")
        ]
    return kept


def identifier(schemas: dict[str, Any], name: str) -> str:
    """Return the dotted path of the field of an answer that identifies the result; empty if there
    is none.
    """
    fields = schemas.get(name, {}).get("properties", {})
    found = [candidate for candidate in IDENTIFIERS if candidate in fields]
    found += [
        f"{field}.{candidate}"
        for candidate in IDENTIFIERS
        for field, facts in fields.items()
        if field != "error"
        and candidate in schemas.get(facts.get("$ref", ""), {}).get("properties", {})
    ]
    return found[0] if found else ""


def all_methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every method below a resource."""
    yield from resource.get("methods", {}).values()
    for child in resource.get("resources", {}).values():
        yield from all_methods(child)


def method_path(document: dict[str, Any], method: dict[str, Any]) -> str:
    """Return the template of a method's path."""
    return str("/" + document["servicePath"] + method["path"])


def completion(
    document: dict[str, Any], method: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the rule by which an answer of the method says what became of the upload; None if any
    success means that it is complete.
    """
    schemas = document["schemas"]
    name = method.get("response", {}).get("$ref", "")
    for at, schema in (("", name), ("operation", member(schemas, name, "operation"))):
        if {"done", "error", "response"} <= set(
            schemas.get(schema, {}).get("properties", {})
        ):
            return {"kind": "operation", "at": at, "lookup": operation_lookup(document)}
    rule = STATES.get(method["id"])
    check_states(method, schemas, name, rule)
    if rule is None:
        return None
    keys = ("fields", "done", "at_work", "failed", "error", "reasons")
    kept: dict[str, Any] = {key: rule[key] for key in keys if key in rule}
    if "get" in rule:
        kept["lookup"] = state_lookup(document, method, rule)
    return {"kind": "state", **kept}


def member(schemas: dict[str, Any], name: str, field: str) -> str:
    """Return the name of a member's schema; empty if there is none."""
    return str(
        schemas.get(name, {}).get("properties", {}).get(field, {}).get("$ref", "")
    )


def operation_lookup(document: dict[str, Any]) -> dict[str, Any]:
    """Return the lookup of a long-running operation. An API can have several `operations.get` with
    the same path; raises SystemExit if their paths differ or there is none.
    """
    paths = {
        method_path(document, method)
        for method in all_methods(document)
        if method["id"].endswith(".operations.get")
    }
    if len(paths) != 1:
        raise SystemExit(f"{document['id']}: operations.get has {len(paths)} paths")
    return {"path": paths.pop(), "values": {"name": "name"}}


def operation_ids(method: dict[str, Any]) -> list[str]:
    """Return the dotted paths of fields that identify the result in the response of an operation.

    The documents do not say the type of the response. That of Artifact Registry is the artifact, or
    has a list of artifacts under the method's collection; that of Checks is a report, and that of
    Firebase has a release.
    """
    collection = method["id"].split(".")[-2]
    if collection == "media":
        return ["name", "release.name"]
    return ["name", f"{collection}.0.name", f"{collection[:-1]}.name"]


def state_lookup(
    document: dict[str, Any], method: dict[str, Any], rule: dict[str, Any]
) -> dict[str, Any]:
    """Return the lookup of a resource with a state, with the parameters that both methods take."""
    get = next(other for other in all_methods(document) if other["id"] == rule["get"])
    values = rule.get("values", {})
    path = method_path(document, get)
    unknown = {
        name
        for name, facts in get["parameters"].items()
        if facts.get("required")
        and name not in values
        and name not in rule.get("query", {})
        and name not in rule.get("constants", {})
        and name not in method["parameters"]
    }
    if unknown:
        raise SystemExit(f"{method['id']} does not know {unknown} of {rule['get']}")
    forwarded = [
        name
        for name, facts in sorted(get["parameters"].items())
        if facts["location"] == "query"
        and method["parameters"].get(name, {}).get("location") == "query"
        and name not in rule.get("constants", {})
    ]
    lookup: dict[str, Any] = {"path": path, "values": values}
    lookup |= {key: rule[key] for key in ("query", "constants", "at") if key in rule}
    return {**lookup, **({"forwarded": forwarded} if forwarded else {})}


def members(
    schemas: dict[str, Any], name: str, depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """Yield the members of a schema with their dotted paths, and the members of these."""
    for field, facts in schemas.get(name, {}).get("properties", {}).items():
        yield field, facts
        if "$ref" in facts and depth < MAX_DEPTH:
            for path, inner in members(schemas, facts["$ref"], depth + 1):
                yield f"{field}.{path}", inner


def check_states(
    method: dict[str, Any],
    schemas: dict[str, Any],
    name: str,
    rule: dict[str, Any] | None,
) -> None:
    """Compare a rule with the document. Raises SystemExit for a state that the rule does not have,
    and for a member that looks like a state and has no rule.
    """
    rule = rule or {}
    known = {
        *rule.get("fields", ()),
        rule.get("error"),
        *rule.get("reasons", ()),
        *OTHER_STATES,
    }
    values = {
        value for key in ("done", "at_work", "failed") for value in rule.get(key, ())
    }
    for path, facts in members(schemas, name):
        above = {path.rsplit(".", count)[0] for count in range(path.count(".") + 1)}
        is_container = "$ref" in facts and path not in known
        if LOOKS_LIKE_STATE.search(path) and not (known & above or is_container):
            raise SystemExit(f"{method['id']}: {path} looks like a state")
        if path in rule.get("fields", ()):
            stated = facts.get("enum") or re.findall(
                r"\b[A-Z_]{4,}\b", facts["description"]
            )
            missing = {
                state for state in stated if not state.endswith("UNSPECIFIED")
            } - values
            if missing:
                raise SystemExit(f"{method['id']}: {path} has the states {missing}")


def entry(document: dict[str, Any], method: dict[str, Any]) -> dict[str, Any]:
    """Return one method of the catalogue. Its facts have the names of fields in the program's
    `Method` and `Parameter`.
    """
    schemas = document["schemas"]
    request, response = (
        method.get(way, {}).get("$ref", "") for way in ("request", "response")
    )
    completed = completion(document, method)
    is_operation = completed is not None and completed["kind"] == "operation"
    id_field = identifier(schemas, response)
    id_fields = [name for name in (id_field, "id", "name", "versionCode") if name]
    if is_operation:
        id_fields = operation_ids(method)
    is_raw = method["id"] in RAW
    media = method["mediaUpload"]
    scope = narrowest(method)
    qualified = f"{document['name']}:{document['version']}{method['id'][len(document['name']) :]}"
    fields = schemas.get(request, {}).get("properties", {})
    name_field = DRIVE_NAME_FIELDS.get(qualified) or next(
        (name for name in NAME_FIELDS if name in fields), ""
    )
    return {
        "api": f"{document['name']}:{document['version']}",
        "id": method["id"],
        "root": document["rootUrl"].rstrip("/"),
        "qualified": qualified,
        "http_method": method["httpMethod"],
        "path": method_path(document, method),
        "upload_path": media["protocols"]["simple"]["path"],
        "accept": media["accept"],
        "max_size": size(media.get("maxSize")),
        "resumable": "resumable" in media["protocols"],
        "multipart": media["protocols"]["simple"].get("multipart", False)
        and not is_raw,
        "scope": scope,
        "scope_existing": WHEN_EXISTING.get(scope, scope)
        if document["name"] == "drive"
        else scope,
        "name_field": name_field,
        "type_field": next((name for name in TYPE_FIELDS if name in fields), ""),
        "id_fields": id_fields,
        "id_promised": bool(id_field)
        and id_field not in method["parameters"]
        and not is_operation,
        "empty_response": not schemas.get(response, {}).get("properties"),
        "dialect": "goog-upload" if is_raw else "content-range",
        "idempotent": is_raw,
        "completion": completed,
        "parameters": {
            name: parameter(facts)
            for name, facts in sorted(method["parameters"].items())
        },
    }


def age(entry: dict[str, Any]) -> tuple[bool, tuple[int, ...]]:
    """Return the sort key of a version of an API: stable versions after trial ones, then by
    number.
    """
    name = entry["api"].partition(":")[2]
    return not re.search("alpha|beta", name), tuple(
        int(number) for number in re.findall(r"\d+", name)
    )


def catalogue() -> dict[str, Any]:
    """Return the whole catalogue: each method under the name that a user gives as `target`.

    In the newest stable version of an API, a method has its plain id. The same id in an older
    version is qualified, as in `drive:v2.files.update`.
    """
    entries = [
        entry(document, method)
        for document in documents()
        for method in upload_methods(document)
    ]
    newest = {made["id"]: made for made in sorted(entries, key=age)}
    methods = {
        made["id"] if newest[made["id"]] is made else made["qualified"]: made
        for made in entries
    }
    return {
        "source": f"{PACKAGE} {version(PACKAGE)}",
        "methods": dict(sorted(methods.items())),
    }


def as_json(data: dict[str, Any]) -> str:
    """Return the catalogue as JSON with one line for each method, so that a change shows as one
    line.
    """
    lines = (
        f"{json.dumps(key)}: {json.dumps(method, separators=(',', ':'))}"
        for key, method in data["methods"].items()
    )
    methods = ",\n".join(lines)
    return f'{{\n"source": {json.dumps(data["source"])},\n"methods": {{\n{methods}\n}}\n}}\n'


def page(data: dict[str, Any]) -> str:
    """Return the text of docs/METHODS.md."""
    lines = []
    for target, method in data["methods"].items():
        facts = [format_size(method["max_size"])] if method["max_size"] else []
        facts += [] if method["resumable"] else ["not resumable"]
        lines.append(f"{target} {method['path']} {', '.join(facts)}".rstrip() + "\n")
    rows = [("Method", "Success", "Waited for", "Failure in a 200"), ("---",) * 4]
    for target, method in data["methods"].items():
        rows.append((f"`{target}`", *success(method)))
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return PAGE_TEXT.format(
        count=len(lines), source=data["source"], lines="".join(lines), table=table
    )


def success(method: dict[str, Any]) -> tuple[str, str, str]:
    """Return three cells of the table: what a success is, what is waited for, and how an answer
    reports a failure.
    """
    rule = method["completion"]
    if rule is None:
        if method["empty_response"]:
            return "an empty answer", "", ""
        return (
            (
                f"an answer with `{method['id_fields'][0]}`"
                if method["id_promised"]
                else "an object"
            ),
            "",
            "",
        )
    if rule["kind"] == "operation":
        prefix = f"{rule['at']}." if rule["at"] else ""
        done = f"`{prefix}done` with `{prefix}response`"
        return done, f"`{prefix}name`, until it is done", f"`{prefix}error`"
    state = f"`{rule['fields'][0]}`"
    at_work = f"{state} {alternatives(rule['at_work'])}" if rule.get("at_work") else ""
    failures = [f"{state} {alternatives(rule['failed'])}"] if rule["failed"] else []
    failures += [f"`{rule['error']}`"] if rule.get("error") else []
    return f"{state} {alternatives(rule['done'])}", at_work, ", ".join(failures)


def alternatives(values: list[str]) -> str:
    """Return values of a state as words."""
    return " or ".join(values)


if __name__ == "__main__":
    made = catalogue()
    CATALOGUE.write_text(as_json(made), encoding="utf-8")
    PAGE.write_text(page(made), encoding="utf-8")
