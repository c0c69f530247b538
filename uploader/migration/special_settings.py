"""What a setting of another tool is here, where it is more than another name for an input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from uploader.inputs.other_tools import TOOLS
from uploader.inputs.play_tools import HELD_BACK, NO_INPUT
from uploader.migration.conversion import EXPRESSION, Conversion, unfit
from uploader.migration.found_upload import VARIABLE, Given, below, variable

_KEY_FILES = ("serviceAccountJson", "json_key", "serviceAccountCredentials", "--credentials")
_PATH = re.compile(r"[\w./~ -]+\.json|[\w.-]+/[\w./ -]+", re.ASCII)
_STATUS = {"COMPLETED": "completed", "IN_PROGRESS": "inProgress", "HALTED": "halted", "DRAFT": "draft"}


def convert(conversion: Conversion) -> None:
    """Takes every setting over, or names it."""
    for given in conversion.upload.given:
        row = TOOLS[conversion.upload.tool].find(given.name)
        special = _SPECIAL.get(given.name)
        if special:
            special(conversion, given)
        elif row is None:
            conversion.leave(given, "no input of this program is like it")
        elif row.here == NO_INPUT:
            conversion.leave(given, f"not needed: {row.reply or row.remark}")
        elif "credentials" in row.inputs:
            _credentials(conversion, given)
        elif ":" in row.here:
            conversion.leave(given, f"write {row.here}")
        else:
            conversion.carry(row.inputs[0], given)


def _track(conversion: Conversion, given: Given) -> None:
    if given.value == "internalsharing":
        conversion.inputs["target"] = "play-internal-sharing"
    elif given.value == "rollout":
        conversion.carry("tracks", given, "production")
    elif "track_promote_to" in conversion.given:
        conversion.carry("promote-from", given)
    else:
        conversion.carry("tracks", given)


def _credentials(conversion: Conversion, given: Given) -> None:
    """An expression or a path; of anything else not even a word, since it may be the key."""
    value = given.value.removeprefix("@file:").strip()
    if value.startswith("@env:"):
        value = variable(value.removeprefix("@env:"))
    if EXPRESSION.fullmatch(value) and not unfit(value):
        conversion.inputs.setdefault("credentials", VARIABLE.sub(r"${{ secrets.\1 }}", value))
        if VARIABLE.search(value):
            conversion.leave(given, f"the key itself has to be in `{conversion.inputs['credentials']}`")
    elif given.name in _KEY_FILES and len(value) < 200 and _PATH.fullmatch(value):
        conversion.inputs.setdefault("credentials", below(conversion.upload.folder, value))
        conversion.leave(given, "the file must be there when the step runs; a secret, or the keyless login, needs none")
    else:
        conversion.leave(given, "no key is taken over: put it into a secret, and name that in `credentials`")


def _fraction(conversion: Conversion, given: Given) -> None:
    if re.fullmatch(r"1(\.0*)?", given.value):
        conversion.leave(given, "everybody gets the release: that is `status: completed`, the default")
    else:
        conversion.carry("user-fraction", given)


def _status(conversion: Conversion, given: Given) -> None:
    conversion.carry("status", given, _STATUS.get(given.value, given.value))


def _draft(conversion: Conversion, given: Given) -> None:
    if given.value == "true":
        conversion.inputs["status"] = "draft"


def _held_back(conversion: Conversion, given: Given) -> None:
    conversion.leave(given, HELD_BACK)


def _mappings(conversion: Conversion, given: Given) -> None:
    paths = given.value.split("\n")
    symbols = [path for path in paths if path.endswith(".zip")]
    for name, found in (("debug-symbols", symbols), ("mapping-file", [path for path in paths if path not in symbols])):
        if len(found) > 1:
            conversion.leave(given, f"name each for its version code in `{name}`: a line `42=path`")
        elif found:
            conversion.carry(name, given, found[0])


def _version_code(conversion: Conversion, given: Given) -> None:
    if "track_promote_to" in conversion.given:
        conversion.carry("promote-version-codes", given)
    else:
        conversion.leave(given, "not needed: an upload's is read from the artifact, a rollout is changed as it is")


def _skipped(conversion: Conversion, given: Given) -> None:
    if given.value.lower() != "false":
        row = TOOLS["fastlane"].find(given.name)
        conversion.leave(given, f"not needed: {row.reply or row.remark if row else ''}")


def _listing(conversion: Conversion, given: Given) -> None:
    if not conversion.true("skip_upload_metadata", "skip_upload_images", "skip_upload_screenshots"):
        conversion.carry("images-directory", given)
    if not conversion.true("skip_upload_changelogs"):
        conversion.carry("whats-new-directory", given)


def _replaced(conversion: Conversion, given: Given) -> None:
    row = TOOLS[conversion.upload.tool].find(given.name)
    conversion.leave(given, f"{row.here}: {row.remark}" if row else "")


def _conflict(conversion: Conversion, given: Given) -> None:
    strategy = given.value.lower()
    if strategy == "fail":
        conversion.carry("on-version-conflict", given, "fail")
    elif strategy == "ignore":
        conversion.leave(given, "`on-version-conflict: reuse`, the default, is closest: it reuses the same bytes only")
    else:
        conversion.leave(given, "the build has to set the version code: `target: play-status` outputs the next one")


def _promotion(conversion: Conversion, given: Given) -> None:
    name = "promote-from" if given.name == "fromTrack" else "tracks"
    if "artifacts" in conversion.given or not conversion.upload.title.startswith("the task"):
        conversion.leave(given, f"a promotion is a step of its own, with `{name}: {given.value}` and no `files`")
    else:
        conversion.carry(name, given)


def _artifacts(conversion: Conversion, given: Given) -> None:
    pattern = "*.aab" if conversion.true("defaultToAppBundles") else "*.a*"
    conversion.carry("files", given, given.value and f"{given.value}/{pattern}")


def _notes_json(conversion: Conversion, given: Given) -> None:
    """`[{"language": "en-US", "text": "…"}]` as `locale: text`, where every text is a line."""
    try:
        notes = [(str(note["language"]), str(note["text"])) for note in json.loads(given.value)]
    except (ValueError, TypeError, KeyError, RecursionError):
        conversion.leave(given, "write the notes as `locale: text` into `whats-new`, or into `whats-new-directory`")
        return
    conversion.carry("whats-new", given, "\n".join(f"{language}: {json.dumps(text)}" for language, text in notes))


def _expansion(conversion: Conversion, given: Given) -> None:
    kind = "main" if "main" in given.name else "patch"
    conversion.carry(f"expansion-file-{kind}", given, f"references:{given.value}")


def _destination(conversion: Conversion, given: Given) -> None:
    bucket, _, prefix = given.value.partition("/")
    params = {"bucket": bucket, **({"name": prefix.rstrip("/") + "/"} if prefix else {})}
    if conversion.text("predefinedAcl"):
        params["predefinedAcl"] = conversion.text("predefinedAcl")
    conversion.carry("params", given, json.dumps(params, ensure_ascii=False))


def _folder_of_objects(conversion: Conversion, given: Given) -> None:
    folder = given.value.rstrip("/") or "."
    glob = conversion.text("glob")
    whole = glob or "**" if "." not in folder.rpartition("/")[2] else ""
    conversion.carry("files", given, f"{folder}/{whole}" if whole else folder)
    if "/" in folder.removeprefix("./"):
        conversion.leave(given, "an object is named after its file's whole path in the workspace")


def _settled(_: Conversion, __: Given) -> None:
    """It was looked at together with another setting."""


_Special = Callable[[Conversion, Given], None]
_SPECIAL: Mapping[str, _Special] = {
    **dict.fromkeys(("track", "--track", "-t"), _track),
    **dict.fromkeys(("key", "issuer", "impersonateServiceAccount", "timeout"), _replaced),
    **dict.fromkeys(("userFraction", "rollout", "--rollout-fraction", "-f"), _fraction),
    **dict.fromkeys(("releaseStatus", "release_status", "status", "track_promote_release_status"), _status),
    **dict.fromkeys(("--draft", "-d"), _draft),
    **dict.fromkeys(("changesNotSentForReview", "changes_not_sent_for_review"), _held_back),
    **dict.fromkeys(("rescue_changes_not_sent_for_review", "--changes-not-sent-for-review"), _held_back),
    **dict.fromkeys(("skip_upload_apk", "skip_upload_aab", "skip_upload_metadata"), _skipped),
    **dict.fromkeys(("skip_upload_images", "skip_upload_screenshots", "skip_upload_changelogs"), _skipped),
    **dict.fromkeys(("fromTrack", "promoteTrack"), _promotion),
    **dict.fromkeys(("obb_main_references_version", "obb_patch_references_version"), _expansion),
    **dict.fromkeys(("retain.mainObb", "retain.patchObb"), _expansion),
    **dict.fromkeys(("--release-notes", "-n"), _notes_json),
    **dict.fromkeys(("defaultToAppBundles", "artifacts", "glob", "predefinedAcl"), _settled),
    "mapping_paths": _mappings,
    "version_code": _version_code,
    "metadata_path": _listing,
    "track_promote_to": lambda conversion, given: conversion.carry("tracks", given),
    "resolutionStrategy": _conflict,
    "artifactDir": _artifacts,
    "destination": _destination,
    "path": _folder_of_objects,
}
