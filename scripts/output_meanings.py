"""What each output means: the texts of the reference and of both actions, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping

OUTPUTS: Mapping[str, str] = {
    "id": "The resource id of the first file.",
    "ids": "The resource ids of all files, separated by commas, in the order of `files`.",
    "edit-id": "The Play edit. Empty where it was deleted again: nothing had to be changed, a dry run, a failure.",
    "committed": "`true` when Play has everything that was asked for, also where nothing had to be changed; empty when "
    "the run ended before it could see whether the commit happened; else `false`, always in a rehearsal.",
    "rehearsal": "`true` when the run went to the embedded emulator (`api-endpoint: emulator`), else `false`.",
    "version-code": "The highest version code.",
    "version-codes": "All version codes, separated by commas.",
    "next-version-code": "One more than the highest version code that was ever uploaded, whatever the track. From "
    "`play-status`.",
    "user-fraction": "The share of users that a staged release is rolled out to. Empty where it has none.",
    "lifecycle": "How far the review of the release is, as Google Play says it: `IN_REVIEW`, `APPROVED_NOT_PUBLISHED`, "
    "`PUBLISHED` and others.",
    "status": "What is on the tracks: one line of JSON, an object for each track.",
    "universal-apk": "Where the universal APK was written, once it was checked. Several are separated by commas.",
    "universal-apk-sha256": "The SHA-256 of the universal APK.",
    "decision": "What `play-rollout` did: `stepped`, `completed`, `held`, `halted` or `nothing`.",
    "plan": "What a dry run would change, as one line of JSON.",
    "download-url": "Internal app sharing: the download URL of the first file.",
    "download-urls": "Internal app sharing: all download URLs, separated by commas.",
    "certificate-fingerprint": "Internal app sharing: the fingerprint of the certificate that signed the first file.",
    "sha256": "Internal app sharing: the SHA-256 of the first file.",
    "message-id": "The Gmail message.",
    "thread-id": "The Gmail thread.",
    "draft-id": "The Gmail draft.",
    "bytes-uploaded": "File bytes that this run brought to the server, as far as it confirmed them.",
    "bytes-resent": "Bytes that were sent more than once.",
    "attempts": "Requests with a body.",
    "resumed": "`true` when an upload of an earlier run was continued, else `false`.",
    "failure": "A stable code of what ended the run, such as `track-not-found`. Empty when it ended well.",
    "results-file": "The path of `uploader-results.json` in the workspace, an array with one object for each upload.",
    "provenance-file": "The path of `uploader-provenance.json` in the workspace. Set only when it was written.",
}
