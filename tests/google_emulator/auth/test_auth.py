"""The token endpoint, the check of every request, and the way in without a key."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from google_emulator.auth.authority import SigningKey, process_key
from tests.support.emulator_client import APP, EmulatorClient, Reply

SCOPE = "https://www.googleapis.com/auth/androidpublisher"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "scope": "https://www.googleapis.com/auth/cloud-platform",
}


def form(client: EmulatorClient, path: str, values: dict[str, str]) -> Reply:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return client.request("POST", path, urlencode(values).encode(), headers)


def claims(client: EmulatorClient, **changed: Any) -> dict[str, Any]:
    now = int(time.time())
    key = client.emulator.key
    true = {
        "iss": key["client_email"],
        "aud": key["token_uri"],
        "iat": now,
        "exp": now + 3600,
        "scope": SCOPE,
    }
    return {
        name: value for name, value in {**true, **changed}.items() if value is not None
    }


def exchange(client: EmulatorClient, assertion: str) -> Reply:
    return form(client, "/token", {"grant_type": GRANT, "assertion": assertion})


def signed(client: EmulatorClient, **changed: Any) -> str:
    return process_key().sign_jwt(claims(client, **changed))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"iss": "someone@else.example"}, "invalid_grant"),
        ({"aud": "https://elsewhere.example/token"}, "invalid_grant"),
        (
            {"iat": int(time.time()) - 7200, "exp": int(time.time()) - 3600},
            "invalid_grant",
        ),
        (
            {"iat": int(time.time()) + 7200, "exp": int(time.time()) + 9000},
            "invalid_grant",
        ),
        ({"exp": int(time.time()) + 9000}, "invalid_grant"),
        ({"exp": None}, "invalid_grant"),
        ({"scope": None}, "invalid_scope"),
    ],
)
def test_a_wrong_claim_is_refused(
    client: EmulatorClient, changed: dict[str, Any], error: str
) -> None:
    """Issuer, audience, times and scope are each checked."""
    reply = exchange(client, signed(client, **changed))
    assert (reply.status, reply.json["error"]) == (400, error)


def test_a_forged_assertion_is_refused(client: EmulatorClient) -> None:
    """Another key, another message under the signature, another algorithm, another shape: no
    token.
    """
    true = signed(client)
    head, body, signature = true.split(".")
    stolen_id, other = SigningKey(), SigningKey()
    stolen_id.id = process_key().id
    other_head = other.sign_jwt(claims(client)).split(".")[0]
    forged = [
        stolen_id.sign_jwt(claims(client)),
        other.sign_jwt(claims(client)),
        f"{other_head}.{body}.{signature}",
        f"{head}.{signed(client, sub='boss@example.com').split('.')[1]}.{signature}",
        f"{head}.{body}",
        f"{head}.{body}.!",
        f"x.{body}.{signature}",
        f"eyJhbGciOiJub25lIn0.{body}.",
        "",
    ]
    assert [exchange(client, assertion).json["error"] for assertion in forged] == [
        "invalid_grant"
    ] * len(forged)


@pytest.mark.parametrize(
    "path", ["/upload/storage/v1/b/b/o?uploadType=media&name=x", f"{APP}/edits"]
)
@pytest.mark.parametrize("token", ["", "ya29.unknown"])
def test_every_request_bears_a_token(
    client: EmulatorClient, path: str, token: str
) -> None:
    """Without a token, or with one that nobody gave out: 401 with Google's error body."""
    other = EmulatorClient(client.emulator, token)
    reply = other.request("POST", path, b"{}")
    other.close()
    assert (reply.status, reply.json["error"]["status"]) == (401, "UNAUTHENTICATED")


def test_the_scope_is_checked(client: EmulatorClient) -> None:
    """A token without the API's scope is a 403 that says so."""
    client.token = client.emulator.token("drive")
    reply = client.request("POST", f"{APP}/edits", json={})
    assert (reply.status, reply.message) == (
        403,
        "Request had insufficient authentication scopes.",
    )


def identity(client: EmulatorClient, audience: str) -> Reply:
    url = f"{client.emulator.oidc_url}&{urlencode({'audience': audience})}"
    return client.request(
        "GET",
        url,
        None,
        {"Authorization": f"bearer {client.emulator.oidc_request_token}"},
    )


def federate(client: EmulatorClient, **changed: str) -> Reply:
    audience = f"//iam.googleapis.com/{client.emulator.provider}"
    token = identity(client, f"https:{audience}").json["value"]
    return form(
        client,
        "/v1/token",
        {**EXCHANGE, "audience": audience, "subject_token": token, **changed},
    )


def impersonate(client: EmulatorClient, email: str, body: dict[str, Any]) -> Reply:
    return client.request(
        "POST", f"/v1/projects/-/serviceAccounts/{email}:generateAccessToken", json=body
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"grant_type": "password"},
        {"requested_token_type": "urn:ietf:params:oauth:token-type:id_token"},
        {"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"},
        {"audience": "projects/1"},
        {
            "audience": (
                "//iam.googleapis.com/projects/1/locations/global/"
                "workloadIdentityPools/p/providers/other"
            ),
        },
        {"scope": ""},
        {"subject_token": "nonsense"},
    ],
)
def test_a_wrong_exchange_is_refused(
    client: EmulatorClient, changed: dict[str, str]
) -> None:
    """Grant, types, audience, scope and the identity token's own claims are checked."""
    assert federate(client, **changed).status == 400


def test_impersonation_is_checked(client: EmulatorClient) -> None:
    """Scopes, lifetime, the account and the caller's right are looked at."""
    account = client.emulator.service_account
    assert impersonate(client, account, {"scope": [SCOPE]}).status == 403
    client.token = federate(client).json["access_token"]
    assert impersonate(client, account, {}).status == 400
    assert (
        impersonate(client, account, {"scope": [SCOPE], "lifetime": "1h"}).status == 400
    )
    assert (
        impersonate(client, account, {"scope": [SCOPE], "lifetime": "7200s"}).status
        == 400
    )
    assert impersonate(client, "other@example.com", {"scope": [SCOPE]}).status == 404


def test_no_secret_is_in_the_state(client: EmulatorClient) -> None:
    """The state names accounts and scopes, never a token, a key or a session URI."""
    session = client.start_session(size=3).partition("upload_id=")[2]
    state = json.dumps(client.emulator.state())
    assert not [
        secret
        for secret in (client.token, session, client.emulator.key["private_key"])
        if secret in state
    ]
