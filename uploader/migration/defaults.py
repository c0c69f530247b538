"""What each tool does unasked, and this one only when it is told: tracks, files, keys, texts beside the build."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from uploader.inputs import fields
from uploader.inputs.input_table import METHOD, TARGETS
from uploader.inputs.other_tools import ToolId
from uploader.migration.conversion import Conversion
from uploader.migration.fastfile import SHARING
from uploader.migration.found_upload import VARIABLE, below

_APK = "build/outputs/apk/release/*.apk"
_BUNDLE = "build/outputs/bundle/release/*.aab"
_GROUPS = {field.name: field.group.targets for field in fields()}


def complete(conversion: Conversion) -> None:
    """Adds what the tool would have chosen by itself, and takes back what does not go together here."""
    _release_less(conversion)
    _DEFAULTS[conversion.upload.tool](conversion)
    if "credentials" not in conversion.inputs and conversion.upload.tool in _SECRETS:
        name, where = _SECRETS[conversion.upload.tool]
        conversion.inputs["credentials"] = f"${{{{ secrets.{name} }}}}"
        why = f"a secret, or masked variable, of this or another name has to hold the key, which is {where} there"
        conversion.add(why, f"credentials: {conversion.inputs['credentials']}")
    _settle_status(conversion)
    _drop_unread(conversion)
    _name_variables(conversion)
    conversion.inputs = {name: conversion.inputs[name] for name in _GROUPS if name in conversion.inputs}


def _release_less(conversion: Conversion) -> None:
    """A track, a share or a status that could not be told must not become a release to everybody."""
    missed = conversion.missed - conversion.inputs.keys()
    if "tracks" in missed:
        _default(conversion, "tracks", "internal", "until you write the track that could not be told")
    if missed & {"status", "user-fraction"} and conversion.inputs["target"] == "play":
        conversion.inputs.pop("user-fraction", None)
        conversion.inputs["status"] = "draft"
        conversion.add("until you write the status or `user-fraction` that could not be told", "status: draft")


def _play_action(conversion: Conversion) -> None:
    kevin = "github-action-upload-play-store" in conversion.upload.title.lower()
    if conversion.inputs["target"] == "play" and "tracks" not in conversion.inputs:
        _track(conversion, "internal" if kevin else "production")
    if kevin and "status" not in conversion.inputs:
        _default(conversion, "status", "draft")


def _fastlane(conversion: Conversion) -> None:
    folder = conversion.upload.folder
    if conversion.upload.title.startswith(SHARING):
        conversion.inputs["target"] = "play-internal-sharing"
        conversion.inputs.pop("tracks", None)
    promotes = "promote-from" in conversion.inputs or "track_promote_to" in conversion.given
    if promotes:
        conversion.inputs.setdefault("promote-from", "production")
        if conversion.inputs.pop("files", ""):
            conversion.add("an upload and a promotion are two steps: put one with `files` before this one")
    elif "files" not in conversion.inputs and not conversion.true("skip_upload_aab", "skip_upload_apk"):
        apk = {"apk", "apk_paths"} & conversion.given.keys() or conversion.true("skip_upload_aab")
        built = below(folder, f"app/{_APK if apk else _BUNDLE}")
        _default(conversion, "files", built, "what the lane built before is uploaded")
    if not promotes:
        _fastlane_texts(conversion)
    releases = "files" in conversion.inputs or {"version_code", "release_status", "rollout"} & conversion.given.keys()
    if "tracks" not in conversion.inputs and releases and conversion.inputs["target"] == "play":
        _track(conversion, "production")
    if "files" not in conversion.inputs and not releases and not promotes:
        conversion.inputs.pop("tracks", None)  # of a listing alone


def _fastlane_texts(conversion: Conversion) -> None:
    """Supply sends listing texts, images and notes from its own folder, unless they are skipped."""
    path = below(conversion.upload.folder, "fastlane/metadata/android")
    images = conversion.true("skip_upload_metadata", "skip_upload_images", "skip_upload_screenshots")
    notes = conversion.true("skip_upload_changelogs")
    if "metadata_path" not in conversion.given and conversion.exists(path):
        wanted = {"images-directory": not images, "whats-new-directory": not notes}
        conversion.inputs.update({name: path for name, yes in wanted.items() if yes})


def _gradle(conversion: Conversion) -> None:
    folder = conversion.upload.folder
    task = "artifacts" in conversion.given
    if task:
        _default(conversion, "files", below(folder, conversion.text("artifacts")), "build it in a step before")
    elif "promote-from" not in conversion.inputs and not conversion.upload.title.startswith("the task promote"):
        apk = conversion.text("defaultToAppBundles").lower() == "false"
        outputs = below(folder or "app", _APK if apk else _BUNDLE)
        _default(conversion, "files", outputs, "build it in a step before")
    if "Private" in conversion.upload.title:
        conversion.inputs["target"] = "play-internal-sharing"
    elif "tracks" not in conversion.inputs:
        _track(conversion, "internal")
    if conversion.inputs.get("status") in {"inProgress", "halted"} and "user-fraction" not in conversion.inputs:
        _default(conversion, "user-fraction", "0.1")
    if conversion.inputs.get("status", "completed") == "completed" and "user-fraction" in conversion.inputs:
        conversion.drop("user-fraction", "it counts there only with `releaseStatus` inProgress or halted")
    notes = below("" if task else folder, "src/main/play")
    if conversion.exists(f"{notes}/release-notes"):
        conversion.inputs.setdefault("whats-new-directory", notes)


def _storage(conversion: Conversion) -> None:
    conversion.inputs["target"] = "storage.objects.insert"
    if "credentials" not in conversion.inputs:
        conversion.add("what google-github-actions/auth leaves is found; or name the keyless login", "no key is given")


def _nothing(_: Conversion) -> None:
    """It has no defaults of its own."""


def _track(conversion: Conversion, track: str) -> None:
    _default(conversion, "tracks", track)


def _default(conversion: Conversion, name: str, value: str, why: str = "") -> None:
    """An input that the other tool's user did not have to write."""
    if name not in conversion.inputs:
        conversion.inputs[name] = value
        conversion.add(
            f"taken as {value}: {why or 'the default there, which has to be written here'}", f"no {name} given"
        )


def _settle_status(conversion: Conversion) -> None:
    """A share of users and a status that goes without one."""
    status = conversion.inputs.get("status")
    if "user-fraction" in conversion.inputs and status == "completed":
        conversion.drop("status", "with `user-fraction` it is inProgress")
    elif "user-fraction" in conversion.inputs and status == "draft":
        conversion.drop("user-fraction", "a draft has no share of users")


def _drop_unread(conversion: Conversion) -> None:
    target = conversion.inputs["target"]
    reader = target if target in TARGETS else METHOD
    for name in [name for name in conversion.inputs if _GROUPS[name] and reader not in _GROUPS[name]]:
        conversion.drop(name, f"`target: {target}` does not read it")


def _name_variables(conversion: Conversion) -> None:
    """Names the variables that only a script or a machine had; what a workflow wrote itself is as good as before."""
    if conversion.upload.tool in {"play-action", "storage"}:
        return
    for name, value in conversion.inputs.items():
        missing = ", ".join(dict.fromkeys(VARIABLE.findall(value)))
        if missing:
            conversion.add(f"the variable {missing} has to be set where the job runs", f"{name}: {value}")


_SECRETS: Mapping[ToolId, tuple[str, str]] = {
    "play-action": ("PLAY_SERVICE_ACCOUNT", "in a file or a secret"),
    "fastlane": ("SUPPLY_JSON_KEY_DATA", "in the Appfile or the environment"),
    "gradle": ("ANDROID_PUBLISHER_CREDENTIALS", "in the environment or a file"),
    "codemagic": ("GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS", "in the environment"),
}
_DEFAULTS: Mapping[ToolId, Callable[[Conversion], None]] = {
    "play-action": _play_action,
    "fastlane": _fastlane,
    "gradle": _gradle,
    "codemagic": _nothing,
    "storage": _storage,
}
