"""Names that are not ours: another tool's input or a misspelt one is a mistake, anything else is a warning.

A name one letter off must not pass in silence: `dry-rum: true` would publish. Beyond that nobody can tell whose a
variable is, so an unknown `UPLOADER_…` (under GitHub an unknown input too) is a warning; elsewhere `INPUT_…` may be
anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from uploader.errors import Problem
from uploader.inputs.platform import Kind
from uploader.inputs.table import fields
from uploader.problems import Problems

SIMILARITY = 0.8  # of difflib's ratio: a letter or two
FILES_ALONE = "Not needed: only what `files` names is uploaded"
BY_ITSELF = "Not needed: Google Play does it by itself"
REFERENCED = "Not needed: the version that is referenced has it"
KEY = "`credentials`, which takes JSON, its base64 and a path alike"
SHARING = "`target: play-internal-sharing`"
ROLLOUT = "`user-fraction`, as a fraction such as `0.05`"
LISTING = "Not needed: only what `images-directory` has is touched"
BEARER = "`credentials`; a refresh token goes there as an `authorized_user` configuration"

# Inputs of the tools that people come from, as they write them, and what to write here. Names that differ from ours in
# nothing but hyphens, underscores and capitals (packageName, whatsNewDirectory, user_fraction) are found without a row.
ANSWERS = {
    # r0adkll/upload-google-play and its relatives
    "serviceAccountJson": KEY,
    "serviceAccountJsonPlainText": KEY,
    "releaseFile": "`files`",
    "releaseFiles": "`files`",
    "track": "`tracks`",
    "whatsNewDir": "`whats-new-directory`",
    "releaseStatus": "`status`",
    "priority": "`in-app-update-priority`",
    "updatePriority": "`in-app-update-priority`",
    "rollout": ROLLOUT,
    "aabFile": "`files`",
    "apkFile": "`files`",
    "aabFilePath": "`files`",
    "apkFilePath": "`files`",
    "editId": "`existing-edit-id`",
    # fastlane supply
    "json_key": KEY,
    "json_key_data": KEY,
    "key": KEY,
    "apk": "`files`",
    "apk_paths": "`files`",
    "aab": "`files`",
    "aab_paths": "`files`",
    "mapping": "`mapping-file`",
    "mapping_paths": "`mapping-file` and `debug-symbols`",
    "metadata_path": "`images-directory` for the listing and `whats-new-directory` for the notes",
    "track_promote_to": "`promote-from` for the track to take, `tracks` for the tracks to put it on",
    "track_promote_release_status": "`status`",
    "validate_only": "`dry-run`",
    "version_name": "`release-name`",
    "version_code": "Not needed: it is read from the artifact or from the track",
    "issuer": KEY,
    "deactivate_on_promote": BY_ITSELF,
    "check_superseded_tracks": BY_ITSELF,
    "rescue_changes_not_sent_for_review": "`changes-not-sent-for-review`, whose `auto` does that",
    "ack_bundle_installation_warning": "Not needed: Google no longer asks for it",
    "skip_upload_apk": FILES_ALONE,
    "skip_upload_aab": FILES_ALONE,
    "skip_upload_metadata": LISTING,
    "skip_upload_images": LISTING,
    "skip_upload_screenshots": LISTING,
    "skip_upload_changelogs": "Not needed: only notes in `whats-new-directory` are sent",
    "sync_image_upload": "Not needed: only what differs is ever sent",
    "root_url": "`api-endpoint`",
    "obb_main_references_version": "`expansion-file-main`, as `references:VERSIONCODE`",
    "obb_patch_references_version": "`expansion-file-patch`, as `references:VERSIONCODE`",
    "obb_main_file_size": REFERENCED,
    "obb_patch_file_size": REFERENCED,
    "timeout": "`stall-timeout` and `finalize-timeout`",
    # gradle-play-publisher
    "serviceAccountCredentials": KEY,
    "ANDROID_PUBLISHER_CREDENTIALS": KEY,
    "useApplicationDefaultCredentials": "Not needed: they are used when nothing else is given",
    "defaultToAppBundles": "`files`, which names the bundle or the APKs",
    "enabled": "Not needed: leave the step out, or give it an `if:`",
    "impersonateServiceAccount": "`credentials`, as an `impersonated_service_account` configuration",
    "fromTrack": "`promote-from`",
    "promoteTrack": "`tracks`",
    "artifactDir": "`files`, with a pattern such as `dir/*.aab`",
    "resolutionStrategy": "`on-version-conflict`",
    "internalSharing": SHARING,
    # mail, storage and login actions
    "to": "`mail-to`",
    "from": "`mail-from`",
    "cc": "`mail-cc`",
    "bcc": "`mail-bcc`",
    "subject": "`mail-subject`",
    "body": "`mail-body`",
    "html_body": "`mail-html`",
    "attachments": "`files`",
    "path": "`files`",
    "filename": "`files`",
    "folderId": '`metadata`, as `{"parents": ["ID"]}`',
    "bucket": "`params`, as `bucket: NAME`",
    "destination": "`params`, as `bucket: NAME` and `name: PATH`",
    "credentials_json": KEY,
    "refresh-token": BEARER,
    "client-secret": BEARER,
}


def check(unknown: Sequence[str], other_tools: Sequence[str], kind: Kind, problems: Problems) -> None:
    """Adds a problem or a warning for each variable; the values are not looked at, since any of them may be a key."""
    for variable in unknown:
        problem = _mistake(variable)
        if problem:
            problems.extend([problem])
        elif kind == "github" or variable.startswith("UPLOADER_"):
            problems.warn(f"{_printable(variable)} is not an input of this program and is ignored.")
    for variable in other_tools:
        _, answer = _answer(variable.removeprefix("SUPPLY_"))
        if answer:
            problems.warn(f"{variable} is another tool's variable and is ignored. {answer}")


def _mistake(variable: str) -> Problem | None:
    """The problem with a variable that was surely meant for an input of this program or of another tool."""
    prefix, _, plain = variable.partition("_")
    written, answer = _answer(plain)
    if answer:
        name = written if prefix == "INPUT" else variable
        return Problem(name, f"is another tool's input. {answer}", covers=_inputs(answer))
    names = [field.name for field in fields()]
    nearest = get_close_matches(plain[:80].lower().replace("_", "-"), names, n=1, cutoff=SIMILARITY)
    if not nearest:
        return None
    return Problem(_printable(variable), f"is not an input. Did you mean `{nearest[0]}`?", covers=tuple(nearest))


def _inputs(answer: str) -> tuple[str, ...]:
    """The inputs that an answer names."""
    return tuple(field.name for field in fields() if re.search(rf"`{field.name}[`:]", answer))


def _answer(plain: str) -> tuple[str, str]:
    """How the other tool writes the name, and what to do here; both empty for a name that nobody knows."""
    squashed = _squash(plain)
    for field in fields():
        if _squash(field.name) == squashed:
            first, *others = field.name.split("-")
            return first + "".join(word.capitalize() for word in others), f"Use `{field.name}`."
    for name, answer in ANSWERS.items():
        if _squash(name) == squashed:
            return name, f"Use {answer}." if answer.startswith("`") else f"{answer}."
    return "", ""


def _squash(name: str) -> str:
    """A name without the differences that variables lose: `packageName`, `package-name`, `PACKAGE_NAME` are one."""
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()


def _printable(variable: str) -> str:
    return repr(variable[:80])[1:-1]
