"""google-auth's credentials, the adapter that sends their requests, and the login that hands out
their tokens.

google-auth decides what is asked and signs it. It sees only a short response with status 200; every
other response becomes an error in the adapter, so that google-auth repeats no request by itself and
puts no response's text into an exception. `Login` decides when a token is fetched: ahead of time,
and never inside another request.
"""

from __future__ import annotations

import logging
import re
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from google.auth.exceptions import GoogleAuthError
from google.auth.transport import Request as GoogleAuthRequest

from uploader import error_table
from uploader.auth import credentials as configuration
from uploader.auth.credential_source import AWS, TokenFile
from uploader.auth.destinations import (
    AWS_PATHS,
    GOOGLE_TOKEN_URI,
    IAM,
    METADATA,
    Destinations,
    principal,
)
from uploader.auth.oidc import JobToken
from uploader.errors import (
    CredentialsError,
    InputError,
    Problem,
    ProtocolError,
    TemporaryError,
    UntrustedHost,
    UploaderError,
)
from uploader.files.workspace import Access, Workspace
from uploader.hosts import is_google, on_loopback
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Request, Response, TransportError
from uploader.inputs.records import LoginInputs
from uploader.protocol import google_error
from uploader.protocol.responses import UNREADABLE, Verdict, as_answer, verdict
from uploader.redaction import Redactor
from uploader.retry import Report, RetryPolicy

EARLY_RENEWAL = 300.0  # seconds before a token expires
# seconds; Google's, for a response without `expires_in` (optional by RFC 6749, section 5.1)
USUAL_LIFETIME = 3600.0
CONNECT_TIMEOUT = 10.0  # seconds
RESPONSE_TIMEOUT = 30.0  # seconds
MAX_RESPONSE = 1 << 20  # bytes; a real one has a few thousand
# a token with a line break would become a header of its own
BEARER = re.compile(r"[\x21-\x7e]{1,16384}")
# errors that pass by themselves: RFC 6749, section 4.1.2.1, and Google's own
TEMPORARY = ("server_error", "temporarily_unavailable", "internal_failure")
# the fields of requests and of responses that are secrets
SENT = ("assertion", "subject_token", "actor_token", "refresh_token", "client_secret")
RECEIVED = (
    "access_token",
    "accessToken",
    "id_token",
    "refresh_token",
    "signedJwt",
    "value",
)
# What google-auth raises on a damaged configuration, an unreadable file or a strange response.
_USUAL = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    OSError,
)
RAISED = (GoogleAuthError, UnsupportedAlgorithm, subprocess.SubprocessError, *_USUAL)
HINT = (
    "Check the credential's token endpoint, and whether a proxy intercepts the request."
)


class _Advice(NamedTuple):
    """The advice on a refused login: the error's code, the likely cause and a hint."""

    code: str = ""
    cause: str = ""
    hint: str = ""


# What google-auth advises does not belong in our log.
logging.getLogger("google").addHandler(logging.NullHandler())


class Unavailable(Exception):
    """The endpoint at `host` did not answer, or is failing: another try may help."""

    def __init__(self, host: str, response: Response | TransportError) -> None:
        if isinstance(response, TransportError):
            detail = f": {response.why}"
        else:
            detail = f" (HTTP {response.status})"
        super().__init__(f"no access token from {host}{detail}")
        self.response = response


class TokenRequest(GoogleAuthRequest):
    """google-auth's transport over the program's own. Raises `Unavailable` and `UploaderError`,
    nothing else.

    `destinations` are the only addresses that are asked: those that the checked configuration
    names. `root` replaces the hosts of googleapis.com: a keyless login with a loopback endpoint
    goes there as a whole. `responded` is the host of the last response that was handed on, empty
    before the first one.
    """

    def __init__(
        self,
        client: HttpClient,
        on_secret: Callable[[str], object],
        destinations: Destinations,
        root: str = "",
    ) -> None:
        self._client = client
        self._destinations = destinations
        self._on_secret = on_secret
        self._root = root
        self._redactor = Redactor()
        self.responded = ""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: Any = None,
        headers: Any = None,
        timeout: Any = None,
        **options: Any,
    ) -> Any:
        """Send one request and return its response, an HTTP 200, in google-auth's form.

        `timeout` is in seconds and can only shorten the program's own. The option `cert` is a
        client certificate and its key.
        """
        if not self._destinations.allow(url):
            raise CredentialsError(
                f"The login would contact {urlsplit(url).hostname or 'an address'}, which the "
                "checked credential configuration does not name; nothing was sent there.",
                hint="Check the credential configuration, and the variables that an earlier step "
                "has set.",
            )
        body = body or b""
        headers = dict(headers or {})
        certificate = options.get("cert")
        self._mask_request(headers, body)
        if certificate:
            _check_certificate(certificate)
        # A token is fetched once an hour: an idle connection would not live so long.
        headers["Connection"] = "close"
        if self._root and is_google(url):
            url = re.sub("(?i)https://[^/?]+", self._root, url, count=1)
        fields = tuple(headers.items())
        request = Request(
            method,
            url,
            fields,
            body,
            client_certificate=certificate,
        )
        host = urlsplit(url).hostname or ""
        response = self._send(request, host, timeout)
        self._raise_for_error(response, host)
        answer = _as_answer(method, response)
        if isinstance(answer, TransportError):
            raise Unavailable(host, answer)
        self._mask_response(response)
        self.responded = host
        return SimpleNamespace(
            status=200,
            headers=response.headers,
            data=response.body,
        )

    def _send(
        self,
        request: Request,
        host: str,
        timeout: float | None,
    ) -> Response:
        """Return the response, whatever its status. Raises Unavailable when there is none."""
        connect = CONNECT_TIMEOUT
        whole = RESPONSE_TIMEOUT
        if timeout:
            connect = min(connect, timeout)
            whole = min(whole, timeout)
        timeouts = Timeouts(connect, RESPONSE_TIMEOUT, whole, MAX_RESPONSE)
        blocks = (request.prefix,) if request.prefix else ()
        try:
            return self._client.send(request, blocks, "", timeouts)
        except TransportError as broken:
            raise Unavailable(host, broken) from None

    def _raise_for_error(self, response: Response, host: str) -> None:
        """Raise the error for a response that is not an HTTP 200, or is too long."""
        error = google_error.read(response)
        if (
            verdict(response) in (Verdict.RETRY, Verdict.IN_DOUBT)
            or error.reason in TEMPORARY
        ):
            raise Unavailable(host, response)
        if len(response.body) >= MAX_RESPONSE:
            raise ProtocolError(
                f"{host} answered a token request with more than 1 MiB.", hint=HINT
            )
        if 300 <= response.status < 400:
            what = (
                f"{host} answered a token request with a redirect, and redirects are never "
                "followed."
            )
            raise UntrustedHost(what, hint=HINT)
        if response.status != 200:
            raise token_refusal(
                host, error, self._redactor.one_line(error.message, limit=500)
            )

    def _mask_request(self, headers: Mapping[str, str], body: bytes) -> None:
        """Report the secrets of a request: its Authorization header, and those of its form."""
        for name, value in headers.items():
            if name.lower() == "authorization":
                self._mask(value.partition(" ")[2])
        for name, value in parse_qsl(body.decode("utf-8", "replace")):
            if name in SENT:
                self._mask(value)

    def _mask_response(self, response: Response) -> None:
        """Report the tokens in a response."""
        received = response.json() or {}
        for name in RECEIVED:
            value = received.get(name)
            if isinstance(value, str):
                self._mask(value)

    def _mask(self, secret: str) -> None:
        """Report a secret, once, before any message can hold it."""
        if secret and not self._redactor.knows(secret):
            self._redactor.add(secret)
            self._on_secret(secret)


def _check_certificate(paths: Sequence[str]) -> None:
    """Raise CredentialsError unless the client certificate and its key are files."""
    if not all(Path(path).is_file() for path in paths):
        what = (
            "The client certificate named in the credential configuration, or its key, does "
            "not exist."
        )
        raise CredentialsError(
            what,
            hint="Check the paths in the certificate configuration of this machine.",
        )


def _as_answer(method: str, response: Response) -> Response | TransportError:
    """Return the response, or a broken connection if no endpoint of a login answers like that.

    A POST is answered with a JSON object that holds a token. A machine's metadata is text or JSON.
    """
    if method == "POST":
        return as_answer(response, RECEIVED)
    body = response.body.strip()
    if body.startswith(b"<") or body in (b"", b"{}", b"[]"):
        return TransportError("the answer is empty or a page", True, UNREADABLE)
    return response


def token_refusal(
    host: str, error: google_error.GoogleError, message: str
) -> CredentialsError:
    """Return the error for a token endpoint's refusal.

    `message` is the endpoint's own, already redacted.
    """
    reason = message
    if error.reason not in ("", message):
        reason = f"{error.reason}: {message}"
    subtype = error.body.get("error_subtype", "")
    advice = _advice(f"{reason} {subtype}")
    refusal = f"{host} refused the login (HTTP {error.status})"
    what = f"{refusal}: {reason.rstrip('.')}."
    if error.silent:
        what = f"{refusal}{error.how}"
        cause, hint = error.advice
        advice = _Advice(advice.code, cause, hint)
    return CredentialsError(
        what,
        cause=advice.cause,
        hint=advice.hint or "Check the credential and its permissions.",
        code=advice.code,
    )


def _advice(text: str) -> _Advice:
    """Return what the table of errors says about a refusal with this text. The first entry for
    logins that has words of the text counts.
    """
    lowered = text.lower()
    for entry in error_table.of_source("login"):
        alternatives = entry.texts["words"].split(" | ")
        if any(words in lowered for words in alternatives):
            return _Advice(entry.code, entry.texts["cause"], entry.texts["hint"])
    return _Advice()


def credentials(
    source: configuration.ParsedCredentials,
    scopes: Sequence[str],
    subject: str,
    supplier: Any,
    access: Access,
) -> Any:
    """Return the object that google-auth refreshes. Raises InputError when the configuration turns
    out to be unusable.
    """
    what = "the configuration can't be used."
    try:
        return _credentials(
            source.info,
            list(scopes),
            subject or None,
            supplier,
            access,
        )
    except RAISED:
        if "private_key" in source.info:
            what = "`private_key` can't be read."
    # Outside of `except`, so that the error does not carry an exception with parts of the key.
    raise InputError(
        Problem(
            source.origin,
            what,
            "a credential configuration as Google's tools write it.",
        )
    )


def _credentials(
    info: Mapping[str, Any],
    scopes: list[str],
    subject: str | None,
    supplier: Any,
    access: Access,
) -> Any:
    # Each kind has a module of its own, and most runs need one of them alone.
    kind = info.get("type")
    if kind == configuration.SERVICE_ACCOUNT:
        from google.oauth2 import service_account

        return service_account.Credentials.from_service_account_info(
            info, scopes=scopes, subject=subject
        )
    # google-auth's own reader ignores a `token_uri`; the refresh token has its scopes
    if kind == configuration.USER:
        from google.oauth2 import credentials as user_credentials

        return user_credentials.Credentials(
            None,
            refresh_token=info["refresh_token"],
            client_id=info["client_id"],
            client_secret=info["client_secret"],
            token_uri=info.get("token_uri") or GOOGLE_TOKEN_URI,
        )
    if kind == configuration.EXTERNAL_USER:
        from google.auth import external_account_authorized_user

        return external_account_authorized_user.Credentials.from_info(info)
    # IAM's generateAccessToken, or for a user its signJwt
    if kind == configuration.IMPERSONATED or subject:
        from google.auth import impersonated_credentials

        if "source_credentials" in info:
            source = info["source_credentials"]
        else:
            source = _without(info, configuration.IMPERSONATION)
        url = info[configuration.IMPERSONATION]
        return impersonated_credentials.Credentials(
            source_credentials=_credentials(
                source,
                scopes,
                None,
                supplier,
                access,
            ),
            target_principal=principal(url),
            target_scopes=scopes,
            delegates=info.get("delegates"),
            subject=subject,
            iam_endpoint_override=url,
        )
    return _federated_credentials(info, scopes, supplier, access)


def _federated_credentials(
    info: Mapping[str, Any],
    scopes: list[str],
    supplier: Any,
    access: Access,
) -> Any:
    """Return the credentials that exchange a token of another identity provider."""
    # Each has a module of its own, as in `_credentials`.
    from google.auth import aws, identity_pool, pluggable

    if supplier:
        return identity_pool.Credentials.from_info(
            info, scopes=scopes, subject_token_supplier=supplier
        )
    if info["subject_token_type"] == AWS:
        return aws.Credentials.from_info(info, scopes=scopes)
    source = info["credential_source"]
    if "file" in source:
        return identity_pool.Credentials.from_info(
            _without(info, "credential_source"),
            scopes=scopes,
            subject_token_supplier=TokenFile(source, access),
        )
    # google-auth runs a command only if GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES allows it.
    if "executable" in source:
        return pluggable.Credentials.from_info(info, scopes=scopes)
    return identity_pool.Credentials.from_info(info, scopes=scopes)


def _without(info: Mapping[str, Any], left_out: str) -> dict[str, Any]:
    return {name: value for name, value in info.items() if name != left_out}


def destinations(
    source: configuration.ParsedCredentials,
    inputs: LoginInputs,
    supplier: JobToken | None = None,
) -> Destinations:
    """Return every address that this login may ask, from the configuration that was checked."""
    if source.kind == configuration.DEFAULT:
        server = _MetadataServer.of(inputs)
        return Destinations.of([server.ping], below=[server.root])
    urls = _urls_in(source.info)
    if supplier and supplier.url:
        urls.append(supplier.url)
    if inputs.impersonate_user:
        account = principal(source.info.get(configuration.IMPERSONATION) or "")
        urls.append(f"{IAM}/{account}:signJwt")
        urls.append(GOOGLE_TOKEN_URI)
    return Destinations.of(urls, _roots_in(source.info))


def _urls_in(info: Mapping[str, Any]) -> list[str]:
    """Return the URLs that a configuration has google-auth ask."""
    names = ("token_url", "token_uri", configuration.IMPERSONATION)
    urls = [str(info[name]) for name in names if info.get(name)]
    if info.get("type") == configuration.USER and not info.get("token_uri"):
        urls.append(GOOGLE_TOKEN_URI)
    source = info.get("credential_source") or {}
    urls += [str(source[name]) for name in AWS_PATHS if source.get(name)]
    nested = info.get("source_credentials")
    if nested:
        urls += _urls_in(nested)
    return urls


def _roots_in(info: Mapping[str, Any]) -> list[str]:
    """Return the URLs below which a configuration has google-auth ask."""
    roots: list[str] = []
    source = info.get("credential_source") or {}
    if info.get("subject_token_type") == AWS and source.get("url"):
        # google-auth appends the name of the machine's role.
        roots.append(f"{source['url']}/")
    nested = info.get("source_credentials")
    if nested:
        roots += _roots_in(nested)
    return roots


class _MetadataServer(NamedTuple):
    """The address that shows whether this is a machine of Google's, and the root of what is asked
    if it is.
    """

    ping: str
    root: str

    @classmethod
    def of(cls, inputs: LoginInputs) -> _MetadataServer:
        """Return the server that the environment names, by default Google's own."""
        variables = inputs.platform.google_auth
        ip = variables.get("GCE_METADATA_IP") or "169.254.169.254"
        host = variables.get("GCE_METADATA_HOST") or variables.get("GCE_METADATA_ROOT")
        if not host:
            host = "metadata.google.internal"
        return cls(f"http://{ip}", f"http://{host}{METADATA}")


def application_default(
    scopes: Sequence[str], request: TokenRequest, inputs: LoginInputs
) -> Any:
    """Return credentials from the metadata server, which is asked once and briefly. Raises
    CredentialsError if there is none.
    """
    try:
        if inputs.platform.google_auth.get("NO_GCE_CHECK") != "true":
            ping = _MetadataServer.of(inputs).ping
            response = request(
                ping,
                headers={"Metadata-Flavor": "Google"},
                timeout=3.0,
            )
            if response.headers.get("Metadata-Flavor") == "Google":
                # Imported only here, because no other kind of login needs it.
                from google.auth import compute_engine

                return compute_engine.Credentials(
                    scopes=list(scopes), universe_domain="googleapis.com"
                )
    except (Unavailable, UploaderError):
        pass  # no server answers there, or one that is not the metadata server
    raise CredentialsError(
        "There are no credentials.",
        cause="Neither `credentials` nor `workload-identity-provider` is given, and this machine "
        "has none of its own. A secret that is misspelt, or that a pull request from a fork may "
        "not read, is empty: it counts as not given.",
        hint="Set `credentials`, or for a keyless login `workload-identity-provider` and "
        "`service-account`.",
        code="no-credentials",
    )


def fetch(credential: Any, request: TokenRequest) -> tuple[str, float]:
    """Return a fresh access token and its life in seconds. Raises Unavailable, CredentialsError,
    ProtocolError.
    """
    request.responded = ""
    reason = ""
    try:
        credential.refresh(request)
        lifetime = _lifetime(credential.expiry)
        if BEARER.fullmatch(credential.token) and lifetime > 0:
            return credential.token, lifetime
    except RAISED as error:
        reason = _without_output(_own_words(error), error)
    # If there was a response, that is to blame, otherwise this machine.
    if request.responded:
        what = f"{request.responded} answered a token request with something other than a token."
        raise ProtocolError(what, hint=HINT)
    reason = (
        reason.strip().rstrip(".") or "the configured source of the token can't be read"
    )
    raise CredentialsError(
        f"There is no token to log in with: {reason}.",
        cause="The credential configuration names a source that this job does not have.",
        hint="Check `credential_source`, and that its file or command is reachable from here.",
        code="no-token-source",
    )


def _lifetime(expiry: datetime | None) -> float:
    """Return the seconds until a token expires; `expiry` is in UTC without saying so."""
    if not expiry:
        return USUAL_LIFETIME
    now = datetime.now(timezone.utc)
    return (expiry.replace(tzinfo=timezone.utc) - now).total_seconds()


def _own_words(error: BaseException) -> str:
    """Return the message of google-auth or the operating system.

    It is empty for any other exception: what Python says of a response may hold a part of it.
    """
    if isinstance(error, OSError):
        return error.strerror or ""
    if isinstance(error, GoogleAuthError) and error.args:
        return str(error.args[0])
    return ""


def _without_output(reason: str, error: BaseException) -> str:
    """Return the reason without what a command printed, which may be a secret."""
    if isinstance(error, subprocess.TimeoutExpired):
        return "the command in `credential_source` took too long"
    exited = re.match(r"Executable exited with non-zero return code (-?\d+)", reason)
    if exited:
        return (
            f"the command in `credential_source` ended with exit code {exited[1]}; its output is "
            "not repeated here"
        )
    if reason.startswith("Executable returned"):
        return (
            "the command in `credential_source` returned no token; its output is not "
            "repeated here"
        )
    return reason


def account_of(inputs: LoginInputs, source: configuration.ParsedCredentials) -> str:
    """Return who acts, for people."""
    if inputs.impersonate_user:
        return f"{inputs.impersonate_user} through {source.account}"
    return source.account


class Login:
    """One account's tokens for one set of scopes. May be used from several threads; one fetch runs
    at a time.

    `account` is who acts, for people; `quota_project` what a user's calls are billed to, mostly
    empty. `report` is called with each wait, `on_secret` with each secret before it can show up
    anywhere. Raises InputError for a key that can't be read, CredentialsError if a keyless login
    has no OIDC token; nothing is sent before the first `token()`.
    """

    def __init__(
        self,
        inputs: LoginInputs,
        source: configuration.ParsedCredentials,
        scopes: Sequence[str],
        client: HttpClient,
        policy: RetryPolicy,
        report: Report = lambda _: None,
        on_secret: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.account = account_of(inputs, source)
        self.quota_project = ""
        project = str(source.info.get("quota_project_id") or "")
        if re.fullmatch(r"[A-Za-z0-9:.-]{1,100}", project):
            self.quota_project = project
        self._inputs = inputs
        self._scopes = scopes
        self._policy = policy
        self._report = report
        self._client_id = str(source.info.get("client_id") or "")
        supplier = None
        if source.kind == configuration.KEYLESS:
            supplier = JobToken(inputs)
        self._supplier = supplier
        # On a loopback endpoint the token exchange and the impersonation of a federated login go
        # there too.
        federated = source.kind in (configuration.KEYLESS, configuration.EXTERNAL)
        root = ""
        if federated and on_loopback(inputs.api_endpoint):
            root = inputs.api_endpoint
        addresses = destinations(source, inputs, supplier)
        self._request = TokenRequest(client, on_secret, addresses, root)
        # The machine's own credentials are looked for when the first token is needed.
        self._credential: Any = None
        if source.kind != configuration.DEFAULT:
            access = Access(Workspace.of_login(inputs), source.origin)
            self._credential = credentials(
                source,
                scopes,
                inputs.impersonate_user,
                supplier,
                access,
            )
        self._lock = threading.Lock()
        self._token = ""
        # Why there was no first token: later calls raise it without asking or waiting again.
        self._failure: UploaderError | None = None
        self._lifetime = 0.0
        self._expires = 0.0
        for secret in source.secrets:
            on_secret(secret)

    def token(self, min_seconds: float = EARLY_RENEWAL) -> str:
        """Return a bearer token that stays valid for `min_seconds`, or for half its life if it
        never lives so long.

        Raises CredentialsError when the login is refused, ProtocolError for a response that is no
        token, UntrustedHost for a redirect or a certificate that is not trusted, TemporaryError
        when the endpoint stays unavailable through `max-retries` waits, Interrupted when the run is
        asked to end.
        """
        with self._lock:
            if self._failure:
                # A copy, because each raise adds to the traceback, and its frames would hold a
                # whole upload.
                raise self._failure.with_advice()
            needed = min_seconds
            if self._lifetime < min_seconds:
                needed = self._lifetime / 2
            left = self._expires - self._policy.clock.monotonic()
            try:
                if not self._token or left < needed:
                    self._renew()
            except (
                CredentialsError,
                ProtocolError,
                TemporaryError,
                UntrustedHost,
            ) as error:
                if not self._token:
                    self._failure = error.with_advice()
                raise
            return self._token

    def renew(self) -> None:
        """Fetch a fresh token although the old one looked valid, after a 401. Calls at the same
        time share one.
        """
        seen = self._token
        with self._lock:
            if self._token == seen:
                self._renew()

    def _renew(self) -> None:
        retrier = self._policy.retrier(self._report)
        clock = self._policy.clock
        while True:
            self._policy.cancellation.check()
            began = clock.monotonic()
            try:
                if not self._credential:
                    self._credential = application_default(
                        self._scopes, self._request, self._inputs
                    )
                self._token, self._lifetime = fetch(self._credential, self._request)
            except Unavailable as error:
                failure = error
            except CredentialsError as refused:
                raise self._with_facts(refused) from None
            else:
                self._expires = began + self._lifetime
                return
            finally:
                # A request that a signal broke off may fail in any way.
                self._policy.cancellation.check()
            cause = "The token endpoint is down, or can't be reached from this machine."
            hint = "Run again later; behind a proxy check HTTPS_PROXY and NO_PROXY."
            retrier.wait(
                str(failure),
                failure.response,
                cause=cause,
                hint=hint,
            )

    def _with_facts(self, error: CredentialsError) -> CredentialsError:
        """Return the refusal of a login with what people have to compare or to enter."""
        if error.code == "delegation-missing":
            client_id = "the account's client ID"
            if re.fullmatch("[0-9]{1,40}", self._client_id):
                client_id = f"client ID {self._client_id}"
            return error.with_advice(
                hint="In the Admin console (Security, API controls, Domain-wide delegation) add "
                f"{client_id} with {' and '.join(self._scopes)}."
            )
        if self._supplier and self._supplier.facts and error.code != "id-token-refused":
            return error.with_advice(also=self._supplier.facts)
        return error
