"""What each input means: a sentence for `--help`, and what else the reference and the action's metadata tell.

Everything that people read about an input is made from here; only they need it, so no run loads this file.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "target": "`play`, `play-internal-sharing`, `gmail`, `play-games`, `ota`, or any Google upload method. Such a "
    "method is named by its id: `drive.files.create`, `storage.objects.insert`. Without files: `play-status` tells "
    "what is on Google Play, `play-rollout` takes a staged rollout one step further, `play-listing-pull` writes the "
    "live store listing to files.",
    "credentials": "A service-account key or any other google-auth credential configuration: JSON, base64 of JSON, or "
    "a path.",
    "workload-identity-provider": "Keyless login: the resource name of the provider that trusts the CI system's OIDC "
    "token. Under GitHub the job needs `permissions: id-token: write`.",
    "service-account": "Keyless login: the e-mail address of the service account to act as.",
    "impersonate-user": "The e-mail address of the user to act for by domain-wide delegation (Gmail).",
    "files": "Paths and globs (`**` too) relative to the workspace, one a line or separated by commas. `?` stands for "
    "a comma in a name. They go in the order of the patterns, sorted within one, each file once; folders are skipped. "
    "A pattern that matches nothing is an error. `gha-creds-*.json` is never taken. `-` or a named pipe is a stream "
    "of unknown size.",
    "dry-run": "Do everything except the final, irreversible step. That is the offline checks, then for Play a "
    "throwaway edit (upload, validate, delete), elsewhere a token that is fetched and not used.",
    "job-summary": "Write the job summary.",
    "upload-protocol": "`auto`, `resumable`, `multipart` or `simple`. With `auto` it is resumable, except where the "
    "method has no such way, or where a file of at most 1 MiB saves a round trip and a repeat replaces instead of "
    "adding. A mail is always resumable.",
    "chunk-size": "Bytes of one request, such as `8MiB`, rounded to the service's granularity. With `auto` the whole "
    "file is one request, and chunks that grow again follow an interruption.",
    "concurrency": "How many files to upload at once, 1 to 64. `auto` begins with 4 and goes up to 32 while that "
    "brings speed, where the service allows it.",
    "max-retries": "Retries without progress before giving up, 0 to 100.",
    "retry-deadline": "Stop retrying this long after the run's first request, such as `90s`, `30m` or `2h`. A wait "
    "that would pass it ends the run at once.",
    "stall-timeout": "Treat a connection as broken after this long without a byte.",
    "finalize-timeout": "How long to wait for the answer to the last byte.",
    "state-dir": "The folder in which unfinished uploads are kept, sealed, for the next run.",
    "state-key": "A secret of at least 16 characters that seals them where the credential holds no lasting one. A "
    "keyless login has none. Without either nothing is kept, and the log says so.",
    "api-endpoint": "Another root URL for the API: https, or http on loopback. On loopback the token exchange of a "
    "keyless login goes there too. `emulator` is the embedded one, inside this run; nothing is published then.",
    "shard": "Only this part of the files, such as `2/5` for the second of five. The split is stable, for a matrix of "
    "jobs.",
    "allow-outside-workspace": "Accept files that are really outside the workspace, such as behind a link.",
    "allow-symlinks": "Let links among texts, notes, images, symbols and mails lead beyond the folder that their "
    "input names. A link below that folder is always followed; none ever to a credential, or into `.git`, `.ssh` or "
    "`.env*`.",
    "provenance": "Write `uploader-provenance.json`, an in-toto statement of what was sent and the id that it got. "
    "`actions/attest` can sign it.",
    "media-type": "Any method: the media type of the files, such as `text/html`. A type in `metadata` counts without "
    "it, and may not differ from it.",
    "package-name": "The app's package name; required where no artifact is sent.",
    "tracks": "One or more tracks: `internal`, `alpha`, `beta`, `production`, `wear:production` and the like, or "
    "custom ones. Required to commit a release, so that nothing goes to production by accident; one for "
    "`play-rollout`.",
    "status": "The release's status: `completed`, `inProgress`, `halted` or `draft`.",
    "user-fraction": "The share of users who get a staged rollout: a decimal between 0 and 1, such as `0.05`.",
    "release-name": "The name of the release.",
    "whats-new": "Release notes instead of a directory: a text in the app's default language, or `locale: text` as "
    "YAML.",
    "whats-new-directory": "The folder of release notes, in any of three layouts. They are `whatsnew-<locale>`; "
    "fastlane's `<lang>/changelogs/<versionCode>.txt` or `default.txt`; Gradle Play Publisher's "
    "`release-notes/<lang>/<track>.txt` or `default.txt`, with release names in `release-names/<track>.txt` or "
    "`default.txt`. `last-release` copies those of the newest release on the track. `play-listing-pull` writes them "
    "there.",
    "in-app-update-priority": "Priority of the in-app update, 0 to 5.",
    "mapping-file": "The R8 or ProGuard mapping: one path for one artifact, a path with `{version-code}` or `{name}`, "
    "or lines `42=path`. `{name}` is the artifact's name without its ending. A bundle that carries its own needs "
    "none.",
    "debug-symbols": "The native symbols, a zip or a folder, named in the ways of `mapping-file`.",
    "expansion-file-main": "The main expansion file: a path, `references:<versionCode>`, or `last-release` for that "
    "of the last APK.",
    "expansion-file-patch": "The patch expansion file: a path, `references:<versionCode>`, or `last-release` for that "
    "of the last APK.",
    "images-directory": "The folder of listing images and texts, in fastlane's layout. Only what differs is sent. "
    "`play-listing-pull` writes them there.",
    "images-prune": "Remove the listing images that the folder does not have, and keep its order.",
    "version-codes-to-retain": "Version codes that stay on the track beside the new ones; `last-release` stands for "
    "those of its last completed release.",
    "countries": "The countries of the release: two-letter codes, and `rest-of-world`.",
    "promote-from": "Take the release of this track instead of new files: version codes, name, notes and priority, "
    "unless given.",
    "promote-version-codes": "Promote these versions of the track named by `promote-from`, instead of its newest "
    "release.",
    "replace-rollout": "Allow the release to displace one whose rollout is in progress.",
    "on-version-conflict": "If the version code was uploaded before: `reuse` or `fail`. Only an artifact with the "
    "same sha256 is reused.",
    "existing-edit-id": "Use this open edit instead of a new one.",
    "commit": "Commit the edit. With `false` it is left open, and its id is an output.",
    "changes-not-sent-for-review": "`auto` (as Google requires), `true` or `false`.",
    "changes-in-review": "When changes are in review: `error` leaves them alone, `cancel` withdraws them.",
    "expected-certificate": "SHA-256 of the certificate that must have signed the artifacts, with or without colons. "
    "`keytool` and the Play Console show it.",
    "wait-for": "Wait for the review, after the commit or with `play-status` alone: `approved` or `published`. A "
    "rejected release ends with exit code 6, an elapsed `wait-deadline` with 75.",
    "wait-deadline": "How long to wait for the review, or for the universal APK; `0s` is one look.",
    "universal-apk": "Where to write the universal APK that Google Play generates of the bundle and signs. Several "
    "bundles need `{version-code}` in the path. With `play-status` it is that of the newest release.",
    "rollout-steps": "`play-rollout`: ascending shares of the users, such as `1%, 5%, 20%, 50%, 100%`. Each run goes "
    "to the next one at most; `100%` completes the release.",
    "halt-above": "`play-rollout`: limits such as `crash-rate 1.09%`, `anr-rate 0.47%` or `crash-rate 1.5x`. They are "
    "one a line or separated by commas; `1.5x` means 1.5 times what the completed release has.",
    "gate": "`play-rollout`: above a limit `halt` the rollout, or only `report` it.",
    "gate-min-users": "`play-rollout`: users a day below which nothing is concluded.",
    "gate-period": "`play-rollout`: how many days of measurements count, up to the newest.",
    "gate-max-age": "`play-rollout`: how long ago the newest day of measurements may have ended. Older ones hold the "
    "rollout.",
    "gmail-action": "`send`, `draft`, `draft-update`, `draft-send`, `insert` or `import`. `files` are the attachments.",
    "message-file": "An RFC 822 message (.eml), instead of the `mail-…` inputs.",
    "mail-from": "The sender.",
    "mail-to": "The recipients, separated by commas.",
    "mail-cc": "The recipients of a copy, separated by commas.",
    "mail-bcc": "The recipients of a blind copy, separated by commas.",
    "mail-subject": "The subject.",
    "mail-body": "The text.",
    "mail-body-file": "A file with the text, instead of `mail-body`. `file:PATH` in `mail-body` still works, with a "
    "warning, and will not for long.",
    "mail-html": "The HTML.",
    "mail-html-file": "A file with the HTML, instead of `mail-html`.",
    "draft-id": "The draft to update or to send.",
    "user-id": "The mailbox; `me` is the user who is logged in or impersonated.",
    "resource-id": "Play Games: the id of the achievement or leaderboard.",
    "image-type": "Play Games: `ACHIEVEMENT_ICON` or `LEADERBOARD_ICON`.",
    "deployment": "OTA: the id of the deployment.",
    "package-title": "OTA: the title of the package.",
    "params": "Any method: a YAML or JSON map of its path and query parameters.",
    "metadata": "JSON that goes along with the file. Of any method it is the metadata part, of Play Games the image's "
    'resource, of Gmail `{"threadId": …, "labelIds": […]}`, or for a draft `{"message": {…}}` with these in it. Gmail '
    "takes the whole mail there as `raw`, in base64url, instead of an upload.",
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
