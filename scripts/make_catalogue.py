"""Makes `uploader/services/catalogue.json` and docs/METHODS.md from Google's discovery documents.

The documents are the static files inside the package google-api-python-client, a dependency of
development. Run it without arguments to write both files, and look at the difference before it is
committed.
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

{count} methods, from Google's discovery documents ({source}). Each line has the `target`, the path,
whose braces are filled by `params`, and the largest file. [TARGETS.md](TARGETS.md) explains
`params`, `metadata`, names and repeats.

```text
{lines}```
"""
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
# drive.file sees only what the same project made, so a request that names an existing folder or
# file needs the whole.
WHEN_EXISTING = {AUTH + "drive.file": AUTH + "drive"}
# The document of this API lists no scope; developers.google.com/checks/guide/api/auth names it.
UNLISTED = {"checks.media.upload": [AUTH + "checks"]}
# What identifies the result, in the order of preference; looked for in the answer itself, then one
# level down.
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
# The metadata field that holds the media type: what is uploaded has to be of the type that it
# states.
TYPE_FIELDS = ("contentType", "mimeType")
BINARY_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def documents() -> Iterator[dict[str, Any]]:
    """The discovery documents of the installed package that have upload methods, in the order of
    their file names.
    """
    folder = Path(googleapiclient.discovery_cache.__file__).parent / "documents"
    for path in sorted(folder.glob("*.json")):
        # to read all as JSON takes a minute
        if '"mediaUpload"' in (text := path.read_text(encoding="utf-8")):
            yield json.loads(text)


def upload_methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every method below a resource that takes media."""
    for method in resource.get("methods", {}).values():
        if "mediaUpload" in method:
            yield method
    for child in resource.get("resources", {}).values():
        yield from upload_methods(child)


def size(text: str | None) -> int | None:
    """Bytes of a `maxSize` such as `5497558138880` or `1GB`; None when the document sets no
    limit.
    """
    found = re.fullmatch(r"(\d+)(B|KB|MB|GB|TB)?", text or "")
    if text and not found:
        raise SystemExit(f"maxSize {text!r} can't be read")
    return int(found[1]) * BINARY_UNITS[found[2] or "B"] if found else None


def narrowest(method: dict[str, Any]) -> str:
    """The scope that the program asks for."""
    listed = method.get("scopes") or UNLISTED[method["id"]]
    found = (
        listed if len(listed) == 1 else [AUTH + name for name in NARROWEST if AUTH + name in listed]
    )
    if not found:
        raise SystemExit(
            f"{method['id']} takes several scopes, none of them in NARROWEST: {', '.join(listed)}"
        )
    return str(found[0])


def parameter(facts: dict[str, Any]) -> dict[str, Any]:
    """One path or query parameter, with only the facts that are not the default."""
    kept: dict[str, Any] = {"kind": facts.get("format") or facts["type"]}
    kept |= {name: facts[name] for name in ("required", "repeated", "pattern") if facts.get(name)}
    if "enum" in facts:
        kept["choices"] = [
            choice for choice in facts["enum"] if not choice.lower().endswith("unspecified")
        ]
    return kept


def identifier(schemas: dict[str, Any], name: str) -> str:
    """The dotted path of the field of an answer that identifies the result; empty when there is
    none.
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


def entry(document: dict[str, Any], method: dict[str, Any]) -> dict[str, Any]:
    """One method of the catalogue, its facts under the names that `Method` and `Parameter` in the
    program have.
    """
    schemas = document["schemas"]
    request, response = (method.get(way, {}).get("$ref", "") for way in ("request", "response"))
    id_field = identifier(schemas, response)
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
        "path": "/" + document["servicePath"] + method["path"],
        "upload_path": media["protocols"]["simple"]["path"],
        "accept": media["accept"],
        "max_size": size(media.get("maxSize")),
        "resumable": "resumable" in media["protocols"],
        "multipart": media["protocols"]["simple"].get("multipart", False),
        "scope": scope,
        "scope_existing": WHEN_EXISTING.get(scope, scope) if document["name"] == "drive" else scope,
        "name_field": name_field,
        "type_field": next((name for name in TYPE_FIELDS if name in fields), ""),
        "id_fields": [name for name in (id_field, "id", "name", "versionCode") if name],
        "id_promised": bool(id_field) and id_field not in method["parameters"],
        "empty_response": not schemas.get(response, {}).get("properties"),
        "parameters": {
            name: parameter(facts) for name, facts in sorted(method["parameters"].items())
        },
    }


def age(entry: dict[str, Any]) -> tuple[bool, tuple[int, ...]]:
    """Orders the versions of one API: stable ones above trial ones, then by number."""
    name = entry["api"].partition(":")[2]
    return not re.search("alpha|beta", name), tuple(
        int(number) for number in re.findall(r"\d+", name)
    )


def catalogue() -> dict[str, Any]:
    """The whole catalogue: each method under the name that a user gives as `target`.

    The newest stable version of an API has the plain id; an older one with it is called
    `drive:v2.files.update`.
    """
    entries = [
        entry(document, method) for document in documents() for method in upload_methods(document)
    ]
    newest = {made["id"]: made for made in sorted(entries, key=age)}
    methods = {
        made["id"] if newest[made["id"]] is made else made["qualified"]: made for made in entries
    }
    return {"source": f"{PACKAGE} {version(PACKAGE)}", "methods": dict(sorted(methods.items()))}


def as_json(data: dict[str, Any]) -> str:
    """The catalogue as text, one line for each method, so that a change shows as one line."""
    lines = (
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}"
        for key, one in data["methods"].items()
    )
    methods = ",\n".join(lines)
    return f'{{\n"source": {json.dumps(data["source"])},\n"methods": {{\n{methods}\n}}\n}}\n'


def page(data: dict[str, Any]) -> str:
    """docs/METHODS.md."""
    lines = []
    for target, one in data["methods"].items():
        facts = [format_size(one["max_size"])] if one["max_size"] else []
        facts += [] if one["resumable"] else ["not resumable"]
        lines.append(f"{target} {one['path']} {', '.join(facts)}".rstrip() + "\n")
    return PAGE_TEXT.format(count=len(lines), source=data["source"], lines="".join(lines))


if __name__ == "__main__":
    made = catalogue()
    CATALOGUE.write_text(as_json(made), encoding="utf-8")
    PAGE.write_text(page(made), encoding="utf-8")
