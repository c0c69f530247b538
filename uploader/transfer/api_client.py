"""Sends the requests of a run to an API: with its token, its timeouts and, if a repeat does no
harm, its retries.

A JSON call is one of them; the uploads and downloads build on the same client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from uploader import error_table
from uploader.auth.google import Login
from uploader.errors import (
    ApiError,
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    ServiceError,
    UntrustedHost,
    UploaderError,
)
from uploader.hosts import on_loopback, trusted
from uploader.http.client import HttpClient, Timeouts
from uploader.http.headers import Headers
from uploader.http.messages import Block, Request, Response, TransportError
from uploader.inputs.records import TransferInputs
from uploader.protocol import google_error
from uploader.protocol.media import JSON_TYPE
from uploader.protocol.responses import Verdict, as_answer, verdict
from uploader.reporting import Reporter
from uploader.retry import Retrier, RetryPolicy
from uploader.services.base import Call, PassingReason
from uploader.text import capitalise

# It is in the table for Google Play, but every service words it in the same way.
DAILY_QUOTA = next(
    entry for entry in error_table.of_source("play") if entry.code == "daily-quota"
)
_MAX_LOGGED = 4096  # characters of a JSON body in the debug log
DOWNLOAD_TIMEOUT = 6 * 3600.0  # seconds: 10 GiB at 500 KB a second
_MIN_RATE = 256  # bytes of a file in a second
# bytes that have to come in the time of `stall-timeout`, at most
_MOST_IN_STALL = 64 << 10
# Headers that show how far an upload is, and hold no secret.
_LOGGED_HEADERS = (
    "content-range",
    "range",
    "retry-after",
    "x-goog-upload-command",
    "x-goog-upload-offset",
    "x-goog-upload-size-received",
    "x-goog-upload-status",
)


class ApiClient:
    """Sends requests for a whole run; may be used from several threads. `debug` logs each of
    them.
    """

    def __init__(
        self,
        transport: HttpClient,
        tokens: Login,
        policy: RetryPolicy,
        settings: TransferInputs,
        debug: Callable[[str], None] | None = None,
    ) -> None:
        self._debug = debug
        self._transport = transport
        self._tokens = tokens
        self._settings = settings
        self._headers = Headers()
        self.policy = policy

    def url(
        self,
        root: str,
        path: str,
        *,
        public: bool = False,
    ) -> str:
        """Return the address of a path of an API, or of the same path under the given endpoint.

        For a `public` file, which everybody may fetch, the endpoint replaces the host only if it is
        on loopback.
        """
        endpoint = self._settings.api_endpoint
        if public and not on_loopback(endpoint):
            return root + path
        return (endpoint or root).rstrip("/") + path

    @property
    def waited_for_answers(self) -> float:
        """The seconds in which at least one request had left whole and was not answered."""
        return self._transport.answer_clock.seconds

    def service_time(self) -> float:
        """Return the time in seconds since the epoch, by the date of the last response, or by this
        machine's clock if there is none.

        The age of a service's data is counted by the service's clock, since a machine's may be
        wrong.
        """
        try:
            return parsedate_to_datetime(self._headers.get("date") or "").timestamp()
        except (ValueError, TypeError, OverflowError):
            return self.policy.clock.wall()

    def exchange(
        self,
        request: Request,
        blocks: Iterable[Block] | None = None,
        *,
        final: bool = False,
        path: str = "",
        max_size: int = 0,
        max_seconds: float = DOWNLOAD_TIMEOUT,
        public: bool = False,
    ) -> Response | TransportError:
        """Send one request and return its response, or the broken connection. `blocks` is its body
        if that has bytes of a file; otherwise the body is the request's `prefix`.

        With `final` the response may take as long as `finalize-timeout` allows. `path` is the
        request's path for the debug log, left empty if it is secret, as a session URI's is. With
        `max_size` the response is a file of at most so many bytes: it must not stall or come too
        slowly, or take more than `max_seconds`. `public` is for a host that must not learn who
        asks: neither token nor project goes there.

        Raises `Interrupted`, and what fetching a token and `HttpClient.send` raise, but for
        `TransportError`.
        """
        if blocks is None:
            blocks = (request.prefix,) if request.prefix else ()
        timeouts = self._timeouts(final, max_size, max_seconds)
        self._check(request)
        token = ""
        if not public:
            if self._tokens.quota_project:
                header = ("X-Goog-User-Project", self._tokens.quota_project)
                request = replace(request, headers=(*request.headers, header))
            token = self._tokens.token()
        self._check(request)
        began = self.policy.clock.monotonic()
        try:
            response: Response | TransportError = self._transport.send(
                request,
                blocks,
                token,
                timeouts,
            )
        except TransportError as error:
            response = error
        if self._debug:
            seconds = self.policy.clock.monotonic() - began
            described = _describe(request, path, response)
            self._debug(f"{described}, {seconds:.3f} s")
            for line in _describe_bodies(request, path, response):
                self._debug(line)
        if isinstance(response, Response):
            self._headers = response.headers
            return response
        # Only without a response: one that did come is not given up for a signal.
        try:
            self._check(request)
        except Interrupted as stopped:
            raise Interrupted(
                stopped.signal_number, unanswered=response.sent_whole
            ) from None
        return response

    def _timeouts(
        self,
        final: bool,
        max_size: int,
        max_seconds: float,
    ) -> Timeouts:
        """Return the limits on a request and its response; see `exchange`."""
        stall = self._settings.stall_timeout
        answer = self._settings.finalize_timeout if final else stall
        timeouts = Timeouts(min(stall, 30.0), stall, answer)
        if max_size:
            return replace(
                timeouts,
                response=max_seconds,
                max_size=max_size,
                min_bytes=min(round(stall * _MIN_RATE), _MOST_IN_STALL),
            )
        return timeouts

    def _check(self, request: Request) -> None:
        """Raise `Interrupted` if the run was asked to end, unless the request is one that is sent
        even then.
        """
        if not request.closing:
            self.policy.cancellation.check()

    def renew(
        self,
        retrier: Retrier,
        response: Response,
        what: str,
    ) -> None:
        """Take a fresh token after a 401, once until the server makes progress again. Raises
        `CredentialsError` for another 401 before that.
        """
        if not retrier.may_renew():
            raise refusal(response, what)
        self._tokens.renew()

    def request_with_retries(
        self,
        attempt: Callable[[], Response | TransportError],
        retrier: Retrier,
        what: str,
        *,
        in_doubt: Callable[
            [Response | TransportError], UploaderError | None
        ] = lambda _: None,
        retry_on: PassingReason | None = None,
    ) -> Response:
        """Return the successful response to a request, which is attempted again if that does no
        harm.

        `in_doubt` is called when a response, or the lack of one, leaves open whether the request
        had its effect. It returns the error to raise, or None if the request may be sent again.
        `retry_on` returns the cause of a refusal that passes by itself, empty for any other. Raises
        `ApiError` in the service's own words, `ServiceError` for a redirect, `CredentialsError`
        after a second 401, `TemporaryError` when the retries are spent.
        """
        while True:
            response = attempt()
            judged = verdict(response)
            if judged is Verdict.IN_DOUBT:
                unknown = in_doubt(response)
                if unknown:
                    raise unknown
            if isinstance(response, TransportError) or judged in (
                Verdict.RETRY,
                Verdict.IN_DOUBT,
            ):
                retrier.wait(failure_of(response), response)
            elif judged is Verdict.SUCCESS:
                return response
            elif judged is Verdict.RENEW:
                self.renew(retrier, response, what)
            else:
                error = refusal(response, what)
                cause = ""
                if retry_on and isinstance(error, ApiError):
                    cause = retry_on(error)
                if not cause:
                    raise error
                retrier.wait(as_reason(error), cause=cause)


def send_call(call: Call, client: ApiClient, reporter: Reporter) -> dict[str, Any]:
    """Make one call, which is repeated if a second effect does no harm, and return the JSON object
    in its response.

    Raises what `request_with_retries` raises, and `OutcomeUnknown` when a call that must not be
    repeated may have been obeyed.
    """
    what = call.what or f"{call.method} {call.path}"
    about = f"{call.about}: {what}" if call.about else capitalise(what)
    request = _request(call, client)
    retrier = client.policy.retrier(
        lambda wait: reporter.info(f"{about}: {wait}"), what, seconds=call.retry_for
    )

    def attempt() -> Response | TransportError:
        # The response to a call with an effect is worth waiting for: a commit takes over a minute
        # at times.
        response = client.exchange(
            request,
            final=not call.idempotent,
            path=call.path,
        )
        return as_answer(response, call.promised, may_be_empty=call.may_be_empty)

    def in_doubt(response: Response | TransportError) -> OutcomeUnknown | None:
        if call.idempotent:
            return None
        return _in_doubt_error(response, what)

    def ask() -> dict[str, Any]:
        response = client.request_with_retries(
            attempt,
            retrier,
            what,
            in_doubt=in_doubt,
            retry_on=call.retry_on,
        )
        return response.json() or {}

    answer = ask()
    if call.ask_twice and not answer:
        answer = ask()
    return answer


def _request(call: Call, client: ApiClient) -> Request:
    """Return the HTTP request of a call."""
    url = client.url(call.root, call.path)
    if call.query:
        url += f"?{urlencode(call.query)}"
    request = Request(call.method, url, closing=call.closing)
    if call.json is None:
        return request
    headers = (("Content-Type", JSON_TYPE),)
    return replace(
        request,
        headers=headers,
        prefix=json.dumps(call.json).encode(),
    )


def _in_doubt_error(response: Response | TransportError, what: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"It is not known whether {what} took effect: {last_failure(response)}.",
        cause="The answer was lost on the way, or the service failed after it had started on the "
        "request.",
        hint="It was not retried, because it must not happen twice. Check whether it took effect "
        "before you run again.",
    )


def require_trusted(uri: str, endpoint: str) -> None:
    """Raise `UntrustedHost` for a session URI to which the bearer token must not travel."""
    if not trusted(uri, endpoint):
        raise UntrustedHost(
            "The server named a session URI that is neither on its own host nor below an upload "
            "path of a Google API host over https.",
            cause="A proxy or a wrong `api-endpoint` answered instead of Google.",
            hint="Nothing was sent there. Check `api-endpoint` and the proxy settings of this "
            "machine.",
        )


def as_reason(error: UploaderError) -> str:
    """Return a refusal as the middle of a sentence, in the service's own words."""
    what = error.what.rstrip(".")
    return what[:1].lower() + what[1:]


def failure_of(response: Response | TransportError) -> str:
    """Return what went wrong, as the middle of a sentence."""
    if isinstance(response, TransportError):
        return response.why
    return f"the server answered {response.status}"


def last_failure(response: Response | TransportError) -> str:
    """Return what went wrong, with the last words of the service."""
    return failure_of(response) + google_error.last_words(response)


def _describe(request: Request, path: str, response: Response | TransportError) -> str:
    """Return one request and its response in a line, for the debug log."""
    host = urlsplit(request.url).netloc
    line = f"{request.method} {host}{path}, {request.size} bytes"
    for name, value in request.headers:
        if name.lower() in _LOGGED_HEADERS:
            line += f", {name}: {value}"
    if isinstance(response, TransportError):
        return f"{line} -> {response.why}"
    line += f" -> {response.status}, {len(response.body)} bytes"
    for name in _LOGGED_HEADERS:
        received = response.headers.get(name)
        if received:
            line += f", {name}: {received[:100]}"
    return line


def _describe_bodies(
    request: Request, path: str, response: Response | TransportError
) -> Iterator[str]:
    """Yield the JSON of an API call and of its response, each in one line. Mails stay private."""
    if not path or path.startswith("/gmail/"):
        return
    if any(value.startswith("application/json") for _, value in request.headers):
        yield f"sent {_as_line(request.prefix)}"
    if isinstance(response, Response) and response.body[:1] == b"{":
        yield f"received {_as_line(response.body)}"


def _as_line(body: bytes) -> str:
    text = " ".join(body.decode("utf-8", "replace").split())
    if len(text) <= _MAX_LOGGED:
        return text
    return f"{text[:_MAX_LOGGED]}… ({len(text)} characters)"


def refusal(response: Response, what: str) -> UploaderError:
    """Return the error for a refusal that is final: a 401 is about the credentials, a redirect
    about the way to the service, everything else is the service's own refusal.
    """
    error = google_error.read(response)
    if response.status == 401:
        return CredentialsError(
            f"The service did not accept the credentials for {what}: {error.message}",
            cause="The token is not valid for this API, or the account was disabled.",
            hint="Check that the API is enabled in the credentials' project and that the key still "
            "exists.",
            code="token-rejected",
        )
    if 300 <= response.status < 400:
        return ServiceError(
            f"The service answered {what} with a redirect ({response.status}), which is never "
            "followed.",
            cause="A proxy or a login page stands in between, or `api-endpoint` is not an API.",
            hint="Check `api-endpoint` and the proxy settings.",
            code="redirected",
        )
    cause, hint = error.advice
    # Google's own 413 has a reason.
    if response.status == 413 and not error.reason:
        cause = "A proxy on the way accepts no request of this size."
        hint = (
            "Set `chunk-size` to less than its limit, such as `1MiB`, and leave `upload-protocol` "
            "at `resumable`."
        )
    status = str(response.status)
    if error.reason:
        status += f", {error.reason}"
    refused = ApiError(
        f"The service refused {what} ({status}){error.how}",
        status=response.status,
        reason=error.reason,
        message=error.own_words,
        body=error.body,
        cause=cause,
        hint=hint,
    )
    if response.status in (403, 429) and error.daily_quota:
        texts = DAILY_QUOTA.texts
        return refused.with_advice(
            cause=texts["cause"],
            hint=texts["hint"],
            code=DAILY_QUOTA.code,
        )
    return refused
