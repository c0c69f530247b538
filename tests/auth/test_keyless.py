"""Login without a key, on the runner's stand-in: GitHub's token for Google's, again and again while bytes travel."""

from __future__ import annotations

import json
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.runner.machines import MakeRunner, engine, google, leaks, machine
from tests.test_github_runner import bundle

__all__ = ["engine", "google", "machine"]  # fixtures

OIDC = "oidc.token"
STS = "sts.token"
ACT_AS = "iamcredentials.projects.serviceAccounts.generateAccessToken"
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
        "files": "*.aab",
        "tracks": "internal",
        "workload-identity-provider": google.provider,
        "service-account": google.service_account,
        "api-endpoint": google.url,
    }
    return inputs | {name.replace("_", "-"): value for name, value in changes.items()}


def request_counts(google: Emulator, *names: str) -> list[int]:
    """How often each operation was asked for."""
    return [google.state()["requests"].get(name, 0) for name in names]


def test_a_slow_upload_outlives_three_tokens(machine: MakeRunner) -> None:
    """Each renewal fetches all anew, ahead of time, in the midst of one upload, and no byte is sent twice for it.

    Access tokens live three seconds here and GitHub's two. No channel shows any of them, with debug logging on.
    """
    with Emulator(config={"token_lifetime": 3, "oidc_lifetime": 2, "read_rate": 1_000_000}) as google:
        runner = machine(debug=True, more=permitted(google))
        bundle(runner.workspace, size=7_000_000)
        step = runner.step(given(google, chunk_size="512KiB"))
        assert (step.code, step.outputs.get("committed")) == (0, "true"), step.log
        rounds = request_counts(google, OIDC, STS, ACT_AS)
        assert min(rounds) >= 1 + 3
        assert len(set(rounds)) == 1, "each access token takes a fresh token of GitHub's"
        assert step.outputs["bytes-resent"] == "0"
        assert step.outputs["attempts"] == str(-(-7_000_000 // 524_288))
        assert {token["email"] for token in google.state()["tokens"] if token["scopes"]} >= {google.service_account}
        assert leaks(runner, google, step) == []


def test_the_log_says_that_nothing_is_kept_without_a_lasting_secret(machine: MakeRunner, google: Emulator) -> None:
    """A keyless run has nothing to seal a session with, unless it is given a `state-key`."""
    runner = machine(more=permitted(google))
    bundle(runner.workspace)
    step = runner.step(given(google))
    assert "there is no lasting secret to encrypt them with; set `state-key`" in step.log
    assert not (runner.temp / "uploader").exists()


def test_with_a_state_key_the_next_run_goes_on(machine: MakeRunner) -> None:
    """The sealed session of a keyless run is opened by another one with the same `state-key`."""
    cut = {"on": "play.bundles.upload+resumable.put", "do": "status", "status": 503, "after": 600_000}
    with Emulator([cut]) as google:
        runner = machine(more=permitted(google), secrets=["a lasting secret of ours"])
        bundle(runner.workspace, size=1_000_000)
        inputs = given(google, state_key="a lasting secret of ours")
        first = runner.step({**inputs, "max-retries": "0"})
        assert first.code == 75, first.log
        again = runner.step(inputs)
        assert (again.code, again.outputs["resumed"]) == (0, "true"), again.log
        assert leaks(runner, google, first, again) == []


def test_a_job_without_the_permission_is_told_what_to_write(machine: MakeRunner, google: Emulator) -> None:
    """Without `id-token: write` there is no token to exchange: exit 3, and the line to add to the workflow."""
    runner = machine()
    bundle(runner.workspace)
    step = runner.step(given(google))
    assert step.code == 3
    assert "`permissions: id-token: write`" in step.log
    assert google.state()["requests"] == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"service_account": "other@example.iam.gserviceaccount.com"}, "127.0.0.1 refused the login"),
        ({"workload_identity_provider": "projects/my-app/providers/ci"}, "workload-identity-provider"),
    ],
)
def test_a_login_that_is_refused_sends_nothing(
    machine: MakeRunner, google: Emulator, changes: dict[str, str], words: str
) -> None:
    """An account that may not be acted for, or a provider that is none, ends the run before any edit is opened."""
    runner = machine(more=permitted(google))
    bundle(runner.workspace)
    step = runner.step(given(google, **changes))
    assert step.code in (2, 3), step.log
    assert words in step.log
    assert google.state()["edits"] == {"open": [], "committed": [], "deleted": []}


def test_acting_for_a_user_signs_through_iam(machine: MakeRunner, google: Emulator) -> None:
    """Keyless and domain-wide delegation together: IAM signs the assertion, and the mailbox is the user's."""
    runner = machine(more=permitted(google))
    mail = {"mail-to": "team@example.com", "mail-subject": "Out", "mail-body": "Here."}
    inputs = given(google, target="gmail", files="", tracks="", impersonate_user="release@example.com")
    step = runner.step({**inputs, **mail})
    assert step.code == 0, step.log
    assert request_counts(google, SIGN, ACT_AS) == [1, 0]
    assert len(google.state()["messages"]) == 1
    assert google.state()["tokens"][-1]["subject"] == "release@example.com"
    assert leaks(runner, google, step) == []


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


def test_the_file_of_the_auth_action_works_as_it_comes(machine: MakeRunner, google: Emulator) -> None:
    """GOOGLE_APPLICATION_CREDENTIALS points into the workspace, by a path that is another one inside the container."""
    runner = machine()
    bundle(runner.workspace)
    path = runner.workspace / "gha-creds-0123456789abcdef.json"
    path.write_text(json.dumps(external_account(google)))
    runner.more = {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}
    step = runner.step({"target": "play", "files": "*.aab", "tracks": "internal", "api-endpoint": google.url})
    assert (step.code, step.outputs.get("committed")) == (0, "true"), step.log
    assert request_counts(google, OIDC, STS, ACT_AS) == [1, 1, 1]
    path.unlink()
    assert leaks(runner, google, step) == []
