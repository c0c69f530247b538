"""What each output means: the texts of the reference and of both actions, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping

OUTPUTS: Mapping[str, str] = {
    "id": "The resource id of the first file.",
    "ids": "The resource ids of all files, separated by commas, in the order of `files`.",
    "edit-id": "The Play edit. Empty if it was deleted: when nothing had to be changed, after a dry run, after most "
    "failures.",
    "committed": "`true` when everything that was asked for is committed on Google Play, including when nothing had "
    "to be changed; empty when the run ended before it could see whether the commit happened; otherwise `false`, as "
    "in every rehearsal.",
    "rehearsal": "`true` when the run went to the embedded emulator (`api-endpoint: emulator`), else `false`.",
    "version-code": "The highest version code.",
    "version-codes": "All version codes, separated by commas.",
    "next-version-code": "One more than the highest version code ever uploaded to any track. From `play-status`.",
    "user-fraction": "The share of users who get the staged release. Empty if it is not staged.",
    "lifecycle": "The review state of the release, in Google Play's words: `IN_REVIEW`, `APPROVED_NOT_PUBLISHED`, "
    "`PUBLISHED` and others.",
    "status": "What is on the tracks: one line of JSON with an object for each track.",
    "universal-apk": "The path of the universal APK, once it has been checked. Several are separated by commas.",
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
    "bytes-uploaded": "File bytes that this run uploaded and the server confirmed.",
    "bytes-resent": "Bytes that were sent more than once.",
    "attempts": "The number of requests that carried file data.",
    "resumed": "`true` when an upload of an earlier run was continued, else `false`.",
    "failure": "A stable error code, such as `track-not-found`. Empty after a success.",
    "results-file": "The path of `uploader-results.json` in the workspace, an array with one object for each upload.",
}
