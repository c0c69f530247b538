"""One request to a token endpoint: bounded in time and size, never redirected, its failures in this program's words.

google-auth decides what to ask; what it gets to see is a 200 that is short enough. Everything else ends here, so that
google-auth neither repeats a request by itself nor puts an answer's text into an exception.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from google.auth import transport

from uploader.credentials.login_errors import refused
from uploader.errors import CredentialsError, ForeignHost, ProtocolError
from uploader.http.connection import session
from uploader.http.messages import Headers, Response
from uploader.protocol import google_error, retry
from uploader.redaction import Redactor

LONGEST_ANSWER = 1 << 20  # bytes; a real one has a few thousand
CONNECT, WHOLE = 10.0, 30.0  # seconds: to connect, for the whole answer
PASSING = ("server_error", "temporarily_unavailable", "internal_failure")  # RFC 6749, section 4.1.2.1; Google
SENT = ("assertion", "subject_token", "actor_token", "refresh_token", "client_secret")
RECEIVED = ("access_token", "accessToken", "id_token", "refresh_token", "signedJwt", "value")


class Unavailable(Exception):
    """The endpoint did not answer, or is failing: another try may help. `retry_after` is its own wish in seconds."""

    def __init__(self, host: str, why: str, retry_after: float | None = None) -> None:
        super().__init__(f"{host}: {why}")
        self.host = host
        self.why = why
        self.retry_after = retry_after


class Answer(transport.Response):
    """A successful answer in the form that google-auth reads."""

    def __init__(self, response: Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers by lower-case names, which is how google-auth asks for them."""
        return dict(self._response.headers.items)

    @property
    def data(self) -> bytes:
        """The whole body."""
        return self._response.body


class Exchange(transport.Request):
    """The request object for google-auth. Raises Unavailable and the errors of `uploader.errors`, nothing of requests.

    `root` replaces the hosts of googleapis.com: a keyless login with a loopback endpoint goes there as a whole.
    `direct` leaves the system's proxies aside. `answered` is the host of the last answer that was handed on, empty
    before the first one.
    """

    def __init__(
        self,
        *,
        root: str = "",
        direct: bool = False,
        on_secret: Callable[[str], object],
        clock: Callable[[], float],
    ) -> None:
        self._root = root
        self._direct = direct
        self._on_secret = on_secret
        self._clock = clock
        self._named: set[str] = set()
        self._redactor = Redactor()
        self.answered = ""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Answer:
        """Send one request. `timeout` may only shorten the limits; `options` are requests' own, such as `cert`."""
        url = self._rerooted(url)
        host = urlsplit(url).hostname or ""
        self._name(*_secrets_sent(body, headers or {}))
        limits = min(CONNECT, timeout or CONNECT), min(WHOLE, timeout or WHOLE)
        try:
            answer = self._send(method, url, data=body, headers=headers, timeout=limits, **options)
        except OSError as caught:  # the root of everything that requests raises
            failure = _broken(host, caught)
        else:
            return self._judged(host, answer)
        raise failure

    def _send(self, method: str, url: str, **options: Any) -> Response:
        # A session for each request: tokens are fetched once an hour, an idle connection would not live so long. Its
        # `auth` does nothing, which keeps a .netrc from replacing the Authorization header.
        with session(direct=self._direct) as once:
            options |= {"stream": True, "allow_redirects": False, "auth": lambda request: request}
            with once.request(method, url, **options) as answer:
                body = self._bounded(answer.iter_content(1 << 16))
                return Response(answer.status_code, Headers(dict(answer.headers)), body)

    def _bounded(self, pieces: Iterator[bytes]) -> bytes:
        """At most one byte more than allowed, and no longer than allowed; both are errors of the far side."""
        end = self._clock() + WHOLE
        body = b""
        for piece in pieces:
            body += piece
            if len(body) > LONGEST_ANSWER:
                return body[: LONGEST_ANSWER + 1]
            if self._clock() > end:
                raise TimeoutError("the answer did not end")
        return body

    def _rerooted(self, url: str) -> str:
        parts = urlsplit(url)
        if not self._root or not f".{parts.hostname}".endswith(".googleapis.com"):
            return url
        return self._root + parts.path + (f"?{parts.query}" if parts.query else "")

    def _judged(self, host: str, answer: Response) -> Answer:
        """A 200 for google-auth; anything else is raised."""
        error = google_error.read(answer)
        passing = answer.status >= 400 and error.reason in PASSING
        if passing or retry.verdict(answer) is retry.Verdict.RETRY:
            raise Unavailable(host, f"HTTP {answer.status}", retry.retry_after(answer, time.time()))
        if len(answer.body) > LONGEST_ANSWER:
            raise ProtocolError(f"{host} answered a request for a token with more than a MiB.", cure=CURE)
        if 300 <= answer.status < 400:
            raise ForeignHost(f"{host} redirected a request for a token, which is never followed.", cure=CURE)
        if answer.status != 200:
            raise refused(host, error, self._redactor.one_line(error.message, limit=500))
        self._name(*_secrets_received(answer))
        self.answered = host
        return Answer(answer)

    def _name(self, *secrets: str) -> None:
        """Make secrets known before anything can be said about them."""
        for secret in secrets:
            if secret and secret not in self._named:
                self._named.add(secret)
                self._redactor.add(secret)
                self._on_secret(secret)


CURE = "Check the credential's token endpoint, and whether a proxy stands between."


def _secrets_sent(body: bytes | None, headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if name.lower() == "authorization":
            yield value.partition(" ")[2]
    form = parse_qsl((body or b"").decode("utf-8", "replace"))
    yield from (value for name, value in form if name in SENT)


def _secrets_received(answer: Response) -> Iterator[str]:
    fields = answer.json() or {}
    yield from (value for name in RECEIVED if isinstance(value := fields.get(name), str))


def _broken(host: str, error: OSError) -> Exception:
    """A certificate that is not trusted stays untrusted, a file that is missing stays away; other breaks may pass."""
    wrapped: list[object] = [error]
    for cause in wrapped:  # requests, urllib3 and ssl wrap one another, in arguments, too
        if isinstance(cause, ssl.SSLCertVerificationError):
            what = f"The certificate of {host} is not trusted: {cause.verify_message.rstrip('.')}."
            cure = "Behind a proxy with certificates of its own, set REQUESTS_CA_BUNDLE to its CA file."
            return CredentialsError(what, cure=cure)
        if isinstance(cause, FileNotFoundError):
            what = "The client certificate that the credential configuration names, or its key, is not there."
            return CredentialsError(what, cure="Check the paths in the certificate configuration of this machine.")
        if isinstance(cause, BaseException) and len(wrapped) < 50:
            wrapped += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
    return Unavailable(host, f"the connection broke ({type(error).__name__})")
