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
from uploader.input_problems import Problems
from uploader.inputs.ci_platform import Kind
from uploader.inputs.input_table import fields

SIMILARITY = 0.8  # of difflib's ratio: a letter or two
KEY = "`credentials`, which takes JSON, its base64 and a path alike"

# What to write here, and the inputs of the tools that people come from, as they write them, that mean it. Names that
# differ from ours in nothing but hyphens, underscores and capitals (packageName, whatsNewDirectory, user_fraction) are
# found without a row.
_NAMES_BY_ANSWER = (
    # r0adkll/upload-google-play and its relatives
    (KEY, "serviceAccountJson", "serviceAccountJsonPlainText"),
    ("`files`", "releaseFile", "releaseFiles", "aabFile", "apkFile", "aabFilePath", "apkFilePath"),
    ("`tracks`", "track"),
    ("`whats-new-directory`", "whatsNewDir"),
    ("`status`", "releaseStatus"),
    ("`in-app-update-priority`", "priority", "updatePriority"),
    ("`user-fraction`, as a fraction such as `0.05`", "rollout"),
    ("`existing-edit-id`", "editId"),
    # fastlane supply
    (KEY, "json_key", "json_key_data", "key", "issuer"),
    ("`files`", "apk", "apk_paths", "aab", "aab_paths"),
    ("`mapping-file`", "mapping"),
    ("`mapping-file` and `debug-symbols`", "mapping_paths"),
    ("`images-directory` for the listing and `whats-new-directory` for the notes", "metadata_path"),
    ("`promote-from` for the track to take, `tracks` for the tracks to put it on", "track_promote_to"),
    ("`status`", "track_promote_release_status"),
    ("`dry-run`", "validate_only"),
    ("`release-name`", "version_name"),
    ("`promote-version-codes` for a promotion; that of an upload is read from the artifact", "version_code"),
    ("Not needed: Google Play does it by itself", "deactivate_on_promote", "check_superseded_tracks"),
    ("`changes-not-sent-for-review`, whose `auto` does that", "rescue_changes_not_sent_for_review"),
    ("Not needed: Google no longer asks for it", "ack_bundle_installation_warning"),
    ("Not needed: only what `files` names is uploaded", "skip_upload_apk", "skip_upload_aab"),
    (
        "Not needed: only what `images-directory` has is touched",
        *("skip_upload_metadata", "skip_upload_images", "skip_upload_screenshots"),
    ),
    ("Not needed: only notes in `whats-new-directory` are sent", "skip_upload_changelogs"),
    ("Not needed: only what differs is ever sent", "sync_image_upload"),
    ("`api-endpoint`", "root_url"),
    ("`expansion-file-main`, as `references:VERSIONCODE`", "obb_main_references_version"),
    ("`expansion-file-patch`, as `references:VERSIONCODE`", "obb_patch_references_version"),
    ("Not needed: the version that is referenced has it", "obb_main_file_size", "obb_patch_file_size"),
    ("`stall-timeout` and `finalize-timeout`", "timeout"),
    # gradle-play-publisher
    (KEY, "serviceAccountCredentials", "ANDROID_PUBLISHER_CREDENTIALS"),
    ("Not needed: they are used when nothing else is given", "useApplicationDefaultCredentials"),
    ("`files`, which names the bundle or the APKs", "defaultToAppBundles"),
    ("Not needed: leave the step out, or give it an `if:`", "enabled"),
    ("`credentials`, as an `impersonated_service_account` configuration", "impersonateServiceAccount"),
    ("`promote-from`", "fromTrack"),
    ("`tracks`", "promoteTrack"),
    ("`files`, with a pattern such as `dir/*.aab`", "artifactDir"),
    ("`on-version-conflict`", "resolutionStrategy"),
    ("`target: play-internal-sharing`", "internalSharing"),
    # mail, storage and login actions
    *((f"`mail-{name}`", name) for name in ("to", "from", "cc", "bcc", "subject", "body")),
    ("`mail-html`", "html_body"),
    ("`files`", "attachments", "path", "filename"),
    ('`metadata`, as `{"parents": ["ID"]}`', "folderId"),
    ("`media-type`", "mimeType", "contentType"),
    ("`params`, as `bucket: NAME`", "bucket"),
    ("`params`, as `bucket: NAME` and `name: PATH`", "destination"),
    (KEY, "credentials_json"),
    (
        "`credentials`; a refresh token goes there as an `authorized_user` configuration",
        *("refresh-token", "client-secret"),
    ),
)
ANSWERS = {name: answer for answer, *names in _NAMES_BY_ANSWER for name in names}


def check(unknown: Sequence[str], other_tools: Sequence[str], kind: Kind, problems: Problems) -> None:
    """Adds a problem or a warning for each variable; the values are not looked at, since any of them may be a key."""
    for variable in unknown:
        prefix, _, plain = variable.partition("_")
        problem = mistake(variable, plain, "input", written_by_hand=prefix == "INPUT")
        if problem:
            problems.extend([problem])
        elif kind == "github" or variable.startswith("UPLOADER_"):
            problems.warn(f"{_printable(variable)} is not an input of this program and is ignored.")
    for variable in other_tools:
        _, answer = _answer(variable.removeprefix("SUPPLY_"))
        if answer:
            problems.warn(f"{variable} is another tool's variable and is ignored. {answer}")


def mistake(given: str, plain: str, kind: str, *, written_by_hand: bool = False) -> Problem | None:
    """The problem with a name that was surely meant for an input of this program or of another tool.

    `given` is the variable or the option, `plain` the name in it, `kind` the word for it, input or option. A name that
    was `written_by_hand`, before the runner made a variable of it, is told as the other tool writes it.
    """
    written, answer = _answer(plain)
    names = [field.name for field in fields()]
    if answer:
        name = written if written_by_hand else given
        named = tuple(ours for ours in names if re.search(rf"`{ours}[`:]", answer))
        return Problem(name, f"is another tool's {kind}. {answer}", covers=named)
    nearest = get_close_matches(plain[:80].lower().replace("_", "-"), names, n=1, cutoff=SIMILARITY)
    if not nearest:
        return None
    return Problem(_printable(given), f"is not an {kind}. Did you mean `{nearest[0]}`?", covers=tuple(nearest))


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
