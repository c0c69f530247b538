"""One request of a run, with what every request needs: the token ahead of time, limits, and the right host."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from uploader.errors import CredentialsError, ForeignHost, Refused, ServiceError, UploaderError
from uploader.protocol import google_error
from uploader.protocol.hosts import trusted
from uploader.protocol.messages import Block, Broken, ConnectionBroke, Request, Response
from uploader.protocol.retry import Budget
from uploader.transfer.ahead import Login
from uploader.transfer.waiting import Patience
from uploader.transport import Limits, Transport

# Headers that say how far an upload is, and hold no secret.
_TELLING = (
    "content-range",
    "range",
    "retry-after",
    "x-goog-upload-command",
    "x-goog-upload-offset",
    "x-goog-upload-size-received",
    "x-goog-upload-status",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to transfer: sizes in bytes, times in seconds; `root` replaces the root URL of every API.

    `quota_project` is the project that a person's login names to be charged for the requests.
    """

    root: str = ""
    protocol: str = "auto"
    chunk_size: int | None = None
    concurrency: int = 4
    stall_timeout: float = 60.0
    finalize_timeout: float = 600.0
    quota_project: str = ""

    def limits(self, *, final: bool) -> Limits:
        """The limits of one request; the answer to the last byte may take longer than any other."""
        answer = self.finalize_timeout if final else self.stall_timeout
        return Limits(min(self.stall_timeout, 30.0), self.stall_timeout, answer)


class Wire:
    """Sends requests for a whole run; may be used from several threads. `debug` hears of each, where it is wanted."""

    def __init__(
        self,
        transport: Transport,
        login: Login,
        patience: Patience,
        settings: Settings,
        debug: Callable[[str], None] | None = None,
    ) -> None:
        self._debug = debug
        self._transport = transport
        self._login = login
        self._settings = settings
        self.patience = patience

    def url(self, root: str, path: str) -> str:
        """The address of a path of an API, or of the same path under the endpoint that was given."""
        return (self._settings.root or root).rstrip("/") + path

    def check(self, uri: str, endpoint: str) -> None:
        """Raises `ForeignHost` for a session URI to which the bearer token must not travel."""
        if not trusted(uri, endpoint):
            raise ForeignHost(
                "The server named a session URI on a host that is neither its own nor a Google API host over https.",
                cause="A proxy or a wrong `api-endpoint` answered instead of Google.",
                cure="Nothing was sent there. Look at `api-endpoint` and at the proxy settings of this machine.",
            )

    def exchange(
        self, request: Request, blocks: Iterable[Block], *, final: bool = False, path: str = ""
    ) -> Response | Broken:
        """One request and what came of it. `path` is its path where that is no secret, as a session URI's is."""
        self.patience.stop.check()
        if self._settings.quota_project:
            header = ("X-Goog-User-Project", self._settings.quota_project)
            request = request._replace(headers=(*request.headers, header))
        token = self._login.token()
        self.patience.stop.check()
        self.patience.begin()
        began = self.patience.clock.monotonic()
        try:
            answer: Response | Broken = self._transport.send(request, blocks, token, self._settings.limits(final=final))
        except ConnectionBroke as error:
            answer = error.broken
        if self._debug:
            self._debug(f"{_exchange(request, path, answer)}, {self.patience.clock.monotonic() - began:.3f} s")
        self.patience.stop.check()
        return answer

    def renew(self) -> None:
        """Asks for a fresh token before the next request."""
        self._login.renew()


class Pace:
    """The patience of one upload or call: what is left of its budget, and whether its token was renewed already."""

    def __init__(self, wire: Wire, say: Callable[[str], None]) -> None:
        self._wire = wire
        self._say = say
        self._budget: Budget = wire.patience.budget()
        self._renewed = False
        self.retries = 0
        self.waited = 0.0

    def progressed(self) -> None:
        """The server's offset advanced: everything may be tried as often as at the start."""
        self._budget = self._budget.progressed()
        self._renewed = False

    def wait(self, why: str, answer: Response | Broken | None, *, polite: bool = False) -> None:
        """Waits before another try; a server that answered properly is tried once more at once."""
        if polite and not self._budget.spent:
            self._budget = self._budget.after_wait()
            self.retries += 1
            self._say(f"{why[:1].upper()}{why[1:]}; trying again at once.")
            return
        patience = self._wire.patience
        before = patience.clock.monotonic()
        self._budget = patience.wait(self._budget, answer, why, self._say)
        self.retries += 1
        self.waited += patience.clock.monotonic() - before

    def renew(self, answer: Response) -> None:
        """Takes a fresh token after a 401, once for each stretch of progress; the next one is a `CredentialsError`."""
        if self._renewed:
            raise refusal(answer, "the request")
        self._renewed = True
        self._say("The token was not accepted; a fresh one is fetched.")
        self._wire.renew()


def _exchange(request: Request, path: str, answer: Response | Broken) -> str:
    """One request and its answer, for who looks for a fault."""
    asked = "".join(f", {name}: {value}" for name, value in request.headers if name.lower() in _TELLING)
    sent = f"{request.method} {urlsplit(request.url).netloc}{path}, {len(request.body)} bytes{asked}"
    if isinstance(answer, Broken):
        return f"{sent} -> {answer.why}"
    found = ((name, answer.headers.get(name)) for name in _TELLING)
    told = "".join(f", {name}: {value[:100]}" for name, value in found if value)
    return f"{sent} -> {answer.status}, {len(answer.body)} bytes{told}"


def refusal(answer: Response, what: str) -> UploaderError:
    """The error for an answer that stays a no: a 401 is about credentials, the rest is the service's refusal."""
    said = google_error.read(answer)
    if answer.status == 401:
        return CredentialsError(
            f"The service did not accept the credentials for {what}: {said.message}",
            cause="The token is not valid for this API, or the account was disabled.",
            cure="Check that the API is enabled in the credentials' project and that the key still exists.",
        )
    if 300 <= answer.status < 400:
        return ServiceError(
            f"The service answered {what} with a redirect ({answer.status}), which is never followed.",
            cause="A proxy or a login page stands in between, or `api-endpoint` is not an API.",
            cure="Check `api-endpoint` and the proxy settings.",
        )
    return Refused(
        f"The service refused {what} ({answer.status}{_reason(said.reason)}): {said.message}",
        status=answer.status,
        reason=said.reason,
        message=said.message,
        body=said.body,
    )


def _reason(reason: str) -> str:
    return f", {reason}" if reason else ""
