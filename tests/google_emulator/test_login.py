"""The token endpoint, the check of every request, and the way in without a key."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from google_emulator.auth import jwt
from google_emulator.auth.keys import SigningKey, process_key
from google_emulator.protocol.crc32c import Crc32c
from tests.google_emulator.conftest import Begin
from tests.support.emulator_client import APP, Reply, Talk

SCOPE = "https://www.googleapis.com/auth/androidpublisher"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "scope": "https://www.googleapis.com/auth/cloud-platform",
}


def form(talk: Talk, path: str, values: dict[str, str]) -> Reply:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return talk.ask("POST", path, urlencode(values).encode(), headers)


def claims(talk: Talk, **changed: Any) -> dict[str, Any]:
    now = int(time.time())
    key = talk.emulator.key
    true = {"iss": key["client_email"], "aud": key["token_uri"], "iat": now, "exp": now + 3600, "scope": SCOPE}
    return {name: value for name, value in {**true, **changed}.items() if value is not None}


def exchange(talk: Talk, assertion: str) -> Reply:
    return form(talk, "/token", {"grant_type": GRANT, "assertion": assertion})


def signed(talk: Talk, **changed: Any) -> str:
    return jwt.sign(process_key(), claims(talk, **changed))


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_the_key_is_one_that_others_read(talk: Talk) -> None:
    """The `cryptography` package loads the PKCS#8 key, and its signatures and the emulator's verify each other."""
    key = serialization.load_pem_private_key(talk.emulator.key["private_key"].encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    theirs = key.sign(b"message", padding.PKCS1v15(), hashes.SHA256())
    assert theirs == process_key().sign(b"message")
    assert process_key().verifies(b"message", theirs)


@pytest.mark.parametrize("signature", [b"", b"\0" * 256, b"\xff" * 256, b"\1" * 255])
def test_a_wrong_signature_does_not_verify(signature: bytes) -> None:
    """Nonsense of any length is no signature."""
    assert not process_key().verifies(b"message", signature)


def test_a_signature_is_for_one_message() -> None:
    """A true signature of something else is none."""
    assert not process_key().verifies(b"other", process_key().sign(b"message"))


def test_a_signed_assertion_becomes_a_token(talk: Talk) -> None:
    """The token opens the API for the scope that was asked for."""
    reply = exchange(talk, signed(talk))
    assert (reply.json["token_type"], reply.json["expires_in"]) == ("Bearer", 3600)
    other = Talk(talk.emulator, reply.json["access_token"])
    assert other.ask("POST", f"{APP}/edits", json={}).status == 200
    other.close()


def test_the_user_acted_for_is_remembered(talk: Talk) -> None:
    """`sub` in the assertion is domain-wide delegation."""
    exchange(talk, signed(talk, sub="boss@example.com"))
    assert "boss@example.com" in {token["subject"] for token in talk.emulator.state()["tokens"]}


def test_delegation_may_be_forbidden(begin: Begin) -> None:
    """Without domain-wide delegation, `sub` is refused as Google refuses it."""
    talk = begin(delegation=False)
    reply = exchange(talk, signed(talk, sub="boss@example.com"))
    assert (reply.status, reply.json["error"]) == (401, "unauthorized_client")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"iss": "someone@else.example"}, "invalid_grant"),
        ({"aud": "https://elsewhere.example/token"}, "invalid_grant"),
        ({"iat": int(time.time()) - 7200, "exp": int(time.time()) - 3600}, "invalid_grant"),
        ({"iat": int(time.time()) + 7200, "exp": int(time.time()) + 9000}, "invalid_grant"),
        ({"exp": int(time.time()) + 9000}, "invalid_grant"),
        ({"exp": None}, "invalid_grant"),
        ({"scope": None}, "invalid_scope"),
    ],
)
def test_a_wrong_claim_is_refused(talk: Talk, changed: dict[str, Any], error: str) -> None:
    """Issuer, audience, times and scope are each checked."""
    reply = exchange(talk, signed(talk, **changed))
    assert (reply.status, reply.json["error"]) == (400, error)


def test_a_forged_assertion_is_refused(talk: Talk) -> None:
    """Another key, another message under the signature, another algorithm, another shape: no token."""
    true = signed(talk)
    head, body, signature = true.split(".")
    stolen_id, other = SigningKey(), SigningKey()
    stolen_id.id = process_key().id
    other_head = jwt.sign(other, claims(talk)).split(".")[0]
    forged = [
        jwt.sign(stolen_id, claims(talk)),
        jwt.sign(other, claims(talk)),
        f"{other_head}.{body}.{base64url(process_key().sign(f'{other_head}.{body}'.encode()))}",
        f"{head}.{signed(talk, sub='boss@example.com').split('.')[1]}.{signature}",
        f"{head}.{body}",
        f"{head}.{body}.!",
        f"x.{body}.{signature}",
        f"eyJhbGciOiJub25lIn0.{body}.",
        "",
    ]
    assert [exchange(talk, assertion).json["error"] for assertion in forged] == ["invalid_grant"] * len(forged)


def test_other_grants(talk: Talk) -> None:
    """A refresh token works with its client's secret; a grant that nobody knows is refused."""
    authority = talk.emulator.authority
    values = {
        "grant_type": "refresh_token",
        "refresh_token": authority.refresh_token,
        "client_secret": authority.client_secret,
    }
    assert form(talk, "/token", values).status == 200
    assert form(talk, "/token", {**values, "refresh_token": "x"}).json["error"] == "invalid_grant"
    assert form(talk, "/token", {**values, "client_secret": "x"}).json["error"] == "invalid_client"
    assert form(talk, "/token", {"grant_type": "password"}).json["error"] == "unsupported_grant_type"


@pytest.mark.parametrize("path", ["/upload/storage/v1/b/b/o?uploadType=media&name=x", f"{APP}/edits"])
@pytest.mark.parametrize("token", ["", "ya29.unknown"])
def test_every_request_bears_a_token(talk: Talk, path: str, token: str) -> None:
    """Without a token, or with one that nobody gave out: 401 with Google's error body."""
    other = Talk(talk.emulator, token)
    reply = other.ask("POST", path, b"{}")
    other.close()
    assert (reply.status, reply.json["error"]["status"]) == (401, "UNAUTHENTICATED")


def test_a_session_request_bears_a_token(talk: Talk) -> None:
    """The session URI alone does not open a session."""
    uri = talk.begin(size=3)
    talk.token = ""
    assert talk.put(uri, b"abc").status == 401


def test_a_token_expires(begin: Begin) -> None:
    """A token is of use for as long as it was said."""
    talk = begin(token_lifetime=-1)
    talk.token = talk.emulator.token("androidpublisher")
    assert talk.ask("POST", f"{APP}/edits", json={}).status == 401


def test_the_scope_is_checked(talk: Talk) -> None:
    """A token without the API's scope is a 403 that says so."""
    talk.token = talk.emulator.token("drive")
    reply = talk.ask("POST", f"{APP}/edits", json={})
    assert (reply.status, reply.message) == (403, "Request had insufficient authentication scopes.")


def identity(talk: Talk, audience: str) -> Reply:
    url = f"{talk.emulator.oidc_url}&{urlencode({'audience': audience})}"
    return talk.ask("GET", url, None, {"Authorization": f"bearer {talk.emulator.oidc_request_token}"})


def federate(talk: Talk, **changed: str) -> Reply:
    audience = f"//iam.googleapis.com/{talk.emulator.provider}"
    token = identity(talk, f"https:{audience}").json["value"]
    return form(talk, "/v1/token", {**EXCHANGE, "audience": audience, "subject_token": token, **changed})


def impersonate(talk: Talk, email: str, body: dict[str, Any]) -> Reply:
    return talk.ask("POST", f"/v1/projects/-/serviceAccounts/{email}:generateAccessToken", json=body)


def test_the_way_in_without_a_key(talk: Talk) -> None:
    """An identity token is exchanged for a federated one, and that for one of the service account."""
    talk.token = federate(talk).json["access_token"]
    assert talk.ask("POST", f"{APP}/edits", json={}).status == 401
    reply = impersonate(talk, talk.emulator.service_account, {"scope": [SCOPE], "lifetime": "600s"})
    assert reply.json["expireTime"].endswith("Z")
    talk.token = reply.json["accessToken"]
    assert talk.ask("POST", f"{APP}/edits", json={}).status == 200


def test_an_identity_token_from_a_variable(talk: Talk) -> None:
    """GitLab puts the token into a variable; it is exchanged alike."""
    assert federate(talk, subject_token=talk.emulator.id_token()).status == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"grant_type": "password"},
        {"requested_token_type": "urn:ietf:params:oauth:token-type:id_token"},
        {"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"},
        {"audience": "projects/1"},
        {"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/other"},
        {"scope": ""},
        {"subject_token": "nonsense"},
    ],
)
def test_a_wrong_exchange_is_refused(talk: Talk, changed: dict[str, str]) -> None:
    """Grant, types, audience, scope and the identity token's own claims are checked."""
    assert federate(talk, **changed).status == 400


def test_a_stale_identity_token_is_refused(begin: Begin) -> None:
    """GitHub's tokens live five minutes; an old one is stale."""
    talk = begin(oidc_lifetime=-1)
    assert federate(talk).json["error"] == "invalid_grant"


def test_github_wants_its_own_token(talk: Talk) -> None:
    """The request token of the job is checked."""
    assert talk.ask("GET", talk.emulator.oidc_url).status == 401


def test_impersonation_is_checked(talk: Talk) -> None:
    """Scopes, lifetime, the account and the caller's right are looked at."""
    account = talk.emulator.service_account
    assert impersonate(talk, account, {"scope": [SCOPE]}).status == 403
    talk.token = federate(talk).json["access_token"]
    assert impersonate(talk, account, {}).status == 400
    assert impersonate(talk, account, {"scope": [SCOPE], "lifetime": "1h"}).status == 400
    assert impersonate(talk, account, {"scope": [SCOPE], "lifetime": "7200s"}).status == 400
    assert impersonate(talk, "other@example.com", {"scope": [SCOPE]}).status == 404


def test_no_secret_is_in_the_state(talk: Talk) -> None:
    """The state names accounts and scopes, never a token, a key or a session URI."""
    session = talk.begin(size=3).partition("upload_id=")[2]
    state = json.dumps(talk.emulator.state())
    assert not [secret for secret in (talk.token, session, talk.emulator.key["private_key"]) if secret in state]


@pytest.mark.parametrize(
    ("data", "checksum"),
    [(b"", "00000000"), (b"123456789", "e3069283"), (b"\0" * 32, "8a9136aa"), (b"\xff" * 32, "62a8ab43")],
)
def test_crc32c_has_its_published_values(data: bytes, checksum: str) -> None:
    """The check value of Castagnoli's polynomial and two vectors of RFC 3720, appendix B.4."""
    crc = Crc32c()
    crc.update(data)
    assert crc.hexdigest() == checksum


def test_crc32c_folds_as_it_shifts() -> None:
    """Large blocks are folded; the result is that of taking them byte by byte."""
    data = bytes(range(256)) * 4096
    whole, parts = Crc32c(), Crc32c()
    whole.update(data)
    for start in range(0, len(data), 1000):
        parts.update(data[start : start + 1000])
    assert whole.digest() == parts.digest()
