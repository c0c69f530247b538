"""Google Play's known refusals, each with its likely cause and what to do: one table, for the log and the documents.

An entry is recognised by words of Google's message or by its reason code. Google's own words always stay in the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from uploader.errors import ApiError, CredentialsError


@dataclass(frozen=True)
class KnownError:
    """One refusal: Google's words as people search for them, how to recognise them, cause and hint, our code for it.

    `pattern` is searched in the message, without regard to case; `reasons` are Google's codes for it. `permission`
    marks those that no change of the release helps: the account may not do it (exit code 3).
    """

    words: str
    pattern: str
    cause: str
    hint: str
    reasons: tuple[str, ...] = ()
    permission: bool = False
    code: str = ""


# By our code, in the order in which they are tried.
_TABLE: Mapping[str, KnownError] = {
    "version-code-used": KnownError(
        "Version code 42 has already been used.",
        r"version code .*already been used|specifies a version code that has already been used",
        "An artifact with this version code was uploaded before, perhaps by a run that failed later.",
        "Raise the version code, or run again with exactly the same file: it is reused if Google Play still lists it.",
        ("apkUpgradeVersionConflict",),
    ),
    "edit-gone": KnownError(
        "This Edit has been deleted.",
        r"\bedit (is |was |has )?(already )?(been )?(successfully )?(deleted|expired|not found|invalidated|committed)"
        r"|\bedit is no longer|change was made to the application outside of this edit",
        "Another edit was opened or committed, the app was changed in the Play Console, or the edit is too old.",
        "Run again, and keep releases of one app from running at the same time (GitHub: `concurrency:`, GitLab: "
        "`resource_group:`).",
        ("editExpired", "editDeleted", "editNotFound", "editAlreadyCommitted"),
    ),
    "review-by-hand": KnownError(
        "Changes cannot be sent for review automatically. Please set the query parameter changesNotSentForReview to "
        "true.",
        r"changes cannot be sent for review automatically",
        "The last review rejected the app, or something in the Play Console is waiting for a decision.",
        "Leave `changes-not-sent-for-review` at `auto`, or set `true`; then send the changes in the Play Console.",
    ),
    "review-automatic": KnownError(
        "Changes are sent for review automatically. The query parameter changesNotSentForReview must not be set.",
        r"changes are sent for review automatically",
        "This app's changes are always sent for review automatically.",
        "Leave `changes-not-sent-for-review` at `auto`, or set `false`.",
    ),
    "changes-in-review": KnownError(
        "Changes are already in review.",
        r"changes (are )?(already|currently) in review",
        "Earlier changes to this app are still in review, and `changes-in-review` is `error`.",
        "Wait for the review, or set `changes-in-review: cancel` to withdraw them and submit everything again.",
        ("CHANGES_ALREADY_IN_REVIEW",),
    ),
    "package-not-found": KnownError(
        "Package not found: com.example.app.",
        r"package not found|no application was found for the given package name",
        "Google Play does not know this package name (the first artifact of an app has to be uploaded by hand), or the "
        "account has no access to the app.",
        "Check `package-name`, upload the first artifact in the Play Console, and invite the service account there.",
        ("applicationNotFound",),
    ),
    "api-disabled": KnownError(
        "Google Play Android Developer API has not been used in project 123 before or it is disabled.",
        r"api has not been used in project|api .*is disabled",
        "The API is switched off in the Google Cloud project that the service account belongs to.",
        "Enable the Google Play Android Developer API in that project, wait a few minutes and run again.",
        ("accessNotConfigured", "SERVICE_DISABLED"),
        permission=True,
    ),
    "project-not-linked": KnownError(
        "The project id used to call the Google Play Developer API has not been linked in the Google Play Developer "
        "Console.",
        r"has not been linked in the google play",
        "The Play Console does not know the service account's project.",
        "Invite the service account under Users and permissions in the Play Console.",
        ("projectNotLinked",),
        permission=True,
    ),
    "permission-denied": KnownError(
        "The caller does not have permission",
        r"insufficient permissions?|does not have (the )?(\w+ )?permissions?|not have sufficient permission"
        r"|permission (was |is )?denied|not authorized",
        "The login worked, but the account may not do this with this app; new permissions can take a day to apply.",
        "Under Users and permissions in the Play Console, let the account release this app to this track.",
        ("userInsufficientPermission", "insufficientPermissions"),  # `forbidden` is Google's word for many refusals
        permission=True,
    ),
    "not-64-bit": KnownError(
        "This release is not compliant with the Google Play 64-bit requirement.",
        r"64-bit requirement",
        "The artifact has native libraries for 32-bit processors alone.",
        "Build the native libraries for arm64-v8a (and x86_64 beside x86) as well.",
    ),
    "account-not-verified": KnownError(
        "You must complete account verification before you can publish.",
        r"account verification|verify your (developer )?account",
        "Google has not verified the developer account yet.",
        "Complete the verification in the Play Console, then run again.",
    ),
    "data-safety-missing": KnownError(
        "This app has no data safety declaration.",
        r"data safety",
        "The data safety form of the app is not filled in, or is not accepted.",
        "Fill in the form under App content in the Play Console, then run again.",
    ),
    "draft-app": KnownError(
        "Only releases with status draft may be created on draft app.",
        r"only releases with status draft",
        "Until the app's setup is finished in the Play Console, it accepts only draft releases.",
        "Set `status: draft`, or finish the setup and the first release in the Play Console.",
        ("rolloutNotPermittedOnDraftApp",),
    ),
    "nothing-to-halt": KnownError(
        "Cannot halt release, no matching in progress release found.",
        r"no matching in progress release",
        "Only a rollout in progress, or a completed release that followed another, can be halted (not on internal).",
        "Check the track in the Play Console; a new artifact can't be released as halted.",
        ("releaseToHaltNotFound",),
    ),
    "several-rollouts": KnownError(
        "Too many staged releases specified.",
        r"too many staged releases",
        "A track can have one staged rollout at a time.",
        "Complete the rollout first, or set `replace-rollout: true`.",
    ),
    "several-completed-releases": KnownError(
        "Only one completed release is allowed.",
        r"only one completed release|too many completed releases",
        "The track would end up with two completed releases.",
        "List the versions to keep beside the new one in `version-codes-to-retain`.",
        ("releasesTooManyCompletedReleases",),
    ),
    "draft-in-the-way": KnownError(
        "Cannot update the APK configuration of the track when the track has a draft release.",
        r"track has a draft release",
        "A draft on this track, made in the Play Console, blocks the update.",
        "Roll the draft out or discard it in the Play Console.",
        ("cannotUpdateApksOnTrackWithDraftRelease",),
    ),
    "track-not-found": KnownError(
        "Track not found: testers.",
        r"track\b.*(not found|could not be found|does not exist)",
        "The app has no track of this name.",
        "Create the closed track in the Play Console, or correct `tracks` (internal on Wear or TV: `wear:qa`, "
        "`tv:qa`).",
        ("trackNotFound",),
    ),
    "version-code-too-low": KnownError(
        "You cannot rollout this release because it does not allow any existing users to upgrade to the newly added "
        "APKs.",
        r"does not allow any existing users to upgrade|completely shadowed|higher version codes?",
        "Versions with higher codes, on this or another track, already reach the same devices.",
        "Release a higher version code; `version-codes-to-retain` is for older versions that some devices still need.",
    ),
    "wrong-signing-key": KnownError(
        "Your Android App Bundle is signed with the wrong key.",
        r"signed with (the wrong|a different) (key|certificate)|not signed with the upload certificate",
        "The artifact was not signed with the upload key that the Play Console expects.",
        "Sign with the upload key (the Play Console shows its fingerprint), or have the upload key reset.",
    ),
    "artifact-not-signed": KnownError(
        "All uploaded bundles must be signed.",
        r"(bundles?|apks?) must be signed|(is|was) not signed|apk is unsigned|no signature",
        "The build left the artifact unsigned.",
        "Sign the release build: add a signing configuration, or a step that signs the artifact before this one.",
        ("apkNotSigned", "apkNoCertificates"),
    ),
    "artifact-debuggable": KnownError(
        "You uploaded a debuggable APK or Android App Bundle.",
        r"debuggable",
        "The artifact is a debug build.",
        "Build the release variant.",
    ),
    "target-api-too-low": KnownError(
        "Your app currently targets API level 33 and must target at least API level 34.",
        r"must target at least api level",
        "Google Play has raised the minimum target API level.",
        "Raise `targetSdkVersion` and build again.",
    ),
    "apks-not-allowed": KnownError(
        "APKs are not allowed for this application.",
        r"apks are not allowed",
        "The app accepts only Android App Bundles.",
        "Build an `.aab` and name it in `files`.",
    ),
    "advertising-id-declaration": KnownError(
        "This release includes the com.google.android.gms.permission.AD_ID permission but your declaration on Play "
        "Console says your app doesn't use advertising ID.",
        r"advertising id|AD_ID permission",
        "The advertising ID declaration in the Play Console and the artifact contradict each other.",
        "Correct the declaration (App content), or remove the permission from the manifest; then run again.",
    ),
    "declaration-missing": KnownError(
        "You must let us know whether your app uses any Foreground Service permissions.",
        r"you must let us know whether|must complete the .*declaration|declaration .*(missing|incomplete|required)"
        r"|policy declarations?\b",
        "A declaration that this release needs is missing.",
        "Fill in the declaration under App content in the Play Console; then run again, nothing is uploaded twice.",
    ),
    "privacy-policy-missing": KnownError(
        "Your APK or Android App Bundle is using permissions that require a privacy policy: "
        "(android.permission.CAMERA).",
        r"require a privacy policy",
        "The app has no privacy policy, and the artifact asks for permissions that need one.",
        "Enter the policy's address under App content in the Play Console; then run again.",
    ),
    "release-notes-too-long": KnownError(
        "The release notes in language en-US are too long.",
        r"release ?notes?.*(too long|maximum|length|500)",
        "Release notes are limited to 500 characters per language.",
        "Shorten the text in `whats-new-directory`.",
    ),
    "countries-not-allowed": KnownError(
        "Country targeting is only allowed for in progress releases in the production track.",
        r"country ?targeting",
        "Countries can be chosen only for a staged rollout on production.",
        "Use `countries` with `tracks: production` and `user-fraction`, or choose the countries in the Play Console.",
    ),
    "precondition-failed": KnownError(
        "Precondition check failed.",
        r"precondition check failed",
        "Something must be resolved first: a declaration or agreement, a first release by hand, a draft, a review.",
        "Open the app in the Play Console, resolve what its dashboard and the Publishing overview show, and run again.",
        ("FAILED_PRECONDITION", "failedPrecondition"),
    ),
    "unknown-error": KnownError(
        "Unknown error.",
        r"^unknown error\.?$",
        "Google gives no reason; often the account lacks a role, or the API can't describe the app's state.",
        "Make the same release by hand in the Play Console, which gives the reason; check the account's permissions.",
    ),
}
_KNOWN = {code: replace(known, code=code) for code, known in _TABLE.items()}
KNOWN_ERRORS = tuple(_KNOWN.values())
VERSION_TAKEN, EDIT_GONE, TRACK_MISSING = (
    _KNOWN[code] for code in ("version-code-used", "edit-gone", "track-not-found")
)
REVIEW_BY_HAND, REVIEW_AUTOMATIC = _KNOWN["review-by-hand"], _KNOWN["review-automatic"]
OTHER = KnownError(
    "Anything else",
    "",
    "Google Play did not accept the request.",
    "Google's message above says why; making the same release by hand in the Play Console often explains more.",
    code=ApiError.code,
)


def find(error: ApiError) -> KnownError:
    """The entry of a refusal: by its words first, since one reason code covers many things; else by its reason."""
    words = error.message or error.what
    by_words = (known for known in KNOWN_ERRORS if re.search(known.pattern, words, re.IGNORECASE))
    by_reason = (known for known in KNOWN_ERRORS if error.reason and error.reason in known.reasons)
    return next(by_words, None) or next(by_reason, None) or OTHER


def explained(error: ApiError) -> ApiError | CredentialsError:
    """The refusal with cause and hint; as a CredentialsError where the account is not permitted."""
    known = find(error)
    error.what = error.what if error.message in error.what else f"{error.what} {error.message}"
    error.cause, error.hint, error.code = error.cause or known.cause, error.hint or known.hint, known.code
    denied = CredentialsError(error.what, cause=error.cause, hint=error.hint, code=known.code)
    return denied if known.permission else error


def conflict(error: ApiError) -> str:
    """Why a refusal passes by itself: someone else is changing the app, or Google is still at work. Empty for others.

    Google documents 409 as a concurrent update, to be repeated with exponential backoff (REST resource: edits).
    """
    if "uploads are not completed yet" in error.message:
        return "Google Play has not taken in all uploaded bundles yet."
    passes = error.status == 409 and find(error) is not EDIT_GONE
    return "Another job, or someone in the Play Console, is changing the same app." if passes else ""
