"""Google's and GitHub's token endpoints on a loopback socket, strict about what they are asked,
with answers to order.

A second reading of RFC 7523 (assertions), RFC 8693 (token exchange) and of the IAM credentials API;
shares no code with the program.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ACCOUNT = "ci@example-project.iam.gserviceaccount.com"
PROVIDER = "projects/123456/locations/global/workloadIdentityPools/ci/providers/github"
# bits: each login checks the primes of its key, in a fifth of the time that Google's 2048 take
SHORT_KEY = 1024
GOOGLE_TOKEN = "https://oauth2.googleapis.com/token"


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    """One real key for the whole test run; making one takes a tenth of a second."""
    return rsa.generate_private_key(public_exponent=65537, key_size=SHORT_KEY)


def pem(key: rsa.RSAPrivateKey | None = None) -> str:
    """The key as a service-account file holds it: PKCS #8, unencrypted."""
    plain = serialization.NoEncryption()
    return (
        (key or rsa_key())
        .private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
        )
        .decode()
    )


def service_account(token_uri: str = GOOGLE_TOKEN, **changes: Any) -> dict[str, Any]:
    """A service-account key as the Cloud console hands it out."""
    return {
        "type": "service_account",
        "project_id": "example-project",
        "private_key_id": "0123456789abcdef",
        "private_key": pem(),
        "client_email": ACCOUNT,
        "client_id": "1234567890",
        "token_uri": token_uri,
        **changes,
    }


def claims_of(token: str) -> dict[str, Any]:
    """The payload of a signed JSON web token whose RS256 signature is ours; raises when it is
    not.
    """
    signed, _, signature = token.rpartition(".")
    rsa_key().public_key().verify(
        _decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    header, payload = (json.loads(_decoded(part)) for part in signed.split("."))
    assert header["alg"] == "RS256"
    return dict(payload)


def signed(payload: dict[str, Any]) -> str:
    """The payload as a JSON web token signed by our key."""
    parts = [
        json.dumps(part).encode() for part in ({"alg": "RS256", "typ": "JWT"}, payload)
    ]
    text = ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts
    )
    signature = rsa_key().sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@dataclass(frozen=True)
class Ordered:
    """An answer to give instead of the regular one; status 0 breaks the connection."""

    status: int
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    fields: dict[str, Any]


class TokenServer:
    """Endpoints `/token`, `/v1/token`, `/v1/projects/-/serviceAccounts/…` and `/oidc`. Tokens are
    numbered.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.ordered: list[Ordered] = []
        self.lifetime: object = 3600
        self.before_answer: Callable[[], None] = lambda: None
        self.issued: list[str] = []
        self._lock = threading.Lock()
        self.url = ""

    def order(self, *responses: Ordered) -> None:
        """Give these answers to the next requests."""
        self.ordered += responses

    def paths(self) -> list[str]:
        """Where the requests went, in order."""
        return [seen.path for seen in self.seen]

    def response(self, seen: Seen) -> Ordered:
        """The ordered answer, or the regular one, after `before_answer`."""
        with self._lock:
            self.seen.append(seen)
            self.before_answer()
            if self.ordered:
                return self.ordered.pop(0)
            try:
                return Ordered(
                    200,
                    json.dumps(self._regular(seen)).encode(),
                    {"Content-Type": "application/json"},
                )
            except (AssertionError, InvalidSignature, KeyError, ValueError) as error:
                refusal = {
                    "error": "invalid_grant",
                    "error_description": f"{type(error).__name__}: {error}",
                }
                return Ordered(400, json.dumps(refusal).encode())

    def _issue(self, kind: str) -> str:
        self.issued.append(f"ya29.{kind}-{len(self.issued) + 1}-secret")
        return self.issued[-1]

    def _regular(self, seen: Seen) -> dict[str, Any]:
        if seen.path == "/token":
            return self._token(seen.fields)
        if seen.path == "/v1/token":
            return self._exchange(seen.fields)
        if seen.path.startswith("/computeMetadata/v1/"):
            assert seen.headers["metadata-flavor"] == "Google"
            return self._metadata(seen)
        if seen.path == "/oidc":
            assert seen.headers["authorization"] == "Bearer runner-secret-token"
            return {
                "value": signed({"sub": "repo:octo/app", "aud": seen.query["audience"]})
            }
        account, _, action = seen.path.removeprefix(
            "/v1/projects/-/serviceAccounts/"
        ).partition(":")
        assert account == ACCOUNT
        assert seen.headers["authorization"].removeprefix("Bearer ") in self.issued
        if action == "signJwt":
            return {
                "keyId": "1",
                "signedJwt": signed(json.loads(seen.fields["payload"])),
            }
        assert action == "generateAccessToken"
        return {
            "accessToken": self._issue("impersonated"),
            "expireTime": "2099-01-01T00:00:00Z",
        }

    def _token(self, fields: dict[str, Any]) -> dict[str, Any]:
        if fields["grant_type"] == "refresh_token":
            assert (fields["client_id"], fields["client_secret"]) == (
                "client",
                "client-secret-1",
            )
            assert fields["refresh_token"] == "1//refresh-secret-token"
        else:
            assert fields["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
            claims = claims_of(fields["assertion"])
            assert claims["iss"] == ACCOUNT
            assert claims["aud"] == GOOGLE_TOKEN
            assert claims["exp"] - claims["iat"] <= 3600
        return {
            "access_token": self._issue("access"),
            "expires_in": self.lifetime,
            "token_type": "Bearer",
        }

    def _metadata(self, seen: Seen) -> dict[str, Any]:
        """A Compute Engine machine's metadata server, cloud.google.com/compute/docs/metadata."""
        if seen.path.endswith("/token"):
            return {
                "access_token": self._issue("machine"),
                "expires_in": self.lifetime,
                "token_type": "Bearer",
            }
        assert seen.path.endswith("/instance/service-accounts/default/")
        return {"email": ACCOUNT, "scopes": []}

    def _exchange(self, fields: dict[str, Any]) -> dict[str, Any]:
        assert fields["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
        assert fields["audience"] == f"//iam.googleapis.com/{PROVIDER}"
        assert (
            claims_of(fields["subject_token"])["aud"]
            == f"https://iam.googleapis.com/{PROVIDER}"
        )
        return {
            "access_token": self._issue("federated"),
            "expires_in": self.lifetime,
            "token_type": "Bearer",
        }


class _Quiet(ThreadingHTTPServer):
    """Says nothing of handshakes that a distrustful client breaks off."""

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def running(certificate: Path | None = None) -> Iterator[TokenServer]:
    """A token server that listens while the block runs, over TLS where `certificate` names its PEM
    file.
    """
    tokens = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(
                int(self.headers.get("Content-Length") or 0)
            ).decode()
            fields = (
                json.loads(body)
                if body.startswith("{")
                else {key: v[0] for key, v in parse_qs(body).items()}
            )
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            self._give(tokens.response(Seen(parts.path, query, headers, fields)))

        def do_GET(self) -> None:
            self.do_POST()

        def do_PUT(self) -> None:
            self.do_POST()

        def _give(self, response: Ordered) -> None:
            if not response.status:
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            try:
                self.wfile.write(response.body)
            except OSError:
                self.close_connection = True  # the client has read enough

        def log_message(self, *_: object) -> None:
            pass

    server = _Quiet(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    tokens.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    try:
        yield tokens
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
