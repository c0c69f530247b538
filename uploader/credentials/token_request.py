"""One request to a token endpoint: google-auth's request callable over the program's HTTP client, and its judgement.

google-auth decides what to ask; what it gets to see is a 200 that is short enough. Everything else ends here, so that
google-auth neither repeats a request by itself nor puts an answer's text into an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from uploader.credentials.login_errors import refused
from uploader.errors import CredentialsError, ProtocolError, UntrustedHost
from uploader.http.client import Timeouts, Transport
from uploader.http.hosts import moved
from uploader.http.messages import Body, Request, Response, TransportError
from uploader.protocol import google_error, retry
from uploader.redaction import Redactor

LARGEST = 1 << 20  # bytes; a real answer has a few thousand
CONNECT, ANSWER = 10.0, 30.0  # seconds: to connect, for the whole answer
TEMPORARY = ("server_error", "temporarily_unavailable", "internal_failure")  # RFC 6749, section 4.1.2.1; Google
SENT = ("assertion", "subject_token", "actor_token", "refresh_token", "client_secret")
RECEIVED = ("access_token", "accessToken", "id_token", "refresh_token", "signedJwt", "value")
HINT = "Check the credential's token endpoint, and whether a proxy intercepts the request."


class Unavailable(Exception):
    """The endpoint at `host` did not answer, or is failing: another try may help."""

    def __init__(self, host: str, response: Response | TransportError) -> None:
        self.host = host
        self.response = response
        self.detail = f": {response.why}" if isinstance(response, TransportError) else f" (HTTP {response.status})"
        super().__init__(f"{host}{self.detail}")


@dataclass(frozen=True)
class TokenResponse:
    """A successful answer in the form that google-auth reads; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class TokenRequest:
    """google-auth's `transport.Request`. Raises `Unavailable` and the errors of `uploader.errors`, nothing else.

    `root` replaces the hosts of googleapis.com: a keyless login with a loopback endpoint goes there as a whole.
    `answered` is the host of the last answer that was handed on, empty before the first one.
    """

    def __init__(self, client: Transport, on_secret: Callable[[str], object], root: str = "") -> None:
        self._client = client
        self._on_secret = on_secret
        self._root = root
        self._masked: set[str] = set()
        self._redactor = Redactor()
        self.answered = ""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cert: tuple[str, str] | None = None,
    ) -> TokenResponse:
        """Sends one request. `timeout` in seconds may only shorten the limits; `cert` is a client certificate."""
        content = body or b""
        self._mask(*_secrets_sent(content, headers or {}))
        # A token is fetched once an hour: an idle connection would not live so long.
        fields = {**(headers or {}), "Connection": "close"}
        request = Request(method, moved(url, self._root), tuple(fields.items()), Body(prefix=content), _files(cert))
        timeouts = Timeouts(min(CONNECT, timeout or CONNECT), ANSWER, min(ANSWER, timeout or ANSWER), LARGEST)
        return self._judged(urlsplit(request.url).hostname or "", self._send(request, content, timeouts))

    def _send(self, request: Request, content: bytes, timeouts: Timeouts) -> Response | TransportError:
        try:
            return self._client.send(request, (content,) if content else (), "", timeouts)
        except TransportError as error:
            return error

    def _judged(self, host: str, response: Response | TransportError) -> TokenResponse:
        """A 200 for google-auth; anything else is raised."""
        if isinstance(response, TransportError):
            raise Unavailable(host, response)
        error = google_error.read(response)
        temporary = response.status >= 400 and error.reason in TEMPORARY
        if temporary or retry.verdict(response) is retry.Verdict.RETRY:
            raise Unavailable(host, response)
        if len(response.body) >= LARGEST:
            raise ProtocolError(f"{host} answered a token request with more than 1 MiB.", hint=HINT)
        if 300 <= response.status < 400:
            raise UntrustedHost(
                f"{host} answered a token request with a redirect, and redirects are never followed.", hint=HINT
            )
        if response.status != 200:
            raise refused(host, error, self._redactor.one_line(error.message, limit=500))
        self._mask(*_secrets_received(response))
        self.answered = host
        return TokenResponse(response.status, dict(response.headers.items), response.body)

    def _mask(self, *secrets: str) -> None:
        """Makes secrets known before anything can be said about them."""
        for secret in secrets:
            if secret and secret not in self._masked:
                self._masked.add(secret)
                self._redactor.add(secret)
                self._on_secret(secret)


def _files(cert: tuple[str, str] | None) -> tuple[str, str] | None:
    """The client certificate and its key, which no other try finds if they are not there now."""
    if cert and not all(Path(file).is_file() for file in cert):
        raise CredentialsError(
            "The client certificate named in the credential configuration, or its key, does not exist.",
            hint="Check the paths in the certificate configuration of this machine.",
        )
    return cert


def _secrets_sent(body: bytes, headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if name.lower() == "authorization":
            yield value.partition(" ")[2]
    form = parse_qsl(body.decode("utf-8", "replace"))
    yield from (value for name, value in form if name in SENT)


def _secrets_received(response: Response) -> Iterator[str]:
    fields = response.json() or {}
    yield from (value for name in RECEIVED if isinstance(value := fields.get(name), str))
