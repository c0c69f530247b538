"""What each input means: a sentence for `--help`, and what else the reference and the action's metadata tell.

Everything that people read about an input is made from here; only they need it, so no run loads this file.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "target": "`play`, `play-internal-sharing`, `gmail`, `play-games`, `ota`, or any Google upload method. Such a "
    "method is named by its id: `drive.files.create`, `storage.objects.insert`. Without files: `play-status` reports "
    "what is on Google Play, `play-rollout` takes a staged rollout one step further, `play-listing-pull` writes the "
    "live store listing to files.",
    "credentials": "A service-account key or any other google-auth credential configuration: JSON, its base64, or a "
    "path.",
    "workload-identity-provider": "Keyless login: the resource name of the provider that trusts the CI system's OIDC "
    "token. On GitHub the job needs `permissions: id-token: write`.",
    "service-account": "Keyless login: the e-mail address of the service account to act as.",
    "impersonate-user": "The e-mail address of the user to act as, through domain-wide delegation (Gmail).",
    "files": "Paths and globs (including `**`) relative to the workspace, one per line or separated by commas. Use "
    "`?` for a comma in a name. Files are sent in the order of the patterns, sorted within each pattern, and each "
    "file once; folders are skipped. A pattern that matches nothing is an error. `gha-creds-*.json` is never "
    "uploaded. `-` or a named pipe is a stream of unknown size.",
    "dry-run": "Do everything except the final, irreversible step. It runs the offline checks; for Play it then "
    "uploads to a temporary edit, validates it and deletes it, and for other targets it only obtains a token.",
    "job-summary": "Write the job summary.",
    "upload-protocol": "`auto`, `resumable`, `multipart` or `simple`. `auto` means resumable, except where the "
    "method does not support it, or where the file has at most 1 MiB and repeating the upload would replace it "
    "instead of adding another. A mail is always resumable.",
    "chunk-size": "Bytes per request, such as `8MiB`, rounded to the service's granularity. With `auto` the whole "
    "file goes in one request; after an interruption it is sent in chunks of growing size.",
    "concurrency": "How many files to upload at once, 1 to 64, if the service allows it. `auto` starts with 4 and "
    "goes up to 32 while that is faster.",
    "max-retries": "How many retries without progress before giving up, 0 to 100.",
    "retry-deadline": "Stop retrying this long after the run's first request, such as `90s`, `30m` or `2h`. Where the "
    "next wait would pass it, the file has failed, and no further file is begun; the run ends with 75. As long as "
    "nothing fails, a run may take longer.",
    "stall-timeout": "Treat a connection as broken after this long without any data.",
    "finalize-timeout": "How long to wait for the response after the last byte.",
    "state-dir": "The folder in which unfinished uploads are recorded, encrypted, for the next run.",
    "state-key": "A secret of at least 16 characters that encrypts the contents of `state-dir`. Needed where the "
    "credential contains no lasting secret, as with a keyless login; without either nothing is kept, and the log "
    "says so.",
    "api-endpoint": "Another root URL for the API: https, or http on loopback. On loopback the token exchange of a "
    "keyless login goes there too. `emulator` starts the embedded emulator inside this run, and nothing is "
    "published.",
    "shard": "Upload only this part of the files, such as `2/5` for the second of five. The split is the same in "
    "every job of a matrix.",
    "allow-outside-workspace": "Accept files that are outside the workspace, for example behind a symbolic link.",
    "allow-symlinks": "Follow symbolic links out of the folder that an input for texts, notes, images, symbols or "
    "mails names. Links within that folder are always followed; links to a credential, or into `.git`, `.ssh` or "
    "`.env*`, never are.",
    "media-type": "Any method: the media type of the files, such as `text/html`. If it is not given, a type in "
    "`metadata` is used; if both are given, they must be the same.",
    "package-name": "The app's package name; required where no artifact is sent.",
    "tracks": "One or more tracks: `internal`, `alpha`, `beta`, `production`, `wear:production` and the like, or "
    "custom ones. Required to commit a release, so that nothing goes to production by accident; `play-rollout` takes "
    "exactly one.",
    "status": "The release's status: `completed`, `inProgress`, `halted` or `draft`.",
    "user-fraction": "The share of users who get a staged rollout, as a decimal between 0 and 1 such as `0.05`.",
    "release-name": "The name of the release.",
    "whats-new": "Release notes instead of a directory: a text in the app's default language, or `locale: text` as "
    "YAML.",
    "whats-new-directory": "The folder of release notes, in one of three layouts. These are `whatsnew-<locale>`; "
    "fastlane's `<lang>/changelogs/<versionCode>.txt` or `default.txt`; Gradle Play Publisher's "
    "`release-notes/<lang>/<track>.txt` or `default.txt`, with release names in `release-names/<track>.txt` or "
    "`default.txt`. `last-release` copies those of the newest release on the track. `play-listing-pull` writes them "
    "there.",
    "in-app-update-priority": "Priority of the in-app update, 0 to 5.",
    "mapping-file": "The R8 or ProGuard mapping: one path for one artifact, a path with `{version-code}` or "
    "`{name}`, or lines `42=path`. `{name}` is the artifact's file name without its extension. A bundle that "
    "contains its own mapping needs none.",
    "debug-symbols": "The native symbols: a zip file or a folder, given in the same ways as `mapping-file`.",
    "expansion-file-main": "The main expansion file: a path, `references:<versionCode>`, or `last-release` for that "
    "of the last APK.",
    "expansion-file-patch": "The patch expansion file: a path, `references:<versionCode>`, or `last-release` for "
    "that of the last APK.",
    "images-directory": "The folder of listing images and texts, in fastlane's layout. Only what differs is sent. "
    "`play-listing-pull` writes to it.",
    "images-prune": "Remove listing images that are not in the folder, and keep the folder's order.",
    "version-codes-to-retain": "Version codes to keep on the track beside the new ones; `last-release` means those "
    "of its last completed release.",
    "countries": "The countries of the release: two-letter codes, and `rest-of-world`.",
    "promote-from": "Promote the release on this track instead of uploading files. Its version codes, name, notes "
    "and priority are taken over unless you set them.",
    "promote-version-codes": "Promote these versions of the track named by `promote-from`, instead of its newest "
    "release.",
    "replace-rollout": "Allow the release to replace one whose rollout is in progress.",
    "on-version-conflict": "What to do if the version code was uploaded before: `reuse` or `fail`. Only an artifact "
    "with the same SHA-256 is reused.",
    "existing-edit-id": "Use this open edit instead of a new one.",
    "commit": "Commit the edit. With `false` it is left open, and its id is the output `edit-id`.",
    "changes-not-sent-for-review": "`auto` (as Google requires), `true` or `false`.",
    "changes-in-review": "When changes are in review: `error` leaves them alone, `cancel` withdraws them.",
    "expected-certificate": "SHA-256 of the certificate that must have signed the artifacts, with or without colons. "
    "`keytool` and the Play Console show it.",
    "wait-for": "Wait for the review, after the commit or with `play-status` alone: `approved` or `published`. A "
    "rejected release ends with exit code 6, an elapsed `wait-deadline` with 75.",
    "wait-deadline": "How long to wait for the review, or for the universal APK; `0s` checks once.",
    "universal-apk": "Where to write the universal APK that Google Play generates from the bundle and signs. With "
    "several bundles the path needs `{version-code}`. With `play-status` it is the one of the newest release.",
    "rollout-steps": "`play-rollout`: ascending shares of the users, such as `1%, 5%, 20%, 50%, 100%`. Each run goes "
    "at most one step further; `100%` completes the release.",
    "halt-above": "`play-rollout`: limits such as `crash-rate 1.09%`, `anr-rate 0.47%` or `crash-rate 1.5x`. One per "
    "line or separated by commas; `1.5x` means 1.5 times the rate of the completed release.",
    "gate": "`play-rollout`: what to do above a limit: `halt` the rollout, or only `report` it.",
    "gate-min-users": "`play-rollout`: days with fewer users than this are ignored.",
    "gate-period": "`play-rollout`: how many days of measurements to use, counted back from the newest.",
    "gate-max-age": "`play-rollout`: how old the newest day of measurements may be. If it is older, the rollout is "
    "held.",
    "gmail-action": "`send`, `draft`, `draft-update`, `draft-send`, `insert` or `import`. `files` are the attachments.",
    "message-file": "An RFC 822 message (.eml), instead of the `mail-…` inputs.",
    "mail-from": "The sender.",
    "mail-to": "The recipients, separated by commas.",
    "mail-cc": "The Cc recipients, separated by commas.",
    "mail-bcc": "The Bcc recipients, separated by commas.",
    "mail-subject": "The subject.",
    "mail-body": "The plain-text body.",
    "mail-body-file": "A file with the plain-text body, instead of `mail-body`. `file:PATH` in `mail-body` is "
    "deprecated: it still works, with a warning.",
    "mail-html": "The HTML body.",
    "mail-html-file": "A file with the HTML body, instead of `mail-html`.",
    "draft-id": "The draft to update or to send.",
    "user-id": "The mailbox; `me` is the user who is logged in or impersonated.",
    "resource-id": "Play Games: the id of the achievement or leaderboard.",
    "image-type": "Play Games: `ACHIEVEMENT_ICON` or `LEADERBOARD_ICON`.",
    "deployment": "OTA: the id of the deployment.",
    "package-title": "OTA: the title of the package.",
    "params": "Any method: a YAML or JSON map of its path and query parameters.",
    "metadata": "JSON that is sent along with the file. For any method it is the metadata part, for Play Games the "
    "image's resource, for Gmail "
    '`{"threadId": …, "labelIds": […]}`, or for a draft `{"message": {…}}` containing these. For Gmail it can also '
    "hold the whole mail as `raw`, in base64url, instead of an upload.",
}

# What counts where an input is not given and the default can't be written as a value.
COMPUTED: Mapping[str, str] = {
    "credentials": "`GOOGLE_APPLICATION_CREDENTIALS`, else application default credentials",
    "state-dir": "`$RUNNER_TEMP/uploader`, else the user's state folder",
    "state-key": "derived from the service-account key",
    "api-endpoint": "the API's own",
    "shard": "GitLab's `CI_NODE_INDEX/CI_NODE_TOTAL`, else all",
    "media-type": "by `metadata`, else by the file",
    "package-name": "read from the artifact",
    "status": "`completed`, or `inProgress` with `user-fraction`",
    "release-name": "the tag",
}


def short(name: str) -> str:
    """The first sentence, without marks: a line of `--help`."""
    return MEANINGS[name].split(". ", maxsplit=1)[0].rstrip(".").replace("`", "") + "."
