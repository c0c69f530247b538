"""Login without a key: GitHub's identity tokens, Google's exchange of them, and the impersonation of an account.

Each step checks what the one before gave: the token's signature, audience and age, the provider's name, the scopes.
References: RFC 8693; docs.github.com OpenID Connect; cloud.google.com/iam/docs/reference/sts and .../credentials.
"""

from __future__ import annotations

import json
import re
import secrets
from datetime import datetime, timezone

from google_emulator import jwt
from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.oauth import ACCOUNT, CLOUD, Authority, OAuthError, Token, read_form
from google_emulator.router import Route

ISSUER = "https://token.actions.githubusercontent.com"
PROVIDER = "projects/123456789/locations/global/workloadIdentityPools/emulator/providers/ci"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type, not a token
SUBJECT_TYPES = ("urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token")
IAM_SCOPES = (CLOUD, "https://www.googleapis.com/auth/iam")
LONGEST = 3600
_AUDIENCE = re.compile(
    r"//iam\.googleapis\.com/projects/\d+/locations/global/workloadIdentityPools/[\w-]+/providers/[\w-]+"
)


def identity_token(authority: Authority, audience: str, now: float, lifetime: float) -> str:
    """A CI system's identity token for one job, valid for `lifetime` seconds."""
    claims = {
        "iss": ISSUER,
        "aud": audience,
        "sub": "repo:octo-org/octo-repo:ref:refs/tags/v1.0.0",
        "repository": "octo-org/octo-repo",
        "jti": secrets.token_hex(16),
        "iat": int(now),
        "nbf": int(now),
        "exp": int(now + lifetime),
    }
    return jwt.sign(authority.key, authority.key_id, claims)


def _github(x: Exchange) -> Answer:
    """GitHub's own answer is not Google's: its errors are plain."""
    kind, _, token = x.header("Authorization").partition(" ")
    authority = x.world.authority
    if kind.lower() != "bearer" or not secrets.compare_digest(token.strip(), authority.request_token):
        return as_json({"message": "unauthorized"}, 401)
    audience = x.query.get("audience") or "https://github.com/octo-org"
    value = identity_token(authority, audience, x.world.clock(), x.world.config.oidc_lifetime)
    return as_json({"count": len(value), "value": value})


def _exchange(x: Exchange) -> Answer:
    try:
        return as_json(_federate(x, read_form(x)))
    except OAuthError as error:
        return error.answer()


def _federate(x: Exchange, form: dict[str, str]) -> dict[str, Json]:
    """Google's STS: an identity token becomes a federated access token."""
    if form.get("grant_type") != EXCHANGE_GRANT:
        raise OAuthError("unsupported_grant_type", "Unsupported grant type.")
    if form.get("requested_token_type", ACCESS_TOKEN) != ACCESS_TOKEN:
        raise OAuthError("invalid_request", "Invalid requested token type.")
    if form.get("subject_token_type") not in SUBJECT_TYPES:
        raise OAuthError("invalid_request", "Invalid subject token type.")
    audience = form.get("audience", "")
    if not _AUDIENCE.fullmatch(audience):
        raise OAuthError(
            "invalid_request", 'Invalid value for "audience". This value should be the full resource name.'
        )
    if not form.get("scope", "").strip():
        raise OAuthError("invalid_scope", "A scope is required.")
    claims = _believed(x, form.get("subject_token", ""), audience)
    lifetime = int(x.world.config.token_lifetime)
    token = Token(str(claims["sub"]), "", tuple(form["scope"].split()), x.world.clock() + lifetime, federated=True)
    return {
        "access_token": x.world.authority.issue(token),
        "issued_token_type": ACCESS_TOKEN,
        "token_type": "Bearer",
        "expires_in": lifetime,
    }


def _believed(x: Exchange, text: str, audience: str) -> dict[str, Json]:
    """The claims of an identity token of the CI system, for this provider and still valid."""
    try:
        claims = jwt.verify(x.world.authority.key, x.world.authority.key_id, text)
    except jwt.BadToken as error:
        raise OAuthError("invalid_grant", f"The subject token is not valid. {error}") from None
    if claims.get("iss") != ISSUER:
        raise OAuthError("invalid_grant", "The issuer in ID Token does not match the expected one.")
    if claims.get("aud") not in (audience, f"https:{audience}"):
        raise OAuthError("invalid_grant", "The audience in ID Token does not match the expected audience.")
    if float(claims.get("exp", 0)) <= x.world.clock():
        raise OAuthError("invalid_grant", "ID Token is stale to sign-in.")
    return claims


def _generate(x: Exchange) -> Answer:
    """IAM's generateAccessToken: a token of the service account, for whoever may impersonate it."""
    _may_impersonate(x)
    wanted = x.json()
    scopes = wanted.get("scope")
    if not isinstance(scopes, list) or not scopes:
        raise Refusal(400, "Request must include at least one scope.")
    lifetime = min(_lifetime(str(wanted.get("lifetime", "3600s"))), x.world.config.token_lifetime)
    expires = x.world.clock() + lifetime
    token = x.world.authority.issue(Token(ACCOUNT, "", tuple(map(str, scopes)), expires))
    moment = datetime.fromtimestamp(expires, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return as_json({"accessToken": token, "expireTime": moment})


def _sign(x: Exchange) -> Answer:
    """IAM's signJwt: claims signed as the service account would, which the token endpoint then judges."""
    _may_impersonate(x)
    try:
        claims = json.loads(str(x.json().get("payload", "")))
    except ValueError:
        claims = None
    if not isinstance(claims, dict):
        raise Refusal(400, "The payload must be the JSON of a claim set.")
    authority = x.world.authority
    return as_json({"keyId": authority.key_id, "signedJwt": jwt.sign(authority.key, authority.key_id, claims)})


def _may_impersonate(x: Exchange) -> None:
    """Only a federated login or a token for IAM may act as the account. Raises `Refusal`."""
    caller = x.world.authority.caller(x)
    if not caller.federated and not set(caller.scopes) & set(IAM_SCOPES):
        raise Refusal(403, "Request had insufficient authentication scopes.", "insufficientPermissions")
    if x.params["email"] != ACCOUNT:
        raise Refusal(404, "Not found; Gaia id not found for email " + x.params["email"])


def _lifetime(text: str) -> int:
    """`3600s` in seconds."""
    if not re.fullmatch(r"\d{1,6}s", text) or not 0 < int(text[:-1]) <= LONGEST:
        raise Refusal(400, f"Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), \"{text}\"")
    return int(text[:-1])


ROUTES = (
    Route("oidc.token", "GET", "/oidc/token", _github, scopes=None),
    Route("sts.token", "POST", "/v1/token", _exchange, scopes=None),
    Route(
        "iamcredentials.projects.serviceAccounts.generateAccessToken",
        "POST",
        "/v1/projects/-/serviceAccounts/{email}:generateAccessToken",
        _generate,
        scopes=None,
    ),
    Route(
        "iamcredentials.projects.serviceAccounts.signJwt",
        "POST",
        "/v1/projects/-/serviceAccounts/{email}:signJwt",
        _sign,
        scopes=None,
    ),
)
