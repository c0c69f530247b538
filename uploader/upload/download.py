"""One file from a service into the workspace, block by block: memory stays the same whatever its
size.

What has come is kept when the response breaks off, and the next request asks for the rest alone
(RFC 9110, section 14), if it is still the same file. Whatever does not fit what was asked for, or
what was said before, starts the file over. What comes is counted, whatever the server says about
lengths, and no more is taken than the step allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from uploader.errors import IntegrityError, ProtocolError
from uploader.files.destination import NewFile
from uploader.http.messages import Headers, Request, Response, TransportError
from uploader.protocol import stated_digests
from uploader.protocol.responses import UNREADABLE
from uploader.reporting import Reporter
from uploader.services.base import Download, Downloaded
from uploader.text import capitalised, format_size
from uploader.transfer.api_client import ApiClient
from uploader.upload.sources import new_digest

_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})", re.ASCII)
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_ETAG = re.compile(r'"[\x21\x23-\x7e]{1,200}"')  # a weak one is no promise about bytes


def download(step: Download, client: ApiClient, reporter: Reporter) -> Downloaded:
    """Fetches the file, checks it, and only then gives it its name; one that is there already is
    left as it is.

    Raises `ApiError` in the service's own words, `TemporaryError` when the retries are spent,
    `IntegrityError` for bytes other than those that were promised, `ProtocolError` for too many of
    them, and what `step.check` raises.
    """
    there = (step.destination.ending(one) for one in step.endings if step.sha256)
    if found := next((one for one in there if one.holds(step.sha256)), None):
        return Downloaded(found.path, step.sha256, 0)
    retrier = client.policy.retrier(lambda wait: reporter.info(f"{step.what}: {wait}"))
    with step.destination.writing() as file:
        reception = _Reception(step, client, file)

        def attempt() -> Response | TransportError:
            furthest = reception.furthest
            response = reception.attempt()
            if reception.furthest > furthest:
                retrier.progressed()
            return response

        response = client.request_with_retries(attempt, retrier, step.what)
        sha256 = reception.checked_sha256(response.headers)
        path = file.keep(step.check(file.reader()))
    return Downloaded(path, sha256, reception.offset)


class _Reception:
    """What has come of one file: `offset` is where the next byte belongs, `furthest` the furthest
    that it ever was.
    """

    def __init__(self, step: Download, client: ApiClient, file: NewFile) -> None:
        self._step, self._client, self._file = step, client, file
        self.furthest = 0
        self._start_over()

    def _start_over(self, stated: Iterable[str] = ()) -> None:
        self.offset = 0
        self._total: int | None = None
        self._etag = ""
        self._digests = {name: new_digest(name) for name in ("sha256", *stated)}
        self._file.clear()

    def attempt(self) -> Response | TransportError:
        """One request for what is missing; the response counts as one only when the file is
        whole.
        """
        step, client = self._step, self._client
        self._accepted = False
        rest = (("Range", f"bytes={self.offset}-"),) if self.offset else ()
        unchanged = (("If-Range", self._etag),) if self.offset and self._etag else ()
        url = client.url(step.root, step.path, public=step.public)
        request = Request("GET", url, (*rest, *unchanged), receive=self._receive)
        response = client.exchange(
            request, path=step.path, max_size=step.max_size + 1, public=step.public
        )
        if isinstance(response, TransportError):
            return response
        if self._accepted:
            if self._total in (None, self.offset):
                return response
            told = f"the answer ended after {self.offset} of {self._total} bytes"
            if self.offset > self._total:
                self._start_over()
            return TransportError(told, True)
        if response.status in (206, 416):
            self._start_over()
            return TransportError(
                "the server does not have the rest of the file that was asked for", True
            )
        if 200 <= response.status < 300:
            return TransportError("the answer is not the file", True, UNREADABLE)
        return response

    def _receive(self, status: int, headers: Headers) -> Callable[[bytes], object] | None:
        """Whether the body of this response is what is missing, or all of the file."""
        if status == 206 and self.offset:
            found = _CONTENT_RANGE.fullmatch(headers.get("content-range") or "")
            total = int(found[2]) if found and int(found[1]) == self.offset else None
            self._accepted = (
                total is not None
                and self._total in (None, total)
                and _version(headers) == self._etag
            )
            self._total = total if self._accepted else None
            self._check_size(self._total or 0)
        elif status == 200 and _is_file(headers):
            self._start_over(
                claim.algorithm
                for claim in stated_digests.decisive(
                    stated_digests.claims({}, headers), ("sha256",)
                )
            )
            length = _LENGTH.fullmatch(headers.get("content-length") or "")
            self._total = int(length[0]) if length else None
            self._etag = _version(headers)
            self._check_size(self._total or 0)
            self._accepted = True
        return self._take if self._accepted else None

    def _take(self, block: bytes) -> None:
        self._check_size(self.offset + len(block))
        self._file.write(block)
        for digest in self._digests.values():
            digest.update(block)
        self.offset += len(block)
        self.furthest = max(self.furthest, self.offset)

    def _check_size(self, size: int) -> None:
        if size > self._step.max_size:
            raise ProtocolError(
                f"{capitalised(self._step.what)} is larger than the limit of "
                f"{format_size(self._step.max_size)}.",
                cause="The service or a proxy answered with something other than the file.",
                hint="Nothing was written. Run again; report the error if it recurs.",
                code="download-too-large",
            )

    def checked_sha256(self, headers: Headers) -> str:
        """The SHA-256 of all that has come. Raises IntegrityError where the server stated other
        digests.
        """
        found = {name: digest.digest().hex() for name, digest in self._digests.items()}
        stated = {claim.algorithm: claim.value for claim in stated_digests.claims({}, headers)}
        promised = {**stated, **({"sha256": self._step.sha256} if self._step.sha256 else {})}
        for algorithm, value in promised.items():
            if found.get(algorithm, value) != value:
                raise IntegrityError(
                    f"{capitalised(self._step.what)} is not what the service says it is: its "
                    f"{algorithm} is {found[algorithm]}, not {value}.",
                    cause="It was changed on the way, by a proxy for instance, or the service has "
                    "a fault.",
                    hint="Nothing was written. Run again; report the error if it recurs.",
                    code="download-damaged",
                )
        return str(found["sha256"])


def _is_file(headers: Headers) -> bool:
    """Whether what comes can be an APK or an image: a page, an API's answer or nothing at all is
    none.
    """
    media_type = (headers.get("content-type") or "").partition(";")[0].strip().lower()
    return (
        media_type not in ("text/html", "application/json") and headers.get("content-length") != "0"
    )


def _version(headers: Headers) -> str:
    """What names this version of the file, byte for byte; empty where the server has no such
    name.
    """
    etag = headers.get("etag") or ""
    return etag if _ETAG.fullmatch(etag) else ""
