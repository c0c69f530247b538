"""Login without a key: GitHub's token for Google's, again and again while bytes travel."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job

OIDC = "oidc.token"
STS = "sts.token"
ACT_AS = "iamcredentials.projects.serviceAccounts.generateAccessToken"
PROVIDER = "projects/{}/locations/global/workloadIdentityPools/ci/providers/github"
SIGN = "iamcredentials.projects.serviceAccounts.signJwt"


def permitted(google: Emulator) -> dict[str, str]:
    """What `permissions: id-token: write` puts into a step's environment."""
    return {
        "ACTIONS_ID_TOKEN_REQUEST_URL": google.oidc_url,
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": google.oidc_request_token,
    }


def given(google: Emulator, **changes: str) -> dict[str, str]:
    """The inputs of a keyless release; `changes` by their names with underscores."""
    inputs = {
        "target": "play",
        "credentials": "",
        "files": "*.aab",
        "tracks": "internal",
        "workload-identity-provider": google.provider,
        "service-account": google.service_account,
    }
    return inputs | {name.replace("_", "-"): value for name, value in changes.items()}


def bundle(job: Job, size: int = 0) -> None:
    specimens.make_bundle(
        job.workspace / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=size
    )


def request_counts(google: Emulator, *names: str) -> list[int]:
    """How often each operation was asked for."""
    return [google.state()["requests"].get(name, 0) for name in names]


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds a bundle."""
    bundle(job)
    return job


@pytest.mark.slow
def test_a_slow_upload_outlives_three_tokens(tmp_path: Path) -> None:
    """Each renewal fetches all anew, ahead of time, in the midst of one upload, and no byte is sent
    twice for it.

    Access tokens live three seconds here and GitHub's two. No channel shows any of them, with debug
    logging on.
    """
    with Emulator(
        config={"token_lifetime": 3, "oidc_lifetime": 2, "read_rate": 1_000_000}
    ) as google:
        job = Job(tmp_path, google)
        bundle(job, 7_000_000)
        ended = job.run(
            given(google, chunk_size="512KiB"), RUNNER_DEBUG="1", **permitted(google)
        )
        assert (ended.code, ended.outputs.get("committed")) == (0, "true"), ended.log
        rounds = request_counts(google, OIDC, STS, ACT_AS)
        assert min(rounds) >= 1 + 3
        assert len(set(rounds)) == 1, (
            "each access token takes a fresh token of GitHub's"
        )
        assert ended.outputs["bytes-resent"] == "0"
        assert ended.outputs["attempts"] == str(-(-7_000_000 // 524_288))
        assert {
            token["email"] for token in google.state()["tokens"] if token["scopes"]
        } >= {google.service_account}


def test_the_log_says_that_nothing_is_kept_without_a_lasting_secret(job: Job) -> None:
    """A keyless run has nothing to seal a session with, unless it is given a `state-key`."""
    ended = job.run(given(job.emulator), **permitted(job.emulator))
    assert (
        "there is no lasting secret to encrypt them with; set `state-key`" in ended.log
    )
    assert not job.state_folder.exists()


def test_with_a_state_key_the_next_run_goes_on(tmp_path: Path) -> None:
    """The sealed session of a keyless run is opened by another one with the same `state-key`."""
    cut = {
        "on": "play.bundles.upload+resumable.put",
        "do": "status",
        "status": 503,
        "after": 600_000,
    }
    with Emulator([cut]) as google:
        job = Job(tmp_path, google)
        bundle(job, 1_000_000)
        inputs = given(google, state_key="a lasting secret of ours")
        job.fail(75, {**inputs, "max-retries": "0"}, **permitted(google))
        again = job.run(inputs, **permitted(google))
        assert (again.code, again.outputs["resumed"]) == (0, "true"), again.log


def test_a_run_without_a_token_says_what_an_earlier_one_may_have_committed(
    job: Job,
) -> None:
    """The job lost `id-token: write` after a commit whose answer was lost: the journal is read all
    the same.
    """
    job.emulator.add_fault("play.edits.commit", "status-after-effect", status=503)
    job.emulator.add_fault("play.edits.get", "status", status=503)
    inputs = given(job.emulator, state_key="a lasting secret of ours")
    job.fail(75, {**inputs, "max-retries": "0"}, **permitted(job.emulator))
    ended = job.fail(3, inputs)
    assert ended.outputs.get("committed", "") == ""
    assert (
        "Perhaps committed, by an earlier run: com.example.app. The next run checks."
        in ended.log
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"service_account": "other@example.iam.gserviceaccount.com"},
            "The service account does not exist",
        ),
        (
            {"workload_identity_provider": PROVIDER.format("my-app")},
            "workload-identity-provider: The value names its",
        ),
    ],
)
def test_a_login_that_is_refused_sends_nothing(
    job: Job, changes: dict[str, str], words: str
) -> None:
    """An account that may not be acted for, or a provider that is none, ends the run before any
    edit is opened.
    """
    ended = job.run(given(job.emulator, **changes), **permitted(job.emulator))
    assert ended.code in (2, 3), ended.log
    assert words in ended.log
    assert job.emulator.state()["edits"] == {"open": [], "committed": [], "deleted": []}


def test_acting_for_a_user_signs_through_iam(job: Job) -> None:
    """Keyless and domain-wide delegation together: IAM signs the assertion, and the mailbox is the
    user's.
    """
    google = job.emulator
    mail = {"mail-to": "team@example.com", "mail-subject": "Out", "mail-body": "Here."}
    inputs = given(
        google,
        target="gmail",
        files="none",
        tracks="none",
        impersonate_user="release@example.com",
    )
    job.succeed({**inputs, **mail}, **permitted(google))
    assert request_counts(google, SIGN, ACT_AS) == [1, 0]
    assert len(google.state()["messages"]) == 1
    assert google.state()["tokens"][-1]["subject"] == "release@example.com"


def external_account(google: Emulator) -> dict[str, Any]:
    """The file that google-github-actions/auth writes for a direct or an impersonating login."""
    return {
        "universe_domain": "googleapis.com",
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{google.provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
        f"{google.service_account}:generateAccessToken",
        "credential_source": {
            "url": f"{google.oidc_url}&audience=https://iam.googleapis.com/{google.provider}",
            "headers": {"Authorization": f"Bearer {google.oidc_request_token}"},
            "format": {"type": "json", "subject_token_field_name": "value"},
        },
    }


def test_the_file_of_the_auth_action_works_as_it_comes(job: Job) -> None:
    """GOOGLE_APPLICATION_CREDENTIALS points at a file in the workspace, which no pattern takes."""
    path = job.workspace / "gha-creds-0123456789abcdef.json"
    path.write_text(json.dumps(external_account(job.emulator)))
    inputs = {
        "target": "play",
        "files": "*.aab",
        "tracks": "internal",
        "credentials": "",
    }
    ended = job.run(inputs, GOOGLE_APPLICATION_CREDENTIALS=str(path))
    assert (ended.code, ended.outputs.get("committed")) == (0, "true"), ended.log
    assert request_counts(job.emulator, OIDC, STS, ACT_AS) == [1, 1, 1]


SUBJECT_TOO_LONG = (
    "The size of mapped attribute google.subject exceeds the 127 bytes limit. Either modify your "
    "attribute mapping or the incoming assertion to produce a mapped attribute that is less than "
    "127 bytes."
)
WRONG_NAME = (
    'Invalid value for "audience". This value should be the full resource name of the Identity '
    "Provider."
)


@pytest.mark.parametrize(
    ("refusal", "code", "advice"),
    [
        pytest.param(
            "The issuer in ID Token does not match the expected one.",
            "issuer-wrong",
            "`--issuer-uri`",
            id="issuer",
        ),
        pytest.param(
            SUBJECT_TOO_LONG,
            "subject-too-long",
            "google.subject=assertion.repository_id",
            id="subject",
        ),
        pytest.param(
            WRONG_NAME,
            "provider-name-invalid",
            "workload-identity-pools providers describe",
            id="name",
        ),
        pytest.param(
            "The given credential is rejected by the attribute condition.",
            "attribute-condition",
            "Compare the condition",
            id="condition",
        ),
    ],
)
def test_a_refused_login_shows_what_the_token_of_the_job_says(
    job: Job, refusal: str, code: str, advice: str
) -> None:
    """People compare it with the provider's settings; the token itself is in no channel."""
    body = json.dumps({"error": "invalid_grant", "error_description": refusal})
    job.emulator.add_fault("sts.token", "status", status=400, body=body)
    ended = job.fail(3, given(job.emulator), **permitted(job.emulator))
    assert ended.outputs["failure"] == code
    assert advice in ended.log
    assert (
        "The job's token has issuer `https://token.actions.githubusercontent.com`, subject "
        "`repo:octo-org/octo-repo:ref:refs/tags/v1.0.0`, audience "
        f"`https://iam.googleapis.com/{job.emulator.provider}`, repository `octo-org/octo-repo`."
    ) in ended.log


def test_a_tag_that_is_not_protected_is_told_where_the_condition_excludes_it(
    job: Job,
) -> None:
    """No tag of GitLab's is protected by default, and the condition of the setup demands one."""
    claims = {
        "sub": "project_path:g/p:ref_type:tag:ref:v1.0.0",
        "project_path": "g/p",
        "environment": "play",
        "ref_type": "tag",
        "ref_protected": "false",
        "user_email": "somebody@example.com",
    }
    parts = [{"alg": "RS256", "typ": "JWT"}, claims]
    coded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts
    ]
    refusal = "The given credential is rejected by the attribute condition."
    body = json.dumps({"error": "unauthorized_client", "error_description": refusal})
    job.emulator.add_fault("sts.token", "status", status=401, body=body)
    token = ".".join([*(part.rstrip("=") for part in coded), "c2lnbmF0dXJl"])
    ended = replace(job, kind="gitlab").fail(
        3, given(job.emulator), UPLOADER_ID_TOKEN=token
    )
    dotenv = (job.workspace / "uploader.env").read_text()
    assert "UPLOADER_FAILURE=attribute-condition\n" in dotenv
    assert "protect the tag or the branch" in ended.log
    assert (
        "The job's token has subject `project_path:g/p:ref_type:tag:ref:v1.0.0`, project `g/p`, "
        "environment `play`, ref_type `tag`, ref_protected `false`."
    ) in ended.log
    assert "somebody@example.com" not in ended.log


def test_an_account_that_may_not_be_acted_for_is_told_with_the_principal(
    job: Job,
) -> None:
    """The role is granted to the subject or the repository of the token."""
    ended = job.fail(
        3,
        given(job.emulator, service_account="other@example.iam.gserviceaccount.com"),
        **permitted(job.emulator),
    )
    assert "subject `repo:octo-org/octo-repo:ref:refs/tags/v1.0.0`" in ended.log


@pytest.mark.parametrize("token", ["abc", "$MY_TOKEN", "a.b.c", "e30.e30."])
def test_what_is_no_token_is_not_sent(job: Job, token: str) -> None:
    """In GitLab the variable of a job may hold anything; its length is told, and not its text."""
    ended = replace(job, kind="gitlab").fail(
        3, given(job.emulator), UPLOADER_ID_TOKEN=token
    )
    assert (
        f"UPLOADER_ID_TOKEN is not a JSON Web Token: it has {len(token)} characters"
        in ended.log
    )
    assert "`id_tokens:`" in ended.log
    assert request_counts(job.emulator, STS) == [0]


def test_a_login_that_a_proxy_answers_is_no_matter_of_rights(job: Job) -> None:
    """An HTML page is not Google's."""
    page = "<!DOCTYPE html><html><title>Blocked</title></html>"
    job.emulator.add_fault("sts.token", "status", status=403, body=page)
    ended = job.fail(3, given(job.emulator), **permitted(job.emulator))
    assert "refused the login (HTTP 403) with an HTML page." in ended.log
    assert "a proxy or firewall on the way" in ended.log
