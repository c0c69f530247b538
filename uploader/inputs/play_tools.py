"""The inputs of the tools that bring apps to Google Play, and what each is here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

KEY: Final = "`credentials`, which takes JSON, its base64 and a path alike"
NO_INPUT: Final = "no input"
NOTHING_ELSE: Final = "only what `images-directory` has is touched"
HELD_BACK: Final = "leave it out: `auto`, the default, does what Google demands, without a second upload"


@dataclass(frozen=True)
class OtherInput:
    """Inputs of another tool as it writes them, what they are here (Markdown), a remark, and a fuller answer if any."""

    names: tuple[str, ...]
    here: str
    remark: str = ""
    reply: str = ""

    @property
    def response(self) -> str:
        """What somebody is told who gives it to this program."""
        if self.here == NO_INPUT:
            return f"Not needed: {self.reply or self.remark}"
        return self.reply or self.here.replace("`, `", "` and `")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs that it is here."""
        return tuple(re.findall(r"`([a-z-]+)", self.here))


def row(names: str, here: str, remark: str = "", reply: str = "") -> OtherInput:
    """One row of a table; several names are separated by commas."""
    return OtherInput(tuple(names.split(", ")), here, remark, reply)


PLAY_ACTION = (
    row("serviceAccountJson", "`credentials`", "a path, JSON, or base64 of JSON", KEY),
    row("serviceAccountJsonPlainText", "`credentials`", "the key is never written into the workspace", KEY),
    row("packageName", "`package-name`", "may be left out: it is read from the artifact"),
    row("releaseFile", "`files`"),
    row("releaseFiles", "`files`", "globs as before; lines or commas"),
    row(
        "releaseName",
        "`release-name`",
        "the tag when not given (at most 50 characters, which is what the Play Console takes), where the old default "
        "was the version name",
    ),
    row("track", "`tracks`", "no default; it was `production`. `internalsharing` is `target: play-internal-sharing`"),
    row("tracks", "`tracks`"),
    row("inAppUpdatePriority", "`in-app-update-priority`"),
    row("userFraction", "`user-fraction`"),
    row("status", "`status`", "`inProgress` follows from `user-fraction` and need not be written"),
    row(
        "whatsNewDirectory",
        "`whats-new-directory`",
        "the same `whatsnew-<locale>` files; fastlane's and Gradle Play Publisher's layouts too",
    ),
    row(
        "mappingFile",
        "`mapping-file`",
        "checked before the upload; for several artifacts one for each: `{version-code}`, `{name}`, or lines `42=path`",
    ),
    row("debugSymbols", "`debug-symbols`", "a zip or a folder"),
    row("changesNotSentForReview", "`changes-not-sent-for-review`", HELD_BACK),
    row("existingEditId", "`existing-edit-id`", "to leave an edit open for the next job, `commit: false`"),
    row("versionCodesToRetain", "`version-codes-to-retain`"),
    # its forks, and other actions for Google Play
    row("service_account_json", "`credentials`", "KevinRohn/github-action-upload-play-store: base64", KEY),
    row("aab_file_path", "`files`", "the same"),
    row("release_status", "`status`", "the same; no default here, it was `draft`"),
    row("package_name", "`package-name`", "the same"),
    row("aabFile, apkFile, aabFilePath, apkFilePath", "`files`", "other actions"),
    row("whatsNewDir", "`whats-new-directory`", "other actions"),
    row("releaseStatus", "`status`", "other actions"),
    row("priority, updatePriority", "`in-app-update-priority`", "other actions"),
    row("editId", "`existing-edit-id`", "other actions"),
)

FASTLANE = (
    row("package_name", "`package-name`", "may be left out: it is read from the artifact"),
    row("version_name", "`release-name`"),
    row(
        "version_code",
        "`promote-version-codes`",
        "for a promotion alone: a rollout is changed on the track as it is, and the code of an upload is read from the "
        "artifact",
        "`promote-version-codes` for a promotion; that of an upload is read from the artifact",
    ),
    row("release_status", "`status`"),
    row("track", "`tracks`", "no default; it was `production`"),
    row(
        "rollout",
        "`user-fraction`",
        "`1` is `status: completed` here",
        "`user-fraction`, as a fraction such as `0.05`",
    ),
    row(
        "metadata_path",
        "`images-directory`, `whats-new-directory`",
        "the same layout; the release notes have an input of their own, which may name the same folder",
        "`images-directory` for the listing and `whats-new-directory` for the notes",
    ),
    row("key, issuer", "`credentials`", "P12 keys are deprecated in supply too; a JSON key, or a keyless login", KEY),
    row("json_key", "`credentials`", "a path", KEY),
    row("json_key_data", "`credentials`", "the JSON itself", KEY),
    row("apk, apk_paths", "`files`"),
    row("aab, aab_paths", "`files`"),
    row("skip_upload_apk, skip_upload_aab", NO_INPUT, "only what `files` names is uploaded"),
    row("skip_upload_metadata", NO_INPUT, "leave `images-directory` out", NOTHING_ELSE),
    row(
        "skip_upload_images, skip_upload_screenshots",
        NO_INPUT,
        "leave `images-directory` out, or the images out of it",
        NOTHING_ELSE,
    ),
    row(
        "skip_upload_changelogs",
        NO_INPUT,
        "leave `whats-new-directory` out",
        "only notes in `whats-new-directory` are sent",
    ),
    row(
        "sync_image_upload",
        NO_INPUT,
        "only images whose sha256 differs are ever sent; `images-prune: true` removes the others and keeps the "
        "directory's order",
        "only what differs is ever sent",
    ),
    row(
        "track_promote_to",
        "`promote-from`, `tracks`",
        "`promote-from` is supply's `track`, `tracks` is its `track_promote_to`",
        "`promote-from` for the track to take, `tracks` for the tracks to put it on",
    ),
    row("track_promote_release_status", "`status`"),
    row(
        "deactivate_on_promote, check_superseded_tracks",
        NO_INPUT,
        "Google Play does it by itself; both are deprecated in supply",
        "Google Play does it by itself",
    ),
    row("validate_only", "`dry-run`"),
    row("mapping", "`mapping-file`"),
    row(
        "mapping_paths",
        "`mapping-file`, `debug-symbols`",
        "a list of both kinds: R8 mappings go into the one, zips of native symbols into the other; for several "
        "artifacts lines `42=path`",
    ),
    row("root_url", "`api-endpoint`"),
    row("timeout", "`stall-timeout`, `finalize-timeout`", "limits on silence instead of the whole upload"),
    row("version_codes_to_retain", "`version-codes-to-retain`"),
    row("changes_not_sent_for_review", "`changes-not-sent-for-review`", HELD_BACK),
    row(
        "rescue_changes_not_sent_for_review",
        "`changes-not-sent-for-review`",
        "its default here, `auto`, is the rescue; `true` and `false` are without it",
        "`changes-not-sent-for-review`, whose `auto` does that",
    ),
    row("in_app_update_priority", "`in-app-update-priority`"),
    row(
        "obb_main_references_version",
        "`expansion-file-main: references:<versionCode>`",
        reply="`expansion-file-main`, as `references:VERSIONCODE`",
    ),
    row("obb_main_file_size, obb_patch_file_size", NO_INPUT, "the version that is referenced has it"),
    row(
        "obb_patch_references_version",
        "`expansion-file-patch: references:<versionCode>`",
        reply="`expansion-file-patch`, as `references:VERSIONCODE`",
    ),
    row(
        "ack_bundle_installation_warning",
        NO_INPUT,
        "deprecated by Google, which no longer asks for it",
        "Google no longer asks for it",
    ),
)

GRADLE = (
    row("enabled", NO_INPUT, "leave the step out, or give it an `if:`"),
    row("serviceAccountCredentials", "`credentials`", "", KEY),
    row("ANDROID_PUBLISHER_CREDENTIALS", "`credentials`", "the variable is not read: it may belong to the build", KEY),
    row(
        "useApplicationDefaultCredentials",
        NO_INPUT,
        "application default credentials are used when nothing else is given",
        "they are used when nothing else is given",
    ),
    row(
        "impersonateServiceAccount",
        "`credentials`",
        "an `impersonated_service_account` configuration; with a keyless login, `service-account`",
        "`credentials`, as an `impersonated_service_account` configuration",
    ),
    row(
        "defaultToAppBundles",
        "`files`",
        "name the bundle or the APKs",
        "`files`, which names the bundle or the APKs",
    ),
    row("commit", "`commit`", "with `false` the edit's id is an output, for `existing-edit-id` of the next job"),
    row("fromTrack", "`promote-from`", "no default; it was the least stable track"),
    row("track", "`tracks`", "no default; it was `internal`"),
    row("promoteTrack", "`tracks`", "of a promotion, which is a step of its own"),
    row(
        "versionCode",
        "`promote-version-codes`",
        "without it the newest release of the track is promoted, as it is",
        "`promote-version-codes` for a promotion; that of an upload is read from the artifact",
    ),
    row("userFraction", "`user-fraction`", "no default; it was `0.1`"),
    row("updatePriority", "`in-app-update-priority`"),
    row("releaseStatus", "`status`"),
    row("releaseName", "`release-name`"),
    row(
        "release-names/<track>.txt",
        "`whats-new-directory: src/main/play`",
        "the same files, beside `release-notes`; `release-name` comes before them",
    ),
    row("release-notes/<lang>/<track>.txt", "`whats-new-directory: src/main/play`", "the same files"),
    row(
        "resolutionStrategy",
        "`on-version-conflict`",
        "`fail` is `fail`; `ignore` is closest to `reuse`, which reuses the same bytes only; `auto` and `auto_offset` "
        "have no match, since the version code belongs to the build: `target: play-status` outputs `next-version-code`",
        "`on-version-conflict`",
    ),
    row("artifactDir", "`files`", "`dir/*.aab`", "`files`, with a pattern such as `dir/*.aab`"),
    row(
        "the mapping of the variant",
        "`mapping-file`",
        "was sent by itself; a bundle carries its own, beside an APK name `build/outputs/mapping/release/mapping.txt`",
    ),
    row(
        "native symbols (`ndk.debugSymbolLevel`)",
        "`debug-symbols`",
        "were sent by themselves; a bundle carries its own, beside an APK name "
        "`build/outputs/native-debug-symbols/release/native-debug-symbols.zip`",
    ),
    row("retain.artifacts", "`version-codes-to-retain`"),
    row("retain.mainObb", "`expansion-file-main: references:<versionCode>`"),
    row("retain.patchObb", "`expansion-file-patch: references:<versionCode>`"),
    row(
        "listings/<lang>/…",
        "`images-directory`",
        "fastlane's layout is needed: `<lang>/title.txt`, `<lang>/images/phoneScreenshots/*.png`",
    ),
    row(
        "contact-email.txt, contact-phone.txt, contact-website.txt, default-language.txt",
        NO_INPUT,
        "they change once in an app's life: the Play Console",
    ),
    row("in-app products and subscriptions", NO_INPUT, "no part of a release"),
    row("internalSharing", "`target: play-internal-sharing`"),
    row("the tasks `uploadReleasePrivateBundle` and `uploadReleasePrivateApk`", "`target: play-internal-sharing`"),
    row("the task `bootstrap`", NO_INPUT, "`target: play-listing-pull` writes the live listing in fastlane's layout"),
)

CODEMAGIC = (
    row("--bundle, -b", "`files`"),
    row("--track, -t", "`tracks`"),
    row("--release-name, -r", "`release-name`", "the tag when not given, where the old default was the version name"),
    row("--in-app-update-priority, -i", "`in-app-update-priority`"),
    row("--release-notes, -n", "`whats-new`", "`locale: text` lines instead of JSON; or `whats-new-directory`"),
    row("--changes-not-sent-for-review", "`changes-not-sent-for-review`", HELD_BACK),
    row("--rollout-fraction, -f", "`user-fraction`"),
    row("--draft, -d", "`status: draft`"),
    row("--credentials", "`credentials`", "`@env:` and `@file:` are not read: an expression, or the path alone"),
)
