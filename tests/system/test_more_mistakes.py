"""Mistakes that people reported to the trackers of other tools, each in a whole run: the answer
says what is wrong and what to do, and nothing that is not so.

`where` is the tracker in which the mistake was found. The runs are in this process, which saves the
start of an interpreter for each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.transfer_harness import FakeTime

PACKAGE = "com.example.app"
PLAY = {"target": "play", "files": "app.aab", "tracks": "production"}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    """A checkout with a bundle and a zip. It is shared, since no mistake here changes anything."""
    workspace = tmp_path_factory.mktemp("mistakes") / "workspace"
    workspace.mkdir()
    specimens.make_bundle(workspace / "app.aab", PACKAGE, 7, "1.0")
    (workspace / "ota.zip").write_bytes(b"PK\5\6" + bytes(18))
    (workspace / "abi").mkdir()
    for abi in ("arm", "x86"):
        specimens.make_apk(workspace / "abi" / f"{abi}.apk", PACKAGE, 7, "1.0")
    with Emulator() as emulator:
        yield Job(workspace, emulator)


def answer(job: Job, code: int, inputs: Mapping[str, str], **more: str) -> str:
    """The one error of a run that has to end with this exit code."""
    ended, log = job.run_here(inputs, FakeTime(), **more)
    assert ended == code, log
    [error] = [line for line in log.splitlines() if line.startswith("::error")]
    assert job.emulator.key["private_key"][40:80] not in error
    return error.replace("%25", "%")


# The key


def in_base64(text: bytes) -> str:
    """What `base64 -w0` prints."""
    return base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("where", "given", "words"),
    [
        pytest.param(
            "google-github-actions/auth",
            lambda key: f"'{key}'",
            "credentials: JSON with something around it, such as quotes or a name",
            id="quotes around the key",
        ),
        pytest.param(
            "gitlab forum",
            lambda key: f"PLAY_KEY={key}",
            "credentials: JSON with something around it",
            id="a line of an env file",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            lambda key: f"```json\n{key}\n```",
            "credentials: JSON with something around it",
            id="a block of Markdown",
        ),
        pytest.param(
            "google-github-actions/auth",
            json.dumps,
            "credentials: JSON inside a JSON string",
            id="toJSON of a secret",
        ),
        pytest.param(
            "google-github-actions/auth",
            lambda key: key.replace('"', '\\"'),
            'credentials: JSON whose quotes have backslashes before them (`\\"`)',
            id="escaped for a shell",
        ),
        pytest.param(
            "gitlab forum",
            lambda key: key.replace('"', ""),
            "credentials: JSON without its quotes, which a shell removed",
            id="echo without quotes",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            "{",
            "credentials: only the first line of a JSON file; keep the file in one line",
            id="first line of an output",
        ),
        pytest.param(
            "fastlane",
            lambda key: key[:-20],
            "credentials: JSON that is cut off.",
            id="end of the file left out",
        ),
        pytest.param(
            "google-github-actions/auth",
            lambda key: key[:-1] + ",}",
            "credentials: JSON that is damaged at line 1, column ",
            id="edited by hand",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            lambda key: in_base64(in_base64(key.encode()).encode()),
            "credentials: base64 of base64; encode the file once.",
            id="encoded twice",
        ),
        pytest.param(
            "google-github-actions/setup-gcloud",
            lambda key: in_base64(key.encode("utf-16")),
            "credentials: base64 of text in UTF-16",
            id="PowerShell",
        ),
        pytest.param(
            "microsoft/google-play-vsts-extension",
            lambda key: (
                f"-----BEGIN CERTIFICATE-----\n{in_base64(key.encode())}\n-----END CERTIFICATE-----"
            ),
            "as `certutil -encode` writes it; remove the first and the last line.",
            id="certutil",
        ),
        pytest.param(
            "codemagic",
            lambda key: f"data:application/json;base64,{in_base64(key.encode())}",
            "credentials: a data URL; give only what comes after its comma.",
            id="data URL",
        ),
        pytest.param(
            "fastlane",
            in_base64(b"\x30\x82\x09\x51\x02\x01\x03" + bytes(900)),
            "credentials: base64 of a P12 file",
            id="P12",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            "{{ secrets.PLAY_KEY }}",
            "credentials: an expression that the CI system did not evaluate",
            id="dollar sign left out",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            "secrets.PLAY_KEY",
            "in GitHub's workflows it is `${{ secrets.NAME }}`",
            id="braces left out",
        ),
        pytest.param(
            "gitlab forum",
            "***",
            "credentials: asterisks, which a log shows in place of a secret",
            id="copied from a log",
        ),
        pytest.param(
            "googleapis",
            "AIza" + "Sy" + "0" * 33,
            "credentials: an API key, which can't change anything",
            id="API key",
        ),
        pytest.param(
            "googleapis",
            "ya29." + "0" * 40,
            "credentials: an access token, which expires within hours",
            id="access token",
        ),
        pytest.param(
            "codemagic",
            "play@example.iam.gserviceaccount.com",
            "credentials: an e-mail address; give the account's JSON key",
            id="e-mail address",
        ),
        pytest.param(
            "gitlab forum",
            "/builds/group/app.tmp/PLAY_KEY",
            "credentials: there is no file `/builds/group/app.tmp/PLAY_KEY`.",
            id="file variable of another job",
        ),
    ],
)
def test_a_key_in_the_wrong_form_is_named(
    job: Job, where: str, given: str | Callable[[str], str], words: str
) -> None:
    """By its form alone: no part of it is repeated."""
    key = json.dumps(job.emulator.key)
    credentials = given if isinstance(given, str) else given(key)
    assert words in answer(job, 2, {**PLAY, "credentials": credentials}), where


def test_a_key_file_that_powershell_wrote_is_named(job: Job) -> None:
    """Its `>` writes UTF-16."""
    text = json.dumps(job.emulator.key)
    (job.workspace / "play.json").write_bytes(text.encode("utf-16"))
    error = answer(job, 2, {**PLAY, "credentials": "play.json"})
    assert "the file is in UTF-16, as PowerShell writes it; save it as UTF-8." in error


def test_a_key_of_several_lines_whose_line_breaks_were_lost_is_repaired(
    job: Job,
) -> None:
    """Shells and variables turn them into blanks or into a backslash and an n."""
    for instead in ("\\n", " "):
        damaged = {**job.emulator.key, "private_key": job.emulator.key["private_key"]}
        damaged["private_key"] = damaged["private_key"].replace("\n", instead)
        inputs = {**PLAY, "credentials": json.dumps(damaged), "dry-run": "true"}
        code, log = job.run_here(inputs, FakeTime())
        assert code == 0, log


# Google's answers


def refusal(status: int, message: str, reason: str = "forbidden") -> dict[str, Any]:
    """A fault that refuses a request in Google's form."""
    body = {
        "error": {"code": status, "message": message, "errors": [{"reason": reason}]}
    }
    return {
        "status": status,
        "body": json.dumps(body),
        "content_type": "application/json",
    }


def refused(
    job: Job, on: str, fault: Mapping[str, Any], code: int, inputs: Mapping[str, str]
) -> str:
    """The error of a run in which the service refuses one request."""
    job.emulator.add_fault(on, "status", **fault)
    return answer(job, code, inputs)


UPLOAD, TRACK, COMMIT, INSERT = (
    "play.bundles.upload",
    "play.tracks.update",
    "play.edits.commit",
    "play.edits.insert",
)


@pytest.mark.parametrize(
    ("where", "on", "message", "code", "words"),
    [
        pytest.param(
            "gradle-play-publisher",
            UPLOAD,
            "We have failed to run 'bundletool build-apks' on this Android App Bundle. Please "
            "ensure your bundle is valid by running 'bundletool build-apks' locally and try again.",
            4,
            "`bundletool build-apks --bundle=app.aab --output=app.apks` shows why",
            id="broken bundle",
        ),
        pytest.param(
            "fastlane",
            UPLOAD,
            "UploadException: PARSE_ERROR [[ArtifactParseError{key="
            "APK_NOTIFICATION_MESSAGE_KEY_INVALID_FILE, params=[]}]] (<empty>)",
            4,
            "Google Play can't make APKs from the bundle, or can't read the file.",
            id="unreadable file",
        ),
        pytest.param(
            "gradle-play-publisher",
            UPLOAD,
            "The Android App Bundle was not signed. Please sign the bundle using jarsigner.",
            4,
            "Sign the release build",
            id="unsigned bundle",
        ),
        pytest.param(
            "codemagic",
            UPLOAD,
            "You uploaded an APK or Android App Bundle that was signed in debug mode. You need to "
            "sign your APK or Android App Bundle in release mode.",
            4,
            "The build signed the artifact with a debug key, which Google Play never accepts.",
            id="debug key",
        ),
        pytest.param(
            "codemagic",
            UPLOAD,
            "For uploading an AppBundle you must be enrolled in Play Signing.",
            4,
            "Enrol the app under App integrity in the Play Console",
            id="Play App Signing",
        ),
        pytest.param(
            "fastlane",
            UPLOAD,
            "Your upload certificate is not yet valid.",
            4,
            "Wait until the time that the Play Console shows under App integrity",
            id="upload key that was reset",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            UPLOAD,
            "APK has the wrong package name.",
            4,
            "Check the `applicationId` of the build and its suffixes",
            id="another app's artifact",
        ),
        pytest.param(
            "codemagic",
            UPLOAD,
            'You need to use a different package name because "com.example" is restricted.',
            4,
            "Give the build an `applicationId` from your own domain.",
            id="com.example",
        ),
        pytest.param(
            "fastlane",
            UPLOAD,
            "APK file size exceeds maximum limit of 104857600 bytes.",
            4,
            "Build a bundle instead of an APK",
            id="too large",
        ),
        pytest.param(
            "gradle-play-publisher",
            TRACK,
            "Track not found: no APK version codes in the specified track.",
            4,
            "The track has no release, so there is nothing to widen or to halt.",
            id="empty track",
        ),
        pytest.param(
            "microsoft/google-play-vsts-extension",
            TRACK,
            "Your app does not have production access. Apply for production access in Play "
            "Console.",
            4,
            "Release to `internal` or `alpha` until then",
            id="new personal account",
        ),
        pytest.param(
            "gradle-play-publisher",
            COMMIT,
            "Your app targets Android 13 (API 33) or above. You must declare the use of "
            "advertising ID in Play Console.",
            4,
            "The advertising ID declaration in the Play Console is missing, or it contradicts",
            id="advertising ID not declared",
        ),
        pytest.param(
            "bitrise",
            COMMIT,
            "Your advertising ID declaration in Play Console says that your app uses advertising "
            "ID. A manifest file in one of your active artifacts doesn't include the "
            "com.google.android.gms.permission.AD_ID permission.",
            4,
            "or build again with, or without, the permission",
            id="advertising ID contradicted",
        ),
        pytest.param(
            "fastlane",
            COMMIT,
            "All developers requesting access to the photo and video permissions are required to "
            "tell Google Play about the core functionality of their app.",
            4,
            "Fill in the declaration under App content in the Play Console",
            id="photo and video permissions",
        ),
        pytest.param(
            "fastlane",
            COMMIT,
            "Your app cannot be published yet. Complete the steps listed on the Dashboard.",
            4,
            "Finish the steps that the app's dashboard in the Play Console lists",
            id="setup not finished",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            COMMIT,
            "Your app does not support 16 KB memory page sizes.",
            4,
            "Build with NDK 28 or later",
            id="16 KB pages",
        ),
        pytest.param(
            "gradle-play-publisher",
            INSERT,
            "Forbidden",
            4,
            "Google gives no reason; often the account lacks a role",
            id="one word",
        ),
        pytest.param(
            "googleapis",
            INSERT,
            "You must accept the updated Developer Distribution Agreement before you can make "
            "changes.",
            4,
            "The owner has to open the Play Console",
            id="agreement",
        ),
        pytest.param(
            "googleapis",
            INSERT,
            "Request had insufficient authentication scopes.",
            3,
            "its scopes do not include Google Play",
            id="scopes of gcloud",
        ),
        pytest.param(
            "googleapis",
            INSERT,
            "Your application is authenticating by using local Application Default Credentials. "
            "The androidpublisher.googleapis.com API requires a quota project, which is not set "
            "by default.",
            3,
            "`gcloud auth application-default set-quota-project PROJECT`",
            id="quota project",
        ),
        pytest.param(
            "google-github-actions/auth",
            INSERT,
            "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: x",
            3,
            "Show the message to the organization's administrators",
            id="VPC Service Controls",
        ),
        pytest.param(
            "googleapis",
            INSERT,
            "Consumer 'project_number:123' has been suspended.",
            3,
            "The Google Cloud project of the account was deleted or suspended.",
            id="suspended project",
        ),
        pytest.param(
            "googleapis",
            INSERT,
            "This API method requires billing to be enabled. Please enable billing on project #12.",
            3,
            "Link a billing account to the project",
            id="billing",
        ),
    ],
)
def test_a_refusal_of_google_play_has_its_own_cause(
    job: Job, where: str, on: str, message: str, code: int, words: str
) -> None:
    """Google's words stay; what they leave out is said behind them, instead of the advice for
    refusals that the program does not know.
    """
    error = refused(job, on, refusal(403, message), code, PLAY)
    assert message.rstrip(".") in error
    assert words in error, where
    assert "Do what Google's message asks for" not in error


def test_an_empty_track_is_not_a_track_that_is_missing(job: Job) -> None:
    """Google's reason for both begins with the same words."""
    message = "Track not found: no APK version codes in the specified track."
    error = refused(job, TRACK, refusal(404, message, "trackEmpty"), 4, PLAY)
    assert "no track of this name" not in error


def test_scopes_are_not_permissions_in_the_console(job: Job) -> None:
    """Google gives the reason of a missing permission as well."""
    message = "Request had insufficient authentication scopes."
    error = refused(
        job, INSERT, refusal(403, message, "insufficientPermissions"), 3, PLAY
    )
    assert "Users and permissions" not in error


@pytest.mark.parametrize(
    "message",
    [
        "Your app does not support 16 KB memory page sizes.",
        "APK file size exceeds maximum limit of 104857600 bytes.",
    ],
)
def test_an_artifact_that_must_be_built_again_is_not_sent_again(
    job: Job, message: str
) -> None:
    """Not even where the commit is what finds it."""
    assert "run again" not in refused(job, COMMIT, refusal(403, message), 4, PLAY)


ROBOT = (
    "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n"
    "  <title>Error 404 (Not Found)!!1</title>"
)


def test_a_page_of_google_s_own_is_not_a_proxy_s(job: Job) -> None:
    """Other tools print the whole page."""
    error = refused(job, INSERT, {"status": 404, "body": ROBOT}, 4, PLAY)
    assert "(404): Error 404 (Not Found)." in error
    assert "This is a page of Google's servers in front of the API" in error
    assert "may not have been Google" not in error


def test_a_quota_of_a_minute_is_no_trouble_of_the_network(job: Job) -> None:
    """The retries are spent, and the run may be started again."""
    message = (
        "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'."
    )
    fault = refusal(429, message, "rateLimitExceeded")
    error = refused(job, INSERT, fault, 75, {**PLAY, "max-retries": "0"})
    assert "A quota is used up for the moment" in error
    assert "network" not in error


# The keyless login, and other services


DRIVE = {"target": "drive.files.create", "files": "ota.zip"}
STORAGE = {
    "target": "storage.objects.insert",
    "files": "ota.zip",
    "params": "bucket: my-bucket",
}
MAIL = {
    "target": "gmail",
    "mail-to": "team@example.com",
    "mail-subject": "x",
    "mail-body": "y",
    "impersonate-user": "release@example.com",
}


@pytest.mark.parametrize(
    ("where", "inputs", "on", "fault", "code", "words"),
    [
        pytest.param(
            "fastlane",
            DRIVE,
            "drive.files.create",
            refusal(
                403,
                "Service Accounts do not have storage quota. Leverage shared drives instead.",
                "storageQuotaExceeded",
            ),
            4,
            "a service account has no storage of its own",
            id="Drive without a shared drive",
        ),
        pytest.param(
            "googleapis",
            STORAGE,
            "storage.objects.insert",
            refusal(404, "The specified bucket does not exist.", "notFound"),
            4,
            "Check `bucket` in `params`, or create the bucket.",
            id="no such bucket",
        ),
        pytest.param(
            "googleapis",
            STORAGE,
            "storage.objects.insert",
            refusal(
                403,
                "ci@p.iam.gserviceaccount.com does not have storage.objects.delete access to the "
                "Google Cloud Storage object.",
            ),
            3,
            "may create objects but not replace them.",
            id="object is there already",
        ),
        pytest.param(
            "googleapis",
            STORAGE,
            "storage.objects.insert",
            refusal(
                403,
                "ci@p.iam.gserviceaccount.com does not have storage.objects.create access to the "
                "Google Cloud Storage object.",
            ),
            3,
            "Grant the account roles/storage.objectUser on the bucket",
            id="may not write",
        ),
        pytest.param(
            "googleapis",
            STORAGE,
            "storage.objects.insert",
            refusal(
                400,
                "Cannot insert legacy ACL for an object when uniform bucket-level access is "
                "enabled.",
                "invalid",
            ),
            4,
            "Leave `predefinedAcl` out of `params`",
            id="uniform access",
        ),
        pytest.param(
            "googleapis",
            STORAGE,
            "storage.objects.insert",
            refusal(
                403,
                "The billing account for the owning project is disabled in state absent",
                "accountDisabled",
            ),
            4,
            "Link a billing account to the project",
            id="bucket without billing",
        ),
        pytest.param(
            "googleapis",
            MAIL,
            "gmail.users.messages.send",
            refusal(400, "Mail service not enabled", "failedPrecondition"),
            4,
            "The user of `impersonate-user` has no Gmail mailbox",
            id="user without a mailbox",
        ),
    ],
)
def test_other_services_are_explained_too(
    job: Job,
    where: str,
    inputs: Mapping[str, str],
    on: str,
    fault: Mapping[str, Any],
    code: int,
    words: str,
) -> None:
    """With the words of their own inputs."""
    error = refused(job, on, fault, code, inputs)
    assert words in error, where
    assert "Google Play" not in error


KEYLESS = {
    "workload-identity-provider": "projects/1/locations/global/workloadIdentityPools/p/providers/g",
    "service-account": "ci@example.iam.gserviceaccount.com",
    "credentials": "",
}


@pytest.mark.parametrize(
    ("where", "on", "fault", "words"),
    [
        pytest.param(
            "gitlab forum",
            "sts.token",
            {
                "error": "invalid_grant",
                "error_description": "Error connecting to the given credential's issuer.",
            },
            "`ISSUER/.well-known/openid-configuration` must be readable from the internet",
            id="GitLab behind a firewall",
        ),
        pytest.param(
            "google-github-actions/auth",
            "sts.token",
            {
                "error": "invalid_request",
                "error_description": "Failed to map the attribute 'google.subject'",
            },
            "The provider's attribute mapping does not fit the job's token",
            id="mapping of a claim that is missing",
        ),
        pytest.param(
            "google-github-actions/auth",
            "sts.token",
            {
                "error": "invalid_target",
                "error_description": 'The target service indicated by the "audience" parameters '
                "is invalid.",
            },
            "The workload identity provider does not exist, is disabled, or names its project",
            id="provider that was deleted",
        ),
        pytest.param(
            "google-github-actions/auth",
            "iamcredentials.projects.serviceAccounts.generateAccessToken",
            {"error": {"code": 403, "message": "The caller does not have permission"}},
            "Grant the principal of the job's token roles/iam.workloadIdentityUser",
            id="pool without a binding",
        ),
        pytest.param(
            "google-github-actions/auth",
            "iamcredentials.projects.serviceAccounts.generateAccessToken",
            {
                "error": {
                    "code": 403,
                    "message": "IAM Service Account Credentials API has not been used in project "
                    "1 before or it is disabled.",
                }
            },
            "Enable iamcredentials.googleapis.com in the project named in the answer.",
            id="API of the login not enabled",
        ),
    ],
)
def test_a_keyless_login_that_is_refused_says_what_to_compare(
    job: Job, where: str, on: str, fault: Mapping[str, Any], words: str
) -> None:
    """The job's token is described with its issuer, subject and audience."""
    job.emulator.add_fault(
        on,
        "status",
        status=403 if "iam" in on else 400,
        body=json.dumps(fault),
        content_type="application/json",
    )
    runner = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": job.emulator.oidc_url,
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": job.emulator.oidc_request_token,
    }
    error = answer(job, 3, {**PLAY, **KEYLESS}, **runner)
    assert words in error, where
    assert "The job's token has issuer `https://" in error


# Inputs


@pytest.mark.parametrize(
    ("where", "inputs", "words"),
    [
        pytest.param(
            "r0adkll/upload-google-play",
            {"tracks": "internal beta"},
            "names several tracks without a comma. Accepted: `internal, beta`",
            id="lines folded by YAML",
        ),
        pytest.param(
            "codemagic",
            {"tracks": "alpha;beta"},
            "names several tracks without a comma. Accepted: `alpha, beta`",
            id="semicolons",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"tracks": "- internal\n- beta"},
            "is written as YAML or JSON, or in quotes",
            id="list in a block",
        ),
        pytest.param(
            "gradle-play-publisher",
            {"tracks": "rollout"},
            "for a staged rollout use `tracks: production` with `user-fraction`",
            id="track of the past",
        ),
        pytest.param(
            "microsoft/google-play-vsts-extension",
            {"user-fraction": "100"},
            "For all users write `100%`, or leave it out.",
            id="percent without its sign",
        ),
        pytest.param(
            "microsoft/google-play-vsts-extension",
            {"user-fraction": "1.0"},
            "For all users write `100%`, or leave it out.",
            id="fraction 1.0",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"user-fraction": "10"},
            "For 10 % of users write `0.1`.",
            id="fraction 10",
        ),
        pytest.param(
            "codemagic",
            {"user-fraction": "10,5%"},
            "its decimal sign must be a point",
            id="decimal comma",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"status": "completed", "user-fraction": "0.1"},
            "user-fraction: a release with status completed has none.",
            id="fraction of a completed release",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"status": "in_progress", "user-fraction": "0.1"},
            "Did you mean `inProgress`?",
            id="status with an underscore",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {
                "package-name": "https://play.google.com/store/apps/details?id=com.example.app"
            },
            "Did you mean `com.example.app`?",
            id="address of the app",
        ),
        pytest.param(
            "gradle-play-publisher",
            {"package-name": "com.example.app/.MainActivity"},
            "Did you mean `com.example.app`?",
            id="activity",
        ),
        pytest.param(
            "gradle-play-publisher",
            {"package-name": "com.example.app.debug"},
            "'com.example.app.debug' was given, but app.aab is 'com.example.app'",
            id="suffix of another variant",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"files": "$GITHUB_WORKSPACE/app.aab"},
            "$GITHUB_WORKSPACE was not expanded: GitHub expands no variables in `with:`",
            id="variable of a shell",
        ),
        pytest.param(
            "microsoft/google-play-vsts-extension",
            {"files": "C:\\a\\_work\\app.aab"},
            "This is a path of a Windows machine: write one relative to the workspace.",
            id="drive of Windows",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"files": "/elsewhere/app.aab"},
            "Inside a container the workspace has another path",
            id="path of the runner",
        ),
        pytest.param(
            "r0adkll/upload-google-play",
            {"files": "app.aab\r\nota.zip"},
            "ota.zip is a zip, but neither an APK nor an Android App Bundle.",
            id="archive of the earlier job",
        ),
        pytest.param(
            "fastlane",
            {"files": "abi/*.apk"},
            "version code 7 occurs 2 times: abi/arm.apk, abi/x86.apk. Accepted: each version code "
            "once: one of its own for the APK of each ABI",
            id="APKs by ABI",
        ),
        pytest.param(
            "google-github-actions/auth",
            {
                **KEYLESS,
                "service-account": "serviceAccount:ci@example.iam.gserviceaccount.com",
            },
            "Accepted: `name@example.com`, without `serviceAccount:`.",
            id="member of a policy",
        ),
        pytest.param(
            "google-github-actions/auth",
            {**KEYLESS, "workload-identity-provider": "my-pool/providers/github"},
            "is not the resource name of a workload identity provider",
            id="short name of a provider",
        ),
    ],
)
def test_an_input_that_is_wrong_says_what_to_write(
    job: Job, where: str, inputs: Mapping[str, str], words: str
) -> None:
    """And nothing is sent."""
    sent = len(job.emulator.requests)
    assert words in answer(job, 2, {**PLAY, **inputs}), where
    assert len(job.emulator.requests) == sent


@pytest.mark.parametrize(
    ("name", "track"),
    [
        ("Interner Test", "internal"),
        ("Test interne", "internal"),
        ("Prueba cerrada", "alpha"),
        ("Geschlossener Test \N{EN DASH} Alpha", "alpha"),
        ("Teste aberto", "beta"),
        ("正式版", "production"),
    ],
)
def test_the_consoles_names_of_tracks_are_known_in_other_languages(
    job: Job, name: str, track: str
) -> None:
    """The Play Console shows them; the API knows none of them."""
    error = answer(job, 4, {**PLAY, "tracks": name})
    assert (
        f"It is probably the Play Console's name of {track}. Write `{track}`" in error
    )
